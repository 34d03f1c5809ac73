// Compiled programs on disk: the folder `programs` in that of the library's cache of shaders, a file a program.
// Whatever is wrong with a file or the folder is a miss, never an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tosavk::pjrt {

/// Thread-safe; any number of processes.
class ProgramCache {
public:
    /// By the rules of tosavk.h for the shaders' cache: TOSAVK_NO_CACHE turns it off; the folder is `given`, else as
    /// TOSAVK_CACHE_DIR, XDG_CACHE_HOME or HOME say; TOSAVK_CACHE_LIMIT_MIB (64) is the limit, of programs and of
    /// shaders each.
    explicit ProgramCache(const std::string& given);

    bool enabled() const { return !folder_.empty(); }
    /// `key`: of letters and digits.
    std::optional<std::string> find(const std::string& key) const;
    /// Writes it to a temporary file that is renamed, and removes what was used longest ago where the limit asks for
    /// it.
    void keep(const std::string& key, std::string_view bytes) noexcept;

private:
    std::filesystem::path path_of(const std::string& key) const { return folder_ / (key + ".program"); }
    void prune();

    std::filesystem::path folder_;
    std::uint64_t limit_bytes_ = 0;
    std::mutex mutex_;
    std::optional<std::uint64_t> bytes_;  ///< in the folder, about; not looked at yet where it is not there
};

}  // namespace tosavk::pjrt
