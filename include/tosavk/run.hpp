// C++ over tosavk.h: devices, graphs from files, compiling and running. C++20.
#ifndef TOSAVK_RUN_HPP
#define TOSAVK_RUN_HPP

#include "tosavk/device.hpp"
#include "tosavk/model.h"

#include <chrono>
#include <concepts>
#include <exception>
#include <functional>
#include <string_view>
#include <vector>

namespace tosavk::cpp {

using TensorInfo = tosavk_tensor_info;
using Shape = std::vector<std::int64_t>;

inline Shape shape_of(const TensorInfo& info) { return Shape(info.dims, info.dims + info.rank); }
inline std::string version() { return tosavk_version(); }
/// Of a tosavk_type or tosavk_host_type.
inline std::string type_name(std::int32_t type) { return tosavk_type_name(type); }
inline std::size_t type_size(std::int32_t type) { return tosavk_type_size(type); }
/// Where the library's own words go, for all of the process: see tosavk_set_log.
inline void set_log(const char* topics, tosavk_log_callback callback = nullptr, void* user = nullptr) {
    detail::call(tosavk_set_log, topics, callback, user);
}

struct LoadOptions {
    tosavk_rounding rounding = TOSAVK_ROUNDING_TFLITE;
    tosavk_level level = TOSAVK_LEVEL_8K;
    std::vector<std::pair<std::uint32_t, Shape>> input_shapes;  ///< for inputs with dynamic dimensions
    tosavk_spec spec = TOSAVK_SPEC_RECOGNISE;
    tosavk_precision precision = TOSAVK_PRECISION_DECLARED;
    const tosavk_custom_set* customs = nullptr;  ///< get() of a CustomSet
    std::string signature;                       ///< of a .tflite file; empty: its main subgraph
    tosavk_hybrid hybrid = TOSAVK_HYBRID_EXACT;
    bool f64_as_f32 = false;  ///< of StableHLO, which else is refused
};

namespace detail {

/// Keeps what a callback throws, so that it leaves through the library as a failure and not as an exception.
template <class F> struct Caught {
    F function;
    std::exception_ptr thrown;

    template <class R, class... Args> R run(R failed, Args... args) {
        try {
            return function(args...);
        } catch (...) {
            thrown = std::current_exception();
            return failed;
        }
    }
    /// After the call: throws what the callback threw, else what the call itself did.
    template <class Call> void around(Call outer) {
        try {
            outer();
        } catch (...) {
            if (thrown) std::rethrow_exception(thrown);
            throw;
        }
    }
};

/// call(callback, user) with the stream that is `write`, which takes all of the bytes.
template <class Write, class Call> void with_writer(const Write& write, Call call) {
    const auto taken = [&](const void* data, std::size_t size) {
        write(std::span(static_cast<const std::byte*>(data), size));
        return std::int32_t{0};
    };
    Caught<decltype(taken)> caught{taken, nullptr};
    const tosavk_write_callback callback = [](void* user, const void* data, std::size_t size) {
        return static_cast<decltype(caught)*>(user)->run(std::int32_t{-1}, data, size);
    };
    caught.around([&] { call(callback, static_cast<void*>(&caught)); });
}

inline std::vector<std::byte> take(tosavk_bytes* bytes) {
    const Handle<tosavk_bytes, tosavk_bytes_release> owner(bytes);
    const auto* data = static_cast<const std::byte*>(tosavk_bytes_data(bytes));
    return std::vector<std::byte>(data, data + tosavk_bytes_size(bytes));
}

inline std::vector<tosavk_input_shape> raw_shapes(const std::vector<std::pair<std::uint32_t, Shape>>& given) {
    std::vector<tosavk_input_shape> shapes;
    for (const auto& [index, dims] : given) {
        if (dims.size() > TOSAVK_MAX_RANK) throw Error(TOSAVK_ERROR_USAGE, "an input shape has too many dimensions");
        tosavk_input_shape& shape = shapes.emplace_back(sized<tosavk_input_shape>());
        shape.index = index;
        shape.rank = static_cast<std::uint32_t>(dims.size());
        for (std::size_t k = 0; k < dims.size(); ++k) shape.dims[k] = dims[k];
    }
    return shapes;
}

/// Calls f with the options as the C ABI has them.
template <class F> void with_raw(const LoadOptions& options, F f) {
    auto raw = sized<tosavk_load_options>();
    raw.rounding = options.rounding;
    raw.level = options.level;
    raw.spec = options.spec;
    raw.precision = options.precision;
    raw.customs = options.customs;
    raw.signature = options.signature.empty() ? nullptr : options.signature.c_str();
    raw.hybrid = options.hybrid;
    raw.f64_as_f32 = options.f64_as_f32 ? 1 : 0;
    const std::vector<tosavk_input_shape> shapes = raw_shapes(options.input_shapes);
    raw.input_shapes = shapes.data();
    raw.input_shape_count = shapes.size();
    f(&raw);
}

}  // namespace detail

/// JSON: which operators of a TFLite or TOSA file are taken, and why others are not.
inline std::string probe(const std::string& path, const LoadOptions& options = {}) {
    tosavk_text* text = nullptr;
    detail::with_raw(
        options, [&](const tosavk_load_options* raw) { detail::call(tosavk_probe_file, path.c_str(), raw, &text); });
    return detail::take(text);
}
inline std::string probe(std::span<const std::byte> file, const LoadOptions& options = {}) {
    tosavk_text* text = nullptr;
    detail::with_raw(options, [&](const tosavk_load_options* raw) {
        detail::call(tosavk_probe_memory, static_cast<const void*>(file.data()), file.size(), raw, &text);
    });
    return detail::take(text);
}

/// JSON, as tosavk_describe_file gives it.
inline std::string describe(const std::string& path) {
    tosavk_text* text = nullptr;
    detail::call(tosavk_describe_file, path.c_str(), &text);
    return detail::take(text);
}
inline std::string describe(std::span<const std::byte> file) {
    tosavk_text* text = nullptr;
    detail::call(tosavk_describe_memory, static_cast<const void*>(file.data()), file.size(), &text);
    return detail::take(text);
}

class Graph {
public:
    static Graph load(const std::string& path, const LoadOptions& options = {}) {
        return make(options, [&](const tosavk_load_options* raw, tosavk_graph** graph) {
            detail::call(tosavk_graph_load_file, path.c_str(), raw, graph);
        });
    }
    static Graph load(std::span<const std::byte> file, const LoadOptions& options = {}) {
        return make(options, [&](const tosavk_load_options* raw, tosavk_graph** graph) {
            detail::call(tosavk_graph_load_memory, static_cast<const void*>(file.data()), file.size(), raw, graph);
        });
    }
    /// From a stream: `read` fills some of the bytes and says how many, 0 at the end.
    static Graph load(const std::function<std::size_t(std::span<std::byte>)>& read, const LoadOptions& options = {}) {
        const auto counted = [&](void* data, std::size_t size) {
            return static_cast<std::int64_t>(read({static_cast<std::byte*>(data), size}));
        };
        detail::Caught<decltype(counted)> caught{counted, nullptr};
        const tosavk_read_callback callback = [](void* user, void* data, std::size_t size) {
            return static_cast<decltype(caught)*>(user)->run(std::int64_t{-1}, data, size);
        };
        tosavk_graph* graph = nullptr;
        caught.around([&] {
            detail::with_raw(options, [&](const tosavk_load_options* raw) {
                detail::call(tosavk_graph_load_stream, callback, static_cast<void*>(&caught), raw, &graph);
            });
        });
        return Graph(graph);
    }
    /// A problem line, such as "conv2d i8 1x56x56x64 64x3x3 s1 p1 rescale clamp".
    static Graph problem(const std::string& line, const LoadOptions& options = {}) {
        return make(options, [&](const tosavk_load_options* raw, tosavk_graph** graph) {
            detail::call(tosavk_graph_load_problem, line.c_str(), raw, graph);
        });
    }

    std::uint32_t input_count() const { return tosavk_graph_input_count(get()); }
    std::uint32_t output_count() const { return tosavk_graph_output_count(get()); }
    std::uint32_t node_count() const { return tosavk_graph_node_count(get()); }
    std::uint32_t variable_count() const { return tosavk_graph_variable_count(get()); }
    TensorInfo input(std::uint32_t index) const {
        auto result = detail::sized<TensorInfo>();
        detail::call(tosavk_graph_input, get(), index, &result);
        return result;
    }
    TensorInfo output(std::uint32_t index) const {
        auto result = detail::sized<TensorInfo>();
        detail::call(tosavk_graph_output, get(), index, &result);
        return result;
    }
    std::string print(std::int32_t kind = TOSAVK_GRAPH_LISTING) const {
        tosavk_text* text = nullptr;
        detail::call(tosavk_graph_print, get(), kind, &text);
        return detail::take(text);
    }
    /// As a TOSA 1.0 flatbuffer.
    void save(const std::string& path) const { detail::call(tosavk_graph_save_file, get(), path.c_str()); }
    std::vector<std::byte> save() const {
        tosavk_bytes* file = nullptr;
        detail::call(tosavk_graph_save_memory, get(), &file);
        return detail::take(file);
    }
    /// To a stream: `write` takes all of the bytes.
    void save(const std::function<void(std::span<const std::byte>)>& write) const {
        detail::with_writer(write, [&](tosavk_write_callback callback, void* user) {
            detail::call(tosavk_graph_save_stream, get(), callback, user);
        });
    }
    Graph with_precision(tosavk_precision precision) const {
        tosavk_graph* graph = nullptr;
        detail::call(tosavk_graph_with_precision, get(), std::int32_t{precision}, &graph);
        return Graph(graph);
    }
    std::vector<std::byte> random_input(std::uint32_t index, std::uint64_t seed) const {
        std::vector<std::byte> bytes(input(index).size_bytes);
        detail::call(tosavk_random_input, get(), index, seed, static_cast<void*>(bytes.data()), bytes.size());
        return bytes;
    }
    /// The interpreter's outputs for these inputs (by index, each of its input's size). With `steps`, that many runs
    /// that keep the variables: inputs and outputs hold those of all, one behind the other.
    std::vector<std::vector<std::byte>> reference_run(std::span<const std::vector<std::byte>> inputs,
                                                      std::uint32_t steps = 1,
                                                      tosavk_progress_callback progress = nullptr,
                                                      void* user = nullptr) const {
        if (steps == 0) throw Error(TOSAVK_ERROR_USAGE, "reference_run: steps is 0");
        if (inputs.size() != input_count()) {
            throw Error(TOSAVK_ERROR_USAGE, "reference_run: the number of inputs is not the graph's");
        }
        std::vector<const void*> in;
        for (std::uint32_t k = 0; k < inputs.size(); ++k) {
            if (inputs[k].size() != steps * input(k).size_bytes) {
                throw Error(TOSAVK_ERROR_BAD_INPUT,
                            "reference_run: input " + std::to_string(k) + " has the wrong size");
            }
            in.push_back(inputs[k].data());
        }
        std::vector<std::vector<std::byte>> results;
        std::vector<void*> out;
        for (std::uint32_t k = 0; k < output_count(); ++k) results.emplace_back(steps * output(k).size_bytes);
        for (auto& result : results) out.push_back(result.data());
        auto options = detail::sized<tosavk_reference_options>();
        options.steps = steps;
        options.progress = progress;
        options.user = user;
        const tosavk_reference_options* given = &options;
        detail::call(tosavk_reference_run_with, get(), given, in.data(), out.data());
        return results;
    }
    const tosavk_graph* get() const { return handle_.get(); }
    /// Takes over a handle of the C ABI.
    static Graph adopt(tosavk_graph* handle) { return Graph(handle); }

private:
    explicit Graph(tosavk_graph* handle) : handle_(handle) {}

    template <class F> static Graph make(const LoadOptions& options, F load) {
        tosavk_graph* graph = nullptr;
        detail::with_raw(options, [&](const tosavk_load_options* raw) { load(raw, &graph); });
        return Graph(graph);
    }

    detail::Handle<tosavk_graph, tosavk_graph_release> handle_;
};

/// Compiles ahead of time into one file, which Graph::load reads.
inline void save_package(const Device& device, const Graph& graph, const std::string& path, bool fuse = true) {
    auto options = detail::sized<tosavk_compile_options>();
    options.no_fuse = fuse ? 0 : 1;
    const tosavk_compile_options* given = &options;
    detail::call(tosavk_package_save, device.get(), graph.get(), given, path.c_str());
}

/// The same in memory.
inline std::vector<std::byte> save_package(const Device& device, const Graph& graph, bool fuse = true) {
    auto options = detail::sized<tosavk_compile_options>();
    options.no_fuse = fuse ? 0 : 1;
    const tosavk_compile_options* given = &options;
    tosavk_bytes* file = nullptr;
    detail::call(tosavk_package_save_memory, device.get(), graph.get(), given, &file);
    return detail::take(file);
}

/// The same to a stream: `write` takes all of the bytes.
template <std::invocable<std::span<const std::byte>> Write>
void save_package(const Device& device, const Graph& graph, const Write& write, bool fuse = true) {
    auto options = detail::sized<tosavk_compile_options>();
    options.no_fuse = fuse ? 0 : 1;
    const tosavk_compile_options* given = &options;
    detail::with_writer(write, [&](tosavk_write_callback callback, void* user) {
        detail::call(tosavk_package_save_stream, device.get(), graph.get(), given, callback, user);
    });
}

class Executable {
public:
    /// `options.struct_size` is set here.
    Executable(const Device& device, const Graph& graph, tosavk_compile_options options) {
        options.struct_size = sizeof options;
        const tosavk_compile_options* given = &options;
        tosavk_executable* executable = nullptr;
        detail::call(tosavk_compile, device.get(), graph.get(), given, &executable);
        handle_.reset(executable);
    }
    Executable(const Device& device, const Graph& graph, bool fuse = true, bool keep_all = false) {
        auto options = detail::sized<tosavk_compile_options>();
        options.no_fuse = fuse ? 0 : 1;
        options.keep_all = keep_all ? 1 : 0;
        const tosavk_compile_options* given = &options;
        tosavk_executable* executable = nullptr;
        detail::call(tosavk_compile, device.get(), graph.get(), given, &executable);
        handle_.reset(executable);
    }
    std::string print(std::int32_t kind) const {
        tosavk_text* text = nullptr;
        detail::call(tosavk_executable_print, get(), kind, &text);
        return detail::take(text);
    }
    tosavk_binding_info input_binding(std::uint32_t index) const {
        auto result = detail::sized<tosavk_binding_info>();
        detail::call(tosavk_executable_input_binding, static_cast<const tosavk_executable*>(get()), index, &result);
        return result;
    }
    tosavk_binding_info output_binding(std::uint32_t index) const {
        auto result = detail::sized<tosavk_binding_info>();
        detail::call(tosavk_executable_output_binding, static_cast<const tosavk_executable*>(get()), index, &result);
        return result;
    }
    tosavk_executable* get() const { return handle_.get(); }
    /// Takes over a handle of the C ABI.
    static Executable adopt(tosavk_executable* handle) { return Executable(handle); }

private:
    explicit Executable(tosavk_executable* handle) : handle_(handle) {}

    detail::Handle<tosavk_executable, tosavk_executable_release> handle_;
};

class Context {
public:
    explicit Context(const Executable& executable, bool profile = false) {
        auto options = detail::sized<tosavk_context_options>();
        options.profile = profile ? 1 : 0;
        const tosavk_context_options* given = &options;
        tosavk_context* context = nullptr;
        detail::call(tosavk_context_create, executable.get(), given, &context);
        handle_.reset(context);
    }
    void set_input(std::uint32_t index, std::span<const std::byte> bytes) {
        detail::call(tosavk_context_set_input, get(), index, static_cast<const void*>(bytes.data()), bytes.size());
    }
    /// Elements of another type, a tosavk_type or tosavk_host_type.
    void set_input_as(std::uint32_t index, std::int32_t type, std::span<const std::byte> bytes) {
        detail::call(tosavk_context_set_input_as, get(), index, type, static_cast<const void*>(bytes.data()),
                     bytes.size());
    }
    void get_output_as(std::uint32_t index, std::int32_t type, std::span<std::byte> bytes) {
        detail::call(tosavk_context_get_output_as, get(), index, type, static_cast<void*>(bytes.data()), bytes.size());
    }
    /// See tosavk_context_bind_input.
    void bind_input(std::uint32_t index, const Buffer& buffer, std::uint32_t flags = 0) {
        detail::call(tosavk_context_bind_input, get(), index, buffer.get(), flags);
    }
    void bind_output(std::uint32_t index, const Buffer& buffer, std::uint32_t flags = 0) {
        detail::call(tosavk_context_bind_output, get(), index, buffer.get(), flags);
    }
    void unbind_input(std::uint32_t index) {
        detail::call(tosavk_context_bind_input, get(), index, static_cast<tosavk_buffer*>(nullptr), 0u);
    }
    void unbind_output(std::uint32_t index) {
        detail::call(tosavk_context_bind_output, get(), index, static_cast<tosavk_buffer*>(nullptr), 0u);
    }
    void run() { detail::call(tosavk_context_run, get()); }
    void submit() { detail::call(tosavk_context_submit, get()); }
    /// See tosavk_submit_options; its struct_size is set here.
    void submit(tosavk_submit_options options) {
        options.struct_size = sizeof options;
        const tosavk_submit_options* given = &options;
        detail::call(tosavk_context_submit_with, get(), given);
    }
    void wait() { detail::call(tosavk_context_wait, get()); }
    /// Whether the run has ended within the time (0: only looks).
    bool wait_for(std::chrono::nanoseconds timeout) {
        std::int32_t finished = 0;
        const auto ns = timeout.count() > 0 ? static_cast<std::uint64_t>(timeout.count()) : std::uint64_t{0};
        detail::call(tosavk_context_wait_for, get(), ns, &finished);
        return finished != 0;
    }
    void get_output(std::uint32_t index, std::span<std::byte> bytes) {
        detail::call(tosavk_context_get_output, get(), index, static_cast<void*>(bytes.data()), bytes.size());
    }
    void reset_variables() { detail::call(tosavk_context_reset_variables, get()); }
    tosavk_counters counters() const {
        auto result = detail::sized<tosavk_counters>();
        detail::call(tosavk_context_counters, get(), &result);
        return result;
    }
    std::uint32_t dispatch_count() const { return tosavk_context_dispatch_count(get()); }
    tosavk_dispatch_info dispatch(std::uint32_t index) const {
        auto result = detail::sized<tosavk_dispatch_info>();
        detail::call(tosavk_context_dispatch, get(), index, &result);
        return result;
    }
    /// Of an input from now on, where the context is that of a Model.
    void set_input_shape(std::uint32_t index, const Shape& shape) {
        const std::int64_t* dims = shape.data();
        detail::call(tosavk_context_set_input_shape, get(), index, static_cast<std::uint32_t>(shape.size()), dims);
    }
    /// For the inputs' shapes as they are.
    TensorInfo output_info(std::uint32_t index) {
        auto result = detail::sized<TensorInfo>();
        detail::call(tosavk_context_output_info, get(), index, &result);
        return result;
    }
    tosavk_context* get() const { return handle_.get(); }
    /// Takes over a handle of the C ABI.
    static Context adopt(tosavk_context* handle) { return Context(handle); }

private:
    explicit Context(tosavk_context* handle) : handle_(handle) {}

    detail::Handle<tosavk_context, tosavk_context_release> handle_;
};

/// Which of the contexts' runs are over: see tosavk_contexts_wait.
inline std::vector<bool> wait_for(std::span<Context* const> contexts, bool any, std::uint64_t timeout_ns = UINT64_MAX) {
    std::vector<tosavk_context*> handles;
    for (const Context* context : contexts) handles.push_back(context->get());
    std::vector<std::int32_t> finished(handles.size());
    detail::call(tosavk_contexts_wait, handles.data(), handles.size(), any ? 1 : 0, timeout_ns, finished.data());
    return std::vector<bool>(finished.begin(), finished.end());
}

}  // namespace tosavk::cpp

#endif  // TOSAVK_RUN_HPP
