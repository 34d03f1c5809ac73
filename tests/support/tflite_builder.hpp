// Writes small .tflite models for tests.
#pragma once

#include "graph/host_tensor.hpp"

#include "tflite_generated.h"

#include <map>
#include <string>
#include <vector>

namespace tosavk::test {

struct TensorSpec {
    std::vector<std::int32_t> shape;
    tflite::TensorType type = tflite::TensorType::INT8;
    std::vector<float> scale;
    std::vector<std::int64_t> zero_point;
    std::int32_t axis = 0;
    std::vector<std::int32_t> signature;
    std::string name;
    bool is_variable = false;
    flatbuffers::Offset<tflite::SparsityParameters> sparsity{};
    std::int32_t block_size = 0, block_scales = 0;  ///< blockwise quantization
};

/// Tensors and operators are added in order; finish() makes the file. Subgraphs that IF and WHILE name come before the
/// graph itself: end_subgraph() closes one.
class TfliteBuilder {
public:
    flatbuffers::FlatBufferBuilder fbb;
    std::vector<std::int32_t> next_intermediates;  ///< of the next operator

    int tensor(const TensorSpec& spec) { return add(spec, 0); }
    int constant(const TensorSpec& spec, const Bytes& data) {
        buffers_.push_back(data);
        return add(spec, static_cast<std::uint32_t>(buffers_.size()));
    }
    int constant_i32(std::vector<std::int32_t> shape, const std::vector<std::int64_t>& values) {
        TensorSpec spec{std::move(shape), tflite::TensorType::INT32};
        return constant(spec, encode_ints(DType::i32, values));
    }
    int indices(const std::vector<std::int64_t>& values) {
        return constant_i32({static_cast<std::int32_t>(values.size())}, values);
    }

    void op(tflite::BuiltinOperator code, const std::vector<int>& inputs, const std::vector<int>& outputs) {
        op(code, inputs, outputs, tflite::BuiltinOptions::NONE, 0);
    }
    void op(tflite::BuiltinOperator code, const std::vector<int>& inputs, const std::vector<int>& outputs,
            tflite::BuiltinOptions type, flatbuffers::Offset<void> options) {
        const auto byte_code = static_cast<std::int8_t>(std::min(static_cast<int>(code), 127));
        codes_.push_back(tflite::CreateOperatorCode(fbb, byte_code, 0, 1, code));
        const auto in = fbb.CreateVector(std::vector<std::int32_t>(inputs.begin(), inputs.end()));
        const auto out = fbb.CreateVector(std::vector<std::int32_t>(outputs.begin(), outputs.end()));
        flatbuffers::Offset<flatbuffers::Vector<std::int32_t>> intermediates;
        if (!next_intermediates.empty()) intermediates = fbb.CreateVector(next_intermediates);
        next_intermediates.clear();
        operators_.push_back(tflite::CreateOperator(fbb, static_cast<std::uint32_t>(codes_.size() - 1), in, out, type,
                                                    options, 0, tflite::CustomOptionsFormat::FLEXBUFFERS, 0,
                                                    intermediates));
    }

    void custom(const std::string& name, const std::vector<int>& inputs, const std::vector<int>& outputs,
                const std::vector<std::uint8_t>& options = {}) {
        const auto title = fbb.CreateString(name);
        codes_.push_back(tflite::CreateOperatorCode(fbb, 32, title, 1, tflite::BuiltinOperator::CUSTOM));
        const auto in = fbb.CreateVector(std::vector<std::int32_t>(inputs.begin(), inputs.end()));
        const auto out = fbb.CreateVector(std::vector<std::int32_t>(outputs.begin(), outputs.end()));
        const auto bytes = fbb.CreateVector(options);
        operators_.push_back(tflite::CreateOperator(fbb, static_cast<std::uint32_t>(codes_.size() - 1), in, out,
                                                    tflite::BuiltinOptions::NONE, 0, bytes));
    }

    /// What was added since the last one becomes a subgraph; returns its index.
    int end_subgraph(const std::vector<int>& inputs, const std::vector<int>& outputs, const std::string& name) {
        graphs_.push_back(subgraph(inputs, outputs, name));
        return static_cast<int>(graphs_.size());
    }

    Bytes finish(const std::vector<int>& inputs, const std::vector<int>& outputs) {
        std::vector<flatbuffers::Offset<tflite::Buffer>> buffers{tflite::CreateBuffer(fbb)};
        for (const Bytes& b : buffers_) {
            fbb.ForceVectorAlignment(b.size(), 1, 16);
            buffers.push_back(
                tflite::CreateBuffer(fbb, fbb.CreateVector(reinterpret_cast<const std::uint8_t*>(b.data()), b.size())));
        }
        graphs_.insert(graphs_.begin(), subgraph(inputs, outputs, "main"));
        const auto codes = fbb.CreateVector(codes_);
        const auto graphs = fbb.CreateVector(graphs_);
        const auto buffer_list = fbb.CreateVector(buffers);
        fbb.Finish(tflite::CreateModel(fbb, 3, codes, graphs, 0, buffer_list), tflite::ModelIdentifier());
        const auto* data = reinterpret_cast<const std::byte*>(fbb.GetBufferPointer());
        return {data, data + fbb.GetSize()};
    }

private:
    flatbuffers::Offset<tflite::SubGraph> subgraph(const std::vector<int>& inputs, const std::vector<int>& outputs,
                                                   const std::string& title) {
        const auto tensors = fbb.CreateVector(tensors_);
        const auto in = fbb.CreateVector(std::vector<std::int32_t>(inputs.begin(), inputs.end()));
        const auto out = fbb.CreateVector(std::vector<std::int32_t>(outputs.begin(), outputs.end()));
        const auto operators = fbb.CreateVector(operators_);
        const auto name = fbb.CreateString(title);
        tensors_.clear();
        operators_.clear();
        return tflite::CreateSubGraph(fbb, tensors, in, out, operators, name);
    }
    int add(const TensorSpec& spec, std::uint32_t buffer) {
        const auto shape = fbb.CreateVector(spec.shape);
        const auto name = fbb.CreateString(spec.name.empty() ? "t" + std::to_string(tensors_.size()) : spec.name);
        flatbuffers::Offset<tflite::QuantizationParameters> quantization;
        if (!spec.scale.empty()) {
            const auto scale = fbb.CreateVector(spec.scale);
            const auto zero_point = fbb.CreateVector(spec.zero_point);
            quantization = tflite::CreateQuantizationParameters(fbb, 0, 0, scale, zero_point,
                                                                tflite::QuantizationDetails::NONE, 0, spec.axis);
        }
        if (spec.block_size != 0) {
            const auto blocks = tflite::CreateBlockwiseQuantization(fbb, spec.block_scales, 0, spec.block_size).Union();
            quantization = tflite::CreateQuantizationParameters(
                fbb, 0, 0, 0, 0, tflite::QuantizationDetails::BlockwiseQuantization, blocks);
        }
        flatbuffers::Offset<flatbuffers::Vector<std::int32_t>> signature;
        if (!spec.signature.empty()) signature = fbb.CreateVector(spec.signature);
        tensors_.push_back(tflite::CreateTensor(fbb, shape, spec.type, buffer, name, quantization, spec.is_variable,
                                                spec.sparsity, signature));
        return static_cast<int>(tensors_.size()) - 1;
    }

    std::vector<flatbuffers::Offset<tflite::SubGraph>> graphs_;
    std::vector<flatbuffers::Offset<tflite::Tensor>> tensors_;
    std::vector<flatbuffers::Offset<tflite::OperatorCode>> codes_;
    std::vector<flatbuffers::Offset<tflite::Operator>> operators_;
    std::vector<Bytes> buffers_;
};

}  // namespace tosavk::test
