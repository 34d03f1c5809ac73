// SCATTER: output [N,K,C] is values_in with rows replaced by rows of input [N,W,C] at indices [N,W]. It runs over the
// output, so that no index can lead outside: the LANES invocations of a row look for the last index that names it, then
// copy the row. Indices out of range name no row.
//   in0  values_in   in1  indices   in2  input
layout(constant_id = 0) const int K = 1;
layout(constant_id = 1) const int W = 1;
layout(constant_id = 2) const int C = 1;
layout(constant_id = 3) const int ROWS = 1;   // N*K
layout(constant_id = 4) const int LANES = 1;  // a power of two that divides the workgroup size

shared int found[gl_WorkGroupSize.x];

#if X_FLOAT
#define X4 vec4
#else
#define X4 ivec4
#endif

void main() {
    int lane = int(gl_LocalInvocationID.x) % LANES, slot = int(gl_LocalInvocationID.x) / LANES;
    int row = int(workgroup_index()) * (int(gl_WorkGroupSize.x) / LANES) + slot;
    bool live = row < ROWS;
    int batch = row / K;

    found[gl_LocalInvocationID.x] = -1;
    barrier();
    if (live) {
        int best = -1;
        for (int w = lane; w < W; w += LANES) {
            if (in1_load1(uint(batch * W + w)) == row % K) best = w;
        }
        if (best >= 0) atomicMax(found[slot], best);
    }
    barrier();
    if (!live) return;
    int from = found[slot];
    for (int c = lane * 4; c < C; c += LANES * 4) {
        uint e = uint(row * C + c), n = uint(min(C - c, 4));
        X4 value;
        if (from < 0) value = C % 4 == 0 ? in0_load4(e) : in0_loadn(e, n);
        else {
            uint i = uint((batch * W + from) * C + c);
            value = C % 4 == 0 ? in2_load4(i) : in2_loadn(i, n);
        }
        FUSED(e, n, value);
    }
}
