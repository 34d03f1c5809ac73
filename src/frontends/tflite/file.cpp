// Verifies a .tflite flatbuffer and checks all that the lowering relies on.
#include "frontends/tflite/file.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tosavk {

namespace {

using T = tflite::TensorType;

constexpr std::size_t max_flatbuffer_bytes = 0x7ffffffe;  // its offsets are 31 bits
constexpr std::size_t max_rank = 32;
constexpr std::size_t max_operands = 65536;

[[noreturn]] void bad(const std::string& what) { throw Error(ErrorCode::bad_model, "TFLite model: " + what); }

template <class T> std::span<const T> view(const flatbuffers::Vector<T>* vector) {
    if (!vector) return {};
    return {vector->data(), vector->size()};
}

void read_shape(const tflite::Tensor& table, TfliteTensor& out) {
    const auto shape = view(table.shape());
    const auto signature = view(table.shape_signature());
    if (shape.size() > max_rank) bad(fmt::format("{} has rank {}", out.title(), shape.size()));
    if (!signature.empty() && signature.size() != shape.size()) {
        bad(fmt::format("{} has a shape of {} dimensions, but a shape signature of {}", out.title(), shape.size(),
                        signature.size()));
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] < -1 || (!signature.empty() && signature[i] < -1)) {
            bad(fmt::format("dimension {} of {} is negative", i, out.title()));
        }
        out.shape.push_back(shape[i]);
        out.dynamic.push_back(shape[i] == -1 || (!signature.empty() && signature[i] == -1));
    }
}

void read_data(std::span<const std::byte> data, const tflite::SparsityParameters* sparsity, TfliteTensor& out) {
    if (data.empty()) return;
    out.is_constant = true;
    out.data = data;
    out.sparsity = sparsity;
    const std::size_t bits = packed_bits(out.type), size = bits != 0 ? 1 : element_size(out.type);
    if (size == 0) return;  // refused by its type where it is used
    for (std::size_t i = 0; i < out.shape.size(); ++i) {
        if (out.shape[i] < 1) bad(fmt::format("dimension {} of constant {} is {}", i, out.title(), out.shape[i]));
    }
    if (out.sparsity) return;  // what it has is counted where it is unpacked
    const auto count = static_cast<std::uint64_t>(element_count(out.shape));
    const std::uint64_t expected = bits != 0 ? (count * bits + 7) / 8 : count * size;
    if (out.data.size() != expected) {
        bad(fmt::format("constant {} of type {} and shape {} needs {} bytes, but its buffer has {}", out.title(),
                        name_of(out.type), to_string(out.shape), expected, out.data.size()));
    }
}

void read_quantization(const tflite::Tensor& table, TfliteTensor& out) {
    const tflite::QuantizationParameters* q = table.quantization();
    if (!q) return;
    if (const auto* blocks = q->details_as_BlockwiseQuantization()) {
        out.block_size = blocks->block_size();
        out.block_scales = blocks->scales();
        if (out.block_size < 1) out.unsupported = "it is quantized in blocks of no elements";
        return;
    }
    if (q->details_type() != tflite::QuantizationDetails::NONE) {
        out.unsupported = "its kind of quantization is not supported";
        return;
    }
    out.scale = view(q->scale());
    // Copied: a damaged file may have them where no int64_t may lie.
    if (const auto* numbers = q->zero_point(); numbers && numbers->size() > 0) {
        out.zero_point.resize(numbers->size());
        std::memcpy(out.zero_point.data(), numbers->Data(), numbers->size() * sizeof(std::int64_t));
    }
    out.axis = q->quantized_dimension();
    if (out.scale.empty()) {
        out.zero_point = {};
        return;
    }
    if (out.scale.size() > 1) {
        const auto rank = static_cast<std::int32_t>(out.shape.size());
        if (out.axis < 0 || out.axis >= rank) {
            out.bad_quantization = fmt::format("is quantized along dimension {}, but has rank {}", out.axis, rank);
            return;
        }
        const std::int64_t channels = out.shape[static_cast<std::size_t>(out.axis)];
        if (static_cast<std::int64_t>(out.scale.size()) != channels) {
            out.bad_quantization = fmt::format("has {} scales for {} channels", out.scale.size(), channels);
        }
    }
    if (out.zero_point.size() > 1 && out.zero_point.size() != out.scale.size()) {
        out.bad_quantization = fmt::format("has {} zero points and {} scales", out.zero_point.size(), out.scale.size());
    }
}

void check_indices(std::span<const std::int32_t> indices, std::size_t count, bool optional, const std::string& what) {
    if (indices.size() > max_operands) bad(fmt::format("{}: {} tensors are too many", what, indices.size()));
    for (const std::int32_t i : indices) {
        if (optional && i == -1) continue;
        if (i < 0 || static_cast<std::size_t>(i) >= count) {
            bad(fmt::format("{}: tensor {} does not exist (there are {})", what, i, count));
        }
    }
}

TfliteOperator read_operator(const tflite::Model& model, const tflite::Operator& table, std::size_t index,
                             std::size_t tensor_count) {
    const auto* codes = model.operator_codes();
    if (!codes || table.opcode_index() >= codes->size()) {
        bad(fmt::format("node {} refers to operator code {}, but there are {}", index, table.opcode_index(),
                        codes ? codes->size() : 0));
    }
    const tflite::OperatorCode& code = *codes->Get(table.opcode_index());
    TfliteOperator op;
    const auto effective =
        std::max<std::int32_t>(code.deprecated_builtin_code(), static_cast<std::int32_t>(code.builtin_code()));
    op.code = static_cast<tflite::BuiltinOperator>(effective);
    op.is_known = effective >= 0 && effective <= static_cast<std::int32_t>(tflite::BuiltinOperator::MAX);
    op.name = op.is_known ? std::string(tflite::EnumNameBuiltinOperator(op.code)) : std::to_string(effective);
    if (op.code == tflite::BuiltinOperator::CUSTOM) {
        op.custom = shown(code.custom_code());
        op.name += fmt::format(" '{}'", op.custom);
    }
    op.table = &table;
    op.inputs = view(table.inputs());
    op.outputs = view(table.outputs());
    check_indices(op.inputs, tensor_count, true, fmt::format("inputs of node {} ({})", index, op.name));
    check_indices(op.outputs, tensor_count, false, fmt::format("outputs of node {} ({})", index, op.name));
    return op;
}

}  // namespace

std::string TfliteTensor::title() const { return fmt::format("tensor {} '{}'", index, name); }

bool TfliteTensor::is_empty() const { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

std::string shown(const flatbuffers::String* string) {
    return string ? printable({string->c_str(), string->size()}) : std::string();
}

std::string_view name_of(tflite::TensorType type) {
    const char* name = tflite::EnumNameTensorType(type);
    return *name ? std::string_view(name) : std::string_view("an unknown type");
}

std::size_t element_size(tflite::TensorType type) {
    switch (type) {
        case T::INT8:
        case T::UINT8:
        case T::BOOL: return 1;
        case T::INT16:
        case T::UINT16:
        case T::FLOAT16:
        case T::BFLOAT16: return 2;
        case T::FLOAT32:
        case T::INT32:
        case T::UINT32: return 4;
        case T::FLOAT64:
        case T::INT64:
        case T::UINT64: return 8;
        default: return 0;
    }
}

std::size_t packed_bits(tflite::TensorType type) {
    return type == tflite::TensorType::INT4 ? 4 : type == tflite::TensorType::INT2 ? 2 : 0;
}

TfliteFile::TfliteFile(std::span<const std::byte> bytes, const ImportOptions& options) : folder_(options.folder) {
    // The verifier checks alignment relative to the start; the start itself must be aligned for 64-bit fields.
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::uint64_t) != 0) {
        aligned_copy_.resize((bytes.size() + 7) / 8);
        std::memcpy(aligned_copy_.data(), bytes.data(), bytes.size());
        bytes = std::as_bytes(std::span(aligned_copy_)).first(bytes.size());
    }
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    if (bytes.size() < 16) bad("the file is truncated");
    if (!tflite::ModelBufferHasIdentifier(data)) bad("the file does not begin like a TFLite flatbuffer");
    // Constants of a larger file lie behind its flatbuffer.
    flatbuffers::Verifier verifier(data, std::min(bytes.size(), max_flatbuffer_bytes), /*max_depth=*/128,
                                   /*max_tables=*/1000000);
    if (!tflite::VerifyModelBuffer(verifier)) bad("the file is damaged or truncated (flatbuffer verification failed)");

    const tflite::Model& model = *tflite::GetModel(data);
    if (model.version() != 3) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("TFLite model: schema version {} is not supported, only 3", model.version()));
    }
    if (!model.subgraphs() || model.subgraphs()->size() == 0) bad("there is no subgraph");
    model_ = &model;
    bytes_ = bytes;
    if (options.signature.empty()) main = read_subgraph(0);
    else choose_signature(options.signature);
    if (main.outputs.empty()) bad("the main subgraph has no output");
}

std::size_t TfliteFile::subgraph_count() const { return model_->subgraphs()->size(); }

TfliteSubgraph TfliteFile::read_subgraph(std::size_t index) const {
    const tflite::SubGraph& table = *model_->subgraphs()->Get(static_cast<flatbuffers::uoffset_t>(index));
    const std::string kind = index == 0 ? std::string("graph") : fmt::format("subgraph {}", index);
    TfliteSubgraph graph;
    graph.name = shown(table.name());
    if (!table.tensors() || (index == 0 && !table.operators())) {
        bad(fmt::format("the {} has no tensors or no operators", index == 0 ? "main subgraph" : kind));
    }
    graph.tensors.reserve(table.tensors()->size());
    for (const tflite::Tensor* from : *table.tensors()) {
        TfliteTensor tensor;
        tensor.index = graph.tensors.size();
        tensor.name = shown(from->name());
        tensor.type = from->type();
        tensor.is_variable = from->is_variable();
        read_shape(*from, tensor);
        read_data(data_of(*from, tensor.title()), from->sparsity(), tensor);
        if (tensor.unsupported.empty()) read_quantization(*from, tensor);
        graph.tensors.push_back(std::move(tensor));
    }
    graph.inputs = view(table.inputs());
    graph.outputs = view(table.outputs());
    check_indices(graph.inputs, graph.tensors.size(), false, kind + " inputs");
    check_indices(graph.outputs, graph.tensors.size(), false, kind + " outputs");
    for (std::size_t k = 0; table.operators() && k < table.operators()->size(); ++k) {
        const tflite::Operator& from = *table.operators()->Get(static_cast<flatbuffers::uoffset_t>(k));
        graph.operators.push_back(read_operator(*model_, from, k, graph.tensors.size()));
    }
    return graph;
}

}  // namespace tosavk
