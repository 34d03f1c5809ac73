#include "frontends/stablehlo/byte_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tosavk::stablehlo {

void fail_at_byte(std::size_t offset, const std::string& what, ErrorCode code) {
    throw Error(code, fmt::format("StableHLO bytecode: {} (at byte {})", what, offset));
}

void ByteReader::fail(const std::string& what, ErrorCode code) const { fail_at_byte(at_, what, code); }

std::uint8_t ByteReader::byte() {
    if (at_ == end_) fail(fmt::format("{} ends early", what_));
    return std::to_integer<std::uint8_t>(file_[at_++]);
}

std::uint64_t ByteReader::varint() {
    const std::size_t begin = at_;
    const std::uint8_t first = byte();
    // As many bytes more as it has low zero bits; a zero is followed by the whole number.
    const std::size_t more = first == 0 ? 8 : static_cast<std::size_t>(std::countr_zero(first));
    if (left() < more) fail_at_byte(begin, fmt::format("{} ends within a number", what_));
    std::uint64_t value = first == 0 ? 0 : first;
    for (std::size_t k = 0; k < more; ++k) {
        const auto next = std::to_integer<std::uint64_t>(file_[at_++]);
        value |= next << (8 * (first == 0 ? k : k + 1));
    }
    return first == 0 ? value : value >> (more + 1);
}

std::int64_t ByteReader::svarint() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

ByteReader::Flagged ByteReader::flagged() {
    const std::uint64_t value = varint();
    return {value >> 1, (value & 1) != 0};
}

std::uint64_t ByteReader::checked_index(std::uint64_t value, std::size_t count, std::string_view items,
                                        std::size_t at) const {
    if (value >= count) fail_at_byte(at, fmt::format("{} names {} {}, but there are {}", what_, items, value, count));
    return value;
}

std::uint32_t ByteReader::index(std::size_t count, std::string_view items) {
    const std::size_t at = at_;
    return static_cast<std::uint32_t>(checked_index(varint(), count, items, at));
}

ByteReader::Flagged ByteReader::flagged_index(std::size_t count, std::string_view items) {
    const std::size_t at = at_;
    Flagged read = flagged();
    read.value = checked_index(read.value, count, items, at);
    return read;
}

std::size_t ByteReader::count(std::size_t bytes_each) {
    const std::size_t at = at_;
    const std::uint64_t value = varint();
    if (value > left() / std::max<std::size_t>(bytes_each, 1)) {
        fail_at_byte(at, fmt::format("{} counts {} items, for which it has no room", what_, value));
    }
    return static_cast<std::size_t>(value);
}

double ByteReader::real64() { return std::bit_cast<double>(svarint()); }

std::span<const std::byte> ByteReader::bytes(std::uint64_t size) {
    if (size > left()) fail(fmt::format("{} wants {} bytes, but has {}", what_, size, left()));
    const auto part = file_.subspan(at_, static_cast<std::size_t>(size));
    at_ += part.size();
    return part;
}

std::string_view ByteReader::text_until_zero() {
    const auto rest = file_.subspan(at_, left());
    const auto zero = std::find(rest.begin(), rest.end(), std::byte{0});
    if (zero == rest.end()) fail(fmt::format("a string of {} has no end", what_));
    const std::string_view text(reinterpret_cast<const char*>(rest.data()),
                                static_cast<std::size_t>(zero - rest.begin()));
    at_ += text.size() + 1;
    return text;
}

ByteReader ByteReader::part(std::uint64_t size, std::string_view what) {
    if (size > left()) fail(fmt::format("{} is said to have {} bytes, but {} are left", what, size, left()));
    const std::size_t begin = at_;
    at_ += static_cast<std::size_t>(size);
    return {file_, begin, at_, what};
}

void ByteReader::finish() const {
    if (!at_end()) fail(fmt::format("{} has {} bytes too many", what_, left()));
}

}  // namespace tosavk::stablehlo
