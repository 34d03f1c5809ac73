// Whole files, read with care and written so that no half of one is left. Errors are Error(io).
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"

#include <cstddef>
#include <filesystem>
#include <span>

namespace tosavk {

constexpr std::size_t most_file_bytes = std::size_t{1} << 36;  ///< of read_file()
Bytes read_file(const std::filesystem::path& path);
/// Where a file lies; "." for a name alone.
std::filesystem::path folder_of(const std::filesystem::path& path);

/// Writes to a temporary file beside `path` and renames it, so that no half-written file is left.
void write_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces);

}  // namespace tosavk
