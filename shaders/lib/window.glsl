// A window of SIZE elements in a tensor of FULL, in RANK dimensions (0 is the outermost one), which begins where run-time
// indices say, clamped so that it lies inside. Dimensions that it spans are part of the one before them.
//   STARTS(k)   index of dimension k of the tensor as it was
#define DIMENSION(k)                                                                    \
    layout(constant_id = 5 * k) const int FULL##k = 1;                                  \
    layout(constant_id = 5 * k + 1) const int SIZE##k = 1;                              \
    layout(constant_id = 5 * k + 2) const int WHICH##k = 0;                             \
    layout(constant_id = 5 * k + 3) const int LIMIT##k = 0;                             \
    layout(constant_id = 5 * k + 4) const int FACTOR##k = 1;                            \
    uint begin##k;
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
