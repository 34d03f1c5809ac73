/* tosa-vk: models whose sizes are known late. The C ABI; C99 and later.
 *
 * A file may leave dimensions of its inputs open (of .tflite: -1 in shape or shape_signature). tosavk_graph_load_file
 * gives them sizes once and for all. A tosavk_model is the file itself, kept open: each of these dimensions is a
 * symbol, and the model becomes a graph or an executable for one set of sizes after another.
 *
 *   tosavk_model* an open file. Immutable but for what it keeps of its executables; thread-safe.
 *
 * For each new set of sizes the file is lowered again, so that shapes that the graph computes, and what broadcasts, are
 * decided by them. Its executables on one device share their constants: each is packed and uploaded once
 * (tosavk_counters.weight_bytes_copied). The executables that were used last are kept by the model, whoever else keeps
 * them; the rest go when nobody holds them any more.
 */
#ifndef TOSAVK_MODEL_H
#define TOSAVK_MODEL_H

#include "tosavk/tosavk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Threads: tosavk_model_* and tosavk_specialize from any thread, at once; tosavk_model_release when no other call uses
 * the model. tosavk_context_set_input_shape and tosavk_context_output_info with one context one call at a time. */

typedef struct tosavk_model tosavk_model;

#define TOSAVK_OPEN_DIMENSION ((int64_t)-1)
#define TOSAVK_NO_SYMBOL ((int32_t)-1)

typedef struct tosavk_model_options {
    size_t struct_size;
    uint32_t max_executables; /* that the model keeps, of all devices and options together; 0: 16 */
    uint32_t reserved;
} tosavk_model_options;

/* An input as the file has it. */
typedef struct tosavk_open_tensor_info {
    size_t struct_size;
    const char* name; /* lives as long as the model */
    int32_t type;     /* a tosavk_type */
    uint32_t rank;
    int64_t dims[TOSAVK_MAX_RANK];    /* TOSAVK_OPEN_DIMENSION where it is a symbol */
    int32_t symbols[TOSAVK_MAX_RANK]; /* which; TOSAVK_NO_SYMBOL where the file has the size */
    double scale;                     /* these as of tosavk_tensor_info */
    int64_t zero_point;
    int32_t declared_type;
    int32_t reserved; /* 0 */
} tosavk_open_tensor_info;

/* An open dimension. TFLite does not say which of them are equal, so that each is a symbol of its own. */
typedef struct tosavk_symbol_info {
    size_t struct_size;
    const char* name;   /* the input's name and the dimension, "tokens[1]"; lives as long as the model */
    uint32_t input;     /* of which input */
    uint32_t dimension; /* of that input */
} tosavk_symbol_info;

typedef struct tosavk_symbol_value {
    size_t struct_size;
    uint32_t symbol; /* number */
    uint32_t reserved;
    int64_t value; /* at least 1 */
} tosavk_symbol_value;

/* Sizes: by symbol, by inputs' whole shapes, or both where they agree. Every symbol must get one. What does not fit is
 * TOSAVK_ERROR_BAD_INPUT with a sentence that names input, dimension, what was given and what is allowed, and
 * tosavk_error_operand the input. */
typedef struct tosavk_bindings {
    size_t struct_size;
    const tosavk_symbol_value* symbols;
    size_t symbol_count;
    const tosavk_input_shape* input_shapes;
    size_t input_shape_count;
} tosavk_bindings;

/* `load` and `options` may be NULL. Inputs that load->input_shapes names have no open dimensions. Operators are not
 * looked at before there are sizes. Files are read as by tosavk_graph_load_file; TOSAVK_ERROR_UNSUPPORTED for a
 * package, which has its sizes. The file's bytes are kept, or, of tosavk_model_open_memory, copied. */
TOSAVK_API tosavk_status tosavk_model_open_file(const char* path, const tosavk_load_options* load,
                                                const tosavk_model_options* options, tosavk_model** model,
                                                tosavk_error** error);
TOSAVK_API tosavk_status tosavk_model_open_memory(const void* data, size_t size_bytes, const tosavk_load_options* load,
                                                  const tosavk_model_options* options, tosavk_model** model,
                                                  tosavk_error** error);
/* The file's bytes, as they were read. */
TOSAVK_API tosavk_status tosavk_model_file(const tosavk_model* model, tosavk_bytes** file, tosavk_error** error);
TOSAVK_API uint32_t tosavk_model_input_count(const tosavk_model* model);
TOSAVK_API uint32_t tosavk_model_output_count(const tosavk_model* model);
TOSAVK_API uint32_t tosavk_model_symbol_count(const tosavk_model* model); /* 0: every size is in the file */
TOSAVK_API tosavk_status tosavk_model_input(const tosavk_model* model, uint32_t index, tosavk_open_tensor_info* info,
                                            tosavk_error** error);
TOSAVK_API tosavk_status tosavk_model_symbol(const tosavk_model* model, uint32_t index, tosavk_symbol_info* info,
                                             tosavk_error** error);

/* The graph for these sizes; `bindings` may be NULL where there are no symbols. Sizes that an operator cannot take are
 * its error, with the sizes in front. */
TOSAVK_API tosavk_status tosavk_model_graph(tosavk_model* model, const tosavk_bindings* bindings, tosavk_graph** graph,
                                            tosavk_error** error);
/* The executable for these sizes: one that the model keeps, or a new one. `options` as of tosavk_compile, may be NULL.
 * The executable is released as any other. Its constants are shared: tosavk_executable_vulkan_memory says 0 bytes. */
TOSAVK_API tosavk_status tosavk_specialize(tosavk_model* model, tosavk_device* device, const tosavk_bindings* bindings,
                                           const tosavk_compile_options* options, tosavk_executable** executable,
                                           tosavk_error** error);
/* A context that takes inputs of any allowed shape: tosavk_context_set_input_shape tells it, and the first run after
 * that specializes the model where it must. It keeps the model and the device alive, and memory for one set of sizes at
 * a time. `compile` and `options` may be NULL. compile->progress and its `user` are kept: the call that specializes
 * (tosavk_context_run, _submit, _submit_with or _output_info) calls it, and is ended by it; the context's shapes and
 * inputs stay, so that the call may be repeated. */
TOSAVK_API tosavk_status tosavk_model_context_create(tosavk_model* model, tosavk_device* device,
                                                     const tosavk_compile_options* compile,
                                                     const tosavk_context_options* options, tosavk_context** context,
                                                     tosavk_error** error);

/* The shape of an input from now on; `dims` has `rank` numbers and may be NULL where that is 0. Of a context of
 * tosavk_model_context_create; any other takes the shape that it has. Where the shape changes, the input is to be set
 * or bound again; other inputs keep their bytes, outputs their buffers, and variables their values unless they change
 * shape too. TOSAVK_ERROR_USAGE while a run is under way. */
TOSAVK_API tosavk_status tosavk_context_set_input_shape(tosavk_context* context, uint32_t index, uint32_t rank,
                                                        const int64_t* dims, tosavk_error** error);
/* An output for the shapes that the inputs have now, which specializes the model where it must. The name lives until
 * that changes or the context is released. TOSAVK_ERROR_USAGE where an input's shape is not known yet. */
TOSAVK_API tosavk_status tosavk_context_output_info(tosavk_context* context, uint32_t index, tosavk_tensor_info* info,
                                                    tosavk_error** error);

/* Sums over everything that was specialized since the model was opened. */
typedef struct tosavk_model_counters {
    size_t struct_size;
    uint64_t specialized;      /* executables made */
    uint64_t reused;           /* times that one was there already */
    uint64_t kept;             /* executables that the model keeps now */
    uint64_t shaders_compiled; /* these as of tosavk_counters */
    uint64_t pipelines_created;
    uint64_t weight_bytes_copied;
} tosavk_model_counters;

TOSAVK_API tosavk_status tosavk_model_count(const tosavk_model* model, tosavk_model_counters* counters,
                                            tosavk_error** error);
/* What was made of the model stays. */
TOSAVK_API void tosavk_model_release(tosavk_model* model);

#ifdef __cplusplus
}
#endif
#endif /* TOSAVK_MODEL_H */
