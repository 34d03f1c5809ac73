// Tensors from and to .npy files: which element type of numpy stands for which type of a graph.
#pragma once

#include "base/npy.hpp"
#include "graph/host_tensor.hpp"

#include <filesystem>
#include <span>
#include <string>

namespace tosavk {

/// The type that elements of a file are nearest to: i8, i16, i32, bool, fp16 and fp32 are numpy's own; int64 is i48;
/// the unsigned ones are the next larger signed one (uint32 and uint64: i48); void16 is bf16; float8_e5m2 is itself,
/// and void8, which may be either fp8, counts as fp8e4m3.
DType nearest_type(const NpyArray& array);

/// The array in a wanted type, which must hold every element's value exactly: integers and bool as each other, floats
/// as each other, void8 as either fp8. Throws Error(bad_input) with element and value where it does not, and where the
/// two types have nothing in common; `origin` stands before messages, unless it is empty.
HostTensor to_tensor(const NpyArray& array, DType type, const std::string& origin);
/// The same of a tensor.
HostTensor convert_tensor(const HostTensor& tensor, DType type, const std::string& origin);

/// A file in its nearest type. Throws Error(io) when it cannot be read, Error(bad_input) when it is no such array.
HostTensor load_npy(const std::filesystem::path& path);

/// Types that numpy lacks are written in a wider one that it has, or as their bytes for a reader with ml_dtypes.
enum class NpyForm : std::uint8_t {
    wide,  ///< bf16 and fp8 as float32
    raw,   ///< bf16 as void16 ('<V2'), fp8 as void8 ('|V1')
};
/// i4 is written as int8, i48 as int64. Writes to a temporary file beside `path` and renames it, so that no
/// half-written file is left. Throws Error(io).
void save_npy(const std::filesystem::path& path, DType type, const Shape& shape, std::span<const std::byte> bytes,
              NpyForm form = NpyForm::wide);

}  // namespace tosavk
