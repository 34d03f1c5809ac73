// OpDef: all that the library knows about one operator, in one table. The registry is the only list of operators;
// checks, reference, tests, conformance, documentation and kernels all read it.
#pragma once

#include "graph/graph.hpp"
#include "graph/host_tensor.hpp"
#include "graph/index_map.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tosavk {

/// How an operand of an elementwise operator is read by generated code.
enum class Access : std::uint8_t {
    elementwise,  ///< right-aligned broadcast into the output's index space ([C] and [1] against any rank too)
    table,        ///< read at computed positions
    host,         ///< used while planning only (shape values, zero points known on the host, ...)
};

struct ArgDef {
    const char* name;
    const char* type;  ///< a type variable of the OpDef ("in_t") or a type ("i8", "bool", "shape")
    int min_rank = 0;
    int max_rank = -1;  ///< -1: the level's MAX_RANK
    bool ctc = false;   ///< compile-time constant in TOSA 1.0 without EXT-DYNAMIC; shape values always
    bool list = false;  ///< any number of tensors of this kind (CONCAT)
    Access access = Access::elementwise;
    bool may_be_empty = false;  ///< lists of control flow and CUSTOM
};

/// One row of the specification's type table.
struct TypeRow {
    std::vector<DType> types;  ///< in the order of OpDef::type_vars
    const char* requires_;     ///< profiles and extensions: '|' is or, '+' is and, e.g. "PRO-INT|PRO-FP"
};

/// What a reference implementation computes on: inputs decoded to int64 or Real, outputs encoded back.
/// Declared mode rounds every result to the output's type; fp64 mode keeps doubles for comparison with a bound.
class RefContext {
public:
    RefContext(const NodeView& node_view, std::span<const HostTensor* const> tensors, bool in_fp64)
        : view(node_view), inputs(tensors), fp64(in_fp64), outputs(view.output_count()), reals(view.output_count()) {}

    const NodeView view;
    const std::span<const HostTensor* const> inputs;
    const bool fp64;
    std::vector<HostTensor> outputs;         ///< declared mode, and integer results in both modes
    std::vector<std::vector<double>> reals;  ///< fp64 mode, float results

    const Attributes& attrs() const { return view.attrs(); }
    std::vector<std::int64_t> ints(std::size_t k) const { return decode_ints(inputs[k]->type, inputs[k]->bytes); }
    template <class Real> std::vector<Real> real(std::size_t k) const {
        const auto values = decode_reals(inputs[k]->type, inputs[k]->bytes);
        return std::vector<Real>(values.begin(), values.end());
    }
    void set_ints(std::span<const std::int64_t> values, std::size_t k = 0) {
        outputs[k].type = view.out(k).type;
        outputs[k].shape = view.out(k).shape;
        outputs[k].bytes = encode_ints(outputs[k].type, values);
    }
    template <class Real> void set_reals(const std::vector<Real>& values, std::size_t k = 0) {
        std::vector<double> wide(values.begin(), values.end());
        outputs[k].type = view.out(k).type;
        outputs[k].shape = view.out(k).shape;
        if (fp64) reals[k] = std::move(wide);
        else outputs[k].bytes = encode_reals(outputs[k].type, wide);
    }
    void set_bytes(Bytes bytes, std::size_t k = 0) {
        outputs[k].type = view.out(k).type;
        outputs[k].shape = view.out(k).shape;
        outputs[k].bytes = std::move(bytes);
    }
};

/// How far a float result may lie from the fp64 reference (spec: numerical accuracy; shared definitions in
/// ops/tolerance.hpp).
struct Tolerance {
    enum class Kind { exact, check, dot_product } kind = Kind::exact;
    std::vector<double> bound;  ///< check: bnd per element; dot_product: the operator on absolute inputs, per element
    double terms = 0;           ///< dot_product: KS, products per result (and 1 more when a bias is not zero)
    // Of sums of products in graphs of precision fast, where `bound` is that of local_bound:
    double products = 0;          ///< of each result
    std::vector<double> squares;  ///< the operator on squares, per element
};

/// Gives generated code its names; implemented in codegen/. Every value is four consecutive elements:
/// ivec4 for integers and bool (0/1), vec4 for floats.
class ExprContext {
public:
    virtual ~ExprContext() = default;
    virtual const NodeView& view() const = 0;
    virtual std::string in(std::size_t k) = 0;                                ///< GLSL variable: elementwise input k
    virtual std::string table(std::size_t k, const std::string& index4) = 0;  ///< ivec4/vec4 read at four positions
    virtual std::string param(std::int32_t value) = 0;                        ///< int specialization constant
    virtual std::string param_float(float value) = 0;                         ///< float specialization constant
    /// The single element of input k if it is a constant tensor of one element and so known to the plan.
    virtual std::optional<std::int64_t> known(std::size_t k) const = 0;
};

/// A data-movement operator as an index map: the output's (or, for CONCAT, the input's) elements in row-major order
/// and where they are read (or written).
struct ViewDef {
    enum class Kind { none, alias, read, write } kind = Kind::none;
    std::vector<IndexMap> maps;  ///< read: one, over the output, into input 0; write: one per input, into output 0
    bool padded = false;         ///< read: elements outside lo/hi take the value of input `pad_operand`
    std::size_t pad_operand = 0;
};

struct OpDef {
    Op op = Op::unknown;
    const char* name = "";
    std::vector<const char*> type_vars;
    std::vector<ArgDef> inputs, outputs;
    std::vector<const char*> attributes;  ///< names of the fields of Attributes in use, in the specification's order
    std::vector<TypeRow> rows;
    std::vector<TypeRow> upgrade_rows;  ///< not in 1.0, but needed by graphs of 0.30 or of TFLite

    /// Output shapes from inputs and attributes; throws view.fail() when the specification calls the sizes an error.
    std::vector<Shape> (*infer)(const NodeView&) = nullptr;
    /// The other ERROR_IF conditions and the operator's own level checks (generic ones: ops/check.cpp). May be null.
    void (*check)(const NodeView&, const Level&) = nullptr;
    void (*reference)(RefContext&) = nullptr;
    /// Null: results are exact. `reference` is output k in fp64.
    Tolerance (*tolerance)(RefContext&, std::size_t k, std::span<const double> reference) = nullptr;

    /// Operators of our own: the rule of `tolerance` in words. Those of TOSA: verify/conformance/bounds.cpp.
    const char* accuracy = nullptr;

    /// Carried out by the executors themselves (reference, vk/), which hold regions, state and custom operators:
    /// control flow, variables, CUSTOM. Nothing of what follows is set then.
    bool structural = false;

    // What the GPU can make of it without a kernel of its own. An operator that is not structural has one of these or
    // kernels (kernels/kernels.hpp); or an expression for some nodes and kernels for the rest; or a view with kernels
    // that are asked first for a node that begins a group.
    std::string (*expression)(ExprContext&) = nullptr;
    /// File under shaders/ with functions that the expression calls besides those of lib/math.glsl, which are always
    /// there. May be null.
    const char* library = nullptr;
    /// How many simple operators its expression is worth, about: whether to make a value twice or to store it is
    /// weighed by that (docs/performance.md, "Prologues"). Guesses.
    int operations = 1;
    bool (*expression_if)(const NodeView&) = nullptr;  ///< the nodes that the expression serves; null: all
    ViewDef (*view)(const NodeView&) = nullptr;
    /// REDUCE_*, beside its kernels: a GLSL expression that makes one partial result of two quads of them, `a` and `b`.
    const char* (*combine)(const NodeView&) = nullptr;
};

/// All operators, in the order of the specification.
std::span<const OpDef> registry();
/// nullptr when there is no such operator.
const OpDef* find_op(Op op);
const OpDef* find_op(std::string_view name);
/// Like find_op; throws Error(unsupported) when it is missing.
const OpDef& op_def(Op op);
/// Whether an expression serves this node.
inline bool is_elementwise(const NodeView& view) {
    const OpDef& def = op_def(view.node().op);
    return def.expression && (!def.expression_if || def.expression_if(view));
}

// Each family file offers its rows to the registry through one of these.
std::vector<OpDef> activation_ops();
std::vector<OpDef> elementwise_ops();
std::vector<OpDef> comparison_ops();
std::vector<OpDef> conv_ops();
std::vector<OpDef> matmul_ops();
std::vector<OpDef> fft_ops();
std::vector<OpDef> pool_ops();
std::vector<OpDef> reduce_ops();
std::vector<OpDef> rescale_ops();
std::vector<OpDef> cast_ops();
std::vector<OpDef> table_ops();
std::vector<OpDef> data_layout_ops();
std::vector<OpDef> gather_scatter_ops();
std::vector<OpDef> resize_ops();
std::vector<OpDef> custom_ops();
std::vector<OpDef> control_flow_ops();
std::vector<OpDef> variable_ops();
std::vector<OpDef> own_elementwise_ops();
std::vector<OpDef> own_function_ops();
std::vector<OpDef> cumulate_ops();
std::vector<OpDef> dynamic_slice_ops();
std::vector<OpDef> indexed_ops();
std::vector<OpDef> sort_ops();
std::vector<OpDef> scale_fp64_ops();
std::vector<OpDef> suppress_ops();
std::vector<OpDef> bitcast_ops();

// ops/check.cpp
/// The type row that a node uses; throws Error(bad_model) naming the types when there is none.
const TypeRow& match_row(const NodeView& view);
/// Types for the outputs of a node that has none yet, where inputs and attributes leave one choice of each.
std::vector<DType> infer_types(const NodeView& view, const Level& level);
/// Everything that check_node looks at before the outputs' shapes, then the shapes that the outputs must have.
std::vector<Shape> infer_node(const NodeView& view, const Level& level);
/// Arity, types, ranks, constants, shapes, ERROR_IF and level limits of one node. Throws Error.
void check_node(const NodeView& view, const Level& level);
/// check_node on all nodes, and the graph's own rules (order, names, unproduced values).
void check_graph(const Graph& graph, const Level& level);
/// The same for a region: it may lack outputs.
void check_region(const Graph& graph, const Level& level);

}  // namespace tosavk
