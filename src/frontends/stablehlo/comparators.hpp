// What comparators of two elements compare. Their arguments come in pairs: a number of the first, one of the second.
#pragma once

#include "frontends/stablehlo/lowering.hpp"

namespace tosavk::stablehlo {

/// Of one number that is made of each element in the same way: that of the first and that of the second.
struct Comparison {
    const Operation* compare = nullptr;  ///< its first operand is made of either
    std::string direction;               ///< "LT" and so on, of the first element's
    bool total_order = false;
};
/// The operation that makes a value of the region as one; nothing where it is none.
std::optional<Comparison> comparison_of(const Region& region, stablehlo::ValueId id);
/// What the region puts elements in the order of, the most important first, each by "LT" or "GT": what is below in
/// one, or alike there and below in what follows. Empty where it does something else.
std::vector<Comparison> order_of(const Region& region);

}  // namespace tosavk::stablehlo
