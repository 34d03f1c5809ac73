// Intel by Mesa's ANV: "mad(16) g91<1>F g83<8,8,1>F ... { ... };", a block begins with "LABEL4:", a jump names it
// behind "JIP:", and what a message asks for stands in a line of its own behind its "send".
#include "device/compilers/parsers.hpp"

#include <algorithm>
#include <utility>

namespace tosavk::compilers {

namespace {

/// Of an operand such as "g91<1>F", "-g73.1<1,1,0>UD" or "0x00000003UD": its letters at the end, signs left out.
std::string_view type_of(std::string_view operand) {
    const std::size_t last = operand.find_last_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    std::string_view type = operand.substr(last == operand.npos ? 0 : last + 1);
    if (type.starts_with("U")) type.remove_prefix(1);
    return type;
}

/// What the line behind a "send" says of its message.
Does does_message(std::string_view line) {
    const auto has = [&](std::string_view part) { return line.find(part) != line.npos; };
    const bool reads = has("( load") || has(" read");
    // Scratch is the surface that the state names, and before DG2 the stateless one.
    if (line.starts_with("ugm") && has(", ss )")) return Does::scratch;
    if (line.starts_with("data") && has("bti 253")) return Does::scratch;
    if (line.starts_with("slm") || has("Surface = 254") || has("bti 254"))
        return reads ? Does::shared_load : Does::other;
    return reads ? Does::load : Does::other;
}

Instruction read_instruction(std::string_view name, std::string_view operands) {
    Instruction one{std::string(name), 1, 0, Does::other};
    const std::string_view to = first_word(operands), from = first_word(after_word(operands));
    if (name.starts_with("dpas")) {
        one.does = Does::matrix;
        one.multiply_adds = 1;
    } else if (name == "sync") {
        one.does = Does::wait;
    } else if (name == "mov") {
        const bool moves_within = from.find("[a0") != from.npos;
        if (moves_within || type_of(to) != type_of(from)) one.does = Does::conversion;
    } else if (name == "dp4a") {
        one.does = Does::dots;
        one.multiply_adds = 1;
    } else if (begins_with_any(name, {"mad", "mac", "mul"}) && !name.starts_with("mach")) {
        one.does = type_of(to).ends_with("F") ? Does::floats : Does::integers;
        one.multiply_adds = 1;
    }
    return one;
}

Listing read_listing(std::string_view assembly) {
    ListingWriter listing;
    Instruction sent;  // waits for the line that says what
    const auto flush = [&] {
        if (!sent.opcode.empty()) listing.add(std::exchange(sent, {}));
    };
    for (const std::string_view whole : lines_of(assembly)) {
        std::string_view line = trimmed(whole);
        if (!sent.opcode.empty() && line.find("MsgDesc:") != line.npos) sent.does = does_message(line);
        flush();
        if (line.starts_with("LABEL") && line.ends_with(":")) {
            listing.label(line.substr(0, line.size() - 1));
            continue;
        }
        if (whole.starts_with(" ") || whole.starts_with("\t")) continue;
        // "(+f0.0.any16h) send(1) ..."
        if (line.starts_with("(") && line.find(") ") != line.npos) line = trimmed(line.substr(line.find(") ") + 2));
        const std::size_t width = line.find('(');
        if (width == line.npos || line.front() < 'a' || line.front() > 'z') continue;
        // "cmp.l.f0.0(16)", "sync nop(1)"
        const std::string_view opcode = line.substr(0, width), name = opcode.substr(0, opcode.find_first_of(". "));
        if (name == "nop" || opcode == "sync nop") continue;  // not in the compiler's count
        const std::size_t operands = std::min(line.find(')'), line.size() - 1) + 1;
        Instruction one = read_instruction(name, line.substr(operands));
        if (name.starts_with("send")) {
            one.does = Does::other;
            sent = std::move(one);
            continue;
        }
        listing.add(std::move(one));
        if (const auto target = line.find("JIP:"); target != line.npos)
            listing.jump(first_word(line.substr(target + 4)));
    }
    flush();
    return listing.take();
}

}  // namespace

CompilerFigures read_brw(const DeviceCaps&, const CompiledProgram& program) {
    CompilerFigures figures;
    figures.compiler = "brw";
    figures.subgroup_size = program.subgroup_size;
    // It counts registers of 32 bytes that all invocations of a subgroup share, before any is spilled.
    const auto live = statistic(program, "Max live registers");
    if (live && program.subgroup_size > 0)
        figures.registers = (*live * 8 + program.subgroup_size - 1) / program.subgroup_size;
    figures.spills = statistic(program, "Spill Count");
    figures.fills = statistic(program, "Fill Count");
    figures.scratch_bytes = statistic(program, "Scratch Memory Size");
    figures.shared_bytes = statistic(program, "Workgroup Memory Size");
    figures.instructions = statistic(program, "Instruction Count");
    figures.assembly = text(program, "Assembly");
    add_listing(figures, read_listing(figures.assembly));
    return figures;
}

}  // namespace tosavk::compilers
