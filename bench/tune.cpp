#include "tune.hpp"

#include <fmt/format.h>

namespace tosavk::bench {

using cli::Json;

Json tune(const cpp::Device& device, const cli::ModelOptions& model, const MeasureOptions& options) {
    return Json::parse(cpp::tune(device, cli::load_model(model), options.check, options.min_time_s / 5, options.seed));
}

namespace {

/// A name that fits a table.
std::string cut(const std::string& name) {
    constexpr std::size_t widest = 40;
    return name.size() <= widest ? name : name.substr(0, widest - 3) + "...";
}

}  // namespace

std::string tuning_text(const std::string& name, const Json& tuning) {
    std::vector<std::vector<std::string>> rows = {{"dispatch", "node", "nodes", "candidate", "ms", "ratio", ""}};
    for (const Json& site : tuning.at("sites")) {
        bool first = true;
        for (const Json& candidate : site.at("candidates")) {
            std::string remark = candidate.at("name") == site.at("chosen") ? "chosen" : "";
            if (candidate.contains("excluded")) remark = candidate.at("excluded").get<std::string>();
            const auto number = [&](const char* key, const char* format) {
                const Json& value = candidate.at(key);
                return value.is_null() ? std::string("-") : fmt::format(fmt::runtime(format), value.get<double>());
            };
            std::vector<std::string> row(3);
            if (first)
                row = {cut(site.at("label")), cut(site.at("node")),
                       std::to_string(site.at("nodes").get<std::size_t>())};
            row.insert(row.end(), {candidate.at("name"), number("ms", "{:.4f}"), number("ratio", "{:.2f}"), remark});
            rows.push_back(std::move(row));
            first = false;
        }
    }
    std::string text = name + ", tuned\n" + cli::table_text(rows, {false, false, true, false, true, true, false});
    text += "ratio:     to the first line's best time, measured in turn with each candidate\n";
    const Json& checked = tuning.at("checked");
    if (checked.is_null()) text += "checked:   no\n";
    else
        text += fmt::format("checked:   {}; {}\n",
                            checked.get<bool>() ? "equal to the reference" : "FAILED, no choice is kept",
                            tuning.at("detail").get<std::string>());
    text += fmt::format("kept:      {}\n\n", tuning.at("stored").get<bool>() ? "in the cache on disk" : "not on disk");
    return text;
}

}  // namespace tosavk::bench
