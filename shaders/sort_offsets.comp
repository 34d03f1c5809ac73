// The second pass: the sum of all counts of a list before each of them. A workgroup has a list, an invocation a part
// of it.
//   in0  counts
layout(constant_id = 0) const int LISTS = 1;
layout(constant_id = 1) const int COUNTS = 1;  // of a list

shared uint sums[gl_WorkGroupSize.x];

void main() {
    const uint lanes = gl_WorkGroupSize.x, each = (uint(COUNTS) + lanes - 1u) / lanes, list = workgroup_index();
    uint begin = min(gl_LocalInvocationID.x * each, uint(COUNTS)), end = min(begin + each, uint(COUNTS));
    const uint at = min(list, uint(LISTS) - 1u) * uint(COUNTS);
    uint sum = 0u;
    for (uint i = begin; i < end; ++i) sum += uint(in0_load1(at + i));
    sums[gl_LocalInvocationID.x] = sum;
    barrier();
    if (list >= uint(LISTS)) return;
    sum = 0u;
    for (uint l = 0u; l < gl_LocalInvocationID.x; ++l) sum += sums[l];
    for (uint i = begin; i < end; ++i) {
        out0_store1(at + i, int(sum));
        sum += uint(in0_load1(at + i));
    }
}
