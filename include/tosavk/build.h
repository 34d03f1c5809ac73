/* Graphs from calls, and operators of your own. The rules at the head of tosavk.h hold here too.
 *
 * The way of a graph:   create a builder -> inputs, constants, variables, nodes -> outputs -> finish.
 *
 *   tosavk_builder*   a graph under construction. One thread at a time.
 *
 * Values are numbers that the builder gives out: of inputs, constants and what nodes make. Every call is checked when
 * it is made, by the same rules and with the same sentences as a .tosa file; one that fails leaves the builder as it
 * was. TOSAVK_ERROR_USAGE: the call is wrong (NULL, a number that is no value or enumerator); TOSAVK_ERROR_BAD_MODEL:
 * the specification forbids it; TOSAVK_ERROR_UNSUPPORTED: there is no such operator; TOSAVK_ERROR_BAD_INPUT: bytes that
 * are too many, too few, or no elements of the type.
 */
#ifndef TOSAVK_BUILD_H
#define TOSAVK_BUILD_H

#include "tosavk/tosavk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the builder -------------------------------------------------------------------------------------------- */

/* Threads: tosavk_builder_create from any thread, at once. All other tosavk_builder_* from any thread, with one builder
 * (of regions too) one call at a time. */

typedef struct tosavk_builder tosavk_builder;

typedef struct tosavk_builder_options {
    size_t struct_size;
    const char* name;     /* of the graph; NULL is "" */
    int32_t level;        /* a tosavk_level */
    int32_t precision;    /* a tosavk_precision, of the finished graph */
    int32_t keep_refused; /* 1: a node that is refused is kept as such (see tosavk_builder_probe) */
    int32_t reserved;
    const tosavk_custom_set* customs; /* what carries out CUSTOM, of its regions too; may be NULL */
} tosavk_builder_options;

/* A tensor as a caller describes it. `type` is a tosavk_type. A dimension may be 0, which TOSA does not know: a tensor
 * without elements.
 *
 * An operator whose results have no elements is checked by its shape rule and does nothing. One that reads no elements
 * although its result has some means: REDUCE_SUM and _ANY 0, REDUCE_PRODUCT and _ALL 1, REDUCE_MAX and _MIN the type's
 * lowest and highest (floats: -inf and inf), MATMUL 0, convolutions their bias, PAD its padding value, CONCAT what the
 * other tensors hold, SCATTER, SCATTER_ND and DYNAMIC_UPDATE_SLICE of nothing the tensor as it was, SEGMENT_REDUCE what
 * segments without rows get. Others are refused (TOSAVK_ERROR_BAD_MODEL), such as ARGMAX and GATHER of nothing, and
 * CUSTOM. The lists of COND_IF and WHILE_LOOP and variables may have them. A finished graph has them as inputs and
 * outputs alone: what has no effect is no node of it any more. tosavk_graph_save_* refuse it then
 * (TOSAVK_ERROR_UNSUPPORTED), packages hold it. .tosa files with such tensors are refused, as TOSA demands. */
typedef struct tosavk_tensor_desc {
    size_t struct_size;
    int32_t type;
    uint32_t rank; /* 0 to TOSAVK_MAX_RANK */
    int64_t dims[TOSAVK_MAX_RANK];
} tosavk_tensor_desc;

/* `options` may be NULL. */
TOSAVK_API tosavk_status tosavk_builder_create(const tosavk_builder_options* options, tosavk_builder** builder,
                                               tosavk_error** error);
TOSAVK_API void tosavk_builder_release(tosavk_builder* builder);

/* The next input of the graph. `name` NULL or "" gives it one. */
TOSAVK_API tosavk_status tosavk_builder_input(tosavk_builder* builder, const char* name, const tosavk_tensor_desc* desc,
                                              uint32_t* value, tosavk_error** error);
/* `data` has exactly the tensor's bytes and is copied. */
TOSAVK_API tosavk_status tosavk_builder_constant(tosavk_builder* builder, const char* name,
                                                 const tosavk_tensor_desc* desc, const void* data, size_t size_bytes,
                                                 uint32_t* value, tosavk_error** error);
/* Called once, when nothing reads the bytes any more: the builder, graphs and executables made of them are gone. From
 * any thread, within any call of the library, which it must not call itself. */
typedef void (*tosavk_release_callback)(void* user, const void* data);
/* The same without a copy: `data` (which needs no alignment) must stay there, unchanged, until `release` is called. It
 * is not called when this function fails. `release` may be NULL for bytes that live as long as the process. */
TOSAVK_API tosavk_status tosavk_builder_constant_borrowed(tosavk_builder* builder, const char* name,
                                                          const tosavk_tensor_desc* desc, const void* data,
                                                          size_t size_bytes, tosavk_release_callback release,
                                                          void* user, uint32_t* value, tosavk_error** error);
/* A constant of TOSA's type shape_t, which the operands `shape`, `start`, `size`, `padding` and the like take: `count`
 * numbers, 0 for the shape of a scalar. `name` as above. */
TOSAVK_API tosavk_status tosavk_builder_shape(tosavk_builder* builder, const char* name, const int64_t* numbers,
                                              size_t count, uint32_t* value, tosavk_error** error);
/* A tensor that keeps its value from run to run, for VARIABLE_READ and VARIABLE_WRITE (attribute `name`). `initial` has
 * exactly its bytes and is copied; NULL with size 0: zeros. */
TOSAVK_API tosavk_status tosavk_builder_variable(tosavk_builder* builder, const char* name,
                                                 const tosavk_tensor_desc* desc, const void* initial, size_t size_bytes,
                                                 tosavk_error** error);

typedef enum tosavk_attribute_kind {
    TOSAVK_ATTRIBUTE_INTEGERS = 0, /* `count` numbers of int64_t at `data`; one for a number, 0 or 1 for a bool */
    TOSAVK_ATTRIBUTE_REALS = 1,    /* `count` numbers of double */
    TOSAVK_ATTRIBUTE_TEXT = 2 /* `count` bytes: the name of a value ("PROPAGATE", "i32"), a name, or opaque bytes */
} tosavk_attribute_kind;

/* An attribute by its name in the specification, lower case: "stride", "acc_type", "nan_mode" (docs/operators.md for
 * operators of the domain tosavk). */
typedef struct tosavk_attribute {
    size_t struct_size;
    const char* name;
    int32_t kind; /* a tosavk_attribute_kind; a real one takes integers too */
    int32_t reserved;
    const void* data;
    size_t count;
} tosavk_attribute;

typedef struct tosavk_node_desc {
    size_t struct_size;
    const char* op;   /* "CONV2D", "tosavk.SORT"; upper or lower case */
    const char* name; /* for messages and profiles; NULL: made of the operator and a number */
    const uint32_t* inputs;
    size_t input_count;
    /* Bools that are not given are false, and values that have names the first one (docs/operators.md and the
     * specification list them: PROPAGATE, SINGLE_ROUND, NEAREST_NEIGHBOR, SET, ...); all else must be given. */
    const tosavk_attribute* attributes;
    size_t attribute_count;
    /* Types of the outputs, and for CUSTOM their shapes (elsewhere they are inferred: rank 0 says nothing, other shapes
     * must be right). NULL with count 0 where the inputs leave only one choice; else one for each output. */
    const tosavk_tensor_desc* outputs;
    size_t output_count;
    /* COND_IF: then_graph, else_graph; WHILE_LOOP: cond_graph, body_graph; from tosavk_builder_region. They are read
     * and may be released after the call. */
    tosavk_builder* const* regions;
    size_t region_count;
} tosavk_node_desc;

/* Appends a node. `values` gets the numbers of its outputs, at most `capacity`; *count how many there are (both may be
 * NULL with capacity 0). */
TOSAVK_API tosavk_status tosavk_builder_node(tosavk_builder* builder, const tosavk_node_desc* node, uint32_t* values,
                                             size_t capacity, size_t* count, tosavk_error** error);
/* A builder for a region of COND_IF or WHILE_LOOP: its inputs are the node's tensor list, in order; it knows the
 * variables declared so far, and no other value of the enclosing graph. */
TOSAVK_API tosavk_status tosavk_builder_region(const tosavk_builder* builder, const char* name, tosavk_builder** region,
                                               tosavk_error** error);
/* The next output of the graph. A value may be several outputs. */
TOSAVK_API tosavk_status tosavk_builder_output(tosavk_builder* builder, uint32_t value, tosavk_error** error);
/* Name, type and shape of a value; the name lives until the next call with the builder. */
TOSAVK_API tosavk_status tosavk_builder_value(const tosavk_builder* builder, uint32_t value, tosavk_tensor_info* info,
                                              tosavk_error** error);

/* What becomes of the nodes so far, in the JSON of tosavk_probe_file ("format" is "builder"). With keep_refused a node
 * that is refused is no error of tosavk_builder_node where all its outputs are described with their shapes (rank 0 is a
 * scalar then): they stand as described, so that what comes after can be judged, and the graph cannot be finished. A
 * wrong call (TOSAVK_ERROR_USAGE) is an error all the same. A runtime that hands over parts of a graph asks so which
 * nodes to hand over. Nodes of a region are in its own builder's probe. */
TOSAVK_API tosavk_status tosavk_builder_probe(const tosavk_builder* builder, tosavk_text** json, tosavk_error** error);

/* Checks the graph as a whole and hands it over; the builder is then empty and may be used again, with its options. A
 * region cannot be finished: it is given to a node. */
TOSAVK_API tosavk_status tosavk_builder_finish(tosavk_builder* builder, tosavk_graph** graph, tosavk_error** error);

/* ---- operators of your own: CUSTOM --------------------------------------------------------------------------- */

/* Threads: tosavk_custom_set_* and tosavk_device_set_customs from any thread, at once; tosavk_custom_set_release when
 * no other call uses the set. */

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

/* Callbacks return NULL, or what is wrong: an error of tosavk_error_create, or one that a function of the library gave
 * them. It is the library's then, which puts the node before its sentence and ends the call that it is in with its
 * status. They may be called from any thread, several at once, and must not throw.
 *
 *   check      within tosavk_builder_node, _finish and _probe, tosavk_graph_load_* and tosavk_probe_*, and again with
 *              the other two. A node that it refuses is TOSAVK_ERROR_BAD_MODEL or TOSAVK_ERROR_UNSUPPORTED.
 *   plan       within tosavk_compile, tosavk_checker_create and tosavk_tune
 *   reference  within tosavk_reference_run, tosavk_checker_run and tosavk_tune
 *
 * They may call the library, but not with the objects that the call they are in works on. */
typedef tosavk_error* (*tosavk_custom_check)(void* user, const tosavk_custom_node* node);
typedef tosavk_error* (*tosavk_custom_plan)(void* user, const tosavk_custom_node* node,
                                            tosavk_custom_dispatch* dispatch);
typedef tosavk_error* (*tosavk_custom_reference)(void* user, const tosavk_custom_node* node, const void* const* inputs,
                                                 void* const* outputs);
/* Called once, when nothing calls the operator any more: its set, and the graphs, builders, devices and executables
 * that have it, are gone. From any thread, within any call of the library, which it must not call itself. */
typedef void (*tosavk_custom_released)(void* user);

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
    void* user;                        /* passed to the callbacks */
    tosavk_custom_released release;    /* may be NULL, where `user` lives as long as the process */
    double tolerance;                  /* of float results against the reference, relative; 0: the same bits */
} tosavk_custom_operator;

/* A set of operators belongs to who makes it; nothing is registered for the process, so that two users of the library
 * may mean different things by one name. A graph takes it where it is made (tosavk_load_options.customs,
 * tosavk_builder_options.customs), and each of its nodes keeps the operator that the set has then. A device takes one
 * too, for the nodes that have none yet when their graph is compiled, checked or tuned for it. A graph with a CUSTOM
 * that no set had can be loaded, printed and saved; compiling or interpreting it is TOSAVK_ERROR_UNSUPPORTED. Files and
 * packages hold no operators: tosavk_package_save refuses a graph with CUSTOM (TOSAVK_ERROR_UNSUPPORTED). */
TOSAVK_API tosavk_status tosavk_custom_set_create(tosavk_custom_set** set, tosavk_error** error);
/* TOSAVK_ERROR_USAGE when the set has the name already or a needed field is missing; `release` is not called then.
 * Graphs made before do not see it. */
TOSAVK_API tosavk_status tosavk_custom_set_add(tosavk_custom_set* set, const tosavk_custom_operator* op,
                                               tosavk_error** error);
/* What took the set keeps its operators. */
TOSAVK_API void tosavk_custom_set_release(tosavk_custom_set* set);
/* From the next compile on; as the set is now. It takes the place of the one before, NULL that of none. What is
 * compiled stays as it is. */
TOSAVK_API tosavk_status tosavk_device_set_customs(tosavk_device* device, const tosavk_custom_set* set,
                                                   tosavk_error** error);

#ifdef __cplusplus
}
#endif
#endif /* TOSAVK_BUILD_H */
