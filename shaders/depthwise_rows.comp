// DEPTHWISE_CONV2D with one output channel per input channel, down the rows: an invocation makes 4 channels of TX
// neighbouring pixels in ROWS rows (1, 2 or 4), DILATION_Y apart, and keeps the rows of its window that the next output
// row needs again. All is straight code: what a loop carries costs a software driver more than it saves.
//   in0  input  [N,IH,IW,C]
//   in1  weight, taps x channels: [KH*KW][C rounded up to 4]
//   in2  bias [BC]
// Integers are summed as floats, which is exact (the plan sees to that) and no slower anywhere.
layout(constant_id = 0) const int IH = 1;
layout(constant_id = 1) const int IW = 1;
layout(constant_id = 2) const int C = 1;
layout(constant_id = 3) const int OH = 1;
layout(constant_id = 4) const int OW = 1;
layout(constant_id = 5) const int STRIDE_Y = 1;
layout(constant_id = 6) const int DILATION_Y = 1;
layout(constant_id = 7) const int PAD_TOP = 0;
layout(constant_id = 8) const int PAD_LEFT = 0;
layout(constant_id = 9) const int BATCH = 1;
layout(constant_id = 10) const int BC = 1;
layout(constant_id = 11) const int INPUT_ZP = 0;
layout(constant_id = 12) const int WEIGHT_ZP = 0;

#if X_FLOAT
#define BIAS4 vec4
#define LESS_ZP(v, zp) (v)
#define RESULT(acc, bias) ((acc) + (bias))
#else
#define BIAS4 ivec4
#define LESS_ZP(v, zp) vec4((v) - (zp))
#define RESULT(acc, bias) (ivec4(acc) + (bias))
#endif

const int QUADS = (C + 3) / 4, BLOCKS = (OW + TX - 1) / TX;
// Output rows o, o + DILATION_Y, .. share input rows.
const int SPAN = ROWS * DILATION_Y, SPANS = (OH + SPAN - 1) / SPAN;
// Columns of the input under TX pixels; rows that are new under the next row.
#define COLUMNS ((TX - 1) * STRIDE_X + (KW - 1) * DILATION_X + 1)
#define FRESH (STEP_Y < KH ? STEP_Y : KH)

vec4 input4(int row, int column, bool inside, int c, int n) {
    uint at = uint(inside ? row + column : c);
    vec4 v = LESS_ZP(C % 4 == 0 ? in0_load4(at) : in0_loadn(at, uint(n)), INPUT_ZP);
    return inside ? v : vec4(0.0);
}

#define LOAD_ROW(ky, y)                                                                             \
    {                                                                                               \
        int at_y = (y), row = (image * IH + at_y) * (IW * C);                                       \
        bool in_y = at_y >= 0 && at_y < IH;                                                         \
        for (int x = 0; x < COLUMNS; ++x)                                                           \
            window[(ky) * COLUMNS + x] = input4(row, (left + x) * C + c, in_y && uint(left + x) < uint(IW), c, n); \
    }

void main() {
    int id = int(invocation_index());
    int c = id % QUADS * 4, ox = id / QUADS % BLOCKS * TX, rest = id / QUADS / BLOCKS;
    int phase = rest % DILATION_Y, span = rest / DILATION_Y % SPANS, image = rest / DILATION_Y / SPANS;
    if (image >= BATCH) return;
    int n = min(C - c, 4), left = ox * STRIDE_X - PAD_LEFT;

    vec4 weight[KH * KW];
    for (int k = 0; k < KH * KW; ++k) weight[k] = LESS_ZP(in1_load4(uint(k * QUADS * 4 + c)), WEIGHT_ZP);
    BIAS4 bias;
    if (BC == 1) bias = BIAS4(in2_load1(0u));
    else if (C % 4 == 0) bias = in2_load4(uint(c));
    else bias = in2_loadn(uint(c), uint(n));

    vec4 window[KH * COLUMNS];
    int oy = span * SPAN + phase;
    int y = oy * STRIDE_Y - PAD_TOP;  // under tap 0
    for (int ky = FRESH; ky < KH; ++ky) LOAD_ROW(ky, y + (ky - FRESH) * DILATION_Y)
#define ROW                                                                                         \
    {                                                                                               \
        for (int i = 0; i < (KH - FRESH) * COLUMNS; ++i) window[i] = window[i + FRESH * COLUMNS];   \
        for (int ky = KH - FRESH; ky < KH; ++ky) LOAD_ROW(ky, y + ky * DILATION_Y)                  \
        for (int t = 0; t < TX; ++t) {                                                              \
            vec4 acc = vec4(0.0);                                                                   \
            for (int ky = 0; ky < KH; ++ky) {                                                       \
                for (int kx = 0; kx < KW; ++kx) acc += window[ky * COLUMNS + t * STRIDE_X + kx * DILATION_X] * weight[ky * KW + kx]; \
            }                                                                                       \
            if (ox + t < OW && oy < OH) FUSED(uint(((image * OH + oy) * OW + ox + t) * C + c), uint(n), RESULT(acc, bias)); \
        }                                                                                           \
        oy += DILATION_Y;                                                                           \
        y += STRIDE_Y * DILATION_Y;                                                                 \
    }
    ROW
#if ROWS > 1
    ROW
#endif
#if ROWS > 2
    ROW ROW
#endif
#if ROWS > 4
    ROW ROW ROW ROW
#endif
}
