// The input of CONV2D as Winograd's algorithm multiplies it: B^T d B of every tile. An invocation makes four channels
// of one.
//   in0   input [N,IH,IW,C]
//   out0  [M*M][TILES][C rounded up to 4], zero past the last channel
// 2x2 outputs take additions alone, which fp16 does well enough (half4 is vec4 where the device has none).
#if R == 2
#define TILE4 half4
#else
#define TILE4 vec4
#endif
#include "lib/winograd.glsl"
layout(constant_id = 0) const int TILES = 1;  // late: of all images
layout(constant_id = 1) const int TILES_Y = 1;
layout(constant_id = 2) const int TILES_X = 1;
layout(constant_id = 3) const int IH = 1;
layout(constant_id = 4) const int IW = 1;
layout(constant_id = 5) const int C = 1;
layout(constant_id = 6) const int PAD_TOP = 0;
layout(constant_id = 7) const int PAD_LEFT = 0;

const int QUADS = (C + 3) / 4;

TILE4 element(int image, int y, int x, int c, int n) {
    bool inside = uint(y) < uint(IH) && uint(x) < uint(IW);
    uint at = uint((inside ? (image * IH + y) * IW + x : 0) * C + c);
    TILE4 v;
    if (C % 4 == 0) v = TILE4(in0_load4(at));
    else v = mix(TILE4(0.0), TILE4(in0_loadn(at, uint(n))), lessThan(ivec4(0, 1, 2, 3), ivec4(n)));
    return inside ? v : TILE4(0.0);
}

void main() {
    int id = int(invocation_index()), tile = id / QUADS, c = id % QUADS * 4, n = min(C - c, 4);
    if (tile >= TILES) return;
    int y = tile / TILES_X % TILES_Y * R - PAD_TOP, x = tile % TILES_X * R - PAD_LEFT;
    int image = tile / (TILES_X * TILES_Y);
#define LOAD(i, j) m[(i) * M + j] = element(image, y + (i), x + (j), c, n);
#define LOAD_ROW(i) IN_EACH(LOAD, i)
    EACH_OF_TILE(LOAD_ROW)
#define COLUMN(j) TO_TILE(j, M)
    EACH_OF_TILE(COLUMN)
#define ROW(i) TO_TILE((i) * M, 1)
    EACH_OF_TILE(ROW)
#define STORE(i, j) \
    out0_store4(uint((((i) * M + j) * TILES + tile) * QUADS * 4 + c), m[(i) * M + j] * TILE4(SCALE));
#define STORE_ROW(i) IN_EACH(STORE, i)
    EACH_OF_TILE(STORE_ROW)
}
