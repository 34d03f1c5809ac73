// A tuple of DEPTH indices names one of the SLOTS places of a batch, whose first DEPTH dimensions have sizes D0, D1,
// ...
//   INDICES(i)   index i of the tensor of tuples
//   CLAMP        whether an index outside counts as the nearest one inside; else its tuple names no place
layout(constant_id = 0) const int D0 = 1;
layout(constant_id = 1) const int D1 = 1;
layout(constant_id = 2) const int D2 = 1;
layout(constant_id = 3) const int D3 = 1;
layout(constant_id = 4) const int D4 = 1;
layout(constant_id = 5) const int D5 = 1;
layout(constant_id = 6) const int TUPLES = 1;  // of a batch
layout(constant_id = 7) const int SLOTS = 1;   // of a batch

void add_index(uint at, int size, inout uint slot, inout bool inside) {
    int index = INDICES(at), near = clamp(index, 0, size - 1);
    inside = inside && (CLAMP || index == near);
    slot = slot * uint(size) + uint(near);
}

// The place that a tuple names, counted over all batches. Where `inside` becomes false it is a place nevertheless.
uint slot_of(uint tuple, out bool inside) {
    uint at = tuple * uint(DEPTH), slot = 0u;
    inside = true;
    add_index(at, D0, slot, inside);
#if DEPTH > 1
    add_index(at + 1u, D1, slot, inside);
#endif
#if DEPTH > 2
    add_index(at + 2u, D2, slot, inside);
#endif
#if DEPTH > 3
    add_index(at + 3u, D3, slot, inside);
#endif
#if DEPTH > 4
    add_index(at + 4u, D4, slot, inside);
#endif
#if DEPTH > 5
    add_index(at + 5u, D5, slot, inside);
#endif
    return tuple / uint(TUPLES) * uint(SLOTS) + slot;
}
