// The interface by which JAX's runtime calls a plug-in (PJRT's C API), version 0.78: what a function is given, by its
// place in the table. Our own declarations; the sizes that the runtime expects are asserted in table.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tosavk::pjrt {

constexpr std::int32_t api_major = 0, api_minor = 78;
constexpr std::size_t function_count = 117;  ///< of that version

// Handles. What they are is the plug-in's business (objects.hpp).
struct Error;
struct EventHandle;
struct Client;
struct Device;  ///< its description too
struct Memory;
struct Buffer;
struct ExecutableHandle;
struct LoadedExecutable;

enum class Code : std::int32_t {
    ok,
    cancelled,
    unknown,
    invalid_argument,
    deadline_exceeded,
    not_found,
    already_exists,
    permission_denied,
    resource_exhausted,
    failed_precondition,
    aborted,
    out_of_range,
    unimplemented,
    internal,
    unavailable,
    data_loss,
    unauthenticated,
};

/// Of a buffer's elements.
enum class Kind : std::int32_t {
    invalid,
    pred,
    s8,
    s16,
    s32,
    s64,
    u8,
    u16,
    u32,
    u64,
    f16,
    f32,
    f64,
    bf16,
    c64,
    c128,
    f8e5m2,
    f8e4m3fn,
    f8e4m3b11fnuz,
    f8e5m2fnuz,
    f8e4m3fnuz,
    s4,
    u4,
    token,
    s2,
    u2,
    f8e4m3,
    f8e3m4,
    f8e8m0fnu,
    f4e2m1fn,
    s1,
    u1,
    f6e2m3fn,
    f6e3m2fn,
};

struct Extension {
    std::size_t struct_size;
    std::int32_t type;
    Extension* next;
};

/// What every function's arguments begin with.
struct Head {
    std::size_t struct_size;
    Extension* extensions;
};

struct Api {
    std::size_t struct_size;
    Extension* extensions;
    struct {
        std::size_t struct_size;
        Extension* extensions;
        std::int32_t major, minor;
    } version;
    /// Later versions look whether some of theirs are null without asking for the version.
    using Function = Error* (*)(void* arguments);
    Function functions[192];
};

struct Text {
    const char* data;
    std::size_t size;
};
template <class T> struct List {
    T* data;
    std::size_t count;
};

struct NamedValue {
    Head head;
    Text name;
    std::int32_t type;
    union {
        const char* text;
        std::int64_t integer;
        const std::int64_t* integers;
        float real;
        bool flag;
    };
    std::size_t size;  ///< of text and integers; else 1
};
enum class NamedType : std::int32_t { text, integer, integers, real, flag };

struct Layout {
    Head head;  ///< not initialised by callers
    union {
        struct {
            Head head;
            const std::int64_t* minor_to_major;
            std::size_t rank;
            const std::int64_t* tile_dims;
            const std::size_t* tile_ranks;
            std::size_t tile_count;
        } tiled;
        struct {
            Head head;
            const std::int64_t* bytes;
            std::size_t rank;
        } strides;
    };
    std::int32_t type;  ///< 0: tiled, 1: strides
};

// ---- shapes of arguments that many functions have -------------------------------------------------------------------

template <class T> struct Only {
    Head head;
    T* self;
};
/// One value is asked of an object.
template <class T, class V> struct Ask {
    Head head;
    T* self;
    V value;
};
/// An object is asked for by a number.
template <class T, class V> struct Lookup {
    Head head;
    T* self;
    std::int32_t number;
    V value;
};
/// Bytes with their owner.
template <class T> struct Serialize {
    Head head;
    T* self;
    Text bytes;
    void* holder;
    void (*deleter)(void* holder);
};

// ---- the others
// ------------------------------------------------------------------------------------------------------

struct ErrorMessage {
    Head head;
    const Error* error;
    Text text;
};
struct ErrorCode {
    Head head;
    const Error* error;
    std::int32_t code;
};
struct PluginAttributes {
    Head head;
    List<const NamedValue> values;
};
struct OnReady {
    Head head;
    EventHandle* event;
    void (*callback)(Error* error, void* user);
    void* user;
};
struct ClientCreate {
    Head head;
    List<const NamedValue> options;
    void* unused[4];  ///< of distributed clients
    Client* client;
    void* unused_late[2];
};
struct Program {
    Head head;
    Text code, format;
};
struct Compile {
    Head head;
    Client* client;
    const Program* program;
    Text options;
    LoadedExecutable* executable;
};
struct DefaultAssignment {
    Head head;
    Client* client;
    std::int32_t replicas, partitions;
    std::size_t size;
    std::int32_t* assignment;
};
struct FromHost {
    Head head;
    Client* client;
    const void* data;
    std::int32_t type;
    List<const std::int64_t> dims;
    List<const std::int64_t> strides;  ///< in bytes; none: dense
    std::int32_t semantics;
    Device* device;
    Memory* memory;
    const Layout* layout;
    EventHandle* done;
    Buffer* buffer;
};
struct DeviceAttributes {
    Head head;
    Device* device;
    std::size_t count;
    const NamedValue* values;
};
struct OptionalNumber {
    std::int64_t value;
    bool is_set;
};
struct MemoryStatistics {
    Head head;
    Device* device;
    std::int64_t in_use;
    OptionalNumber peak, allocations, largest_allocation, limit, reserved, peak_reserved, reservable, largest_free,
        pool, peak_pool, peak_allocated;
};
struct ToHost {
    Head head;
    Buffer* buffer;
    const Layout* layout;
    void* data;
    std::size_t size;
    EventHandle* event;
};
struct RawToHost {
    Head head;
    Buffer* buffer;
    void* data;
    std::int64_t offset, size;
    EventHandle* event;
};
struct CopyTo {
    Head head;
    Buffer* buffer;
    void* target;  ///< a Device or a Memory
    Buffer* copy;
};
struct Uninitialized {
    Head head;
    Client* client;
    List<const std::int64_t> dims;
    std::int32_t type;
    const Layout* layout;
    Device* device;
    Memory* memory;
    Buffer* buffer;
};
struct ViewOfMemory {
    Head head;
    Client* client;
    const void* data;
    List<const std::int64_t> dims;
    std::int32_t type;
    const Layout* layout;
    Device* device;
    void (*on_delete)(void* data, void* user);  ///< may be null
    void* user;
    std::size_t stream;
    Buffer* buffer;
    Memory* memory;  ///< of callers from version 0.66 on
};
struct ExecuteOptions {
    Head head;
    void *send, *receive;
    std::size_t send_count, receive_count;
    std::int32_t launch_id;
    List<const std::int64_t> not_donated;
};
struct Execute {
    Head head;
    LoadedExecutable* executable;
    const ExecuteOptions* options;
    Buffer* const* const* arguments;
    std::size_t device_count, argument_count;
    Buffer** const* results;
    EventHandle** events;
    Device* device;
};
struct Deserialize {
    Head head;
    Client* client;
    Text bytes;
    LoadedExecutable* executable;
    Text options;
};
struct OutputDimensions {
    Head head;
    ExecutableHandle* executable;
    std::size_t count;
    const std::int64_t* dims;
    const std::size_t* ranks;
};
struct CostAnalysis {
    Head head;
    ExecutableHandle* executable;
    std::size_t count;
    const NamedValue* values;
};
struct CompiledMemory {
    Head head;
    ExecutableHandle* executable;
    std::int64_t code, arguments, results, aliases, temporary;
    std::int64_t host_code, host_arguments, host_results, host_aliases, host_temporary;
    std::int64_t peak, total, late[3];
};
struct MemoryKinds {
    Head head;
    ExecutableHandle* executable;
    std::size_t count;
    const char* const* kinds;
    const std::size_t* sizes;
};

/// Whether a caller's struct, which may be older and shorter, has the member that ends there.
inline bool reaches(const Head& head, std::size_t end) { return head.struct_size >= end; }

}  // namespace tosavk::pjrt
