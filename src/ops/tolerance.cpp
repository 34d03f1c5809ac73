// Bounds and the CHECK rule of the specification's chapter on floating-point accuracy.
#include "ops/tolerance.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace tosavk {

namespace {

struct FloatInfo {
    int fraction_bits;
    int min_exponent;  // of the smallest normal number
    double largest;
};

const FloatInfo& info(DType type) {
    static const FloatInfo fp32{23, -126, std::ldexp(2.0 - std::ldexp(1.0, -23), 127)};
    static const FloatInfo bf16{7, -126, std::ldexp(2.0 - std::ldexp(1.0, -7), 127)};
    static const FloatInfo fp16{10, -14, 65504};
    static const FloatInfo e4m3{3, -6, 448};
    static const FloatInfo e5m2{2, -14, 57344};
    switch (type) {
        case DType::fp32: return fp32;
        case DType::bf16: return bf16;
        case DType::fp16: return fp16;
        case DType::fp8e4m3: return e4m3;
        case DType::fp8e5m2: return e5m2;
        default: throw Error(ErrorCode::internal, "accuracy bound asked of type " + std::string(name_of(type)));
    }
}

}  // namespace

double nmin(DType type) { return std::ldexp(1.0, info(type).min_exponent); }
double nmax(DType type) { return info(type).largest; }
int fraction_bits(DType type) { return info(type).fraction_bits; }

double ulp(DType type, double r) {
    if (r == 0 || !std::isfinite(r) || std::fpclassify(r) == FP_SUBNORMAL) return 0;
    return std::ldexp(1.0, std::max(std::ilogb(r), info(type).min_exponent) - info(type).fraction_bits);
}

double absolute_bound(DType type, double mag, double v, double low, double div) {
    if (!std::isfinite(v) && mag == 0) return 0;
    double largest = std::max(std::fabs(mag), nmin(type));
    if (low > 0) largest = std::max(largest, low / v);
    return std::exp2(-info(type).fraction_bits / div) * largest * v;
}

bool check_value(DType type, double test, double reference, double bound) {
    if (std::isnan(reference)) return std::isnan(test);
    if (!std::isfinite(bound)) return true;
    if (reference < 0) {
        reference = -reference;
        test = -test;
    }
    const double inf = std::numeric_limits<double>::infinity();
    const double largest = nmax(type);
    double hi = reference + bound;
    double lo = reference - bound;
    if (hi > largest) hi = inf;
    if (lo > largest) lo = inf;
    if (lo < -largest) lo = -inf;
    const bool may_flush = type == DType::fp32 || type == DType::fp16 || type == DType::bf16;
    if (may_flush && test == 0 && lo < nmin(type)) return true;
    if (type == DType::fp8e4m3 && std::isnan(test)) return hi == inf;
    return lo <= test && test <= hi;
}

}  // namespace tosavk
