// Matrix product of few rows or columns, for MATMUL and convolutions: LANES invocations share a tile of TM rows x EACH
// quads of columns, take every LANES-th block of the inner dimension (JOINED: every LANES-th MANY of them) and fold
// their sums as a tree. LANES is a power of two from TM up to the workgroup size. SIDE tiles lie side by side, so that
// neighbours read neighbouring columns where these are neighbours in memory. EACH may be 2 for MATMUL of one row of
// fp16 alone (precision fast), whose quads are read as pairs. MANY blocks are taken at a time: their loads are on their
// way together. DOT4, of convolutions: products of four 8-bit pairs are one instruction. SINGLE, of a convolution that
// is a matrix times a vector of floats: an invocation takes every LANES-th of the inner elements (2: of the pairs of
// them), MANY at a time, and its neighbours read the columns of the next ones. JOINED: the MANY blocks of an invocation
// lie side by side in one tap, for which it looks once. With FLAT one pipeline has any LANES too, and SIDE is 1.
#extension GL_EXT_control_flow_attributes : require
#include "lib/gemm_operands.glsl"
#include "lib/gemm_columns.glsl"
#include "lib/gemm_sums.glsl"
#include "lib/gemm_taps.glsl"

#if JOINED
// The quad that lies `next` quads after the first one of a tap, of rows of whole quads.
#if DOT4
int row_word(Tap tap, int next) {
    int word = ROW_BITS(in0_word4q(tap.from + uint(next)));
    return tap.inside ? word : pack_i8(ivec4(row_zp));
}
#else
X4 row4(Tap tap, int next) {
    X4 v = LESS_ROW_ZP(in0_load4q(tap.from + uint(next)));
    return tap.inside ? v : X4(0);
}
#endif
#endif

#if FLAT
layout(constant_id = 32) const int LANES_LOG2 = 2;  // pushed
#define LANES (1 << LANES_LOG2)
#define TILES_OF(invocations) ((invocations) >> LANES_LOG2)
#define NO_QUAD_LEFT true
// Whether all lanes have as many blocks.
#define ALL_THERE (WHOLE_TURNS != 0)
#else
#define TILES_OF(invocations) ((invocations) / (LANES * SIDE))
#define NO_QUAD_LEFT (QUADS % (SIDE * EACH) == 0)
#define ALL_THERE (BLOCKS % (MANY * LANES) == 0)
#endif
#if JOINED
#define FIRST_BLOCK (lane * MANY)
#define NEXT_BLOCK 1
#define IS_THERE(block) true
#else
#define FIRST_BLOCK lane
#define NEXT_BLOCK LANES
#define IS_THERE(block) (ALL_THERE || (block) < BLOCKS)
#endif
#define ROW_GROUPS ((ROWS + TM - 1) / TM)
#define ACROSS ((QUADS + SIDE * EACH - 1) / (SIDE * EACH))

// What an invocation takes of a vector, and how it reads a pair and its weights.
#if SINGLE == 2
#define ITEMS (K / 2)
#ifdef IN0_EIGHTS
#define ROW2(at) X2(in0_load2q(uint(at)))
#else
#define ROW2(at) X2(in0_load1(uint(at) * 2u), in0_load1(uint(at) * 2u + 1u))
#endif
#ifdef IN1_EIGHTS
#define WEIGHTS8(at, v, w) in1_load8q(uint(at), v, w);
#else
#define WEIGHTS8(at, v, w) v = in1_load4q(uint(at) * 2u), w = in1_load4q(uint(at) * 2u + 1u);
#endif
#else
#define ITEMS K
#endif

// Arrays that are indexed by variables lie in memory on some GPUs.
#define EACH_ROW [[unroll]] for (int r = 0; r < TM; ++r)
#define EACH_SUM [[unroll]] for (int i = 0; i < TM * EACH; ++i)
// Whose sum a lane stores: of tiles of one row that are two quads the second lane has the second one's.
#if EACH == 2
#define LANES_ROW 0
#define LANES_QUAD (quad + lane)
#else
#define LANES_ROW lane
#define LANES_QUAD quad
#endif
// One row at a time where all of them might take more memory than there is.
#if WIDE
#define TOGETHER 1
#else
#define TOGETHER TM
#endif
#if INTEGERS
// An invocation's own sum is one that fp32 holds.
#define PARTIAL4 ivec4
#else
#define PARTIAL4 SUM4
#endif
shared PARTIAL4 partial[TOGETHER * EACH * gl_WorkGroupSize.x];

// The sums of rows from `first` on, TOGETHER of them, become that of lane 0.
void fold(int local, int lane, int size) {
    barrier();
    for (int others = LANES / 2; others > 0; others /= 2) {
        if (lane < others) {
            for (int r = 0; r < TOGETHER * EACH; ++r)
                partial[SHARED_STORE(0u, 4u, r * size + local)] =
                    SUM_ADD(partial[SHARED_LOAD(0u, 4u, r * size + local)],
                            partial[SHARED_LOAD(0u, 4u, r * size + local + others * SIDE)]);
        }
        barrier();
    }
}

void main() {
    int local = int(gl_LocalInvocationID.x), own_tile = TILES_OF(local), size = int(gl_WorkGroupSize.x);
    int lane = (local - own_tile * (LANES * SIDE)) / SIDE;
    int begin = local - lane * SIDE;  // where lane 0 of the tile has its sums
    int tile = int(workgroup_index()) * TILES_OF(size) + own_tile;
    int quad = (tile % ACROSS * SIDE + local % SIDE) * EACH, first = tile / ACROSS % ROW_GROUPS * TM;
    int batch = tile / ACROSS / ROW_GROUPS;
    bool inside = batch < BATCH && (NO_QUAD_LEFT || quad < QUADS);
    row_zp = X1(ROW_ZERO_POINT);
    column_zp = X1(COLUMN_ZP);

    Taps rows[TM];
    SUMS(TM * EACH)
    EACH_ROW {
        rows[r] = taps_of(row_at(min(batch, BATCH - 1), first + r));
        CLEAR_SUM(r)
    }
#if EACH == 2
    CLEAR_SUM(1)
#endif
#if WIDE
    int pending = 0;
#endif
#if HALF
// Sums are flushed outside of the innermost loop, which asks at its end where all lanes have as many blocks: no load
// waits for the answer then. (Where they have not, llvmpipe of Mesa 22 adds up what lanes past their end would.)
#define EVEN (TRANSPOSED == 0 && ALL_THERE)
#define BEGIN_BLOCKS                                           \
    for (int turn = FIRST_BLOCK; inside && turn < BLOCKS;) {   \
        int end = min(turn + FLUSH_BLOCKS * LANES, BLOCKS);    \
        for (; EVEN || turn < end;) {
#define END_BLOCKS                                             \
            turn += MANY * LANES;                              \
            if (EVEN && turn >= end) break;                    \
        }                                                      \
        EACH_SUM { FLUSH_SUM(i) }                              \
    }
#else
#define BEGIN_BLOCKS for (int turn = FIRST_BLOCK; inside && turn < BLOCKS; turn += MANY * LANES) {
#define END_BLOCKS }
#endif
#if SINGLE
    const int row = tap_at(rows[0], 0, 0, 0);
    for (int turn = lane; inside && turn < ITEMS; turn += MANY * LANES) {
        const bool whole = ITEMS % (MANY * LANES) == 0;
        X1 x[MANY * SINGLE];
        X4 w[MANY * SINGLE];
        [[unroll]] for (int i = 0; i < MANY; ++i) {
            int next = turn + i * LANES, at = whole ? next : min(next, ITEMS - 1);
            bool is_there = (whole || next < ITEMS) && !IN_PADDING(row);
#if SINGLE == 2
            X2 two = is_there ? ROW2(TAP_START(row) / 2 + at) : X2(0);
            x[2 * i] = two.x;
            x[2 * i + 1] = two.y;
            WEIGHTS8(quad * K_BLOCKS * 2 + at, w[2 * i], w[2 * i + 1])
#else
            x[i] = is_there ? X1(in0_load1(uint(TAP_START(row) + at))) : X1(0);
            w[i] = in1_load4q(uint(quad * K_BLOCKS * 4 + at));
#endif
        }
#if HALF
        X4 sum = x[0] * w[0];
        [[unroll]] for (int i = 1; i < MANY * SINGLE; ++i) sum = fma(X4(x[i]), w[i], sum);
        SUM(0) += vec4(sum);
#else
        [[unroll]] for (int i = 0; i < MANY * SINGLE; ++i) acc[0] = MULTIPLY_ADD(X4(x[i]), w[i], acc[0]);
#endif
    }
#else
    BEGIN_BLOCKS
#if JOINED
    Block first_block = block_at(turn);
    Tap taps[TM];
    EACH_ROW {
        taps[r] = tap_of(rows[r], first_block.ky, first_block.kx, 0);
        taps[r].from += uint(first_block.k) / 4u;
    }
#endif
#if MANY == 1
    {
        int block = turn;
#else
    [[unroll]] for (int i = 0; i < MANY; ++i) {
        int block = turn + i * NEXT_BLOCK;
        if (i > 0 && !IS_THERE(block)) break;
#endif
#if JOINED
#define ROW_WORD(r) row_word(taps[r], i)
#define ROW4(r) row4(taps[r], i)
#else
        Block at = block_at(block);
        int k = at.k, offset = tap_offset(at.ky, at.kx);
#define ROW_WORD(r) row_word(tap_at(rows[r], at.ky, at.kx, offset), k)
#define ROW4(r) row4(tap_at(rows[r], at.ky, at.kx, offset), k)
#endif
#if DOT4
        ivec4 words = weight_words(uint(COLUMN_QUAD(quad) * MOST_BLOCKS + block));
        EACH_ROW {
            int a = ROW_WORD(r);
            acc[r] += products(a, words);
            if (column_zp != 0) acc[r] -= SUM_OF_ROW(a) * column_zp;
        }
#else
#if EACH == 2
        LOAD_COLUMNS8(0, 1, quad)
#else
        LOAD_COLUMNS(0, quad)
#endif
        EACH_ROW {
            X4 x = ROW4(r);
#if WIDE
            ADD(r, x.x, w00)
            ADD(r, x.y, w01)
            ADD(r, x.z, w02)
            ADD(r, x.w, w03)
#elif HALF || EACH == 2 || (X_FLOAT && TOSAVK_FMA)
            ADD_FOUR(r, x, w00, w01, w02, w03)
#else
            acc[r] += x.x * w00 + x.y * w01 + x.z * w02 + x.w * w03;
#endif
#if EACH == 2
            ADD_FOUR(1, x, w10, w11, w12, w13)
#endif
        }
#if WIDE
        if (++pending == FLUSH_BLOCKS) {
            EACH_SUM { FLUSH_SUM(i) }
            pending = 0;
        }
#endif
#endif
    }
    END_BLOCKS
#endif
#if WIDE
    EACH_SUM { FLUSH_SUM(i) }
    SUM4 own = SUM(0);
    for (int row = 0; row < TM; ++row) {
        partial[SHARED_STORE(0u, 4u, local)] = SUM(0);
        fold(local, lane, size);
        if (lane == row) own = partial[begin];
        barrier();
        // The next row's sum moves up.
        [[unroll]] for (int r = 0; r + 1 < TM; ++r) SUM(r) = SUM(r + 1);
    }
#else
    EACH_SUM partial[SHARED_STORE(0u, 4u, i * size + local)] = OF_SUM(SUM(i));
    fold(local, lane, size);
#define own partial[lane * size + begin]
#endif
    if (!inside || lane >= TM * EACH || first + LANES_ROW >= ROWS) return;
    int to = output_row(batch, first + LANES_ROW);
    if (!IS_STORED(to)) return;
    uint n = uint(min(COLUMNS - LANES_QUAD * 4, 4));
    FUSED(uint(to * COLUMNS + LANES_QUAD * 4), n, TOTAL_ADD(own, bias4(batch, LANES_QUAD)));
}
