/* tosa-vk's tools: what checks, measures and describes, and what programs like tosa-vk and tosa-vk-bench are made of.
 * The rules at the head of tosavk.h hold here too. */
#ifndef TOSAVK_TOOLS_H
#define TOSAVK_TOOLS_H

#include "tosavk/tosavk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Threads: tosavk_graph_load_problem, tosavk_problems_describe, tosavk_device_limits, tosavk_device_measure_limits,
 * tosavk_tune, tosavk_reference_run*, tosavk_random_input, tosavk_ops_describe, tosavk_conformance_run,
 * tosavk_checker_create and tosavk_array_* from any thread, at once (what measures then is disturbed);
 * tosavk_array_release when no other call uses the array. tosavk_checker_run*, tosavk_checker_release with one checker
 * one call at a time. */

/* ---- problem lines ------------------------------------------------------------------------------------------ */

/* A graph said in one line, "OPERATOR TYPE SHAPE... [KEY...]", such as "conv2d i8 1x56x56x64 64x3x3 s1 p1 rescale
 * clamp", with random weights that follow from the line alone (the key "seed7" draws others). Of `options` only the
 * level counts. TOSAVK_ERROR_USAGE with a sentence that says what is wrong in the line. */
TOSAVK_API tosavk_status tosavk_graph_load_problem(const char* line, const tosavk_load_options* options,
                                                   tosavk_graph** graph, tosavk_error** error);
/* What a line can say: a JSON array of objects "op" (the first word), "form" (the grammar), "line" (an example of a
 * size worth measuring) and "small" (one that a test can afford). Every operator has one. */
TOSAVK_API tosavk_status tosavk_problems_describe(tosavk_text** json, tosavk_error** error);

/* ---- limits and tuning -------------------------------------------------------------------------------------- */

/* What the device can do at most, as a JSON object, rates in 1e9 per second, a multiply-add counting two:
 * "copy_gbytes_per_s" (through a shader, read and written bytes together), "fp32_gflops", "fp16_gflops" (null where
 * the device has no fp16) and "int32_gops" (multiply-adds in independent chains), "int8_gops" (multiply-adds of
 * 8-bit numbers in words of four, unpacked, or by packed dot products where the plan has them), "matrix_fp16_gflops"
 * and "matrix_int8_gops" (by cooperative matrices; null where the plan has none), "dispatch_us" (each further
 * dispatch), "submit_us" (a run of one dispatch) and "stored" (true: an earlier process has measured them). They come
 * from the disk cache where it has them, else from a measurement, which takes a few seconds; later calls of the process
 * return the same. */
TOSAVK_API tosavk_status tosavk_device_limits(tosavk_device* device, tosavk_text** json, tosavk_error** error);
/* The same, measured anew in any case; later calls of tosavk_device_limits return these. */
TOSAVK_API tosavk_status tosavk_device_measure_limits(tosavk_device* device, tosavk_text** json, tosavk_error** error);

typedef struct tosavk_tune_options {
    size_t struct_size;
    int32_t no_check; /* 1: the choices are kept without a comparison with the reference */
    int32_t reserved;
    double min_time_s;                 /* seconds that each comparison of two kernels takes at least; 0 means 0.1 */
    uint64_t seed;                     /* of the random inputs */
    tosavk_progress_callback progress; /* may be NULL. Where it ends the call, no choice is kept */
    void* user;                        /* passed to it */
} tosavk_tune_options;

/* Measures on this device which of the kernels that could run each node is the fastest, and keeps the choices: later
 * executables of the device use them, and those of later processes where the disk cache is on. They are for nodes of
 * the same operator, types, shapes and attributes, in whatever graph. Results of a graph with other kernels are the
 * same, sums of floats within their bounds. TOSAVK_NO_TUNING=1 leaves all choices unused. `json` becomes an object:
 * "sites", for each kind of kernel node its first "node", the "label" of that one's dispatch, the number of "nodes",
 * its "signature", its "candidates" ("name", "ms" and "ratio" to the library's own choice, or null and why it is
 * "excluded"), the name "chosen" and its "ratio"; "checked", whether the graph with these choices agreed with the
 * reference (else none is kept), or null; "detail"; "stored", whether they are on disk. `options` may be NULL.
 * TOSAVK_ERROR_UNSUPPORTED without timestamps. */
TOSAVK_API tosavk_status tosavk_tune(tosavk_device* device, const tosavk_graph* graph,
                                     const tosavk_tune_options* options, tosavk_text** json, tosavk_error** error);

/* ---- the reference and the check ---------------------------------------------------------------------------- */

/* Runs the graph on the interpreter; variables begin with their initial values. inputs[i] has input i's size;
 * outputs[i] receives output i's. */
TOSAVK_API tosavk_status tosavk_reference_run(const tosavk_graph* graph, const void* const* inputs,
                                              void* const* outputs, tosavk_error** error);

typedef struct tosavk_reference_options {
    size_t struct_size;
    /* The graph runs so many times, one after another, with variables kept from step to step: inputs[i] holds input i's
     * elements of every step, outputs[i] receives those of output i, each step's behind those of the one before.
     * 0 means 1. */
    uint32_t steps;
    uint32_t reserved;
    tosavk_progress_callback progress; /* may be NULL */
    void* user;                        /* passed to it */
} tosavk_reference_options;

/* The same with `options`, which may be NULL. */
TOSAVK_API tosavk_status tosavk_reference_run_with(const tosavk_graph* graph, const tosavk_reference_options* options,
                                                   const void* const* inputs, void* const* outputs,
                                                   tosavk_error** error);

/* Random bytes for an input: the same for the same seed and index everywhere. */
TOSAVK_API tosavk_status tosavk_random_input(const tosavk_graph* graph, uint32_t index, uint64_t seed, void* data,
                                             size_t size_bytes, tosavk_error** error);

typedef struct tosavk_check_report {
    size_t struct_size;
    int32_t passed;
    int32_t reserved;
    uint64_t values_checked; /* tensors compared */
    double worst;            /* largest error as a share of its bound */
    tosavk_text* detail; /* one line: of the worst element, and where it failed the first diverging node, element and
                            bound; the caller releases it */
} tosavk_check_report;

/* The check of one device on one graph. Made once, run with many seeds: each run executes the graph unfused, replays
 * every node in fp64 on the very inputs that the device gave that node, applies that operator's bound (integers:
 * equality), and asks that the fused run gives the same bits as the unfused one (any NaN for a NaN).
 * Regions of COND_IF and WHILE_LOOP are checked likewise, turn by turn; variables begin each run with their initial
 * values. */
typedef struct tosavk_checker tosavk_checker;

typedef struct tosavk_checker_options {
    size_t struct_size;
    tosavk_progress_callback progress; /* of tosavk_checker_create and of every run; may be NULL */
    void* user;                        /* passed to it; both are kept as long as the checker */
} tosavk_checker_options;

/* `options` may be NULL. */
TOSAVK_API tosavk_status tosavk_checker_create(tosavk_device* device, const tosavk_graph* graph,
                                               const tosavk_checker_options* options, tosavk_checker** checker,
                                               tosavk_error** error);
TOSAVK_API tosavk_status tosavk_checker_run(tosavk_checker* checker, uint64_t seed, tosavk_check_report* report,
                                            tosavk_error** error);
/* The same with these inputs, as of tosavk_reference_run. */
TOSAVK_API tosavk_status tosavk_checker_run_with(tosavk_checker* checker, const void* const* inputs,
                                                 tosavk_check_report* report, tosavk_error** error);
TOSAVK_API void tosavk_checker_release(tosavk_checker* checker);

/* Every operator and type row as a JSON array of objects: "op"; "types", by type variable ("i8_t", "fp32_t", ...; of
 * 0.30 also "u8_t" and "u16_t"); "requires", a list of alternatives, each a list of profiles and extensions; "spec",
 * the versions that have the row ("0.30", "1.0"; "tosavk" for operators of our own domain); "reference", "gpu",
 * "fusable". What a row requires is said in the terms of the newest version that has it. */
TOSAVK_API tosavk_status tosavk_ops_describe(tosavk_text** json, tosavk_error** error);

/* ---- conformance -------------------------------------------------------------------------------------------- */

typedef struct tosavk_conformance_options {
    size_t struct_size;
    const char* op;   /* an operator's name; NULL or "": all */
    const char* type; /* the types of one row in the order of tosavk_ops_describe, "i8_t,i8_t,i32_t,i32_t"; NULL: all */
    const char* spec; /* "1.0" or "0.30": rows of this version of the specification; "tosavk": our own; NULL: all */
    uint64_t seed;    /* of the first case; case S of a row is the same graph and data wherever it runs */
    int64_t cases;    /* random graphs per row; 0 means 20, -1 none (data sets and error graphs still run) */
    int32_t large_binding;  /* 1: also graphs with tensors above 128 MiB, which need about 2 GiB of host memory */
    uint32_t jobs;          /* threads, each with the device opened once more; 0 means 1 */
    int32_t all_candidates; /* 1: each case also with every other kernel that a tuner may choose for its nodes */
    int32_t reserved;
} tosavk_conformance_options;

typedef struct tosavk_conformance_summary {
    size_t struct_size;
    uint64_t rows, rows_failed;   /* objects that the callback was given */
    uint64_t cases, cases_failed; /* graphs */
    double worst;                 /* largest error as a share of its bound */
    int32_t stopped;              /* 1: the callback ended the sweep */
    int32_t reserved;
} tosavk_conformance_summary;

/* Called on the calling thread for every finished row, in the order of the registry. `json` is one object and lives
 * until the callback returns; `rows_total` is how many there will be. Return 0 to go on, anything else to stop.
 *
 * Every object has "kind", "op", "spec", "types" (type variable to type), "cases", "failed" (number of cases),
 * "passed", "worst_error" (share of the bound; 0 where results are exact), "bound" (the rule), "seed" and "repro" (a
 * command that repeats the worst or the first failed case) and, at times, "detail" (the worst element, or what failed).
 * Kinds: "values" - one type row on random graphs and, for dot products of floats, the specification's data sets 0 to
 * 5; "error" - graphs that break one condition of the specification, named by "error_if", and must be refused with a
 * sentence; "level" - graphs beyond a limit of level 8K, refused too; "large" - tensors above 128 MiB, which must run
 * right or be refused. Error and level graphs run unless `type` is set. */
typedef int32_t (*tosavk_conformance_callback)(void* user, const char* json, uint64_t rows_total);

/* Compares the device with the reference on the chosen rows. TOSAVK_ERROR_USAGE when nothing matches the choice.
 * Differences are no error of the call: see the summary. `options`, `callback` and `summary` may be NULL. */
TOSAVK_API tosavk_status tosavk_conformance_run(tosavk_device* device, const tosavk_conformance_options* options,
                                                tosavk_conformance_callback callback, void* user,
                                                tosavk_conformance_summary* summary, tosavk_error** error);

/* ---- .npy files --------------------------------------------------------------------------------------------- */

typedef struct tosavk_array tosavk_array; /* a tensor in host memory, owned by the library; immutable, thread-safe */

/* Little endian, C order, 1 to 8 dimensions or a scalar. An array has the type that is nearest to its file's: int8,
 * int16, int32, bool, float16 and float32 are i8, i16, i32, bool, fp16 and fp32; int64 is i48; uint8 is i16, uint16
 * i32, uint32 and uint64 i48. Of what numpy's package ml_dtypes writes, '<V2' is bf16, '<f1' fp8e5m2, and '|V1' may be
 * either fp8: it counts as fp8e4m3 until it is converted. TOSAVK_ERROR_BAD_INPUT for anything else, and for an element
 * beyond i48. */
TOSAVK_API tosavk_status tosavk_array_load(const char* path, tosavk_array** array, tosavk_error** error);
/* `info->name` is numpy's name of the file's element type, "uint8" or "float32" ("void8" and "void16" for '|V1' and
 * '<V2'), in static storage; "" for an array that was converted. */
TOSAVK_API tosavk_status tosavk_array_info(const tosavk_array* array, tosavk_tensor_info* info, tosavk_error** error);
TOSAVK_API const void* tosavk_array_data(const tosavk_array* array); /* lives as long as the array */
/* A copy in another type: integers and bool as each other, floats as each other, the bits of '|V1' as either fp8 and of
 * '<V2' as bf16, and nothing else. TOSAVK_ERROR_BAD_INPUT for the first element that the type does not hold exactly,
 * with its index and value, and where the types have nothing in common. */
TOSAVK_API tosavk_status tosavk_array_convert(const tosavk_array* array, int32_t type, tosavk_array** converted,
                                              tosavk_error** error);
TOSAVK_API void tosavk_array_release(tosavk_array* array);
/* Writes to a temporary file beside `path` and renames it, so that no half-written file is left. i4 is written as int8,
 * i48 as int64, bf16 and fp8 as float32. `type` may be a tosavk_host_type too. A dimension may be 0: `data` may then be
 * NULL. */
TOSAVK_API tosavk_status tosavk_array_save(const char* path, int32_t type, uint32_t rank, const int64_t* dims,
                                           const void* data, tosavk_error** error);
/* The same, but bf16 and fp8 keep their bits: '<V2' and '|V1', which numpy reads as void and ml_dtypes gives a type by
 * array.view(). */
TOSAVK_API tosavk_status tosavk_array_save_raw(const char* path, int32_t type, uint32_t rank, const int64_t* dims,
                                               const void* data, tosavk_error** error);

#ifdef __cplusplus
}
#endif
#endif /* TOSAVK_TOOLS_H */
