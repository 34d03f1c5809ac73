// The floating-point functions of TOSA on vec4: only + - * under `precise` and integer bit work (and 1 / s where that
// is known to be correctly rounded), so that every driver gives the same bits (denormals aside) and the
// specification's bounds hold. Constants and their errors come from scripts/derive_math.sollya;
// src/base/numerics/shader_math.cpp does the same operations in the same order. Special values are selected by bit
// pattern: a driver's NaN and infinity arithmetic is not relied on.

const int INF_BITS = 0x7f800000;
const int NAN_BITS = 0x7fc00000;
const int SIGN_BIT = -0x7fffffff - 1;
const int ABS_MASK = 0x7fffffff;
const int TOP12_MASK = -4096;  // keeps 12 bits of the significand: products of two such values are exact
const int MIN_NORMAL = 0x00800000;

bvec4 math_is_nan(vec4 x) { return greaterThan(floatBitsToInt(x) & ABS_MASK, ivec4(INF_BITS)); }
vec4 math_top12(vec4 x) { return intBitsToFloat(floatBitsToInt(x) & TOP12_MASK); }

// ---- exact operators ------------------------------------------------------------------------------------------------

// Integers in the order of the numbers, -0 below +0: a driver that flushes subnormal numbers would call them equal to
// zero, yet keep their bits. Positive NaN lie above infinity and negative ones below; adding one of these constants
// turns the circle of integers until all of them lie at one end.
const int NAN_LAST = -0x7fffff;
const int NAN_FIRST = 0x7fffff;
ivec4 math_order(vec4 x, int nan_end) {
    ivec4 bits = floatBitsToInt(x);
    return (bits ^ ((bits >> 31) & ABS_MASK)) + nan_end;
}
// The number behind an integer.
vec4 math_unorder(ivec4 key, int nan_end) {
    ivec4 k = key - nan_end;
    return intBitsToFloat(k ^ ((k >> 31) & ABS_MASK));
}
#define MATH_EXTREME(name, wins, nan_end) \
    vec4 name(vec4 a, vec4 b) { return mix(b, a, wins(math_order(a, nan_end), math_order(b, nan_end))); }
MATH_EXTREME(tosa_max, greaterThan, NAN_LAST)
MATH_EXTREME(tosa_min, lessThan, NAN_FIRST)
MATH_EXTREME(tosa_max_ignore, greaterThan, NAN_FIRST)
MATH_EXTREME(tosa_min_ignore, lessThan, NAN_LAST)

vec4 tosa_clamp(vec4 x, float lo, float hi) { return tosa_min(tosa_max(x, vec4(lo)), vec4(hi)); }
// NaN gives lo.
vec4 tosa_clamp_ignore(vec4 x, float lo, float hi) { return tosa_min(tosa_max_ignore(x, vec4(lo)), vec4(hi)); }

// Integers wrap around: no compiler takes unsigned ones for numbers that do not. Of max(x, -x), and of abs(x), NVIDIA's
// makes other numbers where a difference follows that wraps.
ivec4 wrapping_add(ivec4 a, ivec4 b) { return ivec4(uvec4(a) + uvec4(b)); }
ivec4 wrapping_sub(ivec4 a, ivec4 b) { return ivec4(uvec4(a) - uvec4(b)); }
ivec4 wrapping_mul(ivec4 a, ivec4 b) { return ivec4(uvec4(a) * uvec4(b)); }
ivec4 wrapping_abs(ivec4 x) { return wrapping_sub(x, (x << 1) & (x >> 31)); }
vec4 tosa_abs(vec4 x) { return intBitsToFloat(floatBitsToInt(x) & ABS_MASK); }
vec4 tosa_negate(vec4 x) { return intBitsToFloat(floatBitsToInt(x) ^ SIGN_BIT); }

// Values from 2^23 on are integers (or NaN, infinity) and pass through; the sign of x is kept, -0 included.
vec4 tosa_floor(vec4 x) {
    bvec4 whole = greaterThanEqual(floatBitsToInt(x) & ABS_MASK, ivec4(0x4b000000));
    vec4 s = mix(x, vec4(0.0), whole);
    precise vec4 t = vec4(ivec4(s));
    precise vec4 down = t - vec4(1.0);
    t = mix(t, down, greaterThan(t, s));
    return mix(intBitsToFloat(floatBitsToInt(t) | (floatBitsToInt(x) & SIGN_BIT)), x, whole);
}

vec4 tosa_ceil(vec4 x) {
    bvec4 whole = greaterThanEqual(floatBitsToInt(x) & ABS_MASK, ivec4(0x4b000000));
    vec4 s = mix(x, vec4(0.0), whole);
    precise vec4 t = vec4(ivec4(s));
    precise vec4 up = t + vec4(1.0);
    t = mix(t, up, lessThan(t, s));
    return mix(intBitsToFloat(floatBitsToInt(t) | (floatBitsToInt(x) & SIGN_BIT)), x, whole);
}

// Round to nearest even, saturate to lo..hi, NaN gives 0. Every step is exact, in any rounding mode.
ivec4 tosa_float_to_int(vec4 x, int lo, int hi) {
    ivec4 bits = floatBitsToInt(x);
    ivec4 a = bits & ABS_MASK;
    bvec4 outside = greaterThanEqual(a, ivec4(0x4f000000));  // 2^31
    vec4 s = mix(intBitsToFloat(a), vec4(0.0), outside);
    ivec4 i = ivec4(s);
    precise vec4 rest = s - vec4(i);
    vec4 limit = mix(vec4(0.5), vec4(0.49999997), equal(i & 1, ivec4(1)));
    i += ivec4(greaterThan(rest, limit));
    i = clamp(mix(i, -i, lessThan(bits, ivec4(0))), lo, hi);
    i = mix(i, mix(ivec4(hi), ivec4(lo), lessThan(bits, ivec4(0))), outside);
    return mix(i, ivec4(0), greaterThan(a, ivec4(INF_BITS)));
}

vec4 tosa_int_to_float(ivec4 i) { return vec4(i); }

// ---- exponentials ---------------------------------------------------------------------------------------------------

// x = n ln 2 + r with abs(r) <= 0.3467: e^r - 1 (error 2^-25.8), and n + bias in the low bits of k. abs(n) < 2^9.
vec4 math_expm1_part(vec4 x, float bias, out ivec4 k) {
    precise vec4 t = x * 1.44269502 + (12582912.0 + bias);  // 1.5 * 2^23: the sum rounds to an integer
    k = floatBitsToInt(t);
    precise vec4 n = t - (12582912.0 + bias);
    precise vec4 r = (x - n * 0.693145752) - n * 1.42860677e-06;
    precise vec4 p = r * 0.00138395827 + 0.00836798921;
    p = p * r + 0.0416677818;
    p = p * r + 0.166665286;
    p = p * r + 0.49999997;
    p = r + (r * r) * p;
    return p;
}

// Two factors carry 2^n, so that results may be denormal.
vec4 tosa_exp(vec4 x) {
    ivec4 k;
    precise vec4 p = math_expm1_part(x, 254.0, k);
    ivec4 h = k >> 1;
    precise vec4 y = (p + 1.0) * intBitsToFloat(h << 23);
    y = y * intBitsToFloat((k - h) << 23);
    y = mix(y, vec4(0.0), lessThan(x, vec4(-104.0)));
    y = mix(y, intBitsToFloat(ivec4(INF_BITS)), greaterThan(x, vec4(88.7228317)));
    return mix(y, intBitsToFloat(ivec4(NAN_BITS)), math_is_nan(x));
}

// 1 / s, s in [1, 2], correctly rounded: by the device where it rounds so; else by a quotient within one ulp and the
// exact remainder 2^47 - q s (its low 32 bits tell all).
vec4 math_over(vec4 s) {
#if TOSAVK_EXACT_RECIPROCALS
    precise vec4 q = 1.0 / s;
    return q;
#else
    precise vec4 q = s * -0.221836731 + 1.33102095;  // error 2^-9.2
    q = q * s - 2.93933916;
    q = q * s + 2.82842183;
    precise vec4 e = 1.0 - s * q;
    q = q + q * (e + e * e);
    ivec4 y = floatBitsToInt(q);
    ivec4 divisor = (floatBitsToInt(s) & 0x007fffff) | 0x00800000;
    ivec4 rest = -(divisor * ((y & 0x007fffff) | 0x00800000)) * 2;
    return intBitsToFloat(y + ivec4(greaterThan(rest, divisor)) - ivec4(lessThan(rest, -divisor)));
#endif
}

// e = e^-abs(x) = 2^n 2^f, of a polynomial times 2^-64 and of 2^(n + 64), so that it may be denormal; below -104 it
// is 0 as at -104. The bound grows with abs(x), and so may the error of the one product with log2(e).
vec4 tosa_sigmoid(vec4 x) {
    ivec4 minus = floatBitsToInt(x) | SIGN_BIT;
    precise vec4 t =
        uintBitsToFloat(min(uvec4(minus), uvec4(0xc2d00000u))) * 1.44269502;  // of two negative floats the larger
    precise vec4 k = t + (12582912.0 + 191.0);
    precise vec4 f = t - (k - (12582912.0 + 191.0));
    precise vec4 f2 = f * f;
    precise vec4 p = (f * 7.19618418e-23 + 5.24296951e-22) * f2 + (f * 3.00904033e-21 + 1.30224829e-20);
    p = p * f2 + (f * 3.75755744e-20 + 5.42101086e-20);
    precise vec4 e = p * intBitsToFloat(floatBitsToInt(k) << 23);
    precise vec4 s = e + 1.0;
    vec4 q = math_over(s);
    precise vec4 eq = e * q;
    vec4 y = mix(q, eq, lessThan(floatBitsToInt(x), ivec4(0)));
    return mix(y, intBitsToFloat(ivec4(NAN_BITS)), greaterThan(minus, ivec4(INF_BITS | SIGN_BIT)));
}

// w = tanh(-a) = t / (2 + t) with t = e^(-2a) - 1 keeps relative accuracy near 0; also tanh(a) = -t/2 (1 - w), where
// the roundings of w count less.
vec4 tosa_tanh(vec4 x) {
    ivec4 bits = floatBitsToInt(x);
    ivec4 a = bits & ABS_MASK;
    ivec4 k;
    precise vec4 p = math_expm1_part(intBitsToFloat(bits | SIGN_BIT) * 2.0, 127.0, k);
    vec4 two_n = intBitsToFloat(k << 23);
    precise vec4 t = p * two_n + (two_n - 1.0);
    precise vec4 s = t + 2.0;
    precise vec4 w = t * math_over(s);
    precise vec4 half_t = t * -0.5;
    precise vec4 tanh_a = half_t - half_t * w;
    ivec4 y = floatBitsToInt(tanh_a);
    y = mix(y, ivec4(0x3f800000), greaterThan(a, ivec4(0x41200000)));  // above 10
    y = mix(y, ivec4(NAN_BITS), greaterThan(a, ivec4(INF_BITS)));
    return intBitsToFloat((y & ABS_MASK) | (bits & SIGN_BIT));
}

// ---- reciprocals ----------------------------------------------------------------------------------------------------

// Correctly rounded.
vec4 tosa_reciprocal(vec4 x) {
    ivec4 bits = floatBitsToInt(x);
    ivec4 a = bits & ABS_MASK;
    // Denormal and huge values are moved by 2^+-24, their quotients likewise.
    vec4 scale = mix(vec4(1.0), vec4(16777216.0), lessThan(a, ivec4(MIN_NORMAL)));
    scale = mix(scale, vec4(5.96046448e-08), greaterThan(a, ivec4(0x7e000000)));
    precise vec4 xs = x * scale;
    ivec4 b = floatBitsToInt(xs);
    ivec4 y = floatBitsToInt(math_over(intBitsToFloat((b & 0x007fffff) | 0x3f800000)));
    y += 0x3f800000 - (b & INF_BITS);
    precise vec4 r = intBitsToFloat(y) * scale;
    ivec4 s = mix(floatBitsToInt(r), ivec4(INF_BITS), lessThanEqual(a, ivec4(0x00200000)));  // 2^-128
    s = mix(s, ivec4(0), equal(a, ivec4(INF_BITS)));
    s = mix(s, ivec4(NAN_BITS), greaterThan(a, ivec4(INF_BITS)));
    return intBitsToFloat(s | (bits & SIGN_BIT));
}

// x = m 4^k, m in [1, 4). The last step sees the residual 1 - m y^2 without rounding error.
vec4 tosa_rsqrt(vec4 x) {
    ivec4 bits = floatBitsToInt(x);
    bvec4 small = lessThan(bits & ABS_MASK, ivec4(MIN_NORMAL));
    precise vec4 scaled = x * 16777216.0;
    ivec4 b = floatBitsToInt(mix(x, scaled, small));
    ivec4 k = (b - 0x3f800000) >> 24;
    ivec4 m_bits = b - (k << 24);
    precise vec4 m = intBitsToFloat(m_bits);
    precise vec4 y = intBitsToFloat(1597374464 - (m_bits >> 1));
    y = y * (1.51156831 - ((m * y) * y) * 0.51082027);  // error 2^-10.2
    y = math_top12(y);
    precise vec4 square = y * y;
    precise vec4 m_high = math_top12(m);
    precise vec4 s_high = math_top12(square);
    precise vec4 e = (1.0 - m_high * s_high) - (m_high * (square - s_high) + (m - m_high) * square);
    y = y + y * (e * (e * 0.375 + 0.5));
    ivec4 r = floatBitsToInt(y) + ((mix(ivec4(0), ivec4(12), small) - k) << 23);
    r = mix(r, ivec4(0), equal(bits, ivec4(INF_BITS)));
    r = mix(r, ivec4(NAN_BITS), greaterThan(uvec4(bits), uvec4(uint(INF_BITS))));
    r = mix(r, (bits & SIGN_BIT) | INF_BITS, equal(b & ABS_MASK, ivec4(0)));
    return intBitsToFloat(r);
}

// ---- logarithm and power --------------------------------------------------------------------------------------------

// log(2^n (1 + f)), 1 + f in [sqrt(1/2), sqrt(2)]; log(1 + f) has error 2^-26.9.
vec4 math_log_part(vec4 f, vec4 n) {
    precise vec4 f2 = f * f;
    precise vec4 p = f * -0.0728602111 + 0.1256589;
    p = p * f - 0.13212356;
    p = p * f + 0.142389074;
    p = p * f - 0.166212067;
    p = p * f + 0.1999899;
    p = p * f - 0.250008404;
    p = p * f + 0.333333731;
    p = (p * f) * f2 + n * 1.42860677e-06;
    p = (f + (p - f2 * 0.5)) + n * 0.693145752;
    return p;
}

vec4 tosa_log(vec4 x) {
    ivec4 bits = floatBitsToInt(x);
    bvec4 small = lessThan(bits & ABS_MASK, ivec4(MIN_NORMAL));
    precise vec4 scaled = x * 8388608.0;
    ivec4 b = floatBitsToInt(mix(x, scaled, small));
    ivec4 j = b - 0x3f3504f3;
    precise vec4 n = vec4((j >> 23) - mix(ivec4(0), ivec4(23), small));
    precise vec4 f = intBitsToFloat((j & 0x007fffff) + 0x3f3504f3) - 1.0;
    precise vec4 p = math_log_part(f, n);
    ivec4 r = floatBitsToInt(p);
    r = mix(r, ivec4(INF_BITS), equal(bits, ivec4(INF_BITS)));
    r = mix(r, ivec4(NAN_BITS), greaterThan(uvec4(bits), uvec4(uint(INF_BITS))));
    r = mix(r, ivec4(SIGN_BIT | INF_BITS), equal(b & ABS_MASK, ivec4(0)));
    return intBitsToFloat(r);
}

// abs(a)^b as exp(b log(abs(a))); a negative base takes its sign from an integer exponent and gives NaN with any other.
// a^0 is 1.
vec4 tosa_pow(vec4 a, vec4 b) {
    vec4 logarithm = tosa_log(tosa_abs(a));
    precise vec4 t = b * logarithm;
    ivec4 r = floatBitsToInt(tosa_exp(t));
    vec4 c = mix(b, vec4(0.0), greaterThanEqual(floatBitsToInt(b) & ABS_MASK, ivec4(0x4b800000)));  // 2^24: even
    ivec4 i = ivec4(c);
    ivec4 with_sign = mix(ivec4(NAN_BITS), r ^ (i << 31), equal(vec4(i), c));
    // By the bits: some devices compare denormals as zeros though they know their logarithms; to others they are zeros.
    ivec4 bits = mix(floatBitsToInt(a), ivec4(0), equal(floatBitsToInt(logarithm), ivec4(INF_BITS | SIGN_BIT)));
    r = mix(r, with_sign, greaterThan(uvec4(bits), uvec4(0x80000000u)));
    r = mix(r, ivec4(NAN_BITS), math_is_nan(b));
    return intBitsToFloat(mix(r, ivec4(0x3f800000), equal(b, vec4(0.0))));
}

// ---- erf, sin, cos --------------------------------------------------------------------------------------------------

// a + a P(a^2) up to 0.95 (error 2^-25.1), a polynomial in a - 2.40625 above (absolute error 2^-27), 1 from 3.8325.
// Denormals count as the integers they are, so that a device which flushes them keeps bf16's tiny results.
vec4 tosa_erf(vec4 x) {
    ivec4 bits = floatBitsToInt(x);
    ivec4 magnitude = bits & ABS_MASK;
    precise vec4 a = intBitsToFloat(magnitude);
    precise vec4 z = a * a;
    precise vec4 p = z * -0.000585257367 + 0.00496513583;
    p = p * z - 0.0267467145;
    p = p * z + 0.112812355;
    p = p * z - 0.376124322;
    p = p * z + 0.128379121;
    precise vec4 a16 = a * 16.0;  // keeps the product below out of the denormals, which a device may flush
    p = (a16 + a16 * p) * 0.0625;
    precise vec4 t = a - 2.40625;
    precise vec4 q = t * 1.39456449e-06 - 7.55878204e-07;
    q = q * t - 1.91339113e-05;
    q = q * t + 3.59680889e-05;
    q = q * t + 6.32338561e-05;
    q = q * t - 0.00033603367;
    q = q * t + 0.000503154064;
    q = q * t + 0.00027385389;
    q = q * t - 0.00307273655;
    q = q * t + 0.00777128339;
    q = q * t - 0.0118724396;
    q = q * t + 0.0121696638;
    q = q * t - 0.00830265693;
    q = q * t + 0.00345037133;
    q = q * t + 0.999333382;
    ivec4 r = floatBitsToInt(mix(q, p, lessThan(a, vec4(0.95))));
    r = mix(r, ivec4(0x3f800000), greaterThan(a, vec4(3.8325)));
    precise vec4 rest = vec4(magnitude) * 0.128379167 + 0.5;
    r = mix(r, magnitude + ivec4(rest), lessThan(magnitude, ivec4(MIN_NORMAL)));
    r = mix(r, ivec4(NAN_BITS), math_is_nan(x));
    return intBitsToFloat(r | (bits & SIGN_BIT));
}

// sin(r), abs(r) <= pi/2, error 2^-27.
vec4 math_sin_polynomial(vec4 r) {
    precise vec4 z = r * r;
    precise vec4 p = z * 2.60610295e-06 - 0.000198097783;
    p = p * z + 0.00833306927;
    p = p * z - 0.166666597;
    p = r + (r * z) * p;
    return p;
}

// sin(a - n pi) for a >= 0. pi has three parts; n times the first two is exact up to 2^13.
vec4 math_sin_part(vec4 a, vec4 n) {
    precise vec4 r = ((a - n * 3.140625) - n * 0.000967502594) - n * 1.50995803e-07;
    return math_sin_polynomial(r);
}

const int SIN_FAR = 0x46000000;  // 2^13
vec4 math_sin_argument(ivec4 a) { return mix(intBitsToFloat(a), vec4(0.0), greaterThanEqual(a, ivec4(SIN_FAR))); }

// Bits of sin(a + ahead) for a from 2^13 on, else those of `near`; `ahead` counts 2^-31 pi. The significand of a times
// those 64 bits of 1 / pi that its exponent leaves is a / pi modulo 2, with 31 bits behind the point.
ivec4 math_sin_far(ivec4 a, int ahead, ivec4 near) {
    bvec4 far = greaterThanEqual(a, ivec4(SIN_FAR));
    if (!any(far)) return near;
    ivec4 place = (a >> 23) - 119;  // of those bits, from 32 before the point on: 21 to 135
    ivec4 word = place >> 5, shift = place & 31;
    bvec4 from1 = greaterThan(word, ivec4(0)), from2 = greaterThan(word, ivec4(1));
    bvec4 from3 = greaterThan(word, ivec4(2)), from4 = greaterThan(word, ivec4(3));
    ivec4 w1 = ivec4(0x517cc1b7), w2 = ivec4(0x27220a94), w3 = ivec4(-0x01ec5418);  // 1 / pi, 32 bits a word
    ivec4 w4 = ivec4(-0x05659120), w5 = ivec4(0x6db14acc), w6 = ivec4(-0x61de37e0);
    ivec4 first = mix(mix(mix(mix(ivec4(0), w1, from1), w2, from2), w3, from3), w4, from4);
    ivec4 second = mix(mix(mix(mix(w1, w2, from1), w3, from2), w4, from3), w5, from4);
    ivec4 third = mix(mix(mix(mix(w2, w3, from1), w4, from2), w5, from3), w6, from4);
    uvec4 left = uvec4(shift), right = uvec4(31 - shift);
    uvec4 high = (uvec4(first) << left) | ((uvec4(second) >> 1) >> right);
    uvec4 low = (uvec4(second) << left) | ((uvec4(third) >> 1) >> right);
    uvec4 significand = uvec4((a & 0x007fffff) | 0x00800000);
    uvec4 carried, rest;
    umulExtended(significand, low, carried, rest);
    ivec4 turns = ivec4(significand * high + carried) + ahead;
    ivec4 odd = (turns + 0x40000000) & SIGN_BIT;  // the nearest multiple of pi
    ivec4 r = turns ^ odd;
    // Both parts are exact.
    precise vec4 angle = vec4(r >> 12) * 5.99211262e-06 + vec4(r & 4095) * 1.46291812e-09;
    return mix(near, floatBitsToInt(math_sin_polynomial(angle)) ^ odd, far);
}

vec4 tosa_sin(vec4 x) {
    ivec4 bits = floatBitsToInt(x);
    ivec4 magnitude = bits & ABS_MASK;
    vec4 a = math_sin_argument(magnitude);
    precise vec4 t = a * 0.318309873 + 12582912.0;
    precise vec4 n = t - 12582912.0;
    ivec4 near = floatBitsToInt(math_sin_part(a, n)) ^ (floatBitsToInt(t) << 31);
    ivec4 r = math_sin_far(magnitude, 0, near) ^ (bits & SIGN_BIT);
    return intBitsToFloat(mix(r, ivec4(NAN_BITS), greaterThanEqual(magnitude, ivec4(INF_BITS))));
}

// cos(r + (n + 1/2) pi) = -(-1)^n sin(r)
vec4 tosa_cos(vec4 x) {
    ivec4 magnitude = floatBitsToInt(x) & ABS_MASK;
    vec4 a = math_sin_argument(magnitude);
    precise vec4 t = (a * 0.318309873 - 0.5) + 12582912.0;
    precise vec4 n = (t - 12582912.0) + 0.5;
    ivec4 near = floatBitsToInt(math_sin_part(a, n)) ^ ((floatBitsToInt(t) << 31) ^ SIGN_BIT);
    ivec4 r = math_sin_far(magnitude, 0x40000000, near);
    return intBitsToFloat(mix(r, ivec4(NAN_BITS), greaterThanEqual(magnitude, ivec4(INF_BITS))));
}
