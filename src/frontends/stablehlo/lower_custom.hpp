// Custom calls and operations that have a file of their own or are one thing. Each checks its operands and results
// itself.
#pragma once

#include "frontends/stablehlo/lowering.hpp"

#include <string_view>

namespace tosavk::stablehlo {

void lower_qr(Lowering& l);
void lower_householder_product(Lowering& l);

/// Tensors of one shape along a dimension, in the order of a comparator, which takes two numbers of each. Stable.
std::vector<Tensor> sorted(Lowering& l, const std::vector<Tensor>& inputs, std::size_t axis, const Region& comparator);

/// The function of CHLO of that name and one operand, element by element; false if there is none.
bool lower_function(Lowering& l, std::string_view name);
/// The k largest numbers of each line; `k` and whether the largest are meant, as a custom call says them.
void lower_top_k(Lowering& l, std::int64_t k, bool largest);

}  // namespace tosavk::stablehlo
