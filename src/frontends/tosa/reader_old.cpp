// TOSA 0.30 to 0.80 files: reads each operator's attributes from the table of its kind; upgrade/ makes nodes of 1.0 of
// them. Where the generations between differ from 0.30, what the file means is put in the terms of 0.30 here.
#include "frontends/tosa/reader.hpp"
#include "frontends/tosa/v0_30.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace tosavk {

namespace {

namespace fb = tosa080;

class Reader : public TosaReader {
public:
    using TosaReader::TosaReader;

private:
    void lower() override;
    void read_attributes(v0_30::Attributes& a) const;
    void read_transpose_conv(v0_30::Attributes& a) const;
    void read_clamp(v0_30::Attributes& a) const;
    void read_pad(v0_30::Attributes& a) const;
    void read_rescale(v0_30::Attributes& a) const;
    void read_table(v0_30::Attributes& a) const;
    void read_early_resize(v0_30::Attributes& a) const;
    void lower_resize();

    void check_unsigned() const;
    const void* attribute(fb::Attribute kind) const;
    template <class T> const T& table(fb::Attribute kind) const { return *static_cast<const T*>(attribute(kind)); }
    template <class T> const T& verified(const void* unverified) const;
    std::pair<std::int32_t, std::int32_t> zero_points(std::int32_t first, std::int32_t second) const;
    bool early() const { return op().v0_30 != nullptr; }
    double number(const flatbuffers::Vector<std::uint8_t>* fp32_bytes, const char* what) const;
    static bool is_unsigned(const TosaFileTensor& tensor, bool flag) { return tensor.is_unsigned || flag; }

    template <class To, class T> static std::vector<To> list(const flatbuffers::Vector<T>* values) {
        return values ? std::vector<To>(values->begin(), values->end()) : std::vector<To>();
    }
    static std::vector<std::int32_t> narrow(const flatbuffers::Vector<std::int32_t>* values) {
        return list<std::int32_t>(values);
    }
    static std::vector<std::int64_t> wide(const flatbuffers::Vector<std::int32_t>* values) {
        return list<std::int64_t>(values);
    }
};

// ---- attributes ---------------------------------------------------------------------------------------------------

/// The discriminators of both old unions agree; some kinds have tables of two forms.
const void* Reader::attribute(fb::Attribute kind) const {
    const auto found = static_cast<unsigned>(early() ? static_cast<unsigned>(op().v0_30->attribute_type())
                                                     : static_cast<unsigned>(op().v0_80->attribute_type()));
    const void* table = early() ? op().v0_30->attribute() : op().v0_80->attribute();
    if (found != static_cast<unsigned>(kind) || !table) {
        fail(fmt::format("it needs attributes of kind {}, but has {}", fb::EnumNameAttribute(kind),
                         found == 0 || !table ? "none" : fmt::format("kind {}", found)));
    }
    return table;
}

/// A table of which only the first field's length was looked at when the file was.
template <class T> const T& Reader::verified(const void* unverified) const {
    const auto* typed = static_cast<const T*>(unverified);
    flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(file().bytes.data()), file().bytes.size());
    if (!typed->Verify(verifier)) fail("its attributes are damaged (flatbuffer verification failed)");
    return *typed;
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

double Reader::number(const flatbuffers::Vector<std::uint8_t>* bytes, const char* what) const {
    if (!bytes || bytes->size() == 0) return 0;
    if (bytes->size() < 4) fail(fmt::format("{} has {} bytes, but an fp32 value needs 4", what, bytes->size()));
    return decode_reals(DType::fp32, std::as_bytes(std::span(bytes->data(), 4))).at(0);
}

// out_pad took rows and columns away before it added them; the output's shape in the file says which is meant.
void Reader::read_transpose_conv(v0_30::Attributes& a) const {
    const auto& from = table<fb::TransposeConvAttribute>(fb::Attribute::TransposeConv);
    a.out_pad = narrow(from.out_pad());
    a.stride = narrow(from.stride());
    a.local_bound = file().has_local_bound && from.local_bound();
    // The earliest layout has the dilation where the output's shape came to stand.
    const bool earliest = early() && from.output_shape() && from.output_shape()->size() == 2;
    if (earliest && (from.output_shape()->Get(0) != 1 || from.output_shape()->Get(1) != 1)) {
        fail("dilation other than 1 is not supported", ErrorCode::unsupported);
    }
    if (!earliest || file().has_quant_info) {
        std::tie(a.input_zp, a.weight_zp) = zero_points(from.input_zp(), from.weight_zp());
    }
    if (a.out_pad.size() == 2) a.out_pad = {a.out_pad[0], 0, a.out_pad[1], 0};  // top and left only, of the earliest
    if (a.out_pad.size() != 4 || a.stride.size() != 2) fail("it needs 4 values of out_pad and 2 of stride");
    const Shape &image = in(0).shape, &kernel = in(1).shape, &wanted = out().shape;
    if (image.size() != 4 || kernel.size() != 4 || wanted.size() != 4) fail("its tensors need rank 4");
    bool adds = true, removes = true;
    for (std::size_t i = 0; i < 2; ++i) {
        const std::int64_t full = (image[1 + i] - 1) * a.stride[i] + kernel[1 + i];
        const std::int64_t both = std::int64_t{a.out_pad[2 * i]} + a.out_pad[2 * i + 1];
        adds = adds && full + both == wanted[1 + i];
        removes = removes && full - both == wanted[1 + i];
        if (full + both != wanted[1 + i] && full - both != wanted[1 + i]) {
            fail(fmt::format("out_pad {}, {} leads from {} to {} or {}, but the output has {}", a.out_pad[2 * i],
                             a.out_pad[2 * i + 1], image[1 + i], full + both, full - both, wanted[1 + i]));
        }
    }
    if (!adds && !removes) fail("out_pad is taken away along one axis and added along the other");
    a.out_pad_adds = adds;
}

void Reader::read_clamp(v0_30::Attributes& a) const {
    const bool real = is_float(in(0).type);
    if (early()) {
        const auto& from = table<tosa030::ClampAttribute>(fb::Attribute::Clamp);
        a.min_val = real ? static_cast<double>(from.min_fp()) : from.min_int();
        a.max_val = real ? static_cast<double>(from.max_fp()) : from.max_int();
    } else {
        const auto& from = table<fb::ClampAttribute>(fb::Attribute::Clamp);
        a.min_val = real ? number(from.min_fp(), "min_fp") : from.min_int();
        a.max_val = real ? number(from.max_fp(), "max_fp") : from.max_int();
    }
}

void Reader::read_pad(v0_30::Attributes& a) const {
    const bool real = is_float(in(0).type);
    if (early()) {
        const auto& from = table<tosa030::PadAttribute>(fb::Attribute::Pad);
        a.padding = wide(from.padding());
        if (file().has_quant_info) a.pad_const = zero_points(0, 0).first;
        else a.pad_const = real ? static_cast<double>(from.pad_const_fp()) : from.pad_const_int();
    } else {
        const auto& from = table<fb::PadAttribute>(fb::Attribute::Pad);
        a.padding = wide(from.padding());
        a.pad_const = real ? number(from.pad_const_fp(), "pad_const_fp") : from.pad_const_int();
    }
}

void Reader::read_rescale(v0_30::Attributes& a) const {
    const auto& from = table<fb::RescaleAttribute>(fb::Attribute::Rescale);
    a.scale32 = from.scale32();
    a.double_round = from.double_round();
    a.per_channel = from.per_channel();
    a.multiplier = wide(from.multiplier());
    a.rescale_shift = wide(from.shift());
    a.input_zp = from.input_zp();
    a.output_zp = from.output_zp();
}

void Reader::read_table(v0_30::Attributes& a) const {
    const void* found = attribute(fb::Attribute::Table);
    // The earliest layout has 32-bit entries.
    if (file().has_quant_info) a.table = wide(verified<tosa030::WideTableAttribute>(found).table());
    else a.table = list<std::int64_t>(verified<fb::TableAttribute>(found).table());
}

void Reader::read_attributes(v0_30::Attributes& a) const {
    if (op().op == v0_30::fully_connected) {
        if (file().has_quant_info) {
            std::tie(a.input_zp, a.weight_zp) = zero_points(0, 0);
        } else {
            const auto& from = table<fb::FullyConnectedAttribute>(fb::Attribute::FullyConnected);
            std::tie(a.input_zp, a.weight_zp) = std::pair(from.input_zp(), from.weight_zp());
        }
        return;
    }
    switch (op().op) {
        case Op::conv2d:
        case Op::conv3d:
        case Op::depthwise_conv2d: {
            const auto& from = table<fb::ConvAttribute>(fb::Attribute::Conv);
            a.pad = narrow(from.pad());
            a.stride = narrow(from.stride());
            a.dilation = narrow(from.dilation());
            a.local_bound = file().has_local_bound && from.local_bound();
            std::tie(a.input_zp, a.weight_zp) = zero_points(from.input_zp(), from.weight_zp());
            return;
        }
        case Op::transpose_conv2d: return read_transpose_conv(a);
        case Op::avg_pool2d:
        case Op::max_pool2d: {
            const auto& from = table<fb::PoolAttribute>(fb::Attribute::Pool);
            a.kernel = narrow(from.kernel());
            a.stride = narrow(from.stride());
            a.pad = narrow(from.pad());
            if (op().op == Op::max_pool2d) return;
            std::tie(a.input_zp, a.output_zp) = zero_points(from.input_zp(), from.output_zp());
            if (in(0).type == DType::fp16 && from.accum_dtype() == fb::DType::FP16) a.acc_type = DType::fp16;
            return;
        }
        case Op::matmul:
            if (file().has_quant_info) std::tie(a.a_zp, a.b_zp) = zero_points(0, 0);
            else {
                const auto& from = table<fb::MatMulAttribute>(fb::Attribute::MatMul);
                std::tie(a.a_zp, a.b_zp) = std::pair(from.a_zp(), from.b_zp());
            }
            return;
        case Op::negate:
            if (file().has_quant_info) std::tie(a.input1_zp, a.output_zp) = zero_points(0, 0);
            else {
                const auto& from = table<fb::NegateAttribute>(fb::Attribute::Negate);
                std::tie(a.input1_zp, a.output_zp) = std::pair(from.input1_zp(), from.output_zp());
            }
            return;
        case Op::fft2d: {
            const auto& from = table<fb::FFTAttribute>(fb::Attribute::FFT);
            a.inverse = from.inverse();
            a.local_bound = from.local_bound();
            return;
        }
        case Op::rfft2d:
            // It had no attributes at first.
            if (!early() && op().v0_80->attribute_type() != fb::Attribute::NONE) {
                a.local_bound = table<fb::RFFTAttribute>(fb::Attribute::RFFT).local_bound();
            }
            return;
        case Op::rescale: return read_rescale(a);
        case Op::clamp: return read_clamp(a);
        case Op::pad: return read_pad(a);
        case Op::table: return read_table(a);
        case Op::mul: a.shift = table<fb::MulAttribute>(fb::Attribute::Mul).shift(); return;
        case Op::arithmetic_right_shift:
            a.round = table<fb::ArithmeticRightShiftAttribute>(fb::Attribute::ArithmeticRightShift).round();
            return;
        case Op::argmax:
        case Op::reduce_all:
        case Op::reduce_any:
        case Op::reduce_max:
        case Op::reduce_min:
        case Op::reduce_product:
        case Op::reduce_sum:
        case Op::concat:
        case Op::reverse: a.axis = table<fb::AxisAttribute>(fb::Attribute::Axis).axis(); return;
        case Op::transpose: a.perms = narrow(table<fb::TransposeAttribute>(fb::Attribute::Transpose).perms()); return;
        case Op::reshape: {
            Shape& shape = a.new_shape;
            shape = wide(table<fb::ReshapeAttribute>(fb::Attribute::Reshape).new_shape());
            // One open dimension is what the others leave.
            if (std::count(shape.begin(), shape.end(), -1) == 1 && out().shape.size() == shape.size()) {
                const auto open = static_cast<std::size_t>(std::find(shape.begin(), shape.end(), -1) - shape.begin());
                shape[open] = out().shape[open];
            }
            return;
        }
        case Op::slice: {
            const auto& from = table<fb::SliceAttribute>(fb::Attribute::Slice);
            a.start = wide(from.start());
            a.size = wide(from.size());
            return;
        }
        case Op::tile: a.multiples = wide(table<fb::TileAttribute>(fb::Attribute::Tile).multiples()); return;
        default: return;
    }
}

// ---- RESIZE -------------------------------------------------------------------------------------------------------

ResizeMode resize_mode(std::uint32_t mode, bool& known) {
    known = mode == 1 || mode == 2;
    return mode == 2 ? ResizeMode::bilinear : ResizeMode::nearest;
}

void Reader::read_early_resize(v0_30::Attributes& a) const {
    const auto& from = verified<tosa030::ResizeAttribute>(attribute(fb::Attribute::Resize));
    bool known = false;
    a.mode = resize_mode(from.mode(), known);
    if (!known) fail(fmt::format("mode {} is not known", from.mode()));
    a.output_size = wide(from.output_size());
    if (is_float(in(0).type)) {
        a.resize_stride = list<double>(from.stride_fp());
        a.resize_offset = list<double>(from.offset_fp());
    } else {
        a.resize_stride = list<double>(from.stride());
        a.resize_offset = list<double>(from.offset());
        a.shift = from.shift();
    }
}

// From 0.40 on RESIZE says what it says in 1.0.
void Reader::lower_resize() {
    need_inputs(1);
    const auto& from = verified<fb::ResizeAttribute>(attribute(fb::Attribute::Resize));
    bool known = false;
    Attributes attrs;
    attrs.mode = resize_mode(from.mode(), known);
    if (!known) fail(fmt::format("mode {} is not known", from.mode()));
    const auto shape = [&](const flatbuffers::Vector<std::int16_t>* values) {
        return builder_.shape(list<std::int64_t>(values));
    };
    const ValueId scale = shape(from.scale()), offset = shape(from.offset()), border = shape(from.border());
    add_last(Op::resize, {value(0), scale, offset, border}, attrs);
}

// ---- the operator at hand -----------------------------------------------------------------------------------------

/// Unsigned tensors lie in signed types here, which only RESCALE and operators that move bytes do not notice.
void Reader::check_unsigned() const {
    const auto any = [&](const std::vector<std::size_t>& ids) {
        return std::any_of(ids.begin(), ids.end(), [&](std::size_t id) { return file().tensors[id].is_unsigned; });
    };
    if (op().op == Op::rescale || (!any(op().inputs) && !any(op().outputs))) return;
    static constexpr Op moving[] = {Op::concat, Op::reshape,   Op::reverse, Op::slice,
                                    Op::tile,   Op::transpose, Op::identity};
    if (std::find(std::begin(moving), std::end(moving), op().op) == std::end(moving)) {
        fail("unsigned tensors can be rescaled and moved only", ErrorCode::unsupported);
    }
    for (std::size_t k = 0; k < input_count(); ++k) {
        if (in(k).is_unsigned != out().is_unsigned) fail("it mixes signed and unsigned tensors");
    }
}

void Reader::lower() {
    check_types(op_def(op().op == v0_30::fully_connected ? Op::conv2d : op().op));
    check_unsigned();
    v0_30::Attributes a;
    bool unsigned_in = false, unsigned_out = false;
    if (op().op == Op::resize) {
        // The length of its first field tells the layouts apart.
        const void* found = attribute(fb::Attribute::Resize);
        const auto* first = early() ? static_cast<const tosa030::FirstVector*>(found)->values() : nullptr;
        if (!early() || (first && first->size() == 4)) return lower_resize();
        read_early_resize(a);
    } else {
        read_attributes(a);
    }
    if (op().op == Op::rescale) {
        const auto& from = table<fb::RescaleAttribute>(fb::Attribute::Rescale);
        unsigned_in = from.input_unsigned();
        unsigned_out = from.output_unsigned();
    }
    // Later files leave the accumulator open; fp32 serves both.
    if (!early() && !a.acc_type && is_float(out().type)) a.acc_type = DType::fp32;
    std::vector<v0_30::Operand> operands;
    for (std::size_t k = 0; k < input_count(); ++k) operands.push_back({value(k), is_unsigned(in(k), unsigned_in)});
    std::vector<v0_30::Result> results;
    for (std::size_t k = 0; k < op().outputs.size(); ++k) {
        results.push_back({out(k).name, {out(k).type, is_unsigned(out(k), unsigned_out)}, out(k).shape});
    }
    const auto ids = v0_30::upgrade(builder_, op().op, operands, a, results, name());
    for (std::size_t k = 0; k < ids.size(); ++k) finish(k, ids[k]);
}

}  // namespace

std::unique_ptr<TosaReader> tosa_reader_old(const TosaFile& file, const ImportOptions& options, Probe* probe) {
    return std::make_unique<Reader>(file, options, probe);
}

}  // namespace tosavk
