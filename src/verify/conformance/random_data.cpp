#include "verify/conformance/random_data.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tosavk::conformance {

std::int64_t RandomData::pick(std::int64_t lo, std::int64_t hi) {
    const auto span = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo) + 1;
    return span == 0 ? static_cast<std::int64_t>(random_()) : lo + static_cast<std::int64_t>(random_() % span);
}

Shape RandomData::shape(int lo, int hi, std::int64_t limit) {
    constexpr std::array<std::int64_t, 14> sizes{1, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 13, 16, 37};
    Shape result;
    std::int64_t count = 1;
    for (std::int64_t rank = pick(lo, hi); rank > 0; --rank) {
        const std::int64_t size = std::min(sizes[static_cast<std::size_t>(pick(0, sizes.size() - 1))], limit / count);
        result.push_back(size);
        count *= size;
    }
    return result;
}

Shape RandomData::narrowed(const Shape& shape, int percent) {
    Shape result = shape;
    for (std::int64_t& size : result)
        if (chance(percent)) size = 1;
    return result;
}

HostTensor RandomData::ints(DType type, const Shape& shape, std::int64_t lo, std::int64_t hi) {
    const std::array<std::int64_t, 7> edges{lo, hi, lo + 1, hi - 1, 0, 1, -1};
    HostTensor tensor(type, shape);
    std::vector<std::int64_t> values(static_cast<std::size_t>(tensor.count()));
    for (std::int64_t& v : values) {
        v = chance(15) ? edges[static_cast<std::size_t>(pick(0, edges.size() - 1))] : pick(lo, hi);
        v = std::clamp(v, lo, hi);
    }
    tensor.bytes = encode_ints(type, values);
    return tensor;
}

double RandomData::real() { return static_cast<double>(pick(-(1 << 24), 1 << 24)) * 0x1p-22; }

double RandomData::special_real() {
    const double inf = std::numeric_limits<double>::infinity();
    const std::array<double, 16> values{inf, -inf, 0.0, -0.0, 1.0,      -1.0,     0.5,       -0.5,
                                        1.5, 2.5,  88,  -104, 0x1p-126, 0x1p-149, -0x1p-130, std::nan("")};
    const std::int64_t kind = pick(0, 19);
    if (kind < 16) return values[static_cast<std::size_t>(kind)];
    if (kind == 16) return 0x1.fffffep127;
    return std::ldexp(real(), static_cast<int>(pick(-140, 120)));
}

HostTensor RandomData::reals(DType type, const Shape& shape, bool special) {
    HostTensor tensor(type, shape);
    std::vector<double> values(static_cast<std::size_t>(tensor.count()));
    for (double& v : values) v = special && chance(20) ? special_real() : real();
    tensor.bytes = encode_reals(type, values);
    return tensor;
}

HostTensor RandomData::noise(DType type, const Shape& shape) {
    if (type == DType::boolean || type == DType::i4 || type == DType::i48) return any(type, shape);
    HostTensor tensor(type, shape);
    for (std::byte& b : tensor.bytes) b = static_cast<std::byte>(random_() >> 56);
    return tensor;
}

HostTensor RandomData::any(DType type, const Shape& shape) {
    if (!is_float(type)) return ints(type, shape, min_of(type), max_of(type));
    switch (pick(0, 3)) {
        case 0: return reals(type, shape, false);
        case 1: return noise(type, shape);
        default: return reals(type, shape, true);
    }
}

}  // namespace tosavk::conformance
