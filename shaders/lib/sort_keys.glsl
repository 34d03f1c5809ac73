// What the passes of a sort read: key i of a list, and the number that the key had at the beginning.
//   KEYS 0: in0 pairs (key, number) that an earlier pass left
//   KEYS 1: in0 a tensor [outer, LENGTH, INNER], of which each list goes along LENGTH; FLOATS: the bits of floats
//   KEYS 2: in0 tuples of indices; the key is the place that a tuple names (lib/index_tuple.glsl), or comes behind
//   all places
layout(constant_id = 8) const int LENGTH = 1;  // of a list
layout(constant_id = 9) const int LISTS = 1;

#if KEYS == 0
uint key_at(uint list, uint i) { return uint(in0_load1((list * uint(LENGTH) + i) * 2u)); }
uint number_at(uint list, uint i) { return uint(in0_load1((list * uint(LENGTH) + i) * 2u + 1u)); }
#else
uint number_at(uint list, uint i) { return i; }
#endif

#if KEYS == 1
layout(constant_id = 13) const int INNER = 1;
layout(constant_id = 14) const int LEAST = 0;        // of integers: the least one
layout(constant_id = 15) const int LARGEST = 0;      // key
layout(constant_id = 16) const int MAGNITUDE = 0;    // of floats: all bits but the sign
layout(constant_id = 17) const int INFINITE = 0;     // of floats: larger magnitudes are NaN
layout(constant_id = 18) const int DESCENDING = 0;
layout(constant_id = 19) const int TOTAL_ORDER = 0;  // zeros are told apart by their sign, NaN by all bits

uint key_at(uint list, uint i) {
    int x = in0_load1((list / uint(INNER) * uint(LENGTH) + i) * uint(INNER) + list % uint(INNER));
#if FLOATS
    int magnitude = x & MAGNITUDE;
    bool is_nan = magnitude > INFINITE, alike = magnitude == 0 || is_nan;
    if (is_nan && TOTAL_ORDER == 0) magnitude = INFINITE + 1;
    bool below = (x & ~MAGNITUDE) != 0 && (TOTAL_ORDER != 0 || !alike);
    uint key = below ? uint(MAGNITUDE - magnitude) : uint(MAGNITUDE) + 1u + uint(magnitude);
#else
    uint key = (uint(x) - uint(LEAST)) & uint(LARGEST);
#endif
    return DESCENDING != 0 ? uint(LARGEST) - key : key;
}
#elif KEYS == 2
uint key_at(uint list, uint i) {
    bool inside;
    uint slot = slot_of(i, inside);
    return inside ? slot : uint(LENGTH / TUPLES * SLOTS);
}
#endif
