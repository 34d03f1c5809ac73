// The first pass of a round: how often each digit occurs in each block, and before each invocation of the block.
//   in0  as lib/sort_keys.glsl says
#if KEYS == 2
#include "lib/index_tuple.glsl"
#endif
#include "lib/sort_keys.glsl"
#include "lib/sort_digits.glsl"

void main() {
    // Where x spills into y, some workgroups have no block.
    bool has_block = block_list() < uint(LISTS);
    const uint lanes = gl_WorkGroupSize.x, lane = gl_LocalInvocationID.x;
    for (uint d = 0u; d < DIGITS; ++d) counters[counter_of(d)] = 0u;
    if (has_block) {
        uint list = block_list(), end = end_of_items();
        for (uint i = first_item(); i < end; ++i) ++counters[counter_of(digit_of(key_at(list, i)))];
    }
    barrier();
    if (!has_block) return;
    for (uint d = lane; d < DIGITS; d += lanes) {
        uint sum = 0u;
        for (uint l = 0u; l < lanes; ++l) {
            out0_store1(within_count(d, l), int(sum));
            sum += counters[d * lanes + l];
        }
        out0_store1(block_count(d), int(sum));
    }
}
