// Random legal graphs of one operator of TOSA 0.30, upgraded to 1.0, with inputs to run them on.
#pragma once

#include "frontends/tosa/v0_30.hpp"
#include "verify/conformance/random_node.hpp"

namespace tosavk::conformance {

/// One operator as drawn, before it is upgraded: for references of 0.30's own.
struct RandomOperator030 {
    Op op = Op::unknown;
    v0_30::Attributes attributes;
    std::vector<HostTensor> operands;  ///< in the operator's order, constants among them
    std::vector<bool> is_constant;     ///< of each operand
    std::vector<v0_30::Type> types;    ///< of each operand
    std::vector<v0_30::Type> results;
    std::optional<Shape> shape;  ///< of an elementwise result larger than the broadcast of the operands
};

/// Ranks 1 to 4, as the specification's texts say. Throws Error(unsupported) for operators without type rows.
RandomOperator030 random_operator_0_30(const v0_30::OpInfo& info, const v0_30::Row& row, std::mt19937_64& random);

/// The graph of that operator alone.
RandomCase upgraded_case(const RandomOperator030& drawn);

RandomCase random_case_0_30(const v0_30::OpInfo& info, const v0_30::Row& row, std::mt19937_64& random);

/// "i8, u8"
std::string row_text(const v0_30::Row& row);

}  // namespace tosavk::conformance
