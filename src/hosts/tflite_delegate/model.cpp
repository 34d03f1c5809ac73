#include "hosts/tflite_delegate/model.hpp"
#include "hosts/tflite_delegate/operators.hpp"

#include <tosavk/tosavk.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>

namespace tosavk::delegate {

namespace {

/// Of all constants of a file together: a flatbuffer ends at 2 GiB.
constexpr std::size_t most_constant_bytes = std::size_t{3} << 29;
constexpr std::size_t most_operands = 65536;

template <class T, class Array> std::vector<T> list(const Array* array) {
    if (array == nullptr || array->size <= 0) return {};
    return std::vector<T>(array->data, array->data + array->size);
}

class Writer {
public:
    Writer(const Context& context, SizesInFile sizes) : context_(context), sizes_(sizes) {
        buffers_.push_back(tflite::CreateBuffer(file_));
    }

    Model write(std::span<const NodeRecord* const> nodes, std::vector<int> outputs) {
        std::set<int> produced;
        for (const NodeRecord* node : nodes) produced.insert(node->outputs.begin(), node->outputs.end());
        Model model;
        model.outputs = std::move(outputs);
        std::set<int> seen;
        for (const NodeRecord* node : nodes) {
            for (const int input : node->inputs) {
                if (input < 0 || produced.contains(input) || is_constant(tensor(input))) continue;
                if (seen.insert(input).second) model.inputs.push_back(input);
            }
        }
        for (const NodeRecord* node : nodes) operators_.push_back(write_operator(*node));
        const auto inputs = numbers(model.inputs), results = numbers(model.outputs);
        const auto graph = tflite::CreateSubGraph(file_, file_.CreateVector(tensors_), file_.CreateVector(inputs),
                                                  file_.CreateVector(results), file_.CreateVector(operators_));
        const auto root = tflite::CreateModel(file_, 3, file_.CreateVector(codes_),
                                              file_.CreateVector(std::vector{graph}), 0, file_.CreateVector(buffers_));
        tflite::FinishModelBuffer(file_, root);
        const auto* bytes = reinterpret_cast<const std::byte*>(file_.GetBufferPointer());
        model.file.assign(bytes, bytes + file_.GetSize());
        return model;
    }

private:
    const Tensor& tensor(int index) const { return context_.tensors[index]; }

    std::vector<std::int32_t> numbers(const std::vector<int>& tensors) {
        std::vector<std::int32_t> result;
        for (const int index : tensors) result.push_back(number(index));
        return result;
    }

    /// The number of a tensor in the file, where it is written the first time.
    std::int32_t number(int index) {
        if (index < 0) return -1;
        const auto known = numbers_.find(index);
        if (known != numbers_.end()) return known->second;
        const auto written = write_tensor(tensor(index));
        tensors_.push_back(written);
        return numbers_[index] = static_cast<std::int32_t>(tensors_.size() - 1);
    }

    flatbuffers::Offset<tflite::Tensor> write_tensor(const Tensor& t) {
        std::uint32_t buffer = 0;
        if (is_constant(t)) {
            constant_bytes_ += t.bytes;
            if (constant_bytes_ > most_constant_bytes) throw Refused("its constants are too large for one file");
            file_.ForceVectorAlignment(t.bytes, 1, 16);
            const auto data = file_.CreateVector(static_cast<const std::uint8_t*>(t.data), t.bytes);
            buffers_.push_back(tflite::CreateBuffer(file_, data));
            buffer = static_cast<std::uint32_t>(buffers_.size() - 1);
        }
        const auto quantization = write_quantization(t);
        const auto sparsity = t.sparsity != nullptr ? write_sparsity(*t.sparsity) : 0;
        auto dims = list<std::int32_t>(t.dims);
        flatbuffers::Offset<flatbuffers::Vector<std::int32_t>> signature;
        if (sizes_ == SizesInFile::open && !is_constant(t) && !dims.empty()) {
            // As converters write it, so that the file is the same whatever the sizes are now.
            signature = file_.CreateVector(std::vector<std::int32_t>(dims.size(), -1));
            dims.assign(dims.size(), 1);
        }
        const auto shape = file_.CreateVector(dims);
        const auto name = file_.CreateString(t.name != nullptr ? t.name : "");
        tflite::TensorBuilder builder(file_);
        builder.add_shape(shape);
        builder.add_type(type_in_file(t.type));
        builder.add_buffer(buffer);
        builder.add_name(name);
        if (!quantization.IsNull()) builder.add_quantization(quantization);
        if (!sparsity.IsNull()) builder.add_sparsity(sparsity);
        if (!signature.IsNull()) builder.add_shape_signature(signature);
        builder.add_has_rank(true);
        return builder.Finish();
    }

    flatbuffers::Offset<tflite::QuantizationParameters> write_quantization(const Tensor& t) {
        std::vector<float> scale;
        std::vector<std::int64_t> zero_point;
        std::int32_t dimension = 0;
        if (t.quantization.type == quantization_affine && t.quantization.params != nullptr) {
            const auto& affine = *static_cast<const AffineQuantization*>(t.quantization.params);
            scale = list<float>(affine.scale);
            zero_point = list<std::int64_t>(affine.zero_point);
            dimension = affine.dimension;
        } else if (t.quantization.type == quantization_none && t.params.scale != 0) {
            scale = {t.params.scale};
            zero_point = {t.params.zero_point};
        } else if (t.quantization.type != quantization_none) {
            throw Refused("its kind of quantization is not taken");
        }
        if (scale.empty()) return 0;
        const auto scales = file_.CreateVector(scale);
        const auto zero_points = file_.CreateVector(zero_point);
        return tflite::CreateQuantizationParameters(file_, 0, 0, scales, zero_points, tflite::QuantizationDetails::NONE,
                                                    0, dimension);
    }

    flatbuffers::Offset<void> index_vector(const IntArray* array) {
        return tflite::CreateInt32Vector(file_, file_.CreateVector(list<std::int32_t>(array))).Union();
    }

    flatbuffers::Offset<tflite::SparsityParameters> write_sparsity(const Sparsity& sparsity) {
        std::vector<flatbuffers::Offset<tflite::DimensionMetadata>> dimensions;
        for (int k = 0; k < sparsity.dimension_count; ++k) {
            const DimensionMetadata& d = sparsity.dimensions[k];
            if (d.format == 0) {
                dimensions.push_back(
                    tflite::CreateDimensionMetadata(file_, tflite::DimensionType::DENSE, d.dense_size));
                continue;
            }
            const auto segments = index_vector(d.segments), indices = index_vector(d.indices);
            const auto kind = tflite::SparseIndexVector::Int32Vector;
            dimensions.push_back(tflite::CreateDimensionMetadata(file_, tflite::DimensionType::SPARSE_CSR, 0, kind,
                                                                 segments, kind, indices));
        }
        const auto order = file_.CreateVector(list<std::int32_t>(sparsity.traversal_order));
        const auto blocks = file_.CreateVector(list<std::int32_t>(sparsity.block_map));
        return tflite::CreateSparsityParameters(file_, order, blocks, file_.CreateVector(dimensions));
    }

    flatbuffers::Offset<tflite::Operator> write_operator(const NodeRecord& node) {
        const OperatorRow* row = find_operator(node.code);
        if (row == nullptr) throw Refused("operators of this kind are not taken");
        const auto inputs = numbers(node.inputs), outputs = numbers(node.outputs);
        Options options;
        if (row->write != nullptr) {
            if (node.parameters == nullptr) throw Refused("its parameters are missing");
            options = row->write(file_, node.parameters, node.parameters_version);
        }
        const auto custom = node.custom_options.empty()
                              ? 0
                              : file_.CreateVector(node.custom_options.data(), node.custom_options.size());
        const auto code_name = node.custom_name.empty() ? 0 : file_.CreateString(node.custom_name);
        codes_.push_back(tflite::CreateOperatorCode(file_, static_cast<std::int8_t>(std::min(node.code, 127)),
                                                    code_name, node.version, row->code));
        const auto reads = file_.CreateVector(inputs), writes = file_.CreateVector(outputs);
        return tflite::CreateOperator(file_, static_cast<std::uint32_t>(codes_.size() - 1), reads, writes, options.type,
                                      options.table, custom);
    }

    const Context& context_;
    const SizesInFile sizes_;
    flatbuffers::FlatBufferBuilder file_{1 << 16};
    std::map<int, std::int32_t> numbers_;
    std::vector<flatbuffers::Offset<tflite::Tensor>> tensors_;
    std::vector<flatbuffers::Offset<tflite::Buffer>> buffers_;
    std::vector<flatbuffers::Offset<tflite::OperatorCode>> codes_;
    std::vector<flatbuffers::Offset<tflite::Operator>> operators_;
    std::size_t constant_bytes_ = 0;
};

void check_tensor(const Context& context, int index) {
    if (index < 0 || static_cast<std::size_t>(index) >= context.tensor_count) throw Refused("a tensor is not there");
    const Tensor& t = context.tensors[index];
    type_in_file(t.type);
    if (t.is_variable) throw Refused("variables stay with the runtime");
    if (t.allocation_type == memory_dynamic) throw Refused("the size of a tensor is known too late");
    if (t.dims == nullptr || t.dims->size < 0 || t.dims->size > TOSAVK_MAX_RANK)
        throw Refused("a tensor has no rank, or too high a rank");
    for (int k = 0; k < t.dims->size; ++k) {
        if (t.dims->data[k] < 1) throw Refused("a tensor has no elements");
    }
}

}  // namespace

RuntimeAge age_of(int first_index, const Node* first, int second_index, const Node* second) {
    const auto bytes = reinterpret_cast<std::intptr_t>(second) - reinterpret_cast<std::intptr_t>(first);
    if (first_index == second_index || bytes % (second_index - first_index) != 0) return RuntimeAge::unknown;
    const auto each = bytes / (second_index - first_index);
    constexpr std::intptr_t oldest = sizeof(Node) + offsetof(Registration, external);
    constexpr std::intptr_t today = sizeof(Node) + sizeof(Registration);
    if (each >= oldest && each < today) return RuntimeAge::before_2_14;
    return each == today ? RuntimeAge::since_2_14 : RuntimeAge::unknown;
}

NodeRecord record_of(int index, const Node& node, const Registration& registration, RuntimeAge age) {
    NodeRecord record;
    record.index = index;
    record.code = registration.builtin_code;
    record.version = registration.version;
    record.parameters_version = registration.version;
    if (age == RuntimeAge::since_2_14)
        record.parameters_version = std::max(record.version, version_in_2_14(record.code));
    record.may_say_more = age == RuntimeAge::unknown && node.builtin_data != nullptr &&
                          says_more(record.code, node.builtin_data, record.version);
    const bool is_custom = record.code == static_cast<int>(tflite::BuiltinOperator::CUSTOM);
    record.is_unresolved = is_custom && registration.prepare == nullptr;
    if (is_custom && registration.custom_name != nullptr) record.custom_name = registration.custom_name;
    record.inputs = list<int>(node.inputs);
    record.outputs = list<int>(node.outputs);
    record.parameters = node.builtin_data;
    if (is_custom && node.custom_data != nullptr && node.custom_data_size > 0) {
        record.custom_options = {static_cast<const std::uint8_t*>(node.custom_data),
                                 static_cast<std::size_t>(node.custom_data_size)};
    }
    return record;
}

std::string name_of(const NodeRecord& node) {
    if (!node.custom_name.empty()) return node.custom_name;
    const char* name = tflite::EnumNameBuiltinOperator(static_cast<tflite::BuiltinOperator>(node.code));
    return *name != 0 ? name : "operator " + std::to_string(node.code);
}

bool is_constant(const Tensor& tensor) { return tensor.allocation_type == memory_file && tensor.data != nullptr; }

std::vector<std::int64_t> shape_of(const Tensor& tensor) { return list<std::int64_t>(tensor.dims); }

void check_node(const Context& context, const NodeRecord& node) {
    if (find_operator(node.code) == nullptr) throw Refused("operators of this kind are not taken");
    if (node.may_say_more) throw Refused("its options may say more than those of its version");
    if (node.outputs.empty()) throw Refused("it has no output");
    if (node.inputs.size() > most_operands || node.outputs.size() > most_operands)
        throw Refused("it has too many tensors");
    for (const int input : node.inputs) {
        if (input >= 0) check_tensor(context, input);
    }
    for (const int output : node.outputs) {
        check_tensor(context, output);
        if (is_constant(context.tensors[output])) throw Refused("it writes a constant");
    }
    const NodeRecord* one = &node;
    write_model(context, {&one, 1}, node.outputs);
}

Model write_model(const Context& context, std::span<const NodeRecord* const> nodes, std::vector<int> outputs,
                  SizesInFile sizes) {
    return Writer(context, sizes).write(nodes, std::move(outputs));
}

}  // namespace tosavk::delegate
