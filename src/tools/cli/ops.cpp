// tosa-vk ops: every operator and type row of the registry.
#include "tools/cli/commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace tosavk::cli {

namespace {

int ops(bool as_json, const std::string& spec) {
    Json rows = Json::array();
    for (const Json& row : Json::parse(cpp::describe_ops())) {
        const Json& versions = row.at("spec");
        if (spec.empty() || std::find(versions.begin(), versions.end(), Json(spec)) != versions.end())
            rows.push_back(row);
    }
    if (as_json) {
        print(json_text(rows));
        return exit_done;
    }
    std::vector<std::vector<std::string>> table = {
        {"operator", "types", "requires", "spec", "reference", "gpu", "fusable"}};
    const auto yes_no = [](const Json& value) { return std::string(value.get<bool>() ? "yes" : "no"); };
    for (const Json& row : rows) {
        std::string types;
        for (const auto& [variable, type] : row.at("types").items()) {
            types += fmt::format("{}{}={}", types.empty() ? "" : " ", variable, type.get<std::string>());
        }
        // Alternatives by '|', what one of them needs together by '+'.
        std::string needed, versions;
        for (const Json& alternative : row.at("requires")) {
            needed += fmt::format("{}{}", needed.empty() ? "" : "|",
                                  fmt::join(alternative.get<std::vector<std::string>>(), "+"));
        }
        for (const Json& version : row.at("spec"))
            versions += (versions.empty() ? "" : " ") + version.get<std::string>();
        table.push_back({row.at("op").get<std::string>(), types, needed, versions, yes_no(row.at("reference")),
                         yes_no(row.at("gpu")), yes_no(row.at("fusable"))});
    }
    print(table_text(table, {false, false, false, false, false, false, false}));
    return exit_done;
}

}  // namespace

Action add_ops(CLI::App& app) {
    struct Options {
        bool json = false;
        std::string spec;
    };
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("ops", "Lists every operator and type row, and who can run it");
    command->add_flag("--json", options->json, "print JSON");
    command
        ->add_option("--spec", options->spec,
                     "only the rows of this version of the specification, or our own (default: all)")
        ->check(CLI::IsMember({"1.0", "0.30", "tosavk"}));
    command->footer("Example: tosa-vk ops --json");
    return [options] { return ops(options->json, options->spec); };
}

}  // namespace tosavk::cli
