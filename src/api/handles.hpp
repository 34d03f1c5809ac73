// What stands behind the opaque handles of the C ABI, the exception wall, and the rules for struct_size.
#pragma once

#include "base/error.hpp"
#include "base/numerics/default_floats.hpp"
#include "compile/plan/plan.hpp"
#include "graph/graph.hpp"
#include "graph/host_tensor.hpp"
#include "graph/host_values.hpp"
#include "tosavk/api.h"
#include "vk/core/device.hpp"
#include "vk/record/executable.hpp"
#include "vk/run/context.hpp"

#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tosavk {
struct Package;
struct CustomOperator;
class CustomSet;
}  // namespace tosavk

namespace tosavk::api {

class OpenContext;

/// A set of CUSTOM operators that some threads change while others take it.
class Customs {
public:
    std::shared_ptr<const CustomSet> get() const;  ///< as it is now; may be null
    void set(std::shared_ptr<const CustomSet> set);
    void add(CustomOperator op);

private:
    mutable std::mutex mutex_;
    std::shared_ptr<const CustomSet> set_;
};

}  // namespace tosavk::api

struct tosavk_custom_set {
    tosavk::api::Customs customs;
};

struct tosavk_error {
    tosavk_status status;
    std::string message, node, operand;
};

struct tosavk_text {
    std::string text;
};

struct tosavk_bytes {
    tosavk::Bytes bytes;
};

struct tosavk_array {
    tosavk::HostTensor tensor;
    const char* name = "";  ///< numpy's, of the file's elements
    bool opaque = false;    ///< void8 or void16: bits that are taken as they are, for the types that are stored so
};

struct tosavk_device {
    std::shared_ptr<tosavk::Device> device;
    std::string name, driver;
    std::optional<tosavk::DeviceOptions> opened_with;  ///< opens the same device again; none where it was lent
    tosavk::api::Customs customs = {};                 ///< for nodes whose graph has none
};

struct tosavk_graph {
    std::shared_ptr<const tosavk::Graph> graph;
    std::shared_ptr<const tosavk::Package> package;  ///< that the graph came from; may be null
};

struct tosavk_executable {
    std::shared_ptr<tosavk::Executable> executable;
    std::uint64_t package = 0;  ///< see tosavk_counters
};

struct tosavk_buffer {
    tosavk::DeviceBuffer buffer;
    std::int32_t kind = TOSAVK_MEMORY_DEVICE;
};

struct tosavk_semaphore {
    std::shared_ptr<tosavk::Semaphore> semaphore;
};

struct tosavk_context {
    tosavk_context(std::shared_ptr<tosavk::Executable> made_for, bool profile);
    explicit tosavk_context(std::unique_ptr<tosavk::api::OpenContext> open_model);
    ~tosavk_context();

    std::shared_ptr<tosavk::Executable> executable;  ///< null while an open model has no sizes
    std::uint64_t package = 0;                       ///< as the executable's
    std::unique_ptr<tosavk::Context> context;        ///< of the executable
    std::unique_ptr<tosavk::api::OpenContext> open;  ///< of an open model; else null
    std::vector<bool> input_set;

    bool running() const { return context && context->running(); }
    bool has_result() const { return context && context->finished(); }
};

namespace tosavk::api {

/// Turns the exception in flight into a status and, when `error` is not null, an error object. The only place where
/// exceptions become C; never throws, even when memory for the object is missing.
tosavk_status report_current_exception(tosavk_error** error) noexcept;

/// The C function that is running, for messages.
struct Call {
    const char* function;

    /// Throws Error(usage) when an argument that must not be NULL is.
    void require(const void* argument, const char* name) const;
};

/// Runs the body of a C function behind the exception wall: guard(__func__, error, [&](const Call& call) {...}).
template <class F> tosavk_status guard(const char* function, tosavk_error** error, F&& body) noexcept {
    if (error) *error = nullptr;
    const DefaultFloats floats;
    try {
        body(Call{function});
        return TOSAVK_OK;
    } catch (...) {
        return report_current_exception(error);
    }
}

/// Refuses counts that no program means. Throws Error(usage).
void check_count(std::size_t count, const char* list);

/// Throws Error(usage) when a struct_size can be no size of `name`.
void check_struct_size(std::size_t size, const char* name);

/// A struct from the caller: the fields that it has, and zero (which is every option's default) for the rest.
/// Fields that this library does not know yet must be zero, or the caller would believe that they were obeyed.
template <class T> T read_struct(const T* given, const char* name) {
    T result{};
    if (given) {
        std::size_t size = 0;
        std::memcpy(&size, given, sizeof size);
        check_struct_size(size, name);
        std::memcpy(&result, given, size < sizeof(T) ? size : sizeof(T));
        for (std::size_t k = sizeof(T); k < size; ++k) {
            if (reinterpret_cast<const unsigned char*>(given)[k] != 0) {
                throw Error(ErrorCode::usage,
                            std::string(name) + " sets a field that this version of tosa-vk does not know");
            }
        }
    }
    result.struct_size = sizeof(T);
    return result;
}

/// An array of the caller's, whose elements are as far apart as the first one's struct_size says.
template <class T> std::vector<T> read_structs(const T* given, std::size_t count, const char* list, const char* name) {
    if (count > 0 && !given)
        throw Error(ErrorCode::usage, std::string(list) + " is NULL, but its count is " + std::to_string(count));
    check_count(count, list);
    std::vector<T> result;
    std::size_t step = 0;
    for (std::size_t k = 0; k < count; ++k) {
        const auto* one = reinterpret_cast<const unsigned char*>(given) + k * step;
        std::size_t size = 0;
        std::memcpy(&size, one, sizeof size);
        if (k == 0) step = size;
        if (size != step)
            throw Error(ErrorCode::usage, std::string(name) + ".struct_size differs between the elements of " + list);
        result.push_back(read_struct(reinterpret_cast<const T*>(one), name));
    }
    return result;
}

/// A reserved field is 0, so that it may mean something one day. Throws Error(usage).
void require_zero(std::int32_t reserved, const char* name);
/// Whether a field that is 0 or 1 is set; any other number may mean something one day. Throws Error(usage).
bool is_set(std::int32_t flag, const char* name);

/// Fills as much of the caller's struct as it has; the caller's struct_size stays.
template <class T> void write_struct(T* out, T value, const char* name) {
    std::size_t size = 0;
    std::memcpy(&size, out, sizeof size);
    check_struct_size(size, name);
    value.struct_size = size;
    if (size > sizeof(T)) std::memset(reinterpret_cast<unsigned char*>(out) + sizeof(T), 0, size - sizeof(T));
    std::memcpy(out, &value, size < sizeof(T) ? size : sizeof(T));
}

/// Starts a run of the context, and waits for it: with the checks that C callers need.
void submit(tosavk_context& context, RunRequest request = {});
bool wait(tosavk_context& context, std::uint64_t timeout_ns);

/// Throws Error(usage) while a run is under way; `what` as "setting an input".
void require_idle(const tosavk_context& context, const char* what);
/// Name, type and shape of an input as they are now. Throws Error(usage).
Value input_value(const tosavk_context& context, std::uint32_t index);

/// As the set is now; null for null.
std::shared_ptr<const CustomSet> customs_of(const tosavk_custom_set* set);
/// The graph as the device runs it: with the device's operators where the graph has none.
std::shared_ptr<const Graph> graph_for(const tosavk_device& device, const tosavk_graph& graph);

tosavk_text* make_text(std::string text);
PlanOptions plan_options(const tosavk_compile_options* given);
/// None without a callback.
Progress::Listener progress_listener(tosavk_progress_callback progress, void* user);
Progress::Listener progress_listener(const tosavk_compile_options* given);
DType to_dtype(int raw_type);           ///< throws Error(usage) for a value that is no type
HostType host_type(std::int32_t type);  ///< of a tosavk_type or tosavk_host_type; throws likewise
std::int32_t declared_type(DType type, HostKind declared);
/// As tosavk_reference_run takes them.
std::vector<HostTensor> host_inputs(const Call& call, const Graph& graph, const void* const* inputs);
/// Input or output number `index` of a graph, `ends` being those. Throws Error(usage) where there is none.
const Value& end_value(const Graph& graph, const std::vector<ValueId>& ends, std::uint32_t index, const char* what);
tosavk_tensor_info describe_tensor(const char* name, DType type, const Shape& shape);

}  // namespace tosavk::api
