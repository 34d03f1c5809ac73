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
    enum class Kind : std::uint8_t { graph, u8, u16, u32, u64, i64, f64 };

    Kind kind = Kind::graph;
    DType type = DType::fp32;  ///< of Kind::graph

    std::size_t bytes() const;
    std::string name() const;
};

/// Integers become integers that are equal; floats the nearest, but none that is finite becomes an infinity; integers
/// the nearest float, and floats integers where they are whole. bool is 0 and 1. Throws Error(bad_input) for the first
/// element that does not fit, after `what`.
std::vector<std::byte> convert_values(std::span<const std::byte> values, HostType from, HostType to,
                                      const std::string& what);

}  // namespace tosavk
