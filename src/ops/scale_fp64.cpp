// SCALE_FP64 of our own domain: integers times a number of fp64, as who computes in doubles gets it, to the last bit:
// the product is rounded to 53 bits, to nearest even, and then to an integer, half away from zero.
#include "ops/pointwise.hpp"
#include "ops/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tosavk {

namespace {

using namespace pointwise;

enum Operand : std::size_t { input, high, low, shift, output_zp };

constexpr const char* operand_names[] = {"input", "high", "low", "shift", "output_zp"};

void check_scale_fp64(const NodeView& view, const Level&) {
    const Shape& shape = view.in(input).shape;
    const Shape one{1}, each{shape.empty() ? 1 : shape.back()};
    for (const std::size_t k : {high, low, shift}) {
        const Value& v = view.in(k);
        if (v.shape != view.in(high).shape || (v.shape != one && v.shape != each))
            view.fail(fmt::format("{} has shape {}, but high, low and shift need 1 or {} entries, all as many",
                                  operand_names[k], to_string(v.shape), each[0]),
                      v.name);
    }
    const auto known = [&](std::size_t k) {
        return view.in(k).is_constant() ? view.constant_ints(k) : std::vector<std::int64_t>();
    };
    for (const std::int64_t h : known(high)) {
        if (h < 0 || h >= 1 << 21)
            view.fail(fmt::format("high is {}, but must be 0 to 2^21 - 1", h), view.in(high).name);
    }
    for (const std::int64_t s : known(shift)) {
        if (s < 1 || s > 126) view.fail(fmt::format("shift is {}, but must be 1 to 126", s), view.in(shift).name);
    }
    check_single(view, output_zp, "output_zp");
    if (view.out().type == DType::i32 && view.in(output_zp).is_constant() && view.constant_ints(output_zp)[0] != 0)
        view.fail("output_zp must be 0 for type i32", view.in(output_zp).name);
}

void scale_fp64_reference(RefContext& c) {
    const DType type = c.view.out().type;
    const std::vector<std::int64_t> x = c.ints(input), h = c.ints(high), l = c.ints(low), s = c.ints(shift);
    const std::int64_t zp = c.ints(output_zp)[0];
    constexpr double largest = std::numeric_limits<std::int32_t>::max();
    std::vector<std::int64_t> result(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t k = i % h.size();
        const std::int64_t significand = h[k] * (std::int64_t{1} << 32) + static_cast<std::uint32_t>(l[k]);
        const double scale = std::ldexp(static_cast<double>(significand), -static_cast<int>(s[k]));
        const double rounded = std::clamp(std::round(static_cast<double>(x[i]) * scale), -largest, largest);
        result[i] = std::clamp(static_cast<std::int64_t>(rounded) + zp, min_of(type), max_of(type));
    }
    c.set_ints(result);
}

std::string scale_fp64_text(ExprContext& c) {
    const bool wide = c.view().in(input).type == DType::i48;
    const std::string x = c.in(input);
    const std::string words =
        wide ? fmt::format("wide_shift_right({}, ivec4(0)), wide_high({})", x, x) : fmt::format("{}, {} >> 31", x, x);
    const std::string scaled = fmt::format("scale_fp64({}, {}, {}, {})", words, uniform_operand(c, high),
                                           uniform_operand(c, low), uniform_operand(c, shift));
    const DType out = c.view().out().type;
    if (out == DType::i32) return scaled;
    // The largest results leave room for the zero point.
    return clamp_to(
        out, fmt::format("clamp({}, -1073741824, 1073741823){}", scaled, zero_point_term(c, output_zp, "+", -1)));
}

}  // namespace

std::vector<OpDef> scale_fp64_ops() {
    OpDef def = unary(Op::scale_fp64, {}, scale_fp64_text, scale_fp64_reference);
    def.library = "lib/scale_fp64.glsl";
    def.operations = 50;
    def.type_vars = {"in_t", "out_t"};
    def.inputs = {{"input", "in_t"},
                  {.name = "high", .type = "i32", .min_rank = 1, .max_rank = 1, .ctc = true},
                  {.name = "low", .type = "i32", .min_rank = 1, .max_rank = 1, .ctc = true},
                  {.name = "shift", .type = "i8", .min_rank = 1, .max_rank = 1, .ctc = true},
                  {.name = "output_zp", .type = "out_t", .min_rank = 1, .max_rank = 1, .ctc = true}};
    def.outputs = {{"output", "out_t"}};
    for (const DType in : {DType::i32, DType::i48}) {
        for (const DType out : {DType::i8, DType::i16, DType::i32}) def.rows.push_back({{in, out}, own_domain.data()});
    }
    def.check = check_scale_fp64;
    return {def};
}

}  // namespace tosavk
