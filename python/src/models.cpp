// LoadOptions, what is made of files with them, and Model.
#include "native.hpp"

namespace tosavk::python {

namespace {

cpp::LoadOptions load_options(int rounding, int hybrid, int level, int precision, std::string signature,
                              bool f64_as_f32) {
    cpp::LoadOptions options;
    options.rounding = static_cast<tosavk_rounding>(rounding);
    options.hybrid = static_cast<tosavk_hybrid>(hybrid);
    options.level = static_cast<tosavk_level>(level);
    options.precision = static_cast<tosavk_precision>(precision);
    options.signature = std::move(signature);
    options.f64_as_f32 = f64_as_f32;
    return options;
}

/// name, type, dimensions, their symbols (-1: none), scale, zero point, declared type
using OpenInfo =
    std::tuple<std::string, int, std::vector<std::int64_t>, std::vector<std::int32_t>, double, std::int64_t, int>;

std::vector<OpenInfo> inputs_of(const cpp::Model& model) {
    std::vector<OpenInfo> result;
    for (std::uint32_t k = 0; k < model.input_count(); ++k) {
        const tosavk_open_tensor_info info = model.input(k);
        result.emplace_back(info.name ? info.name : "", info.type,
                            std::vector<std::int64_t>(info.dims, info.dims + info.rank),
                            std::vector<std::int32_t>(info.symbols, info.symbols + info.rank), info.scale,
                            info.zero_point, info.declared_type);
    }
    return result;
}

std::vector<std::string> symbols_of(const cpp::Model& model) {
    std::vector<std::string> result;
    for (std::uint32_t k = 0; k < model.symbol_count(); ++k) result.emplace_back(model.symbol(k).name);
    return result;
}

Numbers counters_of(const cpp::Model& model) {
    const tosavk_model_counters c = model.counters();
    return {{"specialized", c.specialized},
            {"reused", c.reused},
            {"kept", c.kept},
            {"shaders_compiled", c.shaders_compiled},
            {"pipelines_created", c.pipelines_created},
            {"weight_bytes_copied", c.weight_bytes_copied}};
}

/// A function of a path or of bytes, as two of Python's.
template <class Call> void define_both(nb::module_& module, const std::string& name, Call call) {
    module.def((name + "_file").c_str(), [call](const nb::bytes& given, const cpp::LoadOptions& options) {
        const std::string path = path_of(given);
        const Released released;
        return call(path, options);
    });
    module.def((name + "_bytes").c_str(), [call](const nb::bytes& file, const cpp::LoadOptions& options) {
        const auto bytes = bytes_of(file);
        const Released released;
        return call(bytes, options);
    });
}

}  // namespace

void add_models(nb::module_& module) {
    nb::class_<cpp::LoadOptions>(module, "LoadOptions")
        .def("__init__",
             [](cpp::LoadOptions* self, int rounding, int hybrid, int level, int precision, std::string signature,
                bool f64_as_f32) {
                 new (self) cpp::LoadOptions(
                     load_options(rounding, hybrid, level, precision, std::move(signature), f64_as_f32));
             })
        .def("set_shapes",
             [](cpp::LoadOptions& options, NumberedShapes shapes) { options.input_shapes = std::move(shapes); });

    define_both(module, "load",
                [](const auto& file, const cpp::LoadOptions& options) { return cpp::Graph::load(file, options); });
    define_both(module, "probe",
                [](const auto& file, const cpp::LoadOptions& options) { return cpp::probe(file, options); });
    module.def("load_problem", [](const std::string& line, const cpp::LoadOptions& options) {
        return cpp::Graph::problem(line, options);
    });
    module.def("describe_file", [](const nb::bytes& given) {
        const std::string path = path_of(given);
        const Released released;
        return cpp::describe(path);
    });
    module.def("describe_bytes", [](const nb::bytes& file) {
        const auto bytes = bytes_of(file);
        const Released released;
        return cpp::describe(bytes);
    });

    nb::class_<cpp::Model>(module, "Model")
        .def_static("of_file",
                    [](const nb::bytes& given, const cpp::LoadOptions& options, std::uint32_t max_executables) {
                        const std::string path = path_of(given);
                        const Released released;
                        return cpp::Model::open(path, options, max_executables);
                    })
        .def_static("of_bytes",
                    [](const nb::bytes& file, const cpp::LoadOptions& options, std::uint32_t max_executables) {
                        const auto bytes = bytes_of(file);
                        const Released released;
                        return cpp::Model::open(bytes, options, max_executables);
                    })
        .def("file", [](const cpp::Model& model) { return to_bytes(model.file()); })
        .def_prop_ro("inputs", inputs_of)
        .def_prop_ro("symbols", symbols_of)
        .def("graph",
             [](const cpp::Model& model, NumberedSizes symbols, NumberedShapes shapes) {
                 const Released released;
                 return model.graph({std::move(symbols), std::move(shapes)});
             })
        .def("counters", counters_of);
}

}  // namespace tosavk::python
