#include "api/seed.hpp"

#include "compile/plan/plan.hpp"
#include "device/device_plan.hpp"
#include "frontends/frontend.hpp"
#include "frontends/problems/problem.hpp"
#include "spirv/glslang.hpp"
#include "store/seed.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include <unistd.h>

namespace tosavk {

namespace fs = std::filesystem;

namespace {

std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file) throw Error(ErrorCode::io, fmt::format("cannot read {}", path));
    return text;
}

std::vector<std::string> read_lines(const std::string& path) {
    std::istringstream text(read_text(path));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) {
        line = line.substr(0, line.find('#'));
        line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
        if (!line.empty()) lines.push_back(line);
    }
    return lines;
}

/// A problem line, or a model by its path beside the list.
Graph load(const std::string& line, const fs::path& folder) {
    return line.ends_with(".tflite") ? import_file((folder / line).lexically_normal(), {})
                                     : load_problem(line, level_none);
}

struct Profile {
    std::string path;
    DevicePlan plan;
};

struct Source {
    std::string glsl, kernel;
    DevicePlan plan;
};

/// The distinct shaders of every line on every profile. Nothing of the environment takes part.
std::map<Digest, Source> sources_of(const std::string& list, const std::vector<Profile>& profiles) {
    std::map<Digest, Source> sources;
    for (const std::string& line : read_lines(list)) {
        const Graph graph = load(line, fs::path(list).parent_path());
        for (const Profile& profile : profiles) {
            try {
                const Plan plan = make_plan(graph, profile.plan, PlanOptions{});
                for_each_dispatch(plan, [&](const Dispatch& dispatch) {
                    if (dispatch.glsl.empty()) return;
                    sources.try_emplace(sha256(dispatch.glsl), Source{dispatch.glsl, dispatch.kernel, profile.plan});
                });
            } catch (const Error& error) {
                throw Error(error.code(), fmt::format("'{}' on {}: {}", line, profile.path, error.what()));
            }
        }
    }
    return sources;
}

}  // namespace

void make_seed(const std::string& list, const std::vector<std::string>& paths, const std::string& output) {
    std::vector<Profile> profiles;
    for (const std::string& path : paths)
        profiles.push_back({path, device_plan(caps_from_json(read_text(path), DeviceCaps{}))});
    const std::map<Digest, Source> sources = sources_of(list, profiles);
    // What an earlier seed has of them need not be compiled again: most builds change few shaders.
    Seed earlier(output);
    std::vector<std::pair<Digest, std::vector<std::uint32_t>>> shaders;
    std::size_t compiled = 0;
    for (const auto& [key, source] : sources) {
        std::optional<std::vector<std::uint32_t>> words = earlier.find(key);
        if (!words) {
            words = without_names(compile_glsl(source.glsl, source.kernel));
            ++compiled;
        }
        shaders.emplace_back(key, std::move(*words));
    }
    std::vector<EntryToWrite> entries;
    std::size_t bytes = 0;
    for (const auto& [key, words] : shaders) {
        EntryToWrite& entry = entries.emplace_back();
        entry.key = {EntryKind::spirv, key};
        entry.bytes = std::as_bytes(std::span(words));
        bytes += entry.bytes.size();
    }
    const std::string temporary = fmt::format("{}.tmp-{}", output, ::getpid());
    errno = 0;
    if (!write_entries(temporary, seed_identity(), entries, 0644) ||
        std::rename(temporary.c_str(), output.c_str()) != 0) {
        const int code = errno;
        std::remove(temporary.c_str());
        throw Error(ErrorCode::io, fmt::format("cannot write {}: {}", output, std::strerror(code)));
    }
    fmt::print("{} shaders for {} devices, {} of them compiled now, {} KiB\n", shaders.size(), profiles.size(),
               compiled, bytes >> 10);
}

}  // namespace tosavk
