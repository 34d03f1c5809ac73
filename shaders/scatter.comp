// SCATTER: output [N,K,C] is values_in with rows replaced by rows of input [N,W,C] at indices [N,W], in three passes,
// each over what it writes: no index can lead outside. Of indices that name one row the last wins; those out of range
// name none.
//   PASS 0: out0, a number for each row of the output, becomes -1
//   PASS 1: in0 indices; the number of a row that an index names becomes that of the row of input, counted over all N
//   PASS 2: in0 values_in   in1 numbers   in2 input; an invocation makes four elements of a row
layout(constant_id = 0) const int K = 1;
layout(constant_id = 1) const int W = 1;
layout(constant_id = 2) const int C = 1;
layout(constant_id = 3) const int COUNT = 1;  // late: rows of the output in passes 0 and 2, of input in pass 1

#if PASS == 0
void main() {
    uint i = invocation_index();
    if (i < uint(COUNT)) out0_store1(i, -1);
}
#elif PASS == 1
void main() {
    int i = int(invocation_index());
    if (i >= COUNT) return;
    int row = in0_load1(uint(i));
    if (row >= 0 && row < K) out0_raise(uint(i / W * K + row), i);
}
#else
void main() {
    const uint quads = uint((C + 3) / 4);
    uint id = invocation_index(), row = id / quads, c = id % quads * 4u, n = min(uint(C) - c, 4u);
    if (row >= uint(COUNT)) return;
    int from = in1_load1(row);
    uint kept = row * uint(C) + c, taken = uint(max(from, 0)) * uint(C) + c;
    X4 a = C % 4 == 0 ? in0_load4(kept) : in0_loadn(kept, n);
    X4 b = C % 4 == 0 ? in2_load4(taken) : in2_loadn(taken, n);
    FUSED(kept, n, from < 0 ? a : b);
}
#endif
