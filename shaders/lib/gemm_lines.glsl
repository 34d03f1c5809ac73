// Where the tiles of gemm_direct.comp lie, TM rows each. LINE: those of one are pixels of one line of the output, else
// any that follow each other. The last tile of a line, and of LINE's sisters whose rows lie equally far apart (MATRIX,
// FLAT) the last one of all, begins as much earlier as it would end late, where there are TM rows.
#if LINE && TRANSPOSED
#define LINE_ROWS PHASE_W
#elif LINE
#define LINE_ROWS OW
#else
#define LINE_ROWS ROWS
#endif
#define LINE_TILES ((LINE_ROWS + TM - 1) / TM)
#if LINE
#define ROW_GROUPS (LINE_ROWS % TM == 0 ? ROWS / TM : ROWS / LINE_ROWS * LINE_TILES)
#else
#define ROW_GROUPS LINE_TILES
#endif
#if FLAT
#define MAY_END_LATE true
#else
#define MAY_END_LATE (LINE_ROWS > TM && LINE_ROWS % TM != 0)
#endif
// Whether all rows of a tile are there.
#if FLAT || LINE
#define HAS_WHOLE_TILE true
#elif MATRIX
#define HAS_WHOLE_TILE (ROWS >= TM)
#else
#define HAS_WHOLE_TILE (ROWS % TM == 0)
#endif

// The first row of tile `tile` of a batch; the tile before it makes `skipped` rows of it too.
int first_of_tile(int tile, out int skipped) {
    int first = tile * TM;
    skipped = 0;
#if LINE
    if (MAY_END_LATE) {
        int line = tile / LINE_TILES, x = first - line * LINE_TILES * TM;
        skipped = max(x + TM - LINE_ROWS, 0);
        first = line * LINE_ROWS + x - skipped;
    }
#elif MATRIX || FLAT
    if (MAY_END_LATE) {
        skipped = max(first + TM - ROWS, 0);
        first -= skipped;
    }
#endif
    return first;
}

// Of LINE: where a tap of the tile's first row lies, and whether the line of the input is there.
#if LINE && TRANSPOSED
#define LINE_STEP 1
#define LINE_TAP_X(kx) (-(kx))
#define LINE_Y(row, ky) ((row).y - (ky))
#define LINE_START(row, ky, x) (((row.image + LINE_Y(row, ky)) * IW + (x)) * K)
#define LINE_INSIDE(row, ky) (LINE_Y(row, ky) >= 0 && LINE_Y(row, ky) < IH)
#elif LINE && VOLUME
#define LINE_STEP STRIDE_X
#define LINE_TAP_X(kx) ((kx) * DILATION_X)
#define LINE_Y(row, ky) ((row).y + (ky) % KH * DILATION_Y)
#define LINE_Z(row, ky) ((row).z + (ky) / KH * DILATION_Z)
#define LINE_START(row, ky, x) ((((row.image + LINE_Z(row, ky)) * IH + LINE_Y(row, ky)) * IW + (x)) * K)
#define LINE_INSIDE(row, ky) \
    (LINE_Y(row, ky) >= 0 && LINE_Y(row, ky) < IH && LINE_Z(row, ky) >= 0 && LINE_Z(row, ky) < ID)
#elif LINE
#define LINE_STEP STRIDE_X
#define LINE_TAP_X(kx) ((kx) * DILATION_X)
#define LINE_Y(row, ky) ((row).y + (ky) * DILATION_Y)
#define LINE_START(row, ky, x) (((row.image + LINE_Y(row, ky)) * IW + (x)) * K)
#define LINE_INSIDE(row, ky) (LINE_Y(row, ky) >= 0 && LINE_Y(row, ky) < IH)
#endif
