// Calls, branches and loops.
#include "frontends/stablehlo/elements.hpp"
#include "frontends/stablehlo/functions.hpp"
#include "frontends/stablehlo/lowering.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

namespace tosavk::stablehlo {

namespace {

void lower_call(Lowering& l) {
    std::string callee = l.text("callee");
    l.call(callee.empty() ? l.text("decomposition") : callee);
}

/// Functions of CHLO that are one operator here; the others are what they are made of.
constexpr std::pair<std::string_view, Op> composites[] = {
    {"chlo.digamma", Op::digamma},
    {"chlo.erf", Op::erf},
    {"chlo.erf_inv", Op::erf_inv},
    {"chlo.lgamma", Op::lgamma},
};

bool is_negative_infinity(const Operation& operation) {
    const Attribute* value = operation.name == "constant" ? find(operation.attributes, "value") : nullptr;
    const auto* elements = value ? value->as<Elements>() : nullptr;
    if (!elements || !elements->splat) return false;
    const Element element = elements->type->element;
    const std::size_t size = bytes_of(element);
    const bool is_real =
        element == Element::f32 || element == Element::f64 || element == Element::f16 || element == Element::bf16;
    if (!is_real || elements->data->size() < size) return false;
    std::uint64_t bits = 0;
    std::memcpy(&bits, elements->data->data(), size);
    return real_from_bits(element, bits) == -std::numeric_limits<double>::infinity();
}

/// Whether the function, or one that it calls, has that constant, or CHLO's digamma, which text may keep.
bool has_negative_infinity(Lowering& l, const std::string& function, std::set<std::string>& seen) {
    bool found = false;
    if (!seen.insert(function).second) return false;
    l.within(function, [&](const Region& body) {
        for (const Operation& operation : body.operations) {
            const Attribute* callee = operation.name == "call" ? find(operation.attributes, "callee") : nullptr;
            const auto* name = callee ? callee->as<std::string>() : nullptr;
            const bool is_digamma = operation.dialect == Dialect::chlo && operation.name == "digamma";
            found = found || is_digamma || is_negative_infinity(operation) ||
                    (name && has_negative_infinity(l, *name, seen));
        }
    });
    return found;
}

/// XLA's expansion of digamma gives NaN at 0 in older programs and -infinity, a constant of it, in newer ones.
Id digamma_as_expanded(Lowering& l, Id x, const std::string& decomposition) {
    std::set<std::string> seen;
    return has_negative_infinity(l, decomposition, seen) ? digamma(l, x) : l.unary(Op::digamma, x);
}

void lower_composite(Lowering& l) {
    const std::string name = l.text("name");
    for (const auto& [composite, op] : composites) {
        if (composite != name || l.operand_count() != 1) continue;
        const Tensor x = l.in(0);
        if (x.is_complex()) continue;
        const Id wide = l.cast(x.id, DType::fp32);
        const bool is_digamma = op == Op::digamma;
        return l.set(l.narrow(is_digamma ? digamma_as_expanded(l, wide, l.text("decomposition")) : l.unary(op, wide),
                              x.element));
    }
    l.call(l.text("decomposition"));
}

/// A tuple is nothing in the graph; what reads a part finds it where it was made.
void lower_tuple(Lowering& l) { l.set(Tensor{}); }

/// What a part of a tuple is; tuples may lie in tuples.
stablehlo::ValueId part_of_tuple(Lowering& l, const Operation& get) {
    const Operation* made = l.maker(get.operands.at(0));
    if (made && made->name == "get_tuple_element") made = l.maker(part_of_tuple(l, *made));
    const Attribute* attribute = find(get.attributes, "index");
    const auto* index = attribute ? attribute->as<Integer>() : nullptr;
    const bool known = made && made->name == "tuple" && index && index->value >= 0 &&
                       static_cast<std::size_t>(index->value) < made->operands.size();
    if (!known) l.unsupported("its tuple is not known");
    return made->operands[static_cast<std::size_t>(index->value)];
}

void lower_tuple_part(Lowering& l) { l.set(l.value(part_of_tuple(l, l.op()))); }

void lower_token(Lowering& l) { l.set(Tensor{}); }

void lower_zero_id(Lowering& l) { l.set(l.number(Element::u32, 0)); }

// ---- regions ------------------------------------------------------------------------------------------------------

void append_ids(Lowering& l, std::vector<Id>& list, const Tensor& tensor) {
    for (const Id id : {tensor.id, tensor.other})
        if (id != no_id && !l.is_empty(id)) list.push_back(id);
}

/// What a region gave, with the ids that its node has in this graph.
std::vector<Tensor> take_results(Lowering& l, std::span<const Tensor> like, std::span<const Id> ids) {
    std::vector<Tensor> results;
    std::size_t next = 0;
    for (std::size_t k = 0; k < like.size(); ++k) {
        Tensor result = like[k];
        for (Id* part : {&result.id, &result.other}) {
            if (*part == no_id) continue;
            const Type& type = l.result_type(k);
            if (has_no_elements(type.dims)) *part = l.empty(l.dtype(type.element), type.dims);
            else *part = ids[next++];
        }
        results.push_back(result);
    }
    return results;
}

std::vector<Tensor> branch(Lowering& l, Id condition, const Region& on_true, const Region& on_false);

/// Both sides take what either reads of the outside.
template <class Second>
std::vector<Tensor> two_ways(Lowering& l, Id condition, const Region& on_true, const Second& second) {
    std::vector<stablehlo::ValueId> captured;
    std::vector<bool> pairs;
    Lowering::Made a = l.made(on_true, {}, captured, false);
    const std::size_t first_needs = captured.size();
    Lowering::Made b = second(captured, pairs);
    bool differ = false;
    for (std::size_t k = 0; k < a.results.size(); ++k) {
        const bool one = a.results[k].is_pair(), other = b.results.at(k).is_pair();
        pairs.push_back(one || other);
        differ = differ || one != other;
    }
    if (differ) b = second(captured, pairs);
    if (captured.size() > first_needs || differ) a = l.made(on_true, {}, captured, false, pairs);
    std::vector<Id> inputs;
    for (const stablehlo::ValueId id : captured) append_ids(l, inputs, l.value(id));
    for (std::size_t k = 0; k < a.results.size(); ++k)
        a.results[k].range = a.results[k].range.joined(b.results.at(k).range);
    const std::vector<Id> ids =
        l.builder().cond_if(condition, inputs, std::move(a.graph), std::move(b.graph), l.unique(l.op().name));
    return take_results(l, a.results, ids);
}

std::vector<Tensor> branch(Lowering& l, Id condition, const Region& on_true, const Region& on_false) {
    return two_ways(l, condition, on_true,
                    [&](std::vector<stablehlo::ValueId>& captured, const std::vector<bool>& pairs) {
                        return l.made(on_false, {}, captured, false, pairs);
                    });
}

void set_results(Lowering& l, const std::vector<Tensor>& results) {
    for (std::size_t k = 0; k < results.size(); ++k) l.set(results[k], k);
}

bool yields_nothing(const Lowering& l) { return l.result_count() == 0; }

void lower_if(Lowering& l) {
    if (yields_nothing(l)) return;
    set_results(l, branch(l, l.in(0).id, l.region(0), l.region(1)));
}

/// Whether it costs more to compute a branch that is not taken than to ask first.
bool is_dear(const Region& region) {
    static constexpr std::array dear = {
        "call", "cholesky",         "composite", "convolution",   "custom_call", "dot_general",
        "fft",  "gather",           "reduce",    "reduce_window", "scatter",     "select_and_scatter",
        "sort", "triangular_solve", "while",     "case",          "if"};
    return region.operations.size() > 32 ||
           std::any_of(region.operations.begin(), region.operations.end(), [](const Operation& operation) {
               return std::find(dear.begin(), dear.end(), std::string_view(operation.name)) != dear.end();
           });
}

Id is_case(Lowering& l, Id index, std::size_t k, std::size_t n) {
    const Id number = l.splat_int(index, static_cast<std::int64_t>(k));
    if (k + 1 < n) return l.binary(tosavk::Op::equal, index, number, DType::boolean);
    // The last one stands for all that there is no branch for.
    const Id below = l.binary(tosavk::Op::greater, l.splat_int(index, 0), index, DType::boolean);
    const Id above = l.binary(tosavk::Op::greater_equal, index, number, DType::boolean);
    return l.binary(tosavk::Op::logical_or, below, above, DType::boolean);
}

/// One branch after the other, each in a COND_IF that else hands on what there is.
void lower_dear_case(Lowering& l, Id index) {
    const std::size_t n = l.op().regions.size();
    std::vector<Tensor> results;
    for (std::size_t r = 0; r < l.result_count(); ++r) {
        const Element element = l.result_type(r).element;
        Tensor zero{element, l.zeros(l.dtype(element), l.result_shape(r)), no_id, {0, 0}};
        if (is_complex_element(element)) zero.other = zero.id;
        results.push_back(l.as_pair(zero));
    }
    const std::vector<bool> pairs(results.size(), true);
    for (std::size_t k = 0; k < n; ++k) {
        std::vector<stablehlo::ValueId> captured;
        Lowering::Made taken = l.made(l.region(k), results, captured, false, pairs);
        Lowering::Made other = l.passed_on(results, captured);
        std::vector<Id> inputs;
        for (const Tensor& result : results) append_ids(l, inputs, result);
        for (const stablehlo::ValueId id : captured) append_ids(l, inputs, l.value(id));
        const std::vector<Id> ids = l.builder().cond_if(is_case(l, index, k, n), inputs, std::move(taken.graph),
                                                        std::move(other.graph), l.unique(l.op().name));
        for (std::size_t r = 0; r < results.size(); ++r)
            taken.results[r].range = taken.results[r].range.joined(results[r].range);
        results = take_results(l, taken.results, ids);
    }
    set_results(l, results);
}

/// Where that is cheap, all branches are computed and the results chosen.
void lower_case(Lowering& l) {
    if (l.op().regions.empty()) l.fail("it has no branches");
    if (yields_nothing(l)) return;
    const Tensor index = l.in(0);
    const std::size_t n = l.op().regions.size();
    const auto& regions = l.op().regions;
    if (n > 1 && !l.is_lifted() && std::any_of(regions.begin(), regions.end(), is_dear))
        return lower_dear_case(l, index.id);
    std::vector<Tensor> results = l.inlined(l.region(n - 1), {});
    for (std::size_t k = 0; k + 1 < n; ++k) {
        std::vector<Tensor> other = l.inlined(l.region(k), {});
        const Id chosen = is_case(l, index.id, k, n);
        for (std::size_t r = 0; r < results.size(); ++r) {
            if (results[r].id == no_id) continue;  // a token
            l.make_alike(results[r], other[r]);
            results[r].range = results[r].range.joined(other[r].range);
            results[r].id = l.select(chosen, other[r].id, results[r].id);
            if (results[r].has_two()) results[r].other = l.select(chosen, other[r].other, results[r].other);
        }
    }
    set_results(l, results);
}

// ---- loops --------------------------------------------------------------------------------------------------------

/// Where the loop goes on only while argument `k` is below (or above) a constant: the bound that the body can rely on.
void bound_counters(Lowering& l, const Region& condition, std::vector<Tensor>& arguments) {
    const Operation& end = condition.operations.back();
    if (end.operands.size() != 1) return;
    const Operation* compare = Lowering::maker(condition, end.operands[0]);
    if (!compare || compare->name != "compare" || compare->operands.size() != 2) return;
    const Attribute* attribute = find(compare->attributes, "comparison_direction");
    const auto* direction = attribute ? attribute->as<Keyword>() : nullptr;
    if (!direction) return;
    for (const bool swapped : {false, true}) {
        const stablehlo::ValueId counter = compare->operands[swapped ? 1 : 0],
                                 limit = compare->operands[swapped ? 0 : 1];
        const auto at = std::find(condition.arguments.begin(), condition.arguments.end(), counter);
        if (at == condition.arguments.end()) continue;
        Range& range = arguments[static_cast<std::size_t>(at - condition.arguments.begin())].range;
        std::optional<Range> other;
        const auto also = std::find(condition.arguments.begin(), condition.arguments.end(), limit);
        if (also != condition.arguments.end())
            other = arguments[static_cast<std::size_t>(also - condition.arguments.begin())].range;
        else if (const Operation* made = Lowering::maker(condition, limit); made && made->name == "constant") {
            const Attribute* value = find(made->attributes, "value");
            const auto* elements = value ? value->as<Elements>() : nullptr;
            const auto numbers = elements ? integers_of(*elements, 1) : std::nullopt;
            if (numbers && !numbers->empty()) other = Range{numbers->front(), numbers->front()};
        } else if (!made) {
            other = l.value(limit).range;
        }
        const Element element = l.type_of(counter).element;
        if (!other || !is_integer_element(element)) continue;
        // A u64 may be larger than what a range tells.
        if (element == Element::u64 && (other->least < 0 || other->most == pair_range(element).most)) continue;
        std::string name = direction->name;
        if (swapped)
            name = name == "LT" ? "GT" : name == "LE" ? "GE" : name == "GT" ? "LT" : name == "GE" ? "LE" : name;
        if (name == "LT") range.most = std::min(range.most, saturated_difference(other->most, 1));
        if (name == "LE") range.most = std::min(range.most, other->most);
        if (name == "GT") range.least = std::max(range.least, saturated_sum(other->least, 1));
        if (name == "GE") range.least = std::max(range.least, other->least);
        if (range.least > range.most) range = {range.least, range.least};
    }
}

/// Widens what is carried until it holds what a turn makes of it; true if it did before. First as far as the turn goes,
/// then to all numbers of 32 bits. Numbers may be handed from one to the next, and need as many turns as there are of
/// them: after a few all are widened that the body does not hand on as they are, and at last those of 64 bits are
/// pairs.
bool holds_turn(Lowering& l, const Region& body, std::vector<Tensor>& carried, const std::vector<Tensor>& turn,
                int attempt) {
    const std::vector<stablehlo::ValueId>& handed_on = body.operations.back().operands;
    bool holds = true;
    const auto widen_to_pair = [&](Tensor& tensor) {
        if (!tensor.is_pair()) tensor = l.as_pair(tensor);
        tensor.range = pair_range(tensor.element);
    };
    for (std::size_t k = 0; k < carried.size(); ++k) {
        Tensor& tensor = carried[k];
        if (!is_integer_element(tensor.element)) continue;
        const Range next = turn[k].range;
        const bool becomes_pair = turn[k].is_pair() && !tensor.is_pair();
        if (becomes_pair) widen_to_pair(tensor);
        if (!becomes_pair && tensor.range.holds(next)) continue;
        holds = false;
        const Range whole = tensor.is_pair() ? pair_range(tensor.element) : whole_range(tensor.element);
        if (next.least < tensor.range.least) tensor.range.least = attempt < 1 ? next.least : whole.least;
        if (next.most > tensor.range.most) tensor.range.most = attempt < 1 ? next.most : whole.most;
    }
    constexpr int few = 3;
    for (std::size_t k = 0; !holds && attempt >= few && k < carried.size(); ++k) {
        Tensor& tensor = carried[k];
        const bool stays = k < handed_on.size() && handed_on[k] == body.arguments[k];
        if (!is_integer_element(tensor.element) || stays) continue;
        if (attempt > few && bits_of(tensor.element) == 64) widen_to_pair(tensor);
        else if (!tensor.is_pair()) tensor.range = tensor.range.joined(whole_range(tensor.element));
    }
    return holds;
}

void lower_while(Lowering& l) {
    const Region &condition = l.region(0), &body = l.region(1);
    std::vector<Tensor> carried = l.all_given();
    if (carried.size() != body.arguments.size() || carried.size() != condition.arguments.size())
        l.fail(fmt::format("it carries {} values, and its regions take {} and {}", carried.size(),
                           condition.arguments.size(), body.arguments.size()));
    std::vector<Lowering::Carried>& before = l.loops()[&l.op()];
    for (std::size_t k = 0; k < before.size(); ++k) {
        if (before[k].is_pair && !carried[k].is_pair()) carried[k] = l.as_pair(carried[k]);
        carried[k].range = carried[k].range.joined(before[k].range);
    }
    std::vector<stablehlo::ValueId> of_condition, captured;
    l.made(condition, carried, of_condition, false);
    std::optional<Lowering::Made> turn;
    for (int attempt = 0; !turn; ++attempt) {
        std::vector<Tensor> inside = carried;
        bound_counters(l, condition, inside);
        captured = of_condition;
        std::vector<bool> pairs;
        for (const Tensor& tensor : carried) pairs.push_back(tensor.is_pair());
        Lowering::Made made = l.made(body, inside, captured, true, pairs);
        if (made.results.size() != carried.size())
            l.fail(fmt::format("it carries {} values, and a turn makes {}", carried.size(), made.results.size()));
        constexpr int attempts = 8;
        if (holds_turn(l, body, carried, made.results, attempt)) turn = std::move(made);
        else if (attempt >= attempts) l.unsupported("no range holds the numbers that the loop carries");
    }
    before.clear();
    for (const Tensor& tensor : carried) before.push_back({tensor.range, tensor.is_pair()});
    if (!l.is_within_region()) l.loops().clear();
    Lowering::Made again = l.made(condition, carried, captured, false);
    std::vector<Id> inputs;
    for (const Tensor& tensor : carried) append_ids(l, inputs, tensor);
    for (const stablehlo::ValueId id : captured) append_ids(l, inputs, l.value(id));
    const std::vector<Id> ids =
        l.builder().while_loop(inputs, std::move(again.graph), std::move(turn->graph), l.unique(l.op().name));
    set_results(l, take_results(l, carried, ids));
}

}  // namespace

std::span<const LoweringRow> control_rows() {
    static constexpr LoweringRow rows[] = {
        {"after_all", lower_token},
        {"call", lower_call},
        {"case", lower_case},
        {"composite", lower_composite},
        {"create_token", lower_token},
        {"get_tuple_element", lower_tuple_part},
        {"if", lower_if},
        {"partition_id", lower_zero_id},
        {"replica_id", lower_zero_id},
        {"tuple", lower_tuple},
        {"while", lower_while},
    };
    return rows;
}

}  // namespace tosavk::stablehlo
