// CUMULATE: an invocation walks along a part of the axis of one row (ROWS), or of four neighbouring columns, and
// carries what it has folded; IN_TURN rows one after the other, or EACH (1, 2 or 4) quads of columns side by side.
// With SHARED_LANES (rows) a workgroup walks, a quad for each invocation at a time. An axis in several parts takes
// three passes: TOTALS folds each part; another run of this kernel, on these totals, makes what lies before each
// part; and the last pass starts from that.
//   in0  input [outer][AXIS][INNER], INNER being 1 for rows   in1  PREFIX: what lies before each part
// Results go to a scratch buffer (TO_SCRATCH, TOTALS), without AFTER, or on. With REVERSE parts and axis are walked
// backwards.
layout(constant_id = 0) const int AXIS = 1;
layout(constant_id = 1) const int INNER = 1;
layout(constant_id = 2) const int LENGTH = 1;  // of a part; of rows a multiple of 4 if there are several parts
layout(constant_id = 3) const int PARTS = 1;
layout(constant_id = 4) const int COUNT = 1;  // late: parts of all rows; runs of EACH quads in parts
layout(constant_id = 5) const int IN_TURN = 1;

// 0, which no compiler can know: llvmpipe makes x of 0.0 + x where it does, and -0 of -0 (lp_build_add).
float hidden_zero() { return uintBitsToFloat(gl_NumWorkGroups.x >> 31); }

#if ROWS
const bool WHOLE_QUADS = AXIS % 4 == 0;
#else
const bool WHOLE_QUADS = INNER % 4 == 0;
#endif

ACC4 load(uint e, uint n) {
    if (WHOLE_QUADS) return ACC4(BEFORE(in0_load4(e)));
    return mix(ACC4(IDENTITY), ACC4(BEFORE(in0_loadn(e, n))), lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(n)));
}

void store(uint e, uint n, ACC4 v) {
#if TO_SCRATCH
#if ROWS
    out0_storen(e, n, v);
#else
    out0_store4(e, v);
#endif
#elif !TOTALS
    FUSED(e, n, AFTER(v));
#endif
}

#if SHARED_LANES
shared ACC folded[gl_WorkGroupSize.x];

void main() {
    const uint lanes = gl_WorkGroupSize.x, id = workgroup_index(), lane = gl_LocalInvocationID.x;
    if (id >= uint(COUNT)) return;
    uint row = id / uint(PARTS) * uint(AXIS), begin = id % uint(PARTS) * uint(LENGTH);
    uint end = min(begin + uint(LENGTH), uint(AXIS)), steps = (end - begin + 3u) / 4u;
#if PREFIX
    precise ACC carry = in1_load1(id);
#else
    precise ACC carry = IDENTITY;
#endif
    for (uint first = 0u; first < steps; first += lanes) {
        uint k = first + lane, p = 0u, n = 0u;
        precise ACC4 s = ACC4(IDENTITY);
        if (k < steps) {
            p = begin + (REVERSE == 1 ? steps - 1u - k : k) * 4u;
            n = min(4u, end - p);
            s = load(row + p, n);
        }
#if REVERSE
        s = s.wzyx;
#endif
        s.y = FOLD(s.x, s.y);
        s.z = FOLD(s.y, s.z);
        s.w = FOLD(s.z, s.w);
        // Lane by lane: the fold of the quads of all lanes up to it.
        precise ACC sum = s.w;
        folded[SHARED_STORE(0u, 1u, lane)] = sum;
        barrier();
        for (uint far = 1u; far < lanes; far *= 2u) {
            if (lane >= far) sum = FOLD(folded[SHARED_LOAD(0u, 1u, lane - far)], sum);
            barrier();
            folded[SHARED_STORE(0u, 1u, lane)] = sum;
            barrier();
        }
        precise ACC before = carry;
        if (lane > 0u) before = FOLD(carry, folded[SHARED_LOAD(0u, 1u, lane - 1u)]);
        carry = FOLD(carry, folded[SHARED_LOAD(0u, 1u, lanes - 1u)]);
        barrier();
#if !TOTALS
        precise ACC4 r = FOLD(ACC4(before), s);
        if (EXCLUSIVE == 1) r = ACC4(before, r.xyz);
#if REVERSE
        r = r.wzyx;
#endif
        if (n > 0u) store(row + p, n, r);
#endif
    }
#if TOTALS
    if (lane == 0u) out0_store1(id, carry);
#endif
}
#else
#if ROWS
void walk(uint id) {
    uint row = id / uint(PARTS) * uint(AXIS), begin = id % uint(PARTS) * uint(LENGTH);
    uint end = min(begin + uint(LENGTH), uint(AXIS)), steps = (end - begin + 3u) / 4u;
#if PREFIX
    precise ACC carry = in1_load1(id);
#else
    precise ACC carry = IDENTITY;
#endif
    for (uint k = 0u; k < steps; ++k) {
        uint p = begin + (REVERSE == 1 ? steps - 1u - k : k) * 4u, n = min(4u, end - p);
        ACC4 v = load(row + p, n);
#if REVERSE
        v = v.wzyx;
#endif
#if TOTALS
        carry = FOLD(carry, FOLD(FOLD(v.x, v.y), FOLD(v.z, v.w)));
#else
        precise ACC4 s;
        s.x = FOLD(carry, v.x);
        s.y = FOLD(s.x, v.y);
        s.z = FOLD(s.y, v.z);
        s.w = FOLD(s.z, v.w);
        ACC4 r = EXCLUSIVE == 1 ? ACC4(carry, s.xyz) : s;
        carry = s.w;
#if REVERSE
        r = r.wzyx;
#endif
        store(row + p, n, r);
#endif
    }
#if TOTALS
    out0_store1(id, carry);
#endif
}

void main() {
    for (uint k = 0u; k < uint(IN_TURN); ++k) {
        uint id = invocation_index() * uint(IN_TURN) + k;
        if (id < uint(COUNT)) walk(id);
    }
}
#else
// Arrays are indexed by constants alone: macros instead of loops.
#if EACH == 4
#define EACH_QUAD(MACRO) MACRO(0) MACRO(1) MACRO(2) MACRO(3)
#elif EACH == 2
#define EACH_QUAD(MACRO) MACRO(0) MACRO(1)
#else
#define EACH_QUAD(MACRO) MACRO(0)
#endif

void main() {
    const uint runs = uint((INNER + 3) / 4 / EACH);  // EACH divides the quads
    uint id = invocation_index();
    if (id >= uint(COUNT)) return;
    uint i = id % runs * uint(4 * EACH), n = min(4u, uint(INNER) - i);
    uint part = id / runs % uint(PARTS), outer = id / runs / uint(PARTS);
    uint begin = part * uint(LENGTH), steps = min(begin + uint(LENGTH), uint(AXIS)) - begin;
    precise ACC4 carry[EACH];
#if PREFIX
#define BEGIN(q) carry[q] = in1_load4((id * uint(EACH) + uint(q)) * 4u);
#else
#define BEGIN(q) carry[q] = ACC4(IDENTITY);
#endif
    EACH_QUAD(BEGIN)
    for (uint k = 0u; k < steps; ++k) {
        uint e = (outer * uint(AXIS) + begin + (REVERSE == 1 ? steps - 1u - k : k)) * uint(INNER) + i;
        ACC4 x[EACH];
        precise ACC4 s[EACH];
#define LOAD(q) x[q] = load(e + uint(4 * q), n);
#define STEP(q)                                                             \
        s[q] = FOLD(carry[q], x[q]);                                        \
        store(e + uint(4 * q), n, EXCLUSIVE == 1 ? carry[q] : s[q]);        \
        carry[q] = s[q];
        EACH_QUAD(LOAD)
        EACH_QUAD(STEP)
    }
#if TOTALS
#define END(q) out0_store4((id * uint(EACH) + uint(q)) * 4u, carry[q]);
    EACH_QUAD(END)
#endif
}
#endif
#endif
