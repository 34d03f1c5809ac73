// fp16, bf16 and the fp8 formats: values are computed in fp32 and rounded to the format after every operator. All of it
// is integer work, because drivers differ on packHalf2x16, on subnormals and on overflow.
//
// small_to_float(bits, exponent_bits, fraction_bits, has_infinity): the value of a pattern, exact (a subnormal result of
// bf16 is a subnormal fp32, which a driver may flush). fp8e4m3 has no infinity: only all-ones is NaN.
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
    ivec4 normal = ((magnitude + ((1 << (drop - 1)) - 1) + ((magnitude >> drop) & 1)) >> drop) - ((127 - bias) << fraction_bits);
    // subnormal results: the significand shifted to the format's last place
    ivec4 exponent = magnitude >> 23;
    ivec4 shift = clamp(ivec4(drop + (127 - bias) + 1) - exponent, ivec4(1), ivec4(30));
    ivec4 significand = (magnitude & 0x7fffff) | 0x800000;
    ivec4 subnormal = (significand + ((ivec4(1) << (shift - 1)) - 1) + ((significand >> shift) & 1)) >> shift;
    ivec4 result = mix(normal, subnormal, lessThan(exponent, ivec4(128 - bias)));
    result = mix(result, ivec4(0), equal(exponent, ivec4(0)));
    int nan = has_infinity ? (top << fraction_bits) | (1 << (fraction_bits - 1)) : (1 << (exponent_bits + fraction_bits)) - 1;
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
ivec4 float_to_bf16(vec4 value) {
    ivec4 u = floatBitsToInt(value), rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    bvec4 is_nan = greaterThan(u & 0x7fffffff, ivec4(0x7f800000));
    ivec4 kept = u >> 16;
    kept = mix(kept, kept | 0x40, equal(kept & 0x7f, ivec4(0)));
    return mix(rounded, kept, is_nan) & 0xffff;
}
vec4 fp16_to_float(ivec4 bits) { return small_to_float(bits, 5, 10, true); }
ivec4 float_to_fp16(vec4 value) { return float_to_small(value, 5, 10, true); }
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
vec4 round_fp16(vec4 value) { return fp16_to_float(float_to_fp16(value)); }
vec4 round_bf16(vec4 value) { return bf16_to_float(float_to_bf16(value)); }
vec4 round_fp8e4m3(vec4 value) { return fp8e4m3_to_float(float_to_fp8e4m3(value)); }
vec4 round_fp8e5m2(vec4 value) { return fp8e5m2_to_float(float_to_fp8e5m2(value)); }

#define READ_SMALL16(N, B, FROM, DECODE)                                                \
    FROM##_2(N, B)                                                                      \
    float N##_load1(uint i) { return DECODE(ivec4(bitfieldExtract(N##_word(i >> 1), int(i & 1u) * 16, 16) & 65535)).x; } \
    vec4 N##_load4(uint i) { return DECODE(unpack_i16(N##_pair(i >> 2)) & 65535); }     \
    LOADN(N, vec4)
#define READ_SMALL8(N, B, FROM, DECODE)                                                 \
    FROM##_1(N, B)                                                                      \
    float N##_load1(uint i) { return DECODE(ivec4(bitfieldExtract(N##_word(i >> 2), int(i & 3u) * 8, 8) & 255)).x; } \
    vec4 N##_load4(uint i) { return DECODE(unpack_i8(N##_word(i >> 2)) & 255); }        \
    LOADN(N, vec4)
#define READ_fp16(N, B, FROM) READ_SMALL16(N, B, FROM, fp16_to_float)
#define READ_bf16(N, B, FROM) READ_SMALL16(N, B, FROM, bf16_to_float)
#define READ_fp8e4m3(N, B, FROM) READ_SMALL8(N, B, FROM, fp8e4m3_to_float)
#define READ_fp8e5m2(N, B, FROM) READ_SMALL8(N, B, FROM, fp8e5m2_to_float)

#define WRITE_SMALL(N, B, TO, WRITE, ENCODE)                                            \
    WRITE(N##_bits, B, TO)                                                              \
    void N##_store4(uint i, vec4 v) { N##_bits_store4(i, ENCODE(v)); }                  \
    void N##_store1(uint i, float x) { N##_bits_store1(i, ENCODE(vec4(x)).x); }
#define WRITE_fp16(N, B, TO) WRITE_SMALL(N, B, TO, WRITE_i16, float_to_fp16)
#define WRITE_bf16(N, B, TO) WRITE_SMALL(N, B, TO, WRITE_i16, float_to_bf16)
#define WRITE_fp8e4m3(N, B, TO) WRITE_SMALL(N, B, TO, WRITE_i8, float_to_fp8e4m3)
#define WRITE_fp8e5m2(N, B, TO) WRITE_SMALL(N, B, TO, WRITE_i8, float_to_fp8e5m2)
