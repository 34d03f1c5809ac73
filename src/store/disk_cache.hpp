// Shaders, the driver's pipeline cache and the device's measured limits on disk, so that a second process compiles and
// measures nothing. One file per device and driver (entry_file.hpp), whose identity says for which device, driver and
// compiler it is. No Vulkan here. Whatever is wrong with the file or its folder is a miss, never an error.
//
// The file is never changed in place: a new one is written beside it and renamed, so that readers keep theirs and a
// crash leaves the old one. Writers take in what others have written in between.
#pragma once

#include "store/entry_file.hpp"

#include <functional>

namespace tosavk {

struct CacheSettings {
    std::filesystem::path directory;  ///< empty: no cache, and `off` says why
    std::uint64_t limit_bytes = 0;    ///< of all files in the directory together
    std::string off;
    std::uint64_t (*clock)() = nullptr;  ///< seconds since 1970; null: the system's clock
};

/// TOSAVK_NO_CACHE is set: to any value but "" and "0".
bool caches_are_off();
/// From the environment: TOSAVK_NO_CACHE turns it off; the directory is TOSAVK_CACHE_DIR, or
/// $XDG_CACHE_HOME/tosa-vk, or ~/.cache/tosa-vk; the limit is TOSAVK_CACHE_LIMIT_MIB, 64 without it.
CacheSettings cache_settings();

/// One thread at a time; any number of processes.
class DiskCache {
public:
    using Kind = EntryKind;

    /// Reads the table of the file that is there, if it is for this very identity.
    DiskCache(CacheSettings settings, std::string identity);
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
    /// oldest files of other devices. What fails stays unsaved. `last_change` runs once what others have saved is known
    /// and nobody else can save, for entries that are made from older ones.
    void save(const std::function<void()>& last_change = {});

    const std::filesystem::path& path() const { return path_; }

private:
    using Key = EntryKey;
    struct Fresh {
        std::vector<std::byte> bytes;
        std::uint64_t last_use = 0;
    };

    std::uint64_t now() const;
    std::vector<Key> kept() const;
    bool write_new(const std::filesystem::path& temporary);
    void prune_directory();
    bool names(const std::string& file, std::string_view rest) const;

    CacheSettings settings_;
    std::string identity_;
    std::filesystem::path path_;
    EntryFile stored_;
    std::map<Key, std::uint64_t> used_;  ///< when entries of the file were used by this process
    std::map<Key, Fresh> fresh_;         ///< not in the file yet
    std::uint64_t fresh_bytes_ = 0;
    bool aged_use_ = false;
    bool unwritable_ = false;
};

}  // namespace tosavk
