#include "start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tosavk::bench {

using cli::Bytes;
using cli::Failure;
using cli::Json;
using cli::Stopwatch;
namespace fs = std::filesystem;

namespace {

/// A folder of our own, gone with the object.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::error_code unknown;
        fs::path base = fs::temp_directory_path(unknown);
        if (unknown) base = "/tmp";
        std::string name = (base / "tosa-vk-start-XXXXXX").string();
        if (!::mkdtemp(name.data()))
            throw Failure(cli::exit_file,
                          fmt::format("cannot make a folder in {}: {}", base.string(), std::strerror(errno)));
        path = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    fs::path path;
};

/// This process' environment with every cache in `folder`: the library's, and those of Mesa's and NVIDIA's drivers.
std::vector<std::string> environment_with(const fs::path& folder) {
    const std::vector<std::pair<std::string, std::string>> ours = {
        {"TOSAVK_CACHE_DIR", (folder / "tosa-vk").string()},
        {"TOSAVK_NO_CACHE", "0"},
        {"TOSAVK_CACHE_LIMIT_MIB", "1024"},
        {"XDG_CACHE_HOME", (folder / "xdg").string()},
        {"MESA_SHADER_CACHE_DIR", (folder / "mesa").string()},
        {"__GL_SHADER_DISK_CACHE_PATH", (folder / "nvidia").string()}};
    std::vector<std::string> all;
    for (char** entry = environ; *entry; ++entry) {
        const std::string text = *entry;
        const bool replaced =
            std::any_of(ours.begin(), ours.end(), [&](const auto& one) { return text.starts_with(one.first + "="); });
        if (!replaced) all.push_back(text);
    }
    for (const auto& [name, value] : ours) all.push_back(name + "=" + value);
    for (const char* made : {"xdg", "mesa", "nvidia"}) fs::create_directories(folder / made);
    return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

std::string read_text(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

StartTime run_process(std::vector<std::string> arguments, const fs::path& folder) {
    const std::string out = (folder / "out").string(), err = (folder / "err").string();
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    std::vector<std::string> environment = environment_with(folder);
    pid_t child = 0;
    const int failed = ::posix_spawn(&child, "/proc/self/exe", &files, nullptr, pointers(arguments).data(),
                                     pointers(environment).data());
    posix_spawn_file_actions_destroy(&files);
    if (failed != 0)
        throw Failure(cli::exit_device, fmt::format("cannot start a process for --start: {}", std::strerror(failed)));
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (!WIFEXITED(status)) throw Failure(cli::exit_device, "the process of --start was ended by a signal");
    if (WEXITSTATUS(status) != 0) {
        std::string why = read_text(err);
        why = why.substr(0, why.find_last_not_of('\n') + 1);
        throw Failure(static_cast<cli::ExitCode>(WEXITSTATUS(status)), "--start: " + why);
    }
    try {
        const Json json = Json::parse(read_text(out));
        return {json.at("open_ms"), json.at("ms"), json.at("shaders_compiled"), json.at("shaders_loaded"),
                json.at("compiler_started")};
    } catch (const Json::exception&) {
        throw Failure(cli::exit_device, "the process of --start gave no times");
    }
}

Json to_json(const StartTime& time) {
    return {{"ms", time.ms},
            {"open_ms", time.open_ms},
            {"shaders_compiled", time.shaders_compiled},
            {"shaders_loaded", time.shaders_loaded},
            {"compiler_started", time.compiler_started}};
}

}  // namespace

StartTimes measure_start(const std::string& device, const cli::ModelOptions& model, std::uint64_t seed) {
    std::vector<std::string> arguments = {"tosa-vk-bench", "--start-once", "--seed",  std::to_string(seed),
                                          "--rounding",    model.rounding, "--level", model.level,
                                          "--precision",   model.precision};
    if (!model.spec.empty()) arguments.insert(arguments.end(), {"--spec", model.spec});
    for (const std::string& shape : model.shapes) arguments.insert(arguments.end(), {"--shape", shape});
    if (!device.empty()) arguments.insert(arguments.end(), {"--device=" + device});
    if (!model.problem.empty()) arguments.insert(arguments.end(), {"--op", model.problem});
    else arguments.insert(arguments.end(), {"--", model.path});
    const TemporaryFolder folder;
    StartTimes times;
    times.cold = run_process(arguments, folder.path);
    times.warm = run_process(arguments, folder.path);
    return times;
}

int start_once(const std::string& name, const cli::ModelOptions& model, std::uint64_t seed) {
    const cpp::Graph graph = cli::load_model(model);
    std::vector<Bytes> inputs, outputs;
    for (std::uint32_t k = 0; k < graph.input_count(); ++k) inputs.push_back(graph.random_input(k, seed));
    for (std::uint32_t k = 0; k < graph.output_count(); ++k) outputs.emplace_back(graph.output(k).size_bytes);
    StartTime time;
    const Stopwatch opening;
    const cpp::Device device(name);
    time.open_ms = opening.ms();
    const Stopwatch first;
    const cpp::Executable executable(device, graph);
    cpp::Context context(executable);
    for (std::uint32_t k = 0; k < inputs.size(); ++k) context.set_input(k, inputs[k]);
    context.run();
    for (std::uint32_t k = 0; k < outputs.size(); ++k) context.get_output(k, outputs[k]);
    time.ms = first.ms();
    const tosavk_counters counters = context.counters();
    time.shaders_compiled = counters.shaders_compiled;
    time.shaders_loaded = counters.shaders_loaded;
    time.compiler_started = counters.compiler_started != 0;
    cli::print(cli::json_text(to_json(time)));
    return cli::exit_done;
}

Json to_json(const StartTimes& times) { return {{"cold", to_json(times.cold)}, {"warm", to_json(times.warm)}}; }

}  // namespace tosavk::bench
