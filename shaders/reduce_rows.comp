// REDUCE_* along the last axis, or a part of it. Four rows are an invocation's (and the next four after them,
// IN_TURN): it folds their quads component by component, then across; with ROW_BY_ROW one row after the other. With
// SHARED_LANES, LANES invocations share four rows and fold their results as a tree; its last levels, within whole
// subgroups of SUBGROUP (if not 0), by shuffles. TWO_QUADS: two of each row are loaded before the first is folded.
//   in0  input
// PARTIAL: AXIS is cut into CHUNKS parts of LENGTH; the results go to a scratch buffer, without AFTER.
layout(constant_id = 0) const int AXIS = 1;
layout(constant_id = 1) const int LENGTH = 1;  // a multiple of 4 if there are several parts
layout(constant_id = 2) const int CHUNKS = 1;
layout(constant_id = 3) const int COUNT = 1;  // late: results: rows * CHUNKS
layout(constant_id = 4) const int LANES = 1;  // a power of two that divides the workgroup size
layout(constant_id = 5) const int QUADS = 1;  // that a part may touch
layout(constant_id = 6) const int IN_TURN = 1;  // fours of rows of an invocation, without SHARED_LANES

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

IN4 load(Part p, uint k) { return in0_load4(min(p.first + k, p.last) << 2); }

// What quad k of a part adds: what belongs to the neighbours changes nothing.
ACC4 term(Part p, uint k, IN4 x) {
    ACC4 v = BEFORE(x);
    if (AXIS % 4 == 0 && (CHUNKS == 1 || AXIS % LENGTH == 0)) return v;
    uint length = CHUNKS == 1 ? uint(AXIS) : min(uint(LENGTH), uint(AXIS) - p.begin % uint(AXIS));
    uvec4 i = uvec4((p.first + k) * 4u) + uvec4(0u, 1u, 2u, 3u) - p.begin;
    return mix(ACC4(IDENTITY), v, lessThan(i, uvec4(length)));
}

// Arrays are indexed by constants alone: macros instead of loops. Of fewer than four rows, none is read twice.
#define EACH_ROW(MACRO) MACRO(0) MACRO(1) MACRO(2) MACRO(3)
#define IF_ROW(r) if (r == 0 || r < COUNT)

// Rows e..e+3.
void fold_four(uint e, uint lane) {
    Part p[4];
    precise ACC4 a[4];
#define BEGIN(r) p[r] = part_of(e + uint(r)); a[r] = ACC4(IDENTITY);
    EACH_ROW(BEGIN)
    uint k;
    IN4 x[4], y[4];
#define ADD_X(r) IF_ROW(r) a[r] = FOLD(a[r], term(p[r], k, x[r]));
#define ADD_Y(r) IF_ROW(r) a[r] = FOLD(a[r], term(p[r], k + uint(LANES), y[r]));
#ifdef IN0_EIGHTS
    // One invocation's parts, of whole eights: two quads are one load.
#define LOAD_TWO(r) IF_ROW(r) in0_load8((p[r].first + k) << 2, x[r], y[r]);
#define LOAD_ALL EACH_ROW(LOAD_TWO)
#define ADD(r) LOAD_TWO(r) ADD_X(r) ADD_Y(r)
#define STRIDE 2u
#else
#define LOAD_X(r) IF_ROW(r) x[r] = load(p[r], k);
#define LOAD_Y(r) IF_ROW(r) y[r] = load(p[r], k + uint(LANES));
#define LOAD_ALL EACH_ROW(LOAD_X) EACH_ROW(LOAD_Y)
#define ADD(r) LOAD_X(r) ADD_X(r)
#define STRIDE uint(LANES)
#endif
#if ROW_BY_ROW
#define ADD_ALL(r) IF_ROW(r) for (k = lane; k < uint(QUADS); k += STRIDE) { ADD(r) }
    EACH_ROW(ADD_ALL)
#elif TWO_QUADS
    // Keys take a while to make: two quads of every row are loaded before the first key is, so that more
    // loads are on their way.
    for (k = lane; k + uint(LANES) < uint(QUADS); k += uint(2 * LANES)) {
        LOAD_ALL
        EACH_ROW(ADD_X)
        EACH_ROW(ADD_Y)
    }
    if (k < uint(QUADS)) { EACH_ROW(ADD) }
#else
    for (k = lane; k < uint(QUADS); k += STRIDE) { EACH_ROW(ADD) }
#endif
    precise ACC4 s = FOLD(FOLD(ACC4(a[0].x, a[1].x, a[2].x, a[3].x), ACC4(a[0].y, a[1].y, a[2].y, a[3].y)),
                          FOLD(ACC4(a[0].z, a[1].z, a[2].z, a[3].z), ACC4(a[0].w, a[1].w, a[2].w, a[3].w)));
#if SHARED_LANES
    uint half_lanes = uint(LANES) / 2u;
    if (LANES > SUBGROUP) {
        uint me = gl_LocalInvocationID.x;
        partial[SHARED_STORE(0u, 4u, me)] = s;
        barrier();
        for (; half_lanes > 0u && half_lanes >= uint(SUBGROUP); half_lanes /= 2u) {
            if (lane < half_lanes) {
                s = FOLD(s, partial[SHARED_LOAD(0u, 4u, me + half_lanes)]);
                partial[SHARED_STORE(0u, 4u, me)] = s;
            }
            barrier();
        }
    }
#if SUBGROUP
    // Subgroups are runs of invocations. Behind branches lanes need not be together; what those behind half_lanes make
    // is not asked for.
    subgroupBarrier();
    for (; half_lanes > 0u; half_lanes /= 2u) s = FOLD(s, subgroupShuffleXor(s, half_lanes));
#endif
    if (lane != 0u || e >= uint(COUNT)) return;
#endif
#if PARTIAL
    out0_store4(e, s);
#else
    FUSED(e, min(4u, uint(COUNT) - e), AFTER(s));
#endif
}

void main() {
#if SHARED_LANES
    uint me = gl_LocalInvocationID.x;
    fold_four((workgroup_index() * (gl_WorkGroupSize.x / uint(LANES)) + me / uint(LANES)) * 4u, me % uint(LANES));
#else
    for (uint k = 0u; k < uint(IN_TURN); ++k) {
        uint e = (invocation_index() * uint(IN_TURN) + k) * 4u;
        if (e < uint(COUNT)) fold_four(e, 0u);
    }
#endif
}
