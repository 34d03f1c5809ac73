// REDUCE_* along an axis with INNER elements behind it: an invocation owns four neighbouring columns and goes down the
// axis, or down a part of it.
//   in0  input, element (o, a, i) at o * OUTER_STRIDE + a * AXIS_STRIDE + i
// PARTIAL: AXIS is cut into CHUNKS parts of LENGTH; the results go to a scratch buffer [CHUNKS][OUTER][INNER rounded up
// to 4], without AFTER.
layout(constant_id = 0) const int OUTER = 1;
layout(constant_id = 1) const int AXIS = 1;
layout(constant_id = 2) const int INNER = 1;
layout(constant_id = 3) const int OUTER_STRIDE = 1;
layout(constant_id = 4) const int AXIS_STRIDE = 1;
layout(constant_id = 5) const int LENGTH = 1;
layout(constant_id = 6) const int CHUNKS = 1;

const uint QUADS = uint(OUTER * ((INNER + 3) / 4));

ACC4 row(uint at, uint n) {
    if (OUTER_STRIDE % 4 == 0 && AXIS_STRIDE % 4 == 0) return BEFORE(in0_load4(at));
    return BEFORE(in0_loadn(at, n));
}

void main() {
    uint id = invocation_index(), q = id % QUADS, chunk = id / QUADS;
    if (chunk >= uint(CHUNKS)) return;
    uint outer = q / uint((INNER + 3) / 4), i = q % uint((INNER + 3) / 4) * 4u, n = min(4u, uint(INNER) - i);
    uint begin = chunk * uint(LENGTH), steps = CHUNKS == 1 ? uint(LENGTH) : min(uint(LENGTH), uint(AXIS) - begin);
    uint at = outer * uint(OUTER_STRIDE) + begin * uint(AXIS_STRIDE) + i;

    // Two sums side by side: less waiting for each, and smaller errors.
    precise ACC4 a = row(at, n), b = ACC4(IDENTITY);
    for (uint k = 1u; k + 1u < steps; k += 2u) {
        at += uint(AXIS_STRIDE);
        b = FOLD(b, row(at, n));
        at += uint(AXIS_STRIDE);
        a = FOLD(a, row(at, n));
    }
    if (steps % 2u == 0u) b = FOLD(b, row(at + uint(AXIS_STRIDE), n));
    a = FOLD(a, b);
#if PARTIAL
    out0_store4(id * 4u, a);
#else
    FUSED(outer * uint(INNER) + i, n, AFTER(a));
#endif
}
