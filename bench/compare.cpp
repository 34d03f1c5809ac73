// --compare: an earlier report against this one.
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

namespace tosavk::bench {

using cli::Failure;
using cli::Json;

namespace {

struct Times {
    double gpu_ms = 0, wall_ms = 0;  ///< best; 0: not known
};

/// The problems of a file that --json wrote; the last one where a name stands twice.
std::map<std::string, Times> read_report(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Failure(cli::exit_file, "cannot read " + path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::map<std::string, Times> result;
    try {
        const Json report = Json::parse(text);
        for (const Json& problem : report.at("problems")) {
            if (problem.contains("error")) continue;
            Times& times = result[problem.at("name").get<std::string>()];
            times = {problem.at("gpu_ms").is_null() ? 0 : problem.at("gpu_ms").at("min").get<double>(),
                     problem.at("wall_ms").at("min").get<double>()};
        }
    } catch (const Json::exception&) {
        throw Failure(cli::exit_file, path + " is no report of tosa-vk-bench --json");
    }
    return result;
}

}  // namespace

bool Comparison::passed() const {
    return std::none_of(pairs.begin(), pairs.end(), [&](const Pair& pair) { return slower(pair); });
}

Comparison compare(const Report& report, const std::string& old_path, double threshold) {
    std::map<std::string, Times> old = read_report(old_path);
    Comparison result;
    result.threshold = threshold;
    for (const Row& row : report.rows) {
        if (!row.measurement) continue;
        const auto before = old.find(row.name);
        if (before == old.end()) {
            result.only_new.push_back(row.name);
            continue;
        }
        const Measurement& m = *row.measurement;
        const bool on_device = m.gpu_ms && before->second.gpu_ms > 0;
        result.pairs.push_back({row.name, on_device ? before->second.gpu_ms : before->second.wall_ms,
                                on_device ? m.gpu_ms->min : m.wall_ms.min});
        old.erase(before);
    }
    for (const auto& [name, times] : old) result.only_old.push_back(name);
    return result;
}

Json to_json(const Comparison& comparison) {
    auto pairs = Json::array();
    for (const auto& pair : comparison.pairs) {
        pairs.push_back({{"name", pair.name}, {"old_ms", pair.old_ms}, {"new_ms", pair.new_ms}, {"ratio", pair.ratio()},
                         {"slower", comparison.slower(pair)}});
    }
    return {{"passed", comparison.passed()},
            {"threshold", comparison.threshold},
            {"problems", std::move(pairs)},
            {"only_new", comparison.only_new},
            {"only_old", comparison.only_old}};
}

std::string to_text(const Comparison& comparison) {
    std::vector<std::vector<std::string>> rows = {{"problem", "before ms", "now ms", "ratio", ""}};
    for (const auto& pair : comparison.pairs) {
        rows.push_back({pair.name, fmt::format("{:.3f}", pair.old_ms), fmt::format("{:.3f}", pair.new_ms),
                        fmt::format("{:.3f}", pair.ratio()), comparison.slower(pair) ? "slower" : ""});
    }
    std::string text = "\nbest times compared\n" + cli::table_text(rows, {false, true, true, true, false});
    for (const std::string& name : comparison.only_new) text += "not in the earlier report: " + name + "\n";
    for (const std::string& name : comparison.only_old) text += "only in the earlier report: " + name + "\n";
    return text;
}

}  // namespace tosavk::bench
