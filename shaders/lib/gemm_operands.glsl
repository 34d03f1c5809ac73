// The operands of a matrix product, for MATMUL and, as an implicit one, for CONV2D, CONV3D (VOLUME) and
// TRANSPOSE_CONV2D (TRANSPOSED): rows are output pixels, columns output channels, the inner dimension runs over
// kernel taps and input channels, in blocks of four channels of one tap. TRANSPOSED it is one product for each of
// STRIDE_Y x STRIDE_X phases, the output pixels STRIDE apart: of the kernel's taps, they have those in common that
// are STRIDE apart too.
//   in0  rows: input [N,IH,IW,K] or [N,ID,IH,IW,K], or A [N,ROWS,K] (MATRIX)
//   in1  weight in tile order: [phase][columns/4][taps of the phase that has most][K/4] blocks of 4 input channels x 4
//        columns, zero-padded (i8: one word an input channel, 4 words a block; NIBBLES, of i4: 2 words a block; floats:
//        one vec4 an input channel);
//        MATRIX: B [N,K,COLUMNS]; TURNED, as turn_columns.comp makes it of that
//   in2  bias [BIAS]: 1 element, one a column, or more: then each phase has its own, in whole quads; none with MATRIX
// FLAT: of a window of one tap, every output pixel is made of the input pixel of its number; one pipeline has all sizes
// of whole quads of columns and inner elements (of gemm_tiles.comp whole steps of these) and all zero points of rows;
// where FLAT is 2 all but the number of inner elements.
layout(constant_id = 0) const int BATCH = 1;      // late: of MATRIX; phases
#if FLAT
layout(constant_id = 26) const int ANY_COLUMNS = 4;  // pushed
layout(constant_id = 28) const int ANY_ROW_ZP = 0;   // pushed
layout(constant_id = 30) const int ANY_ROWS = 1;     // pushed
#if !NO_BIAS
layout(constant_id = 31) const int ANY_BIAS = 1;  // pushed
#define BIAS ANY_BIAS
#endif
#define ROWS ANY_ROWS
#define COLUMNS ANY_COLUMNS
#define ROW_ZP_CONSTANT ANY_ROW_ZP
#else
layout(constant_id = 1) const int ROWS = 1;       // late: of one batch; pixels of all images together, in whole strides
layout(constant_id = 2) const int COLUMNS = 1;
layout(constant_id = 4) const int ROW_ZP_CONSTANT = 0;
#endif
#if FLAT == 1
layout(constant_id = 27) const int ANY_K = 4;     // pushed
#define K ANY_K
#else
layout(constant_id = 3) const int K = 4;          // inner elements of one tap
#endif
layout(constant_id = 5) const int COLUMN_ZP_CONSTANT = 0;
#if !MATRIX && !FLAT
layout(constant_id = 6) const int BIAS = 1;
layout(constant_id = 7) const int IH = 1;
layout(constant_id = 8) const int IW = 1;
layout(constant_id = 9) const int OH = 1;
layout(constant_id = 10) const int OW = 1;
layout(constant_id = 11) const int KH = 1;
layout(constant_id = 12) const int KW = 1;
layout(constant_id = 13) const int STRIDE_Y = 1;
layout(constant_id = 14) const int STRIDE_X = 1;
layout(constant_id = 15) const int DILATION_Y = 1;
layout(constant_id = 16) const int DILATION_X = 1;
layout(constant_id = 17) const int PAD_TOP = 0;
layout(constant_id = 18) const int PAD_LEFT = 0;
#if VOLUME
layout(constant_id = 19) const int ID = 1;
layout(constant_id = 20) const int OD = 1;
layout(constant_id = 21) const int KD = 1;
layout(constant_id = 22) const int STRIDE_Z = 1;
layout(constant_id = 23) const int DILATION_Z = 1;
layout(constant_id = 24) const int PAD_FRONT = 0;
#else
const int KD = 1;
#endif
#if TRANSPOSED
const int MOST_TAPS_Y = (KH + STRIDE_Y - 1) / STRIDE_Y, MOST_TAPS_X = (KW + STRIDE_X - 1) / STRIDE_X;
const int PHASE_H = (OH + STRIDE_Y - 1) / STRIDE_Y, PHASE_W = (OW + STRIDE_X - 1) / STRIDE_X;
#else
const int MOST_TAPS_Y = KD * KH, MOST_TAPS_X = KW;
#endif
#else
const int MOST_TAPS_Y = 1, MOST_TAPS_X = 1;
#endif

// TAP_UNIT: a tap has as many blocks, or a multiple, the last ones empty.
#ifndef TAP_UNIT
#define TAP_UNIT 1
#endif
#if FLAT
#define QUADS (COLUMNS / 4)
#define K_BLOCKS (K / 4)
#define MOST_BLOCKS K_BLOCKS
#define HAS_QUADS true
#else
const int QUADS = (COLUMNS + 3) / 4, K_BLOCKS = (K + 4 * TAP_UNIT - 1) / (4 * TAP_UNIT) * TAP_UNIT,
          MOST_BLOCKS = MOST_TAPS_Y * MOST_TAPS_X * K_BLOCKS;
#define HAS_QUADS (K % 4 == 0)
#endif

// Taps of the kernel, and blocks of all of them. TRANSPOSED: of the phase, known from the first row_at() on; may be 0.
#if TRANSPOSED
int taps_y, taps_x;
#define TAPS_Y (KH % STRIDE_Y == 0 ? MOST_TAPS_Y : taps_y)
#define TAPS_X (KW % STRIDE_X == 0 ? MOST_TAPS_X : taps_x)
#else
#define TAPS_Y MOST_TAPS_Y
#define TAPS_X MOST_TAPS_X
#endif
#define BLOCKS (TAPS_Y * TAPS_X * K_BLOCKS)

#ifndef STEP_K
#define STEP_K 4
#endif

#ifndef HALF
#define HALF 0
#endif
#ifndef INTEGERS
#define INTEGERS 0
#endif
#ifndef CONVERTS
#define CONVERTS 0
#endif
#ifndef TURNED
#define TURNED 0
#endif
#if HALF
// Factors and short sums in fp16 as the device computes it; TOTAL4 is what they are added up in.
#define X1 float16_t
#define X2 f16vec2
#define X4 f16vec4
#undef TOTAL4
#undef TOTAL_SPLAT
#define TOTAL4 vec4
#define TOTAL_SPLAT(x) vec4(x)
#elif X_FLOAT
#define X1 float
#define X2 vec2
#define X4 vec4
#if INTEGERS
// Whole numbers whose sums fp32 holds, less zero points. CONVERTS: they are made of what is read as i8: 1, rows alone,
// with their zero point, which the bias corrects; 2, rows and columns.
#undef TOTAL4
#undef TOTAL_SPLAT
#undef TOTAL_ADD
#define TOTAL4 ivec4
#define TOTAL_SPLAT(x) ivec4(x)
#define TOTAL_ADD(a, b) (ivec4(a) + (b))
#endif
#else
#define X1 int
#define X4 ivec4
#endif

X1 row_zp, column_zp;
#if DOT4 == 2
#define ROW_BITS(word) ((word) ^ 0x80808080)
#define ROW_ZERO_POINT (ROW_ZP + 128)
#else
#define ROW_BITS(word) (word)
#define ROW_ZERO_POINT ROW_ZP
#endif
// Floats have none; taking zero away would be an instruction.
#if CONVERTS == 2
#define LESS_ROW_ZP(x) (X4(x) - row_zp)
#define LESS_COLUMN_ZP(x) (X4(x) - column_zp)
#elif CONVERTS
#define LESS_ROW_ZP(x) X4(x)
#define LESS_COLUMN_ZP(x) (x)
#elif X_FLOAT
#define LESS_ROW_ZP(x) (x)
#define LESS_COLUMN_ZP(x) (x)
#else
#define LESS_ROW_ZP(x) ((x) - row_zp)
#define LESS_COLUMN_ZP(x) ((x) - column_zp)
#endif

// A row of the implicit matrix: where its elements lie. MATRIX and FLAT: `image` is the row.
struct Row {
    int image, z, y, x;
};

#if TRANSPOSED
// Without a branch, over some of which in a row SwiftShader's compiler takes all memory there is.
int floor_divide(int a, int b) { return (a - int(a < 0) * (b - 1)) / b; }
#endif

// Whether a tap may lie in the padding; where none does, nobody asks.
#if MATRIX || FLAT
#define PADDED false
#elif TRANSPOSED
// Phase 0 reaches farthest before the input, phase STRIDE - 1 farthest past it. Outputs past the edge count too, so
// that this may be true in vain.
bool may_be_padded() {
    int before_y = MOST_TAPS_Y - 1 - floor_divide(-PAD_TOP, STRIDE_Y),
        before_x = MOST_TAPS_X - 1 - floor_divide(-PAD_LEFT, STRIDE_X);
    int past_y = floor_divide(STRIDE_Y - 1 - PAD_TOP, STRIDE_Y) + PHASE_H - IH,
        past_x = floor_divide(STRIDE_X - 1 - PAD_LEFT, STRIDE_X) + PHASE_W - IW;
    return max(max(before_y, before_x), max(past_y, past_x)) > 0;
}
#define PADDED may_be_padded()
#else
// (No || of constants: glslang makes invalid code of several.)
bool may_be_padded() {
    int past_y = (OH - 1) * STRIDE_Y + (KH - 1) * DILATION_Y - PAD_TOP - IH + 1,
        past_x = (OW - 1) * STRIDE_X + (KW - 1) * DILATION_X - PAD_LEFT - IW + 1;
    int most = max(max(PAD_TOP, PAD_LEFT), max(past_y, past_x));
#if VOLUME
    most = max(most, max(PAD_FRONT, (OD - 1) * STRIDE_Z + (KD - 1) * DILATION_Z - PAD_FRONT - ID + 1));
#endif
    return most > 0;
}
#define PADDED may_be_padded()
#endif

#if !MATRIX && !FLAT && !TRANSPOSED && !VOLUME
// Whether every output pixel is made of the input pixel of its number.
bool is_flat() {
    int differs = abs(OH - IH) + abs(OW - IW) + STRIDE_Y * STRIDE_X - 1 + MOST_BLOCKS - K_BLOCKS;
    return differs == 0 && !PADDED;
}
#endif

// All rows that an invocation asks for are of one batch.
Row row_at(int batch, int r) {
    r = min(r, ROWS - 1);
#if MATRIX || FLAT
    return Row(batch * ROWS + r, 0, 0, 0);
#elif TRANSPOSED
    // Output o gets input (o - pad - k) / stride for every k that leaves no remainder.
    int top = batch / STRIDE_X - PAD_TOP, left = batch % STRIDE_X - PAD_LEFT;
    int y = floor_divide(top, STRIDE_Y), x = floor_divide(left, STRIDE_X), qy = r / PHASE_W;
    taps_y = (KH - 1 - (top - y * STRIDE_Y) + STRIDE_Y) / STRIDE_Y;
    taps_x = (KW - 1 - (left - x * STRIDE_X) + STRIDE_X) / STRIDE_X;
    return Row(qy / PHASE_H * IH, 0, qy % PHASE_H + y, r % PHASE_W + x);
#elif VOLUME
    uint o = uint(r), oy = o / uint(OW), oz = oy / uint(OH), n = oz / uint(OD);
    return Row(int(n) * ID, int(oz - n * uint(OD)) * STRIDE_Z - PAD_FRONT, int(oy - oz * uint(OH)) * STRIDE_Y - PAD_TOP,
               int(o - oy * uint(OW)) * STRIDE_X - PAD_LEFT);
#else
#ifdef COOPERATIVE
    if (is_flat()) return Row(0, 0, 0, r);
#endif
    // Unsigned numbers are divided by fewer instructions.
    uint o = uint(r), oy = o / uint(OW), n = oy / uint(OH);
    return Row(int(n) * IH, 0, int(oy - n * uint(OH)) * STRIDE_Y - PAD_TOP,
               int(o - oy * uint(OW)) * STRIDE_X - PAD_LEFT);
#endif
}

// The row after it: a few steps instead of divisions.
Row next_row(int batch, Row row) {
#if MATRIX || FLAT
    ++row.image;
#elif TRANSPOSED
    int y = floor_divide(batch / STRIDE_X - PAD_TOP, STRIDE_Y), x = floor_divide(batch % STRIDE_X - PAD_LEFT, STRIDE_X);
    bool new_line = ++row.x == x + PHASE_W;
    row.x = new_line ? x : row.x;
    row.y += new_line ? 1 : 0;
    bool new_image = row.y == y + PHASE_H;
    row.y = new_image ? y : row.y;
    row.image += new_image ? IH : 0;
#else
    row.x += STRIDE_X;
    bool new_line = row.x == OW * STRIDE_X - PAD_LEFT;
    row.x = new_line ? -PAD_LEFT : row.x;
    row.y += new_line ? STRIDE_Y : 0;
    bool new_image = row.y == OH * STRIDE_Y - PAD_TOP;
    row.y = new_image ? -PAD_TOP : row.y;
#if VOLUME
    row.z += new_image ? STRIDE_Z : 0;
    new_image = row.z == OD * STRIDE_Z - PAD_FRONT;
    row.z = new_image ? -PAD_FRONT : row.z;
    row.image += new_image ? ID : 0;
#else
    row.image += new_image ? IH : 0;
#endif
#endif
    return row;
}

// The row of the output, in COLUMNS elements, that gets a row's results. TRANSPOSED: -1 past the edge of the output.
int output_row(int batch, int r) {
#if TRANSPOSED
    int qy = r / PHASE_W, y = qy % PHASE_H * STRIDE_Y + batch / STRIDE_X, x = r % PHASE_W * STRIDE_X + batch % STRIDE_X;
    return y < OH && x < OW ? (qy / PHASE_H * OH + y) * OW + x : -1;
#else
    return batch * ROWS + r;
#endif
}
#if TRANSPOSED
#define IS_STORED(to) ((OH % STRIDE_Y == 0 && OW % STRIDE_X == 0) || (to) >= 0)
#define COLUMN_QUAD(quad) (batch * QUADS + (quad))
#else
#define IS_STORED(to) true
#define COLUMN_QUAD(quad) (quad)
#endif

// Where a tap of a row lies (TAP_COORDINATES, then TAP_PIXEL), and whether not in the padding. Of VOLUME, ky counts the
// rows of all planes of the kernel.
#ifdef COOPERATIVE
#define IS_WITHIN(i, n) uint(i) < uint(n)  // one comparison; what CPUs have are of signed numbers
#else
#define IS_WITHIN(i, n) i >= 0 && i < n
#endif
#if TRANSPOSED
#define TAP_COORDINATES int y = row.y - ky, x = row.x - kx;
#elif VOLUME
#define TAP_COORDINATES \
    int z = row.z + ky / KH * DILATION_Z, y = row.y + ky % KH * DILATION_Y, x = row.x + kx * DILATION_X;
#else
#define TAP_COORDINATES int y = row.y + ky * DILATION_Y, x = row.x + kx * DILATION_X;
#endif
#if VOLUME
#define TAP_PIXEL (((row.image + z) * IH + y) * IW + x)
#define TAP_IS_INSIDE IS_WITHIN(z, ID) && IS_WITHIN(y, IH) && IS_WITHIN(x, IW)
#else
#define TAP_PIXEL ((row.image + y) * IW + x)
#define TAP_IS_INSIDE IS_WITHIN(y, IH) && IS_WITHIN(x, IW)
#endif

// Element offset of one tap of a row; -1 in the padding.
int tap_at(Row row, int ky, int kx) {
#if MATRIX || FLAT
    return row.image * K;
#else
    TAP_COORDINATES
    bool inside = TAP_IS_INSIDE;
    return inside ? TAP_PIXEL * K : -1;
#endif
}

#ifdef COOPERATIVE
struct Pixel {
    int number;
    bool is_inside;
};

Pixel pixel_of(Row row, int ky, int kx) {
#if MATRIX
    return Pixel(row.image, true);
#else
    TAP_COORDINATES
    return Pixel(TAP_PIXEL, TAP_IS_INSIDE);
#endif
}
#endif

// The tap (ky as tap_at() counts it) and the first inner element of a block.
struct Block {
    int ky, kx, k;
};

Block block_at(int block) {
#if MATRIX || FLAT
    return Block(0, 0, block * 4);
#else
    if (MOST_BLOCKS == K_BLOCKS) return Block(0, 0, block * 4);  // one tap
    uint tap = uint(block) / uint(K_BLOCKS), ky = tap / uint(TAPS_X);
    return Block(int(ky), int(tap - ky * uint(TAPS_X)), (block - int(tap) * K_BLOCKS) * 4);
#endif
}

#define IN_PADDING(at) (PADDED && (at) < 0)
#define TAP_START(at) (PADDED ? max(at, 0) : (at))

#if SHORT_ROWS
// All of a tap's elements, of which there are less than four: one load where the compiler sees that they are
// neighbours.
X4 short_row(uint at) {
    X1 first = in0_load1(at), second = K > 1 ? in0_load1(at + 1u) : first;
    return X4(first, second, K > 2 ? in0_load1(at + 2u) : second, first);
}
#endif

// Four inner elements of a row; zero in the padding and past the last one.
X4 row4(int at, int k) {
    uint i = uint(TAP_START(at) + k);
    X4 v;
    if (HAS_QUADS) {
        v = LESS_ROW_ZP(in0_load4q(i >> 2));
    } else {
        int left = min(K - k, 4);
        v = LESS_ROW_ZP(in0_loadn(i, uint(left)));
        v = X4(v.x, left > 1 ? v.y : X1(0), left > 2 ? v.z : X1(0), left > 3 ? v.w : X1(0));
    }
    return IN_PADDING(at) ? X4(0) : v;
}

#if DOT4
// The same elements as a word, with the zero point in them: it alone in the padding, anything past the last one,
// where the columns have theirs.
int row_word(int at, int k) {
    uint i = uint(TAP_START(at) + k);
    int word = ROW_BITS(HAS_QUADS ? in0_word4q(i >> 2) : pack_i8(in0_loadn(i, uint(min(K - k, 4)))));
    return IN_PADDING(at) ? pack_i8(ivec4(row_zp)) : word;
}
#endif

#if (!MATRIX || TURNED) && (!X_FLOAT || CONVERTS == 2)
#ifndef NIBBLES
#define NIBBLES 0
#endif
// The four words of a block of weights. NIBBLES: a byte of in1 has what stands at its place in two words, of the first
// one in its lower half.
ivec4 weight_words(uint block) {
#if NIBBLES
    ivec2 w = in1_words4q(block);
    ivec4 nibbles = ivec4(w.x, w.x >> 4, w.y, w.y >> 4) & 0x0f0f0f0f;
    // Their signs go up to the end of the byte: no sum carries into the next one.
    return ((nibbles ^ 0x08080808) + 0x78787878) ^ ~0x7f7f7f7f;
#else
    return in1_load4q(block);
#endif
}
#endif

#if DOT4
// Four products by one instruction. Words hold four inner elements of one row or column each; what the zero points
// add is corrected for: rows by their sums, columns in the bias (kernels/product/product.hpp) or by theirs. Where DOT4
// is 2 the numbers of rows are unsigned: 128 more, as their zero point is.
#if DOT4 == 2
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4452)
int dot_4x8(int a_signed, int b_unsigned, spirv_literal int packed_format);
#else
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450)
int dot_4x8(int a, int b, spirv_literal int packed_format);
#endif
ivec4 products(int a, ivec4 w) {
    return ivec4(dot_4x8(w.x, a, 0), dot_4x8(w.y, a, 0), dot_4x8(w.z, a, 0), dot_4x8(w.w, a, 0));
}
#define ONES 0x01010101
#define SUM_OF_ROW(a) dot_4x8(ONES, a, 0)
#endif

#if MATRIX
#define COLUMN_AT_K(batch, k, quad) (((batch) * K + (k)) * (COLUMNS / 4) + (quad))
// Four words of four bytes, turned: byte k of word j becomes byte j of word k.
ivec4 turned_bytes(int a, int b, int c, int d) {
    // Bytes 0 and 2 of two words side by side, and bytes 1 and 3.
    const int even = 0x00ff00ff, odd = ~even;
    int ab02 = (a & even) | ((b << 8) & odd), ab13 = ((a >> 8) & even) | (b & odd);
    int cd02 = (c & even) | ((d << 8) & odd), cd13 = ((c >> 8) & even) | (d & odd);
    return ivec4((ab02 & 0xffff) | (cd02 << 16), (ab13 & 0xffff) | (cd13 << 16),
                 ((ab02 >> 16) & 0xffff) | (cd02 & ~0xffff), ((ab13 >> 16) & 0xffff) | (cd13 & ~0xffff));
}
#endif

#if DOT4
// The words of four columns: four inner elements of block `block` of each, with the zero point in them.
#if MATRIX && !TURNED
// Past the last inner element there is the zero point alone. `at` as column4() has it.
int column_word(int batch, int k, int quad, int at) {
    if (!HAS_QUADS && k >= K) return pack_i8(ivec4(column_zp));
    if (COLUMNS % 4 == 0) return in1_word4q(uint(at));
    return pack_i8(in1_loadn(uint((batch * K + k) * COLUMNS + quad * 4), uint(min(COLUMNS - quad * 4, 4))));
}
ivec4 column_words(int batch, int k, int quad, int at) {
    const int next = COLUMNS / 4;
    return turned_bytes(column_word(batch, k, quad, at), column_word(batch, k + 1, quad, at + next),
                        column_word(batch, k + 2, quad, at + 2 * next), column_word(batch, k + 3, quad, at + 3 * next));
}
ivec4 column_words(int batch, int quad, int block) {
    return column_words(batch, 4 * block, quad, COLUMN_AT_K(batch, 4 * block, quad));
}
#elif !MATRIX
ivec4 column_words(int batch, int quad, int block) {
    return weight_words(uint(COLUMN_QUAD(quad) * MOST_BLOCKS + block));
}
#endif
#endif

#if STEP_K == 8
// Eight inner elements of a row, K being a multiple of eight.
void row8(int at, int k, out X4 x, out X4 y) {
#ifdef IN0_EIGHTS
    in0_load8(uint(TAP_START(at) + k), x, y);
    x = IN_PADDING(at) ? X4(0) : LESS_ROW_ZP(x);
    y = IN_PADDING(at) ? X4(0) : LESS_ROW_ZP(y);
#else
    x = row4(at, k);
    y = row4(at, k + 4);
#endif
}
#endif

#if !NO_BIAS
TOTAL4 bias4(int batch, int quad) {
#if MATRIX && WIDE
    return wide_from(ivec4(0));
#elif MATRIX
    return TOTAL4(0);
#else
    if (BIAS == 1) return TOTAL_SPLAT(in2_load1(0u));
    return in2_load4(uint(4 * (BIAS > COLUMNS ? batch * QUADS + quad : quad)));
#endif
}
#endif
