// fp16, bf16 and the fp8 formats: values are computed in fp32 and rounded to the format after every operator. It is
// integer work, because drivers differ on packHalf2x16, on subnormals and on overflow. Only where a device promises
// how fp16 rounds (TOSAVK_HALF_ROUNDINGS) is it asked to; stores, and loads that move, stay integer work, which keeps
// the bits of NaN.
//
// small_to_float(bits, exponent_bits, fraction_bits, has_infinity): the value of a pattern, exact (a subnormal result
// of bf16 is a subnormal fp32, which a driver may flush). fp8e4m3 has no infinity: only all-ones is NaN.
vec4 small_to_float(ivec4 bits, int exponent_bits, int fraction_bits, bool has_infinity) {
    int top = (1 << exponent_bits) - 1, bias = top >> 1;
    ivec4 fraction = bits & ((1 << fraction_bits) - 1);
    ivec4 exponent = (bits >> fraction_bits) & top;
    ivec4 sign = (bits >> (exponent_bits + fraction_bits)) << 31;
    ivec4 normal = ((exponent + (127 - bias)) << 23) | (fraction << (23 - fraction_bits));
    // fraction * 2^(1 - bias - fraction_bits), normalised by hand: the leading one becomes the hidden bit
    ivec4 lead = findMSB(max(fraction, ivec4(1)));
    ivec4 subnormal = ((lead + (1 - bias - fraction_bits + 127)) << 23) | ((fraction << (23 - lead)) & 0x7fffff);
    ivec4 result = mix(normal, mix(subnormal, ivec4(0), equal(fraction, ivec4(0))), equal(exponent, ivec4(0)));
    if (has_infinity) {
        result = mix(result, ivec4(0x7f800000) | (fraction << (23 - fraction_bits)), equal(exponent, ivec4(top)));
    } else {
        ivec4 magnitude = bits & ((1 << (exponent_bits + fraction_bits)) - 1);
        result = mix(result, ivec4(0x7fc00000), equal(magnitude, ivec4((1 << (exponent_bits + fraction_bits)) - 1)));
    }
    return intBitsToFloat(result | sign);
}

// The pattern nearest to a value, ties to even. Past the largest number: infinity, or NaN where there is none.
ivec4 float_to_small(vec4 value, int exponent_bits, int fraction_bits, bool has_infinity) {
    int top = (1 << exponent_bits) - 1, bias = top >> 1, drop = 23 - fraction_bits;
    ivec4 u = floatBitsToInt(value), magnitude = u & 0x7fffffff;
    ivec4 sign = ((u >> 31) & 1) << (exponent_bits + fraction_bits);
    // normal results: round in place, then change the bias
    ivec4 normal =
        ((magnitude + ((1 << (drop - 1)) - 1) + ((magnitude >> drop) & 1)) >> drop) - ((127 - bias) << fraction_bits);
    // subnormal results: the significand shifted to the format's last place
    ivec4 exponent = magnitude >> 23;
    ivec4 shift = clamp(ivec4(drop + (127 - bias) + 1) - exponent, ivec4(1), ivec4(30));
    ivec4 significand = (magnitude & 0x7fffff) | 0x800000;
    ivec4 subnormal = (significand + ((ivec4(1) << (shift - 1)) - 1) + ((significand >> shift) & 1)) >> shift;
    ivec4 result = mix(normal, subnormal, lessThan(exponent, ivec4(128 - bias)));
    result = mix(result, ivec4(0), equal(exponent, ivec4(0)));
    int nan =
        has_infinity ? (top << fraction_bits) | (1 << (fraction_bits - 1)) : (1 << (exponent_bits + fraction_bits)) - 1;
    int overflow = has_infinity ? top << fraction_bits : nan;
    result = mix(result, ivec4(overflow), greaterThanEqual(result, ivec4(has_infinity ? overflow : nan)));
    result = mix(result, ivec4(overflow), greaterThanEqual(magnitude, ivec4(0x7f800000)));
    // a NaN keeps the payload that fits, so that data movement keeps its bits
    ivec4 payload = has_infinity ? (magnitude & 0x7fffff) >> drop : ivec4(0);
    ivec4 kept = mix(ivec4(overflow) | payload, ivec4(nan), equal(payload, ivec4(0)));
    result = mix(result, kept, greaterThan(magnitude, ivec4(0x7f800000)));
    return result | sign;
}

// bf16 shares fp32's exponent, so its subnormals are fp32's and a shift converts it.
vec4 bf16_to_float(ivec4 bits) { return intBitsToFloat(bits << 16); }
vec4 bf16_of_words(uvec2 words) {
    return uintBitsToFloat(uvec4(words.x << 16, words.x, words.y << 16, words.y) & 0xffff0000u);
}
ivec4 float_to_bf16(vec4 value) {
    ivec4 u = floatBitsToInt(value), rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    bvec4 is_nan = greaterThan(u & 0x7fffffff, ivec4(0x7f800000));
    ivec4 kept = u >> 16;
    kept = mix(kept, kept | 0x40, equal(kept & 0x7f, ivec4(0)));
    return mix(rounded, kept, is_nan) & 0xffff;
}

// fp16 is worth functions of its own. Its subnormal numbers are whole multiples of 2^-24, which fp32 holds exactly.
vec4 fp16_to_float(ivec4 bits) {
    ivec4 magnitude = bits & 0x7fff;
    precise vec4 subnormal = vec4(magnitude) * 5.9604644775390625e-8;
    ivec4 result = mix((magnitude << 13) + (112 << 23), floatBitsToInt(subnormal), lessThan(magnitude, ivec4(1024)));
    result = mix(result, (magnitude << 13) | 0x7f800000, greaterThanEqual(magnitude, ivec4(0x7c00)));
    return intBitsToFloat(result | ((bits & 0x8000) << 16));
}
// Numbers to calculate with: of a NaN not every bit is kept.
#if TOSAVK_NATIVE_FP16
vec4 fp16_of_words(uvec2 words) { return vec4(unpackFloat2x16(words.x), unpackFloat2x16(words.y)); }
#else
vec4 fp16_of_words(uvec2 words) {
    // 2^112 times the magnitude, with a leading one that subnormal numbers lack: none is subnormal in fp32, and
    // infinities and NaN have the exponent of those there. Below 2^-14, which only subnormal numbers are, that one is
    // taken away: their 2^-15 (1 + f) become 2^-14 f.
    uvec4 halves = uvec4(words.x << 16, words.x, words.y << 16, words.y);
    vec4 scaled = uintBitsToFloat((halves >> 3 & 0x0fffe000u) | 0x70000000u);
    precise vec4 in_excess = clamp(6.103515625e-5 - scaled * 1.925929944387236e-34, 0.0, 1.0);
    precise vec4 magnitude = scaled * 1.925929944387236e-34 - in_excess;
    return uintBitsToFloat(floatBitsToUint(magnitude) | (halves & 0x80000000u));
}
#endif
const int FP16_NORMAL = 113 << 23;  // 2^-14
// The multiple of 2^-24 nearest to a magnitude below 2^-14, ties to even. A shift of 30 leaves nothing.
ivec4 fp16_units(ivec4 magnitude) {
    ivec4 shift = clamp(126 - (magnitude >> 23), ivec4(1), ivec4(30));
    ivec4 significand = (magnitude & 0x7fffff) | 0x800000;
    return (significand + ((ivec4(1) << (shift - 1)) - 1) + ((significand >> shift) & 1)) >> shift;
}
// Room for the 13 bits that fp16 lacks, rounded into the rest.
ivec4 fp16_carried(ivec4 magnitude) { return magnitude + 0xfff + ((magnitude >> 13) & 1); }
ivec4 float_to_fp16(vec4 value) {
    ivec4 u = floatBitsToInt(value), magnitude = u & 0x7fffffff;
    ivec4 normal = min((fp16_carried(magnitude) >> 13) - (112 << 10), ivec4(0x7c00));
    ivec4 result = mix(normal, fp16_units(magnitude), lessThan(magnitude, ivec4(FP16_NORMAL)));
    ivec4 payload = (magnitude & 0x7fffff) >> 13;
    payload = mix(payload, ivec4(0x200), equal(payload, ivec4(0)));
    result = mix(result, 0x7c00 | payload, greaterThan(magnitude, ivec4(0x7f800000)));
    return result | ((u >> 16) & 0x8000);
}
vec4 fp8e4m3_to_float(ivec4 bits) { return small_to_float(bits, 4, 3, false); }
ivec4 float_to_fp8e4m3(vec4 value) { return float_to_small(value, 4, 3, false); }
vec4 fp8e5m2_to_float(ivec4 bits) { return small_to_float(bits, 5, 2, true); }
ivec4 float_to_fp8e5m2(vec4 value) { return float_to_small(value, 5, 2, true); }

// An integer of more than 24 bits cut to 24, with a last bit that tells of a remainder: fp32 holds it exactly, and a
// later rounding to fewer bits comes out as if it had seen all.
ivec4 sticky24(ivec4 x) {
    uvec4 m = uvec4(abs(x));
    uvec4 cut = mix(m, m | 256u, notEqual(m & 255u, uvec4(0u))) & ~255u;
    ivec4 kept = ivec4(mix(m, cut, greaterThanEqual(m, uvec4(1u << 24))));
    return mix(kept, -kept, lessThan(x, ivec4(0)));
}

// A result as the type that its operator declares.
#if TOSAVK_FAST_FP16
// lib/fast_fp16.glsl has all that is left.
#else
#define half4 vec4  // four numbers of fp16 while they are computed with
#if TOSAVK_HALF_ROUNDINGS
vec4 round_fp16(vec4 value) { return vec4(f16vec4(value)); }
#define FP16_ARITHMETIC(NAME, OP)                                                       \
    vec4 NAME(vec4 a, vec4 b) {                                                         \
        precise f16vec4 result = f16vec4(a) OP f16vec4(b);                              \
        return vec4(result);                                                            \
    }
#else
vec4 round_fp16(vec4 value) {
    ivec4 u = floatBitsToInt(value), magnitude = u & 0x7fffffff;
    ivec4 normal = fp16_carried(magnitude) & ~0x1fff;
    normal = mix(normal, ivec4(0x7f800000), greaterThanEqual(normal, ivec4(143 << 23)));
    precise vec4 subnormal = vec4(fp16_units(magnitude)) * 5.9604644775390625e-8;
    ivec4 result = mix(normal, floatBitsToInt(subnormal), lessThan(magnitude, ivec4(FP16_NORMAL)));
    result = mix(result, magnitude, greaterThan(magnitude, ivec4(0x7f800000)));
    return intBitsToFloat(result | (u & (1 << 31)));
}
#define FP16_ARITHMETIC(NAME, OP)                                                       \
    vec4 NAME(vec4 a, vec4 b) {                                                         \
        precise vec4 result = a OP b;                                                   \
        return result;                                                                  \
    }
#endif
// round_fp16 follows, as after every operator; it has no work left where the operation was native. fp32 has more than
// twice the bits of fp16, so that rounding its sums, differences and products gives what a single rounding gives.
FP16_ARITHMETIC(add_fp16, +)
FP16_ARITHMETIC(sub_fp16, -)
FP16_ARITHMETIC(mul_fp16, *)
#endif
vec4 round_bf16(vec4 value) { return bf16_to_float(float_to_bf16(value)); }
vec4 round_fp8e4m3(vec4 value) { return fp8e4m3_to_float(float_to_fp8e4m3(value)); }
vec4 round_fp8e5m2(vec4 value) { return fp8e5m2_to_float(float_to_fp8e5m2(value)); }

#define READ_SMALL16(N, B, FROM, DECODE, DECODE_WORDS)                                           \
    FROM##_2(N, B) float N##_load1(uint i) {                                                     \
        return DECODE(ivec4(bitfieldExtract(N##_word(i >> 1), int(i & 1u) * 16, 16) & 65535)).x; \
    }                                                                                            \
    vec4 N##_load4q(uint q) { return DECODE_WORDS(uvec2(N##_pair(q))); }                         \
    vec4 N##_load4(uint i) { return DECODE(unpack_i16(N##_pair(i >> 2)) & 65535); }              \
    LOADN(N, vec4)
#define READ_SMALL8(N, B, FROM, DECODE)                                                 \
    FROM##_1(N, B)                                                                      \
    float N##_load1(uint i) { return DECODE(ivec4(bitfieldExtract(N##_word(i >> 2), int(i & 3u) * 8, 8) & 255)).x; } \
    vec4 N##_load4q(uint q) { return DECODE(unpack_i8(N##_word(q)) & 255); }            \
    vec4 N##_load4(uint i) { return N##_load4q(i >> 2); }                               \
    LOADN(N, vec4)
#if !TOSAVK_FAST_FP16
#define READ_fp16(N, B, FROM) READ_SMALL16(N, B, FROM, fp16_to_float, fp16_of_words)
#endif
#define READ_bf16(N, B, FROM) READ_SMALL16(N, B, FROM, bf16_to_float, bf16_of_words)
#define READ_fp8e4m3(N, B, FROM) READ_SMALL8(N, B, FROM, fp8e4m3_to_float)
#define READ_fp8e5m2(N, B, FROM) READ_SMALL8(N, B, FROM, fp8e5m2_to_float)

#if TOSAVK_EIGHTS
#define WRITE_SMALL(N, B, TO, WRITE, ENCODE)                                            \
    WRITE(N##_bits, B, TO)                                                              \
    void N##_store8(uint i, vec4 v, vec4 w) { N##_bits_store8(i, ENCODE(v), ENCODE(w)); }
#else
#define WRITE_SMALL(N, B, TO, WRITE, ENCODE)                                            \
    WRITE(N##_bits, B, TO)                                                              \
    void N##_store4(uint i, vec4 v) { N##_bits_store4(i, ENCODE(v)); }                  \
    void N##_storen(uint i, uint n, vec4 v) { N##_bits_storen(i, n, ENCODE(v)); }       \
    void N##_store1(uint i, float x) { N##_bits_store1(i, ENCODE(vec4(x)).x); }
#endif
#if !TOSAVK_FAST_FP16
#define WRITE_fp16(N, B, TO) WRITE_SMALL(N, B, TO, WRITE_i16, float_to_fp16)
#endif
#define WRITE_bf16(N, B, TO) WRITE_SMALL(N, B, TO, WRITE_i16, float_to_bf16)
#define WRITE_fp8e4m3(N, B, TO) WRITE_SMALL(N, B, TO, WRITE_i8, float_to_fp8e4m3)
#define WRITE_fp8e5m2(N, B, TO) WRITE_SMALL(N, B, TO, WRITE_i8, float_to_fp8e5m2)
