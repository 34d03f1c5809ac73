// The text of a kernel, and the specialization constants that it declares.
#pragma once

#include "kernels/common/kernel_choice.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tosavk {

/// Text of a file under shaders/.
std::string_view shader_file(const std::string& name);
/// The text of shaders/<kernel>.comp with the files that it includes, one level deep.
std::string kernel_source(const std::string& kernel);
/// A kernel that is complete as it stands: nothing is generated but these lines of #define, behind its #version.
std::string standalone_source(const std::string& kernel, const std::string& defines);

/// `layout(constant_id = ID) const TYPE NAME = ...;`, and behind it `// late` where it depends on the outermost size of
/// a tensor, `// pushed` where one pipeline is to have every value (a kernel then needs it neither for the size of an
/// array nor for a constant outside of functions).
struct DeclaredConstant {
    std::string name;
    std::size_t id = 0;
    bool is_float = false, is_late = false, is_pushed = false;
    std::vector<std::string> conditions;  ///< of the #if's around it, all of which must hold
};
/// In the order of the text. Throws Error(internal) where one name or id is declared twice.
std::vector<DeclaredConstant> declared_constants(std::string_view source);

/// Whether a condition of #if holds. It may have names of `defines` with integers for values (others are 0), numbers,
/// comparisons, ! && || and parentheses. Throws Error(internal) for anything else.
bool condition_holds(std::string_view condition, const std::vector<std::pair<std::string, std::string>>& defines);

/// The pass's constants by id. Throws Error(internal) where it names one that its kernel does not declare, gives a
/// float for an int or the other way round, or leaves out one that its variant of the kernel (KernelPass::defines)
/// declares. What only other variants declare may be given too, and changes nothing.
std::vector<std::int32_t> specialization(const KernelPass& pass);
/// Ids of those of its constants that become push constants; `late_sizes`: those that depend on an outermost size too.
std::set<std::size_t> pushed_constants(const KernelPass& pass, bool late_sizes);

}  // namespace tosavk
