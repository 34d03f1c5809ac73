// .npy files: the form in which tensors enter and leave the programs. Formats 1.0 to 3.0, little endian, C order.
#pragma once

#include "graph/host_tensor.hpp"

#include <filesystem>
#include <span>
#include <string>

namespace tosavk {

/// Reads an array: bool, int8, int16, int32, int64 (as i48), float16 or float32. Throws Error(io) when the file cannot
/// be read and Error(bad_input) when it is not such an array; `origin` stands in messages.
HostTensor parse_npy(std::span<const std::byte> file, const std::string& origin);
HostTensor load_npy(const std::filesystem::path& path);

/// i4 is written as int8, i48 as int64, bf16 and fp8 as float32. Writes to a temporary file beside `path` and renames
/// it, so that no half-written file is left. Throws Error(io).
void save_npy(const std::filesystem::path& path, DType type, const Shape& shape, std::span<const std::byte> bytes);

/// The same elements in another type where .npy has no type of its own (i4 from i8, bf16 and fp8 from fp32). Throws
/// Error(bad_input) for an element that the type cannot hold exactly, or when the types have nothing in common.
HostTensor convert_array(const HostTensor& array, DType type, const std::string& origin);

}  // namespace tosavk
