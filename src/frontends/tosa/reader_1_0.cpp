// TOSA 1.0 files: an operator is a node; its attributes are read off the table of its kind.
#include "frontends/tosa/reader.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

class Reader : public TosaReader {
public:
    using TosaReader::TosaReader;

private:
    void lower() override;
    Attributes attributes() const;

    template <class T> const T& table(const T* given) const {
        if (!given) fail("its attributes are missing");
        return *given;
    }
    static std::vector<std::int32_t> list(const flatbuffers::Vector<std::int32_t>* values) {
        return values ? std::vector<std::int32_t>(values->begin(), values->end()) : std::vector<std::int32_t>();
    }
    DType acc_type(tosa10::DType type) const {
        switch (type) {
            case tosa10::DType::INT32: return DType::i32;
            case tosa10::DType::INT48: return DType::i48;
            case tosa10::DType::FP16: return DType::fp16;
            case tosa10::DType::FP32: return DType::fp32;
            default: fail(fmt::format("acc_type {} is no accumulator type", static_cast<std::uint32_t>(type)));
        }
    }
    NanMode nan_mode(tosa10::NanPropagationMode mode) const {
        switch (mode) {
            case tosa10::NanPropagationMode::UNKNOWN:
            case tosa10::NanPropagationMode::PROPAGATE: return NanMode::propagate;
            case tosa10::NanPropagationMode::IGNORE: return NanMode::ignore;
            default: fail(fmt::format("nan_mode {} is not known", static_cast<std::uint32_t>(mode)));
        }
    }
    Rounding rounding(tosa10::RoundingMode mode) const {
        switch (mode) {
            case tosa10::RoundingMode::SINGLE_ROUND: return Rounding::single_round;
            case tosa10::RoundingMode::INEXACT_ROUND: return Rounding::inexact_round;
            case tosa10::RoundingMode::DOUBLE_ROUND: return Rounding::double_round;
            default: fail(fmt::format("rounding_mode {} is not known", static_cast<std::uint32_t>(mode)));
        }
    }
    /// A bound of CLAMP: one element of the operator's type.
    double bound(const flatbuffers::Vector<std::uint8_t>* data, const char* what) const {
        const auto bytes = data ? std::as_bytes(std::span(data->data(), data->size())) : std::span<const std::byte>();
        const DType type = in(0).type;
        return decode_reals(type, unpack_tosa(type, 1, bytes, fmt::format("{} of CLAMP '{}'", what, name()))).at(0);
    }
};

Attributes Reader::attributes() const {
    const tosa10::TosaOperator& t = *op().v1_0;
    Attributes a;
    const auto window = [&](const auto& from) {
        a.stride = list(from.stride());
        a.acc_type = acc_type(from.acc_type());
    };
    const auto conv = [&](const tosa10::ConvAttribute& from) {
        window(from);
        a.pad = list(from.pad());
        a.dilation = list(from.dilation());
        a.local_bound = from.local_bound();
    };
    switch (op().op) {
        case Op::argmax: {
            const auto& from = table(t.attribute_as_ArgMax());
            a.axis = from.axis();
            a.nan_mode = nan_mode(from.nan_mode());
            break;
        }
        case Op::avg_pool2d: {
            const auto& from = table(t.attribute_as_AvgPool2d());
            window(from);
            a.kernel = list(from.kernel());
            a.pad = list(from.pad());
            break;
        }
        case Op::conv2d: conv(table(t.attribute_as_Conv2d())); break;
        case Op::conv3d: conv(table(t.attribute_as_Conv3d())); break;
        case Op::depthwise_conv2d: conv(table(t.attribute_as_DepthwiseConv2d())); break;
        case Op::fft2d: {
            const auto& from = table(t.attribute_as_FFT2d());
            a.inverse = from.inverse();
            a.local_bound = from.local_bound();
            break;
        }
        case Op::max_pool2d: {
            const auto& from = table(t.attribute_as_MaxPool2d());
            a.kernel = list(from.kernel());
            a.stride = list(from.stride());
            a.pad = list(from.pad());
            a.nan_mode = nan_mode(from.nan_mode());
            break;
        }
        case Op::rfft2d: a.local_bound = table(t.attribute_as_RFFT2d()).local_bound(); break;
        case Op::transpose_conv2d: {
            const auto& from = table(t.attribute_as_TransposeConv2d());
            window(from);
            a.pad = list(from.out_pad());
            a.local_bound = from.local_bound();
            break;
        }
        case Op::clamp: {
            const auto& from = table(t.attribute_as_Clamp());
            a.min_val = bound(from.min_val(), "min_val");
            a.max_val = bound(from.max_val(), "max_val");
            a.nan_mode = nan_mode(from.nan_mode());
            break;
        }
        case Op::arithmetic_right_shift: a.round = table(t.attribute_as_ArithmeticRightShift()).round(); break;
        case Op::maximum: a.nan_mode = nan_mode(table(t.attribute_as_Maximum()).nan_mode()); break;
        case Op::minimum: a.nan_mode = nan_mode(table(t.attribute_as_Minimum()).nan_mode()); break;
        case Op::reduce_all: a.axis = table(t.attribute_as_ReduceAll()).axis(); break;
        case Op::reduce_any: a.axis = table(t.attribute_as_ReduceAny()).axis(); break;
        case Op::reduce_max:
        case Op::reduce_min: {
            const auto& from =
                table(op().op == Op::reduce_max ? t.attribute_as_ReduceMax() : t.attribute_as_ReduceMin());
            a.axis = from.axis();
            a.nan_mode = nan_mode(from.nan_mode());
            break;
        }
        case Op::reduce_product: a.axis = table(t.attribute_as_ReduceProduct()).axis(); break;
        case Op::reduce_sum: a.axis = table(t.attribute_as_ReduceSum()).axis(); break;
        case Op::concat: a.axis = table(t.attribute_as_Concat()).axis(); break;
        case Op::reverse: a.axis = table(t.attribute_as_Reverse()).axis(); break;
        case Op::transpose: a.perms = list(table(t.attribute_as_Transpose()).perms()); break;
        case Op::resize: {
            const auto mode = table(t.attribute_as_Resize()).mode();
            if (mode != tosa10::ResizeMode::NEAREST && mode != tosa10::ResizeMode::BILINEAR) {
                fail(fmt::format("mode {} is not known", static_cast<std::uint32_t>(mode)));
            }
            a.mode = mode == tosa10::ResizeMode::NEAREST ? ResizeMode::nearest : ResizeMode::bilinear;
            break;
        }
        case Op::rescale: {
            const auto& from = table(t.attribute_as_Rescale());
            a.scale32 = from.scale32();
            a.rounding = rounding(from.rounding_mode());
            a.per_channel = from.per_channel();
            a.input_unsigned = from.input_unsigned();
            a.output_unsigned = from.output_unsigned();
            break;
        }
        default: break;
    }
    return a;
}

void Reader::lower() {
    check_types(op_def(op().op));
    std::vector<DType> types;
    for (std::size_t k = 0; k < op().outputs.size(); ++k) types.push_back(out(k).type);
    Attributes attrs = attributes();
    const std::vector<ValueId> ids = builder_.add(op().op, values(), std::move(attrs), types, name());
    for (std::size_t k = 0; k < ids.size(); ++k) finish(k, ids[k]);
}

}  // namespace

std::unique_ptr<TosaReader> tosa_reader_1_0(const TosaFile& file, const ImportOptions& options, Probe* probe) {
    return std::make_unique<Reader>(file, options, probe);
}

}  // namespace tosavk
