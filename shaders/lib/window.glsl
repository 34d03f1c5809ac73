// A window of SIZE elements in a tensor of FULL, in RANK dimensions (0 is the outermost one), which begins where
// run-time indices say, clamped so that it lies inside. Dimensions that it spans are part of the one before them.
//   STARTS(k)   index of dimension k of the tensor as it was
layout(constant_id = 0) const int FULL0 = 1;
layout(constant_id = 1) const int SIZE0 = 1;
layout(constant_id = 2) const int WHICH0 = 0;
layout(constant_id = 3) const int LIMIT0 = 0;
layout(constant_id = 4) const int FACTOR0 = 1;
layout(constant_id = 5) const int FULL1 = 1;
layout(constant_id = 6) const int SIZE1 = 1;
layout(constant_id = 7) const int WHICH1 = 0;
layout(constant_id = 8) const int LIMIT1 = 0;
layout(constant_id = 9) const int FACTOR1 = 1;
layout(constant_id = 10) const int FULL2 = 1;
layout(constant_id = 11) const int SIZE2 = 1;
layout(constant_id = 12) const int WHICH2 = 0;
layout(constant_id = 13) const int LIMIT2 = 0;
layout(constant_id = 14) const int FACTOR2 = 1;
layout(constant_id = 15) const int FULL3 = 1;
layout(constant_id = 16) const int SIZE3 = 1;
layout(constant_id = 17) const int WHICH3 = 0;
layout(constant_id = 18) const int LIMIT3 = 0;
layout(constant_id = 19) const int FACTOR3 = 1;
layout(constant_id = 20) const int FULL4 = 1;
layout(constant_id = 21) const int SIZE4 = 1;
layout(constant_id = 22) const int WHICH4 = 0;
layout(constant_id = 23) const int LIMIT4 = 0;
layout(constant_id = 24) const int FACTOR4 = 1;
layout(constant_id = 25) const int FULL5 = 1;
layout(constant_id = 26) const int SIZE5 = 1;
layout(constant_id = 27) const int WHICH5 = 0;
layout(constant_id = 28) const int LIMIT5 = 0;
layout(constant_id = 29) const int FACTOR5 = 1;
#define DIMENSION(k) uint begin##k;
#define FIND_BEGIN(k) begin##k = uint(clamp(STARTS(uint(WHICH##k)), 0, LIMIT##k) * FACTOR##k);

#if RANK == 1
#define FROM_LAST(MACRO) MACRO(0)
#elif RANK == 2
#define FROM_LAST(MACRO) MACRO(1) MACRO(0)
#elif RANK == 3
#define FROM_LAST(MACRO) MACRO(2) MACRO(1) MACRO(0)
#elif RANK == 4
#define FROM_LAST(MACRO) MACRO(3) MACRO(2) MACRO(1) MACRO(0)
#elif RANK == 5
#define FROM_LAST(MACRO) MACRO(4) MACRO(3) MACRO(2) MACRO(1) MACRO(0)
#else
#define FROM_LAST(MACRO) MACRO(5) MACRO(4) MACRO(3) MACRO(2) MACRO(1) MACRO(0)
#endif

FROM_LAST(DIMENSION)

// Before one of the following.
void find_window() { FROM_LAST(FIND_BEGIN) }

// Where element i of the window lies in the tensor.
uint in_tensor(uint i) {
    uint at = 0u, scale = 1u;
#define OUTWARDS(k)                                                                     \
    at += (begin##k + i % uint(SIZE##k)) * scale;                                       \
    scale *= uint(FULL##k);                                                             \
    i /= uint(SIZE##k);
    FROM_LAST(OUTWARDS)
    return at;
}

// Where element i of the tensor lies in the window; 0 where it does not.
uint in_window(uint i, out bool inside) {
    uint at = 0u, scale = 1u;
    inside = true;
#define INWARDS(k)                                                                      \
    {                                                                                   \
        uint x = i % uint(FULL##k) - begin##k;                                          \
        inside = inside && x < uint(SIZE##k);                                           \
        at += x * scale;                                                                \
        scale *= uint(SIZE##k);                                                         \
        i /= uint(FULL##k);                                                             \
    }
    FROM_LAST(INWARDS)
    return inside ? at : 0u;
}
