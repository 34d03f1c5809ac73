// NON_MAX_SUPPRESSION_V4 and V5: a loop whose turns take the best box that is left and suppress those that overlap it.
#include "frontends/tflite/moves.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tosavk {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The tensor list of the loop; from `table` on it is handed on as it is.
enum State : std::size_t { turn, scores, indices, chosen, table, overlap_limit, score_limit, decay, state_size };

/// A region whose inputs are the list.
struct Region {
    GraphBuilder builder;
    Emitter e{&builder};
    std::vector<ValueId> list;

    Region(const char* name, const Lowering& l, const std::vector<ValueId>& outer) : builder(name, l.level()) {
        e.scope(name, name, /*numbered=*/true);
        for (std::size_t k = 0; k < outer.size(); ++k)
            list.push_back(builder.input(fmt::format("state_{}", k), l.type(outer[k]), l.shape(outer[k])));
    }
    Graph finish(const std::vector<ValueId>& outputs) {
        for (const ValueId id : outputs) builder.output(id);
        return builder.finish_region();
    }
    ValueId real(Op op, ValueId a, ValueId b) {
        return op == Op::mul ? e.mul(a, b, DType::fp32) : e.add(op, {a, b}, DType::fp32);
    }
    ValueId splat(double v) { return e.splat(list[scores], DType::fp32, v); }
    ValueId best_score() {
        Attributes attrs;
        attrs.axis = 1;
        return e.add(Op::reduce_max, {list[scores]}, DType::fp32, attrs);
    }
};

/// Another turn while there is room, and a box that is not suppressed.
Graph condition(const Lowering& l, const std::vector<ValueId>& outer, std::int64_t room) {
    Region r("another", l, outer);
    const ValueId more =
        r.e.add(Op::greater, {r.e.scalar(DType::i32, static_cast<double>(room)), r.list[turn]}, DType::boolean);
    const ValueId left = r.e.add(Op::greater, {r.best_score(), r.splat(-infinity)}, DType::boolean);
    return r.finish({r.e.add(Op::logical_and, {more, r.e.reshape(left, {1})}, DType::boolean)});
}

Graph body(const Lowering& l, const std::vector<ValueId>& outer, bool soft) {
    Region r("turn", l, outer);
    const std::int64_t count = r.e.shape(r.list[scores])[1], room = r.e.shape(r.list[indices])[0];
    Attributes attrs;
    attrs.axis = 1;
    const ValueId score = r.best_score(), best = r.e.add(Op::argmax, {r.list[scores]}, DType::i32, attrs);
    const ValueId picked = r.e.add(Op::gather, {r.list[table], r.e.reshape(best, {1, 1})}, DType::fp32);
    // Columns of the table: of all boxes, and of the one that was picked.
    const auto all = [&](std::int64_t k) { return r.e.reshape(r.e.slice_axis(r.list[table], 2, k, 1), {1, count}); };
    const auto its = [&](std::int64_t k) { return r.e.reshape(r.e.slice_axis(picked, 2, k, 1), {1, 1}); };
    const auto side = [&](std::int64_t k) {
        const ValueId low = r.real(Op::maximum, all(k), its(k)), high = r.real(Op::minimum, all(k + 2), its(k + 2));
        return r.real(Op::maximum, r.real(Op::sub, high, low), r.splat(0));
    };
    const ValueId common = r.real(Op::mul, side(0), side(1));
    const ValueId together = r.real(Op::sub, r.real(Op::add, all(4), its(4)), common);
    const ValueId flat = r.e.add(Op::greater_equal, {r.splat(0), r.real(Op::minimum, all(4), its(4))}, DType::boolean);
    const ValueId overlap = r.e.add(Op::select, {flat, r.splat(0), r.real(Op::divide, common, together)}, DType::fp32);
    const ValueId near = r.e.add(Op::greater_equal, {overlap, r.list[overlap_limit]}, DType::boolean);
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(room));
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<std::int64_t>(k);
    const ValueId places = r.e.constant_ints("places", DType::i32, {room}, numbers);
    // The box itself is as near as can be; one without an area is not, and TFLite takes it again and again.
    ValueId gone = near, kept = r.list[scores];
    if (soft) {
        const ValueId power = r.real(Op::mul, r.real(Op::mul, r.list[decay], overlap), overlap);
        kept = r.real(Op::mul, kept, r.e.add(Op::exp, {power}, DType::fp32));
        const ValueId enough = r.e.add(Op::greater, {kept, r.list[score_limit]}, DType::boolean);
        gone = r.e.add(Op::logical_or, {gone, r.e.add(Op::logical_not, {enough}, DType::boolean)}, DType::boolean);
    }
    const ValueId here = r.e.add(Op::equal, {places, r.list[turn]}, DType::boolean);
    std::vector<ValueId> next = r.list;
    next[turn] = r.e.add(Op::add, {r.list[turn], r.e.scalar(DType::i32, 1)}, DType::i32);
    next[scores] = r.e.add(Op::select, {gone, r.splat(-infinity), kept}, DType::fp32);
    next[indices] = r.e.add(Op::select, {here, best, r.list[indices]}, DType::i32);
    next[chosen] = r.e.add(Op::select, {here, r.e.reshape(score, {1}), r.list[chosen]}, DType::fp32);
    return r.finish(next);
}

/// Smaller y, smaller x, larger y, larger x and the area of each box: [1, count, 5].
ValueId box_table(Lowering& l, ValueId boxes) {
    const std::int64_t count = l.shape(boxes)[0];
    const auto column = [&](std::int64_t k) { return l.slice_axis(boxes, 1, k, 1); };
    std::vector<ValueId> columns;
    for (const Op op : {Op::minimum, Op::maximum}) {
        for (std::int64_t k = 0; k < 2; ++k) columns.push_back(l.add(op, {column(k), column(k + 2)}, DType::fp32));
    }
    const ValueId height = l.add(Op::sub, {columns[2], columns[0]}, DType::fp32);
    const ValueId width = l.add(Op::sub, {columns[3], columns[1]}, DType::fp32);
    columns.push_back(l.mul(height, width, DType::fp32));
    return l.reshape(l.concat(std::move(columns), 1), {1, count, 5});
}

void lower_suppression(Lowering& l) {
    const bool with_scores = l.op().code == tflite::BuiltinOperator::NON_MAX_SUPPRESSION_V5;
    if (l.output_count() != (with_scores ? 3u : 2u)) l.fail(fmt::format("it has {} outputs", l.output_count()));
    const ValueId boxes = l.value(0), given = l.value(1);
    const Shape from = l.shape(boxes);
    if (from.size() != 2 || from[1] != 4 || l.shape(given) != Shape{from[0]} || l.type(boxes) != DType::fp32 ||
        l.type(given) != DType::fp32)
        l.fail(fmt::format("boxes {} and scores {}", to_string(from), to_string(l.shape(given))));
    const std::int64_t room = const_int(l, 2, "the number of boxes to choose");
    if (room < 1 || room > 1 << 20) l.unsupported(fmt::format("to choose {} boxes is not supported", room));
    const auto number = [&](std::size_t k) {
        const ValueId id = l.value(k);
        if (l.type(id) != DType::fp32 || element_count(l.shape(id)) != 1) l.fail("its limits are no numbers");
        return l.reshape(id, {1, 1});
    };
    bool soft = false;
    float scale = 0;
    if (with_scores) {
        if (!l.constant(5)) l.unsupported("its sigma must be a constant");
        const Value sigma = l.graph_value(number(5));
        soft = decode_reals(sigma.type, *sigma.data).at(0) > 0;
        if (soft) scale = -0.5f / static_cast<float>(decode_reals(sigma.type, *sigma.data).at(0));
    }
    std::vector<ValueId> list(state_size);
    list[table] = box_table(l, boxes);
    list[overlap_limit] = number(3);
    list[score_limit] = number(4);
    list[decay] = l.constant_floats("decay", {1, 1}, {&scale, 1});
    const ValueId all = l.reshape(given, {1, from[0]});
    const ValueId enough = l.add(Op::greater, {all, list[score_limit]}, DType::boolean);
    list[scores] = l.add(Op::select, {enough, all, l.splat(all, DType::fp32, -infinity)}, DType::fp32);
    const std::vector<std::int64_t> none(static_cast<std::size_t>(room), 0);
    list[turn] = l.constant_ints("turn", DType::i32, {1}, std::span(none).first(1));
    list[indices] = l.constant_ints("indices", DType::i32, {room}, none);
    list[chosen] = l.constant_floats("scores", {room}, std::vector<float>(none.size(), 0.0f));
    const std::vector<ValueId> done =
        l.while_loop(list, condition(l, list, std::min(room, from[0])), body(l, list, soft));
    l.set(done[indices]);
    if (with_scores) l.set(done[chosen], 1);
    l.set(l.reshape(done[turn], {}), with_scores ? 2 : 1);
}

}  // namespace

OperatorRows suppression_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::NON_MAX_SUPPRESSION_V4, lower_suppression, has_regions},
        {B::NON_MAX_SUPPRESSION_V5, lower_suppression, has_regions},
    };
    return rows;
}

}  // namespace tosavk
