// REDUCE_* along the last axis, or a part of it. Four rows are an invocation's: it folds their quads component by
// component, then across; with ROW_BY_ROW one row after the other. With SHARED_LANES, LANES invocations share four rows and
// fold their results as a tree.
//   in0  input
// PARTIAL: AXIS is cut into CHUNKS parts of LENGTH; the results go to a scratch buffer, without AFTER.
layout(constant_id = 0) const int AXIS = 1;
layout(constant_id = 1) const int LENGTH = 1;  // a multiple of 4 if there are several parts
layout(constant_id = 2) const int CHUNKS = 1;
layout(constant_id = 3) const int COUNT = 1;  // results: rows * CHUNKS
layout(constant_id = 4) const int LANES = 1;  // a power of two that divides the workgroup size
layout(constant_id = 5) const int QUADS = 1;  // that a part may touch

#if SHARED_LANES
shared ACC4 partial[gl_WorkGroupSize.x];
#endif

struct Part {
    uint begin, first, last;  // element; quads
};

Part part_of(uint result) {
    result = min(result, uint(COUNT) - 1u);
    uint chunk = result % uint(CHUNKS) * uint(LENGTH);
    uint begin = result / uint(CHUNKS) * uint(AXIS) + chunk;
    uint end = begin + min(uint(LENGTH), uint(AXIS) - chunk);
    return Part(begin, begin >> 2, (end - 1u) >> 2);
}

// Quad k of a part. What belongs to the neighbours changes nothing.
ACC4 quad(Part p, uint k) {
    uint q = p.first + k;
    ACC4 v = BEFORE(in0_load4(min(q, p.last) << 2));
    if (AXIS % 4 == 0 && (CHUNKS == 1 || AXIS % LENGTH == 0)) return v;
    uint length = CHUNKS == 1 ? uint(AXIS) : min(uint(LENGTH), uint(AXIS) - p.begin % uint(AXIS));
    uvec4 i = uvec4(q * 4u) + uvec4(0u, 1u, 2u, 3u) - p.begin;
    return mix(ACC4(IDENTITY), v, lessThan(i, uvec4(length)));
}

void main() {
    uint lane = gl_LocalInvocationID.x % uint(LANES), slot = gl_LocalInvocationID.x / uint(LANES);
    uint e = (workgroup_index() * (gl_WorkGroupSize.x / uint(LANES)) + slot) * 4u;
#if !SHARED_LANES
    if (e >= uint(COUNT)) return;
#endif
    Part p0 = part_of(e), p1 = part_of(e + 1u), p2 = part_of(e + 2u), p3 = part_of(e + 3u);
    precise ACC4 a0 = ACC4(IDENTITY), a1 = a0, a2 = a0, a3 = a0;
#if ROW_BY_ROW
#define ADD_ROW(a, p) for (uint k = lane; k < uint(QUADS); k += uint(LANES)) a = FOLD(a, quad(p, k));
    ADD_ROW(a0, p0)
    ADD_ROW(a1, p1)
    ADD_ROW(a2, p2)
    ADD_ROW(a3, p3)
#else
    for (uint k = lane; k < uint(QUADS); k += uint(LANES)) {
        a0 = FOLD(a0, quad(p0, k));
        a1 = FOLD(a1, quad(p1, k));
        a2 = FOLD(a2, quad(p2, k));
        a3 = FOLD(a3, quad(p3, k));
    }
#endif
    precise ACC4 s = FOLD(FOLD(ACC4(a0.x, a1.x, a2.x, a3.x), ACC4(a0.y, a1.y, a2.y, a3.y)),
                          FOLD(ACC4(a0.z, a1.z, a2.z, a3.z), ACC4(a0.w, a1.w, a2.w, a3.w)));
#if SHARED_LANES
    partial[gl_LocalInvocationID.x] = s;
    barrier();
    for (uint half_lanes = uint(LANES) / 2u; half_lanes > 0u; half_lanes /= 2u) {
        if (lane < half_lanes) {
            s = FOLD(s, partial[gl_LocalInvocationID.x + half_lanes]);
            partial[gl_LocalInvocationID.x] = s;
        }
        barrier();
    }
    if (lane != 0u || e >= uint(COUNT)) return;
#endif
#if PARTIAL
    out0_store4(e, s);
#else
    FUSED(e, min(4u, uint(COUNT) - e), AFTER(s));
#endif
}
