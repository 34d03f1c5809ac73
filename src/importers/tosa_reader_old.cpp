// TOSA 0.30 to 0.80 files, upgraded to 1.0 operator by operator: zero points, shifts, tables and shapes were
// attributes, FULLY_CONNECTED was an operator of its own, and both inputs of an elementwise operator could be smaller
// than the result.
#include "importers/tosa_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tosavk {

namespace {

namespace fb = tosa080;

bool needs_widening(DType in, DType out) { return is_float(in) && in != DType::fp32 && out == DType::fp32; }

class Reader : public TosaReader {
public:
    using TosaReader::TosaReader;

private:
    void lower() override;
    void lower_elementwise();
    void lower_conv();
    void lower_transpose_conv();
    void lower_fully_connected();
    void lower_pool();
    void lower_rescale();
    void lower_clamp();
    void lower_pad();
    void lower_narrow_shift();

    void check_unsigned() const;
    template <class T> const T& table(fb::Attribute kind) const;
    std::pair<std::int32_t, std::int32_t> zero_points(std::int32_t first, std::int32_t second) const;
    ValueId zero_point(DType type, std::int32_t value, bool is_unsigned = false);
    ValueId widened(ValueId id, DType out, const char* suffix);
    ValueId shape_of(const flatbuffers::Vector<std::int32_t>* values);
    bool early() const { return op().v0_30 != nullptr; }
    DType accumulator() const { return is_float(out().type) ? DType::fp32 : out().type; }
    double number(const flatbuffers::Vector<std::uint8_t>* fp32_bytes, const char* what) const;

    template <class T> static std::vector<T> list(const flatbuffers::Vector<T>* values) {
        return values ? std::vector<T>(values->begin(), values->end()) : std::vector<T>();
    }
    static std::vector<std::int64_t> wide(const flatbuffers::Vector<std::int32_t>* values) {
        const auto narrow = list(values);
        return {narrow.begin(), narrow.end()};
    }
};

// ---- attributes ---------------------------------------------------------------------------------------------------

/// The discriminators of both old unions agree; only Pad and Clamp have tables of two kinds.
template <class T> const T& Reader::table(fb::Attribute kind) const {
    const auto found = static_cast<unsigned>(early() ? static_cast<unsigned>(op().v0_30->attribute_type())
                                                     : static_cast<unsigned>(op().v0_80->attribute_type()));
    const void* table = early() ? op().v0_30->attribute() : op().v0_80->attribute();
    if (found != static_cast<unsigned>(kind) || !table) {
        fail(fmt::format("it needs attributes of kind {}, but has {}", fb::EnumNameAttribute(kind),
                         found == 0 || !table ? "none" : fmt::format("kind {}", found)));
    }
    return *static_cast<const T*>(table);
}

/// Those of the attributes, or of the earliest files' own table.
std::pair<std::int32_t, std::int32_t> Reader::zero_points(std::int32_t first, std::int32_t second) const {
    if (!file().has_quant_info) return {first, second};
    const auto type = op().v0_30->quant_info_type();
    const auto* quant = static_cast<const tosa030::ZeroPoints*>(op().v0_30->quant_info());
    if (type == tosa030::QuantInfo::NONE || !quant) return {0, 0};
    if (type > tosa030::QuantInfo::MAX) fail("its quantization information is of an unknown kind");
    return {quant->first(), quant->second()};
}

ValueId Reader::zero_point(DType type, std::int32_t value, bool is_unsigned) {
    if (is_unsigned) {
        const std::int32_t end = type == DType::i8 ? 256 : 65536;
        if (value < 0 || value >= end) fail(fmt::format("zero point {} is not in 0..{}", value, end - 1));
        if (value >= end / 2) value -= end;
    }
    return builder_.scalar(type, value);
}

ValueId Reader::shape_of(const flatbuffers::Vector<std::int32_t>* values) { return builder_.shape(wide(values)); }

double Reader::number(const flatbuffers::Vector<std::uint8_t>* bytes, const char* what) const {
    if (!bytes || bytes->size() == 0) return 0;
    if (bytes->size() < 4) fail(fmt::format("{} has {} bytes, but an fp32 value needs 4", what, bytes->size()));
    return decode_reals(DType::fp32, std::as_bytes(std::span(bytes->data(), 4))).at(0);
}

/// Convolutions of fp16 and bf16 could give fp32 directly; widening the inputs is exact.
ValueId Reader::widened(ValueId id, DType to, const char* suffix) {
    if (!needs_widening(builder_.value(id).type, to)) return id;
    return add_step(Op::cast, {id}, to, suffix);
}

// ---- operators ----------------------------------------------------------------------------------------------------

// Where the output is larger than the broadcast of the inputs, the first input is repeated.
void Reader::lower_elementwise() {
    std::vector<ValueId> ids = values();
    if (ids.empty()) fail("has no input");
    Shape common = builder_.value(ids[0]).shape;
    bool fits = true;
    for (const ValueId id : ids) fits = fits && broadcast_shape(common, builder_.value(id).shape, common);
    const Shape& wanted = out().shape;
    Shape ignored;
    if (fits && common != wanted && broadcast_shape(common, wanted, ignored) && ignored == wanted) {
        const Shape from = builder_.value(ids[0]).shape;
        Shape multiples;
        for (std::size_t d = 0; d < from.size(); ++d) multiples.push_back(from[d] == 1 ? wanted[d] : 1);
        ids[0] = add_step(Op::tile, {ids[0], builder_.shape(multiples)}, in(0).type, "tiled");
    }
    Attributes a;
    if (op().op == Op::arithmetic_right_shift) {
        a.round = table<fb::ArithmeticRightShiftAttribute>(fb::Attribute::ArithmeticRightShift).round();
    }
    if (op().op == Op::mul) {
        need_inputs(2);
        ids.push_back(builder_.scalar(DType::i8, table<fb::MulAttribute>(fb::Attribute::Mul).shift()));
    }
    if (op().op == Op::negate) {
        need_inputs(1);
        std::pair<std::int32_t, std::int32_t> zps{0, 0};
        if (file().has_quant_info) zps = zero_points(0, 0);
        else {
            const auto& from = table<fb::NegateAttribute>(fb::Attribute::Negate);
            zps = {from.input1_zp(), from.output_zp()};
        }
        ids.push_back(zero_point(in(0).type, zps.first));
        ids.push_back(zero_point(out().type, zps.second));
    }
    add_last(op().op, ids, a);
}

// Narrow shifts could go up to 31; where a shift may reach the width, they are done in 32 bits.
void Reader::lower_narrow_shift() {
    need_inputs(2);
    const DType type = in(0).type;
    const std::int64_t width = type == DType::i8 ? 8 : 16;
    if (in(1).is_constant) {
        const Value& amount = builder_.value(value(1));
        const auto shifts = decode_ints(amount.type, *amount.data);
        if (std::all_of(shifts.begin(), shifts.end(), [&](std::int64_t s) { return s < width; })) {
            return lower_elementwise();
        }
    }
    ValueId left = add_step(Op::cast, {value(0)}, DType::i32, "wide");
    const ValueId right = add_step(Op::cast, {value(1)}, DType::i32, "wide_shift");
    if (op().op == Op::logical_right_shift) {
        const std::int64_t mask = (std::int64_t{1} << width) - 1;
        const Shape ones(in(0).shape.size(), 1);
        const ValueId bits = builder_.constant_ints(out().name + "/mask", DType::i32, ones, std::span(&mask, 1));
        left = add_step(Op::bitwise_and, {left, bits}, DType::i32, "unsigned");
    }
    add_last(Op::cast, {add_step(op().op, {left, right}, DType::i32, "shifted")});
}

void Reader::lower_conv() {
    need_inputs(3);
    const auto& from = table<fb::ConvAttribute>(fb::Attribute::Conv);
    Attributes a;
    a.pad = list(from.pad());
    a.stride = list(from.stride());
    a.dilation = list(from.dilation());
    a.acc_type = accumulator();
    a.local_bound = file().has_local_bound && from.local_bound();
    const auto [input_zp, weight_zp] = zero_points(from.input_zp(), from.weight_zp());
    const ValueId input = widened(value(0), out().type, "input"), weight = widened(value(1), out().type, "weight");
    add_last(op().op, {input, weight, value(2), zero_point(builder_.value(input).type, input_zp),
                       zero_point(builder_.value(weight).type, weight_zp)}, a);
}

// out_pad took rows and columns away before it added them; the output's shape in the file says which is meant.
void Reader::lower_transpose_conv() {
    need_inputs(3);
    const auto& from = table<fb::TransposeConvAttribute>(fb::Attribute::TransposeConv);
    Attributes a;
    a.pad = list(from.out_pad());
    a.stride = list(from.stride());
    a.acc_type = accumulator();
    a.local_bound = file().has_local_bound && from.local_bound();
    // The earliest layout has the dilation where the output's shape came to stand.
    const bool earliest = early() && from.output_shape() && from.output_shape()->size() == 2;
    if (earliest && (from.output_shape()->Get(0) != 1 || from.output_shape()->Get(1) != 1)) {
        fail("dilation other than 1 is not supported", ErrorCode::unsupported);
    }
    const auto [input_zp, weight_zp] = earliest && !file().has_quant_info
                                           ? std::pair<std::int32_t, std::int32_t>{0, 0}
                                           : zero_points(from.input_zp(), from.weight_zp());
    if (a.pad.size() == 2) a.pad = {a.pad[0], 0, a.pad[1], 0};  // top and left only, of the earliest layout
    if (a.pad.size() != 4 || a.stride.size() != 2) fail("it needs 4 values of out_pad and 2 of stride");
    const ValueId input = widened(value(0), out().type, "input"), weight = widened(value(1), out().type, "weight");
    const Shape in_shape = builder_.value(input).shape, kernel = builder_.value(weight).shape, wanted = out().shape;
    if (in_shape.size() != 4 || kernel.size() != 4 || wanted.size() != 4) fail("its tensors need rank 4");
    Shape start(4, 0);
    bool cut = false;
    for (std::size_t i = 0; i < 2; ++i) {
        std::int32_t &before = a.pad[2 * i], &after = a.pad[2 * i + 1];
        const std::int64_t full = (in_shape[1 + i] - 1) * a.stride[i] + kernel[1 + i];
        const std::int64_t both = std::int64_t{before} + after;
        if (full + both == wanted[1 + i]) continue;
        if (full - both != wanted[1 + i]) {
            fail(fmt::format("out_pad {}, {} leads from {} to {} or {}, but the output has {}", before, after,
                             in_shape[1 + i], full + both, full - both, wanted[1 + i]));
        }
        const auto limit = static_cast<std::int32_t>(std::min<std::int64_t>(kernel[1 + i] - 1, 1 << 30));
        if (before < 0 || after < 0) fail("out_pad is negative");
        start[1 + i] = std::max(before - limit, 0);
        cut = cut || before > limit || after > limit;
        before = -std::min(before, limit);
        after = -std::min(after, limit);
    }
    std::vector<ValueId> inputs{input, weight, value(2), zero_point(builder_.value(input).type, input_zp),
                                zero_point(builder_.value(weight).type, weight_zp)};
    if (!cut) return add_last(Op::transpose_conv2d, inputs, a);
    const ValueId whole = add_step(Op::transpose_conv2d, inputs, out().type, "whole", a);
    add_last(Op::slice, {whole, builder_.shape(start), builder_.shape(wanted)});
}

void Reader::lower_fully_connected() {
    need_inputs(3);
    std::pair<std::int32_t, std::int32_t> zps{0, 0};
    if (file().has_quant_info) zps = zero_points(0, 0);
    else {
        const auto& from = table<fb::FullyConnectedAttribute>(fb::Attribute::FullyConnected);
        zps = {from.input_zp(), from.weight_zp()};
    }
    const auto image = [&](std::size_t k, const char* suffix) {
        const Shape flat = in(k).shape;
        if (flat.size() != 2) fail(fmt::format("{} has shape {}, but needs rank 2", in(k).title(), to_string(flat)));
        const Shape shape{flat[0], 1, 1, flat[1]};
        if (in(k).is_constant) return constant_as(k, shape);
        return add_step(Op::reshape, {value(k), builder_.shape(shape)}, in(k).type, suffix);
    };
    const ValueId input = widened(image(0, "image"), out().type, "input");
    const ValueId weight = widened(image(1, "kernel"), out().type, "weight");
    Attributes a;
    a.pad = {0, 0, 0, 0};
    a.stride = a.dilation = {1, 1};
    a.acc_type = accumulator();
    const ValueId conv = add_step(Op::conv2d, {input, weight, value(2),
                                               zero_point(builder_.value(input).type, zps.first),
                                               zero_point(builder_.value(weight).type, zps.second)},
                                  out().type, "conv", a);
    const Shape shape = builder_.value(conv).shape;
    add_last(Op::reshape, {conv, builder_.shape(Shape{shape[0], shape[3]})});
}

void Reader::lower_pool() {
    need_inputs(1);
    const auto& from = table<fb::PoolAttribute>(fb::Attribute::Pool);
    Attributes a;
    a.kernel = list(from.kernel());
    a.stride = list(from.stride());
    a.pad = list(from.pad());
    std::vector<ValueId> inputs = values();
    if (op().op == Op::avg_pool2d) {
        a.acc_type = is_float(in(0).type) ? DType::fp32 : DType::i32;
        if (in(0).type == DType::fp16 && from.accum_dtype() == fb::DType::FP16) a.acc_type = DType::fp16;
        const auto [input_zp, output_zp] = zero_points(from.input_zp(), from.output_zp());
        inputs.push_back(zero_point(in(0).type, input_zp));
        inputs.push_back(zero_point(out().type, output_zp));
    }
    add_last(op().op, inputs, a);
}

void Reader::lower_rescale() {
    need_inputs(1);
    const auto& from = table<fb::RescaleAttribute>(fb::Attribute::Rescale);
    Attributes a;
    a.scale32 = from.scale32();
    a.rounding = from.double_round() ? Rounding::double_round : Rounding::single_round;
    a.per_channel = from.per_channel();
    a.input_unsigned = in(0).is_unsigned || from.input_unsigned();
    a.output_unsigned = out().is_unsigned || from.output_unsigned();
    const auto narrow = [](DType t) { return t == DType::i8 || t == DType::i16; };
    const auto multiplier = wide(from.multiplier()), shift = wide(from.shift());
    const auto count = [](const std::vector<std::int64_t>& v) { return Shape{static_cast<std::int64_t>(v.size())}; };
    const ValueId m = builder_.constant_ints(out().name + "/multiplier", a.scale32 ? DType::i32 : DType::i16,
                                             count(multiplier), multiplier);
    const ValueId s = builder_.constant_ints(out().name + "/shift", DType::i8, count(shift), shift);
    const ValueId input_zp = zero_point(in(0).type, from.input_zp(), a.input_unsigned && narrow(in(0).type));
    const ValueId output_zp = zero_point(out().type, from.output_zp(), a.output_unsigned && narrow(out().type));
    add_last(Op::rescale, {value(0), m, s, input_zp, output_zp}, a);
}

void Reader::lower_clamp() {
    need_inputs(1);
    Attributes a;
    const DType type = in(0).type;
    const auto set_ints = [&](std::int32_t lo, std::int32_t hi) {
        a.min_val = lo;
        a.max_val = hi;
        // Bounds beyond the type bound nothing.
        if (lo < min_of(type) && hi >= min_of(type)) a.min_val = static_cast<double>(min_of(type));
        if (hi > max_of(type) && lo <= max_of(type)) a.max_val = static_cast<double>(max_of(type));
    };
    if (early()) {
        const auto& from = table<tosa030::ClampAttribute>(fb::Attribute::Clamp);
        if (is_float(type)) a.min_val = from.min_fp(), a.max_val = from.max_fp();
        else set_ints(from.min_int(), from.max_int());
    } else {
        const auto& from = table<fb::ClampAttribute>(fb::Attribute::Clamp);
        if (is_float(type)) a.min_val = number(from.min_fp(), "min_fp"), a.max_val = number(from.max_fp(), "max_fp");
        else set_ints(from.min_int(), from.max_int());
    }
    add_last(Op::clamp, values(), a);
}

void Reader::lower_pad() {
    need_inputs(1);
    const bool real = is_float(in(0).type);
    double constant = 0;
    const flatbuffers::Vector<std::int32_t>* padding = nullptr;
    if (early()) {
        const auto& from = table<tosa030::PadAttribute>(fb::Attribute::Pad);
        padding = from.padding();
        if (file().has_quant_info) constant = zero_points(0, 0).first;
        else if (real) constant = from.pad_const_fp();
        else constant = from.pad_const_int();
    } else {
        const auto& from = table<fb::PadAttribute>(fb::Attribute::Pad);
        padding = from.padding();
        if (real) constant = number(from.pad_const_fp(), "pad_const_fp");
        else constant = from.pad_const_int();
    }
    add_last(Op::pad, {value(0), shape_of(padding), builder_.scalar(in(0).type, constant)});
}

// ---- the operator at hand -----------------------------------------------------------------------------------------

/// Unsigned tensors lie in signed types here, which only RESCALE and operators that move bytes do not notice.
void Reader::check_unsigned() const {
    const auto any = [&](const std::vector<std::size_t>& ids) {
        return std::any_of(ids.begin(), ids.end(), [&](std::size_t id) { return file().tensors[id].is_unsigned; });
    };
    if (op().op == Op::rescale || (!any(op().inputs) && !any(op().outputs))) return;
    static constexpr Op moving[] = {Op::concat, Op::reshape, Op::reverse, Op::slice,
                                    Op::tile,   Op::transpose, Op::identity};
    if (std::find(std::begin(moving), std::end(moving), op().op) == std::end(moving)) {
        fail("unsigned tensors can be rescaled and moved only", ErrorCode::unsupported);
    }
    for (std::size_t k = 0; k < input_count(); ++k) {
        if (in(k).is_unsigned != out().is_unsigned) fail("it mixes signed and unsigned tensors");
    }
}

void Reader::lower() {
    check_types(op_def(op().op == Op::unknown ? Op::conv2d : op().op));
    check_unsigned();
    Attributes a;
    switch (op().op) {
        case Op::unknown: return lower_fully_connected();
        case Op::conv2d: case Op::conv3d: case Op::depthwise_conv2d: return lower_conv();
        case Op::transpose_conv2d: return lower_transpose_conv();
        case Op::avg_pool2d: case Op::max_pool2d: return lower_pool();
        case Op::rescale: return lower_rescale();
        case Op::clamp: return lower_clamp();
        case Op::pad: return lower_pad();
        case Op::logical_left_shift: case Op::logical_right_shift:
            if (in(0).type == DType::i8 || in(0).type == DType::i16) return lower_narrow_shift();
            return lower_elementwise();
        case Op::add: case Op::arithmetic_right_shift: case Op::bitwise_and: case Op::bitwise_or: case Op::bitwise_xor:
        case Op::intdiv: case Op::logical_and: case Op::logical_or: case Op::logical_xor: case Op::maximum:
        case Op::minimum: case Op::mul: case Op::pow: case Op::sub: case Op::abs: case Op::bitwise_not: case Op::ceil:
        case Op::clz: case Op::exp: case Op::floor: case Op::log: case Op::logical_not: case Op::negate:
        case Op::reciprocal: case Op::rsqrt: case Op::select: case Op::equal: case Op::greater: case Op::greater_equal:
        case Op::sigmoid: case Op::tanh: case Op::erf: return lower_elementwise();
        case Op::argmax: case Op::reduce_all: case Op::reduce_any: case Op::reduce_max: case Op::reduce_min:
        case Op::reduce_product: case Op::reduce_sum: case Op::concat: case Op::reverse:
            a.axis = table<fb::AxisAttribute>(fb::Attribute::Axis).axis();
            // A NaN never compared greater.
            if (op().op == Op::argmax) a.nan_mode = NanMode::ignore;
            return add_last(op().op, values(), a);
        case Op::transpose:
            a.perms = list(table<fb::TransposeAttribute>(fb::Attribute::Transpose).perms());
            return add_last(op().op, values(), a);
        case Op::reshape: {
            need_inputs(1);
            Shape shape = wide(table<fb::ReshapeAttribute>(fb::Attribute::Reshape).new_shape());
            // One open dimension is what the others leave.
            if (std::count(shape.begin(), shape.end(), -1) == 1 && out().shape.size() == shape.size()) {
                const auto open = static_cast<std::size_t>(std::find(shape.begin(), shape.end(), -1) - shape.begin());
                shape[open] = out().shape[open];
            }
            return add_last(op().op, {value(0), builder_.shape(shape)});
        }
        case Op::slice: {
            need_inputs(1);
            const auto& from = table<fb::SliceAttribute>(fb::Attribute::Slice);
            return add_last(op().op, {value(0), shape_of(from.start()), shape_of(from.size())});
        }
        case Op::tile:
            need_inputs(1);
            return add_last(op().op, {value(0), shape_of(table<fb::TileAttribute>(fb::Attribute::Tile).multiples())});
        case Op::matmul: {
            need_inputs(2);
            std::pair<std::int32_t, std::int32_t> zps{0, 0};
            if (file().has_quant_info) zps = zero_points(0, 0);
            else {
                const auto& from = table<fb::MatMulAttribute>(fb::Attribute::MatMul);
                zps = {from.a_zp(), from.b_zp()};
            }
            const ValueId left = widened(value(0), out().type, "a"), right = widened(value(1), out().type, "b");
            return add_last(op().op, {left, right, zero_point(builder_.value(left).type, zps.first),
                                      zero_point(builder_.value(right).type, zps.second)});
        }
        case Op::table: {
            need_inputs(1);
            // The earliest layout has 32-bit entries.
            if (file().has_quant_info) {
                fail("tables of the earliest file layout are not supported", ErrorCode::unsupported);
            }
            const auto entries = list(table<fb::TableAttribute>(fb::Attribute::Table).table());
            const std::vector<std::int64_t> values(entries.begin(), entries.end());
            const ValueId id = builder_.constant_ints(out().name + "/table", in(0).type,
                                                      {static_cast<std::int64_t>(values.size())}, values);
            return add_last(op().op, {value(0), id});
        }
        case Op::gather: case Op::scatter: case Op::cast: case Op::identity: return add_last(op().op, values());
        default: fail("this operator is not supported in files of this generation", ErrorCode::unsupported);
    }
}

}  // namespace

Graph read_tosa_old(const TosaFile& file, const ImportOptions& options) { return Reader(file, options).run(); }

}  // namespace tosavk
