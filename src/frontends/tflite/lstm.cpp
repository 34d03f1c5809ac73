// LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM and BIDIRECTIONAL_SEQUENCE_LSTM of floats. What inputs add to the gates is one
// product for the whole sequence; the steps follow each other in the graph, or in the turns of a loop.
#include "frontends/tflite/lstm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tosavk {

std::vector<std::size_t> LstmForm::of(std::size_t first) const {
    std::vector<std::size_t> operands;
    for (const std::size_t gate : gates) operands.push_back(first + gate);
    return operands;
}

LstmForm lstm_form(Lowering& l, const LstmOperands& at) {
    LstmForm form;
    form.coupled = !l.has_input(at.weights);
    form.peepholes = l.has_input(at.peepholes + 2);
    form.projects = l.has_input(at.projection);
    form.norms = at.norms != no_operand && l.has_input(at.norms + 1);
    const Shape cells = l.shape(l.value(at.weights + 3)), recurrent = l.shape(l.value(at.recurrent + 3));
    if (cells.size() != 2 || recurrent.size() != 2)
        l.unsupported("recurrent weights that are no matrices are not supported");
    form.cells = cells[0];
    form.outputs = recurrent[1];
    if (!form.projects && form.cells != form.outputs)
        l.fail(fmt::format("it has {} cells and {} outputs, but no projection", form.cells, form.outputs));
    if (!form.coupled) form.gates.push_back(0);
    form.gates.insert(form.gates.end(), {1, 2, 3});
    return form;
}

namespace {

ValueId clip(Lowering& l, ValueId x, float limit) {
    return limit > 0 ? l.clamp(x, -static_cast<double>(limit), static_cast<double>(limit)) : x;
}

ValueId sum(Lowering& l, ValueId a, ValueId b) { return l.add(Op::add, {a, b}, l.type(a)); }

/// (x - mean) / sqrt(variance + 1e-8), row by row.
ValueId normalize(Lowering& l, ValueId x) {
    const ValueId count = l.splat(x, DType::fp32, static_cast<double>(l.shape(x)[1]));
    Attributes along;
    along.axis = 1;
    const auto mean = [&](ValueId v) {
        return l.add(Op::divide, {l.add(Op::reduce_sum, {v}, DType::fp32, along), count}, DType::fp32);
    };
    const ValueId difference = l.add(Op::sub, {x, mean(x)}, DType::fp32);
    const ValueId variance = mean(l.mul(difference, difference, DType::fp32));
    const ValueId guarded = sum(l, variance, l.splat(x, DType::fp32, static_cast<double>(1e-8f)));
    return l.mul(difference, l.add(Op::rsqrt, {guarded}, DType::fp32), DType::fp32);
}

ValueId one_vector(Lowering& l, std::size_t operand, std::int64_t size) {
    return join_vectors(l, std::span(&operand, 1), size, DType::fp32);
}

/// What the inputs of all steps add to the gates.
ValueId given_to_gates(Lowering& l, const LstmOperands& at, const LstmOptions& options, const LstmForm& form,
                       const Sequence& input, const Sequence& aux) {
    const auto product = [&](const Sequence& s, std::size_t first) {
        const ValueId x = l.reshape(s.value, {s.steps * s.batch, s.size});
        return Matrices(l, form.of(first), form.cells, s.size).times(l, x, options.asymmetric);
    };
    ValueId given = product(input, at.weights);
    if (aux.value != no_id) given = sum(l, given, product(aux, at.aux_weights));
    const ValueId biases = join_vectors(l, form.of(at.biases), form.cells, DType::fp32);
    return form.norms ? given : sum(l, given, biases);
}

/// A step, and the values that all steps share.
class FloatLstm {
public:
    FloatLstm(Lowering& l, const LstmOperands& at, const LstmOptions& options)
        : l_(l), options_(options), form_(lstm_form(l, at)) {
        recurrent_.emplace_back(l, form_.of(at.recurrent), form_.cells, form_.outputs);
        if (form_.projects) {
            const std::size_t operand = at.projection;
            projection_.emplace_back(l, std::span(&operand, 1), form_.outputs, form_.cells);
            if (l.has_input(at.projection_bias)) projection_bias_ = one_vector(l, at.projection_bias, form_.outputs);
        }
        for (const std::size_t which : form_.gates) {
            if (form_.peepholes && which != 2)
                peepholes_[which] = one_vector(l, at.peepholes + (which == 3 ? 2 : which), form_.cells);
            if (!form_.norms) continue;
            norms_[which] = one_vector(l, at.norms + which, form_.cells);
            biases_[which] = one_vector(l, at.biases + which, form_.cells);
        }
    }

    void step(const Given& given, ValueId& output, ValueId& cell) const {
        const ValueId recurrent = recurrent_[0].times(l_, output, options_.asymmetric);
        const ValueId all = sum(l_, given.take(l_), recurrent);
        const ValueId forget = gate(all, 1, cell), candidate = gate(all, 2, no_id);
        const ValueId in = form_.coupled ? l_.add(Op::sub, {l_.splat(forget, DType::fp32, 1), forget}, DType::fp32)
                                         : gate(all, 0, cell);
        cell = sum(l_, l_.mul(forget, cell, DType::fp32), l_.mul(candidate, in, DType::fp32));
        cell = clip(l_, cell, options_.cell_clip);
        output = l_.mul(gate(all, 3, cell), activate_any(l_, cell, options_.activation), DType::fp32);
        if (!form_.projects) return;
        output = projection_[0].times(l_, output, options_.asymmetric);
        if (projection_bias_ != no_id) output = sum(l_, output, projection_bias_);
        output = clip(l_, output, options_.projection_clip);
    }

private:
    /// Of the cell's values where the gate has a peephole.
    ValueId gate(ValueId all, std::size_t which, ValueId cells) const {
        const auto place = std::find(form_.gates.begin(), form_.gates.end(), which) - form_.gates.begin();
        ValueId x = l_.slice_axis(all, 1, place * form_.cells, form_.cells);
        if (peepholes_[which] != no_id) x = sum(l_, x, l_.mul(cells, peepholes_[which], DType::fp32));
        if (form_.norms) x = sum(l_, l_.mul(normalize(l_, x), norms_[which], DType::fp32), biases_[which]);
        return which == 2 ? activate_any(l_, x, options_.activation) : l_.add(Op::sigmoid, {x}, DType::fp32);
    }

    Lowering& l_;
    LstmOptions options_;
    LstmForm form_;
    ValueId projection_bias_ = no_id;
    std::array<ValueId, 4> peepholes_{no_id, no_id, no_id, no_id}, norms_ = peepholes_, biases_ = peepholes_;
    std::vector<Matrices> recurrent_, projection_;
};

}  // namespace

ValueId run_lstm(Lowering& l, const LstmOperands& at, const LstmOptions& options, const Sequence& input,
                 const Sequence& aux, bool backward) {
    // TFLite's kernel then multiplies the output gate by what its scratch memory happens to hold.
    if (options.activation == tflite::ActivationFunctionType::NONE)
        l.unsupported("an LSTM without activation has no defined result in TFLite");
    const LstmForm form = lstm_form(l, at);
    const ValueId given = given_to_gates(l, at, options, form, input, aux);
    std::vector<ValueId> states{read_state(l, at.output_state, {input.batch, form.outputs}),
                                read_state(l, at.cell_state, {input.batch, form.cells})};
    const ValueId outputs = run_steps(l, input, given, backward, states, [&](Lowering& r) -> Step {
        return [lstm = FloatLstm(r, at, options)](const Given& x, std::vector<ValueId>& now) {
            lstm.step(x, now[0], now[1]);
        };
    });
    l.set_state(at.output_state, states[0]);
    l.set_state(at.cell_state, states[1]);
    return outputs;
}

namespace {

using T = tflite::TensorType;

template <class Table> LstmOptions read_options(const Table& table) {
    return {table.fused_activation_function(), table.cell_clip(), table.proj_clip(),
            table.asymmetric_quantize_inputs()};
}

ValueId run_either(Lowering& l, const LstmOptions& options, const Sequence& input) {
    const LstmOperands at;
    const T type = l.in(0).type;
    if (type == T::INT8 && l.out().type == T::INT8) return run_lstm_int8(l, at, options, input);
    if (type != T::FLOAT32 || l.out().type != T::FLOAT32)
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(type), name_of(l.out().type)));
    return run_lstm(l, at, options, input, {}, false);
}

void lower_sequence_lstm(Lowering& l) {
    const auto* options = l.options<tflite::UnidirectionalSequenceLSTMOptions>();
    if (!options) l.fail("its options are missing");
    if (options->diagonal_recurrent_tensors()) l.unsupported("diagonal recurrent weights are not supported");
    const Sequence input = read_sequence(l, 0, options->time_major());
    l.set(in_file_order(l, run_either(l, read_options(*options), input), options->time_major()));
}

/// x, previous output, weights, bias, previous cell -> output, cell, and two of the kernel's own.
void lower_basic_lstm(Lowering& l, tflite::ActivationFunctionType activation) {
    if (activation != tflite::ActivationFunctionType::TANH)
        l.unsupported("the basic kernel with another activation than TANH is not supported");
    for (const std::size_t k : {0u, 1u, 2u, 3u, 4u}) {
        if (l.in(k).type != T::FLOAT32)
            l.unsupported(fmt::format("the basic kernel of type {} is not supported", name_of(l.in(k).type)));
    }
    const ValueId x = l.value(0), before = l.value(1), cell = l.value(4);
    const Shape input = l.shape(x), shape = l.shape(before);
    if (input.size() != 2 || shape.size() != 2) l.fail("its input and its output are no matrices");
    const std::int64_t cells = shape[1];
    check_shape(l, 2, {4 * cells, input[1] + cells});
    check_shape(l, 3, {4 * cells});
    check_shape(l, 1, {input[0], cells});
    check_shape(l, 4, {input[0], cells});
    const ValueId joined = l.concat({x, before}, 1);
    const ValueId all = matrix_product(l, joined, l.value(2), l.value(3));
    const auto gate = [&](std::int64_t k) { return l.slice_axis(all, 1, k * cells, cells); };
    const auto sigmoid = [&](ValueId v) { return l.add(Op::sigmoid, {v}, DType::fp32); };
    const auto tanh = [&](ValueId v) { return l.add(Op::tanh, {v}, DType::fp32); };
    const ValueId added = l.mul(sigmoid(gate(0)), tanh(gate(1)), DType::fp32);
    const ValueId now = sum(l, added, l.mul(sigmoid(gate(2)), cell, DType::fp32));
    const ValueId output = l.mul(sigmoid(gate(3)), tanh(now), DType::fp32);
    // The kernel keeps both for the next run where these are variables.
    if (l.in(1).is_variable) l.set_state(1, output);
    if (l.in(4).is_variable) l.set_state(4, now);
    l.set(output, 0);
    if (l.output_count() > 1) l.set(now, 1);
    if (l.output_count() > 2) l.set(joined, 2);
    if (l.output_count() > 3) l.set(all, 3);
}

void lower_lstm(Lowering& l) {
    const auto* options = l.options<tflite::LSTMOptions>();
    if (!options) l.fail("its options are missing");
    if (options->kernel_type() == tflite::LSTMKernelType::BASIC)
        return lower_basic_lstm(l, options->fused_activation_function());
    Sequence input;
    input.value = l.value(0);
    const Shape shape = l.shape(input.value);
    if (shape.size() != 2) l.fail(fmt::format("its input has rank {}, not 2", shape.size()));
    input.steps = 1;
    input.batch = shape[0];
    input.size = shape[1];
    const ValueId outputs = run_either(l, read_options(*options), input);
    l.set(l.reshape(outputs, {l.shape(outputs)[1], l.shape(outputs)[2]}));
}

void lower_bidirectional_lstm(Lowering& l) {
    const auto* table = l.options<tflite::BidirectionalSequenceLSTMOptions>();
    if (!table) l.fail("its options are missing");
    if (l.in(0).type != T::FLOAT32 || l.out().type != T::FLOAT32)
        l.unsupported(fmt::format("type {} is not supported", name_of(l.in(0).type)));
    constexpr std::size_t aux_input = 39;
    LstmOperands forward, backward{18, 22, 26, 29, 33, 34, 37, 38, no_operand, 44};
    forward.output_state = 35;
    forward.cell_state = 36;
    forward.norms = no_operand;
    forward.aux_weights = 40;
    const Sequence input = read_sequence(l, 0, table->time_major());
    Sequence aux = read_beside(l, aux_input, input), backward_input = input;
    // Without weights of its own, what is there beside the input is the input of the backward direction.
    if (aux.value != no_id && !l.has_input(forward.aux_weights + 1)) backward_input = std::exchange(aux, {});
    if (table->merge_outputs() && !table->time_major() && input.batch > 1)
        l.unsupported(
            "merged outputs of a batch that is the first dimension are not supported: TFLite's kernel writes "
            "them over each other");
    const LstmOptions options = read_options(*table);
    const ValueId ahead = run_lstm(l, forward, options, input, aux, false),
                  back = run_lstm(l, backward, options, backward_input, aux, true);
    set_directions(l, ahead, back, table->merge_outputs(), table->time_major());
}

}  // namespace

OperatorRows lstm_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::LSTM, lower_lstm},
        {B::UNIDIRECTIONAL_SEQUENCE_LSTM, lower_sequence_lstm},
        {B::BIDIRECTIONAL_SEQUENCE_LSTM, lower_bidirectional_lstm},
    };
    return rows;
}

}  // namespace tosavk
