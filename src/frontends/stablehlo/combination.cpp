// What regions of two numbers do.
#include "frontends/stablehlo/lowering.hpp"
#include "graph/host_tensor.hpp"

#include <array>
#include <limits>

namespace tosavk::stablehlo {

Combination combination_of(const Lowering& l, const Region& region, std::size_t a, std::size_t b, std::size_t k) {
    if (region.operations.empty() || region.arguments.size() <= std::max(a, b)) return {};
    const Operation& end = region.operations.back();
    if (end.name != "return" || end.operands.size() <= k) return {};
    const stablehlo::ValueId result = end.operands[k], first = region.arguments[a], second = region.arguments[b];
    if (result == first) return {"first"};
    if (result == second) return {"second"};
    const Operation* made = Lowering::maker(region, result);
    if (!made || made->operands.size() != 2 || made->dialect != Dialect::stablehlo) return {};
    const bool straight = made->operands[0] == first && made->operands[1] == second;
    const bool swapped = made->operands[0] == second && made->operands[1] == first;
    static constexpr std::array commutative = {"add", "and", "maximum", "minimum", "multiply", "or", "xor"};
    const auto found = std::find(commutative.begin(), commutative.end(), std::string_view(made->name));
    if (found == commutative.end() || (!straight && !swapped)) return {};
    // A region may convert its arguments first, and its types then differ.
    if (l.type_of(result).element != l.type_of(first).element) return {};
    // Quantized products are rounded one by one; sums lie on the grid.
    if (std::string_view(*found) == "multiply" && l.has_quantized()) return {};
    return {*found};
}

namespace {

/// A number that combining with changes nothing.
std::optional<double> neutral_number(std::string_view name, Element element) {
    const bool real = !is_integer_element(element) && element != Element::pred;
    const double infinite = std::numeric_limits<double>::infinity();
    const Range whole = whole_range(element);
    if (bits_of(element) == 64 && is_integer_element(element) &&
        (name == "maximum" || name == "minimum" || name == "and"))
        return std::nullopt;  // what the graph holds is not all that it might be
    if (name == "add" || name == "or" || name == "xor") return 0;
    if (name == "multiply") return 1;
    if (name == "maximum") return real ? -infinite : static_cast<double>(whole.least);
    if (name == "minimum") return real ? infinite : static_cast<double>(whole.most);
    if (name == "and")
        return is_unsigned_integer(element) || element == Element::pred ? static_cast<double>(whole.most) : -1;
    return std::nullopt;
}

}  // namespace

bool is_neutral(const Lowering& l, std::string_view name, const Tensor& number) {
    const auto neutral = neutral_number(name, number.element);
    if (!neutral || number.is_pair()) return false;
    for (const Id id : {number.id, number.other}) {
        if (id == no_id) continue;
        const Value& value = l.graph_value(id);
        if (!value.is_constant()) return false;
        const double had = decode_reals(value.type, *value.data).at(0);
        // An unsigned number is the bits of a signed one.
        const double wanted = is_unsigned_integer(number.element) && *neutral > static_cast<double>(max_of(value.type))
                                ? *neutral - 2 * (static_cast<double>(max_of(value.type)) + 1)
                                : *neutral;
        if (had != wanted) return false;
        if (number.is_complex() && name != "add") return false;
    }
    return true;
}

}  // namespace tosavk::stablehlo
