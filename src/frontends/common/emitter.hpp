// What front ends write their graphs with: nodes under the names of the file's layers, constants that are moved and cut
// here instead of on the device, RESCALE with its zero points, and tensors without elements, which no graph holds.
#pragma once

#include "base/text.hpp"
#include "ops/builder.hpp"

#include <map>
#include <string>
#include <tuple>

namespace tosavk {

/// real = multiplier * 2^-shift, one for the tensor or one for each entry of its last dimension.
struct Scaling {
    std::vector<std::int64_t> multiplier, shift;
    bool scale32 = true;  ///< multipliers of 31 bits; else of 15, which i48 needs
    bool per_channel = false;
    Rounding rounding = Rounding::single_round;
    std::int64_t input_zp = 0, output_zp = 0;  ///< of unsigned tensors: 0..255, 0..65535
    bool input_unsigned = false, output_unsigned = false;
};

/// Stands on a GraphBuilder of the front end's, which may be exchanged for another one between two operators.
///
/// A tensor with a dimension of 0 has an id here like any other value, but is not in the graph: a node whose result has
/// no elements is not made, CONCAT leaves such operands out, and what else would have to read one is refused.
class Emitter {
public:
    explicit Emitter(GraphBuilder* builder) : to_(builder) {}
    virtual ~Emitter() = default;

    // ---- names ----------------------------------------------------------------------------------------------------
    /// What follows belongs to one layer of the file: its nodes have the name `node`, with a number from the second on
    /// if `numbered`, and its constants and intermediate values have names that begin with `value`.
    void scope(std::string node, std::string value, bool numbered);
    std::string unique(const std::string& name);  ///< for a node

    // ---- values ---------------------------------------------------------------------------------------------------
    const Value& graph_value(ValueId id) const;  ///< of a tensor without elements too
    const Shape& shape(ValueId id) const { return graph_value(id).shape; }
    DType type(ValueId id) const { return graph_value(id).type; }
    bool is_empty(ValueId id) const { return id >= first_empty && id != no_id; }
    const Level& level() const { return to_->level(); }

    ValueId empty(DType type, const Shape& shape);  ///< a tensor without elements
    ValueId scalar(DType type, double v) { return to_->scalar(type, v); }
    /// A constant of one element whose rank is that of `like`, so that it broadcasts against it.
    ValueId splat(ValueId like, DType type, double v);
    /// The operand of an operator. `what` is for messages: what the value is called.
    ValueId zero_point(DType type, std::int64_t v, bool is_unsigned = false, const char* what = "zero point");
    ValueId constant(const std::string& what, DType type, const Shape& shape, Bytes bytes);
    ValueId constant_ints(const std::string& what, DType type, const Shape& shape,
                          std::span<const std::int64_t> values);
    ValueId constant_floats(const std::string& what, const Shape& shape, std::span<const float> values);

    // ---- nodes ----------------------------------------------------------------------------------------------------
    // Intermediate values are named after `suffix` where one is given, else after their node.

    ValueId add(Op op, std::vector<ValueId> inputs, DType output_type, Attributes attrs = {}, const char* suffix = "");
    /// Of an operator with several results; operands have elements.
    std::vector<ValueId> add_all(Op op, std::vector<ValueId> inputs, std::span<const DType> output_types,
                                 Attributes attrs = {});
    ValueId mul(ValueId a, ValueId b, DType output_type);               ///< with a shift of 0
    ValueId reshape(ValueId id, Shape shape, const char* suffix = "");  ///< no node where nothing changes
    ValueId slice(ValueId id, std::span<const std::int64_t> start, const Shape& size, const char* suffix = "");
    ValueId slice_axis(ValueId id, std::size_t axis, std::int64_t start, std::int64_t size);
    /// Of any number of parts, in several nodes where the level allows fewer.
    ValueId concat(std::vector<ValueId> parts, std::size_t axis);
    ValueId cast(ValueId id, DType to, const char* suffix = "");  ///< no node when it has that type
    ValueId clamp(ValueId id, double min, double max);
    ValueId rescale(ValueId id, DType to, const Scaling& scaling);
    /// With factors that are values, whatever `scaling` has.
    ValueId rescale(ValueId id, DType to, const Scaling& scaling, ValueId multiplier, ValueId shift);
    /// Keys, and what is moved along with them.
    std::vector<ValueId> sort(std::vector<ValueId> tensors, const Attributes& attrs);
    /// Integers times numbers of fp64, one or one for each place of the last dimension, each 0 to 2^52, as fp64
    /// arithmetic has it: SCALE_FP64.
    ValueId scale_fp64(ValueId id, DType to, std::span<const double> scales, std::int64_t output_zp);
    /// Both with leading dimensions of 1 up to the same rank.
    void match_ranks(ValueId& a, ValueId& b);
    /// Makes it an output of the region in hand. Values may share a name, outputs do not: the second one gets another.
    void hand_out(ValueId id);

    /// Error(bad_model) and Error(unsupported), about the operator in hand.
    [[noreturn]] void fail(const std::string& what) const;
    [[noreturn]] void unsupported(const std::string& what) const;

protected:
    /// What the file calls the operator in hand.
    virtual std::string title() const;
    /// Appends a node. A front end that turns one operator into others says in errors which it was.
    virtual std::vector<ValueId> append(Op op, std::vector<ValueId> inputs, Attributes attrs,
                                        std::span<const DType> output_types, const std::string& name);
    /// For a builder that begins anew: what constants it shared are forgotten.
    std::map<std::tuple<DType, std::size_t, double>, ValueId> exchange_splats(
        std::map<std::tuple<DType, std::size_t, double>, ValueId> other = {});

private:
    static constexpr ValueId first_empty = 0x80000000u;

    std::string constant_name(const std::string& what) const;
    ValueId add_with_empty(Op op, const std::vector<ValueId>& inputs, DType output_type, const Attributes& attrs);

    GraphBuilder* to_;
    std::string node_, value_;
    bool numbered_ = false;
    UniqueNames node_names_, output_names_;
    std::map<std::tuple<DType, std::size_t, double>, ValueId> splats_;
    std::vector<Value> empties_;
};

}  // namespace tosavk
