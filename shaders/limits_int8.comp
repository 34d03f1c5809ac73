#version 450
// How many multiply-adds of 8-bit numbers the device makes, in the way of the matrix product (gemm.comp): words of
// four are unpacked, ROWS words against four, and every unpacked number is used as often as such a tile allows.
// AS_FLOAT: in floats, exactly, as the depthwise kernels do it. DOT4: nothing is unpacked, four products are one
// instruction, where it is 2 of signed by unsigned numbers. In registers, PASSES long. Complete as it stands.
#if DOT4
#extension GL_EXT_spirv_intrinsics : require
#if DOT4 == 2
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4452)
#else
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450)
#endif
int dot_4x8(int a, int b, spirv_literal int packed_format);
#endif
layout(local_size_x_id = 1000) in;
layout(constant_id = 0) const int PASSES = 1;   // of 128 products of every sum
layout(constant_id = 1) const uint QUADS = 1;  // of the result that are written

#if AS_FLOAT
#define X4 vec4
#else
#define X4 ivec4
#endif
layout(set = 0, binding = 0) readonly buffer Words { int words[]; };
layout(set = 0, binding = 1) writeonly buffer Sums { ivec4 sums[]; };

#define UNPACK(w) X4(ivec4((w) << 24, (w) << 16, (w) << 8, w) >> 24)
#define ROWS4(MACRO, r) MACRO(r) MACRO(r + 1) MACRO(r + 2) MACRO(r + 3)
#if ROWS == 16
#define EACH_ROW(MACRO) ROWS4(MACRO, 0) ROWS4(MACRO, 4) ROWS4(MACRO, 8) ROWS4(MACRO, 12)
#elif ROWS == 8
#define EACH_ROW(MACRO) ROWS4(MACRO, 0) ROWS4(MACRO, 4)
#else
#define EACH_ROW(MACRO) ROWS4(MACRO, 0)
#endif

void main() {
    uint i = gl_GlobalInvocationID.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x + gl_GlobalInvocationID.x;
    // The words change all the time, so that none is unpacked ahead of its use.
    int change = words[i & 63u], w0 = words[(i + 1u) & 63u], w1 = words[(i + 2u) & 63u], w2 = words[(i + 3u) & 63u],
        w3 = words[(i + 4u) & 63u];
    int row[ROWS];
    X4 acc[ROWS];
    ivec4 sum = ivec4(0);
#define BEGIN(r) row[r] = words[(i + uint(r)) & 63u];
    EACH_ROW(BEGIN)
    for (int pass = 0; pass < PASSES; ++pass) {
#define CLEAR(r) acc[r] = X4(0);
        EACH_ROW(CLEAR)
        for (int step = 0; step < 32; ++step) {
#if DOT4
            int c0 = w0, c1 = w1, c2 = w2, c3 = w3;
#else
            X4 c0 = UNPACK(w0), c1 = UNPACK(w1), c2 = UNPACK(w2), c3 = UNPACK(w3);
#endif
            w0 += change;
            w1 += change;
            w2 += change;
            w3 += change;
#if DOT4
#define STEP(r)                                                                                                    \
    {                                                                                                              \
        acc[r] +=                                                                                                  \
            ivec4(dot_4x8(row[r], c0, 0), dot_4x8(row[r], c1, 0), dot_4x8(row[r], c2, 0), dot_4x8(row[r], c3, 0)); \
        row[r] += change;                                                                                          \
    }
#else
#define STEP(r)                                                             \
    {                                                                       \
        X4 x = UNPACK(row[r]);                                              \
        acc[r] = acc[r] + x.x * c0 + x.y * c1 + x.z * c2 + x.w * c3;        \
        row[r] += change;                                                   \
    }
#endif
            EACH_ROW(STEP)
        }
#define ADD(r) sum += ivec4(acc[r]);
        EACH_ROW(ADD)
    }
    if (i < QUADS) sums[i] = sum;
}
