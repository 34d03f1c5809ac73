// How gemm_tiles.comp lays out its tiles in shared memory: what a block of a row or of a quad of columns is there, in
// words, and how far apart they lie.
#if X_FLOAT
#define ROW_BLOCK X4
#define COLUMN_BLOCK X4
#if HALF
#define ROW_WORDS 2u
#define COLUMN_WORDS 2u
#else
#define ROW_WORDS 4u
#define COLUMN_WORDS 4u
#endif
#define COLUMN_STEPS 4
#elif DOT4
#define ROW_BLOCK ivec4
#define ROW_WORDS 4u
#define COLUMN_BLOCK ivec4
#define COLUMN_WORDS 4u
#define COLUMN_STEPS 4
#elif WIDE
#define ROW_BLOCK ivec2
#define ROW_WORDS 2u
#define FOUR_ROW_ELEMENTS(a) (unpack_i16(a) - row_zp)
#if MATRIX
#define COLUMN_BLOCK ivec2
#define COLUMN_WORDS 2u
#define COLUMN_STEPS 4
#else
#define COLUMN_BLOCK ivec4
#define COLUMN_WORDS 4u
#define COLUMN_STEPS 1
#endif
#else
#define ROW_BLOCK int
#define ROW_WORDS 1u
#define COLUMN_BLOCK ivec4
#define COLUMN_WORDS 4u
#define COLUMN_STEPS 1
#define FOUR_ROW_ELEMENTS(a) (unpack_i8(a) - row_zp)
#endif
// Blocks of the inner dimension in a block of a row.
#if DOT4
#define TOGETHER 4
#else
#define TOGETHER 1
#endif
// Rows of 16 bytes lie TY apart, and one more than the tile has lies between blocks: neighbouring invocations then
// read and write neighbouring banks. Smaller ones lie side by side, so that several are one load.
#if X_FLOAT || DOT4
#define FIRST_ROW ty
#define ROW_STEP TY
#define ROW_PITCH (TILE_ROWS + 1)
#define SPARE_ROW TILE_ROWS
#else
#define FIRST_ROW (ty * TM)
#define ROW_STEP 1
#define ROW_PITCH TILE_ROWS
#endif
#define COLUMN_PITCH (TILE_QUADS + 1)
#define ROW_TILE (DEPTH * ROW_PITCH)
#define COLUMN_TILE (DEPTH * COLUMN_STEPS * COLUMN_PITCH)
// [block][row] and [block, and of floats its inner element, of DOT4 its inner block][quad]
shared ROW_BLOCK row_tile[SPLIT * ROW_TILE];
shared COLUMN_BLOCK column_tile[SPLIT * COLUMN_TILE];
