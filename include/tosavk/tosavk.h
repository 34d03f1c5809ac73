/* tosa-vk: run TOSA graphs on any Vulkan device. The C ABI; C99 and later. Longer than 500 lines: it is the manual too.
 *
 * The way of a model:   load -> compile -> create a context -> set inputs, run, get outputs.
 *
 *   tosavk_device*     one opened Vulkan device. Thread-safe.
 *   tosavk_graph*      a checked graph; immutable, thread-safe.
 *   tosavk_executable* a graph compiled for a device; immutable, thread-safe, keeps its device and graph alive.
 *   tosavk_context*    what one run needs (bindings, memory, recorded commands). One thread at a time; any number of
 *                      contexts of one executable may run at once.
 *
 * Every function that can fail returns a tosavk_status and, when `error` is not NULL, stores an error object there that
 * the caller frees (NULL is stored on success). Outputs are untouched on failure. Handles are released by their
 * _release function, which takes NULL. No C++ exception leaves the library.
 *
 * Structs begin with `struct_size`, which the caller sets to sizeof the struct; fields are only ever appended, and a
 * smaller struct_size from an older program means "defaults for the rest".
 *
 * Tensors are passed densely packed, row-major (NHWC), host byte order. One element takes: bool, i4, i8, fp8: 1 byte
 * (i4 unpacked, sign-extended); i16, fp16, bf16: 2; i32, fp32: 4; i48: 8 (sign-extended).
 */
#ifndef TOSAVK_TOSAVK_H
#define TOSAVK_TOSAVK_H

#include <stddef.h>
#include <stdint.h>

#if defined(TOSAVK_BUILDING)
#define TOSAVK_API __attribute__((visibility("default")))
#else
#define TOSAVK_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TOSAVK_API_VERSION 1u
#define TOSAVK_MAX_RANK 8

typedef enum tosavk_status {
    TOSAVK_OK = 0,
    TOSAVK_ERROR_USAGE = 1,       /* a call or an option is wrong */
    TOSAVK_ERROR_BAD_MODEL = 2,   /* the file or graph breaks its format or the specification */
    TOSAVK_ERROR_UNSUPPORTED = 3, /* legal, but not implemented */
    TOSAVK_ERROR_BAD_INPUT = 4,   /* a tensor has the wrong type, shape or size */
    TOSAVK_ERROR_IO = 5,          /* a file cannot be read or written */
    TOSAVK_ERROR_NO_DEVICE = 6,   /* no Vulkan driver, or no device of that name */
    TOSAVK_ERROR_DEVICE = 7,      /* the driver reported a failure */
    TOSAVK_ERROR_DEVICE_LOST = 8,
    TOSAVK_ERROR_OUT_OF_MEMORY = 9, /* host or device memory */
    TOSAVK_ERROR_INTERNAL = 10      /* a defect of tosa-vk */
} tosavk_status;

typedef enum tosavk_type {
    TOSAVK_BOOL = 0,
    TOSAVK_I4 = 1,
    TOSAVK_I8 = 2,
    TOSAVK_I16 = 3,
    TOSAVK_I32 = 4,
    TOSAVK_I48 = 5,
    TOSAVK_FP8E4M3 = 6,
    TOSAVK_FP8E5M2 = 7,
    TOSAVK_FP16 = 8,
    TOSAVK_BF16 = 9,
    TOSAVK_FP32 = 10
} tosavk_type;

typedef struct tosavk_error tosavk_error;
typedef struct tosavk_device tosavk_device;
typedef struct tosavk_graph tosavk_graph;
typedef struct tosavk_executable tosavk_executable;
typedef struct tosavk_context tosavk_context;
typedef struct tosavk_array tosavk_array; /* a tensor in host memory, owned by the library */
typedef struct tosavk_text tosavk_text;   /* a string owned by the library */

/* ---- library, errors, text ---------------------------------------------------------------------------------- */

TOSAVK_API const char* tosavk_version(void); /* "0.1.0"; static storage */

TOSAVK_API tosavk_status tosavk_error_status(const tosavk_error* error);
TOSAVK_API const char* tosavk_error_message(const tosavk_error* error); /* one sentence; lives as long as the error */
TOSAVK_API const char* tosavk_error_node(const tosavk_error* error);    /* node name, or "" */
TOSAVK_API const char* tosavk_error_operand(const tosavk_error* error); /* operand name, or "" */
TOSAVK_API void tosavk_error_release(tosavk_error* error);

TOSAVK_API const char* tosavk_text_data(const tosavk_text* text); /* NUL-terminated UTF-8 */
TOSAVK_API size_t tosavk_text_size(const tosavk_text* text);      /* bytes without the NUL */
TOSAVK_API void tosavk_text_release(tosavk_text* text);

TOSAVK_API const char* tosavk_type_name(tosavk_type type); /* "i8", "fp32", ...; "?" for an unknown value */
TOSAVK_API size_t tosavk_type_size(tosavk_type type);      /* bytes of one element; 0 for an unknown value */

/* ---- devices ------------------------------------------------------------------------------------------------ */

/* Number of Vulkan devices. TOSAVK_ERROR_NO_DEVICE when there is no loader or driver. */
TOSAVK_API tosavk_status tosavk_device_count(uint32_t* count, tosavk_error** error);

/* JSON object of device `index`: "index", "name", "driver", "type", "caps" (every capability and limit), "architecture"
 * (an object: "name", the kind of device that it is taken for; "quirks", a list of the names of those that its driver
 * has; "facts", what is known of the kind: an object of "value" and "source" for each), "plan" (what the library chose)
 * and "reasons" (a sentence per choice). */
TOSAVK_API tosavk_status tosavk_device_describe(uint32_t index, tosavk_text** json, tosavk_error** error);

/* Opens a device: NULL or "" chooses (discrete before integrated before software); else an index, "cpu" (a software
 * driver), or a part of the device's name, upper or lower case. */
TOSAVK_API tosavk_status tosavk_device_open(const char* name, tosavk_device** device, tosavk_error** error);
TOSAVK_API const char* tosavk_device_name(const tosavk_device* device);   /* lives as long as the device */
TOSAVK_API const char* tosavk_device_driver(const tosavk_device* device); /* driver name and version */
/* What the device can do at most, as a JSON object, rates in 1e9 per second, a multiply-add counting two:
 * "copy_gbytes_per_s" (through a shader, read and written bytes together), "fp32_gflops", "fp16_gflops" (null where
 * fp16 is not computed natively) and "int32_gops" (multiply-adds in independent chains), "int8_gops" (multiply-adds of
 * 8-bit numbers in words of four, unpacked, or by packed dot products where the plan has them), "matrix_fp16_gflops"
 * and "matrix_int8_gops" (by cooperative matrices; null where the plan has none), "dispatch_us" (each further
 * dispatch), "submit_us" (a run of one dispatch) and "stored" (true: an earlier process has measured them). They come
 * from the disk cache where it has them, else from a measurement, which takes a few seconds; later calls of the process
 * return the same. */
TOSAVK_API tosavk_status tosavk_device_limits(tosavk_device* device, tosavk_text** json, tosavk_error** error);
/* The same, measured anew in any case; later calls of tosavk_device_limits return these. */
TOSAVK_API tosavk_status tosavk_device_measure_limits(tosavk_device* device, tosavk_text** json, tosavk_error** error);
TOSAVK_API void tosavk_device_release(tosavk_device* device);

/* ---- graphs ------------------------------------------------------------------------------------------------- */

typedef enum tosavk_rounding { TOSAVK_ROUNDING_DOUBLE = 0, TOSAVK_ROUNDING_SINGLE = 1 } tosavk_rounding;
typedef enum tosavk_level { TOSAVK_LEVEL_8K = 0, TOSAVK_LEVEL_NONE = 1 } tosavk_level;

/* The layout of .tosa files whose version table is empty and whose structure does not tell; other files ignore it. */
typedef enum tosavk_spec {
    TOSAVK_SPEC_RECOGNISE = 0,
    TOSAVK_SPEC_0_30 = 1,
    TOSAVK_SPEC_0_80 = 2,
    TOSAVK_SPEC_1_0 = 3
} tosavk_spec;

/* FP16: operators on fp32 run in fp16 wherever TOSA has such a row (sums of products stay in fp32 where that can be
 * said); inputs, outputs, variables and what control flow and CUSTOM touch keep their types. Results differ from those
 * of the declared types by what fp16 loses, and overflow beyond 65504; tosavk_checker_run then checks against the fp16
 * graph. Only a device with fp16 arithmetic is faster by it (tosavk_device_describe). */
typedef enum tosavk_precision { TOSAVK_PRECISION_DECLARED = 0, TOSAVK_PRECISION_FP16 = 1 } tosavk_precision;

typedef struct tosavk_input_shape {
    uint32_t index; /* graph input */
    uint32_t rank;
    int64_t dims[TOSAVK_MAX_RANK];
} tosavk_input_shape;

typedef struct tosavk_load_options {
    size_t struct_size;
    tosavk_rounding rounding; /* requantization of .tflite files: double = TFLite's reference kernels */
    tosavk_level level;
    const tosavk_input_shape* input_shapes; /* for inputs with dynamic dimensions; without one a dimension is 1 */
    size_t input_shape_count;
    tosavk_spec spec;
    tosavk_precision precision;
} tosavk_load_options;

typedef struct tosavk_tensor_info {
    size_t struct_size;
    const char* name; /* lives as long as the graph */
    tosavk_type type;
    uint32_t rank;
    int64_t dims[TOSAVK_MAX_RANK];
    size_t size_bytes;
    double scale; /* real = scale * (q - zero_point) where the file says so; 0: not quantized or unknown */
    int64_t zero_point;
} tosavk_tensor_info;

/* `options` may be NULL. The file's format is recognised by its content: .tflite; .tosa of TOSA 1.0, 0.80 or 0.30,
 * which is upgraded to 1.0; or a package of tosavk_package_save, to be trusted like a program: it holds shaders. */
TOSAVK_API tosavk_status tosavk_graph_load_file(const char* path, const tosavk_load_options* options,
                                                tosavk_graph** graph, tosavk_error** error);
/* `data` is copied where needed; it may be freed after the call. */
TOSAVK_API tosavk_status tosavk_graph_load_memory(const void* data, size_t size_bytes,
                                                  const tosavk_load_options* options, tosavk_graph** graph,
                                                  tosavk_error** error);
/* What becomes of a TFLite or TOSA file, without stopping at the first operator that is refused: a JSON object "format"
 * ("tflite" or "tosa"), "taken" (true if and only if the file loads with these options), "operators": an array of
 * objects "region" (where it stands: "" for the graph itself, else a name such as "subgraph 1"), "index" (there, in the
 * order of the file), "name" (with domain and operator for TOSA's CUSTOM), "taken" and, where that is false, "sentence"
 * (why), and "needs" where it can be loaded but not run before something else is done (tosavk_register_custom); and
 * "graph": an array of sentences about what else is refused, such as an input. An operator is judged by itself: what a
 * refused one makes counts as there. A file whose structure is wrong (truncated, an operator that names a tensor that
 * is not there, a cycle) or that is a package is an error instead, such as TOSAVK_ERROR_BAD_MODEL. */
TOSAVK_API tosavk_status tosavk_probe_file(const char* path, const tosavk_load_options* options, tosavk_text** json,
                                           tosavk_error** error);
TOSAVK_API tosavk_status tosavk_probe_memory(const void* data, size_t size_bytes, const tosavk_load_options* options,
                                             tosavk_text** json, tosavk_error** error);
/* A graph said in one line, "OPERATOR TYPE SHAPE... [KEY...]", such as "conv2d i8 1x56x56x64 64x3x3 s1 p1 rescale
 * clamp", with random weights that follow from the line alone (the key "seed7" draws others). Of `options` only the
 * level counts. TOSAVK_ERROR_USAGE with a sentence that says what is wrong in the line. */
TOSAVK_API tosavk_status tosavk_graph_load_problem(const char* line, const tosavk_load_options* options,
                                                   tosavk_graph** graph, tosavk_error** error);
/* What a line can say: a JSON array of objects "op" (the first word), "form" (the grammar), "line" (an example of a
 * size worth measuring) and "small" (one that a test can afford). Every operator has one. */
TOSAVK_API tosavk_status tosavk_problems_describe(tosavk_text** json, tosavk_error** error);
TOSAVK_API uint32_t tosavk_graph_input_count(const tosavk_graph* graph);
TOSAVK_API uint32_t tosavk_graph_output_count(const tosavk_graph* graph);
TOSAVK_API uint32_t tosavk_graph_node_count(const tosavk_graph* graph);
TOSAVK_API tosavk_status tosavk_graph_input(const tosavk_graph* graph, uint32_t index, tosavk_tensor_info* info,
                                            tosavk_error** error);
TOSAVK_API tosavk_status tosavk_graph_output(const tosavk_graph* graph, uint32_t index, tosavk_tensor_info* info,
                                             tosavk_error** error);

typedef enum tosavk_graph_text { TOSAVK_GRAPH_LISTING = 0, TOSAVK_GRAPH_DOT = 1 } tosavk_graph_text;
TOSAVK_API tosavk_status tosavk_graph_print(const tosavk_graph* graph, tosavk_graph_text kind, tosavk_text** text,
                                            tosavk_error** error);
/* Writes the graph as a TOSA 1.0 flatbuffer, to a temporary file beside `path` that is then renamed. Quantization
 * scales, which TOSA does not know, are left out. */
TOSAVK_API tosavk_status tosavk_graph_save_file(const tosavk_graph* graph, const char* path, tosavk_error** error);
TOSAVK_API void tosavk_graph_release(tosavk_graph* graph);

/* ---- executables -------------------------------------------------------------------------------------------- */

typedef struct tosavk_compile_options {
    size_t struct_size;
    int32_t no_fuse;  /* 1: one dispatch per operator */
    int32_t keep_all; /* 1: every value stays in memory, nothing is shared; see tosavk_checker_create */
} tosavk_compile_options;

/* `options` may be NULL. Creates every pipeline and uploads the constants. Shaders come from the disk cache where it
 * has them: one file per device and driver in $TOSAVK_CACHE_DIR, else $XDG_CACHE_HOME/tosa-vk, else ~/.cache/tosa-vk,
 * all together at most $TOSAVK_CACHE_LIMIT_MIB (64). It is read when a device is opened, and written when an executable
 * was made and when the device is closed. What it lacks may be in the seed, shaders of common graphs that were compiled
 * with the library (share/tosa-vk/shaders.seed beside it, or the file $TOSAVK_SEED; empty: none). TOSAVK_NO_CACHE=1
 * turns both off; TOSAVK_VERBOSE=cache says on stderr what they do. */
TOSAVK_API tosavk_status tosavk_compile(tosavk_device* device, const tosavk_graph* graph,
                                        const tosavk_compile_options* options, tosavk_executable** executable,
                                        tosavk_error** error);

/* Compiles ahead of time: writes the graph with its plan, its shaders and its packed weights to one file (through a
 * temporary one that is renamed), which tosavk_graph_load_file reads. An executable made from such a graph, on a device
 * of the same abilities and limits, by the same library and with the same options, needs no GLSL compiler; any other is
 * compiled from the graph (tosavk_counters.package tells). A library with another format of packages refuses the file:
 * keep the model. `options` may be NULL. The file has the constants twice, as the graph has them and as the device
 * wants them. TOSAVK_ERROR_UNSUPPORTED for what a .tosa file cannot hold, and above 2 GiB. */
TOSAVK_API tosavk_status tosavk_package_save(tosavk_device* device, const tosavk_graph* graph,
                                             const tosavk_compile_options* options, const char* path,
                                             tosavk_error** error);

typedef struct tosavk_tune_options {
    size_t struct_size;
    int32_t no_check;  /* 1: the choices are kept without a comparison with the reference */
    double min_time_s; /* seconds that each comparison of two kernels takes at least; 0 means 0.1 */
    uint64_t seed;     /* of the random inputs */
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

typedef enum tosavk_executable_text { TOSAVK_EXECUTABLE_PLAN = 0, TOSAVK_EXECUTABLE_GLSL = 1 } tosavk_executable_text;
TOSAVK_API tosavk_status tosavk_executable_print(const tosavk_executable* executable, tosavk_executable_text kind,
                                                 tosavk_text** text, tosavk_error** error);
TOSAVK_API void tosavk_executable_release(tosavk_executable* executable);

/* ---- contexts: binding and running -------------------------------------------------------------------------- */

typedef struct tosavk_context_options {
    size_t struct_size;
    int32_t profile; /* 1: GPU timestamps around every dispatch */
} tosavk_context_options;

/* Counters since the context (or, for pipelines and weights, the executable) was made. */
typedef struct tosavk_counters {
    size_t struct_size;
    uint64_t runs;
    uint64_t submits; /* vkQueueSubmit calls: one a run, more for long graphs and for each decision of control flow; and
                         those for inputs and outputs too large to be staged in one piece */
    uint64_t dispatches;  /* dispatches of one run */
    uint64_t allocations; /* vkAllocateMemory calls, executable and context */
    uint64_t pipelines_created;
    uint64_t weight_bytes_copied; /* constants written by the host */
    uint64_t arena_bytes;
    uint64_t constant_bytes;
    uint64_t peak_lower_bound_bytes; /* largest sum of live tensors */
    uint64_t shaders_compiled;       /* from GLSL, while the executable was made */
    uint64_t shaders_loaded;         /* from the disk cache, the seed or a package instead */
    uint64_t compiler_started;       /* 1: this process has initialised the GLSL compiler, for whatever executable */
    uint64_t package; /* 0: the graph was loaded from no package; 1: the package's plan and shaders are used;
                         2: they are for another device, library or option, and were made anew */
} tosavk_counters;

/* What the work of a dispatch is made of: which of the device's limits it is to be held against. */
typedef enum tosavk_arithmetic {
    TOSAVK_ARITHMETIC_FP32 = 0, /* also fp16, bf16 and fp8, which are computed in fp32 */
    TOSAVK_ARITHMETIC_FP16 = 1, /* on devices that compute fp16 natively */
    TOSAVK_ARITHMETIC_INT32 = 2,
    TOSAVK_ARITHMETIC_INT8 = 3,        /* convolutions and matrix products of 8-bit numbers (and of 4-bit weights) */
    TOSAVK_ARITHMETIC_MATRIX_FP16 = 4, /* the same by cooperative matrices, of fp16 */
    TOSAVK_ARITHMETIC_MATRIX_INT8 = 5  /* and of 8-bit numbers */
} tosavk_arithmetic;

typedef struct tosavk_dispatch_info {
    size_t struct_size;
    const char* label; /* operators, e.g. "CONV2D+RESCALE+CLAMP"; lives as long as the executable */
    const char* kernel;
    double gpu_ns;      /* of the last run; 0 without profile or where the device has no timestamps */
    double work;        /* arithmetic operations, a multiply-add counts two */
    double bytes;       /* read and written at least, about */
    int32_t is_integer; /* 1: the work is integer arithmetic */
    int32_t arithmetic; /* a tosavk_arithmetic, by the first operator */
} tosavk_dispatch_info;

/* `options` may be NULL. */
TOSAVK_API tosavk_status tosavk_context_create(tosavk_executable* executable, const tosavk_context_options* options,
                                               tosavk_context** context, tosavk_error** error);
/* Copies `size_bytes` (exactly the input's size) into the context. Inputs keep their bytes between runs. */
TOSAVK_API tosavk_status tosavk_context_set_input(tosavk_context* context, uint32_t index, const void* data,
                                                  size_t size_bytes, tosavk_error** error);
/* Runs and waits. TOSAVK_ERROR_USAGE when an input was never set. */
TOSAVK_API tosavk_status tosavk_context_run(tosavk_context* context, tosavk_error** error);
/* The two halves of run: submit returns at once, wait until the results are there. A graph with COND_IF or WHILE_LOOP
 * needs the host for each decision: submit returns after the last one. */
TOSAVK_API tosavk_status tosavk_context_submit(tosavk_context* context, tosavk_error** error);
TOSAVK_API tosavk_status tosavk_context_wait(tosavk_context* context, tosavk_error** error);
/* Waits for `timeout_ns` nanoseconds at most (0: only looks): `*finished` is 1 when the results are there, 0 when the
 * run is still under way, which then is to be waited for again. Any number of contexts may be under way at once, on one
 * device too. */
TOSAVK_API tosavk_status tosavk_context_wait_for(tosavk_context* context, uint64_t timeout_ns, int32_t* finished,
                                                 tosavk_error** error);
/* Copies output `index` of the last finished run. */
TOSAVK_API tosavk_status tosavk_context_get_output(tosavk_context* context, uint32_t index, void* data,
                                                   size_t size_bytes, tosavk_error** error);
TOSAVK_API tosavk_status tosavk_context_counters(const tosavk_context* context, tosavk_counters* counters,
                                                 tosavk_error** error);
TOSAVK_API uint32_t tosavk_context_dispatch_count(const tosavk_context* context);
TOSAVK_API tosavk_status tosavk_context_dispatch(const tosavk_context* context, uint32_t index,
                                                 tosavk_dispatch_info* info, tosavk_error** error);
/* Variables (VARIABLE, VARIABLE_READ, VARIABLE_WRITE) live in the context and keep what a run writes for the next one.
 * This gives all of them their initial values again. TOSAVK_ERROR_USAGE while a run is under way. */
TOSAVK_API tosavk_status tosavk_context_reset_variables(tosavk_context* context, tosavk_error** error);
TOSAVK_API void tosavk_context_release(tosavk_context* context);

/* ---- operators of your own: CUSTOM --------------------------------------------------------------------------- */

/* One node of CUSTOM, as callbacks see it; valid during the call. */
typedef struct tosavk_custom_node {
    size_t struct_size;
    const tosavk_tensor_info* const* inputs; /* name, type, rank, dims, size_bytes */
    uint32_t input_count;
    uint32_t output_count;
    const tosavk_tensor_info* const* outputs;
    const void* attributes; /* implementation_attrs, opaque bytes */
    size_t attributes_size_bytes;
} tosavk_custom_node;

#define TOSAVK_MAX_CUSTOM_CONSTANTS 64

typedef struct tosavk_custom_dispatch {
    size_t struct_size;
    uint32_t groups[3];      /* workgroups in x, y, z; 1 unless set, at most 65535 */
    uint32_t constant_count; /* specialization constants with ids 0.. */
    int32_t constants[TOSAVK_MAX_CUSTOM_CONSTANTS];
} tosavk_custom_dispatch;

/* Callbacks return NULL, or a sentence that says what is wrong (it must live until the next call from the same thread).
 * They may be called from any thread and must not throw. */
typedef const char* (*tosavk_custom_check)(void* user, const tosavk_custom_node* node);
typedef const char* (*tosavk_custom_plan)(void* user, const tosavk_custom_node* node, tosavk_custom_dispatch* dispatch);
typedef const char* (*tosavk_custom_reference)(void* user, const tosavk_custom_node* node, const void* const* inputs,
                                               void* const* outputs);

typedef struct tosavk_custom_operator {
    size_t struct_size;
    const char* domain_name;   /* as in the node's domain_name; NULL is "" */
    const char* operator_name; /* as in the node's operator_name */
    /* A compute shader for Vulkan 1.1 with entry point "main": storage buffers 0.. of set 0 are the inputs, then the
     * outputs, elements as everywhere in this ABI, sizes rounded up to 16 bytes. Copied. NULL: the operator runs on the
     * interpreter only. */
    const uint32_t* spirv;
    size_t spirv_size_bytes;
    tosavk_custom_plan plan;           /* needed with spirv: the kernel's workgroups and constants for one node */
    tosavk_custom_check check;         /* whether it takes these types and shapes; may be NULL */
    tosavk_custom_reference reference; /* needed: outputs from inputs, densely packed host memory */
    void* user;       /* passed to the callbacks; must outlive the registration and what was compiled with it */
    double tolerance; /* of float results against the reference, relative; 0: the same bits */
} tosavk_custom_operator;

/* For all devices and graphs of the process; thread-safe. A graph whose CUSTOM nobody registered can be loaded, printed
 * and saved; compiling or interpreting it is TOSAVK_ERROR_UNSUPPORTED. TOSAVK_ERROR_USAGE when the name is taken or a
 * needed field is missing. */
TOSAVK_API tosavk_status tosavk_custom_register(const tosavk_custom_operator* op, tosavk_error** error);
/* What is compiled keeps working. TOSAVK_ERROR_USAGE when it is not registered. */
TOSAVK_API tosavk_status tosavk_custom_unregister(const char* domain_name, const char* operator_name,
                                                  tosavk_error** error);

/* ---- the reference and the check ---------------------------------------------------------------------------- */

/* Runs the graph on the interpreter; variables begin with their initial values. inputs[i] has input i's size;
 * outputs[i] receives output i's. */
TOSAVK_API tosavk_status tosavk_reference_run(const tosavk_graph* graph, const void* const* inputs,
                                              void* const* outputs, tosavk_error** error);

/* Random bytes for an input: the same for the same seed and index everywhere. */
TOSAVK_API tosavk_status tosavk_random_input(const tosavk_graph* graph, uint32_t index, uint64_t seed, void* data,
                                             size_t size_bytes, tosavk_error** error);

typedef struct tosavk_check_report {
    size_t struct_size;
    int32_t passed;
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
TOSAVK_API tosavk_status tosavk_checker_create(tosavk_device* device, const tosavk_graph* graph,
                                               tosavk_checker** checker, tosavk_error** error);
TOSAVK_API tosavk_status tosavk_checker_run(tosavk_checker* checker, uint64_t seed, tosavk_check_report* report,
                                            tosavk_error** error);
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
    int32_t large_binding; /* 1: also graphs with tensors above 128 MiB, which need about 2 GiB of host memory */
    uint32_t jobs;         /* threads, each with the device opened once more; 0 means 1 */
    int32_t
        all_candidates; /* 1: each case also with every other kernel that takes its nodes, as a tuner may choose them */
} tosavk_conformance_options;

typedef struct tosavk_conformance_summary {
    size_t struct_size;
    uint64_t rows, rows_failed;   /* objects that the callback was given */
    uint64_t cases, cases_failed; /* graphs */
    double worst;                 /* largest error as a share of its bound */
    int32_t stopped;              /* 1: the callback ended the sweep */
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
TOSAVK_API tosavk_status tosavk_array_convert(const tosavk_array* array, tosavk_type type, tosavk_array** converted,
                                              tosavk_error** error);
TOSAVK_API void tosavk_array_release(tosavk_array* array);
/* Writes to a temporary file beside `path` and renames it, so that no half-written file is left. i4 is written as int8,
 * i48 as int64, bf16 and fp8 as float32. */
TOSAVK_API tosavk_status tosavk_array_save(const char* path, tosavk_type type, uint32_t rank, const int64_t* dims,
                                           const void* data, tosavk_error** error);
/* The same, but bf16 and fp8 keep their bits: '<V2' and '|V1', which numpy reads as void and ml_dtypes gives a type by
 * array.view(). */
TOSAVK_API tosavk_status tosavk_array_save_raw(const char* path, tosavk_type type, uint32_t rank, const int64_t* dims,
                                               const void* data, tosavk_error** error);

/* ---- every function in one table, for hosts that load the library at run time --------------------------------- */

typedef struct tosavk_api {
    size_t struct_size;   /* of this library's table: functions past it are missing */
    uint32_t api_version; /* TOSAVK_API_VERSION of this library */
    const char* (*version)(void);
    tosavk_status (*error_status)(const tosavk_error* error);
    const char* (*error_message)(const tosavk_error* error);
    const char* (*error_node)(const tosavk_error* error);
    const char* (*error_operand)(const tosavk_error* error);
    void (*error_release)(tosavk_error* error);
    const char* (*text_data)(const tosavk_text* text);
    size_t (*text_size)(const tosavk_text* text);
    void (*text_release)(tosavk_text* text);
    const char* (*type_name)(tosavk_type type);
    size_t (*type_size)(tosavk_type type);
    tosavk_status (*device_count)(uint32_t* count, tosavk_error** error);
    tosavk_status (*device_describe)(uint32_t index, tosavk_text** json, tosavk_error** error);
    tosavk_status (*device_open)(const char* name, tosavk_device** device, tosavk_error** error);
    const char* (*device_name)(const tosavk_device* device);
    const char* (*device_driver)(const tosavk_device* device);
    void (*device_release)(tosavk_device* device);
    tosavk_status (*graph_load_file)(const char* path, const tosavk_load_options* options, tosavk_graph** graph,
                                     tosavk_error** error);
    tosavk_status (*graph_load_memory)(const void* data, size_t size_bytes, const tosavk_load_options* options,
                                       tosavk_graph** graph, tosavk_error** error);
    uint32_t (*graph_input_count)(const tosavk_graph* graph);
    uint32_t (*graph_output_count)(const tosavk_graph* graph);
    uint32_t (*graph_node_count)(const tosavk_graph* graph);
    tosavk_status (*graph_input)(const tosavk_graph* graph, uint32_t index, tosavk_tensor_info* info,
                                 tosavk_error** error);
    tosavk_status (*graph_output)(const tosavk_graph* graph, uint32_t index, tosavk_tensor_info* info,
                                  tosavk_error** error);
    tosavk_status (*graph_print)(const tosavk_graph* graph, tosavk_graph_text kind, tosavk_text** text,
                                 tosavk_error** error);
    void (*graph_release)(tosavk_graph* graph);
    tosavk_status (*compile)(tosavk_device* device, const tosavk_graph* graph, const tosavk_compile_options* options,
                             tosavk_executable** executable, tosavk_error** error);
    tosavk_status (*executable_print)(const tosavk_executable* executable, tosavk_executable_text kind,
                                      tosavk_text** text, tosavk_error** error);
    void (*executable_release)(tosavk_executable* executable);
    tosavk_status (*context_create)(tosavk_executable* executable, const tosavk_context_options* options,
                                    tosavk_context** context, tosavk_error** error);
    tosavk_status (*context_set_input)(tosavk_context* context, uint32_t index, const void* data, size_t size_bytes,
                                       tosavk_error** error);
    tosavk_status (*context_run)(tosavk_context* context, tosavk_error** error);
    tosavk_status (*context_submit)(tosavk_context* context, tosavk_error** error);
    tosavk_status (*context_wait)(tosavk_context* context, tosavk_error** error);
    tosavk_status (*context_get_output)(tosavk_context* context, uint32_t index, void* data, size_t size_bytes,
                                        tosavk_error** error);
    tosavk_status (*context_counters)(const tosavk_context* context, tosavk_counters* counters, tosavk_error** error);
    uint32_t (*context_dispatch_count)(const tosavk_context* context);
    tosavk_status (*context_dispatch)(const tosavk_context* context, uint32_t index, tosavk_dispatch_info* info,
                                      tosavk_error** error);
    void (*context_release)(tosavk_context* context);
    tosavk_status (*reference_run)(const tosavk_graph* graph, const void* const* inputs, void* const* outputs,
                                   tosavk_error** error);
    tosavk_status (*random_input)(const tosavk_graph* graph, uint32_t index, uint64_t seed, void* data,
                                  size_t size_bytes, tosavk_error** error);
    tosavk_status (*checker_create)(tosavk_device* device, const tosavk_graph* graph, tosavk_checker** checker,
                                    tosavk_error** error);
    tosavk_status (*checker_run)(tosavk_checker* checker, uint64_t seed, tosavk_check_report* report,
                                 tosavk_error** error);
    void (*checker_release)(tosavk_checker* checker);
    tosavk_status (*ops_describe)(tosavk_text** json, tosavk_error** error);
    tosavk_status (*array_load)(const char* path, tosavk_array** array, tosavk_error** error);
    tosavk_status (*array_info)(const tosavk_array* array, tosavk_tensor_info* info, tosavk_error** error);
    const void* (*array_data)(const tosavk_array* array);
    tosavk_status (*array_convert)(const tosavk_array* array, tosavk_type type, tosavk_array** converted,
                                   tosavk_error** error);
    void (*array_release)(tosavk_array* array);
    tosavk_status (*array_save)(const char* path, tosavk_type type, uint32_t rank, const int64_t* dims,
                                const void* data, tosavk_error** error);
    tosavk_status (*graph_save_file)(const tosavk_graph* graph, const char* path, tosavk_error** error);
    tosavk_status (*conformance_run)(tosavk_device* device, const tosavk_conformance_options* options,
                                     tosavk_conformance_callback callback, void* user,
                                     tosavk_conformance_summary* summary, tosavk_error** error);
    tosavk_status (*context_reset_variables)(tosavk_context* context, tosavk_error** error);
    tosavk_status (*custom_register)(const tosavk_custom_operator* op, tosavk_error** error);
    tosavk_status (*custom_unregister)(const char* domain_name, const char* operator_name, tosavk_error** error);
    tosavk_status (*graph_load_problem)(const char* line, const tosavk_load_options* options, tosavk_graph** graph,
                                        tosavk_error** error);
    tosavk_status (*problems_describe)(tosavk_text** json, tosavk_error** error);
    tosavk_status (*device_limits)(tosavk_device* device, tosavk_text** json, tosavk_error** error);
    tosavk_status (*package_save)(tosavk_device* device, const tosavk_graph* graph,
                                  const tosavk_compile_options* options, const char* path, tosavk_error** error);
    tosavk_status (*context_wait_for)(tosavk_context* context, uint64_t timeout_ns, int32_t* finished,
                                      tosavk_error** error);
    tosavk_status (*device_measure_limits)(tosavk_device* device, tosavk_text** json, tosavk_error** error);
    tosavk_status (*tune)(tosavk_device* device, const tosavk_graph* graph, const tosavk_tune_options* options,
                          tosavk_text** json, tosavk_error** error);
    tosavk_status (*array_save_raw)(const char* path, tosavk_type type, uint32_t rank, const int64_t* dims,
                                    const void* data, tosavk_error** error);
    tosavk_status (*probe_file)(const char* path, const tosavk_load_options* options, tosavk_text** json,
                                tosavk_error** error);
    tosavk_status (*probe_memory)(const void* data, size_t size_bytes, const tosavk_load_options* options,
                                  tosavk_text** json, tosavk_error** error);
} tosavk_api;

/* The table for hosts that were written against `version`; static storage. NULL when the library does not offer it. */
TOSAVK_API const tosavk_api* tosavk_get_api(uint32_t version);

#ifdef __cplusplus
}
#endif
#endif /* TOSAVK_TOSAVK_H */
