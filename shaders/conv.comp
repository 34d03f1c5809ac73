// CONV2D, CONV3D and TRANSPOSE_CONV2D as one matrix product with a register tile, on any device and for every type: an
// invocation makes TM rows x 4 columns.
// WIDE: the input is i16, bias and result are i48.
#include "lib/gemm_operands.glsl"
#include "lib/gemm_columns.glsl"

#define ROW_GROUPS ((ROWS + TM - 1) / TM)

#define STEP(acc, at)                                         \
    {                                                         \
        X4 x = row4(at, k);                                   \
        acc += x.x * w00 + x.y * w01 + x.z * w02 + x.w * w03; \
    }
#if TM == 4
#define MORE_STEPS STEP(acc1, at1) STEP(acc2, at2) STEP(acc3, at3)
#else
#define MORE_STEPS
#endif

// One block of weights, inner elements k to k+3.
#define BLOCK(s)                       \
    if (s == 0 || begin + 4 * s < K) { \
        int k = begin + 4 * s;         \
        LOAD_COLUMNS(0, quad)          \
        STEP(acc0, at0)                \
        MORE_STEPS                     \
        ++block;                       \
    }

void finish(int batch, int row, int quad, TOTAL4 sum) {
    int to = output_row(batch, row);
    if (row >= ROWS || !IS_STORED(to)) return;
    FUSED(uint(to * COLUMNS + quad * 4), uint(min(COLUMNS - quad * 4, 4)), TOTAL_ADD(sum, bias4(batch, quad)));
}

#if WIDE
// Products of one tap between two looks at what is pending.
const int CHUNK = K_BLOCKS * 4 < WIDE_PRODUCTS ? K_BLOCKS * 4 : WIDE_PRODUCTS;
#define FLUSH1(k)                                      \
    total##k = wide_add(total##k, wide_from(acc##k));  \
    acc##k = ivec4(0);
#if TM == 4
#define FLUSH FLUSH1(0) FLUSH1(1) FLUSH1(2) FLUSH1(3)
#else
#define FLUSH FLUSH1(0)
#endif
#define RESULT(k) total##k
#else
#define RESULT(k) acc##k
#endif

void main() {
    int id = int(invocation_index());
    int quad = id % QUADS, first = id / QUADS % ROW_GROUPS * TM, batch = id / QUADS / ROW_GROUPS;
    if (batch >= BATCH) return;
    row_zp = X1(ROW_ZP);
    column_zp = X1(COLUMN_ZP);

    Row row0 = row_at(batch, first);
    X4 acc0 = X4(0);
#if TM == 4
    Row row1 = row_at(batch, first + 1), row2 = row_at(batch, first + 2), row3 = row_at(batch, first + 3);
    X4 acc1 = X4(0), acc2 = X4(0), acc3 = X4(0);
#endif
#if WIDE
    int pending = 0;
    wide4 total0 = wide_from(ivec4(0));
#if TM == 4
    wide4 total1 = total0, total2 = total0, total3 = total0;
#endif
#endif
    int block = 0;
    for (int ky = 0; ky < TAPS_Y; ++ky) {
        for (int kx = 0; kx < TAPS_X; ++kx) {
            int at0 = tap_at(row0, ky, kx);
#if TM == 4
            int at1 = tap_at(row1, ky, kx), at2 = tap_at(row2, ky, kx), at3 = tap_at(row3, ky, kx);
#endif
#if WIDE
            for (int chunk = 0; chunk < K; chunk += WIDE_PRODUCTS) {
                int end = min(chunk + WIDE_PRODUCTS, K);
                for (int begin = chunk; begin < end; begin += 4 * STEPS) {
                    REPEAT(BLOCK)
                }
                pending += CHUNK;
                if (pending > WIDE_PRODUCTS - CHUNK) {
                    FLUSH
                    pending = 0;
                }
            }
#else
            for (int begin = 0; begin < K; begin += 4 * STEPS) {
                REPEAT(BLOCK)
            }
#endif
        }
    }
#if WIDE
    FLUSH
#endif
    finish(batch, first, quad, RESULT(0));
#if TM == 4
    finish(batch, first + 1, quad, RESULT(1));
    finish(batch, first + 2, quad, RESULT(2));
    finish(batch, first + 3, quad, RESULT(3));
#endif
}
