// DYNAMIC_SLICE: the window itself; an invocation makes four elements. ROWS: four in a row are four in a row of the
// tensor.
//   in0  tensor   in1  start
#include "lib/window.glsl"
layout(constant_id = 30) const int COUNT = 1;  // elements of the window

void main() {
    uint e = invocation_index() * 4u;
    if (e >= uint(COUNT)) return;
    uint n = min(4u, uint(COUNT) - e);
    find_window();
#if ROWS
    X4 value = in0_loadn(in_tensor(e), n);
#else
    uvec4 i = min(uvec4(e, e + 1u, e + 2u, e + 3u), uvec4(uint(COUNT) - 1u));
    X4 value =
        X4(in0_load1(in_tensor(i.x)), in0_load1(in_tensor(i.y)), in0_load1(in_tensor(i.z)), in0_load1(in_tensor(i.w)));
#endif
    FUSED(e, n, value);
}
