// Convolutions and shape operators that the corpus lacks, on small models written here, and what the importer says to
// models that it cannot take.
// Longer than 500 lines: one small case after another.
#include "support/tflite_models.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

// ---- convolutions -------------------------------------------------------------------------------------------------

struct ConvCase {
    bool depthwise = false;
    Padding padding = Padding::SAME;
    std::int32_t ih = 6, iw = 5, ic = 4, oc = 6, kh = 3, kw = 2, sy = 2, sx = 1, dy = 1, dx = 1;
    std::int32_t filter_ic = 4;  // less than ic: grouped
    bool per_channel = true, bias = true;
};

// A convolution by its definition; `x`, `w` and `b` are what multiplies, zero points removed.
std::vector<double> convolve(const ConvCase& c, const std::vector<double>& x, const std::vector<double>& w,
                             const std::vector<double>& b, Shape& shape) {
    const std::int64_t eh = (c.kh - 1) * c.dy + 1, ew = (c.kw - 1) * c.dx + 1;
    const bool same = c.padding == Padding::SAME;
    const std::int64_t oh = same ? (c.ih + c.sy - 1) / c.sy : (c.ih - eh + c.sy) / c.sy,
                       ow = same ? (c.iw + c.sx - 1) / c.sx : (c.iw - ew + c.sx) / c.sx;
    const std::int64_t top = same ? std::max<std::int64_t>(0, (oh - 1) * c.sy + eh - c.ih) / 2 : 0;
    const std::int64_t left = same ? std::max<std::int64_t>(0, (ow - 1) * c.sx + ew - c.iw) / 2 : 0;
    shape = {2, oh, ow, c.oc};
    std::vector<double> out;
    for (std::int64_t n = 0; n < 2; ++n)
        for (std::int64_t oy = 0; oy < oh; ++oy)
            for (std::int64_t ox = 0; ox < ow; ++ox)
                for (std::int64_t o = 0; o < c.oc; ++o) {
                    double sum = c.bias ? b[static_cast<std::size_t>(o)] : 0;
                    for (std::int64_t ky = 0; ky < c.kh; ++ky)
                        for (std::int64_t kx = 0; kx < c.kw; ++kx) {
                            const std::int64_t y = oy * c.sy - top + ky * c.dy, z = ox * c.sx - left + kx * c.dx;
                            if (y < 0 || y >= c.ih || z < 0 || z >= c.iw) continue;
                            const auto pixel = static_cast<std::size_t>(((n * c.ih + y) * c.iw + z) * c.ic);
                            if (c.depthwise) {
                                sum += x[pixel + static_cast<std::size_t>(o / (c.oc / c.ic))] *
                                       w[static_cast<std::size_t>((ky * c.kw + kx) * c.oc + o)];
                                continue;
                            }
                            const std::int64_t group = o / (c.oc / (c.ic / c.filter_ic));
                            for (std::int64_t i = 0; i < c.filter_ic; ++i) {
                                sum += x[pixel + static_cast<std::size_t>(group * c.filter_ic + i)] *
                                       w[static_cast<std::size_t>(((o * c.kh + ky) * c.kw + kx) * c.filter_ic + i)];
                            }
                        }
                    out.push_back(sum);
                }
    return out;
}

Options conv_options(TfliteBuilder& t, const ConvCase& c, Act act) {
    if (c.depthwise) {
        return {BuiltinOptions::DepthwiseConv2DOptions,
                CreateDepthwiseConv2DOptions(t.fbb, c.padding, c.sx, c.sy, 0, act, c.dx, c.dy).Union()};
    }
    return {BuiltinOptions::Conv2DOptions, CreateConv2DOptions(t.fbb, c.padding, c.sx, c.sy, act, c.dx, c.dy).Union()};
}

void check_conv_int8(const ConvCase& c) {
    const float si = 0.05f, so = 0.4f;
    const std::vector<std::int32_t> filter_shape = c.depthwise
                                                     ? std::vector<std::int32_t>{1, c.kh, c.kw, c.oc}
                                                     : std::vector<std::int32_t>{c.oc, c.kh, c.kw, c.filter_ic};
    const auto x = random_i8({2, c.ih, c.iw, c.ic});
    const auto w = random_i8(Shape(filter_shape.begin(), filter_shape.end()));
    const auto bias = random_ints(DType::i32, {c.oc}, -3000, 3000);
    std::vector<float> scales;
    for (std::int32_t o = 0; o < (c.per_channel ? c.oc : 1); ++o)
        scales.push_back(0.01f + 0.003f * static_cast<float>(o));
    TfliteBuilder t;
    const int in = t.tensor(i8({2, c.ih, c.iw, c.ic}, si, 13));
    const int filter = t.constant(
        {filter_shape, TensorType::INT8, scales, std::vector<std::int64_t>(scales.size(), 0), c.depthwise ? 3 : 0},
        w.bytes);
    const int b = c.bias ? t.constant({{c.oc}, TensorType::INT32}, bias.bytes) : -1;
    const int out = t.tensor(i8({2, 1, 1, c.oc}, so, -6));
    const auto options = conv_options(t, c, Act::RELU);
    t.op(c.depthwise ? B::DEPTHWISE_CONV_2D : B::CONV_2D, {in, filter, b}, {out}, options.first, options.second);
    const Bytes model = t.finish({in}, {out});

    std::vector<double> xs = decode_reals(x.type, x.bytes);
    for (double& v : xs) v -= 13;
    Shape shape;
    const std::vector<double> acc =
        convolve(c, xs, decode_reals(w.type, w.bytes), decode_reals(bias.type, bias.bytes), shape);
    for (const Rounding rounding : roundings) {
        const auto got = run(model, {x}, rounding).at(0);
        ASSERT_EQ(got.shape, shape);
        for (std::size_t i = 0; i < acc.size(); ++i) {
            const float sw = scales[c.per_channel ? i % static_cast<std::size_t>(c.oc) : 0];
            const std::int64_t v =
                scale_by(static_cast<std::int64_t>(acc[i]),
                         Scaled(static_cast<double>(si) * static_cast<double>(sw) / static_cast<double>(so)),
                         rounding) -
                6;
            ASSERT_EQ(ints(got)[i], std::clamp<std::int64_t>(v, -6, 127)) << i;
        }
    }
}

void check_conv_float(const ConvCase& c) {
    const std::vector<std::int32_t> filter_shape = c.depthwise
                                                     ? std::vector<std::int32_t>{1, c.kh, c.kw, c.oc}
                                                     : std::vector<std::int32_t>{c.oc, c.kh, c.kw, c.filter_ic};
    const auto x = random_f32({2, c.ih, c.iw, c.ic}), w = random_f32(Shape(filter_shape.begin(), filter_shape.end())),
               bias = random_f32({c.oc});
    TfliteBuilder t;
    const int in = t.tensor(f32({2, c.ih, c.iw, c.ic}));
    const int filter = t.constant(f32(filter_shape), w.bytes);
    const int b = c.bias ? t.constant(f32({c.oc}), bias.bytes) : -1;
    const int out = t.tensor(f32({2, 1, 1, c.oc}));
    const auto options = conv_options(t, c, Act::RELU_N1_TO_1);
    t.op(c.depthwise ? B::DEPTHWISE_CONV_2D : B::CONV_2D, {in, filter, b}, {out}, options.first, options.second);
    Shape shape;
    const std::vector<double> expected = convolve(c, decode_reals(x.type, x.bytes), decode_reals(w.type, w.bytes),
                                                  decode_reals(bias.type, bias.bytes), shape);
    const auto got = run(t.finish({in}, {out}), {x}).at(0);
    ASSERT_EQ(got.shape, shape);
    for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(got.as<float>()[i], std::clamp(expected[i], -1.0, 1.0), 1e-5) << i;
}

void check_conv(const ConvCase& c) {
    check_conv_int8(c);
    check_conv_float(c);
}

TEST(TfliteConv, PaddingStrideAndDilation) {
    for (const Padding padding : {Padding::SAME, Padding::VALID}) {
        for (const std::int32_t stride : {1, 2, 3}) {
            for (const std::int32_t dilation : {1, 2}) {
                SCOPED_TRACE("padding " + std::to_string(static_cast<int>(padding)) + " stride " +
                             std::to_string(stride) + " dilation " + std::to_string(dilation));
                ConvCase c;
                c.padding = padding, c.sy = stride, c.sx = 4 - stride, c.dy = dilation, c.dx = 3 - dilation, c.ih = 9,
                c.iw = 8;
                check_conv(c);
                c.kh = c.kw = 1;  // strides beyond the kernel leave input unread
                check_conv(c);
            }
        }
    }
}

TEST(TfliteConv, PerTensorAndWithoutBias) {
    ConvCase c;
    c.per_channel = false, c.bias = false;
    check_conv(c);
}

TEST(TfliteConv, Grouped) {
    ConvCase c;
    c.filter_ic = 2;
    check_conv(c);
    c.filter_ic = 1, c.oc = 8;  // one input channel per group: a depthwise convolution
    check_conv(c);
    c.bias = false;
    check_conv(c);
}

TEST(TfliteConv, ManyGroupsAreConcatenatedInSteps) {
    ConvCase c;
    c.ic = 140, c.oc = 70, c.filter_ic = 2, c.ih = c.iw = 3;
    check_conv(c);
}

TEST(TfliteConv, DepthwiseWithMultiplier) {
    ConvCase c;
    c.depthwise = true, c.ic = 3, c.oc = 6;
    check_conv(c);
    c.padding = Padding::VALID, c.dy = 2;
    check_conv(c);
    c.ic = 1, c.oc = 5;
    check_conv(c);
}

// As ai-edge-litert 2.3.0: a product of doubles, rounded half away from zero. The second pair of scales makes halves.
TEST(TfliteFullyConnected, ScalesItsSumsInDoublesByDefault) {
    for (const bool wide : {false, true}) {
        for (const bool per_channel : {false, true}) {
            for (const auto& [si, so] : {std::pair{0.031f, 0.2f}, std::pair{0.5f, 8.0f}}) {
                SCOPED_TRACE(testing::Message() << wide << per_channel << so);
                std::vector<float> sw(per_channel ? 5 : 1, 0.0625f);
                if (per_channel && so == 0.2f) sw = {0.017f, 0.3f, 0.0001f, 0.02f, 0.017f};
                const auto x = wide ? random_ints(DType::i16, {20, 8}, -32768, 32767) : random_i8({20, 8});
                const auto w = random_i8({5, 8});
                const std::int64_t zp = wide ? 0 : 3, out_zp = wide ? 0 : 1;
                TfliteBuilder t;
                const int in = t.tensor(wide ? i16({20, 8}, si) : i8({20, 8}, si, -3));
                TensorSpec filter = i8({5, 8}, sw[0], 0);
                filter.scale = sw, filter.zero_point.assign(sw.size(), 0);
                const int weights = t.constant(filter, w.bytes);
                const int out = t.tensor(wide ? i16({20, 5}, so) : i8({20, 5}, so, 1));
                t.op(B::FULLY_CONNECTED, {in, weights}, {out});
                const Ints got = ints(run(t.finish({in}, {out}), {x}).at(0)), xs = ints(x), ws = ints(w);
                for (std::size_t r = 0; r < 20; ++r)
                    for (std::size_t o = 0; o < 5; ++o) {
                        std::int64_t sum = 0;
                        for (std::size_t i = 0; i < 8; ++i) sum += (xs[r * 8 + i] + zp) * ws[o * 8 + i];
                        const double scale = static_cast<double>(si) * static_cast<double>(sw[per_channel ? o : 0]) /
                                             static_cast<double>(so);
                        const std::int64_t v = out_zp + std::llround(static_cast<double>(sum) * scale);
                        ASSERT_EQ(got[r * 5 + o], wide ? clip16(v) : clip8(v)) << r << " " << o;
                    }
            }
        }
    }
}

TEST(TfliteFullyConnected, KeepsDimensionsAndRoundsLikePerTensorScales) {
    const float si = 0.031f, sw = 0.017f, so = 0.2f;
    const auto x = random_i8({2, 3, 8}), w = random_i8({5, 8});
    for (const bool keep : {false, true}) {
        TfliteBuilder t;
        const int in = t.tensor(i8({2, 3, 8}, si, -3)), weights = t.constant(i8({5, 8}, sw, 0), w.bytes);
        const int out =
            t.tensor(i8(keep ? std::vector<std::int32_t>{2, 3, 5} : std::vector<std::int32_t>{6, 5}, so, 1));
        t.op(B::FULLY_CONNECTED, {in, weights}, {out}, BuiltinOptions::FullyConnectedOptions,
             CreateFullyConnectedOptions(t.fbb, Act::NONE, FullyConnectedOptionsWeightsFormat::DEFAULT, keep).Union());
        const Bytes model = t.finish({in}, {out});
        for (const Rounding rounding : roundings) {
            const auto got = run(model, {x}, rounding).at(0);
            EXPECT_EQ(got.shape, keep ? (Shape{2, 3, 5}) : (Shape{6, 5}));
            for (std::size_t r = 0; r < 6; ++r)
                for (std::size_t o = 0; o < 5; ++o) {
                    std::int64_t acc = 0;
                    for (std::size_t i = 0; i < 8; ++i) acc += (ints(x)[r * 8 + i] + 3) * ints(w)[o * 8 + i];
                    const float product = si * sw;
                    ASSERT_EQ(
                        ints(got)[r * 5 + o],
                        clip8(scale_by(acc, Scaled(static_cast<double>(product) / static_cast<double>(so)), rounding) +
                              1));
                }
        }
    }
}

// float16 weights of a float network become fp32 constants, and int8 ones do where nothing is quantized at run time.
TEST(TfliteFullyConnected, NarrowConstantWeightsOfFloatNetworks) {
    const auto x = random_f32({1, 4}), w = random_i8({2, 4});
    TfliteBuilder t;
    const int in = t.tensor(f32({1, 4})),
              weights = t.constant({{2, 4}, TensorType::INT8, {0.5f, 0.25f}, {0, 0}, 0}, w.bytes),
              out = t.tensor(f32({1, 2}));
    t.op(B::FULLY_CONNECTED, {in, weights, -1}, {out});
    ImportOptions options;
    options.hybrid = TfliteHybrid::dequantize;
    const auto got = reference_run(import_tflite(t.finish({in}, {out}), options), std::vector{x}).at(0);
    for (std::size_t o = 0; o < 2; ++o) {
        double sum = 0;
        for (std::size_t i = 0; i < 4; ++i)
            sum +=
                static_cast<double>(x.as<float>()[i]) * static_cast<double>(ints(w)[o * 4 + i]) * (o == 0 ? 0.5 : 0.25);
        EXPECT_NEAR(got.as<float>()[o], sum, 1e-4);
    }
    const std::vector<double> halves{1, -2, 0.5, 65504, 0, 3, 0.25, -1};
    TfliteBuilder u;
    const int in2 = u.tensor(f32({1, 4})),
              stored = u.constant({{2, 4}, TensorType::FLOAT16}, encode_reals(DType::fp16, halves));
    const int wide = u.tensor(f32({2, 4})), out2 = u.tensor(f32({1, 2}));
    u.op(B::DEQUANTIZE, {stored}, {wide});
    u.op(B::FULLY_CONNECTED, {in2, wide}, {out2});
    const auto got2 = run(u.finish({in2}, {out2}), {x}).at(0);
    for (std::size_t o = 0; o < 2; ++o) {
        double sum = 0;
        for (std::size_t i = 0; i < 4; ++i) sum += static_cast<double>(x.as<float>()[i]) * halves[o * 4 + i];
        EXPECT_NEAR(got2.as<float>()[o], sum, 1e-2);
    }
}

// ---- shapes -------------------------------------------------------------------------------------------------------

HostTensor numbered(const Shape& shape) {
    HostTensor t(DType::i8, shape);
    Ints v(static_cast<std::size_t>(t.count()));
    std::iota(v.begin(), v.end(), -60);
    t.bytes = encode_ints(DType::i8, v);
    return t;
}

// Positions that Python's slice(begin, end, step) takes from a range of `size`, with masks.
Ints positions(std::int64_t size, std::int64_t begin, std::int64_t end, std::int64_t step, bool no_begin, bool no_end) {
    const auto place = [&](std::int64_t p) {
        return std::clamp<std::int64_t>(p < 0 ? p + size : p, step > 0 ? 0 : -1, step > 0 ? size : size - 1);
    };
    std::int64_t at = no_begin ? (step > 0 ? 0 : size - 1) : place(begin);
    const std::int64_t stop = no_end ? (step > 0 ? size : -1) : place(end);
    Ints out;
    for (; step > 0 ? at < stop : at > stop; at += step) out.push_back(at);
    return out;
}

TEST(TfliteStridedSlice, AgreesWithPythonSlices) {
    const Shape from{4, 5, 6};
    const auto x = numbered(from);
    int taken = 0;
    for (int round = 0; round < 400; ++round) {
        Ints begin, end, step;
        std::int32_t begin_mask = 0, end_mask = 0, shrink = 0;
        std::vector<Ints> picked;
        Shape shape;
        bool empty = false;
        for (int d = 0; d < 3; ++d) {
            const auto size = from[static_cast<std::size_t>(d)];
            const auto draw = [&](int n) {
                return static_cast<std::int64_t>(random_source()() % static_cast<unsigned>(n));
            };
            begin.push_back(draw(16) - 8), end.push_back(draw(16) - 8);
            const Ints steps{1, 1, 2, 3, -1, -2, -3};
            step.push_back(steps[static_cast<std::size_t>(draw(7))]);
            if (draw(4) == 0) {
                begin.back() = draw(static_cast<int>(2 * size)) - size, step.back() = 1, shrink |= 1 << d;
                picked.push_back({begin.back() < 0 ? begin.back() + size : begin.back()});
                continue;
            }
            if (draw(3) == 0) begin_mask |= 1 << d;
            if (draw(3) == 0) end_mask |= 1 << d;
            picked.push_back(
                positions(size, begin.back(), end.back(), step.back(), begin_mask >> d & 1, end_mask >> d & 1));
            if (picked.back().empty()) empty = true;
            shape.push_back(static_cast<std::int64_t>(picked.back().size()));
        }
        const Bytes model =
            one_op_indices(B::STRIDED_SLICE, i8({4, 5, 6}), {begin, end, step}, i8({}), [&](TfliteBuilder& t) {
                return Options{BuiltinOptions::StridedSliceOptions,
                               CreateStridedSliceOptions(t.fbb, begin_mask, end_mask, 0, 0, shrink).Union()};
            });
        if (empty) {
            EXPECT_TRUE(has_no_elements(run(model, {x}).at(0).shape));
            continue;
        }
        const auto got = run(model, {x}).at(0);
        ASSERT_EQ(got.shape, shape) << "round " << round;
        Ints expected;
        for (const auto i : picked[0])
            for (const auto j : picked[1])
                for (const auto k : picked[2]) expected.push_back(-60 + (i * 5 + j) * 6 + k);
        ASSERT_EQ(ints(got), expected) << "round " << round;
        ++taken;
    }
    EXPECT_GT(taken, 50);
}

TEST(TfliteStridedSlice, EllipsisNewAxisAndOffset) {
    const auto x = numbered({4, 5, 6});
    // x[1, ..., newaxis, ::2]
    const auto a =
        run(one_op_indices(B::STRIDED_SLICE, i8({4, 5, 6}), {{1, 0, 0, 0}, {2, 0, 0, 0}, {1, 1, 1, 2}}, i8({}),
                           [](TfliteBuilder& t) {
                               return Options{BuiltinOptions::StridedSliceOptions,
                                              CreateStridedSliceOptions(t.fbb, 8, 8, 2, 4, 1).Union()};
                           }),
            {x})
            .at(0);
    ASSERT_EQ(a.shape, (Shape{5, 1, 3}));
    for (std::int64_t j = 0; j < 5; ++j)
        for (std::int64_t k = 0; k < 3; ++k)
            EXPECT_EQ(ints(a)[static_cast<std::size_t>(j * 3 + k)], -60 + 30 + j * 6 + 2 * k);
    // Ends counted from the begins; dimensions not named are taken whole.
    const auto b = run(one_op_indices(B::STRIDED_SLICE, i8({4, 5, 6}), {{1, 2}, {2, 3}, {1, 1}}, i8({}),
                                      [](TfliteBuilder& t) {
                                          return Options{BuiltinOptions::StridedSliceOptions,
                                                         CreateStridedSliceOptions(t.fbb, 0, 0, 0, 0, 0, true).Union()};
                                      }),
                       {x})
                       .at(0);
    EXPECT_EQ(b.shape, (Shape{2, 3, 6}));
    EXPECT_EQ(ints(b)[0], -60 + 30 + 12);
}

TEST(TfliteShapes, TransposeSqueezeExpandPadSlice) {
    const auto x = numbered({2, 1, 3, 4});
    const auto t = run(one_op_indices(B::TRANSPOSE, i8({2, 1, 3, 4}), {{3, 0, 2, 1}}, i8({4, 2, 3, 1})), {x}).at(0);
    ASSERT_EQ(t.shape, (Shape{4, 2, 3, 1}));
    for (std::int64_t i = 0; i < 4; ++i)
        for (std::int64_t j = 0; j < 2; ++j)
            for (std::int64_t k = 0; k < 3; ++k) {
                EXPECT_EQ(ints(t)[static_cast<std::size_t>((i * 2 + j) * 3 + k)], -60 + (j * 3 + k) * 4 + i);
            }
    EXPECT_EQ(run(one_op(B::SQUEEZE, {i8({2, 1, 3, 4})}, i8({2, 3, 4})), {x}).at(0).shape, (Shape{2, 3, 4}));
    const auto squeeze = [](TfliteBuilder& b) {
        return Options{BuiltinOptions::SqueezeOptions,
                       CreateSqueezeOptions(b.fbb, b.fbb.CreateVector(std::vector<std::int32_t>{-3})).Union()};
    };
    EXPECT_EQ(run(one_op(B::SQUEEZE, {i8({2, 1, 3, 4})}, i8({2, 3, 4}), squeeze), {x}).at(0).shape, (Shape{2, 3, 4}));
    EXPECT_EQ(run(one_op_indices(B::EXPAND_DIMS, i8({2, 1, 3, 4}), {{-1}}, i8({2, 1, 3, 4, 1})), {x}).at(0).shape,
              (Shape{2, 1, 3, 4, 1}));
    EXPECT_EQ(run(one_op_indices(B::EXPAND_DIMS, i8({2, 1, 3, 4}), {{0}}, i8({1, 2, 1, 3, 4})), {x}).at(0).shape,
              (Shape{1, 2, 1, 3, 4}));
    const auto s =
        run(one_op_indices(B::SLICE, i8({2, 1, 3, 4}), {{1, 0, 1, 2}, {1, 1, -1, 2}}, i8({1, 1, 2, 2})), {x}).at(0);
    EXPECT_EQ(ints(s), (Ints{-60 + 18, -60 + 19, -60 + 22, -60 + 23}));

    TfliteBuilder b;
    const int in = b.tensor(i8({2, 2}, 0.1f, 9)), amounts = b.constant_i32({2, 2}, {0, 1, 2, 0}),
              out = b.tensor(i8({3, 4}, 0.1f, 9));
    b.op(B::PAD, {in, amounts}, {out});
    const auto p = run(b.finish({in}, {out}), {numbered({2, 2})}).at(0);
    EXPECT_EQ(ints(p), (Ints{9, 9, -60, -59, 9, 9, -58, -57, 9, 9, 9, 9}));
}

TEST(TfliteShapes, ConcatenationPackUnpackSplit) {
    const auto a = numbered({2, 3}), b = random_i8({2, 2});
    const auto axis = [](TfliteBuilder& t) {
        return Options{BuiltinOptions::ConcatenationOptions, CreateConcatenationOptions(t.fbb, -1).Union()};
    };
    const Ints joined = ints(run(one_op(B::CONCATENATION, {i8({2, 3}), i8({2, 2})}, i8({2, 5}), axis), {a, b}).at(0));
    EXPECT_EQ(joined, (Ints{-60, -59, -58, ints(b)[0], ints(b)[1], -57, -56, -55, ints(b)[2], ints(b)[3]}));
    // An input with its own quantization is brought to the output's.
    const Ints scaled =
        ints(run(one_op(B::CONCATENATION, {i8({2, 3}, 1), i8({2, 2}, 2, 5)}, i8({2, 5}, 1), axis), {a, b}).at(0));
    EXPECT_EQ(scaled[3], clip8(2 * (ints(b)[0] - 5)));
    // More inputs than a level allows in one list.
    TfliteBuilder many;
    std::vector<int> ids;
    std::vector<HostTensor> inputs;
    for (int i = 0; i < 130; ++i) ids.push_back(many.tensor(i8({1, 2}))), inputs.push_back(random_i8({1, 2}));
    const int out = many.tensor(i8({130, 2}));
    many.op(B::CONCATENATION, ids, {out});
    const Ints rows = ints(run(many.finish(ids, {out}), inputs).at(0));
    for (std::size_t i = 0; i < 130; ++i) ASSERT_EQ(rows[2 * i], ints(inputs[i])[0]);

    const auto pack = [](TfliteBuilder& t) {
        return Options{BuiltinOptions::PackOptions, CreatePackOptions(t.fbb, 2, 1).Union()};
    };
    const auto packed = run(one_op(B::PACK, {i8({2, 3}), i8({2, 3})}, i8({2, 2, 3}), pack), {a, a}).at(0);
    EXPECT_EQ(packed.shape, (Shape{2, 2, 3}));
    EXPECT_EQ(ints(packed), (Ints{-60, -59, -58, -60, -59, -58, -57, -56, -55, -57, -56, -55}));

    TfliteBuilder u;
    const int x = u.tensor(i8({2, 3}));
    const int u0 = u.tensor(i8({2})), u1 = u.tensor(i8({2})), u2 = u.tensor(i8({2}));
    u.op(B::UNPACK, {x}, {u0, u1, u2}, BuiltinOptions::UnpackOptions, CreateUnpackOptions(u.fbb, 3, 1).Union());
    const auto columns = run(u.finish({x}, {u0, u1, u2}), {a});
    EXPECT_EQ(ints(columns.at(2)), (Ints{-58, -55}));

    TfliteBuilder s;
    const int y = s.tensor(i8({2, 3})), s0 = s.tensor(i8({2, 1})), s1 = s.tensor(i8({2, 2}));
    s.op(B::SPLIT_V, {y, s.indices({1, -1}), s.indices({-1})}, {s0, s1});
    const auto parts = run(s.finish({y}, {s0, s1}), {a});
    EXPECT_EQ(ints(parts.at(0)), (Ints{-60, -57}));
    EXPECT_EQ(ints(parts.at(1)), (Ints{-59, -58, -56, -55}));
}

// ---- dynamic batch ------------------------------------------------------------------------------------------------

// Input [-1,3,2], reshaped to a recorded [1,6], then fully connected; the batch follows the input.
Bytes batch_model(const Ints& reshape, const HostTensor& weights) {
    TfliteBuilder t;
    TensorSpec input = f32({1, 3, 2});
    input.signature = {-1, 3, 2};
    const int in = t.tensor(input), flat = t.tensor(f32({1, 6})), w = t.constant(f32({4, 6}), weights.bytes),
              out = t.tensor(f32({1, 4}));
    t.op(B::RESHAPE, {in, t.indices(reshape)}, {flat});
    t.op(B::FULLY_CONNECTED, {flat, w}, {out});
    return t.finish({in}, {out});
}

TEST(TfliteBatch, DynamicBatchFollowsTheInput) {
    const auto w = random_f32({4, 6}), x = random_f32({3, 3, 2});
    for (const Ints& reshape : {Ints{1, 6}, Ints{-1, 6}, Ints{1, -1}}) {
        const Bytes model = batch_model(reshape, w);
        const auto all = run(model, {x}, TfliteRounding::tflite, {{0, {3, 3, 2}}}).at(0);
        ASSERT_EQ(all.shape, (Shape{3, 4}));
        for (std::size_t n = 0; n < 3; ++n) {
            HostTensor one(DType::fp32, {1, 3, 2});
            std::copy_n(x.as<float>().begin() + static_cast<std::ptrdiff_t>(6 * n), 6, one.as<float>().begin());
            const auto single = run(model, {one}).at(0);
            for (std::size_t o = 0; o < 4; ++o) EXPECT_EQ(single.as<float>()[o], all.as<float>()[n * 4 + o]);
        }
    }
    expect_error(batch_model({1, 6}, w), ErrorCode::bad_input, "dimension 1 is 3", {{0, {3, 4, 2}}});
    expect_error(batch_model({1, 6}, w), ErrorCode::bad_input, "rank is 3", {{0, {3, 6}}});
    expect_error(batch_model({1, 7}, w), ErrorCode::bad_model, "cannot reshape");
}

// What converters write for a flatten with an unknown batch: SHAPE, STRIDED_SLICE, PACK, RESHAPE.
TEST(TfliteBatch, ShapeArithmeticIsFolded) {
    TfliteBuilder t;
    TensorSpec input = f32({1, 3, 2});
    input.signature = {-1, 3, 2};
    const auto number = [&](std::vector<std::int32_t> shape) {
        return t.tensor({std::move(shape), TensorType::INT32});
    };
    const int in = t.tensor(input), dims = number({3}), batch = number({}), target = number({2}),
              six = t.constant_i32({}, {6}), out = t.tensor(f32({1, 6}));
    t.op(B::SHAPE, {in}, {dims});
    t.op(B::STRIDED_SLICE, {dims, t.indices({0}), t.indices({1}), t.indices({1})}, {batch},
         BuiltinOptions::StridedSliceOptions, CreateStridedSliceOptions(t.fbb, 0, 0, 0, 0, 1).Union());
    t.op(B::PACK, {batch, six}, {target}, BuiltinOptions::PackOptions, CreatePackOptions(t.fbb, 2, 0).Union());
    t.op(B::RESHAPE, {in, target}, {out});
    const Bytes model = t.finish({in}, {out});
    const auto x = random_f32({5, 3, 2});
    const auto y = run(model, {x}, TfliteRounding::tflite, {{0, {5, 3, 2}}}).at(0);
    EXPECT_EQ(y.shape, (Shape{5, 6}));
    EXPECT_EQ(y.bytes, x.bytes);
}

// ---- names and messages -------------------------------------------------------------------------------------------

TEST(TfliteNames, InputsAndOutputsKeepTheirNamesAndAllAreUnique) {
    TfliteBuilder t;
    TensorSpec in = i8({4}, 0.5f, 3), out = i8({4}, 0.25f, 3), copy = i8({1, 4}, 0.5f, 3);
    in.name = out.name = "x", copy.name = "copy";
    const int a = t.tensor(in), b = t.tensor(out), c = t.tensor(copy), d = t.tensor(copy);
    t.op(B::QUANTIZE, {a}, {b});
    t.op(B::RESHAPE, {a, t.indices({1, 4})}, {c});
    t.op(B::RESHAPE, {c, t.indices({1, 4})}, {d});  // nothing to do, but an output of its own
    const Graph graph = import_tflite(t.finish({a}, {b, c, d, a}), {});
    std::vector<std::string> names;
    for (const ValueId id : graph.outputs) names.push_back(graph.value(id).name);
    EXPECT_EQ(graph.value(graph.inputs.at(0)).name, "x");
    EXPECT_EQ(names, (std::vector<std::string>{"x#2", "copy", "copy#2", "x#3"}));
    EXPECT_EQ(graph.value(graph.outputs[0]).scale, 0.25);
    EXPECT_EQ(graph.value(graph.outputs[3]).zero_point, 3);
    std::set<std::string> nodes;
    for (const Node& node : graph.nodes) EXPECT_TRUE(nodes.insert(node.name).second) << node.name;
}

TEST(TfliteNames, AreMadePrintable) {
    TfliteBuilder t;
    TensorSpec in = f32({4}), out = f32({4});
    in.name = "a\xff\n\xc3\xa9\xe2\x82", out.name = std::string(10000, 'n');
    const int a = t.tensor(in), b = t.tensor(out);
    t.op(B::RELU, {a}, {b});
    const Graph graph = import_tflite(t.finish({a}, {b}), {});
    EXPECT_EQ(graph.value(graph.inputs.at(0)).name, "a??\xc3\xa9??");
    EXPECT_EQ(graph.value(graph.outputs.at(0)).name, std::string(4096, 'n'));
}

TEST(TfliteErrors, NameTheOperatorOrTensor) {
    expect_error(one_op(B::LSH_PROJECTION, {f32({4})}, f32({4})), ErrorCode::unsupported,
                 "TFLite operator LSH_PROJECTION (node 0) is not supported");
    expect_error(one_op(B::ADD, {{{4}, TensorType::UINT8}, f32({4})}, f32({4})), ErrorCode::unsupported, "UINT8");
    expect_error(one_op(B::CONV_2D, {f32({1, 4, 4, 1}), f32({1, 1, 1, 1})}, f32({1, 4, 4, 1})), ErrorCode::bad_model,
                 "stride 0");
    expect_error(one_op(B::ADD, {f32({4}), f32({3})}, f32({4})), ErrorCode::bad_model, "ADD");
    expect_error(one_op(B::RESHAPE, {f32({4})}, f32({4})), ErrorCode::bad_model, "new shape is missing");
    expect_error(one_op(B::RELU, {i8({4}, -1)}, i8({4})), ErrorCode::bad_model, "scale -1");
    expect_error(one_op(B::RELU, {i8({4}, 1, 300)}, i8({4})), ErrorCode::bad_model, "zero point 300");
    expect_error(one_op(B::CONCATENATION, {f32({2, 2}), f32({2, 3})}, f32({4, 2})), ErrorCode::bad_model, "CONCAT");
    expect_error(
        one_op(B::ADD, {f32({4}), f32({4})}, f32({4}),
               [](TfliteBuilder& t) { return Options{BuiltinOptions::MulOptions, CreateMulOptions(t.fbb).Union()}; }),
        ErrorCode::bad_model, "options are those of another operator");
    expect_error(one_op(B::ADD, {f32({4}), f32({4})}, f32({4}),
                        [](TfliteBuilder& t) {
                            return Options{BuiltinOptions::AddOptions, CreateAddOptions(t.fbb, Act::SIGN_BIT).Union()};
                        }),
                 ErrorCode::unsupported, "SIGN_BIT");

    TfliteBuilder wrong_size;
    const int a = wrong_size.tensor(f32({4})), b = wrong_size.constant(f32({4}), Bytes(12)),
              c = wrong_size.tensor(f32({4}));
    wrong_size.op(B::ADD, {a, b}, {c});
    expect_error(wrong_size.finish({a}, {c}), ErrorCode::bad_model, "needs 16 bytes, but its buffer has 12");

    TfliteBuilder order;
    const int p = order.tensor(f32({4})), q = order.tensor(f32({4})), r = order.tensor(f32({4}));
    order.op(B::RELU, {q}, {r});
    order.op(B::RELU, {p}, {q});
    expect_error(order.finish({p}, {r}), ErrorCode::bad_model, "before it is computed");

    TfliteBuilder twice;
    const int s = twice.tensor(f32({4})), u = twice.tensor(f32({2}));
    twice.op(B::SPLIT, {twice.indices({0}), s}, {u, u});
    expect_error(twice.finish({s}, {u}), ErrorCode::bad_model, "writes tensor 1 't1' twice");

    TfliteBuilder constant;
    const int d = constant.tensor(f32({4})), e = constant.constant(f32({4}), Bytes(16));
    constant.op(B::RELU, {d}, {e});
    expect_error(constant.finish({d}, {e}), ErrorCode::bad_model, "writes tensor 1 't1', which is a constant");
}

TEST(TfliteShape, RanksThatALevelForbidsAreNamedWithTheLevelThatDoesNot) {
    const Bytes model = one_op_indices(B::RESHAPE, f32({4}), {{1, 1, 2, 1, 1, 1, 2}}, f32({1, 1, 2, 1, 1, 1, 2}));
    expect_error(model, ErrorCode::bad_model, "must be 0 to 6 at level 8K; --level none allows 32");
    ImportOptions options;
    options.level = &level_none;
    EXPECT_EQ(import_tflite(model, options).nodes.size(), 1u);
}

}  // namespace
}  // namespace tosavk
