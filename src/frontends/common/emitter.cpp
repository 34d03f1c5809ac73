#include "frontends/common/emitter.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tosavk {

namespace {

bool has_elements(const Shape& shape) { return std::find(shape.begin(), shape.end(), 0) == shape.end(); }

}  // namespace

// ---- names --------------------------------------------------------------------------------------------------------

void Emitter::scope(std::string node, std::string value, bool numbered) {
    node_ = std::move(node);
    value_ = std::move(value);
    numbered_ = numbered;
}

std::string Emitter::unique(const std::string& name) { return node_names_.give(name); }

std::string Emitter::constant_name(const std::string& what) const {
    return value_.empty() ? what : value_ + "/" + what;
}

std::string Emitter::title() const { return fmt::format("'{}'", node_); }

void Emitter::fail(const std::string& what) const {
    throw Error(ErrorCode::bad_model, fmt::format("{}: {}", title(), what), node_);
}

void Emitter::unsupported(const std::string& what) const {
    throw Error(ErrorCode::unsupported, fmt::format("{}: {}", title(), what), node_);
}

// ---- values -------------------------------------------------------------------------------------------------------

const Value& Emitter::graph_value(ValueId id) const {
    return is_empty(id) ? empties_.at(id - first_empty) : std::as_const(*to_).value(id);
}

ValueId Emitter::empty(DType type, const Shape& shape) {
    Value v;
    v.name = constant_name("empty");
    v.type = type;
    v.shape = shape;
    empties_.push_back(std::move(v));
    return first_empty + static_cast<ValueId>(empties_.size() - 1);
}

std::map<std::tuple<DType, std::size_t, double>, ValueId> Emitter::exchange_splats(
    std::map<std::tuple<DType, std::size_t, double>, ValueId> other) {
    return std::exchange(splats_, std::move(other));
}

ValueId Emitter::splat(ValueId like, DType type, double v) {
    const std::size_t rank = shape(like).size();
    if (rank == 1) return scalar(type, v);
    const auto key = std::make_tuple(type, rank, v);
    if (const auto found = splats_.find(key); found != splats_.end()) return found->second;
    const ValueId id =
        to_->constant(fmt::format("{}({})", name_of(type), v), type, Shape(rank, 1), encode_reals(type, {&v, 1}));
    splats_.emplace(key, id);
    return id;
}

ValueId Emitter::zero_point(DType type, std::int64_t v, bool is_unsigned, const char* what) {
    const bool real = is_float(type);
    const std::int64_t lo = real || is_unsigned ? 0 : min_of(type);
    const std::int64_t hi = real ? 0 : is_unsigned ? max_of(type) - min_of(type) : max_of(type);
    if (v < lo || v > hi) fail(fmt::format("{} {} is not in {}..{}", what, v, lo, hi));
    if (is_unsigned && v > max_of(type)) v -= hi + 1;
    return scalar(type, static_cast<double>(v));
}

ValueId Emitter::constant(const std::string& what, DType type, const Shape& shape, Bytes bytes) {
    return to_->constant(constant_name(what), type, shape, std::move(bytes));
}

ValueId Emitter::constant_ints(const std::string& what, DType type, const Shape& shape,
                               std::span<const std::int64_t> values) {
    return to_->constant_ints(constant_name(what), type, shape, values);
}

ValueId Emitter::constant_floats(const std::string& what, const Shape& shape, std::span<const float> values) {
    return to_->constant_floats(constant_name(what), DType::fp32, shape, values);
}

// ---- nodes --------------------------------------------------------------------------------------------------------

std::vector<ValueId> Emitter::append(Op op, std::vector<ValueId> inputs, Attributes attrs,
                                     std::span<const DType> output_types, const std::string& name) {
    return to_->add(op, std::move(inputs), std::move(attrs), output_types, name);
}

ValueId Emitter::add(Op op, std::vector<ValueId> inputs, DType output_type, Attributes attrs, const char* suffix) {
    if (std::any_of(inputs.begin(), inputs.end(), [&](ValueId id) { return is_empty(id); }))
        return add_with_empty(op, inputs, output_type, attrs);
    const std::string name = numbered_ ? unique(node_) : node_;
    const ValueId id = append(op, std::move(inputs), std::move(attrs), std::span(&output_type, 1), name).at(0);
    if (*suffix) to_->value(id).name = constant_name(suffix);
    return id;
}

std::vector<ValueId> Emitter::add_all(Op op, std::vector<ValueId> inputs, std::span<const DType> output_types,
                                      Attributes attrs) {
    if (std::any_of(inputs.begin(), inputs.end(), [&](ValueId id) { return is_empty(id); }))
        unsupported(fmt::format("{} of a tensor without elements is not supported", name_of(op)));
    return append(op, std::move(inputs), std::move(attrs), output_types, numbered_ ? unique(node_) : node_);
}

/// The operator's own rule says what shape comes out.
ValueId Emitter::add_with_empty(Op op, const std::vector<ValueId>& inputs, DType output_type, const Attributes& attrs) {
    Graph scratch;
    Node node;
    node.op = op;
    node.name = node_;
    node.attrs = attrs;
    for (const ValueId id : inputs) {
        node.inputs.push_back(static_cast<ValueId>(scratch.values.size()));
        scratch.values.push_back(graph_value(id));
    }
    node.outputs = {static_cast<ValueId>(scratch.values.size())};
    scratch.values.emplace_back();
    scratch.values.back().type = output_type;
    scratch.nodes.push_back(std::move(node));
    const OpDef& def = op_def(op);
    if (def.infer && !def.structural) {
        const std::vector<Shape> shapes = def.infer(NodeView(scratch, 0));
        if (shapes.size() == 1 && !has_elements(shapes[0])) return empty(output_type, shapes[0]);
    }
    unsupported(fmt::format("{} of a tensor without elements is not supported", name_of(op)));
}

ValueId Emitter::mul(ValueId a, ValueId b, DType output_type) {
    return add(Op::mul, {a, b, scalar(DType::i8, 0)}, output_type);
}

ValueId Emitter::reshape(ValueId id, Shape to, const char* suffix) {
    const Value v = graph_value(id);
    if (v.shape == to) return id;
    if (element_count(v.shape) != element_count(to)) {
        fail(fmt::format("cannot reshape '{}' from {} to {}", v.name, to_string(v.shape), to_string(to)));
    }
    if (is_empty(id)) return empty(v.type, to);
    if (!v.is_constant()) return add(Op::reshape, {id, to_->shape(to)}, v.type, {}, suffix);
    // A constant stays one, since kernels pack constant weights.
    return to_->constant(*suffix ? constant_name(suffix) : v.name + "/reshaped", v.type, to, v.data);
}

void Emitter::hand_out(ValueId id) {
    const std::vector<ValueId>& outputs = to_->graph().outputs;
    if (std::find(outputs.begin(), outputs.end(), id) == outputs.end())
        to_->value(id).name = output_names_.give(to_->value(id).name);
    to_->output(id);
}

ValueId Emitter::slice(ValueId id, std::span<const std::int64_t> start, const Shape& size, const char* suffix) {
    const Value v = graph_value(id);
    const Shape& from = v.shape;
    for (std::size_t d = 0; d < from.size(); ++d) {
        if (start[d] < 0 || size[d] < 0 || start[d] > from[d] - size[d]) {
            fail(fmt::format("cannot take {} elements from {} along dimension {} of size {}", size[d], start[d], d,
                             from[d]));
        }
    }
    if (size == from) return id;
    if (!has_elements(size)) return empty(v.type, size);
    if (!v.is_constant()) return add(Op::slice, {id, to_->shape(start), to_->shape(size)}, v.type, {}, suffix);
    const std::size_t element = size_of(v.type);
    const std::vector<std::int64_t> strides = row_major_strides(from);
    Bytes bytes(static_cast<std::size_t>(element_count(size)) * element);
    std::vector<std::int64_t> at(size.size(), 0);
    for (std::size_t i = 0; i < bytes.size(); i += element) {
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < at.size(); ++d) offset += (start[d] + at[d]) * strides[d];
        std::memcpy(bytes.data() + i, v.data->data() + static_cast<std::size_t>(offset) * element, element);
        for (std::size_t d = at.size(); d-- > 0;) {
            if (++at[d] < size[d]) break;
            at[d] = 0;
        }
    }
    return to_->constant(*suffix ? constant_name(suffix) : v.name + "/sliced", v.type, size, std::move(bytes));
}

ValueId Emitter::slice_axis(ValueId id, std::size_t along, std::int64_t start, std::int64_t size) {
    Shape starts(shape(id).size(), 0), sizes = shape(id);
    starts.at(along) = start;
    sizes[along] = size;
    return slice(id, starts, sizes);
}

ValueId Emitter::concat(std::vector<ValueId> parts, std::size_t along) {
    const auto most = static_cast<std::size_t>(level().max_list);
    const DType t = type(parts.at(0));
    Attributes attrs;
    attrs.axis = static_cast<std::int32_t>(along);
    std::vector<ValueId> full;
    for (const ValueId id : parts) {
        if (!is_empty(id)) full.push_back(id);
    }
    if (full.empty()) {
        Shape joined = shape(parts[0]);
        joined.at(along) = 0;
        for (const ValueId id : parts) {
            if (shape(id).size() != joined.size())
                fail(fmt::format("it joins tensors of ranks {} and {}", joined.size(), shape(id).size()));
            joined[along] += shape(id)[along];
        }
        return empty(t, joined);
    }
    // Longer lists than a level allows are joined in groups.
    while (full.size() > 1) {
        std::vector<ValueId> joined;
        for (std::size_t i = 0; i < full.size(); i += most) {
            const std::size_t n = std::min(most, full.size() - i);
            std::vector<ValueId> group(full.begin() + static_cast<std::ptrdiff_t>(i),
                                       full.begin() + static_cast<std::ptrdiff_t>(i + n));
            joined.push_back(n == 1 ? group[0] : add(Op::concat, std::move(group), t, attrs));
        }
        full = std::move(joined);
    }
    return full[0];
}

ValueId Emitter::cast(ValueId id, DType to, const char* suffix) {
    const Value v = graph_value(id);
    if (v.type == to) return id;
    // Widening floats is exact, so constants are widened here.
    if (!v.is_constant() || !is_float(v.type) || to != DType::fp32) return add(Op::cast, {id}, to, {}, suffix);
    return to_->constant(*suffix ? constant_name(suffix) : v.name + "/fp32", to, v.shape,
                         encode_reals(to, decode_reals(v.type, *v.data)));
}

ValueId Emitter::clamp(ValueId id, double min, double max) {
    Attributes attrs;
    attrs.min_val = min;
    attrs.max_val = max;
    return add(Op::clamp, {id}, type(id), attrs);
}

ValueId Emitter::rescale(ValueId id, DType to, const Scaling& s) {
    const auto factors = [&](const char* what, DType of, const std::vector<std::int64_t>& values) {
        if (values.size() == 1 && values[0] >= min_of(of) && values[0] <= max_of(of))
            return scalar(of, static_cast<double>(values[0]));
        return constant_ints(what, of, {static_cast<std::int64_t>(values.size())}, values);
    };
    const ValueId multiplier = factors("multiplier", s.scale32 ? DType::i32 : DType::i16, s.multiplier);
    const ValueId shift = factors("shift", DType::i8, s.shift);
    return rescale(id, to, s, multiplier, shift);
}

ValueId Emitter::rescale(ValueId id, DType to, const Scaling& s, ValueId multiplier, ValueId shift) {
    Attributes attrs;
    attrs.scale32 = s.scale32;
    attrs.rounding = s.rounding;
    attrs.per_channel = s.per_channel;
    attrs.input_unsigned = s.input_unsigned;
    attrs.output_unsigned = s.output_unsigned;
    const ValueId input_zp = zero_point(type(id), s.input_zp, s.input_unsigned, "input_zp");
    const ValueId output_zp = zero_point(to, s.output_zp, s.output_unsigned, "output_zp");
    return add(Op::rescale, {id, multiplier, shift, input_zp, output_zp}, to, attrs);
}

std::vector<ValueId> Emitter::sort(std::vector<ValueId> tensors, const Attributes& attrs) {
    if (is_empty(tensors.at(0))) return tensors;
    std::vector<DType> types;
    for (const ValueId id : tensors) types.push_back(type(id));
    return append(Op::sort, std::move(tensors), attrs, types, numbered_ ? unique(node_) : node_);
}

ValueId Emitter::scale_fp64(ValueId id, DType to, std::span<const double> scales, std::int64_t output_zp) {
    std::vector<std::int64_t> high, low, shift;
    for (const double scale : scales) {
        int exponent = 0;
        auto significand = static_cast<std::int64_t>(std::ldexp(std::frexp(scale, &exponent), 53));
        if (!(scale >= 0) || exponent > 52) fail(fmt::format("a scale of {} is out of range", scale));
        // No integer of 48 bits is worth a half any more.
        if (exponent < -73 || significand == 0) exponent = -73, significand = 0;
        high.push_back(significand >> 32);
        low.push_back(static_cast<std::int32_t>(significand & 0xffffffff));
        shift.push_back(53 - exponent);
    }
    const auto factors = [&](const char* what, DType of, const std::vector<std::int64_t>& values) {
        if (values.size() == 1) return scalar(of, static_cast<double>(values[0]));
        return constant_ints(what, of, {static_cast<std::int64_t>(values.size())}, values);
    };
    const ValueId zp = zero_point(to, output_zp, false, "output_zp");
    return add(Op::scale_fp64,
               {id, factors("high", DType::i32, high), factors("low", DType::i32, low),
                factors("shift", DType::i8, shift), zp},
               to);
}

void Emitter::match_ranks(ValueId& a, ValueId& b) {
    const std::size_t rank = std::max(shape(a).size(), shape(b).size());
    for (ValueId* id : {&a, &b}) {
        Shape dims = shape(*id);
        dims.insert(dims.begin(), rank - dims.size(), 1);
        *id = reshape(*id, dims);
    }
}

}  // namespace tosavk
