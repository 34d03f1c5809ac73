/* libtosavk_tflite_delegate.so: a TensorFlow Lite external delegate, for any runtime with that interface (tf.lite's
 * load_delegate, TfLiteExternalDelegateCreate), and an accelerator of LiteRT's CompiledModel. docs/hosts.md is its
 * page.
 *
 * Options, strings all: device (as of tosavk_device_open), rounding (tflite, double, single), precision (declared,
 * exact, fp16, fast), cache_dir, profile (a file that takes the counters as JSON; "-": stderr), verbose (1: what is
 * left to the runtime, and why, on stderr), min_nodes (partitions of fewer nodes are left; 0: those that are not worth
 * it are), max_partitions (the largest are taken; 0: all). A wrong option is told through report_error, and the
 * interpreter that the delegate is given to is refused.
 */
#ifndef TOSAVK_TFLITE_DELEGATE_H
#define TOSAVK_TFLITE_DELEGATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct TfLiteDelegate;

/* Never NULL. `report_error` may be NULL. The delegate may serve any number of interpreters, each on its own thread. */
struct TfLiteDelegate* tflite_plugin_create_delegate(const char* const* keys, const char* const* values, size_t count,
                                                     void (*report_error)(const char* sentence));
/* Takes NULL. Interpreters that the delegate was given to must be gone. */
void tflite_plugin_destroy_delegate(struct TfLiteDelegate* delegate);

/* Since the delegate was made, of all its graphs together: interpreters, and subgraphs of theirs. */
typedef struct tosavk_tflite_counters {
    size_t struct_size;
    uint64_t graphs; /* that it was given */
    uint64_t nodes;  /* that they have */
    uint64_t claimed_nodes;
    uint64_t partitions;
    uint64_t compilations;     /* partitions made ready, each for the shapes that came */
    uint64_t runs;             /* of partitions, on the device */
    uint64_t dispatches;       /* of these runs together */
    uint64_t reference_runs;   /* of partitions, on the reference interpreter, after the device had failed */
    uint64_t host_copies;      /* of tensors, to the device and from there */
    uint64_t device_tensors;   /* that partitions hand on to others without the host */
    uint64_t shaders_compiled; /* these as of tosavk_counters, by making partitions ready */
    uint64_t pipelines_created;
    uint64_t weight_bytes_copied;
} tosavk_tflite_counters;

/* Threads: tosavk_tflite_* from any thread, at once, runs of the delegate's interpreters included. */

/* 0, or 1 for a delegate that is not this library's or a struct_size of 0. */
int32_t tosavk_tflite_get_counters(const struct TfLiteDelegate* delegate, tosavk_tflite_counters* counters);
/* The same as a JSON object, with "left": of each node that was left to the runtime its "node", "operator" and
 * "sentence". The text's size with its NUL; what does not fit into `size_bytes` is cut. */
size_t tosavk_tflite_get_report(const struct TfLiteDelegate* delegate, char* json, size_t size_bytes);

#ifdef __cplusplus
}
#endif
#endif /* TOSAVK_TFLITE_DELEGATE_H */
