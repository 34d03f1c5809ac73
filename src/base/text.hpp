// Strings from files, made fit for messages, tables and JSON.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tosavk {

/// What is not printable UTF-8 becomes '?', and what is endless is cut.
std::string printable(std::string_view bytes);

/// ASCII letters alone change.
std::string lower(std::string_view text);
std::string upper(std::string_view text);

/// Two lower-case digits a byte.
std::string hexadecimal(std::span<const std::byte> bytes);

}  // namespace tosavk
