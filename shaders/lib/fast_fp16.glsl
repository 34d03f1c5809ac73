// fp16 by the device's own arithmetic as it is (Graph::fast_fp16): numbers are float16_t, four at a time, so that a
// device that works on pairs of them does. Its roundings, its way with subnormal numbers and NaN and its exp2, log2,
// quotients and square roots are taken as they come. Functions that are not here are those of fp32 (lib/math.glsl),
// which take fp16 too. docs/conformance.md, "Precision fast", has what this may cost.
#define half4 f16vec4

f16vec4 half_of_words(ivec2 w) {
    return f16vec4(unpackFloat2x16(uint(w.x)), unpackFloat2x16(uint(w.y)));
}
ivec2 words_of_half(f16vec4 v) { return ivec2(int(packFloat2x16(v.xy)), int(packFloat2x16(v.zw))); }
ivec4 half_bits(f16vec4 v) { return unpack_i16(words_of_half(v)); }

f16vec4 round_fp16(f16vec4 v) { return v; }
f16vec4 round_fp16(vec4 v) { return f16vec4(v); }
f16vec4 add_fp16(f16vec4 a, f16vec4 b) { return a + b; }
f16vec4 sub_fp16(f16vec4 a, f16vec4 b) { return a - b; }
f16vec4 mul_fp16(f16vec4 a, f16vec4 b) { return a * b; }

f16vec4 tosa_max(f16vec4 a, f16vec4 b) { return max(a, b); }
f16vec4 tosa_min(f16vec4 a, f16vec4 b) { return min(a, b); }
f16vec4 tosa_max_ignore(f16vec4 a, f16vec4 b) { return max(a, b); }
f16vec4 tosa_min_ignore(f16vec4 a, f16vec4 b) { return min(a, b); }
f16vec4 tosa_clamp(f16vec4 x, float lo, float hi) { return min(max(x, f16vec4(lo)), f16vec4(hi)); }
f16vec4 tosa_clamp_ignore(f16vec4 x, float lo, float hi) { return min(max(x, f16vec4(lo)), f16vec4(hi)); }
f16vec4 tosa_abs(f16vec4 x) { return abs(x); }
f16vec4 tosa_negate(f16vec4 x) { return -x; }
f16vec4 tosa_floor(f16vec4 x) { return floor(x); }
f16vec4 tosa_ceil(f16vec4 x) { return ceil(x); }
f16vec4 tosa_select(ivec4 c, f16vec4 a, f16vec4 b) { return mix(b, a, notEqual(c, ivec4(0))); }
ivec4 tosa_equal(f16vec4 a, f16vec4 b) { return ivec4(equal(a, b)); }
ivec4 tosa_greater(f16vec4 a, f16vec4 b) { return ivec4(greaterThan(a, b)); }
ivec4 tosa_greater_equal(f16vec4 a, f16vec4 b) { return ivec4(greaterThanEqual(a, b)); }

const float16_t HALF_LOG2_E = 1.44269504hf, HALF_LN_2 = 0.69314718hf;
f16vec4 tosa_exp(f16vec4 x) { return exp2(x * HALF_LOG2_E); }
f16vec4 tosa_log(f16vec4 x) { return log2(x) * HALF_LN_2; }
f16vec4 tosa_reciprocal(f16vec4 x) { return f16vec4(1.0hf) / x; }
f16vec4 tosa_rsqrt(f16vec4 x) { return inversesqrt(x); }
f16vec4 tosa_sigmoid(f16vec4 x) { return f16vec4(1.0hf) / (f16vec4(1.0hf) + exp2(x * -HALF_LOG2_E)); }
// 1 - 2 / (1 + e^2x): where that overflows it is 1.
f16vec4 tosa_tanh(f16vec4 x) {
    return f16vec4(1.0hf) - f16vec4(2.0hf) / (f16vec4(1.0hf) + exp2(x * (2.0hf * HALF_LOG2_E)));
}
// Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.25: an error of 2.5e-5.
f16vec4 tosa_erf(f16vec4 x) {
    f16vec4 a = min(abs(x), f16vec4(4.0hf)), t = f16vec4(1.0hf) / (f16vec4(1.0hf) + 0.47047hf * a);
    f16vec4 p = ((0.7478556hf * t - 0.0958798hf) * t + 0.3480242hf) * t;
    f16vec4 y = f16vec4(1.0hf) - p * exp2(a * a * -HALF_LOG2_E);
    return mix(y, -y, lessThan(x, f16vec4(0.0hf)));
}
// Powers that fit fp16 come of exponents that do not.
f16vec4 tosa_pow(f16vec4 x, f16vec4 y) { return f16vec4(exp2(vec4(y) * log2(vec4(x)))); }
f16vec4 exact_divide(f16vec4 a, f16vec4 b) { return a / b; }
f16vec4 exact_sqrt(f16vec4 x) { return sqrt(x); }

// N_half4q: N_load4q, or, where that gives fp32, the same numbers of fp16. Numbers to calculate with become fp32, where
// kernels calculate in it, as they are taken out of their words: Intel's compiler makes one instruction of that instead
// of two. Where IN<K>_EIGHTS is defined, to calculate with too: N_load2q(p), elements 2p and 2p + 1, and
// N_load8q(e, v, w), elements 8e to 8e + 7.
#ifndef X_FLOAT
#define X_FLOAT 0
#endif
#if X_FLOAT && !HALF
#define NUMBER2 vec2
#define NUMBER4 vec4
#define numbers_of_word(w) unpackHalf2x16(uint(w))
vec4 numbers_of_words(ivec2 w) { return vec4(unpackHalf2x16(uint(w.x)), unpackHalf2x16(uint(w.y))); }
#define NUMBERS_OF_WORDS(N)                                                                                         \
    vec4 N##_load4q(uint q) { return numbers_of_words(N##_pair(q)); }                                               \
    f16vec4 N##_half4q(uint q) { return half_of_words(N##_pair(q)); }
#else
#define NUMBER2 f16vec2
#define NUMBER4 f16vec4
#define numbers_of_word(w) unpackFloat2x16(uint(w))
#define numbers_of_words(w) half_of_words(w)
#define NUMBERS_OF_WORDS(N)                                                                                         \
    f16vec4 N##_load4q(uint q) { return half_of_words(N##_pair(q)); }                                               \
    HALF_QUADS(N)
#endif
#define HALF_QUADS(N) \
    f16vec4 N##_half4q(uint q) { return N##_load4q(q); }
// Where fp16 comes from: FROM_HALVES(N, binding), as FROM_1 and its sisters of lib/types.glsl, but already numbers.
// With TOSAVK_STORAGE16 a storage buffer holds float16_t, and nothing is unpacked. (Two neighbouring quads that a
// compiler makes one load or store of would be words again; | hides from it that they are neighbours.)
#define WORD_HALVES(N, B, FROM)                                                                                     \
    FROM##_2(N, B)                                                                                                  \
    float16_t N##_load1(uint i) {                                                                                   \
        f16vec2 two = unpackFloat2x16(uint(N##_word(i >> 1)));                                                      \
        return (i & 1u) == 0u ? two.x : two.y;                                                                      \
    }                                                                                                               \
    NUMBERS_OF_WORDS(N)
#define TEXELS_HALVES(N, B) WORD_HALVES(N, B, TEXELS)
// Texels of four numbers of fp16.
#define HALF_TEXELS_HALVES(N, B)                                                                                    \
    layout(set = 0, binding = B) uniform samplerBuffer N##_t;                                                       \
    f16vec4 N##_load4q(uint q) { TOUCH(B, 2, 0, q) return f16vec4(texelFetch(N##_t, int(q))); }                     \
    HALF_QUADS(N)                                                                                                   \
    float16_t N##_load1(uint i) { return N##_load4q(i >> 2)[i & 3u]; }
#define PARTS_HALVES(N, B) WORD_HALVES(N, B, PARTS)
#if TOSAVK_STORAGE16
#define BUFFER_HALVES(N, B)                                                                                         \
    layout(set = 0, binding = B) readonly buffer N##_block { float16_t N##_h[]; };                                  \
    layout(set = 0, binding = B) readonly buffer N##_block4 { f16vec4 N##_h4[]; };                                  \
    float16_t N##_load1(uint i) { TOUCH(B, 1, 0, i >> 1) return N##_h[i]; }                                         \
    f16vec4 N##_load4q(uint q) { TOUCH(B, 2, 0, q) return N##_h4[q]; }                                              \
    HALF_QUADS(N)
#define EIGHTS_fp16(N, B)                                                                                           \
    void N##_load8(uint i, out f16vec4 v, out f16vec4 w) {                                                          \
        TOUCH(B, 4, 0, i >> 3)                                                                                      \
        v = N##_h4[i >> 2];                                                                                         \
        w = N##_h4[(i >> 2) | 1u];                                                                                  \
    }                                                                                                               \
    f16vec2 N##_load2q(uint p) { TOUCH(B, 1, 0, p) return f16vec2(N##_h[2u * p], N##_h[2u * p + 1u]); }              \
    void N##_load8q(uint e, out NUMBER4 v, out NUMBER4 w) {                                                         \
        TOUCH(B, 4, 0, e)                                                                                           \
        v = NUMBER4(N##_h4[2u * e]);                                                                                \
        w = NUMBER4(N##_h4[(2u * e) | 1u]);                                                                         \
    }
#else
#define BUFFER_HALVES(N, B) WORD_HALVES(N, B, BUFFER)
#define EIGHTS_fp16(N, B)                                                                                           \
    layout(set = 0, binding = B) readonly buffer N##_block8 { ivec4 N##_w8[]; };                                    \
    void N##_load8(uint i, out f16vec4 v, out f16vec4 w) {                                                          \
        TOUCH(B, 4, 0, i >> 3)                                                                                      \
        ivec4 x = N##_w8[i >> 3];                                                                                   \
        v = half_of_words(x.xy);                                                                                    \
        w = half_of_words(x.zw);                                                                                    \
    }                                                                                                               \
    NUMBER2 N##_load2q(uint p) { return numbers_of_word(N##_word(p)); }                                             \
    void N##_load8q(uint e, out NUMBER4 v, out NUMBER4 w) {                                                         \
        TOUCH(B, 4, 0, e)                                                                                           \
        ivec4 x = N##_w8[e];                                                                                        \
        v = numbers_of_words(x.xy);                                                                                 \
        w = numbers_of_words(x.zw);                                                                                 \
    }
#endif
#define READ_fp16(N, B, FROM)                                                                                       \
    FROM##_HALVES(N, B)                                                                                             \
    f16vec4 N##_load4(uint i) { return N##_half4q(i >> 2); }                                                      \
    LOADN(N, f16vec4)

// Where it goes, likewise. Kernels give floats of 32 bits, generated code those of 16.
#define STORE_EIGHT_FLOATS(N) \
    void N##_store8(uint i, vec4 v, vec4 w) { N##_store8(i, f16vec4(v), f16vec4(w)); }
#define STORE_FOUR_FLOATS(N) \
    void N##_store4(uint i, vec4 v) { N##_store4(i, f16vec4(v)); }
#define STORE_FLOATS(N)                                                                                             \
    STORE_FOUR_FLOATS(N)                                                                                            \
    void N##_storen(uint i, uint n, vec4 v) { N##_storen(i, n, f16vec4(v)); }                                       \
    void N##_store1(uint i, float x) { N##_store1(i, float16_t(x)); }
#if TOSAVK_EIGHTS && TOSAVK_PAIRS
#define WRITE_fp16(N, B, TO)                                                                                        \
    WRITE_i16(N##_bits, B, TO)                                                                                      \
    void N##_store8(uint i, f16vec4 v, f16vec4 w) { N##_bits_store8(i, half_bits(v), half_bits(w)); }               \
    STORE_EIGHT_FLOATS(N)
#elif TOSAVK_EIGHTS
#if TOSAVK_STORAGE16
#define WRITE_fp16(N, B, TO)                                                                                        \
    layout(set = 0, binding = B) writeonly buffer N##_block { f16vec4 N##_h4[]; };                                  \
    void N##_store8(uint i, f16vec4 v, f16vec4 w) {                                                                 \
        TOUCH(B, 4, 1, i >> 3)                                                                                      \
        N##_h4[i >> 2] = v;                                                                                         \
        N##_h4[(i >> 2) | 1u] = w;                                                                                  \
    }                                                                                                               \
    STORE_EIGHT_FLOATS(N)
#else
#define WRITE_fp16(N, B, TO)                                                                                        \
    layout(set = 0, binding = B) writeonly buffer N##_block { ivec4 N##_w8[]; };                                    \
    void N##_store8(uint i, f16vec4 v, f16vec4 w) {                                                                 \
        TOUCH(B, 4, 1, i >> 3)                                                                                      \
        N##_w8[i >> 3] = ivec4(words_of_half(v), words_of_half(w));                                                 \
    }                                                                                                               \
    STORE_EIGHT_FLOATS(N)
#endif
#else
#define STORES_BITS(N, B, TO)                                                                                       \
    WRITE_i16(N##_bits, B, TO)                                                                                      \
    void N##_store4(uint i, f16vec4 v) { N##_bits_put2(i >> 2, words_of_half(v)); }                                 \
    void N##_storen(uint i, uint n, f16vec4 v) { N##_bits_storen(i, n, half_bits(v)); }                             \
    void N##_store1(uint i, float16_t x) { N##_bits_store1(i, half_bits(f16vec4(x)).x); }                           \
    STORE_FLOATS(N)
#define PART_STORES_HALVES(N, B) STORES_BITS(N, B, PART_STORES)
#if !TOSAVK_STORAGE16
#define STORES_HALVES(N, B) STORES_BITS(N, B, STORES)
#elif TOSAVK_QUAD_STORES
#define STORES_HALVES(N, B)                                                                                         \
    layout(set = 0, binding = B) writeonly buffer N##_block { f16vec4 N##_h4[]; };                                  \
    void N##_store4(uint i, f16vec4 v) { TOUCH(B, 2, 1, i >> 2) N##_h4[i >> 2] = v; }                               \
    STORE_FOUR_FLOATS(N)
#else
#define STORES_HALVES(N, B)                                                                                         \
    layout(set = 0, binding = B) writeonly buffer N##_block { float16_t N##_h[]; };                                 \
    void N##_store1(uint i, float16_t x) { TOUCH(B, 1, 1, i >> 1) N##_h[i] = x; }                                   \
    void N##_storen(uint i, uint n, f16vec4 v) {                                                                    \
        N##_store1(i, v.x);                                                                                         \
        if (n > 1u) N##_store1(i + 1u, v.y);                                                                        \
        if (n > 2u) N##_store1(i + 2u, v.z);                                                                        \
        if (n > 3u) N##_store1(i + 3u, v.w);                                                                        \
    }                                                                                                               \
    void N##_store4(uint i, f16vec4 v) { N##_storen(i, 4u, v); }                                                    \
    STORE_FLOATS(N)
#endif
#define WRITE_fp16(N, B, TO) TO##_HALVES(N, B)
#endif
