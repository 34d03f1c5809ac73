#include "ops/trips.hpp"

#include "ops/storage.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace tosavk {
namespace {

constexpr std::size_t none = SIZE_MAX;

/// An i32 with one element as what a loop's graphs take it from.
struct Number {
    std::optional<std::int64_t> constant;
    std::size_t input = none;  ///< of the region
};

std::optional<std::int64_t> constant_of(const Graph& graph, ValueId id) {
    const Value& value = graph.value(storage_of(graph, id));
    if (!value.is_constant() || value.type != DType::i32 || element_count(value.shape) != 1) return std::nullopt;
    std::int32_t number = 0;
    std::memcpy(&number, value.data->data(), sizeof number);
    return number;
}

Number number_of(const Graph& region, ValueId id) {
    const ValueId owner = storage_of(region, id);
    const Value& value = region.value(owner);
    if (value.type != DType::i32 || element_count(value.shape) != 1) return {};
    const auto found = std::find(region.inputs.begin(), region.inputs.end(), owner);
    const auto at = static_cast<std::size_t>(found - region.inputs.begin());
    return {constant_of(region, id), found == region.inputs.end() ? none : at};
}

/// What the counter gains in a turn; 0 where something else becomes of it.
std::int64_t step_of(const Graph& body, std::size_t counter) {
    const Value& result = body.value(storage_of(body, body.outputs[counter]));
    if (result.producer == no_id) return 0;
    const Node& node = body.node(result.producer);
    if (node.op != Op::add && node.op != Op::sub) return 0;
    Number a = number_of(body, node.inputs[0]), b = number_of(body, node.inputs[1]);
    if (node.op == Op::add && a.constant) std::swap(a, b);
    if (a.input != counter || !b.constant) return 0;
    return node.op == Op::add ? *b.constant : -*b.constant;
}

/// The turns for which the value `answer` of the loop's condition holds, from the first one on.
std::optional<std::int64_t> turns_while(const Graph& graph, const Node& node, ValueId answer) {
    const Graph &condition = *node.regions.at(0), &body = *node.regions.at(1);
    answer = storage_of(condition, answer);
    bool negated = false;
    const Node* compare = nullptr;
    while (condition.value(answer).producer != no_id) {
        compare = &condition.node(condition.value(answer).producer);
        if (compare->op != Op::logical_not) break;
        negated = !negated;
        answer = storage_of(condition, compare->inputs.front());
    }
    if (!compare || (compare->op != Op::greater && compare->op != Op::greater_equal)) return std::nullopt;
    const Number left = number_of(condition, compare->inputs[0]), right = number_of(condition, compare->inputs[1]);

    // A bound is what never changes and begins as a constant; the other one is the counter.
    const auto bound_of = [&](const Number& number) -> std::optional<std::int64_t> {
        if (number.constant || number.input == none) return number.constant;
        return is_invariant(node, number.input) ? constant_of(graph, node.inputs[number.input]) : std::nullopt;
    };
    const auto bound_left = bound_of(left), bound_right = bound_of(right);
    if (bound_left.has_value() == bound_right.has_value()) return std::nullopt;
    const std::size_t counter = bound_left ? right.input : left.input;
    if (counter == none) return std::nullopt;
    const auto begin = constant_of(graph, node.inputs[counter]);
    std::int64_t step = step_of(body, counter);
    if (!begin) return std::nullopt;

    // As "first < last", with a step above zero.
    const bool strict = (compare->op == Op::greater) != negated;
    const bool rises = bound_left.has_value() != negated;  // it goes on while the counter is below the bound
    std::int64_t first = *begin, last = bound_left ? *bound_left : *bound_right;
    const std::int64_t most = rises ? INT32_MAX : -std::int64_t{INT32_MIN};
    if (!rises) first = -first, last = -last, step = -step;
    if (!strict) ++last;
    if (first >= last) return 0;
    if (step <= 0) return std::nullopt;
    const std::int64_t turns = (last - first + step - 1) / step;
    return first + turns * step > most ? std::nullopt : std::optional(turns);
}

/// The least of those that must all hold.
std::optional<std::int64_t> bound_of(const Graph& graph, const Node& node, ValueId answer) {
    const Graph& condition = *node.regions.at(0);
    std::optional<std::int64_t> least;
    std::vector<bool> seen(condition.values.size(), false);
    std::vector<ValueId> parts{answer};
    while (!parts.empty()) {
        const ValueId part = storage_of(condition, parts.back());
        parts.pop_back();
        if (seen[part]) continue;
        seen[part] = true;
        const NodeId producer = condition.value(part).producer;
        if (producer != no_id && condition.node(producer).op == Op::logical_and) {
            const std::vector<ValueId>& both = condition.node(producer).inputs;
            parts.insert(parts.end(), both.begin(), both.end());
            continue;
        }
        const auto bound = turns_while(graph, node, part);
        if (bound && (!least || *bound < *least)) least = bound;
    }
    return least;
}

}  // namespace

bool is_invariant(const Node& loop, std::size_t k) {
    const Graph& body = *loop.regions.at(1);
    return storage_of(body, body.outputs[k]) == storage_of(body, body.inputs[k]);
}

std::optional<std::int64_t> trip_count(const Graph& graph, NodeId loop) {
    const Node& node = graph.node(loop);
    return turns_while(graph, node, node.regions.at(0)->outputs.front());
}

std::optional<std::int64_t> trip_bound(const Graph& graph, NodeId loop) {
    const Node& node = graph.node(loop);
    return bound_of(graph, node, node.regions.at(0)->outputs.front());
}

}  // namespace tosavk
