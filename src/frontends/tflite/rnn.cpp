// RNN, UNIDIRECTIONAL_SEQUENCE_RNN and BIDIRECTIONAL_SEQUENCE_RNN of floats.
#include "frontends/tflite/recurrent.hpp"

#include <fmt/format.h>

#include <utility>

namespace tosavk {

namespace {

using T = tflite::TensorType;

struct RnnOperands {
    std::size_t weights = 1, recurrent = 2, bias = 3, state = 4, aux_weights = no_operand;
};

struct RnnOptions {
    tflite::ActivationFunctionType activation = tflite::ActivationFunctionType::TANH;
    bool asymmetric = false;
};

template <class Table> RnnOptions read_options(const Table& table) {
    return {table.fused_activation_function(), table.asymmetric_quantize_inputs()};
}

void check_types(const Lowering& l) {
    if (l.in(0).type != T::FLOAT32 || l.out().type != T::FLOAT32)
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(l.in(0).type), name_of(l.out().type)));
}

Matrices one_matrix(Lowering& l, std::size_t k, std::int64_t rows, std::int64_t size) {
    return Matrices(l, std::span(&k, 1), rows, size);
}

/// activation(x W + y V + h R + b), [steps, batch, units] in the order of time.
ValueId run_rnn(Lowering& l, const RnnOperands& at, const RnnOptions& options, const Sequence& input,
                const Sequence& aux, bool backward) {
    const Shape matrix = l.shape(l.value(at.weights));
    if (matrix.size() != 2) l.fail(fmt::format("{} has rank {}, not 2", l.in(at.weights).title(), matrix.size()));
    const std::int64_t units = matrix[0], rows = input.steps * input.batch;
    const auto sum = [&](ValueId a, ValueId b) { return l.add(Op::add, {a, b}, DType::fp32); };
    const auto product = [&](std::size_t k, const Sequence& s) {
        return one_matrix(l, k, units, s.size).times(l, l.reshape(s.value, {rows, s.size}), options.asymmetric);
    };
    ValueId given = sum(product(at.weights, input), join_vectors(l, std::span(&at.bias, 1), units, DType::fp32));
    if (aux.value != no_id) given = sum(given, product(at.aux_weights, aux));
    std::vector<ValueId> states{read_state(l, at.state, {input.batch, units})};
    const ValueId outputs = run_steps(l, input, given, backward, states, [&](Lowering& r) -> Step {
        return [&, recurrent = one_matrix(r, at.recurrent, units, units)](const Given& x, std::vector<ValueId>& state) {
            const ValueId more = recurrent.times(r, state[0], options.asymmetric);
            state[0] = activate_any(r, r.add(Op::add, {x.take(r), more}, DType::fp32), options.activation);
        };
    });
    l.set_state(at.state, states[0]);
    return outputs;
}

void lower_rnn(Lowering& l) {
    const auto* table = l.options<tflite::RNNOptions>();
    if (!table) l.fail("its options are missing");
    check_types(l);
    Sequence input;
    input.value = l.value(0);
    const Shape shape = l.shape(input.value);
    if (shape.size() != 2) l.fail(fmt::format("its input has rank {}, not 2", shape.size()));
    input.steps = 1;
    input.batch = shape[0];
    input.size = shape[1];
    const ValueId outputs = run_rnn(l, {}, read_options(*table), input, {}, false);
    l.set(l.reshape(outputs, {l.shape(outputs)[1], l.shape(outputs)[2]}));
}

void lower_sequence_rnn(Lowering& l) {
    const auto* table = l.options<tflite::SequenceRNNOptions>();
    if (!table) l.fail("its options are missing");
    check_types(l);
    const Sequence input = read_sequence(l, 0, table->time_major());
    l.set(in_file_order(l, run_rnn(l, {}, read_options(*table), input, {}, false), table->time_major()));
}

/// Input; weights, recurrent weights, bias and state of both directions; a second input and its weights.
void lower_bidirectional_rnn(Lowering& l) {
    const auto* table = l.options<tflite::BidirectionalSequenceRNNOptions>();
    if (!table) l.fail("its options are missing");
    check_types(l);
    const RnnOperands forward{1, 2, 3, 4, 10}, backward{5, 6, 7, 8, 11};
    const Sequence input = read_sequence(l, 0, table->time_major());
    Sequence aux = read_beside(l, 9, input), backward_input = input;
    // Without weights of its own, it is the input of the backward direction; the kernel reads it in one order only.
    if (aux.value != no_id && !l.has_input(forward.aux_weights)) {
        const Sequence other = std::exchange(aux, {});
        if (table->time_major()) backward_input = other;
    }
    if (is_hybrid(l, 1) && table->time_major() && input.steps > 1)
        l.unsupported(
            "narrow weights in time-major order are not supported: TFLite's kernel goes through the sequence "
            "several times");
    const RnnOptions options = read_options(*table);
    const ValueId ahead = run_rnn(l, forward, options, input, aux, false),
                  back = run_rnn(l, backward, options, backward_input, aux, true);
    set_directions(l, ahead, back, table->merge_outputs(), table->time_major());
}

}  // namespace

OperatorRows rnn_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::RNN, lower_rnn},
        {B::UNIDIRECTIONAL_SEQUENCE_RNN, lower_sequence_rnn},
        {B::BIDIRECTIONAL_SEQUENCE_RNN, lower_bidirectional_rnn},
    };
    return rows;
}

}  // namespace tosavk
