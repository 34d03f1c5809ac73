// Matrix product by cooperative matrices (VK_KHR_cooperative_matrix), for MATMUL and convolutions of i8 and fp16. A
// workgroup is SX x SY subgroups, each of which makes FR x FC matrices of CM x CN results; it loads DEPTH blocks of
// the inner dimension of both operands at a time into shared memory, as words of four i8 or two fp16, the next ones
// while it multiplies. Rows and columns lie there alike, their inner elements side by side: what a lane holds of a
// matrix is then a vector in memory. Results go through the same memory to where invocations have rows of quads again.
// An invocation moves a unit of UNIT neighbouring blocks at a time; where TAP_UNIT is that many, or DEPTH, taps are
// filled up to whole ones, or to whole steps.
//   in1  of convolutions: [phase][columns/4][units of the phase that has most][4 columns], words of a unit side by side
//   fp16 operands are read as i16, which they stay: nothing converts them.
// With FIRST_STEP the first step stands before the loop: sums that begin there as constants are taken apart into their
// components by Intel's compiler, and all are copied in every turn.
// The matrices hold the elements themselves. What zero points add is corrected for: ROW_SUMS and COLUMN_SUMS say
// whether sums of rows (for the columns' zero point) and of columns (for the rows') are made here; else they are
// zero, or the bias has them (kernels/product/product.hpp).
#include "lib/gemm_operands.glsl"

#define TILE_ROWS (SY * FR * CM)
#define TILE_COLUMNS (SX * FC * CN)
#define TILE_QUADS (TILE_COLUMNS / 4)
#define SIZE (SX * SY * SUBGROUP)
const int COLUMN_TILES = (COLUMNS + TILE_COLUMNS - 1) / TILE_COLUMNS;
#define ROW_TILES ((ROWS + TILE_ROWS - 1) / TILE_ROWS)

// Types are given by their width, the kind of the number being the kind of the type: spirv/cooperative_types.cpp.
// SIGNS says of A, B, C and the result whether their components are signed.
#if X_FLOAT
#define WORDS 2
#define COOPERATIVE_TYPE(COMPONENT, M, N, USE)                                                                       \
    spirv_type(extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022, 9], id = 4456, COMPONENT, 3, M, N, \
               USE)
#define MATRIX_A COOPERATIVE_TYPE(16.0, CM, CK, 0)
#define MATRIX_B COOPERATIVE_TYPE(16.0, CK, CN, 1)
#define MATRIX_C COOPERATIVE_TYPE(32.0, CM, CN, 2)
#define SIGNS 0
#else
#define WORDS 1
#define COOPERATIVE_TYPE(COMPONENT, M, N, USE)                                                                        \
    spirv_type(extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022, 39], id = 4456, COMPONENT, 3, M, N, \
               USE)
#define MATRIX_A COOPERATIVE_TYPE(8, CM, CK, 0)
#define MATRIX_B COOPERATIVE_TYPE(8, CK, CN, 1)
#define MATRIX_C COOPERATIVE_TYPE(32, CM, CN, 2)
#define SIGNS 15
#endif
// Shared memory is of vectors of as many words as a line of a matrix is whole ones of: so the compiler knows that lanes
// may load as many at once.
#if CK / 4 * WORDS >= 4
#define VECTOR uvec4
#define WIDTH 4
#else
#define VECTOR uvec2
#define WIDTH 2
#endif
#define BY_ROWS 0u
#define BY_COLUMNS 1u
#define NON_PRIVATE 0x20
spirv_instruction(id = 4457)
MATRIX_A load_a(spirv_by_reference VECTOR from, uint layout_of, uint stride, spirv_literal uint access);
spirv_instruction(id = 4457)
MATRIX_B load_b(spirv_by_reference VECTOR from, uint layout_of, uint stride, spirv_literal uint access);
spirv_instruction(id = 4458)
void store_c(spirv_by_reference VECTOR to, MATRIX_C c, uint layout_of, uint stride, spirv_literal uint access);
spirv_instruction(id = 4459) MATRIX_C multiply_add(MATRIX_A a, MATRIX_B b, MATRIX_C c, spirv_literal uint signs);
spirv_instruction(id = 80) MATRIX_C filled(X1 value);
// GLSL's own loads and stores of shared memory make each visible or available by itself, a fence each on Intel's GPUs;
// exchange() does so for all.
spirv_instruction(id = 61) VECTOR load_vector(spirv_by_reference VECTOR from, spirv_literal uint access);
spirv_instruction(id = 61) int load_int(spirv_by_reference int from, spirv_literal uint access);
spirv_instruction(id = 62) void store_vector(spirv_by_reference VECTOR to, VECTOR v, spirv_literal uint access);
spirv_instruction(id = 62) void store_word(spirv_by_reference uint to, uint w, spirv_literal uint access);

#define UNIT_WORDS (UNIT * WORDS)
#define LINE_UNITS uint(DEPTH / UNIT)
#define ROW_LOADS (TILE_ROWS * DEPTH / UNIT / SIZE)
#if MATRIX
#define COLUMN_WORDS 4  // one of each of four columns
#else
#define COLUMN_WORDS UNIT_WORDS
#endif
#define COLUMN_LOADS (TILE_COLUMNS * DEPTH * WORDS / COLUMN_WORDS / SIZE)

// Lines of 16 more bytes than they need, so that neighbouring ones lie in different banks.
#define LINE_VECTORS ((DEPTH * WORDS + 4) / WIDTH)
#define RESULT_VECTORS ((TILE_COLUMNS + 4) / WIDTH)
#define TILE_VECTORS ((TILE_ROWS + TILE_COLUMNS) * LINE_VECTORS)
shared VECTOR tile[TILE_VECTORS > SY * CM * RESULT_VECTORS ? TILE_VECTORS : SY * CM * RESULT_VECTORS];
#if ROW_SUMS
shared int row_sums[TILE_ROWS];
#endif
#if COLUMN_SUMS
shared int column_sums[TILE_COLUMNS];
#endif

// barrier(), and what cooperative and other accesses have written is there for both: these make nothing available or
// visible themselves.
void exchange() {
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
}

// The rows of matrices of a subgroup, by name: an array of all of them would be too large for registers to RADV, whose
// loops are unrolled after it has looked for indices that vary.
#if FR == 1
#define EACH_ROW(M) M(0)
#elif FR == 2
#define EACH_ROW(M) M(0) M(1)
#elif FR == 4
#define EACH_ROW(M) M(0) M(1) M(2) M(3)
#else
#define EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)
#endif

#include "lib/gemm_units.glsl"

void put_word(uint line, uint word, uint w) {
    store_word(tile[line * LINE_VECTORS + word / WIDTH][word % WIDTH], w, NON_PRIVATE);
}
// A unit in its line.
void put_unit(uint line, uint unit, uint w[UNIT_WORDS]) {
#if UNIT_WORDS % WIDTH != 0
    [[unroll]] for (uint j = 0; j < UNIT_WORDS; ++j) put_word(line, unit * UNIT_WORDS + j, w[j]);
#else
    uint at = line * LINE_VECTORS + unit * (UNIT_WORDS / WIDTH);
#if WIDTH == 4
    store_vector(tile[at], uvec4(w[0], w[1], w[2], w[3]), NON_PRIVATE);
#else
    [[unroll]] for (uint j = 0; j < UNIT_WORDS / 2; ++j)
        store_vector(tile[at + j], uvec2(w[2 * j], w[2 * j + 1]), NON_PRIVATE);
#endif
#endif
}

#if DOT4
int sum_of_bytes(uint w) { return dot_4x8(int(w), ONES, 0); }
#else
int sum_of_bytes(uint w) {
    ivec4 v = unpack_i8(int(w));
    return v.x + v.y + v.z + v.w;
}
#endif

void main() {
    uint local = gl_LocalInvocationID.x, group = workgroup_index();
    uint group_row = group / uint(COLUMN_TILES), group_batch = group_row / uint(ROW_TILES);
    int first_quad = int(group - group_row * uint(COLUMN_TILES)) * TILE_QUADS,
        first = int(group_row - group_batch * uint(ROW_TILES)) * TILE_ROWS, batch = int(group_batch);
    if (batch >= BATCH) return;  // all invocations of the workgroup
    uint sx = gl_SubgroupID % SX, sy = gl_SubgroupID / SX;
    row_zp = X1(ROW_ZP);
    column_zp = X1(COLUMN_ZP);

    // Which of the tile's units an invocation loads: neighbours take what lies side by side in memory.
    uint row_line = local / LINE_UNITS, row_unit = local % LINE_UNITS;
#define ROW_LINE(i) (row_line + uint(i) * (SIZE / LINE_UNITS))
    Row rows[ROW_LOADS];
    [[unroll]] for (int i = 0; i < ROW_LOADS; ++i) rows[i] = row_at(batch, first + int(ROW_LINE(i)));
#if MATRIX
#define COLUMN_LINE(i) ((uint(i) * SIZE + local) % TILE_QUADS * 4u)
#define COLUMN_WORD(i) ((uint(i) * SIZE + local) / TILE_QUADS)
#else
    uint column_line = local / (4u * LINE_UNITS) * 4u + local % 4u, column_unit = local / 4u % LINE_UNITS;
#define COLUMN_LINE(i) (column_line + uint(i) * (SIZE / LINE_UNITS))
    uint columns[COLUMN_LOADS];
    [[unroll]] for (int i = 0; i < COLUMN_LOADS; ++i) {
        int quad = min(first_quad + int(COLUMN_LINE(i) / 4u), QUADS - 1);
        columns[i] = uint(COLUMN_QUAD(quad) * UNITS) * 4u + local % 4u;
    }
#endif
#if ROW_SUMS
    for (uint i = local; i < TILE_ROWS; i += SIZE) row_sums[i] = 0;
    int row_parts[ROW_LOADS];
    [[unroll]] for (int i = 0; i < ROW_LOADS; ++i) row_parts[i] = 0;
#endif
#if COLUMN_SUMS
    for (uint i = local; i < TILE_COLUMNS; i += SIZE) column_sums[i] = 0;
    int column_parts[COLUMN_LOADS][MATRIX != 0 ? 4 : 1];
    [[unroll]] for (int i = 0; i < COLUMN_LOADS; ++i) {
        [[unroll]] for (int j = 0; j < (MATRIX != 0 ? 4 : 1); ++j) column_parts[i][j] = 0;
    }
#endif
#define BEGIN(r)          \
    MATRIX_C sums##r[FC]; \
    [[unroll]] for (int c = 0; c < FC; ++c) sums##r[c] = filled(X1(0));
    EACH_ROW(BEGIN)

    BLOCK row_blocks[ROW_LOADS][UNIT];
    uint column_words[COLUMN_LOADS][COLUMN_WORDS];
#if TRANSPOSED
    [[unroll]] for (int i = 0; i < ROW_LOADS; ++i) {  // of a phase without taps
        [[unroll]] for (int j = 0; j < UNIT; ++j) row_blocks[i][j] = BLOCK(0);
    }
    [[unroll]] for (int i = 0; i < COLUMN_LOADS; ++i) {
        [[unroll]] for (int j = 0; j < COLUMN_WORDS; ++j) column_words[i][j] = 0u;
    }
#endif
#if MATRIX
#define COLUMN_AT(i) min(first_quad + int(COLUMN_LINE(i) / 4u), QUADS - 1)
#define LOAD_COLUMN(i, BLOCK_AT) \
    load_columns(batch, COLUMN_AT(i), (BLOCK_AT) * WORDS + int(COLUMN_WORD(i)), column_words[i]);
#else
#define LOAD_COLUMN(i, BLOCK_AT) load_column(columns[i], (BLOCK_AT) + int(column_unit) * UNIT, column_words[i]);
#endif
#define LOAD(BLOCK_AT)                                                       \
    [[unroll]] for (int i = 0; i < ROW_LOADS; ++i)                           \
        load_row(rows[i], (BLOCK_AT) + int(row_unit) * UNIT, row_blocks[i]); \
    [[unroll]] for (int i = 0; i < COLUMN_LOADS; ++i) LOAD_COLUMN(i, BLOCK_AT)
#if ROW_SUMS
#define ADD_ROW(i) \
    [[unroll]] for (int j = 0; j < UNIT; ++j) row_parts[i] += sum_of_bytes(row_blocks[i][j]);
#else
#define ADD_ROW(i)
#endif
#if COLUMN_SUMS
#define ADD_COLUMN(i)                                 \
    [[unroll]] for (int j = 0; j < COLUMN_WORDS; ++j) \
        column_parts[i][MATRIX != 0 ? j : 0] += sum_of_bytes(column_words[i][j]);
#else
#define ADD_COLUMN(i)
#endif
// What was loaded goes into shared memory.
#define PUT                                                       \
    [[unroll]] for (int i = 0; i < ROW_LOADS; ++i) {              \
        put_unit(ROW_LINE(i), row_unit, words_of(row_blocks[i])); \
        ADD_ROW(i)                                                \
    }                                                             \
    [[unroll]] for (int i = 0; i < COLUMN_LOADS; ++i) {           \
        PUT_COLUMN(i)                                             \
        ADD_COLUMN(i)                                             \
    }
#if MATRIX
#define PUT_COLUMN(i)                      \
    [[unroll]] for (int j = 0; j < 4; ++j) \
        put_word(TILE_ROWS + COLUMN_LINE(i) + uint(j), COLUMN_WORD(i), column_words[i][j]);
#else
#define PUT_COLUMN(i) put_unit(TILE_ROWS + COLUMN_LINE(i), column_unit, column_words[i]);
#endif
// Inner element k of a line of the tile: rows, then columns.
#define AT(LINE, K_AT) ((LINE) * LINE_VECTORS + uint(K_AT) / 4u * WORDS / WIDTH)
#define LOAD_ROWS(r) \
    MATRIX_A a##r = load_a(tile[AT(sy * (FR * CM) + r * CM, k)], BY_ROWS, LINE_VECTORS, NON_PRIVATE);
#define MULTIPLY_ROW(r) sums##r[c] = multiply_add(a##r, b, sums##r[c], SIGNS);
#define MULTIPLY                                                                                                       \
    [[unroll]] for (int k = 0; k < 4 * DEPTH; k += CK) {                                                               \
        EACH_ROW(LOAD_ROWS)                                                                                            \
        [[unroll]] for (int c = 0; c < FC; ++c) {                                                                      \
            MATRIX_B b =                                                                                               \
                load_b(tile[AT(TILE_ROWS + sx * (FC * CN) + uint(c) * CN, k)], BY_COLUMNS, LINE_VECTORS, NON_PRIVATE); \
            EACH_ROW(MULTIPLY_ROW)                                                                                     \
        }                                                                                                              \
    }
#define STEP                     \
    PUT                          \
    exchange();                  \
    if (step + DEPTH < BLOCKS) { \
        LOAD(step + DEPTH)       \
    }                            \
    MULTIPLY                     \
    exchange();
    if (BLOCKS > 0) {
        LOAD(0)
    }
    int step = 0;
#if FIRST_STEP
    STEP
    [[dont_unroll]] for (step = DEPTH; step < BLOCKS; step += DEPTH) {  // several turns would take more registers
        STEP
    }
#else
    for (; step < BLOCKS; step += DEPTH) {
        STEP
    }
#endif
#if ROW_SUMS
    [[unroll]] for (int i = 0; i < ROW_LOADS; ++i) atomicAdd(row_sums[ROW_LINE(i)], row_parts[i]);
#endif
#if COLUMN_SUMS
    [[unroll]] for (int i = 0; i < COLUMN_LOADS; ++i) {
        [[unroll]] for (int j = 0; j < (MATRIX != 0 ? 4 : 1); ++j)
            atomicAdd(column_sums[COLUMN_LINE(i) + uint(j)], column_parts[i][j]);
    }
#endif

    // What follows the stores is compiled once. The sums stay where they are: moving them here would be copies in the
    // loop before to Intel's compiler.
    [[dont_unroll]] for (int r = 0; r < FR; ++r) {
#define STORE_ROW(R)                                                                                            \
    if (r == R) {                                                                                               \
        [[unroll]] for (int c = 0; c < FC; ++c)                                                                 \
            store_c(tile[sy * (CM * RESULT_VECTORS) + (sx * FC + uint(c)) * (CN / WIDTH)], sums##R[c], BY_ROWS, \
                    RESULT_VECTORS, NON_PRIVATE);                                                               \
    }
        EACH_ROW(STORE_ROW)
        exchange();
        for (uint i = local; i < SY * CM * TILE_QUADS; i += SIZE) {
            uint y = i / TILE_QUADS, q = i % TILE_QUADS, tile_row = y / CM * (FR * CM) + uint(r) * CM + y % CM;
            int quad = first_quad + int(q), row = first + int(tile_row), to = output_row(batch, row);
            if (row < ROWS && quad < QUADS && IS_STORED(to)) {
                uint at = y * RESULT_VECTORS + q * (4 / WIDTH);
#if WIDTH == 4
                uvec4 bits = load_vector(tile[at], NON_PRIVATE);
#else
                uvec4 bits = uvec4(load_vector(tile[at], NON_PRIVATE), load_vector(tile[at + 1u], NON_PRIVATE));
#endif
                uint n = uint(min(COLUMNS - quad * 4, 4));
#if X_FLOAT
                vec4 sum = uintBitsToFloat(bits) + bias4(batch, quad);
#else
                ivec4 sum = ivec4(bits) + bias4(batch, quad);
#endif
#if ROW_SUMS
                sum -= column_zp * load_int(row_sums[tile_row], NON_PRIVATE);
#endif
#if COLUMN_SUMS
                ivec4 of_columns = ivec4(load_int(column_sums[q * 4u], NON_PRIVATE),
                                         load_int(column_sums[q * 4u + 1u], NON_PRIVATE),
                                         load_int(column_sums[q * 4u + 2u], NON_PRIVATE),
                                         load_int(column_sums[q * 4u + 3u], NON_PRIVATE));
                sum += row_zp * (4 * BLOCKS * column_zp - of_columns);
#endif
                FUSED(uint(to * COLUMNS + quad * 4), n, sum);
            }
        }
        exchange();
    }
}
