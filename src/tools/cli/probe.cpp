// tosa-vk probe: which operators of a file are taken, and why the others are not.
#include "tools/cli/commands.hpp"

#include <fmt/format.h>

#include <memory>

namespace tosavk::cli {

namespace {

struct ProbeOptions {
    ModelOptions model;
    bool json = false;
};

int probe(const ProbeOptions& options) {
    const Json report = Json::parse(probe_model(options.model));
    const int code = report.at("taken").get<bool>() ? exit_done : exit_different;
    if (options.json) {
        print(json_text(report));
        return code;
    }
    std::vector<std::vector<std::string>> table = {
        {"where", "index", "operator", "taken", "why not, or what it needs"}};
    std::size_t taken = 0;
    for (const Json& op : report.at("operators")) {
        const bool is_taken = op.at("taken").get<bool>();
        taken += is_taken;
        const auto region = op.at("region").get<std::string>();
        table.push_back({region.empty() ? "graph" : region, std::to_string(op.at("index").get<std::size_t>()),
                         op.at("name").get<std::string>(), is_taken ? "yes" : "no",
                         is_taken ? op.value("needs", "") : op.at("sentence").get<std::string>()});
    }
    std::string text = table_text(table, {false, true, false, false, false});
    for (const Json& sentence : report.at("graph")) text += sentence.get<std::string>() + "\n";
    text += fmt::format("{} of {} operators are taken\n", taken, table.size() - 1);
    print(text);
    return code;
}

}  // namespace

Action add_probe(CLI::App& app) {
    auto options = std::make_shared<ProbeOptions>();
    CLI::App* command =
        app.add_subcommand("probe", "Says which operators of a model are taken, and why others are not");
    command->add_option("MODEL", options->model.path, "a .tflite, .tosa or StableHLO file")->required();
    add_model_options(*command, options->model, /*with_path=*/false);
    command->add_flag("--json", options->json, "print JSON");
    command->footer(
        "Exit code 1: not everything is taken.\n"
        "Example: tosa-vk probe model.tflite --json");
    return [options] { return probe(*options); };
}

}  // namespace tosavk::cli
