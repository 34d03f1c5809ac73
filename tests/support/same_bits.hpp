// Equality of what two runs made.
#pragma once

#include "graph/host_tensor.hpp"

#include <cmath>
#include <cstring>

namespace tosavk::test {

/// The same bits in every element, or any NaN for a NaN.
inline bool same_bits(const HostTensor& a, const HostTensor& b) {
    if (a.bytes == b.bytes) return true;
    if (!is_float(a.type)) return false;
    const std::size_t size = size_of(a.type);
    const std::vector<double> x = decode_reals(a.type, a.bytes), y = decode_reals(b.type, b.bytes);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const bool equal = std::memcmp(a.bytes.data() + i * size, b.bytes.data() + i * size, size) == 0;
        if (!equal && !(std::isnan(x[i]) && std::isnan(y[i]))) return false;
    }
    return true;
}

}  // namespace tosavk::test
