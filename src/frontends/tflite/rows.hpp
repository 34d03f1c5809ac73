// Which operators can be imported: a list for each family, in the file of its lowerings.
#pragma once

#include "tflite_generated.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace tosavk {

class Lowering;

/// What the importer has to know of an operator besides its lowering; any of these together.
enum RowTraits : std::uint8_t {
    computes = 0,
    moves_data = 1,      ///< copies elements only, so that constants may be folded whatever their type
    has_regions = 2,     ///< runs subgraphs: never folded, since a loop might not end
    takes_axes = 4,      ///< input 1 are axes, of which there may be none; input 0 may have no elements
    asks_shape = 8,      ///< reads no element of its input, which may have none
    makes_int4 = 32,     ///< its output may be INT4
    rounds_halves = 16,  ///< of FLOAT16 it is computed in FLOAT32, and the result rounded
};

struct OperatorRow {
    tflite::BuiltinOperator code;
    void (*lower)(Lowering&);  ///< reads the operator in hand and sets its outputs
    std::uint8_t traits = computes;
    std::string_view custom = {};  ///< CUSTOM: the name that it has in files

    bool is(RowTraits trait) const { return (traits & trait) != 0; }
};

using OperatorRows = std::span<const OperatorRow>;

OperatorRows activation_rows();
OperatorRows arithmetic_rows();
OperatorRows bits_rows();
OperatorRows call_rows();
OperatorRows complex_rows();
OperatorRows control_rows();
OperatorRows conv3d_rows();
OperatorRows conv_rows();
OperatorRows convert_rows();
OperatorRows detection_rows();
OperatorRows division_rows();
OperatorRows function_rows();
OperatorRows gather_rows();
OperatorRows lstm_rows();
OperatorRows make_rows();
OperatorRows matmul_rows();
OperatorRows mediapipe_rows();
OperatorRows normalization_rows();
OperatorRows order_rows();
OperatorRows pool_rows();
OperatorRows rearrange_rows();
OperatorRows reduce_rows();
OperatorRows resize_rows();
OperatorRows rnn_rows();
OperatorRows scatter_rows();
OperatorRows select_rows();
OperatorRows shape_rows();
OperatorRows slice_rows();
OperatorRows softmax_rows();
OperatorRows svdf_rows();
OperatorRows suppression_rows();
OperatorRows variable_rows();

/// Null where it cannot be imported. `custom` is the name of a CUSTOM.
const OperatorRow* find_operator_row(tflite::BuiltinOperator code, std::string_view custom);

}  // namespace tosavk
