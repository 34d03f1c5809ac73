// A round of a radix sort looks at one digit of BITS bits. A workgroup has a block of a list, an invocation ITEMS
// neighbours.
layout(constant_id = 10) const int BLOCKS = 1;  // of a list
layout(constant_id = 11) const int ITEMS = 1;
layout(constant_id = 12) const int SHIFT = 0;   // of the digit

const uint DIGITS = 1u << BITS;
shared uint counters[DIGITS * gl_WorkGroupSize.x];  // by digit, then by invocation

uint counter_of(uint digit) { return digit * gl_WorkGroupSize.x + gl_LocalInvocationID.x; }
uint digit_of(uint key) { return (key >> SHIFT) & (DIGITS - 1u); }

uint block_list() { return workgroup_index() / uint(BLOCKS); }
uint first_item() {
    return (workgroup_index() % uint(BLOCKS) * gl_WorkGroupSize.x + gl_LocalInvocationID.x) * uint(ITEMS);
}
uint end_of_items() { return min(first_item() + uint(ITEMS), uint(LENGTH)); }

// Where a block's counts lie: of the whole block by list, digit, block; behind all of these what its earlier
// invocations count, by block, digit, invocation.
uint block_count(uint digit) {
    return (block_list() * DIGITS + digit) * uint(BLOCKS) + workgroup_index() % uint(BLOCKS);
}
uint within_count(uint digit, uint lane) {
    return uint(LISTS * BLOCKS) * DIGITS + (workgroup_index() * DIGITS + digit) * gl_WorkGroupSize.x + lane;
}
