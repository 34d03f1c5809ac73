// TFLite models altered by structure: what is read of a file is changed where it means something (a shape, a type, an
// operand, an option), and written as a file that flatbuffers' own verifier takes. Bytes may be altered after that.
#pragma once

#include "base/bytes.hpp"

#include "objects/tflite_generated.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace tosavk::test {

class TfliteMutator {
public:
    explicit TfliteMutator(std::uint64_t seed) : random_(seed) {}

    /// `other` lends operators, tensors' data and subgraphs. Both must be whole.
    Bytes alter(const Bytes& file, const Bytes& other) {
        auto model = unpack(file);
        const auto lender = unpack(other);
        for (std::uint64_t n = 1 + below(3); n > 0; --n) alter_model(*model, *lender);
        Bytes bytes = pack(*model);
        if (chance(3)) alter_options(bytes);
        if (chance(8)) {
            for (std::uint64_t n = 1 + below(3); n > 0; --n)
                bytes[below(bytes.size())] = static_cast<std::byte>(random_());
        }
        return bytes;
    }

    static std::unique_ptr<tflite::ModelT> unpack(const Bytes& file) {
        return std::unique_ptr<tflite::ModelT>(tflite::GetModel(file.data())->UnPack());
    }
    static Bytes pack(const tflite::ModelT& model) {
        flatbuffers::FlatBufferBuilder builder;
        builder.Finish(tflite::CreateModel(builder, &model), tflite::ModelIdentifier());
        const auto* begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
        return {begin, begin + builder.GetSize()};
    }

private:
    std::uint64_t below(std::uint64_t n) { return random_() % n; }
    bool chance(std::uint64_t n) { return below(n) == 0; }

    std::int64_t edge() {
        constexpr std::int64_t edges[] = {
            0,          1,    -1,    2,     3,       4,  5,  7,  8,       16,     127,   128,        255,
            256,        1024, 65535, 65536, 1 << 20, -2, -5, -8, -1024,   46341,  32767, 0x7fffffff, -0x80000000LL,
            0x7ffffffe, 100,  30,    31,    32,      33, 63, 64, 1 << 24, 1 << 30};
        return edges[below(std::size(edges))];
    }
    float number() {
        constexpr float inf = std::numeric_limits<float>::infinity();
        const float numbers[] = {0,    -0.0f,         1,     -1,   0.5f,       1e-38f, 1e-45f, 3e38f, -3e38f, inf,
                                 -inf, std::nanf(""), 1e-6f, 1e6f, 1.0f / 256, 0.99f,  255,    1e-20f};
        return numbers[below(std::size(numbers))];
    }
    template <class T> void alter_list(std::vector<T>& list, T fresh) {
        const std::size_t at = list.empty() ? 0 : below(list.size());
        const auto place = list.begin() + static_cast<std::ptrdiff_t>(at);
        switch (list.empty() ? 0 : below(6)) {
            case 0: list.insert(place, fresh); break;
            case 1: list.erase(place); break;
            case 2: std::swap(list[at], list[below(list.size())]); break;
            case 3: list.push_back(list[at]); break;
            default: list[at] = fresh;
        }
        if (list.size() > 100) list.resize(100);
    }

    void alter_tensor(tflite::TensorT& tensor, const tflite::TensorT& other, std::size_t buffers) {
        switch (below(12)) {
            case 0:
            case 1:
            case 2: alter_list(tensor.shape, static_cast<std::int32_t>(chance(2) ? edge() : 1 + below(6))); break;
            case 3: tensor.type = static_cast<tflite::TensorType>(below(23)); break;
            case 4: tensor.buffer = static_cast<std::uint32_t>(chance(4) ? edge() : below(buffers + 1)); break;
            case 5: tensor.is_variable = !tensor.is_variable; break;
            case 6: alter_list(tensor.shape_signature, static_cast<std::int32_t>(chance(2) ? -1 : edge())); break;
            case 7:
                tensor.shape_signature = tensor.shape;
                if (!tensor.shape.empty()) tensor.shape_signature[below(tensor.shape.size())] = -1;
                break;
            case 8:
                tensor.shape = other.shape;
                tensor.type = other.type;
                break;
            case 9:
                if (!tensor.sparsity) tensor.sparsity = std::make_unique<tflite::SparsityParametersT>();
                alter_sparsity(*tensor.sparsity);
                break;
            default:
                if (!tensor.quantization) tensor.quantization = std::make_unique<tflite::QuantizationParametersT>();
                alter_quantization(*tensor.quantization);
        }
    }

    void alter_quantization(tflite::QuantizationParametersT& quantization) {
        switch (below(6)) {
            case 0: quantization.scale.assign(below(5), number()); break;
            case 1: alter_list(quantization.scale, number()); break;
            case 2: alter_list(quantization.zero_point, edge()); break;
            case 3: quantization.zero_point.assign(below(3), edge()); break;
            case 4: quantization.quantized_dimension = static_cast<std::int32_t>(edge()); break;
            default: quantization.details.Reset();
        }
    }

    void alter_sparsity(tflite::SparsityParametersT& sparsity) {
        switch (below(5)) {
            case 0: alter_list(sparsity.traversal_order, static_cast<std::int32_t>(edge())); break;
            case 1: alter_list(sparsity.block_map, static_cast<std::int32_t>(edge())); break;
            case 2:
                if (!sparsity.dim_metadata.empty()) sparsity.dim_metadata.pop_back();
                break;
            default:
                if (sparsity.dim_metadata.empty() || chance(4))
                    sparsity.dim_metadata.push_back(std::make_unique<tflite::DimensionMetadataT>());
                tflite::DimensionMetadataT& dimension = *sparsity.dim_metadata[below(sparsity.dim_metadata.size())];
                if (chance(2)) dimension.dense_size = static_cast<std::int32_t>(edge());
                if (chance(3)) dimension.format = static_cast<tflite::DimensionType>(below(3));
                for (auto* part : {&dimension.array_segments, &dimension.array_indices})
                    if (auto* ints = part->AsInt32Vector(); ints && chance(2))
                        alter_list(ints->values, static_cast<std::int32_t>(edge()));
        }
    }

    void alter_operator(tflite::OperatorT& op, const tflite::OperatorT& other, std::size_t tensors) {
        const auto any = [&] {
            return static_cast<std::int32_t>(chance(4) ? edge() : static_cast<std::int64_t>(below(tensors + 1)) - 1);
        };
        switch (below(8)) {
            case 0:
            case 1:
            case 2: alter_list(op.inputs, any()); break;
            case 3: alter_list(op.outputs, any()); break;
            case 4: op.builtin_options.Reset(); break;
            case 5: op.builtin_options = other.builtin_options; break;
            case 6: alter_list(op.intermediates, any()); break;
            default: alter_list(op.custom_options, static_cast<std::uint8_t>(random_()));
        }
    }

    void alter_graph(tflite::ModelT& model, tflite::SubGraphT& graph, const tflite::ModelT& lender) {
        const tflite::SubGraphT& other = *lender.subgraphs[below(lender.subgraphs.size())];
        const auto any = [&] {
            return static_cast<std::int32_t>(chance(6) ? edge() : below(graph.tensors.size() + 1));
        };
        const bool has_both = !graph.operators.empty() && !other.operators.empty();
        switch (below(16)) {
            case 0: alter_list(graph.inputs, any()); break;
            case 1: alter_list(graph.outputs, any()); break;
            case 2:
                if (!graph.operators.empty()) graph.operators.erase(graph.operators.begin());
                break;
            case 3:
                if (graph.operators.empty()) break;
                graph.operators.push_back(
                    std::make_unique<tflite::OperatorT>(*graph.operators[below(graph.operators.size())]));
                break;
            case 4:
                if (graph.operators.size() > 1)
                    std::swap(graph.operators[0], graph.operators[below(graph.operators.size())]);
                break;
            case 5:
            case 6:
            case 7:
            case 8:
                if (has_both)
                    alter_operator(*graph.operators[below(graph.operators.size())],
                                   *other.operators[below(other.operators.size())], graph.tensors.size());
                break;
            case 9:  // the other's operators after its own, on the tensors of both
                if (chance(2)) append(model, graph, lender, other);
                break;
            default:
                if (!graph.tensors.empty() && !other.tensors.empty())
                    alter_tensor(*graph.tensors[below(graph.tensors.size())],
                                 *other.tensors[below(other.tensors.size())], model.buffers.size());
        }
    }

    void append(tflite::ModelT& model, tflite::SubGraphT& graph, const tflite::ModelT& lender,
                const tflite::SubGraphT& other) {
        const auto tensors = static_cast<std::int32_t>(graph.tensors.size());
        const auto buffers = static_cast<std::uint32_t>(model.buffers.size());
        const auto codes = static_cast<std::uint32_t>(model.operator_codes.size());
        if (tensors > 60) return;
        for (const auto& buffer : lender.buffers) model.buffers.push_back(std::make_unique<tflite::BufferT>(*buffer));
        for (const auto& code : lender.operator_codes)
            model.operator_codes.push_back(std::make_unique<tflite::OperatorCodeT>(*code));
        for (const auto& tensor : other.tensors) {
            graph.tensors.push_back(std::make_unique<tflite::TensorT>(*tensor));
            if (tensor->buffer != 0) graph.tensors.back()->buffer += buffers;
        }
        for (const auto& op : other.operators) {
            graph.operators.push_back(std::make_unique<tflite::OperatorT>(*op));
            tflite::OperatorT& added = *graph.operators.back();
            added.opcode_index += codes;
            for (auto* ids : {&added.inputs, &added.outputs, &added.intermediates})
                for (std::int32_t& id : *ids) id += id >= 0 ? tensors : 0;
            if (!added.inputs.empty() && tensors > 0 && chance(2))
                added.inputs[below(added.inputs.size())] =
                    static_cast<std::int32_t>(below(static_cast<std::uint64_t>(tensors)));
        }
        for (const std::int32_t id : other.inputs) graph.inputs.push_back(id + tensors);
        for (const std::int32_t id : other.outputs) graph.outputs.push_back(id + tensors);
    }

    void alter_model(tflite::ModelT& model, const tflite::ModelT& lender) {
        switch (below(10)) {
            case 0:
                if (model.operator_codes.empty()) break;
                alter_code(*model.operator_codes[below(model.operator_codes.size())], lender);
                break;
            case 1:
            case 2: {
                if (model.buffers.empty()) break;
                tflite::BufferT& buffer = *model.buffers[below(model.buffers.size())];
                alter_data(buffer.data);
                if (chance(20)) buffer.offset = static_cast<std::uint64_t>(edge());
                if (chance(20)) buffer.size = static_cast<std::uint64_t>(edge());
                break;
            }
            case 3:
                if (!chance(4)) break;
                if (chance(2) && model.subgraphs.size() > 1) model.subgraphs.pop_back();
                else
                    model.subgraphs.push_back(
                        std::make_unique<tflite::SubGraphT>(*lender.subgraphs[below(lender.subgraphs.size())]));
                break;
            default:
                if (!model.subgraphs.empty())
                    alter_graph(model, *model.subgraphs[below(model.subgraphs.size())], lender);
        }
    }

    void alter_code(tflite::OperatorCodeT& code, const tflite::ModelT& lender) {
        switch (below(4)) {
            case 0: code.version = static_cast<std::int32_t>(edge()); break;
            case 1: code.custom_code = "TFLite_Detection_PostProcess"; break;
            case 2:
                if (!lender.operator_codes.empty()) code = *lender.operator_codes[0];
                break;
            default:
                code.builtin_code = static_cast<tflite::BuiltinOperator>(below(212));
                code.deprecated_builtin_code =
                    static_cast<std::int8_t>(std::min(static_cast<int>(code.builtin_code), 127));
        }
    }

    /// Constants are shapes, axes and places as often as weights.
    void alter_data(std::vector<std::uint8_t>& data) {
        if (data.size() >= 4 && !chance(5)) {
            const auto value = static_cast<std::int32_t>(edge());
            const float real = number();
            std::uint8_t* at = data.data() + below(data.size() / 4) * 4;
            if (chance(4)) std::memcpy(at, &real, 4);
            else std::memcpy(at, &value, 4);
        } else if (!data.empty() && chance(2)) {
            data[below(data.size())] = static_cast<std::uint8_t>(random_());
        } else {
            data.resize(below(2 * data.size() + 5));
        }
    }

    /// A field of some operator's options, in the written file: there all tables look alike.
    void alter_options(Bytes& bytes) {
        const tflite::Model* model = tflite::GetModel(bytes.data());
        std::vector<const std::uint8_t*> tables;
        if (!model->subgraphs()) return;
        for (const tflite::SubGraph* graph : *model->subgraphs()) {
            if (!graph->operators()) continue;
            for (const tflite::Operator* op : *graph->operators()) {
                for (const void* options : {op->builtin_options(), op->builtin_options_2()})
                    if (options) tables.push_back(static_cast<const std::uint8_t*>(options));
            }
        }
        if (tables.empty()) return;
        const std::uint8_t* table = tables[below(tables.size())];
        const std::uint8_t* vtable = table - flatbuffers::ReadScalar<flatbuffers::soffset_t>(table);
        const auto fields = (flatbuffers::ReadScalar<flatbuffers::voffset_t>(vtable) - 4u) / 2;
        if (fields == 0) return;
        const auto field = flatbuffers::ReadScalar<flatbuffers::voffset_t>(vtable + 4 + 2 * below(fields));
        if (field == 0) return;
        const std::size_t at =
            static_cast<std::size_t>(table - reinterpret_cast<const std::uint8_t*>(bytes.data())) + field;
        const auto value = static_cast<std::int32_t>(edge());
        const float real = number();
        if (at + 4 > bytes.size()) return;
        if (chance(3)) bytes[at] = static_cast<std::byte>(below(8));
        else std::memcpy(&bytes[at], chance(4) ? static_cast<const void*>(&real) : &value, 4);
    }

    std::mt19937_64 random_;
};

}  // namespace tosavk::test
