// Operators of a program's own on a device: whose operator runs, and what becomes of what a plan callback says.
#include "spirv/glslang.hpp"
#include "support/driver.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace {

using namespace tosavk;
namespace cpp = tosavk::cpp;

// y = x * factor + add, element by element; the factor stands in the attributes.
std::vector<std::uint32_t> kernel(int add) {
    return compile_glsl(R"(#version 450
layout(local_size_x = 1) in;
layout(constant_id = 0) const int count = 1;
layout(constant_id = 1) const int factor = 1;
layout(std430, set = 0, binding = 0) readonly buffer X { int x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Y { int y[]; };
void main() {
    for (int i = 0; i < count; ++i) y[i] = x[i] * factor + )" +
                            std::to_string(add) + ";\n}\n",
                        "times");
}

cpp::CustomOperator times(int add) {
    cpp::CustomOperator op;
    op.domain = "a.test";
    op.name = "times";
    op.spirv = kernel(add);
    op.plan = [](const tosavk_custom_node& node, tosavk_custom_dispatch& dispatch) {
        if (node.attributes_size_bytes != 1)
            throw cpp::Error(TOSAVK_ERROR_BAD_MODEL, "its attributes are one byte", {}, "implementation_attrs");
        dispatch.constant_count = 2;
        dispatch.constants[0] = static_cast<std::int32_t>(node.inputs[0]->dims[0]);
        dispatch.constants[1] = *static_cast<const signed char*>(node.attributes);
    };
    op.reference = [add](const tosavk_custom_node& node, const void* const* inputs, void* const* outputs) {
        const auto* x = static_cast<const std::int32_t*>(inputs[0]);
        auto* y = static_cast<std::int32_t*>(outputs[0]);
        const auto factor = static_cast<std::uint32_t>(*static_cast<const signed char*>(node.attributes));
        for (std::int64_t i = 0; i < node.inputs[0]->dims[0]; ++i) {
            y[i] =
                static_cast<std::int32_t>(static_cast<std::uint32_t>(x[i]) * factor + static_cast<std::uint32_t>(add));
        }
    };
    return op;
}

const cpp::TensorType three{TOSAVK_I32, {3}};

cpp::Graph graph_of(const tosavk_custom_set* customs, const std::string& attributes = "\x07") {
    cpp::Builder b("custom", TOSAVK_LEVEL_8K, TOSAVK_PRECISION_DECLARED, false, customs);
    const auto made = b.node1(
        "CUSTOM", {b.input("x", three)},
        {{"operator_name", "times"}, {"domain_name", "a.test"}, {"implementation_attrs", attributes}}, {three}, "mine");
    b.output(b.node1("BITWISE_NOT", {made}));
    return b.finish();
}

struct Thrown {
    tosavk_status status = TOSAVK_OK;
    std::string sentence, node, operand;
};
template <class F> Thrown thrown(F call) {
    try {
        call();
        return {};
    } catch (const cpp::Error& e) {
        return {e.status(), e.what(), e.node(), e.operand()};
    }
}
#define EXPECT_HAS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

class CustomGpu : public ::testing::Test {
protected:
    void SetUp() override {
        TOSAVK_NEEDS_DRIVER();
        device_.emplace();
    }
    std::vector<std::int32_t> run(const cpp::Executable& executable) {
        cpp::Context context(executable);
        const std::vector<std::int32_t> x{1, -2, 3};
        std::vector<std::int32_t> y(3);
        context.set_input(0, std::as_bytes(std::span(x)));
        context.run();
        context.get_output(0, std::as_writable_bytes(std::span(y)));
        for (std::int32_t& v : y) v = ~v;
        return y;
    }

    std::optional<cpp::Device> device_;
};

TEST_F(CustomGpu, TheGraphsGoBeforeTheDevices) {
    cpp::CustomSet plain, plus;
    plain.add(times(0));
    plus.add(times(100));
    const cpp::Graph own = graph_of(plus.get()), none = graph_of(nullptr);
    const Thrown error = thrown([&] { cpp::Executable(*device_, none); });
    EXPECT_EQ(error.status, TOSAVK_ERROR_UNSUPPORTED);
    EXPECT_EQ(error.sentence, "CUSTOM 'mine': nothing carries out operator 'times' of domain 'a.test'");
    plain.give_to(*device_);
    const cpp::Executable of_device(*device_, none), of_graph(*device_, own);
    EXPECT_EQ(run(of_device), (std::vector<std::int32_t>{7, -14, 21}));
    EXPECT_EQ(run(of_graph), (std::vector<std::int32_t>{107, 86, 121})) << "another kernel of the same name";
    for (const cpp::Graph* graph : {&own, &none}) {
        const cpp::CheckReport report = cpp::Checker(*device_, *graph).run(3);
        EXPECT_TRUE(report.passed) << report.detail;
    }

    // The next set holds from the next compile on.
    plus.give_to(*device_);
    EXPECT_EQ(run(cpp::Executable(*device_, none)), (std::vector<std::int32_t>{107, 86, 121}));
    EXPECT_EQ(run(of_device), (std::vector<std::int32_t>{7, -14, 21})) << "what is compiled stays";
    cpp::detail::call(tosavk_device_set_customs, device_->get(), static_cast<const tosavk_custom_set*>(nullptr));
    EXPECT_EQ(thrown([&] { cpp::Executable(*device_, none); }).status, TOSAVK_ERROR_UNSUPPORTED);
    EXPECT_EQ(thrown([&] { cpp::Checker(*device_, none); }).status, TOSAVK_ERROR_UNSUPPORTED);
    EXPECT_EQ(run(of_device), (std::vector<std::int32_t>{7, -14, 21}));
    EXPECT_EQ(thrown([&] { plain.give_to(*device_); }).status, TOSAVK_OK);
    EXPECT_NE(tosavk_device_set_customs(nullptr, plain.get(), nullptr), TOSAVK_OK);
}

TEST_F(CustomGpu, WhatIsCompiledKeepsThem) {
    auto owner = std::make_shared<int>(0);
    const std::weak_ptr<int> alive = owner;
    std::optional<cpp::Executable> executable;
    {
        cpp::CustomSet set;
        cpp::CustomOperator op = times(1);
        op.check = [owner](const tosavk_custom_node&) {};
        set.add(std::move(op));
        owner.reset();
        set.give_to(*device_);
        const cpp::Graph graph = graph_of(nullptr);
        executable.emplace(*device_, graph);
    }
    cpp::CustomSet().give_to(*device_);
    EXPECT_FALSE(alive.expired());
    EXPECT_EQ(run(*executable), (std::vector<std::int32_t>{8, -13, 22}));
    executable.reset();
    EXPECT_TRUE(alive.expired());
}

TEST_F(CustomGpu, PlansThatFail) {
    const auto compiled = [&](auto change, const std::string& attributes = "\x07") {
        cpp::CustomOperator op = times(0);
        change(op);
        cpp::CustomSet set;
        set.add(std::move(op));
        return thrown([&] { cpp::Executable(*device_, graph_of(set.get(), attributes)); });
    };
    Thrown error = compiled([](auto&) {}, "two");
    EXPECT_EQ(error.status, TOSAVK_ERROR_BAD_MODEL);
    EXPECT_EQ(error.sentence, "CUSTOM 'mine': its attributes are one byte");
    EXPECT_EQ(error.node, "mine");
    EXPECT_EQ(error.operand, "implementation_attrs");
    error = compiled([](auto& op) {
        op.plan = [](const tosavk_custom_node&, tosavk_custom_dispatch&) {
            throw cpp::Error(TOSAVK_ERROR_CANCELLED, "not today", "elsewhere");
        };
    });
    EXPECT_EQ(error.status, TOSAVK_ERROR_CANCELLED);
    EXPECT_EQ(error.node, "elsewhere");
    error = compiled([](auto& op) {
        op.plan = [](const tosavk_custom_node&, tosavk_custom_dispatch& dispatch) { dispatch.groups[1] = 0; };
    });
    EXPECT_EQ(error.status, TOSAVK_ERROR_UNSUPPORTED);
    EXPECT_HAS(error.sentence, "asks for 0 workgroups in dimension 1");
    error = compiled([](auto& op) {
        op.plan = [](const tosavk_custom_node&, tosavk_custom_dispatch& dispatch) {
            dispatch.constant_count = TOSAVK_MAX_CUSTOM_CONSTANTS + 1;
        };
    });
    EXPECT_EQ(error.status, TOSAVK_ERROR_BAD_MODEL);
    EXPECT_HAS(error.sentence, "asks for 65 constants");
    error = compiled([](auto& op) { op.spirv.clear(); });
    EXPECT_EQ(error.status, TOSAVK_ERROR_UNSUPPORTED);
    EXPECT_HAS(error.sentence, "has no kernel");

    // A device's operator is asked too whether it takes the node.
    cpp::CustomSet set;
    cpp::CustomOperator op = times(0);
    op.check = [](const tosavk_custom_node&) { throw cpp::Error(TOSAVK_ERROR_UNSUPPORTED, "takes nothing"); };
    set.add(std::move(op));
    set.give_to(*device_);
    error = thrown([&] { cpp::Executable(*device_, graph_of(nullptr)); });
    EXPECT_EQ(error.status, TOSAVK_ERROR_UNSUPPORTED);
    EXPECT_EQ(error.sentence, "CUSTOM 'mine': takes nothing");
}

TEST_F(CustomGpu, PackagesHoldNone) {
    cpp::CustomSet set;
    set.add(times(0));
    set.give_to(*device_);
    for (const tosavk_custom_set* customs :
         {static_cast<const tosavk_custom_set*>(nullptr), static_cast<const tosavk_custom_set*>(set.get())}) {
        const cpp::Graph graph = graph_of(customs);
        tosavk_bytes* file = nullptr;
        const Thrown error = thrown([&] {
            cpp::detail::call(tosavk_package_save_memory, device_->get(), static_cast<const tosavk_graph*>(graph.get()),
                              static_cast<const tosavk_compile_options*>(nullptr), &file);
        });
        EXPECT_EQ(error.status, TOSAVK_ERROR_UNSUPPORTED);
        EXPECT_EQ(error.sentence, "a package cannot hold kernels of CUSTOM operators");
        EXPECT_EQ(file, nullptr);
    }
}

}  // namespace
