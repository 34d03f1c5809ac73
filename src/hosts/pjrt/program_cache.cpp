#include "hosts/pjrt/program_cache.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tosavk::pjrt {

namespace fs = std::filesystem;

namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

/// A folder of the user's own; its parents as usual.
void make_private(const fs::path& folder) {
    std::error_code failed;
    fs::create_directories(folder.parent_path(), failed);
    ::mkdir(folder.c_str(), 0700);
}

bool write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

}  // namespace

ProgramCache::ProgramCache(const std::string& given) {
    if (const std::string off = variable("TOSAVK_NO_CACHE"); !off.empty() && off != "0") return;
    std::uint64_t mib = 64;
    const std::string limit = variable("TOSAVK_CACHE_LIMIT_MIB");
    const bool is_number = limit.size() <= 9 && limit.find_first_not_of("0123456789") == std::string::npos;
    if (!limit.empty() && is_number) mib = std::stoull(limit);
    limit_bytes_ = mib << 20;
    fs::path folder;
    if (!given.empty()) folder = given;
    else if (const std::string own = variable("TOSAVK_CACHE_DIR"); !own.empty()) folder = own;
    else if (const fs::path xdg = variable("XDG_CACHE_HOME"); xdg.is_absolute()) folder = xdg / "tosa-vk";
    else if (const fs::path home = variable("HOME"); home.is_absolute()) folder = home / ".cache" / "tosa-vk";
    if (!folder.empty()) folder_ = folder / "programs";
}

std::optional<std::string> ProgramCache::find(const std::string& key) const {
    if (!enabled()) return {};
    const fs::path path = path_of(key);
    std::error_code failed;
    const std::uint64_t size = fs::file_size(path, failed);
    if (failed || size > limit_bytes_) return {};
    std::ifstream file(path, std::ios::binary);
    std::string bytes(size, '\0');
    if (!file.read(bytes.data(), static_cast<std::streamsize>(size))) return {};
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used now
    return bytes;
}

void ProgramCache::keep(const std::string& key, std::string_view bytes) noexcept try {
    if (!enabled() || bytes.size() > limit_bytes_) return;
    static std::atomic<unsigned> serial{0};
    const std::lock_guard lock(mutex_);
    make_private(folder_.parent_path());
    make_private(folder_);
    fs::path temporary = path_of(key);
    temporary += ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(serial++);
    const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return;
    const bool written = write_all(file, bytes);
    std::error_code failed;
    if (::close(file) != 0 || !written) fs::remove(temporary, failed);
    else fs::rename(temporary, path_of(key), failed);
    if (bytes_) *bytes_ += bytes.size();
    if (!bytes_ || *bytes_ > limit_bytes_) prune();
} catch (...) {}  // no memory for it

/// Down to seven eighths of the limit, so that not every new program looks at all others. What a crashed writer left
/// goes in its turn, too.
void ProgramCache::prune() {
    struct Entry {
        fs::path path;
        fs::file_time_type used;
        std::uint64_t size;
    };
    std::vector<Entry> entries;
    std::uint64_t total = 0;
    std::error_code failed;
    for (fs::directory_iterator at(folder_, failed), end; !failed && at != end; at.increment(failed)) {
        std::error_code unknown;
        const std::uint64_t size = at->is_regular_file(unknown) ? at->file_size(unknown) : 0;
        const auto used = at->last_write_time(unknown);
        if (unknown || at->path().filename().string().find(".program") == std::string::npos) continue;
        entries.push_back({at->path(), used, size});
        total += size;
    }
    if (total > limit_bytes_) {
        std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
        for (const Entry& entry : entries) {
            if (total <= limit_bytes_ - limit_bytes_ / 8) break;
            if (fs::remove(entry.path, failed)) total -= entry.size;
        }
    }
    bytes_ = total;
}

}  // namespace tosavk::pjrt
