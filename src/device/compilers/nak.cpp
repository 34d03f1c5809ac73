// NVIDIA by Mesa's NVK: "block 7 L12 [6] -> {", then "@!p1 r4 p0 = iadd3 r22 r18 r0 // delay=6", and "} -> [8, 9]"
// names the blocks that follow.
#include "device/compilers/parsers.hpp"

namespace tosavk::compilers {

namespace {

Instruction read_instruction(std::string_view opcode) {
    Instruction one{std::string(opcode), 1, 0, Does::other};
    const auto has = [&](std::string_view part) { return opcode.find(part) != opcode.npos; };
    const auto multiplies = [&](Does what, std::size_t products) {
        one.does = what;
        one.multiply_adds = products;
    };
    if (begins_with_any(opcode, {"hmma", "imma"})) {
        multiplies(Does::matrix, 1);
    } else if (begins_with_any(opcode, {"hfma2", "hmul2"})) {
        multiplies(Does::floats, 2);
    } else if (begins_with_any(opcode, {"ffma", "fmul", "dfma", "dmul"})) {
        multiplies(Does::floats, 1);
    } else if (begins_with_any(opcode, {"idp"})) {
        multiplies(Does::dots, 1);
    } else if (begins_with_any(opcode, {"imad", "imul"}) && !has(".hi")) {
        multiplies(Does::integers, 1);
    } else if (begins_with_any(opcode, {"ld.shared", "ldsm"})) {
        one.does = Does::shared_load;
    } else if (begins_with_any(opcode, {"ld.local", "st.local"})) {
        one.does = Does::scratch;
    } else if (begins_with_any(opcode, {"ld.", "tex", "tld", "suld"})) {
        one.does = Does::load;
    } else if (begins_with_any(opcode, {"i2f", "f2i", "f2f", "i2i", "f2fp", "prmt", "shfl", "movm"})) {
        one.does = Does::conversion;
    } else if (opcode == "nop") {
        one.does = Does::wait;
    }
    return one;
}

Listing read_listing(std::string_view assembly) {
    ListingWriter listing;
    bool is_inside = false;
    for (const std::string_view whole : lines_of(assembly)) {
        std::string_view line = trimmed(whole.substr(0, whole.find("//")));
        if (line.starts_with("block") && line.ends_with("{")) {
            listing.label(first_word(after_word(line)));
            is_inside = true;
        } else if (line.starts_with("}")) {
            const std::size_t list = line.find('[');
            line = list == line.npos ? std::string_view() : line.substr(list + 1);
            while (is_inside && !line.empty() && line.front() >= '0' && line.front() <= '9') {
                const std::size_t end = line.find_first_not_of("0123456789");
                listing.jump(line.substr(0, end));
                line = end == line.npos ? std::string_view() : trimmed(line.substr(end + 1));
            }
            if (is_inside) listing.stop();
            is_inside = false;
        } else if (is_inside && !line.empty()) {
            if (line.starts_with("@")) line = after_word(line);
            if (const auto sign = line.find("= "); sign != line.npos) line = trimmed(line.substr(sign + 2));
            listing.add(read_instruction(first_word(line)));
        }
    }
    return listing.take();
}

}  // namespace

CompilerFigures read_nak(const DeviceCaps&, const CompiledProgram& program) {
    CompilerFigures figures;
    figures.compiler = "NAK";
    figures.subgroup_size = program.subgroup_size;
    figures.registers = statistic(program, "Number of GPRs");
    figures.scratch_bytes = statistic(program, "SLM Size");
    figures.instructions = statistic(program, "Instruction count");
    figures.assembly = text(program, "assembly");
    const Listing listing = read_listing(figures.assembly);
    add_listing(figures, listing);
    if (listing.empty()) return figures;
    std::uint64_t spills = 0, fills = 0;
    for (const Block& block : listing) {
        for (const Instruction& one : block.instructions) {
            spills += one.opcode.starts_with("st.local") ? 1 : 0;
            fills += one.opcode.starts_with("ld.local") ? 1 : 0;
        }
    }
    figures.spills = spills;
    figures.fills = fills;
    return figures;
}

}  // namespace tosavk::compilers
