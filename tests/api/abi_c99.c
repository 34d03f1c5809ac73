/* The header is C99, and the library can be used from C. */
#include "tosavk/api.h"

#include <stdio.h>
#include <string.h>

static int check(int ok, const char* what) {
    if (!ok) fprintf(stderr, "failed: %s\n", what);
    return ok ? 0 : 1;
}

int main(void) {
    int failures = 0;
    tosavk_error* error = NULL;
    tosavk_graph* graph = NULL;
    tosavk_load_options options;
    const tosavk_api* api = tosavk_get_api(TOSAVK_API_VERSION);

    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    failures += check(strcmp(tosavk_version(), "") != 0, "a version");
    failures += check(api != NULL && api->version == tosavk_version, "the table of functions");
    failures += check(tosavk_get_api(TOSAVK_API_VERSION + 1) == NULL, "no table for an unknown version");
    failures += check(strcmp(tosavk_type_name(TOSAVK_FP32), "fp32") == 0, "a type's name");
    failures += check(tosavk_graph_load_memory("text", 4, &options, &graph, &error) == TOSAVK_ERROR_BAD_MODEL,
                      "bad bytes are refused");
    failures += check(graph == NULL && error != NULL, "an error object and no graph");
    failures += check(strlen(tosavk_error_message(error)) > 10, "a sentence");
    tosavk_error_release(error);
    failures += check(tosavk_graph_load_problem("add f32 2x3", NULL, &graph, NULL) == TOSAVK_OK, "a problem line");
    failures += check(tosavk_graph_node_count(graph) == 1, "one node");
    tosavk_graph_release(graph);
    return failures ? 1 : 0;
}
