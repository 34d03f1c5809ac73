// TRANSPOSE in blocks: an invocation reads BLOCK (4 or 8) rows of as many elements along the axis that is contiguous
// in the input and writes them along the one that is contiguous in the output. Neighbouring invocations make a tile
// of TALL_TILE x LONG_TILE blocks. BLOCK 8 goes with WHOLE_BLOCKS: both axes are of whole blocks, and other strides
// too.
//   in0  input; the output is [A,B,C,TALL,LONG], whose strides in the input are A_IN.., 1 (TALL) and LONG_IN
// The output's own strides are A_OUT, B_OUT, C_OUT, TALL_OUT and 1.
layout(constant_id = 0) const int A = 1;  // late
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

const uint TALL_TILES = uint(((TALL + BLOCK - 1) / BLOCK + TALL_TILE - 1) / TALL_TILE);
const uint LONG_TILES = uint(((LONG + BLOCK - 1) / BLOCK + LONG_TILE - 1) / LONG_TILE);

void main() {
    uint id = invocation_index();
    uint tall = id % uint(TALL_TILE), wide = id / uint(TALL_TILE) % uint(LONG_TILE),
         rest = id / uint(TALL_TILE * LONG_TILE);
    tall = (tall + rest % TALL_TILES * uint(TALL_TILE)) * uint(BLOCK);
    rest /= TALL_TILES;
    wide = (wide + rest % LONG_TILES * uint(LONG_TILE)) * uint(BLOCK);
    rest /= LONG_TILES;
    uint c = rest % uint(C), b = rest / uint(C) % uint(B), a = rest / uint(C * B);
    if (a >= uint(A) || tall >= uint(TALL) || wide >= uint(LONG)) return;

    uint from = a * uint(A_IN) + b * uint(B_IN) + c * uint(C_IN) + tall + wide * uint(LONG_IN);
    uint e = a * uint(A_OUT) + b * uint(B_OUT) + c * uint(C_OUT) + tall * uint(TALL_OUT) + wide;
#if BLOCK == 8
    X4 low[8], high[8];
#ifdef IN0_EIGHTS
#define COLUMN(k) in0_load8(from + uint(k * LONG_IN), low[k], high[k]);
#else
#define COLUMN(k) low[k] = in0_load4(from + uint(k * LONG_IN)), high[k] = in0_load4(from + uint(k * LONG_IN) + 4u);
#endif
    COLUMN(0) COLUMN(1) COLUMN(2) COLUMN(3) COLUMN(4) COLUMN(5) COLUMN(6) COLUMN(7)
#define ROW(j, v, i) \
    FUSED8(e + uint(j * TALL_OUT), X4(v[0].i, v[1].i, v[2].i, v[3].i), X4(v[4].i, v[5].i, v[6].i, v[7].i));
    ROW(0, low, x) ROW(1, low, y) ROW(2, low, z) ROW(3, low, w)
    ROW(4, high, x) ROW(5, high, y) ROW(6, high, z) ROW(7, high, w)
#else
#if WHOLE_BLOCKS
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
#endif
}
