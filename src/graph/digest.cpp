// SHA-256 as FIPS 180-4 defines it; its constants are computed from their definition.
#include "graph/digest.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tosavk {

namespace {

__extension__ using u128 = unsigned __int128;

constexpr std::array<std::uint32_t, 64> first_primes() {
    std::array<std::uint32_t, 64> primes{};
    std::size_t count = 0;
    for (std::uint32_t n = 2; count < primes.size(); ++n) {
        bool prime = true;
        for (std::size_t k = 0; k < count && prime; ++k) prime = n % primes[k] != 0;
        if (prime) primes[count++] = n;
    }
    return primes;
}

/// The first 32 bits of the fraction of the second or third root of n.
constexpr std::uint32_t root_fraction(std::uint32_t n, int degree) {
    u128 root = 0;  // floor(root of n, times 2^32)
    for (int bit = 36; bit >= 0; --bit) {
        const u128 next = root | u128{1} << bit;
        const u128 power = degree == 2 ? next * next : next * next * next;
        if (power <= u128{n} << (32 * degree)) root = next;
    }
    return static_cast<std::uint32_t>(root);
}

constexpr auto primes_in_order = first_primes();

template <std::size_t count> constexpr std::array<std::uint32_t, count> root_fractions(int degree) {
    std::array<std::uint32_t, count> result{};
    for (std::size_t k = 0; k < count; ++k) result[k] = root_fraction(primes_in_order[k], degree);
    return result;
}

constexpr auto start_state = root_fractions<8>(2);
constexpr auto round_constants = root_fractions<64>(3);

using State = std::array<std::uint32_t, 8>;

void add_block(State& state, const std::byte* block) {
    std::array<std::uint32_t, 64> w;
    for (std::size_t k = 0; k < 16; ++k) {
        w[k] = 0;
        for (std::size_t b = 0; b < 4; ++b) w[k] = w[k] << 8 | std::to_integer<std::uint32_t>(block[4 * k + b]);
    }
    for (std::size_t k = 16; k < 64; ++k) {
        const std::uint32_t a = w[k - 15], b = w[k - 2];
        w[k] = w[k - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[k - 7] +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t k = 0; k < 64; ++k) {
        const std::uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) +
                                 round_constants[k] + w[k];
        const std::uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const State sums{a, b, c, d, e, f, g, h};
    for (std::size_t k = 0; k < 8; ++k) state[k] += sums[k];
}

}  // namespace

Digest sha256(std::span<const std::byte> bytes) {
    State state = start_state;
    std::size_t at = 0;
    for (; bytes.size() - at >= 64; at += 64) add_block(state, bytes.data() + at);
    // The rest, a single bit, zeros, and the length in bits.
    std::array<std::byte, 128> tail{};
    const std::size_t rest = bytes.size() - at;
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), rest, tail.begin());
    tail[rest] = std::byte{0x80};
    const std::size_t end = rest + 9 <= 64 ? 64 : 128;
    const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
    for (std::size_t k = 0; k < 8; ++k) tail[end - 1 - k] = static_cast<std::byte>(bits >> (8 * k));
    for (std::size_t block = 0; block < end; block += 64) add_block(state, tail.data() + block);

    Digest digest;
    for (std::size_t k = 0; k < digest.size(); ++k) {
        digest[k] = static_cast<std::byte>(state[k / 4] >> (24 - 8 * (k % 4)));
    }
    return digest;
}

std::string hex(const Digest& digest) {
    std::string text;
    for (const std::byte byte : digest) {
        text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
        text += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
    }
    return text;
}

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
