// NON_MAX_SUPPRESSION_V4 and V5.
#include "frontends/tflite/moves.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

void lower_suppression(Lowering& l) {
    const bool with_scores = l.op().code == tflite::BuiltinOperator::NON_MAX_SUPPRESSION_V5;
    if (l.output_count() != (with_scores ? 3u : 2u)) l.fail(fmt::format("it has {} outputs", l.output_count()));
    const ValueId boxes = l.value(0), scores = l.value(1);
    const Shape from = l.shape(boxes);
    if (from.size() != 2 || from[1] != 4 || l.shape(scores) != Shape{from[0]} || l.type(boxes) != DType::fp32 ||
        l.type(scores) != DType::fp32)
        l.fail(fmt::format("boxes {} and scores {}", to_string(from), to_string(l.shape(scores))));
    const std::int64_t room = const_int(l, 2, "the number of boxes to choose");
    Attributes attrs;
    attrs.most = l.narrow(std::min(room, from[0]), "the number of boxes to choose");
    if (room < 1 || room > 1 << 20 || attrs.most > 16384)
        l.unsupported(fmt::format("to choose {} boxes is not supported", room));
    const auto number = [&](std::size_t k) {
        const ValueId id = l.value(k);
        if (l.type(id) != DType::fp32 || element_count(l.shape(id)) != 1) l.fail("its limits are no numbers");
        return l.reshape(id, {1});
    };
    if (with_scores) {
        if (!l.constant(5)) l.unsupported("its sigma must be a constant");
        const Value sigma = l.graph_value(number(5));
        attrs.sigma = std::max(decode_reals(sigma.type, *sigma.data).at(0), 0.0);
    }
    const std::vector<ValueId> found = l.add_all(Op::suppress_queued, {boxes, scores, number(3), number(4)},
                                                 std::array{DType::i32, DType::fp32, DType::i32}, attrs);
    const std::vector<std::int64_t> behind{0, room - attrs.most};
    l.set(pad(l, found[0], behind, l.scalar(DType::i32, 0)));
    if (with_scores) l.set(pad(l, found[1], behind, l.scalar(DType::fp32, 0)), 1);
    l.set(l.reshape(found[2], {}), with_scores ? 2 : 1);
}

}  // namespace

OperatorRows suppression_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::NON_MAX_SUPPRESSION_V4, lower_suppression},
        {B::NON_MAX_SUPPRESSION_V5, lower_suppression},
    };
    return rows;
}

}  // namespace tosavk
