// Writes a graph as a TOSA 1.0 flatbuffer: a region and a block "main" and a region for each branch and loop, constants
// as operators CONST and CONST_SHAPE before all others, data padded with zeros to multiples of 8 bytes. Variables stand
// in every block that uses them, and are declared by VARIABLE in the first.
#include "frontends/tosa/file.hpp"
#include "frontends/tosa/tosa.hpp"

#include "base/text.hpp"
#include "ops/empty.hpp"
#include "ops/op.hpp"
#include "ops/print.hpp"

#include <fmt/format.h>

#include <limits>
#include <map>

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
    explicit Writer(const Graph& graph) : main_(graph) {}
    Bytes run();

private:
    /// Names of one graph's values; in the whole file each name stands for one tensor.
    using Names = std::vector<std::string>;

    Names name_values(const Graph& graph);
    Offset<fb::TosaBasicBlock> block(const Graph& graph, const std::string& name);
    std::string region(const Graph& graph, const std::string& name);
    void count_bytes(const Graph& graph);
    Offset<fb::TosaTensor> tensor(const std::string& name, DType type, const Shape& shape, const SharedBytes& bytes,
                                  const std::string* variable);
    Offset<flatbuffers::String> text(const std::string& s) { return out_.CreateSharedString(s); }
    Offset<flatbuffers::Vector<std::uint8_t>> data(Bytes bytes);
    Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> list_of(const Names& all);
    Offset<void> attribute(const Graph& graph, const Node& node);
    Offset<void> custom(const std::string& op, const std::string& domain, const std::string& attrs);
    Offset<fb::TosaOperator> operator_of(Op op, const Names& inputs, const Names& outputs, Offset<void> attribute,
                                         const std::string& location);

    const Graph& main_;
    FlatBufferBuilder out_{1 << 16};
    UniqueNames used_;
    std::map<std::string, std::string> variables_;  ///< name in the file by name in the graph
    std::vector<Offset<fb::TosaRegion>> regions_;   ///< the first one is made last
    std::uint64_t total_ = 0;
};

// Inputs and outputs are named first and so keep their names.
Writer::Names Writer::name_values(const Graph& graph) {
    Names names(graph.values.size());
    const auto give = [&](ValueId id) {
        if (!names[id].empty()) return;
        names[id] = used_.give(graph.value(id).name.empty() ? fmt::format("value_{}", id) : graph.value(id).name);
    };
    for (const ValueId id : graph.inputs) give(id);
    for (const ValueId id : graph.outputs) give(id);
    for (ValueId id = 0; id < graph.values.size(); ++id) give(id);
    return names;
}

Offset<flatbuffers::Vector<std::uint8_t>> Writer::data(Bytes bytes) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    out_.ForceVectorAlignment(bytes.size(), 1, 8);
    return out_.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> Writer::list_of(const Names& names) {
    std::vector<Offset<flatbuffers::String>> all;
    for (const std::string& name : names) all.push_back(text(name));
    return out_.CreateVector(all);
}

Offset<void> Writer::attribute(const Graph& graph, const Node& node) {
    const Attributes& a = node.attrs;
    const auto list = [&](const std::vector<std::int32_t>& values) { return out_.CreateVector(values); };
    const fb::NanPropagationMode nan_mode = file_mode(a.nan_mode);
    switch (node.op) {
        case Op::argmax: return fb::CreateArgMaxAttribute(out_, a.axis, nan_mode).Union();
        case Op::avg_pool2d: {
            const auto kernel = list(a.kernel), stride = list(a.stride), pad = list(a.pad);
            return fb::CreateAvgPool2dAttribute(out_, kernel, stride, pad, file_type(a.acc_type)).Union();
        }
        case Op::conv2d:
        case Op::conv3d:
        case Op::depthwise_conv2d: {
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
            const DType type = graph.value(node.inputs.at(0)).type;
            const auto bound = [&](double value) {
                return data(pack_tosa(type, encode_reals(type, std::span<const double>(&value, 1))));
            };
            const auto min_val = bound(a.min_val), max_val = bound(a.max_val);
            return fb::CreateClampAttribute(out_, min_val, max_val, nan_mode).Union();
        }
        case Op::arithmetic_right_shift: return fb::CreateArithmeticRightShiftAttribute(out_, a.round).Union();
        case Op::maximum:
        case Op::minimum: return fb::CreateNanModeAttribute(out_, nan_mode).Union();
        case Op::reduce_max:
        case Op::reduce_min: return fb::CreateReduceNanAttribute(out_, a.axis, nan_mode).Union();
        case Op::reduce_all:
        case Op::reduce_any:
        case Op::reduce_product:
        case Op::reduce_sum:
        case Op::concat:
        case Op::reverse: return fb::CreateAxisAttribute(out_, a.axis).Union();
        case Op::transpose: {
            const auto perms = list(a.perms);
            return fb::CreateTransposeAttribute(out_, perms).Union();
        }
        case Op::resize:
            return fb::CreateResizeAttribute(
                       out_, a.mode == ResizeMode::nearest ? fb::ResizeMode::NEAREST : fb::ResizeMode::BILINEAR)
                .Union();
        case Op::rescale:
            return fb::CreateRescaleAttribute(out_, a.scale32, file_mode(a.rounding), a.per_channel, a.input_unsigned,
                                              a.output_unsigned)
                .Union();
        case Op::custom: return custom(a.operator_name, a.domain_name, a.implementation_attrs);
        case Op::cond_if:
        case Op::while_loop: {
            const bool loop = node.op == Op::while_loop;
            const std::string base = node.name.empty() ? loop ? "while_loop" : "cond_if" : node.name;
            const auto first = text(region(*node.regions.at(0), base + (loop ? ".cond" : ".then")));
            const auto second = text(region(*node.regions.at(1), base + (loop ? ".body" : ".else")));
            return loop ? fb::CreateWhileLoopAttribute(out_, first, second).Union()
                        : fb::CreateCondIfAttribute(out_, first, second).Union();
        }
        case Op::unknown:
        case Op::variable:
            throw Error(ErrorCode::unsupported,
                        fmt::format("operator {} cannot be written to a .tosa file", name_of(node.op)), node.name);
        default:
            if (is_own(node.op))
                return custom(std::string(name_of(node.op)), std::string(own_domain), attributes_text(node));
            return fb::CreateNoAttribute(out_).Union();
    }
}

Offset<void> Writer::custom(const std::string& op, const std::string& domain, const std::string& attrs) {
    const auto name = text(op), domain_name = text(domain);
    const auto bytes = out_.CreateVector(reinterpret_cast<const std::uint8_t*>(attrs.data()), attrs.size());
    return fb::CreateCustomAttribute(out_, name, domain_name, bytes).Union();
}

Offset<fb::TosaOperator> Writer::operator_of(Op op, const Names& inputs, const Names& outputs, Offset<void> attribute,
                                             const std::string& location) {
    const auto in = list_of(inputs), to = list_of(outputs);
    Offset<fb::OpLocation> where;
    if (!location.empty()) where = fb::CreateOpLocation(out_, text(location));
    const auto code = static_cast<std::uint32_t>(is_own(op) ? Op::custom : op);
    return fb::CreateTosaOperator(out_, code, static_cast<fb::Attribute>(code), attribute, in, to, where);
}

Offset<fb::TosaTensor> Writer::tensor(const std::string& name, DType type, const Shape& dims, const SharedBytes& bytes,
                                      const std::string* variable) {
    std::vector<std::int32_t> narrow;
    for (const std::int64_t d : dims) {
        if (d > std::numeric_limits<std::int32_t>::max()) {
            throw Error(ErrorCode::unsupported,
                        fmt::format("tensor '{}' of shape {} is too large for a .tosa file", name, to_string(dims)), {},
                        name);
        }
        narrow.push_back(static_cast<std::int32_t>(d));
    }
    const auto label = text(name);
    const auto content = data(bytes ? pack_tosa(type, *bytes) : Bytes());
    const auto shape = out_.CreateVector(narrow);
    const auto variable_name = text(variable ? *variable : "");  // other readers take it for granted
    return fb::CreateTosaTensor(out_, label, shape, static_cast<std::uint32_t>(file_type(type)), content,
                                variable != nullptr, false, variable_name);
}

Offset<fb::TosaBasicBlock> Writer::block(const Graph& graph, const std::string& block_name) {
    const Names names = name_values(graph);
    const auto named = [&](const std::vector<ValueId>& ids) {
        Names list;
        for (const ValueId id : ids) list.push_back(names.at(id));
        return list;
    };
    std::vector<Offset<fb::TosaTensor>> tensors;
    std::vector<Offset<fb::TosaShape>> shapes;
    std::vector<Offset<fb::TosaOperator>> operators;
    for (const Variable& v : graph.variables) {
        const bool fresh = !variables_.contains(v.name);
        if (fresh) variables_[v.name] = used_.give(v.name);
        const std::string& name = variables_[v.name];
        tensors.push_back(tensor(name, v.type, v.shape, v.initial, &v.name));
        if (fresh) operators.push_back(operator_of(Op::variable, {}, {name}, fb::CreateNoAttribute(out_).Union(), {}));
    }
    for (ValueId id = 0; id < graph.values.size(); ++id) {
        const Value& v = graph.values[id];
        const bool is_shape = v.type == DType::shape;
        if (is_shape && !v.is_constant()) {
            throw Error(ErrorCode::unsupported,
                        fmt::format("shape '{}' is no constant and cannot be written to a .tosa file", v.name));
        }
        if (is_shape) {
            const auto name = text(names[id]);
            const auto bytes = data(pack_tosa(v.type, *v.data));
            shapes.push_back(
                fb::CreateTosaShape(out_, name, static_cast<std::uint32_t>(element_count(v.shape)), bytes));
        } else {
            tensors.push_back(tensor(names[id], v.type, v.shape, v.data, nullptr));
        }
        if (!v.is_constant()) continue;
        operators.push_back(operator_of(is_shape ? Op::const_shape : Op::constant, {}, {names[id]},
                                        fb::CreateNoAttribute(out_).Union(), {}));
    }
    for (const Node& node : graph.nodes) {
        const Offset<void> attrs = attribute(graph, node);
        Names inputs = named(node.inputs), outputs = named(node.outputs);
        if (node.op == Op::variable_read) inputs.push_back(variables_.at(node.attrs.variable));
        if (node.op == Op::variable_write) outputs.push_back(variables_.at(node.attrs.variable));
        // A name that the first output tells anyway is not repeated.
        const bool known = !outputs.empty() && node.name == outputs[0];
        operators.push_back(operator_of(node.op, inputs, outputs, attrs, known ? "" : node.name));
    }
    const auto name = text(block_name);
    const auto op_list = out_.CreateVector(operators);
    const auto tensor_list = out_.CreateVector(tensors);
    const auto inputs = list_of(named(graph.inputs)), outputs = list_of(named(graph.outputs));
    const auto shape_list = out_.CreateVector(shapes);
    return fb::CreateTosaBasicBlock(out_, name, op_list, tensor_list, inputs, outputs, shape_list);
}

/// Writes the region and returns its name. Other writers name the block within like this.
std::string Writer::region(const Graph& graph, const std::string& wanted) {
    const std::string name = used_.give(wanted);
    const auto inner = block(graph, name + "_bb0");
    const auto blocks = out_.CreateVector(&inner, 1);
    const auto label = text(name);
    regions_.push_back(fb::CreateTosaRegion(out_, label, blocks));
    return name;
}

void Writer::count_bytes(const Graph& graph) {
    for (const Value& v : graph.values) total_ += v.is_constant() ? v.data->size() : 0;
    for (const Variable& v : graph.variables) total_ += v.initial ? v.initial->size() : 0;
    for (const Node& node : graph.nodes) {
        for (const auto& inner : node.regions) count_bytes(*inner);
    }
}

Bytes Writer::run() {
    count_bytes(main_);
    if (total_ > std::numeric_limits<std::int32_t>::max() / 2) {
        throw Error(ErrorCode::unsupported, "a .tosa file cannot hold more than 1 GiB of constants");
    }
    const auto main_block = block(main_, "main");
    const auto main = text("main");
    const auto blocks = out_.CreateVector(&main_block, 1);
    regions_.insert(regions_.begin(), fb::CreateTosaRegion(out_, main, blocks));
    const auto regions = out_.CreateVector(regions_);
    const auto version = fb::CreateVersion(out_, 1, 0, 0, false);
    fb::FinishTosaGraphBuffer(out_, fb::CreateTosaGraph(out_, version, regions));
    const auto* begin = reinterpret_cast<const std::byte*>(out_.GetBufferPointer());
    return Bytes(begin, begin + out_.GetSize());
}

}  // namespace

Bytes write_tosa(const Graph& graph, bool may_be_empty) {
    if (!may_be_empty && has_empty_ends(graph)) {
        throw Error(ErrorCode::unsupported,
                    "an input or output of the graph has no elements, which a .tosa file cannot say");
    }
    return Writer(graph).run();
}

}  // namespace tosavk
