// REDUCE_* along an axis with INNER elements behind it: an invocation owns EACH neighbouring quads of columns (1, 2
// or 4), or with STEP 1 one column, and goes down the axis, or down a part of it.
//   in0  input, element (o, a, i) at o * OUTER_STRIDE + a * AXIS_STRIDE + i
// PARTIAL: AXIS is cut into CHUNKS parts of LENGTH; the results go to a scratch buffer [CHUNKS][OUTER][INNER rounded up
// to 4], without AFTER.
layout(constant_id = 0) const int OUTER = 1;  // late
layout(constant_id = 1) const int AXIS = 1;
layout(constant_id = 2) const int INNER = 1;
layout(constant_id = 3) const int OUTER_STRIDE = 1;
layout(constant_id = 4) const int AXIS_STRIDE = 1;
layout(constant_id = 5) const int LENGTH = 1;
layout(constant_id = 6) const int CHUNKS = 1;

const uint RUNS = uint((INNER + STEP - 1) / STEP / EACH);  // EACH divides the quads of INNER
#define ALL_RUNS (uint(OUTER) * RUNS)

// Arrays are indexed by constants alone: macros instead of loops.
#if EACH == 4
#define EACH_QUAD(MACRO) MACRO(0) MACRO(1) MACRO(2) MACRO(3)
#define EACH_EIGHT(MACRO, to) MACRO(to, 0) MACRO(to, 2)
#elif EACH == 2
#define EACH_QUAD(MACRO) MACRO(0) MACRO(1)
#define EACH_EIGHT(MACRO, to) MACRO(to, 0)
#elif EACH == 1
#define EACH_QUAD(MACRO) MACRO(0)
#endif

ACC4 row(uint at, uint n) {
#if STEP == 1
    return BEFORE(IN4(in0_load1(at)));
#else
    if (OUTER_STRIDE % 4 == 0 && AXIS_STRIDE % 4 == 0) return BEFORE(in0_load4(at));
    return BEFORE(in0_loadn(at, n));
#endif
}

void main() {
    uint id = invocation_index(), q = id % ALL_RUNS, chunk = id / ALL_RUNS;
    if (chunk >= uint(CHUNKS)) return;
    uint outer = q / RUNS, i = q % RUNS * uint(STEP * EACH), n = min(uint(STEP), uint(INNER) - i);
    uint begin = chunk * uint(LENGTH), steps = CHUNKS == 1 ? uint(LENGTH) : min(uint(LENGTH), uint(AXIS) - begin);
    uint at = outer * uint(OUTER_STRIDE) + begin * uint(AXIS_STRIDE) + i;

    // Two sums side by side: less waiting for each, and smaller errors.
    precise ACC4 a[EACH], b[EACH];
#define BEGIN(e) a[e] = b[e] = ACC4(IDENTITY);
#ifdef IN0_EIGHTS
#define ADD_EIGHT(to, e)                          \
    {                                             \
        IN4 v, w;                                 \
        in0_load8(at + uint(e) * 4u, v, w);       \
        to[e] = FOLD(to[e], BEFORE(v));           \
        to[e + 1] = FOLD(to[e + 1], BEFORE(w));   \
    }
#define ADD_TO_A EACH_EIGHT(ADD_EIGHT, a)
#define ADD_TO_B EACH_EIGHT(ADD_EIGHT, b)
#else
#define ADD_A(e) a[e] = FOLD(a[e], row(at + uint(e) * 4u, n));
#define ADD_B(e) b[e] = FOLD(b[e], row(at + uint(e) * 4u, n));
#define ADD_TO_A EACH_QUAD(ADD_A)
#define ADD_TO_B EACH_QUAD(ADD_B)
#endif
    EACH_QUAD(BEGIN)
    for (uint k = 1u; k < steps; k += 2u) {
        ADD_TO_A
        at += uint(AXIS_STRIDE);
        ADD_TO_B
        at += uint(AXIS_STRIDE);
    }
    if (steps % 2u != 0u) { ADD_TO_A }
#define TOTAL(e) a[e] = FOLD(a[e], b[e]);
    EACH_QUAD(TOTAL)
#if PARTIAL
#define END(e) out0_store4((id * EACH + uint(e)) * 4u, a[e]);
#else
#define END(e) FUSED(outer * uint(INNER) + i + uint(e) * 4u, n, AFTER(a[e]));
#endif
    EACH_QUAD(END)
}
