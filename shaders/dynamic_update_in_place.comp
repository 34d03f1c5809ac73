// DYNAMIC_UPDATE_SLICE where the result lies in the tensor's own memory: the window alone is written; an invocation
// writes four elements. ROWS: four in a row are four in a row of the tensor.
//   in0  update   in1  start
#include "lib/window.glsl"
layout(constant_id = 30) const int COUNT = 1;  // elements of the window

void main() {
    uint e = invocation_index() * 4u;
    if (e >= uint(COUNT)) return;
    uint n = min(4u, uint(COUNT) - e);
    find_window();
#if ROWS
    FUSED(in_tensor(e), n, in0_loadn(e, n));
#else
    for (uint k = 0u; k < n; ++k) FUSED(in_tensor(e + k), 1u, X4(in0_load1(e + k)));
#endif
}
