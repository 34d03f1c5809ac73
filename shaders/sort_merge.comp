// Sorts lists, one an invocation: runs of four in registers, then runs of twice the length merged from two. For
// devices whose invocations are few and whose memory is near.
//   in0  as lib/sort_keys.glsl says
//   out0 the pairs (PAIRS) or the numbers of each list in order; behind them two areas of pairs to work in
#if KEYS == 2
#include "lib/index_tuple.glsl"
#endif
#include "lib/sort_keys.glsl"
layout(constant_id = 10) const int LEVELS = 0;  // runs of 4 * 2^LEVELS are whole lists

// The word of a pair in the area that step `step` writes; step LEVELS writes the result.
uint word_of(uint list, uint i, uint step) {
    return (uint(LISTS) * (1u + step % 2u) + list) * uint(2 * LENGTH) + 2u * i;
}
void put(uint list, uint i, uint step, uint key, uint number) {
    uint at = word_of(list, i, step);
#if PAIRS
    if (step == uint(LEVELS)) at = 2u * (list * uint(LENGTH) + i);
#else
    if (step == uint(LEVELS)) {
        out0_store1(list * uint(LENGTH) + i, int(number));
        return;
    }
#endif
    out0_store1(at, int(key));
    out0_store1(at + 1u, int(number));
}

void order(inout uint a, inout uint b, inout uint m, inout uint n) {
    bool wrong = b < a || (b == a && n < m);
    uint key = a, number = m;
    a = wrong ? b : a;
    m = wrong ? n : m;
    b = wrong ? key : b;
    n = wrong ? number : n;
}

void sort_four(uint list, uint i) {
    uvec4 k = uvec4(0xffffffffu), n = i + uvec4(0u, 1u, 2u, 3u);
    k.x = key_at(list, i);
    if (n.y < uint(LENGTH)) k.y = key_at(list, n.y);
    if (n.z < uint(LENGTH)) k.z = key_at(list, n.z);
    if (n.w < uint(LENGTH)) k.w = key_at(list, n.w);
    order(k.x, k.y, n.x, n.y);
    order(k.z, k.w, n.z, n.w);
    order(k.x, k.z, n.x, n.z);
    order(k.y, k.w, n.y, n.w);
    order(k.y, k.z, n.y, n.z);
    put(list, i, 0u, k.x, n.x);
    if (i + 1u < uint(LENGTH)) put(list, i + 1u, 0u, k.y, n.y);
    if (i + 2u < uint(LENGTH)) put(list, i + 2u, 0u, k.z, n.z);
    if (i + 3u < uint(LENGTH)) put(list, i + 3u, 0u, k.w, n.w);
}

void main() {
    uint list = invocation_index();
    if (list >= uint(LISTS)) return;
    for (uint i = 0u; i < uint(LENGTH); i += 4u) sort_four(list, i);
    uint run = 4u;
    for (uint step = 1u; step <= uint(LEVELS); ++step) {
        uint a = 0u, b = 0u, end_a = 0u, end_b = 0u, key_a = 0u, key_b = 0u, number_a = 0u, number_b = 0u;
        for (uint t = 0u; t < uint(LENGTH); ++t) {
            if (t == end_b) {
                a = t;
                b = end_a = min(t + run, uint(LENGTH));
                end_b = min(b + run, uint(LENGTH));
                uint at = word_of(list, a, step - 1u), second = word_of(list, min(b, uint(LENGTH) - 1u), step - 1u);
                key_a = uint(out0_w[at]);
                number_a = uint(out0_w[at + 1u]);
                key_b = uint(out0_w[second]);
                number_b = uint(out0_w[second + 1u]);
            }
            // Of equal keys the first run's come first.
            bool takes_b = b < end_b && (a == end_a || key_b < key_a);
            put(list, t, step, takes_b ? key_b : key_a, takes_b ? number_b : number_a);
            a += takes_b ? 0u : 1u;
            b += takes_b ? 1u : 0u;
            uint next = word_of(list, min(takes_b ? b : a, uint(LENGTH) - 1u), step - 1u);
            uint key = uint(out0_w[next]), number = uint(out0_w[next + 1u]);
            key_a = takes_b ? key_a : key;
            number_a = takes_b ? number_a : number;
            key_b = takes_b ? key : key_b;
            number_b = takes_b ? number : number_b;
        }
        run *= 2u;
    }
}
