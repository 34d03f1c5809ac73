// Quads of columns of a matrix product (gemm_operands.glsl), for kernels that hold those of a whole block.

// Two quads of weights; `at` counts quads.
#ifdef IN1_EIGHTS
#define COLUMNS8(at, a, b) in1_load8((at) * 4u, a, b);
#else
#define COLUMNS8(at, a, b) a = in1_load4q(at), b = in1_load4q((at) + 1u);
#endif

#ifndef EACH
#define EACH 1
#endif
#if TURNED
// Where turn_columns.comp has put a quad of columns: its blocks, then what the elements of every SUMMED ones add up to.
#define TURNED_BLOCKS ((K_BLOCKS + (K_BLOCKS + SUMMED - 1) / SUMMED + 3) / 4 * 4)
#define TURNED_QUAD(batch, quad) (((batch) * QUADS + (quad)) * TURNED_BLOCKS)
ivec4 turned_sums(int batch, int quad) {
    uint at = uint(TURNED_QUAD(batch, quad) + K_BLOCKS);
    ivec4 sums = ivec4(0);
    [[dont_unroll]] for (int block = 0; block < K_BLOCKS; block += SUMMED) sums += in1_load4q(at++);
    return sums;
}
#endif

// A quad of columns of inner elements 4 * block .. 4 * block + 3, zero past the last one: w<c>0 to w<c>3.
#if MATRIX && !TURNED
// `at`, where the quad lies in quads of the tensor, counts where rows have whole ones.
X4 column4(int batch, int k, int quad, int at) {
    if (!HAS_QUADS && k >= K) return X4(0);
    X4 v = X4(COLUMNS % 4 == 0
                  ? in1_load4q(uint(at))
                  : in1_loadn(uint((batch * K + k) * COLUMNS + quad * 4), uint(min(COLUMNS - quad * 4, 4))));
    return LESS_COLUMN_ZP(v);
}
X4 column4(int batch, int k, int quad) { return column4(batch, k, quad, COLUMN_AT_K(batch, k, quad)); }
#define LOAD_COLUMNS(c, quad)                                                    \
    X4 w##c##0 = column4(batch, k, quad), w##c##1 = column4(batch, k + 1, quad), \
       w##c##2 = column4(batch, k + 2, quad), w##c##3 = column4(batch, k + 3, quad);
#if EACH == 2
// Two quads side by side, the first one even, of rows of whole such pairs: of fp16 (lib/fast_fp16.glsl).
void columns8(int batch, int k, int quad, out X4 v, out X4 w) {
#ifdef IN1_EIGHTS
    v = w = X4(0);
    if (HAS_QUADS || k < K) in1_load8q(uint((batch * K + k) * (COLUMNS / 8) + quad / 2), v, w);
#else
    v = column4(batch, k, quad);
    w = column4(batch, k, quad + 1);
#endif
}
#define LOAD_COLUMNS8(c, d, quad)                                              \
    X4 w##c##0, w##c##1, w##c##2, w##c##3, w##d##0, w##d##1, w##d##2, w##d##3; \
    columns8(batch, k, quad, w##c##0, w##d##0);                                \
    columns8(batch, k + 1, quad, w##c##1, w##d##1);                            \
    columns8(batch, k + 2, quad, w##c##2, w##d##2);                            \
    columns8(batch, k + 3, quad, w##c##3, w##d##3);
#endif
#elif X_FLOAT && CONVERTS != 2
#define LOAD_COLUMNS(c, quad)                                                                   \
    uint from##c = uint((COLUMN_QUAD(quad) * MOST_BLOCKS + block) * 4);                         \
    X4 w##c##0, w##c##1, w##c##2, w##c##3;                                                      \
    COLUMNS8(from##c, w##c##0, w##c##1)                                                         \
    COLUMNS8(from##c + 2u, w##c##2, w##c##3)
#else
#define LOAD_COLUMNS(c, quad)                                                                   \
    ivec4 words##c = weight_words(uint(COLUMN_QUAD(quad) * MOST_BLOCKS + block));               \
    X4 w##c##0 = X4(unpack_i8(words##c.x)) - column_zp, w##c##1 = X4(unpack_i8(words##c.y)) - column_zp, \
       w##c##2 = X4(unpack_i8(words##c.z)) - column_zp, w##c##3 = X4(unpack_i8(words##c.w)) - column_zp;
#endif
