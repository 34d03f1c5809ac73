// The third pass: each key goes where its digit's keys go, behind those before it.
//   in0  as lib/sort_keys.glsl says   WITHIN(i) counts   OFFSETS(i) their sums
//   out0 pairs (PAIRS) or numbers
#if KEYS == 2
#include "lib/index_tuple.glsl"
#endif
#include "lib/sort_keys.glsl"
#include "lib/sort_digits.glsl"

void main() {
    uint list = block_list();
    if (list >= uint(LISTS)) return;
    for (uint d = 0u; d < DIGITS; ++d)
        counters[counter_of(d)] = uint(OFFSETS(block_count(d))) + uint(WITHIN(within_count(d, gl_LocalInvocationID.x)));
    uint end = end_of_items();
    for (uint i = first_item(); i < end; ++i) {
        uint key = key_at(list, i), counter = counter_of(digit_of(key)), at = list * uint(LENGTH) + counters[counter]++;
#if PAIRS
        out0_store1(2u * at, int(key));
        out0_store1(2u * at + 1u, int(number_at(list, i)));
#else
        out0_store1(at, int(number_at(list, i)));
#endif
    }
}
