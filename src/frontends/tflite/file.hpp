// A .tflite file after verification, as plain views into the bytes: every index is in range and every buffer has the
// size of its tensor. The views live as long as the TfliteFile and the bytes it was read from.
#pragma once

#include "frontends/common/options.hpp"
#include "graph/graph.hpp"

#include "tflite_generated.h"

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tosavk {

struct TfliteTensor {
    std::size_t index = 0;
    std::string name;  ///< valid UTF-8 without control characters
    tflite::TensorType type = tflite::TensorType::FLOAT32;
    Shape shape;                      ///< as recorded; a dynamic dimension has the size that the file was written with
    std::vector<bool> dynamic;        ///< per dimension: -1 in shape or shape_signature
    std::span<const std::byte> data;  ///< constants only
    bool is_constant = false;
    bool is_variable = false;
    std::string_view unsupported;          ///< why this tensor cannot be used at all; empty when it can
    std::span<const float> scale;          ///< empty: not quantized; else 1 or shape[axis] entries
    std::vector<std::int64_t> zero_point;  ///< empty (0), 1 or as many entries as scale
    std::int32_t axis = 0;
    /// What is wrong with these three; empty when nothing is. Only who uses them minds: a bias is int32 whatever its
    /// quantization says, and files carry biases with the axis of their weights.
    std::string bad_quantization;
    const tflite::SparsityParameters* sparsity = nullptr;  ///< how `data` lies where it has no zeros; constants only
    /// Of blockwise quantization: so many elements of the last dimension have a scale, all of which stand in tensor
    /// `block_scales`; 0: not so.
    std::int32_t block_size = 0, block_scales = -1;

    bool is_empty() const;      ///< a dimension is 0: there are no elements
    std::string title() const;  ///< "tensor 3 'conv/BiasAdd'"
};

struct TfliteOperator {
    tflite::BuiltinOperator code = tflite::BuiltinOperator::ADD;
    bool is_known = true;                           ///< its code stands in the format's description
    std::string name;                               ///< "CONV_2D", "CUSTOM 'x'"; a number for what is not known
    std::string custom;                             ///< 'x' of a CUSTOM
    std::span<const std::int32_t> inputs, outputs;  ///< tensor indices; an absent input is -1
    const tflite::Operator* table = nullptr;
};

struct TfliteSubgraph {
    std::string name;
    std::vector<TfliteTensor> tensors;
    std::vector<TfliteOperator> operators;  ///< in execution order
    std::span<const std::int32_t> inputs, outputs;
};

class TfliteFile {
public:
    /// The graph is that of a signature where `options` names one. Throws Error(bad_model), Error(unsupported), or
    /// Error(usage) for a signature that is not there.
    TfliteFile(std::span<const std::byte> bytes, const ImportOptions& options);
    TfliteFile(const TfliteFile&) = delete;
    TfliteFile& operator=(const TfliteFile&) = delete;

    TfliteSubgraph main;

    std::size_t subgraph_count() const;
    /// What IF or WHILE names; only these are looked at, since files carry others that nothing here needs. The index is
    /// in range. Throws like the constructor.
    TfliteSubgraph read_subgraph(std::size_t index) const;

    const tflite::Model& model() const { return *model_; }
    /// In the flatbuffer or behind it; empty where there is none. Throws Error(bad_model) for a wrong number or place.
    std::span<const std::byte> buffer(std::uint32_t index) const;

private:
    std::span<const std::byte> data_of(const tflite::Tensor& tensor, const std::string& title) const;
    std::span<const std::byte> external(std::uint32_t id) const;
    void choose_signature(const std::string& key);

    std::vector<std::int32_t> signature_inputs_, signature_outputs_;  ///< what main's ends are views of
    std::span<const std::byte> bytes_;
    std::filesystem::path folder_;  ///< of files that hold constants; empty: unknown
    mutable std::map<std::string, Bytes> external_files_;
    const tflite::Model* model_ = nullptr;
    std::vector<std::uint64_t> aligned_copy_;  ///< used where the caller's bytes are not aligned for their contents
};

/// Fit to be shown; empty where there is none.
std::string shown(const flatbuffers::String* string);
std::string_view name_of(tflite::TensorType type);
/// Bytes per element; 0 for types without a fixed size.
std::size_t element_size(tflite::TensorType type);
/// Bits per element of types that share bytes; 0 for others.
std::size_t packed_bits(tflite::TensorType type);

}  // namespace tosavk
