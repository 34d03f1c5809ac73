// Custom calls with a file of their own. Each checks its operands and results itself.
#pragma once

#include "frontends/stablehlo/lowering.hpp"

namespace tosavk::stablehlo {

void lower_qr(Lowering& l);
void lower_householder_product(Lowering& l);

/// Tensors of one shape along a dimension, in the order of a comparator, which takes two numbers of each. Stable.
std::vector<Tensor> sorted(Lowering& l, const std::vector<Tensor>& inputs, std::size_t axis, const Region& comparator);

}  // namespace tosavk::stablehlo
