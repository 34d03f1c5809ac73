#include "frontends/tosa/tables.hpp"

#include "frontends/tosa/v0_30.hpp"
#include "ops/op.hpp"

#include <fmt/format.h>

#include <iterator>
#include <optional>

namespace tosavk {

namespace {

// ---- types --------------------------------------------------------------------------------------------------------

struct FileType {
    std::string_view name;
    std::optional<DType> type;
    bool is_unsigned = false;
};

/// By DType number; types that this library does not know have none.
constexpr FileType types_1_0[] = {
    {"UNKNOWN", {}},
    {"BOOL", DType::boolean},
    {"INT4", DType::i4},
    {"INT8", DType::i8},
    {"INT16", DType::i16},
    {"INT32", DType::i32},
    {"INT48", DType::i48},
    {"FP32", DType::fp32},
    {"FP16", DType::fp16},
    {"BF16", DType::bf16},
    {"SHAPE", DType::shape},
    {"FP8E4M3", DType::fp8e4m3},
    {"FP8E5M2", DType::fp8e5m2},
    // From here on they are those of the drafts of 1.1.
    {"FP6E2M3", {}},
    {"FP6E3M2", {}},
    {"FP4E2M1", {}},
    {"FP8UE8M0", {}},
    {"INT64", {}},
    {"MXINT8", {}},
};
constexpr std::size_t first_draft_type = 13;
constexpr FileType types_0_80[] = {
    {"UNKNOWN", {}},       {"BOOL", DType::boolean},     {"UINT8", DType::i8, true}, {"INT4", DType::i4},
    {"INT8", DType::i8},   {"INT16", DType::i16},        {"INT32", DType::i32},      {"INT48", DType::i48},
    {"FP32", DType::fp32}, {"UINT16", DType::i16, true}, {"FP16", DType::fp16},      {"BF16", DType::bf16},
    {"SHAPE", {}},
};

// ---- operators ----------------------------------------------------------------------------------------------------

constexpr std::size_t known_ops = static_cast<std::size_t>(Op::const_shape) + 1;

/// The operators that the drafts of 1.1 add after CONST_SHAPE.
constexpr std::string_view draft_ops[] = {"MATMUL_T_BLOCK_SCALED",
                                          "CAST_FROM_BLOCK_SCALED",
                                          "CAST_TO_BLOCK_SCALED",
                                          "DIM",
                                          "CONCAT_SHAPE",
                                          "ADD_SHAPE",
                                          "SUB_SHAPE",
                                          "MUL_SHAPE",
                                          "SLICE_SHAPE",
                                          "EXP2_SHAPE",
                                          "LOG2_CEIL_SHAPE",
                                          "LOG2_FLOOR_SHAPE",
                                          "MAX_SHAPE",
                                          "MIN_SHAPE",
                                          "MOD_SHAPE",
                                          "DIV_CEIL_SHAPE",
                                          "DIV_FLOOR_SHAPE",
                                          "ASSERT_EQUAL_SHAPE",
                                          "CONV2D_BLOCK_SCALED",
                                          "MAX_POOL2D_ADAPTIVE",
                                          "AVG_POOL2D_ADAPTIVE"};

Op op_named(std::string_view name) {
    for (std::uint32_t k = 1; k < known_ops; ++k) {
        if (name_of(static_cast<Op>(k)) == name) return static_cast<Op>(k);
    }
    return Op::unknown;
}

}  // namespace

void read_tosa_type(TosaGeneration generation, std::uint32_t number, TosaFileTensor& tensor) {
    const bool v1 = generation == TosaGeneration::v1_0;
    const std::span<const FileType> types =
        v1 ? std::span<const FileType>(types_1_0) : std::span<const FileType>(types_0_80);
    if (number >= types.size()) {
        tensor.unusable = fmt::format("its type {} is not known", number);
    } else if (!types[number].type) {
        const bool draft = v1 && number >= first_draft_type;
        tensor.unusable = fmt::format("its type {}{} is not supported", types[number].name,
                                      draft ? ", which the drafts of TOSA 1.1 add," : "");
    } else {
        tensor.type = *types[number].type;
        tensor.is_unsigned = types[number].is_unsigned;
    }
}

void identify_tosa_operator(TosaGeneration generation, TosaFileOperator& op) {
    if (generation == TosaGeneration::v1_0) {
        if (op.code > 0 && op.code < known_ops) {
            op.op = static_cast<Op>(op.code);
            op.op_name = name_of(op.op);
        } else if (op.code >= known_ops && op.code - known_ops < std::size(draft_ops)) {
            op.op_name = draft_ops[op.code - known_ops];
        }
    } else if (op.code <= static_cast<std::uint32_t>(tosa080::Op::MAX)) {
        op.op_name = tosa080::EnumNameOp(static_cast<tosa080::Op>(op.code));
        op.op = op.op_name == "FULLY_CONNECTED" ? v0_30::fully_connected : op_named(op.op_name);
    }
    if (op.op_name.empty() || op.code == 0) op.op_name = std::to_string(op.code);
    if (op.op == Op::constant || op.op == Op::const_shape || op.op == v0_30::fully_connected) return;
    if (op.op == Op::unknown || !find_op(op.op)) {
        op.unsupported = fmt::format("operator {} (number {} in the file) is not supported", op.op_name, op.index);
    }
}

}  // namespace tosavk
