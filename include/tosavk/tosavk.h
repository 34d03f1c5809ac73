/* tosa-vk: run TOSA graphs on any Vulkan device. The C ABI; C99 and later.
 * Longer than 500 lines: most of them are the manual of what is declared.
 *
 *   tosavk.h   devices; graphs from files; compiling and running them (this header, enough for most programs)
 *   model.h    models whose sizes are known late
 *   build.h    graphs from calls, operators of your own
 *   tools.h    the reference and the check against it, conformance, tuning, problem lines, .npy files
 *   api.h      every function of those above in one table, for hosts that load the library at run time
 *   vulkan.h   the host's own Vulkan device and command buffers, with a table of its own
 *
 * The way of a model:   load -> compile -> create a context -> set inputs, run, get outputs.
 *
 *   tosavk_device*     one opened Vulkan device. Thread-safe.
 *   tosavk_graph*      a checked graph; immutable, thread-safe.
 *   tosavk_executable* a graph compiled for a device; immutable, thread-safe, keeps its device and graph alive.
 *   tosavk_context*    what one run needs (bindings, memory, recorded commands). One thread at a time; any number of
 *                      contexts of one executable may run at once.
 *   tosavk_buffer*     memory of a device that contexts read inputs from and write outputs to, in the place of copies
 *                      through the host. Thread-safe.
 *   tosavk_semaphore*  a timeline semaphore: a value that only grows, which runs wait for and signal. Thread-safe.
 *
 * Thread-safe: any function may be called with the object from several threads at once, but its _release only when no
 * other call uses it. One thread at a time: the caller sees to it that no two calls with the object overlap. A comment
 * that begins with "Threads:" says it of each function; "at once" there: several calls, with the same objects too.
 *
 * Every function that can fail returns a tosavk_status and, when `error` is not NULL, stores an error object there that
 * the caller frees (NULL is stored on success). Outputs are untouched on failure, and nothing else has changed, but
 * where memory or the device fails under way: bytes that a call was to write may be undefined then, and a context has
 * no results. Handles are released by their _release function, which takes NULL. No C++ exception leaves the library.
 *
 * Every struct begins with `struct_size`, which the caller sets to sizeof the struct; a smaller one from an older
 * program means "zero for the rest", and zero is every option's default. In an array each element has it, all of them
 * the same: it is the step from one to the next. Fields of enumerations are int32_t, so
 * that an unknown value is an error and nothing worse; fields named `reserved` must be 0. Structs are read during the
 * call and never kept.
 *
 * Version 1 is not frozen yet: until it is, structs and functions may change with the minor version of the library.
 *
 * Tensors are passed densely packed, row-major (NHWC), host byte order. One element takes: bool, i4, i8, fp8: 1 byte
 * (i4 unpacked, sign-extended); i16, fp16, bf16: 2; i32, fp32: 4; i48: 8 (sign-extended). Ranks go from 0 to
 * TOSAVK_MAX_RANK; level 8K allows 6, level none all, but for operators that the specification gives fewer (such as
 * CONV2D, 4). A dimension may be 0 in graphs from calls (build.h) and .tflite files: it has 0 bytes, data may be NULL,
 * an input need not be set, and any buffer may be bound to it, one of 0 bytes too.
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
    TOSAVK_ERROR_INTERNAL = 10,     /* a defect of tosa-vk */
    TOSAVK_ERROR_CANCELLED = 11     /* a callback ended the call */
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

/* Types of a program's elements that no graph has: for tosavk_context_set_input_as and _get_output_as, beside those of
 * tosavk_type. */
typedef enum tosavk_host_type {
    TOSAVK_HOST_U8 = 64,
    TOSAVK_HOST_U16 = 65,
    TOSAVK_HOST_U32 = 66,
    TOSAVK_HOST_U64 = 67,
    TOSAVK_HOST_I64 = 68,
    TOSAVK_HOST_F64 = 69,
    TOSAVK_HOST_U64_WORDS = 70, /* as what a file declares: see tosavk_tensor_info; elements are those of U64 and I64 */
    TOSAVK_HOST_I64_WORDS = 71
} tosavk_host_type;

typedef struct tosavk_error tosavk_error;
typedef struct tosavk_device tosavk_device;
typedef struct tosavk_graph tosavk_graph;
typedef struct tosavk_executable tosavk_executable;
typedef struct tosavk_context tosavk_context;
typedef struct tosavk_buffer tosavk_buffer;
typedef struct tosavk_semaphore tosavk_semaphore;
typedef struct tosavk_custom_set tosavk_custom_set; /* operators behind CUSTOM (build.h). Thread-safe */
typedef struct tosavk_text tosavk_text;             /* a string owned by the library; immutable, thread-safe */
typedef struct tosavk_bytes tosavk_bytes;           /* bytes owned by the library; immutable, thread-safe */

/* ---- library, errors, text ---------------------------------------------------------------------------------- */

/* Threads: tosavk_version, tosavk_type_*, tosavk_set_log, tosavk_error_* (tosavk_error_create too), tosavk_text_* and
 * tosavk_bytes_* from any thread, at once; tosavk_error_release, tosavk_text_release and tosavk_bytes_release when no
 * other call uses the object. */
TOSAVK_API const char* tosavk_version(void); /* "0.1.0"; static storage */

TOSAVK_API tosavk_status tosavk_error_status(const tosavk_error* error);
TOSAVK_API const char* tosavk_error_message(const tosavk_error* error); /* one sentence; lives as long as the error */
TOSAVK_API const char* tosavk_error_node(const tosavk_error* error);    /* node name, or "" */
TOSAVK_API const char* tosavk_error_operand(const tosavk_error* error); /* operand name, or "" */
TOSAVK_API void tosavk_error_release(tosavk_error* error);
/* An error of the caller's own, for callbacks that return one; never NULL. Texts are copied, and NULL is "". A status
 * that is no error becomes TOSAVK_ERROR_USAGE. */
TOSAVK_API tosavk_error* tosavk_error_create(int32_t status, const char* message, const char* node,
                                             const char* operand);

TOSAVK_API const char* tosavk_text_data(const tosavk_text* text); /* NUL-terminated UTF-8 */
TOSAVK_API size_t tosavk_text_size(const tosavk_text* text);      /* bytes without the NUL */
TOSAVK_API void tosavk_text_release(tosavk_text* text);

TOSAVK_API const void* tosavk_bytes_data(const tosavk_bytes* bytes); /* lives as long as the object */
TOSAVK_API size_t tosavk_bytes_size(const tosavk_bytes* bytes);
TOSAVK_API void tosavk_bytes_release(tosavk_bytes* bytes);

/* A caller's streams. They are called on the calling thread, one call after another, and must not throw. */
/* Fills at most `size_bytes` (more than 0) of `data`: how many bytes, 0 at the end, a negative number on failure. */
typedef int64_t (*tosavk_read_callback)(void* user, void* data, size_t size_bytes);
/* Takes all of `data`: 0, or anything else on failure. */
typedef int32_t (*tosavk_write_callback)(void* user, const void* data, size_t size_bytes);

/* Of a tosavk_type or tosavk_host_type: "i8", "u8", ...; else "?". */
TOSAVK_API const char* tosavk_type_name(int32_t type);
TOSAVK_API size_t tosavk_type_size(int32_t type); /* bytes of one element; 0 for an unknown type */

/* What the library says about what it does on its own ("cache", "tuning", "package"), a line at a time and from any
 * thread. */
typedef void (*tosavk_log_callback)(void* user, const char* topic, const char* sentence);
/* For all of the process: `topics` is a list such as "cache,tuning" or "all"; NULL: $TOSAVK_VERBOSE. `callback` NULL:
 * stderr. When the call returns, the callback that was there before is called no more. It is called under a lock that
 * this function takes too: it must not call the library, nor wait for whoever calls this. */
TOSAVK_API tosavk_status tosavk_set_log(const char* topics, tosavk_log_callback callback, void* user,
                                        tosavk_error** error);

/* ---- devices ------------------------------------------------------------------------------------------------ */

/* Threads: tosavk_device_* from any thread, at once; tosavk_device_release when no other call uses the device. */

/* Number of Vulkan devices. TOSAVK_ERROR_NO_DEVICE when there is no loader or driver. */
TOSAVK_API tosavk_status tosavk_device_count(uint32_t* count, tosavk_error** error);

/* JSON object of device `index`: "index", "name", "driver", "type", "uuid" and "luid" (in hexadecimal), "caps" (every
 * capability and limit), "architecture" (an object: "name", the kind of device that it is taken for; "quirks", a list
 * of the names of those that its driver has; "facts", what is known of the kind: an object of "value" and "source" for
 * each), "plan" (what the library chose) and "reasons" (a sentence per choice). */
TOSAVK_API tosavk_status tosavk_device_describe(uint32_t index, tosavk_text** json, tosavk_error** error);

/* Opens a device: NULL or "" chooses (discrete before integrated before software); else an index, "cpu" (a software
 * driver), or a part of the device's name, upper or lower case. */
TOSAVK_API tosavk_status tosavk_device_open(const char* name, tosavk_device** device, tosavk_error** error);

typedef enum tosavk_device_type {
    TOSAVK_DEVICE_ANY = 0,
    TOSAVK_DEVICE_DISCRETE = 1,
    TOSAVK_DEVICE_INTEGRATED = 2,
    TOSAVK_DEVICE_VIRTUAL = 3,
    TOSAVK_DEVICE_CPU = 4 /* a software driver */
} tosavk_device_type;

/* Which device, and what it is given. All conditions must hold; what is 0 or NULL is as the environment says (see
 * tosavk_compile and docs/architecture.md), else as the library chooses. */
typedef struct tosavk_device_options {
    size_t struct_size;
    const char* name;    /* as of tosavk_device_open */
    const uint8_t* uuid; /* 16 bytes: VkPhysicalDeviceIDProperties.deviceUUID */
    const uint8_t* luid; /* 8 bytes: deviceLUID, on systems that have one */
    uint32_t vendor_id;  /* VkPhysicalDeviceProperties.vendorID */
    int32_t type;        /* a tosavk_device_type */
    uint32_t ordinal;    /* which of the devices that fit, best first */
    uint32_t threads;    /* of the host, to compile with and to pack weights; else its processors, at most 16 */
    int32_t no_cache;    /* 1: the disk cache is neither read nor written */
    /* 1: neither queue nor memory nor semaphores are used, as on a driver without its GPU. tosavk_compile and
     * tosavk_package_save work; buffers, contexts and measurements say that they cannot (TOSAVK_ERROR_USAGE).
     * Cooperative matrices count as accurate: a device that runs such a package checks its own. */
    int32_t compile_only;
    const char* cache_dir;      /* folder of the disk cache */
    uint64_t cache_limit_bytes; /* of all files in it together */
    double submit_ms;           /* what one submit is meant to take at most; else 200. Negative: no bound */
    /* 1: the driver is asked what its compiler made of each pipeline, for TOSAVK_EXECUTABLE_PIPELINES; pipelines are
     * compiled anew rather than taken from caches. */
    int32_t inspect;
    uint32_t reserved;
} tosavk_device_options;

/* `options` may be NULL. A device may be opened several times, and several devices at once. */
TOSAVK_API tosavk_status tosavk_device_open_with(const tosavk_device_options* options, tosavk_device** device,
                                                 tosavk_error** error);
TOSAVK_API const char* tosavk_device_name(const tosavk_device* device);   /* lives as long as the device */
TOSAVK_API const char* tosavk_device_driver(const tosavk_device* device); /* driver name and version */

/* Device memory of this tosavk_device: of its executables, contexts and measurements. In bytes. */
typedef struct tosavk_memory_info {
    size_t struct_size;
    uint64_t in_use;      /* allocated now */
    uint64_t peak;        /* the most that was allocated at once */
    uint64_t allocations; /* vkAllocateMemory calls that are alive */
    uint64_t heap;        /* size of the device's largest device-local heap */
    uint64_t budget;      /* what the driver says that this process may use of it (VK_EXT_memory_budget, which a device
                             of the host's own has where the host enabled it); 0: unknown */
    uint64_t used;        /* what it says that this process uses of it; 0: unknown */
    uint64_t cached;      /* freed, but kept to be used again: 0, since nothing is kept by this version */
} tosavk_memory_info;

TOSAVK_API tosavk_status tosavk_device_memory(const tosavk_device* device, tosavk_memory_info* info,
                                              tosavk_error** error);
TOSAVK_API void tosavk_device_release(tosavk_device* device);

/* ---- graphs ------------------------------------------------------------------------------------------------- */

/* Threads: tosavk_graph_*, tosavk_probe_* and tosavk_describe_* from any thread, at once; tosavk_graph_release when no
 * other call uses the graph. */

/* How the quantized operators of .tflite files scale their sums: as the reference kernels of ai-edge-litert 2.3.0,
   operator by operator; all with double rounding, as TFLite's up to 2.14; or all with single rounding. */
typedef enum tosavk_rounding {
    TOSAVK_ROUNDING_TFLITE = 0,
    TOSAVK_ROUNDING_DOUBLE = 1,
    TOSAVK_ROUNDING_SINGLE = 2
} tosavk_rounding;
/* What becomes of float activations that meet int8 or int4 weights in .tflite files: as in TFLite's kernels, which
   quantize them at run time; or the weights are made floats, which is more exact than TFLite and often slower. */
typedef enum tosavk_hybrid { TOSAVK_HYBRID_EXACT = 0, TOSAVK_HYBRID_DEQUANTIZE = 1 } tosavk_hybrid;
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
 * graph. Only a device with fp16 arithmetic is faster by it (tosavk_device_describe).
 * FAST: the same, by the device's own fp16 arithmetic as it is: its roundings, its way with subnormal numbers and NaN
 * and its functions (exp, tanh and others), and sums of products in fp16, 32 products at a time, which are added in
 * fp32. Results differ from driver to driver; tosavk_checker_run has a bound of its own for them. A device without fp16
 * arithmetic computes as with FP16, but for convolutions that Winograd's algorithm saves products of. */
typedef enum tosavk_precision {
    TOSAVK_PRECISION_DECLARED = 0, /* within TOSA's bounds of what the model declares */
    TOSAVK_PRECISION_FP16 = 1,
    TOSAVK_PRECISION_FAST = 2
} tosavk_precision;

typedef struct tosavk_input_shape {
    size_t struct_size;
    uint32_t index; /* graph input */
    uint32_t rank;
    int64_t dims[TOSAVK_MAX_RANK];
} tosavk_input_shape;

typedef struct tosavk_load_options {
    size_t struct_size;
    const tosavk_input_shape* input_shapes; /* for inputs with dynamic dimensions; without one a dimension is 1 */
    size_t input_shape_count;
    int32_t rounding;                 /* a tosavk_rounding */
    int32_t level;                    /* a tosavk_level */
    int32_t spec;                     /* a tosavk_spec */
    int32_t precision;                /* a tosavk_precision */
    const tosavk_custom_set* customs; /* what carries out the CUSTOM of .tosa files; may be NULL */
    const char* signature;            /* of a .tflite file, whose subgraph and names count; NULL: the main subgraph */
    int32_t hybrid;                   /* a tosavk_hybrid */
    int32_t f64_as_f32;               /* 1: f64 and complex<f64> of StableHLO are computed as f32; 0: refused */
} tosavk_load_options;

typedef struct tosavk_tensor_info {
    size_t struct_size;
    const char* name; /* lives as long as the graph */
    int32_t type;     /* a tosavk_type */
    uint32_t rank;
    int64_t dims[TOSAVK_MAX_RANK];
    size_t size_bytes;
    double scale;          /* real = scale * (q - zero_point) where the file says so; 0: not quantized or unknown */
    int64_t zero_point;    /* of declared_type's elements */
    int32_t declared_type; /* what a file says, a tosavk_type or tosavk_host_type; most often `type` itself. */
    int32_t reserved;      /* 0 */
} tosavk_tensor_info;

/* Where a file declares elements of a type that no graph has, `type` and `size_bytes` are those of the graph, in
 * buffers and for tosavk_context_set_input: of TOSAVK_HOST_U8, _U16 and _U32 an i8, i16 and i32 of the same bits, of
 * TOSAVK_HOST_I64 and _U64 an i32 of the same number, and of _F64 an fp32. Of TOSAVK_HOST_I64_WORDS and _U64_WORDS, as
 * StableHLO's i64 and ui64 are declared, the last dimension is 2: each element is two i32, the lower word first, which
 * on a little-endian machine is the int64 or uint64 itself. tosavk_context_set_input_as and _get_output_as take
 * elements of the declared type, and any other, by value. */

/* `options` may be NULL. The file's format is recognised by its content: .tflite; .tosa of TOSA 1.0, 0.80 or 0.30,
 * which is upgraded to 1.0; StableHLO, as a portable artifact or as text; or a package of tosavk_package_save, to be
 * trusted like a program: it holds shaders. */
TOSAVK_API tosavk_status tosavk_graph_load_file(const char* path, const tosavk_load_options* options,
                                                tosavk_graph** graph, tosavk_error** error);
/* `data` is copied where needed; it may be freed after the call. */
TOSAVK_API tosavk_status tosavk_graph_load_memory(const void* data, size_t size_bytes,
                                                  const tosavk_load_options* options, tosavk_graph** graph,
                                                  tosavk_error** error);
/* Reads the stream to its end. TOSAVK_ERROR_IO where `read` fails, or gives more than 64 GiB. */
TOSAVK_API tosavk_status tosavk_graph_load_stream(tosavk_read_callback read, void* user,
                                                  const tosavk_load_options* options, tosavk_graph** graph,
                                                  tosavk_error** error);
/* What becomes of a file, without stopping at the first operator that is refused: a JSON object "format" ("tflite",
 * "tosa" or "stablehlo"), "taken" (true if and only if the file loads with these options), "operators": an array of
 * objects "region" (where it stands: "" for the graph itself, else a name such as "subgraph 1"), "index" (there, in the
 * order of the file), "name" (with domain and operator for TOSA's CUSTOM), "taken" and, where that is false, "sentence"
 * (why), and "needs" where it can be loaded but not run before something else is done (tosavk_custom_set_add); and
 * "graph": an array of sentences about what else is refused, such as an input. An operator is judged by itself: what a
 * refused one makes counts as there. A file whose structure is wrong (truncated, an operator that names a tensor that
 * is not there, a cycle) or that is a package is an error instead, such as TOSAVK_ERROR_BAD_MODEL. */
TOSAVK_API tosavk_status tosavk_probe_file(const char* path, const tosavk_load_options* options, tosavk_text** json,
                                           tosavk_error** error);
TOSAVK_API tosavk_status tosavk_probe_memory(const void* data, size_t size_bytes, const tosavk_load_options* options,
                                             tosavk_text** json, tosavk_error** error);
/* What a file says of itself beside its operators: a JSON object "format" ("tflite", "tosa", "stablehlo"),
 * "description", "subgraphs" (an array of their names), "signatures" (an array of objects "key", "subgraph" (a number),
 * "inputs" and "outputs", arrays of objects "name" and "tensor", its name in the subgraph), "metadata" (an array of
 * objects "name", "size_bytes" and, where it can be read, "text") and "external_files" (names of files beside it that
 * hold constants). Of StableHLO also "name" and, of its function main, "arguments" and "results": arrays of objects
 * "type" (of the elements as the program writes it, or "token"), "shape" and, of arguments, "alias" (the number of the
 * result that may take its memory) and "donated" (true: some result may). TOSAVK_ERROR_BAD_MODEL for what is no such
 * file. */
TOSAVK_API tosavk_status tosavk_describe_file(const char* path, tosavk_text** json, tosavk_error** error);
TOSAVK_API tosavk_status tosavk_describe_memory(const void* data, size_t size_bytes, tosavk_text** json,
                                                tosavk_error** error);
TOSAVK_API uint32_t tosavk_graph_input_count(const tosavk_graph* graph);
TOSAVK_API uint32_t tosavk_graph_output_count(const tosavk_graph* graph);
TOSAVK_API uint32_t tosavk_graph_node_count(const tosavk_graph* graph);
/* Variables, which keep their values in a context from run to run: more than 0 means that one run depends on others. */
TOSAVK_API uint32_t tosavk_graph_variable_count(const tosavk_graph* graph);
TOSAVK_API tosavk_status tosavk_graph_input(const tosavk_graph* graph, uint32_t index, tosavk_tensor_info* info,
                                            tosavk_error** error);
TOSAVK_API tosavk_status tosavk_graph_output(const tosavk_graph* graph, uint32_t index, tosavk_tensor_info* info,
                                             tosavk_error** error);

/* What tosavk_graph_print prints. */
typedef enum tosavk_graph_text { TOSAVK_GRAPH_LISTING = 0, TOSAVK_GRAPH_DOT = 1 } tosavk_graph_text;
TOSAVK_API tosavk_status tosavk_graph_print(const tosavk_graph* graph, int32_t kind, tosavk_text** text,
                                            tosavk_error** error);
/* Writes the graph as a TOSA 1.0 flatbuffer, to a temporary file beside `path` that is then renamed. Quantization
 * scales, which TOSA does not know, are left out. */
TOSAVK_API tosavk_status tosavk_graph_save_file(const tosavk_graph* graph, const char* path, tosavk_error** error);
/* The same bytes in memory, and to a stream, which may have taken some when it fails (TOSAVK_ERROR_IO). */
TOSAVK_API tosavk_status tosavk_graph_save_memory(const tosavk_graph* graph, tosavk_bytes** file, tosavk_error** error);
TOSAVK_API tosavk_status tosavk_graph_save_stream(const tosavk_graph* graph, tosavk_write_callback write, void* user,
                                                  tosavk_error** error);
/* The same graph in another tosavk_precision. The package that it came from, if any, is not used for it. */
TOSAVK_API tosavk_status tosavk_graph_with_precision(const tosavk_graph* graph, int32_t precision,
                                                     tosavk_graph** converted, tosavk_error** error);
TOSAVK_API void tosavk_graph_release(tosavk_graph* graph);

/* ---- executables -------------------------------------------------------------------------------------------- */

/* Threads: tosavk_compile, tosavk_package_save* and tosavk_executable_* from any thread, at once;
 * tosavk_executable_release when no other call uses the executable. */

/* How much of a long call is done: of shaders and pipelines, which take nearly all of a compile's time, and of the
 * operators that are interpreted. `total` may be 0, and grows with what is found to be done. 0 lets the call go on,
 * anything else ends it with TOSAVK_ERROR_CANCELLED. Called from any thread, once at a time, several times a second
 * where nothing becomes done too; must not call the library with the same device. */
typedef int32_t (*tosavk_progress_callback)(void* user, uint64_t done, uint64_t total);

typedef struct tosavk_compile_options {
    size_t struct_size;
    int32_t no_fuse;  /* 1: one dispatch per operator */
    int32_t keep_all; /* 1: every value stays in memory, nothing is shared; see tosavk_checker_create */
    tosavk_progress_callback progress; /* of whatever compiles with these options; may be NULL */
    void* user;                        /* passed to it */
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
/* The same bytes in memory, and to a stream, as of tosavk_graph_save_stream. */
TOSAVK_API tosavk_status tosavk_package_save_memory(tosavk_device* device, const tosavk_graph* graph,
                                                    const tosavk_compile_options* options, tosavk_bytes** file,
                                                    tosavk_error** error);
TOSAVK_API tosavk_status tosavk_package_save_stream(tosavk_device* device, const tosavk_graph* graph,
                                                    const tosavk_compile_options* options, tosavk_write_callback write,
                                                    void* user, tosavk_error** error);

/* What tosavk_executable_print prints. PIPELINES is JSON, an object a dispatch: "dispatch" (from 0; those of regions
 * after all others), "label", "kernel", "groups" (three numbers), "invocations" (of a workgroup) and "pipeline" (equal
 * numbers share one; null: a copy, without a shader). Where the device was opened with `inspect` and the driver tells
 * (VK_KHR_pipeline_executable_properties), "compile_ms" is what it took and "statistics" has its own names and
 * numbers; for drivers whose words are known "compiler" has: "name"; "subgroup_size"; "registers" of 32 bits and
 * "half_registers" an invocation; "spills", registers that are kept in memory; "fills", loads of them; "scratch_bytes"
 * an invocation; "shared_bytes" a workgroup; "occupancy", subgroups that a unit of the GPU holds at once, and
 * "full_occupancy", the most that it holds of any kernel; "instructions"; "hot_multiply_adds" and "hot_instructions"
 * of the innermost loop around the block with the most multiply-adds (products of floats, of integers, or dot products
 * of small integers; where a matrix unit works, its steps); and of that loop "hot_matrix", steps of a matrix unit,
 * "hot_loads" of buffers, "hot_shared_loads" of the workgroup's memory, "hot_conversions" between types and of places
 * within registers or among lanes, "hot_scratch", loads and stores of an invocation's own memory, and "hot_waits",
 * instructions that only let time pass. What a compiler does not tell is null. ASSEMBLY is the same with "assembly", a
 * text.
 * ACCESSES: JSON too, an object for each dispatch of a kernel of the library's in the outermost graph. The executable
 * runs once more, with random inputs and kernels that write down which words of memory the invocations of the first
 * "watched_groups" workgroups touch; that is replayed in subgroups of 16, 32 and 64 invocations (where
 * "own_subgroups", of the device's size alone). "places" has a row for each "subgroup_size", "memory" ("buffer" or
 * "shared", the workgroup's), "number" (of the binding, or of the array in its shader) with "name", and "stored" or
 * not: of all "accesses" (what the invocations of a subgroup do as their k-th one) "segments", 64 bytes each, that
 * they touch (of shared memory: turns of its 32 banks), "fewest", that as many different words need, "excess", the
 * former by the latter, and how many invocations took part ("lanes") or did not ("idle"). "lost": accesses that found
 * no room in the records. TOSAVK_ERROR_UNSUPPORTED on a device that only compiles. */
typedef enum tosavk_executable_text {
    TOSAVK_EXECUTABLE_PLAN = 0,
    TOSAVK_EXECUTABLE_GLSL = 1,
    TOSAVK_EXECUTABLE_PIPELINES = 2,
    TOSAVK_EXECUTABLE_ASSEMBLY = 3,
    TOSAVK_EXECUTABLE_ACCESSES = 4
} tosavk_executable_text;
TOSAVK_API tosavk_status tosavk_executable_print(const tosavk_executable* executable, int32_t kind, tosavk_text** text,
                                                 tosavk_error** error);
TOSAVK_API void tosavk_executable_release(tosavk_executable* executable);

/* ---- buffers ------------------------------------------------------------------------------------------------ */

/* Threads: tosavk_buffer_* from any thread, at once, where what they read and write does not overlap;
 * tosavk_executable_input_binding and tosavk_executable_output_binding at once; tosavk_buffer_release when no other
 * call uses the buffer. */

/* What is said here of buffers that share bytes, and of the order of those who use them, holds for one buffer and its
 * parts (tosavk_buffer_slice). Memory that the library knows by several is taken for several memories: import the same
 * memory of the host, or the same descriptor, once, and order yourself what you do through a buffer and through one
 * that another device made of its exported memory. */
typedef enum tosavk_memory_kind {
    TOSAVK_MEMORY_DEVICE = 0, /* fastest for the device; the host sees it where that costs nothing */
    TOSAVK_MEMORY_SHARED = 1, /* the host sees it; as fast for the device as such memory is */
    TOSAVK_MEMORY_HOST = 2    /* memory of the host, for copies: kernels do not touch it */
} tosavk_memory_kind;

typedef struct tosavk_buffer_options {
    size_t struct_size;
    uint64_t size_bytes; /* may be 0; more than that where memory is imported */
    int32_t memory;      /* a tosavk_memory_kind */
    int32_t exportable;  /* 1: for tosavk_buffer_export_fd */
    /* For tosavk_buffer_import_fd, as tosavk_buffer_info says of the exported buffer; 0: as a buffer of these options
     * would have. An allocation that is too small for the size is TOSAVK_ERROR_BAD_INPUT. */
    uint64_t allocation_bytes;
    uint32_t memory_type_bits;
    uint32_t reserved;
} tosavk_buffer_options;

typedef struct tosavk_buffer_info {
    size_t struct_size;
    uint64_t size_bytes;
    uint64_t allocation_bytes; /* of the device memory behind it, shared by all parts of a buffer; 0: an adopted one */
    uint32_t memory_type_bits; /* one bit: the Vulkan memory type; 0: an adopted buffer, whose owner chose it */
    int32_t memory;            /* a tosavk_memory_kind */
    int32_t mapped;            /* 1: tosavk_buffer_map is possible */
    int32_t coherent;          /* 1: host and device see each other's writes without tosavk_buffer_unmap */
} tosavk_buffer_info;

/* Its bytes are undefined. The buffer keeps its device alive. */
TOSAVK_API tosavk_status tosavk_buffer_create(tosavk_device* device, const tosavk_buffer_options* options,
                                              tosavk_buffer** buffer, tosavk_error** error);
/* `size_bytes` of the host's memory at `data`, used by the device as it is (VK_EXT_external_memory_host); it must stay
 * until the buffer, its parts and the contexts that have them bound are released. Address and size must be multiples of
 * what the device asks for, which the error's sentence tells; whole pages suit. TOSAVK_ERROR_UNSUPPORTED where the
 * device cannot. */
TOSAVK_API tosavk_status tosavk_buffer_import_host(tosavk_device* device, void* data, uint64_t size_bytes,
                                                   tosavk_buffer** buffer, tosavk_error** error);
/* Memory of another device object, process or library, by an opaque file descriptor (VK_KHR_external_memory_fd), which
 * stays the caller's. The device must be the same as that which exported it. */
TOSAVK_API tosavk_status tosavk_buffer_import_fd(tosavk_device* device, int32_t fd,
                                                 const tosavk_buffer_options* options, tosavk_buffer** buffer,
                                                 tosavk_error** error);
/* A new descriptor of the memory of an exportable buffer (all of it, also from a part), which the caller closes. */
TOSAVK_API tosavk_status tosavk_buffer_export_fd(const tosavk_buffer* buffer, int32_t* fd, tosavk_error** error);
/* A part of a buffer, which is a buffer too and keeps the memory alive. */
TOSAVK_API tosavk_status tosavk_buffer_slice(const tosavk_buffer* buffer, uint64_t offset, uint64_t size_bytes,
                                             tosavk_buffer** part, tosavk_error** error);
TOSAVK_API tosavk_status tosavk_buffer_describe(const tosavk_buffer* buffer, tosavk_buffer_info* info,
                                                tosavk_error** error);

/* These wait for the runs that were submitted with the buffer, and are done when they return. Offsets and sizes are in
 * bytes and need no alignment. TOSAVK_ERROR_BAD_INPUT for what lies outside. */
TOSAVK_API tosavk_status tosavk_buffer_upload(tosavk_buffer* buffer, uint64_t offset, const void* data,
                                              size_t size_bytes, tosavk_error** error);
TOSAVK_API tosavk_status tosavk_buffer_download(const tosavk_buffer* buffer, uint64_t offset, void* data,
                                                size_t size_bytes, tosavk_error** error);
TOSAVK_API tosavk_status tosavk_buffer_fill(tosavk_buffer* buffer, uint64_t offset, uint64_t size_bytes, uint8_t value,
                                            tosavk_error** error);
/* Between buffers of one device; parts of one buffer must not overlap. */
TOSAVK_API tosavk_status tosavk_buffer_copy(const tosavk_buffer* from, uint64_t from_offset, tosavk_buffer* to,
                                            uint64_t to_offset, uint64_t size_bytes, tosavk_error** error);
/* The host's view of the buffer, which stays where it is as long as the buffer lives: waits for the runs that use it,
 * and makes what they wrote visible. Where memory is not coherent, tosavk_buffer_unmap makes what the host wrote
 * visible to the device; elsewhere it does nothing. No run that uses the buffer may be under way while the host writes,
 * or reads what the run writes. TOSAVK_ERROR_UNSUPPORTED where the host does not see the memory. */
TOSAVK_API tosavk_status tosavk_buffer_map(const tosavk_buffer* buffer, void** data, tosavk_error** error);
TOSAVK_API tosavk_status tosavk_buffer_unmap(const tosavk_buffer* buffer, tosavk_error** error);
/* Waits for the runs that were submitted with the buffer, `timeout_ns` nanoseconds at most (0: only looks): `*idle` is
 * 1 when none is under way, else 0. A device without timeline semaphores waits for the work on its queue however long
 * that takes. */
TOSAVK_API tosavk_status tosavk_buffer_wait(const tosavk_buffer* buffer, uint64_t timeout_ns, int32_t* idle,
                                            tosavk_error** error);
/* The memory goes when parts and contexts that have it bound are released too. No run may be under way that uses it,
 * unless a context has it bound. */
TOSAVK_API void tosavk_buffer_release(tosavk_buffer* buffer);

/* What a buffer must be like for kernels to read an input, or write an output, there. What is not so is copied by the
 * device, as part of the run: right, but not free (tosavk_counters.buffer_copies). */
typedef struct tosavk_binding_info {
    size_t struct_size;
    uint64_t size_bytes;   /* of the tensor: what the buffer must hold at least */
    uint64_t padded_bytes; /* what kernels touch. Above size_bytes, the buffer must have as much and be bound with
                              TOSAVK_BIND_PADDED */
    uint64_t alignment;    /* of its offset in the VkBuffer, bytes; new buffers have it */
    uint32_t usage;        /* VkBufferUsageFlags; buffers of tosavk_buffer_create have them, but for those of
                              TOSAVK_MEMORY_HOST. Copies need TRANSFER_SRC or TRANSFER_DST */
    int32_t direct;        /* 0: it is always copied, such as an output that is a part of another one, constant, or an
                              input (which is there already where both are bound to one place) */
} tosavk_binding_info;

TOSAVK_API tosavk_status tosavk_executable_input_binding(const tosavk_executable* executable, uint32_t index,
                                                         tosavk_binding_info* info, tosavk_error** error);
TOSAVK_API tosavk_status tosavk_executable_output_binding(const tosavk_executable* executable, uint32_t index,
                                                          tosavk_binding_info* info, tosavk_error** error);

/* ---- semaphores --------------------------------------------------------------------------------------------- */

/* Threads: tosavk_semaphore_* from any thread, at once; tosavk_semaphore_release when no other call uses the
 * semaphore. */

typedef struct tosavk_semaphore_options {
    size_t struct_size;
    uint64_t value;     /* to begin with */
    int32_t exportable; /* 1: for tosavk_semaphore_export_fd */
    int32_t reserved;
} tosavk_semaphore_options;

/* `options` may be NULL. The semaphore keeps its device alive. TOSAVK_ERROR_UNSUPPORTED where the device has no
 * timeline semaphores, or cannot export them. */
TOSAVK_API tosavk_status tosavk_semaphore_create(tosavk_device* device, const tosavk_semaphore_options* options,
                                                 tosavk_semaphore** semaphore, tosavk_error** error);
/* That of another device object, process or library, by an opaque file descriptor (VK_KHR_external_semaphore_fd), which
 * stays the caller's. It must be a timeline semaphore of the same device. */
TOSAVK_API tosavk_status tosavk_semaphore_import_fd(tosavk_device* device, int32_t fd, tosavk_semaphore** semaphore,
                                                    tosavk_error** error);
/* A new descriptor, which the caller closes. */
TOSAVK_API tosavk_status tosavk_semaphore_export_fd(const tosavk_semaphore* semaphore, int32_t* fd,
                                                    tosavk_error** error);
TOSAVK_API tosavk_status tosavk_semaphore_value(const tosavk_semaphore* semaphore, uint64_t* value,
                                                tosavk_error** error);
/* From the host. TOSAVK_ERROR_USAGE unless `value` is greater than the value now, and less than what stands on
 * the queue will signal. */
TOSAVK_API tosavk_status tosavk_semaphore_signal(tosavk_semaphore* semaphore, uint64_t value, tosavk_error** error);
/* Waits for `timeout_ns` nanoseconds at most: `*reached` is 1 when the value is at least `value`, else 0. */
TOSAVK_API tosavk_status tosavk_semaphore_wait(const tosavk_semaphore* semaphore, uint64_t value, uint64_t timeout_ns,
                                               int32_t* reached, tosavk_error** error);
TOSAVK_API void tosavk_semaphore_release(tosavk_semaphore* semaphore);

/* ---- contexts: binding and running -------------------------------------------------------------------------- */

/* Threads: tosavk_context_create from any thread, at once. All other tosavk_context_* from any thread, with one context
 * one call at a time; tosavk_contexts_wait is a call with each of its contexts. */

typedef struct tosavk_context_options {
    size_t struct_size;
    int32_t profile; /* 1: GPU timestamps around every dispatch */
    int32_t reserved;
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
    uint64_t host_copies;            /* inputs and outputs that went through the host: set_input, get_output */
    uint64_t buffer_copies;          /* copies between bound buffers and the context's own memory, by the device */
    uint64_t external_bytes;         /* memory for inputs and outputs that are not bound, beside the arena */
    uint64_t package; /* 0: the graph was loaded from no package; 1: the package's plan and shaders are used;
                         2: they are for another device, library or option, and were made anew */
} tosavk_counters;

/* What the work of a dispatch is made of: which of the device's limits it is to be held against. */
typedef enum tosavk_arithmetic {
    TOSAVK_ARITHMETIC_FP32 = 0, /* also fp16, bf16 and fp8, which are computed in fp32 */
    TOSAVK_ARITHMETIC_FP16 = 1, /* where its roundings are native, or in precision fast */
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
/* The same from elements of another type, a tosavk_type or tosavk_host_type; `size_bytes` is that of as many of them.
 * Integers and bool (0 and 1) must be equal in the input's type; floats become the nearest, but nothing finite may
 * become an infinity; integers become the nearest float, and floats integers where they are whole.
 * TOSAVK_ERROR_BAD_INPUT names the first element that does not fit, and changes nothing. */
TOSAVK_API tosavk_status tosavk_context_set_input_as(tosavk_context* context, uint32_t index, int32_t type,
                                                     const void* data, size_t size_bytes, tosavk_error** error);
/* What may be done with the bytes of a bound buffer. */
typedef enum tosavk_bind_flags {
    TOSAVK_BIND_PADDED = 1 /* kernels may write up to tosavk_binding_info.padded_bytes of it; else nothing behind the
                              tensor's own bytes is touched */
} tosavk_bind_flags;

/* From the next run on, the input is read from the first bytes of `buffer`, and the output written there, as the buffer
 * is then: nothing is copied through the host. The context keeps the buffer's memory alive. NULL undoes it: the input
 * is then to be set again (tosavk_context_set_input undoes it too). tosavk_context_get_output copies from a bound
 * buffer; the last run's results are gone once an output is bound anew. `flags` is 0 or TOSAVK_BIND_PADDED. What is
 * bound stays from run to run; changing it costs some microseconds at the next submit.
 *
 * Several inputs may share bytes. Where an output shares bytes with an input (a donated input), the run still reads the
 * input as it was before; nothing is copied for that where every dispatch that reads it comes before those that write
 * the output. Outputs must not share bytes with each other (TOSAVK_ERROR_USAGE at submit), unless they are one value in
 * one place. Runs that use the same buffers come in the order of their submits: a context may read what another one,
 * which was submitted before, writes, without waiting between; runs that share no buffer may come in another order.
 * TOSAVK_ERROR_BAD_INPUT where the buffer is too small. */
TOSAVK_API tosavk_status tosavk_context_bind_input(tosavk_context* context, uint32_t index, tosavk_buffer* buffer,
                                                   uint32_t flags, tosavk_error** error);
TOSAVK_API tosavk_status tosavk_context_bind_output(tosavk_context* context, uint32_t index, tosavk_buffer* buffer,
                                                    uint32_t flags, tosavk_error** error);
/* Runs and waits. TOSAVK_ERROR_USAGE when an input was neither set nor bound. */
TOSAVK_API tosavk_status tosavk_context_run(tosavk_context* context, tosavk_error** error);
/* The two halves of run: submit returns at once, wait until the results are there. A graph with COND_IF or WHILE_LOOP
 * needs the host for each decision, which a thread of the context takes, but for loops of which the graph alone says
 * how often they turn; runs that use the same buffers wait for it to get through. What fails there is wait's error. A
 * wait that fails ends the run as well: it has left no results, and what of it the device may still do ends before the
 * context does anything else. */
TOSAVK_API tosavk_status tosavk_context_submit(tosavk_context* context, tosavk_error** error);
TOSAVK_API tosavk_status tosavk_context_wait(tosavk_context* context, tosavk_error** error);
/* A value of a semaphore. The run keeps what it needs of the semaphore. */
typedef struct tosavk_semaphore_point {
    size_t struct_size;
    const tosavk_semaphore* semaphore; /* of the context's device */
    uint64_t value;
} tosavk_semaphore_point;

/* Called by a thread of the library when a run is over, with how it ended; the context is still running until its wait,
 * which returns after the callback has. It must not call the library with the context, and should be short. */
typedef void (*tosavk_done_callback)(void* user, tosavk_status status);

typedef struct tosavk_submit_options {
    size_t struct_size;
    const tosavk_semaphore_point* waits; /* all are reached before anything of the run begins */
    size_t wait_count;
    const tosavk_semaphore_point* signals; /* when all of it is done; each more than its semaphore has, and than what
                                              stands on the queue signals (else TOSAVK_ERROR_USAGE); what runs that
                                              still wait in a thread will signal is the caller's to know. A run that
                                              fails may leave them out */
    size_t signal_count;
    tosavk_done_callback done; /* may be NULL */
    void* user;                /* passed to it */
} tosavk_submit_options;

/* As tosavk_context_submit. A run that waits for semaphores goes to the device's queue once all runs that were
 * submitted before it are there as a whole, decisions included, and once their signals or values that were reached
 * bring all that it waits for; until then it waits in a thread of the library, and what does not need it goes on: runs
 * without semaphores, and what is done to buffers that it does not use. Runs with semaphores that are submitted later
 * wait for their turn: it must not wait for what they signal. On a lent device (vulkan.h) it waits on the queue
 * instead, which its owner's signals reach, and holds up all that comes later there. `options` may be NULL. */
TOSAVK_API tosavk_status tosavk_context_submit_with(tosavk_context* context, const tosavk_submit_options* options,
                                                    tosavk_error** error);
/* Waits until one (`any` is 1) or all (0) of several contexts' runs are over, or `timeout_ns` nanoseconds. finished[k]
 * becomes 1 where that of contexts[k] is, which is then as after its tosavk_context_wait, else 0. All must be running.
 * Where a run has failed, this is its error; `finished` is right then too, with 1 for it. */
TOSAVK_API tosavk_status tosavk_contexts_wait(tosavk_context* const* contexts, size_t count, int32_t any,
                                              uint64_t timeout_ns, int32_t* finished, tosavk_error** error);
/* Waits for `timeout_ns` nanoseconds at most (0: only looks): `*finished` is 1 when the results are there, 0 when the
 * run is still under way, which then is to be waited for again. Any number of contexts may be under way at once, on one
 * device too. */
TOSAVK_API tosavk_status tosavk_context_wait_for(tosavk_context* context, uint64_t timeout_ns, int32_t* finished,
                                                 tosavk_error** error);
/* Copies output `index` of the last finished run. */
TOSAVK_API tosavk_status tosavk_context_get_output(tosavk_context* context, uint32_t index, void* data,
                                                   size_t size_bytes, tosavk_error** error);
/* The same as elements of another type, by the rules of tosavk_context_set_input_as. */
TOSAVK_API tosavk_status tosavk_context_get_output_as(tosavk_context* context, uint32_t index, int32_t type, void* data,
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

#ifdef __cplusplus
}
#endif
#endif /* TOSAVK_TOSAVK_H */
