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

wide4 wide_sub(wide4 a, wide4 b) { return a - b; }
wide4 wide_scale(wide4 a, ivec4 b) { return a * i64vec4(b); }
wide4 wrap_i48(wide4 a) { return (a << i64vec4(16)) >> i64vec4(16); }

int64_t wide_join(ivec2 w) { return (int64_t(w.y) << int64_t(32)) | int64_t(uint(w.x)); }
wide4 wide_quad(ivec2 x, ivec2 y, ivec2 z, ivec2 w) {
    return i64vec4(wide_join(x), wide_join(y), wide_join(z), wide_join(w));
}
ivec2 wide_get(wide4 a, int k) { return ivec2(int(a[k]), int(a[k] >> int64_t(32))); }

ivec4 wide_high(wide4 a) { return ivec4(a >> i64vec4(32)); }
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

wide4 wide_sub(wide4 a, wide4 b) { return wide4(a.lo - b.lo, a.hi - b.hi - ivec4(lessThan(a.lo, b.lo))); }

// The low 64 bits of a product: a negative factor read as unsigned is 2^32 too large.
wide4 wide_scale(wide4 a, ivec4 b) {
    uvec4 hi, lo;
    umulExtended(a.lo, uvec4(b), hi, lo);
    return wide4(lo, ivec4(hi) + a.hi * b - (ivec4(a.lo) & (b >> 31)));
}

wide4 wrap_i48(wide4 a) { return wide4(a.lo, (a.hi << 16) >> 16); }

wide4 wide_quad(ivec2 x, ivec2 y, ivec2 z, ivec2 w) {
    return wide4(uvec4(ivec4(x.x, y.x, z.x, w.x)), ivec4(x.y, y.y, z.y, w.y));
}
ivec2 wide_get(wide4 a, int k) { return ivec2(int(a.lo[k]), a.hi[k]); }

ivec4 wide_high(wide4 a) { return a.hi; }
// Low 32 bits of floor(a / 2^s), 0 <= s <= 63. The high word moves left in two steps, so that no amount reaches 32.
ivec4 wide_shift_right(wide4 a, ivec4 s) {
    ivec4 n = s & 31;
    uvec4 below = (a.lo >> uvec4(n)) | ((uvec4(a.hi) << 1) << uvec4(31 - n));
    return mix(ivec4(below), a.hi >> n, greaterThan(s, ivec4(31)));
}

#endif

// Elements as they lie in memory, low word first. wide_get(a, k) gives element k, wrap_i48(a) the low 48 bits
// sign-extended, wide_sub(a, b) and wide_scale(a, b) the low 64 bits of a - b and of a product with 32-bit integers.
wide4 wide_splat(ivec2 x) { return wide_quad(x, x, x, x); }
wide4 wide_unpack(ivec4 xy, ivec4 zw) { return wide_quad(xy.xy, xy.zw, zw.xy, zw.zw); }

// Low 32 bits of floor((a + 2^(s-1)) / 2^s), 1 <= s <= 63: the shifted value plus the last bit shifted out, so that
// the sum cannot leave 64 bits.
ivec4 wide_shift_right_round(wide4 a, ivec4 s) { return wide_shift_right(a, s) + (wide_shift_right(a, s - 1) & 1); }

// What a kernel's accumulator becomes at its end: with WIDE an i48, summed in 32 bits for at most 256 products of 16 by
// 8 bits (a 16-bit value times 8 bits less a zero point is below 2^31 / 256), then moved into 64 bits.
#ifndef WIDE
#define WIDE 0
#endif
#define WIDE_PRODUCTS 256
#if WIDE
#define TOTAL4 wide4
#define TOTAL_SPLAT(x) wide_splat(x)
#define TOTAL_ADD(a, b) wrap_i48(wide_add(a, b))
#else
#define TOTAL4 X4
#define TOTAL_SPLAT(x) X4(x)
#define TOTAL_ADD(a, b) ((a) + (b))
#endif
