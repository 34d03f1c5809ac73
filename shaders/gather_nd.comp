// GATHER_ND: each tuple of indices becomes the C elements at the place that it names, or zeros; an invocation makes
// four consecutive elements. Nothing is read outside the tensor: an index that leads there is clamped first.
//   in0  values [batches, SLOTS, C]   in1  indices [batches, TUPLES, DEPTH]
#include "lib/index_tuple.glsl"
layout(constant_id = 8) const int C = 1;
layout(constant_id = 9) const int COUNT = 1;  // late: elements of the output

uint source(uint row, out bool inside) { return slot_of(row, inside) * uint(C); }

void main() {
    uint e = invocation_index() * 4u;
    if (e >= uint(COUNT)) return;
    uint n = min(4u, uint(COUNT) - e), row = e / uint(C), c = e % uint(C);
    bool inside;
    uint at = source(row, inside);
    if (C % 4 == 0) {
        X4 value = in0_load4(at + c);
        FUSED(e, n, inside ? value : X4(0));
        return;
    }
    uvec4 i = uvec4(c, c + 1u, c + 2u, c + 3u);
    uvec4 from;
    bvec4 insides = bvec4(inside);
    const uint last = uint(COUNT / C - 1);
    if (C >= 4) {
        // Four elements lie in two rows at most.
        bvec4 next = greaterThanEqual(i, uvec4(uint(C)));
        uint at_next = source(min(row + 1u, last), inside);
        from = mix(at + i, at_next + i - uint(C), next);
        insides = bvec4(mix(uvec4(insides), uvec4(inside), next));
    } else {
        uvec4 rows = min(row + i / uint(C), uvec4(last));
        from.x = at;
        from.y = source(rows.y, insides.y);
        from.z = source(rows.z, insides.z);
        from.w = source(rows.w, insides.w);
        from += i % uint(C);
    }
    X4 value = X4(in0_load1(from.x), in0_load1(from.y), in0_load1(from.z), in0_load1(from.w));
    FUSED(e, n, mix(X4(0), value, insides));
}
