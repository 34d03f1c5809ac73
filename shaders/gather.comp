// GATHER: output [N,W,C] from values [N,K,C] and indices [N,W]; an invocation makes 4 consecutive elements. An index
// outside 0..K-1 is unpredictable in TOSA: it is clamped here, so that nothing outside the tensor is read, and gives 0.
//   in0  values   in1  indices
layout(constant_id = 0) const int K = 1;
layout(constant_id = 1) const int W = 1;
layout(constant_id = 2) const int C = 1;
layout(constant_id = 3) const int COUNT = 1;

#if X_FLOAT
#define X4 vec4
#else
#define X4 ivec4
#endif

// Element e of the output comes from this element; `ok` is false where its index is out of range.
uint source(uint e, out bool ok) {
    uint row = e / C;
    int index = in1_load1(row);
    ok = index >= 0 && index < K;
    return (row / W * K + uint(clamp(index, 0, K - 1))) * C + e % C;
}

void main() {
    uint e = invocation_index() * 4u;
    if (e >= uint(COUNT)) return;
    uint n = min(4u, uint(COUNT) - e), last = e + n - 1u;
    bool ok;
    uint i = source(e, ok);
    if (C % 4 == 0) {
        X4 value = in0_load4(i);
        if (!ok) value = X4(0);
        FUSED(e, n, value);
        return;
    }
    X4 value = X4(0);
    if (ok) value.x = in0_load1(i);
    i = source(min(e + 1u, last), ok);
    if (ok) value.y = in0_load1(i);
    i = source(min(e + 2u, last), ok);
    if (ok) value.z = in0_load1(i);
    i = source(last, ok);
    if (ok) value.w = in0_load1(i);
    FUSED(e, n, value);
}
