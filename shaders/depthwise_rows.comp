// DEPTHWISE_CONV2D with one output channel per input channel, down the rows: an invocation makes 4 channels of TX
// neighbouring pixels in ROWS rows (1, 2 or 4), DILATION_Y apart, and keeps the rows of its window that the next output
// row needs again. All is straight code: what a loop carries costs a software driver more than it saves.
//   in0  input  [N,IH,IW,C]
//   in1  weight, taps x channels: [KH*KW][C rounded up to 4]
//   in2  bias [BC]
// Integers are summed as floats, which is exact (the plan sees to that) and no slower anywhere: as they are, padding as
// the zero point, whose share of the sums goes off the bias.
// EIGHTS: 8 channels, quad 0 before quad 1, loaded and stored at once where that can be.
layout(constant_id = 0) const int IH = 1;
layout(constant_id = 1) const int IW = 1;
layout(constant_id = 2) const int C = 1;
layout(constant_id = 3) const int OH = 1;
layout(constant_id = 4) const int OW = 1;
layout(constant_id = 5) const int STRIDE_Y = 1;
layout(constant_id = 6) const int DILATION_Y = 1;
layout(constant_id = 7) const int PAD_TOP = 0;
layout(constant_id = 8) const int PAD_LEFT = 0;
layout(constant_id = 9) const int BATCH = 1;  // late
layout(constant_id = 10) const int BC = 1;
layout(constant_id = 11) const int INPUT_ZP = 0;
layout(constant_id = 12) const int WEIGHT_ZP = 0;

// HALF: in fp16 as the device computes it. W4: four elements of the window, of the weights and of a sum.
#if HALF
#define W4 half4
#else
#define W4 vec4
#endif
#if X_FLOAT
#define X4 W4
#define PADDING 0.0
#define LESS_ZP(w) (w)
#define RESULT(acc, bias) ((acc) + (bias))
#else
#define X4 ivec4
#define PADDING INPUT_ZP
#define LESS_ZP(w) vec4((w) - WEIGHT_ZP)
#define RESULT(acc, bias) (ivec4(acc) + (bias))
#endif

const int QUADS = (C + 3) / 4, RUNS = EIGHTS == 1 ? C / 8 : QUADS, BLOCKS = (OW + TX - 1) / TX;
// Output rows o, o + DILATION_Y, .. share input rows.
const int SPAN = ROWS * DILATION_Y, SPANS = (OH + SPAN - 1) / SPAN;
// Columns of the input under TX pixels, DILATION_X apart (which is 1 if TX is 2); rows under the output rows; rows
// that are new under the next one.
#define COLUMNS ((TX - 1) * STRIDE_X + KW)
#define INPUT_ROWS ((ROWS - 1) * STEP_Y + KH)
#define FRESH (STEP_Y < KH ? STEP_Y : KH)

// Where this invocation's outputs begin and the input under them.
int c, n, image, ox, oy, left, top;

// Column x of row r under the outputs; the address of what lies outside is that of something inside.
bool inside(int r, int x) {
    int y = top + r * DILATION_Y;
    return y >= 0 && y < IH && uint(left + x * DILATION_X) < uint(IW);
}
uint input_at(int r, int x) {
    return uint(inside(r, x) ? ((image * IH + top + r * DILATION_Y) * IW + left + x * DILATION_X) * C + c : c);
}

#ifdef IN0_EIGHTS
ivec2 words[INPUT_ROWS * COLUMNS];  // loaded before the first use: one choice for four elements
#define INPUT(r, x, quad) vec4(unpack_i8(words[(r) * COLUMNS + x][quad]))
#else
#define INPUT(r, x, quad) input4(r, x, uint(quad) * 4u)
W4 input4(int r, int x, uint from) {
    uint at = input_at(r, x) + from;
    X4 v = C % 4 == 0 ? in0_load4(at) : in0_loadn(at, uint(n));
    return W4(inside(r, x) ? v : X4(PADDING));
}
#endif

#ifdef IN1_EIGHTS
ivec2 weight_words[KH * KW];
#define WEIGHT(k, quad) unpack_i8(weight_words[k][quad])
#else
#define WEIGHT(k, quad) in1_load4(uint(k * QUADS * 4 + c + quad * 4))
#endif
W4 weight[KH * KW], window[KH * COLUMNS];
X4 bias;
void load_weights(int quad) {
    int from = c + quad * 4;
    for (int k = 0; k < KH * KW; ++k) weight[k] = LESS_ZP(WEIGHT(k, quad));
    if (BC == 1) bias = X4(in2_load1(0u));
    else bias = in2_load4(uint(from));
#if !X_FLOAT
    vec4 all = vec4(0.0);
    for (int k = 0; k < KH * KW; ++k) all += weight[k];
    bias -= ivec4(all * float(INPUT_ZP));
#endif
}

#if EIGHTS
X4 first[ROWS * TX];  // of the first four channels
#endif

void load_row(int ky, int r, int quad) {
    for (int x = 0; x < COLUMNS; ++x) window[ky * COLUMNS + x] = INPUT(r, x, quad);
}

// Output row `row` of four channels; all arguments are constants.
void make_row(int row, int quad) {
    for (int i = 0; i < (KH - FRESH) * COLUMNS; ++i) window[i] = window[i + FRESH * COLUMNS];
    for (int ky = KH - FRESH; ky < KH; ++ky) load_row(ky, row * STEP_Y + ky, quad);
    for (int t = 0; t < TX; ++t) {
        W4 acc = W4(0.0);
        for (int ky = 0; ky < KH; ++ky) {
            for (int kx = 0; kx < KW; ++kx)
                acc = MULTIPLY_ADD(window[ky * COLUMNS + t * STRIDE_X + kx], weight[ky * KW + kx], acc);
        }
        int y = oy + row * DILATION_Y;
        uint at = uint(((image * OH + y) * OW + ox + t) * C + c);
#if EIGHTS
        if (quad == 0) first[row * TX + t] = RESULT(acc, bias);
        else if (ox + t < OW && y < OH) FUSED8(at, first[row * TX + t], RESULT(acc, bias));
#else
        if (ox + t < OW && y < OH) FUSED(at, uint(n), RESULT(acc, bias));
#endif
    }
}

void make_rows(int quad) {
    load_weights(quad);
    for (int ky = FRESH; ky < KH; ++ky) load_row(ky, ky - FRESH, quad);
    make_row(0, quad);
#if ROWS > 1
    make_row(1, quad);
#endif
#if ROWS > 2
    make_row(2, quad);
    make_row(3, quad);
#endif
}

void main() {
    int id = int(invocation_index());
    int rest = id / RUNS / BLOCKS, phase = rest % DILATION_Y, span = rest / DILATION_Y % SPANS;
    c = id % RUNS * (EIGHTS == 1 ? 8 : 4);
    n = min(C - c, 4);
    image = rest / DILATION_Y / SPANS;
    ox = id / RUNS % BLOCKS * TX;
    oy = span * SPAN + phase;
    left = ox * STRIDE_X - PAD_LEFT;
    top = oy * STRIDE_Y - PAD_TOP;
    if (image >= BATCH) return;
#ifdef IN0_EIGHTS
    for (int r = 0; r < INPUT_ROWS; ++r) {
        for (int x = 0; x < COLUMNS; ++x) {
            ivec2 v = in0_words8(input_at(r, x));
            words[r * COLUMNS + x] = inside(r, x) ? v : ivec2((INPUT_ZP & 255) * 0x01010101);
        }
    }
#endif
#ifdef IN1_EIGHTS
    for (int k = 0; k < KH * KW; ++k) weight_words[k] = in1_words8(uint(k * C + c));
#endif
    make_rows(0);
#if EIGHTS
    make_rows(1);
#endif
}
