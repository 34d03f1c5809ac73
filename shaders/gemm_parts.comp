// The results of a product of which gemm_tiles.comp has made parts: their sums, one after the other, and the bias. An
// invocation makes four columns of a row.
//   in0  [PARTS][ROWS][COLUMNS rounded up to 4]
//   in1  bias [BIAS]: 1 element, or one a column; none with MATRIX
// Its work is little beside a pipeline's cost: one pipeline has every size.
layout(constant_id = 0) const int ROWS = 1;  // pushed: of the output
layout(constant_id = 1) const int COLUMNS = 1;  // pushed
layout(constant_id = 2) const int PARTS = 2;  // pushed
#if !MATRIX
layout(constant_id = 3) const int BIAS = 1;  // pushed
#endif

void main() {
    int quads = (COLUMNS + 3) / 4, id = int(invocation_index()), row = id / quads, quad = id % quads;
    if (row >= ROWS) return;
    SUM4 sum = in0_load4q(uint(id));
    for (int part = 1; part < PARTS; ++part) sum += in0_load4q(uint(part * ROWS * quads + id));
#if !MATRIX
    sum += BIAS == 1 ? SUM4(in1_load1(0u)) : in1_load4(uint(quad * 4));
#endif
    FUSED(uint(row * COLUMNS + quad * 4), uint(min(COLUMNS - quad * 4, 4)), sum);
}
