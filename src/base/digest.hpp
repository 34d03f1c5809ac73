// Digests of bytes: SHA-256 where two different texts must never be taken for each other, and a fast checksum against
// damage.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tosavk {

using Digest = std::array<std::byte, 32>;

Digest sha256(std::span<const std::byte> bytes);
inline Digest sha256(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }
std::string hex(const Digest& digest);  ///< 64 lower-case digits

/// Tells apart any two byte strings of one length that differ within one aligned 8-byte word, and others with all but
/// certainty. No defence against intent.
std::uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace tosavk
