// Where the run of each key begins among sorted pairs (key, number), in two passes:
//   PASS 0: out0, a place for each key, becomes -1
//   PASS 1: in0 pairs; the place of a key becomes the position of the first pair that has it
layout(constant_id = 0) const int KEYS = 1;   // keys from this one on have no place
layout(constant_id = 1) const int PAIRS = 1;

void main() {
    uint i = invocation_index();
#if PASS == 0
    if (i < uint(KEYS)) out0_store1(i, -1);
#else
    if (i >= uint(PAIRS)) return;
    int key = in0_load1(2u * i), before = in0_load1(2u * max(i, 1u) - 2u);
    if (uint(key) < uint(KEYS) && (i == 0u || key != before)) out0_store1(uint(key), int(i));
#endif
}
