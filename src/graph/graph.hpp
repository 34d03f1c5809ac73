// The graph in memory: TOSA 1.0 as plain data. Constants are values that carry bytes (the operators CONST and
// CONST_SHAPE exist in files only); every other value is a graph input or the output of one node.
#pragma once

#include "graph/error.hpp"
#include "graph/types.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tosavk {

/// The operators of TOSA 1.0 in the order of the specification; values equal `Op` in the 1.0 flatbuffer.
enum class Op : std::uint32_t {
    unknown,
    argmax,
    avg_pool2d,
    conv2d,
    conv3d,
    depthwise_conv2d,
    fft2d,
    matmul,
    max_pool2d,
    rfft2d,
    transpose_conv2d,
    clamp,
    erf,
    sigmoid,
    tanh,
    add,
    arithmetic_right_shift,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    intdiv,
    logical_and,
    logical_left_shift,
    logical_right_shift,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    mul,
    pow,
    sub,
    table,
    abs,
    bitwise_not,
    ceil,
    clz,
    cos,
    exp,
    floor,
    log,
    logical_not,
    negate,
    reciprocal,
    rsqrt,
    sin,
    select,
    equal,
    greater,
    greater_equal,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_min,
    reduce_product,
    reduce_sum,
    concat,
    pad,
    reshape,
    reverse,
    slice,
    tile,
    transpose,
    gather,
    scatter,
    resize,
    cast,
    rescale,
    constant,
    identity,
    custom,
    cond_if,
    while_loop,
    variable,
    variable_write,
    variable_read,
    const_shape,
};

using ValueId = std::uint32_t;
using NodeId = std::uint32_t;
inline constexpr std::uint32_t no_id = 0xffffffffu;

using Bytes = std::vector<std::byte>;

struct Value {
    std::string name;
    DType type = DType::fp32;
    Shape shape;
    std::shared_ptr<const Bytes> data;  ///< constants only: element_count * size_of(type) bytes, host byte order
    NodeId producer = no_id;            ///< no_id for graph inputs and constants
    double scale = 0;                   ///< real = scale * (q - zero_point) where the source file says so; 0: unknown
    std::int64_t zero_point = 0;

    bool is_constant() const { return data != nullptr; }
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
    std::string variable;  ///< VARIABLE_READ, VARIABLE_WRITE: the variable's name
    std::string operator_name, domain_name, implementation_attrs;  ///< CUSTOM; the last one is opaque bytes

    bool operator==(const Attributes&) const = default;
};

struct Graph;

struct Node {
    Op op = Op::unknown;
    std::string name;  ///< for messages: the source file's name of the layer
    std::vector<ValueId> inputs, outputs;
    Attributes attrs;
    /// COND_IF: then_graph, else_graph; WHILE_LOOP: cond_graph, body_graph. Their inputs are the node's tensor list
    /// (values of the enclosing graph that a file's region captures are part of that list).
    std::vector<std::shared_ptr<const Graph>> regions;
};

/// A tensor that keeps its value from run to run. The operator VARIABLE exists in files only: it is the declaration.
struct Variable {
    std::string name;
    DType type = DType::fp32;
    Shape shape;
    std::shared_ptr<const Bytes> initial;  ///< element_count * size_of(type) bytes; null: zeros
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

/// What add_node cannot infer for every operator: CUSTOM's output shapes. Others take their inferred shape.
struct OutputType {
    DType type;
    Shape shape;
};

/// Builds a graph step by step. add() checks the node against its OpDef and infers the output shapes, so that an
/// error names the operator that caused it. Throws Error.
class GraphBuilder {
public:
    explicit GraphBuilder(std::string name = {}, const Level& level = level_8k);

    ValueId input(const std::string& name, DType type, const Shape& shape);
    ValueId constant(const std::string& name, DType type, const Shape& shape, Bytes bytes);
    /// Integers of any width from int64 (range-checked); shape values too.
    ValueId constant_ints(const std::string& name, DType type, const Shape& shape,
                          std::span<const std::int64_t> values);
    ValueId constant_floats(const std::string& name, DType type, const Shape& shape, std::span<const float> values);
    ValueId scalar(DType type, double value);             ///< shape [1]; deduplicated
    ValueId shape(std::span<const std::int64_t> values);  ///< a shape_t constant; deduplicated

    /// Appends a node whose outputs have these types (one output for almost every operator); returns the outputs.
    std::vector<ValueId> add(Op op, std::vector<ValueId> inputs, Attributes attrs, std::span<const DType> output_types,
                             const std::string& name = {});
    ValueId add1(Op op, std::vector<ValueId> inputs, DType output_type, Attributes attrs = {},
                 const std::string& name = {});

    /// Any node; `node.outputs` is filled in.
    std::vector<ValueId> add_node(Node node, std::span<const OutputType> outputs);

    /// Declares a variable; `initial` may be empty (zeros) or holds its elements.
    void variable(const std::string& name, DType type, const Shape& shape, Bytes initial = {});
    /// Takes over a declaration of an enclosing graph; a second time is no error.
    void variable(const Variable& declared);
    ValueId variable_read(const std::string& variable, const std::string& name = {});
    void variable_write(const std::string& variable, ValueId value, const std::string& name = {});

    /// Both regions have the inputs' types and shapes as inputs and agree in their outputs. Variables that regions use
    /// must be declared here too.
    std::vector<ValueId> cond_if(ValueId condition, std::vector<ValueId> inputs, Graph then_graph, Graph else_graph,
                                 const std::string& name = {});
    std::vector<ValueId> while_loop(std::vector<ValueId> inputs, Graph cond_graph, Graph body_graph,
                                    const std::string& name = {});
    std::vector<ValueId> custom(const std::string& domain, const std::string& op, const std::string& attrs,
                                std::vector<ValueId> inputs, std::span<const OutputType> outputs,
                                const std::string& name = {});

    void output(ValueId id);
    const Value& value(ValueId id) const { return graph_.value(id); }
    Value& value(ValueId id) { return graph_.values.at(id); }
    const Graph& graph() const { return graph_; }

    /// Checks the whole graph (names unique, outputs present) and hands it over.
    Graph finish();
    /// The same for a region, which needs no output.
    Graph finish_region();

private:
    void make_names_unique();
    Graph take();

    Graph graph_;
    const Level* level_;
    std::vector<std::pair<std::string, ValueId>> pool_;
};

/// Empty when both graphs are the same: the same inputs and outputs, by name; the same nodes in the same order, with
/// the same attributes (those that the operator uses), names, types, shapes and bytes of what they read and write. Free
/// are the numbering of values, constants that nothing reads, the graph's and the nodes' names, and scales, which only
/// explain; inside regions all names. Else a sentence with the first difference.
std::string graph_difference(const Graph& a, const Graph& b);
/// The attributes that the node's operator uses: "axis=1 nan_mode=PROPAGATE". Equal text means equal values.
std::string attributes_text(const Node& node);

/// Human-readable listing, one line per value and node.
std::string print_graph(const Graph& graph);
std::string print_dot(const Graph& graph);

}  // namespace tosavk
