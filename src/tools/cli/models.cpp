// Models as the commands take them: options, shapes, arrays that are their inputs.
#include "tools/cli/common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

namespace tosavk::cli {

namespace {

/// Files report their own path at times; it should not stand twice.
std::string with_path(const std::string& path, const std::string& message) {
    return message.find(path) == std::string::npos ? path + ": " + message : message;
}

}  // namespace

void add_model_options(CLI::App& command, ModelOptions& options, bool with_path) {
    if (with_path) {
        CLI::Option* path = command.add_option(
            "MODEL", options.path,
            "the model: a .tflite, .tosa or StableHLO file, or a package; or a problem line, as of --op");
        CLI::Option* op =
            command.add_option("--op", options.problem,
                               "a problem line instead of a model: 'conv2d i8 1x56x56x64 64x3x3 s1 p1 rescale'; "
                               "tosa-vk-bench --help-problems lists more");
        op->excludes(path);
    }
    command
        .add_option("--rounding", options.rounding,
                    "how .tflite files scale their sums: as TFLite's reference kernels do (default tflite), "
                    "or all with double or single rounding")
        ->check(CLI::IsMember({"tflite", "double", "single"}));
    command
        .add_option("--hybrid", options.hybrid,
                    "float activations that meet int8 weights in .tflite files: exact quantizes them at run time as "
                    "TFLite does (default), dequantize makes the weights floats")
        ->check(CLI::IsMember({"exact", "dequantize"}));
    command.add_flag("--f64-as-f32", options.f64_as_f32,
                     "compute the f64 and complex<f64> of a StableHLO program as f32 (default: they are refused)");
    command.add_option("--level", options.level, "limits of the TOSA level to apply (default 8K)")
        ->check(CLI::IsMember({"none", "8K"}));
    command
        .add_option("--spec", options.spec,
                    "layout of a .tosa file that does not tell its version (default: by its structure)")
        ->check(CLI::IsMember({"0.30", "0.80", "1.0"}));
    command
        .add_option(
            "--precision", options.precision,
            "what the model declares as fp32 is computed in fp32 (exact, also called declared; the default), in "
            "fp16 with TOSA's bounds (fp16), or by the device's own fp16 arithmetic as it is (fast)")
        ->check(CLI::IsMember({"declared", "exact", "fp16", "fast"}));
    command.add_option("--signature", options.signature,
                       "signature of a .tflite file that is the graph, with its names (default: the main subgraph)");
    command
        .add_option("--shape", options.shapes,
                    "NAME_OR_INDEX=1x20x64, the shape of an input with open dimensions, which else are 1; may be "
                    "repeated")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_device_option(CLI::App& command, std::string& device) {
    command.add_option("--device", device, "index, part of the device's name, or cpu (default: the best device)");
}

void add_device_options(CLI::App& command, DeviceChoice& device) {
    add_device_option(command, device.name);
    command.add_flag("--compile-only", device.compile_only,
                     "open a device that cannot run, such as a driver without its GPU: plans, pipelines and packages");
}

cpp::Device open_device(const DeviceChoice& device, bool inspect) {
    tosavk_device_options options{};
    options.name = device.name.c_str();
    options.compile_only = device.compile_only ? 1 : 0;
    options.inspect = inspect ? 1 : 0;
    return cpp::Device(options);
}

bool is_problem_line(const std::string& path) {
    std::error_code ignored;
    const auto endings = {".tflite", ".tosa", ".tvk"};
    return path.find(' ') != std::string::npos && path.find('/') == std::string::npos &&
           std::none_of(endings.begin(), endings.end(), [&](const char* ending) { return path.ends_with(ending); }) &&
           !std::filesystem::exists(path, ignored);
}

std::string model_argument(const ModelOptions& options) {
    const std::string& name = options.name();
    const std::string quoted = name.find(' ') == std::string::npos ? name : "'" + name + "'";
    std::string text = options.problem.empty() ? quoted : "--op " + quoted;
    if (options.f64_as_f32) text += " --f64-as-f32";
    for (const std::string& shape : options.shapes)
        text += shape.find_first_of(" '\"$`;&|<>()") == std::string::npos ? " --shape " + shape
                                                                          : fmt::format(" --shape '{}'", shape);
    return text;
}

namespace {

cpp::LoadOptions load_options(const ModelOptions& options) {
    cpp::LoadOptions load;
    load.rounding = options.rounding == "single" ? TOSAVK_ROUNDING_SINGLE
                  : options.rounding == "double" ? TOSAVK_ROUNDING_DOUBLE
                                                 : TOSAVK_ROUNDING_TFLITE;
    if (options.hybrid == "dequantize") load.hybrid = TOSAVK_HYBRID_DEQUANTIZE;
    load.f64_as_f32 = options.f64_as_f32;
    load.level = options.level == "none" ? TOSAVK_LEVEL_NONE : TOSAVK_LEVEL_8K;
    if (options.spec == "0.30") load.spec = TOSAVK_SPEC_0_30;
    if (options.spec == "0.80") load.spec = TOSAVK_SPEC_0_80;
    if (options.spec == "1.0") load.spec = TOSAVK_SPEC_1_0;
    load.signature = options.signature;
    if (!options.is_exact())
        load.precision = options.precision == "fast" ? TOSAVK_PRECISION_FAST : TOSAVK_PRECISION_FP16;
    return load;
}

/// "1x20x64"; throws Failure(exit_usage).
cpp::Shape parse_shape(const std::string& text, const std::string& option) {
    cpp::Shape shape;
    const char *at = text.data(), *const end = at + text.size();
    while (at != end) {
        std::int64_t dim = 0;
        const auto [next, error] = std::from_chars(at, end, dim);
        if (error != std::errc() || dim < 1 || (next != end && (*next != 'x' || next + 1 == end)))
            throw Failure(exit_usage, fmt::format("--shape {}: '{}' is no shape such as 1x20x64", option, text));
        shape.push_back(dim);
        at = next == end ? end : next + 1;
    }
    return shape;
}

/// What --shape gives, by the inputs of a file that may leave dimensions open.
InputShapes option_shapes(const ModelOptions& options) {
    InputShapes shapes;
    if (options.shapes.empty()) return shapes;
    if (!options.problem.empty() || is_problem_line(options.path))
        throw Failure(exit_usage, "--shape is for files; a problem line has its shapes");
    cpp::LoadOptions load = load_options(options);
    const cpp::Model model = cpp::Model::open(options.path, load);
    for (const std::string& option : options.shapes) {
        const std::size_t equals = option.rfind('=');
        if (equals == std::string::npos || equals == 0)
            throw Failure(exit_usage, fmt::format("--shape {} is not NAME_OR_INDEX=SHAPE", option));
        const std::string which = option.substr(0, equals);
        std::optional<std::uint32_t> index;
        for (std::uint32_t k = 0; k < model.input_count(); ++k) {
            if (which == model.input(k).name) index = k;
        }
        for (std::uint32_t k = 0; !index && k < model.input_count(); ++k) {
            if (which == std::to_string(k)) index = k;
        }
        if (!index)
            throw Failure(exit_usage, fmt::format("--shape {}: {} has no input '{}'; it has {} inputs", option,
                                                  options.path, which, model.input_count()));
        if (std::any_of(shapes.begin(), shapes.end(), [&](const auto& known) { return known.first == *index; }))
            throw Failure(exit_usage, fmt::format("--shape names input {} twice", *index));
        shapes.emplace_back(*index, parse_shape(option.substr(equals + 1), option));
    }
    return shapes;
}

}  // namespace

std::string probe_model(const ModelOptions& options) {
    try {
        cpp::LoadOptions load = load_options(options);
        load.input_shapes = option_shapes(options);
        return cpp::probe(options.path, load);
    } catch (const cpp::Error& e) {
        throw cpp::Error(e.status(), with_path(options.path, e.what()), e.node(), e.operand());
    }
}

cpp::Graph load_model(const ModelOptions& options, const InputShapes& shapes) {
    cpp::LoadOptions load = load_options(options);
    load.input_shapes = shapes;
    if (!options.problem.empty() && !options.shapes.empty()) option_shapes(options);
    if (!options.problem.empty()) return cpp::Graph::problem(options.problem, load);
    if (options.path.empty()) throw Failure(exit_usage, "MODEL is missing: a file, or --op with a problem line");
    if (is_problem_line(options.path)) {
        option_shapes(options);
        return cpp::Graph::problem(options.path, load);
    }
    try {
        for (auto& shape : option_shapes(options)) {
            const auto known = std::find_if(shapes.begin(), shapes.end(),
                                            [&](const auto& given) { return given.first == shape.first; });
            if (known == shapes.end()) load.input_shapes.push_back(std::move(shape));
            else if (known->second != shape.second)
                throw Failure(exit_file, fmt::format("input {} is to have shape {} by --shape, but its file has {}",
                                                     shape.first, shape_text(shape.second), shape_text(known->second)));
        }
        return cpp::Graph::load(options.path, load);
    } catch (const cpp::Error& e) {
        throw cpp::Error(e.status(), with_path(options.path, e.what()), e.node(), e.operand());
    }
}

cpp::Shape InputArray::shape() const {
    cpp::Shape whole = cpp::shape_of(array.info());
    if (steps > 0) whole.erase(whole.begin());
    return whole;
}

InputArray load_array(const std::string& path, std::uint32_t steps) {
    try {
        InputArray loaded{path, cpp::Array::load(path), steps};
        const cpp::Shape shape = cpp::shape_of(loaded.array.info());
        if (steps > 0 && (shape.empty() || shape[0] != steps)) {
            throw Failure(exit_file, fmt::format("{} holds {}, but {} steps take arrays with a first axis of {}", path,
                                                 shape_text(shape), steps, steps));
        }
        return loaded;
    } catch (const cpp::Error& e) {
        throw cpp::Error(e.status(), with_path(path, e.what()));
    }
}

namespace {

std::string held_text(const cpp::Array& array) {
    const cpp::TensorInfo info = array.info();
    return fmt::format("{} {}", info.name, shape_text(cpp::shape_of(info)));
}

std::string mismatch_text(const InputArray& array, const cpp::TensorInfo& input, std::uint32_t index,
                          const std::string& model) {
    return fmt::format("{} holds {}, but input {} '{}' of {} takes {}", array.path, held_text(array.array), index,
                       input.name, model, tensor_text(input));
}

/// Whether an array may stand for a tensor, if the tensor's type holds its values.
bool same_kind(const InputArray& array, const cpp::TensorInfo& tensor) {
    return array.shape() == element_shape(tensor) && is_float(array.array.info().type) == is_float(tensor.type);
}

/// Bytes of an unsigned element that the graph holds as a signed one of the same bits; 0 of any other.
std::size_t unsigned_size(std::int32_t declared) {
    switch (declared) {
        case TOSAVK_HOST_U8: return 1;
        case TOSAVK_HOST_U16: return 2;
        case TOSAVK_HOST_U32: return 4;
        default: return 0;
    }
}

/// An array in the type of a tensor's elements in the graph.
Bytes converted(const InputArray& array, const cpp::TensorInfo& tensor) {
    const auto copy = [](std::span<const std::byte> bytes) { return Bytes(bytes.begin(), bytes.end()); };
    if (const std::size_t size = unsigned_size(tensor.declared_type)) {
        Bytes bytes;
        const double most = std::ldexp(1.0, static_cast<int>(8 * size)) - 1;
        for (const double value : elements(array.array.info().type, array.array.bytes())) {
            if (!(value >= 0 && value <= most))
                throw Failure(exit_file, fmt::format("{}: element {} is {}, which {} does not hold", array.path,
                                                     bytes.size() / size, number_text(value), type_text(tensor)));
            const auto bits = static_cast<std::uint32_t>(value);
            for (std::size_t b = 0; b < size; ++b) bytes.push_back(static_cast<std::byte>(bits >> (8 * b)));
        }
        return bytes;
    }
    if (has_words(tensor)) {
        Bytes bytes;
        for (const double value : elements(array.array.info().type, array.array.bytes())) {
            if (value < 0 && tensor.declared_type == TOSAVK_HOST_U64_WORDS)
                throw Failure(exit_file, fmt::format("{}: element {} is {}, which u64 does not hold", array.path,
                                                     bytes.size() / 8, number_text(value)));
            const auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
            for (std::size_t b = 0; b < 8; ++b) bytes.push_back(static_cast<std::byte>(bits >> (8 * b)));
        }
        return bytes;
    }
    const std::int32_t type = tensor.type;
    if (type == array.array.info().type) return copy(array.array.bytes());
    try {
        return copy(array.array.convert(type).bytes());
    } catch (const cpp::Error& e) {
        throw cpp::Error(e.status(), array.path + ": " + e.what());
    }
}

}  // namespace

Bytes input_bytes(const InputArray& array, const cpp::TensorInfo& input, std::uint32_t index,
                  const std::string& model) {
    if (!same_kind(array, input)) throw Failure(exit_file, mismatch_text(array, input, index, model));
    return converted(array, input);
}

Bytes expected_bytes(const InputArray& array, const cpp::TensorInfo& output, std::uint32_t index,
                     const std::string& model) {
    if (!same_kind(array, output)) {
        throw Failure(exit_file, fmt::format("{} holds {}, but output {} '{}' of {} is {}", array.path,
                                             held_text(array.array), index, output.name, model, tensor_text(output)));
    }
    return converted(array, output);
}

Assigned load_model_for(const ModelOptions& options, const std::vector<InputArray>& arrays,
                        const ResolveInput& resolve) {
    cpp::Graph graph = load_model(options);
    std::vector<std::uint32_t> indices;
    InputShapes shapes;
    std::size_t first_changed = 0;
    for (std::size_t k = 0; k < arrays.size(); ++k) {
        const std::uint32_t index = resolve(graph, k);
        indices.push_back(index);
        const cpp::Shape shape = arrays[k].shape();
        if (shape == element_shape(graph.input(index))) continue;
        if (shapes.empty()) first_changed = k;
        shapes.emplace_back(index, shape);
    }
    if (!shapes.empty()) {
        // The dimensions may be dynamic; if they are not, the importer refuses.
        std::optional<cpp::Graph> reloaded;
        std::string why;
        try {
            reloaded.emplace(load_model(options, shapes));
        } catch (const cpp::Error& e) {
            // A refused shape is what the sentence says already; any other reason adds to it.
            if (e.status() != TOSAVK_ERROR_BAD_INPUT) why = fmt::format(" ({})", e.what());
        }
        if (!reloaded) {
            const std::uint32_t index = indices[first_changed];
            throw Failure(exit_file,
                          mismatch_text(arrays[first_changed], graph.input(index), index, options.name()) + why);
        }
        graph = std::move(*reloaded);
    }
    std::map<std::uint32_t, Bytes> inputs;
    for (std::size_t k = 0; k < arrays.size(); ++k) {
        inputs[indices[k]] = input_bytes(arrays[k], graph.input(indices[k]), indices[k], options.name());
    }
    return {std::move(graph), std::move(inputs)};
}

}  // namespace tosavk::cli
