// Operators of a program's own, and errors that its callbacks make: what needs no device.
#include "ops/builder.hpp"
#include "support/builder_calls.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <thread>

namespace {

using namespace tosavk;
using test::sentence_of;
using test::succeed;
namespace cpp = tosavk::cpp;

TEST(Errors, AreMadeByPrograms) {
    const auto made = [](std::int32_t status, const char* message, const char* node, const char* operand) {
        return cpp::detail::Handle<tosavk_error, tosavk_error_release>(
            tosavk_error_create(status, message, node, operand));
    };
    const auto error = made(TOSAVK_ERROR_IO, "the drive is gone", "node", "operand");
    EXPECT_EQ(tosavk_error_status(error.get()), TOSAVK_ERROR_IO);
    EXPECT_STREQ(tosavk_error_message(error.get()), "the drive is gone");
    EXPECT_STREQ(tosavk_error_node(error.get()), "node");
    EXPECT_STREQ(tosavk_error_operand(error.get()), "operand");
    const auto bare = made(TOSAVK_ERROR_CANCELLED, nullptr, nullptr, nullptr);
    EXPECT_EQ(tosavk_error_status(bare.get()), TOSAVK_ERROR_CANCELLED);
    EXPECT_STREQ(tosavk_error_message(bare.get()), "");
    EXPECT_STREQ(tosavk_error_node(bare.get()), "");
    for (const std::int32_t none : {0, -1, 12, 1 << 30}) {
        const auto odd = made(none, "odd", nullptr, nullptr);
        EXPECT_EQ(tosavk_error_status(odd.get()), TOSAVK_ERROR_USAGE) << none;
        EXPECT_STREQ(tosavk_error_message(odd.get()), "odd");
    }
}

/// Adds `number` to every element of fp32.
cpp::CustomOperator adder(float number) {
    cpp::CustomOperator op;
    op.domain = "a.test";
    op.name = "add";
    op.reference = [number](const tosavk_custom_node& node, const void* const* inputs, void* const* outputs) {
        const auto* x = static_cast<const float*>(inputs[0]);
        auto* y = static_cast<float*>(outputs[0]);
        for (std::size_t k = 0; k < node.outputs[0]->size_bytes / sizeof(float); ++k) y[k] = x[k] + number;
    };
    return op;
}

const cpp::TensorType pair{TOSAVK_FP32, {2}};
const std::vector<cpp::Attribute> names{
    {"operator_name", "add"}, {"domain_name", "a.test"}, {"implementation_attrs", ""}};

cpp::Graph add_graph(const tosavk_custom_set* customs, const cpp::TensorType& type = pair) {
    cpp::Builder b("custom", TOSAVK_LEVEL_8K, TOSAVK_PRECISION_DECLARED, false, customs);
    b.output(b.node1("CUSTOM", {b.input("x", type)}, names, {type}, "mine"));
    return b.finish();
}

std::vector<float> run(const cpp::Graph& graph, std::vector<float> x = {1, 2}) {
    const void* inputs[] = {x.data()};
    std::vector<float> y(2);
    void* outputs[] = {y.data()};
    cpp::detail::call(tosavk_reference_run, static_cast<const tosavk_graph*>(graph.get()), inputs, outputs);
    return y;
}

/// Status and sentence of what the call throws.
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

TEST(Customs, AreTheGraphsOwn) {
    cpp::CustomSet one, two;
    one.add(adder(1));
    two.add(adder(2));
    const cpp::Graph first = add_graph(one.get()), second = add_graph(two.get()), none = add_graph(nullptr);
    EXPECT_EQ(run(first), (std::vector<float>{2, 3}));
    EXPECT_EQ(run(second), (std::vector<float>{3, 4}));
    const Thrown error = thrown([&] { run(none); });
    EXPECT_EQ(error.status, TOSAVK_ERROR_UNSUPPORTED);
    EXPECT_EQ(error.sentence, "CUSTOM 'mine': nothing carries out operator 'add' of domain 'a.test'");
    EXPECT_EQ(error.node, "mine");

    // From a file, which holds no operators.
    tosavk_bytes* bytes = nullptr;
    cpp::detail::call(tosavk_graph_save_memory, static_cast<const tosavk_graph*>(first.get()), &bytes);
    const std::vector<std::byte> file = cpp::detail::take(bytes);
    cpp::LoadOptions options;
    EXPECT_EQ(thrown([&] { run(cpp::Graph::load(file, options)); }).status, TOSAVK_ERROR_UNSUPPORTED);
    options.customs = two.get();
    EXPECT_EQ(run(cpp::Graph::load(file, options)), (std::vector<float>{3, 4}));

    // A file's probe and a builder's say the same of what nobody knows.
    const auto needs = [](const std::string& probe) {
        const auto json = nlohmann::json::parse(probe);
        EXPECT_TRUE(json.at("taken"));
        return json.at("operators").at(0).value("needs", "");
    };
    cpp::Builder b;
    b.node1("CUSTOM", {b.input("x", pair)}, names, {pair}, "mine");
    const std::string wanted = "a custom operator of this name, the graph's or the device's, before it can run";
    EXPECT_EQ(nlohmann::json::parse(b.probe()).at("operators").at(0).at("needs"), wanted);
    EXPECT_EQ(needs(cpp::probe(file)), wanted);
    EXPECT_EQ(needs(cpp::probe(file, options)), "");
}

TEST(Customs, ABuilderKeepsThemForItsRegionsAndItsNextGraph) {
    cpp::CustomSet set;
    set.add(adder(1));
    cpp::Builder b("twice", TOSAVK_LEVEL_8K, TOSAVK_PRECISION_FP16, false, set.get());
    for (int turn = 0; turn < 2; ++turn) {
        const auto condition = b.input("condition", {TOSAVK_BOOL, {1}}), x = b.input("x", pair);
        cpp::Builder plain = b.region("plain"), custom = b.region("custom");
        plain.output(plain.input("x", pair));
        custom.output(custom.node1("CUSTOM", {custom.input("x", pair)}, names, {pair}, "inner"));
        const cpp::Builder* const regions[] = {&plain, &custom};
        const std::uint32_t list[] = {condition, x};
        b.output(b.node("COND_IF", list, {}, {}, "branch", regions).at(0));
        const cpp::Graph graph = b.finish();
        const std::uint8_t no = 0;
        const float given[] = {5, 6};
        float got[2];
        const void* inputs[] = {&no, given};
        void* outputs[] = {got};
        cpp::detail::call(tosavk_reference_run, static_cast<const tosavk_graph*>(graph.get()), inputs, outputs);
        EXPECT_EQ(got[0], 6);
        EXPECT_EQ(got[1], 7);
    }
}

TEST(Customs, CallbacksSayWhatIsWrong) {
    std::function<tosavk_error*()> checks, runs;
    using Answers = std::pair<std::function<tosavk_error*()>*, std::function<tosavk_error*()>*>;
    Answers answers{&checks, &runs};
    tosavk_custom_operator op{};
    op.domain_name = "a.test";
    op.operator_name = "add";
    op.check = [](void* user, const tosavk_custom_node*) { return (*static_cast<Answers*>(user)->first)(); };
    op.reference = [](void* user, const tosavk_custom_node*, const void* const*, void* const*) {
        return (*static_cast<Answers*>(user)->second)();
    };
    op.user = &answers;
    cpp::CustomSet set;
    set.add(op);
    const auto fine = []() -> tosavk_error* { return nullptr; };
    const auto says = [](std::int32_t status, const char* message, const char* node, const char* operand) {
        return [=] { return tosavk_error_create(status, message, node, operand); };
    };

    checks = runs = fine;
    const cpp::Graph graph = add_graph(set.get());
    EXPECT_EQ(thrown([&] { run(graph); }).status, TOSAVK_OK);

    checks = says(TOSAVK_ERROR_UNSUPPORTED, "takes no pairs", nullptr, "x");
    Thrown error = thrown([&] { add_graph(set.get()); });
    EXPECT_EQ(error.status, TOSAVK_ERROR_UNSUPPORTED);
    EXPECT_EQ(error.sentence, "CUSTOM 'mine': takes no pairs");
    EXPECT_EQ(error.node, "mine");
    EXPECT_EQ(error.operand, "x");
    error = thrown([&] { run(graph); });
    EXPECT_EQ(error.sentence, "CUSTOM 'mine': takes no pairs") << "asked again before it runs";
    {
        // A refused node is kept where the builder is told to.
        cpp::Builder b("refused", TOSAVK_LEVEL_8K, TOSAVK_PRECISION_DECLARED, true, set.get());
        b.output(b.node1("ABS", {b.node1("CUSTOM", {b.input("x", pair)}, names, {pair}, "mine")}));
        const auto json = nlohmann::json::parse(b.probe());
        EXPECT_FALSE(json.at("operators").at(0).at("taken"));
        EXPECT_EQ(json.at("operators").at(0).at("sentence"), "CUSTOM 'mine': takes no pairs");
        EXPECT_TRUE(json.at("operators").at(1).at("taken"));
    }
    {
        // So does a file's probe.
        tosavk_bytes* bytes = nullptr;
        cpp::detail::call(tosavk_graph_save_memory, static_cast<const tosavk_graph*>(graph.get()), &bytes);
        const std::vector<std::byte> file = cpp::detail::take(bytes);
        cpp::LoadOptions options;
        options.customs = set.get();
        error = thrown([&] { cpp::Graph::load(file, options); });
        EXPECT_EQ(error.status, TOSAVK_ERROR_UNSUPPORTED);
        EXPECT_HAS(error.sentence, "takes no pairs");
        EXPECT_HAS(cpp::probe(file, options), "takes no pairs");
    }

    checks = fine;
    runs = says(TOSAVK_ERROR_CANCELLED, "enough", "elsewhere", nullptr);
    error = thrown([&] { run(graph); });
    EXPECT_EQ(error.status, TOSAVK_ERROR_CANCELLED);
    EXPECT_EQ(error.sentence, "CUSTOM 'mine': enough");
    EXPECT_EQ(error.node, "elsewhere");
    runs = says(TOSAVK_ERROR_OUT_OF_MEMORY, nullptr, nullptr, nullptr);
    error = thrown([&] { run(graph); });
    EXPECT_EQ(error.status, TOSAVK_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(error.sentence, "CUSTOM 'mine': its operator refuses it without a sentence");
    runs = says(77, "odd", nullptr, nullptr);
    EXPECT_EQ(thrown([&] { run(graph); }).status, TOSAVK_ERROR_USAGE);
    // What a function of the library says is handed on.
    runs = [] {
        tosavk_error* inner = nullptr;
        tosavk_graph_load_file("/nowhere/at/all", nullptr, nullptr, &inner);
        return inner;
    };
    error = thrown([&] { run(graph); });
    EXPECT_EQ(error.status, TOSAVK_ERROR_USAGE);
    EXPECT_EQ(error.sentence, "CUSTOM 'mine': tosavk_graph_load_file: graph is NULL");
}

TEST(Customs, ChecksSeeTheNode) {
    cpp::CustomOperator op = adder(1);
    std::string seen;
    op.check = [&seen](const tosavk_custom_node& node) {
        seen = std::string(node.inputs[0]->name) + " of rank " + std::to_string(node.inputs[0]->rank) + ", " +
               std::to_string(node.input_count) + " to " + std::to_string(node.output_count);
        if (node.inputs[0]->rank != 1) throw cpp::Error(TOSAVK_ERROR_BAD_MODEL, "takes vectors", {}, "x");
        if (node.inputs[0]->dims[0] == 3) throw std::runtime_error("fell over");
        if (node.inputs[0]->dims[0] == 4) throw 4;
    };
    cpp::CustomSet set;
    set.add(op);
    add_graph(set.get());
    EXPECT_EQ(seen, "x of rank 1, 1 to 1");
    const auto of_shape = [&](cpp::Shape shape) {
        return thrown([&] { add_graph(set.get(), {TOSAVK_FP32, std::move(shape)}); });
    };
    for (const cpp::Shape& shape : {cpp::Shape{}, cpp::Shape{2, 1}}) {
        const Thrown error = of_shape(shape);
        EXPECT_EQ(error.status, TOSAVK_ERROR_BAD_MODEL);
        EXPECT_EQ(error.sentence, "CUSTOM 'mine': takes vectors");
        EXPECT_EQ(error.operand, "x");
    }
    EXPECT_EQ(of_shape({3}).status, TOSAVK_ERROR_INTERNAL);
    EXPECT_EQ(of_shape({3}).sentence, "CUSTOM 'mine': fell over");
    EXPECT_EQ(of_shape({4}).sentence, "CUSTOM 'mine': it threw something unknown");
}

TEST(Customs, SetsRefuseWhatIsIncomplete) {
    tosavk_custom_set* raw = nullptr;
    succeed([&](tosavk_error** e) { return tosavk_custom_set_create(&raw, e); });
    const std::unique_ptr<tosavk_custom_set, void (*)(tosavk_custom_set*)> set(raw, tosavk_custom_set_release);
    const auto usage = [](const auto& call) { return sentence_of(TOSAVK_ERROR_USAGE, call); };
    EXPECT_HAS(usage([](tosavk_error** e) { return tosavk_custom_set_create(nullptr, e); }), "set is NULL");

    int released = 0;
    tosavk_custom_operator good{};
    good.struct_size = sizeof good;
    good.operator_name = "add";
    good.reference = [](void*, const tosavk_custom_node*, const void* const*, void* const*) -> tosavk_error* {
        return nullptr;
    };
    good.user = &released;
    good.release = [](void* user) { ++*static_cast<int*>(user); };
    const auto refused = [&](auto change) {
        tosavk_custom_operator op = good;
        change(op);
        return usage([&](tosavk_error** e) { return tosavk_custom_set_add(set.get(), &op, e); });
    };
    const std::uint32_t words[] = {0x07230203, 0, 0, 0, 0}, noise[] = {1, 2, 3};
    EXPECT_HAS(usage([&](tosavk_error** e) { return tosavk_custom_set_add(nullptr, &good, e); }), "set is NULL");
    EXPECT_HAS(usage([&](tosavk_error** e) { return tosavk_custom_set_add(set.get(), nullptr, e); }), "op is NULL");
    EXPECT_HAS(refused([](auto& op) { op.struct_size = 3; }), "struct_size is 3");
    EXPECT_HAS(refused([](auto& op) { op.operator_name = nullptr; }), "op->operator_name is NULL");
    EXPECT_HAS(refused([](auto& op) { op.operator_name = ""; }), "needs a name");
    EXPECT_HAS(refused([](auto& op) { op.domain_name = "tosavk"; }), "that of the library's own operators");
    EXPECT_HAS(refused([](auto& op) { op.reference = nullptr; }), "needs a reference function");
    EXPECT_HAS(refused([](auto& op) { op.tolerance = -1; }), "tolerance is negative");
    EXPECT_HAS(refused([](auto& op) { op.tolerance = std::numeric_limits<double>::quiet_NaN(); }), "tolerance");
    EXPECT_HAS(refused([&](auto& op) { op.spirv = words, op.spirv_size_bytes = sizeof words; }), "workgroups");
    const auto plan = [](void*, const tosavk_custom_node*, tosavk_custom_dispatch*) -> tosavk_error* {
        return nullptr;
    };
    EXPECT_HAS(refused([&](auto& op) { op.spirv = words, op.spirv_size_bytes = 7, op.plan = plan; }), "whole number");
    EXPECT_HAS(refused([&](auto& op) { op.spirv = words, op.plan = plan; }), "whole number");
    EXPECT_HAS(refused([&](auto& op) { op.spirv = noise, op.spirv_size_bytes = sizeof noise, op.plan = plan; }),
               "no SPIR-V");
    EXPECT_EQ(released, 0) << "what was refused stays the caller's";
    succeed([&](tosavk_error** e) { return tosavk_custom_set_add(set.get(), &good, e); });
    EXPECT_HAS(refused([](auto&) {}), "the set has it already");
    EXPECT_EQ(released, 0);
    tosavk_custom_set_release(nullptr);
}

TEST(Customs, LiveAsLongAsSomethingHasThem) {
    auto owner = std::make_shared<int>(0);
    const std::weak_ptr<int> alive = owner;
    const auto op = [&] {
        cpp::CustomOperator made = adder(3);
        made.reference = [inner = made.reference, owner](const auto& node, auto in, auto out) { inner(node, in, out); };
        return made;
    };
    {
        auto set = std::make_unique<cpp::CustomSet>();
        set->add(op());
        owner.reset();
        EXPECT_FALSE(alive.expired());
        const cpp::Graph graph = add_graph(set->get());
        set.reset();
        EXPECT_FALSE(alive.expired()) << "the graph has it";
        EXPECT_EQ(run(graph), (std::vector<float>{4, 5}));
    }
    EXPECT_TRUE(alive.expired());

    owner = std::make_shared<int>(0);
    const std::weak_ptr<int> second = owner;
    {
        cpp::CustomSet set;
        const cpp::Graph before = add_graph(set.get());
        set.add(op());
        owner.reset();
        EXPECT_EQ(thrown([&] { run(before); }).status, TOSAVK_ERROR_UNSUPPORTED) << "made before the set had it";
        EXPECT_THROW(set.add(adder(9)), cpp::Error);
        EXPECT_FALSE(second.expired());
    }
    EXPECT_TRUE(second.expired());
}

TEST(Customs, FromManyThreads) {
    cpp::CustomSet set;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int k = 0; k < 20; ++k) {
                cpp::CustomOperator op = adder(1);
                if (k > 0) op.name = "other " + std::to_string(t) + " " + std::to_string(k);
                try {
                    set.add(std::move(op));
                } catch (const cpp::Error&) {
                    wrong += k > 0;  // one of the four adds "add"
                }
                if (run(add_graph(set.get())) != std::vector<float>{2, 3}) ++wrong;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

}  // namespace
