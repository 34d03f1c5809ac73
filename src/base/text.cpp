// Walks UTF-8 and keeps what is well formed.

#include "base/text.hpp"

#include <algorithm>

namespace tosavk {

std::string printable(std::string_view bytes) {
    constexpr std::size_t max_bytes = 4096;
    std::string out;
    const std::size_t size = std::min(bytes.size(), max_bytes);
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    for (std::size_t i = 0; i < size;) {
        const unsigned first = at(i);
        const std::size_t length = first < 0x80 ? 1
                                 : first < 0xc2 ? 0
                                 : first < 0xe0 ? 2
                                 : first < 0xf0 ? 3
                                 : first < 0xf5 ? 4
                                                : 0;
        bool good = length > 0 && i + length <= size && first != 0x7f && first >= 0x20;
        for (std::size_t k = 1; good && k < length; ++k) good = (at(i + k) & 0xc0u) == 0x80u;
        if (good && length > 2) {
            // No overlong forms, no surrogates, nothing above U+10FFFF.
            const unsigned second = at(i + 1);
            if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90)) {
                good = false;
            }
        }
        if (good) out.append(bytes.substr(i, length));
        else out += '?';
        i += good ? length : 1;
    }
    return out;
}

namespace {

std::string shifted(std::string_view text, char first, char last, int by) {
    std::string result(text);
    for (char& c : result)
        if (c >= first && c <= last) c = static_cast<char>(c + by);
    return result;
}

}  // namespace

std::string lower(std::string_view text) { return shifted(text, 'A', 'Z', 'a' - 'A'); }
std::string upper(std::string_view text) { return shifted(text, 'a', 'z', 'A' - 'a'); }

std::string hexadecimal(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
        text += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
    }
    return text;
}

std::string UniqueNames::give(const std::string& wanted) {
    const auto [found, is_new] = next_.try_emplace(wanted, 2);
    if (is_new) return wanted;
    for (std::size_t n = found->second;; ++n) {
        std::string name = wanted + "#" + std::to_string(n);
        if (next_.contains(name)) continue;
        found->second = n + 1;
        next_.emplace(name, 2);
        return name;
    }
}

}  // namespace tosavk
