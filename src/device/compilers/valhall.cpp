// Mali from Valhall on by Mesa's panvk: its statistics hold nothing but a size, so that all is read out of the
// assembly: "FMA.f32 r8, ^r8, ^r4, r12", and "BRANCHZ.eq 0x0, offset:-583", which counts from the next instruction.
#include "device/compilers/parsers.hpp"

#include <bitset>
#include <map>

namespace tosavk::compilers {

namespace {

constexpr std::size_t register_count = 64;

struct Line {
    Instruction instruction;
    std::optional<std::size_t> target = std::nullopt;  ///< a line
    bool always = false;                               ///< it jumps
};

Instruction read_instruction(std::string_view line) {
    const std::string_view opcode = first_word(line);
    Instruction one{std::string(opcode), 1, 0, Does::other};
    const auto has = [&](std::string_view part) { return line.find(part) != line.npos; };
    const auto is = [&](std::string_view part) { return opcode.find(part) != opcode.npos; };
    if (begins_with_any(opcode, {"FMA"})) {
        one.does = Does::floats;
        one.multiply_adds = is(".v2") ? 2 : 1;
    } else if (begins_with_any(opcode, {"IDP"})) {
        one.does = Does::dots;
        one.multiply_adds = 1;
    } else if (begins_with_any(opcode, {"IMUL"})) {
        one.does = Does::integers;
        one.multiply_adds = is(".v4") ? 4 : is(".v2") ? 2 : 1;
    } else if (begins_with_any(opcode, {"LOAD", "STORE"}) && has("thread_local_pointer")) {
        one.does = Does::scratch;
    } else if (begins_with_any(opcode, {"LOAD", "LD_"})) {
        one.does = Does::load;  // shared memory is memory too, and its address as any other
    } else if (is("_TO_") || begins_with_any(opcode, {"MKVEC", "SWZ", "CLPER"})) {
        one.does = Does::conversion;
    } else if (begins_with_any(opcode, {"NOP"})) {
        one.does = Does::wait;
    }
    return one;
}

/// Those that a line names: "^r4", "r8.h00", "@r8:r9:r10:r11".
void add_registers(std::bitset<register_count>& used, std::string_view line) {
    for (std::size_t k = 1; k + 1 < line.size(); ++k) {
        const bool begins = line[k] == 'r' && std::string_view(" ^@:").find(line[k - 1]) != std::string_view::npos;
        if (!begins || line[k + 1] < '0' || line[k + 1] > '9') continue;
        if (const std::size_t number = number_in(line.substr(k + 1)); number < register_count) used.set(number);
    }
}

std::vector<Line> read_lines(std::string_view assembly, std::bitset<register_count>& used) {
    std::vector<Line> lines;
    for (const std::string_view whole : lines_of(assembly)) {
        const std::string_view line = trimmed(whole);
        if (line.empty() || line.front() < 'A' || line.front() > 'Z') continue;
        lines.push_back({read_instruction(line)});
        add_registers(used, line);
        const std::size_t offset = line.find("offset:");
        if (!line.starts_with("BRANCH") || offset == line.npos) continue;
        const std::string_view number = line.substr(offset + 7);
        lines.back().always = first_word(after_word(line)) == "0x0,";
        const std::size_t next = lines.size();
        if (!number.starts_with("-")) {
            lines.back().target = next + number_in(number);
        } else if (const std::size_t back = number_in(number.substr(1)); back <= next) {
            lines.back().target = next - back;
        }
    }
    return lines;
}

/// A block begins where a jump leads to.
Listing listing_of(std::vector<Line> lines) {
    std::map<std::size_t, std::string> labels;
    for (const Line& line : lines) {
        if (line.target) labels.emplace(*line.target, std::to_string(*line.target));
    }
    ListingWriter listing;
    for (std::size_t k = 0; k < lines.size(); ++k) {
        if (const auto label = labels.find(k); label != labels.end()) listing.label(label->second);
        listing.add(std::move(lines[k].instruction));
        if (lines[k].target) listing.jump(labels.at(*lines[k].target), lines[k].always);
    }
    return listing.take();
}

}  // namespace

CompilerFigures read_valhall(const DeviceCaps& caps, const CompiledProgram& program) {
    CompilerFigures figures;
    figures.compiler = "valhall";
    figures.subgroup_size = caps.subgroup_size;  // the program's is wrong
    figures.assembly = text(program, "Assembly");
    std::bitset<register_count> used;
    const Listing listing = listing_of(read_lines(figures.assembly, used));
    if (listing.empty()) return figures;
    add_listing(figures, listing);
    figures.registers = used.count();
    // A kernel has r0 to r15 and r48 to r63, or all 64 and half of the invocations.
    constexpr std::size_t first = 16, last = 47;
    std::bitset<register_count> middle;
    for (std::size_t k = first; k <= last; ++k) middle.set(k);
    figures.occupancy = (used & middle).any() ? 1 : 2;
    figures.full_occupancy = 2;
    std::uint64_t spills = 0, fills = 0;
    for (const Block& block : listing) {
        for (const Instruction& one : block.instructions) {
            if (one.does != Does::scratch) continue;
            ++(one.opcode.starts_with("STORE") ? spills : fills);
        }
    }
    figures.spills = spills;
    figures.fills = fills;
    return figures;
}

}  // namespace tosavk::compilers
