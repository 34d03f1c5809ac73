// The types of elements: as programs name them, as hosts hold them, as graphs do.
#pragma once

#include "hosts/pjrt/interface.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tosavk::pjrt {

/// How the bytes of a host become those of a graph's tensors.
enum class Form : std::uint8_t {
    same,     ///< of a 64-bit integer the graph has the two words in a last dimension
    flag,     ///< any byte but 0 is true
    narrow,   ///< 4 or 2 bits in a byte
    complex,  ///< two tensors
    rounded,  ///< of twice the bytes: fp64 that is computed as fp32 (Options::f64_as_f32)
    rounded_complex,
};

struct ElementType {
    std::string_view name;  ///< in a program
    Kind kind;
    Form form;
    std::size_t host_bytes, part_bytes;  ///< of one element; part: of one tensor of the graph
    int bits = 0;                        ///< of narrow; negative: with a sign

    std::size_t parts() const { return form == Form::complex || form == Form::rounded_complex ? 2 : 1; }
    bool is_rounded() const { return form == Form::rounded || form == Form::rounded_complex; }
    /// The bytes of the array are those of its one tensor.
    bool is_plain() const { return parts() == 1 && !is_rounded(); }
};

/// Throw Failure for those that are not there.
const ElementType& type_named(std::string_view name);
const ElementType& type_of(std::int32_t kind);

/// `count` elements, dense.
void to_parts(const ElementType& type, const std::byte* host, std::size_t count, std::byte* const* parts);
void from_parts(const ElementType& type, const std::byte* const* parts, std::size_t count, std::byte* host);

}  // namespace tosavk::pjrt
