// Attention in one dispatch, softmax(Q K + mask) V for each of BATCH heads, without a score in memory. A workgroup
// makes TY * TM rows; XL * TY invocations walk along the keys, 4 * XL of them at a time: each makes the scores of TM
// rows and four keys, then LANES of them turn a row of scores into weights, then each adds TM rows of four columns of
// V. A row's weights are relative to the largest score so far, and its sums are scaled anew where a larger one comes.
// SPLIT such parts take every SPLIT-th tile of keys and are added up at the end.
//   in0  Q [BATCH,ROWS,K], in1  K [BATCH,K,KEYS], in2  V [BATCH,KEYS,COLUMNS]: fp16, or fp32 that is rounded where it
//        is read, K and COLUMNS in whole quads
//   in3  MASK: what is added to the scores, broadcast over [BATCH,ROWS,KEYS]; ROUNDS_MASK: rounded to fp16
// Products are summed as in lib/gemm_sums.glsl (HALF), all else is fp32.
#extension GL_EXT_control_flow_attributes : require
layout(constant_id = 0) const int BATCH = 1;       // late
layout(constant_id = 1) const int ROWS = 1;
layout(constant_id = 2) const int KEYS = 1;
layout(constant_id = 3) const int K = 4;
layout(constant_id = 4) const int COLUMNS = 4;
layout(constant_id = 5) const float SCALE = 1.0;   // of the scores, times log2(e), as is the next
#if MASK
layout(constant_id = 6) const float MASK_SCALE = 1.0;
// Steps in the mask; heads are counted in two digits, of which the second is below MASK_HEADS.
layout(constant_id = 7) const int MASK_HEADS = 1;
layout(constant_id = 8) const int MASK_OUTER = 0;
layout(constant_id = 9) const int MASK_INNER = 0;
layout(constant_id = 10) const int MASK_ROW = 0;
layout(constant_id = 11) const int MASK_KEY = 0;   // 0 or 1
#endif

#define PART (XL * TY)
#define TILE_ROWS (TY * TM)
#define TILE_KEYS (XL * 4)
#define LANES (XL / TM)
#define FLUSH_BLOCKS 8
const int K_BLOCKS = K / 4, QUADS = COLUMNS / 4, TILES = (KEYS + TILE_KEYS - 1) / TILE_KEYS;
const int ROW_TILES = (ROWS + TILE_ROWS - 1) / TILE_ROWS;
// Keys past the last one have a score below what a row begins with, so that their weight is always 0.
const float LOWEST = -1.0e38, OUTSIDE = -3.0e38;

// A row's scores, then (in their first words) its weights in fp16; rows begin LANES quads apart in the banks.
#define PITCH (XL + LANES)
shared uvec4 tile[SPLIT * TILE_ROWS * PITCH];
shared float shares[SPLIT * PART];         // of an invocation, of its row: the largest score, then the sum of weights
shared float largest_of[SPLIT * TILE_ROWS];
shared float factors[SPLIT * TILE_ROWS];   // what sums so far are to be multiplied by
#if SHARED_Q
const int Q_PITCH = K_BLOCKS + 1;
shared f16vec4 queries[TILE_ROWS * Q_PITCH];
#define QUERY(r, b) queries[SHARED_LOAD(3u, 2u, ((r) * TY + y) * Q_PITCH + (b))]
#else
#define QUERY(r, b) \
    f16vec4(in0_load4q(uint((batch * ROWS + min(first + (r) * TY + y, ROWS - 1)) * K_BLOCKS + (b))))
#endif

// Arrays are indexed by constants alone, which some drivers need to keep them in registers: macros instead of loops.
#if TM == 8
#define EACH_ROW(MACRO) MACRO(0) MACRO(1) MACRO(2) MACRO(3) MACRO(4) MACRO(5) MACRO(6) MACRO(7)
#else
#define EACH_ROW(MACRO) MACRO(0) MACRO(1) MACRO(2) MACRO(3)
#endif

// Element k of four keys.
f16vec4 keys_at(int batch, int k, int key) {
    uint i = uint((batch * K + k) * KEYS + key);
    return f16vec4(KEYS % 4 == 0 ? in1_load4q(i >> 2) : in1_loadn(i, uint(min(KEYS - key, 4))));
}

#if MASK
#if ROUNDS_MASK
#define MASK4(x) vec4(f16vec4(x))
#else
#define MASK4(x) vec4(x)
#endif
vec4 mask_at(int batch, int row, int key) {
    uint i = uint(batch / MASK_HEADS * MASK_OUTER + batch % MASK_HEADS * MASK_INNER + row * MASK_ROW);
    if (MASK_KEY == 0) return MASK4(in3_load1(i));
    i += uint(key);
    return MASK4(MASK_QUADS != 0 ? in3_load4(i) : in3_loadn(i, uint(min(KEYS - key, 4))));
}
#endif

#define FOUR_PRODUCTS(sum, a, w0, w1, w2, w3) \
    sum = fma(f16vec4((a).w), w3, fma(f16vec4((a).z), w2, fma(f16vec4((a).y), w1, fma(f16vec4((a).x), w0, sum))));

void main() {
    int local = int(gl_LocalInvocationID.x), part = local / PART, here = local - part * PART;
    int y = here / XL, x = here - y * XL;
    int group = int(workgroup_index()), batch = group / ROW_TILES, first = (group - batch * ROW_TILES) * TILE_ROWS;
    if (batch >= BATCH) return;
    int top = part * TILE_ROWS;                               // of the rows in shared memory
    int row = top + here / LANES, lane = here % LANES;        // the row whose weights it helps to make
    int slot = row * PITCH + lane;
#if SHARED_Q
    for (int i = local; i < TILE_ROWS * K_BLOCKS; i += SPLIT * PART) {
        int r = i / K_BLOCKS, b = i - r * K_BLOCKS;
        queries[SHARED_STORE(3u, 2u, r * Q_PITCH + b)] =
            f16vec4(in0_load4q(uint((batch * ROWS + min(first + r, ROWS - 1)) * K_BLOCKS + b)));
    }
    barrier();
#endif

    vec4 sums[TM];
    f16vec4 acc[TM];
#define CLEAR(r) sums[r] = vec4(0);
#define CLEAR_HALF(r) acc[r] = f16vec4(0);
    EACH_ROW(CLEAR)
    float most = LOWEST, share = 0.0;
    [[dont_unroll]] for (int turn = 0; turn < TILES; turn += SPLIT) {
        int begin = (turn + part) * TILE_KEYS, key = begin + 4 * x;
        if (begin < KEYS) {
            int at = min(key, (KEYS - 1) / 4 * 4);
            vec4 scores[TM];
#define CLEAR_SCORE(r) scores[r] = vec4(0);
            EACH_ROW(CLEAR_SCORE)
            [[dont_unroll]] for (int chunk = 0; chunk < K_BLOCKS; chunk += FLUSH_BLOCKS) {
                EACH_ROW(CLEAR_HALF)
                [[dont_unroll]] for (int b = chunk; b < min(chunk + FLUSH_BLOCKS, K_BLOCKS); ++b) {
                    f16vec4 w0 = keys_at(batch, 4 * b, at), w1 = keys_at(batch, 4 * b + 1, at),
                            w2 = keys_at(batch, 4 * b + 2, at), w3 = keys_at(batch, 4 * b + 3, at);
#define SCORE(r)                                            \
    {                                                       \
        f16vec4 q = QUERY(r, b);                            \
        FOUR_PRODUCTS(acc[r], q, w0, w1, w2, w3)            \
    }
                    EACH_ROW(SCORE)
                }
#define FLUSH_SCORE(r) scores[r] += vec4(acc[r]);
                EACH_ROW(FLUSH_SCORE)
            }
            bvec4 inside = lessThan(key + ivec4(0, 1, 2, 3), ivec4(KEYS));
#if MASK
#define MASK_OF(r) mask_at(batch, min(first + (r) * TY + y, ROWS - 1), at)
#define MASKED(r) MULTIPLY_ADD(MASK_OF(r), vec4(MASK_SCALE), scores[r] * SCALE)
#else
#define MASKED(r) scores[r] * SCALE
#endif
#define KEEP(r)                                                                  \
    tile[SHARED_STORE(0u, 4u, (top + (r) * TY + y) * PITCH + x)] =               \
        floatBitsToUint(mix(vec4(OUTSIDE), MASKED(r), inside));
            EACH_ROW(KEEP)
        }
        barrier();
        float largest = most;
        if (begin < KEYS) {
            for (int i = 0; i < TM; ++i) {
                vec4 s = uintBitsToFloat(tile[SHARED_LOAD(0u, 4u, slot + i * LANES)]);
                largest = max(largest, max(max(s.x, s.y), max(s.z, s.w)));
            }
        }
#if LANES > 1
        shares[SHARED_STORE(1u, 1u, local)] = largest;
        barrier();
        for (int i = 0; i < LANES; ++i)
            largest = max(largest, shares[SHARED_LOAD(1u, 1u, local - lane + i)]);
#endif
        float factor = exp2(most - largest);
        most = largest;
        if (begin < KEYS) {
            vec4 all = vec4(0);
            for (int i = 0; i < TM; ++i) {
                vec4 w = exp2(uintBitsToFloat(tile[SHARED_LOAD(0u, 4u, slot + i * LANES)]) - most);
                all += w;
                tile[SHARED_STORE(0u, 4u, slot + i * LANES)].xy = uvec2(words_of_half(f16vec4(w)));
            }
            share = share * factor + ((all.x + all.y) + (all.z + all.w));
        }
        if (lane == 0) factors[SHARED_STORE(2u, 1u, row)] = factor;
        barrier();
#define SCALE_ANEW(r) sums[r] *= factors[SHARED_LOAD(2u, 1u, top + (r) * TY + y)];
        EACH_ROW(SCALE_ANEW)
        int quads = clamp((KEYS - begin + 3) / 4, 0, XL);
        [[dont_unroll]] for (int chunk = 0; chunk < quads; chunk += FLUSH_BLOCKS) {
            EACH_ROW(CLEAR_HALF)
            [[dont_unroll]] for (int b = chunk; b < min(chunk + FLUSH_BLOCKS, quads); ++b) {
                int v = begin + 4 * b;
#define VALUES(i) f16vec4(in2_load4q(uint((batch * KEYS + min(v + i, KEYS - 1)) * QUADS + min(x, QUADS - 1))))
                f16vec4 w0 = VALUES(0), w1 = VALUES(1), w2 = VALUES(2), w3 = VALUES(3);
#define ADD_VALUES(r)                                                                                        \
    {                                                                                                        \
        f16vec4 p = half_of_words(ivec2(tile[SHARED_LOAD(0u, 4u, (top + (r) * TY + y) * PITCH + b)].xy));     \
        FOUR_PRODUCTS(acc[r], p, w0, w1, w2, w3)                                                             \
    }
                EACH_ROW(ADD_VALUES)
            }
#define FLUSH_SUM(r) sums[r] += vec4(acc[r]);
            EACH_ROW(FLUSH_SUM)
        }
        barrier();
    }

    shares[SHARED_STORE(1u, 1u, local)] = share;
    if (lane == 0) largest_of[row] = most;
#define KEEP_SUM(r) tile[SHARED_STORE(0u, 4u, (top + (r) * TY + y) * PITCH + x)] = floatBitsToUint(sums[r]);
    EACH_ROW(KEEP_SUM)
    barrier();
    if (local < TILE_ROWS) {
        float largest = largest_of[local], total = 0.0;
        for (int p = 1; p < SPLIT; ++p) largest = max(largest, largest_of[p * TILE_ROWS + local]);
        for (int p = 0; p < SPLIT; ++p) {
            float of_part = 0.0, factor = exp2(largest_of[p * TILE_ROWS + local] - largest);
            for (int i = 0; i < LANES; ++i) of_part += shares[SHARED_LOAD(1u, 1u, p * PART + local * LANES + i)];
            total += of_part * factor;
            factors[SHARED_STORE(2u, 1u, p * TILE_ROWS + local)] = factor;
        }
        for (int p = 0; p < SPLIT; ++p) factors[p * TILE_ROWS + local] /= total;
    }
    barrier();
    if (x >= QUADS) return;
    [[dont_unroll]] for (int r = part * TY + y; r < min(TILE_ROWS, ROWS - first); r += SPLIT * TY) {
        vec4 result = vec4(0);
        for (int p = 0; p < SPLIT; ++p)
            result += uintBitsToFloat(tile[SHARED_LOAD(0u, 4u, (p * TILE_ROWS + r) * PITCH + x)]) *
                      factors[SHARED_LOAD(2u, 1u, p * TILE_ROWS + r)];
        FUSED(uint((batch * ROWS + first + r) * COLUMNS + 4 * x), 4u, result);
    }
}
