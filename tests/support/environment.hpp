// What the environment tells a test, and a file for as long as a scope lasts.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace tosavk::test {

/// The number in an environment variable, or the fallback.
inline std::uint64_t number_from_environment(const char* variable, std::uint64_t fallback) {
    const char* text = std::getenv(variable);
    return text && *text ? std::strtoull(text, nullptr, 0) : fallback;
}

/// Sets an environment variable for a scope.
class ScopedEnv {
public:
    ScopedEnv(const char* name, const std::string& value) : name_(name) {
        if (const char* old = std::getenv(name)) {
            had_ = true;
            old_ = old;
        }
        setenv(name, value.c_str(), 1);
    }
    ~ScopedEnv() {
        if (had_) {
            setenv(name_, old_.c_str(), 1);
        } else {
            unsetenv(name_);
        }
    }
    ScopedEnv(const ScopedEnv&) = delete;

private:
    const char* name_;
    bool had_ = false;
    std::string old_;
};

/// A file with a text that goes away with the scope.
class TemporaryFile {
public:
    explicit TemporaryFile(const std::string& text) {
        const char* folder = std::getenv("TMPDIR");
        path_ = std::string(folder && *folder ? folder : "/tmp") + "/tosavk_test_XXXXXX";
        const int file = mkstemp(path_.data());
        EXPECT_GE(file, 0) << path_;
        close(file);
        std::ofstream(path_) << text;
    }
    ~TemporaryFile() { std::remove(path_.c_str()); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

}  // namespace tosavk::test
