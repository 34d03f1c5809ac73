// Sums of products of two tensors, of numbers of any type.
#pragma once

#include "frontends/stablehlo/lowering.hpp"

namespace tosavk::stablehlo {

struct Terms {
    std::int64_t first = 0, count = 0;
};

struct Contraction {
    /// Of two real tensors, in a float or i32 (modulo 2^32): floats, or integers of 8 bits each; with `at_once`, i32.
    /// Those `terms` alone where it `divides`.
    std::function<Id(const Tensor&, const Tensor&, Terms)> step;
    std::int64_t terms = 0;  ///< in one result
    bool divides = false;
    bool at_once = false;
};

Tensor zero_tensor(Lowering& l, Element element, const Shape& shape);  ///< what no terms are
Tensor contracted(Lowering& l, Tensor a, Tensor b, Element to, const Contraction& what);

/// What MATMUL and convolutions take: of a u8 an i8 that is 128 less.
struct Factor {
    Id id = no_id;
    std::int64_t zero = 0;
};
Factor factor_of(Lowering& l, const Tensor& x);
bool has_8_bits(const Tensor& x);  ///< and is an integer

}  // namespace tosavk::stablehlo
