// What a TFLite runtime and a delegate share: the C structs of its ABI, declared here as they are since 2.9 (sizes
// below; the fields that later runtimes appended are at the ends). Only what this delegate uses has a type.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tosavk::delegate {

enum Status : int { status_ok = 0, status_error = 1, status_delegate_error = 2 };

/// Numbers of a tensor's type; those of the file format differ (type_in_file).
enum Type : int {
    type_none = 0,
    type_float32 = 1,
    type_int32 = 2,
    type_uint8 = 3,
    type_int64 = 4,
    type_string = 5,
    type_bool = 6,
    type_int16 = 7,
    type_complex64 = 8,
    type_int8 = 9,
    type_float16 = 10,
    type_float64 = 11,
    type_complex128 = 12,
    type_uint64 = 13,
    type_resource = 14,
    type_variant = 15,
    type_uint32 = 16,
    type_uint16 = 17,
    type_int4 = 18,
    type_bfloat16 = 19,
    type_int2 = 20,
    type_uint4 = 21,
    type_float8_e4m3fn = 22,
    type_float8_e5m2 = 23
};

enum AllocationType : int {
    memory_none = 0,
    memory_file = 1,  ///< a constant of the model
    memory_arena = 2,
    memory_arena_persistent = 3,
    memory_dynamic = 4  ///< its size is known when the graph runs
};

struct IntArray {
    int size;
    int data[1];  ///< `size` of them
};
struct FloatArray {
    int size;
    float data[1];
};

enum QuantizationType : int { quantization_none = 0, quantization_affine = 1, quantization_blockwise = 2 };
struct Quantization {
    int type;  ///< a QuantizationType
    void* params;
};
struct AffineQuantization {
    FloatArray* scale;
    IntArray* zero_point;
    std::int32_t dimension;
};
struct PlainQuantization {
    float scale;
    std::int32_t zero_point;
};

struct DimensionMetadata {
    int format;  ///< 0 dense, 1 compressed sparse rows
    int dense_size;
    IntArray* segments;
    IntArray* indices;
};
struct Sparsity {
    IntArray* traversal_order;
    IntArray* block_map;
    DimensionMetadata* dimensions;
    int dimension_count;
};

struct Delegate;

struct Tensor {
    int type;  ///< a Type
    void* data;
    IntArray* dims;
    PlainQuantization params;
    int allocation_type;  ///< an AllocationType
    std::size_t bytes;
    const void* allocation;
    const char* name;
    Delegate* delegate;  ///< that has the tensor's value behind `buffer_handle`
    int buffer_handle;
    bool data_is_stale;  ///< the value is there alone
    bool is_variable;
    Quantization quantization;
    Sparsity* sparsity;
    const IntArray* dims_signature;
};
static_assert(sizeof(Tensor) == 112 && offsetof(Tensor, delegate) == 64 && offsetof(Tensor, sparsity) == 96);
inline constexpr int no_buffer_handle = -1;

struct Node {
    IntArray* inputs;
    IntArray* outputs;
    IntArray* intermediates;
    IntArray* temporaries;
    void* user_data;
    void* builtin_data;
    const void* custom_data;
    int custom_data_size;
    Delegate* delegate;
    bool might_have_side_effect;
};
static_assert(sizeof(Node) == 80 && offsetof(Node, delegate) == 64);

struct DelegateParams {
    Delegate* delegate;
    IntArray* nodes;
    IntArray* inputs;
    IntArray* outputs;
};
static_assert(sizeof(DelegateParams) == 32);

struct Context;

/// 64 bytes in 2.9, 88 today; passed by value, and what is behind it is not read by those that have less.
struct Registration {
    void* (*init)(Context*, const char* buffer, std::size_t length);
    void (*free)(Context*, void* data);
    Status (*prepare)(Context*, Node*);
    Status (*invoke)(Context*, Node*);
    const char* (*profiling_string)(const Context*, const Node*);
    std::int32_t builtin_code;
    const char* custom_name;
    int version;
    void* external;
    void* async_kernel;
    std::uint64_t inplace_operator;
};
static_assert(sizeof(Registration) == 88 && offsetof(Registration, external) == 64);

struct Context {
    std::size_t tensor_count;
    Status (*get_execution_plan)(Context*, IntArray** plan);
    Tensor* tensors;
    void* implementation;
    /// Takes the array over, which was made by malloc.
    Status (*resize_tensor)(Context*, Tensor*, IntArray* dims);
    void (*report_error)(Context*, const char* format, ...);
    Status (*add_tensors)(Context*, int count, int* first);
    Status (*get_node)(Context*, int index, Node** node, Registration** registration);
    Status (*replace_nodes)(Context*, Registration registration, const IntArray* nodes, Delegate* delegate);
    int threads;
    void* (*get_external_context)(Context*, int type);
    void (*set_external_context)(Context*, int type, void* external);
    bool relax_to_fp16;
    void* profiler;
    void* (*allocate_persistent)(Context*, std::size_t bytes);
    Status (*allocate_for_eval)(Context*, std::size_t bytes, void** data);
    Status (*request_scratch)(Context*, std::size_t bytes, int* index);
    void* (*get_scratch)(Context*, int index);
    Status (*resize_tensor_explicit)(Context*, Tensor*, int rank, const int* dims);
    /// The partitions that replace_nodes would make; theirs until the next call.
    Status (*preview_partitions)(Context*, const IntArray* nodes, DelegateParams** partitions, int* count);
    Tensor* (*get_tensor)(const Context*, int index);
    void* (*get_eval_tensor)(const Context*, int index);
    Status (*get_metadata)(const Context*, const char* name, const char** data, std::size_t* bytes);
    void* more[2];  ///< not in 2.9
};
static_assert(sizeof(Context) == 200 && offsetof(Context, preview_partitions) == 152 && offsetof(Context, more) == 184);

enum DelegateFlags : std::int64_t {
    allow_dynamic_tensors = 1,
    require_propagated_shapes = 2  ///< shapes are known when a kernel is prepared, also after inputs were resized
};

struct Delegate {
    void* data;
    Status (*prepare)(Context*, Delegate*);
    Status (*copy_from_handle)(Context*, Delegate*, int handle, Tensor*);
    Status (*copy_to_handle)(Context*, Delegate*, int handle, Tensor*);
    void (*free_handle)(Context*, Delegate*, int* handle);
    std::int64_t flags;
    void* opaque_builder;  ///< not in 2.9
};
static_assert(sizeof(Delegate) == 56 && offsetof(Delegate, opaque_builder) == 48);

}  // namespace tosavk::delegate
