// SCATTER_ND that sets: out0, which holds -1 for each place, becomes the number of the last tuple that names the place.
//   in0  indices [batches, TUPLES, DEPTH]
#include "lib/index_tuple.glsl"
layout(constant_id = 8) const int COUNT = 1;  // tuples of all batches

void main() {
    uint i = invocation_index();
    if (i >= uint(COUNT)) return;
    bool inside;
    uint slot = slot_of(i, inside);
    if (inside) out0_raise(slot, int(i));
}
