// FFT2D and RFFT2D along one axis of [OUTER, L, INNER]: a workgroup of SIZE invocations transforms LINES = 8 * SIZE /
// L lines. Their elements lie in registers, 8 an invocation, and change places through shared memory between the
// passes of a Stockham FFT: one of radix FIRST (2, 4 or 8), then of radix 8. Before a pass of radix R, an
// invocation's element e is input e % R of its butterfly e / R.
//   READS_TENSORS 2: in0 real, in1 imaginary   1: in0 real   0: in0 scratch, the imaginary parts at IN_PLANE
//   TABLE   exp(-+2 pi i k / L) for 0 <= k < L as pairs
//   WRITES_TENSORS 1: out0 real, out1 imaginary   0: out0 scratch, the imaginary parts at OUT_PLANE
//   CLEARS_SELF_CONJUGATE   points of a real input's transform that are their own mirror image have no imaginary part
layout(constant_id = 0) const int INNER = 1;
layout(constant_id = 1) const int LINE_COUNT = 1;  // OUTER * INNER
layout(constant_id = 2) const int IN_PLANE = 0;
layout(constant_id = 3) const int OUT_PLANE = 0;
layout(constant_id = 4) const int KEEP = 1;         // outputs stored of each L
layout(constant_id = 5) const int WIDTH = 1;        // W of the transform, for CLEARS_SELF_CONJUGATE
layout(constant_id = 6) const float DIRECTION = -1.0;  // 1: inverse

#define LINES (8 * SIZE / L)
#define EACH(DO, R) DO(0, R) DO(1, R) DO(2, R) DO(3, R) DO(4, R) DO(5, R) DO(6, R) DO(7, R)

shared vec2 tile[8 * SIZE];
vec2 x[8];

vec2 multiply(vec2 a, vec2 b) { return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
vec2 quarter(vec2 a) { return vec2(-DIRECTION * a.y, DIRECTION * a.x); }

// The line and the first element of a butterfly: neighbours take what lies side by side in memory.
ivec2 place(int butterfly, int radix) {
    return INNER == 1 ? ivec2(butterfly / (L / radix), butterfly % (L / radix))
                      : ivec2(butterfly % LINES, butterfly / LINES);
}

// Where an element lies in the tile: results of neighbours are 8 apart and more, which would be few banks.
int slot(int line, int element) {
    int i = INNER == 1 ? line * L + element : element * LINES + line;
    return i ^ ((i >> 3 ^ i >> 5) & 15);
}

vec2 load(int first_line, ivec2 line_element) {
    int line = min(first_line + line_element.x, LINE_COUNT - 1);
    uint i = uint((line / INNER * L + line_element.y) * INNER + line % INNER);
#if READS_TENSORS == 2
    vec2 v = vec2(in0_load1(i), in1_load1(i));
#elif READS_TENSORS == 1
    vec2 v = vec2(in0_load1(i), 0.0);
#else
    vec2 v = vec2(in0_load1(i), in0_load1(i + uint(IN_PLANE)));
#endif
#if READS_TENSORS
    // An element that is not finite makes a NaN of every result: no order of sums gives more.
    ivec2 exponent = floatBitsToInt(v) & INF_BITS;
    if (exponent.x == INF_BITS || exponent.y == INF_BITS) v = intBitsToFloat(ivec4(NAN_BITS)).xy;
#endif
    return v;
}

void store(int first_line, ivec2 line_element, vec2 v) {
    int line = first_line + line_element.x, inner = line % INNER, o = line_element.y;
    if (line >= LINE_COUNT || o >= KEEP) return;
    uint i = uint((line / INNER * KEEP + o) * INNER + inner);
#if CLEARS_SELF_CONJUGATE
    if ((o == 0 || 2 * o == L) && (INNER == 1 || inner == 0 || 2 * inner == WIDTH)) v.y = 0.0;
#endif
    out0_store1(i, v.x);
#if WRITES_TENSORS
    out1_store1(i, v.y);
#else
    out0_store1(i + uint(OUT_PLANE), v.y);
#endif
}

#define BUTTERFLY(a, b)                \
    {                                  \
        vec2 difference = x[a] - x[b]; \
        x[a] += x[b];                  \
        x[b] = difference;             \
    }
#define STAGE1 BUTTERFLY(0, 1) BUTTERFLY(2, 3) BUTTERFLY(4, 5) BUTTERFLY(6, 7)
#define STAGE2                                                      \
    BUTTERFLY(0, 2) BUTTERFLY(1, 3) BUTTERFLY(4, 6) BUTTERFLY(5, 7) \
    x[3] = quarter(x[3]);                                           \
    x[7] = quarter(x[7]);
#define STAGE4                                                      \
    BUTTERFLY(0, 4) BUTTERFLY(1, 5) BUTTERFLY(2, 6) BUTTERFLY(3, 7) \
    x[5] = multiply(x[5], vec2(HALF_ROOT, DIRECTION * HALF_ROOT));  \
    x[6] = quarter(x[6]);                                           \
    x[7] = multiply(x[7], vec2(-HALF_ROOT, DIRECTION * HALF_ROOT));
const float HALF_ROOT = 0.70710678119;

// The stages leave output r of a butterfly where r has its bits turned round.
#define TURNED(e, R) \
    ((R) == 8 ? ((e) & 1) << 2 | ((e) & 2) | ((e) >> 2 & 1) : (R) == 4 ? ((e) & 1) << 1 | ((e) >> 1 & 1) : (e) & 1)
#define OUTPUT_OF(e, R) x[(e) / (R) * (R) + TURNED(e, R)]

void main() {
    int local = int(gl_LocalInvocationID.x), first_line = int(workgroup_index()) * LINES;
    if (first_line >= LINE_COUNT) return;  // all invocations of the workgroup

#define LOAD(e, R)                                                              \
    {                                                                           \
        ivec2 at = place(local + (e) / (R) * SIZE, R);                          \
        x[e] = load(first_line, ivec2(at.x, at.y + (e) % (R) * (L / (R))));     \
    }
#define READ(e, R)                                                              \
    {                                                                           \
        ivec2 at = place(local + (e) / (R) * SIZE, R);                          \
        x[e] = tile[SHARED_LOAD(0u, 2u, slot(at.x, at.y + (e) % (R) * (L / (R))))]; \
        if ((e) % (R) != 0) {                                                   \
            uint root = uint(2 * (at.y & (ns - 1)) * ((e) % (R)) * (L / (R) / ns)); \
            x[e] = multiply(x[e], vec2(TABLE_load1(root), TABLE_load1(root + 1u))); \
        }                                                                       \
    }
// Outputs of a butterfly lie ns apart.
#define OUTPUT_AT(e, R) ivec2(at.x, (at.y & ~(ns - 1)) * (R) + (at.y & (ns - 1)) + (e) % (R) * ns)
#define WRITE(e, R)                                                             \
    {                                                                           \
        ivec2 at = place(local + (e) / (R) * SIZE, R), to = OUTPUT_AT(e, R);    \
        tile[SHARED_STORE(0u, 2u, slot(to.x, to.y))] = OUTPUT_OF(e, R); \
    }
#define STORE(e, R)                                                             \
    {                                                                           \
        ivec2 at = place(local + (e) / (R) * SIZE, R);                          \
        store(first_line, OUTPUT_AT(e, R), OUTPUT_OF(e, R));                    \
    }

// A pass of radix 8 behind passes whose radices multiply to NS.
#define PASS8(NS, FINISH)  \
    {                      \
        const int ns = NS; \
        EACH(READ, 8)      \
        STAGE4             \
        STAGE2             \
        STAGE1             \
        FINISH             \
    }
#define EXCHANGE    \
    barrier();      \
    EACH(WRITE, 8)  \
    barrier();

    const int ns = 1;
    EACH(LOAD, FIRST)
#if FIRST == 8
    STAGE4
#endif
#if FIRST >= 4
    STAGE2
#endif
    STAGE1
#if FIRST == L
    EACH(STORE, FIRST)
#else
    EACH(WRITE, FIRST)
    barrier();
#if 8 * FIRST < L
    PASS8(FIRST, EXCHANGE)
#endif
#if 64 * FIRST < L
    PASS8(8 * FIRST, EXCHANGE)
#endif
    PASS8(L / 8, EACH(STORE, 8))
#endif
}
