/* A host in C99: loads a network and an input, runs it, prints the best class. Usage: classify NETWORK INPUT.npy */
#include <tosavk/tools.h>
#include <tosavk/tosavk.h>

#include <stdio.h>
#include <stdlib.h>

static tosavk_error* error; /* of the call that failed */

static void must(tosavk_status status) {
    if (status == TOSAVK_OK) return;
    fprintf(stderr, "classify: %s\n", tosavk_error_message(error));
    exit(1); /* which frees everything */
}

int main(int argc, char** argv) {
    tosavk_device* device = NULL;
    tosavk_graph* graph = NULL;
    tosavk_executable* executable = NULL;
    tosavk_context* context = NULL;
    tosavk_array *file = NULL, *input = NULL;
    tosavk_tensor_info in = {0}, out = {0}, given = {0};
    size_t k, best = 0, count;
    void* scores;

    if (argc != 3) {
        fprintf(stderr, "usage: classify NETWORK INPUT.npy\n");
        return 2;
    }
    in.struct_size = out.struct_size = given.struct_size = sizeof in;
    must(tosavk_graph_load_file(argv[1], NULL, &graph, &error));
    must(tosavk_graph_input(graph, 0, &in, &error));
    must(tosavk_graph_output(graph, 0, &out, &error));
    must(tosavk_array_load(argv[2], &file, &error));
    must(tosavk_array_convert(file, in.type, &input, &error));
    must(tosavk_array_info(input, &given, &error));

    must(tosavk_device_open("", &device, &error));
    must(tosavk_compile(device, graph, NULL, &executable, &error));
    must(tosavk_context_create(executable, NULL, &context, &error));
    must(tosavk_context_set_input(context, 0, tosavk_array_data(input), given.size_bytes, &error));
    must(tosavk_context_run(context, &error));
    scores = malloc(out.size_bytes);
    if (!scores || (out.type != TOSAVK_FP32 && out.type != TOSAVK_I8)) return 1;
    must(tosavk_context_get_output(context, 0, scores, out.size_bytes, &error));

    count = out.size_bytes / tosavk_type_size(out.type);
    for (k = 1; k < count; ++k) {
        if (out.type == TOSAVK_FP32 ? ((float*)scores)[k] > ((float*)scores)[best]
                                    : ((int8_t*)scores)[k] > ((int8_t*)scores)[best])
            best = k;
    }
    printf("%s: class %lu of %lu\n", tosavk_device_name(device), (unsigned long)best, (unsigned long)count);
    free(scores);
    return 0;
}
