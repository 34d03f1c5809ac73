// What StableHLO asks of the types of an operation's operands and results, where its lowering would take any: kernels
// for one shape or element would read those of another as their own. Unknown dimensions fit all others.
#include "frontends/stablehlo/constraints.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk::stablehlo {

namespace {

enum class Sizes : std::uint8_t {
    any,
    alike,      ///< operands and results have one shape
    of_first,   ///< a result has operand 0's
    of_second,  ///< a result has operand 1's
    or_scalar,  ///< the same, operands 0 and 2 as well or none
    of_third,   ///< a result has operands 1's and 2's; operand 0 as well or none
    each,       ///< result k has operand k's
};

enum class Kinds : std::uint8_t {
    any,
    alike,      ///< operands and results have one element type
    operands,   ///< operands have; results have i1
    of_first,   ///< a result has operand 0's
    of_two,     ///< a result has operands 0's and 1's
    chosen,     ///< operand 0 has i1, all others and the result one type
    real_part,  ///< a result has that of operand 0's real part
    complex,    ///< a result has that whose parts the operands are
    each,       ///< result k has operand k's
};

struct TypeRule {
    std::string_view operation;
    std::size_t operands;  ///< 0: any number
    Sizes sizes;
    Kinds kinds;
};

constexpr TypeRule type_rules[] = {
    {"abs", 1, Sizes::alike, Kinds::real_part},
    {"add", 2, Sizes::alike, Kinds::alike},
    {"and", 2, Sizes::alike, Kinds::alike},
    {"atan2", 2, Sizes::alike, Kinds::alike},
    {"bitcast_convert", 1, Sizes::any, Kinds::any},
    {"broadcast", 1, Sizes::any, Kinds::of_first},
    {"broadcast_in_dim", 1, Sizes::any, Kinds::of_first},
    {"cbrt", 1, Sizes::alike, Kinds::alike},
    {"ceil", 1, Sizes::alike, Kinds::alike},
    {"cholesky", 1, Sizes::alike, Kinds::alike},
    {"clamp", 3, Sizes::or_scalar, Kinds::alike},
    {"compare", 2, Sizes::alike, Kinds::operands},
    {"complex", 2, Sizes::alike, Kinds::complex},
    {"concatenate", 0, Sizes::any, Kinds::alike},
    {"convert", 1, Sizes::alike, Kinds::any},
    {"convolution", 2, Sizes::any, Kinds::any},
    {"cosine", 1, Sizes::alike, Kinds::alike},
    {"count_leading_zeros", 1, Sizes::alike, Kinds::alike},
    {"divide", 2, Sizes::alike, Kinds::alike},
    {"dot", 2, Sizes::any, Kinds::any},
    {"dot_general", 2, Sizes::any, Kinds::any},
    {"dynamic_broadcast_in_dim", 2, Sizes::any, Kinds::of_first},
    {"dynamic_conv", 3, Sizes::any, Kinds::any},
    {"dynamic_gather", 3, Sizes::any, Kinds::of_first},
    {"dynamic_pad", 5, Sizes::any, Kinds::of_two},
    {"dynamic_reshape", 2, Sizes::any, Kinds::of_first},
    {"dynamic_slice", 0, Sizes::any, Kinds::of_first},
    {"dynamic_update_slice", 0, Sizes::of_first, Kinds::of_two},
    {"exponential", 1, Sizes::alike, Kinds::alike},
    {"exponential_minus_one", 1, Sizes::alike, Kinds::alike},
    {"floor", 1, Sizes::alike, Kinds::alike},
    {"gather", 2, Sizes::any, Kinds::of_first},
    {"imag", 1, Sizes::alike, Kinds::real_part},
    {"is_finite", 1, Sizes::alike, Kinds::any},
    {"log", 1, Sizes::alike, Kinds::alike},
    {"log_plus_one", 1, Sizes::alike, Kinds::alike},
    {"logistic", 1, Sizes::alike, Kinds::alike},
    {"map", 0, Sizes::alike, Kinds::any},
    {"maximum", 2, Sizes::alike, Kinds::alike},
    {"minimum", 2, Sizes::alike, Kinds::alike},
    {"multiply", 2, Sizes::alike, Kinds::alike},
    {"negate", 1, Sizes::alike, Kinds::alike},
    {"not", 1, Sizes::alike, Kinds::alike},
    {"optimization_barrier", 0, Sizes::each, Kinds::each},
    {"or", 2, Sizes::alike, Kinds::alike},
    {"pad", 2, Sizes::any, Kinds::of_two},
    {"popcnt", 1, Sizes::alike, Kinds::alike},
    {"power", 2, Sizes::alike, Kinds::alike},
    {"real", 1, Sizes::alike, Kinds::real_part},
    {"real_dynamic_slice", 4, Sizes::any, Kinds::of_first},
    {"reduce_precision", 1, Sizes::alike, Kinds::alike},
    {"remainder", 2, Sizes::alike, Kinds::alike},
    {"reshape", 1, Sizes::any, Kinds::of_first},
    {"reverse", 1, Sizes::alike, Kinds::alike},
    {"round_nearest_afz", 1, Sizes::alike, Kinds::alike},
    {"round_nearest_even", 1, Sizes::alike, Kinds::alike},
    {"rsqrt", 1, Sizes::alike, Kinds::alike},
    {"scatter", 0, Sizes::each, Kinds::any},
    {"select", 3, Sizes::of_third, Kinds::chosen},
    {"select_and_scatter", 3, Sizes::of_first, Kinds::any},
    {"shift_left", 2, Sizes::alike, Kinds::alike},
    {"shift_right_arithmetic", 2, Sizes::alike, Kinds::alike},
    {"shift_right_logical", 2, Sizes::alike, Kinds::alike},
    {"sign", 1, Sizes::alike, Kinds::alike},
    {"sine", 1, Sizes::alike, Kinds::alike},
    {"slice", 1, Sizes::any, Kinds::of_first},
    {"sort", 0, Sizes::each, Kinds::each},
    {"sqrt", 1, Sizes::alike, Kinds::alike},
    {"subtract", 2, Sizes::alike, Kinds::alike},
    {"tan", 1, Sizes::alike, Kinds::alike},
    {"tanh", 1, Sizes::alike, Kinds::alike},
    {"transpose", 1, Sizes::any, Kinds::of_first},
    {"triangular_solve", 2, Sizes::of_second, Kinds::alike},
    {"uniform_dequantize", 1, Sizes::alike, Kinds::any},
    {"uniform_quantize", 1, Sizes::alike, Kinds::any},
    {"while", 0, Sizes::each, Kinds::each},
    {"xor", 2, Sizes::alike, Kinds::alike},
};

/// Operands and results in one row: operand k is number k.
struct Row {
    const Lowering& l;
    std::size_t operands = l.operand_count(), all = operands + l.result_count();

    const Type& type(std::size_t k) const { return k < operands ? l.operand_type(k) : l.result_type(k - operands); }
    std::string name(std::size_t k) const {
        return k < operands ? fmt::format("operand {}", k) : fmt::format("result {}", k - operands);
    }
    void expect_size_of(std::size_t k, std::size_t other) const {
        const Type &type = this->type(k), &wanted = this->type(other);
        if (type.kind != wanted.kind || !fit(type.dims, wanted.dims))
            refuse_type(l, type, name(k), fmt::format("of the shape of its {}, {}", name(other), to_string(wanted)));
    }
    void expect_scalar_or_size_of(std::size_t k, std::size_t other) const {
        if (!type(k).dims.empty()) expect_size_of(k, other);
    }
    void expect_kind(std::size_t k, Element element) const {
        if (type(k).element != element) refuse_type(l, type(k), name(k), fmt::format("of {}", name_of(element)));
    }
};

void check_sizes(const Row& row, Sizes rule) {
    switch (rule) {
        case Sizes::any: break;
        case Sizes::alike:
            for (std::size_t k = 1; k < row.all; ++k) row.expect_size_of(k, 0);
            break;
        case Sizes::of_first: row.expect_size_of(row.operands, 0); break;
        case Sizes::of_second: row.expect_size_of(row.operands, 1); break;
        case Sizes::or_scalar:
            row.expect_size_of(row.operands, 1);
            row.expect_scalar_or_size_of(0, 1);
            row.expect_scalar_or_size_of(2, 1);
            break;
        case Sizes::of_third:
            row.expect_size_of(row.operands, 2);
            row.expect_size_of(1, 2);
            row.expect_scalar_or_size_of(0, 2);
            break;
        case Sizes::each:
            for (std::size_t k = row.operands; k < row.all; ++k) row.expect_size_of(k, k - row.operands);
            break;
    }
}

Element real_part_of(Element element) {
    return element == Element::c64 ? Element::f32 : element == Element::c128 ? Element::f64 : element;
}

void check_kinds(const Row& row, Kinds rule) {
    const auto of = [&](std::size_t k) { return row.type(k).element; };
    switch (rule) {
        case Kinds::any: break;
        case Kinds::alike:
            for (std::size_t k = 1; k < row.all; ++k) row.expect_kind(k, of(0));
            break;
        case Kinds::operands:
            for (std::size_t k = 1; k < row.operands; ++k) row.expect_kind(k, of(0));
            row.expect_kind(row.operands, Element::pred);
            break;
        case Kinds::of_two: row.expect_kind(1, of(0)); [[fallthrough]];
        case Kinds::of_first: row.expect_kind(row.operands, of(0)); break;
        case Kinds::chosen:
            row.expect_kind(0, Element::pred);
            for (std::size_t k = 2; k < row.all; ++k) row.expect_kind(k, of(1));
            break;
        case Kinds::real_part: row.expect_kind(row.operands, real_part_of(of(0))); break;
        case Kinds::complex:
            row.expect_kind(0, real_part_of(of(row.operands)));
            row.expect_kind(1, of(0));
            if (!is_complex_element(of(row.operands))) row.expect_kind(row.operands, Element::c64);
            break;
        case Kinds::each:
            for (std::size_t k = row.operands; k < row.all; ++k)
                if (row.type(k).kind == Type::Kind::tensor) row.expect_kind(k, of(k - row.operands));
            break;
    }
}

void check_rule(const Lowering& l, const TypeRule& rule) {
    const Row row{l};
    if (rule.operands != 0 && row.operands != rule.operands)
        l.fail(fmt::format("it has {} operands, not {}", row.operands, rule.operands));
    const bool is_each = rule.sizes == Sizes::each;
    const std::size_t least = rule.kinds == Kinds::of_two ? 2 : is_each ? row.all - row.operands : 1;
    if (row.operands < least || (row.all == row.operands && !is_each))
        l.fail(fmt::format("it has {} operands and {} results", row.operands, row.all - row.operands));
    for (std::size_t k = 0; k < row.all && !is_each; ++k)
        if (row.type(k).kind != Type::Kind::tensor) refuse_type(l, row.type(k), row.name(k), "a tensor");
    check_sizes(row, rule.sizes);
    if (!l.has_quantized()) check_kinds(row, rule.kinds);
}

}  // namespace

bool fit(std::int64_t a, std::int64_t b) { return a == b || a < 0 || b < 0; }

bool fit(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](std::int64_t x, std::int64_t y) { return fit(x, y); });
}

void refuse_type(const Lowering& l, const Type& what, std::string_view whose, std::string_view wanted) {
    l.fail(fmt::format("its {} is {}, not {}", whose, to_string(what), wanted));
}

void check_types(const Lowering& l) {
    if (l.op().dialect != Dialect::stablehlo) return;
    const auto rule =
        std::lower_bound(std::begin(type_rules), std::end(type_rules), l.op().name,
                         [](const TypeRule& row, const std::string& name) { return row.operation < name; });
    if (rule != std::end(type_rules) && rule->operation == l.op().name) check_rule(l, *rule);
    check_shapes(l);
}

}  // namespace tosavk::stablehlo
