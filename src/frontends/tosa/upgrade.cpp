// The rules by which operators of 0.30 become operators of 1.0. What 1.0 made an operand was an attribute, broadcasting
// went to any larger output, convolutions of fp16 and bf16 could give fp32, and shifts had one range for all types.
#include "frontends/tosa/upgrade.hpp"

#include "graph/host_tensor.hpp"
#include "ops/builder.hpp"
#include "ops/op.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tosavk::v0_30 {

Upgrade::Upgrade(GraphBuilder& builder, Op op, std::span<const Operand> inputs, const Attributes& attributes,
                 std::span<const Result> results, const std::string& node_name)
    : Emitter(&builder),
      builder_(builder),
      op_(op),
      inputs_(inputs),
      a_(attributes),
      results_(results),
      name_(node_name) {
    scope(node_name, results.empty() ? std::string() : results.front().name, /*numbered=*/false);
}

// ---- help ---------------------------------------------------------------------------------------------------------

std::string Upgrade::title() const { return fmt::format("{} '{}'", op_name(op_), name_); }

void Upgrade::need_inputs(std::size_t least, std::size_t most) const {
    const std::size_t count = inputs_.size();
    if (count >= least && count <= most) return;
    fail(least == most ? fmt::format("needs {} inputs, but has {}", least, count)
                       : fmt::format("needs {} to {} inputs, but has {}", least, most, count));
}

void Upgrade::need_values(const char* what, std::size_t count, std::size_t wanted) const {
    if (count != wanted) fail(fmt::format("{} has {} values, but needs {}", what, count, wanted));
}

void Upgrade::need_rank(std::size_t k, const char* operand, std::size_t rank) const {
    const Shape& shape = in(k).shape;
    if (shape.size() == rank) return;
    fail(fmt::format("{} '{}' has shape {}, but needs rank {}", operand, in(k).name, to_string(shape), rank));
}

Upgrade::Ids Upgrade::ids() const {
    Ids all;
    for (const Operand& operand : inputs_) all.push_back(operand.id);
    return all;
}

Upgrade::Ids Upgrade::append(Op op, Ids inputs, tosavk::Attributes attrs, std::span<const DType> types,
                             const std::string& name) {
    try {
        return Emitter::append(op, std::move(inputs), std::move(attrs), types, name);
    } catch (const Error& error) {
        if (op == op_) throw;
        throw Error(error.code(), fmt::format("{} '{}' of TOSA 0.30, upgraded: {}", op_name(op_), name_, error.what()),
                    name_, error.operand());
    }
}

ValueId Upgrade::last(Op op, Ids inputs, tosavk::Attributes attrs, std::size_t k) {
    const ValueId id =
        append(op, std::move(inputs), std::move(attrs), std::span(&results_[k].type.type, 1), name_).at(0);
    builder_.value(id).name = results_[k].name;
    return id;
}

ValueId Upgrade::widened(ValueId id, DType to, const char* suffix) {
    return is_float(type(id)) && to == DType::fp32 ? cast(id, to, suffix) : id;
}

DType Upgrade::accumulator() const {
    const DType type = out().type.type;
    if (!is_float(type)) return type;
    // The rows of 0.30 accumulate in the type of the output.
    return a_.acc_type.value_or(type == DType::fp16 ? DType::fp16 : DType::fp32);
}

// ---- elementwise --------------------------------------------------------------------------------------------------

// Where the output is larger than the broadcast of the inputs, the first one is repeated; `first` has its shape.
ValueId Upgrade::tiled(ValueId first, std::size_t tensors) {
    if (tensors < 2 || !out().shape) return first;
    const Shape& wanted = *out().shape;
    const Shape from = in(0).shape;
    Shape common = from, both;
    for (std::size_t k = 1; k < tensors; ++k) {
        if (!broadcast_shape(common, in(k).shape, common)) return first;
    }
    if (common == wanted || !broadcast_shape(common, wanted, both) || both != wanted) return first;
    Shape multiples;
    for (std::size_t d = 0; d < from.size(); ++d) multiples.push_back(from[d] == 1 ? wanted[d] : 1);
    return step(Op::tile, {first, builder_.shape(multiples)}, builder_.value(first).type, "tiled");
}

Upgrade::Ids Upgrade::elementwise() {
    Ids operands = ids();
    if (operands.empty()) fail("has no input");
    tosavk::Attributes attrs;
    if (op_ == Op::arithmetic_right_shift) attrs.round = a_.round;
    if (op_ == Op::mul) {
        need_inputs(2, 3);
        if (operands.size() == 2) {
            if (a_.shift < 0 || a_.shift > 63) fail(fmt::format("shift {} is not in 0..63", a_.shift));
            if (a_.shift > 0 && in(0).type != DType::i32) {
                fail(fmt::format("shift is {}, but must be 0 for type {}", a_.shift, name_of(in(0).type)));
            }
            operands.push_back(builder_.scalar(DType::i8, a_.shift));
        }
    }
    operands[0] = tiled(operands[0], op_ == Op::mul ? 2 : operands.size());
    if (op_ == Op::negate) {
        need_inputs(1);
        operands.push_back(zero_point(in(0).type, a_.input1_zp, false, "input1_zp"));
        operands.push_back(zero_point(out().type.type, a_.output_zp, false, "output_zp"));
    }
    return done(op_, std::move(operands), attrs);
}

// Narrow shifts could go up to 31; where a shift may reach the width, they are done in 32 bits.
Upgrade::Ids Upgrade::narrow_shift() {
    need_inputs(2);
    const DType type = in(0).type;
    const std::int64_t width = type == DType::i8 ? 8 : 16;
    if (in(1).is_constant()) {
        const auto shifts = decode_ints(in(1).type, *in(1).data);
        if (std::all_of(shifts.begin(), shifts.end(), [&](std::int64_t s) { return s < width; })) return elementwise();
    }
    ValueId left = step(Op::cast, {id(0)}, DType::i32, "wide");
    const ValueId right = step(Op::cast, {id(1)}, DType::i32, "wide_shift");
    if (op_ == Op::logical_right_shift) {
        const std::int64_t mask = (std::int64_t{1} << width) - 1;
        const ValueId bits = constant_ints("mask", DType::i32, Shape(in(0).shape.size(), 1), std::span(&mask, 1));
        left = step(Op::bitwise_and, {left, bits}, DType::i32, "unsigned");
    }
    left = tiled(left, 2);
    return done(Op::cast, {step(op_, {left, right}, DType::i32, "shifted")});
}

Upgrade::Ids Upgrade::clamp() {
    need_inputs(1);
    tosavk::Attributes attrs;
    attrs.min_val = a_.min_val;
    attrs.max_val = a_.max_val;
    if (const DType type = in(0).type; is_integer(type)) {
        const auto lo = static_cast<double>(min_of(type)), hi = static_cast<double>(max_of(type));
        if (a_.min_val < lo && a_.max_val >= lo) attrs.min_val = lo;
        if (a_.max_val > hi && a_.min_val <= hi) attrs.max_val = hi;
    }
    return done(op_, ids(), attrs);
}

Upgrade::Ids Upgrade::table() {
    need_inputs(1, 2);
    if (inputs_.size() == 2) return done(op_, ids());
    const DType type = in(0).type;
    return done(op_, {id(0), constant_ints("table", type, {static_cast<std::int64_t>(a_.table.size())}, a_.table)});
}

Upgrade::Ids Upgrade::rescale() {
    need_inputs(1, 3);
    if (!a_.scale32 && a_.double_round) fail("double_round needs scale32");
    if (inputs_.size() != 3) need_inputs(1);
    Scaling s;
    s.scale32 = a_.scale32;
    s.per_channel = a_.per_channel;
    s.rounding = a_.double_round ? Rounding::double_round : Rounding::single_round;
    s.multiplier = a_.multiplier;
    s.shift = a_.rescale_shift;
    s.input_zp = a_.input_zp;
    s.output_zp = a_.output_zp;
    s.input_unsigned = inputs_[0].is_unsigned;
    s.output_unsigned = out().type.is_unsigned;
    // Later files may compute the factors.
    const bool computed = inputs_.size() == 3;
    const ValueId y = computed ? Emitter::rescale(id(0), out().type.type, s, id(1), id(2))
                               : Emitter::rescale(id(0), out().type.type, s);
    builder_.value(y).name = out().name;
    return {y};
}

// ---- sums of products ---------------------------------------------------------------------------------------------

Upgrade::Ids Upgrade::conv_inputs(ValueId input, ValueId weight) {
    const DType in_type = builder_.value(input).type, weight_type = builder_.value(weight).type;
    return {input, weight, id(2), zero_point(in_type, a_.input_zp, false, "input_zp"),
            zero_point(weight_type, a_.weight_zp, false, "weight_zp")};
}

Upgrade::Ids Upgrade::conv() {
    need_inputs(3);
    tosavk::Attributes attrs;
    attrs.pad = a_.pad;
    attrs.stride = a_.stride;
    attrs.dilation = a_.dilation;
    attrs.acc_type = accumulator();
    attrs.local_bound = a_.local_bound;
    const ValueId input = widened(id(0), out().type.type, "input"), weight = widened(id(1), out().type.type, "weight");
    return done(op_, conv_inputs(input, weight), attrs);
}

// 1.0 adds out_pad, and takes away less than the kernel's size: input that reaches nothing of the output goes first.
Upgrade::Ids Upgrade::transpose_conv() {
    need_inputs(3);
    tosavk::Attributes attrs;
    attrs.pad = a_.out_pad;
    attrs.stride = a_.stride;
    attrs.acc_type = accumulator();
    attrs.local_bound = a_.local_bound;
    need_values("out_pad", a_.out_pad.size(), 4);
    need_values("stride", a_.stride.size(), 2);
    need_rank(0, "input", 4);
    need_rank(1, "weight", 4);
    const DType type = out().type.type;
    const Shape in_shape = in(0).shape, kernel = in(1).shape;
    Shape start(4, 0), size = in_shape;
    std::int64_t whole[2] = {};
    for (std::size_t i = 0; i < 2 && !a_.out_pad_adds; ++i) {
        const std::int64_t before = a_.out_pad[2 * i], after = a_.out_pad[2 * i + 1], stride = a_.stride[i];
        if (before < 0 || after < 0) fail(fmt::format("out_pad {} is negative", std::min(before, after)));
        if (stride < 1) fail(fmt::format("stride {} is below 1", stride));
        whole[i] = (in_shape[1 + i] - 1) * stride + kernel[1 + i] - before - after;
        if (whole[i] < 1) fail(fmt::format("out_pad {}, {} leaves nothing of the output", before, after));
        const auto unseen = [&](std::int64_t pad) {
            return std::max<std::int64_t>((pad - kernel[1 + i] + stride) / stride, 0);
        };
        start[1 + i] = unseen(before);
        size[1 + i] -= unseen(before) + unseen(after);
        attrs.pad[2 * i] = static_cast<std::int32_t>(unseen(before) * stride - before);
        attrs.pad[2 * i + 1] = static_cast<std::int32_t>(unseen(after) * stride - after);
    }
    if (size[1] < 1 || size[2] < 1) {
        // The output lies in the gaps of a stride beyond the kernel: it is the bias everywhere.
        const Shape one{in_shape[0], 1, 1, 1}, filter{kernel[0], 1, 1, 1};
        const auto empty = [&](const char* suffix, DType of, const Shape& shape) {
            const auto bytes = static_cast<std::size_t>(element_count(shape)) * size_of(of);
            return builder_.constant(fmt::format("{}/{}", out().name, suffix), of, shape, Bytes(bytes));
        };
        const bool widens = in(0).type != DType::fp32 && is_float(in(0).type) && type == DType::fp32;
        const DType x = widens ? type : in(0).type, w = widens ? type : in(1).type;
        attrs.pad = {0, static_cast<std::int32_t>(whole[0] - 1), 0, static_cast<std::int32_t>(whole[1] - 1)};
        attrs.stride = {1, 1};
        return done(op_,
                    {empty("nothing", x, one), empty("no_weight", w, filter), id(2), builder_.scalar(x, 0),
                     builder_.scalar(w, 0)},
                    attrs);
    }
    const ValueId seen = slice(id(0), start, size, "seen");
    return done(op_, conv_inputs(widened(seen, type, "input"), widened(id(1), type, "weight")), attrs);
}

// FULLY_CONNECTED is a CONV2D over images of one pixel.
Upgrade::Ids Upgrade::dense() {
    need_inputs(3);
    need_rank(0, "input", 2);
    need_rank(1, "weight", 2);
    const Shape x = in(0).shape, w = in(1).shape;
    if (x[1] != w[1]) fail(fmt::format("input has {} channels, but weight has {}", x[1], w[1]));
    if (in(2).shape.size() != 1 || (in(2).shape[0] != w[0] && in(2).shape[0] != 1)) {
        fail(fmt::format("bias has shape {}, but needs {} elements", to_string(in(2).shape), w[0]));
    }
    tosavk::Attributes attrs;
    attrs.pad = {0, 0, 0, 0};
    attrs.stride = attrs.dilation = {1, 1};
    attrs.acc_type = accumulator();
    const DType type = out().type.type;
    const ValueId input = widened(reshape(id(0), {x[0], 1, 1, x[1]}, "image"), type, "input");
    const ValueId weight = widened(reshape(id(1), {w[0], 1, 1, w[1]}, "kernel"), type, "weight");
    const ValueId image = add(Op::conv2d, conv_inputs(input, weight), type, attrs, "conv");
    return done(Op::reshape, {image, builder_.shape(Shape{x[0], w[0]})});
}

Upgrade::Ids Upgrade::matmul() {
    need_inputs(2);
    ValueId left = id(0), right = id(1);
    const DType type = out().type.type;
    const OpDef& def = op_def(Op::matmul);
    const bool direct = std::any_of(def.rows.begin(), def.rows.end(), [&](const TypeRow& row) {
        return row.types.front() == in(0).type && row.types.back() == type;
    });
    if (!direct) {
        left = widened(left, type, "a");
        right = widened(right, type, "b");
    }
    const ValueId a_zp = zero_point(builder_.value(left).type, a_.a_zp, false, "A_zp");
    const ValueId b_zp = zero_point(builder_.value(right).type, a_.b_zp, false, "B_zp");
    return done(op_, {left, right, a_zp, b_zp});
}

Upgrade::Ids Upgrade::pool() {
    need_inputs(1);
    tosavk::Attributes attrs;
    attrs.kernel = a_.kernel;
    attrs.stride = a_.stride;
    attrs.pad = a_.pad;
    Ids inputs = ids();
    if (op_ == Op::avg_pool2d) {
        attrs.acc_type = is_float(in(0).type) ? a_.acc_type.value_or(DType::fp32) : DType::i32;
        inputs.push_back(zero_point(in(0).type, a_.input_zp, false, "input_zp"));
        inputs.push_back(zero_point(out().type.type, a_.output_zp, false, "output_zp"));
    }
    return done(op_, std::move(inputs), attrs);
}

// ---- others -------------------------------------------------------------------------------------------------------

// A NaN never compared greater, and where all other values are -infinity, index 0 stayed: a NaN counts as -infinity.
Upgrade::Ids Upgrade::argmax() {
    need_inputs(1);
    tosavk::Attributes attrs;
    attrs.axis = a_.axis;
    const DType type = in(0).type;
    if (!is_float(type)) return done(op_, ids(), attrs);
    const float lowest = -std::numeric_limits<float>::infinity();
    const ValueId least = builder_.constant_floats(fmt::format("{}/least", out().name), type,
                                                   Shape(in(0).shape.size(), 1), std::span(&lowest, 1));
    const ValueId number = step(Op::equal, {id(0), id(0)}, DType::boolean, "is_number");
    return done(op_, {step(Op::select, {number, id(0), least}, type, "numbers")}, attrs);
}

Upgrade::Ids Upgrade::fft() {
    if (results_.size() != 2) fail(fmt::format("needs 2 outputs, but has {}", results_.size()));
    tosavk::Attributes attrs;
    attrs.inverse = a_.inverse;
    attrs.local_bound = a_.local_bound;
    const DType types[] = {results_[0].type.type, results_[1].type.type};
    const bool whole = op_ == Op::fft2d;
    need_inputs(whole ? 2 : 1);
    need_rank(0, whole ? "input_real" : "input", 3);
    const Shape shape = in(0).shape;
    const std::int64_t rows = shape[1] / 2 + 1;
    Ids parts = append(op_, ids(), attrs, types, name_);
    for (std::size_t k = 0; k < 2; ++k) {
        // RFFT2D gave the first half of the rows only.
        const bool sliced =
            !whole && rows != shape[1] &&
            !(results_[k].shape && results_[k].shape->size() == 3 && (*results_[k].shape)[1] == shape[1]);
        builder_.value(parts[k]).name = results_[k].name;
        if (!sliced) continue;
        builder_.value(parts[k]).name += "/rows";
        const Shape start(3, 0), size{shape[0], rows, shape[2] / 2 + 1};
        parts[k] = last(Op::slice, {parts[k], builder_.shape(start), builder_.shape(size)}, {}, k);
    }
    return parts;
}

Upgrade::Ids Upgrade::run() {
    if (results_.empty()) fail("has no output");
    if (op_ != Op::fft2d && op_ != Op::rfft2d && results_.size() != 1) {
        fail(fmt::format("needs 1 output, but has {}", results_.size()));
    }
    const auto with_shapes = [&](std::initializer_list<const Shape*> shapes) {
        need_inputs(1);
        Ids inputs = ids();
        for (const Shape* shape : shapes) inputs.push_back(builder_.shape(*shape));
        return inputs;
    };
    if (op_ == fully_connected) return dense();
    tosavk::Attributes attrs;
    switch (op_) {
        case Op::conv2d:
        case Op::conv3d:
        case Op::depthwise_conv2d: return conv();
        case Op::transpose_conv2d: return transpose_conv();
        case Op::matmul: return matmul();
        case Op::avg_pool2d:
        case Op::max_pool2d: return pool();
        case Op::fft2d:
        case Op::rfft2d: return fft();
        case Op::argmax: return argmax();
        case Op::rescale: return rescale();
        case Op::clamp: return clamp();
        case Op::table: return table();
        case Op::resize: return resize();
        case Op::pad: {
            Ids inputs = with_shapes({&a_.padding});
            inputs.push_back(builder_.scalar(in(0).type, a_.pad_const));
            return done(op_, std::move(inputs));
        }
        case Op::reshape: return done(op_, with_shapes({&a_.new_shape}));
        case Op::slice: return done(op_, with_shapes({&a_.start, &a_.size}));
        case Op::tile: return done(op_, with_shapes({&a_.multiples}));
        case Op::logical_left_shift:
        case Op::logical_right_shift: need_inputs(2); return in(0).type == DType::i32 ? elementwise() : narrow_shift();
        // POW has no domain in 0.30: a negative base gives what C's pow gives, here as in the kernel of POW, which 1.0
        // leaves free to.
        case Op::add:
        case Op::arithmetic_right_shift:
        case Op::bitwise_and:
        case Op::bitwise_or:
        case Op::bitwise_xor:
        case Op::intdiv:
        case Op::logical_and:
        case Op::logical_or:
        case Op::logical_xor:
        case Op::maximum:
        case Op::minimum:
        case Op::mul:
        case Op::pow:
        case Op::sub:
        case Op::abs:
        case Op::bitwise_not:
        case Op::ceil:
        case Op::clz:
        case Op::exp:
        case Op::floor:
        case Op::log:
        case Op::logical_not:
        case Op::negate:
        case Op::reciprocal:
        case Op::rsqrt:
        case Op::select:
        case Op::equal:
        case Op::greater:
        case Op::greater_equal:
        case Op::sigmoid:
        case Op::tanh:
        case Op::erf: return elementwise();
        case Op::reduce_all:
        case Op::reduce_any:
        case Op::reduce_max:
        case Op::reduce_min:
        case Op::reduce_product:
        case Op::reduce_sum:
        case Op::concat:
        case Op::reverse: attrs.axis = a_.axis; return done(op_, ids(), attrs);
        case Op::transpose: attrs.perms = a_.perms; return done(op_, ids(), attrs);
        case Op::gather:
        case Op::scatter:
        case Op::cast:
        case Op::identity: return done(op_, ids());
        default:
            throw Error(ErrorCode::unsupported,
                        fmt::format("{} '{}': this operator cannot be upgraded from TOSA 0.30", op_name(op_), name_),
                        name_);
    }
}

std::vector<ValueId> upgrade(GraphBuilder& builder, Op op, std::span<const Operand> inputs,
                             const Attributes& attributes, std::span<const Result> results,
                             const std::string& node_name) {
    return Upgrade(builder, op, inputs, attributes, results, node_name).run();
}

}  // namespace tosavk::v0_30
