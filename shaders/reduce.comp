// REDUCE_* along one axis of a tensor seen as [outer, AXIS, INNER]. A workgroup holds LANES partial results of each of
// its quads (4 consecutive outputs) and folds them as a tree in shared memory.
//   in0  input
layout(constant_id = 0) const int AXIS = 1;
layout(constant_id = 1) const int INNER = 1;
layout(constant_id = 2) const int COUNT = 1;  // outputs
layout(constant_id = 3) const int LANES = 1;  // a power of two that divides the workgroup size

#if X_FLOAT
#define X4 vec4
#else
#define X4 ivec4
#endif

shared X4 partial[gl_WorkGroupSize.x];

// Element `a` of the axis for the outputs e..e+3.
X4 input4(uint e, uint a) {
    if (INNER % 4 == 0) return in0_load4((e / INNER * AXIS + a) * INNER + e % INNER);
    uint last = uint(COUNT) - 1u;
    uvec4 o = min(uvec4(e, e + 1u, e + 2u, e + 3u), uvec4(last));
    uvec4 i = (o / INNER * AXIS + a) * INNER + o % INNER;
    return X4(in0_load1(i.x), in0_load1(i.y), in0_load1(i.z), in0_load1(i.w));
}

void main() {
    uint lane = gl_LocalInvocationID.x % LANES, slot = gl_LocalInvocationID.x / LANES;
    uint quads_per_group = gl_WorkGroupSize.x / LANES;
    uint e = (workgroup_index() * quads_per_group + slot) * 4u;
    bool live = e < uint(COUNT);

    if (live && lane < uint(AXIS)) {
        X4 acc = input4(e, lane);
        for (uint a = lane + LANES; a < uint(AXIS); a += LANES) acc = REDUCE(acc, input4(e, a));
        partial[gl_LocalInvocationID.x] = acc;
    }
    barrier();
    for (uint half_lanes = LANES / 2; half_lanes > 0u; half_lanes /= 2u) {
        if (live && lane < half_lanes && lane + half_lanes < uint(AXIS)) {
            partial[gl_LocalInvocationID.x] =
                REDUCE(partial[gl_LocalInvocationID.x], partial[gl_LocalInvocationID.x + half_lanes]);
        }
        barrier();
    }
    if (live && lane == 0u) FUSED(e, min(4u, uint(COUNT) - e), partial[gl_LocalInvocationID.x]);
}
