// Matrix product by cooperative matrices (VK_KHR_cooperative_matrix), for MATMUL and convolutions of i8 and fp16. A
// workgroup is SX x SY subgroups, each of which makes FR x FC matrices of CM x CN results; it loads DEPTH blocks of
// the inner dimension of both operands at a time into shared memory, as words of four i8 or two fp16, the next ones
// while it multiplies. Rows and columns lie there alike, their inner elements side by side: what a lane holds of a
// matrix is then a vector in memory. Results go through the same memory to where invocations have rows of quads again.
//   in1  of convolutions: turned blocks, a word (fp16: two) of inner elements for each of four columns
//   fp16 operands are read as i16, which they stay: nothing converts them.
// The matrices hold the elements themselves. What zero points add is corrected for: ROW_SUMS and COLUMN_SUMS say
// whether sums of rows (for the columns' zero point) and of columns (for the rows') are made here; else they are
// zero, or the bias has them (kernels/product/product.hpp).
#include "lib/gemm_operands.glsl"

#define INNER (4 * DEPTH)
#define TILE_ROWS (SY * FR * CM)
#define TILE_COLUMNS (SX * FC * CN)
#define TILE_QUADS (TILE_COLUMNS / 4)
#define SIZE (SX * SY * SUBGROUP)
#define ROW_LOADS (TILE_ROWS * DEPTH / SIZE)
#define COLUMN_LOADS (TILE_QUADS * DEPTH / SIZE)
const int COLUMN_TILES = (COLUMNS + TILE_COLUMNS - 1) / TILE_COLUMNS;
#define ROW_TILES ((ROWS + TILE_ROWS - 1) / TILE_ROWS)

// Types are given by their width, the kind of the number being the kind of the type: spirv/cooperative_types.cpp.
// SIGNS says of A, B, C and the result whether their components are signed.
#if X_FLOAT
#define BLOCK uvec2
#define WORDS 2
#define COOPERATIVE_TYPE(COMPONENT, M, N, USE) \
    spirv_type(extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022, 9], id = 4456, COMPONENT, 3, M, N, \
               USE)
#define MATRIX_A COOPERATIVE_TYPE(16.0, CM, CK, 0)
#define MATRIX_B COOPERATIVE_TYPE(16.0, CK, CN, 1)
#define MATRIX_C COOPERATIVE_TYPE(32.0, CM, CN, 2)
#define SIGNS 0
BLOCK pack(ivec4 v) { return uvec2(pack_i16(v)); }
#else
#define BLOCK uint
#define WORDS 1
#define COOPERATIVE_TYPE(COMPONENT, M, N, USE) \
    spirv_type(extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022, 39], id = 4456, COMPONENT, 3, M, N, \
               USE)
#define MATRIX_A COOPERATIVE_TYPE(8, CM, CK, 0)
#define MATRIX_B COOPERATIVE_TYPE(8, CK, CN, 1)
#define MATRIX_C COOPERATIVE_TYPE(32, CM, CN, 2)
#define SIGNS 15
BLOCK pack(ivec4 v) { return uint(pack_i8(v)); }
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

// Lines of 16 more bytes than they need, so that neighbouring ones lie in different banks.
#define LINE_STRIDE (DEPTH * WORDS + 4)
#define RESULT_STRIDE (TILE_COLUMNS + 4)
#define COLUMNS_FROM (TILE_ROWS * LINE_STRIDE)
#define OPERAND_WORDS (COLUMNS_FROM + TILE_COLUMNS * LINE_STRIDE)
#define RESULT_WORDS (SY * CM * RESULT_STRIDE)
shared VECTOR tile[(OPERAND_WORDS > RESULT_WORDS ? OPERAND_WORDS : RESULT_WORDS) / WIDTH];
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
// loops are unrolled after it has looked for indices that vary. MOVE: each takes what the next one has.
#if FR == 1
#define EACH_ROW(M) M(0)
#define EACH_MOVE(M)
#elif FR == 2
#define EACH_ROW(M) M(0) M(1)
#define EACH_MOVE(M) M(0, 1)
#elif FR == 4
#define EACH_ROW(M) M(0) M(1) M(2) M(3)
#define EACH_MOVE(M) M(0, 1) M(1, 2) M(2, 3)
#else
#define EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)
#define EACH_MOVE(M) M(0, 1) M(1, 2) M(2, 3) M(3, 4) M(4, 5) M(5, 6) M(6, 7)
#endif

BLOCK row_block(Row row, int block) {
    if (block >= BLOCKS) return BLOCK(0);
    Block at = block_at(block);
    int tap = tap_at(row, at.ky, at.kx);
    uint i = uint(max(tap, 0) + at.k);
    ivec4 v;
    if (K % 4 == 0) {
        v = in0_load4(i);
    } else {
        int left = min(K - at.k, 4);
        v = in0_loadn(i, uint(left));
#if X_FLOAT
        v = ivec4(v.x, left > 1 ? v.y : 0, left > 2 ? v.z : 0, left > 3 ? v.w : 0);
#endif  // past the last i8 the weight is its zero point
    }
    return pack(tap < 0 ? ivec4(row_zp) : v);
}

// Inner element k of a quad of columns.
#if MATRIX
BLOCK column_block(int batch, int quad, int k) {
    if (k >= 4 * BLOCKS) return BLOCK(0);
    uint i = uint((batch * K + min(k, K - 1)) * COLUMNS + quad * 4);
    ivec4 v = COLUMNS % 4 == 0 ? in1_load4(i) : in1_loadn(i, uint(min(COLUMNS - quad * 4, 4)));
    return pack(k < K ? v : ivec4(column_zp));
}
#endif

// The inner elements of a block, of four columns.
void load_columns(int batch, int quad, int block, out BLOCK w[4]) {
#if MATRIX
    BLOCK a = column_block(batch, quad, block * 4), b = column_block(batch, quad, block * 4 + 1),
          c = column_block(batch, quad, block * 4 + 2), d = column_block(batch, quad, block * 4 + 3);
#if X_FLOAT
    const uint low = 0xffffu;
    w[0] = uvec2((a.x & low) | (b.x << 16), (c.x & low) | (d.x << 16));
    w[1] = uvec2((a.x >> 16) | (b.x & ~low), (c.x >> 16) | (d.x & ~low));
    w[2] = uvec2((a.y & low) | (b.y << 16), (c.y & low) | (d.y << 16));
    w[3] = uvec2((a.y >> 16) | (b.y & ~low), (c.y >> 16) | (d.y & ~low));
#else
    ivec4 words = turned_bytes(int(a), int(b), int(c), int(d));
    for (int j = 0; j < 4; ++j) w[j] = uint(words[j]);
#endif
#elif X_FLOAT
    uint from = uint((COLUMN_QUAD(quad) * MOST_BLOCKS + min(block, MOST_BLOCKS - 1)) * 16);
    for (int j = 0; j < 4; ++j) w[j] = block < BLOCKS ? pack(in1_load4(from + uint(4 * j))) : BLOCK(0);
#else
    ivec4 words = block < BLOCKS ? in1_load4(uint((COLUMN_QUAD(quad) * MOST_BLOCKS + block) * 4)) : ivec4(0);
    for (int j = 0; j < 4; ++j) w[j] = uint(words[j]);
#endif
}

#if X_FLOAT
void put(int at, BLOCK b) {
    tile[at / WIDTH][at % WIDTH] = b.x;
    tile[at / WIDTH][at % WIDTH + 1] = b.y;
}
#else
void put(int at, BLOCK b) { tile[at / WIDTH][at % WIDTH] = b; }
#endif

// Which of the tile's blocks an invocation loads: neighbours take what lies side by side in memory.
ivec2 row_load(int i, int local) { return ivec2((i * SIZE + local) / DEPTH, (i * SIZE + local) % DEPTH); }
#if MATRIX
ivec2 column_load(int i, int local) { return ivec2((i * SIZE + local) % TILE_QUADS, (i * SIZE + local) / TILE_QUADS); }
#else
ivec2 column_load(int i, int local) { return ivec2((i * SIZE + local) / DEPTH, (i * SIZE + local) % DEPTH); }
#endif

void main() {
    int local = int(gl_LocalInvocationID.x), group = int(workgroup_index());
    int first_quad = group % COLUMN_TILES * TILE_QUADS, first = group / COLUMN_TILES % ROW_TILES * TILE_ROWS;
    int batch = group / COLUMN_TILES / ROW_TILES;
    if (batch >= BATCH) return;  // all invocations of the workgroup
    int sx = int(gl_SubgroupID) % SX, sy = int(gl_SubgroupID) / SX;
    row_zp = X1(ROW_ZP);
    column_zp = X1(COLUMN_ZP);

    Row rows[ROW_LOADS];
    [[unroll]] for (int i = 0; i < ROW_LOADS; ++i) rows[i] = row_at(batch, first + row_load(i, local).x);
#if ROW_SUMS
    for (int i = local; i < TILE_ROWS; i += SIZE) row_sums[i] = 0;
    int row_parts[ROW_LOADS];
    [[unroll]] for (int i = 0; i < ROW_LOADS; ++i) row_parts[i] = 0;
#endif
#if COLUMN_SUMS
    for (int i = local; i < TILE_COLUMNS; i += SIZE) column_sums[i] = 0;
    ivec4 column_parts[COLUMN_LOADS];
    [[unroll]] for (int i = 0; i < COLUMN_LOADS; ++i) column_parts[i] = ivec4(0);
#endif
#define BEGIN(r)           \
    MATRIX_C sums##r[FC];  \
    [[unroll]] for (int c = 0; c < FC; ++c) sums##r[c] = filled(X1(0));
    EACH_ROW(BEGIN)

    BLOCK row_words[ROW_LOADS], column_words[COLUMN_LOADS][4];
#define LOAD(BLOCK_AT)                                                                              \
    [[unroll]] for (int i = 0; i < ROW_LOADS; ++i)                                                  \
        row_words[i] = row_block(rows[i], (BLOCK_AT) + row_load(i, local).y);                       \
    [[unroll]] for (int i = 0; i < COLUMN_LOADS; ++i) {                                             \
        ivec2 at = column_load(i, local);                                                           \
        load_columns(batch, min(first_quad + at.x, QUADS - 1), (BLOCK_AT) + at.y, column_words[i]); \
    }
    LOAD(0)
    for (int step = 0; step < BLOCKS; step += DEPTH) {
        [[unroll]] for (int i = 0; i < ROW_LOADS; ++i) {
            ivec2 at = row_load(i, local);
            put(at.x * LINE_STRIDE + at.y * WORDS, row_words[i]);
#if ROW_SUMS
            ivec4 v = unpack_i8(int(row_words[i]));
            row_parts[i] += v.x + v.y + v.z + v.w;
#endif
        }
        [[unroll]] for (int i = 0; i < COLUMN_LOADS; ++i) {
            ivec2 at = column_load(i, local);
            [[unroll]] for (int j = 0; j < 4; ++j) {
                put(COLUMNS_FROM + (at.x * 4 + j) * LINE_STRIDE + at.y * WORDS, column_words[i][j]);
#if COLUMN_SUMS
                ivec4 v = unpack_i8(int(column_words[i][j]));
                column_parts[i][j] += v.x + v.y + v.z + v.w;
#endif
            }
        }
        exchange();
        if (step + DEPTH < BLOCKS) {
            LOAD(step + DEPTH)
        }
// Inner element k of a line of the tile: rows, then columns.
#define AT(LINE, INNER_AT) (((LINE) * LINE_STRIDE + (INNER_AT) / 4 * WORDS) / WIDTH)
        [[unroll]] for (int k = 0; k < INNER; k += CK) {
#define LOAD_ROWS(r) \
    MATRIX_A a##r = load_a(tile[AT((sy * FR + r) * CM, k)], BY_ROWS, LINE_STRIDE / WIDTH, NON_PRIVATE);
            EACH_ROW(LOAD_ROWS)
            [[unroll]] for (int c = 0; c < FC; ++c) {
                MATRIX_B b =
                    load_b(tile[AT(TILE_ROWS + (sx * FC + c) * CN, k)], BY_COLUMNS, LINE_STRIDE / WIDTH, NON_PRIVATE);
#define MULTIPLY(r) sums##r[c] = multiply_add(a##r, b, sums##r[c], SIGNS);
                EACH_ROW(MULTIPLY)
            }
        }
        exchange();
    }
#if ROW_SUMS
    [[unroll]] for (int i = 0; i < ROW_LOADS; ++i) atomicAdd(row_sums[row_load(i, local).x], row_parts[i]);
#endif
#if COLUMN_SUMS
    [[unroll]] for (int i = 0; i < COLUMN_LOADS; ++i) {
        [[unroll]] for (int j = 0; j < 4; ++j)
            atomicAdd(column_sums[column_load(i, local).x * 4 + j], column_parts[i][j]);
    }
#endif

    // What follows is compiled once: the next row of matrices moves down.
    for (int r = 0; r < FR; ++r) {
        [[unroll]] for (int c = 0; c < FC; ++c) {
            store_c(tile[(sy * CM * RESULT_STRIDE + (sx * FC + c) * CN) / WIDTH], sums0[c], BY_ROWS,
                    RESULT_STRIDE / WIDTH, NON_PRIVATE);
        }
        exchange();
        for (int i = local; i < SY * CM * TILE_QUADS; i += SIZE) {
            int y = i / TILE_QUADS, q = i % TILE_QUADS, quad = first_quad + q;
            int tile_row = y / CM * (FR * CM) + r * CM + y % CM, row = first + tile_row;
            int to = output_row(batch, row);
            if (row < ROWS && quad < QUADS && IS_STORED(to)) {
#if WIDTH == 4
                uvec4 bits = tile[y * (RESULT_STRIDE / 4) + q];
#else
                uvec4 bits = uvec4(tile[y * (RESULT_STRIDE / 2) + 2 * q], tile[y * (RESULT_STRIDE / 2) + 2 * q + 1]);
#endif
                uint n = uint(min(COLUMNS - quad * 4, 4));
#if X_FLOAT
                vec4 sum = uintBitsToFloat(bits) + bias4(batch, quad);
#else
                ivec4 sum = ivec4(bits) + bias4(batch, quad);
#endif
#if ROW_SUMS
                sum -= column_zp * row_sums[tile_row];
#endif
#if COLUMN_SUMS
                sum += row_zp * (4 * BLOCKS * column_zp - ivec4(column_sums[q * 4], column_sums[q * 4 + 1],
                                                                column_sums[q * 4 + 2], column_sums[q * 4 + 3]));
#endif
                FUSED(uint(to * COLUMNS + quad * 4), n, sum);
            }
        }
        exchange();
#define MOVE(r, next) sums##r[c] = sums##next[c];
        [[unroll]] for (int c = 0; c < FC; ++c) { EACH_MOVE(MOVE) }
    }
}
