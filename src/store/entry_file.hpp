// A file of entries that are found by kind and key: what the disk cache and the seed are. Whatever is wrong with such a
// file is a miss, never an error.
//
// A fixed header, the identity (text that says what the entries are good for), a table of the entries, and their bytes.
// The head (all but the bytes) has one checksum, every entry its own.
#pragma once

#include "base/digest.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tosavk {

enum class EntryKind : std::uint32_t { spirv = 1, pipelines = 2, limits = 3, tuning = 4 };
using EntryKey = std::pair<EntryKind, Digest>;

/// Open for reading; stays readable when the file is replaced by a rename.
class EntryFile {
public:
    struct Entry {
        std::uint64_t last_use = 0;  ///< seconds since 1970
        std::uint64_t offset = 0;    ///< in the file
        std::uint64_t size = 0;      ///< bytes
        std::uint64_t sum = 0;
    };
    static constexpr std::uint32_t max_entries = 1u << 20;
    static constexpr std::uint32_t max_identity = 1u << 16;
    /// Bytes of the file besides the identity and the entries' own: of the header, and of one entry in the table.
    static constexpr std::uint64_t header_bytes = 40, table_bytes = 72;

    EntryFile() = default;
    ~EntryFile() { close(); }
    EntryFile(const EntryFile&) = delete;
    EntryFile& operator=(const EntryFile&) = delete;

    /// Reads the table of the file, if it is for this very identity; what was open before is closed. Says why not under
    /// the verbose `topic`.
    bool open(const std::filesystem::path& path, const std::string& identity, const char* topic);
    void close();

    /// The bytes of an entry; nothing when they are damaged or cannot be read.
    std::optional<std::vector<std::byte>> read(const Entry& entry) const;
    /// The same without a check, for one who copies the entry together with its checksum.
    bool copy(const Entry& entry, std::vector<std::byte>& bytes) const;

    std::map<EntryKey, Entry>& entries() { return entries_; }
    const std::map<EntryKey, Entry>& entries() const { return entries_; }
    std::uint64_t bytes() const { return bytes_; }  ///< of the whole file

private:
    bool read_head(const std::filesystem::path& path, const std::string& identity, const char* topic);

    int file_ = -1;
    std::uint64_t bytes_ = 0;
    std::map<EntryKey, Entry> entries_;
};

/// What is to be written: bytes, or an entry of an open file.
struct EntryToWrite {
    EntryKey key;
    std::uint64_t last_use = 0;
    std::span<const std::byte> bytes;
    const EntryFile* file = nullptr;
    EntryFile::Entry stored;  ///< in `file`
};

/// Makes a new file; false when that fails, with the reason in errno.
bool write_entries(const std::filesystem::path& path, const std::string& identity,
                   std::span<const EntryToWrite> entries, unsigned mode);

}  // namespace tosavk
