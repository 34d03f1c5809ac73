#include "ops/combiner.hpp"

#include "ops/tolerance.hpp"

namespace tosavk {

void CombinedTerms::add(double x) {
    ++count;
    if (!std::isfinite(x) || x == 0) {
        largest_here = smallest_here = 0;
        return;
    }
    magnitude += std::max(std::fabs(x), nmin(DType::fp32));
    const double log = std::log2(std::fabs(x));
    largest_here = std::max(largest_here, 0.0) + log;
    smallest_here = std::min(smallest_here, 0.0) + log;
    largest = std::max(largest, largest_here);
    smallest = std::min(smallest, smallest_here);
}

double combined_bound(Combiner combiner, DType type, const CombinedTerms& terms, double reference) {
    const double unit = std::ldexp(1.0, -24), last_rounding = type == DType::fp32 ? 0 : 0.5;
    const double steps = std::max(terms.count - 1, 0.0), share = std::expm1(steps * std::log1p(unit));
    double error = 0;
    if (combiner == Combiner::add) {
        if (terms.magnitude > nmax(DType::fp32) / (1 + share)) return HUGE_VAL;
        error = share * terms.magnitude;
    } else {
        if (terms.largest > 127.9 || terms.smallest < -125.9) return HUGE_VAL;
        error = share * std::fabs(reference);
    }
    if (!std::isfinite(reference)) return 0;
    return error + last_rounding * ulp(type, std::fabs(reference) + error);
}

}  // namespace tosavk
