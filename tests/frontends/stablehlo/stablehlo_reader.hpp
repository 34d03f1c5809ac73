// What the tests of this folder share: programs made by make_programs.py, and how two Programs are compared.
#pragma once

#include "base/files.hpp"
#include "frontends/stablehlo/print.hpp"
#include "frontends/stablehlo/read.hpp"
#include "frontends/stablehlo/stablehlo.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tosavk::test {

inline std::filesystem::path stablehlo_programs() {
    return std::filesystem::path(std::getenv("TOSAVK_SOURCE")) / "tests/frontends/stablehlo/programs";
}

inline std::vector<std::filesystem::path> stablehlo_files() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(stablehlo_programs())) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

inline stablehlo::Program load_stablehlo(const std::filesystem::path& path) {
    return stablehlo::read_program(SharedBytes(read_file(path)));
}

inline stablehlo::Program stablehlo_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    return stablehlo::read_program(SharedBytes(Bytes(bytes.begin(), bytes.end())));
}

/// Of the functions of a module.
inline Graph stablehlo_graph(const std::string& functions, const ImportOptions& options = {}) {
    return stablehlo::lower_program(stablehlo_of("module {\n" + functions + "\n}\n"), options);
}

inline std::string stablehlo_refusal(const std::string& functions) {
    try {
        stablehlo_graph(functions);
    } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::bad_model || error.code() == ErrorCode::unsupported) << error.what();
        return error.what();
    }
    return "taken";
}

/// Text leaves out where some regions' arguments come from.
inline void forget_arguments(stablehlo::Region& region) {
    std::fill(region.argument_locations.begin(), region.argument_locations.end(), 0);
    for (stablehlo::Operation& operation : region.operations)
        for (stablehlo::Region& inner : operation.regions) forget_arguments(inner);
}

inline std::string print_with_locations(stablehlo::Program program) {
    for (stablehlo::Function& function : program.functions) forget_arguments(function.body);
    return stablehlo::print(program, {.locations = true});
}

/// Both as text, and the first line in which they differ.
inline void expect_same_program(const std::string& a, const std::string& b) {
    if (a == b) return;
    const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    const auto line = [](const std::string& text, std::string::const_iterator at) {
        const auto offset = static_cast<std::size_t>(at - text.begin());
        const std::size_t begin = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;
        return text.substr(begin, text.find('\n', offset) - begin).substr(0, 2000);
    };
    ADD_FAILURE() << "  " << line(a, differ.first) << "\nand\n  " << line(b, differ.second);
}

}  // namespace tosavk::test
