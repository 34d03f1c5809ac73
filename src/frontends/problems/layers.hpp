// Builds graphs of layers with random weights. It follows how large the numbers are that flow through, so that the
// RESCALE after an integer layer fills the range of its type and float results stay near 1.
#pragma once

#include "frontends/common/emitter.hpp"
#include "graph/graph.hpp"
#include "graph/host_tensor.hpp"
#include "ops/builder.hpp"

#include <map>

namespace tosavk {

enum class Activation { none, relu, relu6 };

class Layers {
public:
    Layers(std::string name, const Level& level, std::uint64_t seed)
        : builder_(std::move(name), level), level_(level), seed_(seed) {}
    Layers(const Layers&) = delete;
    Layers& operator=(const Layers&) = delete;

    GraphBuilder& builder() { return builder_; }
    const Value& value(ValueId id) const { return builder_.value(id); }
    const Shape& shape(ValueId id) const { return builder_.value(id).shape; }
    DType type(ValueId id) const { return builder_.value(id).type; }

    // ---- values ---------------------------------------------------------------------------------------------------

    ValueId input(const std::string& name, DType type, const Shape& shape);
    /// Floats with this standard deviation; integers over their whole range, both signs alike.
    ValueId weights(const std::string& name, DType type, const Shape& shape, double deviation);
    /// Integers from lo to hi.
    ValueId integers(const std::string& name, DType type, const Shape& shape, std::int64_t lo, std::int64_t hi);
    ValueId zero_point(ValueId id);  ///< a constant with the value's own

    /// Root of the mean square of (element - zero point); 1 where nothing is known.
    double magnitude(ValueId id) const;
    void set_magnitude(ValueId id, double magnitude) { magnitudes_[id] = magnitude; }

    // ---- layers ---------------------------------------------------------------------------------------------------

    /// CONV2D, CONV3D, DEPTHWISE_CONV2D or TRANSPOSE_CONV2D with bias; integers give their accumulator (i32, i48).
    ValueId convolve(Op op, ValueId x, DType weight_type, const Shape& weight_shape, Attributes attrs);
    ValueId matmul(ValueId a, ValueId b);
    /// A RESCALE of an accumulator (or any integers) to `type`, so that results use its range. Relu: the range above 0.
    ValueId requantize(ValueId x, DType type, Activation activation = Activation::none, bool per_channel = true);
    /// RESCALE with this factor and these zero points; per_channel takes one multiplier per channel, all near the
    /// factor.
    ValueId rescale(ValueId x, DType type, double factor, std::int64_t out_zero_point, bool per_channel);
    /// SCALE_FP64, of scales near the factor.
    ValueId scale_fp64(ValueId x, DType type, double factor, bool per_channel);
    /// CLAMP: for floats 0 to 6; for integers from the zero point up.
    ValueId clamp(ValueId x, double largest = 6);
    /// Average or maximum over windows.
    ValueId pool(Op op, ValueId x, Attributes attrs);
    ValueId reshape(ValueId x, const Shape& shape);
    ValueId unary(Op op, ValueId x) { return builder_.add1(op, {x}, type(x)); }
    ValueId binary(Op op, ValueId a, ValueId b) { return builder_.add1(op, {a, b}, type(a)); }
    ValueId mul(ValueId a, ValueId b) { return emit_.mul(a, b, type(a)); }  ///< floats
    ValueId softmax(ValueId x, std::int32_t axis);  ///< floats: exp(x - max) over the sum of these
    ValueId cast(ValueId x, DType type) { return emit_.cast(x, type); }

    Graph finish(ValueId output);
    Graph finish(const std::vector<ValueId>& outputs);

private:
    void check_size(const std::string& name, DType type, const Shape& shape) const;
    std::uint64_t next_seed() { return seed_ * 1000003 + ++drawn_; }

    GraphBuilder builder_;
    Emitter emit_{&builder_};
    const Level& level_;
    std::uint64_t seed_, drawn_ = 0;
    std::map<ValueId, double> magnitudes_;
};

/// A window of KH x KW for convolutions and pools.
Attributes window(std::int64_t stride_y, std::int64_t stride_x, const std::vector<std::int32_t>& pad,
                  std::int64_t dilation = 1);

}  // namespace tosavk
