// Operands of products in small floats, and in i8 without packed dot products, that become fp32 in passes before, and
// those that are not worth it.
#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/builder.hpp"
#include "support/gpu_test.hpp"
#include "support/plan_labels.hpp"
#include "verify/checker.hpp"
#include "vk/run/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

using namespace tosavk;

namespace {

class Widen : public test::GpuTest {
protected:
    /// Without fp16 of its own or packed dot products, and with the products' kernel of that name.
    static std::shared_ptr<Device> open(
        const std::string& kernel, std::uint32_t registers = 64,
        const std::function<void(DevicePlan&)>& change = [](DevicePlan&) {}) {
        return test::open_with([&](DevicePlan& plan) {
            test::without_matrices(plan);
            plan.native_fp16 = plan.half_roundings = plan.dot4 = false;
            plan.fma_chains = true;
            plan.subgroup_lanes = 1;
            plan.shared_rows = plan.slow_storage = false;
            plan.shared_tiles = kernel == "gemm_tiles" || kernel == "gemm_split";
            plan.product_tiles = kernel == "gemm_tiles";
            plan.product_tile_bytes = 32768;
            plan.least_tiles = plan.tile_parts = 1;
            plan.tile_quads = 1;
            plan.own_rows = kernel == "gemm_direct" ? 8 : kernel == "gemm" ? 16 : 0;
            if (kernel == "gemm_direct" || kernel == "gemm_split") plan.registers = registers;
            plan.busy_invocations = kernel == "gemm_split" ? 1 << 20 : 1;
            change(plan);
        });
    }

    /// Returns how many passes make fp32 of operands.
    static std::size_t check(const std::shared_ptr<Device>& device, Graph&& of, const std::string& name,
                             const std::string& kernel) {
        const auto graph = std::make_shared<const Graph>(std::move(of));
        const Plan plan = make_plan(*graph, device->plan(), {});
        EXPECT_EQ(plan.dispatches.back().kernel, kernel) << name;
        const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
        const CheckReport report = Checker(device, graph).run(seed);
        EXPECT_TRUE(report.passed) << name << ", seed " << seed << "\n" << report.detail;
        return test::widened(plan);
    }

    /// What a CONV2D of i8, `number` everywhere in its input, makes, and how many parts it has; none: of integers.
    static std::pair<std::vector<std::int64_t>, int> largest_sums(const std::shared_ptr<Device>& device,
                                                                  std::int64_t pixels, std::int64_t columns,
                                                                  const std::vector<std::int64_t>& weights,
                                                                  std::int64_t number = 127) {
        const auto channels = static_cast<std::int64_t>(weights.size());
        GraphBuilder b("largest", level_none);
        Attributes attrs;
        attrs.pad = {0, 0, 0, 0};
        attrs.stride = attrs.dilation = {1, 1};
        attrs.acc_type = DType::i32;
        std::vector<std::int64_t> all, bias;
        for (std::int64_t column = 0; column < columns; ++column) {
            all.insert(all.end(), weights.begin(), weights.end());
            bias.push_back(column - 3);
        }
        const ValueId x = b.input("x", DType::i8, {1, 1, pixels, channels});
        b.output(b.add1(
            Op::conv2d,
            {x, b.constant_ints("weight", DType::i8, {columns, 1, 1, channels}, all),
             b.constant_ints("bias", DType::i32, {columns}, bias), b.scalar(DType::i8, -128), b.scalar(DType::i8, 127)},
            DType::i32, attrs, "sums"));
        const auto graph = std::make_shared<const Graph>(b.finish());
        Plan plan = make_plan(*graph, device->plan(), {});
        const bool integers = test::first_define(plan, "X_FLOAT") == 0;
        const int parts = integers ? 0 : std::max(test::first_define(plan, "PARTS"), 1);
        Context context(Executable::create(device, graph, std::move(plan)), false);
        const std::vector<std::int64_t> numbers(static_cast<std::size_t>(pixels * channels), number);
        context.set_input(0, encode_ints(DType::i8, numbers));
        context.submit();
        context.wait();
        Bytes out(static_cast<std::size_t>(pixels * columns) * 4);
        context.get_output(0, out);
        return {decode_ints(DType::i32, out), parts};
    }
};

TEST_F(Widen, OperandsThatAreReadOften) {
    const char* const kernels[] = {"gemm", "gemm_tiles", "gemm_split", "gemm_direct"};
    const std::pair<const char*, std::size_t> lines[] = {
        {"conv2d f16 1x12x11x20 140x3x3 s1 p1 clamp", 1},
        {"conv2d f16 2x17x13x9 133x3x3 s2 p1 d2", 1},
        {"conv2d f16 1x13x12x3 140x3x3 p1", 1},
        {"conv2d e4m3 1x12x11x20 140x3x3 p1", 1},
        {"conv2d e5m2 1x12x11x18 140x3x3 p1", 1},
        {"conv3d f16 1x4x6x7x12 130x3x2x3 s1 p1", 1},
        {"transpose_conv2d f16 1x9x8x20 140x4x4 s2 p1", 1},
        {"conv2d i8 1x12x11x20 601x3x3 p1 rescale clamp", 1},
        {"conv2d i8 2x17x13x9 601x3x3 s2 p1 d2", 1},
        {"conv2d i4 1x12x11x20 602x3x3 p1 rescale", 1},
        {"transpose_conv2d i8 1x6x6x8 1100x4x4 s2 rescale", 1},
        {"conv3d i8 1x4x6x7x4 300x3x2x3 p1 rescale", 1},
        {"matmul f16 1x530x33x1165", 2},
        {"matmul f16 1x528x64x1164", 2},
        {"matmul e4m3 1x514x36x1164", 2},
        {"matmul i8 1x1025x20x4090 rescale", 2},
    };
    for (std::size_t k = 0; k < std::size(kernels); ++k) {
        if (k > 0 && device_->plan().own_rows == 0) break;  // the driver takes minutes to compile large register tiles
        const auto device = open(kernels[k]);
        for (std::size_t i = 0; i < std::size(lines); ++i) {
            if (!test::in_this_part(i)) continue;
            const auto& [line, passes] = lines[i];
            EXPECT_EQ(check(device, load_problem(line), line, kernels[k]), passes) << kernels[k] << ": " << line;
        }
    }
}

// Tiles of what is unpacked at every read are so small that enough of them keep the device busy; larger ones are few.
TEST_F(Widen, LargerTilesInParts) {
    if (device_->plan().own_rows == 0) GTEST_SKIP() << "the driver takes minutes to compile large register tiles";
    for (const char* type : {"f16", "e5m2", "f32"}) {
        const auto device = open("gemm_direct", 64, [](DevicePlan& plan) {
            plan.shared_tiles = true;
            plan.tile_parts = 8;
            plan.busy_invocations = 4096;
        });
        const std::string line = fmt::format("conv2d {} 1x13x14x64 128x3x3 p1 clamp", type);
        const Plan plan = make_plan(load_problem(line), device->plan(), {});
        EXPECT_EQ(test::first_define(plan, "TM"), 7) << line;
        EXPECT_EQ(check(device, load_problem(line), line, "gemm_parts"), type == std::string("f32") ? 0u : 1u);
    }
}

// A vector's matrix is read once, and few columns read rows seldom; several matrices are attention's.
TEST_F(Widen, OthersAreReadAsTheyAre) {
    const auto device = open("gemm");
    for (const auto& [line, kernel] :
         {std::pair("fully_connected f16 1x64 64", "conv"), std::pair("conv2d f16 1x12x11x20 4x1x1", "gemm"),
          std::pair("conv2d f16 1x5x6x20 140x3x3 p1", "gemm"), std::pair("matmul f16 1x130x40x8", "gemm"),
          std::pair("matmul f16 2x528x64x1164", "gemm"), std::pair("matmul f16 1x1x64x64", "matmul"),
          std::pair("conv2d f32 1x12x11x20 140x3x3 p1", "gemm")})
        EXPECT_EQ(check(device, load_problem(line), line, kernel), 0u) << line;
}

// Sums of i8 are whole numbers up to 2^24, of which fp32 holds every one: 258 products of 255 by 255 are less.
TEST_F(Widen, IntegersWhoseSumsFp32Holds) {
    constexpr std::int64_t pixels = 66, columns = 129;
    static constexpr std::int64_t weight = -128, zero = 127;  // less its zero point -255; nothing
    const auto counted = [](const std::vector<std::int64_t>& weights) {
        return -255 * 255 * static_cast<std::int64_t>(std::ranges::count(weights, weight));
    };
    std::vector<std::int64_t> in_first_half(600, zero);
    std::fill_n(in_first_half.begin(), 300, weight);
    in_first_half[7] = -127;  // an odd sum
    const struct {
        std::vector<std::int64_t> weights;
        int parts, in_registers;  ///< 0: of integers
    } cases[] = {{std::vector(257, weight), 1, 1},  {std::vector(259, weight), 0, 2},  {std::vector(511, weight), 0, 2},
                 {std::vector(1023, weight), 0, 4}, {std::vector(2067, weight), 0, 0}, {in_first_half, 0, 4}};
    for (const char* kernel : {"gemm", "gemm_split", "gemm_direct"}) {
        const bool in_registers = kernel == std::string("gemm_direct"), is_split = kernel == std::string("gemm_split");
        if (device_->plan().own_rows == 0 && kernel != std::string("gemm")) continue;
        const auto device = open(kernel);
        for (const auto& c : cases) {
            const auto [sums, parts] = largest_sums(device, pixels, columns, c.weights);
            const auto channels = c.weights.size();
            // Invocations that share sums add theirs up as integers.
            EXPECT_EQ(parts, in_registers ? c.in_registers
                             : is_split   ? 1
                                          : c.parts)
                << kernel << ", channels: " << channels;
            std::int64_t sum = counted(c.weights);
            if (c.weights == in_first_half) sum -= 254 * 255;
            for (std::int64_t i = 0; i < pixels * columns; ++i)
                ASSERT_EQ(sums[static_cast<std::size_t>(i)], sum + i % columns - 3) << kernel << ", " << channels;
        }
    }
    // Tiles in shared memory have other parts, though tuning may choose registers on such devices too.
    DevicePlan plan = open("gemm_direct")->plan();
    plan.product_tiles = true;
    const auto tiles = test::open_with([&](DevicePlan& used) { used = plan; });
    EXPECT_EQ(largest_sums(tiles, pixels, columns, std::vector(1023, weight)).second, 0);
}

// Sums of more products are made in parts where tiles are in registers alone.
TEST_F(Widen, IntegersInParts) {
    if (device_->plan().own_rows == 0) GTEST_SKIP() << "the driver takes minutes to compile large register tiles";
    const auto device = open("gemm_direct");
    for (const auto& [line, passes] :
         {std::pair("conv2d i8 1x9x8x420 130x3x3 p1 rescale", 1u),
          std::pair("conv2d i8 1x9x9x4100 130x1x1 rescale", 1u), std::pair("matmul i8 1x130x2050x132 rescale", 2u)})
        EXPECT_EQ(check(device, load_problem(line), line, "gemm_parts"), passes) << line;
}

// Rows of i8 that are read too seldom for a pass; two quads of columns share what becomes fp32 where there are
// registers.
TEST_F(Widen, RowsThatBecomeFp32WhereTheyAreRead) {
    for (const std::uint32_t registers : {64u, 96u}) {
        const auto device = open("gemm_direct", registers);
        const struct {
            const char* line;
            int quads;
        } cases[] = {{"conv2d i8 2x9x9x48 36x1x1 rescale clamp", 2},
                     {"conv2d i8 1x9x9x23 20x1x1 rescale", 2},
                     {"conv2d i8 1x19x13x20 28x3x3 s2 p1 rescale", 2},
                     {"conv2d i8 1x12x11x20 4x3x3 p1 rescale", 1},
                     {"conv2d i4 1x12x13x32 24x1x1 rescale clamp", 2},
                     {"conv2d i8 1x12x13x32 9x1x1 rescale", 1},
                     {"conv3d i8 1x9x9x9x5 24x2x2x2 s2 p1,0,1,0,1,0 rescale", 2},
                     {"transpose_conv2d i8 1x9x9x12 8x3x3 s3 rescale", 2}};
        for (const auto& [line, quads] : cases) {
            const Plan plan = make_plan(load_problem(line), device->plan(), {});
            EXPECT_EQ(test::first_define(plan, "CONVERTS"), 1) << line;
            EXPECT_EQ(test::first_define(plan, "TN"), registers == 64 ? 1 : quads) << line;
            EXPECT_EQ(check(device, load_problem(line), line, "gemm_direct"), 0u) << line;
        }
        // Few rows wait for their weights.
        const Plan few = make_plan(load_problem("conv2d i8 1x7x9x48 36x1x1 rescale"), device->plan(), {});
        EXPECT_EQ(test::first_define(few, "CONVERTS"), 2);

        // The bias corrects what zero points add, which fp32 holds: 514 products of 128 by 255 are less than 2^24.
        for (const auto& [channels, parts] : {std::pair(514, 1), std::pair(515, 2)}) {
            for (const int number : {-128, 127}) {
                const auto [sums, made_in] = largest_sums(
                    device, 66, 36, std::vector<std::int64_t>(static_cast<std::size_t>(channels), -128), number);
                EXPECT_EQ(made_in, parts) << channels;
                for (std::size_t i = 0; i < sums.size(); ++i) {
                    const std::int64_t sum = (number + 128) * -255 * channels;
                    ASSERT_EQ(sums[i], sum + static_cast<std::int64_t>(i % 36) - 3) << channels << ", " << number;
                }
            }
        }
    }
}

// Both operands of i8, where neither a pass nor weights of fp32 are worth it.
TEST_F(Widen, OperandsThatBecomeFp32WhereTheyAreRead) {
    if (device_->plan().own_rows == 0) GTEST_SKIP() << "the driver takes minutes to compile large register tiles";
    const char* const rows[] = {"conv2d i8 1x5x9x20 36x3x3 p1 rescale",
                                "conv2d i8 2x5x6x13 33x3x3 p1 rescale clamp",
                                "conv2d i4 1x7x9x32 36x1x1 rescale",
                                "conv3d i8 1x3x4x5x7 9x2x2x2 p1,0,1,0,1,0 rescale",
                                "transpose_conv2d i8 1x3x2x12 20x3x3 s2 rescale",
                                "matmul i8 3x70x45x67 rescale",
                                "matmul i8 2x66x64x36 rescale"};
    const char* const split[] = {"fully_connected i8 1x1024 100 rescale",
                                 "fully_connected i4 1x512 33 rescale",
                                 "conv2d i8 1x4x5x33 24x3x3 p1 rescale",
                                 "conv2d i8 1x4x5x64 24x3x3 p1 rescale clamp",
                                 "transpose_conv2d i8 1x5x4x32 8x4x4 s2 p-1 rescale",
                                 "matmul i8 2x9x300x70 rescale",
                                 "matmul i8 1x1x129x64 rescale"};
    for (const std::uint32_t registers : {64u, 96u}) {
        for (const bool is_split : {false, true}) {
            const char* kernel = is_split ? "gemm_split" : "gemm_direct";
            const auto device = open(kernel, registers);
            for (const char* line : is_split ? std::span(split) : std::span(rows)) {
                const Plan plan = make_plan(load_problem(line), device->plan(), {});
                EXPECT_EQ(test::first_define(plan, "CONVERTS"), 2) << line;
                EXPECT_EQ(check(device, load_problem(line), line, kernel), 0u) << line;
            }
            // Both zero points; the last has sums that fp32 does not hold.
            for (const auto& [channels, parts] : {std::pair(257, 1), std::pair(33000, 0)}) {
                const std::vector<std::int64_t> weights(static_cast<std::size_t>(channels), -128);
                const auto [sums, made_in] = largest_sums(device, 9, 21, weights);
                EXPECT_EQ(made_in, parts) << kernel << ", " << channels;
                for (std::size_t i = 0; i < sums.size(); ++i)
                    ASSERT_EQ(sums[i], -255 * 255 * std::int64_t{channels} + static_cast<std::int64_t>(i % 21) - 3)
                        << kernel << ", " << channels;
            }
        }
    }
}

// What makes an operand is computed where it becomes fp32.
TEST_F(Widen, TakesWhatMakesTheOperand) {
    const auto device = open("gemm");
    for (const bool weights_at_run_time : {false, true}) {
        GraphBuilder b("made", level_none);
        const Shape weight_shape{64, 3, 3, 16};
        std::vector<float> numbers;
        for (int i = 0; i < 64 * 9 * 16; ++i) numbers.push_back(static_cast<float>(i * 37 % 64 - 32) / 61);
        const ValueId x = b.input("x", DType::fp16, {1, 9, 8, 16}), y = b.input("y", DType::fp16, {1, 9, 8, 16});
        const ValueId product = b.add1(Op::mul, {x, y, b.scalar(DType::i8, 0)}, DType::fp16, {}, "product");
        const ValueId weight = weights_at_run_time ? b.input("weight", DType::fp16, weight_shape)
                                                   : b.constant_floats("weight", DType::fp16, weight_shape, numbers);
        Attributes attrs;
        attrs.pad = {1, 1, 1, 1};
        attrs.stride = attrs.dilation = {1, 1};
        attrs.acc_type = DType::fp32;
        const ValueId zero = b.scalar(DType::fp16, 0);
        b.output(b.add1(Op::conv2d, {product, weight, zero, zero, zero}, DType::fp16, attrs, "convolution"));
        const Graph graph = b.finish();
        EXPECT_EQ(make_plan(graph, device->plan(), {}).dispatches.size(), weights_at_run_time ? 3u : 2u);
        EXPECT_EQ(check(device, Graph(graph), "made", "gemm"), 1u);
    }
}

// Subnormal numbers, infinities and NaN too: each is multiplied by one. Few columns are not worth a pass.
TEST_F(Widen, EveryNumberKeepsItsValue) {
    constexpr std::int64_t rows = 1 << 16;
    const auto device = open("gemm");
    for (const DType type : {DType::fp16, DType::fp8e4m3, DType::fp8e5m2}) {
        for (const std::int64_t columns : {4, 32}) {
            const DType sum = type == DType::fp16 ? DType::fp32 : DType::fp16;
            GraphBuilder b("numbers", level_none);
            const ValueId zero = b.scalar(type, 0);
            const ValueId x = b.input("x", type, {1, rows, 4}), ones = b.input("ones", type, {1, 4, columns});
            b.output(b.add1(Op::matmul, {x, ones, zero, zero}, sum, {}, "values"));
            const auto graph = std::make_shared<const Graph>(b.finish());
            Plan plan = make_plan(*graph, device->plan(), {});
            EXPECT_EQ(test::widened(plan), columns == 4 ? 0u : 2u);
            // One in four is a number, the others are zeros.
            const std::size_t bytes = size_of(type);
            Bytes patterns(static_cast<std::size_t>(rows * 4) * bytes);
            for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
                for (std::size_t k = 0; k < bytes; ++k)
                    patterns[(i * 4 + i % 4) * bytes + k] = static_cast<std::byte>(i >> 8 * k);
            }
            Context context(Executable::create(device, graph, std::move(plan)), false);
            context.set_input(0, patterns);
            context.set_input(1, encode_reals(type, std::vector<double>(static_cast<std::size_t>(4 * columns), 1)));
            context.submit();
            context.wait();
            Bytes out(static_cast<std::size_t>(rows * columns) * size_of(sum));
            context.get_output(0, out);
            const std::vector<double> numbers = decode_reals(type, patterns), values = decode_reals(sum, out);
            for (std::size_t i = 0; i < values.size(); ++i) {
                const std::size_t row = i / static_cast<std::size_t>(columns);
                const double expected = numbers[row * 4 + row % 4], value = values[i];
                ASSERT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected)))
                    << name_of(type) << " pattern " << row << ": " << value << " for " << expected;
            }
        }
    }
}

}  // namespace
