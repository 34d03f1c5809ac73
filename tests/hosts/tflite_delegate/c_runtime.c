/* The delegate in a TFLite runtime of C: libtensorflowlite_c.so 2.9, whose structs are smaller than today's.
 * Usage: c_runtime RUNTIME.so DELEGATE.so (MODEL.tflite INPUT.npy EXPECTED.npy ROUNDING BOUND)...; results are compared
 * bit for bit where the bound is 0, else they are floats, and it is a share of their range. Threads, 1000 creations and
 * failures are tried with the first network. */
#include <tosavk/tflite_delegate.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct TfLiteModel TfLiteModel;
typedef struct TfLiteInterpreter TfLiteInterpreter;
typedef struct TfLiteInterpreterOptions TfLiteInterpreterOptions;
typedef struct TfLiteTensor TfLiteTensor;

static struct {
    const char* (*Version)(void);
    TfLiteModel* (*ModelCreateFromFile)(const char*);
    void (*ModelDelete)(TfLiteModel*);
    TfLiteInterpreterOptions* (*InterpreterOptionsCreate)(void);
    void (*InterpreterOptionsDelete)(TfLiteInterpreterOptions*);
    void (*InterpreterOptionsAddDelegate)(TfLiteInterpreterOptions*, struct TfLiteDelegate*);
    TfLiteInterpreter* (*InterpreterCreate)(const TfLiteModel*, const TfLiteInterpreterOptions*);
    void (*InterpreterDelete)(TfLiteInterpreter*);
    int (*InterpreterAllocateTensors)(TfLiteInterpreter*);
    int (*InterpreterInvoke)(TfLiteInterpreter*);
    TfLiteTensor* (*InterpreterGetInputTensor)(const TfLiteInterpreter*, int32_t);
    const TfLiteTensor* (*InterpreterGetOutputTensor)(const TfLiteInterpreter*, int32_t);
    int (*TensorCopyFromBuffer)(TfLiteTensor*, const void*, size_t);
    int (*TensorCopyToBuffer)(const TfLiteTensor*, void*, size_t);
    size_t (*TensorByteSize)(const TfLiteTensor*);
} tf;

static struct {
    struct TfLiteDelegate* (*create)(const char* const*, const char* const*, size_t, void (*)(const char*));
    void (*destroy)(struct TfLiteDelegate*);
    int32_t (*counters)(const struct TfLiteDelegate*, tosavk_tflite_counters*);
} plugin;

static const char *model_path, *rounding;
static double bound;
static char *input, *expected;
static size_t input_size, expected_size;

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

static void* symbol(void* library, const char* name) {
    void* found = dlsym(library, name);
    if (found == NULL) fprintf(stderr, "%s is missing\n", name);
    CHECK(found != NULL);
    return found;
}

/* The bytes behind the header of a .npy file of version 1. */
static char* read_npy(const char* path, size_t* size) {
    char* bytes = malloc(1 << 24);
    FILE* file = fopen(path, "rb");
    CHECK(bytes != NULL && file != NULL);
    *size = fread(bytes, 1, 1 << 24, file);
    fclose(file);
    CHECK(*size > 10 && memcmp(bytes, "\x93NUMPY", 6) == 0 && bytes[6] == 1);
    const size_t header = 10 + (unsigned char)bytes[8] + 256u * (unsigned char)bytes[9];
    CHECK(*size > header);
    *size -= header;
    memmove(bytes, bytes + header, *size);
    return bytes;
}

static tosavk_tflite_counters counters_of(const struct TfLiteDelegate* delegate) {
    tosavk_tflite_counters counters = {0};
    counters.struct_size = sizeof counters;
    CHECK(plugin.counters(delegate, &counters) == 0);
    return counters;
}

static TfLiteInterpreter* interpreter_with(const TfLiteModel* model, struct TfLiteDelegate* delegate) {
    TfLiteInterpreterOptions* options = tf.InterpreterOptionsCreate();
    tf.InterpreterOptionsAddDelegate(options, delegate);
    TfLiteInterpreter* interpreter = tf.InterpreterCreate(model, options);
    tf.InterpreterOptionsDelete(options);
    return interpreter;
}

static struct TfLiteDelegate* make_delegate(void) {
    static const char* const keys[] = {"rounding"};
    const char* const values[] = {rounding};
    struct TfLiteDelegate* delegate = plugin.create(keys, values, 1, NULL);
    CHECK(delegate != NULL);
    return delegate;
}

static void check_result(const char* result) {
    if (bound == 0) {
        CHECK(memcmp(result, expected, expected_size) == 0);
        return;
    }
    double largest = 0, difference = 0;
    for (size_t k = 0; k < expected_size; k += sizeof(float)) {
        float mine, wanted;
        memcpy(&mine, result + k, sizeof mine);
        memcpy(&wanted, expected + k, sizeof wanted);
        CHECK(mine == mine && wanted == wanted);
        const double magnitude = wanted < 0 ? -(double)wanted : wanted, apart = (double)mine - wanted;
        if (magnitude > largest) largest = magnitude;
        if (apart > difference) difference = apart;
        if (-apart > difference) difference = -apart;
    }
    CHECK(largest > 0 && difference <= bound * largest);
}

static void use(int runs) {
    TfLiteModel* model = tf.ModelCreateFromFile(model_path);
    struct TfLiteDelegate* delegate = make_delegate();
    TfLiteInterpreter* interpreter = interpreter_with(model, delegate);
    char* result = malloc(expected_size);
    CHECK(model != NULL && interpreter != NULL && result != NULL);
    CHECK(tf.InterpreterAllocateTensors(interpreter) == 0);
    for (int run = 0; run < runs; ++run) {
        const TfLiteTensor* output = tf.InterpreterGetOutputTensor(interpreter, 0);
        CHECK(tf.TensorCopyFromBuffer(tf.InterpreterGetInputTensor(interpreter, 0), input, input_size) == 0);
        CHECK(tf.InterpreterInvoke(interpreter) == 0);
        CHECK(tf.TensorByteSize(output) == expected_size);
        CHECK(tf.TensorCopyToBuffer(output, result, expected_size) == 0);
        check_result(result);
    }
    const tosavk_tflite_counters counters = counters_of(delegate);
    CHECK(counters.nodes > 0 && counters.claimed_nodes == counters.nodes && counters.partitions == 1);
    CHECK(counters.runs == (uint64_t)runs && counters.reference_runs == 0);
    CHECK(runs == 0 || counters.dispatches > 0);
    tf.InterpreterDelete(interpreter);
    plugin.destroy(delegate);
    tf.ModelDelete(model);
    free(result);
}

static void* use_in_thread(void* unused) {
    (void)unused;
    use(10);
    return NULL;
}

static int reported;
static void report(const char* sentence) { reported += strstr(sentence, "speed") != NULL; }

static void refuse_wrong_options(void) {
    static const char* const keys[] = {"speed"};
    static const char* const values[] = {"9"};
    TfLiteModel* model = tf.ModelCreateFromFile(model_path);
    for (int with_report = 0; with_report < 2; ++with_report) {
        struct TfLiteDelegate* delegate = plugin.create(keys, values, 1, with_report ? report : NULL);
        CHECK(delegate != NULL && reported == with_report);
        CHECK(interpreter_with(model, delegate) == NULL);
        plugin.destroy(delegate);
    }
    plugin.destroy(NULL);
    tf.ModelDelete(model);
}

static long resident_bytes(void) {
    long pages = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
    return pages * 4096;
}

static void read_network(char** arguments) {
    free(input), free(expected);
    model_path = arguments[0];
    input = read_npy(arguments[1], &input_size);
    expected = read_npy(arguments[2], &expected_size);
    rounding = arguments[3];
    bound = strtod(arguments[4], NULL);
}

int main(int argc, char** argv) {
    CHECK(argc > 7 && argc % 5 == 3);
    void* runtime = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void* library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (runtime == NULL || library == NULL) fprintf(stderr, "%s\n", dlerror());
    CHECK(runtime != NULL && library != NULL);
#define FIND(name) *(void**)&tf.name = symbol(runtime, "TfLite" #name)
    FIND(Version), FIND(ModelCreateFromFile), FIND(ModelDelete), FIND(InterpreterOptionsCreate);
    FIND(InterpreterOptionsDelete), FIND(InterpreterOptionsAddDelegate), FIND(InterpreterCreate);
    FIND(InterpreterDelete), FIND(InterpreterAllocateTensors), FIND(InterpreterInvoke);
    FIND(InterpreterGetInputTensor), FIND(InterpreterGetOutputTensor), FIND(TensorCopyFromBuffer);
    FIND(TensorCopyToBuffer), FIND(TensorByteSize);
    *(void**)&plugin.create = symbol(library, "tflite_plugin_create_delegate");
    *(void**)&plugin.destroy = symbol(library, "tflite_plugin_destroy_delegate");
    *(void**)&plugin.counters = symbol(library, "tosavk_tflite_get_counters");
    for (int k = argc - 5; k >= 3; k -= 5) { /* the first stays */
        read_network(argv + k);
        use(3);
    }
    refuse_wrong_options();
    struct TfLiteDelegate* keep = make_delegate(); /* keeps the device open */
    TfLiteModel* model = tf.ModelCreateFromFile(model_path);
    TfLiteInterpreter* kept = interpreter_with(model, keep);
    CHECK(kept != NULL);
    pthread_t threads[3];
    for (int k = 0; k < 3; ++k) CHECK(pthread_create(&threads[k], NULL, use_in_thread, NULL) == 0);
    for (int k = 0; k < 3; ++k) CHECK(pthread_join(threads[k], NULL) == 0);
    long before = 0;
    for (int k = 0; k < 1000; ++k) {
        if (k == 200) before = resident_bytes();
        use(k % 10 == 0);
    }
    const long grown = resident_bytes() - before;
    if (grown > 16 << 20) fprintf(stderr, "800 interpreters have left %ld bytes\n", grown);
    CHECK(grown <= 16 << 20);
    tf.InterpreterDelete(kept);
    plugin.destroy(keep);
    tf.ModelDelete(model);
    free(input), free(expected);
    printf("TFLite %s: passed, %d networks\n", tf.Version(), (argc - 3) / 5);
    return 0;
}
