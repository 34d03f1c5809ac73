// CONV2D as an implicit matrix product: rows are output pixels, columns output channels, the inner dimension runs over
// kernel taps and input channels. An invocation makes TM pixels x 4 channels.
//   in0  input  [N,IH,IW,IC]
//   in1  weight in tile order: [OC/4][KH*KW][IC/4] blocks of 4 input channels x 4 output channels, zero-padded
//        (i8: one word an input channel, 4 words a block; fp32: one vec4 an input channel)
//   in2  bias [BC]
// WIDE: the input is i16, bias and result are i48.
layout(constant_id = 0) const int IH = 1;
layout(constant_id = 1) const int IW = 1;
layout(constant_id = 2) const int IC = 1;
layout(constant_id = 3) const int OH = 1;
layout(constant_id = 4) const int OW = 1;
layout(constant_id = 5) const int OC = 1;
layout(constant_id = 6) const int KH = 1;
layout(constant_id = 7) const int KW = 1;
layout(constant_id = 8) const int STRIDE_Y = 1;
layout(constant_id = 9) const int STRIDE_X = 1;
layout(constant_id = 10) const int DILATION_Y = 1;
layout(constant_id = 11) const int DILATION_X = 1;
layout(constant_id = 12) const int PAD_TOP = 0;
layout(constant_id = 13) const int PAD_LEFT = 0;
layout(constant_id = 14) const int PIXELS = 1;  // N*OH*OW
layout(constant_id = 15) const int BC = 1;
layout(constant_id = 16) const int INPUT_ZP = 0;
layout(constant_id = 17) const int WEIGHT_ZP = 0;

const int IC_BLOCKS = (IC + 3) / 4;
const int OC_QUADS = (OC + 3) / 4;

#if X_FLOAT
#define X4 vec4
#define WEIGHT(block, k) in1_load4(uint((block) * 16 + (k) * 4))
#define ZERO_POINT 0.0
#else
#define X4 ivec4
#define WEIGHT(block, k) (unpack_i8(words[k]) - WEIGHT_ZP)
#define ZERO_POINT INPUT_ZP
#endif

struct Pixel {
    int row, y, x;  // first input row (image * IH), and the top left input position
};

Pixel pixel_at(int p) {
    p = min(p, PIXELS - 1);
    int oy = p / OW;
    return Pixel((oy / OH) * IH, (oy % OH) * STRIDE_Y - PAD_TOP, (p % OW) * STRIDE_X - PAD_LEFT);
}

// Element offset of one tap in the input, or -1 in the padding.
int tap_at(Pixel p, int ky, int kx) {
    int y = p.y + ky * DILATION_Y, x = p.x + kx * DILATION_X;
    bool inside = y >= 0 && y < IH && x >= 0 && x < IW;
    return inside ? ((p.row + y) * IW + x) * IC : -1;
}

// Four input channels; zero in the padding and past the last channel.
X4 input4(int at, int ic) {
    if (at < 0) return X4(0);
    uint i = uint(at + ic);
    if (IC % 4 == 0) return in0_load4(i) - ZERO_POINT;
    int left = min(IC - ic, 4);
    X4 x = in0_loadn(i, uint(left)) - ZERO_POINT;
    return X4(x.x, left > 1 ? x.y : 0, left > 2 ? x.z : 0, left > 3 ? x.w : 0);
}

#define STEP(acc, at)                                     \
    {                                                     \
        X4 x = input4(at, ic);                            \
        acc += x.x * w0 + x.y * w1 + x.z * w2 + x.w * w3; \
    }

#if X_FLOAT
#define LOAD_WORDS
#else
#define LOAD_WORDS ivec4 words = in1_load4(uint(block * 4));
#endif
#if TM == 4
#define MORE_STEPS STEP(acc1, at1) STEP(acc2, at2) STEP(acc3, at3)
#else
#define MORE_STEPS
#endif

// One block of weights, input channels ic..ic+3.
#define BLOCK(s)                                                                                              \
    if (s == 0 || begin + 4 * s < IC) {                                                                       \
        int ic = begin + 4 * s;                                                                               \
        LOAD_WORDS                                                                                            \
        X4 w0 = WEIGHT(block, 0), w1 = WEIGHT(block, 1), w2 = WEIGHT(block, 2), w3 = WEIGHT(block, 3);        \
        STEP(acc0, at0)                                                                                       \
        MORE_STEPS                                                                                            \
        ++block;                                                                                              \
    }

void finish(int p, int quad, TOTAL4 acc) {
    if (p >= PIXELS) return;
    uint n = uint(min(OC - quad * 4, 4));
    TOTAL4 bias;
    if (BC == 1) bias = TOTAL_SPLAT(in2_load1(0u));
    else bias = in2_load4(uint(quad * 4));
    FUSED(uint(p * OC + quad * 4), n, TOTAL_ADD(acc, bias));
}

#if WIDE
// Products of one tap between two looks at what is pending.
const int CHUNK = IC_BLOCKS * 4 < WIDE_PRODUCTS ? IC_BLOCKS * 4 : WIDE_PRODUCTS;
#define FLUSH1(k)                                      \
    total##k = wide_add(total##k, wide_from(acc##k));  \
    acc##k = ivec4(0);
#if TM == 4
#define FLUSH FLUSH1(0) FLUSH1(1) FLUSH1(2) FLUSH1(3)
#else
#define FLUSH FLUSH1(0)
#endif
#define RESULT(k) total##k
#else
#define RESULT(k) acc##k
#endif

void main() {
    int id = int(invocation_index());
    int quad = id % OC_QUADS, first = id / OC_QUADS * TM;
    if (first >= PIXELS) return;

    Pixel p0 = pixel_at(first);
    X4 acc0 = X4(0);
#if TM == 4
    Pixel p1 = pixel_at(first + 1), p2 = pixel_at(first + 2), p3 = pixel_at(first + 3);
    X4 acc1 = X4(0), acc2 = X4(0), acc3 = X4(0);
#endif
#if WIDE
    int pending = 0;
    wide4 total0 = wide_from(ivec4(0));
#if TM == 4
    wide4 total1 = total0, total2 = total0, total3 = total0;
#endif
#endif
    int block = quad * KH * KW * IC_BLOCKS;
    for (int ky = 0; ky < KH; ++ky) {
        for (int kx = 0; kx < KW; ++kx) {
            int at0 = tap_at(p0, ky, kx);
#if TM == 4
            int at1 = tap_at(p1, ky, kx), at2 = tap_at(p2, ky, kx), at3 = tap_at(p3, ky, kx);
#endif
#if WIDE
            for (int chunk = 0; chunk < IC; chunk += WIDE_PRODUCTS) {
                int end = min(chunk + WIDE_PRODUCTS, IC);
                for (int begin = chunk; begin < end; begin += 4 * STEPS) {
                    REPEAT(BLOCK)
                }
                pending += CHUNK;
                if (pending > WIDE_PRODUCTS - CHUNK) {
                    FLUSH
                    pending = 0;
                }
            }
#else
            for (int begin = 0; begin < IC; begin += 4 * STEPS) {
                REPEAT(BLOCK)
            }
#endif
        }
    }
#if WIDE
    FLUSH
#endif
    finish(first, quad, RESULT(0));
#if TM == 4
    finish(first + 1, quad, RESULT(1));
    finish(first + 2, quad, RESULT(2));
    finish(first + 3, quad, RESULT(3));
#endif
}
