// ARGMAX along one axis of a tensor seen as [outer, AXIS, INNER]. Four outputs are an invocation's (and the next four
// after them, IN_TURN), or that of LANES invocations, which share the axis and fold their results as a tree; its last
// levels, within whole subgroups of SUBGROUP (if not 0), by shuffles. Elements are compared as integer keys, so that
// NaN, zeros and subnormal numbers order alike on every driver; of equal keys the smaller index wins. ROW_BY_ROW: four
// rows would take more registers than there are.
//   in0  input
#extension GL_EXT_control_flow_attributes : require
layout(constant_id = 0) const int AXIS = 1;
layout(constant_id = 1) const int INNER = 1;
layout(constant_id = 2) const int OUTER = 1;  // late
layout(constant_id = 3) const int LANES = 1;  // a power of two that divides the workgroup size
layout(constant_id = 4) const int IN_TURN = 1;  // fours of outputs of an invocation, without SHARED_LANES

#if SHARED_LANES
shared ivec4 partial_key[gl_WorkGroupSize.x], partial_index[gl_WorkGroupSize.x];
#endif

#if X_FLOAT
// Grows with the number; both zeros give 0, NaN gives NAN_KEY (the greatest or the least key).
ivec4 key_of(vec4 x) {
    ivec4 bits = floatBitsToInt(x), magnitude = bits & 0x7fffffff;
    return mix(mix(magnitude, -magnitude, lessThan(bits, ivec4(0))), ivec4(NAN_KEY),
               greaterThan(magnitude, ivec4(0x7f800000)));
}
#else
#define key_of(x) (x)
#endif

void fold(inout ivec4 key, inout ivec4 index, ivec4 other_key, ivec4 other_index) {
    ivec4 wins =
        ivec4(greaterThan(other_key, key)) | (ivec4(equal(other_key, key)) & ivec4(lessThan(other_index, index)));
    bvec4 take = notEqual(wins, ivec4(0));
    key = mix(key, other_key, take);
    index = mix(index, other_index, take);
}

void take_greater(ivec4 other, uint other_index, inout ivec4 key, inout ivec4 index) {
    bvec4 take = greaterThan(other, key);
    key = mix(key, other, take);
    index = mix(index, ivec4(int(other_index)), take);
}

#if ROW_BY_ROW
#define LOOP [[dont_unroll]] for  // several turns at once would take registers too
#else
#define LOOP for
#endif

#if ROWS
// The last axis: the best of each component of the row's quads, then the best of those.
const int QUADS = (AXIS + 3) / 4 + (AXIS % 4 == 0 ? 0 : 1);

void fold(inout int key, inout int index, int other_key, int other_index) {
    bool take = other_key > key || (other_key == key && other_index < index);
    key = take ? other_key : key;
    index = take ? other_index : index;
}

void best_of_row(uint row, uint lane, out int best_key, out int best_index) {
    ivec4 key, index;
    uint begin = min(row, uint(OUTER) - 1u) * uint(AXIS), first = begin >> 2, last = (begin + uint(AXIS) - 1u) >> 2;
    const ivec4 c = ivec4(0, 1, 2, 3) - (AXIS % 4 == 0 ? 0 : int(begin & 3u));
    key = ivec4(SIGN_BIT);
    ivec4 at = ivec4(int(lane));
#ifdef IN0_EIGHTS
    // Rows of whole eights, without SHARED_LANES: two quads are one load.
    LOOP (uint q = 0u; q < uint(QUADS); q += 2u) {
        IN4 x, y;
        in0_load8((first + q) << 2, x, y);
        take_greater(key_of(x), q, key, at);
        take_greater(key_of(y), q + 1u, key, at);
    }
#else
    LOOP (uint q = lane; q < uint(QUADS); q += uint(LANES)) {
        // Whole quads need no bound, but llvmpipe takes twice as long without it.
        ivec4 other = key_of(in0_load4(min(first + q, last) << 2));
        if (AXIS % 4 != 0) other = mix(ivec4(SIGN_BIT), other, lessThan(uvec4(int(q) * 4 + c), uvec4(uint(AXIS))));
        take_greater(other, q, key, at);
    }
#endif
    index = at * 4 + c;
    index = mix(ivec4(ABS_MASK), index, lessThan(uvec4(index), uvec4(uint(AXIS))));
    // At once, so that one row's results at a time take registers.
    best_key = key.x;
    best_index = index.x;
    fold(best_key, best_index, key.y, index.y);
    fold(best_key, best_index, key.z, index.z);
    fold(best_key, best_index, key.w, index.w);
}

void best(uint e, uint n, uint lane, out ivec4 key, out ivec4 index) {
#if ROW_BY_ROW
    LOOP (uint r = 0u; r < 4u; ++r) {
        int row_key, row_index;
        best_of_row(e + r, lane, row_key, row_index);
        key = ivec4(key.yzw, row_key);
        index = ivec4(index.yzw, row_index);
    }
#else
    // Of fewer than four rows, none is read twice.
    key = index = ivec4(0);
    best_of_row(e, lane, key.x, index.x);
    if (OUTER > 1) best_of_row(e + 1u, lane, key.y, index.y);
    if (OUTER > 2) best_of_row(e + 2u, lane, key.z, index.z);
    if (OUTER > 3) best_of_row(e + 3u, lane, key.w, index.w);
#endif
}
#else
// Any other axis: four neighbouring columns.
void best(uint e, uint n, uint lane, out ivec4 key, out ivec4 index) {
    uint at = e / uint(INNER) * uint(AXIS * INNER) + e % uint(INNER);
    key = ivec4(SIGN_BIT);
    index = ivec4(int(lane));
    for (uint a = lane; a < uint(AXIS); a += uint(LANES)) {
        uint i = at + a * uint(INNER);
        take_greater(key_of(INNER % 4 == 0 ? in0_load4(i) : in0_loadn(i, n)), a, key, index);
    }
}
#endif

void best_four(uint quad, uint lane) {
#if ROWS
    uint e = quad * 4u, n = min(4u, uint(OUTER) - min(e, uint(OUTER)));
    bool live = e < uint(OUTER);
#else
    const uint quads = uint((INNER + 3) / 4);
    uint i = quad % quads * 4u, e = quad / quads * uint(INNER) + i, n = min(4u, uint(INNER) - i);
    bool live = quad / quads < uint(OUTER);
#endif
    ivec4 key, index;
    if (live) best(e, n, lane, key, index);
#if SHARED_LANES
    uint half_lanes = uint(LANES) / 2u;
    if (LANES > SUBGROUP) {
        uint me = gl_LocalInvocationID.x;
        partial_key[SHARED_STORE(0u, 4u, me)] = key;
        partial_index[SHARED_STORE(1u, 4u, me)] = index;
        barrier();
        for (; half_lanes > 0u && half_lanes >= uint(SUBGROUP); half_lanes /= 2u) {
            if (lane < half_lanes) {
                fold(key, index, partial_key[SHARED_LOAD(0u, 4u, me + half_lanes)],
                     partial_index[SHARED_LOAD(1u, 4u, me + half_lanes)]);
                partial_key[SHARED_STORE(0u, 4u, me)] = key;
                partial_index[SHARED_STORE(1u, 4u, me)] = index;
            }
            barrier();
        }
    }
#if SUBGROUP
    // Subgroups are runs of invocations. Behind branches lanes need not be together; what those behind half_lanes make
    // is not asked for.
    subgroupBarrier();
    for (; half_lanes > 0u; half_lanes /= 2u) {
        ivec4 other_key = subgroupShuffleXor(key, half_lanes), other_index = subgroupShuffleXor(index, half_lanes);
        fold(key, index, other_key, other_index);
    }
#endif
    live = live && lane == 0u;
#endif
    if (live) FUSED(e, n, index);
}

void main() {
#if SHARED_LANES
    uint me = gl_LocalInvocationID.x;
    best_four(workgroup_index() * (gl_WorkGroupSize.x / uint(LANES)) + me / uint(LANES), me % uint(LANES));
#else
    for (uint k = 0u; k < uint(IN_TURN); ++k) best_four(invocation_index() * uint(IN_TURN) + k, 0u);
#endif
}
