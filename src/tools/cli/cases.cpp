#include "tools/cli/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

namespace tosavk::cli {

RecordedCases load_cases(const std::string& directory, const std::string& rounding) {
    const std::filesystem::path root(directory);
    const std::string path = (root / "cases.json").string();
    std::ifstream file(path);
    if (!file) throw Failure(exit_file, fmt::format("cannot read {}", path));
    try {
        const Json document = Json::parse(file);
        std::size_t sequences = 0;
        RecordedCases result;
        result.atol = document.value("atol", 0.0);
        result.rtol = document.value("rtol", 0.0);
        const auto paths = [&](const Json& names) {
            std::vector<std::string> found;
            for (const Json& name : names) found.push_back((root / name.get<std::string>()).string());
            return found;
        };
        for (const Json& entry : document.at("cases")) {
            RecordedCase& one = result.cases.emplace_back();
            one.name = entry.contains("case") ? entry.at("case").dump() : std::to_string(result.cases.size() - 1);
            one.inputs = paths(entry.at("inputs"));
            const Json& expected = entry.at("expected");
            const std::string exact = rounding == "tflite" ? rounding : rounding + "_round";
            const std::string key = expected.contains(exact) ? exact : "reference";
            if (!expected.contains(key)) {
                throw Failure(exit_file, fmt::format("{}: case {} has no outputs recorded for --rounding {}", path,
                                                     one.name, rounding));
            }
            one.expected = paths(expected.at(key));
        }
        for (const Json& entry : document.value("sequences", Json::array())) {
            RecordedCase one{fmt::format("sequence {}", sequences++), paths(entry.at("inputs")),
                             paths(entry.at("expected")), entry.at("steps").get<std::uint32_t>()};
            if (one.steps == 0) throw Failure(exit_file, fmt::format("{}: {} has no steps", path, one.name));
            result.cases.push_back(std::move(one));
        }
        if (result.cases.empty()) throw Failure(exit_file, fmt::format("{} lists no case", path));
        return result;
    } catch (const Json::exception& e) {
        throw Failure(exit_file, fmt::format("{} is not a list of cases: {}", path, e.what()));
    }
}

CaseResult compare(const cpp::TensorInfo& info, std::span<const std::byte> expected, std::span<const std::byte> got,
                   double atol, double rtol) {
    const std::vector<double> want = elements(stored_type(info), expected), have = elements(stored_type(info), got);
    CaseResult result;
    result.allowed = atol;
    if (is_float(info.type)) {
        double low = std::numeric_limits<double>::infinity(), high = -low, largest = 0;
        for (const double value : want) {
            if (!std::isfinite(value)) continue;
            low = std::min(low, value);
            high = std::max(high, value);
            largest = std::max(largest, std::abs(value));
        }
        result.allowed = atol + rtol * std::max(high >= low ? high - low : 0.0, largest);
    }
    for (std::size_t k = 0; k < want.size(); ++k) {
        const bool same = want[k] == have[k] || (std::isnan(want[k]) && std::isnan(have[k]));
        const double plain = std::abs(want[k] - have[k]);
        const double difference = same ? 0 : std::isnan(plain) ? std::numeric_limits<double>::infinity() : plain;
        if (difference > result.allowed) ++result.mismatches;
        if (k == 0 || difference > result.worst) {
            result.worst = difference;
            result.element = k;
            result.expected = want[k];
            result.got = have[k];
        }
    }
    result.passed = result.mismatches == 0;
    return result;
}

}  // namespace tosavk::cli
