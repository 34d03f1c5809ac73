// Broken graphs of RESCALE: its attributes, types and zero points forbid one another in fourteen ways.
#include "verify/conformance/breaking.hpp"

namespace tosavk::conformance::breaking {
namespace {

enum Operand : std::size_t { input, multiplier, shift, input_zp, output_zp };

bool wide(DType type) { return type == DType::i32 || type == DType::i48; }

Fits rows_of(bool (*in)(DType), bool (*out)(DType)) {
    return [=](const TypeRow& row) { return in(row.types.at(0)) && out(row.types.at(1)); };
}
bool any(DType) { return true; }
bool narrow(DType type) { return !wide(type); }
template <DType wanted> bool only(DType type) { return type == wanted; }
template <DType but> bool all_but(DType type) { return type != but; }

/// A plain RESCALE: signed, zero points 0, one multiplier, as scale32 or scale16.
void plain(Graph& g, bool scale32) {
    Attributes& a = attrs(g);
    a.scale32 = scale32;
    a.per_channel = a.input_unsigned = a.output_unsigned = false;
    a.rounding = Rounding::single_round;
    const std::int64_t one = 1 << 14, amount = 30, zero = 0;
    set_constant(g, multiplier, scale32 ? DType::i32 : DType::i16, {1}, std::span(&one, 1));
    set_constant(g, shift, DType::i8, {1}, std::span(&amount, 1));
    set_constant(g, input_zp, operand(g, input_zp).type, {1}, std::span(&zero, 1));
    set_constant(g, output_zp, operand(g, output_zp).type, {1}, std::span(&zero, 1));
}

/// scale32 is not for i48.
bool takes_scale32(const Graph& g) { return operand(g, input).type != DType::i48; }

Apply unsigned_flags(bool in, bool out) {
    return [=](Graph& g, Random&) {
        plain(g, takes_scale32(g));
        attrs(g).input_unsigned = in;
        attrs(g).output_unsigned = out;
        return true;
    };
}

Apply zero_point(Operand which, std::int64_t value, bool is_unsigned) {
    return [=](Graph& g, Random&) {
        plain(g, takes_scale32(g));
        (which == input_zp ? attrs(g).input_unsigned : attrs(g).output_unsigned) = is_unsigned;
        set_values(g, which, {value});
        return true;
    };
}

}  // namespace

void add_rescale_errors(std::vector<ErrorGraph>& all) {
    Entries(Op::rescale, all)
        .add("input_zp is not 0, in_t is neither i8 nor unsigned i16", zero_point(input_zp, 1, false),
             rows_of(all_but<DType::i8>, any))
        .add("output_zp is not 0, out_t is neither i8 nor unsigned i16", zero_point(output_zp, 1, false),
             rows_of(any, all_but<DType::i8>))
        .add("input_zp of unsigned i16 is neither 0 nor 32768", zero_point(input_zp, 5, true),
             rows_of(only<DType::i16>, narrow))
        .add("output_zp of unsigned i16 is neither 0 nor 32768", zero_point(output_zp, 5, true),
             rows_of(narrow, only<DType::i16>))
        .add(
            "scale32 with in_t i48",
            [](Graph& g, Random&) {
                plain(g, true);
                return true;
            },
            rows_of(only<DType::i48>, any))
        .add("DOUBLE_ROUND without scale32",
             [](Graph& g, Random&) {
                 plain(g, false);
                 attrs(g).rounding = Rounding::double_round;
                 return true;
             })
        .add("input_unsigned and output_unsigned", unsigned_flags(true, true), rows_of(narrow, narrow))
        .add("input_unsigned with out_t i32", unsigned_flags(true, false), rows_of(narrow, only<DType::i32>))
        .add("output_unsigned with in_t i32", unsigned_flags(false, true), rows_of(only<DType::i32>, narrow))
        .add("output_unsigned with in_t i48", unsigned_flags(false, true), rows_of(only<DType::i48>, narrow))
        .add("input_unsigned with in_t i48", unsigned_flags(true, false), rows_of(only<DType::i48>, any))
        .add("input_unsigned with in_t i32", unsigned_flags(true, false), rows_of(only<DType::i32>, any))
        .add("output_unsigned with out_t i32", unsigned_flags(false, true), rows_of(any, only<DType::i32>))
        .add("per_channel with an input of rank 0", [](Graph& g, Random&) {
            plain(g, takes_scale32(g));
            attrs(g).per_channel = true;
            set_shape(g, input, {});
            output(g).shape = {};
            return true;
        });
}

}  // namespace tosavk::conformance::breaking
