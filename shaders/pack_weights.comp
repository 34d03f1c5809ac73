// Weights of convolutions that are computed at run time, as kernels/product/pack_weights.hpp packs constants. An
// invocation makes a block of 4 input x 4 output channels, with zeros past the last ones.
//   in0   weight [OC,TAPS,IC]
//   out0  [OC/4][TAPS][IC/4][4 ic][4 oc]; UNITS: [OC/4][units][4 oc][TOGETHER blocks of 4 ic], each tap with TAP_BLOCKS
layout(constant_id = 0) const int OC = 1;
layout(constant_id = 1) const int TAPS = 1;
layout(constant_id = 2) const int IC = 1;
layout(constant_id = 3) const int TAP_BLOCKS = 1;
layout(constant_id = 4) const int ALL_BLOCKS = 1;  // of four output channels
layout(constant_id = 5) const int TOGETHER = 1;

vec4 inputs_of(int oc, int tap, int ic) {
    bool inside = oc < OC && tap < TAPS && ic < IC;
    uint at = uint(inside ? (oc * TAPS + tap) * IC + ic : 0);
    vec4 v;
    if (IC % 4 == 0) v = vec4(in0_load4(at));
    else v = mix(vec4(0.0), vec4(in0_loadn(at, uint(min(IC - ic, 4)))), lessThan(ivec4(0, 1, 2, 3), ivec4(IC - ic)));
    return inside ? v : vec4(0.0);
}

void main() {
    int id = int(invocation_index()), block = id % ALL_BLOCKS, quad = id / ALL_BLOCKS;
    if (quad * 4 >= OC) return;
    int tap = block / TAP_BLOCKS, ic = block % TAP_BLOCKS * 4;
    mat4 rows;
    for (int o = 0; o < 4; ++o) rows[o] = inputs_of(quad * 4 + o, tap, ic);
#if UNITS
    int unit = block / TOGETHER, at = (quad * (ALL_BLOCKS / TOGETHER) + unit) * 4 * TOGETHER + block % TOGETHER;
    for (int o = 0; o < 4; ++o) out0_store4(uint((at + o * TOGETHER) * 4), rows[o]);
#else
    mat4 columns = transpose(rows);
    for (int i = 0; i < 4; ++i) out0_store4(uint(id * 16 + i * 4), columns[i]);
#endif
}
