// Nodes of a runtime's graph, written as a .tflite file of their own.
#pragma once

#include "hosts/tflite_delegate/runtime.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tosavk::delegate {

/// What is kept of a node: the runtime moves its own, but not what these point to.
struct NodeRecord {
    int index = 0;  ///< in the runtime's graph
    int code = 0;
    int version = 1;
    /// Up to which version the runtime's parameters are as they say, and may be read.
    int parameters_version = 1;
    bool is_unresolved = false;  ///< the runtime has no kernel of it, and fails where it prepares the node
    bool may_say_more = false;   ///< behind those: it depends on how old the runtime is, which is not known
    std::string custom_name;
    std::vector<int> inputs, outputs;  ///< -1: an optional input that is not there
    const void* parameters = nullptr;
    std::span<const std::uint8_t> custom_options;
};

/// How old the runtime is that made the nodes. Parameters of newer ones are longer, and what was appended counts
/// whatever a node's version.
enum class RuntimeAge { unknown, before_2_14, since_2_14 };
/// By the distance of two nodes, which lie in one array, each with its registration.
RuntimeAge age_of(int first_index, const Node* first, int second_index, const Node* second);
NodeRecord record_of(int index, const Node& node, const Registration& registration, RuntimeAge age);
/// "CONV_2D" and the like.
std::string name_of(const NodeRecord& node);
bool is_constant(const Tensor& tensor);
std::vector<std::int64_t> shape_of(const Tensor& tensor);

struct Model {
    std::vector<std::byte> file;
    std::vector<int> inputs, outputs;  ///< the runtime's tensors, in the order of the file
};

/// Throws Refused for a node that files cannot say, or that is never claimed, whatever the library can do.
void check_node(const Context& context, const NodeRecord& node);

/// What a file says of the sizes of tensors that are no constants: those of now, or that they are known late.
enum class SizesInFile { now, open };

/// Nodes in an order that they can run in. `outputs`: the tensors that others read. Throws Refused.
Model write_model(const Context& context, std::span<const NodeRecord* const> nodes, std::vector<int> outputs,
                  SizesInFile sizes = SizesInFile::now);

}  // namespace tosavk::delegate
