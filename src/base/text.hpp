// Strings from files, made fit for messages, tables and JSON.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tosavk {

/// What is not printable UTF-8 becomes '?', and what is endless is cut.
std::string printable(std::string_view bytes);

/// ASCII letters alone change.
std::string lower(std::string_view text);
std::string upper(std::string_view text);

/// Two lower-case digits a byte.
std::string hexadecimal(std::span<const std::byte> bytes);

/// Names of which each is given once. What was given already is followed by "#2", "#3" and so on.
class UniqueNames {
public:
    std::string give(const std::string& wanted);

private:
    std::unordered_map<std::string, std::size_t> next_;  ///< by name that was given: the number that is tried next
};

}  // namespace tosavk
