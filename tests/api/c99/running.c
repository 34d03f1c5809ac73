/* Executables, contexts, buffers, semaphores, packages. */
#include "whole.h"

static const float input[4] = {10, 20, 30, 40};

static int adds_up(const float* y) { return y[0] == 11 && y[1] == 22 && y[2] == 33 && y[3] == 44; }

static int steps;
static int32_t count_steps(void* user, uint64_t done, uint64_t total) {
    (void)user;
    CHECK(done <= total);
    ++steps;
    return 0;
}
static int32_t end_at_once(void* user, uint64_t done, uint64_t total) {
    (void)user, (void)done, (void)total;
    return 1;
}
static int32_t count_bytes(void* user, const void* data, size_t size) {
    CHECK(data != NULL);
    *(size_t*)user += size;
    return 0;
}
static int32_t refuse_bytes(void* user, const void* data, size_t size) {
    (void)user, (void)data, (void)size;
    return 1;
}

static void test_packages(tosavk_device* device, const tosavk_graph* graph) {
    tosavk_bytes* file = NULL;
    tosavk_graph* again = NULL;
    size_t written = 0;
    char path[] = "/tmp/tosavk_c99_XXXXXX";
    FILE* made = fdopen(mkstemp(path), "w");
    CHECK(made != NULL);
    fclose(made);
    RIGHT(package_save_memory, device, graph, NULL, &file);
    WRONG(USAGE, package_save_memory, device, NULL, NULL, &file);
    RIGHT(package_save_stream, device, graph, NULL, count_bytes, &written);
    CHECK(written == PLAIN(bytes_size, file));
    WRONG(IO, package_save_stream, device, graph, NULL, refuse_bytes, NULL);
    RIGHT(package_save, device, graph, NULL, path);
    WRONG(IO, package_save, device, graph, NULL, "/nowhere/at/all");
    RIGHT(graph_load_file, path, NULL, &again);
    remove(path);
    PLAIN(graph_release, again);
    PLAIN(bytes_release, file);
}

static void test_contexts(tosavk_executable* executable) {
    tosavk_context *context = NULL, *other = NULL, *both[2];
    tosavk_context_options options;
    tosavk_counters counters;
    tosavk_dispatch_info dispatch;
    const double wide[4] = {10, 20, 30, 40}, huge[4] = {1e300, 0, 0, 0};
    const int64_t whole[4] = {10, 20, 30, 40};
    int64_t out[4] = {0, 0, 0, 0};
    float y[4] = {0, 0, 0, 0};
    int32_t finished[2] = {0, 0};

    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.profile = 1;
    RIGHT(context_create, executable, &options, &context);
    options.reserved = 5;
    WRONG(USAGE, context_create, executable, &options, &other);
    WRONG(USAGE, context_run, context);
    WRONG(USAGE, context_submit, context);
    WRONG(USAGE, context_get_output, context, 0, y, sizeof y);
    WRONG(USAGE, context_get_output_as, context, 0, TOSAVK_HOST_I64, out, sizeof out);
    RIGHT(context_set_input, context, 0, input, sizeof input);
    WRONG(BAD_INPUT, context_set_input, context, 0, input, 3);
    RIGHT(context_run, context);
    RIGHT(context_get_output, context, 0, y, sizeof y);
    CHECK(adds_up(y));
    RIGHT(context_get_output_as, context, 0, TOSAVK_HOST_I64, out, sizeof out);
    CHECK(out[0] == 11 && out[3] == 44);
    RIGHT(context_set_input_as, context, 0, TOSAVK_HOST_F64, wide, sizeof wide);
    WRONG(BAD_INPUT, context_set_input_as, context, 0, TOSAVK_HOST_F64, huge, sizeof huge);
    RIGHT(context_submit, context);
    WRONG(USAGE, context_submit, context);
    RIGHT(context_wait, context);
    WRONG(USAGE, context_wait, context);
    RIGHT(context_submit_with, context, NULL);
    while (!finished[0]) RIGHT(context_wait_for, context, 1000000, &finished[0]);
    WRONG(USAGE, context_wait_for, context, 0, NULL);
    WRONG(USAGE, context_submit_with, NULL, NULL);
    RIGHT(context_create, executable, NULL, &other);
    RIGHT(context_set_input_as, other, 0, TOSAVK_HOST_I64, whole, sizeof whole);
    RIGHT(context_submit, context);
    RIGHT(context_submit, other);
    both[0] = context;
    both[1] = other;
    RIGHT(contexts_wait, both, 2, 0, UINT64_MAX, finished);
    CHECK(finished[0] == 1 && finished[1] == 1);
    WRONG(USAGE, contexts_wait, both, 2, 0, 0, finished);
    RIGHT(context_get_output, other, 0, y, sizeof y);
    CHECK(adds_up(y));
    counters.struct_size = sizeof counters;
    RIGHT(context_counters, context, &counters);
    CHECK(counters.runs == 4 && counters.host_copies > 0);
    WRONG(USAGE, context_counters, context, NULL);
    CHECK(PLAIN(context_dispatch_count, context) == 1);
    dispatch.struct_size = sizeof dispatch;
    RIGHT(context_dispatch, context, 0, &dispatch);
    CHECK(strcmp(dispatch.label, "ADD") == 0);
    WRONG(USAGE, context_dispatch, context, 1, &dispatch);
    RIGHT(context_reset_variables, context);
    WRONG(USAGE, context_reset_variables, NULL);
    PLAIN(context_release, other);
    PLAIN(context_release, context);
    PLAIN(context_release, NULL);
}

void test_running(void) {
    tosavk_device* device = NULL;
    tosavk_graph* graph = adding_graph();
    tosavk_executable *executable = NULL, *none = NULL;
    tosavk_compile_options options;
    tosavk_text* text = NULL;
    tosavk_device_options no_cache;

    memset(&no_cache, 0, sizeof no_cache);
    no_cache.struct_size = sizeof no_cache;
    no_cache.no_cache = 1;
    RIGHT(device_open_with, &no_cache, &device);
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.progress = end_at_once;
    WRONG(CANCELLED, compile, device, graph, &options, &none);
    options.progress = count_steps;
    RIGHT(compile, device, graph, &options, &executable);
    CHECK(none == NULL && steps > 0);
    RIGHT(executable_print, executable, TOSAVK_EXECUTABLE_PLAN, &text);
    CHECK(strstr(PLAIN(text_data, text), "ADD"));
    PLAIN(text_release, text);
    WRONG(USAGE, executable_print, executable, 9, &text);
    test_contexts(executable);
    test_packages(device, graph);
    PLAIN(executable_release, executable);
    PLAIN(executable_release, NULL);
    PLAIN(graph_release, graph);
    PLAIN(device_release, device);
}

static void test_sharing(tosavk_device* device) {
    tosavk_buffer *buffer = NULL, *again = NULL;
    tosavk_buffer_options options;
    tosavk_buffer_info info;
    char *memory = NULL, *page;
    int32_t fd = -1;

    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.size_bytes = 4096;
    options.exportable = 1;
    if (EITHER(buffer_create, device, &options, &buffer)) {
        info.struct_size = sizeof info;
        RIGHT(buffer_describe, buffer, &info);
        RIGHT(buffer_export_fd, buffer, &fd);
        options.allocation_bytes = info.allocation_bytes;
        options.memory_type_bits = info.memory_type_bits;
        options.exportable = 0;
        RIGHT(buffer_import_fd, device, fd, &options, &again);
        PLAIN(buffer_release, again);
        PLAIN(buffer_release, buffer);
    } else {
        plain("buffer_export_fd");
        plain("buffer_import_fd");
    }
    WRONG(USAGE, buffer_export_fd, NULL, &fd);
    WRONG(USAGE, buffer_import_fd, device, -1, NULL, &again);
    memory = malloc(3 * 65536);
    page = memory + 65536 - (size_t)memory % 65536;
    if (EITHER(buffer_import_host, device, page, 65536, &buffer)) PLAIN(buffer_release, buffer);
    WRONG(USAGE, buffer_import_host, device, NULL, 4096, &buffer);
    free(memory);
}

static void test_semaphores(tosavk_device* device, tosavk_context* context) {
    tosavk_semaphore *semaphore = NULL, *again = NULL;
    tosavk_semaphore_options options;
    tosavk_semaphore_point point;
    tosavk_submit_options submit;
    uint64_t value = 0;
    int32_t reached = 0, fd = -1;

    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.value = 3;
    WRONG(USAGE, semaphore_create, NULL, &options, &semaphore);
    WRONG(USAGE, semaphore_value, NULL, &value);
    WRONG(USAGE, semaphore_wait, NULL, 1, 0, &reached);
    WRONG(USAGE, semaphore_export_fd, NULL, &fd);
    WRONG(USAGE, semaphore_import_fd, NULL, -1, &again);
    if (!EITHER(semaphore_create, device, &options, &semaphore)) return;
    RIGHT(semaphore_value, semaphore, &value);
    CHECK(value == 3);
    WRONG(USAGE, semaphore_signal, semaphore, 2);
    RIGHT(semaphore_signal, semaphore, 4);
    point.struct_size = sizeof point;
    point.semaphore = semaphore;
    point.value = 9;
    memset(&submit, 0, sizeof submit);
    submit.struct_size = sizeof submit;
    submit.signals = &point;
    submit.signal_count = 1;
    RIGHT(context_submit_with, context, &submit);
    RIGHT(semaphore_wait, semaphore, 9, UINT64_MAX, &reached);
    CHECK(reached == 1);
    RIGHT(context_wait, context);
    PLAIN(semaphore_release, semaphore);
    PLAIN(semaphore_release, NULL);
    options.exportable = 1;
    if (!EITHER(semaphore_create, device, &options, &semaphore)) {
        plain("semaphore_export_fd");
        plain("semaphore_import_fd");
        return;
    }
    RIGHT(semaphore_export_fd, semaphore, &fd);
    RIGHT(semaphore_import_fd, device, fd, &again);
    PLAIN(semaphore_release, again);
    PLAIN(semaphore_release, semaphore);
}

void test_buffers(void) {
    tosavk_device* device = NULL;
    tosavk_graph* graph = adding_graph();
    tosavk_executable* executable = NULL;
    tosavk_context* context = NULL;
    tosavk_buffer *x = NULL, *y = NULL, *part = NULL;
    tosavk_buffer_options options;
    tosavk_buffer_info info;
    tosavk_binding_info binding;
    tosavk_counters counters;
    float result[4];
    void* data = NULL;
    int32_t idle = 0;

    RIGHT(device_open, NULL, &device);
    RIGHT(compile, device, graph, NULL, &executable);
    RIGHT(context_create, executable, NULL, &context);
    binding.struct_size = sizeof binding;
    RIGHT(executable_input_binding, executable, 0, &binding);
    CHECK(binding.size_bytes == 16 && binding.alignment > 0);
    WRONG(USAGE, executable_input_binding, executable, 1, &binding);
    RIGHT(executable_output_binding, executable, 0, &binding);
    WRONG(USAGE, executable_output_binding, executable, 1, &binding);
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.size_bytes = 64;
    options.memory = TOSAVK_MEMORY_SHARED;
    RIGHT(buffer_create, device, &options, &x);
    RIGHT(buffer_create, device, &options, &y);
    options.memory = 9;
    WRONG(USAGE, buffer_create, device, &options, &part);
    info.struct_size = sizeof info;
    RIGHT(buffer_describe, x, &info);
    CHECK(info.size_bytes == 64 && info.mapped == 1);
    WRONG(USAGE, buffer_describe, x, NULL);
    RIGHT(buffer_fill, x, 0, 64, 0xff);
    WRONG(BAD_INPUT, buffer_fill, x, 1, 64, 0);
    RIGHT(buffer_upload, x, 0, input, sizeof input);
    WRONG(BAD_INPUT, buffer_upload, x, 60, input, sizeof input);
    RIGHT(buffer_slice, x, 0, 16, &part);
    WRONG(BAD_INPUT, buffer_slice, x, 64, 1, &part);
    RIGHT(context_bind_input, context, 0, part, 0);
    WRONG(USAGE, context_bind_input, context, 0, part, 99);
    RIGHT(context_bind_output, context, 0, y, 0);
    WRONG(USAGE, context_bind_output, context, 7, y, 0);
    RIGHT(context_run, context);
    RIGHT(buffer_download, y, 0, result, sizeof result);
    CHECK(adds_up(result));
    WRONG(BAD_INPUT, buffer_download, y, 52, result, sizeof result);
    RIGHT(buffer_copy, y, 0, x, 32, 16);
    WRONG(BAD_INPUT, buffer_copy, y, 0, x, 60, 16);
    RIGHT(buffer_map, x, &data);
    CHECK(adds_up((float*)data + 8) && ((unsigned char*)data)[16] == 0xff);
    RIGHT(buffer_unmap, x);
    WRONG(USAGE, buffer_map, x, NULL);
    WRONG(USAGE, buffer_unmap, NULL);
    RIGHT(buffer_wait, x, UINT64_MAX, &idle);
    CHECK(idle == 1);
    WRONG(USAGE, buffer_wait, x, 0, NULL);
    WRONG(USAGE, buffer_wait, NULL, 0, &idle);
    counters.struct_size = sizeof counters;
    RIGHT(context_counters, context, &counters);
    CHECK(counters.host_copies == 0);
    test_semaphores(device, context);
    test_sharing(device);
    PLAIN(buffer_release, part);
    PLAIN(buffer_release, x);
    PLAIN(buffer_release, y);
    PLAIN(buffer_release, NULL);
    PLAIN(context_release, context);
    PLAIN(executable_release, executable);
    PLAIN(graph_release, graph);
    PLAIN(device_release, device);
}
