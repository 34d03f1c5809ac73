// Winograd's algorithm for windows of 3x3 and R x R outputs at once (Lavin and Gray, Fast Algorithms for Convolutional
// Neural Networks): Y = A^T [(G g G^T) * (B^T d B)] A, elements d of the input in tiles of M x M, M = R + 2, that begin
// R apart. The points are 0, 1, -1 and, for R = 4, 2 and -2.
//   TILE4  four channels of an element
//   m      the tile at hand, row by row; each macro works in place, on rows or columns `by` apart from `at` on
// Arrays are indexed by constants alone, which some drivers need to keep them in registers: macros instead of loops.
// SCALE: what B^T d B is multiplied by, since it grows up to 100 times for R = 4, and the results are divided by.
#if R == 2
#define M 4
#define SCALE 1.0
#define EACH_OF_TILE(MACRO) MACRO(0) MACRO(1) MACRO(2) MACRO(3)
#define EACH_OUTPUT(MACRO) MACRO(0) MACRO(1)
#define IN_EACH(MACRO, i) MACRO(i, 0) MACRO(i, 1) MACRO(i, 2) MACRO(i, 3)
#define TO_TILE(at, by)                                                             \
    {                                                                               \
        TILE4 d0 = m[at], d1 = m[at + by], d2 = m[at + 2 * by], d3 = m[at + 3 * by]; \
        m[at] = d0 - d2;                                                            \
        m[at + by] = d1 + d2;                                                       \
        m[at + 2 * by] = d2 - d1;                                                   \
        m[at + 3 * by] = d1 - d3;                                                   \
    }
#define FROM_TILE(at, by)                                                           \
    {                                                                               \
        TILE4 p = m[at + by] + m[at + 2 * by], q = m[at + by] - m[at + 2 * by];      \
        m[at] += p;                                                                 \
        m[at + by] = q - m[at + 3 * by];                                            \
    }
#else
#define M 6
#define SCALE 0.015625
#define EACH_OF_TILE(MACRO) MACRO(0) MACRO(1) MACRO(2) MACRO(3) MACRO(4) MACRO(5)
#define EACH_OUTPUT(MACRO) MACRO(0) MACRO(1) MACRO(2) MACRO(3)
#define IN_EACH(MACRO, i) MACRO(i, 0) MACRO(i, 1) MACRO(i, 2) MACRO(i, 3) MACRO(i, 4) MACRO(i, 5)
#define TO_TILE(at, by)                                                                                    \
    {                                                                                                      \
        TILE4 d0 = m[at], d1 = m[at + by], d2 = m[at + 2 * by], d3 = m[at + 3 * by], d4 = m[at + 4 * by],   \
             d5 = m[at + 5 * by];                                                                          \
        TILE4 p = d4 - 4.0 * d2, q = d3 - 4.0 * d1, r = d4 - d2, s = 2.0 * (d3 - d1);                       \
        m[at] = 4.0 * d0 - 5.0 * d2 + d4;                                                                  \
        m[at + by] = p + q;                                                                                \
        m[at + 2 * by] = p - q;                                                                            \
        m[at + 3 * by] = r + s;                                                                            \
        m[at + 4 * by] = r - s;                                                                            \
        m[at + 5 * by] = 4.0 * d1 - 5.0 * d3 + d5;                                                         \
    }
#define FROM_TILE(at, by)                                                                                  \
    {                                                                                                      \
        TILE4 p = m[at + by] + m[at + 2 * by], q = m[at + by] - m[at + 2 * by];                             \
        TILE4 r = m[at + 3 * by] + m[at + 4 * by], s = m[at + 3 * by] - m[at + 4 * by];                     \
        m[at] += p + r;                                                                                    \
        m[at + by] = q + 2.0 * s;                                                                          \
        m[at + 2 * by] = p + 4.0 * r;                                                                      \
        m[at + 3 * by] = q + 8.0 * s + m[at + 5 * by];                                                     \
    }
#endif
TILE4 m[M * M];
