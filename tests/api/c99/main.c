/* Runs the parts, and asks that no exported function was left out. Usage: PROGRAM EXPORTED_SYMBOLS_FILE */
#include "whole.h"

tosavk_error* fault;
int failures;

#define MOST 256
static struct {
    char name[64];
    int right, wrong, plain;
} seen[MOST];

static int* counts_of(const char* name) {
    int k = 0;
    while (k < MOST && seen[k].name[0] && strcmp(seen[k].name, name) != 0) ++k;
    if (k == MOST) abort();
    snprintf(seen[k].name, sizeof seen[k].name, "%.60s", name);
    return &seen[k].right;
}

void check_at(int ok, const char* what, const char* file, int line) {
    if (ok) return;
    fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
    ++failures;
}

void right(const char* name, tosavk_status status, const char* file, int line) {
    ++counts_of(name)[0];
    if (status != TOSAVK_OK)
        fprintf(stderr, "%s:%d: %s: %s\n", file, line, name, fault ? tosavk_error_message(fault) : "no error object");
    check_at(status == TOSAVK_OK && !fault, name, file, line);
    tosavk_error_release(fault);
    fault = NULL;
}

void wrong(const char* name, tosavk_status wanted, tosavk_status status, const char* file, int line) {
    ++counts_of(name)[1];
    check_at(status == wanted, name, file, line);
    check_at(fault && tosavk_error_status(fault) == status, "an error object of this status", file, line);
    check_at(fault && strlen(tosavk_error_message(fault)) > 10, "a sentence", file, line);
    if (status != wanted && fault) fprintf(stderr, "  status %d: %s\n", (int)status, tosavk_error_message(fault));
    tosavk_error_release(fault);
    fault = NULL;
}

int either(const char* name, tosavk_status status, const char* file, int line) {
    if (status == TOSAVK_OK) {
        right(name, status, file, line);
        return 1;
    }
    ++counts_of(name)[0];
    wrong(name, TOSAVK_ERROR_UNSUPPORTED, status, file, line);
    return 0;
}

int plain(const char* name) {
    ++counts_of(name)[2];
    return 0;
}

/* Every function of the list was called, and none that can fail only one way. */
static void check_list(const char* path) {
    FILE* list = fopen(path, "r");
    char line[128];
    int all = 0;
    CHECK(list != NULL);
    if (!list) return;
    while (fgets(line, sizeof line, list)) {
        int *counts, is_table;
        line[strcspn(line, "\r\n")] = 0;
        is_table = strcmp(line, "tosavk_get_api") == 0 || strcmp(line, "tosavk_get_vulkan_api") == 0;
        if (strncmp(line, "tosavk_", 7) != 0 || is_table) continue;
        counts = counts_of(line + 7);
        ++all;
        if (counts[2] > 0 || (counts[0] > 0 && counts[1] > 0)) continue;
        fprintf(stderr, "%s was called rightly %d times and wrongly %d times\n", line, counts[0], counts[1]);
        ++failures;
    }
    fclose(list);
    printf("%d functions\n", all);
    CHECK(all > 100);
}

int main(int argc, char** argv) {
    if (argc != 2) return fputs("usage: PROGRAM EXPORTED_SYMBOLS_FILE\n", stderr), 2;
    CHECK(tosavk_get_api(TOSAVK_API_VERSION + 1) == NULL && tosavk_get_vulkan_api(TOSAVK_API_VERSION + 1) == NULL);
    CHECK(tosavk_get_api(TOSAVK_API_VERSION)->struct_size == sizeof(tosavk_api));
    CHECK(tosavk_get_vulkan_api(TOSAVK_API_VERSION)->struct_size == sizeof(tosavk_vulkan_api));
    test_text_and_devices();
    test_graphs();
    test_custom();
    test_running();
    test_buffers();
    test_models();
    test_tools();
    test_vulkan();
    check_list(argv[1]);
    printf("%s\n", failures ? "failed" : "passed");
    return failures ? 1 : 0;
}
