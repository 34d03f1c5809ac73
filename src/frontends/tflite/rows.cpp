#include "frontends/tflite/rows.hpp"

namespace tosavk {

const OperatorRow* find_operator_row(tflite::BuiltinOperator code, std::string_view custom) {
    static constexpr OperatorRows (*families[])() = {
        activation_rows, arithmetic_rows, bits_rows,      call_rows,      complex_rows,   control_rows,
        conv3d_rows,     conv_rows,       convert_rows,   detection_rows, division_rows,  function_rows,
        gather_rows,     lstm_rows,       make_rows,      matmul_rows,    mediapipe_rows, normalization_rows,
        order_rows,      pool_rows,       rearrange_rows, reduce_rows,    resize_rows,    rnn_rows,
        scatter_rows,    select_rows,     shape_rows,     slice_rows,     softmax_rows,   suppression_rows,
        svdf_rows,       variable_rows,
    };
    for (const auto family : families) {
        for (const OperatorRow& row : family()) {
            if (row.code == code && (code != tflite::BuiltinOperator::CUSTOM || row.custom == custom)) return &row;
        }
    }
    return nullptr;
}

}  // namespace tosavk
