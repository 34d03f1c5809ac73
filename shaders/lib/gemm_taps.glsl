// Which taps of a row (lib/gemm_operands.glsl) are inside of the input, found once for all of them: a bit for each row
// of the kernel (VOLUME: of all its planes) and for each column. Where a tap lies is then a sum.
#if MATRIX || FLAT
const bool FEW_TAPS = true, IN_ONE_WORD = true;
#else
const bool FEW_TAPS = MOST_TAPS_Y / 32 + MOST_TAPS_X / 32 == 0;  // of each less than bits of a word
const bool IN_ONE_WORD = MOST_TAPS_Y + MOST_TAPS_X <= 32;        // columns behind rows
#endif

struct Taps {
    Row row;
    int from;                       // the element at which the first tap begins, be it inside or not
    uint outside, columns_outside;  // set: all of the kernel's row or column is in the padding
};

// Of a tap: whether it is inside, and where it begins, in quads of elements where rows have whole ones; of one in the
// padding, of the tensor. tap_of() takes with `first` how many elements after that.
struct Tap {
    bool inside;
    uint from;
};

Tap tap_of(int at, int first) {
    uint from = uint((PADDED ? max(at, 0) : at) + first);
    return Tap(!PADDED || at >= 0, HAS_QUADS ? from / 4u : from);
}

#if !MATRIX && !FLAT
// Bits first .. end - 1 of those below `count`.
uint bits_between(int first, int end, int count) {
    first = clamp(first, 0, count);
    return ((1u << max(min(end, count) - first, 0)) - 1u) << first;
}

// Bits k below `count` where 0 <= at + k * step < size.
uint bits_inside(int at, int step, int count, int size) {
    return bits_between((step - 1 - at) / step, (size - 1 - at + step) / step, count);
}
#endif

Taps taps_of(Row row) {
#if MATRIX || FLAT
    return Taps(row, row.image * K, 0u, 0u);
#elif TRANSPOSED
    uint rows = bits_between(row.y - IH + 1, row.y + 1, TAPS_Y),
         columns = bits_between(row.x - IW + 1, row.x + 1, TAPS_X);
    int from = ((row.image + row.y) * IW + row.x) * K;
#else
    uint rows = bits_inside(row.y, DILATION_Y, KH, IH), columns = bits_inside(row.x, DILATION_X, KW, IW);
#if VOLUME
    uint planes = bits_inside(row.z, DILATION_Z, KD, ID), of_one = rows;
    rows = 0u;
    for (int z = 0; z < KD; ++z) rows |= ((planes >> z) & 1u) * of_one << (z * KH);
    int from = (((row.image + row.z) * IH + row.y) * IW + row.x) * K;
#else
    int from = ((row.image + row.y) * IW + row.x) * K;
#endif
#endif
#if !MATRIX && !FLAT
    return Taps(row, from, ~(IN_ONE_WORD ? rows | columns << (MOST_TAPS_Y & 31) : rows), ~columns);
#endif
}

// Elements from the first tap to another one.
int tap_offset(int ky, int kx) {
#if MATRIX || FLAT
    return 0;
#elif TRANSPOSED
    return -(ky * IW + kx) * K;
#elif VOLUME
    uint z = uint(ky) / uint(KH), y = uint(ky) - z * uint(KH);
    return ((int(z) * DILATION_Z * IH + int(y) * DILATION_Y) * IW + kx * DILATION_X) * K;
#else
    return (ky * DILATION_Y * IW + kx * DILATION_X) * K;
#endif
}

bool is_inside(Taps taps, int ky, int kx) {
    if (IN_ONE_WORD) return !PADDED || (taps.outside & (1u << ky | 1u << (MOST_TAPS_Y + kx))) == 0u;
    return !PADDED || ((taps.outside >> ky | taps.columns_outside >> kx) & 1u) == 0u;
}

// The element at which a tap begins; -1 in the padding. `offset` is its tap_offset().
int tap_at(Taps taps, int ky, int kx, int offset) {
    if (!FEW_TAPS) return tap_at(taps.row, ky, kx);
    return is_inside(taps, ky, kx) ? taps.from + offset : -1;
}

Tap tap_of(Taps taps, int ky, int kx, int first) {
    if (!FEW_TAPS) return tap_of(tap_at(taps.row, ky, kx), first);
    bool inside = is_inside(taps, ky, kx);
    int offset = tap_offset(ky, kx);
    uint from = uint((inside ? taps.from : -offset) + (offset + first));  // one sum is that of all rows
    return Tap(inside, HAS_QUADS ? from / 4u : from);
}
