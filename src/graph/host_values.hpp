// Elements as programs hold them, to and from those of graphs. Every value is checked: what a type cannot hold is an
// error that names the element.
#pragma once

#include "graph/types.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tosavk {

/// An element of a program: one of a graph, or one that no graph has.
struct HostType {
    using Kind = HostKind;

    Kind kind = Kind::graph;
    DType type = DType::fp32;  ///< of Kind::graph

    std::size_t bytes() const;
    std::string name() const;
};

/// What a file may declare of a value: u8, u16 and u32 of one with as many bits; i64 and u64 of an i32; u64_words and
/// i64_words of an i32 whose last dimension has the two words of each number; f64 of an fp32.
constexpr bool may_declare(DType type, HostKind declared) {
    switch (declared) {
        case HostKind::graph: return true;
        case HostKind::u8: return type == DType::i8;
        case HostKind::u16: return type == DType::i16;
        case HostKind::u32:
        case HostKind::u64:
        case HostKind::i64:
        case HostKind::u64_words:
        case HostKind::i64_words: return type == DType::i32;
        case HostKind::f64: return type == DType::fp32;
        default: return false;
    }
}

/// What the bytes of an input or output are: an i8, i16 or i32 that a file declares as unsigned has the bits of that;
/// an i32 that it declares as 64 bits wide is the same number, or with its neighbour has the bits of that.
inline HostType stored_type(DType type, HostKind declared) {
    const bool same_bits = declared == HostKind::u8 || declared == HostKind::u16 || declared == HostKind::u32;
    if (declared == HostKind::u64_words) return {HostKind::u64};
    if (declared == HostKind::i64_words) return {HostKind::i64};
    return same_bits ? HostType{declared} : HostType{HostKind::graph, type};
}

/// The first element that a type does not hold although its bytes could: of bool, i4 and i48.
struct UnfitElement {
    std::size_t index;
    std::int64_t value;
};
std::optional<UnfitElement> unfit_element(DType type, std::span<const std::byte> bytes);

/// Integers become integers that are equal; floats the nearest, but none that is finite becomes an infinity; integers
/// the nearest float, and floats integers where they are whole. bool is 0 and 1. Throws Error(bad_input) for the first
/// element that does not fit, after `what`.
std::vector<std::byte> convert_values(std::span<const std::byte> values, HostType from, HostType to,
                                      const std::string& what);

}  // namespace tosavk
