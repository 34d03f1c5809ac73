// Elements between the packing of .tosa files and that of Values.
#include "frontends/tosa/file.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

Bytes unpack_tosa(DType type, std::int64_t count, std::span<const std::byte> data, const std::string& title) {
    const auto n = static_cast<std::uint64_t>(count);
    const std::uint64_t needed = type == DType::i4 ? (n + 1) / 2 : type == DType::i48 ? n * 6 : n * size_of(type);
    if (data.size() < needed) {
        bad_tosa_file(fmt::format("{} has {} elements of type {}, which need {} bytes, but its data has {}", title,
                                  count, name_of(type), needed, data.size()));
    }
    const auto rest = data.subspan(static_cast<std::size_t>(needed));
    if (std::any_of(rest.begin(), rest.end(), [](std::byte b) { return b != std::byte{0}; })) {
        bad_tosa_file(
            fmt::format("{} has {} elements of type {}, which need {} bytes, but its {} bytes are not zero beyond them",
                        title, count, name_of(type), needed, data.size()));
    }
    data = data.first(static_cast<std::size_t>(needed));
    if (type == DType::boolean &&
        std::any_of(data.begin(), data.end(), [](std::byte b) { return std::to_integer<unsigned>(b) > 1; })) {
        bad_tosa_file(fmt::format("{} of type bool has a byte that is neither 0 nor 1", title));
    }
    if (type != DType::i4 && type != DType::i48) return Bytes(data.begin(), data.end());
    std::vector<std::int64_t> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (type == DType::i4) {
            values[i] = std::to_integer<std::int64_t>(data[i / 2] >> (i % 2 * 4)) & 15;
        } else {
            for (std::size_t k = 0; k < 6; ++k) values[i] |= std::to_integer<std::int64_t>(data[i * 6 + k]) << (8 * k);
        }
    }
    return encode_ints(type, values);  // extends the sign
}

Bytes pack_tosa(DType type, std::span<const std::byte> elements) {
    if (type != DType::i4 && type != DType::i48) return Bytes(elements.begin(), elements.end());
    const std::vector<std::int64_t> values = decode_ints(type, elements);
    Bytes packed(type == DType::i4 ? (values.size() + 1) / 2 : values.size() * 6);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (type == DType::i4) packed[i / 2] |= static_cast<std::byte>((values[i] & 15) << (i % 2 * 4));
        else {
            for (std::size_t k = 0; k < 6; ++k) packed[i * 6 + k] = static_cast<std::byte>(values[i] >> (8 * k));
        }
    }
    return packed;
}

}  // namespace tosavk
