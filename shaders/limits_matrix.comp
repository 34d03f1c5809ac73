#version 450
#extension GL_EXT_spirv_intrinsics : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_control_flow_attributes : require
#pragma use_vulkan_memory_model
// How many multiply-adds cooperative matrices make: every subgroup has FR x FC sums of CM x CN elements, to which it
// adds products of the same FR + FC matrices all the time, as the matrix product does (gemm_cooperative.comp).
// FLOATS: fp16 into fp32, else i8 into i32. Complete as it stands.
layout(local_size_x_id = 1000) in;
layout(constant_id = 0) const int PASSES = 1;
layout(constant_id = 1) const uint QUADS = 1;  // of the result that are written

#if FLOATS
#define X1 float
#define IN_WORD 2
#define KIND 9
#define COMPONENT 16.0
#define SUM_COMPONENT 32.0
#define SIGNS 0
#else
#define X1 int
#define IN_WORD 4
#define KIND 39
#define COMPONENT 8
#define SUM_COMPONENT 32
#define SIGNS 15
#endif
#define COOPERATIVE_TYPE(OF, M, N, USE) \
    spirv_type(extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022, KIND], id = 4456, OF, 3, M, N, USE)
#define MATRIX_A COOPERATIVE_TYPE(COMPONENT, CM, CK, 0)
#define MATRIX_B COOPERATIVE_TYPE(COMPONENT, CK, CN, 1)
#define MATRIX_C COOPERATIVE_TYPE(SUM_COMPONENT, CM, CN, 2)
#define BY_ROWS 0u
#define NON_PRIVATE 0x20
spirv_instruction(id = 4457)
MATRIX_A load_a(spirv_by_reference uint from, uint layout_of, uint stride, spirv_literal uint access);
spirv_instruction(id = 4457)
MATRIX_B load_b(spirv_by_reference uint from, uint layout_of, uint stride, spirv_literal uint access);
spirv_instruction(id = 4458)
void store_c(spirv_by_reference uint to, MATRIX_C c, uint layout_of, uint stride, spirv_literal uint access);
spirv_instruction(id = 4459) MATRIX_C multiply_add(MATRIX_A a, MATRIX_B b, MATRIX_C c, spirv_literal uint signs);
spirv_instruction(id = 80) MATRIX_C filled(X1 value);

layout(set = 0, binding = 0) readonly buffer Words { int words[]; };
layout(set = 0, binding = 1) writeonly buffer Sums { ivec4 sums[]; };
#define A_WORDS (CM * CK / IN_WORD)
#define B_WORDS (CK * CN / IN_WORD)
shared uint operands[FR * A_WORDS + FC * B_WORDS];
shared uint results[SUBGROUPS * CM * CN];

void exchange() {
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
}

void main() {
    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, local = gl_LocalInvocationID.x;
    for (uint i = local; i < uint(FR * A_WORDS + FC * B_WORDS); i += gl_WorkGroupSize.x) {
        uint word = uint(words[i & 63u]);
        operands[i] = FLOATS != 0 ? 0x2c002c00u + (word & 0xffu) * 0x10001u : word;  // halves near 1/16
    }
    exchange();
    MATRIX_A a[FR];
    MATRIX_B b[FC];
    MATRIX_C c[FR * FC];
    [[unroll]] for (int r = 0; r < FR; ++r) a[r] = load_a(operands[r * A_WORDS], BY_ROWS, CK / IN_WORD, NON_PRIVATE);
    [[unroll]] for (int q = 0; q < FC; ++q)
        b[q] = load_b(operands[FR * A_WORDS + q * B_WORDS], BY_ROWS, CN / IN_WORD, NON_PRIVATE);
    [[unroll]] for (int i = 0; i < FR * FC; ++i) c[i] = filled(X1(0));
    for (int pass = 0; pass < PASSES; ++pass) {
        [[unroll]] for (int q = 0; q < FC; ++q) {
            [[unroll]] for (int r = 0; r < FR; ++r) c[r * FC + q] = multiply_add(a[r], b[q], c[r * FC + q], SIGNS);
        }
    }
    ivec4 sum = ivec4(0);
    [[unroll]] for (int i = 0; i < FR * FC; ++i) {
        store_c(results[gl_SubgroupID * (CM * CN)], c[i], BY_ROWS, CN, NON_PRIVATE);
        exchange();
        sum += ivec4(results[local % (SUBGROUPS * CM * CN)]);
        exchange();
    }
    uint index = group * gl_WorkGroupSize.x + local;
    if (index < QUADS) sums[index] = sum;
}
