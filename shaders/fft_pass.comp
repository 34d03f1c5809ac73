// One pass of a Stockham FFT along one axis of [OUTER, L, INNER]: every invocation turns R elements, L/R apart, into R
// outputs, NS apart. NS is the product of the radices of the passes before; after the last one the order is natural.
//   READS_TENSORS 2: in0 real, in1 imaginary   1: in0 real   0: in0 scratch, all real parts before all imaginary ones
//   TABLE   exp(-+2 pi i k / L) for 0 <= k < L as pairs
//   WRITES_TENSORS 1: out0 real, out1 imaginary   0: out0 scratch
layout(constant_id = 0) const int L = 1;
layout(constant_id = 1) const int INNER = 1;
layout(constant_id = 2) const int NS = 1;
layout(constant_id = 3) const int BUTTERFLIES = 1;  // OUTER * L/R * INNER
layout(constant_id = 4) const int KEEP = 1;         // outputs stored of each L
layout(constant_id = 5) const int WIDTH = 1;        // W of the transform, for CLEARS_SELF_CONJUGATE
layout(constant_id = 6) const float DIRECTION = -1.0;  // 1: inverse

const int IN_COUNT = BUTTERFLIES * R, OUT_COUNT = IN_COUNT / L * KEEP;

vec2 multiply(vec2 a, vec2 b) { return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

vec2 load(int i) {
#if READS_TENSORS == 2
    vec2 x = vec2(in0_load1(uint(i)), in1_load1(uint(i)));
#elif READS_TENSORS == 1
    vec2 x = vec2(in0_load1(uint(i)), 0.0);
#else
    vec2 x = vec2(in0_load1(uint(i)), in0_load1(uint(i + IN_COUNT)));
#endif
#if READS_TENSORS
    // An element that is not finite makes a NaN of every result: no order of sums gives more.
    ivec2 exponent = floatBitsToInt(x) & 0x7f800000;
    if (exponent.x == 0x7f800000 || exponent.y == 0x7f800000) x = vec2(intBitsToFloat(0x7fc00000));
#endif
    return x;
}

void store(int i, vec2 x) {
#if WRITES_TENSORS
    out0_store1(uint(i), x.x);
    out1_store1(uint(i), x.y);
#else
    out0_store1(uint(i), x.x);
    out0_store1(uint(i + OUT_COUNT), x.y);
#endif
}

// cos and sin of 2 pi k / 16
const float COSINE[8] =
    float[](1.0, 0.92387953251, 0.70710678119, 0.38268343236, 0.0, -0.38268343236, -0.70710678119, -0.92387953251);
const float SINE[8] =
    float[](0.0, 0.38268343236, 0.70710678119, 0.92387953251, 1.0, 0.92387953251, 0.70710678119, 0.38268343236);

// Halves of 2*HALF elements become sums and turned differences; results end in bit-reversed order.
#define STAGE(HALF)                                                                                   \
    for (int base = 0; base < R; base += 2 * HALF) {                                                  \
        for (int i = 0; i < HALF; ++i) {                                                              \
            vec2 a = x[base + i], b = x[base + i + HALF];                                             \
            x[base + i] = a + b;                                                                      \
            x[base + i + HALF] = multiply(a - b, vec2(COSINE[i * (8 / HALF)], DIRECTION * SINE[i * (8 / HALF)])); \
        }                                                                                             \
    }

int reversed(int r) {
#if R == 1
    return 0;
#elif R == 2
    return r;
#elif R == 4
    return (r & 1) << 1 | r >> 1;
#elif R == 8
    return (r & 1) << 2 | (r & 2) | r >> 2;
#else
    return (r & 1) << 3 | (r & 2) << 1 | (r & 4) >> 1 | r >> 3;
#endif
}

void main() {
    int id = int(invocation_index());
    if (id >= BUTTERFLIES) return;
    int inner = id % INNER, j = id / INNER % (L / R), outer = id / INNER / (L / R), k = j % NS;

    vec2 x[R];
    for (int r = 0; r < R; ++r) {
        x[r] = load((outer * L + j + r * (L / R)) * INNER + inner);
        if (NS > 1 && r > 0) {
            uint at = uint(2 * k * r * (L / (NS * R)));
            x[r] = multiply(x[r], vec2(TABLE_load1(at), TABLE_load1(at + 1u)));
        }
    }
#if R >= 16
    STAGE(8)
#endif
#if R >= 8
    STAGE(4)
#endif
#if R >= 4
    STAGE(2)
#endif
#if R >= 2
    STAGE(1)
#endif
    int first = j / NS * NS * R + k;
    for (int r = 0; r < R; ++r) {
        int o = first + r * NS;
        if (o >= KEEP) continue;
        vec2 y = x[reversed(r)];
#if CLEARS_SELF_CONJUGATE
        if ((o == 0 || 2 * o == L) && (INNER == 1 || inner == 0 || 2 * inner == WIDTH)) y.y = 0.0;
#endif
        store((outer * KEEP + o) * INNER + inner, y);
    }
}
