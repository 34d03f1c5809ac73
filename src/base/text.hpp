// Strings from files, made fit for messages, tables and JSON.
#pragma once

#include <string>
#include <string_view>

namespace tosavk {

/// What is not printable UTF-8 becomes '?', and what is endless is cut.
std::string printable(std::string_view bytes);

}  // namespace tosavk
