// RFFT2D and what follows it: COMPLEX64 tensors inside of a graph.
#include "support/tflite_models.hpp"

#include <complex>
#include <numbers>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

TensorSpec c64(std::vector<std::int32_t> shape) { return {std::move(shape), TensorType::COMPLEX64}; }

struct Transform {
    std::int32_t h, w, fft_h, fft_w;  // of the input, and of the transform
};

/// Row y, column x of the transform of image n.
std::complex<double> transformed(const HostTensor& image, const Transform& t, int n, int y, int x) {
    std::complex<double> sum = 0;
    for (int i = 0; i < std::min(t.h, t.fft_h); ++i)
        for (int j = 0; j < std::min(t.w, t.fft_w); ++j) {
            const double turn = static_cast<double>(i * y) / t.fft_h + static_cast<double>(j * x) / t.fft_w;
            sum += static_cast<double>(image.as<float>()[static_cast<std::size_t>((n * t.h + i) * t.w + j)]) *
                   std::polar(1.0, -2 * std::numbers::pi * turn);
        }
    return sum;
}

TEST(TfliteComplex, PartsAndSizeOfATransform) {
    for (const Transform& t : {Transform{4, 8, 4, 8}, {1, 16, 1, 16}, {3, 5, 4, 8}, {5, 9, 2, 4}, {2, 3, 1, 1}}) {
        TfliteBuilder b;
        const std::int32_t columns = t.fft_w / 2 + 1;
        const std::vector<std::int32_t> to{2, t.fft_h, columns};
        const int x = b.tensor(f32({2, t.h, t.w})), y = b.tensor(c64(to));
        b.op(B::RFFT2D, {x, b.indices({t.fft_h, t.fft_w})}, {y}, BuiltinOptions::Rfft2dOptions,
             CreateRfft2dOptions(b.fbb).Union());
        std::vector<int> outputs;
        for (const B code : {B::REAL, B::IMAG, B::COMPLEX_ABS}) {
            outputs.push_back(b.tensor(f32(to)));
            b.op(code, {y}, {outputs.back()});
        }
        const auto image = random_f32({2, t.h, t.w});
        const auto out = run(b.finish({x}, outputs), {image});
        ASSERT_EQ(out[0].shape, (Shape{2, t.fft_h, columns}));
        std::size_t at = 0;
        for (int n = 0; n < 2; ++n)
            for (int i = 0; i < t.fft_h; ++i)
                for (int j = 0; j < columns; ++j, ++at) {
                    const auto want = transformed(image, t, n, i, j);
                    EXPECT_NEAR(static_cast<double>(out[0].as<float>()[at]), want.real(), 2e-5);
                    EXPECT_NEAR(static_cast<double>(out[1].as<float>()[at]), want.imag(), 2e-5);
                    EXPECT_NEAR(static_cast<double>(out[2].as<float>()[at]), std::abs(want), 2e-5);
                }
    }
}

// What only moves elements takes COMPLEX64 as it takes the rest: here RESHAPE and TRANSPOSE.
TEST(TfliteComplex, IsMoved) {
    TfliteBuilder b;
    const int x = b.tensor(f32({2, 1, 8})), y = b.tensor(c64({2, 1, 5})), z = b.tensor(c64({2, 5})),
              turned = b.tensor(c64({5, 2})), out = b.tensor(f32({5, 2}));
    b.op(B::RFFT2D, {x, b.indices({1, 8})}, {y});
    b.op(B::RESHAPE, {y, b.indices({2, 5})}, {z});
    b.op(B::TRANSPOSE, {z, b.indices({1, 0})}, {turned});
    b.op(B::IMAG, {turned}, {out});
    const auto image = random_f32({2, 1, 8});
    const auto got = run(b.finish({x}, {out}), {image}).at(0);
    ASSERT_EQ(got.shape, (Shape{5, 2}));
    for (int j = 0; j < 5; ++j)
        for (int n = 0; n < 2; ++n)
            EXPECT_NEAR(static_cast<double>(got.as<float>()[static_cast<std::size_t>(j * 2 + n)]),
                        transformed(image, {1, 8, 1, 8}, n, 0, j).imag(), 1e-5);
}

TEST(TfliteComplex, CastTakesTheRealPart) {
    std::vector<Bytes> models;
    for (const B code : {B::REAL, B::CAST}) {
        TfliteBuilder b;
        const int x = b.tensor(f32({2, 1, 8})), y = b.tensor(c64({2, 1, 5})), z = b.tensor(f32({2, 1, 5}));
        b.op(B::RFFT2D, {x, b.indices({1, 8})}, {y});
        b.op(code, {y}, {z});
        models.push_back(b.finish({x}, {z}));
    }
    const auto image = random_f32({2, 1, 8});
    EXPECT_EQ(run(models[0], {image}).at(0).bytes, run(models[1], {image}).at(0).bytes);
}

TEST(TfliteComplex, AbsoluteValuesDoNotOverflow) {
    TfliteBuilder b;
    const int x = b.tensor(f32({3, 1, 4})), y = b.tensor(c64({3, 1, 3})), z = b.tensor(f32({3, 1, 3}));
    b.op(B::RFFT2D, {x, b.indices({1, 4})}, {y});
    b.op(B::COMPLEX_ABS, {y}, {z});
    HostTensor image(DType::fp32, {3, 1, 4});
    const float values[] = {1e30f, 2e30f, 0, 0, 0, 0, 0, 0, 3e-30f, 4e-30f, 0, 0};
    std::copy(std::begin(values), std::end(values), image.as<float>().begin());
    const auto out = run(b.finish({x}, {z}), {image}).at(0);
    EXPECT_NEAR(static_cast<double>(out.as<float>()[1]), std::sqrt(5.0) * 1e30, 1e24);
    EXPECT_EQ(out.as<float>()[4], 0);
    EXPECT_NEAR(static_cast<double>(out.as<float>()[7]), 5e-30, 1e-35);
}

TEST(TfliteComplex, Refuses) {
    const auto transform = [](const TensorSpec& x, const Ints& size, const TensorSpec& y) {
        return one_op_indices(B::RFFT2D, x, {size}, y);
    };
    expect_error(transform(f32({4, 8}), {4, 8}, c64({4, 5})), ErrorCode::unsupported,
                 "TFLite graph output 0: type COMPLEX64 of tensor 2");
    expect_error(one_op(B::REAL, {c64({4})}, f32({4})), ErrorCode::unsupported, "type COMPLEX64 is not supported");
    expect_error(one_op(B::REAL, {f32({4})}, f32({4})), ErrorCode::unsupported, "type FLOAT32 of tensor 0");
    expect_error(transform(f32({4, 8}), {4, 6}, c64({4, 4})), ErrorCode::bad_model, "its length 6 is no power of two");
    expect_error(transform(f32({4, 8}), {8}, c64({4, 5})), ErrorCode::bad_model, "its length has 1 elements, not 2");
    expect_error(transform(f32({8}), {1, 8}, c64({5})), ErrorCode::bad_model, "its input has rank 1");
    expect_error(transform(f32({4, 8}), {4, 8}, f32({4, 5})), ErrorCode::unsupported,
                 "types FLOAT32 -> FLOAT32 are not supported");

    // An operator that computes does not take it.
    TfliteBuilder b;
    const int x = b.tensor(f32({1, 8})), y = b.tensor(c64({1, 5})), sum = b.tensor(c64({1, 5})),
              z = b.tensor(f32({1, 5}));
    b.op(B::RFFT2D, {x, b.indices({1, 8})}, {y});
    b.op(B::ADD, {y, y}, {sum});
    b.op(B::REAL, {sum}, {z});
    expect_error(b.finish({x}, {z}), ErrorCode::unsupported, "COMPLEX64");

    TfliteBuilder known;
    const int c = known.constant(c64({1}), Bytes(4)), r = known.tensor(f32({1})), in = known.tensor(f32({1}));
    known.op(B::REAL, {c}, {r});
    expect_error(known.finish({in}, {r}), ErrorCode::bad_model, "of type COMPLEX64 and shape 1 has 4 bytes");
}

/// Floats that become COMPLEX64, times a constant of two rows and columns.
TEST(TfliteComplex, ProductsOfConstants) {
    TfliteBuilder b;
    const double parts[] = {1, 2, -3, 0.5};
    const int x = b.tensor(f32({2, 1})), y = b.tensor(c64({2, 1})), z = b.tensor(c64({2, 2}));
    const int factor = b.constant(c64({2}), encode_reals(DType::fp32, parts));
    const int real = b.tensor(f32({2, 2})), imaginary = b.tensor(f32({2, 2}));
    b.op(B::CAST, {x}, {y});
    b.op(B::MUL, {y, factor}, {z});
    b.op(B::REAL, {z}, {real});
    b.op(B::IMAG, {z}, {imaginary});
    HostTensor two(DType::fp32, {2, 1});
    two.as<float>()[0] = 2, two.as<float>()[1] = -4;
    const auto out = run(b.finish({x}, {real, imaginary}), {two});
    EXPECT_EQ(decode_reals(DType::fp32, out[0].bytes), (std::vector<double>{2, -6, -4, 12}));
    EXPECT_EQ(decode_reals(DType::fp32, out[1].bytes), (std::vector<double>{4, 1, -8, -2}));
}

}  // namespace
}  // namespace tosavk
