// Matrix product with a register tile, for MATMUL and convolutions. An invocation makes TM rows x TN quads of
// columns. The LANES invocations of a subgroup own neighbouring quads of columns and share the rows: each loads TM /
// LANES of them (or one) and hands its elements to the others. Where LANES is 1 and loads are dear, it takes more
// than one quad, and 8 instead of 4 inner elements at a time (STEP_K) where rows are of whole eights.
#include "lib/gemm_operands.glsl"
#include "lib/gemm_columns.glsl"
#include "lib/gemm_sums.glsl"

#if STEP_K == 8
// As LOAD_COLUMNS, but of eight inner elements: w<c>0 to w<c>7; `block` is even.
#if MATRIX
#define LOAD_COLUMNS8(c, quad)                                                                  \
    LOAD_COLUMNS(c, quad)                                                                                         \
    X4 w##c##4 = column4(batch, k + 4, quad), w##c##5 = column4(batch, k + 5, quad),                              \
       w##c##6 = column4(batch, k + 6, quad), w##c##7 = column4(batch, k + 7, quad);
#else
#if X_FLOAT
#define LOAD_COLUMNS8(c, quad)                                                                  \
    LOAD_COLUMNS(c, quad)                                                                       \
    X4 w##c##4, w##c##5, w##c##6, w##c##7;                                                      \
    COLUMNS8(from##c + 4u, w##c##4, w##c##5)                                                    \
    COLUMNS8(from##c + 6u, w##c##6, w##c##7)
#else
#define LOAD_COLUMNS8(c, quad)                                                                  \
    ivec4 words##c, more##c;                                                                    \
    COLUMNS8(uint(COLUMN_QUAD(quad) * MOST_BLOCKS + block), words##c, more##c)                  \
    X4 w##c##0 = unpack_i8(words##c.x) - column_zp, w##c##1 = unpack_i8(words##c.y) - column_zp, \
       w##c##2 = unpack_i8(words##c.z) - column_zp, w##c##3 = unpack_i8(words##c.w) - column_zp, \
       w##c##4 = unpack_i8(more##c.x) - column_zp, w##c##5 = unpack_i8(more##c.y) - column_zp,   \
       w##c##6 = unpack_i8(more##c.z) - column_zp, w##c##7 = unpack_i8(more##c.w) - column_zp;
#endif
#endif
#endif

const int QUAD_GROUPS = (QUADS + LANES * TN - 1) / (LANES * TN);
#define ROW_GROUPS ((ROWS + TM - 1) / TM)
#ifndef FINISHED
#if TN == 4
#define FINISHED 1
#else
#define FINISHED 4
#endif
#endif
#define OWN (LANES < TM ? TM / LANES : 1)

// Arrays are indexed by constants alone, which some drivers need to keep them in registers: macros instead of loops.
#if TN == 4
#define EACH_QUAD(MACRO) MACRO(0) MACRO(1) MACRO(2) MACRO(3)
#elif TN == 2
#define EACH_QUAD(MACRO) MACRO(0) MACRO(1)
#else
#define EACH_QUAD(MACRO) MACRO(0)
#endif
// The last invocation of a row may have fewer quads than TN: it makes the last one again and does not store it.
#define QUAD(c) (QUADS % TN == 0 ? quad + c : min(quad + c, QUADS - 1))

// Row r lies in lane r % LANES as own row r / LANES.
#if LANES > 1
#define SHARED(r) subgroupShuffle(a[(r) / LANES], uint((r) % LANES))
#else
#define SHARED(r) a[r]
#endif
#if STEP_K == 8
#define LOAD_ROW(r) X4 x, y; row8(at[r], k, x, y);
#define STEP_QUAD(c)                    \
    ADD_FOUR(of + c, x, w##c##0, w##c##1, w##c##2, w##c##3) \
    ADD_FOUR(of + c, y, w##c##4, w##c##5, w##c##6, w##c##7)
#else
#if TN == 1
#define LOAD_ROW(r) X4 x = SHARED(r);
#else
#define LOAD_ROW(r) X4 x = row4(at[r], k);
#endif
#define STEP_QUAD(c) ADD_FOUR(of + c, x, w##c##0, w##c##1, w##c##2, w##c##3)
#endif
#define STEP(r)                         \
    {                                   \
        const int of = (r) * TN;        \
        LOAD_ROW(r)                     \
        EACH_QUAD(STEP_QUAD)            \
    }
#define ROWS4(MACRO, r) MACRO(r) MACRO(r + 1) MACRO(r + 2) MACRO(r + 3)
#if TM == 16
#define EACH_ROW(MACRO) ROWS4(MACRO, 0) ROWS4(MACRO, 4) ROWS4(MACRO, 8) ROWS4(MACRO, 12)
#elif TM == 8
#define EACH_ROW(MACRO) ROWS4(MACRO, 0) ROWS4(MACRO, 4)
#else
#define EACH_ROW(MACRO) ROWS4(MACRO, 0)
#endif

void main() {
    // Subgroups are runs of invocations of a one-dimensional workgroup. gl_SubgroupID would say so too, but llvmpipe
    // counts it in eights whatever the subgroup size.
    int id = int(invocation_index()), lane = id % LANES, tile = id / LANES;
    int quad = (tile % QUAD_GROUPS * LANES + lane) * TN, first = tile / QUAD_GROUPS % ROW_GROUPS * TM;
    int batch = tile / QUAD_GROUPS / ROW_GROUPS;
    if (batch >= BATCH) return;
    bool idle = quad >= QUADS;
    quad = min(quad, QUADS - 1);
    row_zp = X1(ROW_ZP);
    column_zp = X1(COLUMN_ZP);

    Row rows[OWN];
    int at[OWN];
    X4 a[OWN];
    SUMS(TM * TN)
    for (int i = 0; i < OWN; ++i) {
        rows[i] = row_at(batch, first + (i * LANES + lane) % TM);
        at[i] = tap_at(rows[i], 0, 0);
    }
#define CLEAR_QUAD(c) CLEAR_SUM(of + c)
#define CLEAR(r)                     \
    {                                \
        const int of = (r) * TN;     \
        EACH_QUAD(CLEAR_QUAD)        \
    }
    EACH_ROW(CLEAR)

    // One flat loop over taps and blocks of inner elements.
    int k = 0, ky = 0, kx = 0;
    for (int block = 0; block < BLOCKS; block += STEP_K / 4) {
#if STEP_K == 8
#define LOAD_QUAD(c) LOAD_COLUMNS8(c, QUAD(c))
#else
#define LOAD_QUAD(c) LOAD_COLUMNS(c, QUAD(c))
#endif
        EACH_QUAD(LOAD_QUAD)
#if STEP_K == 4 && TN == 1
        for (int i = 0; i < OWN; ++i) a[i] = row4(at[i], k);
#endif
        EACH_ROW(STEP)
#if WIDE
#if STEP_K != 4
#error sums of 48 bits are flushed after single blocks
#endif
#define FLUSH_QUAD(c) FLUSH_SUM(of + c)
#define FLUSH(r)                     \
    {                                \
        const int of = (r) * TN;     \
        EACH_QUAD(FLUSH_QUAD)        \
    }
        if (block % FLUSH_BLOCKS == FLUSH_BLOCKS - 1) { EACH_ROW(FLUSH) }
#endif
        k += STEP_K;
#if !MATRIX
        if (k >= K) {
            k = 0;
            if (++kx == TAPS_X) {
                kx = 0;
                ++ky;
            }
            for (int i = 0; i < OWN; ++i) at[i] = tap_at(rows[i], ky, kx);
        }
#endif
    }
    if (idle) return;
#if WIDE
    EACH_ROW(FLUSH)
#endif

    TOTAL4 bias[TN];
#define IN_QUAD(c) uint(min(COLUMNS - QUAD(c) * 4, 4))
#define BIAS_QUAD(c) bias[c] = bias4(batch, QUAD(c));
    EACH_QUAD(BIAS_QUAD)
    // FINISHED rows at a time: what follows is compiled that often, and the sums of the next rows move up between.
    int count = min(ROWS - first, TM);
    for (int r = 0; r < count; r += FINISHED) {
#define FINISH_QUAD(c) \
    if (QUADS % TN == 0 || quad + c < QUADS) FUSED(e + c * 4u, IN_QUAD(c), TOTAL_ADD(SUM(of + c), bias[c]));
#define FINISH(i)                                                                 \
    if (r + i < count) {                                                          \
        const int of = (i) * TN;                                                  \
        int to = output_row(batch, first + r + i);                                \
        uint e = uint(to * COLUMNS + quad * 4);                                   \
        if (IS_STORED(to)) {                                                      \
            EACH_QUAD(FINISH_QUAD)                                                \
        }                                                                         \
    }
#if FINISHED == 4
        ROWS4(FINISH, 0)
#else
        FINISH(0)
#endif
#define MOVE_QUAD(c) SUM(of + c) = SUM(from + c);
#define MOVE(i)                                                                   \
    {                                                                             \
        const int of = (i) * TN, from = ((i) + FINISHED < TM ? (i) + FINISHED : i) * TN; \
        EACH_QUAD(MOVE_QUAD)                                                      \
    }
        EACH_ROW(MOVE)
    }
}
