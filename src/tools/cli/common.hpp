// What the commands share: options, exit codes, errors, loading a model with its inputs, numbers as text.
#pragma once

#include "tosavk/tosavk.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace tosavk::cli {

using Json = nlohmann::ordered_json;
using Bytes = std::vector<std::byte>;

enum ExitCode : int { exit_done = 0, exit_different = 1, exit_usage = 2, exit_file = 3, exit_device = 4 };

/// An error of the programs themselves; what() is one sentence.
class Failure : public std::runtime_error {
public:
    Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
    ExitCode code() const { return code_; }

private:
    ExitCode code_;
};

/// Parses the command line, runs `body` and turns every error into one sentence on stderr and an exit code.
int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body);

// ---- models ------------------------------------------------------------------------------------------------------

struct ModelOptions {
    std::string path;
    std::string problem;  ///< a problem line instead of a path; empty: none
    std::string rounding = "tflite", hybrid = "exact", level = "8K", spec, precision = "declared";
    bool is_exact() const { return precision == "declared" || precision == "exact"; }
    std::vector<std::string> shapes;  ///< NAME_OR_INDEX=1x20x64
    std::string signature;            ///< of a .tflite file; empty: its main subgraph
    bool f64_as_f32 = false;

    const std::string& name() const { return problem.empty() ? path : problem; }  ///< for messages
};
/// --rounding, --hybrid, --f64-as-f32, --level, --spec, --precision and --shape; the path or --op LINE too when
/// `with_path`.
void add_model_options(CLI::App& command, ModelOptions& options, bool with_path = true);
/// Whether a path is no file but a problem line: it has words, there is no such file, and it does not end like a model.
bool is_problem_line(const std::string& path);
/// The arguments that name the model again, quoted for a shell where needed.
std::string model_argument(const ModelOptions& options);
void add_device_option(CLI::App& command, std::string& device);

struct DeviceChoice {
    std::string name;
    bool compile_only = false;
};
/// --device and --compile-only.
void add_device_options(CLI::App& command, DeviceChoice& device);
/// `inspect` as of tosavk_device_options.
cpp::Device open_device(const DeviceChoice& device, bool inspect = false);

using InputShapes = std::vector<std::pair<std::uint32_t, cpp::Shape>>;
/// `shapes` go before those of the options. Errors name the file.
cpp::Graph load_model(const ModelOptions& options, const InputShapes& shapes = {});
/// JSON, as tosavk_probe_file gives it; errors name the file.
std::string probe_model(const ModelOptions& options);

struct InputArray {
    std::string path;
    cpp::Array array;
    std::uint32_t steps = 0;   ///< tensors of that many runs, stacked along a first axis; 0: one tensor
    cpp::Shape shape() const;  ///< of one of them
};
/// A .npy file; errors name it. Throws Failure(exit_file) where its first axis has not `steps` entries.
InputArray load_array(const std::string& path, std::uint32_t steps = 0);

/// Loads the model in such a way that dynamic dimensions take the arrays' shapes; `name_of_input` finds the index that
/// each array belongs to. Throws Failure when an array cannot be that input.
struct Assigned {
    cpp::Graph graph;
    std::map<std::uint32_t, Bytes> inputs;
};
using ResolveInput = std::function<std::uint32_t(const cpp::Graph& graph, std::size_t array)>;
Assigned load_model_for(const ModelOptions& options, const std::vector<InputArray>& arrays,
                        const ResolveInput& resolve);

/// The bytes of an array as an input of this type and shape; throws Failure(exit_file) when they do not fit, and
/// cpp::Error for an element that the type does not hold.
Bytes input_bytes(const InputArray& array, const cpp::TensorInfo& input, std::uint32_t index, const std::string& model);
/// The same for what an output should be.
Bytes expected_bytes(const InputArray& array, const cpp::TensorInfo& output, std::uint32_t index,
                     const std::string& model);

// ---- text --------------------------------------------------------------------------------------------------------

std::string shape_text(const cpp::Shape& shape);       ///< "1x32x32x3"; "scalar" for rank 0
std::string tensor_text(const cpp::TensorInfo& info);  ///< "i8 1x32x32x3"
std::string type_text(const cpp::TensorInfo& info);    ///< "i8"
bool is_float(std::int32_t type);
std::vector<double> elements(std::int32_t type, std::span<const std::byte> bytes);
/// Whether two i32 in the last dimension are one number of 64 bits; and the shape without that dimension.
bool has_words(const cpp::TensorInfo& info);
cpp::Shape element_shape(const cpp::TensorInfo& info);
/// What the bytes of an input or output are: its `type`, but u8 where that is declared.
std::int32_t stored_type(const cpp::TensorInfo& info);
std::string number_text(double value);     ///< shortest text of six digits
Json number_json(double value);            ///< null for NaN and infinities, which JSON lacks
std::string json_text(const Json& value);  ///< indented; bytes that are no UTF-8 are replaced

/// Columns as wide as their widest cell; the first row is the heading. Columns named in `right` are right-aligned.
std::string table_text(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right);

/// Writes to stdout; throws Failure when it cannot (a full disk, a closed pipe).
void print(const std::string& text);

/// For options that count: digits only, below 10^18.
CLI::Validator whole_number();
/// For options that name what is written: an unset variable of a shell leaves them empty.
CLI::Validator output_path();

/// Whether a path given for a result means standard output. A file of that name is written as "./-".
inline bool is_stdout(const std::string& path) { return path == "-"; }

/// Throws Failure(exit_file) where write_file would: in the same way, it makes a file beside `path`, which is removed
/// at once. What stands at `path` is left alone.
void check_writable(const std::string& path);

/// Writes a file through a temporary name beside it, or to standard output.
void write_file(const std::string& path, const std::string& text);

// ---- time --------------------------------------------------------------------------------------------------------

class Stopwatch {
public:
    double ms() const {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count();
    }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// A bar on stderr when that is a terminal and the work lasts longer than a second.
class Progress {
public:
    Progress(std::string what, std::size_t total);
    ~Progress();
    void step();

private:
    void clear();
    std::string what_;
    std::size_t total_, done_ = 0;
    bool terminal_, shown_ = false;
    Stopwatch watch_;
};

}  // namespace tosavk::cli
