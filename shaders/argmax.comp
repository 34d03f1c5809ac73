// ARGMAX along one axis of a tensor seen as [outer, AXIS, INNER], shaped like reduce.comp: LANES partial results of each
// quad of outputs, folded as a tree. Elements are compared as integer keys, so that NaN, zeros and subnormal numbers
// order alike on every driver; of equal keys the smaller index wins.
//   in0  input
layout(constant_id = 0) const int AXIS = 1;
layout(constant_id = 1) const int INNER = 1;
layout(constant_id = 2) const int COUNT = 1;  // outputs
layout(constant_id = 3) const int LANES = 1;  // a power of two that divides the workgroup size

shared ivec4 partial_key[gl_WorkGroupSize.x], partial_index[gl_WorkGroupSize.x];

#if X_FLOAT
// Grows with the number; both zeros give 0, NaN gives NAN_KEY (the greatest or the least key).
ivec4 key_of(vec4 x) {
    ivec4 bits = floatBitsToInt(x), magnitude = bits & 0x7fffffff;
    return mix(mix(magnitude, -magnitude, lessThan(bits, ivec4(0))), ivec4(NAN_KEY), greaterThan(magnitude, ivec4(0x7f800000)));
}
#define X4 vec4
#else
#define key_of(x) (x)
#define X4 ivec4
#endif

// Key of element `a` of the axis for the outputs e..e+3.
ivec4 key4(uint e, uint a) {
    if (INNER % 4 == 0) return key_of(in0_load4((e / INNER * AXIS + a) * INNER + e % INNER));
    uint last = uint(COUNT) - 1u;
    uvec4 o = min(uvec4(e, e + 1u, e + 2u, e + 3u), uvec4(last));
    uvec4 i = (o / INNER * AXIS + a) * INNER + o % INNER;
    return key_of(X4(in0_load1(i.x), in0_load1(i.y), in0_load1(i.z), in0_load1(i.w)));
}

void fold(inout ivec4 key, inout ivec4 index, ivec4 other_key, ivec4 other_index) {
    ivec4 wins = ivec4(greaterThan(other_key, key)) | (ivec4(equal(other_key, key)) & ivec4(lessThan(other_index, index)));
    bvec4 take = notEqual(wins, ivec4(0));
    key = mix(key, other_key, take);
    index = mix(index, other_index, take);
}

void main() {
    uint me = gl_LocalInvocationID.x, lane = me % LANES, slot = me / LANES;
    uint quads_per_group = gl_WorkGroupSize.x / LANES;
    uint e = (workgroup_index() * quads_per_group + slot) * 4u;
    bool live = e < uint(COUNT);

    if (live && lane < uint(AXIS)) {
        ivec4 key = key4(e, lane), index = ivec4(int(lane));
        for (uint a = lane + LANES; a < uint(AXIS); a += LANES) fold(key, index, key4(e, a), ivec4(int(a)));
        partial_key[me] = key;
        partial_index[me] = index;
    }
    barrier();
    for (uint half_lanes = LANES / 2; half_lanes > 0u; half_lanes /= 2u) {
        if (live && lane < half_lanes && lane + half_lanes < uint(AXIS)) {
            ivec4 key = partial_key[me], index = partial_index[me];
            fold(key, index, partial_key[me + half_lanes], partial_index[me + half_lanes]);
            partial_key[me] = key;
            partial_index[me] = index;
        }
        barrier();
    }
    if (live && lane == 0u) FUSED(e, min(4u, uint(COUNT) - e), partial_index[me]);
}
