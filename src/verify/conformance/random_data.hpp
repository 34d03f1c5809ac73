// Random tensors with the values that break kernels: type extremes, NaN, infinities, signed zeros, subnormal numbers.
// Everything follows from the generator's 64-bit outputs alone, so that a seed means the same on every platform.
#pragma once

#include "graph/host_tensor.hpp"

#include <random>

namespace tosavk::conformance {

class RandomData {
public:
    explicit RandomData(std::mt19937_64& random) : random_(random) {}

    std::int64_t pick(std::int64_t lo, std::int64_t hi);  ///< lo..hi, both included
    bool chance(int percent) { return pick(0, 99) < percent; }

    /// Rank lo..hi; small and odd sizes, some 1; at most `limit` elements.
    Shape shape(int lo, int hi, std::int64_t limit = 2000);
    /// The shape with some dimensions replaced by 1.
    Shape narrowed(const Shape& shape, int percent = 25);

    /// Uniform in lo..hi, with lo, hi and the numbers around zero more often.
    HostTensor ints(DType type, const Shape& shape, std::int64_t lo, std::int64_t hi);
    /// Plain numbers of -4..4; with `special` also NaN, infinities, zeros of both signs, subnormal and huge numbers.
    HostTensor reals(DType type, const Shape& shape, bool special);
    /// Any value of the type: for integers the whole range, for floats one of several mixtures, bit noise among them.
    HostTensor any(DType type, const Shape& shape);
    /// Random bits (bool: 0 and 1): for operators that move data.
    HostTensor noise(DType type, const Shape& shape);

private:
    double real();
    double special_real();

    std::mt19937_64& random_;
};

}  // namespace tosavk::conformance
