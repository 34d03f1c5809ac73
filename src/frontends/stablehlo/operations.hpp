// What each operation of StableHLO defines: its attributes, in which version, of what kind, and what an absent one
// means.
#pragma once

#include "frontends/stablehlo/program.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tosavk::stablehlo {

struct OperationRule {
    std::string_view name;
    std::string_view attributes;    ///< of the newest version, in alphabetical order, separated by spaces
    int newest = 1;                 ///< version
    std::string_view added = {};    ///< of them, those that version 1 lacks
    std::string_view dropped = {};  ///< of version 1 alone
};

/// Null for a name that StableHLO does not have.
const OperationRule* operation_rule(std::string_view name);
std::span<const OperationRule> operation_rules();
/// In alphabetical order, as VHLO's properties have them. `version` is 1 or `newest`.
std::vector<std::string_view> attribute_names(const OperationRule& rule, int version);
bool defines(const OperationRule& rule, std::string_view attribute);

/// Moves what the operation defines from its `extra` into its attributes, flattens what text groups in one attribute
/// (dot_dimension_numbers), gives each its one form and what is absent its default. `function` has the types of the
/// operands. Empty, or what is wrong, to stand after the operation's name: "has no attribute 'dimension'".
std::string complete(Operation& operation, const Function& function);

/// How many attributes and numbers complete() may make of these. A file may name what is large very often, and a reader
/// adds the costs up against `most_cost`.
std::uint64_t cost_of(const Dictionary& attributes);
constexpr std::uint64_t most_cost(std::size_t file_bytes) { return (std::uint64_t{1} << 20) + 16 * file_bytes; }

}  // namespace tosavk::stablehlo
