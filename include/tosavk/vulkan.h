/* For programs that use Vulkan themselves: the library on your VkDevice, its buffers in your commands, and graphs
 * recorded into your command buffers. The rules at the head of tosavk.h hold here too.
 *
 *   tosavk_device_adopt      your VkInstance, VkPhysicalDevice, VkDevice and queue become a tosavk_device
 *   tosavk_buffer_adopt      your VkBuffer becomes a tosavk_buffer; tosavk_buffer_vulkan is the way back
 *   tosavk_binding_set*      an executable with the memory of one run; one thread at a time
 *
 * The library calls Vulkan through the two functions that it is given and never asks the loader: it may sit inside a
 * layer. What it creates, command buffers of contexts included, is created through them too.
 *
 * This header includes <vulkan/vulkan_core.h>, unless you have included Vulkan's headers, in your own way, before it.
 */
#ifndef TOSAVK_VULKAN_H
#define TOSAVK_VULKAN_H

#ifndef VULKAN_CORE_H_
#include <vulkan/vulkan_core.h>
#endif

#include "tosavk/tosavk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Threads: tosavk_device_adopt, tosavk_buffer_adopt, tosavk_buffer_vulkan, tosavk_semaphore_adopt,
 * tosavk_semaphore_vulkan, tosavk_executable_vulkan_memory, tosavk_binding_set_create and tosavk_get_vulkan_api from
 * any thread, at once. All other tosavk_binding_set_* with one set one call at a time; Vulkan's rules for the command
 * buffer and its pool are the caller's to keep. */

/* ---- your device -------------------------------------------------------------------------------------------- */

/* Device memory of your allocator. */
typedef struct tosavk_vulkan_memory {
    size_t struct_size; /* set by the library, whose struct it is: what it passes to you has so many bytes */
    VkDeviceMemory memory;
    VkDeviceSize offset; /* a multiple of the requirements' alignment */
    void* mapped;        /* the bytes at `offset`, or NULL */
    void* cookie;        /* yours */
} tosavk_vulkan_memory;

/* Fills `memory` with room for `requirements`, of memory type number `memory_type`; mapped for as long as it is used
 * where `mapped` is 1 (memory that is not host-coherent: at multiples of nonCoherentAtomSize). VK_SUCCESS, or an error.
 * Called from any thread, as is the other. */
typedef VkResult (*tosavk_vulkan_allocate)(void* user, const VkMemoryRequirements* requirements, uint32_t memory_type,
                                           int32_t mapped, tosavk_vulkan_memory* memory);
typedef void (*tosavk_vulkan_free)(void* user, const tosavk_vulkan_memory* memory);
typedef void (*tosavk_vulkan_queue_lock)(void* user);

typedef struct tosavk_vulkan_device {
    size_t struct_size;
    VkInstance instance; /* of Vulkan 1.1 or later */
    VkPhysicalDevice physical_device;
    VkDevice device;
    PFN_vkGetInstanceProcAddr get_instance_proc_addr;
    PFN_vkGetDeviceProcAddr get_device_proc_addr;
    /* What the device was made with: its extensions and features (pNext and pEnabledFeatures) are what the library may
     * use. Useful to it, where the device has them: shaderInt64, shaderFloat16, timelineSemaphore,
     * shaderIntegerDotProduct; VK_KHR_shader_float_controls below Vulkan 1.2; for cooperative matrices VK_KHR_
     * cooperative_matrix with shaderInt8, subgroupSizeControl, computeFullSubgroups, vulkanMemoryModel and
     * vulkanMemoryModelDeviceScope. */
    const VkDeviceCreateInfo* create_info;
    uint32_t api_version;  /* VkApplicationInfo.apiVersion of the instance */
    uint32_t queue_family; /* which must compute; of `queue`, and of the command buffers that are recorded into */
    VkQueue queue;         /* NULL: nothing is submitted; contexts cannot run then, and tensors reach buffers mapped */
    tosavk_vulkan_queue_lock lock_queue; /* both NULL: nobody else uses the queue */
    tosavk_vulkan_queue_lock unlock_queue;
    /* Both NULL: vkAllocateMemory. Memory that is exported or imported comes from the driver in any case. */
    tosavk_vulkan_allocate allocate;
    tosavk_vulkan_free release;
    void* user; /* passed to the four callbacks */
} tosavk_vulkan_device;

/* The device, as any other, but for what `options` (may be NULL) says to choose it by, which must be 0. Yours must
 * outlive it and everything made with it. TOSAVK_ERROR_NO_DEVICE where Vulkan 1.1 is missing, or a
 * function without which nothing runs. That get_device_proc_addr knows the other functions of Vulkan 1.1, and those of
 * the version and the extensions that the device was made with, is for you to see to, as of any loader. */
TOSAVK_API tosavk_status tosavk_device_adopt(const tosavk_vulkan_device* lent, const tosavk_device_options* options,
                                             tosavk_device** device, tosavk_error** error);

/* ---- buffers ------------------------------------------------------------------------------------------------ */

/* A part of a VkBuffer. */
typedef struct tosavk_vulkan_range {
    size_t struct_size;
    VkBuffer buffer;
    VkDeviceSize offset;
    VkDeviceSize size;
    VkBufferUsageFlags usage; /* that the buffer was created with. TRANSFER_SRC and TRANSFER_DST are taken for granted;
                                 STORAGE_BUFFER and UNIFORM_TEXEL_BUFFER save copies (tosavk_binding_info) */
    uint32_t flags;           /* of a tensor: tosavk_bind_flags */
    const int64_t* strides;   /* of a tensor: bytes from one element to the next along each dimension, outermost first,
                                 in any order of size, no element over another; NULL: dense. A dispatch of its own copies
                                 such a tensor, by the 4-byte words that it touches: these must lie in the buffer */
} tosavk_vulkan_range;

/* Your buffer as a tosavk_buffer, for contexts, uploads and the like; it must outlive that and its parts. What your own
 * commands do to it is for you to order: a context's run begins when it is submitted. A VkBuffer that is adopted twice
 * by one device is the same buffer still, as parts of one are; two VkBuffers on the same memory are taken for two
 * memories, and so is a VkBuffer that two devices have adopted. */
TOSAVK_API tosavk_status tosavk_buffer_adopt(tosavk_device* device, const tosavk_vulkan_range* range,
                                             tosavk_buffer** buffer, tosavk_error** error);
/* Where a tosavk_buffer lies, for your own commands. */
TOSAVK_API tosavk_status tosavk_buffer_vulkan(const tosavk_buffer* buffer, tosavk_vulkan_range* range,
                                              tosavk_error** error);

/* Your timeline semaphore as a tosavk_semaphore, which it must outlive; and the way back. */
TOSAVK_API tosavk_status tosavk_semaphore_adopt(tosavk_device* device, VkSemaphore vulkan, tosavk_semaphore** semaphore,
                                                tosavk_error** error);
TOSAVK_API tosavk_status tosavk_semaphore_vulkan(const tosavk_semaphore* semaphore, VkSemaphore* vulkan,
                                                 tosavk_error** error);

/* ---- your command buffer ------------------------------------------------------------------------------------ */

/* The memory that a recorded run wants beside its tensors. */
typedef struct tosavk_vulkan_memory_needs {
    size_t struct_size;
    uint64_t arena_bytes;             /* where every tensor is used in place; may be 0 */
    uint64_t arena_bytes_with_copies; /* where some are copied, or strided */
    uint64_t alignment;               /* of the arena's offset, and of the constants' */
    uint64_t constant_bytes;          /* may be 0 */
    VkBuffer constants;               /* the executable's own buffer of them, to be used or copied from; NULL where it
                                         shares them with others (model.h) */
    VkDeviceSize constants_offset;
    uint32_t usage; /* VkBufferUsageFlags of arena and constants */
    uint32_t reserved;
} tosavk_vulkan_memory_needs;

TOSAVK_API tosavk_status tosavk_executable_vulkan_memory(const tosavk_executable* executable,
                                                         tosavk_vulkan_memory_needs* needs, tosavk_error** error);

typedef struct tosavk_binding_set tosavk_binding_set;

/* Where the tensors of a run lie: one range for each input and output of the graph, by index; their sizes are at least
 * those of the tensors, and the range of a tensor without elements is not looked at. The rules for ranges that share
 * bytes are those of tosavk_context_bind_input. Strided outputs may lie between one another's elements where their
 * strides show it: where each has a part of a period that all larger strides are multiples of, as interleaved channels
 * and blocks of columns do. */
typedef struct tosavk_vulkan_bindings {
    size_t struct_size;
    const tosavk_vulkan_range* arena;     /* its bytes are undefined before and after; runs at the same time need their
                                             own. NULL where tosavk_vulkan_memory_needs says 0 bytes */
    const tosavk_vulkan_range* constants; /* NULL: the executable's own */
    const tosavk_vulkan_range* inputs;
    size_t input_count;
    const tosavk_vulkan_range* outputs;
    size_t output_count;
} tosavk_vulkan_bindings;

/* Keeps the executable alive. Variables of the graph live in the set: between two recorded runs of a set whose graph
 * has some, a global memory barrier (VkMemoryBarrier) must stand, from shader and transfer writes to shader and
 * transfer reads and writes; one for your own buffers does not reach them. TOSAVK_ERROR_UNSUPPORTED for a graph with
 * COND_IF, which needs the host between its dispatches, or WHILE_LOOP, but where the graph alone says how often the
 * loop turns: then all its turns are recorded, 65536 at most. */
TOSAVK_API tosavk_status tosavk_binding_set_create(tosavk_executable* executable, tosavk_binding_set** set,
                                                   tosavk_error** error);
/* Writes the descriptor sets; nothing recorded with the set may be executing. What was recorded before is invalid from
 * then on, unless the device was made with descriptorBindingStorageBufferUpdateAfterBind and
 * descriptorBindingUniformTexelBufferUpdateAfterBind: then it uses the new ranges (TOSAVK_ERROR_USAGE where a tensor is
 * copied or packed, before or now, and where the graph itself has copies or loops, whose buffers are recorded: record
 * another set then). TOSAVK_ERROR_BAD_INPUT for a range that is too small or not aligned, and
 * _USAGE where arena or constants overlap a tensor. After an error the set is as it was, and what was recorded with it
 * still holds. */
TOSAVK_API tosavk_status tosavk_binding_set_write(tosavk_binding_set* set, const tosavk_vulkan_bindings* bindings,
                                                  tosavk_error** error);

/* What a recorded run does to memory: the barrier before it must make inputs visible to the first stages and accesses
 * (and what used the outputs and the arena before must be done), the barrier after it comes behind the last ones. A run
 * that does nothing (all of its tensors are empty) has no stages: no barrier is needed then. */
typedef struct tosavk_vulkan_access {
    size_t struct_size;
    VkPipelineStageFlags first_stages;
    VkAccessFlags first_access;
    VkPipelineStageFlags last_stages;
    VkAccessFlags last_access;
    uint64_t copies; /* of tensors that cannot be used in place */
} tosavk_vulkan_access;

TOSAVK_API tosavk_status tosavk_binding_set_access(const tosavk_binding_set* set, tosavk_vulkan_access* access,
                                                   tosavk_error** error);
/* Records one run into a command buffer that is being recorded, outside of a render pass: all dispatches, copies and
 * the barriers between them, none before and none after. Disturbed is what the compute bind point has: the pipeline and
 * every descriptor set, since set 0 is bound with layouts of the library's own; and push constants, of all stages. No
 * other state is, that of graphics neither. The set must stay until the commands have been executed. A long graph is
 * one submit: that no watchdog fires is for the caller to see to. */
TOSAVK_API tosavk_status tosavk_binding_set_record(tosavk_binding_set* set, VkCommandBuffer commands,
                                                   tosavk_error** error);
TOSAVK_API void tosavk_binding_set_release(tosavk_binding_set* set);

/* The functions of this header in one table, as tosavk_get_api. */
typedef struct tosavk_vulkan_api {
    size_t struct_size;
    uint32_t api_version;
    uint32_t reserved;
    tosavk_status (*device_adopt)(const tosavk_vulkan_device* lent, const tosavk_device_options* options,
                                  tosavk_device** device, tosavk_error** error);
    tosavk_status (*buffer_adopt)(tosavk_device* device, const tosavk_vulkan_range* range, tosavk_buffer** buffer,
                                  tosavk_error** error);
    tosavk_status (*buffer_vulkan)(const tosavk_buffer* buffer, tosavk_vulkan_range* range, tosavk_error** error);
    tosavk_status (*semaphore_adopt)(tosavk_device* device, VkSemaphore vulkan, tosavk_semaphore** semaphore,
                                     tosavk_error** error);
    tosavk_status (*semaphore_vulkan)(const tosavk_semaphore* semaphore, VkSemaphore* vulkan, tosavk_error** error);
    tosavk_status (*executable_vulkan_memory)(const tosavk_executable* executable, tosavk_vulkan_memory_needs* needs,
                                              tosavk_error** error);
    tosavk_status (*binding_set_create)(tosavk_executable* executable, tosavk_binding_set** set, tosavk_error** error);
    tosavk_status (*binding_set_write)(tosavk_binding_set* set, const tosavk_vulkan_bindings* bindings,
                                       tosavk_error** error);
    tosavk_status (*binding_set_access)(const tosavk_binding_set* set, tosavk_vulkan_access* access,
                                        tosavk_error** error);
    tosavk_status (*binding_set_record)(tosavk_binding_set* set, VkCommandBuffer commands, tosavk_error** error);
    void (*binding_set_release)(tosavk_binding_set* set);
} tosavk_vulkan_api;

/* NULL for a version that this library does not have. */
TOSAVK_API const tosavk_vulkan_api* tosavk_get_vulkan_api(uint32_t version);

#ifdef __cplusplus
}
#endif
#endif /* TOSAVK_VULKAN_H */
