#include "frontends/stablehlo/comparators.hpp"

#include <algorithm>
#include <functional>
#include <ranges>
#include <set>
#include <type_traits>
#include <utility>

namespace tosavk::stablehlo {

namespace {

bool same(const Attribute& a, const Attribute& b);

bool same(const Dictionary& a, const Dictionary& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
        return x.first == y.first && (x.second == y.second || same(*x.second, *y.second));
    });
}

/// Of those that operations on numbers have; others are never the same.
bool same(const Attribute& a, const Attribute& b) {
    const auto both = [&]<class T>(std::type_identity<T>, const auto& equal) {
        const T* x = a.as<T>();
        const T* y = b.as<T>();
        return x && y && equal(*x, *y);
    };
    return both(std::type_identity<bool>(), std::equal_to<>()) ||
           both(std::type_identity<std::string>(), std::equal_to<>()) ||
           both(std::type_identity<Integer>(), [](auto& x, auto& y) { return x.value == y.value; }) ||
           both(std::type_identity<Keyword>(), [](auto& x, auto& y) { return x.name == y.name; }) ||
           both(std::type_identity<Numbers>(), [](auto& x, auto& y) { return x.values == y.values; }) ||
           both(std::type_identity<ResultAccuracy>(), [](auto& x, auto& y) { return x.mode == y.mode; }) ||
           both(std::type_identity<Elements>(),
                [](auto& x, auto& y) { return same(*x.type, *y.type) && std::ranges::equal(*x.data, *y.data); });
}

/// Whether two values are made in the same way; where `mirrored`, the second one of the other element.
class Alike {
public:
    Alike(const Region& region, bool mirrored) : region_(region), mirrored_(mirrored) {}

    bool operator()(stablehlo::ValueId a, stablehlo::ValueId b) {
        if (!seen_.insert({a, b}).second) return true;
        const auto& arguments = region_.arguments;
        const auto at = std::find(arguments.begin(), arguments.end(), a);
        if (at != arguments.end()) {
            const auto k = static_cast<std::size_t>(at - arguments.begin()), other = mirrored_ ? k ^ 1 : k;
            return other < arguments.size() && arguments[other] == b;
        }
        const Operation* x = Lowering::maker(region_, a);
        const Operation* y = Lowering::maker(region_, b);
        if (!x || !y) return a == b;
        if (x->name != y->name || x->dialect != y->dialect || !same(x->attributes, y->attributes) ||
            !x->regions.empty() || !y->regions.empty() || place(*x, a) != place(*y, b))
            return false;
        return std::equal(x->operands.begin(), x->operands.end(), y->operands.begin(), y->operands.end(),
                          std::ref(*this));
    }

private:
    static std::size_t place(const Operation& made, stablehlo::ValueId id) {
        return static_cast<std::size_t>(std::find(made.results.begin(), made.results.end(), id) - made.results.begin());
    }

    const Region& region_;
    bool mirrored_;
    std::set<std::pair<stablehlo::ValueId, stablehlo::ValueId>> seen_;
};

/// Whether all that `id` is made of are constants and arguments with the parity of `first`.
bool depends_on(const Region& region, stablehlo::ValueId id, std::size_t first) {
    std::vector<stablehlo::ValueId> todo{id};
    std::set<stablehlo::ValueId> seen;
    while (!todo.empty()) {
        const stablehlo::ValueId next = todo.back();
        todo.pop_back();
        if (!seen.insert(next).second) continue;
        const auto at = std::find(region.arguments.begin(), region.arguments.end(), next);
        if (at != region.arguments.end() && static_cast<std::size_t>(at - region.arguments.begin()) % 2 != first)
            return false;
        if (const Operation* made = Lowering::maker(region, next))
            todo.insert(todo.end(), made->operands.begin(), made->operands.end());
    }
    return true;
}

std::string named(const Operation& operation, std::string_view name) {
    const Attribute* attribute = find(operation.attributes, name);
    const auto* word = attribute ? attribute->as<Keyword>() : nullptr;
    return word ? word->name : std::string();
}

bool is_order(const std::optional<Comparison>& c) { return c && (c->direction == "LT" || c->direction == "GT"); }

bool same_key(const Region& region, const Comparison& a, const Comparison& b) {
    const stablehlo::ValueId x = a.compare->operands[0], y = b.compare->operands[0];
    return a.total_order == b.total_order && named(*a.compare, "compare_type") == named(*b.compare, "compare_type") &&
           (Alike(region, false)(x, y) || Alike(region, true)(x, y));
}

/// What comes after the first key, where `made` is that key's order and, between those alike in it, something else.
std::optional<stablehlo::ValueId> behind_first(const Region& region, const Operation& made, Comparison& first) {
    const auto by = [&](stablehlo::ValueId order, stablehlo::ValueId equal, std::string_view direction) {
        const auto a = comparison_of(region, order), b = comparison_of(region, equal);
        if (!is_order(a) || !b || b->direction != direction || !same_key(region, *a, *b)) return false;
        first = *a;
        return true;
    };
    if (made.name == "select" && made.operands.size() == 3) {
        const auto& x = made.operands;
        if (by(x[2], x[0], "EQ")) return x[1];
        if (by(x[1], x[0], "NE")) return x[2];
    }
    if (made.name != "or" || made.operands.size() != 2) return std::nullopt;
    for (const std::size_t k : {0, 1}) {
        const Operation* both = Lowering::maker(region, made.operands[1 - k]);
        if (!both || both->name != "and" || both->operands.size() != 2) continue;
        for (const std::size_t j : {0, 1})
            if (by(made.operands[k], both->operands[j], "EQ")) return both->operands[1 - j];
    }
    return std::nullopt;
}

}  // namespace

std::optional<Comparison> comparison_of(const Region& region, stablehlo::ValueId id) {
    const Operation* compare = Lowering::maker(region, id);
    if (!compare || compare->name != "compare" || compare->operands.size() != 2) return std::nullopt;
    const stablehlo::ValueId a = compare->operands[0], b = compare->operands[1];
    const bool straight = depends_on(region, a, 0) && depends_on(region, b, 1);
    const bool swapped = depends_on(region, a, 1) && depends_on(region, b, 0);
    if ((!straight && !swapped) || !Alike(region, true)(a, b)) return std::nullopt;
    std::string direction = named(*compare, "comparison_direction");
    if (!straight && direction.size() == 2 && (direction[0] == 'L' || direction[0] == 'G'))
        direction[0] = direction[0] == 'L' ? 'G' : 'L';
    return Comparison{compare, direction, named(*compare, "compare_type") == "TOTALORDER"};
}

std::vector<Comparison> order_of(const Region& region) {
    if (region.operations.empty() || region.operations.back().operands.size() != 1) return {};
    std::vector<Comparison> keys;
    stablehlo::ValueId next = region.operations.back().operands[0];
    while (true) {
        if (const auto last = comparison_of(region, next); is_order(last)) {
            keys.push_back(*last);
            return keys;
        }
        const Operation* made = Lowering::maker(region, next);
        Comparison first;
        const auto rest = made ? behind_first(region, *made, first) : std::nullopt;
        if (!rest) return {};
        keys.push_back(first);
        next = *rest;
    }
}

}  // namespace tosavk::stablehlo
