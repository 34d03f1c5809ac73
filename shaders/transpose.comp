// TRANSPOSE in blocks: an invocation reads four quads along the axis that is contiguous in the input and writes four
// along the one that is contiguous in the output. Neighbouring invocations make a tile of TILE x TILE blocks.
//   in0  input; the output is [A,B,C,TALL,LONG], whose strides in the input are A_IN.., 1 (TALL) and LONG_IN
// The output's own strides are A_OUT, B_OUT, C_OUT, TALL_OUT and 1.
layout(constant_id = 0) const int A = 1;
layout(constant_id = 1) const int B = 1;
layout(constant_id = 2) const int C = 1;
layout(constant_id = 3) const int TALL = 4;
layout(constant_id = 4) const int LONG = 4;
layout(constant_id = 5) const int A_IN = 1;
layout(constant_id = 6) const int B_IN = 1;
layout(constant_id = 7) const int C_IN = 1;
layout(constant_id = 8) const int LONG_IN = 1;
layout(constant_id = 9) const int A_OUT = 1;
layout(constant_id = 10) const int B_OUT = 1;
layout(constant_id = 11) const int C_OUT = 1;
layout(constant_id = 12) const int TALL_OUT = 1;
layout(constant_id = 13) const int TALL_TILE = 1;  // blocks
layout(constant_id = 14) const int LONG_TILE = 1;

const uint TALL_TILES = uint(((TALL + 3) / 4 + TALL_TILE - 1) / TALL_TILE);
const uint LONG_TILES = uint(((LONG + 3) / 4 + LONG_TILE - 1) / LONG_TILE);

void main() {
    uint id = invocation_index();
    uint tall = id % uint(TALL_TILE), wide = id / uint(TALL_TILE) % uint(LONG_TILE), rest = id / uint(TALL_TILE * LONG_TILE);
    wide = (wide + rest % LONG_TILES * uint(LONG_TILE)) * 4u;
    rest /= LONG_TILES;
    tall = (tall + rest % TALL_TILES * uint(TALL_TILE)) * 4u;
    rest /= TALL_TILES;
    uint c = rest % uint(C), b = rest / uint(C) % uint(B), a = rest / uint(C * B);
    if (a >= uint(A) || tall >= uint(TALL) || wide >= uint(LONG)) return;

    uint from = a * uint(A_IN) + b * uint(B_IN) + c * uint(C_IN) + tall + wide * uint(LONG_IN);
    uint e = a * uint(A_OUT) + b * uint(B_OUT) + c * uint(C_OUT) + tall * uint(TALL_OUT) + wide;
#if WHOLE_QUADS
    const uint m = 4u, n = 4u;
#define COLUMN(k) in0_load4(from + k * uint(LONG_IN))
#else
    uint m = min(4u, uint(TALL) - tall), n = min(4u, uint(LONG) - wide);
#define COLUMN(k) in0_loadn(from + min(k, n - 1u) * uint(LONG_IN), m)
#endif
    X4 p = COLUMN(0u), q = COLUMN(1u), r = COLUMN(2u), s = COLUMN(3u);
    FUSED(e, n, X4(p.x, q.x, r.x, s.x));
    if (m > 1u) FUSED(e + uint(TALL_OUT), n, X4(p.y, q.y, r.y, s.y));
    if (m > 2u) FUSED(e + uint(2 * TALL_OUT), n, X4(p.z, q.z, r.z, s.z));
    if (m > 3u) FUSED(e + uint(3 * TALL_OUT), n, X4(p.w, q.w, r.w, s.w));
}
