/* Text, errors, devices, graphs from files, streams and calls, operators of one's own. */
#include "whole.h"

static int lines_logged;
static void count_line(void* user, const char* topic, const char* sentence) {
    (void)user;
    if (topic && sentence) ++lines_logged;
}

void test_text_and_devices(void) {
    tosavk_error* own;
    tosavk_text* text = NULL;
    tosavk_device *device = NULL, *same = NULL;
    tosavk_device_options options;
    tosavk_memory_info memory;
    uint32_t count = 0;

    plain("version");
    CHECK(strlen(F(version)()) > 4);
    CHECK(strcmp(PLAIN(type_name, TOSAVK_FP8E4M3), "fp8e4m3") == 0 && strcmp(PLAIN(type_name, 99), "?") == 0);
    CHECK(PLAIN(type_size, TOSAVK_I48) == 8 && PLAIN(type_size, 99) == 0);
    own = PLAIN(error_create, TOSAVK_ERROR_BAD_INPUT, "what is wrong", "a node", "an operand");
    CHECK(PLAIN(error_status, own) == TOSAVK_ERROR_BAD_INPUT &&
          strcmp(PLAIN(error_message, own), "what is wrong") == 0);
    CHECK(strcmp(PLAIN(error_node, own), "a node") == 0 && strcmp(PLAIN(error_operand, own), "an operand") == 0);
    PLAIN(error_release, own);
    PLAIN(error_release, NULL);

    RIGHT(set_log, "cache", count_line, NULL);
    plain("set_log"); /* any topic will do */
    RIGHT(device_count, &count);
    CHECK(count > 0);
    WRONG(USAGE, device_count, NULL);
    RIGHT(device_describe, 0, &text);
    CHECK(strstr(PLAIN(text_data, text), "\"uuid\"") && PLAIN(text_size, text) == strlen(PLAIN(text_data, text)));
    PLAIN(text_release, text);
    WRONG(NO_DEVICE, device_describe, count, &text);
    RIGHT(device_open, "", &device);
    WRONG(NO_DEVICE, device_open, "no such device", &same);
    CHECK(strlen(PLAIN(device_name, device)) > 0 && strlen(PLAIN(device_driver, device)) > 0);
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.name = PLAIN(device_name, device);
    options.no_cache = 1;
    RIGHT(device_open_with, &options, &same);
    CHECK(strcmp(PLAIN(device_name, same), PLAIN(device_name, device)) == 0);
    PLAIN(device_release, same);
    options.no_cache = 0;
    options.cache_dir = "/nowhere/at/all"; /* which is told, and does no harm */
    RIGHT(device_open_with, &options, &same);
    PLAIN(device_release, same);
    CHECK(lines_logged > 0);
    options.reserved = 1;
    WRONG(USAGE, device_open_with, &options, &same);
    options.reserved = 0;
    options.struct_size = 3;
    WRONG(USAGE, device_open_with, &options, &same);
    memory.struct_size = sizeof memory;
    RIGHT(device_memory, device, &memory);
    CHECK(memory.heap > 0 && memory.peak >= memory.in_use);
    WRONG(USAGE, device_memory, device, NULL);
    PLAIN(device_release, device);
    PLAIN(device_release, NULL);
    RIGHT(set_log, NULL, NULL, NULL);
}

static int released;
static void count_release(void* user, const void* data) {
    (void)data;
    ++*(int*)user;
}

static const tosavk_tensor_desc four = {sizeof(tosavk_tensor_desc), TOSAVK_FP32, 1, {4, 0, 0, 0, 0, 0, 0, 0}};
static const float numbers[4] = {1, 2, 3, 4};

static tosavk_node_desc node_of(const char* op, const uint32_t* inputs, size_t count) {
    tosavk_node_desc node;
    memset(&node, 0, sizeof node);
    node.struct_size = sizeof node;
    node.op = op;
    node.inputs = inputs;
    node.input_count = count;
    return node;
}

tosavk_graph* adding_graph(void) {
    tosavk_builder* builder = NULL;
    tosavk_graph* graph = NULL;
    uint32_t values[3] = {0, 0, 0};
    tosavk_node_desc node = node_of("ADD", values, 2);
    RIGHT(builder_create, NULL, &builder);
    RIGHT(builder_input, builder, "x", &four, &values[0]);
    RIGHT(builder_constant_borrowed, builder, "c", &four, numbers, sizeof numbers, count_release, &released,
          &values[1]);
    RIGHT(builder_node, builder, &node, &values[2], 1, NULL);
    RIGHT(builder_output, builder, values[2]);
    RIGHT(builder_finish, builder, &graph);
    PLAIN(builder_release, builder);
    return graph;
}

static void test_builder(void) {
    tosavk_builder *builder = NULL, *region = NULL;
    tosavk_graph* graph = NULL;
    tosavk_text* text = NULL;
    tosavk_tensor_info info;
    tosavk_tensor_desc no_type = four;
    const int64_t shape[] = {2, 2};
    uint32_t values[4] = {0, 0, 0, 0};
    size_t count = 0;
    tosavk_attribute name = {sizeof name, "name", TOSAVK_ATTRIBUTE_TEXT, 0, "kept", 4};
    tosavk_node_desc node = node_of("RESHAPE", values, 2);
    tosavk_builder_options options;

    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.name = "calls";
    RIGHT(builder_create, &options, &builder);
    options.level = 9;
    WRONG(USAGE, builder_create, &options, &region);
    no_type.type = 99;
    RIGHT(builder_input, builder, NULL, &four, &values[0]);
    WRONG(USAGE, builder_input, builder, "y", &no_type, &values[0]);
    RIGHT(builder_shape, builder, NULL, shape, 2, &values[1]);
    WRONG(USAGE, builder_shape, builder, NULL, NULL, 2, &values[1]);
    RIGHT(builder_constant, builder, "c", &four, numbers, sizeof numbers, &values[2]);
    WRONG(BAD_INPUT, builder_constant, builder, "d", &four, numbers, 3, &values[3]);
    WRONG(BAD_INPUT, builder_constant_borrowed, builder, "d", &four, numbers, 3, count_release, &released, &values[3]);
    RIGHT(builder_variable, builder, "kept", &four, NULL, 0);
    WRONG(BAD_MODEL, builder_variable, builder, "kept", &four, NULL, 0);
    RIGHT(builder_node, builder, &node, values, 1, &count);
    CHECK(count == 1);
    node.op = "NONSENSE";
    WRONG(UNSUPPORTED, builder_node, builder, &node, values, 1, &count);
    node = node_of("VARIABLE_READ", NULL, 0);
    node.attributes = &name;
    node.attribute_count = 1;
    node.outputs = &four;
    node.output_count = 1;
    RIGHT(builder_node, builder, &node, &values[3], 1, NULL);
    info.struct_size = sizeof info;
    RIGHT(builder_value, builder, values[0], &info);
    CHECK(info.type == TOSAVK_FP32 && info.rank == 2 && info.dims[0] == 2 && info.size_bytes == 16);
    WRONG(USAGE, builder_value, builder, 1000, &info);
    RIGHT(builder_region, builder, "inner", &region);
    WRONG(USAGE, builder_region, NULL, "inner", &region);
    WRONG(USAGE, builder_finish, region, &graph);
    PLAIN(builder_release, region);
    RIGHT(builder_probe, builder, &text);
    CHECK(strstr(PLAIN(text_data, text), "\"taken\""));
    PLAIN(text_release, text);
    WRONG(USAGE, builder_probe, builder, NULL);
    WRONG(USAGE, builder_output, builder, 1000);
    RIGHT(builder_output, builder, values[0]);
    RIGHT(builder_output, builder, values[3]);
    RIGHT(builder_finish, builder, &graph);
    CHECK(PLAIN(graph_output_count, graph) == 2 && PLAIN(graph_variable_count, graph) == 1);
    PLAIN(graph_release, graph);
    PLAIN(builder_release, builder);
    PLAIN(builder_release, NULL);
}

struct stream {
    const char* bytes;
    size_t size, at;
    int refuses;
};
static int64_t read_some(void* user, void* data, size_t size) {
    struct stream* stream = user;
    const size_t left = stream->size - stream->at, n = left < size ? left : size;
    if (stream->refuses) return -1;
    memcpy(data, stream->bytes + stream->at, n);
    stream->at += n;
    return (int64_t)n;
}
static int32_t write_all(void* user, const void* data, size_t size) {
    struct stream* stream = user;
    (void)data;
    stream->size += size;
    return stream->refuses;
}

void test_graphs(void) {
    tosavk_graph *graph = adding_graph(), *again = NULL;
    tosavk_bytes* file = NULL;
    tosavk_text* text = NULL;
    tosavk_tensor_info info;
    struct stream in = {NULL, 0, 0, 0}, out = {NULL, 0, 0, 0}, none = {NULL, 0, 0, 1};
    char path[] = "/tmp/tosavk_c99_XXXXXX";
    FILE* made;

    test_builder();
    CHECK(PLAIN(graph_input_count, graph) == 1 && PLAIN(graph_output_count, graph) == 1);
    CHECK(PLAIN(graph_node_count, graph) == 1 && PLAIN(graph_variable_count, graph) == 0);
    info.struct_size = sizeof info;
    RIGHT(graph_input, graph, 0, &info);
    CHECK(strcmp(info.name, "x") == 0 && info.rank == 1 && info.dims[0] == 4);
    WRONG(USAGE, graph_input, graph, 1, &info);
    RIGHT(graph_output, graph, 0, &info);
    WRONG(USAGE, graph_output, graph, 1, &info);
    RIGHT(graph_print, graph, TOSAVK_GRAPH_LISTING, &text);
    CHECK(strstr(PLAIN(text_data, text), "ADD"));
    PLAIN(text_release, text);
    WRONG(USAGE, graph_print, graph, 7, &text);
    RIGHT(graph_with_precision, graph, TOSAVK_PRECISION_FP16, &again);
    CHECK(PLAIN(graph_node_count, again) > 1);
    PLAIN(graph_release, again);
    WRONG(USAGE, graph_with_precision, graph, 7, &again);

    RIGHT(graph_save_memory, graph, &file);
    WRONG(USAGE, graph_save_memory, graph, NULL);
    in.bytes = PLAIN(bytes_data, file);
    in.size = PLAIN(bytes_size, file);
    RIGHT(graph_save_stream, graph, write_all, &out);
    CHECK(out.size == in.size);
    WRONG(IO, graph_save_stream, graph, write_all, &none);
    CHECK((made = fdopen(mkstemp(path), "w")) != NULL);
    fclose(made);
    RIGHT(graph_save_file, graph, path);
    WRONG(IO, graph_save_file, graph, "/nowhere/at/all");
    RIGHT(graph_load_file, path, NULL, &again);
    PLAIN(graph_release, again);
    WRONG(IO, graph_load_file, "/nowhere/at/all", NULL, &again);
    RIGHT(probe_file, path, NULL, &text);
    PLAIN(text_release, text);
    WRONG(IO, probe_file, "/nowhere/at/all", NULL, &text);
    RIGHT(describe_file, path, &text);
    CHECK(strstr(PLAIN(text_data, text), "\"format\": \"tosa\"") != NULL);
    PLAIN(text_release, text);
    WRONG(IO, describe_file, "/nowhere/at/all", &text);
    RIGHT(describe_memory, in.bytes, in.size, &text);
    PLAIN(text_release, text);
    WRONG(BAD_MODEL, describe_memory, "text", 4, &text);
    remove(path);
    RIGHT(graph_load_memory, in.bytes, in.size, NULL, &again);
    CHECK(PLAIN(graph_node_count, again) == 1);
    PLAIN(graph_release, again);
    WRONG(BAD_MODEL, graph_load_memory, "text", 4, NULL, &again);
    RIGHT(probe_memory, in.bytes, in.size, NULL, &text);
    CHECK(strstr(PLAIN(text_data, text), "\"tosa\""));
    PLAIN(text_release, text);
    WRONG(BAD_MODEL, probe_memory, "text", 4, NULL, &text);
    RIGHT(graph_load_stream, read_some, &in, NULL, &again);
    PLAIN(graph_release, again);
    WRONG(IO, graph_load_stream, read_some, &none, NULL, &again);
    PLAIN(bytes_release, file);
    PLAIN(bytes_release, NULL);
    PLAIN(graph_release, graph);
    PLAIN(graph_release, NULL);
    CHECK(released == 1);
}

static tosavk_error* doubled(void* user, const tosavk_custom_node* node, const void* const* inputs,
                             void* const* outputs) {
    size_t k;
    if (*(const int*)user) return tosavk_error_create(TOSAVK_ERROR_UNSUPPORTED, "not today, thank you", NULL, NULL);
    for (k = 0; k < node->inputs[0]->size_bytes / sizeof(float); ++k)
        ((float*)outputs[0])[k] = 2 * ((const float*)inputs[0])[k];
    return NULL;
}
static int custom_released;
static void release_custom(void* user) {
    (void)user;
    ++custom_released;
}

void test_custom(void) {
    static int refuses;
    tosavk_custom_set* set = NULL;
    tosavk_builder* builder = NULL;
    tosavk_graph* graph = NULL;
    tosavk_device* device = NULL;
    tosavk_custom_operator op;
    tosavk_builder_options options;
    tosavk_attribute names[3] = {{sizeof names[0], "operator_name", TOSAVK_ATTRIBUTE_TEXT, 0, "DOUBLED", 7},
                                 {sizeof names[0], "domain_name", TOSAVK_ATTRIBUTE_TEXT, 0, "c99", 3},
                                 {sizeof names[0], "implementation_attrs", TOSAVK_ATTRIBUTE_TEXT, 0, "", 0}};
    uint32_t x = 0, y = 0;
    tosavk_node_desc node = node_of("CUSTOM", &x, 1);
    float result[4] = {0, 0, 0, 0};
    const void* in[1] = {numbers};
    void* out[1];

    out[0] = result;
    memset(&op, 0, sizeof op);
    op.struct_size = sizeof op;
    op.domain_name = "c99";
    op.operator_name = "DOUBLED";
    op.reference = doubled;
    op.user = &refuses;
    op.release = release_custom;
    RIGHT(custom_set_create, &set);
    WRONG(USAGE, custom_set_create, NULL);
    RIGHT(custom_set_add, set, &op);
    WRONG(USAGE, custom_set_add, set, &op);
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.customs = set;
    RIGHT(builder_create, &options, &builder);
    RIGHT(builder_input, builder, "x", &four, &x);
    node.attributes = names;
    node.attribute_count = 3;
    node.outputs = &four;
    node.output_count = 1;
    RIGHT(builder_node, builder, &node, &y, 1, NULL);
    RIGHT(builder_output, builder, y);
    RIGHT(builder_finish, builder, &graph);
    PLAIN(builder_release, builder);
    RIGHT(reference_run, graph, in, out);
    CHECK(result[0] == 2 && result[3] == 8);
    refuses = 1;
    WRONG(UNSUPPORTED, reference_run, graph, in, out);
    RIGHT(device_open, "", &device);
    RIGHT(device_set_customs, device, set);
    WRONG(USAGE, device_set_customs, NULL, set);
    PLAIN(custom_set_release, set);
    PLAIN(custom_set_release, NULL);
    CHECK(custom_released == 0);
    PLAIN(device_release, device);
    PLAIN(graph_release, graph);
    CHECK(custom_released == 1);
}
