#version 450
// How fast the device copies: each invocation moves EACH quads of words, a stride apart, so that neighbours touch
// neighbouring memory. Complete as it stands: no generated part.
layout(local_size_x_id = 1000) in;
layout(constant_id = 0) const uint STRIDE = 1;  // quads between two of one invocation; invocations that work

#if WIDE
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#define QUAD u64vec4
#else
#define QUAD uvec4
#endif
#if TEXELS
layout(set = 0, binding = 0) uniform usamplerBuffer from;
#if WIDE
u64vec4 FROM(uint i) {
    uvec4 a = texelFetch(from, int(2u * i)), b = texelFetch(from, int(2u * i) + 1);
    return u64vec4(a.xz, b.xz) | u64vec4(a.yw, b.yw) << 32u;
}
#else
#define FROM(i) texelFetch(from, int(i))
#endif
#else
layout(set = 0, binding = 0) readonly buffer From { QUAD from[]; };
#define FROM(i) from[i]
#endif
layout(set = 0, binding = 1) writeonly buffer To { QUAD to[]; };

void main() {
    uint i = gl_GlobalInvocationID.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x + gl_GlobalInvocationID.x;
    if (i >= STRIDE) return;
#if EACH == 1
    to[i] = FROM(i);
#else
    for (uint k = 0; k < EACH; ++k) to[i + k * STRIDE] = FROM(i + k * STRIDE);
#endif
}
