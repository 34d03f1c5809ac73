#include "vk/disk_cache.hpp"

#include "graph/verbose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <span>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tosavk {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t magic = 0x4348434b56415354;  // "TSAVKCHC" on a little-endian host; others see another number
constexpr std::uint32_t format_version = 1;
constexpr std::uint32_t max_identity = 1u << 16;
constexpr std::uint32_t max_entries = 1u << 20;
constexpr std::uint64_t day = 24 * 60 * 60;
constexpr const char* ending = ".cache";

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
static_assert(sizeof(FileHeader) == 40 && sizeof(FileEntry) == 72);

std::uint64_t system_seconds() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

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
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return 0;
    return static_cast<std::int64_t>(system_seconds()) - status.st_mtime;
}

}  // namespace

CacheSettings cache_settings() {
    CacheSettings settings;
    const std::string off = variable("TOSAVK_NO_CACHE");
    if (!off.empty() && off != "0") {
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
    if (enabled() && identity_.size() > max_identity) settings_.off = "the device's description is too long";
    if (!enabled()) {
        say("cache", fmt::format("off: {}", settings_.off));
        return;
    }
    path_ = settings_.directory / (hex(sha256(identity_)).substr(0, 32) + ending);
    refresh();
}

DiskCache::~DiskCache() { close(); }

std::uint64_t DiskCache::now() const { return settings_.clock ? settings_.clock() : system_seconds(); }

void DiskCache::close() {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
    file_bytes_ = 0;
    stored_.clear();
}

void DiskCache::refresh() {
    if (!enabled()) return;
    close();
    if (open_file()) {
        say("cache", fmt::format("{} holds {} entries, {} bytes", path_.string(), stored_.size(), file_bytes_));
    } else {
        close();
    }
}

bool DiskCache::open_file() {
    file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file_ < 0) {
        say("cache", fmt::format("no {}: {}", path_.string(), std::strerror(errno)));
        return false;
    }
    const auto unusable = [&](const char* why) {
        say("cache", fmt::format("{} is ignored: {}", path_.string(), why));
        return false;
    };
    struct stat status {};
    if (::fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) return unusable("it is no regular file");
    const auto actual_bytes = static_cast<std::uint64_t>(status.st_size);

    FileHeader header{};
    if (!read_at(file_, 0, std::as_writable_bytes(std::span(&header, 1)))) return unusable("it is cut off");
    if (header.magic_number != magic || header.version != format_version) return unusable("it has another format");
    if (header.identity_size != identity_.size() || header.entry_count > max_entries) return unusable("it is for another device");
    const std::uint64_t head_bytes = sizeof header + header.identity_size + header.entry_count * sizeof(FileEntry);
    if (head_bytes > actual_bytes || header.file_bytes < head_bytes) return unusable("it is cut off");
    std::vector<std::byte> head(head_bytes);
    if (!read_at(file_, 0, head)) return unusable("it cannot be read");
    std::memset(head.data() + offsetof(FileHeader, head_sum), 0, sizeof header.head_sum);
    if (checksum(head) != header.head_sum) return unusable("its checksum is wrong");
    if (std::memcmp(head.data() + sizeof header, identity_.data(), identity_.size()) != 0) return unusable("it is for another device");

    for (std::uint32_t k = 0; k < header.entry_count; ++k) {
        FileEntry entry{};
        std::memcpy(&entry, head.data() + sizeof header + header.identity_size + k * sizeof entry, sizeof entry);
        if (entry.offset < head_bytes || entry.offset > actual_bytes || entry.size > actual_bytes - entry.offset) continue;
        stored_[{static_cast<Kind>(entry.kind), entry.key}] = {entry.last_use, entry.offset, entry.size, entry.sum};
    }
    file_bytes_ = actual_bytes;
    return true;
}

std::optional<std::vector<std::byte>> DiskCache::find(Kind kind, const Digest& key) {
    const Key wanted(kind, key);
    if (const auto fresh = fresh_.find(wanted); fresh != fresh_.end()) return fresh->second.bytes;
    const auto found = stored_.find(wanted);
    if (found == stored_.end()) return std::nullopt;
    std::vector<std::byte> bytes(found->second.size);
    if (!read_at(file_, found->second.offset, bytes) || checksum(bytes) != found->second.sum) {
        say("cache", fmt::format("an entry of {} is damaged", path_.string()));
        stored_.erase(found);
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

bool DiskCache::is_worth_saving() const { return !fresh_.empty() && fresh_bytes_ >= file_bytes_ / 4; }

/// The keys to write, those used last first, as many as the limit allows.
std::vector<DiskCache::Key> DiskCache::kept() const {
    struct Candidate {
        Key key;
        std::uint64_t last_use, size;
    };
    std::vector<Candidate> all;
    for (const auto& [key, entry] : fresh_) all.push_back({key, entry.last_use, entry.bytes.size()});
    for (const auto& [key, entry] : stored_) {
        if (fresh_.count(key)) continue;
        const auto used = used_.find(key);
        all.push_back({key, used == used_.end() ? entry.last_use : std::max(entry.last_use, used->second), entry.size});
    }
    std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
        return a.last_use != b.last_use ? a.last_use > b.last_use : a.key < b.key;
    });
    std::uint64_t bytes = sizeof(FileHeader) + identity_.size();
    std::vector<Key> keys;
    for (const Candidate& candidate : all) {
        const std::uint64_t cost = candidate.size + sizeof(FileEntry);
        if (cost > settings_.limit_bytes || bytes > settings_.limit_bytes - cost || keys.size() >= max_entries) continue;
        bytes += cost;
        keys.push_back(candidate.key);
    }
    return keys;
}

bool DiskCache::write_new(const fs::path& temporary) {
    const std::vector<Key> keys = kept();
    FileHeader header{magic, format_version, static_cast<std::uint32_t>(identity_.size()),
                      static_cast<std::uint32_t>(keys.size()), 0, 0, 0};
    std::uint64_t offset = sizeof header + identity_.size() + keys.size() * sizeof(FileEntry);
    std::vector<FileEntry> table;
    for (const Key& key : keys) {
        FileEntry entry{};
        entry.kind = static_cast<std::uint32_t>(key.first);
        entry.key = key.second;
        entry.offset = offset;
        if (const auto fresh = fresh_.find(key); fresh != fresh_.end()) {
            entry.last_use = fresh->second.last_use;
            entry.size = fresh->second.bytes.size();
            entry.sum = checksum(fresh->second.bytes);
        } else {
            const Entry& old = stored_.at(key);
            const auto used = used_.find(key);
            entry.last_use = used == used_.end() ? old.last_use : used->second;
            entry.size = old.size;
            entry.sum = old.sum;
        }
        offset += entry.size;
        table.push_back(entry);
    }
    header.file_bytes = offset;
    std::vector<std::byte> head;
    append(head, &header, sizeof header);
    append(head, identity_.data(), identity_.size());
    append(head, table.data(), table.size() * sizeof(FileEntry));
    header.head_sum = checksum(head);
    std::memcpy(head.data(), &header, sizeof header);

    const int out = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0) return false;
    bool good = write_all(out, head);
    std::vector<std::byte> piece;
    for (std::size_t k = 0; k < keys.size() && good; ++k) {
        if (const auto fresh = fresh_.find(keys[k]); fresh != fresh_.end()) {
            good = write_all(out, fresh->second.bytes);
        } else {
            piece.resize(table[k].size);
            good = read_at(file_, stored_.at(keys[k]).offset, piece) && write_all(out, piece);
        }
    }
    return ::close(out) == 0 && good;
}

void DiskCache::save() {
    if (!enabled() || !has_news()) return;
    static std::atomic<unsigned> serial{0};
    std::error_code failed;
    fs::create_directories(settings_.directory.parent_path(), failed);
    ::mkdir(settings_.directory.c_str(), 0700);
    const Turn turn(settings_.directory / "lock");
    refresh();
    const fs::path temporary = fmt::format("{}.tmp-{}-{}", path_.string(), ::getpid(), serial++);
    errno = 0;
    if (!write_new(temporary) || std::rename(temporary.c_str(), path_.c_str()) != 0) {
        say("cache", fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
        fs::remove(temporary, failed);
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

/// Removes what crashed writers left, and the files written longest ago while all together exceed the limit.
void DiskCache::prune_directory() {
    struct Other {
        fs::path path;
        std::int64_t age;
        std::uint64_t size;
    };
    std::vector<Other> others;
    std::uint64_t total = file_bytes_;
    std::error_code failed;
    for (fs::directory_iterator at(settings_.directory, failed), end; !failed && at != end; at.increment(failed)) {
        const fs::path& path = at->path();
        std::error_code unknown;
        if (path == path_ || !at->is_regular_file(unknown)) continue;
        if (path.filename().string().find(std::string(ending) + ".tmp-") != std::string::npos) {
            if (age_of(path) > 60 * 60) fs::remove(path, unknown);
        } else if (path.extension() == ending) {
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
