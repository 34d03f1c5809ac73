// Test data from a counter: element i depends on seed and i alone, by integer arithmetic that is the same everywhere.
#include "reference/reference.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

/// The i-th output of a splitmix64 sequence.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) {
    std::uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/// The sum of four uniform numbers, in [-4, 4) with a standard deviation of 1.15.
double random_real(std::uint64_t seed, std::uint64_t i) {
    const std::uint64_t a = random_bits(seed, 2 * i), b = random_bits(seed, 2 * i + 1);
    const std::uint64_t sum = (a & 0xffffffffu) + (a >> 32) + (b & 0xffffffffu) + (b >> 32);
    return (static_cast<double>(sum) - 0x1p33) * 0x1p-31;
}

}  // namespace

HostTensor random_tensor(DType type, const Shape& shape, std::uint64_t seed) {
    if (type == DType::shape) throw Error(ErrorCode::usage, "shape values are constants and cannot be random");
    HostTensor tensor(type, shape);
    // The seed is mixed first, so that neighbouring seeds give unrelated sequences.
    const std::uint64_t key = random_bits(seed, 0);
    const auto count = static_cast<std::size_t>(tensor.count());
    if (is_float(type)) {
        std::vector<double> values(count);
        for (std::size_t i = 0; i < count; ++i) values[i] = random_real(key, i);
        tensor.bytes = encode_reals(type, values);
        return tensor;
    }
    const std::uint64_t span = static_cast<std::uint64_t>(max_of(type) - min_of(type)) + 1;
    std::vector<std::int64_t> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = min_of(type) + static_cast<std::int64_t>((random_bits(key, i) >> 16) % span);
    tensor.bytes = encode_ints(type, values);
    return tensor;
}

}  // namespace tosavk
