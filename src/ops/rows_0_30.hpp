// The operators of TOSA 0.30 and their type rows, whose nodes are those of 1.0 (frontends/tosa).
#pragma once

#include "ops/op.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tosavk::v0_30 {

/// The only operator of 0.30 that 1.0 does not have; all others go by their Op.
inline constexpr Op fully_connected = static_cast<Op>(0x10000);
/// The name in the specification's spelling, FULLY_CONNECTED included.
std::string_view op_name(Op op);

/// An element type. Unsigned tensors are held in the signed type of their width, which keeps their bits.
struct Type {
    DType type = DType::fp32;
    bool is_unsigned = false;  ///< i8 and i16 only

    bool operator==(const Type&) const = default;
};
std::string type_name(Type type);  ///< "i8", "u8", "fp32", ...

// ---- the table of operators ---------------------------------------------------------------------------------------

struct Row {
    std::vector<Type> types;  ///< in the order of OpInfo::type_vars
    const char* profiles;     ///< "BI|MI|MT" or "MI|MT", in the form of TypeRow::requires_
};

struct OpInfo {
    Op op = Op::unknown;
    std::vector<const char*> type_vars;
    std::vector<const char*> inputs;  ///< the type variable of each tensor operand, or a type
    std::vector<const char*> outputs;
    bool list = false;      ///< the last input stands for one or more tensors (CONCAT)
    std::vector<Row> rows;  ///< none: control flow and CUSTOM, which name no types
};

/// All 66 operators with type rows, then CUSTOM, COND_IF and WHILE_LOOP, in the order of the specification.
std::span<const OpInfo> operators();
const OpInfo* find_info(Op op);  ///< nullptr when 0.30 does not have it
/// The row of the same operator of 1.0 that means the same, by its place in OpDef::rows; nullopt when there is none.
std::optional<std::size_t> row_of_1_0(const OpInfo& info, const OpDef& def, const Row& row);

}  // namespace tosavk::v0_30
