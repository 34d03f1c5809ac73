// How tensors lie in buffers, and how four consecutive elements are read and written.
//
// A tensor named N of element type t is declared by READ_t(N, binding, FROM) or WRITE_t(N, binding, TO), which make
//   N_load1(i)        element i                         int or float; i48: the low and the high word
//   N_load4(i)        elements i..i+3, i % 4 == 0       ivec4 or vec4; i48: wide4 of wide.glsl
//   N_load4q(q)       the same of i = 4q, of numbers to calculate with; of i8 also N_word4q(q), their word, and of i16
//                     N_words4q(q), their two
//   N_loadn(i, n)     elements i..i+n-1, any i; the rest repeats the last one
//   N_load8(i, v, w)  elements i..i+7, i % 8 == 0, and for i8 N_words8(i), their two words; where
//                     IN<K>_EIGHTS is defined
//   N_words16(q)      of i8, words 4q to 4q + 3; where IN<K>_SIXTEENS is defined
//   N_store4(i, v)    as N_load4
//   N_store1(i, x)    one element; safe beside other invocations that write the same word
//   N_storen(i, n, v) elements i..i+n-1, any i; likewise
//   N_store8(i, v, w) elements i..i+7, i % 8 == 0; with TOSAVK_EIGHTS, and then nothing else
// Every allocation is padded to whole quads and 16 bytes, so that the last quad may be read and written whole.
// 8- and 16-bit elements are packed little end first into 32-bit words: no device feature is needed. i4 has a byte an
// element, i48 two words, both sign-extended.

// A kernel built to be watched (src/verify/access.hpp) writes down the words of buffers and of shared memory that each
// invocation of the first workgroups touches: how many, then pairs of what was touched and where. TOSAVK_ACCESS is the
// binding of that list. TOUCH: WORDS words of a buffer, a store or not; SHARED_LOAD and SHARED_STORE: the index I, of
// elements of WORDS words of the shared array number K. Indices count in as many words.
#ifdef TOSAVK_ACCESS
layout(set = 0, binding = TOSAVK_ACCESS) buffer access_block { uint access_w[]; };
uint access_count = 0u;
uint access_base() {
    uint group = (gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint invocation = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    return group < TOSAVK_ACCESS_GROUPS ? invocation * (1u + 2u * TOSAVK_ACCESS_RECORDS) : 0xffffffffu;
}
void touched(uint what, uint word) {
    uint base = access_base();
    if (base == 0xffffffffu) return;
    if (access_count < TOSAVK_ACCESS_RECORDS) {
        access_w[base + 1u + 2u * access_count] = what;
        access_w[base + 2u + 2u * access_count] = word;
    }
    access_w[base] = ++access_count;
}
#define TOUCH(B, WORDS, STORED, I) touched(uint(B) | uint(WORDS) << 8 | uint(STORED) << 16, uint(I) * uint(WORDS));
uint touched_shared(uint k, uint words, uint stored, uint i) {
    TOUCH(k | 1u << 17, words, stored, i)
    return i;
}
#define SHARED_LOAD(K, WORDS, I) touched_shared(K, WORDS, 0u, uint(I))
#define SHARED_STORE(K, WORDS, I) touched_shared(K, WORDS, 1u, uint(I))
#else
#define TOUCH(B, WORDS, STORED, I)
#define SHARED_LOAD(K, WORDS, I) (I)
#define SHARED_STORE(K, WORDS, I) (I)
#endif

// One more product of a sum of floats, one instruction wherever a device has it.
#if TOSAVK_FMA
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((c) + (a) * (b))
#endif

ivec4 unpack_i8(int w) { return ivec4(w << 24, w << 16, w << 8, w) >> 24; }
int pack_i8(ivec4 v) { return (v.x & 255) | ((v.y & 255) << 8) | ((v.z & 255) << 16) | (v.w << 24); }
ivec4 unpack_i16(ivec2 w) { return ivec4(w.x << 16, w.x, w.y << 16, w.y) >> 16; }
ivec2 pack_i16(ivec4 v) { return ivec2((v.x & 65535) | (v.y << 16), (v.z & 65535) | (v.w << 16)); }
ivec4 truth4(ivec4 v) { return ivec4(notEqual(v, ivec4(0))); }
ivec4 unpack_bool(int w) { return truth4(unpack_i8(w)); }

// Where words come from: READ_t(N, binding, FROM), FROM being BUFFER (a storage buffer), TEXELS (a uniform texel
// buffer, whose texels are one word for 8-bit elements, two for 16-bit ones, else four) or TEXEL_PAIRS (two for 8-bit
// ones). They make
//   N_word(i)  word i;  N_pair(i)  words 2i, 2i+1 (16-bit elements);  N_quad(i)  words 4i..4i+3 (32-bit elements, i48)
#define BUFFER_1(N, B)                                                                  \
    layout(set = 0, binding = B) readonly buffer N##_block { int N##_w[]; };            \
    int N##_word(uint i) { TOUCH(B, 1, 0, i) return N##_w[i]; }
#if TOSAVK_PAIRS
// Loads of 64 bits where a driver makes one of every component.
#define BUFFER_2(N, B)                                                                  \
    BUFFER_1(N, B)                                                                      \
    layout(set = 0, binding = B) readonly buffer N##_block2 { uint64_t N##_w2[]; };     \
    ivec2 N##_pair(uint i) { TOUCH(B, 2, 0, i) uint64_t w = N##_w2[i]; return ivec2(uvec2(uint(w), uint(w >> 32u))); }
#define BUFFER_4(N, B)                                                                  \
    BUFFER_1(N, B)                                                                      \
    layout(set = 0, binding = B) readonly buffer N##_block4 { u64vec2 N##_w4[]; };      \
    ivec4 N##_quad(uint i) {                                                            \
        TOUCH(B, 4, 0, i)                                                               \
        u64vec2 w = N##_w4[i];                                                          \
        uvec2 low = uvec2(w), high = uvec2(w >> 32u);                                   \
        return ivec4(low.x, high.x, low.y, high.y);                                     \
    }
#else
#define BUFFER_2(N, B)                                                                  \
    BUFFER_1(N, B)                                                                      \
    layout(set = 0, binding = B) readonly buffer N##_block2 { ivec2 N##_w2[]; };        \
    ivec2 N##_pair(uint i) { TOUCH(B, 2, 0, i) return N##_w2[i]; }
#define BUFFER_4(N, B)                                                                  \
    BUFFER_1(N, B)                                                                      \
    layout(set = 0, binding = B) readonly buffer N##_block4 { ivec4 N##_w4[]; };        \
    ivec4 N##_quad(uint i) { TOUCH(B, 4, 0, i) return N##_w4[i]; }
#endif
// N_load8 is one load, whose loop over the lanes then serves all of its elements.
#define UNPACK_EIGHTS_i8(N)                                                             \
    void N##_load8(uint i, out ivec4 v, out ivec4 w) {                                  \
        ivec2 x = N##_words8(i);                                                        \
        v = unpack_i8(x.x);                                                             \
        w = unpack_i8(x.y);                                                             \
    }
#if TOSAVK_PAIRS
#define BUFFER_8(N, B, T, T4, EIGHT)                                                    \
    layout(set = 0, binding = B) readonly buffer N##_block8 { T N##_w8[]; };            \
    void N##_load8(uint i, out T4 v, out T4 w) {                                        \
        TOUCH(B, 8, 0, i >> 3)                                                          \
        T x = N##_w8[i >> 3];                                                           \
        EIGHT                                                                           \
    }
#define EIGHT_32(BITS)                                                                  \
    uvec4 low = uvec4(x), high = uvec4(x >> 32u);                                       \
    v = BITS(ivec4(low.x, high.x, low.y, high.y));                                      \
    w = BITS(ivec4(low.z, high.z, low.w, high.w));
#define EIGHTS_i8(N, B)                                                                 \
    layout(set = 0, binding = B) readonly buffer N##_block8 { uint64_t N##_w8[]; };     \
    ivec2 N##_words8(uint i) {                                                          \
        TOUCH(B, 2, 0, i >> 3)                                                          \
        uint64_t w = N##_w8[i >> 3];                                                    \
        return ivec2(uvec2(uint(w), uint(w >> 32u)));                                   \
    }                                                                                   \
    UNPACK_EIGHTS_i8(N)
#define EIGHTS_i32(N, B) BUFFER_8(N, B, u64vec4, ivec4, EIGHT_32(ivec4))
#define EIGHTS_fp32(N, B) BUFFER_8(N, B, u64vec4, vec4, EIGHT_32(intBitsToFloat))
#else
#define EIGHTS_i8(N, B)                                                                 \
    layout(set = 0, binding = B) readonly buffer N##_block8 { ivec2 N##_w8[]; };        \
    ivec2 N##_words8(uint i) { TOUCH(B, 2, 0, i >> 3) return N##_w8[i >> 3]; }          \
    UNPACK_EIGHTS_i8(N)
#endif
// Of 8-bit elements, four words in one load.
#define SIXTEENS_i8(N, B)                                                               \
    layout(set = 0, binding = B) readonly buffer N##_block16 { ivec4 N##_w16[]; };      \
    ivec4 N##_words16(uint q) { TOUCH(B, 4, 0, q) return N##_w16[q]; }
#define TEXELS_1(N, B)                                                                  \
    layout(set = 0, binding = B) uniform isamplerBuffer N##_t;                          \
    int N##_word(uint i) { TOUCH(B, 1, 0, i) return texelFetch(N##_t, int(i)).x; }
#define TEXELS_2(N, B)                                                                  \
    layout(set = 0, binding = B) uniform isamplerBuffer N##_t;                          \
    ivec2 N##_pair(uint i) { TOUCH(B, 2, 0, i) return texelFetch(N##_t, int(i)).xy; }                     \
    int N##_word(uint i) { ivec2 w = N##_pair(i >> 1); return (i & 1u) == 0u ? w.x : w.y; }
#define TEXELS_4(N, B)                                                                  \
    layout(set = 0, binding = B) uniform isamplerBuffer N##_t;                          \
    ivec4 N##_quad(uint i) { TOUCH(B, 4, 0, i) return texelFetch(N##_t, int(i)); }                        \
    int N##_word(uint i) {                                                              \
        ivec4 w = N##_quad(i >> 2);                                                     \
        return (i & 2u) == 0u ? ((i & 1u) == 0u ? w.x : w.y) : ((i & 1u) == 0u ? w.z : w.w); \
    }

#define TEXEL_PAIRS_1(N, B)                                                             \
    TEXELS_2(N, B)                                                                      \
    ivec2 N##_words8(uint i) { return N##_pair(i >> 3); }                               \
    UNPACK_EIGHTS_i8(N)

// A tensor larger than one binding takes several (DevicePlan::max_binding_bytes): with PARTS for FROM, the parts and
// the functions N_word, N_pair, N_quad, which pick one of them, are generated before the tensor's declaration.
#define READ_PART(N, P, B)                                                              \
    layout(set = 0, binding = B) readonly buffer N##_block##P { int N##_w##P[]; };      \
    layout(set = 0, binding = B) readonly buffer N##_quads##P { ivec4 N##_q##P[]; };
#define PARTS_1(N, B)
#define PARTS_2(N, B)
#define PARTS_4(N, B)

// Two whole quads, moved into place.
#define LOADN(N, T4)                                                                    \
    T4 N##_loadn(uint i, uint n) {                                                      \
        uint s = i & 3u;                                                                \
        T4 a = N##_load4(i - s), b = N##_load4((i + n - 1u) & ~3u);                     \
        T4 low = (s & 1u) == 0u ? a : T4(a.yzw, b.x), high = (s & 1u) == 0u ? T4(a.zw, b.xy) : T4(a.w, b.xyz); \
        T4 v = (s & 2u) == 0u ? low : high;                                             \
        v.y = n > 1u ? v.y : v.x;                                                       \
        v.z = n > 2u ? v.z : v.y;                                                       \
        v.w = n > 3u ? v.w : v.z;                                                       \
        return v;                                                                       \
    }

// The same of 8-bit elements: their bytes are moved before they are unpacked with UNPACK.
#define LOADN_8(N, UNPACK)                                                              \
    ivec4 N##_loadn(uint i, uint n) {                                                   \
        uint s = (i & 3u) * 8u, low = uint(N##_word(i >> 2)), high = uint(N##_word((i + n - 1u) >> 2)); \
        ivec4 v = UNPACK(int((low >> s) | ((high << 1) << (31u - s))));                 \
        v.y = n > 1u ? v.y : v.x;                                                       \
        v.z = n > 2u ? v.z : v.y;                                                       \
        v.w = n > 3u ? v.w : v.z;                                                       \
        return v;                                                                       \
    }

#define READ_i8(N, B, FROM)                                                             \
    FROM##_1(N, B)                                                                      \
    int N##_load1(uint i) { return bitfieldExtract(N##_word(i >> 2), int(i & 3u) * 8, 8); } \
    int N##_word4q(uint q) { return N##_word(q); }                                      \
    ivec4 N##_load4q(uint q) { return unpack_i8(N##_word(q)); }                         \
    ivec4 N##_load4(uint i) { return N##_load4q(i >> 2); }                              \
    LOADN_8(N, unpack_i8)

#define READ_i4(N, B, FROM) READ_i8(N, B, FROM)

#define READ_bool(N, B, FROM)                                                           \
    FROM##_1(N, B)                                                                      \
    int N##_load1(uint i) { return int(bitfieldExtract(N##_word(i >> 2), int(i & 3u) * 8, 8) != 0); } \
    ivec4 N##_load4(uint i) { return truth4(unpack_i8(N##_word(i >> 2))); }             \
    LOADN_8(N, unpack_bool)

#define READ_i16(N, B, FROM)                                                            \
    FROM##_2(N, B)                                                                      \
    int N##_load1(uint i) { return bitfieldExtract(N##_word(i >> 1), int(i & 1u) * 16, 16); } \
    ivec2 N##_words4q(uint q) { return N##_pair(q); }                                   \
    ivec4 N##_load4q(uint q) { return unpack_i16(N##_pair(q)); }                        \
    ivec4 N##_load4(uint i) { return N##_load4q(i >> 2); }                              \
    LOADN(N, ivec4)

#define READ_32(N, B, FROM, T1, T4, BITS)                                               \
    FROM##_4(N, B)                                                                      \
    T1 N##_load1(uint i) { return BITS(N##_word(i)); }                                  \
    T4 N##_load4q(uint q) { return BITS(N##_quad(q)); }                                 \
    T4 N##_load4(uint i) { return N##_load4q(i >> 2); }                                 \
    LOADN(N, T4)
#define READ_i32(N, B, FROM) READ_32(N, B, FROM, int, ivec4, )
#define READ_fp32(N, B, FROM) READ_32(N, B, FROM, float, vec4, intBitsToFloat)

#define READ_i48(N, B, FROM)                                                            \
    FROM##_4(N, B)                                                                      \
    ivec2 N##_load1(uint i) {                                                           \
        ivec4 w = N##_quad(i >> 1);                                                     \
        return (i & 1u) == 0u ? w.xy : w.zw;                                            \
    }                                                                                   \
    wide4 N##_load4(uint i) { return wide_unpack(N##_quad(i >> 1), N##_quad((i >> 1) + 1u)); } \
    wide4 N##_loadn(uint i, uint n) {                                                   \
        uint last = i + n - 1u;                                                         \
        return wide_quad(N##_load1(i), N##_load1(min(i + 1u, last)), N##_load1(min(i + 2u, last)), N##_load1(last)); \
    }

// Where words go: WRITE_t(N, binding, TO), TO being STORES (a storage buffer) or PART_STORES (several; generated as
// above). They make N_put(i, x) and N_mix(i, mask, x) for word i, the latter for some of its bits, or N_put4(i, x)
// for words 4i..4i+3; for 32-bit elements also N_raise(i, x): the larger of the word and x, whatever other
// invocations do. One view per buffer: a shader stores whole quads, single elements or eights, never two of them.
// Each byte has one writer, so clearing and setting its bits in two atomic steps never disturbs a neighbour.
#if TOSAVK_PAIRS
// No index is that large, but the compiler does not know it and packs the word before its loop over the lanes.
#define WHOLE(X, I, ZERO) ((I) != 0x3fffffffu ? (X) : ZERO)
#else
#define WHOLE(X, I, ZERO) (X)
#endif
#define MIX(WORD, MASK, X) atomicAnd(WORD, ~(MASK)), atomicOr(WORD, X)
#define STORES_1(N, B)                                                                  \
    layout(set = 0, binding = B) buffer N##_block { int N##_w[]; };                     \
    void N##_put(uint i, int x) { TOUCH(B, 1, 1, i) N##_w[i] = WHOLE(x, i, 0); }                          \
    void N##_mix(uint i, int mask, int x) { TOUCH(B, 1, 1, i) MIX(N##_w[i], mask, x); }
// For 16-bit elements, N_put2(i, x) of words 2i, 2i+1: one store, where that is one.
#if TOSAVK_QUAD_STORES && !TOSAVK_PAIRS
#define STORES_2(N, B)                                                                  \
    STORES_1(N, B)                                                                      \
    layout(set = 0, binding = B) buffer N##_block2 { ivec2 N##_w2[]; };                 \
    void N##_put2(uint i, ivec2 x) { TOUCH(B, 2, 1, i) N##_w2[i] = x; }
#else
#define STORES_2(N, B)                                                                  \
    STORES_1(N, B)                                                                      \
    PUT_TWO(N)
#endif
#define PUT_TWO(N)                                                                      \
    void N##_put2(uint i, ivec2 x) {                                                    \
        N##_put(2u * i, x.x);                                                           \
        N##_put(2u * i + 1u, x.y);                                                      \
    }
#define PART_STORES_1(N, B)
#define PART_STORES_2(N, B) PUT_TWO(N)
#define WRITE_PART_1(N, P, B)                                                           \
    layout(set = 0, binding = B) buffer N##_block##P { int N##_w##P[]; };
#if TOSAVK_QUAD_STORES
#if TOSAVK_PAIRS
// Two stores of 64 bits where a driver makes one of every component.
#define STORES_4(N, B)                                                                  \
    layout(set = 0, binding = B) writeonly buffer N##_block { u64vec2 N##_q[]; };       \
    void N##_put4(uint i, ivec4 x) {                                                    \
        TOUCH(B, 4, 1, i)                                                               \
        uvec4 w = uvec4(x);                                                             \
        N##_q[i] = u64vec2(w.xz) | u64vec2(w.yw) << 32u;                                \
    }
#else
#define STORES_4(N, B)                                                                  \
    layout(set = 0, binding = B) writeonly buffer N##_block { ivec4 N##_q[]; };         \
    void N##_put4(uint i, ivec4 x) { TOUCH(B, 4, 1, i) N##_q[i] = x; }
#endif
#define WRITE_PART_4(N, P, B)                                                           \
    layout(set = 0, binding = B) writeonly buffer N##_block##P { ivec4 N##_q##P[]; };
#else
#define STORES_4(N, B)                                                                  \
    layout(set = 0, binding = B) buffer N##_block { int N##_w[]; };                     \
    void N##_put(uint i, int x) { TOUCH(B, 1, 1, i) N##_w[i] = x; }                                       \
    void N##_raise(uint i, int x) { TOUCH(B, 1, 1, i) atomicMax(N##_w[i], x); }
#define WRITE_PART_4(N, P, B)                                                           \
    layout(set = 0, binding = B) writeonly buffer N##_block##P { int N##_w##P[]; };
#endif
#define PART_STORES_4(N, B)

// All of a word at once where all of it is written. (llvmpipe makes a loop over the lanes of each store, taken or
// not: few of them, and no loop around them here, through whose memory all that an invocation holds would go.)
#define SOME(N)                                                                         \
    void N##_some(uint i, int mask, int x) {                                            \
        if (mask == -1) N##_put(i, x);                                                  \
        else if (mask != 0) N##_mix(i, mask, x & mask);                                 \
    }

#if TOSAVK_EIGHTS
#define WRITE_EIGHTS(N, B, T, T4, WORDS, EIGHT)                                         \
    layout(set = 0, binding = B) writeonly buffer N##_block { T N##_e[]; };             \
    void N##_store8(uint i, T4 v, T4 w) { TOUCH(B, WORDS, 1, i >> 3) N##_e[i >> 3] = EIGHT; }
#if TOSAVK_PAIRS
// All eight in one store of 64-bit components where a driver makes a loop of every store.
uint64_t two_words(int a, int b) { return uint64_t(uint(a)) | uint64_t(uint(b)) << 32u; }
#define WRITE_i8(N, B, TO) \
    WRITE_EIGHTS(N, B, uint64_t, ivec4, 2, two_words(WHOLE(pack_i8(v), i, 0), WHOLE(pack_i8(w), i, 0)))
u64vec2 eight_i16(ivec2 v, ivec2 w) { return u64vec2(two_words(v.x, v.y), two_words(w.x, w.y)); }
#define WRITE_i16(N, B, TO) \
    WRITE_EIGHTS(N, B, u64vec2, ivec4, 4, eight_i16(WHOLE(pack_i16(v), i, ivec2(0)), WHOLE(pack_i16(w), i, ivec2(0))))
u64vec4 eight_i32(ivec4 v, ivec4 w) {
    return u64vec4(two_words(v.x, v.y), two_words(v.z, v.w), two_words(w.x, w.y), two_words(w.z, w.w));
}
#define WRITE_32(N, B, TO, T1, T4, BITS) \
    WRITE_EIGHTS(N, B, u64vec4, T4, 8, eight_i32(WHOLE(BITS(v), i, ivec4(0)), WHOLE(BITS(w), i, ivec4(0))))
#else
// Bytes alone: two words at once.
#define WRITE_i8(N, B, TO) WRITE_EIGHTS(N, B, ivec2, ivec4, 2, ivec2(pack_i8(v), pack_i8(w)))
#endif
#else
// Words that hold the end of one invocation's elements and the beginning of the next one's: the latter stores them
// whole, where both are neighbours in a subgroup and store at the same time.
struct Neighbours {
    bool before;  // the lane before ends where this one begins
    bool after;   // the lane after begins where this one ends
    int last;     // `word` of the lane before
};
#if TOSAVK_LANES > 1
Neighbours neighbours(uint i, uint n, int word) {
    uint lane = gl_SubgroupInvocationID, previous = (lane - 1u) & uint(TOSAVK_LANES - 1),
         next = (lane + 1u) & uint(TOSAVK_LANES - 1);
    uint end = n == 4u ? i + 4u : 0xffffffffu;  // no element
    // All exchanges come before the first branch: behind one, a device need not have its lanes together again.
    uvec4 here = subgroupBallot(true);
    uint end_before = subgroupShuffle(end, previous), i_after = subgroupShuffle(i, next);
    int last = subgroupShuffle(word, previous);
    bool has_before = subgroupBallotBitExtract(here, previous), has_after = subgroupBallotBitExtract(here, next);
    return Neighbours(has_before && previous < lane && end_before == i, has_after && next > lane && i_after == end,
                      last);
}
#else
Neighbours neighbours(uint i, uint n, int word) { return Neighbours(false, false, 0); }
#endif

#define WRITE_i8(N, B, TO)                                                              \
    TO##_1(N, B)                                                                        \
    SOME(N)                                                                             \
    void N##_storen(uint i, uint n, ivec4 v) {                                          \
        uint mask = n > 3u ? 0xffffffffu : (1u << (8u * n)) - 1u, w = uint(pack_i8(v)) & mask, at = (i & 3u) * 8u; \
        Neighbours by = neighbours(i, n, int(w));                                       \
        uint low = at != 0u && by.before ? (1u << at) - 1u : 0u, over = (mask >> 1) >> (31u - at); \
        N##_some(i >> 2, int(mask << at | low), int(w << at | ((uint(by.last) >> 1) >> (31u - at)))); \
        if (over != 0u && !by.after) N##_mix((i >> 2) + 1u, int(over), int((w >> 1) >> (31u - at))); \
    }                                                                                   \
    void N##_store4(uint i, ivec4 v) { N##_put(i >> 2, pack_i8(v)); }                   \
    void N##_store1(uint i, int x) {                                                    \
        int at = int(i & 3u) * 8;                                                       \
        N##_mix(i >> 2, 255 << at, (x & 255) << at);                                    \
    }
#define WRITE_i16(N, B, TO)                                                             \
    TO##_2(N, B)                                                                        \
    SOME(N)                                                                             \
    int N##_half(bool written, int shift) { return written ? 65535 << shift : 0; }      \
    void N##_storen(uint i, uint n, ivec4 v) {                                          \
        uint w = i >> 1;                                                                \
        Neighbours by = neighbours(i, n, v.w);                                          \
        bool odd = (i & 1u) != 0u;                                                      \
        ivec2 p = pack_i16(odd ? v.yzww : v);                                           \
        int first = odd ? N##_half(by.before, 0) | 65535 << 16 : 65535 | N##_half(n > 1u, 16); \
        int second = odd ? N##_half(n > 1u, 0) | N##_half(n > 2u, 16) : N##_half(n > 2u, 0) | N##_half(n > 3u, 16); \
        N##_some(w, first, odd ? (by.last & 65535) | v.x << 16 : p.x);                  \
        N##_some(w + 1u, second, odd ? p.x : p.y);                                      \
        if (odd && n > 3u && !by.after) N##_mix(w + 2u, 65535, v.w & 65535);            \
    }                                                                                   \
    void N##_store4(uint i, ivec4 v) { N##_put2(i >> 2, pack_i16(v)); }                 \
    void N##_store1(uint i, int x) {                                                    \
        int at = int(i & 1u) * 16;                                                      \
        N##_mix(i >> 1, 65535 << at, (x & 65535) << at);                                \
    }

#if TOSAVK_QUAD_STORES
#define WRITE_32(N, B, TO, T1, T4, BITS)                                                \
    TO##_4(N, B)                                                                        \
    void N##_store4(uint i, T4 v) { N##_put4(i >> 2, BITS(v)); }
#define WRITE_i48(N, B, TO)                                                             \
    TO##_4(N, B)                                                                        \
    void N##_store4(uint i, wide4 v) {                                                  \
        N##_put4(i >> 1, ivec4(wide_get(v, 0), wide_get(v, 1)));                        \
        N##_put4((i >> 1) + 1u, ivec4(wide_get(v, 2), wide_get(v, 3)));                 \
    }
#else
#define WRITE_32(N, B, TO, T1, T4, BITS)                                                \
    TO##_4(N, B)                                                                        \
    void N##_store1(uint i, T1 x) { N##_put(i, BITS(x)); }                              \
    void N##_storen(uint i, uint n, T4 v) {                                             \
        N##_put(i, BITS(v.x));                                                          \
        if (n > 1u) N##_put(i + 1u, BITS(v.y));                                         \
        if (n > 2u) N##_put(i + 2u, BITS(v.z));                                         \
        if (n > 3u) N##_put(i + 3u, BITS(v.w));                                         \
    }
#define WRITE_i48(N, B, TO)                                                             \
    TO##_4(N, B)                                                                        \
    void N##_store1(uint i, ivec2 x) {                                                  \
        N##_put(2u * i, x.x);                                                           \
        N##_put(2u * i + 1u, x.y);                                                      \
    }                                                                                   \
    void N##_storen(uint i, uint n, wide4 v) {                                          \
        N##_store1(i, wide_get(v, 0));                                                  \
        if (n > 1u) N##_store1(i + 1u, wide_get(v, 1));                                 \
        if (n > 2u) N##_store1(i + 2u, wide_get(v, 2));                                 \
        if (n > 3u) N##_store1(i + 3u, wide_get(v, 3));                                 \
    }
#endif
#endif
#define WRITE_bool(N, B, TO) WRITE_i8(N, B, TO)
#define WRITE_i4(N, B, TO) WRITE_i8(N, B, TO)
#define WRITE_i32(N, B, TO) WRITE_32(N, B, TO, int, ivec4, )
#define WRITE_fp32(N, B, TO) WRITE_32(N, B, TO, float, vec4, floatBitsToInt)
