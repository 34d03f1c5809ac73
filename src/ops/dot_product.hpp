// What convolutions, MATMUL, REDUCE_SUM and AVG_POOL2D share: the plain inner product of the reference, and the
// operands of their accuracy bound.
#pragma once

#include "base/progress.hpp"
#include "ops/op.hpp"
#include "ops/tolerance.hpp"

#include <algorithm>
#include <cmath>

namespace tosavk {

/// Sum of a[i] * b[i], of 16-bit values.
inline std::int64_t dot(const std::int32_t* a, const std::int32_t* b, std::int64_t n) {
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < n; ++i) total += std::int64_t{a[i]} * b[i];
    return total;
}

/// The same for 8-bit values less a zero point, which lie in -255..255, so that a chunk fits an int32.
inline std::int64_t dot(const std::int16_t* a, const std::int16_t* b, std::int64_t n) {
    constexpr std::int64_t chunk = 32768;  // 32768 * 255 * 255 < 2^31
    std::int64_t total = 0;
    for (std::int64_t begin = 0; begin < n; begin += chunk) {
        const std::int64_t end = std::min(n, begin + chunk);
        std::int32_t sum = 0;
        for (std::int64_t i = begin; i < end; ++i) sum += std::int32_t{a[i]} * b[i];
        total += sum;
    }
    return total;
}

/// Input k less the zero point in input zp, as T: int16 for inputs of 8 bits and less, int32 for wider ones.
template <class T> std::vector<T> ints_less_zero_point(const RefContext& ctx, std::size_t k, std::size_t zp) {
    const std::vector<std::int64_t> values = ctx.ints(k);
    const std::int64_t zero = ctx.ints(zp).at(0);
    std::vector<T> out(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<T>(values[i] - zero);
    return out;
}

/// The rule's ksb: how many roundings of the output's type a sum of `products` may cost. A wider accumulator rounds
/// more finely: its roundings count as the real quotient (spec prints an integer one, which asks for less).
inline double dot_product_terms(std::int64_t products, DType accumulator, DType out, bool biased = false) {
    const double finer = std::exp2((fraction_bits(accumulator) - fraction_bits(out)) / 2.0);
    return std::ceil(static_cast<double>(products) / finer) + (biased ? 1 : 0);
}

inline std::vector<double> squared(std::vector<double> values) {
    for (double& v : values) v *= v;
    return values;
}

/// Input k as an operand of the bound: magnitudes, at least the smallest normal number, NaN kept. Without local_bound
/// each is replaced by the largest of the tensor.
inline std::vector<double> bound_operand(const RefContext& ctx, std::size_t k, bool local_bound = true) {
    std::vector<double> values = ctx.real<double>(k);
    const double smallest = nmin(ctx.view.in(k).type);
    double largest = smallest;
    for (double& v : values) {
        v = std::fabs(v);
        if (v < smallest) v = smallest;
        if (v > largest) largest = v;
    }
    if (!local_bound) std::fill(values.begin(), values.end(), largest);
    return values;
}

}  // namespace tosavk
