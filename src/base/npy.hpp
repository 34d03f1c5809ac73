// .npy, numpy's file of one array: formats 1.0 to 3.0, little endian, C order. What an element means is up to the
// reader: graph/array.hpp makes tensors of it.
#pragma once

#include "base/bytes.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tosavk {

/// How a file's elements are to be read; numpy's letters.
enum class NpyKind : char {
    boolean = 'b',
    integer = 'i',  ///< signed
    natural = 'u',  ///< unsigned
    real = 'f',     ///< IEEE 754; of one byte as ml_dtypes writes float8_e5m2
    opaque = 'V',   ///< bytes that numpy gives no meaning: how ml_dtypes stores bfloat16 and the other float8
};

struct NpyArray {
    NpyKind kind = NpyKind::real;
    std::size_t item_size =
        4;  ///< bytes of one element: 1 (bool), 1, 2, 4, 8 (integers), 1, 2, 4 (real), 1, 2 (opaque)
    std::vector<std::int64_t> shape;  ///< at most 8 dimensions, none of them 0
    Bytes data;                       ///< product of `shape` times item_size
};

/// "uint8", "float32", "void16": numpy's name of the element type. Static storage; "?" for what no NpyArray holds.
const char* numpy_name(NpyKind kind, std::size_t item_size);

/// Throws Error(bad_input) for anything but such an array; `origin` stands in messages.
NpyArray parse_npy(std::span<const std::byte> file, const std::string& origin);
/// The same; also Error(io) when the file cannot be read.
NpyArray read_npy(const std::filesystem::path& path);

/// Writes to a temporary file beside `path` and renames it, so that no half-written file is left. Throws Error(io).
/// `data` has as many bytes as shape and item size say.
void write_npy(const std::filesystem::path& path, NpyKind kind, std::size_t item_size,
               std::span<const std::int64_t> shape, std::span<const std::byte> data);

}  // namespace tosavk
