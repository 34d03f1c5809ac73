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

/// What the bytes of an input or output are: an i8 that a file declares as u8 has the bits of a u8.
inline HostType stored_type(DType type, HostKind declared) {
    return declared == HostKind::u8 ? HostType{declared} : HostType{HostKind::graph, type};
}

/// Integers become integers that are equal; floats the nearest, but none that is finite becomes an infinity; integers
/// the nearest float, and floats integers where they are whole. bool is 0 and 1. Throws Error(bad_input) for the first
/// element that does not fit, after `what`.
std::vector<std::byte> convert_values(std::span<const std::byte> values, HostType from, HostType to,
                                      const std::string& what);

}  // namespace tosavk
