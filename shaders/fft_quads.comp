// fft_pass.comp, four butterflies an invocation: four neighbours behind the axis, or with ALONG_ROW (INNER is 1) four
// steps along it. Tables, tensors and scratch are read and written as whole quads.
//   READS_TENSORS 2: in0 real, in1 imaginary   1: in0 real   0: in0 scratch, the imaginary parts at IN_PLANE
//   TABLE   if NS is not 1: exp(-+2 pi i k r / (NS*R)), [r-1][k] for 0 < r < R, 0 <= k < NS: real
//           parts, then imaginary ones
//   WRITES_TENSORS 1: out0 real, out1 imaginary   0: out0 scratch, the imaginary parts at OUT_PLANE
layout(constant_id = 0) const int L = 1;
layout(constant_id = 1) const int INNER = 1;      // distance of two steps along the axis of the input
layout(constant_id = 2) const int NS = 1;         // product of the radices of the passes before
layout(constant_id = 3) const int BUTTERFLIES = 4;  // of all invocations
layout(constant_id = 4) const int IN_PLANE = 0;
layout(constant_id = 5) const int OUT_PLANE = 0;
layout(constant_id = 6) const int OUT_LENGTH = 1;  // steps stored of each L
layout(constant_id = 7) const int OUT_INNER = 1;  // distance of two of them; what lies beyond it is not stored
layout(constant_id = 8) const int WIDTH = 1;      // W of the transform, for CLEARS_SELF_CONJUGATE
layout(constant_id = 9) const float DIRECTION = -1.0;  // 1: inverse

struct Complex4 {
    vec4 re, im;
};

Complex4 multiply(Complex4 a, vec4 re, vec4 im) { return Complex4(a.re * re - a.im * im, a.re * im + a.im * re); }

Complex4 load(uint i) {
#if READS_TENSORS == 2
    Complex4 x = Complex4(in0_load4(i), in1_load4(i));
#elif READS_TENSORS == 1
    Complex4 x = Complex4(in0_load4(i), vec4(0.0));
#else
    Complex4 x = Complex4(in0_load4(i), in0_load4(i + uint(IN_PLANE)));
#endif
#if READS_TENSORS
    // An element that is not finite makes a NaN of every result: no order of sums gives more.
    ivec4 large = max(floatBitsToInt(x.re) & ABS_MASK, floatBitsToInt(x.im) & ABS_MASK);
    bvec4 wild = greaterThanEqual(large, ivec4(INF_BITS));
    x = Complex4(mix(x.re, intBitsToFloat(ivec4(NAN_BITS)), wild), mix(x.im, intBitsToFloat(ivec4(NAN_BITS)), wild));
#endif
    return x;
}

#if WRITES_TENSORS
#define OUT_IM out1
#define IM_AT(i) (i)
#else
#define OUT_IM out0
#define IM_AT(i) ((i) + uint(OUT_PLANE))
#endif
#define CALL(a, b) CALL_(a, b)
#define CALL_(a, b) a##b

void store(uint i, vec4 re, vec4 im, int n) {
#if TOSAVK_QUAD_STORES
    out0_store4(i, re);
    CALL(OUT_IM, _store4)(IM_AT(i), im);
#else
    for (int k = 0; k < 4; ++k) {
        if (n > k) {
            out0_store1(i + uint(k), re[k]);
            CALL(OUT_IM, _store1)(IM_AT(i + uint(k)), im[k]);
        }
    }
#endif
}

// cos and sin of 2 pi k / 16
const float COSINE[8] =
    float[](1.0, 0.92387953251, 0.70710678119, 0.38268343236, 0.0, -0.38268343236, -0.70710678119, -0.92387953251);
const float SINE[8] =
    float[](0.0, 0.38268343236, 0.70710678119, 0.92387953251, 1.0, 0.92387953251, 0.70710678119, 0.38268343236);

// Halves of 2*HALF elements become sums and turned differences; results end in bit-reversed order.
#define STAGE(HALF)                                                                                     \
    for (int base = 0; base < R; base += 2 * HALF) {                                                    \
        for (int i = 0; i < HALF; ++i) {                                                                \
            Complex4 a = x[base + i], b = x[base + i + HALF];                                           \
            x[base + i] = Complex4(a.re + b.re, a.im + b.im);                                           \
            Complex4 d = Complex4(a.re - b.re, a.im - b.im);                                            \
            if (i == 0) x[base + i + HALF] = d;                                                         \
            else if (2 * i == HALF) x[base + i + HALF] = Complex4(d.im * -DIRECTION, d.re * DIRECTION); \
            else                                                                                        \
                x[base + i + HALF] =                                                                    \
                    multiply(d, vec4(COSINE[i * (8 / HALF)]), vec4(DIRECTION * SINE[i * (8 / HALF)]));  \
        }                                                                                               \
    }

int reversed(int r) {
#if R == 2
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
    if (id >= BUTTERFLIES / 4) return;
#if ALONG_ROW
    int inner = 0, j = id % (L / R / 4) * 4, outer = id / (L / R / 4);
#else
    int inner = id % (INNER / 4) * 4, j = id / (INNER / 4) % (L / R), outer = id / (INNER / 4) / (L / R);
#endif
    int k = j % NS;

    Complex4 x[R];
    for (int r = 0; r < R; ++r) {
        x[r] = load(uint((outer * L + j + r * (L / R)) * INNER + inner));
#if HAS_TABLE
        if (r > 0) {
            uint at = uint((r - 1) * NS + k);
#if ALONG_ROW
            x[r] = multiply(x[r], TABLE(_load4)(at), TABLE(_load4)(at + uint((R - 1) * NS)));
#else
            x[r] = multiply(x[r], vec4(TABLE(_load1)(at)), vec4(TABLE(_load1)(at + uint((R - 1) * NS))));
#endif
        }
#endif
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
    STAGE(1)

#if FIRST_OF_ROW
    // The R results of a butterfly are neighbours: blocks of four by four are turned.
    for (int r = 0; r < R; r += 4) {
        Complex4 a = x[reversed(r)], b = x[reversed(r + 1)], c = x[reversed(r + 2)], d = x[reversed(r + 3)];
        uint at = uint(outer * OUT_LENGTH + j * R + r);
        store(at, vec4(a.re.x, b.re.x, c.re.x, d.re.x), vec4(a.im.x, b.im.x, c.im.x, d.im.x), 4);
        store(at + uint(R), vec4(a.re.y, b.re.y, c.re.y, d.re.y), vec4(a.im.y, b.im.y, c.im.y, d.im.y), 4);
        store(at + uint(2 * R), vec4(a.re.z, b.re.z, c.re.z, d.re.z), vec4(a.im.z, b.im.z, c.im.z, d.im.z), 4);
        store(at + uint(3 * R), vec4(a.re.w, b.re.w, c.re.w, d.re.w), vec4(a.im.w, b.im.w, c.im.w, d.im.w), 4);
    }
#else
    int first = j / NS * NS * R + k;
    for (int r = 0; r < R; ++r) {
        int o = first + r * NS;
        if (o >= OUT_LENGTH) continue;
        Complex4 y = x[reversed(r)];
#if CLEARS_SELF_CONJUGATE
        if (o == 0 || 2 * o == L) {
            ivec4 column = inner + ivec4(0, 1, 2, 3);
            y.im = mix(y.im, vec4(0.0), equal(column * (WIDTH - 2 * column), ivec4(0)));
        }
#endif
        store(uint((outer * OUT_LENGTH + o) * OUT_INNER + inner), y.re, y.im, OUT_INNER - inner);
    }
#endif
}
