// AFFINE_ZERO_POINT: where 0 lies when the numbers low .. high become -128 .. 127, as a computer with fp64 gets it: of
// t = part / (range / 255), each division rounded to 53 bits, the part being the smaller one of -low and high, it is
// -128 + t or 127 - t, rounded half away from zero. Needs neither fp64 nor a division of floats.
//
// 255 part / range as a fraction says which integers t lies between, and on which side of their middle, because no
// fraction of 24-bit numbers comes as near to it, without being it, as the roundings reach. In the middle they decide:
// by the remainder of range / 255, and only where t has no finer places than the error (from 63 on).

// Of the greater number m 2^n, m of 24 bits, over 255 with 53 bits: what is cut off, in units of 2^-8 / 255.
uvec4 affine_cut(uvec4 m, out uvec4 shift) {
    shift = mix(uvec4(37), uvec4(36), greaterThanEqual(m / 255u, uvec4(65536)));
    return ((m % 255u) << (shift & 7u)) % 255u;
}

ivec4 affine_zero_point(vec4 low, vec4 high) {
    ivec4 a = floatBitsToInt(low) ^ SIGN_BIT, b = floatBitsToInt(high);
    a = mix(a, ivec4(0), lessThan(a, ivec4(MIN_NORMAL)));
    b = mix(b, ivec4(0), lessThan(b, ivec4(MIN_NORMAL)));
    precise vec4 sum = intBitsToFloat(a) + intBitsToFloat(b);
    ivec4 range = floatBitsToInt(sum);
    // 127/128: near it both ways lead to -1.
    precise vec4 most = intBitsToFloat(b) * 0.9921875;
    bvec4 from_low = lessThan(intBitsToFloat(a), most);
    ivec4 part = mix(b, a, from_low), d = (range >> 23) - (part >> 23);

    uvec4 m = uvec4((range & 0x007fffff) | 0x00800000);
    uvec4 x = 255u * uvec4((part & 0x007fffff) | 0x00800000), y = m << uvec4(clamp(d, ivec4(0), ivec4(8)));
    bvec4 fine = greaterThan(d, ivec4(8));  // t is below 1
    uvec4 k = mix(x / y, uvec4(0), fine), rest = x - k * y, other = mix(y - rest, y, fine);
    ivec4 side = ivec4(greaterThan(rest, other)) - ivec4(lessThan(rest, other));
    side = mix(side, ivec4(-1), greaterThan(d, ivec4(9)));
    side = mix(side, ivec4(-1), lessThan(part, ivec4(MIN_NORMAL)));
    k = mix(k, uvec4(0), lessThan(part, ivec4(MIN_NORMAL)));

    uvec4 shift, cut = affine_cut(m, shift), places = 46u - shift;
    places += uvec4(equal(k, uvec4(63)));
    uvec4 above = (m >> places) - uvec4(equal(m & ((uvec4(1) << places) - 1u), uvec4(0)));
    // Only up to 127 is the quotient rounded down, and t up.
    ivec4 up = ivec4(lessThan(cut, uvec4(128))) & ivec4(notEqual(cut, uvec4(0))) &
               ivec4(greaterThan((2u * k + 1u) * cut, above));
    up &= ivec4(greaterThanEqual(k, uvec4(63))) & ivec4(lessThan(k, uvec4(127)));
    up &= ivec4(not(from_low)) | ivec4(notEqual(k, uvec4(63)));
    ivec4 down = ivec4(greaterThan(cut, uvec4(127))) & ivec4(equal(k, uvec4(127))) & ivec4(not(from_low)) &
                 ivec4(greaterThan(255u * (255u - cut), m >> (46u - shift)));
    side += ivec4(equal(side, ivec4(0))) * (up - down);

    ivec4 i = ivec4(k), more = ivec4(greaterThan(side, ivec4(0)));
    // -1/2 becomes -1 from above, the only half that does.
    ivec4 half_way = ivec4(equal(side, ivec4(0))) & ivec4(equal(i, ivec4(127)));
    ivec4 zero_point = mix(127 - i - (more | half_way), i - 128 + more, from_low);
    zero_point = clamp(zero_point, ivec4(-128), ivec4(127));
    // NaN of either sign, infinities, and nothing at all.
    ivec4 nan = max(floatBitsToInt(low) & ABS_MASK, floatBitsToInt(high) & ABS_MASK);
    zero_point = mix(zero_point, ivec4(0), greaterThan(nan, ivec4(INF_BITS)));
    zero_point = mix(zero_point, ivec4(0), greaterThanEqual(range, ivec4(INF_BITS)));
    return mix(zero_point, ivec4(0), lessThan(range, ivec4(MIN_NORMAL)));
}
