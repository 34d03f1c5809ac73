// What the upgrades of single operators share: one operator of 0.30 on its way into a GraphBuilder.
#pragma once

#include "frontends/common/emitter.hpp"
#include "frontends/tosa/v0_30.hpp"
#include "ops/builder.hpp"

namespace tosavk::v0_30 {

class Upgrade : Emitter {
public:
    Upgrade(GraphBuilder& builder, Op op, std::span<const Operand> inputs, const Attributes& attributes,
            std::span<const Result> results, const std::string& node_name);
    std::vector<ValueId> run();

private:
    using Ids = std::vector<ValueId>;

    Ids elementwise();
    Ids narrow_shift();
    ValueId tiled(ValueId first, std::size_t tensors);
    Ids argmax();
    Ids conv();
    Ids transpose_conv();
    Ids dense();
    Ids matmul();
    Ids pool();
    Ids rescale();
    Ids clamp();
    Ids table();
    Ids fft();

    // resize_0_30.cpp
    struct Axis;
    Ids resize();
    Axis resize_axis(std::size_t k, const char* name) const;
    bool find_rational(Axis& axis) const;
    Ids resize_by_gather(const Axis& y, const Axis& x);

    const Value& in(std::size_t k) const { return builder_.value(inputs_[k].id); }
    ValueId id(std::size_t k) const { return inputs_[k].id; }
    Ids ids() const;
    const Result& out() const { return results_.front(); }
    void need_inputs(std::size_t count) const { need_inputs(count, count); }
    void need_inputs(std::size_t least, std::size_t most) const;
    void need_values(const char* what, std::size_t count, std::size_t wanted) const;
    void need_rank(std::size_t k, const char* operand, std::size_t rank) const;
    std::string title() const override;
    Ids append(Op op, Ids inputs, tosavk::Attributes attrs, std::span<const DType> types,
               const std::string& name) override;

    /// A node whose value is not a result of the operator.
    ValueId step(Op op, Ids inputs, DType type, const char* suffix) {
        return add(op, std::move(inputs), type, {}, suffix);
    }
    /// The node that computes output k.
    ValueId last(Op op, Ids inputs, tosavk::Attributes attrs = {}, std::size_t k = 0);
    Ids done(Op op, Ids inputs, tosavk::Attributes attrs = {}) {
        return {last(op, std::move(inputs), std::move(attrs))};
    }
    ValueId widened(ValueId id, DType out, const char* suffix);  ///< fp16 and bf16 to fp32 where the output is fp32
    DType accumulator() const;
    /// Convolutions: input, weight, bias and both zero points.
    Ids conv_inputs(ValueId input, ValueId weight);

    GraphBuilder& builder_;
    const Op op_;
    const std::span<const Operand> inputs_;
    const Attributes& a_;
    const std::span<const Result> results_;
    const std::string& name_;
};

}  // namespace tosavk::v0_30
