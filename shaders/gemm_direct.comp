// Matrix product of tiles in registers alone, for MATMUL and convolutions on devices whose shared memory is no nearer
// than what is cached: an invocation makes TM rows x TN quads of columns and loads all of both operands itself. DOT4:
// products of four 8-bit pairs are one instruction; a load of a row may have ROW_BLOCKS blocks then, instead of one. TN
// is 2, of 4 or 6 rows, where rows' words take work of their own before: of DOT4, or CONVERTS == 1. STEPPED: every load
// has an address of its own, which steps from block to block, where a device has the registers and shifts or large
// numbers are instructions of their own. PARTS > 1: as many invocations, of FLAT any number, each with its part of the
// blocks of all taps, make a tile: out0 [PARTS][OUT_ROWS][QUADS] is then what gemm_parts.comp adds up.
// TURNED, of MATRIX with DOT4: turn_columns.comp has made the columns' words, and sums of every SUMMED blocks of them.
#extension GL_EXT_control_flow_attributes : require
#include "lib/gemm_operands.glsl"
#include "lib/gemm_columns.glsl"
#include "lib/gemm_sums.glsl"
#include "lib/gemm_lines.glsl"

// Arrays are indexed by constants alone, which some drivers need to keep them in registers: macros instead of loops.
#if TM == 8
#define EACH_ROW(MACRO) MACRO(0) MACRO(1) MACRO(2) MACRO(3) MACRO(4) MACRO(5) MACRO(6) MACRO(7)
#elif TM == 7
#define EACH_ROW(MACRO) MACRO(0) MACRO(1) MACRO(2) MACRO(3) MACRO(4) MACRO(5) MACRO(6)
#elif TM == 6
#define EACH_ROW(MACRO) MACRO(0) MACRO(1) MACRO(2) MACRO(3) MACRO(4) MACRO(5)
#elif TM == 4
#define EACH_ROW(MACRO) MACRO(0) MACRO(1) MACRO(2) MACRO(3)
#elif TM == 2
#define EACH_ROW(MACRO) MACRO(0) MACRO(1)
#else
#define EACH_ROW(MACRO) MACRO(0)
#endif

#if TN == 2 && TM == 6
#define EACH_SUM(MACRO) EACH_ROW(MACRO) MACRO(6) MACRO(7) MACRO(8) MACRO(9) MACRO(10) MACRO(11)
#elif TN == 2
#define EACH_SUM(MACRO) EACH_ROW(MACRO) MACRO(4) MACRO(5) MACRO(6) MACRO(7)
#else
#define EACH_SUM(MACRO) EACH_ROW(MACRO)
#endif
#define QUAD_GROUPS ((QUADS + TN - 1) / TN)

#if DOT4
#define ROW_WORD int
#else
#define ROW_WORD X4
#endif

// The loop over a tap's inner elements takes turns of ROW_BLOCKS blocks, and parts have whole ones.
#define HAS_WORDS (DOT4 && (TN == 2 || ROW_BLOCKS == 4))
#define K_TURNS (K_BLOCKS / ROW_BLOCKS)
#define TURNS (BLOCKS / ROW_BLOCKS)

#if PARTS > 1 && FLAT
layout(constant_id = 29) const int PART_COUNT = 2;  // pushed
#define OUT_ROWS ROWS
#elif PARTS > 1
layout(constant_id = 25) const int OUT_ROWS = 1;  // late: of the output
#define PART_COUNT PARTS
#endif
#if PARTS > 1 && (MATRIX || FLAT)
#define FIRST_TAP 0
#define END_TAP 1
#define FIRST_TURN(tap) first_turn
#define END_TURN(tap) end_turn
#elif PARTS > 1
// The turns of an invocation, those of all taps counted through: taps, and of each the turns.
#define FIRST_TAP (first_turn / K_TURNS)
#define END_TAP ((end_turn + K_TURNS - 1) / K_TURNS)
#define FIRST_TURN(tap) max(first_turn - (tap) * K_TURNS, 0)
#define END_TURN(tap) min(end_turn - (tap) * K_TURNS, K_TURNS)
#else
#define FIRST_TAP 0
#define END_TAP (TAPS_Y * TAPS_X)
#define FIRST_TURN(tap) 0
#define END_TURN(tap) K_TURNS
#endif

#define OUTSIDE 0xffffffffu
#if ROW_BLOCKS == 4
#define ROW_START(at) ((at) >> 4)
#define ROW_UNIT(elements) ((elements) / 16u)
#else
#define ROW_START(at) (K % 4 == 0 ? (at) >> 2 : (at))
#define ROW_UNIT(elements) (K % 4 == 0 ? (elements) / 4u : (elements))
#endif
#define TURN_UNIT ROW_UNIT(4u * ROW_BLOCKS)
#define ROW_PART ROW_UNIT(uint(K))

// Addresses step from turn to turn, and one of them counts the turns. COUNTS_BLOCKS: a counter tells them all, which
// takes more instructions and fewer registers.
#if COUNTS_BLOCKS
#define ROW_NOW (ROW_BASE + TURN_UNIT * uint(b))
#define WEIGHT_STEP(unit)
#define WEIGHT_NOW uint w_at = FIRST_WEIGHT(b);
#define BEGIN_AT
#else
#define ROW_NOW rows_at
#define WEIGHT_STEP(unit) w_at += (unit);
#define WEIGHT_NOW
#define BEGIN_AT uint w_at = FIRST_WEIGHT(FIRST_TURN(tap));
#endif

// The elements of block `block` of a tap, which begin at `at`, in quads where rows have whole ones.
ROW_WORD row_word(uint at, int block) {
    if (K % 4 == 0) {
#if DOT4
        return ROW_BITS(in0_word4q(at));
#else
        return LESS_ROW_ZP(in0_load4q(at));
#endif
    }
    int left = min(K - block * 4, 4);
#if SHORT_ROWS
    X4 v = short_row(at);
#else
    X4 v = X4(in0_loadn(at, uint(left)));
#endif
#if DOT4
    return ROW_BITS(pack_i8(v));
#else
    v = LESS_ROW_ZP(v);
    return X4(v.x, left > 1 ? v.y : X1(0), left > 2 ? v.z : X1(0), left > 3 ? v.w : X1(0));
#endif
}

#if ROW_BLOCKS == 4
// The words of four blocks.
ivec4 row_words(uint at) {
#ifdef IN0_SIXTEENS
    return ROW_BITS(in0_words16(at));
#else
    return ROW_BITS(ivec4(in0_word4q(4u * at), in0_word4q(4u * at + 1u), in0_word4q(4u * at + 2u),
                          in0_word4q(4u * at + 3u)));
#endif
}
#endif

// The weights of a block: `weights` is where those of the tap begin, `b` the block in it.
#define STEPPED_WEIGHTS (STEPPED && !DOT4 && (MATRIX || X_FLOAT) && CONVERTS != 2)
#if MATRIX && TURNED
// Of a quad of columns, their sums among them, as turn_columns.comp has them.
#define QUAD_BLOCKS TURNED_BLOCKS
#define WEIGHTS_AT(tap) TURNED_QUAD(batch, quad)
#elif MATRIX
X4 column_at(uint at, int batch, int k, int quad) {
    return COLUMNS % 4 == 0 && K % 4 == 0 ? LESS_COLUMN_ZP(in1_load4q(at)) : column4(batch, k, quad);
}
#define WEIGHTS_AT(tap) 0
#if DOT4
#define LOAD_WEIGHTS ivec4 w = column_words(batch, quad, b);
#else
#define WEIGHT_ROW uint(QUADS)  // quads from one inner element's weights to the next one's
#define FIRST_WEIGHT(b) uint((batch * K + 4 * (b)) * QUADS + quad)
#define WEIGHT(at, j) column_at(at, batch, 4 * b + (j), quad)
#endif
#else
#define WEIGHTS_AT(tap) (COLUMN_QUAD(quad) * MOST_BLOCKS + (tap) * K_BLOCKS)
#define QUAD_BLOCKS MOST_BLOCKS
#endif
#if !MATRIX || TURNED
#if DOT4
#if HAS_WORDS
// Block j of a turn, which begins at w_at, where four are one at a multiple of four: Adreno's compiler then has an
// instruction less for each than with a sum.
#if TN == 2
#define BLOCK_WEIGHTS(j) ivec4 w = weight_words(w_at | (j)), second_w = weight_words(second_at | (j));
#define STEP_WEIGHTS w_at += uint(ROW_BLOCKS), second_at += uint(ROW_BLOCKS);
#define BEGIN_SECOND uint second_at = w_at + to_second;
#else
#define BLOCK_WEIGHTS(j) ivec4 w = weight_words(w_at + (j));
#define STEP_WEIGHTS w_at += uint(ROW_BLOCKS);
#define BEGIN_SECOND
#endif
#define LOAD_WEIGHTS BLOCK_WEIGHTS(0u) STEP_WEIGHTS
#else
#define FIRST_WEIGHT(b) uint(weights + (b))
#define LOAD_WEIGHTS WEIGHT_NOW ivec4 w = weight_words(w_at); WEIGHT_STEP(1u)
#endif
#elif X_FLOAT && CONVERTS != 2
#define WEIGHT_ROW 1u
#define FIRST_WEIGHT(b) (uint(weights + (b)) * 4u)
#define WEIGHT(at, j) in1_load4q(at)
#else
#define FIRST_WEIGHT(b) uint(weights + (b))
#define LOAD_WEIGHTS                                                                           \
    WEIGHT_NOW                                                                                 \
    ivec4 words = weight_words(w_at);                                                          \
    WEIGHT_STEP(1u)                                                                            \
    X4 w00 = X4(unpack_i8(words.x)) - column_zp, w01 = X4(unpack_i8(words.y)) - column_zp,     \
       w02 = X4(unpack_i8(words.z)) - column_zp, w03 = X4(unpack_i8(words.w)) - column_zp;
#endif
#endif
#if STEPPED_WEIGHTS
#define LOAD_WEIGHTS                                                                                              \
    X4 w00 = WEIGHT(w_at0, 0), w01 = WEIGHT(w_at1, 1), w02 = WEIGHT(w_at2, 2), w03 = WEIGHT(w_at3, 3);            \
    w_at0 += 4u * WEIGHT_ROW, w_at1 += 4u * WEIGHT_ROW, w_at2 += 4u * WEIGHT_ROW, w_at3 += 4u * WEIGHT_ROW;
#define BEGIN_WEIGHTS                                                                                             \
    uint w_at0 = FIRST_WEIGHT(FIRST_TURN(tap)), w_at1 = w_at0 + WEIGHT_ROW, w_at2 = w_at1 + WEIGHT_ROW, \
         w_at3 = w_at2 + WEIGHT_ROW;
#elif HAS_WORDS
#define BEGIN_WEIGHTS                                           \
    uint w_at = uint(weights + ROW_BLOCKS * FIRST_TURN(tap));   \
    BEGIN_SECOND
#elif defined(FIRST_WEIGHT)
#define BEGIN_WEIGHTS BEGIN_AT
#ifdef WEIGHT
#define LOAD_FOUR(w, at)                                                                                          \
    X4 w##0 = WEIGHT(at, 0), w##1 = WEIGHT(at + WEIGHT_ROW, 1), w##2 = WEIGHT(at + 2u * WEIGHT_ROW, 2),           \
       w##3 = WEIGHT(at + 3u * WEIGHT_ROW, 3);
#if TN == 2
#define LOAD_WEIGHTS                                            \
    WEIGHT_NOW                                                  \
    uint second_at = w_at + 4u * to_second;                     \
    LOAD_FOUR(w0, w_at)                                         \
    LOAD_FOUR(w1, second_at)                                    \
    WEIGHT_STEP(4u * WEIGHT_ROW)
#else
#define LOAD_WEIGHTS WEIGHT_NOW LOAD_FOUR(w0, w_at) WEIGHT_STEP(4u * WEIGHT_ROW)
#endif
#endif
#else
#define BEGIN_WEIGHTS
#endif
#if STEPPED
#define BEGIN_ROWS     \
    uint row_from[TM]; \
    EACH_ROW(BEGIN_ROW)
#define BEGIN_ROW(r) row_from[r] = ROW_AT(r, rows_at);
#define TAKE_ROW(r) row_from[r]
#define STEP_ROW(r) row_from[r] += TURN_UNIT;
#else
#define BEGIN_ROWS
#define TAKE_ROW(r) ROW_AT(r, ROW_NOW)
#define STEP_ROW(r)
#endif
#if DOT4 && TN == 2
#define PRODUCTS(r, word)             \
    acc[r] += products(word, w);      \
    acc[TM + (r)] += products(word, second_w);
#elif DOT4
#define PRODUCTS(r, word) acc[r] += products(word, w);
#elif TN == 2
#define PRODUCTS(r, word)                    \
    ADD_FOUR(r, word, w00, w01, w02, w03)    \
    ADD_FOUR(TM + (r), word, w10, w11, w12, w13)
#else
#define PRODUCTS(r, word) ADD_FOUR(r, word, w00, w01, w02, w03)
#endif

void main() {
    uint id = uint(invocation_index()), tile = id / uint(QUAD_GROUPS);
    int quad = int(id - tile * uint(QUAD_GROUPS)) * TN;
#if FLAT && PARTS == 1
    int batch = tile < uint(ROW_GROUPS) ? 0 : BATCH;  // a division less
#else
    int batch = int(tile / uint(ROW_GROUPS));
#endif
    int skipped, first = first_of_tile(int(tile) - batch * ROW_GROUPS, skipped);
#if PARTS > 1
    int part = int(uint(batch) / uint(BATCH));
    batch -= part * BATCH;
    if (part >= PART_COUNT) return;
    int first_turn = TURNS * part / PART_COUNT, end_turn = TURNS * (part + 1) / PART_COUNT;
#else
    const int part = 0;
    if (batch >= BATCH) return;
#endif
    row_zp = X1(ROW_ZERO_POINT);
    column_zp = X1(COLUMN_ZP);

#if TN == 2
    uint to_second = uint(quad + 1 < QUADS ? QUAD_BLOCKS : 0);  // of the last pair of quads it may be the first again
#endif
    SUMS(TM * TN)
#define CLEAR(i) CLEAR_SUM(i)
    EACH_SUM(CLEAR)
#if DOT4
    int row_sums[TM];
#define CLEAR_WORD(r) row_sums[r] = 0;
    EACH_ROW(CLEAR_WORD)
#if MATRIX
    ivec4 column_sums[TN];
    [[unroll]] for (int n = 0; n < TN; ++n) column_sums[n] = ivec4(0);
#endif
#endif
#define FLUSH(r) FLUSH_SUM(r)
#if HALF
// Sums are flushed outside of the innermost loop.
#define FOR_BLOCKS                                                                              \
    [[dont_unroll]] for (int turn = FIRST_TURN(tap); turn < end_of_tap; turn += FLUSH_BLOCKS) {    \
        int b = turn, left = min(FLUSH_BLOCKS, end_of_tap - turn);                              \
        [[dont_unroll]] do
#define END_BLOCKS                                                                              \
        while (++b, rows_at += TURN_UNIT, --left > 0);                                           \
        EACH_ROW(FLUSH)                                                                         \
    }
#elif COUNTS_BLOCKS
#define FOR_BLOCKS [[dont_unroll]] for (int b = FIRST_TURN(tap); b < end_of_tap; ++b)
#define END_BLOCKS
#else
#if HAS_WORDS && TN == 2
#define COUNTED w_at
#define COUNT_UNIT uint(ROW_BLOCKS)
#else
#define COUNTED TAKE_ROW(0)
#define COUNT_UNIT TURN_UNIT
#endif
#define FOR_BLOCKS                                                           \
    int b = FIRST_TURN(tap);                                                 \
    uint end_at = COUNTED + COUNT_UNIT * uint(end_of_tap - FIRST_TURN(tap)); \
    if (b < end_of_tap) [[dont_unroll]] do
#define END_BLOCKS while (++b, rows_at += TURN_UNIT, COUNTED != end_at);
#endif
#if WIDE
    int pending = 0;
#define FLUSH_SOMETIMES                \
    if (++pending == FLUSH_BLOCKS) {   \
        EACH_ROW(FLUSH)                \
        pending = 0;                   \
    }
#else
#define FLUSH_SOMETIMES
#endif
#if TRANSPOSED
    // row_at() also tells how many taps there are. Asked before every tap, that takes no registers in the loop below.
    [[dont_unroll]] for (int tap = FIRST_TAP;; ++tap) {
        Row row = row_at(batch, first);
        if (tap >= END_TAP) break;
#else
    [[dont_unroll]] for (int tap = FIRST_TAP; tap < END_TAP; ++tap) {
#endif
        // Where the rows of the tap begin. In a line, which all rows of a tile share, they lie equally far apart; those
        // of a matrix too, but where it has fewer than a tile: those past the last one are the last one again.
#if MATRIX || FLAT
        const bool all = true;
        uint start = uint(batch * ROWS + first) * ROW_PART;
#define ROW_BASE start
#define ROW_AT(r, at) ((at) + (HAS_WHOLE_TILE ? uint(r) : uint(min(r, ROWS - 1))) * ROW_PART)
#define IS_INSIDE(r) true
#else
        int ky = int(uint(tap) / uint(TAPS_X)), kx = tap - ky * TAPS_X;
#if !TRANSPOSED
        Row row = row_at(batch, first);
#endif
#if LINE
        // The line may be outside of the input, and so may some of its pixels.
        int x = row.x + LINE_TAP_X(kx), at = LINE_START(row, ky, x);
        uint inside = 0u;
#define FIND(r) inside |= x + (r) * LINE_STEP >= 0 && x + (r) * LINE_STEP < IW ? 1u << (r) : 0u;
        EACH_ROW(FIND)
        inside = LINE_INSIDE(row, ky) ? inside : 0u;
        bool all = inside == (1u << TM) - 1u;
        uint start = uint(ROW_START(at));  // may be negative where the first pixel is outside
#define ROW_BASE start
#define ROW_AT(r, at) ((at) + uint((r) * LINE_STEP) * ROW_PART)
#define IS_INSIDE(r) (((inside >> (r)) & 1u) != 0u)
#else
        uint from[TM];
        bool all = true;
#define FIND(r)                                                                  \
    {                                                                            \
        int at = tap_at(row, ky, kx);                                            \
        from[r] = IN_PADDING(at) ? OUTSIDE : ROW_UNIT(uint(at));                 \
        all = all && !IN_PADDING(at);                                            \
        if (first + r + 1 < ROWS) row = next_row(batch, row);                    \
    }
        EACH_ROW(FIND)
#define ROW_BASE 0u
#define ROW_AT(r, at) (from[r] + (at))
#define IS_INSIDE(r) (from[r] != OUTSIDE)
#endif
#endif
        int weights = WEIGHTS_AT(tap);
        int end_of_tap = END_TURN(tap);
        uint rows_at = ROW_BASE + TURN_UNIT * uint(FIRST_TURN(tap));
        // Where no row of the tile is in the padding nothing asks.
        if (!PADDED || all) {
            BEGIN_WEIGHTS
            BEGIN_ROWS
            FOR_BLOCKS {
#if DOT4
#define COUNT_WORD(r, word) \
    if (column_zp != 0) row_sums[r] += SUM_OF_ROW(word);
#else
#define COUNT_WORD(r, word)
#endif
#if ROW_BLOCKS == 4
#define TAKE_WORDS(r) words[r] = row_words(TAKE_ROW(r)); STEP_ROW(r)
#define MULTIPLY_X(r) PRODUCTS(r, words[r].x) COUNT_WORD(r, words[r].x)
#define MULTIPLY_Y(r) PRODUCTS(r, words[r].y) COUNT_WORD(r, words[r].y)
#define MULTIPLY_Z(r) PRODUCTS(r, words[r].z) COUNT_WORD(r, words[r].z)
#define MULTIPLY_W(r) PRODUCTS(r, words[r].w) COUNT_WORD(r, words[r].w)
#define MULTIPLY_WORDS                                       \
    { BLOCK_WEIGHTS(0u) EACH_ROW(MULTIPLY_X) }               \
    { BLOCK_WEIGHTS(1u) EACH_ROW(MULTIPLY_Y) }               \
    { BLOCK_WEIGHTS(2u) EACH_ROW(MULTIPLY_Z) }               \
    { BLOCK_WEIGHTS(3u) EACH_ROW(MULTIPLY_W) }               \
    STEP_WEIGHTS
                ivec4 words[TM];
                EACH_ROW(TAKE_WORDS)
                MULTIPLY_WORDS
#else
                LOAD_WEIGHTS
#define MULTIPLY(r)                                                  \
    {                                                                \
        ROW_WORD word = row_word(TAKE_ROW(r), b);                    \
        STEP_ROW(r)                                                  \
        PRODUCTS(r, word)                                            \
        COUNT_WORD(r, word)                                          \
    }
                EACH_ROW(MULTIPLY)
#endif
                FLUSH_SOMETIMES
#if DOT4 && MATRIX && !TURNED
                if (row_zp != 0) column_sums[0] += products(ONES, w);
#endif
            }
            END_BLOCKS
        } else {
#undef TAKE_ROW
#define TAKE_ROW(r) ROW_NOW
            BEGIN_WEIGHTS
            FOR_BLOCKS {
#if DOT4
#define PADDING_WORD pack_i8(ivec4(row_zp))
#else
#define PADDING_WORD X4(CONVERTS == 1 ? row_zp : X1(0))
#endif
#if ROW_BLOCKS == 4
#define TAKE_INSIDE(r)                                               \
    words[r] = ivec4(PADDING_WORD);                                  \
    if (IS_INSIDE(r)) words[r] = row_words(ROW_AT(r, ROW_NOW));
                ivec4 words[TM];
                EACH_ROW(TAKE_INSIDE)
                MULTIPLY_WORDS
#else
                LOAD_WEIGHTS
#define MULTIPLY_INSIDE(r)                                           \
    {                                                                \
        ROW_WORD word = PADDING_WORD;                                \
        if (IS_INSIDE(r)) word = row_word(ROW_AT(r, ROW_NOW), b);    \
        PRODUCTS(r, word)                                            \
        COUNT_WORD(r, word)                                          \
    }
                EACH_ROW(MULTIPLY_INSIDE)
#endif
                FLUSH_SOMETIMES
            }
            END_BLOCKS
        }
    }
#if WIDE
    EACH_ROW(FLUSH)
#endif
#if DOT4
    // (a - za) (w - zw) = a w - za w - zw a + za zw, the second and the last in the bias unless MATRIX.
    ivec4 less[TN];
    [[unroll]] for (int n = 0; n < TN; ++n) {
        less[n] = ivec4(0);
#if TURNED
        // Part 0 has what all inner elements add.
        if (part == 0) column_sums[n] = turned_sums(batch, min(quad + n, QUADS - 1));
#endif
#if MATRIX
        less[n] = row_zp * ((part == 0 ? 4 * BLOCKS * column_zp : 0) - column_sums[n]);
#endif
    }
#define CORRECT(i) acc[i] += less[(i) / TM] - row_sums[(i) % TM] * column_zp;
    EACH_SUM(CORRECT)
#endif

#if PARTS > 1
#define STORE(to) out0_store4(uint(((part * OUT_ROWS + (to)) * QUADS + quad) * 4), OF_SUM(SUM(0)));
#else
    // The bias is read for each row, so that it takes no registers of followers.
#define STORE(to) \
    FUSED(uint((to) * COLUMNS + quad * 4), uint(min(COLUMNS - quad * 4, 4)), TOTAL_ADD(SUM(0), bias4(batch, quad)));
#endif
    // What follows is compiled once: the next sum moves up.
    int count = HAS_WHOLE_TILE ? TM : min(ROWS - first, TM);
#define MOVE(i) SUM(i) = SUM((i) + 1 < TM * TN ? (i) + 1 : i);
#if TN == 2
    int sums = quad + 1 < QUADS ? 2 * TM : TM;
    [[dont_unroll]] for (int i = 0; i < sums; ++i) {
        int r = i % TM, to = output_row(batch, first + r);
        if (r >= skipped && r < count && IS_STORED(to)) STORE(to)
        EACH_SUM(MOVE)
        if (r == TM - 1) ++quad;
    }
#else
    [[dont_unroll]] for (int r = 0; r < skipped; ++r) {
        EACH_ROW(MOVE)
    }
    int end = first + count;
    [[dont_unroll]] for (int row = first + skipped; row < end; ++row) {
        int to = output_row(batch, row);
        if (IS_STORED(to)) STORE(to)
        EACH_ROW(MOVE)
    }
#endif
}
