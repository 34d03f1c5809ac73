#version 450
// How many multiply-adds the device makes: CHAINS independent sums of quads per invocation, in registers, PASSES long.
// The factors come from memory, so that no compiler can foresee a result. Complete as it stands.
layout(local_size_x_id = 1000) in;
layout(constant_id = 0) const int PASSES = 1;
layout(constant_id = 1) const uint QUADS = 1;  // of the result that are written

#define FP32 0
#define FP16 1
#define INT32 2
#if TYPE == FP16
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define X4 f16vec4
#define WORDS4 vec4  // in memory: fp16 arithmetic does not mean fp16 storage
#elif TYPE == FP32
#define X4 vec4
#define WORDS4 vec4
#else
#define X4 ivec4
#define WORDS4 ivec4
#endif
layout(set = 0, binding = 0) readonly buffer Factors { WORDS4 factors[]; };
layout(set = 0, binding = 1) writeonly buffer Sums { WORDS4 sums[]; };

void main() {
    uint i = gl_GlobalInvocationID.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x + gl_GlobalInvocationID.x;
    X4 a = X4(factors[i & 15u]), b = X4(factors[(i + 1u) & 15u]);
    X4 x0 = a, x1 = b, x2 = a + b, x3 = a - b;
#if CHAINS > 4
    X4 x4 = a + a, x5 = b + b, x6 = x2 + a, x7 = x3 + b;
#endif
#define STEP4 x0 = x0 * a + b; x1 = x1 * a + b; x2 = x2 * a + b; x3 = x3 * a + b;
#if CHAINS > 4
#define STEP STEP4 x4 = x4 * a + b; x5 = x5 * a + b; x6 = x6 * a + b; x7 = x7 * a + b;
#elif CHAINS == 4
#define STEP STEP4
#else
#define STEP x0 = x0 * a + b; x1 = x1 * a + b;
#endif
    for (int pass = 0; pass < PASSES; ++pass) {
        STEP STEP STEP STEP
    }
    X4 sum = x0 + x1 + x2 + x3;
#if CHAINS > 4
    sum += x4 + x5 + x6 + x7;
#endif
    if (i < QUADS) sums[i] = WORDS4(sum);
}
