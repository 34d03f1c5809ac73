// DEPTHWISE_CONV2D, direct: an invocation makes 4 output channels of one pixel.
//   in0  input  [N,IH,IW,C]
//   in1  weight, taps x channels: [KH*KW][C*M rounded up to 4]
//   in2  bias [BC]
// WIDE: the input is i16, bias and result are i48.
layout(constant_id = 0) const int IH = 1;
layout(constant_id = 1) const int IW = 1;
layout(constant_id = 2) const int C = 1;
layout(constant_id = 3) const int M = 1;
layout(constant_id = 4) const int OH = 1;
layout(constant_id = 5) const int OW = 1;
layout(constant_id = 6) const int KH = 1;
layout(constant_id = 7) const int KW = 1;
layout(constant_id = 8) const int STRIDE_Y = 1;
layout(constant_id = 9) const int STRIDE_X = 1;
layout(constant_id = 10) const int DILATION_Y = 1;
layout(constant_id = 11) const int DILATION_X = 1;
layout(constant_id = 12) const int PAD_TOP = 0;
layout(constant_id = 13) const int PAD_LEFT = 0;
layout(constant_id = 14) const int PIXELS = 1;
layout(constant_id = 15) const int BC = 1;
layout(constant_id = 16) const int INPUT_ZP = 0;
layout(constant_id = 17) const int WEIGHT_ZP = 0;

const int OC = C * M;
const int OC_QUADS = (OC + 3) / 4;

#if X_FLOAT
#define X4 vec4
#define LESS_ZP(v, zp) (v)
#else
#define X4 ivec4
#define LESS_ZP(v, zp) ((v) - (zp))
#endif

// The input channels that feed output channels oc..oc+n-1 of one position.
X4 input4(int at, int oc, int n) {
    if (M == 1) return C % 4 == 0 ? in0_load4(uint(at + oc)) : in0_loadn(uint(at + oc), uint(n));
    int last = oc + n - 1;
    return X4(in0_load1(uint(at + oc / M)), in0_load1(uint(at + min(oc + 1, last) / M)),
              in0_load1(uint(at + min(oc + 2, last) / M)), in0_load1(uint(at + min(oc + 3, last) / M)));
}

// In floats the padding is a zero that is multiplied: an infinite weight makes it NaN.
#define TAP(s)                                                                                      \
    if (s == 0 || begin + s < KW) {                                                                 \
        int kx = begin + s, x = ox * STRIDE_X - PAD_LEFT + kx * DILATION_X;                         \
        bool inside = row && x >= 0 && x < IW;                                                      \
        if (inside || X_FLOAT == 1) {                                                               \
            X4 v = inside ? input4(((image * IH + y) * IW + x) * C, oc, n) : X4(INPUT_ZP);          \
            X4 w = in1_load4(uint((ky * KW + kx) * OC_QUADS * 4 + oc));                             \
            acc += LESS_ZP(v, INPUT_ZP) * LESS_ZP(w, WEIGHT_ZP);                                    \
        }                                                                                           \
    }

void main() {
    int id = int(invocation_index());
    int oc = id % OC_QUADS * 4, p = id / OC_QUADS;
    if (p >= PIXELS) return;
    int n = min(OC - oc, 4);
    int ox = p % OW, oy = p / OW % OH, image = p / (OW * OH);

    X4 acc = X4(0);
#if WIDE
    int pending = 0;
    wide4 total = wide_from(ivec4(0));
#endif
    for (int ky = 0; ky < KH; ++ky) {
        int y = oy * STRIDE_Y - PAD_TOP + ky * DILATION_Y;
        bool row = y >= 0 && y < IH;
        for (int begin = 0; begin < KW; begin += STEPS) {
            REPEAT(TAP)
#if WIDE
            pending += STEPS;
            if (pending > WIDE_PRODUCTS - STEPS) {
                total = wide_add(total, wide_from(acc));
                acc = ivec4(0);
                pending = 0;
            }
#endif
        }
    }
    TOTAL4 bias;
    if (BC == 1) bias = TOTAL_SPLAT(in2_load1(0u));
    else bias = in2_load4(uint(oc));
#if WIDE
    FUSED(uint(p * OC + oc), uint(n), TOTAL_ADD(wide_add(total, wide_from(acc)), bias));
#else
    FUSED(uint(p * OC + oc), uint(n), acc + bias);
#endif
}
