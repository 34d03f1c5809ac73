// Adreno by Mesa's turnip: a block begins with "l984:", a jump names it with a number sign, and flags in brackets stand
// before the opcode. "(rpt3)" repeats an instruction three times with the next registers; "(nop2)" waits as long as two
// more take, which the compiler counts as two. A register is four components of 32 bits, a half
// register four of 16.
#include "device/compilers/parsers.hpp"

namespace tosavk::compilers {

namespace {

Does does(std::string_view opcode) {
    if (opcode == "nop") return Does::wait;
    if (begins_with_any(opcode, {"mad.f", "mul.f"})) return Does::floats;
    // A product of 32 bits is one mull and two madsh.
    if (begins_with_any(opcode, {"mad.s", "mad.u", "mul.s", "mul.u", "mull"})) return Does::integers;
    if (begins_with_any(opcode, {"dp4acc", "dp2acc"})) return Does::dots;
    if (begins_with_any(opcode, {"ldl"})) return Does::shared_load;
    if (begins_with_any(opcode, {"ldp", "stp"})) return Does::scratch;
    if (begins_with_any(opcode, {"isam", "sam", "ldib", "ldg"})) return Does::load;
    if (begins_with_any(opcode, {"cov", "swz", "gat", "sct", "shfl", "quad_shuffle", "brcst"})) return Does::conversion;
    return Does::other;
}

Listing read_listing(std::string_view assembly) {
    ListingWriter listing;
    bool is_preamble = false;  // runs once for all invocations, and is not in the compiler's counts
    for (const std::string_view whole : lines_of(assembly)) {
        std::string_view line = trimmed(whole);
        if (line.ends_with(":") && line.starts_with("l")) {
            listing.label(line.substr(0, line.size() - 1));
            continue;
        }
        std::size_t times = 1, waits = 0;
        while (line.starts_with("(")) {
            const std::size_t end = line.find(')');
            if (end == line.npos) break;
            if (line.starts_with("(rpt")) times = 1 + number_in(line.substr(4));
            if (line.starts_with("(nop")) waits = number_in(line.substr(4));
            line = trimmed(line.substr(end + 1));
        }
        // Headers and comments begin otherwise.
        if (line.empty() || line.front() < 'a' || line.front() > 'z') continue;
        const std::string_view opcode = first_word(line);
        if (opcode == "shps") is_preamble = true;
        if (!is_preamble) {
            if (waits > 0) listing.add({"nop", waits, 0, Does::wait});
            const Does what = does(opcode);
            const bool multiplies = what == Does::floats || what == Does::integers || what == Does::dots;
            if (opcode.starts_with("swz")) times = 2;  // swaps
            listing.add({std::string(opcode), times, multiplies ? std::size_t{1} : std::size_t{0}, what});
            if (const auto target = line.rfind('#'); target != line.npos && line.substr(target).starts_with("#l"))
                listing.jump(line.substr(target + 1), opcode == "jump");
        }
        if (opcode == "shpe") is_preamble = false;
        if (opcode == "end") break;  // what follows fills a line of the cache
    }
    return listing.take();
}

}  // namespace

CompilerFigures read_ir3(const DeviceCaps&, const CompiledProgram& program) {
    constexpr std::uint64_t most_subgroups = 16;  // src/freedreno/common/freedreno_devices.py, Adreno 600 and 700
    CompilerFigures figures;
    figures.compiler = "ir3";
    figures.subgroup_size = program.subgroup_size;
    figures.registers = statistic(program, "Registers used");
    figures.half_registers = statistic(program, "Half-registers used");
    figures.spills = statistic(program, "STP Count");
    figures.fills = statistic(program, "LDP Count");
    figures.occupancy = statistic(program, "Max Waves Per Core");
    if (figures.occupancy) figures.full_occupancy = most_subgroups;
    figures.instructions = statistic(program, "Instruction Count");
    figures.assembly = text(program, "Assembly");
    add_listing(figures, read_listing(figures.assembly));
    return figures;
}

}  // namespace tosavk::compilers
