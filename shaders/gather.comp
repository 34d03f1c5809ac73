// GATHER: output [N,W,C] from values [N,K,C] and indices [N,W]; an invocation makes EACH consecutive elements: 1, 4, or
// 8 where C is a multiple of that. An index outside 0..K-1 is unpredictable in TOSA: it is clamped here, so that
// nothing outside the tensor is read, and gives 0.
//   in0  values   in1  indices
layout(constant_id = 0) const int K = 1;
layout(constant_id = 1) const int W = 1;
layout(constant_id = 2) const int C = 1;
layout(constant_id = 3) const int COUNT = 1;  // late
// Rows that neighbouring invocations read, if C is a multiple of EACH.
layout(constant_id = 4) const int SIDE_BY_SIDE = 1;

#if X_FLOAT
#define X4 vec4
#else
#define X4 ivec4
#endif

// Where the row of the output comes from; `ok` is false where its index is out of range.
uint source(uint row, out bool ok) {
    int index = in1_load1(row);
    ok = index >= 0 && index < K;
    return (row / uint(W) * uint(K) + uint(clamp(index, 0, K - 1))) * uint(C);
}

void main() {
    uint e = invocation_index() * EACH;
    if (C % EACH == 0 && SIDE_BY_SIDE > 1) {
        uint id = invocation_index(), tile = id / uint(SIDE_BY_SIDE * (C / EACH)),
             within = id % uint(SIDE_BY_SIDE * (C / EACH));
        e = (tile * uint(SIDE_BY_SIDE) + within % uint(SIDE_BY_SIDE)) * uint(C) + within / uint(SIDE_BY_SIDE) * EACH;
    }
    if (e >= uint(COUNT)) return;
    uint n = min(4u, uint(COUNT) - e), row = e / uint(C), c = e % uint(C);
    bool ok;
    uint at = source(row, ok);
#if EACH == 8
    X4 low = in0_load4(at + c), high = in0_load4(at + c + 4u);
    FUSED8(e, ok ? low : X4(0), ok ? high : X4(0));
#elif EACH == 1
    X4 value = X4(in0_load1(at + c));
    FUSED(e, 1u, ok ? value : X4(0));
#else
    if (C % 4 == 0) {
        X4 value = in0_load4(at + c);
        FUSED(e, n, ok ? value : X4(0));
        return;
    }
    uvec4 i = uvec4(c, c + 1u, c + 2u, c + 3u);
    uvec4 from;
    bvec4 oks = bvec4(ok);
    const uint last = uint(COUNT / C - 1);
    if (C >= 4) {
        // Four elements lie in two rows at most.
        bvec4 next = greaterThanEqual(i, uvec4(uint(C)));
        uint at_next = source(min(row + 1u, last), ok);
        from = mix(at + i, at_next + i - uint(C), next);
        oks = bvec4(mix(uvec4(oks), uvec4(ok), next));
    } else {
        uvec4 rows = min(row + i / uint(C), uvec4(last));
        from.x = at;
        from.y = source(rows.y, oks.y);
        from.z = source(rows.z, oks.z);
        from.w = source(rows.w, oks.w);
        from += i % uint(C);
    }
    X4 value = X4(in0_load1(from.x), in0_load1(from.y), in0_load1(from.z), in0_load1(from.w));
    FUSED(e, n, mix(X4(0), value, oks));
#endif
}
