// AMD by Mesa's RADV: a block begins with "BB3:", a branch names its target, and a comment holds the encoding.
#include "device/compilers/parsers.hpp"

#include <algorithm>

namespace tosavk::compilers {

namespace {

std::size_t products_of(std::string_view opcode) {
    const auto has = [&](std::string_view part) { return opcode.find(part) != opcode.npos; };
    return opcode.starts_with("v_") && (has("fma") || has("mad") || has("mac") || has("dot") || has("wmma")) ? 1 : 0;
}

Listing read_listing(std::string_view assembly) {
    Listing listing;
    for (const std::string_view whole : lines_of(assembly)) {
        const std::string_view line = trimmed(whole.substr(0, whole.find(';')));
        if (line.starts_with("BB") && line.ends_with(":")) {
            listing.push_back({std::string(line.substr(0, line.size() - 1)), {}, {}});
            continue;
        }
        if (line.empty() || listing.empty()) continue;
        const std::string_view opcode = first_word(line);
        Instruction one{std::string(opcode), 1, products_of(opcode)};
        // RDNA 3 issues two at once: "v_dual_fmac_f32 ... :: v_dual_mul_f32 ...".
        if (const auto second = line.find(":: "); second != line.npos)
            one.multiply_adds += products_of(first_word(line.substr(second + 3)));
        if (opcode.starts_with("s_branch") || opcode.starts_with("s_cbranch"))
            listing.back().targets.emplace_back(trimmed(line.substr(opcode.size())));
        listing.back().instructions.push_back(std::move(one));
    }
    return listing;
}

/// Of "Subgroups per SIMD", as Mesa's src/amd/common/ac_gpu_info.c has it; from RDNA on it counts subgroups of 32,
/// whatever the kernel's are.
std::uint64_t most_subgroups(std::uint32_t device_id) {
    const auto within = [&](std::uint32_t first, std::uint32_t last) {
        return device_id >= first && device_id <= last;
    };
    if (within(0x67c0, 0x67ff) || within(0x6980, 0x699f)) return 8;  // Polaris
    if (within(0x7310, 0x7362)) return 40;                           // RDNA 1
    return device_id < 0x7000 && !within(0x1400, 0x16ff) ? 10 : 32;  // Vega; RDNA 2 and later
}

}  // namespace

CompilerFigures read_aco(const DeviceCaps& caps, const CompiledProgram& program) {
    CompilerFigures figures;
    figures.compiler = "ACO";
    figures.subgroup_size = program.subgroup_size;
    figures.registers = statistic(program, "VGPRs");
    figures.spills = statistic(program, "Spilled VGPRs");
    figures.scratch_bytes = statistic(program, "Scratch size");
    figures.shared_bytes = statistic(program, "LDS size");
    figures.occupancy = statistic(program, "Subgroups per SIMD");
    figures.full_occupancy = most_subgroups(caps.device_id);
    figures.instructions = statistic(program, "Instructions");
    figures.assembly = text(program, "Assembly");
    if (figures.assembly.empty()) return figures;
    const Listing listing = read_listing(figures.assembly);
    figures.hot = hottest(listing);
    if (!figures.instructions) figures.instructions = instruction_count(listing);
    // Before RDNA 3 scratch is a buffer like any other, and its loads cannot be told from those.
    const auto loads = [](const Block& block) {
        return std::count_if(block.instructions.begin(), block.instructions.end(),
                             [](const Instruction& one) { return one.opcode.starts_with("scratch_load"); });
    };
    std::uint64_t fills = 0;
    for (const Block& block : listing) fills += static_cast<std::uint64_t>(loads(block));
    if (fills > 0 || figures.spills == 0u) figures.fills = figures.spills == 0u ? 0 : fills;
    return figures;
}

}  // namespace tosavk::compilers
