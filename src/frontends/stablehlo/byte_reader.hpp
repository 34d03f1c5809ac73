// Reads the primitives of MLIR bytecode from a part of a file. Everything is checked against the end of that part
// before anything is made of it; what is wrong is told with its place in the file.
#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tosavk::stablehlo {

[[noreturn]] void fail_at_byte(std::size_t offset, const std::string& what, ErrorCode code = ErrorCode::bad_model);

class ByteReader {
public:
    /// `what` is named where the part ends early; it outlives the reader.
    ByteReader(std::span<const std::byte> file, std::size_t begin, std::size_t end, std::string_view what)
        : file_(file), at_(begin), end_(end), what_(what) {}

    std::size_t offset() const { return at_; }  ///< in the file
    std::size_t left() const { return end_ - at_; }
    bool at_end() const { return at_ == end_; }

    std::uint8_t byte();
    std::uint64_t varint();
    std::int64_t svarint();
    struct Flagged {
        std::uint64_t value;
        bool flag;
    };
    Flagged flagged();
    /// A number below `count`, of `items`.
    std::uint32_t index(std::size_t count, std::string_view items);
    Flagged flagged_index(std::size_t count, std::string_view items);
    /// Of what follows, each of which takes `bytes_each` bytes or more.
    std::size_t count(std::size_t bytes_each = 1);
    double real64();
    std::span<const std::byte> bytes(std::uint64_t size);
    std::span<const std::byte> blob() { return bytes(varint()); }
    std::string_view text_until_zero();
    ByteReader part(std::uint64_t size, std::string_view what);
    /// Fails where something is left.
    void finish() const;
    [[noreturn]] void fail(const std::string& what, ErrorCode code = ErrorCode::bad_model) const;

private:
    std::uint64_t checked_index(std::uint64_t value, std::size_t count, std::string_view items, std::size_t at) const;

    std::span<const std::byte> file_;
    std::size_t at_, end_;
    std::string_view what_;
};

}  // namespace tosavk::stablehlo
