// RESIZE: an invocation makes EACH channels of one pixel: 1, 4, or 8 where C is a multiple of that. Positions are
// exact integers in units of 1/n input elements.
//   in0  input [N,IH,IW,C]
// WIDE: i16 -> i48, bilinear.
layout(constant_id = 0) const int IH = 1;
layout(constant_id = 1) const int IW = 1;
layout(constant_id = 2) const int C = 1;
layout(constant_id = 3) const int OH = 1;
layout(constant_id = 4) const int OW = 1;
layout(constant_id = 5) const int Y_N = 1;
layout(constant_id = 6) const int Y_D = 1;
layout(constant_id = 7) const int Y_OFFSET = 0;
layout(constant_id = 8) const int X_N = 1;
layout(constant_id = 9) const int X_D = 1;
layout(constant_id = 10) const int X_OFFSET = 0;
layout(constant_id = 11) const int PIXELS = 1;  // late
layout(constant_id = 12) const float Y_OVER = 1.0;  // 1 / Y_N
layout(constant_id = 13) const float X_OVER = 1.0;

const int PIECES = (C + EACH - 1) / EACH;  // of a pixel

#if X_FLOAT
#define X4 vec4
#else
#define X4 ivec4
#endif

struct Sample {
    int i0, i1, r;
};

Sample sample_at(int o, int n, int d, int offset, int size) {
    int p = o * d + offset;
    int i = p >= 0 ? int(uint(p) / uint(n)) : -1;  // offset >= -n
    return Sample(max(i, 0), min(i + 1, size - 1), p - i * n);
}

X4 input4(int image, int y, int x, int c, int n) {
    uint at = uint(((image * IH + y) * IW + x) * C + c);
#if EACH == 1
    return X4(in0_load1(at));
#else
    return C % 4 == 0 ? in0_load4(at) : in0_loadn(at, uint(n));
#endif
}

#if WIDE
#define SUM wide4
#else
#define SUM X4
#endif

SUM output4(int image, Sample y, Sample x, int c, int n) {
#if BILINEAR
    X4 v00 = input4(image, y.i0, x.i0, c, n), v01 = input4(image, y.i0, x.i1, c, n);
    X4 v10 = input4(image, y.i1, x.i0, c, n), v11 = input4(image, y.i1, x.i1, c, n);
#if X_FLOAT
    precise float wy = float(y.r) * Y_OVER;
    precise float wx = float(x.r) * X_OVER;
    precise X4 sum =
        v00 * ((1.0 - wy) * (1.0 - wx)) + v01 * ((1.0 - wy) * wx) + v10 * (wy * (1.0 - wx)) + v11 * (wy * wx);
    return sum;
#elif WIDE
    // Each weight is at most 2^22.
    ivec4 weight = ivec4((Y_N - y.r) * (X_N - x.r), (Y_N - y.r) * x.r, y.r * (X_N - x.r), y.r * x.r);
    return wide_add(wide_add(wide_mul(v00, weight.xxxx), wide_mul(v01, weight.yyyy)),
                    wide_add(wide_mul(v10, weight.zzzz), wide_mul(v11, weight.wwww)));
#else
    return v00 * ((Y_N - y.r) * (X_N - x.r)) + v01 * ((Y_N - y.r) * x.r) + v10 * (y.r * (X_N - x.r)) +
           v11 * (y.r * x.r);
#endif
#else
    return input4(image, 2 * y.r >= Y_N ? y.i1 : y.i0, 2 * x.r >= X_N ? x.i1 : x.i0, c, n);
#endif
}

void main() {
    uint id = invocation_index(), pixel = id / uint(PIECES);  // division is cheaper without signs
    if (pixel >= uint(PIXELS)) return;
    int c = int(id % uint(PIECES)) * EACH, p = int(pixel), n = min(C - c, EACH), image = int(pixel / uint(OW * OH));
    Sample y = sample_at(int(pixel / uint(OW) % uint(OH)), Y_N, Y_D, Y_OFFSET, IH),
           x = sample_at(int(pixel % uint(OW)), X_N, X_D, X_OFFSET, IW);
#if EACH == 8
    FUSED8(uint(p * C + c), output4(image, y, x, c, 4), output4(image, y, x, c + 4, 4));
#else
    FUSED(uint(p * C + c), uint(n), output4(image, y, x, c, n));
#endif
}
