// C++ over model.h: models whose sizes are known late. C++20.
#ifndef TOSAVK_MODEL_HPP
#define TOSAVK_MODEL_HPP

#include "tosavk/model.h"
#include "tosavk/run.hpp"

namespace tosavk::cpp {

/// Sizes for a Model: by symbol, by an input's shape, or both.
struct Bindings {
    std::vector<std::pair<std::uint32_t, std::int64_t>> symbols;
    std::vector<std::pair<std::uint32_t, Shape>> input_shapes;
};

namespace detail {

/// Calls f with the bindings as the C ABI has them.
template <class F> void with_raw(const Bindings& bindings, F f) {
    auto raw = sized<tosavk_bindings>();
    std::vector<tosavk_symbol_value> symbols;
    for (const auto& [symbol, value] : bindings.symbols) {
        tosavk_symbol_value& one = symbols.emplace_back(sized<tosavk_symbol_value>());
        one.symbol = symbol;
        one.value = value;
    }
    const std::vector<tosavk_input_shape> shapes = raw_shapes(bindings.input_shapes);
    raw.symbols = symbols.data();
    raw.symbol_count = symbols.size();
    raw.input_shapes = shapes.data();
    raw.input_shape_count = shapes.size();
    f(static_cast<const tosavk_bindings*>(&raw));
}

}  // namespace detail

class Model {
public:
    /// `max_executables`: see tosavk_model_options.
    static Model open(const std::string& path, const LoadOptions& options = {}, std::uint32_t max_executables = 0) {
        return make(options, max_executables, [&](const auto* load, const auto* kept, tosavk_model** model) {
            detail::call(tosavk_model_open_file, path.c_str(), load, kept, model);
        });
    }
    static Model open(std::span<const std::byte> file, const LoadOptions& options = {},
                      std::uint32_t max_executables = 0) {
        return make(options, max_executables, [&](const auto* load, const auto* kept, tosavk_model** model) {
            detail::call(tosavk_model_open_memory, static_cast<const void*>(file.data()), file.size(), load, kept,
                         model);
        });
    }

    /// The file's bytes, as they were read.
    std::vector<std::byte> file() const {
        tosavk_bytes* bytes = nullptr;
        detail::call(tosavk_model_file, constant(), &bytes);
        return detail::take(bytes);
    }
    std::uint32_t input_count() const { return tosavk_model_input_count(get()); }
    std::uint32_t output_count() const { return tosavk_model_output_count(get()); }
    std::uint32_t symbol_count() const { return tosavk_model_symbol_count(get()); }
    tosavk_open_tensor_info input(std::uint32_t index) const {
        auto result = detail::sized<tosavk_open_tensor_info>();
        detail::call(tosavk_model_input, constant(), index, &result);
        return result;
    }
    tosavk_symbol_info symbol(std::uint32_t index) const {
        auto result = detail::sized<tosavk_symbol_info>();
        detail::call(tosavk_model_symbol, constant(), index, &result);
        return result;
    }
    Graph graph(const Bindings& bindings) const {
        tosavk_graph* graph = nullptr;
        detail::with_raw(bindings,
                         [&](const tosavk_bindings* raw) { detail::call(tosavk_model_graph, get(), raw, &graph); });
        return Graph::adopt(graph);
    }
    /// `options.struct_size` is set here.
    Executable specialize(const Device& device, const Bindings& bindings, tosavk_compile_options options = {}) const {
        options.struct_size = sizeof options;
        const tosavk_compile_options* given = &options;
        tosavk_executable* executable = nullptr;
        detail::with_raw(bindings, [&](const tosavk_bindings* raw) {
            detail::call(tosavk_specialize, get(), device.get(), raw, given, &executable);
        });
        return Executable::adopt(executable);
    }
    /// A context that takes inputs of any allowed shape: see Context::set_input_shape.
    Context context(const Device& device, bool profile = false, tosavk_compile_options options = {}) const {
        options.struct_size = sizeof options;
        auto context_options = detail::sized<tosavk_context_options>();
        context_options.profile = profile ? 1 : 0;
        const tosavk_compile_options* compile = &options;
        const tosavk_context_options* given = &context_options;
        tosavk_context* context = nullptr;
        detail::call(tosavk_model_context_create, get(), device.get(), compile, given, &context);
        return Context::adopt(context);
    }
    tosavk_model_counters counters() const {
        auto result = detail::sized<tosavk_model_counters>();
        detail::call(tosavk_model_count, constant(), &result);
        return result;
    }
    tosavk_model* get() const { return handle_.get(); }

private:
    explicit Model(tosavk_model* handle) : handle_(handle) {}
    const tosavk_model* constant() const { return handle_.get(); }

    template <class F> static Model make(const LoadOptions& options, std::uint32_t max_executables, F open) {
        auto raw = detail::sized<tosavk_model_options>();
        raw.max_executables = max_executables;
        const tosavk_model_options* kept = &raw;
        tosavk_model* model = nullptr;
        detail::with_raw(options, [&](const tosavk_load_options* load) { open(load, kept, &model); });
        return Model(model);
    }

    detail::Handle<tosavk_model, tosavk_model_release> handle_;
};

}  // namespace tosavk::cpp

#endif  // TOSAVK_MODEL_HPP
