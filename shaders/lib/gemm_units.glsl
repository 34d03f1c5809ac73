// What an invocation of gemm_cooperative loads at a time: a unit of UNIT blocks of one row or column, or (MATRIX) a
// word of four columns. Of fp16 a block has two WORDS, of i8 one.
// Whether there is a block; where every step has all of them, nobody asks.
bool is_block(int block) {
#if TRANSPOSED
    return K_BLOCKS % DEPTH == 0 ? true : block < BLOCKS;
#else
    return MOST_BLOCKS % DEPTH == 0 ? true : block < BLOCKS;
#endif
}

#if X_FLOAT
#define BLOCK uvec2
#define ROW_PADDING uvec2(0u)
BLOCK whole_block(uint q) { return uvec2(in0_words4q(q)); }
BLOCK part_of_block(uint i, int n) {
    ivec4 v = in0_loadn(i, uint(n));
    return uvec2(pack_i16(ivec4(v.x, n > 1 ? v.y : 0, n > 2 ? v.z : 0, n > 3 ? v.w : 0)));
}
#else
#define BLOCK uint
#define ROW_PADDING (uint(row_zp & 255) * 0x01010101u)
BLOCK whole_block(uint q) { return uint(in0_word4q(q)); }
// Past the last element the weight is its zero point.
BLOCK part_of_block(uint i, int n) { return uint(pack_i8(in0_loadn(i, uint(n)))); }
#endif

// A unit of a row; zero past the last block, and in what a tap is filled up with.
void load_row(Row row, int block, out BLOCK w[UNIT]) {
    Block at = block_at(block);
    Pixel tap = pixel_of(row, at.ky, at.kx);
    bool is_there = is_block(block);
    [[unroll]] for (int j = 0; j < UNIT; ++j) {
        int k = 4 * j;  // from at.k on
        if (K_BLOCKS % UNIT != 0) {  // its blocks may be of several taps
            at = block_at(block + j);
            tap = pixel_of(row, at.ky, at.kx);
            is_there = is_block(block + j);
            k = 0;
        }
        bool is_padding = PADDED && !tap.is_inside;
        bool is_inner = K == 4 * K_BLOCKS ? is_there : is_there && at.k + k < K;
        bool is_read = is_padding ? false : is_inner;
        BLOCK v;
        if (K % 4 == 0) {
            uint q = uint(tap.number) * uint(K / 4) + (uint(at.k) >> 2);
            // Of a whole unit one address, so that it is one load.
            if (K % (4 * UNIT) == 0) v = whole_block((is_read ? q : 0u) + uint(k >> 2));
            else v = whole_block(is_read ? q + uint(k >> 2) : 0u);
        } else {
            v = part_of_block(is_read ? uint(tap.number * K + at.k + k) : 0u, is_read ? min(K - at.k - k, 4) : 1);
        }
        w[j] = !is_inner ? BLOCK(0) : is_padding ? ROW_PADDING : v;
    }
}

#if MATRIX
// Inner element k of a quad of columns, as it lies in memory.
BLOCK column_block(int batch, int quad, int k) {
    int row = batch * K + (K % (4 * DEPTH) == 0 ? k : min(k, K - 1));
    BLOCK v;
#if X_FLOAT
    if (COLUMNS % 4 == 0) v = uvec2(in1_words4q(uint(row * (COLUMNS / 4) + quad)));
    else v = uvec2(pack_i16(in1_loadn(uint(row * COLUMNS + quad * 4), uint(min(COLUMNS - quad * 4, 4)))));
    return K % (4 * DEPTH) == 0 ? v : k < K ? v : uvec2(0u);
#else
    if (COLUMNS % 4 == 0) v = uint(in1_word4q(uint(row * (COLUMNS / 4) + quad)));
    else v = uint(pack_i8(in1_loadn(uint(row * COLUMNS + quad * 4), uint(min(COLUMNS - quad * 4, 4)))));
    uint padding = k < 4 * BLOCKS ? uint(column_zp & 255) * 0x01010101u : 0u;
    return K % (4 * DEPTH) == 0 ? v : k < K ? v : padding;
#endif
}

// Word `word` of the inner dimension, of four columns.
void load_columns(int batch, int quad, int word, out uint w[4]) {
#if X_FLOAT
    uvec2 a = column_block(batch, quad, 2 * word), b = column_block(batch, quad, 2 * word + 1);
    w[0] = (a.x & 0xffffu) | (b.x << 16);
    w[1] = (a.x >> 16) | (b.x & 0xffff0000u);
    w[2] = (a.y & 0xffffu) | (b.y << 16);
    w[3] = (a.y >> 16) | (b.y & 0xffff0000u);
#else
    int k = 4 * word;
    ivec4 words = turned_bytes(int(column_block(batch, quad, k)), int(column_block(batch, quad, k + 1)),
                               int(column_block(batch, quad, k + 2)), int(column_block(batch, quad, k + 3)));
    [[unroll]] for (int j = 0; j < 4; ++j) w[j] = uint(words[j]);
#endif
}
#else
const int UNITS = (MOST_BLOCKS + UNIT - 1) / UNIT;
// A unit of the column whose first one is number `from`.
void load_column(uint from, int block, out uint w[UNIT_WORDS]) {
    uint unit = uint(block) / UNIT;
    if (UNITS % int(LINE_UNITS) != 0) unit = min(unit, uint(UNITS - 1));
    uint at = from + 4u * unit;
#if UNIT_WORDS == 4
    ivec4 v = in1_load4q(at);
#endif
    [[unroll]] for (int j = 0; j < UNIT_WORDS; ++j) {
#if UNIT_WORDS == 4
        uint x = uint(v[j]);
#else
        uint x = uint(in1_load1(at * UNIT_WORDS + uint(j)));
#endif
        w[j] = is_block(block + j / WORDS) ? x : 0u;
    }
}
#endif

uint[UNIT_WORDS] words_of(BLOCK blocks[UNIT]) {
    uint w[UNIT_WORDS];
    [[unroll]] for (int j = 0; j < UNIT; ++j) {
#if X_FLOAT
        w[2 * j] = blocks[j].x;
        w[2 * j + 1] = blocks[j].y;
#else
        w[j] = blocks[j];
#endif
    }
    return w;
}
