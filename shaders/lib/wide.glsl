// 64-bit integers, four at a time: int64_t where the device has it (TOSAVK_INT64 is 1), two 32-bit words elsewhere.
// Both forms give the same bits. All values are two's complement and wrap.
#ifndef TOSAVK_INT64
#define TOSAVK_INT64 0
#endif

#if TOSAVK_INT64

#define wide4 i64vec4

wide4 wide_from(ivec4 a) { return i64vec4(a); }
wide4 wide_mul(ivec4 a, ivec4 b) { return i64vec4(a) * i64vec4(b); }
wide4 wide_add(wide4 a, wide4 b) { return a + b; }

// Low 32 bits of floor(a / 2^s), 0 <= s <= 63.
ivec4 wide_shift_right(wide4 a, ivec4 s) { return ivec4(a >> i64vec4(s & 63)); }

#else

struct wide4 {
    uvec4 lo;
    ivec4 hi;
};

wide4 wide_from(ivec4 a) { return wide4(uvec4(a), a >> 31); }

wide4 wide_mul(ivec4 a, ivec4 b) {
    ivec4 hi, lo;
    imulExtended(a, b, hi, lo);
    return wide4(uvec4(lo), hi);
}

wide4 wide_add(wide4 a, wide4 b) {
    uvec4 lo = a.lo + b.lo;
    return wide4(lo, a.hi + b.hi + ivec4(lessThan(lo, a.lo)));
}

// Low 32 bits of floor(a / 2^s), 0 <= s <= 63. The high word moves left in two steps, so that no amount reaches 32.
ivec4 wide_shift_right(wide4 a, ivec4 s) {
    ivec4 n = s & 31;
    uvec4 below = (a.lo >> uvec4(n)) | ((uvec4(a.hi) << 1) << uvec4(31 - n));
    return mix(ivec4(below), a.hi >> n, greaterThan(s, ivec4(31)));
}

#endif

// Low 32 bits of floor((a + 2^(s-1)) / 2^s), 1 <= s <= 63: the shifted value plus the last bit shifted out, so that
// the sum cannot leave 64 bits.
ivec4 wide_shift_right_round(wide4 a, ivec4 s) { return wide_shift_right(a, s) + (wide_shift_right(a, s - 1) & 1); }
