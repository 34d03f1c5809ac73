// DEPTHWISE_CONV2D, direct: an invocation makes 4 output channels of TX neighbouring pixels. With more than one, KW
// is known to the shader (and DILATION_X is 1): a row of the input under them is loaded once.
//   in0  input  [N,IH,IW,C]
//   in1  weight, taps x channels: [KH*KW][C*M rounded up to 4]
//   in2  bias [BC]
// HALF: in fp16 as the device computes it. WIDE: the input is i16, bias and result are i48. AS_FLOATS: integers are
// summed as floats, which is exact (the plan sees to that) and no slower anywhere.
layout(constant_id = 0) const int IH = 1;
layout(constant_id = 1) const int IW = 1;
layout(constant_id = 2) const int C = 1;
layout(constant_id = 3) const int M = 1;
layout(constant_id = 4) const int OH = 1;
layout(constant_id = 5) const int OW = 1;
layout(constant_id = 6) const int KH = 1;
#if TX == 1
layout(constant_id = 7) const int KW = 1;
#endif
layout(constant_id = 8) const int STRIDE_Y = 1;
layout(constant_id = 9) const int STRIDE_X = 1;
layout(constant_id = 10) const int DILATION_Y = 1;
layout(constant_id = 11) const int DILATION_X = 1;
layout(constant_id = 12) const int PAD_TOP = 0;
layout(constant_id = 13) const int PAD_LEFT = 0;
layout(constant_id = 14) const int RUNS = 1;  // late: of TX pixels, of all images
layout(constant_id = 15) const int BC = 1;
layout(constant_id = 16) const int INPUT_ZP = 0;
layout(constant_id = 17) const int WEIGHT_ZP = 0;

const int OC = C * M;
const int OC_QUADS = (OC + 3) / 4;

#if X_FLOAT || AS_FLOATS
#define MULTIPLY(a, b, c) MULTIPLY_ADD(a, b, c)
#else
#define MULTIPLY(a, b, c) ((c) + (a) * (b))
#endif
#if X_FLOAT
#if HALF
#define A4 half4
#else
#define A4 vec4
#endif
#define X4 A4
#define LESS_ZP(v, zp) (v)
#define SUM(a) (a)
#elif AS_FLOATS
#define X4 ivec4
#define A4 vec4
#define LESS_ZP(v, zp) vec4((v) - (zp))
#define SUM(a) ivec4(a)
#else
#define X4 ivec4
#define A4 ivec4
#define LESS_ZP(v, zp) ((v) - (zp))
#define SUM(a) (a)
#endif

// The input channels that feed output channels oc..oc+n-1 of one position.
X4 input4(int at, int oc, int n) {
    if (M == 1) return C % 4 == 0 ? in0_load4(uint(at + oc)) : in0_loadn(uint(at + oc), uint(n));
    int first = oc / M;
    if (C % 4 == 0 && (M == 2 || M % 4 == 0)) {  // they lie in one quad
        X4 x = in0_load4(uint(at + first - first % 4));
        if (M == 2) return first % 4 == 0 ? x.xxyy : x.zzww;
        return X4(x[first % 4]);
    }
    int last = oc + n - 1;
    return X4(in0_load1(uint(at + first)), in0_load1(uint(at + min(oc + 1, last) / M)),
              in0_load1(uint(at + min(oc + 2, last) / M)), in0_load1(uint(at + min(oc + 3, last) / M)));
}

A4 weight4(int tap, int oc) { return LESS_ZP(in1_load4(uint(tap * OC_QUADS * 4 + oc)), WEIGHT_ZP); }

// In floats the padding is a zero that is multiplied: an infinite weight makes it NaN.
#define TAP(s)                                                                                      \
    if (s == 0 || begin + s < KW) {                                                                 \
        int kx = begin + s, x = left + kx * DILATION_X;                                             \
        bool inside = row && x >= 0 && x < IW;                                                      \
        if (inside || X_FLOAT == 1) {                                                               \
            A4 v = LESS_ZP(inside ? input4((line + x) * C, oc, n) : X4(INPUT_ZP), INPUT_ZP);        \
            acc[0] = MULTIPLY(v, weight4(ky * KW + kx, oc), acc[0]);                                \
        }                                                                                           \
    }

void main() {
    int id = int(invocation_index());
    int oc = id % OC_QUADS * 4, p = id / OC_QUADS;
    if (p >= RUNS) return;
    int n = min(OC - oc, 4);
    const int row_runs = (OW + TX - 1) / TX;
    int ox = p % row_runs * TX, oy = p / row_runs % OH, image = p / (row_runs * OH), left = ox * STRIDE_X - PAD_LEFT;

    A4 acc[TX];
    for (int t = 0; t < TX; ++t) acc[t] = A4(0);
#if WIDE
    int pending = 0;
    wide4 total[TX];
    for (int t = 0; t < TX; ++t) total[t] = wide_from(ivec4(0));
#define FLUSH_AFTER(products)                                                                        \
    pending += products;                                                                             \
    if (pending > WIDE_PRODUCTS - (products)) {                                                      \
        for (int t = 0; t < TX; ++t) {                                                               \
            total[t] = wide_add(total[t], wide_from(acc[t]));                                        \
            acc[t] = ivec4(0);                                                                       \
        }                                                                                            \
        pending = 0;                                                                                 \
    }
#else
#define FLUSH_AFTER(products)
#endif
    for (int ky = 0; ky < KH; ++ky) {
        int y = oy * STRIDE_Y - PAD_TOP + ky * DILATION_Y, line = (image * IH + y) * IW;
        bool row = y >= 0 && y < IH;
#if TX > 1
#define COLUMNS ((TX - 1) * STRIDE + KW)
        A4 under[COLUMNS];
        for (int i = 0; i < COLUMNS; ++i) {
            int x = left + i;
            bool inside = row && x >= 0 && x < IW;
            X4 v = input4(inside ? (line + x) * C : 0, oc, n);
            under[i] = LESS_ZP(inside ? v : X4(INPUT_ZP), INPUT_ZP);
        }
        for (int kx = 0; kx < KW; ++kx) {
            A4 w = weight4(ky * KW + kx, oc);
            for (int t = 0; t < TX; ++t) acc[t] = MULTIPLY(under[t * STRIDE + kx], w, acc[t]);
        }
        FLUSH_AFTER(KW)
#else
        for (int begin = 0; begin < KW; begin += STEPS) {
            REPEAT(TAP)
            FLUSH_AFTER(STEPS)
        }
#endif
    }
    TOTAL4 bias;
    if (BC == 1) bias = TOTAL_SPLAT(in2_load1(0u));
    else bias = in2_load4(uint(oc));
    for (int t = 0; t < min(TX, OW - ox); ++t) {
        uint e = uint(((image * OH + oy) * OW + ox + t) * OC + oc);
#if WIDE
        FUSED(e, uint(n), TOTAL_ADD(wide_add(total[0], wide_from(acc[0])), bias));
#else
        FUSED(e, uint(n), SUM(acc[0]) + bias);
#endif
        // What follows is compiled once: the next pixel moves down.
        for (int i = 0; i + 1 < TX; ++i) {
            acc[i] = acc[i + 1];
#if WIDE
            total[i] = total[i + 1];
#endif
        }
    }
}
