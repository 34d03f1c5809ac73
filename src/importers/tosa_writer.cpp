// Writes a graph as a TOSA 1.0 flatbuffer: one region and one block "main", constants as operators CONST and
// CONST_SHAPE before all others, data padded with zeros to multiples of 8 bytes.
#include "importers/importer.hpp"
#include "importers/tosa_file.hpp"
#include "ops/op.hpp"

#include <fmt/format.h>

#include <limits>
#include <unordered_set>

namespace tosavk {

namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
namespace fb = tosa10;

fb::DType file_type(DType type) {
    switch (type) {
        case DType::boolean: return fb::DType::BOOL;
        case DType::i4: return fb::DType::INT4;
        case DType::i8: return fb::DType::INT8;
        case DType::i16: return fb::DType::INT16;
        case DType::i32: return fb::DType::INT32;
        case DType::i48: return fb::DType::INT48;
        case DType::fp8e4m3: return fb::DType::FP8E4M3;
        case DType::fp8e5m2: return fb::DType::FP8E5M2;
        case DType::fp16: return fb::DType::FP16;
        case DType::bf16: return fb::DType::BF16;
        case DType::fp32: return fb::DType::FP32;
        case DType::shape: return fb::DType::SHAPE;
    }
    throw Error(ErrorCode::internal, "a value has no type");
}

fb::NanPropagationMode file_mode(NanMode mode) {
    return mode == NanMode::propagate ? fb::NanPropagationMode::PROPAGATE : fb::NanPropagationMode::IGNORE;
}

fb::RoundingMode file_mode(Rounding rounding) {
    switch (rounding) {
        case Rounding::single_round: return fb::RoundingMode::SINGLE_ROUND;
        case Rounding::inexact_round: return fb::RoundingMode::INEXACT_ROUND;
        default: return fb::RoundingMode::DOUBLE_ROUND;
    }
}

class Writer {
public:
    explicit Writer(const Graph& graph) : graph_(graph) { name_values(); }
    Bytes run();

private:
    void name_values();
    Offset<flatbuffers::String> text(const std::string& s) { return out_.CreateSharedString(s); }
    Offset<flatbuffers::Vector<std::uint8_t>> data(Bytes bytes);
    Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> names(const std::vector<ValueId>& ids);
    Offset<void> attribute(const Node& node);
    Offset<fb::TosaOperator> operator_of(Op op, const std::vector<ValueId>& inputs, const std::vector<ValueId>& outputs,
                                         Offset<void> attribute, const std::string& location);

    const Graph& graph_;
    FlatBufferBuilder out_{1 << 16};
    std::vector<std::string> names_;
};

// Every name stands for one value in the whole file. Inputs and outputs are named first and so keep their names.
void Writer::name_values() {
    names_.resize(graph_.values.size());
    std::unordered_set<std::string> used;
    const auto give = [&](ValueId id) {
        if (!names_[id].empty()) return;
        const std::string wanted = graph_.value(id).name.empty() ? fmt::format("value_{}", id) : graph_.value(id).name;
        std::string name = wanted;
        for (int n = 2; !used.insert(name).second; ++n) name = fmt::format("{}#{}", wanted, n);
        names_[id] = name;
    };
    for (const ValueId id : graph_.inputs) give(id);
    for (const ValueId id : graph_.outputs) give(id);
    for (ValueId id = 0; id < graph_.values.size(); ++id) give(id);
}

Offset<flatbuffers::Vector<std::uint8_t>> Writer::data(Bytes bytes) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    out_.ForceVectorAlignment(bytes.size(), 1, 8);
    return out_.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> Writer::names(const std::vector<ValueId>& ids) {
    std::vector<Offset<flatbuffers::String>> all;
    for (const ValueId id : ids) all.push_back(text(names_.at(id)));
    return out_.CreateVector(all);
}

Offset<void> Writer::attribute(const Node& node) {
    const Attributes& a = node.attrs;
    const auto list = [&](const std::vector<std::int32_t>& values) { return out_.CreateVector(values); };
    const fb::NanPropagationMode nan_mode = file_mode(a.nan_mode);
    switch (node.op) {
        case Op::argmax: return fb::CreateArgMaxAttribute(out_, a.axis, nan_mode).Union();
        case Op::avg_pool2d: {
            const auto kernel = list(a.kernel), stride = list(a.stride), pad = list(a.pad);
            return fb::CreateAvgPool2dAttribute(out_, kernel, stride, pad, file_type(a.acc_type)).Union();
        }
        case Op::conv2d: case Op::conv3d: case Op::depthwise_conv2d: {
            const auto pad = list(a.pad), stride = list(a.stride), dilation = list(a.dilation);
            return fb::CreateConvAttribute(out_, pad, stride, dilation, a.local_bound, file_type(a.acc_type)).Union();
        }
        case Op::fft2d: return fb::CreateFFT2dAttribute(out_, a.inverse, a.local_bound).Union();
        case Op::max_pool2d: {
            const auto kernel = list(a.kernel), stride = list(a.stride), pad = list(a.pad);
            return fb::CreateMaxPool2dAttribute(out_, kernel, stride, pad, nan_mode).Union();
        }
        case Op::rfft2d: return fb::CreateRFFT2dAttribute(out_, a.local_bound).Union();
        case Op::transpose_conv2d: {
            const auto out_pad = list(a.pad), stride = list(a.stride);
            return fb::CreateTransposeConv2dAttribute(out_, out_pad, stride, a.local_bound, file_type(a.acc_type))
                .Union();
        }
        case Op::clamp: {
            const DType type = graph_.value(node.inputs.at(0)).type;
            const auto bound = [&](double value) {
                return data(pack_tosa(type, encode_reals(type, std::span<const double>(&value, 1))));
            };
            const auto min_val = bound(a.min_val), max_val = bound(a.max_val);
            return fb::CreateClampAttribute(out_, min_val, max_val, nan_mode).Union();
        }
        case Op::arithmetic_right_shift: return fb::CreateArithmeticRightShiftAttribute(out_, a.round).Union();
        case Op::maximum: case Op::minimum: return fb::CreateNanModeAttribute(out_, nan_mode).Union();
        case Op::reduce_max: case Op::reduce_min: return fb::CreateReduceNanAttribute(out_, a.axis, nan_mode).Union();
        case Op::reduce_all: case Op::reduce_any: case Op::reduce_product: case Op::reduce_sum: case Op::concat:
        case Op::reverse: return fb::CreateAxisAttribute(out_, a.axis).Union();
        case Op::transpose: {
            const auto perms = list(a.perms);
            return fb::CreateTransposeAttribute(out_, perms).Union();
        }
        case Op::resize:
            return fb::CreateResizeAttribute(out_, a.mode == ResizeMode::nearest ? fb::ResizeMode::NEAREST
                                                                                 : fb::ResizeMode::BILINEAR).Union();
        case Op::rescale:
            return fb::CreateRescaleAttribute(out_, a.scale32, file_mode(a.rounding), a.per_channel, a.input_unsigned,
                                              a.output_unsigned).Union();
        case Op::unknown: case Op::custom: case Op::cond_if: case Op::while_loop: case Op::variable:
        case Op::variable_write: case Op::variable_read:
            throw Error(ErrorCode::unsupported, fmt::format("operator {} cannot be written to a .tosa file",
                                                            name_of(node.op)), node.name);
        default: return fb::CreateNoAttribute(out_).Union();
    }
}

Offset<fb::TosaOperator> Writer::operator_of(Op op, const std::vector<ValueId>& inputs,
                                             const std::vector<ValueId>& outputs, Offset<void> attribute,
                                             const std::string& location) {
    const auto in = names(inputs), to = names(outputs);
    Offset<fb::OpLocation> where;
    if (!location.empty()) where = fb::CreateOpLocation(out_, text(location));
    const auto code = static_cast<std::uint32_t>(op);
    return fb::CreateTosaOperator(out_, code, static_cast<fb::Attribute>(code), attribute, in, to, where);
}

Bytes Writer::run() {
    std::uint64_t total = 0;
    for (const Value& v : graph_.values) total += v.is_constant() ? v.data->size() : 0;
    if (total > std::numeric_limits<std::int32_t>::max() / 2) {
        throw Error(ErrorCode::unsupported, "a .tosa file cannot hold more than 1 GiB of constants");
    }
    std::vector<Offset<fb::TosaTensor>> tensors;
    std::vector<Offset<fb::TosaShape>> shapes;
    std::vector<Offset<fb::TosaOperator>> operators;
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
        const Value& v = graph_.values[id];
        const auto name = text(names_[id]);
        const bool is_shape = v.type == DType::shape;
        if (is_shape && !v.is_constant()) {
            throw Error(ErrorCode::unsupported,
                        fmt::format("shape '{}' is no constant and cannot be written to a .tosa file", v.name));
        }
        const auto bytes = data(v.is_constant() ? pack_tosa(v.type, *v.data) : Bytes());
        if (is_shape) {
            const auto rank = static_cast<std::uint32_t>(element_count(v.shape));
            shapes.push_back(fb::CreateTosaShape(out_, name, rank, bytes));
        } else {
            std::vector<std::int32_t> dims;
            for (const std::int64_t d : v.shape) {
                if (d > std::numeric_limits<std::int32_t>::max()) {
                    throw Error(ErrorCode::unsupported,
                                fmt::format("tensor '{}' of shape {} is too large for a .tosa file", v.name,
                                            to_string(v.shape)), {}, v.name);
                }
                dims.push_back(static_cast<std::int32_t>(d));
            }
            const auto shape = out_.CreateVector(dims);
            const auto variable_name = text("");  // other readers take it for granted
            const auto type = static_cast<std::uint32_t>(file_type(v.type));
            tensors.push_back(fb::CreateTosaTensor(out_, name, shape, type, bytes, false, false, variable_name));
        }
        if (!v.is_constant()) continue;
        operators.push_back(operator_of(is_shape ? Op::const_shape : Op::constant, {}, {id},
                                        fb::CreateNoAttribute(out_).Union(), {}));
    }
    for (const Node& node : graph_.nodes) {
        const Offset<void> attrs = attribute(node);
        // A name that the first output tells anyway is not repeated.
        const std::string& own = names_.at(node.outputs.at(0));
        operators.push_back(operator_of(node.op, node.inputs, node.outputs, attrs, node.name == own ? "" : node.name));
    }
    const auto main = text("main");
    const auto op_list = out_.CreateVector(operators);
    const auto tensor_list = out_.CreateVector(tensors);
    const auto inputs = names(graph_.inputs), outputs = names(graph_.outputs);
    const auto shape_list = out_.CreateVector(shapes);
    const auto block = fb::CreateTosaBasicBlock(out_, main, op_list, tensor_list, inputs, outputs, shape_list);
    const auto blocks = out_.CreateVector(&block, 1);
    const auto region = fb::CreateTosaRegion(out_, main, blocks);
    const auto regions = out_.CreateVector(&region, 1);
    const auto version = fb::CreateVersion(out_, 1, 0, 0, false);
    fb::FinishTosaGraphBuffer(out_, fb::CreateTosaGraph(out_, version, regions));
    const auto* begin = reinterpret_cast<const std::byte*>(out_.GetBufferPointer());
    return Bytes(begin, begin + out_.GetSize());
}

}  // namespace

Bytes write_tosa(const Graph& graph) { return Writer(graph).run(); }

}  // namespace tosavk
