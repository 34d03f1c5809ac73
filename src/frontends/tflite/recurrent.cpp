// Sequences, matrices side by side, states.
#include "frontends/tflite/recurrent.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

// Longer ones would make graphs of a hundred thousand nodes.
constexpr std::int64_t max_steps = 1024;

ValueId swap_leading(Lowering& l, ValueId x) {
    const Shape& shape = l.shape(x);
    if (shape[0] == 1 || shape[1] == 1) return l.reshape(x, {shape[1], shape[0], shape[2]});
    Attributes attrs;
    attrs.perms = {1, 0, 2};
    return l.add(Op::transpose, {x}, l.type(x), attrs);
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
    if (s.steps > max_steps)
        l.unsupported(fmt::format("a sequence of {} steps is too long, {} are supported", s.steps, max_steps));
    return s;
}

ValueId join_steps(Lowering& l, const std::vector<ValueId>& steps, bool time_major) {
    std::vector<ValueId> parts;
    for (const ValueId id : steps) parts.push_back(l.reshape(id, {1, l.shape(id)[0], l.shape(id)[1]}));
    const ValueId joined = l.concat(std::move(parts), 0);
    return time_major ? joined : swap_leading(l, joined);
}

ValueId take_step(Lowering& l, ValueId all, const Sequence& sequence, std::int64_t step) {
    return l.slice_axis(all, 0, step * sequence.batch, sequence.batch);
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
            parts.push_back(l.float_value(k));
            continue;
        }
        HybridWeights one = hybrid_weights(l, k, 0);
        if (one.scales.size() != 1) l.unsupported(fmt::format("{} is quantized per channel", l.in(k).title()));
        parts.push_back(one.values);
        weights_.scales.insert(weights_.scales.end(), static_cast<std::size_t>(rows), one.scales[0]);
        weights_.sums.insert(weights_.sums.end(), one.sums.begin(), one.sums.end());
    }
    values_ = weights_.values = join_constants(l, parts, "weights");
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
