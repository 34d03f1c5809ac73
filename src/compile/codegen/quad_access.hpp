// GLSL that finds four consecutive elements of an index space in a tensor that an index map describes.
#pragma once

#include "ops/op.hpp"

#include <functional>
#include <string>

namespace tosavk {

/// Makes an int specialization constant of a value; returns its name.
class Param {
public:
    Param(std::function<std::string(std::int64_t, bool)> make) : make_(std::move(make)) {}
    /// `late`: it depends on the outermost size of a tensor and perhaps on nothing else that changes with sizes.
    std::string operator()(std::int64_t value, bool late = false) const { return make_(value, late); }

private:
    std::function<std::string(std::int64_t, bool)> make_;
};

/// What the functions below know about the four elements at `e`: with `aligned`, e % 4 == 0.
struct QuadAccess {
    std::string name;     ///< prefix of the generated functions
    const IndexMap& map;  ///< simplified; with lo and hi where it is padded
    bool aligned = true;
    std::int64_t row = 0;  ///< not 0: the index space has rows of so many elements, e is a multiple of 4 past the start
                           ///< of one, and n is 4, or what is left of that row
};

/// Whether the four elements are one quad of the tensor, so that `NAME_at(e)` is the position of all.
bool is_whole_quad(const QuadAccess& access);

/// Whether they lie in no quad of the tensor and are not one element either.
bool parts_quads(const QuadAccess& access);

/// Text of `uint NAME_at(uint e)`, or `uint NAME_at(uint e, out bool ok)` where the map is padded: the position of one
/// element, or of the first of some in one row.
std::string position_function(const QuadAccess& access, const Param& param);

/// Text of `uint NAME_at(uint e)` for whole quads, else of `uvec4 NAME_at4(uint e, uint last)`. Where the map is padded
/// there is another parameter, `out bool ok` or `out bvec4 ok`: whether there is an element (the position is 0 if not).
/// Elements past `last` get some position inside the tensor.
std::string position_functions(const QuadAccess& access, const Param& param);

/// Text of `QUAD NAME_quad(uint e, uint n, uint last)` and what it calls: the elements, or the last parameter `QUAD
/// fill` of padded maps. From the n-th on they may be anything. `quad` and `splat` make a quad of four elements and of
/// one.
std::string read_function(const QuadAccess& access, const Param& param, const std::string& buffer,
                          const std::string& quad, const std::string& splat);

/// The same text of `QUAD NAME_quad(uint e, uint n, uint last, QUAD fill)` for a padded map, where the quad is four
/// times the element at e.
std::string read_function_of_one(const QuadAccess& access, const Param& param, const std::string& buffer,
                                 const std::string& quad);

}  // namespace tosavk
