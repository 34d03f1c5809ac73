// Matrix product through tiles in shared memory, for MATMUL and convolutions. TX x TY invocations make TY*TM rows x
// TX*TN quads of columns: they load DEPTH blocks of the inner dimension of both operands at a time, and each multiplies
// TM rows by TN quads of them in registers. Integers lie there as words of four 8-bit or two 16-bit ones. SPLIT such
// groups of a workgroup share the inner dimension, each with tiles of its own: TAP_SPLIT each has taps of its own, else
// its part of the blocks of each tap. DOT4: products of four 8-bit pairs are
// one instruction, and four blocks of a row, 16 elements, are taken as one: they lie together. PARTS workgroups, each
// with its part of the steps along the inner dimension, make a tile: out0 [PARTS][OUT_ROWS][QUADS] is then what
// gemm_parts.comp adds up. TURNED, of MATRIX with DOT4: turn_columns.comp has made the columns' words.
#extension GL_EXT_control_flow_attributes : require
#include "lib/gemm_operands.glsl"
#include "lib/gemm_columns.glsl"
#include "lib/gemm_sums.glsl"

// Sums are indexed by constants alone, which some drivers need to keep them in registers: macros instead of loops.
#if TN == 2
#define EACH_QUAD(MACRO, m) MACRO(m, 0) MACRO(m, 1)
#else
#define EACH_QUAD(MACRO, m) MACRO(m, 0)
#endif
#define TWO_ROWS(MACRO, m) EACH_QUAD(MACRO, m + 1) EACH_QUAD(MACRO, m)
#define FOUR_ROWS(MACRO, m) TWO_ROWS(MACRO, m) TWO_ROWS(MACRO, m + 2)
#if TM == 8
#define EACH_SUM(MACRO) FOUR_ROWS(MACRO, 0) FOUR_ROWS(MACRO, 4)
#elif TM == 4
#define EACH_SUM(MACRO) FOUR_ROWS(MACRO, 0)
#else
#define EACH_SUM(MACRO) TWO_ROWS(MACRO, 0)
#endif
#define TILE_ROWS (TY * TM)
#define TILE_QUADS (TX * TN)
#define SIZE (TX * TY)
// The group of an invocation. Subgroups are runs of invocations (gemm.comp): where a group has whole ones the compiler
// learns that all of a subgroup have the same.
#if SPLIT == 1
#define PART_OF(all) 0
#elif TOSAVK_LANES > 1 && SIZE % TOSAVK_LANES == 0
#define PART_OF(all) int(subgroupBroadcastFirst(uint((all) / SIZE)))
#else
#define PART_OF(all) ((all) / SIZE)
#endif
#if PARTS > 1
#if FLAT
layout(constant_id = 29) const int PART_COUNT = 2;  // pushed
#define OUT_ROWS ROWS
#else
layout(constant_id = 25) const int OUT_ROWS = 1;  // late: of the output
#define PART_COUNT PARTS
#endif
#endif
#define COLUMN_TILES ((QUADS + TILE_QUADS - 1) / TILE_QUADS)
#define ROW_TILES ((ROWS + TILE_ROWS - 1) / TILE_ROWS)

#include "lib/gemm_tile_blocks.glsl"

// Loads in turn of an invocation, each of a group's invocations another one.
#define ROW_LOADS (TILE_ROWS * DEPTH / SIZE)
#define COLUMN_ITEMS (TILE_QUADS * DEPTH * COLUMN_STEPS)
#define COLUMN_LOADS ((COLUMN_ITEMS + SIZE - 1) / SIZE)
// Where items are fewer than invocations the others load one again, for a place that nobody reads: no load waits for a
// branch.
#define HAS_COLUMN(i) (COLUMN_ITEMS < SIZE || COLUMN_ITEMS % SIZE == 0 || (i) * SIZE + local < COLUMN_ITEMS)

#include "lib/gemm_tile_steps.glsl"
#include "lib/gemm_taps.glsl"
#include "lib/gemm_tile_loads.glsl"

#if SPLIT > 1
shared SUM4 partial[(SPLIT - 1) * SIZE * TN];
#endif

#if DOT4
#define MULTIPLY(i, a, w0, w1, w2, w3) \
    acc[i] += products((a).x, w0);     \
    acc[i] += products((a).y, w1);     \
    acc[i] += products((a).z, w2);     \
    acc[i] += products((a).w, w3);
#else
#define MULTIPLY ADD_FOUR
#endif

void main() {
    int all = int(gl_LocalInvocationID.x), local = all % SIZE, part = PART_OF(all);
    int tx = local % TX, ty = local / TX, group = int(workgroup_index());
#if PARTS > 1
    int workgroup_part = group % PART_COUNT;
    group /= PART_COUNT;
#else
    const int workgroup_part = 0;
#endif
    int first_quad = group % COLUMN_TILES * TILE_QUADS, first = group / COLUMN_TILES % ROW_TILES * TILE_ROWS;
    int batch = group / COLUMN_TILES / ROW_TILES;
    if (batch >= BATCH) return;  // all invocations of the workgroup
    row_zp = X1(ROW_ZERO_POINT);
    column_zp = X1(COLUMN_ZP);
#if TRANSPOSED
    row_at(batch, first);  // how many taps there are
#endif
#if PARTS > 1
    int steps = LOOP_TAPS * TURNS, first_step = steps * workgroup_part / PART_COUNT,
        end_step = steps * (workgroup_part + 1) / PART_COUNT;
#endif

    // Neighbouring invocations load neighbouring blocks of a row.
    int own = local % DEPTH, own_block = (BLOCK_PART * DEPTH + own) * TOGETHER;
    int row_to = part * ROW_TILE + own * ROW_PITCH + local / DEPTH;
#define OWN_ELEMENT (own_block * 4 * OWN_IN_TAP)
#define ROW_TO(i) (row_to + (i) * (SIZE / DEPTH))
#define LOADED_ROW(i) row_at(batch, first + (i) * (SIZE / DEPTH) + local / DEPTH)
#if MATRIX || FLAT
#define TAP_OF_ROW(i, ky, kx) tap_of(tap_at(LOADED_ROW(i), ky, kx), OWN_ELEMENT)
#else
    // Where loads are few, or taps change with every step, what is known of all taps is worth its registers.
#if ROW_LOADS <= 2
#define KEEPS_TAPS true
#else
#define KEEPS_TAPS (!BY_TAPS)
#endif
    Taps of_rows[ROW_LOADS];
    if (KEEPS_TAPS) {
        [[unroll]] for (int i = 0; i < ROW_LOADS; ++i) of_rows[i] = taps_of(LOADED_ROW(i));
    }
#define TAP_OF_ROW(i, ky, kx) \
    (KEEPS_TAPS ? tap_of(of_rows[i], ky, kx, OWN_ELEMENT) : tap_of(tap_at(LOADED_ROW(i), ky, kx), OWN_ELEMENT))
#endif
    Tap taps[ROW_LOADS];
    // Neighbouring invocations load neighbouring quads of B, or consecutive weights of a quad.
#if MATRIX && !TURNED
    int item = COLUMN_ITEMS < SIZE ? min(local, COLUMN_ITEMS - 1) : local;
    int e = item / TILE_QUADS, q = item % TILE_QUADS;
    int weights_to = part * COLUMN_TILE + e * COLUMN_PITCH + (item == local ? q : TILE_QUADS);
    int quad = min(first_quad + q, QUADS - 1);
#define WEIGHT_TO(i) (weights_to + (i) * (SIZE / TILE_QUADS) * COLUMN_PITCH)
#define INNER(i) (e + (i) * (SIZE / TILE_QUADS))
    // Inner elements of an item, and where the first item of the first step lies.
#define ITEM (4 * TOGETHER / COLUMN_STEPS)
    int columns_at = COLUMN_AT_K(batch, part * DEPTH * TOGETHER * 4 + e * ITEM, quad);
#else
#define STEP_WEIGHTS (DEPTH * COLUMN_STEPS)
#if TURNED
#define QUAD_WEIGHTS(quad) TURNED_QUAD(batch, quad)
#define MOST_WEIGHTS TURNED_BLOCKS
#else
#define QUAD_WEIGHTS(quad) (COLUMN_QUAD(quad) * MOST_WEIGHTS)
#define MOST_WEIGHTS (MOST_BLOCKS * COLUMN_STEPS / TOGETHER)
#endif
#define TAP_WEIGHTS (K_BLOCKS * (COLUMN_STEPS / TOGETHER))
    int e = local % STEP_WEIGHTS, q = local / STEP_WEIGHTS;
    int weights_to = part * COLUMN_TILE + e * COLUMN_PITCH + (COLUMN_ITEMS < SIZE ? min(q, TILE_QUADS) : q);
    if (COLUMN_ITEMS < SIZE) q = min(q, TILE_QUADS - 1);
#define WEIGHT_TO(i) (weights_to + (i) * (SIZE / STEP_WEIGHTS))
#define INNER(i) e
    // Where all quads are within, those of all loads lie as far apart.
#if FLAT
#define WEIGHT_AT(i) weights[i]
#else
#define WEIGHT_AT(i) (QUADS % TILE_QUADS == 0 ? weights[0] + (i) * (SIZE / STEP_WEIGHTS) * MOST_WEIGHTS : weights[i])
#endif
    int weights[COLUMN_LOADS];
    [[unroll]] for (int i = 0; i < COLUMN_LOADS; ++i) {
        int quad = min(first_quad + q + i * (SIZE / STEP_WEIGHTS), QUADS - 1);
        weights[i] = QUAD_WEIGHTS(quad) + BLOCK_PART * DEPTH * COLUMN_STEPS + e;
        if (BY_TAPS) weights[i] += (TAPS_BEFORE + FIRST_TAP) * TAP_WEIGHTS;
    }
#endif

    SUMS(TM * TN)
#define CLEAR(m, n) CLEAR_SUM((m) * TN + n)
    EACH_SUM(CLEAR)
#if DOT4
    int row_sums[TM];
#define CLEAR_ROW(m, n) row_sums[m] = 0;
    EACH_SUM(CLEAR_ROW)
#if MATRIX
    ivec4 column_sums[TN];
    [[unroll]] for (int n = 0; n < TN; ++n) column_sums[n] = ivec4(0);
#endif
#endif
#define FLUSH(m, n) FLUSH_SUM((m) * TN + n)
#if WIDE
    int pending = 0;
#endif
    int row_from = part * ROW_TILE + FIRST_ROW, column_from = part * COLUMN_TILE + tx;
#if X_FLOAT || DOT4
    // An address that has been used before the loop stays in one register, and so does a buffer's descriptor. Of other
    // addresses AMD's compiler keeps the summands, and adds and shifts them in each step; it loads descriptors there.
#if MATRIX && !TURNED
#define FIRST_COLUMNS column_block(0, 0, 0, 0)
#elif X_FLOAT
#define FIRST_COLUMNS in1_load4q(0u)
#else
#define FIRST_COLUMNS weight_words(0u)
#endif
    row_tile[SHARED_STORE(0u, ROW_WORDS, row_from)] = ROW_BLOCK(row_word(Tap(true, 0u), 0));
    column_tile[SHARED_STORE(1u, COLUMN_WORDS, column_from)] = FIRST_COLUMNS;
    barrier();
    if (HAS_COLUMN(0)) column_tile[SHARED_STORE(1u, COLUMN_WORDS, WEIGHT_TO(0))] = COLUMN_BLOCK(0);
    if (!(LATE_PADDING && PADDED)) row_tile[SHARED_STORE(0u, ROW_WORDS, ROW_TO(0))] = ROW_BLOCK(0);
#endif
    // All parts take as many turns, since they wait for each other.
    for (int tap = FIRST_TAP; tap < END_TAP; ++tap) {
        int own_tap = TAPS_BEFORE + tap;
        if (BY_TAPS) {
            [[unroll]] for (int i = 0; i < ROW_LOADS; ++i)
                taps[i] = TAP_OF_ROW(i, own_tap / TAPS_X, own_tap % TAPS_X);
        }
#ifdef SPARE_ROW
        // The padding is put in once a tap, and what is loaded for it goes where nobody reads it: fewer instructions
        // than a choice in each step. All have read the last step's rows by now.
        int rows_to[ROW_LOADS];
        if (LATE_PADDING && PADDED) {
            [[unroll]] for (int i = 0; i < ROW_LOADS; ++i) {
                row_tile[SHARED_STORE(0u, ROW_WORDS, ROW_TO(i))] = ROW_BLOCK(PADDING_ROW);
                rows_to[i] = taps[i].inside ? ROW_TO(i) : part * ROW_TILE + own * ROW_PITCH + SPARE_ROW;
                row_tile[SHARED_STORE(0u, ROW_WORDS, rows_to[i])] = ROW_BLOCK(PADDING_ROW);  // for its address alone
            }
        }
#endif
        [[dont_unroll]] for (int turn = FIRST_BLOCK(tap); turn < END_BLOCK(tap); turn += STEP) {
            // All loads come before all stores, and what was loaded last is stored first: one wait is enough.
            int begin = STEP_BEGIN(turn), had = BLOCKS_HAD(turn, begin);
            ROW_BLOCK row_blocks[ROW_LOADS];
            [[unroll]] for (int j = 0; j < TOGETHER; ++j) {
                int block = begin + own_block + j, tap_block = begin + j + own_block * (1 - OWN_IN_TAP);
                bool inside = WITHIN(block);
                if (!BY_TAPS) {
                    Block at = block_at(block);
                    tap_block = at.k / 4;
                    [[unroll]] for (int i = 0; i < ROW_LOADS; ++i)
                        taps[i] = TAP_OF_ROW(i, at.ky, at.kx);
                }
                [[unroll]] for (int i = 0; i < ROW_LOADS; ++i) {
                    ROW_WORD word = NO_ROW;
                    if (inside) word = row_word(taps[i], tap_block);
#if DOT4
                    row_blocks[i][j] = word;
#else
                    row_blocks[i] = word;
#endif
                }
            }
            COLUMN_BLOCK column_blocks[COLUMN_LOADS];
            [[unroll]] for (int i = 0; i < COLUMN_LOADS; ++i) {
                int block = begin + BLOCK_PART * DEPTH * TOGETHER + INNER(i) * TOGETHER / COLUMN_STEPS;
                column_blocks[i] = COLUMN_BLOCK(0);
                if (HAS_COLUMN(i) && WITHIN(block)) {
#if MATRIX && !TURNED
                    int from = begin * 4 + i * (SIZE / TILE_QUADS) * ITEM;
                    int k = from + part * DEPTH * TOGETHER * 4 + e * ITEM;
                    column_blocks[i] = column_block(batch, quad, k, columns_at + from * (COLUMNS / 4));
#elif X_FLOAT
                    column_blocks[i] = in1_load4q(uint(WEIGHT_AT(i) + begin * (COLUMN_STEPS / TOGETHER)));
#else
                    column_blocks[i] = weight_words(uint(WEIGHT_AT(i) + begin * (COLUMN_STEPS / TOGETHER)));
#endif
                }
            }
#if DOT4
            if (CUTS) {
                [[unroll]] for (int i = 0; i < TOGETHER * ROW_LOADS; ++i) {
                    bool is_old = own * TOGETHER + i % TOGETHER < had;
                    if (CUTS_ROWS && is_old) row_blocks[i / TOGETHER][i % TOGETHER] = NO_ROW;
                }
                [[unroll]] for (int i = 0; i < COLUMN_LOADS; ++i) {
                    if (CUTS_COLUMNS && INNER(i) < had) column_blocks[i] = COLUMN_BLOCK(0);
                }
            }
#endif
            [[unroll]] for (int i = COLUMN_LOADS - 1; i >= 0; --i) {
                if (HAS_COLUMN(i)) column_tile[SHARED_STORE(1u, COLUMN_WORDS, WEIGHT_TO(i))] = column_blocks[i];
            }
            [[unroll]] for (int i = ROW_LOADS - 1; i >= 0; --i) {
#ifdef SPARE_ROW
                row_tile[SHARED_STORE(0u, ROW_WORDS, LATE_PADDING && PADDED ? rows_to[i] : ROW_TO(i))] = row_blocks[i];
#else
                bool keep = !(LATE_PADDING && PADDED) || taps[i].inside;
                row_tile[SHARED_STORE(0u, ROW_WORDS, ROW_TO(i))] = keep ? row_blocks[i] : ROW_BLOCK(PADDING_ROW);
#endif
            }
            barrier();
#if X_FLOAT || (DOT4 && (!MATRIX || TURNED || DEPTH != 2))
            [[unroll]]
#elif DOT4
            [[dont_unroll]]  // all loads at once, beside sums for both zero points, are more than few registers hold
#endif
            for (int b = 0; b < DEPTH; ++b) {
                // Asked of blocks that no step can have had too: Intel's compiler spills where it sees several at once.
                if (BEGINS_EARLIER && (HAS_HAD_ALL || b + 1 < DEPTH) && had >= (b + 1) * TOGETHER) continue;
                // Constants come last, where they are part of a load.
#define ROW(m) row_tile[SHARED_LOAD(0u, ROW_WORDS, row_from + (b * ROW_PITCH + ROW_STEP * (m)))]
#define COLUMN_AT(c, n) (column_from + (((b) * COLUMN_STEPS + (c)) * COLUMN_PITCH + (n) * TX))
#define COLUMN(c, n) column_tile[SHARED_LOAD(1u, COLUMN_WORDS, COLUMN_AT(c, n))]
#if X_FLOAT || DOT4
                X4 w[4 * TN];
                [[unroll]] for (int i = 0; i < 4 * TN; ++i) w[i] = COLUMN(i % 4, i / 4);
                // Two rows at a time, the second one first: it is the only one to wait for.
#define MULTIPLY_QUAD(m, n) MULTIPLY((m) * TN + n, two[(m) % 2], w[4 * n], w[4 * n + 1], w[4 * n + 2], w[4 * n + 3])
#define MULTIPLY_ROWS(m)                        \
    {                                           \
        X4 two[2];                              \
        two[0] = ROW(m);                        \
        two[1] = ROW(m + 1);                    \
        TWO_ROWS(MULTIPLY_QUAD, m)              \
        COUNT_ROW(m, two[0])                    \
        COUNT_ROW(m + 1, two[1])                \
    }
#if DOT4
#define COUNT_ROW(m, row)                                                                                 \
    if (column_zp != 0)                                                                                   \
        row_sums[m] = SUM_OF_ROW(row.x) + SUM_OF_ROW(row.y) + SUM_OF_ROW(row.z) + SUM_OF_ROW(row.w) + row_sums[m];
#else
#define COUNT_ROW(m, row)
#endif
                MULTIPLY_ROWS(0)
#if TM >= 4
                MULTIPLY_ROWS(2)
#endif
#if TM == 8
                MULTIPLY_ROWS(4)
                MULTIPLY_ROWS(6)
#endif
#if DOT4 && MATRIX && !TURNED
                if (row_zp != 0) {
                    [[unroll]] for (int i = 0; i < 4 * TN; ++i) column_sums[i / 4] += products(ONES, w[i]);
                }
#endif
#else
#if WIDE && MATRIX
#define COLUMN_ELEMENTS(n)                                                                                        \
    X4 w00 = unpack_i16(COLUMN(0, n)) - column_zp, w01 = unpack_i16(COLUMN(1, n)) - column_zp,                    \
       w02 = unpack_i16(COLUMN(2, n)) - column_zp, w03 = unpack_i16(COLUMN(3, n)) - column_zp;
#else
#define COLUMN_ELEMENTS(n)                                                                                        \
    ivec4 words = COLUMN(0, n);                                                                                   \
    X4 w00 = unpack_i8(words.x) - column_zp, w01 = unpack_i8(words.y) - column_zp,                                \
       w02 = unpack_i8(words.z) - column_zp, w03 = unpack_i8(words.w) - column_zp;
#endif
#define MULTIPLY_ROW(m, n)                                         \
    {                                                              \
        X4 x = FOUR_ROW_ELEMENTS(ROW(m));                          \
        MULTIPLY((m) * TN + n, x, w00, w01, w02, w03)              \
    }
#define MULTIPLY_COLUMNS(n)                                                                                       \
    {                                                                                                             \
        COLUMN_ELEMENTS(n)                                                                                        \
        MULTIPLY_ROW(0, n) MULTIPLY_ROW(1, n) MORE_ROWS(n) LAST_ROWS(n)                  \
    }
#if TM == 8
#define LAST_ROWS(n) MULTIPLY_ROW(4, n) MULTIPLY_ROW(5, n) MULTIPLY_ROW(6, n) MULTIPLY_ROW(7, n)
#else
#define LAST_ROWS(n)
#endif
#if TM >= 4
#define MORE_ROWS(n) MULTIPLY_ROW(2, n) MULTIPLY_ROW(3, n)
#else
#define MORE_ROWS(n)
#endif
                MULTIPLY_COLUMNS(0)
#if TN == 2
                MULTIPLY_COLUMNS(1)
#endif
#endif
            }
            barrier();
#if HALF
#if DEPTH > FLUSH_BLOCKS
#error a step has more products than a sum of fp16 may have
#endif
            EACH_SUM(FLUSH)
#elif WIDE
            pending += DEPTH;
            if (pending > FLUSH_BLOCKS - DEPTH) {
                EACH_SUM(FLUSH)
                pending = 0;
            }
#endif
        }
#if !MATRIX
        [[unroll]] for (int i = 0; i < COLUMN_LOADS; ++i) weights[i] += TAP_WEIGHTS;
#endif
    }
#if WIDE
    EACH_SUM(FLUSH)
#endif
#if DOT4
    // (a - za) (w - zw) = a w - za w - zw a + za zw, the second and the last in the bias unless MATRIX: the last as
    // often as there are elements, those past the end of K included.
#if TURNED
    if (part + workgroup_part == 0) {
        [[unroll]] for (int n = 0; n < TN; ++n)
            column_sums[n] = turned_sums(batch, min(first_quad + n * TX + tx, QUADS - 1));
    }
#endif
#if MATRIX
#define CORRECT(m, n) \
    acc[(m) * TN + n] +=                                                                                  \
        row_zp * ((part + workgroup_part == 0 ? 4 * BLOCKS * column_zp : 0) - column_sums[n]) -           \
        row_sums[m] * column_zp;
#else
#define CORRECT(m, n) acc[(m) * TN + n] -= row_sums[m] * column_zp;
#endif
    EACH_SUM(CORRECT)
#endif

    // What follows is compiled TN times: the sums of the next row move down.
#if PARTS > 1
#define STORE(to, quad, n) \
    out0_store4(uint(((workgroup_part * OUT_ROWS + (to)) * QUADS + (quad)) * 4), OF_SUM(SUM(n)));
#else
    TOTAL4 bias[TN];
    [[unroll]] for (int n = 0; n < TN; ++n) bias[n] = bias4(batch, min(first_quad + n * TX + tx, QUADS - 1));
#define STORE(to, quad, n) \
    FUSED(uint((to) * COLUMNS + (quad) * 4), uint(min(COLUMNS - (quad) * 4, 4)), TOTAL_ADD(SUM(n), bias[n]));
#endif
    [[dont_unroll]] for (int r = 0; r < TM; ++r) {
#if SPLIT > 1
        [[unroll]] for (int n = 0; n < TN; ++n) {
            if (part > 0) partial[((part - 1) * TN + n) * SIZE + local] = SUM(n);
        }
        barrier();
        if (part == 0) {
            [[unroll]] for (int n = 0; n < TN; ++n) {
                [[unroll]] for (int p = 0; p + 1 < SPLIT; ++p) SUM(n) += partial[(p * TN + n) * SIZE + local];
            }
        }
        barrier();
#endif
        int row = first + FIRST_ROW + ROW_STEP * r;
        if (part == 0 && row < ROWS) {
            int to = output_row(batch, row);
            [[unroll]] for (int n = 0; n < TN; ++n) {
                int quad = first_quad + n * TX + tx;
                if (quad < QUADS && IS_STORED(to)) STORE(to, quad, n)
            }
        }
#define MOVE(m) SUM((m) * TN) = SUM((m) * TN + TN), SUM((m) * TN + TN - 1) = SUM((m) * TN + 2 * TN - 1);
        MOVE(0)
#if TM >= 4
        MOVE(1) MOVE(2)
#endif
#if TM == 8
        MOVE(3) MOVE(4) MOVE(5) MOVE(6)
#endif
    }
}
