// MATMUL: output [N,H,W] from A [N,H,C] and B [N,C,W]. An invocation makes TM rows x 4 columns of one batch, so that
// every quad of B is used TM times.
//   in0  A   in1  B
// A_ZP and B_ZP are specialization constants or read from buffers.
// WIDE: i16 x i16 -> i48. A is split into a signed high and an unsigned low byte, so that 256 products of each fit 32
// bits; that costs one more multiply-add per product, and less than 64-bit arithmetic per product on most devices.
layout(constant_id = 0) const int N = 1;  // late
layout(constant_id = 1) const int H = 1;
layout(constant_id = 2) const int C = 1;
layout(constant_id = 3) const int W = 1;
layout(constant_id = 4) const int A_ZP_CONSTANT = 0;
layout(constant_id = 5) const int B_ZP_CONSTANT = 0;

const int W_QUADS = (W + 3) / 4;
const int TILES = (H + TM - 1) / TM;  // of rows, in one batch

#if X_FLOAT
#define X1 float
#define X4 vec4
#else
#define X1 int
#define X4 ivec4
#endif

X1 a_zp, b_zp;

// Four values of a row of A from column c on; zero past the end.
X4 a4(int row, int c) {
    uint i = uint(row * C + c);
    if (C % 4 == 0) return in0_load4(i) - a_zp;
    int left = min(C - c, 4);
    X4 a = in0_loadn(i, uint(left)) - a_zp;
    return X4(a.x, left > 1 ? a.y : X1(0), left > 2 ? a.z : X1(0), left > 3 ? a.w : X1(0));
}

// Four columns of row c of B; zero past the last row.
X4 b4(int batch, int c, int w, int n) {
    if (C % 4 != 0 && c >= C) return X4(0);
    uint i = uint((batch * C + c) * W + w);
    return (W % 4 == 0 ? in1_load4(i) : in1_loadn(i, uint(n))) - b_zp;
}

#if WIDE
#define STEP(acc, row)                                                   \
    {                                                                    \
        ivec4 a = a4(row, c), low = a & 255;                             \
        a >>= 8;                                                         \
        acc##_low += low.x * b0 + low.y * b1 + low.z * b2 + low.w * b3;  \
        acc += a.x * b0 + a.y * b1 + a.z * b2 + a.w * b3;                \
    }
#define START(acc)                              \
    ivec4 acc = ivec4(0), acc##_low = ivec4(0); \
    wide4 acc##_total = wide_from(ivec4(0));
#define FLUSH(acc)                                                                                        \
    acc##_total = wide_add(acc##_total, wide_add(wide_mul(acc, ivec4(256)), wide_from(acc##_low)));       \
    acc = acc##_low = ivec4(0);
#define RESULT(acc) wrap_i48(acc##_total)
#else
#define STEP(acc, row)                                    \
    {                                                     \
        X4 a = a4(row, c);                                \
        acc += a.x * b0 + a.y * b1 + a.z * b2 + a.w * b3; \
    }
#define START(acc) X4 acc = X4(0);
#define RESULT(acc) acc
#endif
#if TM == 4
#define MORE_STEPS STEP(acc1, row1) STEP(acc2, row2) STEP(acc3, row3)
#define FLUSH_ALL FLUSH(acc0) FLUSH(acc1) FLUSH(acc2) FLUSH(acc3)
#else
#define MORE_STEPS
#define FLUSH_ALL FLUSH(acc0)
#endif
// Four columns of A, rows of B.
#define BLOCK(s)                                                                              \
    if (s == 0 || begin + 4 * s < C) {                                                        \
        int c = begin + 4 * s;                                                                \
        X4 b0 = b4(batch, c, w, n), b1 = b4(batch, c + 1, w, n), b2 = b4(batch, c + 2, w, n), \
           b3 = b4(batch, c + 3, w, n);                                                       \
        STEP(acc0, row0)                                                                      \
        MORE_STEPS                                                                            \
    }
#define FINISH(acc, row, h) \
    if ((h) < H) FUSED(uint((row) * W + w), uint(n), RESULT(acc));

void main() {
    int id = int(invocation_index());
    int w = id % W_QUADS * 4, tile = id / W_QUADS % TILES, batch = id / W_QUADS / TILES;
    if (batch >= N) return;
    int n = min(W - w, 4), h = tile * TM;
    a_zp = X1(A_ZP);
    b_zp = X1(B_ZP);

    int row0 = batch * H + h;
    START(acc0)
#if TM == 4
    // Rows past the end repeat the last one and are not stored.
    int last = batch * H + H - 1;
    int row1 = min(row0 + 1, last), row2 = min(row0 + 2, last), row3 = min(row0 + 3, last);
    START(acc1)
    START(acc2)
    START(acc3)
#endif
#if WIDE
    for (int chunk = 0; chunk < C; chunk += WIDE_PRODUCTS) {
        int end = min(chunk + WIDE_PRODUCTS, C);
        for (int begin = chunk; begin < end; begin += 4 * STEPS) {
            REPEAT(BLOCK)
        }
        FLUSH_ALL
    }
#else
    for (int begin = 0; begin < C; begin += 4 * STEPS) {
        REPEAT(BLOCK)
    }
#endif
    FINISH(acc0, row0, h)
#if TM == 4
    FINISH(acc1, row1, h + 1)
    FINISH(acc2, row2, h + 2)
    FINISH(acc3, row3, h + 3)
#endif
}
