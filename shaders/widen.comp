// Numbers that become fp32 by integer work, each once: for kernels that would do that work at every read.
//   in0   fp16, bf16 or fp8; i8 (INTEGERS), which has a zero point
//   out0  fp32, whole quads
layout(constant_id = 0) const int QUADS = 1;  // pushed
#if INTEGERS
layout(constant_id = 1) const int ZERO_POINT = 0;  // pushed
#define LESS_ZERO_POINT(v) ((v) - ZERO_POINT)
#else
#define LESS_ZERO_POINT(v) (v)
#endif

void main() {
    uint quad = invocation_index();
    if (quad < uint(QUADS)) out0_store4(quad * 4u, vec4(LESS_ZERO_POINT(in0_load4(quad * 4u))));
}
