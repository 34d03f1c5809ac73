// Shaders and the driver's pipeline cache on disk, so that a second process compiles nothing. One file per device and
// driver. No Vulkan here. Whatever is wrong with the file or its folder is a miss, never an error.
//
// The file: a fixed header, the identity (text that says for which device, driver and compiler the entries are), a table
// of the entries, and their bytes. The head (all but the bytes) has one checksum, every entry its own. It is never
// changed in place: a new one is written beside it and renamed, so that readers keep theirs and a crash leaves the old
// one. Writers take in what others have written in between.
#pragma once

#include "graph/digest.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tosavk {

struct CacheSettings {
    std::filesystem::path directory;  ///< empty: no cache, and `off` says why
    std::uint64_t limit_bytes = 0;    ///< of all files in the directory together
    std::string off;
    std::uint64_t (*clock)() = nullptr;  ///< seconds since 1970; null: the system's clock
};

/// From the environment: TOSAVK_NO_CACHE (any value but "" and "0") turns it off; the directory is TOSAVK_CACHE_DIR, or
/// $XDG_CACHE_HOME/tosa-vk, or ~/.cache/tosa-vk; the limit is TOSAVK_CACHE_LIMIT_MIB, 64 without it.
CacheSettings cache_settings();

/// One thread at a time; any number of processes.
class DiskCache {
public:
    enum class Kind : std::uint32_t { spirv = 1, pipelines = 2, tuning = 3 };

    /// Reads the table of the file that is there, if it is for this very identity.
    DiskCache(CacheSettings settings, std::string identity);
    ~DiskCache();
    DiskCache(const DiskCache&) = delete;
    DiskCache& operator=(const DiskCache&) = delete;

    bool enabled() const { return settings_.off.empty(); }
    /// The bytes of an entry, verified.
    std::optional<std::vector<std::byte>> find(Kind kind, const Digest& key);
    /// Adds or replaces an entry; save() writes it.
    void put(Kind kind, const Digest& key, std::vector<std::byte> bytes);

    /// Takes over what another process has saved since.
    void refresh();
    /// True when enough is new: a quarter of the file. Writing at these points costs a constant factor in all.
    bool is_worth_saving() const;
    /// True when anything is new, or something that was used has not been marked as used for a day.
    bool has_news() const { return !fresh_.empty() || aged_use_; }
    /// Writes the file with all entries, those used longest ago left out where the limit asks for it, and removes the
    /// oldest files of other devices. What fails stays unsaved.
    void save();

    const std::filesystem::path& path() const { return path_; }

private:
    using Key = std::pair<Kind, Digest>;
    struct Entry {
        std::uint64_t last_use = 0;  ///< seconds since 1970
        std::uint64_t offset = 0;    ///< in the file
        std::uint64_t size = 0;      ///< bytes
        std::uint64_t sum = 0;
    };
    struct Fresh {
        std::vector<std::byte> bytes;
        std::uint64_t last_use = 0;
    };

    std::uint64_t now() const;
    void close();
    bool open_file();
    std::vector<Key> kept() const;
    bool write_new(const std::filesystem::path& temporary);
    void prune_directory();

    CacheSettings settings_;
    std::string identity_;
    std::filesystem::path path_;
    int file_ = -1;  ///< the file that `stored_` describes; stays readable when it is replaced
    std::uint64_t file_bytes_ = 0;
    std::map<Key, Entry> stored_;
    std::map<Key, std::uint64_t> used_;  ///< when entries of the file were used by this process
    std::map<Key, Fresh> fresh_;         ///< not in the file yet
    std::uint64_t fresh_bytes_ = 0;
    bool aged_use_ = false;
    bool unwritable_ = false;
};

}  // namespace tosavk
