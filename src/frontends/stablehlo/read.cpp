#include "frontends/stablehlo/read.hpp"

#include "frontends/stablehlo/bytecode.hpp"
#include "frontends/stablehlo/jax_export.hpp"
#include "frontends/stablehlo/text.hpp"

#include <algorithm>
#include <array>

namespace tosavk::stablehlo {

namespace {

bool is_program_text(std::string_view text) {
    constexpr std::array<std::string_view, 4> begins = {"module", "func.func", "\"builtin.module\"", "\"func.func\""};
    while (!text.empty()) {
        const std::size_t first = text.find_first_not_of(" \t\r\n");
        if (first == std::string_view::npos) return false;
        text.remove_prefix(first);
        const bool is_skipped = text.starts_with("//") || text.starts_with("#") || text.starts_with("!");
        if (!is_skipped)
            return std::any_of(begins.begin(), begins.end(),
                               [&](std::string_view begin) { return text.starts_with(begin); });
        text.remove_prefix(std::min(text.find('\n'), text.size()));
    }
    return false;
}

std::string_view as_text(std::span<const std::byte> file) {
    return {reinterpret_cast<const char*>(file.data()), file.size()};
}

}  // namespace

bool is_stablehlo(std::span<const std::byte> file) {
    return is_bytecode(file) || is_program_text(as_text(file)) || read_jax_export(file);
}

Program read_program(const SharedBytes& file) {
    if (is_bytecode(*file)) return read_bytecode(file);
    if (is_program_text(as_text(*file))) return read_text(as_text(*file));
    if (const auto wrapped = read_jax_export(*file)) return read_bytecode(SharedBytes(wrapped->module, file.owner()));
    throw Error(ErrorCode::bad_model,
                "this is neither a StableHLO portable artifact, nor what jax.export writes, nor StableHLO text");
}

}  // namespace tosavk::stablehlo
