// --compare: an earlier report against this one.
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

namespace tosavk::bench {

using cli::Failure;
using cli::Json;

EarlierReport read_report(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Failure(cli::exit_file, "cannot read " + path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EarlierReport result;
    try {
        const Json report = Json::parse(text);
        result.device = report.at("device").at("name").get<std::string>();
        result.driver = report.at("device").at("driver").get<std::string>();
        for (const Json& problem : report.at("problems")) {
            const std::string name = problem.at("name").get<std::string>();
            if (problem.contains("error")) {
                result.failed.push_back(name);
                continue;
            }
            EarlierReport::Times& times = result.problems[name] = {};
            if (const Json& gpu = problem.at("gpu_ms"); !gpu.is_null()) times.gpu_ms = gpu.at("min").get<double>();
            times.wall_ms = problem.at("wall_ms").at("min").get<double>();
        }
    } catch (const Json::exception&) {
        throw Failure(cli::exit_file, path + " is no report of tosa-vk-bench --json");
    }
    return result;
}

bool Comparison::passed() const {
    return !pairs.empty() && failed_now.empty() &&
           std::none_of(pairs.begin(), pairs.end(), [&](const Pair& pair) { return slower(pair); });
}

Comparison compare(const Report& report, const EarlierReport& old, double threshold) {
    Comparison result;
    result.threshold = threshold;
    if (old.device != report.device || old.driver != report.driver)
        result.other_device = fmt::format("{} ({})", old.device, old.driver);
    std::set<std::string> seen;
    for (const Row& row : report.rows) {
        seen.insert(row.name);
        const auto before = old.problems.find(row.name);
        const bool failed_before = std::find(old.failed.begin(), old.failed.end(), row.name) != old.failed.end();
        if (!row.measurement) {
            if (before != old.problems.end()) result.failed_now.push_back(row.name);
            continue;
        }
        if (before == old.problems.end()) {
            if (failed_before) result.not_comparable.push_back({row.name, "it failed in the earlier report"});
            else result.only_new.push_back(row.name);
            continue;
        }
        const Measurement& m = *row.measurement;
        const bool on_device = m.gpu_ms && before->second.gpu_ms;
        const double old_ms = on_device ? *before->second.gpu_ms : before->second.wall_ms;
        const double new_ms = on_device ? m.gpu_ms->min : m.wall_ms.min;
        if (!(old_ms > 0))
            result.not_comparable.push_back({row.name, "its time in the earlier report is not above zero"});
        else if (!(new_ms > 0)) result.not_comparable.push_back({row.name, "its time is not above zero"});
        else result.pairs.push_back({row.name, old_ms, new_ms});
    }
    for (const auto& [name, times] : old.problems)
        if (!seen.contains(name)) result.only_old.push_back(name);
    return result;
}

Json to_json(const Comparison& comparison) {
    auto pairs = Json::array();
    for (const auto& pair : comparison.pairs) {
        pairs.push_back({{"name", pair.name},
                         {"old_ms", pair.old_ms},
                         {"new_ms", pair.new_ms},
                         {"ratio", pair.ratio()},
                         {"slower", comparison.slower(pair)}});
    }
    auto excluded = Json::array();
    for (const auto& one : comparison.not_comparable) excluded.push_back({{"name", one.name}, {"reason", one.reason}});
    return {{"passed", comparison.passed()},
            {"threshold", comparison.threshold},
            {"other_device", comparison.other_device.empty() ? Json(nullptr) : Json(comparison.other_device)},
            {"problems", std::move(pairs)},
            {"not_comparable", std::move(excluded)},
            {"failed_now", comparison.failed_now},
            {"only_new", comparison.only_new},
            {"only_old", comparison.only_old}};
}

std::string to_text(const Comparison& comparison) {
    std::vector<std::vector<std::string>> rows = {{"problem", "before ms", "now ms", "ratio", ""}};
    for (const auto& pair : comparison.pairs) {
        rows.push_back({pair.name, fmt::format("{:.3f}", pair.old_ms), fmt::format("{:.3f}", pair.new_ms),
                        fmt::format("{:.3f}", pair.ratio()), comparison.slower(pair) ? "slower" : ""});
    }
    std::string text = "\n";
    if (!comparison.other_device.empty())
        text += "warning: the earlier report is of another device or driver: " + comparison.other_device + "\n";
    if (comparison.pairs.empty())
        text += "nothing to compare: no problem has a time both in this run and in the earlier report\n";
    else text += "best times compared\n" + cli::table_text(rows, {false, true, true, true, false});
    for (const auto& one : comparison.not_comparable)
        text += fmt::format("not comparable: {}: {}\n", one.name, one.reason);
    for (const std::string& name : comparison.failed_now) text += "failed now: " + name + "\n";
    for (const std::string& name : comparison.only_new) text += "not in the earlier report: " + name + "\n";
    for (const std::string& name : comparison.only_old) text += "only in the earlier report: " + name + "\n";
    return text;
}

}  // namespace tosavk::bench
