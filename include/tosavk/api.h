/* Every function but those of vulkan.h in one table, for hosts that load the library at run time: they look up one
 * symbol. */
#ifndef TOSAVK_API_H
#define TOSAVK_API_H

#include "tosavk/build.h"
#include "tosavk/model.h"
#include "tosavk/tools.h"
#include "tosavk/tosavk.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tosavk_api {
    size_t struct_size;   /* of this library's table: functions past it are missing */
    uint32_t api_version; /* TOSAVK_API_VERSION of this library */
    uint32_t reserved;
    /* tosavk.h */
    const char* (*version)(void);
    tosavk_status (*error_status)(const tosavk_error* error);
    const char* (*error_message)(const tosavk_error* error);
    const char* (*error_node)(const tosavk_error* error);
    const char* (*error_operand)(const tosavk_error* error);
    void (*error_release)(tosavk_error* error);
    tosavk_error* (*error_create)(int32_t status, const char* message, const char* node, const char* operand);
    const char* (*text_data)(const tosavk_text* text);
    size_t (*text_size)(const tosavk_text* text);
    void (*text_release)(tosavk_text* text);
    const void* (*bytes_data)(const tosavk_bytes* bytes);
    size_t (*bytes_size)(const tosavk_bytes* bytes);
    void (*bytes_release)(tosavk_bytes* bytes);
    const char* (*type_name)(int32_t type);
    size_t (*type_size)(int32_t type);
    tosavk_status (*set_log)(const char* topics, tosavk_log_callback callback, void* user, tosavk_error** error);
    tosavk_status (*device_count)(uint32_t* count, tosavk_error** error);
    tosavk_status (*device_describe)(uint32_t index, tosavk_text** json, tosavk_error** error);
    tosavk_status (*device_open)(const char* name, tosavk_device** device, tosavk_error** error);
    tosavk_status (*device_open_with)(const tosavk_device_options* options, tosavk_device** device,
                                      tosavk_error** error);
    const char* (*device_name)(const tosavk_device* device);
    const char* (*device_driver)(const tosavk_device* device);
    tosavk_status (*device_memory)(const tosavk_device* device, tosavk_memory_info* info, tosavk_error** error);
    void (*device_release)(tosavk_device* device);
    tosavk_status (*graph_load_file)(const char* path, const tosavk_load_options* options, tosavk_graph** graph,
                                     tosavk_error** error);
    tosavk_status (*graph_load_memory)(const void* data, size_t size_bytes, const tosavk_load_options* options,
                                       tosavk_graph** graph, tosavk_error** error);
    tosavk_status (*graph_load_stream)(tosavk_read_callback read, void* user, const tosavk_load_options* options,
                                       tosavk_graph** graph, tosavk_error** error);
    tosavk_status (*probe_file)(const char* path, const tosavk_load_options* options, tosavk_text** json,
                                tosavk_error** error);
    tosavk_status (*probe_memory)(const void* data, size_t size_bytes, const tosavk_load_options* options,
                                  tosavk_text** json, tosavk_error** error);
    tosavk_status (*describe_file)(const char* path, tosavk_text** json, tosavk_error** error);
    tosavk_status (*describe_memory)(const void* data, size_t size_bytes, tosavk_text** json, tosavk_error** error);
    uint32_t (*graph_input_count)(const tosavk_graph* graph);
    uint32_t (*graph_output_count)(const tosavk_graph* graph);
    uint32_t (*graph_node_count)(const tosavk_graph* graph);
    uint32_t (*graph_variable_count)(const tosavk_graph* graph);
    tosavk_status (*graph_input)(const tosavk_graph* graph, uint32_t index, tosavk_tensor_info* info,
                                 tosavk_error** error);
    tosavk_status (*graph_output)(const tosavk_graph* graph, uint32_t index, tosavk_tensor_info* info,
                                  tosavk_error** error);
    tosavk_status (*graph_print)(const tosavk_graph* graph, int32_t kind, tosavk_text** text, tosavk_error** error);
    tosavk_status (*graph_save_file)(const tosavk_graph* graph, const char* path, tosavk_error** error);
    tosavk_status (*graph_save_memory)(const tosavk_graph* graph, tosavk_bytes** file, tosavk_error** error);
    tosavk_status (*graph_save_stream)(const tosavk_graph* graph, tosavk_write_callback write, void* user,
                                       tosavk_error** error);
    tosavk_status (*graph_with_precision)(const tosavk_graph* graph, int32_t precision, tosavk_graph** converted,
                                          tosavk_error** error);
    void (*graph_release)(tosavk_graph* graph);
    tosavk_status (*compile)(tosavk_device* device, const tosavk_graph* graph, const tosavk_compile_options* options,
                             tosavk_executable** executable, tosavk_error** error);
    tosavk_status (*package_save)(tosavk_device* device, const tosavk_graph* graph,
                                  const tosavk_compile_options* options, const char* path, tosavk_error** error);
    tosavk_status (*package_save_memory)(tosavk_device* device, const tosavk_graph* graph,
                                         const tosavk_compile_options* options, tosavk_bytes** file,
                                         tosavk_error** error);
    tosavk_status (*package_save_stream)(tosavk_device* device, const tosavk_graph* graph,
                                         const tosavk_compile_options* options, tosavk_write_callback write, void* user,
                                         tosavk_error** error);
    tosavk_status (*executable_print)(const tosavk_executable* executable, int32_t kind, tosavk_text** text,
                                      tosavk_error** error);
    void (*executable_release)(tosavk_executable* executable);
    tosavk_status (*buffer_create)(tosavk_device* device, const tosavk_buffer_options* options, tosavk_buffer** buffer,
                                   tosavk_error** error);
    tosavk_status (*buffer_import_host)(tosavk_device* device, void* data, uint64_t size_bytes, tosavk_buffer** buffer,
                                        tosavk_error** error);
    tosavk_status (*buffer_import_fd)(tosavk_device* device, int32_t fd, const tosavk_buffer_options* options,
                                      tosavk_buffer** buffer, tosavk_error** error);
    tosavk_status (*buffer_export_fd)(const tosavk_buffer* buffer, int32_t* fd, tosavk_error** error);
    tosavk_status (*buffer_slice)(const tosavk_buffer* buffer, uint64_t offset, uint64_t size_bytes,
                                  tosavk_buffer** part, tosavk_error** error);
    tosavk_status (*buffer_describe)(const tosavk_buffer* buffer, tosavk_buffer_info* info, tosavk_error** error);
    tosavk_status (*buffer_upload)(tosavk_buffer* buffer, uint64_t offset, const void* data, size_t size_bytes,
                                   tosavk_error** error);
    tosavk_status (*buffer_download)(const tosavk_buffer* buffer, uint64_t offset, void* data, size_t size_bytes,
                                     tosavk_error** error);
    tosavk_status (*buffer_fill)(tosavk_buffer* buffer, uint64_t offset, uint64_t size_bytes, uint8_t value,
                                 tosavk_error** error);
    tosavk_status (*buffer_copy)(const tosavk_buffer* from, uint64_t from_offset, tosavk_buffer* to, uint64_t to_offset,
                                 uint64_t size_bytes, tosavk_error** error);
    tosavk_status (*buffer_map)(const tosavk_buffer* buffer, void** data, tosavk_error** error);
    tosavk_status (*buffer_unmap)(const tosavk_buffer* buffer, tosavk_error** error);
    tosavk_status (*buffer_wait)(const tosavk_buffer* buffer, uint64_t timeout_ns, int32_t* idle, tosavk_error** error);
    void (*buffer_release)(tosavk_buffer* buffer);
    tosavk_status (*executable_input_binding)(const tosavk_executable* executable, uint32_t index,
                                              tosavk_binding_info* info, tosavk_error** error);
    tosavk_status (*executable_output_binding)(const tosavk_executable* executable, uint32_t index,
                                               tosavk_binding_info* info, tosavk_error** error);
    tosavk_status (*semaphore_create)(tosavk_device* device, const tosavk_semaphore_options* options,
                                      tosavk_semaphore** semaphore, tosavk_error** error);
    tosavk_status (*semaphore_import_fd)(tosavk_device* device, int32_t fd, tosavk_semaphore** semaphore,
                                         tosavk_error** error);
    tosavk_status (*semaphore_export_fd)(const tosavk_semaphore* semaphore, int32_t* fd, tosavk_error** error);
    tosavk_status (*semaphore_value)(const tosavk_semaphore* semaphore, uint64_t* value, tosavk_error** error);
    tosavk_status (*semaphore_signal)(tosavk_semaphore* semaphore, uint64_t value, tosavk_error** error);
    tosavk_status (*semaphore_wait)(const tosavk_semaphore* semaphore, uint64_t value, uint64_t timeout_ns,
                                    int32_t* reached, tosavk_error** error);
    void (*semaphore_release)(tosavk_semaphore* semaphore);
    tosavk_status (*context_create)(tosavk_executable* executable, const tosavk_context_options* options,
                                    tosavk_context** context, tosavk_error** error);
    tosavk_status (*context_set_input)(tosavk_context* context, uint32_t index, const void* data, size_t size_bytes,
                                       tosavk_error** error);
    tosavk_status (*context_set_input_as)(tosavk_context* context, uint32_t index, int32_t type, const void* data,
                                          size_t size_bytes, tosavk_error** error);
    tosavk_status (*context_bind_input)(tosavk_context* context, uint32_t index, tosavk_buffer* buffer, uint32_t flags,
                                        tosavk_error** error);
    tosavk_status (*context_bind_output)(tosavk_context* context, uint32_t index, tosavk_buffer* buffer, uint32_t flags,
                                         tosavk_error** error);
    tosavk_status (*context_run)(tosavk_context* context, tosavk_error** error);
    tosavk_status (*context_submit)(tosavk_context* context, tosavk_error** error);
    tosavk_status (*context_wait)(tosavk_context* context, tosavk_error** error);
    tosavk_status (*context_submit_with)(tosavk_context* context, const tosavk_submit_options* options,
                                         tosavk_error** error);
    tosavk_status (*contexts_wait)(tosavk_context* const* contexts, size_t count, int32_t any, uint64_t timeout_ns,
                                   int32_t* finished, tosavk_error** error);
    tosavk_status (*context_wait_for)(tosavk_context* context, uint64_t timeout_ns, int32_t* finished,
                                      tosavk_error** error);
    tosavk_status (*context_get_output)(tosavk_context* context, uint32_t index, void* data, size_t size_bytes,
                                        tosavk_error** error);
    tosavk_status (*context_get_output_as)(tosavk_context* context, uint32_t index, int32_t type, void* data,
                                           size_t size_bytes, tosavk_error** error);
    tosavk_status (*context_counters)(const tosavk_context* context, tosavk_counters* counters, tosavk_error** error);
    uint32_t (*context_dispatch_count)(const tosavk_context* context);
    tosavk_status (*context_dispatch)(const tosavk_context* context, uint32_t index, tosavk_dispatch_info* info,
                                      tosavk_error** error);
    tosavk_status (*context_reset_variables)(tosavk_context* context, tosavk_error** error);
    void (*context_release)(tosavk_context* context);
    /* build.h */
    tosavk_status (*builder_create)(const tosavk_builder_options* options, tosavk_builder** builder,
                                    tosavk_error** error);
    void (*builder_release)(tosavk_builder* builder);
    tosavk_status (*builder_input)(tosavk_builder* builder, const char* name, const tosavk_tensor_desc* desc,
                                   uint32_t* value, tosavk_error** error);
    tosavk_status (*builder_constant)(tosavk_builder* builder, const char* name, const tosavk_tensor_desc* desc,
                                      const void* data, size_t size_bytes, uint32_t* value, tosavk_error** error);
    tosavk_status (*builder_constant_borrowed)(tosavk_builder* builder, const char* name,
                                               const tosavk_tensor_desc* desc, const void* data, size_t size_bytes,
                                               tosavk_release_callback release, void* user, uint32_t* value,
                                               tosavk_error** error);
    tosavk_status (*builder_shape)(tosavk_builder* builder, const char* name, const int64_t* numbers, size_t count,
                                   uint32_t* value, tosavk_error** error);
    tosavk_status (*builder_variable)(tosavk_builder* builder, const char* name, const tosavk_tensor_desc* desc,
                                      const void* initial, size_t size_bytes, tosavk_error** error);
    tosavk_status (*builder_node)(tosavk_builder* builder, const tosavk_node_desc* node, uint32_t* values,
                                  size_t capacity, size_t* count, tosavk_error** error);
    tosavk_status (*builder_region)(const tosavk_builder* builder, const char* name, tosavk_builder** region,
                                    tosavk_error** error);
    tosavk_status (*builder_output)(tosavk_builder* builder, uint32_t value, tosavk_error** error);
    tosavk_status (*builder_value)(const tosavk_builder* builder, uint32_t value, tosavk_tensor_info* info,
                                   tosavk_error** error);
    tosavk_status (*builder_probe)(const tosavk_builder* builder, tosavk_text** json, tosavk_error** error);
    tosavk_status (*builder_finish)(tosavk_builder* builder, tosavk_graph** graph, tosavk_error** error);
    tosavk_status (*custom_set_create)(tosavk_custom_set** set, tosavk_error** error);
    tosavk_status (*custom_set_add)(tosavk_custom_set* set, const tosavk_custom_operator* op, tosavk_error** error);
    void (*custom_set_release)(tosavk_custom_set* set);
    tosavk_status (*device_set_customs)(tosavk_device* device, const tosavk_custom_set* set, tosavk_error** error);
    /* model.h */
    tosavk_status (*model_open_file)(const char* path, const tosavk_load_options* load,
                                     const tosavk_model_options* options, tosavk_model** model, tosavk_error** error);
    tosavk_status (*model_open_memory)(const void* data, size_t size_bytes, const tosavk_load_options* load,
                                       const tosavk_model_options* options, tosavk_model** model, tosavk_error** error);
    tosavk_status (*model_file)(const tosavk_model* model, tosavk_bytes** file, tosavk_error** error);
    uint32_t (*model_input_count)(const tosavk_model* model);
    uint32_t (*model_output_count)(const tosavk_model* model);
    uint32_t (*model_symbol_count)(const tosavk_model* model);
    tosavk_status (*model_input)(const tosavk_model* model, uint32_t index, tosavk_open_tensor_info* info,
                                 tosavk_error** error);
    tosavk_status (*model_symbol)(const tosavk_model* model, uint32_t index, tosavk_symbol_info* info,
                                  tosavk_error** error);
    tosavk_status (*model_graph)(tosavk_model* model, const tosavk_bindings* bindings, tosavk_graph** graph,
                                 tosavk_error** error);
    tosavk_status (*specialize)(tosavk_model* model, tosavk_device* device, const tosavk_bindings* bindings,
                                const tosavk_compile_options* options, tosavk_executable** executable,
                                tosavk_error** error);
    tosavk_status (*model_context_create)(tosavk_model* model, tosavk_device* device,
                                          const tosavk_compile_options* compile, const tosavk_context_options* options,
                                          tosavk_context** context, tosavk_error** error);
    tosavk_status (*context_set_input_shape)(tosavk_context* context, uint32_t index, uint32_t rank,
                                             const int64_t* dims, tosavk_error** error);
    tosavk_status (*context_output_info)(tosavk_context* context, uint32_t index, tosavk_tensor_info* info,
                                         tosavk_error** error);
    tosavk_status (*model_count)(const tosavk_model* model, tosavk_model_counters* counters, tosavk_error** error);
    void (*model_release)(tosavk_model* model);
    /* tools.h */
    tosavk_status (*graph_load_problem)(const char* line, const tosavk_load_options* options, tosavk_graph** graph,
                                        tosavk_error** error);
    tosavk_status (*problems_describe)(tosavk_text** json, tosavk_error** error);
    tosavk_status (*device_limits)(tosavk_device* device, tosavk_text** json, tosavk_error** error);
    tosavk_status (*device_measure_limits)(tosavk_device* device, tosavk_text** json, tosavk_error** error);
    tosavk_status (*tune)(tosavk_device* device, const tosavk_graph* graph, const tosavk_tune_options* options,
                          tosavk_text** json, tosavk_error** error);
    tosavk_status (*reference_run)(const tosavk_graph* graph, const void* const* inputs, void* const* outputs,
                                   tosavk_error** error);
    tosavk_status (*reference_run_with)(const tosavk_graph* graph, const tosavk_reference_options* options,
                                        const void* const* inputs, void* const* outputs, tosavk_error** error);
    tosavk_status (*random_input)(const tosavk_graph* graph, uint32_t index, uint64_t seed, void* data,
                                  size_t size_bytes, tosavk_error** error);
    tosavk_status (*checker_create)(tosavk_device* device, const tosavk_graph* graph,
                                    const tosavk_checker_options* options, tosavk_checker** checker,
                                    tosavk_error** error);
    tosavk_status (*checker_run)(tosavk_checker* checker, uint64_t seed, tosavk_check_report* report,
                                 tosavk_error** error);
    tosavk_status (*checker_run_with)(tosavk_checker* checker, const void* const* inputs, tosavk_check_report* report,
                                      tosavk_error** error);
    void (*checker_release)(tosavk_checker* checker);
    tosavk_status (*ops_describe)(tosavk_text** json, tosavk_error** error);
    tosavk_status (*conformance_run)(tosavk_device* device, const tosavk_conformance_options* options,
                                     tosavk_conformance_callback callback, void* user,
                                     tosavk_conformance_summary* summary, tosavk_error** error);
    tosavk_status (*array_load)(const char* path, tosavk_array** array, tosavk_error** error);
    tosavk_status (*array_info)(const tosavk_array* array, tosavk_tensor_info* info, tosavk_error** error);
    const void* (*array_data)(const tosavk_array* array);
    tosavk_status (*array_convert)(const tosavk_array* array, int32_t type, tosavk_array** converted,
                                   tosavk_error** error);
    void (*array_release)(tosavk_array* array);
    tosavk_status (*array_save)(const char* path, int32_t type, uint32_t rank, const int64_t* dims, const void* data,
                                tosavk_error** error);
    tosavk_status (*array_save_raw)(const char* path, int32_t type, uint32_t rank, const int64_t* dims,
                                    const void* data, tosavk_error** error);
} tosavk_api;

/* Threads: tosavk_get_api from any thread, at once. */
/* The table for hosts that were written against `version`; static storage. NULL when the library does not offer it. */
TOSAVK_API const tosavk_api* tosavk_get_api(uint32_t version);
typedef const tosavk_api* (*tosavk_get_api_function)(uint32_t version);

#ifdef __cplusplus
}
#endif
#endif /* TOSAVK_API_H */
