// Matrix product through tiles in shared memory, for MATMUL and convolutions. A workgroup of TX x TY invocations
// makes TY*TM rows x TX*TN quads of columns; it loads DEPTH blocks of the inner dimension of both operands at a time,
// and each invocation multiplies TM rows by TN quads of them in registers. Integers lie there as words of four 8-bit
// or two 16-bit ones. DOT4: products of four 8-bit pairs are one instruction.
#include "lib/gemm_operands.glsl"
#include "lib/gemm_sums.glsl"

#define DEPTH 4
#define TILE_ROWS (TY * TM)
#define TILE_QUADS (TX * TN)
#define SIZE (TX * TY)
#define ROW_LOADS (TILE_ROWS * DEPTH / SIZE)
const int COLUMN_TILES = (QUADS + TILE_QUADS - 1) / TILE_QUADS;
#define ROW_TILES ((ROWS + TILE_ROWS - 1) / TILE_ROWS)

#if X_FLOAT
#define ROW_BLOCK vec4
#define COLUMN_BLOCK vec4
#define COLUMN_STEPS 4
#define FOUR_ROW_ELEMENTS(a) (a)
#elif WIDE
#define ROW_BLOCK ivec2
#define FOUR_ROW_ELEMENTS(a) (unpack_i16(a) - row_zp)
#if MATRIX
#define COLUMN_BLOCK ivec2
#define COLUMN_STEPS 4
#else
#define COLUMN_BLOCK ivec4
#define COLUMN_STEPS 1
#endif
#else
#define ROW_BLOCK int
#define COLUMN_BLOCK ivec4
#define COLUMN_STEPS 1
#define FOUR_ROW_ELEMENTS(a) (unpack_i8(a) - row_zp)
#endif
// [block][row] and [block, and for floats inner element][quad]
shared ROW_BLOCK row_tile[DEPTH * TILE_ROWS];
shared COLUMN_BLOCK column_tile[DEPTH * COLUMN_STEPS * TILE_QUADS];

ROW_BLOCK row_block(Row row, Block at) {
    int tap = tap_at(row, at.ky, at.kx);
#if X_FLOAT
    return row4(tap, at.k);
#elif WIDE
    return pack_i16(row4(tap, at.k) + row_zp);
#else
    return row_word(tap, at.k);
#endif
}

void load_columns(int batch, int quad, int block, int k, int to) {
#if X_FLOAT
    LOAD_COLUMNS(0, quad)
    column_tile[to] = w00;
    column_tile[to + TILE_QUADS] = w01;
    column_tile[to + 2 * TILE_QUADS] = w02;
    column_tile[to + 3 * TILE_QUADS] = w03;
#elif MATRIX && WIDE
    LOAD_COLUMNS(0, quad)
    column_tile[to] = pack_i16(w00 + column_zp);
    column_tile[to + TILE_QUADS] = pack_i16(w01 + column_zp);
    column_tile[to + 2 * TILE_QUADS] = pack_i16(w02 + column_zp);
    column_tile[to + 3 * TILE_QUADS] = pack_i16(w03 + column_zp);
#elif MATRIX
    LOAD_COLUMNS(0, quad)
#if DOT4
    column_tile[to] = ivec4(
        pack_i8(ivec4(w00.x, w01.x, w02.x, w03.x) + column_zp), pack_i8(ivec4(w00.y, w01.y, w02.y, w03.y) + column_zp),
        pack_i8(ivec4(w00.z, w01.z, w02.z, w03.z) + column_zp), pack_i8(ivec4(w00.w, w01.w, w02.w, w03.w) + column_zp));
#else
    column_tile[to] =
        ivec4(pack_i8(w00 + column_zp), pack_i8(w01 + column_zp), pack_i8(w02 + column_zp), pack_i8(w03 + column_zp));
#endif
#else
    column_tile[to] = in1_load4(uint((COLUMN_QUAD(quad) * MOST_BLOCKS + block) * 4));
#endif
}

void main() {
    int local = int(gl_LocalInvocationID.x), tx = local % TX, ty = local / TX, group = int(workgroup_index());
    int first_quad = group % COLUMN_TILES * TILE_QUADS, first = group / COLUMN_TILES % ROW_TILES * TILE_ROWS;
    int batch = group / COLUMN_TILES / ROW_TILES;
    if (batch >= BATCH) return;  // all invocations of the workgroup
    row_zp = X1(ROW_ZP);
    column_zp = X1(COLUMN_ZP);

    // Neighbouring invocations load neighbouring blocks of a row.
    Row rows[ROW_LOADS];
    for (int i = 0; i < ROW_LOADS; ++i) rows[i] = row_at(batch, first + (i * SIZE + local) / DEPTH);
    int own = local % DEPTH;

    SUMS(TM * TN)
    for (int i = 0; i < TM * TN; ++i) { CLEAR_SUM(i) }
#if DOT4
    int row_sums[TM];
    for (int m = 0; m < TM; ++m) row_sums[m] = 0;
#if MATRIX
    ivec4 column_sums[TN];
    for (int n = 0; n < TN; ++n) column_sums[n] = ivec4(0);
#endif
#endif
    for (int step = 0; step < BLOCKS; step += DEPTH) {
        int block = step + own;
        if (block < BLOCKS) {
            Block at = block_at(block);
            for (int i = 0; i < ROW_LOADS; ++i)
                row_tile[own * TILE_ROWS + (i * SIZE + local) / DEPTH] = row_block(rows[i], at);
            for (int q = local / DEPTH; q < TILE_QUADS; q += SIZE / DEPTH) {
                load_columns(batch, min(first_quad + q, QUADS - 1), block, at.k, own * COLUMN_STEPS * TILE_QUADS + q);
            }
        }
        barrier();
        int blocks = BLOCKS % DEPTH == 0 ? DEPTH : min(DEPTH, BLOCKS - step);
        for (int b = 0; b < blocks; ++b) {
#if DOT4
            for (int m = 0; m < TM; ++m) {
                int a = row_tile[b * TILE_ROWS + ty * TM + m];
                if (column_zp != 0) row_sums[m] += dot_4x8(a, ONES, 0);
                for (int n = 0; n < TN; ++n) acc[m * TN + n] += products(a, column_tile[b * TILE_QUADS + n * TX + tx]);
            }
#if MATRIX
            if (row_zp != 0) {
                for (int n = 0; n < TN; ++n)
                    column_sums[n] += products(ONES, column_tile[b * TILE_QUADS + n * TX + tx]);
            }
#endif
#else
            for (int n = 0; n < TN; ++n) {
                int at = b * COLUMN_STEPS * TILE_QUADS + n * TX + tx;
#if X_FLOAT
                X4 w00 = column_tile[at], w01 = column_tile[at + TILE_QUADS], w02 = column_tile[at + 2 * TILE_QUADS],
                   w03 = column_tile[at + 3 * TILE_QUADS];
#elif WIDE && MATRIX
                X4 w00 = unpack_i16(column_tile[at]) - column_zp,
                   w01 = unpack_i16(column_tile[at + TILE_QUADS]) - column_zp,
                   w02 = unpack_i16(column_tile[at + 2 * TILE_QUADS]) - column_zp,
                   w03 = unpack_i16(column_tile[at + 3 * TILE_QUADS]) - column_zp;
#else
                ivec4 words = column_tile[at];
                X4 w00 = unpack_i8(words.x) - column_zp, w01 = unpack_i8(words.y) - column_zp,
                   w02 = unpack_i8(words.z) - column_zp, w03 = unpack_i8(words.w) - column_zp;
#endif
                for (int m = 0; m < TM; ++m) {
                    X4 x = FOUR_ROW_ELEMENTS(row_tile[b * TILE_ROWS + ty * TM + m]);
#if WIDE
                    ADD(m * TN + n, x.x, w00)
                    ADD(m * TN + n, x.y, w01)
                    ADD(m * TN + n, x.z, w02)
                    ADD(m * TN + n, x.w, w03)
#else
                    acc[m * TN + n] += x.x * w00 + x.y * w01 + x.z * w02 + x.w * w03;
#endif
                }
            }
#endif
        }
        barrier();
#if WIDE
        // DEPTH divides FLUSH_BLOCKS.
        if (step % FLUSH_BLOCKS == FLUSH_BLOCKS - DEPTH) {
            for (int i = 0; i < TM * TN; ++i) { FLUSH_SUM(i) }
        }
#endif
    }
#if WIDE
    for (int i = 0; i < TM * TN; ++i) { FLUSH_SUM(i) }
#endif

    // What follows is compiled TN times: the sums of the next row move down.
    TOTAL4 bias[TN];
    for (int n = 0; n < TN; ++n) {
        int quad = min(first_quad + n * TX + tx, QUADS - 1);
        bias[n] = bias4(batch, quad);
#if DOT4 && MATRIX
        // (a - za) (w - zw) = a w - za w - zw a + za zw, the last as often as there are elements, those past the end
        // included.
        bias[n] += row_zp * (4 * BLOCKS * column_zp - column_sums[n]);
#endif
    }
    int count = min(ROWS - first - ty * TM, TM);
    for (int r = 0; r < count; ++r) {
        int to = output_row(batch, first + ty * TM + r);
        for (int n = 0; n < TN; ++n) {
            int quad = first_quad + n * TX + tx;
            TOTAL4 sum = TOTAL_ADD(SUM(n), bias[n]);
#if DOT4
            sum -= row_sums[0] * column_zp;
#endif
            if (quad < QUADS && IS_STORED(to))
                FUSED(uint(to * COLUMNS + quad * 4), uint(min(COLUMNS - quad * 4, 4)), sum);
        }
        for (int i = 0; i + TN < TM * TN; ++i) SUM(i) = SUM(i + TN);
#if DOT4
        for (int m = 0; m + 1 < TM; ++m) row_sums[m] = row_sums[m + 1];
#endif
    }
}
