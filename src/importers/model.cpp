// Finds out what a file is and hands it to its importer.
#include "importers/importer.hpp"

#include "importers/tosa_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>

#include <unistd.h>

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

[[noreturn]] void fail_io(const std::filesystem::path& path, const std::string& why) {
    throw Error(ErrorCode::io, fmt::format("cannot read '{}': {}", path.string(), why));
}

}  // namespace

Bytes read_file(const std::filesystem::path& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) fail_io(path, "there is no such file");
    if (std::filesystem::is_directory(status)) fail_io(path, "it is a directory");
    errno = 0;
    std::ifstream stream(path, std::ios::binary);
    if (!stream) fail_io(path, errno != 0 ? std::generic_category().message(errno) : "it cannot be opened");
    // Read by pieces: what a pipe or device claims as its size is not to be trusted.
    Bytes bytes;
    if (std::filesystem::is_regular_file(status)) {
        const auto size = std::filesystem::file_size(path, error);
        if (!error) bytes.reserve(static_cast<std::size_t>(size));
    }
    constexpr std::size_t piece = std::size_t{1} << 20;
    while (stream) {
        if (bytes.size() > most_file_bytes) fail_io(path, "it is larger than 2 GiB");
        const std::size_t old = bytes.size();
        bytes.resize(old + piece);
        stream.read(reinterpret_cast<char*>(bytes.data() + old), static_cast<std::streamsize>(piece));
        bytes.resize(old + static_cast<std::size_t>(stream.gcount()));
    }
    if (stream.bad()) fail_io(path, "reading failed");
    return bytes;
}

void write_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces) {
    static std::atomic<unsigned> serial{0};
    // A device or pipe is written to; a link is followed. Only a regular file is replaced as a whole.
    std::error_code unresolved;
    std::filesystem::path target = std::filesystem::weakly_canonical(path, unresolved);
    if (unresolved) target = path;
    const bool special =
        std::filesystem::exists(target, unresolved) && !std::filesystem::is_regular_file(target, unresolved);
    const auto fail = [&](int code) {
        const std::string why = code != 0 ? std::generic_category().message(code) : "unknown reason";
        throw Error(ErrorCode::io, fmt::format("cannot write {}: {}", path.string(), why));
    };
    std::filesystem::path temporary;
    std::FILE* file = nullptr;
    // A process of the same number, in another container or crashed, may have left the name.
    for (int tries = 0; !file && tries < 100; ++tries) {
        temporary = target;
        if (!special) temporary += fmt::format(".tmp-{}-{}", ::getpid(), serial++);
        errno = 0;
        file = std::fopen(temporary.c_str(), special ? "wb" : "wbx");
        if (!file && (special || errno != EEXIST)) break;
    }
    if (!file) fail(errno);
    errno = 0;
    bool written = true;
    for (const auto& piece : pieces) {
        written = written && (piece.empty() || std::fwrite(piece.data(), 1, piece.size(), file) == piece.size());
    }
    int code = errno;
    if (std::fclose(file) != 0 && written) {
        written = false;
        code = errno;
    }
    std::error_code failed;
    if (written && !special) std::filesystem::rename(temporary, target, failed);
    if (written && !failed) return;
    std::error_code ignored;
    if (!special) std::filesystem::remove(temporary, ignored);
    fail(failed ? failed.value() : code);
}

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
