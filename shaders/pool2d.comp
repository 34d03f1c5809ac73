// AVG_POOL2D and MAX_POOL2D: an invocation makes STEP channels of one pixel: 4, or 1.
//   in0  input [N,IH,IW,C]
//   in1  AVG_POOL2D: by number of elements in the window minus one, the multiplier of their reciprocal (i32), or the
//        reciprocal itself (fp32)
// INPUT_ZP and OUTPUT_ZP of AVG_POOL2D are specialization constants or read from buffers.
layout(constant_id = 0) const int IH = 1;
layout(constant_id = 1) const int IW = 1;
layout(constant_id = 2) const int C = 1;
layout(constant_id = 3) const int OH = 1;
layout(constant_id = 4) const int OW = 1;
layout(constant_id = 5) const int KH = 1;
layout(constant_id = 6) const int KW = 1;
layout(constant_id = 7) const int STRIDE_Y = 1;
layout(constant_id = 8) const int STRIDE_X = 1;
layout(constant_id = 9) const int PAD_TOP = 0;
layout(constant_id = 10) const int PAD_LEFT = 0;
layout(constant_id = 11) const int PIXELS = 1;  // late
layout(constant_id = 12) const int INPUT_ZP_CONSTANT = 0;
layout(constant_id = 13) const int OUTPUT_ZP_CONSTANT = 0;
layout(constant_id = 14) const int TYPE_MIN = -128;
layout(constant_id = 15) const int TYPE_MAX = 127;
// Of the padding, elements that AVG_POOL2D counts.
layout(constant_id = 16) const int COUNTED_TOP = 0;
layout(constant_id = 17) const int COUNTED_BOTTOM = 0;
layout(constant_id = 18) const int COUNTED_LEFT = 0;
layout(constant_id = 19) const int COUNTED_RIGHT = 0;

const int C_STEPS = (C + STEP - 1) / STEP;
// No window reaches over an edge: loops go round as often for all, so that compilers lay several loads out at once.
const bool INSIDE = PAD_TOP == 0 && PAD_LEFT == 0 && (OH - 1) * STRIDE_Y + KH <= IH && (OW - 1) * STRIDE_X + KW <= IW;

#if X_FLOAT
#define X4 vec4
#else
#define X4 ivec4
#endif

X4 input4(int at, int c, int n) {
#if STEP == 1
    return X4(in0_load1(uint(at + c)));
#else
    return C % 4 == 0 ? in0_load4(uint(at + c)) : in0_loadn(uint(at + c), uint(n));
#endif
}

#if AVERAGE && X_FLOAT
#define TAKE(v) \
    {           \
        X4 taken = v; \
        acc += taken; \
        shares += taken * share; \
    }
#elif AVERAGE
#define TAKE(v) acc += (v) - input_zp;
#elif X_FLOAT
#define TAKE(v) acc = MAXIMUM(acc, v);
#else
#define TAKE(v) acc = max(acc, v);
#endif
#define ELEMENT(s) \
    if (s == 0 || begin + s < columns) TAKE(input4(((image * IH + y0 + y) * IW + x0 + begin + s) * C, c, n))

void main() {
    uint id = invocation_index();
    if (id / uint(C_STEPS) >= uint(PIXELS)) return;
    int c = int(id % uint(C_STEPS)) * STEP, p = int(id / uint(C_STEPS));
    int n = min(C - c, STEP);
    int top = p / OW % OH * STRIDE_Y - PAD_TOP, left = p % OW * STRIDE_X - PAD_LEFT, image = p / (OW * OH);
    int y0 = max(top, 0), y1 = min(top + KH, IH), x0 = max(left, 0), x1 = min(left + KW, IW);

#if AVERAGE
    int count = (min(top + KH, IH + COUNTED_BOTTOM) - max(top, -COUNTED_TOP)) *
                (min(left + KW, IW + COUNTED_RIGHT) - max(left, -COUNTED_LEFT));
    X4 acc = X4(0);
#if X_FLOAT
    // Shares are summed too, since the sum of large elements may overflow where their mean does not. They are less
    // exact: what is the same everywhere in the window would be rounded the same way each time.
    float share = in1_load1(uint(count - 1));
    X4 shares = X4(0);
#else
    int input_zp = INPUT_ZP;
#endif
#else
    // Every window holds at least one element (pad < kernel), so its first one is a fair start.
    X4 acc = input4(((image * IH + y0) * IW + x0) * C, c, n);
#endif
    int rows = INSIDE ? KH : y1 - y0, columns = INSIDE ? KW : x1 - x0;
    for (int y = 0; y < rows; ++y) {
        for (int begin = 0; begin < columns; begin += STEPS) {
            REPEAT(ELEMENT)
        }
    }
#if AVERAGE && X_FLOAT
    acc = mix(acc * share, shares, greaterThanEqual(floatBitsToInt(acc) & ABS_MASK, ivec4(INF_BITS)));
#elif AVERAGE
    // reciprocal(count): shift 30 + k with k = 32 - clz(count - 1)
    int shift = 31 + findMSB(count - 1);
    acc = clamp(scale32(acc, ivec4(in1_load1(uint(count - 1))), ivec4(shift)) + OUTPUT_ZP, TYPE_MIN, TYPE_MAX);
#endif
    FUSED(uint(p * C + c), uint(n), acc);
}
