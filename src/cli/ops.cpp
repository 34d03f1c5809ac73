// tosa-vk ops: every operator and type row of the registry.
#include "cli/commands.hpp"

#include <fmt/format.h>

#include <memory>

namespace tosavk::cli {

namespace {

int ops(bool as_json, const std::string& spec) {
    if (spec != "1.0")
        throw Failure(exit_usage, "the registry holds the operators of TOSA 1.0; --spec 0.30 is not offered yet");
    const Json rows = Json::parse(cpp::describe_ops());
    if (as_json) {
        print(json_text(rows));
        return exit_done;
    }
    std::vector<std::vector<std::string>> table = {{"operator", "types", "requires", "reference", "gpu", "fusable"}};
    const auto yes_no = [](const Json& value) { return std::string(value.get<bool>() ? "yes" : "no"); };
    for (const Json& row : rows) {
        std::string types;
        for (const auto& [variable, type] : row.at("types").items()) {
            types += fmt::format("{}{}={}", types.empty() ? "" : " ", variable, type.get<std::string>());
        }
        table.push_back({row.at("op").get<std::string>(), types, row.at("requires").get<std::string>(),
                         yes_no(row.at("reference")), yes_no(row.at("gpu")), yes_no(row.at("fusable"))});
    }
    print(table_text(table, {false, false, false, false, false, false}));
    return exit_done;
}

}  // namespace

Action add_ops(CLI::App& app) {
    struct Options {
        bool json = false;
        std::string spec = "1.0";
    };
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("ops", "Lists every operator and type row, and who can run it");
    command->add_flag("--json", options->json, "print JSON");
    command->add_option("--spec", options->spec, "version of the specification (default 1.0)")
        ->check(CLI::IsMember({"1.0", "0.30"}));
    command->footer("Example: tosa-vk ops --json");
    return [options] { return ops(options->json, options->spec); };
}

}  // namespace tosavk::cli
