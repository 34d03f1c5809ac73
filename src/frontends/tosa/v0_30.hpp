// TOSA 0.30: its operators and type rows, its attributes, and how each operator becomes nodes of 1.0. The .tosa reader
// and the builder of 0.30 graphs share this; no other room knows that there was another version.
#pragma once

#include "graph/graph.hpp"
#include "ops/builder.hpp"
#include "ops/rows_0_30.hpp"

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace tosavk::v0_30 {

// ---- one operator -------------------------------------------------------------------------------------------------

/// The attributes of all operators under the names of 0.30. An operator looks at its own only.
struct Attributes {
    std::int32_t axis = 0;
    std::vector<std::int32_t> kernel, stride, pad, dilation;  ///< as in 1.0
    std::vector<std::int32_t> out_pad;  ///< TRANSPOSE_CONV2D: top, bottom, left, right; taken away from the output
    bool out_pad_adds = false;          ///< files after 0.30 may mean what 1.0 means
    std::vector<std::int32_t> perms;
    std::int64_t input_zp = 0, weight_zp = 0, output_zp = 0;  ///< of unsigned tensors: 0..255, 0..65535
    std::int64_t a_zp = 0, b_zp = 0;                          ///< MATMUL
    std::int64_t input1_zp = 0;                               ///< NEGATE
    double min_val = 0, max_val = 0;                          ///< CLAMP; bounds beyond the type bound nothing
    std::int32_t shift = 0;             ///< MUL: 0..63; RESIZE: positions are in units of 2^-shift
    bool round = false;                 ///< ARITHMETIC_RIGHT_SHIFT
    std::vector<std::int64_t> table;    ///< TABLE: 256 or 513 entries; empty: an input
    std::vector<std::int64_t> padding;  ///< PAD: before and after, for each axis
    double pad_const = 0;
    Shape new_shape, start, size, multiples;
    std::vector<std::int64_t> output_size;             ///< RESIZE: OH, OW
    std::vector<double> resize_stride, resize_offset;  ///< RESIZE: y, x; integers, or fp32 values for float tensors
    std::optional<std::vector<std::int64_t>> border;   ///< RESIZE: y, x; nullopt: as output_size wants
    ResizeMode mode = ResizeMode::nearest;
    bool scale32 = true, double_round = false, per_channel = false;
    std::vector<std::int64_t> multiplier, rescale_shift;  ///< RESCALE; empty: inputs
    bool inverse = false;                                 ///< FFT2D
    std::optional<DType> acc_type;  ///< float convolutions and AVG_POOL2D; 0.30's rows tell no two apart
    bool local_bound = false;       ///< of later files
};

struct Operand {
    ValueId id = no_id;
    bool is_unsigned = false;
};

/// What an output is to be. A shape is needed only where an elementwise result is larger than the broadcast of its
/// inputs, and for RFFT2D of later files, which keeps all rows.
struct Result {
    std::string name;  ///< of the value; intermediate values are named after it
    Type type;
    std::optional<Shape> shape;
};

/// Appends nodes of 1.0 that compute the operator; returns its outputs, named as wanted. Throws Error(bad_model) for
/// what 0.30 calls an error, and for graphs whose result it calls unpredictable where no tensor could hold it.
std::vector<ValueId> upgrade(GraphBuilder& builder, Op op, std::span<const Operand> inputs,
                             const Attributes& attributes, std::span<const Result> results,
                             const std::string& node_name);

// ---- whole graphs -------------------------------------------------------------------------------------------------

/// A graph that COND_IF or WHILE_LOOP owns, and the types of its ends, which a Graph knows without their sign.
struct Region {
    Graph graph;
    std::vector<Type> inputs, outputs;
};

/// Builds a graph from operators of 0.30, with its type rows and attributes; the Graph is one of 1.0.
class Builder {
public:
    explicit Builder(std::string name = {}, const Level& level = level_8k) : builder_(std::move(name), level) {}

    ValueId input(const std::string& name, Type type, const Shape& shape);
    /// The operator CONST; bytes as Value::data has them.
    ValueId constant(const std::string& name, Type type, const Shape& shape, Bytes bytes);

    std::vector<ValueId> add(Op op, const std::vector<ValueId>& inputs, const Attributes& attributes,
                             std::span<const Result> results, const std::string& name = {});
    ValueId add1(Op op, const std::vector<ValueId>& inputs, Type type, const Attributes& attributes = {},
                 const std::string& name = {}, std::optional<Shape> shape = {});

    // Operators without type rows. Errors are those of add(); what the regions' ends must be is said in their terms.

    /// `condition` has one element. Both regions have the list's types and shapes as inputs and agree in their outputs.
    std::vector<ValueId> cond_if(const std::vector<ValueId>& input_list, ValueId condition, Region then_graph,
                                 Region else_graph, const std::string& name = {});
    /// cond_graph gives one bool, body_graph the next list; both take the list.
    std::vector<ValueId> while_loop(const std::vector<ValueId>& input_list, Region cond_graph, Region body_graph,
                                    const std::string& name = {});
    /// 0.30 leaves open how an operator is named: it is by what 1.0 has. Every result needs its shape.
    std::vector<ValueId> custom(const std::string& domain, const std::string& op, const std::string& attrs,
                                const std::vector<ValueId>& inputs, std::span<const Result> results,
                                const std::string& name = {});

    void output(ValueId id) { builder_.output(id); }
    const Value& value(ValueId id) const { return builder_.value(id); }
    Type type(ValueId id) const { return {value(id).type, unsigned_.contains(id)}; }
    Graph finish();
    /// The same for a region, which needs no output.
    Region finish_region();

private:
    std::vector<Type> types(const std::vector<ValueId>& ids, Op op, const std::string& name) const;
    std::vector<ValueId> mark(std::vector<ValueId> ids, const std::vector<Type>& types);

    GraphBuilder builder_;
    std::unordered_map<ValueId, bool> unsigned_;  ///< the values that are
};

}  // namespace tosavk::v0_30
