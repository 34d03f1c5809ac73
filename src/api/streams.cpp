#include "api/streams.hpp"

#include "base/files.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk::api {

Bytes read_stream(tosavk_read_callback read, void* user) {
    constexpr std::size_t first = std::size_t{1} << 16;
    Bytes bytes;
    std::size_t used = 0;
    for (;;) {
        if (used == bytes.size()) bytes.resize(std::clamp(bytes.size() * 2, first, most_file_bytes + 1));
        const std::size_t room = bytes.size() - used;
        const std::int64_t got = read(user, bytes.data() + used, room);
        if (got < 0) throw Error(ErrorCode::io, fmt::format("the stream failed after {} bytes", used));
        if (static_cast<std::uint64_t>(got) > room)
            throw Error(ErrorCode::usage,
                        fmt::format("the stream says that it gave {} bytes, but {} were asked for", got, room));
        if (got == 0) break;
        used += static_cast<std::size_t>(got);
        if (used > most_file_bytes) throw Error(ErrorCode::io, "the stream gives more than 64 GiB, which is not read");
    }
    bytes.resize(used);
    return bytes;
}

void write_stream(tosavk_write_callback write, void* user, std::span<const std::byte> bytes) {
    constexpr std::size_t most = std::size_t{1} << 20;
    for (std::size_t at = 0; at < bytes.size(); at += most) {
        const std::size_t size = std::min(most, bytes.size() - at);
        if (write(user, bytes.data() + at, size) != 0)
            throw Error(ErrorCode::io, fmt::format("the stream failed after {} of {} bytes", at, bytes.size()));
    }
}

}  // namespace tosavk::api

const void* tosavk_bytes_data(const tosavk_bytes* bytes) { return bytes ? bytes->bytes.data() : nullptr; }
size_t tosavk_bytes_size(const tosavk_bytes* bytes) { return bytes ? bytes->bytes.size() : 0; }
void tosavk_bytes_release(tosavk_bytes* bytes) { delete bytes; }
