// What scattering is made of, for other operations too.
#pragma once

#include "frontends/stablehlo/lowering.hpp"

namespace tosavk::stablehlo {

/// `into`, where each number of `updates` has joined what is at its place as `region` says, one after the other where
/// places are alike. `places` are row-major, one for each number; -1 is nowhere.
std::vector<Tensor> scattered_numbers(Lowering& l, const Region& region, std::vector<Tensor> into,
                                      std::vector<Tensor> updates, Id places);

}  // namespace tosavk::stablehlo
