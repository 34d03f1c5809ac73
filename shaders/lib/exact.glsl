// Quotients, remainders and roots without a rounding error but the last one, on any driver. Significands are integers
// of 24 bits; a result is estimated in floats of ordinary size and then corrected by what is left over, which an int
// holds exactly though the products do not fit: all but its low 32 bits cancel. Subnormal numbers are read and made
// by their bits. The functions on floats expect values of fp32 or narrower and round to fp32.

// A number as significand * 2^(exponent - 150), the significand in 2^23 .. 2^24 - 1. Nothing useful for 0, infinity,
// NaN.
void exact_split(ivec4 magnitude, out ivec4 significand, out ivec4 exponent) {
    bvec4 small = lessThan(magnitude, ivec4(MIN_NORMAL));
    ivec4 lift = ivec4(23) - findMSB(max(magnitude, ivec4(1)));
    significand = mix((magnitude & 0x007fffff) | 0x00800000, magnitude << max(lift, ivec4(0)), small);
    exponent = mix(magnitude >> 23, ivec4(1) - lift, small);
}
vec4 exact_unit(ivec4 significand) { return intBitsToFloat((significand & 0x007fffff) | 0x3f800000); }

// The bits of significand * 2^(exponent - 150) for any significand of up to 24 bits that this leaves exact.
ivec4 exact_join(ivec4 significand, ivec4 exponent) {
    ivec4 lift = ivec4(23) - findMSB(max(significand, ivec4(1)));
    ivec4 e = exponent - lift, m = significand << lift;
    ivec4 normal = (e << 23) + (m & 0x007fffff);
    ivec4 subnormal = m >> clamp(ivec4(1) - e, ivec4(0), ivec4(31));
    return mix(mix(normal, subnormal, lessThan(e, ivec4(1))), ivec4(0), equal(significand, ivec4(0)));
}

// rest / divisor rounded down, at most one off, with `over` = 2^23 / divisor. abs(rest) < 2^31.
ivec4 exact_estimate(ivec4 rest, vec4 over, float scale) {
    precise vec4 q = vec4(rest) * over * scale;
    ivec4 i = ivec4(q);
    return i - ivec4(greaterThan(vec4(i), q));
}

vec4 exact_divide(vec4 a, vec4 b) {
    ivec4 bits_a = floatBitsToInt(a), bits_b = floatBitsToInt(b), sign = (bits_a ^ bits_b) & SIGN_BIT;
    ivec4 abs_a = bits_a & ABS_MASK, abs_b = bits_b & ABS_MASK, m_a, m_b, e_a, e_b;
    exact_split(abs_a, m_a, e_a);
    exact_split(abs_b, m_b, e_b);
    ivec4 less = ivec4(lessThan(m_a, m_b));
    // The quotient of m_a 2^(23 + less) by m_b has 24 bits.
    vec4 over = math_over(exact_unit(m_b));
    precise vec4 first = exact_unit(m_a) * over * mix(vec4(1.0), vec4(2.0), equal(less, ivec4(1)));
    ivec4 q = floatBitsToInt(first) - 0x3f000000;
    ivec4 rest = (m_a << (ivec4(23) + less)) - q * m_b;
    ivec4 step = exact_estimate(rest, over, 1.1920928955078125e-07);
    q += step;
    rest -= step * m_b;
    step = ivec4(greaterThanEqual(rest, m_b)) - ivec4(lessThan(rest, ivec4(0)));
    q += step;
    rest -= step * m_b;

    ivec4 e = e_a - e_b - less + 127;
    ivec4 twice = rest * 2;
    ivec4 up = ivec4(greaterThan(twice, m_b)) | (ivec4(equal(twice, m_b)) & q);
    ivec4 normal = ((e - 1) << 23) + q + (up & 1);
    // Subnormal results drop more bits.
    ivec4 drop = clamp(ivec4(1) - e, ivec4(1), ivec4(25));
    ivec4 kept = q >> drop, half_way = ivec4(1) << (drop - 1), dropped = q & (half_way * 2 - 1);
    ivec4 more = ivec4(notEqual(rest, ivec4(0))) | (kept & 1);
    up = ivec4(greaterThan(dropped, half_way)) | (ivec4(equal(dropped, half_way)) & more);
    ivec4 r = mix(normal, kept + up, lessThan(e, ivec4(1)));
    r = mix(r, ivec4(INF_BITS), greaterThan(e, ivec4(254)));
    bvec4 a_zero = equal(abs_a, ivec4(0)), b_zero = equal(abs_b, ivec4(0));
    bvec4 a_inf = equal(abs_a, ivec4(INF_BITS)), b_inf = equal(abs_b, ivec4(INF_BITS));
    r = mix(r, ivec4(0), a_zero);
    r = mix(r, ivec4(0), b_inf);
    r = mix(r, ivec4(INF_BITS), b_zero);
    r = mix(r, ivec4(INF_BITS), a_inf);
    ivec4 undefined = (ivec4(a_zero) & ivec4(b_zero)) | (ivec4(a_inf) & ivec4(b_inf)) |
                      ivec4(greaterThan(max(abs_a, abs_b), ivec4(INF_BITS)));
    return intBitsToFloat(mix(r | sign, ivec4(NAN_BITS), notEqual(undefined, ivec4(0))));
}

// Brings `rest` 2^bits_left down to less than the divisor, by at most 20 bits.
void exact_reduce(inout ivec4 rest, inout ivec4 bits_left, ivec4 divisor, vec4 over) {
    ivec4 k = min(bits_left, ivec4(20));
    bits_left -= k;
    // rest 2^k / divisor, in two factors of ordinary size.
    precise vec4 share = vec4(rest) * over * 1.1920928955078125e-07;
    ivec4 q = ivec4(share * intBitsToFloat((k + 127) << 23));
    rest = (rest << k) - q * divisor;
    rest += mix(ivec4(0), divisor, lessThan(rest, ivec4(0)));
    rest -= mix(ivec4(0), divisor, greaterThanEqual(rest, divisor));
}

// Two exponents are at most 276 apart, 14 steps. They are a loop only where the source's maker has counted it among the
// passes of all loops (LIBRARY_LOOPS): it ends early, which a driver on a CPU cannot make of the rest of a branch.
// A macro, and a function for one element as well, since a function with a loop or `any` of its own has no form for one
// element (compile/codegen/single_elements.cpp).
bool exact_is_left(int bits) { return bits > 0; }
bool exact_is_left(ivec4 bits) { return any(greaterThan(bits, ivec4(0))); }
#ifdef LIBRARY_LOOPS
#extension GL_EXT_control_flow_attributes : require
#define EXACT_STEPS                                                    \
    [[dont_unroll]] for (int pass = 0; pass < LIBRARY_LOOPS; ++pass) { \
        if (!exact_is_left(bits_left)) break;                          \
        exact_reduce(rest, bits_left, m_b, over);                      \
    }
#else
#define EXACT_STEP if (exact_is_left(bits_left)) exact_reduce(rest, bits_left, m_b, over);
#define EXACT_STEPS7 EXACT_STEP EXACT_STEP EXACT_STEP EXACT_STEP EXACT_STEP EXACT_STEP EXACT_STEP
#define EXACT_STEPS EXACT_STEPS7 EXACT_STEPS7
#endif

vec4 exact_remainder(vec4 a, vec4 b, bool floored) {
    ivec4 bits_a = floatBitsToInt(a), bits_b = floatBitsToInt(b), sign = bits_a & SIGN_BIT;
    ivec4 abs_a = bits_a & ABS_MASK, abs_b = bits_b & ABS_MASK, m_a, m_b, e_a, e_b;
    exact_split(abs_a, m_a, e_a);
    exact_split(abs_b, m_b, e_b);
    vec4 over = math_over(exact_unit(m_b));
    bvec4 is_less = lessThan(abs_a, abs_b);
    ivec4 bits_left = mix(e_a - e_b, ivec4(0), is_less);
    ivec4 rest = m_a - mix(ivec4(0), m_b, greaterThanEqual(m_a, m_b));
    EXACT_STEPS
    ivec4 r = mix(exact_join(rest, e_b), abs_a, is_less);
    if (floored) {
        bvec4 other_side = lessThan(mix(bits_a ^ bits_b, ivec4(0), equal(r, ivec4(0))), ivec4(0));
        // abs(b) - abs(rest): exact where both count the same units; else one rounding, of numbers that are no
        // subnormals.
        ivec4 lift = mix(ivec4(0), ivec4(64), lessThan(e_b, ivec4(64)));
        ivec4 f_a = mix((m_a & 0x007fffff) | ((e_a + lift) << 23), ivec4(0), lessThan(e_a + lift, ivec4(1)));
        precise vec4 difference = intBitsToFloat((m_b & 0x007fffff) | ((e_b + lift) << 23)) - intBitsToFloat(f_a);
        ivec4 d = floatBitsToInt(difference);
        ivec4 rounded = exact_join((d & 0x007fffff) | 0x00800000, (d >> 23) - lift);
        ivec4 towards_b = mix(exact_join(m_b - rest, e_b), rounded, is_less);
        towards_b = mix(towards_b, ivec4(INF_BITS), equal(abs_b, ivec4(INF_BITS)));
        r = mix(r, towards_b, other_side);
        sign = mix(sign, bits_b & SIGN_BIT, other_side);
    }
    ivec4 undefined = ivec4(equal(abs_b, ivec4(0))) | ivec4(greaterThanEqual(abs_a, ivec4(INF_BITS))) |
                      ivec4(greaterThan(abs_b, ivec4(INF_BITS)));
    return intBitsToFloat(mix(r | sign, ivec4(NAN_BITS), notEqual(undefined, ivec4(0))));
}

vec4 exact_sqrt(vec4 x) {
    ivec4 bits = floatBitsToInt(x), m, e;
    exact_split(bits & ABS_MASK, m, e);
    ivec4 odd = (e - 127) & 1;
    // The root of m 2^(23 + odd) has 24 bits.
    vec4 unit = exact_unit(m) * mix(vec4(1.0), vec4(2.0), equal(odd, ivec4(1)));
    vec4 over = tosa_rsqrt(unit);
    precise vec4 first = unit * over;
    ivec4 q = floatBitsToInt(first) - 0x3f000000;
    ivec4 rest = (m << (ivec4(23) + odd)) - q * q;
    ivec4 step = exact_estimate(rest, over, 5.9604644775390625e-08);
    q += step;
    rest -= step * (2 * q - step);
    step = ivec4(greaterThan(rest, 2 * q)) - ivec4(lessThan(rest, ivec4(0)));
    q += step;
    rest -= step * (2 * q - step);
    ivec4 r = ((((e - 127) >> 1) + 126) << 23) + q + ivec4(greaterThan(rest, q));
    r = mix(r, ivec4(INF_BITS), equal(bits, ivec4(INF_BITS)));
    r = mix(r, ivec4(NAN_BITS), greaterThan(uvec4(bits), uvec4(uint(INF_BITS))));
    return intBitsToFloat(mix(r, bits, equal(bits & ABS_MASK, ivec4(0))));
}

// Integers: the quotient of the magnitudes decides. No operand is negative where the device divides, and none is 0.
// `mask` is 0 for signed values, else the bits of an unsigned one; abs(-2^31) is 2^31 as an unsigned number.
uvec4 exact_magnitude(ivec4 x, int mask) { return uvec4(mask == 0 ? mix(x, -x, lessThan(x, ivec4(0))) : x & mask); }

ivec4 exact_divide_int(ivec4 a, ivec4 b, int mask, bool floored, int by_zero) {
    bvec4 zero = equal(b, ivec4(0));
    uvec4 m_a = exact_magnitude(a, mask), m_b = exact_magnitude(mix(b, ivec4(1), zero), mask);
    uvec4 q = m_a / m_b;
    bvec4 negative = lessThan(mask == 0 ? a ^ b : ivec4(0), ivec4(0));
    if (floored) q += uvec4(mix(ivec4(0), ivec4(notEqual(q * m_b, m_a)), negative));
    return mix(mix(ivec4(q), -ivec4(q), negative), ivec4(by_zero), zero);
}

ivec4 exact_remainder_int(ivec4 a, ivec4 b, int mask, bool floored, bool keeps_dividend) {
    bvec4 zero = equal(b, ivec4(0));
    uvec4 m_a = exact_magnitude(a, mask), m_b = exact_magnitude(mix(b, ivec4(1), zero), mask);
    ivec4 r = ivec4(m_a - m_a / m_b * m_b);
    bvec4 negative = lessThan(mask == 0 ? a : ivec4(0), ivec4(0));
    r = mix(r, -r, negative);
    if (floored) {
        bvec4 other_side = lessThan(mask == 0 ? a ^ b : ivec4(0), ivec4(0));
        r += mix(ivec4(0), mix(b, ivec4(0), equal(r, ivec4(0))), other_side);
    }
    return mix(r, keeps_dividend ? a : ivec4(0), zero);
}
