// Integer arithmetic of TOSA on ivec4 (i8, i16 and i32 all travel as 32-bit integers), comparisons and selection.
// Needs wide.glsl before it. Shift amounts outside a function's range give some value, never undefined behaviour.

// apply_scale_32 with single rounding: floor((v * m + 2^(s-1)) / 2^s), 2 <= s <= 62.
ivec4 scale32(ivec4 v, ivec4 m, ivec4 s) { return wide_shift_right_round(wide_mul(v, m), s); }

// The same for s > 32: only the high word of the product reaches the result, which saves most of the 64-bit work.
ivec4 round_high(ivec4 high, ivec4 s) { return (high + (ivec4(1) << ((s - 33) & 31))) >> ((s - 32) & 31); }
ivec4 scale32_high(ivec4 v, ivec4 m, ivec4 s) { return round_high(wide_high(wide_mul(v, m)), s); }

// apply_scale_16: scale32 with a value of 48 bits and a multiplier of 16 bits.
ivec4 scale16(wide4 v, ivec4 m, ivec4 s) { return wide_shift_right_round(wide_scale(v, m), s); }

// apply_scale_32 with double rounding: for s > 31 another 2^30, away from zero, is added before the shift.
ivec4 scale32_double(ivec4 v, ivec4 m, ivec4 s) {
    ivec4 away = mix(ivec4(0), ((v >> 31) | 1) << 30, greaterThan(s, ivec4(31)));
    return wide_shift_right_round(wide_add(wide_mul(v, m), wide_from(away)), s);
}

ivec4 scale32_double_high(ivec4 v, ivec4 m, ivec4 s) {
    return round_high(wide_high(wide_add(wide_mul(v, m), wide_from(((v >> 31) | 1) << 30))), s);
}

// MUL of i32: the low 32 bits, or the product rounded half up to a multiple of 2^s. The shift is one for the tensor.
ivec4 mul_shift(ivec4 a, ivec4 b, int s) {
    if (s == 0) return ivec4(uvec4(a) * uvec4(b));
    return wide_shift_right_round(wide_mul(a, b), ivec4(s));
}

// TABLE of i16: linear interpolation between two entries, 7 fraction bits.
ivec4 table_i16(ivec4 base, ivec4 next, ivec4 x) { return (base << 7) + (next - base) * (x & 127); }

// ARITHMETIC_RIGHT_SHIFT; `round` adds the last bit shifted out.
ivec4 tosa_arshift(ivec4 a, ivec4 s, int round) {
    ivec4 last = (a >> ((s - 1) & 31)) & round;
    return (a >> (s & 31)) + mix(last, ivec4(0), equal(s, ivec4(0)));
}

ivec4 tosa_lshl(ivec4 a, ivec4 s) { return ivec4(uvec4(a) << uvec4(s & 31)); }
ivec4 tosa_lshr(ivec4 a, ivec4 s) { return ivec4(uvec4(a) >> uvec4(s & 31)); }
ivec4 wrap_i8(ivec4 a) { return (a << 24) >> 24; }
ivec4 wrap_i16(ivec4 a) { return (a << 16) >> 16; }
ivec4 tosa_clz(ivec4 a) { return 31 - findMSB(uvec4(a)); }

// INTDIV, toward zero. Divisors 0 and -1 are not divided by: a/0 gives a, a/-1 wraps.
ivec4 tosa_intdiv(ivec4 a, ivec4 b) {
    ivec4 d = mix(b, ivec4(1), lessThan(uvec4(b + 1), uvec4(2u)));
    return mix(a / d, -a, equal(b, ivec4(-1)));
}

// Comparisons give 0 or 1; with a NaN they are false.
ivec4 tosa_equal(ivec4 a, ivec4 b) { return ivec4(equal(a, b)); }
ivec4 tosa_greater(ivec4 a, ivec4 b) { return ivec4(greaterThan(a, b)); }
ivec4 tosa_greater_equal(ivec4 a, ivec4 b) { return ivec4(greaterThanEqual(a, b)); }
ivec4 tosa_equal(vec4 a, vec4 b) { return ivec4(equal(a, b)); }
ivec4 tosa_greater(vec4 a, vec4 b) { return ivec4(greaterThan(a, b)); }
ivec4 tosa_greater_equal(vec4 a, vec4 b) { return ivec4(greaterThanEqual(a, b)); }

ivec4 tosa_select(ivec4 c, ivec4 a, ivec4 b) { return mix(b, a, notEqual(c, ivec4(0))); }
vec4 tosa_select(ivec4 c, vec4 a, vec4 b) { return mix(b, a, notEqual(c, ivec4(0))); }
