// What gemm_tiles.comp loads for its tiles: a block of a row, and of a MATMUL's columns what lies beside each other.

// The word or four elements of a row in the padding, and past the last block, which adds nothing whatever the columns
// have there.
#if X_FLOAT
#define ROW_WORD X4
#define PADDING_ROW X4(0)
#elif WIDE
#define ROW_WORD ivec2
#define PADDING_ROW pack_i16(ivec4(row_zp))
#else
#define ROW_WORD int
#define PADDING_ROW pack_i8(ivec4(row_zp))
#endif
#if DOT4
#define NO_ROW 0
#else
#define NO_ROW PADDING_ROW
#endif

// The block of a tap.
ROW_WORD row_word(Tap tap, int block) {
    ROW_WORD word;
    if (HAS_QUADS) {
#if X_FLOAT
        word = in0_load4q(tap.from + uint(block));
#elif WIDE
        word = pack_i16(in0_load4q(tap.from + uint(block)));
#else
        word = ROW_BITS(in0_word4q(tap.from + uint(block)));
#endif
    } else {
        int left = min(K - block * 4, 4);
#if SHORT_ROWS
        X4 v = short_row(tap.from);
#else
        X4 v = in0_loadn(tap.from + uint(block * 4), uint(left));
#endif
#if !DOT4
        X1 none = X1(ROW_ZP);
        v = X4(v.x, left > 1 ? v.y : none, left > 2 ? v.z : none, left > 3 ? v.w : none);
#endif
#if X_FLOAT
        word = v;
#elif WIDE
        word = pack_i16(v);
#else
        word = ROW_BITS(pack_i8(v));
#endif
    }
    return LATE_PADDING || tap.inside ? word : PADDING_ROW;
}

#if MATRIX && !TURNED
// What lies in a tile at inner element k, or of narrow integers at k and the next three.
COLUMN_BLOCK column_block(int batch, int quad, int k, int at) {
#if X_FLOAT
    return column4(batch, k, quad, at);
#elif WIDE
    return pack_i16(column4(batch, k, quad, at) + column_zp);
#elif DOT4
    return column_words(batch, k, quad, at);
#else
    LOAD_COLUMNS(0, quad)
    w00 += column_zp, w01 += column_zp, w02 += column_zp, w03 += column_zp;
    return ivec4(pack_i8(w00), pack_i8(w01), pack_i8(w02), pack_i8(w03));
#endif
}
#endif
