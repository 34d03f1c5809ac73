// GATHER: output [N,W,C] from values [N,K,C] and indices [N,W]; an invocation makes 4 consecutive elements. An index
// outside 0..K-1 is unpredictable in TOSA: it is clamped here, so that nothing outside the tensor is read.
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

uint source(uint e) {
    uint row = e / C;
    uint index = uint(clamp(in1_load1(row), 0, K - 1));
    return (row / W * K + index) * C + e % C;
}

void main() {
    uint e = invocation_index() * 4u;
    if (e >= uint(COUNT)) return;
    uint n = min(4u, uint(COUNT) - e), last = e + n - 1u;
    if (C % 4 == 0) {
        FUSED(e, n, in0_load4(source(e)));
        return;
    }
    FUSED(e, n, X4(in0_load1(source(e)), in0_load1(source(min(e + 1u, last))), in0_load1(source(min(e + 2u, last))),
                   in0_load1(source(last))));
}
