// CONV_3D and CONV_3D_TRANSPOSE against the definition of both.
#include "support/tflite_models.hpp"

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

using Three = std::array<std::int32_t, 3>;

struct Form {
    Three in, kernel, stride, dilation;
    Padding padding;
};
// Uneven padding, strides that leave a remainder, dilation, kernels of 1.
const Form forms[] = {{{4, 5, 3}, {2, 3, 1}, {1, 1, 1}, {1, 1, 1}, Padding::SAME},
                      {{4, 5, 6}, {2, 3, 3}, {2, 1, 3}, {1, 1, 1}, Padding::SAME},
                      {{5, 6, 7}, {2, 3, 2}, {2, 2, 3}, {1, 1, 1}, Padding::VALID},
                      {{5, 6, 7}, {2, 3, 2}, {1, 1, 1}, {2, 1, 3}, Padding::SAME},
                      {{5, 6, 7}, {2, 2, 3}, {1, 1, 1}, {1, 3, 2}, Padding::VALID}};
constexpr std::int32_t batch = 2, in_channels = 3, out_channels = 4;

std::int32_t output_size(const Form& f, std::size_t i) {
    const std::int32_t reach = (f.kernel[i] - 1) * f.dilation[i] + 1;
    return f.padding == Padding::SAME ? (f.in[i] + f.stride[i] - 1) / f.stride[i] : (f.in[i] - reach) / f.stride[i] + 1;
}
/// Of a window over `in` elements that makes `out`.
std::int32_t padding_before(const Form& f, std::size_t i, std::int32_t in, std::int32_t out) {
    const std::int32_t reach = (f.kernel[i] - 1) * f.dilation[i] + 1;
    return f.padding == Padding::SAME ? std::max((out - 1) * f.stride[i] + reach - in, 0) / 2 : 0;
}

std::size_t index_of(const Three& size, std::int32_t n, const Three& at, std::int32_t channels, std::int32_t c) {
    return static_cast<std::size_t>((((n * size[0] + at[0]) * size[1] + at[1]) * size[2] + at[2]) * channels + c);
}

template <class F> void for_each_place(const Three& size, F f) {
    for (std::int32_t z = 0; z < size[0]; ++z)
        for (std::int32_t y = 0; y < size[1]; ++y)
            for (std::int32_t x = 0; x < size[2]; ++x) f(Three{z, y, x});
}

/// f(near, far, tap): pixel `near` of the convolution's output reads pixel `far` of its input by that tap.
template <class F> void for_each_tap(const Form& f, const Three& in, const Three& out, F each) {
    for_each_place(out, [&](const Three& near) {
        for_each_place(f.kernel, [&](const Three& tap) {
            Three far{};
            for (std::size_t i = 0; i < 3; ++i) {
                far[i] = near[i] * f.stride[i] - padding_before(f, i, in[i], out[i]) + tap[i] * f.dilation[i];
                if (far[i] < 0 || far[i] >= in[i]) return;
            }
            each(near, far, tap);
        });
    });
}

TensorSpec image(const Three& size, std::int32_t channels) { return f32({batch, size[0], size[1], size[2], channels}); }
Shape shape_of(const TensorSpec& t) { return {t.shape.begin(), t.shape.end()}; }

Options options_of(TfliteBuilder& t, const Form& f, Act activation) {
    return {BuiltinOptions::Conv3DOptions, CreateConv3DOptions(t.fbb, f.padding, f.stride[0], f.stride[2], f.stride[1],
                                                               activation, f.dilation[0], f.dilation[2], f.dilation[1])
                                               .Union()};
}

/// Operands: the output's shape if it is a transposed one, the filter, and a bias.
Bytes conv3d(const Form& f, bool transposed, const TensorSpec& x, const TensorSpec& y, const HostTensor& filter,
             const HostTensor& bias) {
    TfliteBuilder b;
    const auto ints32 = [](const Shape& s) { return std::vector<std::int32_t>(s.begin(), s.end()); };
    const int in = b.tensor(x);
    const int w = b.constant(f32(ints32(filter.shape)), filter.bytes),
              add = b.constant(f32(ints32(bias.shape)), bias.bytes);
    std::vector<int> inputs{in, w, add};
    if (transposed) {
        const int to = b.indices(Ints(y.shape.begin(), y.shape.end()));
        inputs = {to, w, in, add};
    }
    const int out = b.tensor(y);
    const Options o = options_of(b, f, Act::RELU);
    b.op(transposed ? B::CONV_3D_TRANSPOSE : B::CONV_3D, inputs, {out}, o.first, o.second);
    return b.finish({in}, {out});
}

TEST(TfliteConv3d, EveryWindow) {
    for (const Form& f : forms) {
        const Three out{output_size(f, 0), output_size(f, 1), output_size(f, 2)};
        const TensorSpec x = image(f.in, in_channels), y = image(out, out_channels);
        const auto pixels = random_f32(shape_of(x)), bias = random_f32({out_channels});
        const auto filter = random_f32({f.kernel[0], f.kernel[1], f.kernel[2], in_channels, out_channels});
        const auto got = run(conv3d(f, false, x, y, filter, bias), {pixels}).at(0);
        ASSERT_EQ(got.shape, shape_of(y));
        for (std::int32_t n = 0; n < batch; ++n) {
            for (std::int32_t o = 0; o < out_channels; ++o) {
                std::map<Three, double> sums;
                for_each_place(out, [&](const Three& at) {
                    sums[at] = static_cast<double>(bias.as<float>()[static_cast<std::size_t>(o)]);
                });
                for_each_tap(f, f.in, out, [&](const Three& near, const Three& far, const Three& tap) {
                    for (std::int32_t c = 0; c < in_channels; ++c)
                        sums[near] += static_cast<double>(pixels.as<float>()[index_of(f.in, n, far, in_channels, c)]) *
                                      static_cast<double>(
                                          filter.as<float>()[index_of(f.kernel, 0, tap, in_channels, c) * out_channels +
                                                             static_cast<std::size_t>(o)]);
                });
                for (const auto& [at, sum] : sums)
                    ASSERT_NEAR(static_cast<double>(got.as<float>()[index_of(out, n, at, out_channels, o)]),
                                std::max(sum, 0.0), 1e-5);
            }
        }
    }
}

// What a convolution would read of the output, the transposed one adds to it.
TEST(TfliteConv3d, TransposedEveryWindow) {
    for (const Form& f : forms) {
        const Three small{output_size(f, 0), output_size(f, 1), output_size(f, 2)};
        const TensorSpec x = image(small, in_channels), y = image(f.in, out_channels);
        const auto pixels = random_f32(shape_of(x)), bias = random_f32({out_channels});
        const auto filter = random_f32({f.kernel[0], f.kernel[1], f.kernel[2], out_channels, in_channels});
        const auto got = run(conv3d(f, true, x, y, filter, bias), {pixels}).at(0);
        ASSERT_EQ(got.shape, shape_of(y));
        for (std::int32_t n = 0; n < batch; ++n) {
            for (std::int32_t o = 0; o < out_channels; ++o) {
                std::map<Three, double> sums;
                for_each_place(f.in, [&](const Three& at) {
                    sums[at] = static_cast<double>(bias.as<float>()[static_cast<std::size_t>(o)]);
                });
                for_each_tap(f, f.in, small, [&](const Three& near, const Three& far, const Three& tap) {
                    for (std::int32_t c = 0; c < in_channels; ++c)
                        sums[far] += static_cast<double>(pixels.as<float>()[index_of(small, n, near, in_channels, c)]) *
                                     static_cast<double>(
                                         filter.as<float>()[index_of(f.kernel, 0, tap, out_channels, o) * in_channels +
                                                            static_cast<std::size_t>(c)]);
                });
                for (const auto& [at, sum] : sums)
                    ASSERT_NEAR(static_cast<double>(got.as<float>()[index_of(f.in, n, at, out_channels, o)]),
                                std::max(sum, 0.0), 1e-5);
            }
        }
    }
}

TEST(TfliteConv3d, Refuses) {
    const Form& f = forms[0];
    const auto filter = random_f32({2, 3, 1, in_channels, out_channels}), bias = random_f32({out_channels});
    const TensorSpec x = image(f.in, in_channels), y = image(f.in, out_channels);
    expect_error(conv3d(f, false, image(f.in, 2), y, filter, bias), ErrorCode::bad_model,
                 "its filter is for 3 channels, its input has 2");
    expect_error(conv3d(f, false, x, y, filter, random_f32({3})), ErrorCode::bad_model,
                 "its bias has 3 elements for 4 channels");
    expect_error(conv3d(f, false, x, y, random_f32({3, 1, in_channels, out_channels}), bias), ErrorCode::bad_model,
                 "its filter has rank 4, not 5");
    expect_error(conv3d(f, false, i8(x.shape), i8(y.shape), filter, bias), ErrorCode::unsupported,
                 "types INT8 -> INT8 are not supported");
    expect_error(conv3d({f.in, f.kernel, {0, 1, 1}, f.dilation, f.padding}, false, x, y, filter, bias),
                 ErrorCode::bad_model, "must be at least 1");
    expect_error(conv3d(f, true, x, y, filter, bias), ErrorCode::bad_model,
                 "its filter is for 4 channels, its input has 3");
    expect_error(conv3d(f, true, x, image(f.in, 7), random_f32({2, 3, 1, out_channels, in_channels}), bias),
                 ErrorCode::bad_model, "its output of shape");
}

}  // namespace
}  // namespace tosavk
