// Libraries of functions of four elements, for devices of few registers.
#pragma once

#include <string>
#include <string_view>

namespace tosavk {

/// A library of shaders/lib whose functions of vec4, ivec4, uvec4 and bvec4 compute one element after another: each
/// becomes a function of one element, and one of four that calls it. Four at once take four times the registers, which
/// costs a GPU of few of them half of what it can hold; those of a long function take turns in a loop, `at_once` (1 or
/// 2) of them each, since a compiler would begin with all of a row of them. The operations of each element, and so its
/// bits, stay. Functions with a loop, which would run four times as long (but one that a macro hides, for each element
/// has an end of its own), and those that name parts of vectors are left as they are, and whatever calls them. Needs
/// lib/single_elements.glsl. `library` is a file of shaders/lib, kept for good.
const std::string& in_single_elements(std::string_view library, std::size_t at_once);

}  // namespace tosavk
