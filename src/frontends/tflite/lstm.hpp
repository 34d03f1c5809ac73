// The LSTM operators: where the operands of a direction are, and one direction over a sequence.
#pragma once

#include "frontends/tflite/recurrent.hpp"

namespace tosavk {

/// The first one of each group in the order input, forget, cell, output gate (peepholes: without the cell's).
struct LstmOperands {
    std::size_t weights = 1, recurrent = 5, peepholes = 9, biases = 12, projection = 16, projection_bias = 17,
                output_state = 18, cell_state = 19, norms = 20, aux_weights = no_operand;
};

struct LstmOptions {
    tflite::ActivationFunctionType activation = tflite::ActivationFunctionType::TANH;
    float cell_clip = 0, projection_clip = 0;
    bool asymmetric = false;
};

/// What of the operands is there.
struct LstmForm {
    bool coupled = false;  ///< no input gate: it is 1 less the forget gate
    bool peepholes = false, projects = false, norms = false;
    std::int64_t cells = 0, outputs = 0;
    std::vector<std::size_t> gates;  ///< 0 to 3, those that are computed

    /// Operand numbers of the gates.
    std::vector<std::size_t> of(std::size_t first) const;
};
LstmForm lstm_form(Lowering& l, const LstmOperands& at);

/// The outputs of all steps, [steps, batch, n] in the order of time; states are read and written. `aux` may lack a
/// value.
ValueId run_lstm(Lowering& l, const LstmOperands& at, const LstmOptions& options, const Sequence& input,
                 const Sequence& aux, bool backward);
/// The same for int8 with a cell state of int16.
ValueId run_lstm_int8(Lowering& l, const LstmOperands& at, const LstmOptions& options, const Sequence& input);

/// What normalizes a gate of int16: vectors [1, cells], the scale of the weights, what a variance of 0 counts as.
struct GateNorm {
    ValueId weights = no_id, bias = no_id;
    QuantizedMultiplier scale;
    std::int64_t least_variance = 1;
};
/// i32 from and to, [batch, cells] with the range of int16.
ValueId normalize_gate(Lowering& l, ValueId x, const GateNorm& norm);

}  // namespace tosavk
