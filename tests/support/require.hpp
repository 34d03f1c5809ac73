// What a test needs and may lack: the test is skipped without it, or fails where TOSAVK_REQUIRE names it.
#pragma once

#include "support/spawn.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tosavk::test {

/// What TOSAVK_REQUIRE may name, separated by commas: a Vulkan driver; the corpus of recorded networks; the second
/// software driver; the programs beside the tests; what ctest says in the environment (TOSAVK_SOURCE and others);
/// TOSA's own test suite; the Python tools; the real TFLite runtimes; AMD's driver, which compiles without its GPU.
inline constexpr std::array<std::string_view, 10> requirements = {
    "driver", "corpus", "swiftshader", "programs", "ctest", "tosa-tools", "python", "tflite", "jax", "radv"};

/// The parts of a list like TOSAVK_REQUIRE's.
inline std::vector<std::string> split_names(std::string_view list) {
    std::vector<std::string> names;
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        if (comma > 0) names.emplace_back(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return names;
}

inline bool is_required(std::string_view name, std::string_view list) {
    const std::vector<std::string> names = split_names(list);
    return std::find(names.begin(), names.end(), name) != names.end();
}

inline bool is_required(std::string_view name) {
    const char* list = std::getenv("TOSAVK_REQUIRE");
    return list && is_required(name, list);
}

/// Ends the test: `name` is not there, and `sentence` says so. A failure where it is required, else a skip.
#define TOSAVK_MISSING(name, sentence)                                                 \
    do {                                                                               \
        if (::tosavk::test::is_required(name))                                         \
            GTEST_FAIL() << sentence << ", and TOSAVK_REQUIRE names '" << name << "'"; \
        GTEST_SKIP() << sentence;                                                      \
    } while (false)

#define TOSAVK_NEEDS_CORPUS(root) \
    if ((root).empty()) TOSAVK_MISSING("corpus", "the corpus is not there (set TOSAVK_CORPUS to its folder)")

#define TOSAVK_NEEDS_PROGRAM(program)                                     \
    if (!std::filesystem::exists(::tosavk::test::programs() / (program))) \
    TOSAVK_MISSING("programs", std::string(program) + " is not in " + ::tosavk::test::programs().string())

#define TOSAVK_NEEDS_VARIABLE(variable) \
    if (!std::getenv(variable)) TOSAVK_MISSING("ctest", "ctest sets " + std::string(variable))

}  // namespace tosavk::test
