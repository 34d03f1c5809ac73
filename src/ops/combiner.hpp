// The combiners of CUMULATE, SCATTER_ND and SEGMENT_REDUCE (docs/operators.md), and how exact their results are.
#pragma once

#include "graph/types.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tosavk {

/// Modulo 2^64, and so modulo 2 to the type's width, which is what remains of it.
inline std::int64_t combine_ints(Combiner combiner, std::int64_t a, std::int64_t b) {
    switch (combiner) {
        case Combiner::add:
            return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
        case Combiner::multiply:
            return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
        case Combiner::minimum: return std::min(a, b);
        case Combiner::maximum: return std::max(a, b);
        default: return b;
    }
}

template <class Real> Real combine_reals(Combiner combiner, Real a, Real b) {
    const bool extreme = combiner == Combiner::minimum || combiner == Combiner::maximum;
    if (extreme && (std::isnan(a) || std::isnan(b))) return std::numeric_limits<Real>::quiet_NaN();
    switch (combiner) {
        case Combiner::add: return a + b;
        case Combiner::multiply: return a * b;
        case Combiner::minimum: return a < b ? a : b;
        case Combiner::maximum: return a > b ? a : b;
        default: return b;
    }
}

/// What combining with it changes nothing; not of `set`. Bool counts as an integer of 0 and 1.
template <class T> T neutral_of(Combiner combiner, DType type) {
    const bool real = is_float(type);
    switch (combiner) {
        case Combiner::multiply: return T(1);
        case Combiner::minimum: return real ? std::numeric_limits<T>::infinity() : static_cast<T>(max_of(type));
        case Combiner::maximum: return real ? -std::numeric_limits<T>::infinity() : static_cast<T>(min_of(type));
        default: return T(0);
    }
}

/// What is known of the terms of one sum or product.
struct CombinedTerms {
    double count = 0;
    double magnitude = 0;  ///< sum of the magnitudes of the finite ones
    /// log2 of the largest and of the smallest product of neighbours, and of the products that end at the last term.
    /// Zeros, infinities and NaN are no factors here: the products of all others that lie between two of them are.
    double largest = 0, smallest = 0, largest_here = 0, smallest_here = 0;

    void add(double x);
};

/// How far a float result may lie from `reference`: sums and products are computed in fp32, in any order and grouping,
/// and rounded once to the type. Infinity, where nothing is asked, where the sum of the magnitudes or a product of
/// neighbouring terms leaves the range of fp32's normal numbers. Not for minima and maxima, which are exact.
double combined_bound(Combiner combiner, DType type, const CombinedTerms& terms, double reference);

constexpr const char* combined_accuracy =
    "((1 + 2^-24)^(n - 1) - 1) * sum|x| (product: |r|) and one rounding to the type; min, max: exact";

}  // namespace tosavk
