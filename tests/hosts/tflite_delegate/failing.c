/* Preloaded before the library: calls that reach the device fail from the one on that $TOSAVK_FAIL names, as
 * "FUNCTION:NUMBER:STATUS", the first being 1. What else is asked of the device fails then, too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <tosavk/tosavk.h>

static int failing;

/* The library is loaded after this one, and for the delegate alone. */
static void* real(const char* function) {
    static void* library;
    if (library == NULL) library = dlopen("libtosavk.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return library == NULL ? NULL : dlsym(library, function);
}
#define REAL(name) ((__typeof__(&name))real(#name))

static int fails(const char* function, tosavk_error** error) {
    static int calls;
    const char* wanted = getenv("TOSAVK_FAIL");
    const size_t length = strlen(function);
    int status;
    if (wanted == NULL) return 0;
    if (!failing && strncmp(wanted, function, length) == 0 && wanted[length] == ':')
        failing = ++calls >= atoi(wanted + length + 1);
    if (!failing) return 0;
    status = atoi(strrchr(wanted, ':') + 1);
    if (error != NULL) *error = REAL(tosavk_error_create)(status, "failed on purpose", "", "");
    return status;
}

tosavk_status tosavk_context_run(tosavk_context* context, tosavk_error** error) {
    const int status = fails("context_run", error);
    return status != 0 ? (tosavk_status)status : REAL(tosavk_context_run)(context, error);
}

tosavk_status tosavk_compile(tosavk_device* device, const tosavk_graph* graph, const tosavk_compile_options* options,
                             tosavk_executable** executable, tosavk_error** error) {
    const int status = fails("compile", error);
    return status != 0 ? (tosavk_status)status : REAL(tosavk_compile)(device, graph, options, executable, error);
}

tosavk_status tosavk_context_create(tosavk_executable* executable, const tosavk_context_options* options,
                                    tosavk_context** context, tosavk_error** error) {
    const int status = fails("context_create", error);
    return status != 0 ? (tosavk_status)status : REAL(tosavk_context_create)(executable, options, context, error);
}

tosavk_status tosavk_buffer_download(const tosavk_buffer* buffer, uint64_t offset, void* data, size_t size_bytes,
                                     tosavk_error** error) {
    const int status = fails("buffer_download", error);
    return status != 0 ? (tosavk_status)status : REAL(tosavk_buffer_download)(buffer, offset, data, size_bytes, error);
}
