// The results of CONV2D out of the products of Winograd's algorithm: A^T m A of every tile, and the bias. An invocation
// makes four channels of a tile's R x R outputs.
//   in0  [M*M][TILES][OC rounded up to 4]
//   in1  bias [BIAS]: 1 element or OC
#define TILE4 vec4
#include "lib/winograd.glsl"
layout(constant_id = 0) const int TILES = 1;  // late: of all images
layout(constant_id = 1) const int TILES_Y = 1;
layout(constant_id = 2) const int TILES_X = 1;
layout(constant_id = 3) const int OH = 1;
layout(constant_id = 4) const int OW = 1;
layout(constant_id = 5) const int OC = 1;
layout(constant_id = 6) const int BIAS = 1;

const int QUADS = (OC + 3) / 4;

void main() {
    int id = int(invocation_index()), tile = id / QUADS, quad = id % QUADS;
    if (tile >= TILES) return;
    int y = tile / TILES_X % TILES_Y * R, x = tile % TILES_X * R, image = tile / (TILES_X * TILES_Y);
#define LOAD(i, j) m[(i) * M + j] = in0_load4q(uint((((i) * M + j) * TILES + tile) * QUADS + quad));
#define LOAD_ROW(i) IN_EACH(LOAD, i)
    EACH_OF_TILE(LOAD_ROW)
#define COLUMN(j) FROM_TILE(j, M)
    EACH_OF_TILE(COLUMN)
#define ROW(i) FROM_TILE((i) * M, 1)
    EACH_OUTPUT(ROW)
    vec4 bias;
    if (BIAS == 1) bias = vec4(in1_load1(0u));
    else bias = in1_load4(uint(quad * 4));
    // What follows is compiled once: the next column, or row, moves into the first place.
    for (int i = 0; i < R; ++i) {
        for (int j = 0; j < R; ++j) {
            uint e = uint(((image * OH + y + i) * OW + x + j) * OC + quad * 4);
            if (y + i < OH && x + j < OW) FUSED(e, uint(min(OC - quad * 4, 4)), m[0] * (1.0 / SCALE) + bias);
#if R == 2
            m[0] = m[1];
#else
            m[0] = m[1], m[1] = m[2], m[2] = m[3];
#endif
        }
#if R == 2
        m[0] = m[M], m[1] = m[M + 1];
#else
#define NEXT(k) m[k] = m[M + k], m[M + k] = m[2 * M + k], m[2 * M + k] = m[3 * M + k];
        EACH_OUTPUT(NEXT)
#endif
    }
}
