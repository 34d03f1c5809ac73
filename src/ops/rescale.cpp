// RESCALE: out = clip(scale(x - input_zp) + output_zp), with one multiplier and shift, or one per channel.
#include "base/numerics/scale.hpp"
#include "ops/pointwise.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

using namespace pointwise;

enum Operand : std::size_t { input, multiplier, shift, input_zp, output_zp };

// Bits of an element of an unsigned tensor, which lies in a signed type; -1 where the sign counts.
std::int32_t unsigned_mask(DType type, bool is_unsigned) {
    if (!is_unsigned) return -1;
    return type == DType::i8 ? 0xff : type == DType::i16 ? 0xffff : -1;
}

// ---- checks -------------------------------------------------------------------------------------------------------

void check_zero_point(const NodeView& view, std::size_t k, const char* name, bool is_unsigned) {
    check_single(view, k, name);
    const Value& v = view.in(k);
    if (!v.is_constant()) return;
    const std::int64_t zp = view.constant_ints(k)[0] & unsigned_mask(v.type, is_unsigned);
    if (v.type == DType::i16 && is_unsigned) {
        if (zp != 0 && zp != 32768)
            view.fail(fmt::format("{} of unsigned i16 must be 0 or 32768, not {}", name, zp), v.name);
    } else if (v.type != DType::i8 && zp != 0) {
        view.fail(fmt::format("{} must be 0 for type {}, not {}", name, name_of(v.type), zp), v.name);
    }
}

void check_scale_operands(const NodeView& view) {
    const Attributes& a = view.attrs();
    const DType wanted = a.scale32 ? DType::i32 : DType::i16;
    if (view.in(multiplier).type != wanted) {
        view.fail(fmt::format("multiplier has type {}, but scale32={} needs {}", name_of(view.in(multiplier).type),
                              a.scale32, name_of(wanted)),
                  view.in(multiplier).name);
    }
    const std::int64_t channels = a.per_channel ? view.in(input).shape.back() : 1;
    for (const std::size_t k : {multiplier, shift}) {
        if (view.in(k).shape != Shape{channels}) {
            view.fail(fmt::format("{} has shape {}, but needs {} entries", k == multiplier ? "multiplier" : "shift",
                                  to_string(view.in(k).shape), channels),
                      view.in(k).name);
        }
    }
    // The specification leaves results open outside these ranges; where the values are known, say it.
    const auto known = [&](std::size_t k) {
        return view.in(k).is_constant() ? view.constant_ints(k) : std::vector<std::int64_t>();
    };
    for (const std::int64_t m : known(multiplier)) {
        if (m < 0) view.fail(fmt::format("multiplier {} is negative", m), view.in(multiplier).name);
    }
    for (const std::int64_t s : known(shift)) {
        if (s < 2 || s > 62) view.fail(fmt::format("shift is {}, but must be 2 to 62", s), view.in(shift).name);
    }
}

void check_rescale(const NodeView& view, const Level&) {
    const Attributes& a = view.attrs();
    const DType in = view.in(input).type, out = view.out().type;
    const auto wide = [](DType t) { return t == DType::i32 || t == DType::i48; };
    if (a.scale32 && in == DType::i48) view.fail("scale32 cannot be used with an input of type i48");
    if (a.rounding == Rounding::double_round && !a.scale32) view.fail("DOUBLE_ROUND needs scale32");
    if (a.input_unsigned && a.output_unsigned) view.fail("input_unsigned and output_unsigned cannot both be set");
    if (a.input_unsigned && (wide(in) || wide(out))) {
        view.fail(fmt::format("input_unsigned cannot be used from {} to {}", name_of(in), name_of(out)));
    }
    if (a.output_unsigned && (wide(in) || wide(out))) {
        view.fail(fmt::format("output_unsigned cannot be used from {} to {}", name_of(in), name_of(out)));
    }
    if (a.per_channel && view.in(input).shape.empty()) view.fail("per_channel needs an input of rank 1 or more");
    check_zero_point(view, input_zp, "input_zp", a.input_unsigned);
    check_zero_point(view, output_zp, "output_zp", a.output_unsigned);
    check_scale_operands(view);
}

// ---- reference ----------------------------------------------------------------------------------------------------

// INEXACT_ROUND allows an error; the exact result of SINGLE_ROUND lies within it.
void rescale_reference(RefContext& c) {
    const Attributes& a = c.attrs();
    const DType out_type = c.view.out().type;
    const std::int64_t in_mask = unsigned_mask(c.view.in(input).type, a.input_unsigned);
    const std::int64_t out_mask = unsigned_mask(out_type, a.output_unsigned);
    const std::int64_t zp_in = c.ints(input_zp)[0] & in_mask, zp_out = c.ints(output_zp)[0] & out_mask;
    const std::int64_t lo = out_mask == -1 ? min_of(out_type) : 0, hi = out_mask == -1 ? max_of(out_type) : out_mask;
    const bool double_round = a.rounding == Rounding::double_round;

    const std::vector<std::int64_t> x = c.ints(input), m = c.ints(multiplier), s = c.ints(shift);
    std::vector<std::int64_t> result(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t channel = i % m.size();
        const std::int64_t value = (x[i] & in_mask) - zp_in;
        const int amount = static_cast<int>(s[channel]);
        const std::int64_t scaled = a.scale32 ? scale32(static_cast<std::int32_t>(value),
                                                        static_cast<std::int32_t>(m[channel]), amount, double_round)
                                              : scale16(value, static_cast<std::int16_t>(m[channel]), amount);
        result[i] = std::clamp(scaled + zp_out, lo, hi);
    }
    c.set_ints(result);
}

// ---- expression ---------------------------------------------------------------------------------------------------

/// Whether the low word of every product lies below the result.
bool keeps_high_words_only(const NodeView& view) {
    if (!view.in(shift).is_constant()) return false;
    const auto shifts = view.constant_ints(shift);
    return std::all_of(shifts.begin(), shifts.end(), [](std::int64_t s) { return s > 32; });
}

std::string rescale_text(ExprContext& c) {
    const Attributes& a = c.view().attrs();
    const DType out_type = c.view().out().type;
    const std::int32_t in_mask = unsigned_mask(c.view().in(input).type, a.input_unsigned);
    const std::int32_t out_mask = unsigned_mask(out_type, a.output_unsigned);

    const bool wide = c.view().in(input).type == DType::i48;
    const std::string x = in_mask == -1 ? c.in(input) : fmt::format("({} & {})", c.in(input), in_mask);
    // The zero point of an i48 is 0, which only one that is computed at run time can hide.
    const std::string value = !wide             ? "(" + x + zero_point_term(c, input_zp, "-", in_mask) + ")"
                            : c.known(input_zp) ? x
                                                : fmt::format("wide_sub({}, {})", x, c.in(input_zp));
    // scale16 of a value that has 32 bits is scale32.
    const std::string function = wide ? "scale16" : a.rounding == Rounding::double_round ? "scale32_double" : "scale32";
    const char* const high = !wide && keeps_high_words_only(c.view()) ? "_high" : "";
    const std::string scaled =
        fmt::format("({}{}({}, {}, {}){})", function, high, value, uniform_operand(c, multiplier),
                    uniform_operand(c, shift), zero_point_term(c, output_zp, "+", out_mask));
    if (out_mask == -1) return clamp_to(out_type, scaled);
    return wrap_to(out_type, fmt::format("clamp({}, 0, {})", scaled, out_mask));
}

}  // namespace

std::vector<OpDef> rescale_ops() {
    OpDef def = unary(Op::rescale, {}, rescale_text, rescale_reference);
    def.operations = 4;
    def.type_vars = {"in_t", "out_t"};
    // mul_t is i32 or i16 by the attribute scale32: see check_scale_operands.
    def.inputs = {{"input", "in_t"},
                  {.name = "multiplier", .type = "mul_t", .min_rank = 1, .max_rank = 1, .ctc = true},
                  {.name = "shift", .type = "i8", .min_rank = 1, .max_rank = 1, .ctc = true},
                  {.name = "input_zp", .type = "in_t", .min_rank = 1, .max_rank = 1, .ctc = true},
                  {.name = "output_zp", .type = "out_t", .min_rank = 1, .max_rank = 1, .ctc = true}};
    def.outputs = {{"output", "out_t"}};
    def.attributes = {"scale32", "rounding", "per_channel", "input_unsigned", "output_unsigned"};
    for (const DType in : {DType::i8, DType::i16, DType::i32}) {
        for (const DType out : {DType::i8, DType::i16, DType::i32}) def.rows.push_back({{in, out}, "PRO-INT"});
    }
    for (const DType out : {DType::i8, DType::i16, DType::i32}) def.rows.push_back({{DType::i48, out}, "EXT-INT16"});
    def.check = check_rescale;
    return {def};
}

}  // namespace tosavk
