// Sequences, matrices side by side, states.
#include "frontends/tflite/recurrent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tosavk {

namespace {

// A step in the graph costs a shader of its own (its place is part of the text), a turn of a loop a wait of the host.
constexpr std::int64_t most_unrolled = 64, block_steps = 32;
// A turn copies all that its loop has read and written, so that long ones have loops as their turns.
constexpr std::int64_t segment_steps = 1024;

ValueId swap_leading(Lowering& l, ValueId x) {
    const Shape& shape = l.shape(x);
    if (shape[0] == 1 || shape[1] == 1) return l.reshape(x, {shape[1], shape[0], shape[2]});
    Attributes attrs;
    attrs.perms = {1, 0, 2};
    return l.add(Op::transpose, {x}, l.type(x), attrs);
}

/// [rows, n] from and to; as many rows a step as the states have.
ValueId unroll(Lowering& l, const Step& step, ValueId given, bool backward, std::vector<ValueId>& states) {
    const std::int64_t batch = l.shape(states[0])[0], rows = l.shape(given)[0];
    std::vector<ValueId> outputs;
    for (std::int64_t row = 0; row < rows; row += batch) {
        step({given, backward ? rows - batch - row : row, batch}, states);
        outputs.push_back(l.reshape(states[0], {1, batch, l.shape(states[0])[1]}));
    }
    if (backward) std::reverse(outputs.begin(), outputs.end());
    return l.reshape(l.concat(std::move(outputs), 0), {rows, l.shape(states[0])[1]});
}

ValueId run_rows(Lowering& l, ValueId given, bool backward, std::vector<ValueId>& states, const MakeStep& make);

/// The same, `chunk` steps a turn, of which these are a multiple.
ValueId loop(Lowering& l, ValueId given, std::int64_t chunk, bool backward, std::vector<ValueId>& states,
             const MakeStep& make) {
    enum : std::size_t { place, all_given, all_outputs, first_state };
    const Shape rows_and_size = l.shape(states[0]);
    const std::int64_t rows = l.shape(given)[0], turn_rows = chunk * rows_and_size[0], size = rows_and_size[1];
    const DType type = l.type(states[0]);
    const auto number = [](Lowering& r, std::int64_t v) { return r.scalar(DType::i32, static_cast<double>(v)); };
    const auto dims = [](Lowering& r, std::int64_t a, std::int64_t b) {
        return r.constant_ints("dims", DType::shape, {2}, std::array{a, b});
    };
    const ValueId zeros = l.add(Op::tile, {l.splat(states[0], type, 0), dims(l, rows, size)}, type);
    std::vector<ValueId> list{number(l, backward ? rows - turn_rows : 0), given, zeros};
    list.insert(list.end(), states.begin(), states.end());
    const auto another = [&](Lowering& r, const std::vector<ValueId>& now) -> std::vector<ValueId> {
        if (backward) return {r.add(Op::greater_equal, {now[place], number(r, 0)}, DType::boolean)};
        return {r.add(Op::greater, {number(r, rows), now[place]}, DType::boolean)};
    };
    const auto turn = [&](Lowering& r, std::vector<ValueId> now) {
        const ValueId start = r.concat({now[place], number(r, 0)}, 0);
        const ValueId some = r.add(Op::dynamic_slice, {now[all_given], start, dims(r, turn_rows, l.shape(given)[1])},
                                   r.type(now[all_given]));
        std::vector<ValueId> states_now(now.begin() + first_state, now.end());
        const ValueId outputs = run_rows(r, some, backward, states_now, make);
        now[all_outputs] = r.add(Op::dynamic_update_slice, {now[all_outputs], outputs, start}, type);
        now[place] = r.add(Op::add, {now[place], number(r, backward ? -turn_rows : turn_rows)}, DType::i32);
        std::copy(states_now.begin(), states_now.end(), now.begin() + first_state);
        return now;
    };
    const std::vector<ValueId> done = l.own_loop(std::move(list), another, turn);
    states.assign(done.begin() + first_state, done.end());
    return done[all_outputs];
}

ValueId run_rows(Lowering& l, ValueId given, bool backward, std::vector<ValueId>& states, const MakeStep& make) {
    const std::int64_t batch = l.shape(states[0])[0], steps = l.shape(given)[0] / batch;
    if (steps <= most_unrolled) return unroll(l, make(l), given, backward, states);
    const std::int64_t chunk = steps < 2 * segment_steps ? block_steps : segment_steps;
    // The steps that fill no turn are the last ones to be taken.
    const std::int64_t rest = steps % chunk * batch, whole = steps * batch - rest;
    const ValueId many = l.slice_axis(given, 0, backward ? rest : 0, whole);
    const ValueId first = loop(l, many, chunk, backward, states, make);
    if (rest == 0) return first;
    const ValueId few = l.slice_axis(given, 0, backward ? 0 : whole, rest);
    const ValueId last = run_rows(l, few, backward, states, make);
    return backward ? l.concat({last, first}, 0) : l.concat({first, last}, 0);
}

}  // namespace

void check_shape(Lowering& l, std::size_t k, const Shape& expected) {
    const ValueId id = l.value(k);
    if (l.shape(id) != expected)
        l.fail(fmt::format("{} has shape {}, but the operator needs {}", l.in(k).title(), to_string(l.shape(id)),
                           to_string(expected)));
}

ValueId read_state(Lowering& l, std::size_t k, const Shape& expected) {
    if (!l.in(k).is_variable) l.fail(fmt::format("{} must be a variable", l.in(k).title()));
    check_shape(l, k, expected);
    return l.value(k);
}

Sequence read_sequence(Lowering& l, std::size_t k, bool time_major) {
    Sequence s;
    s.value = l.value(k);
    s.time_major = time_major;
    const Shape shape = l.shape(s.value);
    if (shape.size() != 3) l.fail(fmt::format("{} has rank {}, not 3", l.in(k).title(), shape.size()));
    if (!time_major) s.value = swap_leading(l, s.value);
    s.steps = shape[time_major ? 0 : 1];
    s.batch = shape[time_major ? 1 : 0];
    s.size = shape[2];
    return s;
}

Sequence read_beside(Lowering& l, std::size_t k, const Sequence& first) {
    if (!l.has_input(k)) return {};
    Sequence s = read_sequence(l, k, first.time_major);
    if (s.steps != first.steps || s.batch != first.batch) l.fail("its inputs have different lengths");
    return s;
}

ValueId in_file_order(Lowering& l, ValueId sequence, bool time_major) {
    return time_major ? sequence : swap_leading(l, sequence);
}

ValueId run_steps(Lowering& l, const Sequence& sequence, ValueId given, bool backward, std::vector<ValueId>& states,
                  const MakeStep& make) {
    const std::int64_t size = l.shape(states[0])[1];
    return l.reshape(run_rows(l, given, backward, states, make), {sequence.steps, sequence.batch, size});
}

void set_directions(Lowering& l, ValueId ahead, ValueId back, bool merge, bool time_major) {
    if (merge) return l.set(in_file_order(l, l.concat({ahead, back}, 2), time_major));
    l.set(in_file_order(l, ahead, time_major), 0);
    l.set(in_file_order(l, back, time_major), 1);
}

ValueId join_constants(Lowering& l, const std::vector<ValueId>& parts, const char* name) {
    if (parts.size() == 1) return parts[0];
    const bool known =
        std::all_of(parts.begin(), parts.end(), [&](ValueId id) { return l.graph_value(id).is_constant(); });
    if (!known) return l.concat(parts, 0);
    Shape shape = l.shape(parts[0]);
    shape[0] = 0;
    Bytes bytes;
    for (const ValueId id : parts) {
        const Value& v = l.graph_value(id);
        shape[0] += v.shape[0];
        bytes.insert(bytes.end(), v.data->begin(), v.data->end());
    }
    return l.constant(name, l.type(parts[0]), shape, std::move(bytes));
}

Matrices::Matrices(Lowering& l, std::span<const std::size_t> operands, std::int64_t rows, std::int64_t size)
    : hybrid_(l.in(0).type == tflite::TensorType::FLOAT32 && is_hybrid(l, operands[0])) {
    std::vector<ValueId> parts;
    for (const std::size_t k : operands) {
        check_shape(l, k, {rows, size});
        if (l.in(k).type != l.in(operands[0]).type)
            l.fail(fmt::format("{} and {} have different types", l.in(k).title(), l.in(operands[0]).title()));
        if (l.in(0).type == tflite::TensorType::FLOAT32 && !hybrid_) {
            parts.push_back(float_weights(l, k));
            continue;
        }
        HybridWeights one = hybrid_weights(l, k, 0);
        if (one.scales.size() != 1) l.unsupported(fmt::format("{} is quantized per channel", l.in(k).title()));
        parts.push_back(one.values);
        weights_.scales.insert(weights_.scales.end(), static_cast<std::size_t>(rows), one.scales[0]);
        weights_.sums.insert(weights_.sums.end(), one.sums.begin(), one.sums.end());
    }
    // In the shape that products take, so that all of them read one constant.
    const ValueId joined = join_constants(l, parts, "weights");
    values_ = weights_.values = l.reshape(joined, {l.shape(joined)[0], 1, 1, size});
}

ValueId Matrices::times(Lowering& l, ValueId x, bool asymmetric) const {
    if (!hybrid_) return matrix_product(l, x, values_, l.scalar(DType::fp32, 0));
    return hybrid_product(l, round_rows(l, x, asymmetric), weights_);
}

ValueId join_vectors(Lowering& l, std::span<const std::size_t> operands, std::int64_t size, DType type) {
    std::vector<ValueId> parts;
    for (const std::size_t k : operands) {
        check_shape(l, k, {size});
        parts.push_back(type == DType::fp32 ? l.float_value(k) : l.value(k));
        if (l.type(parts.back()) != type)
            l.unsupported(fmt::format("{} of type {} is not supported", l.in(k).title(), name_of(l.in(k).type)));
    }
    return l.reshape(join_constants(l, parts, "vectors"), {1, size * static_cast<std::int64_t>(operands.size())});
}

}  // namespace tosavk
