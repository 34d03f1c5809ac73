// The bytes of dense constants: numbers to and from them, and the one form in which a Program holds them.
#pragma once

#include "frontends/stablehlo/program.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace tosavk::stablehlo {

/// The value of a float's bits.
double real_from_bits(Element element, std::uint64_t bits);
/// Nearest, ties to even; nothing where the type has neither that number nor an infinity or NaN for it.
std::optional<std::uint64_t> bits_from_real(Element element, double value);

/// Why a constant of this type cannot have `bytes` bytes; else the constant, with a byte for each pred (which files
/// pack eight to a byte, too) and as a splat where all elements are alike.
struct DenseResult {
    Elements elements;
    std::string problem;
};
DenseResult dense_from_bytes(TypePointer type, SharedBytes bytes);

/// Integers and flags, sign-extended; u64 as its bits. At most `most` elements, else nothing; nothing for floats.
std::optional<std::vector<std::int64_t>> integers_of(const Elements& elements, std::uint64_t most);

}  // namespace tosavk::stablehlo
