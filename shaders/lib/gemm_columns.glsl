// Quads of columns of a matrix product (gemm_operands.glsl), for kernels that hold those of a whole block.

// Two quads of weights; `at` counts quads.
#ifdef IN1_EIGHTS
#define COLUMNS8(at, a, b) in1_load8((at) * 4u, a, b);
#else
#define COLUMNS8(at, a, b) a = in1_load4q(at), b = in1_load4q((at) + 1u);
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
