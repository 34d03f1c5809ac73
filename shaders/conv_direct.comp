// CONV2D, CONV3D, DEPTHWISE_CONV2D and TRANSPOSE_CONV2D with the weights as the graph has them, so that every operand
// may be computed at run time. An invocation makes 4 output channels of one position.
//   in0  input  [N,ID,IH,IW,IC]
//   in1  weight [OC,KD,KH,KW,IC]; DEPTHWISE: [KH,KW,IC,M]
//   in2  bias   [BC]
// INPUT_ZP and WEIGHT_ZP are specialization constants or read from buffers.
// WIDE: the input is i16, bias and result are i48.
layout(constant_id = 0) const int ID = 1;
layout(constant_id = 1) const int IH = 1;
layout(constant_id = 2) const int IW = 1;
layout(constant_id = 3) const int IC = 1;
layout(constant_id = 4) const int OD = 1;
layout(constant_id = 5) const int OH = 1;
layout(constant_id = 6) const int OW = 1;
layout(constant_id = 7) const int OC = 1;
layout(constant_id = 8) const int KD = 1;
layout(constant_id = 9) const int KH = 1;
layout(constant_id = 10) const int KW = 1;
layout(constant_id = 11) const int STRIDE_D = 1;
layout(constant_id = 12) const int STRIDE_Y = 1;
layout(constant_id = 13) const int STRIDE_X = 1;
layout(constant_id = 14) const int DILATION_D = 1;
layout(constant_id = 15) const int DILATION_Y = 1;
layout(constant_id = 16) const int DILATION_X = 1;
layout(constant_id = 17) const int PAD_D = 0;
layout(constant_id = 18) const int PAD_Y = 0;
layout(constant_id = 19) const int PAD_X = 0;
layout(constant_id = 20) const int POSITIONS = 1;  // late: N*OD*OH*OW
layout(constant_id = 21) const int BC = 1;
layout(constant_id = 22) const int M = 1;  // DEPTHWISE: output channels per input channel
layout(constant_id = 23) const int INPUT_ZP_CONSTANT = 0;
layout(constant_id = 24) const int WEIGHT_ZP_CONSTANT = 0;

const int OC_QUADS = (OC + 3) / 4;

#if X_FLOAT
#define X1 float
#define X4 vec4
#define SUM4(v) dot(v, vec4(1.0))
#else
#define X1 int
#define X4 ivec4
#define SUM4(v) ((v).x + (v).y + (v).z + (v).w)
#endif

// The input element that tap k of output o reads; -1: there is none.
int source(int o, int k, int stride, int dilation, int pad, int size) {
#if TRANSPOSED
    int i = o - pad - k;
    if (i < 0 || i % stride != 0) return -1;
    i /= stride;
#else
    int i = o * stride - pad + k * dilation;
#endif
    return i >= 0 && i < size ? i : -1;
}

// PADDING_COUNTS: weights may be infinite or no numbers, whose products with the padding's zeros are no numbers.
// Compilers leave out what they see is multiplied by zero: this one is none that they know.
#if PADDING_COUNTS
#define PADDING_ZERO intBitsToFloat(min(id, 0))
#define TAKEN1(v) (inside ? (v) : PADDING_ZERO)
#define TAKEN4(v) (inside ? (v) : X4(PADDING_ZERO))
#else
#define TAKEN1(v) (v)
#define TAKEN4(v) (v)
#endif

#define CHANNELS4(s)                                                     \
    if (s == 0 || begin + 4 * s < IC) {                                  \
        int ic = begin + 4 * s;                                          \
        X4 v = TAKEN4(in0_load4(uint(at + ic)) - input_zp);              \
        acc += X4(SUM4(v * (in1_load4(uint(row.x + ic)) - weight_zp)),   \
                  SUM4(v * (in1_load4(uint(row.y + ic)) - weight_zp)),   \
                  SUM4(v * (in1_load4(uint(row.z + ic)) - weight_zp)),   \
                  SUM4(v * (in1_load4(uint(row.w + ic)) - weight_zp)));  \
    }
#define CHANNEL(s)                                                                                               \
    if (s == 0 || begin + s < IC) {                                                                              \
        X1 v = TAKEN1(in0_load1(uint(at + begin + s)) - input_zp);                                               \
        ivec4 i = row + (begin + s);                                                                             \
        acc += v * (X4(in1_load1(uint(i.x)), in1_load1(uint(i.y)), in1_load1(uint(i.z)), in1_load1(uint(i.w))) - \
                    weight_zp);                                                                                  \
    }

// After `count` more products, at most 32.
#if WIDE
#define TOOK(count)                                \
    pending += count;                              \
    if (pending > WIDE_PRODUCTS - 32) {            \
        total = wide_add(total, wide_from(acc));   \
        acc = ivec4(0);                            \
        pending = 0;                               \
    }
#else
#define TOOK(count)
#endif

void main() {
    int id = int(invocation_index());
    int oc = id % OC_QUADS * 4, p = id / OC_QUADS;
    if (p >= POSITIONS) return;
    int n = min(OC - oc, 4);
    ivec4 channel = min(ivec4(oc, oc + 1, oc + 2, oc + 3), ivec4(OC - 1));
    int ox = p % OW, oy = p / OW % OH, od = p / (OW * OH) % OD, image = p / (OW * OH * OD);
    X1 input_zp = X1(INPUT_ZP), weight_zp = X1(WEIGHT_ZP);

    X4 acc = X4(0);
#if WIDE
    int pending = 0;
    wide4 total = wide_from(ivec4(0));
#endif
    for (int kd = 0; kd < KD; ++kd) {
        int d = source(od, kd, STRIDE_D, DILATION_D, PAD_D, ID);
        for (int ky = 0; ky < KH; ++ky) {
            int y = source(oy, ky, STRIDE_Y, DILATION_Y, PAD_Y, IH);
            for (int kx = 0; kx < KW; ++kx) {
                int x = source(ox, kx, STRIDE_X, DILATION_X, PAD_X, IW);
                bool inside = d >= 0 && y >= 0 && x >= 0;
#if !PADDING_COUNTS
                if (!inside) continue;
#endif
                int at = (((image * ID + max(d, 0)) * IH + max(y, 0)) * IW + max(x, 0)) * IC,
                    tap = (kd * KH + ky) * KW + kx;
#if DEPTHWISE
                ivec4 i = at + channel / M;
                X4 v = TAKEN4(X4(in0_load1(uint(i.x)), in0_load1(uint(i.y)), in0_load1(uint(i.z)),
                                in0_load1(uint(i.w))) - input_zp);
                acc += v * (in1_loadn(uint(tap * OC + oc), uint(n)) - weight_zp);
                TOOK(1)
#else
                ivec4 row = (channel * (KD * KH * KW) + tap) * IC;
                if (IC % 4 == 0) {
                    for (int begin = 0; begin < IC; begin += 4 * STEPS) {
                        REPEAT(CHANNELS4)
                        TOOK(4 * STEPS)
                    }
                } else {
                    for (int begin = 0; begin < IC; begin += STEPS) {
                        REPEAT(CHANNEL)
                        TOOK(STEPS)
                    }
                }
#endif
            }
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
