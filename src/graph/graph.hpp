// The graph in memory: TOSA 1.0 as plain data. Constants are values that carry bytes (the operators CONST and
// CONST_SHAPE exist in files only); every other value is a graph input or the output of one node.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "graph/operators.hpp"
#include "graph/types.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tosavk {

using ValueId = std::uint32_t;
using NodeId = std::uint32_t;
inline constexpr std::uint32_t no_id = 0xffffffffu;

struct Value {
    std::string name;
    DType type = DType::fp32;
    Shape shape;
    SharedBytes data;         ///< constants only: element_count * size_of(type) bytes, host byte order
    NodeId producer = no_id;  ///< no_id for graph inputs and constants
    double scale = 0;         ///< real = scale * (q - zero_point) where the source file says so; 0: unknown
    std::int64_t zero_point = 0;
    /// Inputs and outputs: what the file declares where no graph has that type. u8, u16, u32: the value is an i8, i16
    /// or i32 of the same bits. i64, u64: an i32 of the same numbers. i64_words, u64_words: an i32 whose last
    /// dimension has both words of each. f64: an fp32. zero_point and scale are of the declared type.
    HostKind declared = HostKind::graph;

    bool is_constant() const { return bool(data); }
};

/// Attributes of all operators in one plain struct; OpDef::attributes names those that an operator uses.
struct Attributes {
    std::int32_t axis = 0;
    std::vector<std::int32_t> kernel;    ///< y, x
    std::vector<std::int32_t> stride;    ///< [d,] y, x
    std::vector<std::int32_t> pad;       ///< [d0, d1,] top, bottom, left, right; out_pad of TRANSPOSE_CONV2D
    std::vector<std::int32_t> dilation;  ///< [d,] y, x
    std::vector<std::int32_t> perms;
    DType acc_type = DType::i32;
    bool local_bound = false;
    NanMode nan_mode = NanMode::propagate;
    double min_val = 0, max_val = 0;  ///< CLAMP, exact for every type it takes
    bool round = false;               ///< ARITHMETIC_RIGHT_SHIFT
    ResizeMode mode = ResizeMode::nearest;
    bool scale32 = true, per_channel = false, input_unsigned = false, output_unsigned = false;
    Rounding rounding = Rounding::single_round;
    bool inverse = false;
    // Of our own operators (docs/operators.md).
    Combiner combiner = Combiner::add;
    OutOfRange out_of_range = OutOfRange::clamp;
    ByZero by_zero = ByZero::zero;
    bool floored = false;  ///< DIVIDE, REMAINDER: the quotient is rounded down instead of towards zero
    bool is_unsigned = false;
    bool exclusive = false, reverse = false;       ///< CUMULATE
    bool descending = false, total_order = false;  ///< SORT
    std::int32_t batch_dims = 0, segments = 0;
    std::int32_t most = 1;  ///< SUPPRESS, SUPPRESS_QUEUED, PARTIAL_SORT: how many they take
    double sigma = 0;       ///< SUPPRESS_QUEUED
    bool in_place = false;  ///< DYNAMIC_UPDATE_SLICE: its result is its operand's memory; of plans alone
    std::string variable;   ///< VARIABLE_READ, VARIABLE_WRITE: the variable's name
    std::string operator_name, domain_name, implementation_attrs;  ///< CUSTOM; the last one is opaque bytes

    bool operator==(const Attributes&) const = default;
};

struct Graph;
struct CustomOperator;

struct Node {
    Op op = Op::unknown;
    std::string name;  ///< for messages: the source file's name of the layer
    std::vector<ValueId> inputs, outputs;
    Attributes attrs;
    /// COND_IF: then_graph, else_graph; WHILE_LOOP: cond_graph, body_graph. Their inputs are the node's tensor list
    /// (values of the enclosing graph that a file's region captures are part of that list).
    std::vector<std::shared_ptr<const Graph>> regions;
    /// CUSTOM: what carries it out (ops/custom.hpp); null while nobody has said so. Files do not hold it.
    std::shared_ptr<const CustomOperator> custom;
};

/// A tensor that keeps its value from run to run. The operator VARIABLE exists in files only: it is the declaration.
struct Variable {
    std::string name;
    DType type = DType::fp32;
    Shape shape;
    SharedBytes initial;  ///< element_count * size_of(type) bytes; null: zeros
};

/// Nodes stand in execution order. A region is a Graph of its own; its `variables` repeat the declarations of the
/// enclosing graph that it uses, and name the same state.
struct Graph {
    std::string name;
    SpecVersion version = SpecVersion::v1_0;
    std::vector<Value> values;
    std::vector<Node> nodes;
    std::vector<ValueId> inputs, outputs;
    std::vector<Variable> variables;
    /// What it does in fp16 may be done by a device's own fp16 arithmetic as that is: roundings, subnormal numbers and
    /// functions follow the device, and sums of products are in fp16 in part (docs/architecture.md, "Precision").
    bool fast_fp16 = false;

    /// nullptr when there is none of this name.
    const Variable* find_variable(std::string_view variable) const;
    const Value& value(ValueId id) const { return values.at(id); }
    const Node& node(NodeId id) const { return nodes.at(id); }
};

/// One node with what it touches; the argument of every function of an OpDef.
class NodeView {
public:
    NodeView(const Graph& graph, NodeId id) : graph_(&graph), id_(id) {}

    const Graph& graph() const { return *graph_; }
    NodeId id() const { return id_; }
    const Node& node() const { return graph_->nodes[id_]; }
    const Attributes& attrs() const { return node().attrs; }
    std::size_t input_count() const { return node().inputs.size(); }
    std::size_t output_count() const { return node().outputs.size(); }
    const Value& in(std::size_t k) const { return graph_->values[node().inputs.at(k)]; }
    const Value& out(std::size_t k = 0) const { return graph_->values[node().outputs.at(k)]; }

    /// Elements of a constant integer, bool or shape input as int64; throws Error(bad_model) if it is not constant.
    std::vector<std::int64_t> constant_ints(std::size_t k) const;

    /// "CONV2D 'layer_3'": the beginning of every message about this node.
    std::string title() const;
    /// Throws Error(bad_model) with title() in front.
    [[noreturn]] void fail(const std::string& what, const std::string& operand = {}) const;

private:
    const Graph* graph_;
    NodeId id_;
};

}  // namespace tosavk
