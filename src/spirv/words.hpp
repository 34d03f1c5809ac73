// What is known of SPIR-V without a parser.
#pragma once

#include <cstdint>
#include <span>

namespace tosavk {

/// Whether the words are a module from end to end: a header of five words, then instructions, the last of which ends a
/// function. What a file has cut off or mixed up is found so before a driver sees it.
inline bool is_whole_module(std::span<const std::uint32_t> words) {
    constexpr std::uint32_t magic = 0x07230203, function_end = 56;
    if (words.size() < 6 || words[0] != magic) return false;
    std::uint32_t opcode = 0;
    for (std::size_t at = 5; at < words.size();) {
        const std::uint32_t count = words[at] >> 16;
        opcode = words[at] & 0xffff;
        if (count == 0 || count > words.size() - at) return false;
        at += count;
    }
    return opcode == function_end;
}

}  // namespace tosavk
