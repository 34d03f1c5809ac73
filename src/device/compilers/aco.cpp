// AMD by Mesa's RADV: a block begins with "BB3:", a branch names its target, and a comment holds the encoding.
#include "device/compilers/parsers.hpp"

namespace tosavk::compilers {

namespace {

Instruction read_instruction(std::string_view opcode) {
    Instruction one{std::string(opcode), 1, 0, Does::other};
    const auto has = [&](std::string_view part) { return opcode.find(part) != opcode.npos; };
    if (begins_with_any(opcode, {"s_waitcnt", "s_wait_", "s_nop", "s_delay_alu", "s_sleep", "s_clause"})) {
        one.does = Does::wait;
    } else if (begins_with_any(opcode, {"v_wmma", "v_swmmac", "v_mfma"})) {
        one.does = Does::matrix;
        one.multiply_adds = 1;
    } else if (begins_with_any(opcode, {"ds_load", "ds_read"})) {
        one.does = Does::shared_load;
    } else if (opcode.starts_with("scratch_")) {
        one.does = Does::scratch;
    } else if (begins_with_any(opcode, {"buffer_load", "tbuffer_load", "global_load", "flat_load", "image_load"})) {
        one.does = Does::load;
    } else if (has("perm") || has("_swizzle") || has("_dpp") ||
               begins_with_any(opcode, {"v_cvt", "v_align", "v_pack"})) {
        one.does = Does::conversion;
    }
    // A high half is the other half of a product that is counted by its low one, or a division's.
    const bool multiplies = has("fma") || has("mad") || has("mac") || has("dot") || has("mul");
    if (!opcode.starts_with("v_") || !multiplies || has("_hi_") || has("v_div")) return one;
    if (one.does == Does::matrix) return one;
    const bool of_floats = has("_f16") || has("_f32") || has("_f64") || has("bf16") || has("fma_mix");
    one.does = of_floats ? Does::floats : has("dot") ? Does::dots : Does::integers;
    one.multiply_adds = opcode.starts_with("v_pk_") ? 2 : 1;
    return one;
}

Listing read_listing(std::string_view assembly) {
    ListingWriter listing;
    bool begun = false;
    for (const std::string_view whole : lines_of(assembly)) {
        const std::string_view line = trimmed(whole.substr(0, whole.find(';')));
        if (line.starts_with("BB") && line.ends_with(":")) {
            listing.label(line.substr(0, line.size() - 1));
            begun = true;
            continue;
        }
        if (line.empty() || !begun) continue;
        const std::string_view opcode = first_word(line);
        Instruction one = read_instruction(opcode);
        // RDNA 3 issues two at once: "v_dual_fmac_f32 ... :: v_dual_mul_f32 ...".
        if (const auto second = line.find(":: "); second != line.npos) {
            const Instruction other = read_instruction(first_word(line.substr(second + 3)));
            one.multiply_adds += other.multiply_adds;
            if (other.multiply_adds > 0) one.does = other.does;
        }
        listing.add(std::move(one));
        if (begins_with_any(opcode, {"s_branch", "s_cbranch"})) listing.jump(after_word(line), opcode == "s_branch");
        if (opcode == "s_endpgm") listing.stop();
    }
    return listing.take();
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
    add_listing(figures, listing);
    // Before RDNA 3 scratch is a buffer like any other, and its loads cannot be told from those.
    std::uint64_t fills = 0;
    for (const Block& block : listing) {
        for (const Instruction& one : block.instructions) fills += one.opcode.starts_with("scratch_load") ? 1 : 0;
    }
    if (fills > 0 || figures.spills == 0u) figures.fills = figures.spills == 0u ? 0 : fills;
    return figures;
}

}  // namespace tosavk::compilers
