#include "base/numerics/float_bits.hpp"
#include "base/numerics/shader_math.hpp"

#include <algorithm>

// A line here is a line of shaders/lib/functions.glsl, as shader_math.cpp is of math.glsl.

namespace tosavk::shader_math {

using namespace float_bits;

namespace {

float with_sign(float magnitude, float sign) {
    return from_bits((bits_of(magnitude) & abs_mask) | (bits_of(sign) & sign_bit));
}

float ends(float result, float x, float least) {
    const float r = (bits_of(x) & abs_mask) < bits_of(least) ? x : result;
    return nan(x) ? from_bits(nan_bits) : r;
}

float infinite() { return from_bits(inf_bits); }

/// 2^n, n from -127 (which gives 0) to 127.
float power_of_two(I n) { return from_bits(static_cast<U>(n + 127) << 23); }

}  // namespace

float expm1(float x) {
    float a = x < -18.0f ? -18.0f : x;
    a = a > 89.0f ? 89.0f : a;
    U k;
    const float p = expm1_part(a, 254.0f, k);
    const I n = static_cast<I>(k & 0x1ff) - 254;
    const float rest = 1.0f - power_of_two(std::max(-n, -127));
    const I half_n = n >> 1;
    float y = (p + rest) * power_of_two(half_n);
    y = y * power_of_two(n - half_n);
    y = x > 88.7228317f ? infinite() : y;
    return ends(y, x, 2.98023224e-08f);
}

float log1p(float x) {
    const float u = x + 1.0f;
    const float lost = x > 1.0f ? 1.0f - (u - x) : x - (u - 1.0f);
    const U j = bits_of(u) - 0x3f3504f3;
    const I whole = static_cast<I>(j) >> 23;
    const float n = static_cast<float>(whole);
    float f = from_bits((j & 0x007fffff) + 0x3f3504f3) - 1.0f;
    f = f + lost * from_bits(static_cast<U>(std::clamp(127 - whole, 0, 254)) << 23);
    const U bits = bits_of(x);
    U r = bits == inf_bits ? inf_bits : bits_of(log_part(f, n));
    r = bits == (one_bits | sign_bit) ? sign_bit | inf_bits : r;
    r = x < -1.0f ? nan_bits : r;
    return ends(from_bits(r), x, 2.98023224e-08f);
}

float cbrt(float x) {
    const U magnitude = bits_of(x) & abs_mask;
    const bool small = magnitude < min_normal;
    const U bits = small ? bits_of(static_cast<float>(magnitude)) - (149u << 23) : magnitude;
    const I k = ((static_cast<I>(bits) >> 23) + 173) / 3 - 100;
    const U m_bits = bits - static_cast<U>(k * 3) * 0x00800000u;
    const float m = from_bits(m_bits);
    float y = from_bits(static_cast<U>(1419362816 - static_cast<I>(m_bits) / 3));
    float e = 1.0f - ((m * y) * y) * y;
    y = y * ((e * 0.298845351f + 0.324837655f) * e + 1.00025094f);
    e = 1.0f - ((m * y) * y) * y;
    y = y + (y * e) * 0.333333343f;
    const float d = (m * y) * y;
    const float c = from_bits(bits_of(d) & 0xffff0000u);
    const float rest = m - (c * c) * c;
    const float t = (d - c) * y;
    const float r = c + (rest * ((y * y) * 0.333333343f)) * ((t * 0.666666687f + 1.0f) * t + 1.0f);
    U result = bits_of(r) + static_cast<U>(k) * 0x00800000u;
    result = magnitude >= inf_bits ? magnitude : result;
    result = magnitude == 0 ? magnitude : result;
    return ends(with_sign(from_bits(result), x), x, 0.0f);
}

float erf_inv(float x) {
    const float a = abs(x);
    const float product = (1.0f - a) * (1.0f + a);
    const float w = -log(a < 1.0f ? product : 1.0f);
    const float t = w - 2.5f;
    float p = t * -1.26570573e-10f - 8.68702887e-09f;
    p = p * t + 2.61792028e-08f;
    p = p * t + 4.64630318e-07f;
    p = p * t - 3.48705134e-06f;
    p = p * t - 4.95558879e-06f;
    p = p * t + 0.000218431451f;
    p = p * t - 0.00125275692f;
    p = p * t - 0.00417751353f;
    p = p * t + 0.246640295f;
    p = p * t + 1.50140941f;
    const float s = w * rsqrt(w) - 3.125f;
    float q = s * -2.76283936e-05f + 0.000122796642f;
    q = q * s - 0.000121144469f;
    q = q * s - 0.000312242366f;
    q = q * s + 0.00127590168f;
    q = q * s - 0.00252723903f;
    q = q * s + 0.00379087753f;
    q = q * s - 0.00529966597f;
    q = q * s + 0.00704823202f;
    q = q * s + 1.00371861f;
    q = q * s + 2.95832014f;
    p = w > 5.0f ? q : p;
    const float y = x * p;
    U r = a == 1.0f ? (bits_of(x) & sign_bit) | inf_bits : bits_of(y);
    r = a > 1.0f ? nan_bits : r;
    return ends(from_bits(r), x, 0.0f);
}

namespace {

float sinc(float f) {
    const float z = f * f;
    float p = z * -0.00222796993f + 0.0261114277f;
    p = p * z - 0.190746516f;
    p = p * z + 0.811742067f;
    p = p * z - 1.64493406f;
    p = p * z + 1.0f;
    return p;
}

float from_integer(float a) {
    const float s = a < 8388608.0f ? a : 0.0f;
    return s - static_cast<float>(static_cast<I>(s + 0.49999997f));
}

/// The integer below x, for x from 0 on; 0 for others and NaN.
float whole_of(float x) { return x > 0.0f ? static_cast<float>(static_cast<I>(x)) : 0.0f; }

}  // namespace

float lgamma(float x) {
    const bool mirrored = x < 0.5f;
    const float y = mirrored ? 1.0f - x : x;

    const bool far = y >= 8.0f;
    const float near_y = far ? 1.0f : y;
    const float steps = whole_of(near_y - 1.5f);
    float product = 1.0f;
    for (int k = 1; k <= 6; ++k)
        product = steps > static_cast<float>(k) - 0.5f ? product * (near_y - static_cast<float>(k)) : product;
    const float logarithm = log(far ? y : product);

    const bool around_one = near_y < 1.5f;
    const float t = (near_y - steps) - (around_one ? 1.0f : 2.0f);
    float p = t * -0.158503309f + 0.178793222f;
    p = p * t - 0.0640971586f;
    p = p * t + 0.0659125969f;
    p = p * t - 0.115268812f;
    p = p * t + 0.130961373f;
    p = p * t - 0.143759072f;
    p = p * t + 0.169146389f;
    p = p * t - 0.207398564f;
    p = p * t + 0.270593971f;
    p = p * t - 0.400685191f;
    p = p * t + 0.82246691f;
    p = p * t - 0.577215672f;
    float q = t * 6.41184379e-05f - 0.000302326371f;
    q = q * t + 0.000533476006f;
    q = q * t - 0.00115863769f;
    q = q * t + 0.0028859789f;
    q = q * t - 0.00739126187f;
    q = q * t + 0.0205811039f;
    q = q * t - 0.0673519298f;
    q = q * t + 0.322467029f;
    q = q * t + 0.422784328f;
    const float near = t * (around_one ? p : q) + logarithm;

    const float over_y = reciprocal(y);
    const float z = over_y * over_y;
    float s = z * 0.000813493971f - 0.00277835201f;
    s = s * z + 0.0833333358f;
    const float stirling = (y - 0.5f) * (logarithm - 1.0f) + (s * over_y + 0.418938547f);
    const float r = far ? stirling : near;

    const float f = from_integer(abs(x));
    const float share = abs(f) * sinc(f);
    const float reflected = -log(share) - r;
    U bits = bits_of(mirrored ? reflected : r);
    bits = (mirrored ? f : 1.0f) == 0.0f ? inf_bits : bits;
    bits = (bits_of(x) & abs_mask) == inf_bits ? inf_bits : bits;
    return ends(from_bits(bits), x, 0.0f);
}

float digamma(float x) {
    const bool mirrored = x < 0.0f;
    const float back = 1.0f - x;
    const float lost = (1.0f - back) - x;
    const float y = mirrored ? back : x;
    const bool below = y < 1.0f;
    const bool far = y >= 8.0f;
    const float near_y = far ? 1.0f : y;
    const float steps = whole_of(near_y - 1.0f);
    float numerator = 0.0f, denominator = 1.0f;
    for (int k = 1; k <= 6; ++k) {
        const float place = near_y - static_cast<float>(k);
        const bool taken = steps > static_cast<float>(k) - 0.5f;
        numerator = taken ? numerator * place + denominator : numerator;
        denominator = taken ? denominator * place : denominator;
    }
    numerator = below ? -1.0f : numerator;
    denominator = below || far ? y : denominator;
    const float over_it = reciprocal(denominator);

    const float low = near_y - steps;
    const float t = low - (below ? 0.5f : 1.5f);
    float p = t * 0.0100193778f - 0.0163618829f;
    p = p * t + 0.0177148189f;
    p = p * t - 0.0257935449f;
    p = p * t + 0.0407023355f;
    p = p * t - 0.0620547161f;
    p = p * t + 0.0950005278f;
    p = p * t - 0.148398951f;
    p = p * t + 0.240541846f;
    p = p * t - 0.423627496f;
    p = p * t + 0.951055884f;
    float from_root = low - (below ? 0.46163213f : 1.46163213f);
    from_root = from_root + ((mirrored ? lost : 0.0f) - 1.24381501e-08f);
    const float near = from_root * p + numerator * over_it;

    const float z = over_it * over_it;
    float s = z * 0.00391239813f - 0.00833354145f;
    s = s * z + 0.0833333358f;
    const float series = log(y) - (s * z + over_it * 0.5f);
    const float r = far ? series : near;

    const float f = from_integer(abs(x));
    const float to_half = 0.5f - abs(f);
    const float cosine = (to_half * sinc(to_half)) * 3.14159274f;
    const float cotangent = cosine * reciprocal(f * sinc(f));
    const float reflected = r + cotangent;
    U bits = bits_of(mirrored ? reflected : r);
    bits = f == (x <= 0.0f ? 0.0f : 2.0f) ? nan_bits : bits;
    bits = bits_of(x) == inf_bits ? inf_bits : bits;
    return ends(from_bits(bits), x, 0.0f);
}

float atan2(float y, float x) {
    const U bits_y = bits_of(y) & abs_mask, bits_x = bits_of(x) & abs_mask;
    const U small_bits = std::min(bits_y, bits_x), large_bits = std::max(bits_y, bits_x);
    const bool tiny = large_bits < 0x20000000, huge = large_bits > 0x60000000;
    const float scale = huge ? 5.42101086e-20f : tiny ? 1.8446744e+19f : 1.0f;
    float small = from_bits(small_bits) * scale;
    float large = from_bits(large_bits) * scale;
    small = tiny && small_bits < min_normal ? static_cast<float>(small_bits) * 2.58493941e-26f : small;
    large = tiny && large_bits < min_normal ? static_cast<float>(large_bits) * 2.58493941e-26f : large;
    large = large_bits == 0 ? 1.0f : large;

    const bool turned = small > large * 0.414213568f;
    float q = (turned ? small - large : small) * reciprocal(turned ? small + large : large);
    q = small_bits == inf_bits ? 0.0f : q;
    const float z = q * q;
    float p = z * -0.0605947487f + 0.105855137f;
    p = p * z - 0.142422408f;
    p = p * z + 0.199983895f;
    p = p * z - 0.333333135f;
    float angle = q + q * (z * p);

    I k = turned || small_bits == inf_bits ? 1 : 0;
    const bool steep = bits_y > bits_x, left = (bits_of(x) & sign_bit) != 0;
    k = steep ? 2 - k : k;
    k = left ? 4 - k : k;
    const float quarters = static_cast<float>(k);
    angle = steep != left ? -angle : angle;
    const float r = quarters * 0.785398006f + (angle + quarters * 1.56958237e-07f);
    return ends(nan(x) ? from_bits(nan_bits) : with_sign(r, y), y, 0.0f);
}

}  // namespace tosavk::shader_math
