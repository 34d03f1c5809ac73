// The quantities that the specification's accuracy rules are written in, for every float type.
#pragma once

#include "graph/types.hpp"

namespace tosavk {

double nmin(DType type);  ///< smallest normal number
double nmax(DType type);  ///< largest finite number
int fraction_bits(DType type);

/// Distance between neighbouring numbers of the type at r; 0 for zero, infinity and NaN.
double ulp(DType type, double r);

/// A(mag, v, low, div): 2^(-F/div) * max(|mag|, nmin, low/v if low > 0) * v.
double absolute_bound(DType type, double mag, double v, double low, double div);

/// CHECK(test, reference, bound): may `test` stand for `reference`? Includes the overflow rules and the permission to
/// flush subnormal results to zero (bound 0: the exact rule for operators whose results are exact).
bool check_value(DType type, double test, double reference, double bound);

}  // namespace tosavk
