// DYNAMIC_UPDATE_SLICE: the tensor with the window replaced; an invocation makes four elements.
//   in0  tensor   in1  update   in2  start
#include "lib/window.glsl"
layout(constant_id = 30) const int COUNT = 1;  // elements of the tensor

void replace(uint i, inout X1 value) {
    bool inside;
    uint at = in_window(i, inside);
    if (inside) value = in1_load1(at);
}

void main() {
    uint e = invocation_index() * 4u;
    if (e >= uint(COUNT)) return;
    uint n = min(4u, uint(COUNT) - e);
    find_window();
    X4 value = in0_load4(e);
    bool first_inside, last_inside;
    uint first = in_window(e, first_inside), last = in_window(e + 3u, last_inside);
    if (first_inside && last_inside && last == first + 3u && n == 4u) {
        value = in1_loadn(first, 4u);
    } else {
        replace(e, value.x);
        if (n > 1u) replace(e + 1u, value.y);
        if (n > 2u) replace(e + 2u, value.z);
        if (n > 3u) replace(e + 3u, value.w);
    }
    FUSED(e, n, value);
}
