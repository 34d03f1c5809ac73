// Weights of convolutions that are computed at run time, as kernels/product/pack_weights.hpp packs constants. An
// invocation makes four numbers, zeros past the last channels.
//   in0   weight [OC,TAPS,IC]
//   out0  [OC/4][TAPS][IC/4][4 ic][4 oc]; UNITS: [OC/4][units][4 oc][TOGETHER blocks of 4 ic], each tap with TAP_BLOCKS
layout(constant_id = 0) const int OC = 1;
layout(constant_id = 1) const int TAPS = 1;
layout(constant_id = 2) const int IC = 1;
layout(constant_id = 3) const int TAP_BLOCKS = 1;
layout(constant_id = 4) const int ALL_BLOCKS = 1;  // of four output channels
layout(constant_id = 5) const int TOGETHER = 1;

#if UNITS
vec4 inputs_of(int oc, int tap, int ic) {
    bool inside = oc < OC && tap < TAPS && ic < IC;
    uint at = uint(inside ? (oc * TAPS + tap) * IC + ic : 0);
    vec4 v;
    if (IC % 4 == 0) v = vec4(in0_load4(at));
    else v = mix(vec4(0.0), vec4(in0_loadn(at, uint(min(IC - ic, 4)))), lessThan(ivec4(0, 1, 2, 3), ivec4(IC - ic)));
    return inside ? v : vec4(0.0);
}
#else
float weight(int oc, int tap, int ic) {
    bool inside = oc < OC && ic < IC;
    float v = float(in0_load1(uint(inside ? (oc * TAPS + tap) * IC + ic : 0)));
    return inside ? v : 0.0;
}
#endif

void main() {
    int id = int(invocation_index()), quad = id / (4 * ALL_BLOCKS), rest = id % (4 * ALL_BLOCKS), oc = quad * 4;
    if (oc >= OC) return;
#if UNITS
    int unit = rest / (4 * TOGETHER), block = unit * TOGETHER + rest % TOGETHER;
    vec4 four = inputs_of(oc + rest / TOGETHER % 4, block / TAP_BLOCKS, block % TAP_BLOCKS * 4);
#else
    int tap = rest / (4 * TAP_BLOCKS), ic = rest % (4 * TAP_BLOCKS);
    vec4 four = vec4(weight(oc, tap, ic), weight(oc + 1, tap, ic), weight(oc + 2, tap, ic), weight(oc + 3, tap, ic));
#endif
    out0_store4(uint(id * 4), four);
}
