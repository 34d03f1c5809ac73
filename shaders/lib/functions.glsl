// Functions that TOSA lacks, for operators of our own (docs/operators.md), in the manner of lib/math.glsl: + - * under
// `precise` and integer bit work, special values by their bits. Constants and their errors come from
// scripts/derive_functions.py; src/base/numerics/shader_functions.cpp does the same operations in the same order.

vec4 own_with_sign(vec4 magnitude, vec4 sign) {
    return intBitsToFloat((floatBitsToInt(magnitude) & ABS_MASK) | (floatBitsToInt(sign) & SIGN_BIT));
}
// x where it is so small that it is its own result, bit for bit; NaN where x is.
vec4 own_ends(vec4 result, vec4 x, float least) {
    vec4 r = mix(result, x, lessThan(floatBitsToInt(x) & ABS_MASK, floatBitsToInt(vec4(least))));
    return mix(r, intBitsToFloat(ivec4(NAN_BITS)), math_is_nan(x));
}

// e^x - 1 = 2^n ((e^r - 1) + (1 - 2^-n)).
vec4 own_expm1(vec4 x) {
    vec4 a = mix(x, vec4(-18.0), lessThan(x, vec4(-18.0)));  // whose result rounds to -1
    a = mix(a, vec4(89.0), greaterThan(a, vec4(89.0)));
    ivec4 k;
    precise vec4 p = math_expm1_part(a, 254.0, k);
    ivec4 n = (k & 0x1ff) - 254;
    precise vec4 rest = 1.0 - intBitsToFloat(max(127 - n, ivec4(0)) << 23);
    ivec4 half_n = n >> 1;
    precise vec4 y = (p + rest) * intBitsToFloat((half_n + 127) << 23);
    y = y * intBitsToFloat((n - half_n + 127) << 23);
    y = mix(y, intBitsToFloat(ivec4(INF_BITS)), greaterThan(x, vec4(88.7228317)));
    return own_ends(y, x, 2.98023224e-08);
}

// log(u) of u = 1 + x as tosa_log() makes it, plus what u was rounded by: u = 2^n (1 + f).
vec4 own_log1p(vec4 x) {
    precise vec4 u = x + 1.0;
    precise vec4 lost_of_x = x - (u - 1.0);
    precise vec4 lost_of_one = 1.0 - (u - x);
    precise vec4 lost = mix(lost_of_x, lost_of_one, greaterThan(x, vec4(1.0)));
    ivec4 j = floatBitsToInt(u) - 0x3f3504f3;
    ivec4 whole = j >> 23;
    precise vec4 n = vec4(whole);
    precise vec4 f = intBitsToFloat((j & 0x007fffff) + 0x3f3504f3) - 1.0;
    f = f + lost * intBitsToFloat(clamp(127 - whole, ivec4(0), ivec4(254)) << 23);
    precise vec4 p = math_log_part(f, n);
    ivec4 bits = floatBitsToInt(x);
    ivec4 r = mix(floatBitsToInt(p), ivec4(INF_BITS), equal(bits, ivec4(INF_BITS)));
    r = mix(r, ivec4(SIGN_BIT | INF_BITS), equal(bits, ivec4(0x3f800000 | SIGN_BIT)));
    r = mix(r, ivec4(NAN_BITS), lessThan(x, vec4(-1.0)));
    return own_ends(intBitsToFloat(r), x, 2.98023224e-08);
}

// abs(x) = m 8^k, m in [1, 8); y is near 1 / cbrt(m) and c, of so few bits that its cube is exact, near cbrt(m). The
// rest is (m - c^3) / (c^2 + c d + d^2) with d near cbrt(m): so small a part that its own error does not count.
vec4 own_cbrt(vec4 x) {
    ivec4 magnitude = floatBitsToInt(x) & ABS_MASK;
    bvec4 small = lessThan(magnitude, ivec4(MIN_NORMAL));
    precise vec4 from_bits = vec4(magnitude);  // 2^149 times a subnormal number
    ivec4 bits = mix(magnitude, floatBitsToInt(from_bits) - (149 << 23), small);
    ivec4 k = ((bits >> 23) + 173) / 3 - 100;
    ivec4 m_bits = bits - (k * 3) * 0x00800000;
    precise vec4 m = intBitsToFloat(m_bits);
    precise vec4 y = intBitsToFloat(1419362816 - m_bits / 3);
    precise vec4 e = 1.0 - ((m * y) * y) * y;
    y = y * ((e * 0.298845351 + 0.324837655) * e + 1.00025094);
    e = 1.0 - ((m * y) * y) * y;
    y = y + (y * e) * 0.333333343;
    precise vec4 d = (m * y) * y;
    precise vec4 c = intBitsToFloat(floatBitsToInt(d) & -65536);
    precise vec4 rest = m - (c * c) * c;
    precise vec4 t = (d - c) * y;
    precise vec4 r = c + (rest * ((y * y) * 0.333333343)) * ((t * 0.666666687 + 1.0) * t + 1.0);
    ivec4 result = floatBitsToInt(r) + k * 0x00800000;
    result = mix(result, magnitude, greaterThanEqual(magnitude, ivec4(INF_BITS)));
    result = mix(result, magnitude, equal(magnitude, ivec4(0)));
    return own_ends(own_with_sign(intBitsToFloat(result), x), x, 0.0);
}

// x P(w), w = -log(1 - x^2): of w up to 5, of its root above.
vec4 own_erf_inv(vec4 x) {
    vec4 a = tosa_abs(x);
    bvec4 inside = lessThan(a, vec4(1.0));
    precise vec4 product = (1.0 - a) * (1.0 + a);
    precise vec4 w = -tosa_log(mix(vec4(1.0), product, inside));
    precise vec4 t = w - 2.5;
    precise vec4 p = t * -1.26570573e-10 - 8.68702887e-09;
    p = p * t + 2.61792028e-08;
    p = p * t + 4.64630318e-07;
    p = p * t - 3.48705134e-06;
    p = p * t - 4.95558879e-06;
    p = p * t + 0.000218431451;
    p = p * t - 0.00125275692;
    p = p * t - 0.00417751353;
    p = p * t + 0.246640295;
    p = p * t + 1.50140941;
    precise vec4 s = w * tosa_rsqrt(w) - 3.125;
    precise vec4 q = s * -2.76283936e-05 + 0.000122796642;
    q = q * s - 0.000121144469;
    q = q * s - 0.000312242366;
    q = q * s + 0.00127590168;
    q = q * s - 0.00252723903;
    q = q * s + 0.00379087753;
    q = q * s - 0.00529966597;
    q = q * s + 0.00704823202;
    q = q * s + 1.00371861;
    q = q * s + 2.95832014;
    p = mix(p, q, greaterThan(w, vec4(5.0)));
    precise vec4 y = x * p;
    ivec4 r = mix(floatBitsToInt(y), (floatBitsToInt(x) & SIGN_BIT) | INF_BITS, equal(a, vec4(1.0)));
    r = mix(r, ivec4(NAN_BITS), greaterThan(a, vec4(1.0)));
    return own_ends(intBitsToFloat(r), x, 0.0);
}

// sin(pi f) / (pi f), abs(f) <= 1/2.
vec4 own_sinc(vec4 f) {
    precise vec4 z = f * f;
    precise vec4 p = z * -0.00222796993 + 0.0261114277;
    p = p * z - 0.190746516;
    p = p * z + 0.811742067;
    p = p * z - 1.64493406;
    p = p * z + 1.0;
    return p;
}
// The distance to the nearest integer, of 0 and above; 0 from 2^23 on.
vec4 own_from_integer(vec4 a) {
    vec4 s = mix(a, vec4(0.0), greaterThanEqual(a, vec4(8388608.0)));
    precise vec4 up = s + 0.49999997;  // the number below 1/2, whose own sum stays below 1
    precise vec4 f = s - vec4(ivec4(up));
    return f;
}

void own_multiply(inout vec4 product, vec4 factor, bvec4 taken) {
    precise vec4 larger = product * factor;
    product = mix(product, larger, taken);
}

// Of y >= 1/2: t P(t) around 1 and 2, from 2.5 on log((y - 1) (y - 2) ...) more, from 8 on Stirling's formula. Below
// 1/2 log(pi / abs(sin(pi x))) - lgamma(1 - x).
vec4 own_lgamma(vec4 x) {
    bvec4 mirrored = lessThan(x, vec4(0.5));
    precise vec4 back = 1.0 - x;
    precise vec4 y = mix(x, back, mirrored);

    bvec4 far = greaterThanEqual(y, vec4(8.0));
    vec4 near_y = mix(y, vec4(1.0), far);
    precise vec4 from = near_y - 1.5;
    vec4 steps = vec4(ivec4(max(from, vec4(0.0))));
    vec4 product = vec4(1.0);
    own_multiply(product, near_y - 1.0, greaterThan(steps, vec4(0.5)));
    own_multiply(product, near_y - 2.0, greaterThan(steps, vec4(1.5)));
    own_multiply(product, near_y - 3.0, greaterThan(steps, vec4(2.5)));
    own_multiply(product, near_y - 4.0, greaterThan(steps, vec4(3.5)));
    own_multiply(product, near_y - 5.0, greaterThan(steps, vec4(4.5)));
    own_multiply(product, near_y - 6.0, greaterThan(steps, vec4(5.5)));
    vec4 logarithm = tosa_log(mix(product, y, far));

    bvec4 around_one = lessThan(near_y, vec4(1.5));
    precise vec4 t = (near_y - steps) - mix(vec4(2.0), vec4(1.0), around_one);
    precise vec4 p = t * -0.158503309 + 0.178793222;
    p = p * t - 0.0640971586;
    p = p * t + 0.0659125969;
    p = p * t - 0.115268812;
    p = p * t + 0.130961373;
    p = p * t - 0.143759072;
    p = p * t + 0.169146389;
    p = p * t - 0.207398564;
    p = p * t + 0.270593971;
    p = p * t - 0.400685191;
    p = p * t + 0.82246691;
    p = p * t - 0.577215672;
    precise vec4 q = t * 6.41184379e-05 - 0.000302326371;
    q = q * t + 0.000533476006;
    q = q * t - 0.00115863769;
    q = q * t + 0.0028859789;
    q = q * t - 0.00739126187;
    q = q * t + 0.0205811039;
    q = q * t - 0.0673519298;
    q = q * t + 0.322467029;
    q = q * t + 0.422784328;
    precise vec4 near = t * mix(q, p, around_one) + logarithm;

    precise vec4 over = tosa_reciprocal(y);
    precise vec4 z = over * over;
    precise vec4 s = z * 0.000813493971 - 0.00277835201;
    s = s * z + 0.0833333358;
    precise vec4 stirling = (y - 0.5) * (logarithm - 1.0) + (s * over + 0.418938547);
    precise vec4 r = mix(near, stirling, far);

    vec4 f = own_from_integer(tosa_abs(x));
    precise vec4 share = tosa_abs(f) * own_sinc(f);
    precise vec4 reflected = -tosa_log(share) - r;
    ivec4 bits = floatBitsToInt(mix(r, reflected, mirrored));
    bits = mix(bits, ivec4(INF_BITS), equal(mix(vec4(1.0), f, mirrored), vec4(0.0)));
    bits = mix(bits, ivec4(INF_BITS), equal(floatBitsToInt(x) & ABS_MASK, ivec4(INF_BITS)));
    return own_ends(intBitsToFloat(bits), x, 0.0);
}

// The fraction and 1 / place, where it is taken.
void own_add_reciprocal(inout vec4 numerator, inout vec4 denominator, vec4 place, bvec4 taken) {
    precise vec4 sum = numerator * place + denominator;
    precise vec4 product = denominator * place;
    numerator = mix(numerator, sum, taken);
    denominator = mix(denominator, product, taken);
}

// Of y in [1, 2] (y - root) P(y - 1.5), below 8 the sum of 1 / (y - 1) ... more, of which a fraction is made, above 8
// the asymptotic series. Of x in (0, 1) that of x + 1 less 1 / x; of negative x that of 1 - x less pi / tan(pi x).
vec4 own_digamma(vec4 x) {
    bvec4 mirrored = lessThan(x, vec4(0.0));
    precise vec4 back = 1.0 - x;
    precise vec4 lost = (1.0 - back) - x;
    precise vec4 y = mix(x, back, mirrored);
    bvec4 below = lessThan(y, vec4(1.0));
    bvec4 far = greaterThanEqual(y, vec4(8.0));
    vec4 near_y = mix(y, vec4(1.0), far);
    vec4 steps = vec4(ivec4(max(near_y - 1.0, vec4(0.0))));
    vec4 numerator = vec4(0.0), denominator = vec4(1.0);
    own_add_reciprocal(numerator, denominator, near_y - 1.0, greaterThan(steps, vec4(0.5)));
    own_add_reciprocal(numerator, denominator, near_y - 2.0, greaterThan(steps, vec4(1.5)));
    own_add_reciprocal(numerator, denominator, near_y - 3.0, greaterThan(steps, vec4(2.5)));
    own_add_reciprocal(numerator, denominator, near_y - 4.0, greaterThan(steps, vec4(3.5)));
    own_add_reciprocal(numerator, denominator, near_y - 5.0, greaterThan(steps, vec4(4.5)));
    own_add_reciprocal(numerator, denominator, near_y - 6.0, greaterThan(steps, vec4(5.5)));
    numerator = mix(numerator, vec4(-1.0), below);
    denominator = mix(mix(denominator, y, below), y, far);
    precise vec4 over = tosa_reciprocal(denominator);

    precise vec4 low = near_y - steps;  // in [1, 2), or below 1 for that plus 1
    precise vec4 t = low - mix(vec4(1.5), vec4(0.5), below);
    precise vec4 p = t * 0.0100193778 - 0.0163618829;
    p = p * t + 0.0177148189;
    p = p * t - 0.0257935449;
    p = p * t + 0.0407023355;
    p = p * t - 0.0620547161;
    p = p * t + 0.0950005278;
    p = p * t - 0.148398951;
    p = p * t + 0.240541846;
    p = p * t - 0.423627496;
    p = p * t + 0.951055884;
    precise vec4 from_root = low - mix(vec4(1.46163213), vec4(0.46163213), below);
    from_root = from_root + (mix(vec4(0.0), lost, mirrored) - 1.24381501e-08);
    precise vec4 near = from_root * p + numerator * over;

    precise vec4 z = over * over;
    precise vec4 s = z * 0.00391239813 - 0.00833354145;
    s = s * z + 0.0833333358;
    precise vec4 series = tosa_log(y) - (s * z + over * 0.5);
    precise vec4 r = mix(near, series, far);

    vec4 f = own_from_integer(tosa_abs(x));
    precise vec4 to_half = 0.5 - tosa_abs(f);
    precise vec4 cosine = (to_half * own_sinc(to_half)) * 3.14159274;
    precise vec4 cotangent = cosine * tosa_reciprocal(f * own_sinc(f));
    precise vec4 reflected = r + cotangent;  // of abs(x), so that its sign has changed
    ivec4 bits = floatBitsToInt(mix(r, reflected, mirrored));
    bits = mix(bits, ivec4(NAN_BITS), equal(f, mix(vec4(2.0), vec4(0.0), lessThanEqual(x, vec4(0.0)))));
    bits = mix(bits, ivec4(INF_BITS), equal(floatBitsToInt(x), ivec4(INF_BITS)));
    return own_ends(intBitsToFloat(bits), x, 0.0);
}

// atan(q), q the smaller magnitude by the larger one or, above tan(pi / 8), turned by pi / 4; then k quarters of pi.
vec4 own_atan2(vec4 y, vec4 x) {
    ivec4 bits_y = floatBitsToInt(y) & ABS_MASK, bits_x = floatBitsToInt(x) & ABS_MASK;
    ivec4 small_bits = min(bits_y, bits_x), large_bits = max(bits_y, bits_x);
    // Both by a power of two, so that neither the larger one nor its reciprocal is subnormal.
    bvec4 tiny = lessThan(large_bits, ivec4(0x20000000)), huge = greaterThan(large_bits, ivec4(0x60000000));
    vec4 scale = mix(mix(vec4(1.0), vec4(1.8446744e+19), tiny), vec4(5.42101086e-20), huge);
    precise vec4 small = intBitsToFloat(small_bits) * scale;
    precise vec4 large = intBitsToFloat(large_bits) * scale;
    precise vec4 small_subnormal = vec4(small_bits) * 2.58493941e-26;  // 2^(64 - 149)
    precise vec4 large_subnormal = vec4(large_bits) * 2.58493941e-26;
    ivec4 tiny_mask = ivec4(tiny);
    small = mix(small, small_subnormal, equal(tiny_mask & ivec4(lessThan(small_bits, ivec4(MIN_NORMAL))), ivec4(1)));
    large = mix(large, large_subnormal, equal(tiny_mask & ivec4(lessThan(large_bits, ivec4(MIN_NORMAL))), ivec4(1)));
    large = mix(large, vec4(1.0), equal(large_bits, ivec4(0)));

    precise vec4 edge = large * 0.414213568;
    bvec4 turned = greaterThan(small, edge);
    precise vec4 difference = small - large;
    precise vec4 sum = small + large;
    precise vec4 q = mix(small, difference, turned) * tosa_reciprocal(mix(large, sum, turned));
    q = mix(q, vec4(0.0), equal(small_bits, ivec4(INF_BITS)));  // both infinite
    precise vec4 z = q * q;
    precise vec4 p = z * -0.0605947487 + 0.105855137;
    p = p * z - 0.142422408;
    p = p * z + 0.199983895;
    p = p * z - 0.333333135;
    precise vec4 angle = q + q * (z * p);

    ivec4 k = mix(ivec4(0), ivec4(1), turned);
    k = mix(k, ivec4(1), equal(small_bits, ivec4(INF_BITS)));
    bvec4 steep = greaterThan(bits_y, bits_x), left = lessThan(floatBitsToInt(x), ivec4(0));
    k = mix(k, 2 - k, steep);
    k = mix(k, 4 - k, left);
    precise vec4 quarters = vec4(k);
    angle = mix(angle, -angle, notEqual(ivec4(steep), ivec4(left)));
    precise vec4 r = quarters * 0.785398006 + (angle + quarters * 1.56958237e-07);
    r = mix(own_with_sign(r, y), intBitsToFloat(ivec4(NAN_BITS)), math_is_nan(x));
    return own_ends(r, y, 0.0);
}
