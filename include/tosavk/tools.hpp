// C++ over tools.h: the check, conformance, tuning, .npy files. C++20.
#ifndef TOSAVK_TOOLS_HPP
#define TOSAVK_TOOLS_HPP

#include "tosavk/run.hpp"
#include "tosavk/tools.h"

namespace tosavk::cpp {

/// JSON: what a problem line can say.
inline std::string problems() {
    tosavk_text* text = nullptr;
    detail::call(tosavk_problems_describe, &text);
    return detail::take(text);
}

/// A tensor from a .npy file.
class Array {
public:
    static Array load(const std::string& path) {
        tosavk_array* array = nullptr;
        detail::call(tosavk_array_load, path.c_str(), &array);
        return Array(array);
    }
    /// `raw`: bf16 and fp8 keep their bits instead of becoming float32.
    static void save(const std::string& path, std::int32_t type, const Shape& shape, const void* data,
                     bool raw = false) {
        detail::call(raw ? tosavk_array_save_raw : tosavk_array_save, path.c_str(), type,
                     static_cast<std::uint32_t>(shape.size()), shape.data(), data);
    }

    Array convert(std::int32_t type) const {
        tosavk_array* array = nullptr;
        detail::call(tosavk_array_convert, handle_.get(), type, &array);
        return Array(array);
    }
    TensorInfo info() const {
        auto result = detail::sized<TensorInfo>();
        detail::call(tosavk_array_info, handle_.get(), &result);
        return result;
    }
    std::span<const std::byte> bytes() const {
        return {static_cast<const std::byte*>(tosavk_array_data(handle_.get())), info().size_bytes};
    }

private:
    explicit Array(tosavk_array* handle) : handle_(handle) {}
    detail::Handle<tosavk_array, tosavk_array_release> handle_;
};

/// Measures the kernels that could run each node and keeps the fastest; JSON. `min_time_s` 0: the default.
inline std::string tune(const Device& device, const Graph& graph, bool check = true, double min_time_s = 0,
                        std::uint64_t seed = 0, tosavk_progress_callback progress = nullptr, void* user = nullptr) {
    auto options = detail::sized<tosavk_tune_options>();
    options.no_check = check ? 0 : 1;
    options.min_time_s = min_time_s;
    options.seed = seed;
    options.progress = progress;
    options.user = user;
    const tosavk_tune_options* given = &options;
    tosavk_text* text = nullptr;
    detail::call(tosavk_tune, device.get(), graph.get(), given, &text);
    return detail::take(text);
}

struct CheckReport {
    bool passed = false;
    std::uint64_t values_checked = 0;
    double worst = 0;
    std::string detail;
};

class Checker {
public:
    /// `progress` as of tosavk_checker_options.
    Checker(const Device& device, const Graph& graph, tosavk_progress_callback progress = nullptr,
            void* user = nullptr) {
        auto options = detail::sized<tosavk_checker_options>();
        options.progress = progress;
        options.user = user;
        const tosavk_checker_options* given = &options;
        tosavk_checker* checker = nullptr;
        detail::call(tosavk_checker_create, device.get(), graph.get(), given, &checker);
        handle_.reset(checker);
        inputs_ = graph.input_count();
    }
    CheckReport run(std::uint64_t seed) {
        auto raw = detail::sized<tosavk_check_report>();
        detail::call(tosavk_checker_run, handle_.get(), seed, &raw);
        return take(raw);
    }
    /// With these inputs: a pointer to the bytes of each.
    CheckReport run(std::span<const void* const> inputs) {
        if (inputs.size() != inputs_) throw Error(TOSAVK_ERROR_USAGE, "the number of inputs is not the graph's");
        auto raw = detail::sized<tosavk_check_report>();
        detail::call(tosavk_checker_run_with, handle_.get(), inputs.data(), &raw);
        return take(raw);
    }

private:
    static CheckReport take(const tosavk_check_report& raw) {
        return {raw.passed != 0, raw.values_checked, raw.worst, detail::take(raw.detail)};
    }

    std::uint32_t inputs_ = 0;
    detail::Handle<tosavk_checker, tosavk_checker_release> handle_;
};

struct ConformanceOptions {
    std::string op, type, spec;  ///< empty: all
    std::uint64_t seed = 1;
    std::int64_t cases = 20;  ///< 0: none
    bool large_binding = false;
    std::uint32_t jobs = 1;
    bool all_candidates = false;  ///< also with every other kernel that takes a node
};

/// `row` gets the JSON of each finished row and how many there will be; it returns whether to go on. What it throws
/// ends the sweep and is thrown on.
inline tosavk_conformance_summary run_conformance(const Device& device, const ConformanceOptions& options,
                                                  const std::function<bool(const char*, std::uint64_t)>& row) {
    auto raw = detail::sized<tosavk_conformance_options>();
    raw.op = options.op.c_str();
    raw.type = options.type.c_str();
    raw.spec = options.spec.c_str();
    raw.seed = options.seed;
    raw.cases = options.cases == 0 ? -1 : options.cases;
    raw.large_binding = options.large_binding ? 1 : 0;
    raw.jobs = options.jobs;
    raw.all_candidates = options.all_candidates ? 1 : 0;
    struct Caller {
        const std::function<bool(const char*, std::uint64_t)>& row;
        std::exception_ptr thrown;
    } caller{row, nullptr};
    const tosavk_conformance_callback callback = [](void* user, const char* json, std::uint64_t total) -> std::int32_t {
        auto& to = *static_cast<Caller*>(user);
        try {
            return to.row(json, total) ? 0 : 1;
        } catch (...) {
            to.thrown = std::current_exception();
            return 1;
        }
    };
    auto summary = detail::sized<tosavk_conformance_summary>();
    const tosavk_conformance_options* given = &raw;
    detail::call(tosavk_conformance_run, device.get(), given, callback, static_cast<void*>(&caller), &summary);
    if (caller.thrown) std::rethrow_exception(caller.thrown);
    return summary;
}

/// The operator registry as JSON.
inline std::string describe_ops() {
    tosavk_text* text = nullptr;
    detail::call(tosavk_ops_describe, &text);
    return detail::take(text);
}

}  // namespace tosavk::cpp

#endif  // TOSAVK_TOOLS_HPP
