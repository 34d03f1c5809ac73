// Sorts whole lists of up to SIZE keys in shared memory: a bitonic network over pairs (key, number), whose numbers
// make equal keys unequal. A workgroup sorts SPAN / SIZE lists.
//   in0  as lib/sort_keys.glsl says
//   out0 the pairs (PAIRS) or the numbers of each list in order
#if KEYS == 2
#include "lib/index_tuple.glsl"
#endif
#include "lib/sort_keys.glsl"
layout(constant_id = 10) const int SIZE = 2;  // a power of two that divides SPAN

shared uint keys[SPAN];
shared uint numbers[SPAN];

void main() {
    const uint lanes = gl_WorkGroupSize.x, first_list = workgroup_index() * uint(SPAN / SIZE);
    for (uint t = gl_LocalInvocationID.x; t < uint(SPAN); t += lanes) {
        uint list = first_list + t / uint(SIZE), i = t % uint(SIZE);
        bool is_key = i < uint(LENGTH) && list < uint(LISTS);
        // What fills a list up comes behind the largest key: its number is larger.
        keys[t] = 0xffffffffu;
        numbers[t] = i;
        if (is_key) keys[t] = key_at(list, i);
    }
    barrier();
    for (uint run = 2u; run <= uint(SIZE); run *= 2u) {
        for (uint apart = run / 2u; apart > 0u; apart /= 2u) {
            for (uint t = gl_LocalInvocationID.x; t < uint(SPAN) / 2u; t += lanes) {
                uint low = 2u * t - (t & (apart - 1u)), high = low + apart;
                uint a = keys[low], b = keys[high], m = numbers[low], n = numbers[high];
                bool upwards = (low & uint(SIZE - 1) & run) == 0u, wrong = b < a || (b == a && n < m);
                if (upwards == wrong) {
                    keys[low] = b;
                    keys[high] = a;
                    numbers[low] = n;
                    numbers[high] = m;
                }
            }
            barrier();
        }
    }
    for (uint t = gl_LocalInvocationID.x; t < uint(SPAN); t += lanes) {
        uint list = first_list + t / uint(SIZE), i = t % uint(SIZE), at = list * uint(LENGTH) + i;
        if (i >= uint(LENGTH) || list >= uint(LISTS)) continue;
#if PAIRS
        out0_store1(2u * at, int(keys[t]));
        out0_store1(2u * at + 1u, int(numbers[t]));
#else
        out0_store1(at, int(numbers[t]));
#endif
    }
}
