// The sums of a kernel of matrix products, declared as an array by SUMS(n): CLEAR_SUM(i), then ADD(i, x, w) for every
// element of a row and its quad of columns, and FLUSH_SUM(i) after every FLUSH_BLOCKS blocks and at the end, after
// which SUM(i) is one, a SUM4; SUM_ADD adds two, OF_SUM(x) is what others read of one.
//   HALF: sums of fp16 go into fp32 after so many products that little is lost (docs/conformance.md, "Precision fast").
//   WIDE: sums of 32 bits go into 64 bits before they can overflow. MATMUL's factors have 16 bits each: the row's is
//   split into a signed high and an unsigned low byte.
#if HALF
#define FLUSH_BLOCKS 8
#else
#define FLUSH_BLOCKS (WIDE_PRODUCTS / 4)
#endif
#if HALF
#define SUMS(n)     \
    X4 acc[n];      \
    vec4 total[n];
#define CLEAR_SUM(i)      \
    acc[i] = X4(0);       \
    total[i] = vec4(0);
#define ADD(i, x, w) acc[i] = fma(X4(x), w, acc[i]);
#define FLUSH_SUM(i)              \
    total[i] += vec4(acc[i]);     \
    acc[i] = X4(0);
#define SUM(i) total[i]
#elif WIDE && MATRIX
#define SUMS(n)             \
    ivec4 acc[n], low[n];   \
    wide4 total[n];
#define CLEAR_SUM(i)                \
    acc[i] = low[i] = ivec4(0);     \
    total[i] = wide_from(ivec4(0));
#define ADD(i, x, w)            \
    acc[i] += ((x) >> 8) * (w); \
    low[i] += ((x) & 255) * (w);
#define FLUSH_SUM(i)                                                                                   \
    total[i] = wide_add(total[i], wide_add(wide_mul(acc[i], ivec4(256)), wide_from(low[i])));          \
    acc[i] = low[i] = ivec4(0);
#define SUM(i) total[i]
#elif WIDE
#define SUMS(n)     \
    ivec4 acc[n];   \
    wide4 total[n];
#define CLEAR_SUM(i)      \
    acc[i] = ivec4(0);    \
    total[i] = wide_from(ivec4(0));
#define ADD(i, x, w) acc[i] += (x) * (w);
#define FLUSH_SUM(i)                                 \
    total[i] = wide_add(total[i], wide_from(acc[i])); \
    acc[i] = ivec4(0);
#define SUM(i) total[i]
#else
#define SUMS(n) X4 acc[n];
#define CLEAR_SUM(i) acc[i] = X4(0);
#define ADD(i, x, w) acc[i] += (x) * (w);
#define FLUSH_SUM(i)
#define SUM(i) acc[i]
#endif
// Four products in their order: with TOSAVK_FMA a chain, each link of which is one instruction.
#if HALF || (X_FLOAT && TOSAVK_FMA)
#define ADD_FOUR(i, a, w0, w1, w2, w3)                                                                  \
    acc[i] = fma(X4((a).w), w3, fma(X4((a).z), w2, fma(X4((a).y), w1, fma(X4((a).x), w0, acc[i]))));
#else
#define ADD_FOUR(i, a, w0, w1, w2, w3) \
    ADD(i, (a).x, w0)                  \
    ADD(i, (a).y, w1)                  \
    ADD(i, (a).z, w2)                  \
    ADD(i, (a).w, w3)
#endif
#if WIDE
#define SUM4 TOTAL4
#define SUM_ADD(a, b) TOTAL_ADD(a, b)
#else
#if HALF
#define SUM4 vec4
#else
#define SUM4 X4
#endif
#define SUM_ADD(a, b) ((a) + (b))
#endif
#if INTEGERS
#define OF_SUM(x) ivec4(x)
#else
#define OF_SUM(x) (x)
#endif
