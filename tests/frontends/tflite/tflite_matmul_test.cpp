// BATCH_MATMUL against the definition of TFLite's kernels: every type, transposed operands, batches that are repeated.
#include "support/tflite_models.hpp"

#include <fmt/format.h>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

struct Product {
    std::vector<std::int32_t> left, right, result;  // as they multiply: without the transpositions
};
const Product products[] = {{{3, 5}, {5, 2}, {3, 2}},
                            {{2, 3, 4}, {2, 4, 5}, {2, 3, 5}},
                            {{2, 3, 4}, {4, 5}, {2, 3, 5}},
                            {{3, 4}, {2, 4, 5}, {2, 3, 5}},
                            {{2, 1, 3, 7}, {1, 3, 7, 2}, {2, 3, 3, 2}},
                            {{2, 1, 2, 1, 6}, {3, 1, 6, 4}, {2, 3, 2, 1, 4}}};

std::vector<std::int32_t> stored(std::vector<std::int32_t> shape, bool transposed) {
    if (transposed) std::iter_swap(shape.end() - 1, shape.end() - 2);
    return shape;
}

Bytes matmul(const TensorSpec& x, const TensorSpec& y, const TensorSpec& out, bool adj_x = false, bool adj_y = false) {
    return one_op(B::BATCH_MATMUL, {x, y}, out, [=](TfliteBuilder& t) {
        return Options{BuiltinOptions::BatchMatMulOptions, CreateBatchMatMulOptions(t.fbb, adj_x, adj_y).Union()};
    });
}

/// f(index of the result, sum over the depth of term(index of the left, index of the right)).
template <class T, class Term, class F> void multiply(const Product& p, bool adj_x, bool adj_y, Term term, F f) {
    const std::size_t rank = p.result.size();
    const auto size = [](const std::vector<std::int32_t>& s, std::size_t from_end) {
        return static_cast<std::size_t>(s[s.size() - from_end]);
    };
    const std::size_t rows = size(p.result, 2), columns = size(p.result, 1), depth = size(p.left, 1);
    const auto matrix_of = [&](const std::vector<std::int32_t>& shape, std::size_t at) {
        // The number of the matrix that the batch `at` of the result reads, where dimensions of 1 are repeated.
        std::size_t number = 0, step = 1;
        for (std::size_t d = 3; d <= rank; ++d) {
            const std::size_t k = at % size(p.result, d);
            at /= size(p.result, d);
            if (d > shape.size()) continue;
            number += (size(shape, d) == 1 ? 0 : k) * step;
            step *= size(shape, d);
        }
        return number;
    };
    std::size_t batches = 1, index = 0;
    for (std::size_t d = 3; d <= rank; ++d) batches *= size(p.result, d);
    for (std::size_t n = 0; n < batches; ++n)
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < columns; ++c) {
                T sum{};
                for (std::size_t k = 0; k < depth; ++k) {
                    const std::size_t x = adj_x ? k * rows + r : r * depth + k;
                    const std::size_t y = adj_y ? c * depth + k : k * columns + c;
                    sum += term(matrix_of(p.left, n) * rows * depth + x, matrix_of(p.right, n) * depth * columns + y);
                }
                f(index++, sum);
            }
}

Shape shape_of(const std::vector<std::int32_t>& s) { return {s.begin(), s.end()}; }

TEST(TfliteBatchMatmul, Float) {
    for (const Product& p : products) {
        for (int form = 0; form < 4; ++form) {
            const bool ax = form & 1, ay = form & 2;
            const auto a = stored(p.left, ax), b = stored(p.right, ay);
            const auto x = random_f32(shape_of(a)), y = random_f32(shape_of(b));
            const auto out = run(matmul(f32(a), f32(b), f32(p.result), ax, ay), {x, y}).at(0);
            ASSERT_EQ(out.shape, shape_of(p.result));
            multiply<double>(
                p, ax, ay,
                [&](std::size_t i, std::size_t j) {
                    return static_cast<double>(x.as<float>()[i]) * static_cast<double>(y.as<float>()[j]);
                },
                [&](std::size_t i, double sum) {
                    ASSERT_NEAR(static_cast<double>(out.as<float>()[i]), sum, 1e-5) << form;
                });
        }
    }
}

TEST(TfliteBatchMatmul, Int8MultipliesItsScalesAsFloats) {
    const float sa = 0.013f, sb = 0.21f, so = 0.17f;
    for (const Product& p : products) {
        for (int form = 0; form < 4; ++form) {
            const bool ax = form & 1, ay = form & 2;
            const auto a = stored(p.left, ax), b = stored(p.right, ay);
            const auto x = random_i8(shape_of(a)), y = random_i8(shape_of(b));
            for (const Rounding rounding : roundings) {
                const Ints got = ints(
                               run(matmul(i8(a, sa, -11), i8(b, sb, 30), i8(p.result, so, 4), ax, ay), {x, y}, rounding)
                                   .at(0)),
                           q = ints(x), w = ints(y);
                multiply<std::int64_t>(
                    p, ax, ay, [&](std::size_t i, std::size_t j) { return (q[i] + 11) * (w[j] - 30); },
                    [&](std::size_t i, std::int64_t sum) {
                        const Scaled s(static_cast<double>(sa * sb) / static_cast<double>(so));
                        ASSERT_EQ(got[i], clip8(scale_by(sum, s, rounding) + 4)) << form;
                    });
            }
        }
    }
}

TEST(TfliteBatchMatmul, Int8SumsOfStoredNumbers) {
    const Product& p = products[1];
    const auto x = random_i8(shape_of(p.left)), y = random_i8(shape_of(p.right));
    const TensorSpec out{p.result, TensorType::INT32, {0.1f}, {0}};
    const Ints got = ints(run(matmul(i8(p.left, 0.1f, 5), i8(p.right, 1, -5), out), {x, y}).at(0));
    multiply<std::int64_t>(
        p, false, false, [&](std::size_t i, std::size_t j) { return ints(x)[i] * ints(y)[j]; },
        [&](std::size_t i, std::int64_t sum) { ASSERT_EQ(got[i], sum); });
}

TEST(TfliteBatchMatmul, Int16SumsIn64Bits) {
    const float sa = 0.0001f, sb = 0.0002f, so = 0.0003f;
    for (const Product& p : products) {
        const auto x = random_ints(DType::i16, shape_of(p.left), -32768, 32767),
                   y = random_ints(DType::i16, shape_of(p.right), -32768, 32767);
        const Ints got = ints(run(matmul(i16(p.left, sa), i16(p.right, sb), i16(p.result, so)), {x, y}).at(0));
        multiply<std::int64_t>(
            p, false, false, [&](std::size_t i, std::size_t j) { return ints(x)[i] * ints(y)[j]; },
            [&](std::size_t i, std::int64_t sum) {
                const Scaled s(static_cast<double>(sa * sb) / static_cast<double>(so));
                const std::int64_t m = (s.m + (1 << 15)) >> 16;  // 15 bits of it
                ASSERT_EQ(got[i], clip16((sum * m + (std::int64_t{1} << (14 - s.e))) >> (15 - s.e)));
            });
    }
}

TEST(TfliteBatchMatmul, Refuses) {
    expect_error(matmul(f32({2, 3}), f32({4, 5}), f32({2, 5})), ErrorCode::bad_model, "have no product");
    expect_error(matmul(f32({2, 2, 3}), f32({3, 3, 5}), f32({2, 2, 5})), ErrorCode::bad_model, "have no product");
    expect_error(matmul(f32({3}), f32({3, 5}), f32({5})), ErrorCode::bad_model, "an operand has rank 1");
    expect_error(matmul(f32({2, 3}), i16({3, 5}, 1), f32({2, 5})), ErrorCode::unsupported,
                 "types FLOAT32 x INT16 -> FLOAT32 are not supported");
    expect_error(matmul(i8({2, 3}), i8({3, 5}), i16({2, 5}, 1)), ErrorCode::unsupported,
                 "types INT8 x INT8 -> INT16 are not supported");
    expect_error(matmul(i8({2, 3}, 1e9f), i8({3, 5}, 1e9f), i8({2, 5})), ErrorCode::unsupported,
                 "the ratio of its scales is too large");
}

}  // namespace
}  // namespace tosavk
