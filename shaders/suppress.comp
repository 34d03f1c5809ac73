// SUPPRESS: SPAN candidates of each list, a workgroup a list. They are held against the boxes that earlier dispatches
// took, all at a time, and then against those that are taken of them, one after the other.
//   in0  boxes   in1  order   in2  counts   in3  overlap limit
//   out0 for each list how many boxes are taken, and then these
#define BOX(i) in0_load1(i)
#include "lib/exact.glsl"
#include "lib/boxes.glsl"
layout(constant_id = 0) const int BOXES = 1;
layout(constant_id = 1) const int LISTS = 1;
layout(constant_id = 2) const int MOST = 1;
layout(constant_id = 3) const int START = 0;  // the first candidate

shared vec4 corners[SPAN];
shared int boxes[SPAN];
shared int left[SPAN];  // candidates that nothing suppresses so far

void main() {
    const uint list = workgroup_index(), lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x;
    if (list >= uint(LISTS)) return;
    const uint state = list * uint(MOST + 1);
    int taken = 0;
    if (START > 0) taken = out0_w[state];
    const int candidates = clamp(in2_load1(list), 0, BOXES);
    if (START > 0 && (START >= candidates || taken == MOST)) return;  // all that is left is left out
    const float limit = in3_load1(0u);
    for (uint t = lane; t < uint(SPAN); t += lanes) {
        int i = START + int(t);
        bool is_left = i < candidates && taken < MOST;
        int box = 0;
        if (i < BOXES) box = clamp(in1_load1(list * uint(BOXES) + uint(i)), 0, BOXES - 1);
        vec4 here = box_at(box);
        for (int k = 0; k < taken && is_left; ++k) {
            if (box_overlap(box_at(out0_w[state + 1u + uint(k)]), here) > limit) is_left = false;
        }
        corners[t] = here;
        boxes[t] = box;
        left[t] = int(is_left);
    }
    barrier();
    int now = taken;
    for (uint t = 0u; t < uint(SPAN); ++t) {
        if (left[t] == 0 || now == MOST) continue;
        if (lane == 0u) out0_store1(state + 1u + uint(now), boxes[t]);
        ++now;
        for (uint other = lane; other < uint(SPAN); other += lanes) {
            if (other > t && left[other] != 0 && box_overlap(corners[t], corners[other]) > limit) left[other] = 0;
        }
        barrier();
    }
    if (lane == 0u && (START == 0 || now > taken)) out0_store1(state, now);
}
