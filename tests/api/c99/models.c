/* Models whose sizes are known late. */
#include "whole.h"

/* A .tflite file: y = relu(x), fp32 of shape Nx4 with an open N. */
static const unsigned char relu_file[] = {
    24, 0,   0,   0,   84,  70, 76, 51, 0,   0,  14, 0, 20, 0,  16,  0,   12,  0,   8,  0,  0,  0,   4,   0,   14,
    0,  0,   0,   16,  0,   0,  0,  28, 0,   0,  0,  0, 1,  0,  0,   3,   0,   0,   0,  1,  0,  0,   0,   8,   0,
    0,  0,   4,   0,   4,   0,  4,  0,  0,   0,  1,  0, 0,  0,  16,  0,   0,   0,   12, 0,  20, 0,   16,  0,   12,
    0,  8,   0,   4,   0,   12, 0,  0,  0,   16, 0,  0, 0,  60, 0,   0,   0,   64,  0,  0,  0,  68,  0,   0,   0,
    1,  0,   0,   0,   16,  0,  0,  0,  0,   0,  10, 0, 12, 0,  0,   0,   8,   0,   4,  0,  10, 0,   0,   0,   8,
    0,  0,   0,   12,  0,   0,  0,  1,  0,   0,  0,  1, 0,  0,  0,   1,   0,   0,   0,  0,  0,  0,   0,   1,   0,
    0,  0,   1,   0,   0,   0,  1,  0,  0,   0,  0,  0, 0,  0,  2,   0,   0,   0,   76, 0,  0,  0,   4,   0,   0,
    0,  208, 255, 255, 255, 12, 0,  0,  0,   20, 0,  0, 0,  24, 0,   0,   0,   2,   0,  0,  0,  255, 255, 255, 255,
    4,  0,   0,   0,   1,   0,  0,  0,  121, 0,  0,  0, 2,  0,  0,   0,   1,   0,   0,  0,  4,  0,   0,   0,   20,
    0,  16,  0,   12,  0,   0,  0,  0,  0,   8,  0,  0, 0,  0,  0,   0,   0,   4,   0,  20, 0,  0,   0,   12,  0,
    0,  0,   20,  0,   0,   0,  24, 0,  0,   0,  2,  0, 0,  0,  255, 255, 255, 255, 4,  0,  0,  0,   1,   0,   0,
    0,  120, 0,   0,   0,   2,  0,  0,  0,   1,  0,  0, 0,  4,  0,   0,   0,   1,   0,  0,  0,  16,  0,   0,   0,
    12, 0,   12,  0,   11,  0,  0,  0,  0,   0,  4,  0, 12, 0,  0,   0,   19,  0,   0,  0,  0,  0,   0,   19,
};

static tosavk_bindings rows(tosavk_input_shape* shape, int64_t n, int64_t columns) {
    tosavk_bindings bindings;
    memset(&bindings, 0, sizeof bindings);
    memset(shape, 0, sizeof *shape);
    bindings.struct_size = sizeof bindings;
    bindings.input_shapes = shape;
    bindings.input_shape_count = 1;
    shape->struct_size = sizeof *shape;
    shape->rank = 2;
    shape->dims[0] = n;
    shape->dims[1] = columns;
    return bindings;
}

static void test_opening(tosavk_model* model) {
    char path[] = "/tmp/tosavk_c99_XXXXXX";
    FILE* made = fdopen(mkstemp(path), "wb");
    tosavk_model* again = NULL;
    tosavk_bytes* file = NULL;
    tosavk_model_options options;
    tosavk_open_tensor_info input;
    tosavk_symbol_info symbol;
    CHECK(made && fwrite(relu_file, 1, sizeof relu_file, made) == sizeof relu_file);
    if (made) fclose(made);
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.max_executables = 2;
    RIGHT(model_open_file, path, NULL, &options, &again);
    PLAIN(model_release, again);
    options.reserved = 1;
    WRONG(USAGE, model_open_file, path, NULL, &options, &again);
    RIGHT(model_file, model, &file);
    CHECK(PLAIN(bytes_size, file) == sizeof relu_file && !memcmp(PLAIN(bytes_data, file), relu_file, sizeof relu_file));
    PLAIN(bytes_release, file);
    WRONG(USAGE, model_file, NULL, &file);
    remove(path);
    WRONG(IO, model_open_file, "/nowhere/at/all", NULL, NULL, &again);
    WRONG(BAD_MODEL, model_open_memory, "text", 4, NULL, NULL, &again);
    CHECK(PLAIN(model_input_count, model) == 1 && PLAIN(model_output_count, model) == 1);
    CHECK(PLAIN(model_symbol_count, model) == 1 && PLAIN(model_symbol_count, NULL) == 0);
    input.struct_size = sizeof input;
    RIGHT(model_input, model, 0, &input);
    CHECK(strcmp(input.name, "x") == 0 && input.type == TOSAVK_FP32 && input.rank == 2);
    CHECK(input.dims[0] == TOSAVK_OPEN_DIMENSION && input.symbols[0] == 0);
    CHECK(input.dims[1] == 4 && input.symbols[1] == TOSAVK_NO_SYMBOL);
    WRONG(USAGE, model_input, model, 1, &input);
    symbol.struct_size = sizeof symbol;
    RIGHT(model_symbol, model, 0, &symbol);
    CHECK(strcmp(symbol.name, "x[0]") == 0 && symbol.input == 0 && symbol.dimension == 0);
    WRONG(USAGE, model_symbol, model, 1, &symbol);
}

static void test_specializing(tosavk_model* model, tosavk_device* device) {
    tosavk_input_shape shape;
    tosavk_bindings three = rows(&shape, 3, 4), none;
    tosavk_symbol_value value = {sizeof value, 0, 0, 5};
    tosavk_graph* graph = NULL;
    tosavk_executable* executable = NULL;
    tosavk_tensor_info info;
    tosavk_model_counters counters;
    RIGHT(model_graph, model, &three, &graph);
    info.struct_size = sizeof info;
    RIGHT(graph_output, graph, 0, &info);
    CHECK(info.rank == 2 && info.dims[0] == 3 && info.dims[1] == 4);
    PLAIN(graph_release, graph);
    RIGHT(specialize, model, device, &three, NULL, &executable);
    PLAIN(executable_release, executable);
    RIGHT(specialize, model, device, &three, NULL, &executable); /* kept */
    PLAIN(executable_release, executable);
    memset(&none, 0, sizeof none);
    none.struct_size = sizeof none;
    WRONG(BAD_INPUT, model_graph, model, NULL, &graph);
    WRONG(BAD_INPUT, specialize, model, device, &none, NULL, &executable);
    none.symbols = &value;
    none.symbol_count = 1;
    RIGHT(specialize, model, device, &none, NULL, &executable);
    PLAIN(executable_release, executable);
    value.symbol = 1;
    WRONG(USAGE, model_graph, model, &none, &graph);
    three = rows(&shape, 3, 5);
    WRONG(BAD_INPUT, model_graph, model, &three, &graph);
    three = rows(&shape, 0, 4);
    WRONG(BAD_INPUT, model_graph, model, &three, &graph);
    counters.struct_size = sizeof counters;
    RIGHT(model_count, model, &counters);
    CHECK(counters.specialized == 2 && counters.reused == 1 && counters.kept == 2);
    WRONG(USAGE, model_count, model, NULL);
}

static void test_open_context(tosavk_model* model, tosavk_device* device) {
    const int64_t two[2] = {2, 4}, wide[2] = {2, 5};
    const float x[8] = {-1, 2, -3, 4, 5, -6, 7, -8};
    float y[8];
    tosavk_context* context = NULL;
    tosavk_context_options options;
    tosavk_tensor_info info;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    RIGHT(model_context_create, model, device, NULL, &options, &context);
    options.reserved = 1;
    WRONG(USAGE, model_context_create, model, device, NULL, &options, &context);
    WRONG(USAGE, context_set_input, context, 0, x, sizeof x); /* of which shape? */
    WRONG(USAGE, context_run, context);
    info.struct_size = sizeof info;
    WRONG(USAGE, context_output_info, context, 0, &info);
    CHECK(PLAIN(context_dispatch_count, context) == 0);
    RIGHT(context_set_input_shape, context, 0, 2, two);
    WRONG(BAD_INPUT, context_set_input_shape, context, 0, 2, wide);
    RIGHT(context_output_info, context, 0, &info);
    CHECK(info.rank == 2 && info.dims[0] == 2 && info.dims[1] == 4 && info.size_bytes == sizeof y);
    WRONG(USAGE, context_output_info, context, 1, &info);
    WRONG(USAGE, context_run, context); /* the input was never set */
    RIGHT(context_set_input, context, 0, x, sizeof x);
    RIGHT(context_run, context);
    RIGHT(context_get_output, context, 0, y, sizeof y);
    CHECK(y[0] == 0 && y[1] == 2 && y[6] == 7 && y[7] == 0);
    PLAIN(context_release, context);
}

void test_models(void) {
    tosavk_device* device = NULL;
    tosavk_model* model = NULL;
    RIGHT(device_open, "", &device);
    RIGHT(model_open_memory, relu_file, sizeof relu_file, NULL, NULL, &model);
    test_opening(model);
    test_specializing(model, device);
    test_open_context(model, device);
    PLAIN(model_release, model);
    PLAIN(model_release, NULL);
    PLAIN(device_release, device);
}
