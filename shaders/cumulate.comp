// CUMULATE: an invocation walks along a part of the axis of one row (ROWS), or of four neighbouring columns, and carries
// what it has folded. An axis in several parts takes three passes: TOTALS folds each part; another run of this kernel, on
// these totals, makes what lies before each part; and the last pass starts from that.
//   in0  input [outer][AXIS][INNER], INNER being 1 for rows   in1  PREFIX: what lies before each part
// Results go to a scratch buffer (TO_SCRATCH, TOTALS), without AFTER, or on. With REVERSE parts and axis are walked backwards.
layout(constant_id = 0) const int AXIS = 1;
layout(constant_id = 1) const int INNER = 1;
layout(constant_id = 2) const int LENGTH = 1;  // of a part; of rows a multiple of 4 if there are several parts
layout(constant_id = 3) const int PARTS = 1;
layout(constant_id = 4) const int COUNT = 1;  // invocations

#if ROWS
const bool WHOLE_QUADS = AXIS % 4 == 0;
#else
const bool WHOLE_QUADS = INNER % 4 == 0;
#endif

ACC4 load(uint e, uint n) {
    if (WHOLE_QUADS) return BEFORE(in0_load4(e));
    return mix(ACC4(IDENTITY), BEFORE(in0_loadn(e, n)), lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(n)));
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

void main() {
    uint id = invocation_index();
    if (id >= uint(COUNT)) return;
#if ROWS
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
#else
    const uint quads = uint((INNER + 3) / 4);
    uint i = id % quads * 4u, n = min(4u, uint(INNER) - i), part = id / quads % uint(PARTS), outer = id / quads / uint(PARTS);
    uint begin = part * uint(LENGTH), steps = min(begin + uint(LENGTH), uint(AXIS)) - begin;
#if PREFIX
    precise ACC4 carry = in1_load4(id * 4u);
#else
    precise ACC4 carry = ACC4(IDENTITY);
#endif
    for (uint k = 0u; k < steps; ++k) {
        uint e = (outer * uint(AXIS) + begin + (REVERSE == 1 ? steps - 1u - k : k)) * uint(INNER) + i;
        precise ACC4 s = FOLD(carry, load(e, n));
        store(e, n, EXCLUSIVE == 1 ? carry : s);
        carry = s;
    }
#if TOTALS
    out0_store4(id * 4u, carry);
#endif
#endif
}
