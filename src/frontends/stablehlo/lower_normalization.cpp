// Normalization over all dimensions but one.
#include "frontends/stablehlo/functions.hpp"

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

struct Normalization {
    Lowering& l;
    std::size_t feature;
    Shape shape;
    Element element;

    explicit Normalization(Lowering& lowering)
        : l(lowering),
          feature(static_cast<std::size_t>(l.integer("feature_index"))),
          shape(l.static_shape(l.operand_type(0))),
          element(l.operand_type(0).element) {}

    Id along(std::size_t k) {  ///< one number a feature, beside the whole tensor
        return spread(l.cast(l.in(k).id, DType::fp32));
    }
    Id whole(std::size_t k) { return l.cast(l.in(k).id, DType::fp32); }
    Id spread(Id id) {
        Shape ones(shape.size(), 1);
        ones.at(feature) = shape.at(feature);
        return l.reshape(id, ones);
    }
    Id sum(Id id) {
        for (std::size_t d = 0; d < shape.size(); ++d) {
            if (d == feature || shape[d] == 1) continue;
            tosavk::Attributes attrs;
            attrs.axis = static_cast<std::int32_t>(d);
            id = l.add(Op::reduce_sum, {id}, DType::fp32, attrs);
        }
        return id;
    }
    double count() const {
        return static_cast<double>(tosavk::element_count(shape)) / static_cast<double>(shape.at(feature));
    }
    Id mean(Id id) { return multiply(l, sum(id), float_splat(l, id, 1 / count())); }
    Id plus(Id a, Id b) { return l.binary(Op::add, a, b, DType::fp32); }
    Id minus(Id a, Id b) { return l.binary(Op::sub, a, b, DType::fp32); }
    Id over(Id a, Id b) { return l.binary(Op::divide, a, b, DType::fp32); }
    Id deviation(Id variance) { return l.unary(Op::sqrt, plus(variance, float_splat(l, variance, l.real("epsilon")))); }
    void set(Id id, std::size_t k = 0) {
        const Shape to = l.result_shape(k);
        l.set({element, l.cast(l.reshape(id, to), l.dtype(element)), no_id, {}}, k);
    }
};

void lower_batch_norm_inference(Lowering& l) {
    Normalization n(l);
    const Id scale = n.along(1), offset = n.along(2), mean = n.along(3), variance = n.along(4);
    const Id normal = n.over(n.minus(n.whole(0), mean), n.deviation(variance));
    n.set(n.plus(multiply(l, normal, scale), offset));
}

void lower_batch_norm_training(Lowering& l) {
    Normalization n(l);
    const Id x = n.whole(0), mean = n.mean(x), centered = n.minus(x, mean);
    const Id variance = n.mean(multiply(l, centered, centered));
    const Id normal = n.over(centered, n.deviation(variance));
    n.set(n.plus(multiply(l, normal, n.along(1)), n.along(2)));
    n.set(mean, 1);
    n.set(variance, 2);
}

void lower_batch_norm_grad(Lowering& l) {
    Normalization n(l);
    const Id x = n.whole(0), scale = n.along(1), mean = n.along(2), variance = n.along(3), dy = n.whole(4);
    const Id centered = n.minus(x, mean), deviation = n.deviation(variance);
    const Id of_dy = n.sum(dy), of_both = n.sum(multiply(l, dy, centered));
    const Id square = multiply(l, deviation, deviation);
    const Id slope = n.over(multiply(l, centered, of_both), square);
    const Id all = n.minus(n.minus(multiply(l, dy, float_splat(l, dy, n.count())), of_dy), slope);
    const Id factor = multiply(l, n.over(scale, deviation), float_splat(l, dy, 1 / n.count()));
    n.set(multiply(l, all, factor));
    n.set(n.over(of_both, deviation), 1);
    n.set(of_dy, 2);
}

}  // namespace

std::span<const LoweringRow> normalization_rows() {
    static constexpr LoweringRow rows[] = {
        {"batch_norm_grad", lower_batch_norm_grad},
        {"batch_norm_inference", lower_batch_norm_inference},
        {"batch_norm_training", lower_batch_norm_training},
    };
    return rows;
}

}  // namespace tosavk::stablehlo
