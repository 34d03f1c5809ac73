// FFT2D and RFFT2D as the sum that defines them: an invocation makes one complex output. Slow, and as near to its own
// products as local_bound asks.
//   in0 real [N,H,W]   in1 imaginary (COMPLEX)   TABLE exp(-+2 pi i k / M) for 0 <= k < M = max(H, W), as pairs
layout(constant_id = 0) const int H = 1;
layout(constant_id = 1) const int W = 1;
layout(constant_id = 2) const int OW = 1;
layout(constant_id = 3) const int OUTPUTS = 1;  // N * H * OW

const int M = H > W ? H : W;

#define TERM(s)                                                                  \
    if (s == 0 || begin + s < W) {                                               \
        int ix = begin + s;                                                      \
        uint at = uint(2 * ((iy * oy * (M / H) + ix * ox * (M / W)) & (M - 1))); \
        float c = TABLE_load1(at), d = TABLE_load1(at + 1u);                     \
        TAKE(uint((image * H + iy) * W + ix))                                    \
    }
#if COMPLEX
#define TAKE(i)                                \
    float re = in0_load1(i), im = in1_load1(i); \
    real += re * c - im * d;                   \
    imaginary += re * d + im * c;
#else
#define TAKE(i)               \
    float re = in0_load1(i);  \
    real += re * c;           \
    imaginary += re * d;
#endif

void main() {
    int id = int(invocation_index());
    if (id >= OUTPUTS) return;
    int ox = id % OW, oy = id / OW % H, image = id / OW / H;
    float real = 0.0, imaginary = 0.0;
    for (int iy = 0; iy < H; ++iy) {
        for (int begin = 0; begin < W; begin += STEPS) {
            REPEAT(TERM)
        }
    }
#if !COMPLEX
    if ((oy == 0 || 2 * oy == H) && (ox == 0 || 2 * ox == W)) imaginary = 0.0;
#endif
    out0_store1(uint(id), real);
    out1_store1(uint(id), imaginary);
}
