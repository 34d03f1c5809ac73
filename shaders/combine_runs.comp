// SCATTER_ND and SEGMENT_REDUCE that combine: rows of C elements that name one place, in the order of their numbers.
// Sorted pairs (place, number of row) say which. An invocation makes four elements of a place. PARTIAL: first, of
// every LENGTH pairs that begin at a multiple of LENGTH and name one place, so that no place takes long: the order of
// a sum follows from the indices alone.
//   in0  pairs   in1  rows
//   otherwise    in2  where the run of each place begins, or -1   in3  partial results (HAS_PARTIAL)
//                VALUES(load4) and VALUES(loadn) read what the places hold (HAS_VALUES)
layout(constant_id = 0) const int C = 1;
layout(constant_id = 1) const int COUNT = 1;   // places, or chunks
layout(constant_id = 2) const int PAIRS = 1;
layout(constant_id = 3) const int LENGTH = 1;

const uint QUADS = uint((C + 3) / 4);

X4 row_of(uint pair, uint c, uint n) {
    uint at = uint(in0_load1(2u * pair + 1u)) * uint(C) + c;
    return C % 4 == 0 ? in1_load4(at) : in1_loadn(at, n);
}

void main() {
    uint id = invocation_index(), place = id / QUADS, c = id % QUADS * 4u, n = min(uint(C) - c, 4u);
    if (place >= uint(COUNT)) return;
#if PARTIAL
    uint first = place * uint(LENGTH);
    if (in0_load1(2u * first) != in0_load1(2u * (first + uint(LENGTH)) - 2u)) return;
    precise X4 sum = row_of(first, c, n);
    for (uint k = 1u; k < uint(LENGTH); ++k) {
        X4 x = row_of(first + k, c, n);
        sum = COMBINE(sum, x);
    }
    out0_store4(id * 4u, sum);
#else
#if HAS_VALUES
    precise X4 sum = C % 4 == 0 ? VALUES(load4)(place * uint(C) + c) : VALUES(loadn)(place * uint(C) + c, n);
#else
    precise X4 sum = X4(NEUTRAL);
#endif
    int start = in2_load1(place);
    uint at = start < 0 ? uint(PAIRS) : uint(start);
    while (at < uint(PAIRS) && in0_load1(2u * at) == int(place)) {
#if HAS_PARTIAL
        // The last pair of a chunk tells whether the chunk is this place's.
        uint end = at + uint(LENGTH);
        bool whole =
            at % uint(LENGTH) == 0u && end <= uint(PAIRS) && in0_load1(2u * min(end, uint(PAIRS)) - 2u) == int(place);
        X4 x;
        if (whole) x = in3_load4((at / uint(LENGTH) * QUADS + c / 4u) * 4u);
        else x = row_of(at, c, n);
        at = whole ? end : at + 1u;
#else
        X4 x = row_of(at, c, n);
        ++at;
#endif
        sum = COMBINE(sum, x);
    }
    FUSED(place * uint(C) + c, n, WRAP(sum));
#endif
}
