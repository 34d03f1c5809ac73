#include "base/numerics/shader_math.hpp"

#include "base/numerics/float_bits.hpp"

#include <algorithm>

// A line here is a line of shaders/lib/math.glsl; explanations and the origin of the constants stand there. Integers
// are unsigned where GLSL's wrap around. Needs -ffp-contract=off and no -ffast-math.

namespace tosavk::shader_math {

using namespace float_bits;

namespace {

constexpr U top12_mask = 0xfffff000, nan_first = 0x7fffff, nan_last = 0 - nan_first;

float top12(float x) { return from_bits(bits_of(x) & top12_mask); }
I order(float x, U nan_end) {
    const U bits = bits_of(x);
    return static_cast<I>((bits ^ (bits & sign_bit ? abs_mask : 0)) + nan_end);
}
U shift_right(U a, int s) { return static_cast<U>(static_cast<I>(a) >> s); }

}  // namespace

float max(float a, float b) { return order(a, nan_last) > order(b, nan_last) ? a : b; }
float min(float a, float b) { return order(a, nan_first) < order(b, nan_first) ? a : b; }
float max_ignore(float a, float b) { return order(a, nan_first) > order(b, nan_first) ? a : b; }
float min_ignore(float a, float b) { return order(a, nan_last) < order(b, nan_last) ? a : b; }

float clamp(float x, float lo, float hi) { return min(max(x, lo), hi); }
float clamp_ignore(float x, float lo, float hi) { return min(max_ignore(x, lo), hi); }

float abs(float x) { return from_bits(bits_of(x) & abs_mask); }
float negate(float x) { return from_bits(bits_of(x) ^ sign_bit); }

float floor(float x) {
    const bool whole = (bits_of(x) & abs_mask) >= 0x4b000000;
    const float s = whole ? 0.0f : x;
    float t = static_cast<float>(static_cast<I>(s));
    t = t > s ? t - 1.0f : t;
    return whole ? x : from_bits(bits_of(t) | (bits_of(x) & sign_bit));
}

float ceil(float x) {
    const bool whole = (bits_of(x) & abs_mask) >= 0x4b000000;
    const float s = whole ? 0.0f : x;
    float t = static_cast<float>(static_cast<I>(s));
    t = t < s ? t + 1.0f : t;
    return whole ? x : from_bits(bits_of(t) | (bits_of(x) & sign_bit));
}

I float_to_int(float x, I lo, I hi) {
    const U bits = bits_of(x), a = bits & abs_mask;
    const bool outside = a >= 0x4f000000, negative = (bits & sign_bit) != 0;
    const float s = outside ? 0.0f : from_bits(a);
    I i = static_cast<I>(s);
    const float rest = s - static_cast<float>(i);
    const float limit = (i & 1) == 1 ? 0.49999997f : 0.5f;
    i += rest > limit ? 1 : 0;
    i = std::clamp(negative ? -i : i, lo, hi);
    i = outside ? (negative ? lo : hi) : i;
    return a > inf_bits ? 0 : i;
}

float int_to_float(I i) { return static_cast<float>(i); }

float float_bits::expm1_part(float x, float bias, U& k) {
    const float t = x * 1.44269502f + (12582912.0f + bias);
    k = bits_of(t);
    const float n = t - (12582912.0f + bias);
    const float r = (x - n * 0.693145752f) - n * 1.42860677e-06f;
    float p = r * 0.00138395827f + 0.00836798921f;
    p = p * r + 0.0416677818f;
    p = p * r + 0.166665286f;
    p = p * r + 0.49999997f;
    return r + (r * r) * p;
}

float exp(float x) {
    U k;
    const float p = expm1_part(x, 254.0f, k);
    const U h = shift_right(k, 1);
    float y = (p + 1.0f) * from_bits(h << 23);
    y = y * from_bits((k - h) << 23);
    y = x < -104.0f ? 0.0f : y;
    y = x > 88.7228317f ? from_bits(inf_bits) : y;
    return nan(x) ? from_bits(nan_bits) : y;
}

float over(float s) {
    float q = s * -0.221836731f + 1.33102095f;
    q = q * s - 2.93933916f;
    q = q * s + 2.82842183f;
    const float e = 1.0f - s * q;
    q = q + q * (e + e * e);
    const U y = bits_of(q), divisor = (bits_of(s) & 0x007fffff) | 0x00800000;
    const I rest = static_cast<I>((0 - divisor * ((y & 0x007fffff) | 0x00800000)) * 2);
    return from_bits(y + (rest > static_cast<I>(divisor) ? 1u : 0u) - (rest < -static_cast<I>(divisor) ? 1u : 0u));
}

float sigmoid(float x) {
    const U minus = bits_of(x) | sign_bit;
    const float t = from_bits(std::min(minus, 0xc2d00000u)) * 1.44269502f;
    const float k = t + (12582912.0f + 191.0f);
    const float f = t - (k - (12582912.0f + 191.0f));
    const float f2 = f * f;
    float p = (f * 7.19618418e-23f + 5.24296951e-22f) * f2 + (f * 3.00904033e-21f + 1.30224829e-20f);
    p = p * f2 + (f * 3.75755744e-20f + 5.42101086e-20f);
    const float e = p * from_bits(bits_of(k) << 23);
    const float q = over(e + 1.0f);
    const float y = (bits_of(x) & sign_bit) != 0 ? e * q : q;
    return minus > (inf_bits | sign_bit) ? from_bits(nan_bits) : y;
}

float tanh(float x) {
    const U bits = bits_of(x), a = bits & abs_mask;
    U k;
    const float p = expm1_part(from_bits(bits | sign_bit) * 2.0f, 127.0f, k);
    const float two_n = from_bits(k << 23);
    const float t = p * two_n + (two_n - 1.0f);
    const float half_t = t * -0.5f;
    const float w = t * over(t + 2.0f);
    U y = bits_of(half_t - half_t * w);
    y = a > 0x41200000 ? one_bits : y;
    y = a > inf_bits ? nan_bits : y;
    return from_bits((y & abs_mask) | (bits & sign_bit));
}

float reciprocal(float x) {
    const U bits = bits_of(x), a = bits & abs_mask;
    float scale = a < min_normal ? 16777216.0f : 1.0f;
    scale = a > 0x7e000000 ? 5.96046448e-08f : scale;
    const float xs = x * scale;
    const U b = bits_of(xs);
    const U y = bits_of(over(from_bits((b & 0x007fffff) | one_bits))) + 0x3f800000 - (b & inf_bits);
    U s = bits_of(from_bits(y) * scale);
    s = a <= 0x00200000 ? inf_bits : s;
    s = a == inf_bits ? 0 : s;
    s = a > inf_bits ? nan_bits : s;
    return from_bits(s | (bits & sign_bit));
}

float rsqrt(float x) {
    const U bits = bits_of(x);
    const bool small = (bits & abs_mask) < min_normal;
    const U b = bits_of(small ? x * 16777216.0f : x);
    const U k = shift_right(b - 0x3f800000, 24);
    const U m_bits = b - (k << 24);
    const float m = from_bits(m_bits);
    float y = from_bits(1597374464u - shift_right(m_bits, 1));
    y = y * (1.51156831f - ((m * y) * y) * 0.51082027f);
    y = top12(y);
    const float square = y * y;
    const float m_high = top12(m);
    const float s_high = top12(square);
    const float e = (1.0f - m_high * s_high) - (m_high * (square - s_high) + (m - m_high) * square);
    y = y + y * (e * (e * 0.375f + 0.5f));
    U r = bits_of(y) + (((small ? 12u : 0u) - k) << 23);
    r = bits == inf_bits ? 0 : r;
    r = bits > inf_bits ? nan_bits : r;
    r = (b & abs_mask) == 0 ? (bits & sign_bit) | inf_bits : r;
    return from_bits(r);
}

float float_bits::log_part(float f, float n) {
    const float f2 = f * f;
    float p = f * -0.0728602111f + 0.1256589f;
    p = p * f - 0.13212356f;
    p = p * f + 0.142389074f;
    p = p * f - 0.166212067f;
    p = p * f + 0.1999899f;
    p = p * f - 0.250008404f;
    p = p * f + 0.333333731f;
    p = (p * f) * f2 + n * 1.42860677e-06f;
    p = (f + (p - f2 * 0.5f)) + n * 0.693145752f;
    return p;
}

float log(float x) {
    const U bits = bits_of(x);
    const bool small = (bits & abs_mask) < min_normal;
    const U b = bits_of(small ? x * 8388608.0f : x);
    const U j = b - 0x3f3504f3;
    const float n = static_cast<float>((static_cast<I>(j) >> 23) - (small ? 23 : 0));
    const float f = from_bits((j & 0x007fffff) + 0x3f3504f3) - 1.0f;
    U r = bits_of(log_part(f, n));
    r = bits == inf_bits ? inf_bits : r;
    r = bits > inf_bits ? nan_bits : r;
    r = (b & abs_mask) == 0 ? sign_bit | inf_bits : r;
    return from_bits(r);
}

float pow(float a, float b) {
    const float t = b * log(abs(a));
    U r = bits_of(exp(t));
    const float c = (bits_of(b) & abs_mask) >= 0x4b800000 ? 0.0f : b;
    const I i = static_cast<I>(c);
    const U with_sign = static_cast<float>(i) == c ? r ^ (static_cast<U>(i) << 31) : nan_bits;
    r = a < 0.0f ? with_sign : r;
    r = nan(b) ? nan_bits : r;
    return from_bits(b == 0.0f ? one_bits : r);
}

float erf(float x) {
    const U bits = bits_of(x);
    const U magnitude = bits & abs_mask;
    const float a = from_bits(magnitude);
    const float z = a * a;
    float p = z * -0.000585257367f + 0.00496513583f;
    p = p * z - 0.0267467145f;
    p = p * z + 0.112812355f;
    p = p * z - 0.376124322f;
    p = p * z + 0.128379121f;
    const float a16 = a * 16.0f;
    p = (a16 + a16 * p) * 0.0625f;
    const float t = a - 2.40625f;
    float q = t * 1.39456449e-06f - 7.55878204e-07f;
    q = q * t - 1.91339113e-05f;
    q = q * t + 3.59680889e-05f;
    q = q * t + 6.32338561e-05f;
    q = q * t - 0.00033603367f;
    q = q * t + 0.000503154064f;
    q = q * t + 0.00027385389f;
    q = q * t - 0.00307273655f;
    q = q * t + 0.00777128339f;
    q = q * t - 0.0118724396f;
    q = q * t + 0.0121696638f;
    q = q * t - 0.00830265693f;
    q = q * t + 0.00345037133f;
    q = q * t + 0.999333382f;
    U r = bits_of(a < 0.95f ? p : q);
    r = a > 3.8325f ? one_bits : r;
    const float rest = static_cast<float>(magnitude) * 0.128379167f + 0.5f;
    r = magnitude < min_normal ? magnitude + static_cast<U>(rest) : r;
    r = nan(x) ? nan_bits : r;
    return from_bits(r | (bits & sign_bit));
}

namespace {

float sin_polynomial(float r) {
    const float z = r * r;
    float p = z * 2.60610295e-06f - 0.000198097783f;
    p = p * z + 0.00833306927f;
    p = p * z - 0.166666597f;
    return r + (r * z) * p;
}

float sin_part(float a, float n) {
    return sin_polynomial(((a - n * 3.140625f) - n * 0.000967502594f) - n * 1.50995803e-07f);
}

constexpr U sin_far = 0x46000000;
float sin_argument(U a) { return a >= sin_far ? 0.0f : from_bits(a); }

U sin_far_bits(U a, U ahead, U near) {
    if (a < sin_far) return near;
    constexpr U over_pi[] = {0, 0x517cc1b7, 0x27220a94, 0xfe13abe8, 0xfa9a6ee0, 0x6db14acc, 0x9e21c820};
    const U place = (a >> 23) - 119, word = std::min<U>(place >> 5, 4), shift = place & 31, right = 31 - shift;
    const U high = (over_pi[word] << shift) | ((over_pi[word + 1] >> 1) >> right);
    const U low = (over_pi[word + 1] << shift) | ((over_pi[word + 2] >> 1) >> right);
    const U significand = (a & 0x007fffff) | 0x00800000;
    const U turns = significand * high + static_cast<U>((std::uint64_t{significand} * low) >> 32) + ahead;
    const U odd = (turns + 0x40000000) & sign_bit;
    const I r = static_cast<I>(turns ^ odd);
    const float angle = static_cast<float>(r >> 12) * 5.99211262e-06f + static_cast<float>(r & 4095) * 1.46291812e-09f;
    return bits_of(sin_polynomial(angle)) ^ odd;
}

}  // namespace

float sin(float x) {
    const U bits = bits_of(x), magnitude = bits & abs_mask;
    const float a = sin_argument(magnitude);
    const float t = a * 0.318309873f + 12582912.0f;
    const float n = t - 12582912.0f;
    const U near = bits_of(sin_part(a, n)) ^ (bits_of(t) << 31);
    const U r = sin_far_bits(magnitude, 0, near) ^ (bits & sign_bit);
    return from_bits(magnitude >= inf_bits ? nan_bits : r);
}

float cos(float x) {
    const U magnitude = bits_of(x) & abs_mask;
    const float a = sin_argument(magnitude);
    const float t = (a * 0.318309873f - 0.5f) + 12582912.0f;
    const float n = (t - 12582912.0f) + 0.5f;
    const U near = bits_of(sin_part(a, n)) ^ ((bits_of(t) << 31) ^ sign_bit);
    const U r = sin_far_bits(magnitude, 0x40000000, near);
    return from_bits(magnitude >= inf_bits ? nan_bits : r);
}

}  // namespace tosavk::shader_math
