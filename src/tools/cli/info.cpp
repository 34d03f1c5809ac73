// tosa-vk info: the devices, and what the library makes of them.
#include "tools/cli/commands.hpp"

#include <fmt/format.h>

#include <memory>

namespace tosavk::cli {

namespace {

std::string value_text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string section(const Json& object) {
    std::string text;
    for (const auto& [key, value] : object.items()) text += fmt::format("    {}: {}\n", key, value_text(value));
    return text;
}

/// The kind of device, its driver's quirks, and a line for each fact with its source.
std::string architecture_section(const Json& architecture) {
    std::string text = fmt::format("  architecture: {}\n", value_text(architecture.at("name")));
    for (const Json& quirk : architecture.at("quirks")) text += fmt::format("    quirk: {}\n", value_text(quirk));
    for (const auto& [name, fact] : architecture.at("facts").items())
        text += fmt::format("    {}: {} ({})\n", name, value_text(fact.at("value")), value_text(fact.at("source")));
    return text;
}

int info(bool as_json) {
    auto devices = Json::array();
    const std::uint32_t count = cpp::Device::count();
    for (std::uint32_t k = 0; k < count; ++k) devices.push_back(Json::parse(cpp::Device::describe(k)));
    if (as_json) {
        print(json_text(devices));
        return exit_done;
    }
    std::string text;
    for (const Json& device : devices) {
        text += fmt::format("device {}: {} ({}), {}\n", device.at("index").get<int>(), value_text(device.at("name")),
                            value_text(device.at("type")), value_text(device.at("driver")));
        text += "  capabilities\n" + section(device.at("caps"));
        text += architecture_section(device.at("architecture"));
        text += "  plan\n" + section(device.at("plan"));
        text += "  reasons\n";
        for (const Json& reason : device.at("reasons")) text += fmt::format("    {}\n", value_text(reason));
    }
    print(text);
    return exit_done;
}

}  // namespace

Action add_info(CLI::App& app) {
    auto as_json = std::make_shared<bool>(false);
    CLI::App* command =
        app.add_subcommand("info", "Lists the devices, their capabilities and what the library chose for them");
    command->add_flag("--json", *as_json, "print JSON");
    command->footer("Example: tosa-vk info --json");
    return [as_json] { return info(*as_json); };
}

}  // namespace tosavk::cli
