// The last pass of SORT: each place of the outputs takes the element whose number the sort has left for it. An
// invocation makes four elements.
//   in0  numbers, by list   in1, in2, ...  keys and values [outer, LENGTH, INNER]
//   TAKE_ALL(TAKE)  TAKE(to, from) for each of them, where there are several
layout(constant_id = 0) const int LENGTH = 1;
layout(constant_id = 1) const int INNER = 1;
layout(constant_id = 2) const int COUNT = 1;  // elements

uint source(uint e) {
    e = min(e, uint(COUNT) - 1u);
    uint inner = e % uint(INNER), outer = e / uint(LENGTH * INNER), place = e / uint(INNER) % uint(LENGTH);
    uint number = uint(in0_load1((outer * uint(INNER) + inner) * uint(LENGTH) + place));
    return (outer * uint(LENGTH) + number) * uint(INNER) + inner;
}

void main() {
    uint e = invocation_index() * 4u;
    if (e >= uint(COUNT)) return;
    uvec4 from = uvec4(source(e), source(e + 1u), source(e + 2u), source(e + 3u));
#ifdef X4
    FUSED(e, 4u, X4(in1_load1(from.x), in1_load1(from.y), in1_load1(from.z), in1_load1(from.w)));
#else
#define TAKE(TO, FROM, X) \
    TO##_store4(e, X(FROM##_load1(from.x), FROM##_load1(from.y), FROM##_load1(from.z), FROM##_load1(from.w)));
    TAKE_ALL
#endif
}
