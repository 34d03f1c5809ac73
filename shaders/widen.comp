// Numbers that become fp32 by integer work, each once: for kernels that would do that work at every read. Of ELEMENTS,
// two or three, neighbours a quad each, zeros at its end, whatever the type; or of four.
//   in0   fp16, bf16, fp8 or fp32; i8 (INTEGERS), which has a zero point
//   out0  fp32 or in0's type, whole quads
layout(constant_id = 0) const int QUADS = 1;     // pushed
layout(constant_id = 2) const int ELEMENTS = 4;  // pushed
#if INTEGERS
layout(constant_id = 1) const int ZERO_POINT = 0;  // pushed
#define LESS_ZERO_POINT(v) ((v) - ZERO_POINT)
#else
#define LESS_ZERO_POINT(v) (v)
#endif
#if TO_INTEGERS
#define NUMBERS ivec4
#else
#define NUMBERS vec4
#endif

void main() {
    uint quad = invocation_index();
    if (quad >= uint(QUADS)) return;
    NUMBERS v;
    if (ELEMENTS == 4) {
        v = NUMBERS(LESS_ZERO_POINT(in0_load4(quad * 4u)));
    } else {
        uint at = quad * uint(ELEMENTS), last = uint(ELEMENTS) - 1u;
        v = NUMBERS(LESS_ZERO_POINT(in0_load1(at)), LESS_ZERO_POINT(in0_load1(at + 1u)),
                    LESS_ZERO_POINT(in0_load1(at + last)), 0);
        if (last == 1u) v.z = v.w;
    }
    out0_store4(quad * 4u, v);
}
