#include "base/files.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

#include <unistd.h>

namespace tosavk {

namespace {

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
        if (bytes.size() > most_file_bytes) fail_io(path, "it is larger than 64 GiB");
        const std::size_t old = bytes.size();
        bytes.resize(old + piece);
        stream.read(reinterpret_cast<char*>(bytes.data() + old), static_cast<std::streamsize>(piece));
        bytes.resize(old + static_cast<std::size_t>(stream.gcount()));
    }
    if (stream.bad()) fail_io(path, "reading failed");
    return bytes;
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
    return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
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

}  // namespace tosavk
