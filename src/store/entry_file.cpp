#include "store/entry_file.hpp"

#include "base/log.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tosavk {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t magic = 0x4348434b56415354;  // "TSAVKCHC" on a little-endian host; others see another number
constexpr std::uint32_t format_version = 1;
constexpr std::uint64_t max_entry_bytes = 256u << 20;  // what claims more is a lie, in a sparse file perhaps

struct FileHeader {
    std::uint64_t magic_number;
    std::uint32_t version, identity_size, entry_count, zero;
    std::uint64_t file_bytes;
    std::uint64_t head_sum;  ///< of header (with this field 0), identity and table
};
struct FileEntry {
    std::uint32_t kind, zero;
    Digest key;
    std::uint64_t last_use, offset, size, sum;
};
static_assert(sizeof(FileHeader) == EntryFile::header_bytes && sizeof(FileEntry) == EntryFile::table_bytes);

void append(std::vector<std::byte>& to, const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    to.insert(to.end(), bytes, bytes + size);
}

/// All or nothing.
bool read_at(int file, std::uint64_t offset, std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t got = ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(got));
        offset += static_cast<std::uint64_t>(got);
    }
    return true;
}

bool write_all(int file, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t put = ::write(file, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    return true;
}

}  // namespace

void EntryFile::close() {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
    bytes_ = 0;
    entries_.clear();
}

bool EntryFile::open(const fs::path& path, const std::string& identity, const char* topic) {
    close();
    if (read_head(path, identity, topic)) {
        say(topic, fmt::format("{} holds {} entries, {} bytes", path.string(), entries_.size(), bytes_));
        return true;
    }
    close();
    return false;
}

bool EntryFile::read_head(const fs::path& path, const std::string& identity, const char* topic) {
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file_ < 0) {
        say(topic, fmt::format("no {}: {}", path.string(), std::strerror(errno)));
        return false;
    }
    const auto unusable = [&](const char* why) {
        say(topic, fmt::format("{} is ignored: {}", path.string(), why));
        return false;
    };
    struct stat status{};
    if (::fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) return unusable("it is no regular file");
    const auto actual_bytes = static_cast<std::uint64_t>(status.st_size);

    FileHeader header{};
    if (!read_at(file_, 0, std::as_writable_bytes(std::span(&header, 1)))) return unusable("it is cut off");
    if (header.magic_number != magic || header.version != format_version) return unusable("it has another format");
    const char* const foreign = "it is for another device or compiler";
    if (header.identity_size != identity.size() || header.entry_count > max_entries) return unusable(foreign);
    const std::uint64_t head_bytes = sizeof header + header.identity_size + header.entry_count * sizeof(FileEntry);
    if (head_bytes > actual_bytes || header.file_bytes < head_bytes) return unusable("it is cut off");
    std::vector<std::byte> head(head_bytes);
    if (!read_at(file_, 0, head)) return unusable("it cannot be read");
    std::memset(head.data() + offsetof(FileHeader, head_sum), 0, sizeof header.head_sum);
    if (checksum(head) != header.head_sum) return unusable("its checksum is wrong");
    if (std::memcmp(head.data() + sizeof header, identity.data(), identity.size()) != 0) return unusable(foreign);

    for (std::uint32_t k = 0; k < header.entry_count; ++k) {
        FileEntry entry{};
        std::memcpy(&entry, head.data() + sizeof header + header.identity_size + k * sizeof entry, sizeof entry);
        if (entry.offset < head_bytes || entry.offset > actual_bytes || entry.size > actual_bytes - entry.offset)
            continue;
        if (entry.size > max_entry_bytes) continue;
        entries_[{static_cast<EntryKind>(entry.kind), entry.key}] = {entry.last_use, entry.offset, entry.size,
                                                                     entry.sum};
    }
    bytes_ = actual_bytes;
    return true;
}

bool EntryFile::copy(const Entry& entry, std::vector<std::byte>& bytes) const {
    bytes.resize(entry.size);
    return read_at(file_, entry.offset, bytes);
}

std::optional<std::vector<std::byte>> EntryFile::read(const Entry& entry) const {
    std::vector<std::byte> bytes;
    if (!copy(entry, bytes) || checksum(bytes) != entry.sum) return std::nullopt;
    return bytes;
}

bool write_entries(const fs::path& path, const std::string& identity, std::span<const EntryToWrite> entries,
                   unsigned mode) {
    FileHeader header{magic,
                      format_version,
                      static_cast<std::uint32_t>(identity.size()),
                      static_cast<std::uint32_t>(entries.size()),
                      0,
                      0,
                      0};
    std::uint64_t offset = sizeof header + identity.size() + entries.size() * sizeof(FileEntry);
    std::vector<FileEntry> table;
    for (const EntryToWrite& entry : entries) {
        FileEntry& row = table.emplace_back();
        row.kind = static_cast<std::uint32_t>(entry.key.first);
        row.key = entry.key.second;
        row.last_use = entry.last_use;
        row.offset = offset;
        row.size = entry.file ? entry.stored.size : entry.bytes.size();
        row.sum = entry.file ? entry.stored.sum : checksum(entry.bytes);
        offset += row.size;
    }
    header.file_bytes = offset;
    std::vector<std::byte> head;
    append(head, &header, sizeof header);
    append(head, identity.data(), identity.size());
    append(head, table.data(), table.size() * sizeof(FileEntry));
    header.head_sum = checksum(head);
    std::memcpy(head.data(), &header, sizeof header);

    const int out = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, static_cast<mode_t>(mode));
    if (out < 0) return false;
    bool good = write_all(out, head);
    std::vector<std::byte> piece;
    for (const EntryToWrite& entry : entries) {
        if (!good) break;
        good =
            entry.file ? entry.file->copy(entry.stored, piece) && write_all(out, piece) : write_all(out, entry.bytes);
    }
    return ::close(out) == 0 && good;
}

}  // namespace tosavk
