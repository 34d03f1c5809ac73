// BITCAST: an invocation makes four elements of SIZE bytes out of the words that hold them.
//   in0  the operand, as words
layout(constant_id = 0) const int COUNT = 1;  // elements of the result

void main() {
    uint e = invocation_index() * 4u;
    if (e >= uint(COUNT)) return;
#if SIZE == 1
    ivec4 v = unpack_i8(in0_load1(e / 4u));
#elif SIZE == 2
    ivec4 v = unpack_i16(ivec2(in0_load1(e / 2u), in0_load1(e / 2u + 1u)));
#else
    ivec4 v = in0_load4(e);
#endif
    FUSED(e, 4u, MEANING(v));
}
