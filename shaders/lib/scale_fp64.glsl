// SCALE_FP64: round(x * s) as a computer with fp64 gets it, for x of 48 bits (two words, signed) and
// s = (high * 2^32 + low) / 2^shift, high below 2^21: the product rounded to 53 bits, to nearest even, then to an
// integer, half away from zero, at most 2^31 - 1 in magnitude. Needs neither int64 nor floats.
//
// The exact product p has up to 101 bits, here four words. Let it have n; of these, d = n - 53 are dropped, where that
// is positive. The integer is floor(p / 2^shift + 1/2), but for products that the first rounding lifts to a half: those
// not below a half by more than 2^(d-1). Ties of it go up, since a half that can matter (a result below 2^31) is even
// in units of 2^d. So 2^(d-1) is added before the second rounding, and the sum is that of both.

void scale_fp64_add_to(inout uvec4 word, inout uvec4 carry, uvec4 summand) {
    uvec4 sum = word + summand, next = sum + carry;
    carry = uvec4(lessThan(sum, summand)) | uvec4(lessThan(next, carry));
    word = next;
}

// Adds 2^bit to four words, the lowest first; bits below 0 add nothing.
void scale_fp64_add(inout uvec4 p0, inout uvec4 p1, inout uvec4 p2, inout uvec4 p3, ivec4 bit) {
    uvec4 carry = uvec4(0), at = uvec4(bit & 31);
    scale_fp64_add_to(p0, carry, uvec4(equal(bit >> 5, ivec4(0))) << at);
    scale_fp64_add_to(p1, carry, uvec4(equal(bit >> 5, ivec4(1))) << at);
    scale_fp64_add_to(p2, carry, uvec4(equal(bit >> 5, ivec4(2))) << at);
    scale_fp64_add_to(p3, carry, uvec4(equal(bit >> 5, ivec4(3))) << at);
}

uvec4 scale_fp64_word(uvec4 p0, uvec4 p1, uvec4 p2, uvec4 p3, ivec4 k) {
    uvec4 w = mix(uvec4(0), p0, equal(k, ivec4(0)));
    w = mix(w, p1, equal(k, ivec4(1)));
    w = mix(w, p2, equal(k, ivec4(2)));
    return mix(w, p3, equal(k, ivec4(3)));
}

ivec4 scale_fp64(ivec4 x_low, ivec4 x_high, ivec4 high, ivec4 low, ivec4 shift) {
    bvec4 negative = lessThan(x_high, ivec4(0));
    uvec4 x0 = mix(uvec4(x_low), ~uvec4(x_low) + 1u, negative);
    uvec4 x1 = mix(uvec4(x_high), ~uvec4(x_high) + uvec4(equal(x_low, ivec4(0))), negative);
    uvec4 s0 = uvec4(low), s1 = uvec4(high), p0, p1, p2, p3, a, b, c, d, e, f;
    umulExtended(x0, s0, a, p0);
    umulExtended(x0, s1, b, c);
    umulExtended(x1, s0, d, e);
    umulExtended(x1, s1, p3, f);
    // word 1 = a + c + e, word 2 = b + d + f and what is carried
    uvec4 sum = a + c, carry = uvec4(lessThan(sum, a));
    p1 = sum + e;
    carry += uvec4(lessThan(p1, e));
    sum = b + d;  // below 2^22 + 2^16
    p2 = sum + f;
    p3 += uvec4(lessThan(p2, f));
    sum = p2 + carry;
    p3 += uvec4(lessThan(sum, carry));
    p2 = sum;

    ivec4 top = findMSB(p1) + 32;  // all results below 53 bits drop none
    top = mix(top, findMSB(p2) + 64, notEqual(p2, uvec4(0)));
    top = mix(top, findMSB(p3) + 96, notEqual(p3, uvec4(0)));
    scale_fp64_add(p0, p1, p2, p3, top - 53);
    scale_fp64_add(p0, p1, p2, p3, shift - 1);

    ivec4 k = shift >> 5;
    uvec4 n = uvec4(shift & 31), next = scale_fp64_word(p0, p1, p2, p3, k + 1);
    uvec4 size = (scale_fp64_word(p0, p1, p2, p3, k) >> n) | ((next << 1) << (31u - n));
    uvec4 above = scale_fp64_word(p0, p1, p2, p3, k + 2) | scale_fp64_word(p0, p1, p2, p3, k + 3);
    uvec4 over = (next >> n) | above | (size & 0x80000000u);
    ivec4 limited = mix(ivec4(size), ivec4(0x7fffffff), notEqual(over, uvec4(0)));
    return mix(limited, -limited, negative);
}
