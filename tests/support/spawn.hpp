// Runs one of the programs and keeps what it says.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tosavk::test {

struct Spawned {
    int exit_code = -1;  ///< -1: it did not exit by itself
    int signal = 0;      ///< that ended it; 0: none
    std::string out, err;
};

/// Folder of the programs: $TOSAVK_PROGRAMS, else that of the running test.
inline std::filesystem::path programs() {
    const char* set = std::getenv("TOSAVK_PROGRAMS");
    return set && *set ? std::filesystem::path(set) : std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

inline std::string read_text(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// `folder` takes the files that catch stdout and stderr.
inline Spawned spawn(const std::filesystem::path& folder, const std::string& program,
                     const std::vector<std::string>& arguments,
                     const std::vector<std::pair<std::string, std::string>>& environment = {}) {
    const std::string path = (programs() / program).string();
    const std::string out = (folder / "stdout").string(), err = (folder / "stderr").string();
    std::vector<char*> argv{const_cast<char*>(path.c_str())};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    Spawned result;
    const pid_t child = ::fork();
    if (child < 0) return result;
    if (child == 0) {
        for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
        const int out_file = ::open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
        const int err_file = ::open(err.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
        ::dup2(out_file, STDOUT_FILENO);
        ::dup2(err_file, STDERR_FILENO);
        ::execv(path.c_str(), argv.data());
        ::_exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    result.out = read_text(out);
    result.err = read_text(err);
    return result;
}

}  // namespace tosavk::test
