#version 450
// A tensor of others with gaps between its elements: to a dense one (TO_DENSE is 1), or from it. An invocation owns a
// word of the dense side. On the other side any byte may be part of a word that others write too, so bytes are put
// there by two atomic operations; words of their own are stored as they are. Complete as it stands.
layout(local_size_x_id = 1000) in;
layout(constant_id = 0) const uint ELEMENT = 4;  // bytes: 1, 2, 4 or 8

layout(set = 0, binding = 0) readonly buffer Layout {
    uint dense_bytes;
    uint first;       // where the tensor begins in `strided`, bytes
    uint dims[8];     // outermost first, ones before those of the tensor
    uint strides[8];  // bytes
};
#if TO_DENSE
layout(set = 0, binding = 1) readonly buffer Strided { uint strided[]; };
layout(set = 0, binding = 2) writeonly buffer Dense { uint dense[]; };
#else
layout(set = 0, binding = 1) buffer Strided { uint strided[]; };
layout(set = 0, binding = 2) readonly buffer Dense { uint dense[]; };
#endif

uint address_of(uint element) {
    uint address = first;
    for (int d = 7; d >= 0; --d) {
        address += element % dims[d] * strides[d];
        element /= dims[d];
    }
    return address;
}

void main() {
    uint word = gl_GlobalInvocationID.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x + gl_GlobalInvocationID.x;
    if (4 * word >= dense_bytes) return;
    uint address = address_of(4 * word / ELEMENT) + (ELEMENT == 8 ? 4 * (word & 1) : 0);
    if (ELEMENT >= 4 && address % 4 == 0) {
#if TO_DENSE
        dense[word] = strided[address / 4];
#else
        strided[address / 4] = dense[word];
#endif
        return;
    }
    uint bytes = min(4, dense_bytes - 4 * word), value = 0;
#if !TO_DENSE
    value = dense[word];
#endif
    for (uint b = 0; b < bytes; ++b) {
        uint at = ELEMENT >= 4 ? address + b : address_of((4 * word + b) / ELEMENT) + b % min(ELEMENT, 4);
        uint shift = at % 4 * 8;
#if TO_DENSE
        value |= (strided[at / 4] >> shift & 0xffu) << 8 * b;
#else
        atomicAnd(strided[at / 4], ~(0xffu << shift));
        atomicOr(strided[at / 4], (value >> 8 * b & 0xffu) << shift);
#endif
    }
#if TO_DENSE
    dense[word] = value;
#endif
}
