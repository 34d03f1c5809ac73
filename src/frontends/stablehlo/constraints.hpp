// What StableHLO asks of the types of an operation's operands and results: Error(bad_model) where they are others.
#pragma once

#include "frontends/stablehlo/lowering.hpp"

namespace tosavk::stablehlo {

/// Of the operation in hand, whose attributes are checked.
void check_types(const Lowering& l);
/// The part of it that is of shapes that follow from several operands or attributes.
void check_shapes(const Lowering& l);
/// The same of a gather's windows, whose sizes may be an operand.
void check_gather(const Lowering& l, const std::vector<std::int64_t>& sizes);

/// Unknown dimensions fit all others.
bool fit(std::int64_t a, std::int64_t b);
bool fit(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b);
[[noreturn]] void refuse_type(const Lowering& l, const Type& what, std::string_view whose, std::string_view wanted);

}  // namespace tosavk::stablehlo
