#include "base/digest.hpp"

#include "base/text.hpp"

#include <sys/types.h>

#include <sha2.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace tosavk {

Digest sha256(std::span<const std::byte> bytes) {
    SHA2_CTX state;
    SHA256Init(&state);
    SHA256Update(&state, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    Digest digest;
    SHA256Final(reinterpret_cast<std::uint8_t*>(digest.data()), &state);
    return digest;
}

std::string hex(const Digest& digest) { return hexadecimal(digest); }

// Every step is a bijection of the sum for a given word and of the word for a given sum.
std::uint64_t checksum(std::span<const std::byte> bytes) {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio
    std::uint64_t sum = (bytes.size() + 1) * odd;
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
        sum = (std::rotl(sum, 29) ^ word) * odd;
        sum ^= sum >> 32;
    }
    return sum;
}

}  // namespace tosavk
