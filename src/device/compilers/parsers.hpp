// One parser a driver, and what they share.
#pragma once

#include "device/compilers/figures.hpp"

#include <initializer_list>
#include <string_view>
#include <vector>

namespace tosavk::compilers {

CompilerFigures read_aco(const DeviceCaps& caps, const CompiledProgram& program);
CompilerFigures read_brw(const DeviceCaps& caps, const CompiledProgram& program);
CompilerFigures read_ir3(const DeviceCaps& caps, const CompiledProgram& program);
CompilerFigures read_nak(const DeviceCaps& caps, const CompiledProgram& program);
CompilerFigures read_valhall(const DeviceCaps& caps, const CompiledProgram& program);

/// The statistic of that name, if the program has one.
std::optional<std::uint64_t> statistic(const CompiledProgram& program, std::string_view name);

/// The first text whose name has `part` in it; empty without one.
std::string_view text(const CompiledProgram& program, std::string_view part);

/// Puts the hottest loop into the figures, and the count of instructions where the compiler told none.
void add_listing(CompilerFigures& figures, const Listing& listing);

std::vector<std::string_view> lines_of(std::string_view text);
/// What stands before the first space.
std::string_view first_word(std::string_view line);
/// What comes after the first word and the spaces behind it.
std::string_view after_word(std::string_view line);
std::string_view trimmed(std::string_view line);
/// The number that text begins with; 0 without one.
std::size_t number_in(std::string_view text);
bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings);

}  // namespace tosavk::compilers
