// Tensors of 300 MiB, more than one storage buffer binding holds on many devices, against plain loops. Runs once, on
// the default driver: reading through texel buffers where the device plan does, and through parts alone.
#include "compile/plan/plan.hpp"
#include "graph/graph.hpp"
#include "graph/host_tensor.hpp"
#include "ops/builder.hpp"
#include "support/environment.hpp"
#include "support/require.hpp"
#include "vk/measure/open_device.hpp"
#include "vk/run/context.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace tosavk {
namespace {

constexpr std::int64_t floats = 75 * 1024 * 1024, bytes = 300 * 1024 * 1024;

/// A small whole number from a position, so that sums of many are exact in fp32.
int at(std::int64_t i) { return static_cast<int>((static_cast<std::uint64_t>(i) * 2654435761u >> 13) % 31) - 15; }

template <class T> std::vector<T> values(std::int64_t count, std::int64_t first = 0) {
    std::vector<T> result(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) result[static_cast<std::size_t>(i)] = static_cast<T>(at(first + i));
    return result;
}

class LargeTensors : public ::testing::TestWithParam<bool> {
protected:
    void SetUp() override {
        try {
            // What devices bind that bind little.
            const std::string range = R"("max_storage_buffer_range": 134217728)";
            const test::TemporaryFile caps(GetParam() ? "{" + range + "}"
                                                      : "{" + range + R"(, "max_texel_buffer_elements": 0})");
            setenv("TOSAVK_CAPS", caps.path().c_str(), 1);
            device_ = open_device("");
            unsetenv("TOSAVK_CAPS");
            EXPECT_EQ(device_->plan().max_binding_bytes, 134217728u);
            EXPECT_TRUE(GetParam() || device_->plan().texel_elements == 0);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::no_device) throw;
            TOSAVK_MISSING("driver", "there is no Vulkan driver");
        }
    }

    /// Runs the graph on its inputs; `split`: some dispatch takes several bindings for a tensor.
    template <class Out, class... In> std::vector<Out> run(const Graph& graph, const std::vector<In>&... inputs) {
        Plan plan = make_plan(graph, device_->plan(), {});
        bool split = false;
        for (const Dispatch& dispatch : plan.dispatches) {
            for (const Binding& binding : dispatch.bindings) {
                split = split || binding.label.find("part 2 of 3") != std::string::npos;
                EXPECT_TRUE(is_texels(binding.path) || binding.place.size <= device_->plan().max_binding_bytes);
            }
        }
        // Where only inputs are large, texel buffers take them whole.
        const bool large_output =
            element_count(graph.value(graph.outputs[0]).shape) * static_cast<std::int64_t>(sizeof(Out)) == bytes;
        EXPECT_EQ(split, device_->plan().max_binding_bytes == 128u << 20 &&
                             (large_output || device_->plan().texel_elements == 0));
        Context context(Executable::create(device_, std::make_shared<const Graph>(graph), std::move(plan)), false);
        std::size_t k = 0;
        (context.set_input(k++, std::as_bytes(std::span(inputs))), ...);
        context.submit();
        context.wait();
        std::vector<Out> output(static_cast<std::size_t>(element_count(graph.value(graph.outputs[0]).shape)));
        context.get_output(0, std::as_writable_bytes(std::span(output)));
        return output;
    }

    template <class T, class Wanted> void expect(const std::vector<T>& found, Wanted wanted) {
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
            const T want = static_cast<T>(wanted(static_cast<std::int64_t>(i)));
            if (found[i] != want && wrong++ < 3)
                ADD_FAILURE() << "element " << i << " is " << +found[i] << ", not " << +want;
        }
        EXPECT_EQ(wrong, 0u);
    }

    std::shared_ptr<Device> device_;
};
INSTANTIATE_TEST_SUITE_P(Paths, LargeTensors, ::testing::Values(true, false),
                         [](const auto& which) { return which.param ? "as_planned" : "parts"; });

TEST_P(LargeTensors, ElementwiseWithBroadcast) {
    {
        GraphBuilder b("add");
        const ValueId x = b.input("x", DType::fp32, {75, 1024, 1024}), y = b.input("y", DType::fp32, {1, 1024, 1});
        b.output(b.add1(Op::add, {x, y}, DType::fp32, {}, "add"));
        const auto result = run<float>(b.finish(), values<float>(floats), values<float>(1024, 5));
        expect(result, [](std::int64_t i) { return at(i) + at(5 + i / 1024 % 1024); });
    }
    GraphBuilder b("xor");
    const ValueId x = b.input("x", DType::i8, {300, 1024, 1024}), y = b.input("y", DType::i8, {300, 1, 1});
    b.output(b.add1(Op::bitwise_xor, {x, y}, DType::i8, {}, "xor"));
    const auto result = run<std::int8_t>(b.finish(), values<std::int8_t>(bytes), values<std::int8_t>(300, 9));
    expect(result, [](std::int64_t i) { return at(i) ^ at(9 + i / (1 << 20)); });
}

TEST_P(LargeTensors, DataMovement) {
    {
        GraphBuilder b("transpose");
        Attributes swap;
        swap.perms = {1, 0};
        b.output(b.add1(Op::transpose, {b.input("x", DType::fp32, {8192, 9600})}, DType::fp32, swap, "transpose"));
        const auto result = run<float>(b.finish(), values<float>(floats));
        expect(result, [](std::int64_t i) { return at(i % 8192 * 9600 + i / 8192); });
    }
    {
        GraphBuilder b("slice");
        const std::int64_t start[] = {3, 7}, size[] = {300 * 1024 - 5, 1001};
        const ValueId x = b.input("x", DType::i8, {300 * 1024, 1024});
        b.output(b.add1(Op::slice, {x, b.shape(start), b.shape(size)}, DType::i8, {}, "slice"));
        const Graph graph = b.finish();
        Plan plan = make_plan(graph, device_->plan(), {});
        EXPECT_GT(plan.dispatches.at(0).bindings.size(), 2u);
        Context context(Executable::create(device_, std::make_shared<const Graph>(graph), std::move(plan)), false);
        const auto input = values<std::int8_t>(bytes);
        context.set_input(0, std::as_bytes(std::span(input)));
        context.submit();
        context.wait();
        std::vector<std::int8_t> result(static_cast<std::size_t>(size[0] * size[1]));
        context.get_output(0, std::as_writable_bytes(std::span(result)));
        expect(result, [](std::int64_t i) { return at((i / 1001 + 3) * 1024 + i % 1001 + 7); });
    }
    // Rows of 1023 and 1 bytes: neighbours in a word have two writers.
    GraphBuilder b("concat");
    Attributes last;
    last.axis = 1;
    const ValueId x = b.input("x", DType::i8, {300 * 1024, 1023}), y = b.input("y", DType::i8, {300 * 1024, 1});
    b.output(b.add1(Op::concat, {x, y}, DType::i8, last, "concat"));
    const auto result =
        run<std::int8_t>(b.finish(), values<std::int8_t>(bytes / 1024 * 1023), values<std::int8_t>(bytes / 1024, 77));
    expect(result,
           [](std::int64_t i) { return i % 1024 == 1023 ? at(77 + i / 1024) : at(i / 1024 * 1023 + i % 1024); });
}

TEST_P(LargeTensors, Reductions) {
    Attributes axis;
    axis.axis = 1;
    {
        GraphBuilder b("sum");
        b.output(b.add1(Op::reduce_sum, {b.input("x", DType::fp32, {75, 1024, 1024})}, DType::fp32, axis, "sum"));
        std::vector<float> wanted(75 * 1024, 0.0f);
        for (std::int64_t i = 0; i < floats; ++i)
            wanted[static_cast<std::size_t>(i / (1 << 20) * 1024 + i % 1024)] += static_cast<float>(at(i));
        const auto result = run<float>(b.finish(), values<float>(floats));
        expect(result, [&](std::int64_t i) { return wanted[static_cast<std::size_t>(i)]; });
    }
    GraphBuilder b("max");
    axis.axis = 2;
    b.output(b.add1(Op::reduce_max, {b.input("x", DType::i8, {300, 8192, 128})}, DType::i8, axis, "max"));
    std::vector<int> wanted(300 * 8192, -128);
    for (std::int64_t i = 0; i < bytes; ++i)
        wanted[static_cast<std::size_t>(i / 128)] = std::max(wanted[static_cast<std::size_t>(i / 128)], at(i));
    const auto result = run<std::int8_t>(b.finish(), values<std::int8_t>(bytes));
    expect(result, [&](std::int64_t i) { return wanted[static_cast<std::size_t>(i)]; });
}

TEST_P(LargeTensors, Convolutions) {
    const auto conv = [](GraphBuilder& b, std::int64_t inputs, std::int64_t outputs, DType type) {
        Attributes attrs;
        attrs.pad = {0, 0, 0, 0};
        attrs.stride = attrs.dilation = {1, 1};
        const DType sum = type == DType::i8 ? DType::i32 : DType::fp32;
        attrs.acc_type = sum;
        const ValueId x = b.input("x", type, {1, 1024, 1024, inputs});
        std::vector<std::int64_t> weights(static_cast<std::size_t>(inputs * outputs)),
            bias(static_cast<std::size_t>(outputs), 2);
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = at(static_cast<std::int64_t>(i));
        std::vector<double> real_weights(weights.begin(), weights.end()), real_bias(bias.begin(), bias.end());
        const Shape shape{outputs, 1, 1, inputs};
        const ValueId w = type == DType::i8 ? b.constant_ints("w", type, shape, weights)
                                            : b.constant("w", type, shape, encode_reals(type, real_weights));
        const ValueId c = type == DType::i8 ? b.constant_ints("b", sum, {outputs}, bias)
                                            : b.constant("b", sum, {outputs}, encode_reals(sum, real_bias));
        b.output(b.add1(Op::conv2d, {x, w, c, b.scalar(type, 0), b.scalar(type, 0)}, sum, attrs, "conv"));
    };
    {
        GraphBuilder b("large input");
        conv(b, 300, 4, DType::i8);
        std::vector<int> wanted(4 << 20, 2);
        for (std::int64_t i = 0; i < bytes; ++i) {
            for (std::int64_t o = 0; o < 4; ++o)
                wanted[static_cast<std::size_t>(i / 300 * 4 + o)] += at(i) * at(o * 300 + i % 300);
        }
        const auto result = run<std::int32_t>(b.finish(), values<std::int8_t>(bytes));
        expect(result, [&](std::int64_t i) { return wanted[static_cast<std::size_t>(i)]; });
    }
    GraphBuilder b("large output");
    conv(b, 3, 75, DType::fp32);
    const auto result = run<float>(b.finish(), values<float>(3 << 20));
    expect(result, [](std::int64_t i) {
        int sum = 2;
        for (std::int64_t c = 0; c < 3; ++c) sum += at(i / 75 * 3 + c) * at(i % 75 * 3 + c);
        return sum;
    });
}

// 2^31 elements and more are beyond what shaders count.
TEST(LargeTensorPlans, TooManyElementsAreRefused) {
    DevicePlan device;
    device.max_binding_bytes = 128 << 20;
    device.max_buffers = 64;
    GraphBuilder b("huge", level_none);
    b.output(b.add1(Op::bitwise_not, {b.input("x", DType::i8, {1 << 16, 1 << 15})}, DType::i8, {}, "not"));
    try {
        make_plan(b.finish(), device, {});
        ADD_FAILURE() << "was planned";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unsupported);
        EXPECT_NE(std::string(error.what()).find("2147483648 elements"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace tosavk
