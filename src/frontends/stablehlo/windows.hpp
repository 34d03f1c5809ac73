// Windows over tensors, one dimension after the other.
#pragma once

#include "frontends/stablehlo/lowering.hpp"

#include <functional>

namespace tosavk::stablehlo {

struct WindowDimension {
    std::int64_t size = 1, stride = 1, dilation = 1, base_dilation = 1, low = 0, high = 0, out = 1;
};

/// Error(bad_model) where dimension `d`, of so many elements, has not as many windows as `out` says.
void check_windows(const Lowering& l, const WindowDimension& w, std::int64_t size, std::size_t d);
/// Of the operation in hand, whose windows are as many as `out` says.
std::vector<WindowDimension> window_of(Lowering& l, const Shape& out, bool with_dilations);

/// Tensors, and where along the dimension in hand there is something: elsewhere they hold anything. Empty: everywhere.
struct Lines {
    std::vector<Tensor> tensors;
    std::vector<bool> there;
};

/// Where a padded dimension has elements that it had before.
std::vector<bool> there_of(const WindowDimension& w, std::int64_t before, std::int64_t padded);
bool has_gaps(const std::vector<bool>& there);
/// `a` where there is something along the dimension, else `b`.
Tensor chosen(Lowering& l, const std::vector<bool>& there, std::size_t d, Tensor a, Tensor b);

/// Of two lists of tensors one, element by element. What is joined in another grouping is the same.
using Join = std::function<std::vector<Tensor>(const std::vector<Tensor>&, const std::vector<Tensor>&)>;
/// Windows along one dimension. Long ones are joined from windows of 1, 2, 4, ... elements.
Lines along_dimension(Lowering& l, const Join& join, Lines x, std::size_t d, const WindowDimension& w);

}  // namespace tosavk::stablehlo
