// Numbers that become fp32 by integer work, each once: for kernels that would do that work at every read.
//   in0   fp16, bf16 or fp8
//   out0  fp32, whole quads
layout(constant_id = 0) const int QUADS = 1;  // late

void main() {
    uint quad = invocation_index();
    if (quad < uint(QUADS)) out0_store4(quad * 4u, vec4(in0_load4(quad * 4u)));
}
