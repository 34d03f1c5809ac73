// Matrix product with a register tile, for MATMUL and CONV2D. An invocation makes TM rows x 4 columns. The LANES invocations
// of a subgroup own neighbouring quads of columns and share the rows: each loads TM / LANES of them (or one) and hands its
// elements to the others.
#include "lib/gemm_operands.glsl"

const int QUAD_GROUPS = (QUADS + LANES - 1) / LANES, ROW_GROUPS = (ROWS + TM - 1) / TM;
#ifndef FINISHED
#define FINISHED 4
#endif
#define OWN (LANES < TM ? TM / LANES : 1)

// Row r lies in lane r % LANES as own row r / LANES.
#if LANES > 1
#define SHARED(r) subgroupShuffle(a[(r) / LANES], uint((r) % LANES))
#else
#define SHARED(r) a[r]
#endif
#define STEP(r)                  \
    {                            \
        X4 x = SHARED(r);        \
        acc[r] += x.x * w0;      \
        acc[r] += x.y * w1;      \
        acc[r] += x.z * w2;      \
        acc[r] += x.w * w3;      \
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
    // Subgroups are runs of invocations of a one-dimensional workgroup. gl_SubgroupID would say so too, but llvmpipe counts
    // it in eights whatever the subgroup size.
    int id = int(invocation_index()), lane = id % LANES, tile = id / LANES;
    int quad = tile % QUAD_GROUPS * LANES + lane, first = tile / QUAD_GROUPS % ROW_GROUPS * TM;
    int batch = tile / QUAD_GROUPS / ROW_GROUPS;
    if (batch >= BATCH) return;
    bool idle = quad >= QUADS;
    quad = min(quad, QUADS - 1);
    row_zp = X1(ROW_ZP);
    column_zp = X1(COLUMN_ZP);

    Row rows[OWN];
    int at[OWN];
    X4 a[OWN], acc[TM];
    for (int i = 0; i < OWN; ++i) {
        rows[i] = row_at(batch, first + (i * LANES + lane) % TM);
        at[i] = tap_at(rows[i], 0, 0);
    }
#define CLEAR(r) acc[r] = X4(0);
    EACH_ROW(CLEAR)

    // One flat loop over taps and blocks of inner elements.
    int k = 0, ky = 0, kx = 0;
    for (int block = 0; block < BLOCKS; ++block) {
        LOAD_COLUMNS
        for (int i = 0; i < OWN; ++i) a[i] = row4(at[i], k);
        EACH_ROW(STEP)
        k += 4;
#if !MATRIX
        if (k >= K) {
            k = 0;
            if (++kx == KW) {
                kx = 0;
                ++ky;
            }
            for (int i = 0; i < OWN; ++i) at[i] = tap_at(rows[i], ky, kx);
        }
#endif
    }
    if (idle) return;

    uint n = uint(min(COLUMNS - quad * 4, 4));
    X4 bias = bias4(quad, n);
    // FINISHED rows at a time: what follows is compiled that often, and the sums of the next rows move up between.
    int count = min(ROWS - first, TM);
    for (int r = 0; r < count; r += FINISHED) {
#define FINISH(i) \
    if (r + i < count) FUSED(uint((batch * ROWS + first + r + i) * COLUMNS + quad * 4), n, acc[i] + bias);
#if FINISHED == 4
        ROWS4(FINISH, 0)
#else
        FINISH(0)
#endif
#define MOVE(i) acc[i] = acc[(i) + FINISHED < TM ? (i) + FINISHED : i];
        EACH_ROW(MOVE)
    }
}
