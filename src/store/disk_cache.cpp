#include "store/disk_cache.hpp"

#include "base/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tosavk {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t day = 24 * 60 * 60;
constexpr const char* ending = ".cache";

std::uint64_t system_seconds() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

/// Keeps writers from losing each other's entries. The lock is a courtesy: who does not get it in time writes anyway,
/// and the last rename wins.
class Turn {
public:
    explicit Turn(const fs::path& path) : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
        for (int attempt = 0; file_ >= 0 && attempt < 200; ++attempt) {
            if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }
    ~Turn() {
        if (file_ >= 0) ::close(file_);
    }
    Turn(const Turn&) = delete;

private:
    int file_;
};

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

/// Seconds since the file was written; 0 when that cannot be told.
std::int64_t age_of(const fs::path& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return 0;
    return static_cast<std::int64_t>(system_seconds()) - status.st_mtime;
}

}  // namespace

bool caches_are_off() {
    const std::string off = variable("TOSAVK_NO_CACHE");
    return !off.empty() && off != "0";
}

CacheSettings cache_settings() {
    CacheSettings settings;
    if (caches_are_off()) {
        settings.off = "TOSAVK_NO_CACHE is set";
        return settings;
    }
    std::uint64_t mib = 64;
    if (const std::string limit = variable("TOSAVK_CACHE_LIMIT_MIB"); !limit.empty()) {
        const bool digits = limit.size() <= 9 && limit.find_first_not_of("0123456789") == std::string::npos;
        if (digits) mib = std::stoull(limit);
        else say("cache", fmt::format("TOSAVK_CACHE_LIMIT_MIB='{}' is no number of MiB; the limit is {}", limit, mib));
    }
    settings.limit_bytes = mib << 20;
    if (const std::string own = variable("TOSAVK_CACHE_DIR"); !own.empty()) {
        settings.directory = own;
    } else if (const fs::path xdg = variable("XDG_CACHE_HOME"); xdg.is_absolute()) {
        settings.directory = xdg / "tosa-vk";
    } else if (const fs::path home = variable("HOME"); home.is_absolute()) {
        settings.directory = home / ".cache" / "tosa-vk";
    } else {
        settings.off = "neither TOSAVK_CACHE_DIR nor XDG_CACHE_HOME nor HOME names a folder";
    }
    return settings;
}

DiskCache::DiskCache(CacheSettings settings, std::string identity)
    : settings_(std::move(settings)), identity_(std::move(identity)) {
    if (enabled() && identity_.size() > EntryFile::max_identity) settings_.off = "the device's description is too long";
    if (!enabled()) {
        say("cache", fmt::format("off: {}", settings_.off));
        return;
    }
    path_ = settings_.directory / (hex(sha256(identity_)).substr(0, 32) + ending);
    refresh();
}

std::uint64_t DiskCache::now() const { return settings_.clock ? settings_.clock() : system_seconds(); }

void DiskCache::refresh() {
    if (enabled()) stored_.open(path_, identity_, "cache");
}

std::optional<std::vector<std::byte>> DiskCache::find(Kind kind, const Digest& key) {
    const Key wanted(kind, key);
    if (const auto fresh = fresh_.find(wanted); fresh != fresh_.end()) return fresh->second.bytes;
    const auto found = stored_.entries().find(wanted);
    if (found == stored_.entries().end()) return std::nullopt;
    std::optional<std::vector<std::byte>> bytes = stored_.read(found->second);
    if (!bytes) {
        say("cache", fmt::format("an entry of {} is damaged", path_.string()));
        stored_.entries().erase(found);
        return std::nullopt;
    }
    const std::uint64_t time = now();
    used_[wanted] = time;
    // Clocks are set back at times; a use in the future is as good as one today.
    aged_use_ = aged_use_ || found->second.last_use + day < time;
    return bytes;
}

void DiskCache::put(Kind kind, const Digest& key, std::vector<std::byte> bytes) {
    if (!enabled() || unwritable_) return;
    Fresh& entry = fresh_[{kind, key}];
    fresh_bytes_ += bytes.size() - entry.bytes.size();
    entry = {std::move(bytes), now()};
}

bool DiskCache::is_worth_saving() const { return !fresh_.empty() && fresh_bytes_ >= stored_.bytes() / 4; }

/// The keys to write, those used last first, as many as the limit allows.
std::vector<DiskCache::Key> DiskCache::kept() const {
    struct Candidate {
        Key key;
        std::uint64_t last_use, size;
    };
    std::vector<Candidate> all;
    for (const auto& [key, entry] : fresh_) all.push_back({key, entry.last_use, entry.bytes.size()});
    for (const auto& [key, entry] : stored_.entries()) {
        if (fresh_.count(key)) continue;
        const auto used = used_.find(key);
        all.push_back({key, used == used_.end() ? entry.last_use : std::max(entry.last_use, used->second), entry.size});
    }
    std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
        return a.last_use != b.last_use ? a.last_use > b.last_use : a.key < b.key;
    });
    std::uint64_t bytes = EntryFile::header_bytes + identity_.size();
    std::vector<Key> keys;
    for (const Candidate& candidate : all) {
        const std::uint64_t cost = candidate.size + EntryFile::table_bytes;
        const bool fits = cost <= settings_.limit_bytes && bytes <= settings_.limit_bytes - cost;
        if (!fits || keys.size() >= EntryFile::max_entries) continue;
        bytes += cost;
        keys.push_back(candidate.key);
    }
    return keys;
}

bool DiskCache::write_new(const fs::path& temporary) {
    std::vector<EntryToWrite> entries;
    for (const Key& key : kept()) {
        EntryToWrite& entry = entries.emplace_back();
        entry.key = key;
        if (const auto fresh = fresh_.find(key); fresh != fresh_.end()) {
            entry.last_use = fresh->second.last_use;
            entry.bytes = fresh->second.bytes;
            continue;
        }
        entry.file = &stored_;
        entry.stored = stored_.entries().at(key);
        const auto used = used_.find(key);
        entry.last_use = used == used_.end() ? entry.stored.last_use : used->second;
    }
    return write_entries(temporary, identity_, entries, 0600);
}

void DiskCache::save(const std::function<void()>& last_change) {
    if (!enabled() || unwritable_ || (!has_news() && !last_change)) return;
    static std::atomic<unsigned> serial{0};
    std::error_code failed;
    fs::create_directories(settings_.directory.parent_path(), failed);
    ::mkdir(settings_.directory.c_str(), 0700);
    const Turn turn(settings_.directory / "lock");
    refresh();
    if (last_change) last_change();
    fs::path temporary;
    bool written = false, taken = true;
    // A process of the same number, in another container or crashed, may have left the name.
    for (int tries = 0; taken && tries < 100; ++tries) {
        temporary = fmt::format("{}.tmp-{}-{}", path_.string(), ::getpid(), serial++);
        errno = 0;
        written = write_new(temporary);
        taken = !written && errno == EEXIST;
    }
    if (!written || std::rename(temporary.c_str(), path_.c_str()) != 0) {
        say("cache", fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
        if (!taken) fs::remove(temporary, failed);
        unwritable_ = true;  // no second try: a full disk or a folder of somebody else stays what it is
    }
    fresh_.clear();
    fresh_bytes_ = 0;
    used_.clear();
    aged_use_ = false;
    if (unwritable_) return;
    refresh();
    prune_directory();
}

/// Whether the cache names files so: 32 hexadecimal digits, `ending`, and what else `rest` begins with. The folder may
/// be a shared one.
bool DiskCache::names(const std::string& file, std::string_view rest) const {
    const std::size_t digits = path_.stem().string().size();
    return file.find_first_not_of("0123456789abcdef") == digits &&
           std::string_view(file).substr(digits).starts_with(std::string(ending) + std::string(rest));
}

/// Removes what crashed writers left, and the files written longest ago while all together exceed the limit.
void DiskCache::prune_directory() {
    struct Other {
        fs::path path;
        std::int64_t age;
        std::uint64_t size;
    };
    std::vector<Other> others;
    std::uint64_t total = stored_.bytes();
    std::error_code failed;
    for (fs::directory_iterator at(settings_.directory, failed), end; !failed && at != end; at.increment(failed)) {
        const fs::path& path = at->path();
        std::error_code unknown;
        if (path == path_ || !at->is_regular_file(unknown)) continue;
        if (names(path.filename().string(), ".tmp-")) {
            if (age_of(path) > 60 * 60) fs::remove(path, unknown);
        } else if (path.extension() == ending && names(path.filename().string(), "")) {
            const std::uint64_t size = at->file_size(unknown);
            if (unknown) continue;
            others.push_back({path, age_of(path), size});
            total += size;
        }
    }
    std::sort(others.begin(), others.end(), [](const Other& a, const Other& b) { return a.age > b.age; });
    for (const Other& other : others) {
        if (total <= settings_.limit_bytes) return;
        if (fs::remove(other.path, failed)) total -= other.size;
        say("cache", fmt::format("{} was removed to stay below the limit", other.path.string()));
    }
}

}  // namespace tosavk
