// The corpus of recorded networks: where it lies, and one folder's cases.json.
#pragma once

#include "base/files.hpp"
#include "frontends/frontend.hpp"
#include "graph/array.hpp"
#include "graph/host_tensor.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tosavk::test {

/// $TOSAVK_CORPUS, else ../shared beside the repository; empty when neither exists.
inline std::filesystem::path corpus() {
    const auto usable = [](const std::filesystem::path& p) {
        return std::filesystem::exists(p / "models" / "index.json");
    };
    const char* set = std::getenv("TOSAVK_CORPUS");
    if (set && *set) return usable(set) ? std::filesystem::path(set) : std::filesystem::path();
    if (const char* source = std::getenv("TOSAVK_SOURCE"); source && *source) {
        if (const auto p = std::filesystem::path(source) / ".." / "shared"; usable(p)) return p;
    }
    for (std::filesystem::path up = std::filesystem::current_path();; up = up.parent_path()) {
        if (usable(up / "shared")) return up / "shared";
        if (up == up.parent_path()) return {};
    }
}

struct Case {
    std::vector<HostTensor> inputs;
    std::vector<HostTensor> expected;
};

struct CaseFolder {
    std::filesystem::path path;
    double atol = 0, rtol = 0;
    nlohmann::json cases;

    explicit CaseFolder(const std::filesystem::path& folder) : path(folder) {
        const Bytes bytes = read_file(folder / "cases.json");
        const auto json = nlohmann::json::parse(reinterpret_cast<const char*>(bytes.data()),
                                                reinterpret_cast<const char*>(bytes.data()) + bytes.size());
        atol = json.value("atol", 0.0);
        rtol = json.value("rtol", 0.0);
        cases = json.at("cases");
    }
    std::filesystem::path model() const {
        return path / (std::filesystem::exists(path / "model.tflite") ? "model.tflite" : "model.tosa");
    }

    /// Case i for "tflite", "double_round" or "single_round"; floats have one recording for both ("reference").
    std::optional<Case> load(std::size_t i, const std::string& rounding) const {
        const auto& entry = cases.at(i);
        const auto& expected = entry.at("expected");
        const std::string key = expected.contains(rounding) ? rounding : "reference";
        if (!expected.contains(key)) return std::nullopt;
        Case c;
        for (const std::string file : entry.at("inputs")) c.inputs.push_back(load_npy(path / file));
        for (const std::string file : expected.at(key)) c.expected.push_back(load_npy(path / file));
        return c;
    }
};

/// All model folders, sorted.
inline std::vector<std::filesystem::path> case_folders(const std::filesystem::path& root) {
    std::vector<std::filesystem::path> out;
    for (const auto& entry : std::filesystem::directory_iterator(root)) {
        if (std::filesystem::exists(entry.path() / "cases.json")) out.push_back(entry.path());
    }
    std::sort(out.begin(), out.end());
    return out;
}

/// Empty when equal within the corpus's rule, else what differs.
inline std::string compare(const HostTensor& got, const HostTensor& expected, double atol, double rtol) {
    if (got.type != expected.type || got.shape != expected.shape) {
        return "expected " + std::string(name_of(expected.type)) + " " + to_string(expected.shape) + ", got " +
               std::string(name_of(got.type)) + " " + to_string(got.shape);
    }
    const std::vector<double> a = decode_reals(got.type, got.bytes), e = decode_reals(expected.type, expected.bytes);
    double bound = atol;
    if (is_float(expected.type) && !e.empty()) {
        const auto [low, high] = std::minmax_element(e.begin(), e.end());
        bound = rtol * std::max({*high - *low, std::abs(*low), std::abs(*high)});
    }
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (std::abs(a[i] - e[i]) <= bound || a[i] == e[i]) continue;
        if (wrong++ == 0) first = i;
    }
    if (wrong == 0) return {};
    return std::to_string(wrong) + " of " + std::to_string(a.size()) + " elements differ, first element " +
           std::to_string(first) + ": expected " + std::to_string(e[first]) + ", got " + std::to_string(a[first]);
}

}  // namespace tosavk::test
