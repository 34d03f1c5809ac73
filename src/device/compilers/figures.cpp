#include "device/compilers/figures.hpp"

#include "device/compilers/parsers.hpp"

#include <algorithm>

namespace tosavk {

namespace compilers {

std::optional<std::uint64_t> statistic(const CompiledProgram& program, std::string_view name) {
    const auto found = std::find_if(program.statistics.begin(), program.statistics.end(),
                                    [&](const CompilerStatistic& one) { return one.name == name; });
    if (found == program.statistics.end() || !(found->value >= 0) || found->value > 1e18) return std::nullopt;
    return static_cast<std::uint64_t>(found->value);
}

std::string_view text(const CompiledProgram& program, std::string_view part) {
    for (const CompilerText& one : program.texts) {
        if (one.name.find(part) != one.name.npos) return one.text;
    }
    return {};
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    return lines;
}

std::string_view trimmed(std::string_view line) {
    constexpr std::string_view space = " \t\r";
    const std::size_t first = line.find_first_not_of(space);
    if (first == line.npos) return {};
    return line.substr(first, line.find_last_not_of(space) + 1 - first);
}

std::string_view first_word(std::string_view line) {
    line = trimmed(line);
    return line.substr(0, line.find_first_of(" \t"));
}

}  // namespace compilers

std::optional<CompilerFigures> figures_of(const DeviceCaps& caps, const PipelineReport& report) {
    // VkDriverId; this room knows no Vulkan.
    constexpr std::uint32_t mesa_radv = 3;
    if (report.programs.empty()) return std::nullopt;
    if (caps.driver_id == mesa_radv) return compilers::read_aco(caps, report.programs.front());
    return std::nullopt;
}

}  // namespace tosavk
