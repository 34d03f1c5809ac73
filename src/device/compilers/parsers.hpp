// One parser a driver, and what they share.
#pragma once

#include "device/compilers/figures.hpp"

#include <string_view>
#include <vector>

namespace tosavk::compilers {

CompilerFigures read_aco(const DeviceCaps& caps, const CompiledProgram& program);

/// The statistic of that name, if the program has one.
std::optional<std::uint64_t> statistic(const CompiledProgram& program, std::string_view name);

/// The first text whose name has `part` in it; empty without one.
std::string_view text(const CompiledProgram& program, std::string_view part);

std::vector<std::string_view> lines_of(std::string_view text);
/// What stands before the first space, and what comes after the spaces.
std::string_view first_word(std::string_view line);
std::string_view trimmed(std::string_view line);

}  // namespace tosavk::compilers
