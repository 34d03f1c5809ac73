// RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR against the definition of TFLite's kernels: shapes for which RESIZE of
// TOSA can be used, and shapes that its limits exclude.
#include "support/tflite_models.hpp"

#include <fmt/format.h>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

struct Mode {
    bool align_corners, half_pixel;
};
constexpr Mode modes[] = {{false, false}, {true, false}, {false, true}};

struct Sizes {
    std::int32_t ih, iw, oh, ow;
};
// Up, down and alike; sizes of 1; reductions beyond 16; scales that no small fraction is.
constexpr Sizes all_sizes[] = {{1, 1, 1, 1},   {1, 1, 5, 3},   {5, 7, 1, 1},     {4, 6, 8, 12},  {8, 12, 4, 6},
                               {3, 5, 7, 4},   {40, 2, 2, 37}, {7, 7, 7, 7},     {2, 3, 90, 41}, {64, 9, 3, 150},
                               {1, 8, 31, 16}, {13, 1, 5, 29}, {19, 33, 38, 66}, {100, 3, 5, 2}};

Bytes resize(B code, const TensorSpec& x, const TensorSpec& y, const Mode& mode) {
    return one_op_indices(code, x, {{y.shape[1], y.shape[2]}}, y, [&](TfliteBuilder& t) {
        if (code == B::RESIZE_BILINEAR)
            return Options{BuiltinOptions::ResizeBilinearOptions,
                           CreateResizeBilinearOptions(t.fbb, 0, 0, mode.align_corners, mode.half_pixel).Union()};
        return Options{BuiltinOptions::ResizeNearestNeighborOptions,
                       CreateResizeNearestNeighborOptions(t.fbb, mode.align_corners, mode.half_pixel).Union()};
    });
}

std::string title(const Sizes& s, const Mode& m) {
    return fmt::format("{}x{} to {}x{}, align_corners {}, half_pixel {}", s.ih, s.iw, s.oh, s.ow, m.align_corners,
                       m.half_pixel);
}

/// f(index of the output, batch, y, x, channel) for [2, oh, ow, 3].
template <class F> void for_each_pixel(const Sizes& s, F f) {
    std::size_t at = 0;
    for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t y = 0; y < s.oh; ++y)
            for (std::int64_t x = 0; x < s.ow; ++x)
                for (std::int64_t c = 0; c < 3; ++c) f(at++, b, y, x, c);
}

// Places in 1024ths, by integers that round towards zero.
struct Fixed {
    std::int64_t low, high, weight;
    Fixed(std::int64_t k, std::int64_t in, std::int64_t out, const Mode& m) {
        std::int64_t step = (1024 * in + out / 2) / out;
        if (m.align_corners && out > 1) step = (1024 * (in - 1) + (out - 1) / 2) / (out - 1);
        const std::int64_t at = m.half_pixel ? k * step + step / 2 - 512 : k * step;
        low = std::max<std::int64_t>(at / 1024, 0);
        high = std::min<std::int64_t>((at + 1023) / 1024, in - 1);
        weight = at - 1024 * low;
    }
};

TEST(TfliteResize, BilinearOfIntegersHas10FractionBits) {
    for (const bool wide : {false, true}) {
        for (const Sizes& s : all_sizes) {
            for (const Mode& m : modes) {
                const Shape from{2, s.ih, s.iw, 3};
                const auto x = wide ? random_ints(DType::i16, from, -32768, 32767) : random_i8(from);
                const TensorSpec in = wide ? i16({2, s.ih, s.iw, 3}, 0.1f) : i8({2, s.ih, s.iw, 3}, 0.1f, 7);
                const TensorSpec out = wide ? i16({2, s.oh, s.ow, 3}, 0.1f) : i8({2, s.oh, s.ow, 3}, 0.1f, 7);
                const Ints got = ints(run(resize(B::RESIZE_BILINEAR, in, out, m), {x}).at(0)), q = ints(x);
                for_each_pixel(
                    s, [&](std::size_t at, std::int64_t b, std::int64_t oy, std::int64_t ox, std::int64_t c) {
                        const Fixed y(oy, s.ih, s.oh, m), w(ox, s.iw, s.ow, m);
                        const auto pixel = [&](std::int64_t iy, std::int64_t ix) {
                            const std::int64_t p = std::min((b * s.ih + iy) * s.iw + ix, 2L * s.ih * s.iw - 1);
                            return q[static_cast<std::size_t>(p * 3 + c)];
                        };
                        const std::int64_t sum = pixel(y.low, w.low) * (1024 - y.weight) * (1024 - w.weight) +
                                                 pixel(y.high, w.low) * y.weight * (1024 - w.weight) +
                                                 pixel(y.low, w.high) * (1024 - y.weight) * w.weight +
                                                 pixel(y.high, w.high) * y.weight * w.weight;
                        ASSERT_EQ(got[at], (sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20)) << title(s, m);
                    });
            }
        }
    }
}

TEST(TfliteResize, BilinearOfIntegersRoundsHalfAwayFromZero) {
    // Twice the size with half pixels: every other value is 3/4 of one and 1/4 of its neighbour.
    for (const bool wide : {false, true}) {
        HostTensor x(wide ? DType::i16 : DType::i8, {1, 1, 4, 1});
        x.bytes = encode_ints(x.type, Ints{-2, 0, 2, -6});
        const TensorSpec in = wide ? i16({1, 1, 4, 1}, 1) : i8({1, 1, 4, 1}),
                         out = wide ? i16({1, 1, 8, 1}, 1) : i8({1, 1, 8, 1});
        EXPECT_EQ(ints(run(resize(B::RESIZE_BILINEAR, in, out, {false, true}), {x}).at(0)),
                  (Ints{-2, -2, -1, 1, 2, 0, -4, -6}));
    }
}

double place(std::int64_t k, std::int64_t in, std::int64_t out, const Mode& m) {
    if (m.align_corners && out > 1) return static_cast<double>(k * (in - 1)) / static_cast<double>(out - 1);
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    return m.half_pixel ? std::max((static_cast<double>(k) + 0.5) * scale - 0.5, 0.0) : static_cast<double>(k) * scale;
}

TEST(TfliteResize, BilinearOfFloats) {
    for (const Sizes& s : all_sizes) {
        for (const Mode& m : modes) {
            const auto x = random_f32({2, s.ih, s.iw, 3});
            const auto out =
                run(resize(B::RESIZE_BILINEAR, f32({2, s.ih, s.iw, 3}), f32({2, s.oh, s.ow, 3}), m), {x}).at(0);
            const auto v = x.as<float>(), got = out.as<float>();
            for_each_pixel(s, [&](std::size_t at, std::int64_t b, std::int64_t oy, std::int64_t ox, std::int64_t c) {
                const double y = place(oy, s.ih, s.oh, m), w = place(ox, s.iw, s.ow, m);
                const auto y0 = static_cast<std::int64_t>(y), x0 = static_cast<std::int64_t>(w);
                const double fy = y - static_cast<double>(y0), fx = w - static_cast<double>(x0);
                const auto pixel = [&](std::int64_t iy, std::int64_t ix) {
                    iy = std::min<std::int64_t>(iy, s.ih - 1), ix = std::min<std::int64_t>(ix, s.iw - 1);
                    return static_cast<double>(v[static_cast<std::size_t>(((b * s.ih + iy) * s.iw + ix) * 3 + c)]);
                };
                const double want = (pixel(y0, x0) * (1 - fx) + pixel(y0, x0 + 1) * fx) * (1 - fy) +
                                    (pixel(y0 + 1, x0) * (1 - fx) + pixel(y0 + 1, x0 + 1) * fx) * fy;
                ASSERT_NEAR(static_cast<double>(got[at]), want, 3e-5) << title(s, m);
            });
        }
    }
}

TEST(TfliteResize, NearestNeighborOfEveryType) {
    const TensorType types[] = {TensorType::FLOAT32, TensorType::INT8, TensorType::INT16, TensorType::INT32,
                                TensorType::BOOL};
    for (const Sizes& s : all_sizes) {
        for (const Mode& m : modes) {
            const auto nearest = [&](std::int64_t k, std::int64_t in, std::int64_t out) {
                const bool corners = m.align_corners && out > 1;
                const float scale =
                    static_cast<float>(corners ? in - 1 : in) / static_cast<float>(corners ? out - 1 : out);
                const float at = (static_cast<float>(k) + (m.half_pixel ? 0.5f : 0.0f)) * scale;
                return std::min(static_cast<std::int64_t>(m.align_corners ? std::round(at) : std::floor(at)), in - 1);
            };
            for (const TensorType type : types) {
                const DType t = type == TensorType::FLOAT32 ? DType::fp32
                              : type == TensorType::INT8    ? DType::i8
                              : type == TensorType::INT16   ? DType::i16
                              : type == TensorType::INT32   ? DType::i32
                                                            : DType::boolean;
                const Shape from{2, s.ih, s.iw, 3};
                const auto x = t == DType::fp32
                                 ? random_f32(from)
                                 : random_ints(t, from, t == DType::boolean ? 0 : -100, t == DType::boolean ? 1 : 100);
                const auto out =
                    run(resize(B::RESIZE_NEAREST_NEIGHBOR, {{2, s.ih, s.iw, 3}, type}, {{2, s.oh, s.ow, 3}, type}, m),
                        {x})
                        .at(0);
                const auto v = decode_reals(t, x.bytes), got = decode_reals(t, out.bytes);
                for_each_pixel(
                    s, [&](std::size_t at, std::int64_t b, std::int64_t oy, std::int64_t ox, std::int64_t c) {
                        const std::int64_t iy = nearest(oy, s.ih, s.oh), ix = nearest(ox, s.iw, s.ow);
                        ASSERT_EQ(got[at], v[static_cast<std::size_t>(((b * s.ih + iy) * s.iw + ix) * 3 + c)])
                            << title(s, m);
                    });
            }
        }
    }
}

TEST(TfliteResize, RefusesWhatTfliteRefuses) {
    for (const B code : {B::RESIZE_BILINEAR, B::RESIZE_NEAREST_NEIGHBOR}) {
        expect_error(resize(code, f32({1, 2, 2, 1}), f32({1, 4, 4, 1}), {true, true}), ErrorCode::bad_model,
                     "align_corners and half_pixel_centers exclude each other");
        expect_error(resize(code, f32({1, 2, 2, 1}), f32({1, 0, 4, 1}), {false, false}), ErrorCode::bad_model,
                     "size 0 must be at least 1");
        expect_error(one_op_indices(code, f32({1, 2, 2, 1}), {{4, 4, 4}}, f32({1, 4, 4, 1})), ErrorCode::bad_model,
                     "its size has 3 elements, not 2");
        expect_error(one_op_indices(code, f32({2, 2, 1}), {{4, 4}}, f32({4, 4, 1})), ErrorCode::bad_model,
                     "its input has rank 3, not 4");
        expect_error(one_op_indices(code, f32({1, 2, 2, 1}), {{1 << 30, 1 << 30}}, f32({1, 1, 1, 1})),
                     ErrorCode::unsupported, "is too large");
        expect_error(one_op(code, {f32({1, 2, 2, 1}), {{2}, TensorType::INT32}}, f32({1, 4, 4, 1})),
                     ErrorCode::unsupported, "must be a constant");
        expect_error(one_op_indices(code, f32({1, 2, 2, 1}), {{4, 4}}, i8({1, 4, 4, 1})), ErrorCode::unsupported,
                     "types FLOAT32 -> INT8 are not supported");
    }
    expect_error(one_op_indices(B::RESIZE_BILINEAR, {{1, 2, 2, 1}, TensorType::INT32}, {{4, 4}},
                                {{1, 4, 4, 1}, TensorType::INT32}),
                 ErrorCode::unsupported, "type INT32 is not supported");
}

}  // namespace
}  // namespace tosavk
