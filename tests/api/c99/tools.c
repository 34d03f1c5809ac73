/* What tools.h declares. */
#include "whole.h"

static int32_t count_rows(void* user, const char* json, uint64_t total) {
    CHECK(json[0] == '{' && total > 0);
    ++*(int*)user;
    return 0;
}

static void test_arrays(void) {
    const float values[2] = {1.5f, -2};
    const int64_t dims[1] = {2};
    tosavk_array *array = NULL, *half = NULL;
    tosavk_tensor_info info;
    char path[] = "/tmp/tosavk_c99_XXXXXX";
    FILE* made = fdopen(mkstemp(path), "w");
    CHECK(made != NULL);
    fclose(made);
    RIGHT(array_save, path, TOSAVK_FP32, 1, dims, values);
    WRONG(USAGE, array_save, path, 99, 1, dims, values);
    RIGHT(array_load, path, &array);
    WRONG(IO, array_load, "/nowhere/at/all", &array);
    info.struct_size = sizeof info;
    RIGHT(array_info, array, &info);
    CHECK(info.type == TOSAVK_FP32 && info.rank == 1 && strcmp(info.name, "float32") == 0);
    WRONG(USAGE, array_info, array, NULL);
    CHECK(((const float*)PLAIN(array_data, array))[1] == -2);
    RIGHT(array_convert, array, TOSAVK_FP16, &half);
    CHECK(((const unsigned char*)PLAIN(array_data, half))[1] == 0x3e);
    WRONG(BAD_INPUT, array_convert, array, TOSAVK_I8, &half);
    PLAIN(array_release, half);
    PLAIN(array_release, array);
    PLAIN(array_release, NULL);
    RIGHT(array_save_raw, path, TOSAVK_BF16, 1, dims, values);
    WRONG(IO, array_save_raw, "/nowhere/at/all", TOSAVK_BF16, 1, dims, values);
    remove(path);
}

void test_tools(void) {
    tosavk_device* device = NULL;
    tosavk_graph *graph = adding_graph(), *problem = NULL;
    tosavk_text* text = NULL;
    tosavk_checker* checker = NULL;
    tosavk_check_report report;
    tosavk_conformance_options options;
    tosavk_conformance_summary summary;
    tosavk_tune_options tune;
    tosavk_reference_options interpret;
    tosavk_checker_options watch;
    float x[4] = {0, 0, 0, 0}, y[4];
    const void* in[1];
    void* out[1];
    int rows = 0;

    in[0] = x;
    out[0] = y;
    test_arrays();
    RIGHT(device_open, "", &device);
    RIGHT(graph_load_problem, "add f32 2x3", NULL, &problem);
    WRONG(USAGE, graph_load_problem, "add f32", NULL, &problem);
    PLAIN(graph_release, problem);
    RIGHT(problems_describe, &text);
    CHECK(strstr(PLAIN(text_data, text), "conv2d"));
    PLAIN(text_release, text);
    WRONG(USAGE, problems_describe, NULL);
    RIGHT(ops_describe, &text);
    CHECK(strstr(PLAIN(text_data, text), "CONV2D"));
    PLAIN(text_release, text);
    WRONG(USAGE, ops_describe, NULL);
    RIGHT(random_input, graph, 0, 1, x, sizeof x);
    WRONG(BAD_INPUT, random_input, graph, 0, 1, x, 3);
    RIGHT(reference_run, graph, in, out);
    CHECK(y[3] == x[3] + 4);
    WRONG(USAGE, reference_run, graph, NULL, out);
    y[3] = 0;
    RIGHT(reference_run_with, graph, NULL, in, out);
    CHECK(y[3] == x[3] + 4);
    memset(&interpret, 0, sizeof interpret);
    WRONG(USAGE, reference_run_with, graph, &interpret, in, out);
    memset(&watch, 0, sizeof watch);
    watch.struct_size = sizeof watch;
    RIGHT(checker_create, device, graph, &watch, &checker);
    WRONG(USAGE, checker_create, device, NULL, NULL, &checker);
    report.struct_size = sizeof report;
    RIGHT(checker_run, checker, 1, &report);
    CHECK(report.passed == 1 && report.values_checked > 0 && strlen(PLAIN(text_data, report.detail)) > 0);
    PLAIN(text_release, report.detail);
    WRONG(USAGE, checker_run, checker, 1, NULL);
    RIGHT(checker_run_with, checker, in, &report);
    CHECK(report.passed == 1);
    PLAIN(text_release, report.detail);
    WRONG(USAGE, checker_run_with, checker, NULL, &report);
    PLAIN(checker_release, checker);
    PLAIN(checker_release, NULL);
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.op = "ABS";
    options.cases = 1;
    summary.struct_size = sizeof summary;
    RIGHT(conformance_run, device, &options, count_rows, &rows, &summary);
    CHECK(rows > 0 && summary.rows == (uint64_t)rows && summary.cases_failed == 0);
    options.op = "NONSENSE";
    WRONG(USAGE, conformance_run, device, &options, count_rows, &rows, &summary);
    memset(&tune, 0, sizeof tune);
    tune.struct_size = sizeof tune;
    tune.min_time_s = 0.001;
    if (EITHER(tune, device, graph, &tune, &text)) {
        CHECK(strstr(PLAIN(text_data, text), "\"sites\""));
        PLAIN(text_release, text);
    }
    WRONG(USAGE, tune, device, NULL, NULL, &text);
    RIGHT(device_measure_limits, device, &text);
    PLAIN(text_release, text);
    WRONG(USAGE, device_measure_limits, NULL, &text);
    RIGHT(device_limits, device, &text);
    CHECK(strstr(PLAIN(text_data, text), "copy_gbytes_per_s"));
    PLAIN(text_release, text);
    WRONG(USAGE, device_limits, device, NULL);
    PLAIN(graph_release, graph);
    PLAIN(device_release, device);
}
