// CONV2D, CONV3D, DEPTHWISE_CONV2D, TRANSPOSE_CONV2D and MATMUL: hand-computed values, properties, error graphs; and
// the 48-bit results of RESIZE and operands of RESCALE.
#include "support/one_node.hpp"

#include "ops/window.hpp"

#include <cmath>

using namespace tosavk;
using namespace tosavk::testing;

namespace {

Attributes conv_attrs(std::vector<std::int32_t> pad, std::vector<std::int32_t> stride,
                      std::vector<std::int32_t> dilation, DType acc = DType::i32) {
    Attributes a;
    a.pad = std::move(pad);
    a.stride = std::move(stride);
    a.dilation = std::move(dilation);
    a.acc_type = acc;
    return a;
}

Attributes plain2d(DType acc = DType::i32) { return conv_attrs({0, 0, 0, 0}, {1, 1}, {1, 1}, acc); }

std::vector<HostTensor> conv_operands(HostTensor input, HostTensor weight, HostTensor bias, double input_zp = 0,
                                      double weight_zp = 0) {
    const DType in = input.type, w = weight.type;
    return {std::move(input), std::move(weight), std::move(bias), zero_point(in, input_zp), zero_point(w, weight_zp)};
}

HostTensor conv(Op op, const std::vector<HostTensor>& operands, const Attributes& attrs) {
    return run_op(op, operands, operands[2].type, attrs);
}

/// The definition of CONV2D and DEPTHWISE_CONV2D as one loop nest over doubles (exact for the integers used here).
std::vector<double> direct_conv(const std::vector<HostTensor>& o, const Attributes& a, const Shape& out,
                                bool depthwise) {
    const auto in = real_values(o[0]), w = real_values(o[1]), bias = real_values(o[2]);
    const double izp = real_values(o[3])[0], wzp = real_values(o[4])[0];
    const Shape &is = o[0].shape, &ws = o[1].shape;
    const std::int64_t kh = depthwise ? ws[0] : ws[1], kw = depthwise ? ws[1] : ws[2];
    std::vector<double> result;
    for (std::int64_t n = 0; n < out[0]; ++n)
        for (std::int64_t oy = 0; oy < out[1]; ++oy)
            for (std::int64_t ox = 0; ox < out[2]; ++ox)
                for (std::int64_t oc = 0; oc < out[3]; ++oc) {
                    double sum = bias[bias.size() == 1 ? 0 : static_cast<std::size_t>(oc)];
                    for (std::int64_t ky = 0; ky < kh; ++ky)
                        for (std::int64_t kx = 0; kx < kw; ++kx)
                            for (std::int64_t ic = 0; ic < is[3]; ++ic) {
                                if (depthwise && ic != oc / ws[3]) continue;
                                const std::int64_t y = oy * a.stride[0] - a.pad[0] + ky * a.dilation[0];
                                const std::int64_t x = ox * a.stride[1] - a.pad[2] + kx * a.dilation[1];
                                if (y < 0 || y >= is[1] || x < 0 || x >= is[2]) continue;
                                const std::int64_t wi = depthwise ? ((ky * kw + kx) * is[3] + ic) * ws[3] + oc % ws[3]
                                                                  : ((oc * kh + ky) * kw + kx) * is[3] + ic;
                                const std::int64_t ii = ((n * is[1] + y) * is[2] + x) * is[3] + ic;
                                sum +=
                                    (in[static_cast<std::size_t>(ii)] - izp) * (w[static_cast<std::size_t>(wi)] - wzp);
                            }
                    result.push_back(sum);
                }
    return result;
}

/// A random axis: input, kernel, stride, dilation and pads that divide exactly.
void random_axis(Dice& dice, std::int64_t& in, std::int64_t& kernel, std::int32_t& stride, std::int32_t& dilation,
                 std::int32_t& before, std::int32_t& after) {
    kernel = dice.roll(1, 4);
    stride = static_cast<std::int32_t>(dice.roll(1, 3));
    dilation = static_cast<std::int32_t>(dice.roll(1, 2));
    before = static_cast<std::int32_t>(dice.roll(0, 3));
    after = static_cast<std::int32_t>(dice.roll(0, 3));
    in = dice.roll(1, 3) * stride + (kernel - 1) * dilation + 1 - before - after;
    while (in < 1) in += stride;
}

}  // namespace

TEST(Conv2d, HandComputed) {
    const auto input = ints(DType::i8, {1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    const auto weight = ints(DType::i8, {1, 2, 2, 1}, {1, 2, 3, 4});
    const auto out = conv(Op::conv2d, conv_operands(input, weight, ints(DType::i32, {1}, {10})), plain2d());
    EXPECT_EQ(out.shape, (Shape{1, 2, 2, 1}));
    EXPECT_EQ(int_values(out), (std::vector<std::int64_t>{47, 57, 77, 87}));

    // Zero points: (x - 1) * (w + 1), two output channels.
    const auto weights = ints(DType::i8, {2, 2, 2, 1}, {1, 2, 3, 4, -1, -1, -1, -1});
    const auto shifted =
        conv(Op::conv2d, conv_operands(input, weights, ints(DType::i32, {2}, {0, 5}), 1, -1), plain2d());
    EXPECT_EQ(int_values(shifted),
              (std::vector<std::int64_t>{0 * 2 + 1 * 3 + 3 * 4 + 4 * 5, 5, 1 * 2 + 2 * 3 + 4 * 4 + 5 * 5, 5,
                                         3 * 2 + 4 * 3 + 6 * 4 + 7 * 5, 5, 4 * 2 + 5 * 3 + 7 * 4 + 8 * 5, 5}));
}

TEST(Conv2d, PaddingContributesNothing) {
    const auto input = filled(DType::i8, {1, 2, 2, 3}, -7);
    const auto weight = random_tensor(DType::i8, {2, 3, 3, 3}, 1);
    const auto out = conv(Op::conv2d, conv_operands(input, weight, ints(DType::i32, {2}, {11, -3}), -7, 4),
                          conv_attrs({1, 1, 1, 1}, {1, 1}, {1, 1}));
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(int_values(out)[i], i % 2 == 0 ? 11 : -3);
}

TEST(Conv2d, StrideAndDilation) {
    const auto input = ints(DType::i8, {1, 5, 1, 1}, {1, 2, 3, 4, 5});
    const auto bias = ints(DType::i32, {1}, {0});
    const auto dilated = conv(Op::conv2d, conv_operands(input, filled(DType::i8, {1, 3, 1, 1}, 1), bias),
                              conv_attrs({0, 0, 0, 0}, {1, 1}, {2, 1}));
    EXPECT_EQ(int_values(dilated), (std::vector<std::int64_t>{9}));
    const auto strided = conv(Op::conv2d, conv_operands(input, filled(DType::i8, {1, 1, 1, 1}, 2), bias),
                              conv_attrs({0, 0, 0, 0}, {2, 1}, {1, 1}));
    EXPECT_EQ(int_values(strided), (std::vector<std::int64_t>{2, 6, 10}));
}

TEST(Conv2d, RandomGeometriesAgreeWithTheDefinition) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        const bool depthwise = seed % 2 == 1, real = seed % 3 == 0;
        const DType type = real ? DType::fp32 : DType::i8, acc = real ? DType::fp32 : DType::i32;
        Attributes a = conv_attrs({0, 0, 0, 0}, {1, 1}, {1, 1}, acc);
        std::int64_t ih = 0, iw = 0, kh = 0, kw = 0;
        random_axis(dice, ih, kh, a.stride[0], a.dilation[0], a.pad[0], a.pad[1]);
        random_axis(dice, iw, kw, a.stride[1], a.dilation[1], a.pad[2], a.pad[3]);
        const std::int64_t ic = dice.roll(1, 5), oc = dice.roll(1, 4);
        const Shape weight_shape = depthwise ? Shape{kh, kw, ic, oc} : Shape{oc, kh, kw, ic};
        const std::int64_t channels = depthwise ? ic * oc : oc;
        const Shape bias_shape{dice.roll(0, 1) == 0 ? 1 : channels};
        std::vector<HostTensor> o = conv_operands(
            random_tensor(type, {dice.roll(1, 2), ih, iw, ic}, seed), random_tensor(type, weight_shape, seed + 1000),
            random_tensor(acc, bias_shape, seed + 2000), real ? 0 : static_cast<double>(dice.roll(-128, 127)),
            real ? 0 : static_cast<double>(dice.roll(-128, 127)));
        if (!real)
            for (auto& b : o[2].as<std::int32_t>()) b /= 4;
        const OneNode node(depthwise ? Op::depthwise_conv2d : Op::conv2d, o, acc, a);
        const HostTensor out = node.run();
        const auto expected = direct_conv(o, a, out.shape, depthwise), got = real_values(out);
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
            if (real) ASSERT_NEAR(got[i], expected[i], 1e-3) << "element " << i;
            else ASSERT_EQ(got[i], expected[i]) << "element " << i;
        }
        const CheckResult checked = node.check(out);
        EXPECT_TRUE(checked.passed) << checked.rule << ": expected " << checked.expected << ", got " << checked.got;
    }
}

TEST(Conv2d, OneByOneEqualsMatmul) {
    for (const DType type : {DType::i8, DType::fp32}) {
        const bool real = type == DType::fp32;
        const DType acc = real ? DType::fp32 : DType::i32;
        const auto input = random_tensor(type, {1, 3, 5, 7}, 3), weight = random_tensor(type, {4, 1, 1, 7}, 4);
        const auto by_conv = conv(
            Op::conv2d, conv_operands(input, weight, filled(acc, {1}, 0), real ? 0 : 3, real ? 0 : -9), plain2d(acc));
        HostTensor a = input;
        a.shape = {1, 15, 7};
        Attributes swap;
        swap.perms = {0, 2, 1};
        HostTensor rows = weight;
        rows.shape = {1, 4, 7};
        const auto b = run_op(Op::transpose, {rows}, type, swap);
        const auto by_matmul =
            run_op(Op::matmul, {a, b, zero_point(type, real ? 0 : 3), zero_point(type, real ? 0 : -9)}, acc);
        EXPECT_EQ(by_matmul.shape, (Shape{1, 15, 4}));
        EXPECT_EQ(real_values(by_conv), real_values(by_matmul)) << name_of(type);
    }
}

TEST(Conv2d, WideRowsDoNotOverflowTheReference) {
    // 255 * 255 * 33000 passes 2^31 in the chunks; the sum of both halves returns to a small number.
    const std::int64_t n = 66000;
    std::vector<std::int64_t> x(static_cast<std::size_t>(n), 127), w(static_cast<std::size_t>(n), 127);
    for (std::size_t i = 33000; i < 66000; ++i) w[i] = -128;
    const auto out = conv(Op::conv2d,
                          conv_operands(ints(DType::i8, {1, 1, 1, n}, x), ints(DType::i8, {1, 1, 1, n}, w),
                                        ints(DType::i32, {1}, {0}), -128, 0),
                          plain2d());
    EXPECT_EQ(int_values(out)[0], std::int64_t{255} * 33000 * (127 - 128));
}

TEST(Conv2d, SumsOf16By8BitsPass32) {
    // 1000 times -32768 * (-128 - 127), and a bias that is larger still.
    const std::int64_t n = 1000, bias = std::int64_t{1} << 45;
    const auto input = filled(DType::i16, {1, 1, 1, n}, -32768), weight = filled(DType::i8, {2, 1, 1, n}, -128);
    const auto out = conv(Op::conv2d, conv_operands(input, weight, ints(DType::i48, {2}, {bias, -bias}), 0, 127),
                          plain2d(DType::i48));
    EXPECT_EQ(out.type, DType::i48);
    EXPECT_EQ(int_values(out), (std::vector<std::int64_t>{8355840000 + bias, 8355840000 - bias}));
    EXPECT_REJECTED(rejection(Op::conv2d, conv_operands(input, weight, ints(DType::i48, {1}, {0}), 1), DType::i48,
                              plain2d(DType::i48)),
                    "only i8 may have a zero point");
    EXPECT_REJECTED(
        rejection(Op::conv2d, conv_operands(input, weight, ints(DType::i32, {1}, {0})), DType::i32, plain2d()),
        "in_t=i16");
    EXPECT_REJECTED(
        rejection(Op::conv2d, conv_operands(input, weight, ints(DType::i48, {1}, {0})), DType::i48, plain2d()),
        "acc_t=i32");

    // Depthwise, C = 2: 8 taps of 32767 * 127 and of -32768 * -128; transposed, each output gets one product or two.
    HostTensor pixels(DType::i16, {1, 2, 4, 2});
    for (std::size_t i = 0; i < 16; ++i) pixels.as<std::int16_t>()[i] = i % 2 == 0 ? 32767 : -32768;
    HostTensor factors(DType::i8, {2, 4, 2, 1});
    for (std::size_t i = 0; i < 16; ++i) factors.as<std::int8_t>()[i] = i % 2 == 0 ? 127 : -128;
    EXPECT_EQ(int_values(conv(Op::depthwise_conv2d, conv_operands(pixels, factors, ints(DType::i48, {1}, {1})),
                              plain2d(DType::i48))),
              (std::vector<std::int64_t>{8 * 32767 * 127 + 1, 8 * 32768 * 128 + 1}));
    EXPECT_EQ(int_values(conv(Op::transpose_conv2d,
                              conv_operands(ints(DType::i16, {1, 1, 2, 1}, {30000, -30000}),
                                            ints(DType::i8, {1, 1, 2, 1}, {100, -100}),
                                            ints(DType::i48, {1}, {std::int64_t{1} << 40})),
                              conv_attrs({0, 0, 0, 0}, {1, 1}, {}, DType::i48))),
              (std::vector<std::int64_t>{(std::int64_t{1} << 40) + 3000000, (std::int64_t{1} << 40) - 6000000,
                                         (std::int64_t{1} << 40) + 3000000}));
}

TEST(Conv2d, WeightsOf4Bits) {
    const auto input = ints(DType::i8, {1, 1, 2, 2}, {100, -100, 127, -128});
    const auto weight = ints(DType::i4, {1, 1, 2, 2}, {7, -7, 1, -2});
    const auto out = conv(Op::conv2d, conv_operands(input, weight, ints(DType::i32, {1}, {5}), -1), plain2d());
    EXPECT_EQ(int_values(out), (std::vector<std::int64_t>{101 * 7 + 99 * 7 + 128 + 127 * 2 + 5}));
    EXPECT_REJECTED(
        rejection(Op::conv2d, conv_operands(input, weight, ints(DType::i32, {1}, {5}), 0, 1), DType::i32, plain2d()),
        "only i8 may have a zero point");
}

TEST(Conv2d, NonFiniteWeightsMeetPadding) {
    const auto input = filled(DType::fp32, {1, 1, 1, 1}, 1), bias = filled(DType::fp32, {1}, 0);
    const auto attrs = conv_attrs({0, 0, 1, 1}, {1, 1}, {1, 1}, DType::fp32);
    HostTensor weight(DType::fp32, {1, 1, 3, 1});
    weight.bytes = encode_reals(DType::fp32, std::vector<double>{INFINITY, 2, 3});
    const OneNode node(Op::conv2d, conv_operands(input, weight, bias), DType::fp32, attrs);
    EXPECT_EQ(real_values(node.run())[0], 2);
    // A device may multiply the padding: 0 * inf = NaN.
    EXPECT_TRUE(node.check(filled(DType::fp32, {1, 1, 1, 1}, std::nan(""))).passed);
}

TEST(DepthwiseConv2d, HandComputed) {
    // C = 2, M = 2: output channel c * 2 + m.
    const auto input = ints(DType::i8, {1, 1, 2, 2}, {1, 10, 2, 20});
    const auto weight = ints(DType::i8, {1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    const auto out =
        conv(Op::depthwise_conv2d, conv_operands(input, weight, ints(DType::i32, {4}, {0, 0, 0, 1000})), plain2d());
    EXPECT_EQ(out.shape, (Shape{1, 1, 1, 4}));
    EXPECT_EQ(int_values(out),
              (std::vector<std::int64_t>{1 * 1 + 2 * 5, 1 * 2 + 2 * 6, 10 * 3 + 20 * 7, 10 * 4 + 20 * 8 + 1000}));
}

TEST(Conv3d, SumsOverDepthAndEqualsConv2dAtDepthOne) {
    const auto input = random_tensor(DType::i8, {1, 1, 4, 5, 3}, 5),
               weight = random_tensor(DType::i8, {2, 1, 3, 2, 3}, 6);
    const auto bias = ints(DType::i32, {2}, {1, 2});
    const auto out3 = conv(Op::conv3d, conv_operands(input, weight, bias, 3, 2),
                           conv_attrs({0, 0, 1, 0, 0, 1}, {1, 2, 1}, {1, 1, 1}));
    HostTensor input2 = input, weight2 = weight;
    input2.shape = {1, 4, 5, 3};
    weight2.shape = {2, 3, 2, 3};
    const auto out2 =
        conv(Op::conv2d, conv_operands(input2, weight2, bias, 3, 2), conv_attrs({1, 0, 0, 1}, {2, 1}, {1, 1}));
    EXPECT_EQ(out3.shape, (Shape{1, 1, 2, 5, 2}));
    EXPECT_EQ(int_values(out3), int_values(out2));

    const auto deep = conv(Op::conv3d,
                           conv_operands(ints(DType::i8, {1, 4, 1, 1, 1}, {1, 2, 3, 4}),
                                         ints(DType::i8, {1, 2, 1, 1, 1}, {1, 10}), ints(DType::i32, {1}, {0})),
                           conv_attrs({1, 0, 0, 0, 0, 0}, {1, 1, 1}, {1, 1, 1}));
    EXPECT_EQ(int_values(deep), (std::vector<std::int64_t>{10, 21, 32, 43}));
}

TEST(TransposeConv2d, HandComputed) {
    const auto input = ints(DType::i8, {1, 1, 2, 1}, {1, 2}), weight = ints(DType::i8, {1, 1, 3, 1}, {1, 10, 100});
    const auto operands = conv_operands(input, weight, ints(DType::i32, {1}, {0}));
    const auto out = conv(Op::transpose_conv2d, operands, conv_attrs({0, 0, 0, 0}, {1, 2}, {}));
    EXPECT_EQ(int_values(out), (std::vector<std::int64_t>{1, 10, 102, 20, 200}));
    const auto cropped = conv(Op::transpose_conv2d, operands, conv_attrs({0, 0, -1, 1}, {1, 2}, {}));
    EXPECT_EQ(int_values(cropped), (std::vector<std::int64_t>{10, 102, 20, 200, 0}));
}

TEST(TransposeConv2d, IsTheAdjointOfConv2d) {
    // sum(conv(x, w) * y) == sum(x * transposed(y, w)) with stride, and out_pad = -pad.
    const Attributes forward = conv_attrs({1, 0, 1, 1}, {2, 3}, {1, 1});
    const auto x = random_tensor(DType::i8, {1, 6, 8, 2}, 7), w = random_tensor(DType::i8, {3, 3, 4, 2}, 8);
    const auto zero = ints(DType::i32, {1}, {0});
    const auto out = conv(Op::conv2d, conv_operands(x, w, zero), forward);
    const auto y = random_tensor(DType::i8, out.shape, 9);
    HostTensor swapped = w;  // [3, KH, KW, 2] -> [2, KH, KW, 3]
    Attributes perms;
    perms.perms = {3, 1, 2, 0};
    swapped = run_op(Op::transpose, {w}, DType::i8, perms);
    const auto back =
        conv(Op::transpose_conv2d, conv_operands(y, swapped, zero), conv_attrs({-1, 0, -1, -1}, {2, 3}, {}));
    ASSERT_EQ(back.shape, x.shape);
    const auto dot = [](const HostTensor& a, const HostTensor& b) {
        std::int64_t sum = 0;
        const auto av = int_values(a), bv = int_values(b);
        for (std::size_t i = 0; i < av.size(); ++i) sum += av[i] * bv[i];
        return sum;
    };
    EXPECT_EQ(dot(out, y), dot(x, back));
}

TEST(Conv, Errors) {
    const auto input = random_tensor(DType::i8, {1, 5, 5, 2}, 1), weight = random_tensor(DType::i8, {3, 2, 2, 2}, 2);
    const auto bias = ints(DType::i32, {3}, {0, 0, 0});
    const auto good = conv_operands(input, weight, bias);
    const auto message = [&](const std::vector<HostTensor>& operands, const Attributes& a, Op op = Op::conv2d) {
        return rejection(op, operands, DType::i32, a);
    };
    EXPECT_EQ(message(good, plain2d()), "");
    EXPECT_REJECTED(message(good, conv_attrs({0, 0, 0, 0}, {2, 1}, {1, 1})), "height");
    EXPECT_REJECTED(message(good, conv_attrs({0, 0, 0, 0}, {1, 2}, {1, 1})), "not divisible by the stride 2");
    EXPECT_EQ(message(good, conv_attrs({0, 1, 0, 1}, {2, 2}, {1, 1})), "");
    EXPECT_REJECTED(message(good, conv_attrs({-1, 0, 0, 0}, {1, 1}, {1, 1})), "pad -1");
    EXPECT_REJECTED(message(good, conv_attrs({0, 0, 0}, {1, 1}, {1, 1})), "pad has 3 values");
    EXPECT_REJECTED(message(good, conv_attrs({0, 0, 0, 0}, {0, 1}, {1, 1})), "stride 0");
    EXPECT_REJECTED(message(good, conv_attrs({0, 0, 0, 0}, {1, 1}, {1, 0})), "dilation 0");
    EXPECT_REJECTED(message(good, conv_attrs({0, 0, 0, 0}, {1, 1}, {1})), "dilation has 1 values");
    EXPECT_REJECTED(message(good, conv_attrs({0, 0, 0, 0}, {1, 1}, {5, 1})), "covers 6 elements");
    EXPECT_REJECTED(message(good, conv_attrs({0, 0, 0, 0}, {1, 1}, {1, 1}, DType::fp32)), "acc_t");
    EXPECT_REJECTED(message(conv_operands(input, weight, ints(DType::i32, {2}, {0, 0})), plain2d()),
                    "bias has 2 values");
    EXPECT_REJECTED(message(conv_operands(input, random_tensor(DType::i8, {3, 2, 2, 3}, 2), bias), plain2d()),
                    "input channel");
    EXPECT_REJECTED(message(good, conv_attrs({9000, 0, 0, 0}, {1, 1}, {1, 1})), "level 8K");
    EXPECT_REJECTED(message(good, conv_attrs({0, 0, 0, 0}, {9000, 1}, {4, 1})), "stride 9000 exceeds 8192");
    auto two_zero_points = good;
    two_zero_points[3] = filled(DType::i8, {2}, 0);
    EXPECT_REJECTED(message(two_zero_points, plain2d()), "input_zp");
    EXPECT_REJECTED(message(good, conv_attrs({0, 0, 0, 0}, {1, 1}, {1, 1}), Op::depthwise_conv2d), "channel");
    EXPECT_REJECTED(message(good, conv_attrs({-2, 0, 0, 0}, {1, 1}, {}), Op::transpose_conv2d), "out_pad");
    EXPECT_EQ(message(good, conv_attrs({-1, 0, 0, 0}, {1, 1}, {}), Op::transpose_conv2d), "");

    auto real = conv_operands(random_tensor(DType::fp32, {1, 5, 5, 2}, 1), random_tensor(DType::fp32, {3, 2, 2, 2}, 2),
                              filled(DType::fp32, {3}, 0), 1);
    EXPECT_REJECTED(rejection(Op::conv2d, real, DType::fp32, plain2d(DType::fp32)), "only i8 may have a zero point");
}

TEST(Conv, LevelLimitsDilatedKernel) {
    // 4097 * 2 passes 8192; level none takes it.
    const auto operands = conv_operands(filled(DType::i8, {1, 8193, 1, 1}, 1), filled(DType::i8, {1, 4097, 1, 1}, 1),
                                        ints(DType::i32, {1}, {0}));
    const Attributes a = conv_attrs({0, 0, 0, 0}, {1, 1}, {2, 1});
    EXPECT_REJECTED(rejection(Op::conv2d, operands, DType::i32, a), "dilated kernel 8194 exceeds 8192");
    EXPECT_EQ(rejection(Op::conv2d, operands, DType::i32, a, level_none), "");
}

TEST(Matmul, BatchesAndErrors) {
    const auto a = ints(DType::i8, {2, 1, 2}, {1, 2, 3, 4}), b = ints(DType::i8, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    const auto out = run_op(Op::matmul, {a, b, zero_point(DType::i8), zero_point(DType::i8)}, DType::i32);
    EXPECT_EQ(out.shape, (Shape{2, 1, 2}));
    EXPECT_EQ(int_values(out), (std::vector<std::int64_t>{7, 10, 3 * 5 + 4 * 7, 3 * 6 + 4 * 8}));
    const auto reject = [&](const HostTensor& x, const HostTensor& y, double zp, DType out_type) {
        return rejection(Op::matmul, {x, y, zero_point(x.type, zp), zero_point(x.type)}, out_type);
    };
    EXPECT_EQ(reject(a, b, 5, DType::i32), "");
    EXPECT_REJECTED(reject(a, ints(DType::i8, {2, 1, 2}, {1, 2, 3, 4}), 0, DType::i32), "do not fit");
    EXPECT_REJECTED(reject(a, ints(DType::i8, {1, 2, 2}, {1, 2, 3, 4}), 0, DType::i32), "do not fit");
    EXPECT_REJECTED(reject(floats({1, 1, 1}, {1}), floats({1, 1, 1}, {1}), 1, DType::fp32), "A_zp");
}

TEST(Matmul, SumsOf16BitsPass32) {
    const std::int64_t n = 700;
    const auto a = filled(DType::i16, {1, 1, n}, -32768);
    HostTensor b = filled(DType::i16, {1, n, 2}, -32768);
    for (std::size_t i = 1; i < b.as<std::int16_t>().size(); i += 2) b.as<std::int16_t>()[i] = 32767;
    const auto zero = zero_point(DType::i16);
    EXPECT_EQ(int_values(run_op(Op::matmul, {a, b, zero, zero}, DType::i48)),
              (std::vector<std::int64_t>{n << 30, -n * 32768 * 32767}));
    EXPECT_REJECTED(rejection(Op::matmul, {a, b, zero_point(DType::i16, 1), zero}, DType::i48), "A_zp");
}

TEST(Resize, Bilinear16BitsKeepsTheScale) {
    // One axis in steps of 1/4: positions 0, 1/4, 2/4, 3/4, 1 between -32768 and 32767, times 4 * 2048.
    Attributes bilinear;
    bilinear.mode = ResizeMode::bilinear;
    const std::vector<HostTensor> operands{ints(DType::i16, {1, 1, 2, 1}, {-32768, 32767}),
                                           shape_values({2048, 2048, 4, 1}), shape_values({0, 0}),
                                           shape_values({0, 0})};
    const OneNode node(Op::resize, operands, DType::i48, bilinear, level_none);
    std::vector<std::int64_t> expected;
    for (std::int64_t k = 0; k <= 4; ++k) expected.push_back(2048 * (-32768 * (4 - k) + 32767 * k));
    EXPECT_EQ(int_values(node.run()), expected);
}

TEST(Rescale, FortyEightBits) {
    // Halves, rounded half up, over the whole range; the multiplier keeps 15 bits.
    Attributes narrow;
    narrow.scale32 = false;
    const std::int64_t top = (std::int64_t{1} << 47) - 1;
    const auto run = [&](std::vector<std::int64_t> x, std::int64_t m, std::int64_t s, DType out, double zp,
                         Rounding rounding) {
        Attributes a = narrow;
        a.rounding = rounding;
        const auto n = static_cast<std::int64_t>(x.size());
        return int_values(run_op(Op::rescale,
                                 {ints(DType::i48, {n}, x), ints(DType::i16, {1}, {m}), ints(DType::i8, {1}, {s}),
                                  zero_point(DType::i48), zero_point(out, zp)},
                                 out, a));
    };
    for (const Rounding rounding : {Rounding::single_round, Rounding::inexact_round}) {
        EXPECT_EQ(run({3, -3, 1000, -1000}, 1 << 14, 15, DType::i8, 0, rounding),
                  (std::vector<std::int64_t>{2, -1, 127, -128}));
        EXPECT_EQ(run({top, -top - 1}, 1 << 14, 31, DType::i32, 0, rounding),
                  (std::vector<std::int64_t>{1073741824, -1073741824}));
        EXPECT_EQ(run({top, -top - 1}, 32767, 62, DType::i16, 0, rounding), (std::vector<std::int64_t>{1, -1}));
        EXPECT_EQ(run({5, -5}, 1 << 14, 14, DType::i8, 100, rounding), (std::vector<std::int64_t>{105, 95}));
    }
    const auto wrong = [&](const Attributes& a, DType mul, double zp) {
        return rejection(Op::rescale,
                         {ints(DType::i48, {1}, {1}), filled(mul, {1}, 5), ints(DType::i8, {1}, {20}),
                          zero_point(DType::i48, zp), zero_point(DType::i8)},
                         DType::i8, a);
    };
    EXPECT_REJECTED(wrong(Attributes{}, DType::i32, 0), "scale32 cannot be used");
    EXPECT_REJECTED(wrong(narrow, DType::i16, 3), "input_zp must be 0");
    Attributes is_unsigned = narrow;
    is_unsigned.input_unsigned = true;
    EXPECT_REJECTED(wrong(is_unsigned, DType::i16, 0), "input_unsigned");
}

TEST(Window, SourceOfATransposedAxis) {
    WindowAxis axis{.in = 3, .kernel = 2, .stride = 3, .pad_before = 1, .out = 9, .transposed = true};
    EXPECT_EQ(axis.source(1, 0), 0);
    EXPECT_EQ(axis.source(2, 1), 0);
    EXPECT_EQ(axis.source(3, 0), -1);
    EXPECT_EQ(axis.source(7, 0), 2);
    EXPECT_EQ(axis.source(10, 0), -1);
    EXPECT_EQ(axis.source(0, 0), -1);
}
