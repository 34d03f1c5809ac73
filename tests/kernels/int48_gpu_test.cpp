// 48-bit sums on the device, with 64-bit integers and with 32-bit words in the shader: lengths at which a 32-bit
// partial sum would overflow if it were not moved in time, values at the ends of their types.
#include "support/one_node.hpp"

#include "compile/plan/plan.hpp"
#include "ops/builder.hpp"
#include "support/gpu_test.hpp"
#include "verify/checker.hpp"

using namespace tosavk;
using namespace tosavk::testing;

namespace {

struct Form {
    bool int64;
    const char* kernel;  ///< kernel that runs matrix products; null: the operators' own

    friend void PrintTo(const Form& form, std::ostream* out) { *out << form.name(); }
    std::string name() const { return std::string(kernel ? kernel : "own_kernels") + (int64 ? "" : "_words"); }
};

class Int48 : public test::GpuTestWith<Form> {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        if (GetParam().int64 && !device_->plan().int64) GTEST_SKIP() << "the device has no 64-bit integers";
        const std::string kernel = GetParam().kernel ? GetParam().kernel : "";
        used_ = test::open_with([kernel](DevicePlan& plan) {
            plan.int64 = plan.int64 && GetParam().int64;
            plan.shared_tiles = kernel == "gemm_tiles" || kernel == "gemm_split";
            plan.product_tiles = kernel == "gemm_tiles";
            plan.product_tile_bytes = 32768;
            plan.busy_invocations = kernel == "gemm_split" ? 1 << 20 : 1;
            if (kernel == "gemm") plan.slow_storage = false;
            else plan.subgroup_lanes = 1;
            plan.shared_rows = kernel == "gemm" && plan.subgroup_lanes > 1;
            plan.own_rows = kernel == "gemm" && plan.subgroup_lanes == 1 ? 16 : 0;
        });
    }

    /// Of a product whose own kernel has this name.
    static const char* product_by(const char* own) { return GetParam().kernel ? GetParam().kernel : own; }

    /// Around the 256 products that fit 32 bits, and beyond.
    static std::vector<std::int64_t> lengths() {
        if (GetParam().kernel) return {256, 257, 4102};
        return {255, 256, 257, 1030, 250000};
    }

    /// The node alone and with a RESCALE behind it; operands from `first_constant` on are constants.
    void check(Op op, std::vector<HostTensor> operands, Attributes attrs, std::size_t first_constant,
               const std::vector<std::int64_t>& start, const char* kernel) {
        for (const bool rescaled : {false, true}) {
            GraphBuilder b("sums", level_none);
            std::vector<ValueId> ids;
            std::vector<HostTensor> inputs;
            for (std::size_t k = 0; k < operands.size(); ++k) {
                const HostTensor& t = operands[k];
                const std::string name = "in" + std::to_string(k);
                if (k >= first_constant) {
                    ids.push_back(b.constant(name, t.type, t.shape, t.bytes));
                } else {
                    ids.push_back(b.input(name, t.type, t.shape));
                    inputs.push_back(t);
                }
            }
            ValueId out = b.add1(op, ids, DType::i48, attrs, "sum");
            if (rescaled) {
                Attributes scale;
                scale.scale32 = false;
                const std::int64_t m = 16385, s = 33, zero = 0;
                out = b.add1(
                    Op::rescale,
                    {out, b.constant_ints("m", DType::i16, {1}, {&m, 1}), b.constant_ints("s", DType::i8, {1}, {&s, 1}),
                     b.constant_ints("zp", DType::i48, {1}, {&zero, 1}), b.scalar(DType::i16, 0)},
                    DType::i16, scale, "scaled");
            }
            b.output(out);
            const auto graph = std::make_shared<const Graph>(b.finish());
            if (!rescaled && !start.empty()) {
                const auto sums = int_values(reference_run(*graph, inputs).at(0));
                ASSERT_GE(sums.size(), start.size());
                EXPECT_EQ(
                    std::vector<std::int64_t>(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(start.size())),
                    start);
            }
            const Plan plan = make_plan(*graph, used_->plan(), {});
            ASSERT_EQ(plan.dispatches.size(), 1u) << "a RESCALE follows in registers";
            EXPECT_EQ(plan.dispatches[0].kernel, kernel);
            Checker checker(used_, graph);
            const CheckReport report = checker.run(inputs);
            EXPECT_TRUE(report.passed) << report.detail;
        }
    }

    std::shared_ptr<Device> used_;
};

constexpr std::int64_t largest = 32768 * 255;  // the largest of 16 by 8 bits less a zero point

Attributes conv2d_attrs() {
    Attributes a;
    a.pad = {0, 0, 0, 0};
    a.stride = {1, 1};
    a.dilation = {1, 1};
    a.acc_type = DType::i48;
    return a;
}

std::vector<HostTensor> convolution(const Shape& input, const Shape& weight, std::int64_t bias) {
    return {filled(DType::i16, input, -32768), filled(DType::i8, weight, -128), ints(DType::i48, {1}, {bias}),
            zero_point(DType::i16), zero_point(DType::i8, 127)};
}

INSTANTIATE_TEST_SUITE_P(Integers, Int48,
                         ::testing::Values(Form{true, nullptr}, Form{false, nullptr}, Form{true, "gemm"},
                                           Form{false, "gemm"}, Form{true, "gemm_tiles"}, Form{false, "gemm_tiles"},
                                           Form{true, "gemm_split"}, Form{false, "gemm_split"}),
                         [](const auto& form) { return form.param.name(); });

TEST_P(Int48, ConvolutionsWithPackedWeights) {
    const std::int64_t bias = -(std::int64_t{1} << 46);
    for (const std::int64_t channels : lengths()) {
        SCOPED_TRACE(channels);
        check(Op::conv2d, convolution({1, 1, 4, channels}, {5, 1, 1, channels}, bias), conv2d_attrs(), 1,
              {channels * largest + bias}, product_by("conv"));
    }
    // Tiles of four pixels, many taps of few channels.
    check(Op::conv2d, convolution({1, 70, 70, 3}, {13, 13, 13, 3}, bias), conv2d_attrs(), 1, {507 * largest + bias},
          product_by("conv"));
    Attributes volume = conv2d_attrs();
    volume.pad = {0, 0, 0, 0, 0, 0};
    volume.stride = volume.dilation = {1, 1, 1};
    check(Op::conv3d, convolution({1, 7, 7, 10, 3}, {6, 7, 7, 7, 3}, bias), volume, 1, {1029 * largest + bias},
          product_by("conv"));
    Attributes transposed = conv2d_attrs();
    transposed.dilation.clear();
    transposed.stride = {2, 3};
    check(Op::transpose_conv2d, convolution({1, 30, 20, 261}, {5, 2, 3, 261}, bias), transposed, 1,
          {261 * largest + bias}, product_by("conv"));
}

TEST_P(Int48, ConvolutionsWithRunTimeWeights) {
    if (GetParam().kernel) GTEST_SKIP() << "they are no matrix products";
    for (const std::int64_t channels : {257, 260, 1029}) {
        SCOPED_TRACE(channels);
        check(Op::conv2d, convolution({1, 2, 3, channels}, {3, 2, 1, channels}, 7), conv2d_attrs(), 5,
              {2 * channels * largest + 7}, "conv_direct");
    }
    Attributes volume = conv2d_attrs();
    volume.pad = {0, 0, 0, 0, 0, 0};
    volume.stride = volume.dilation = {1, 1, 1};
    check(Op::conv3d, convolution({1, 7, 7, 7, 2}, {1, 7, 7, 7, 2}, -1), volume, 5, {686 * largest - 1}, "conv_direct");
    Attributes transposed = conv2d_attrs();
    transposed.dilation.clear();
    check(Op::transpose_conv2d, convolution({1, 20, 20, 1}, {4, 20, 20, 1}, 3), transposed, 5, {largest + 3},
          "conv_direct");
    check(Op::depthwise_conv2d, convolution({1, 20, 20, 3}, {20, 20, 3, 2}, 0), conv2d_attrs(), 5, {400 * largest},
          "conv_direct");
}

TEST_P(Int48, DepthwiseWithPackedWeights) {
    if (GetParam().kernel) GTEST_SKIP() << "they are no matrix products";
    check(Op::depthwise_conv2d, convolution({1, 20, 20, 3}, {20, 20, 3, 2}, 0), conv2d_attrs(), 1, {400 * largest},
          "depthwise_conv2d");
    check(Op::depthwise_conv2d, convolution({1, 60, 20, 3}, {60, 10, 3, 2}, 0), conv2d_attrs(), 1, {600 * largest},
          "depthwise_conv2d");
    check(Op::depthwise_conv2d, convolution({1, 1, 600, 4}, {1, 600, 4, 1}, 9), conv2d_attrs(), 1, {600 * largest + 9},
          "depthwise_conv2d");
}

TEST_P(Int48, Matmul) {
    const auto zero = zero_point(DType::i16);
    for (const std::int64_t inner : lengths()) {
        SCOPED_TRACE(inner);
        HostTensor b = filled(DType::i16, {1, inner, 3}, -32768);
        for (std::size_t i = 1; i < b.as<std::int16_t>().size(); i += 3) b.as<std::int16_t>()[i] = 32767;
        // 131072 products of the largest values are 2^47.
        const std::int64_t low = inner < 131072 ? -32768 : -16384;
        check(Op::matmul, {filled(DType::i16, {1, 4, inner}, static_cast<double>(low)), b, zero, zero}, {}, 2,
              {inner * low * -32768, inner * low * 32767, inner * low * -32768}, product_by("matmul"));
        // The low byte of A is 255: its products are the largest that the split makes.
        const std::int64_t high = -low - 1;
        check(Op::matmul, {filled(DType::i16, {1, 4, inner}, static_cast<double>(high)), b, zero, zero}, {}, 2,
              {inner * high * -32768, inner * high * 32767}, product_by("matmul"));
    }
    // Tiles that are not full.
    check(Op::matmul,
          {random_tensor(DType::i16, {1, 65, 300}, 1), random_tensor(DType::i16, {1, 300, 260}, 2), zero, zero}, {}, 2,
          {}, product_by("matmul"));
}

TEST_P(Int48, Resize) {
    if (GetParam().kernel) GTEST_SKIP() << "it is no matrix product";
    Attributes bilinear;
    bilinear.mode = ResizeMode::bilinear;
    check(Op::resize,
          {filled(DType::i16, {1, 2, 2, 5}, -32768), shape_values({2048, 512, 2048, 512}), shape_values({0, 0}),
           shape_values({0, 0})},
          bilinear, 1, {-(std::int64_t{1} << 37)}, "resize");
}

}  // namespace
