#include "device/compilers/figures.hpp"

#include "device/compilers/parsers.hpp"

#include <algorithm>
#include <charconv>

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

void add_listing(CompilerFigures& figures, const Listing& listing) {
    if (listing.empty()) return;
    figures.hot = hottest(listing);
    if (!figures.instructions) figures.instructions = instruction_count(listing);
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

std::string_view after_word(std::string_view line) {
    line = trimmed(line);
    return trimmed(line.substr(first_word(line).size()));
}

std::size_t number_in(std::string_view text) {
    std::size_t number = 0;
    const auto end = std::from_chars(text.data(), text.data() + std::min<std::size_t>(text.size(), 9), number);
    return end.ec == std::errc() ? number : 0;
}

bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings) {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](std::string_view one) { return text.starts_with(one); });
}

}  // namespace compilers

std::optional<CompilerFigures> figures_of(const DeviceCaps& caps, const PipelineReport& report) {
    if (report.programs.empty()) return std::nullopt;
    const CompiledProgram& program = report.programs.front();
    // VkDriverId; this room knows no Vulkan.
    switch (caps.driver_id) {
        case 3: return compilers::read_aco(caps, program);       // Mesa's RADV
        case 6: return compilers::read_brw(caps, program);       // Mesa's ANV
        case 18: return compilers::read_ir3(caps, program);      // Mesa's turnip
        case 20: return compilers::read_valhall(caps, program);  // Mesa's panvk
        case 24: return compilers::read_nak(caps, program);      // Mesa's NVK
        default: return std::nullopt;
    }
}

}  // namespace tosavk
