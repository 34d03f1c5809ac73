// TRANSPOSE through shared memory: a workgroup reads a tile of TALL_TILE x LONG_TILE elements along the axis that is
// contiguous in the input and writes it along the one that is contiguous in the output, neighbours side by side both
// times. For axes of no whole quads, of which blocks (transpose.comp) would be read and written element by element.
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
layout(constant_id = 13) const int TALL_TILE = 32;
layout(constant_id = 14) const int LONG_TILE = 32;

const uint PITCH = uint(TALL_TILE | 1);  // odd: a column of the tile lies in as many banks as it has elements
const uint TILE = uint(TALL_TILE * LONG_TILE);
const uint TALL_TILES = uint((TALL + TALL_TILE - 1) / TALL_TILE), LONG_TILES = uint((LONG + LONG_TILE - 1) / LONG_TILE);
shared X1 elements[LONG_TILE * (TALL_TILE | 1)];

void main() {
    uint rest = workgroup_index();
    uint tall = rest % TALL_TILES * uint(TALL_TILE);
    rest /= TALL_TILES;
    uint wide = rest % LONG_TILES * uint(LONG_TILE);
    rest /= LONG_TILES;
    uint c = rest % uint(C), b = rest / uint(C) % uint(B), a = rest / uint(C * B);
    if (a >= uint(A)) return;  // the whole workgroup
    uint from = a * uint(A_IN) + b * uint(B_IN) + c * uint(C_IN) + tall + wide * uint(LONG_IN);
    uint e = a * uint(A_OUT) + b * uint(B_OUT) + c * uint(C_OUT) + tall * uint(TALL_OUT) + wide;
    for (uint k = gl_LocalInvocationID.x; k < TILE; k += gl_WorkGroupSize.x) {
        uint t = k % uint(TALL_TILE), l = k / uint(TALL_TILE);
        if (tall + t >= uint(TALL) || wide + l >= uint(LONG)) continue;
        elements[l * PITCH + t] = in0_load1(from + t + l * uint(LONG_IN));
    }
    barrier();
    for (uint k = gl_LocalInvocationID.x; k < TILE; k += gl_WorkGroupSize.x) {
        uint l = k % uint(LONG_TILE), t = k / uint(LONG_TILE);
        if (tall + t >= uint(TALL) || wide + l >= uint(LONG)) continue;
        FUSED(e + t * uint(TALL_OUT) + l, 1u, X4(elements[l * PITCH + t]));
    }
}
