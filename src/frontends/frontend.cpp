// Finds out what a file is and hands it to its importer.
#include "frontends/frontend.hpp"

#include "base/files.hpp"
#include "frontends/tosa/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tosavk {

namespace {

bool has_identifier(std::span<const std::byte> file, const char* four) {
    return file.size() >= 8 && std::memcmp(file.data() + 4, four, 4) == 0;
}

bool looks_like_text(std::span<const std::byte> file) {
    const auto start = file.first(std::min<std::size_t>(file.size(), 512));
    return std::all_of(start.begin(), start.end(), [](std::byte b) {
        const auto c = std::to_integer<unsigned char>(b);
        return c == '\t' || c == '\n' || c == '\r' || (c >= 32 && c != 127);
    });
}

}  // namespace

Graph import_model(std::span<const std::byte> file, const std::string& origin, const ImportOptions& options) {
    try {
        if (has_identifier(file, "TFL3")) return import_tflite(file, options);
        if (has_identifier(file, "TOSA")) return import_tosa(file, options);
        if (file.empty()) throw Error(ErrorCode::bad_model, "the file is empty");
        if (looks_like_text(file)) throw Error(ErrorCode::bad_model, "this is text, not a model");
        if (file.size() < 8)
            throw Error(ErrorCode::bad_model, fmt::format("{} bytes are too short for a model", file.size()));
        // Early TOSA files carry no identifier.
        if (looks_like_tosa(file)) return import_tosa(file, options);
        throw Error(ErrorCode::bad_model, "this is neither a TFLite nor a TOSA model");
    } catch (const Error& e) {
        throw Error(e.code(), origin.empty() ? e.what() : fmt::format("{}: {}", origin, e.what()), e.node(),
                    e.operand());
    }
}

Graph import_file(const std::filesystem::path& path, const ImportOptions& options) {
    const Bytes bytes = read_file(path);
    return import_model(bytes, path.string(), options);
}

}  // namespace tosavk
