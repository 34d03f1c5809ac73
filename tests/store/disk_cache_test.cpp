// The disk cache without a device: every damage is a miss, no process disturbs another, and the limit holds.
#include "store/disk_cache.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tosavk {
namespace {

namespace fs = std::filesystem;
using Kind = DiskCache::Kind;
using ByteList = std::vector<std::byte>;

std::uint64_t test_time = 1000;

Digest key_of(int n) { return sha256("key " + std::to_string(n)); }

/// What entry n holds: 20 to 60 bytes, so that offsets are odd.
ByteList bytes_of(int n) {
    std::mt19937 random(static_cast<unsigned>(n));
    ByteList bytes(20 + random() % 41);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    return bytes;
}

ByteList read_all(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

void write_all(const fs::path& path, std::span<const std::byte> bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

class DiskCacheTest : public ::testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("tosavk-cache-" + std::to_string(::getpid()));
        fs::remove_all(folder_);
        test_time = 1000;
    }
    void TearDown() override { fs::remove_all(folder_); }

    CacheSettings settings(std::uint64_t limit = 1 << 20) const {
        return {folder_, limit, "", [] { return test_time; }};
    }
    DiskCache open(std::uint64_t limit = 1 << 20) const { return DiskCache(settings(limit), "a device"); }

    /// How many of the first `count` entries are there. Those that are must be right.
    static int found(DiskCache& cache, int count) {
        int hits = 0;
        for (int n = 0; n < count; ++n) {
            const auto bytes = cache.find(Kind::spirv, key_of(n));
            if (!bytes) continue;
            EXPECT_EQ(*bytes, bytes_of(n)) << "entry " << n;
            ++hits;
        }
        return hits;
    }
    int found(int count) const {
        DiskCache cache = open();
        return found(cache, count);
    }
    /// Writes the first `count` entries and returns the file.
    fs::path fill(int count) const {
        DiskCache cache = open();
        for (int n = 0; n < count; ++n) cache.put(Kind::spirv, key_of(n), bytes_of(n));
        cache.save();
        return cache.path();
    }

    fs::path folder_;
};

TEST(Digests, Sha256OfPublishedMessages) {
    EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(hex(sha256(std::string(1000000, 'a'))),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digests, ChecksumSeesEveryBit) {
    for (const std::size_t size : {1u, 7u, 8u, 9u, 40u}) {
        ByteList bytes(size);
        const std::uint64_t sum = checksum(bytes);
        for (std::size_t bit = 0; bit < 8 * size; ++bit) {
            bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
            EXPECT_NE(checksum(bytes), sum) << "bit " << bit << " of " << size << " bytes";
            bytes[bit / 8] = std::byte{0};
        }
    }
    EXPECT_NE(checksum(ByteList(8)), checksum(ByteList(16)));
}

// Lists that several processes lengthen at the same time: each sees what the others added, whenever it was opened.
TEST_F(DiskCacheTest, ChangesOfEntriesAreMadeInTurn) {
    constexpr int processes = 6, rounds = 5;
    for (int p = 0; p < processes; ++p) {
        if (fork() != 0) continue;
        for (int r = 0; r < rounds; ++r) {
            DiskCache cache = open();
            cache.save([&] {
                ByteList list = cache.find(Kind::tuning, key_of(0)).value_or(ByteList());
                list.push_back(static_cast<std::byte>(p));
                cache.put(Kind::tuning, key_of(0), std::move(list));
            });
        }
        _exit(0);
    }
    for (int p = 0; p < processes; ++p) wait(nullptr);
    EXPECT_EQ(open().find(Kind::tuning, key_of(0)).value_or(ByteList()).size(), std::size_t{processes * rounds});
}

TEST_F(DiskCacheTest, KeepsEntriesFromOneProcessToTheNext) {
    {
        DiskCache cache = open();
        EXPECT_FALSE(cache.has_news());
        EXPECT_EQ(cache.find(Kind::spirv, key_of(0)), std::nullopt);
        cache.put(Kind::spirv, key_of(0), bytes_of(0));
        cache.put(Kind::spirv, key_of(1), {});
        cache.put(Kind::pipelines, key_of(0), bytes_of(2));
        EXPECT_TRUE(cache.is_worth_saving());
        EXPECT_EQ(cache.find(Kind::spirv, key_of(0)), bytes_of(0)) << "before it is saved";
        EXPECT_FALSE(fs::exists(cache.path()));
        cache.save();
        EXPECT_FALSE(cache.has_news());
        EXPECT_EQ(cache.find(Kind::spirv, key_of(0)), bytes_of(0)) << "after it was saved";
    }
    DiskCache cache = open();
    EXPECT_EQ(cache.find(Kind::spirv, key_of(0)), bytes_of(0));
    EXPECT_EQ(cache.find(Kind::spirv, key_of(1)), ByteList());
    EXPECT_EQ(cache.find(Kind::pipelines, key_of(0)), bytes_of(2));
    EXPECT_EQ(cache.find(Kind::pipelines, key_of(1)), std::nullopt);
    EXPECT_FALSE(cache.has_news());
    cache.put(Kind::pipelines, key_of(0), bytes_of(3));
    cache.save();
    EXPECT_EQ(open().find(Kind::pipelines, key_of(0)), bytes_of(3));
    EXPECT_EQ(open().find(Kind::spirv, key_of(0)), bytes_of(0));

    struct stat status{};
    ASSERT_EQ(::stat(folder_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u) << "nobody else may put shaders there";
    ASSERT_EQ(::stat(cache.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(DiskCacheTest, ServesOneIdentityOnly) {
    const fs::path mine = fill(3);
    DiskCache other(settings(), "b device");
    EXPECT_NE(other.path(), mine);
    EXPECT_EQ(found(other, 3), 0);
    fs::copy_file(mine, other.path());
    other.refresh();
    EXPECT_EQ(found(other, 3), 0) << "the name of a file proves nothing";
}

TEST_F(DiskCacheTest, ATruncatedFileLosesEntriesAndNothingElse) {
    const fs::path path = fill(5);
    const ByteList whole = read_all(path);
    int before = 0;
    for (std::size_t size = 0; size < whole.size(); ++size) {
        write_all(path, std::span(whole).first(size));
        const int hits = found(5);
        EXPECT_LT(hits, 5) << size << " bytes";
        EXPECT_GE(hits, before) << size << " bytes";
        before = hits;
    }
    EXPECT_EQ(before, 4);
    write_all(path, whole);
    EXPECT_EQ(found(5), 5);
}

TEST_F(DiskCacheTest, AFlippedBitLosesEntriesAndNothingElse) {
    const fs::path path = fill(3);
    ByteList bytes = read_all(path);
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        const auto mask = static_cast<std::byte>(1u << (bit % 8));
        bytes[bit / 8] ^= mask;
        write_all(path, bytes);
        bytes[bit / 8] ^= mask;
        EXPECT_LT(found(3), 3) << "bit " << bit;
    }
    // A damaged entry is made anew, the others stay.
    bytes.back() ^= std::byte{1};
    write_all(path, bytes);
    DiskCache cache = open();
    EXPECT_EQ(found(cache, 3), 2);
    for (int n = 0; n < 3; ++n) cache.put(Kind::spirv, key_of(n), bytes_of(n));
    cache.save();
    EXPECT_EQ(found(3), 3);
}

TEST_F(DiskCacheTest, AnotherFormatIsAMissAndIsReplaced) {
    const fs::path path = fill(2);
    ByteList bytes = read_all(path);
    bytes[8] = std::byte{99};  // the version
    write_all(path, bytes);
    EXPECT_EQ(found(2), 0);
    for (const std::size_t size : {0u, 1u, 39u, 40u, 100000u}) {
        ByteList noise(size);
        std::mt19937 random(7);
        for (std::byte& b : noise) b = static_cast<std::byte>(random());
        write_all(path, noise);
        EXPECT_EQ(found(2), 0);
    }
    fill(2);
    EXPECT_EQ(found(2), 2);
}

TEST_F(DiskCacheTest, WhatWasUsedLongestAgoGoesFirst) {
    const std::uint64_t limit = 1400;
    for (int n = 0; n < 8; ++n) {  // entries take 92 to 132 bytes each
        ++test_time;
        DiskCache cache = open(limit);
        cache.put(Kind::spirv, key_of(n), bytes_of(n));
        cache.save();
    }
    ASSERT_EQ(found(8), 8);
    test_time += 2 * 24 * 60 * 60;
    {
        DiskCache cache = open(limit);  // using it keeps it, a day later at the latest
        EXPECT_TRUE(cache.find(Kind::spirv, key_of(0)));
        EXPECT_TRUE(cache.has_news());
        cache.save();
    }
    for (int n = 8; n < 20; ++n) {
        ++test_time;
        DiskCache cache = open(limit);
        cache.put(Kind::spirv, key_of(n), bytes_of(n));
        cache.save();
        EXPECT_LE(fs::file_size(cache.path()), limit);
    }
    DiskCache cache = open(limit);
    EXPECT_FALSE(cache.find(Kind::spirv, key_of(1)));
    EXPECT_FALSE(cache.find(Kind::spirv, key_of(2)));
    for (int n = 14; n < 20; ++n) EXPECT_TRUE(cache.find(Kind::spirv, key_of(n))) << n;
    // One entry above the limit is left out and does not drive the others out.
    cache.put(Kind::spirv, key_of(100), ByteList(limit));
    cache.save();
    EXPECT_FALSE(cache.find(Kind::spirv, key_of(100)));
    EXPECT_TRUE(cache.find(Kind::spirv, key_of(19)));
}

TEST_F(DiskCacheTest, FilesOfOtherDevicesCountTowardsTheLimit) {
    const auto save_as = [&](const std::string& device, std::uint64_t limit) {
        DiskCache cache(settings(limit), device);
        cache.put(Kind::spirv, key_of(0), ByteList(1000));
        cache.save();
        return cache.path();
    };
    const fs::path oldest = save_as("oldest", 1 << 20), older = save_as("older", 1 << 20);
    const auto age = [](const fs::path& path, int hours) {
        fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(hours));
    };
    age(oldest, 48);
    age(older, 24);
    for (const char* name : {"notes.txt", "important.cache"}) write_all(folder_ / name, ByteList(5000));
    age(folder_ / "important.cache", 72);
    const fs::path newest = save_as("newest", 2500);
    EXPECT_FALSE(fs::exists(oldest));
    EXPECT_TRUE(fs::exists(older));
    EXPECT_TRUE(fs::exists(newest));
    for (const char* name : {"notes.txt", "important.cache"})
        EXPECT_TRUE(fs::exists(folder_ / name)) << name << " is not ours";
}

TEST_F(DiskCacheTest, ACrashedWriterLeavesNothingBehindForLong) {
    const fs::path path = fill(3);
    const fs::path fresh = path.string() + ".tmp-1-0", stale = path.string() + ".tmp-2-0";
    for (const fs::path& left : {fresh, stale}) write_all(left, ByteList(10));
    fs::last_write_time(stale, fs::last_write_time(stale) - std::chrono::hours(2));
    EXPECT_EQ(found(3), 3);
    fill(4);
    EXPECT_EQ(found(4), 4);
    EXPECT_TRUE(fs::exists(fresh)) << "its writer may be at work";
    EXPECT_FALSE(fs::exists(stale));
}

/// Saves `count` entries one by one in a child process, from `first` on.
pid_t writer(const CacheSettings& settings, int first, int count) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    for (int n = first; n < first + count; ++n) {
        DiskCache cache(settings, "a device");
        cache.put(Kind::spirv, key_of(n), bytes_of(n));
        cache.save();
    }
    ::_exit(0);
}

TEST_F(DiskCacheTest, ProcessesThatWriteAtOnceKeepEachOthersEntries) {
    const pid_t children[] = {writer(settings(), 0, 40), writer(settings(), 40, 40)};
    int before = 0;
    for (int turn = 0; turn < 200; ++turn) {
        const int hits = found(80);
        EXPECT_GE(hits, before);
        before = hits;
    }
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    EXPECT_EQ(found(80), 80);
}

TEST_F(DiskCacheTest, AKilledWriterLeavesAWholeFile) {
    int before = 0;
    for (int turn = 0; turn < 20; ++turn) {
        const pid_t child = writer(settings(), before, 300);
        while (found(before + 1) == before) ::usleep(100);
        ::usleep(static_cast<useconds_t>(70 * turn));
        ::kill(child, SIGKILL);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        const int hits = found(before + 300);
        EXPECT_GT(hits, before) << "turn " << turn;
        before = hits;
    }
}

TEST_F(DiskCacheTest, AFolderThatCannotBeWrittenIsIgnored) {
    fs::create_directories(folder_);
    write_all(folder_ / "file", ByteList(1));
    DiskCache cache({folder_ / "file" / "cache", 1 << 20, "", nullptr}, "a device");
    cache.put(Kind::spirv, key_of(0), bytes_of(0));
    cache.save();
    EXPECT_EQ(cache.find(Kind::spirv, key_of(0)), std::nullopt);
    cache.put(Kind::spirv, key_of(0), bytes_of(0));
    EXPECT_FALSE(cache.has_news()) << "it is not tried again";
    // A folder in the file's place.
    DiskCache blocked = open();
    fs::create_directories(blocked.path() / "inside");
    blocked.refresh();
    blocked.put(Kind::spirv, key_of(0), bytes_of(0));
    blocked.save();
    EXPECT_EQ(blocked.find(Kind::spirv, key_of(0)), std::nullopt);
}

TEST_F(DiskCacheTest, OffMeansOff) {
    DiskCache cache({folder_, 1 << 20, "a test", nullptr}, "a device");
    EXPECT_FALSE(cache.enabled());
    cache.put(Kind::spirv, key_of(0), bytes_of(0));
    EXPECT_EQ(cache.find(Kind::spirv, key_of(0)), std::nullopt);
    cache.save();
    EXPECT_FALSE(fs::exists(folder_));
}

TEST(DiskCacheSettings, ComeFromTheEnvironment) {
    const char* names[] = {"TOSAVK_NO_CACHE", "TOSAVK_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "TOSAVK_CACHE_LIMIT_MIB"};
    std::map<std::string, std::string> saved;
    for (const char* name : names) {
        if (const char* value = std::getenv(name)) saved[name] = value;
        ::unsetenv(name);
    }
    EXPECT_NE(cache_settings().off, "") << "there is no place for it";
    ::setenv("HOME", "/home/someone", 1);
    EXPECT_EQ(cache_settings().directory, "/home/someone/.cache/tosa-vk");
    EXPECT_EQ(cache_settings().limit_bytes, std::uint64_t{64} << 20);
    ::setenv("XDG_CACHE_HOME", "relative", 1);
    EXPECT_EQ(cache_settings().directory, "/home/someone/.cache/tosa-vk") << "XDG asks to ignore relative paths";
    ::setenv("XDG_CACHE_HOME", "/caches", 1);
    EXPECT_EQ(cache_settings().directory, "/caches/tosa-vk");
    ::setenv("TOSAVK_CACHE_DIR", "/elsewhere", 1);
    EXPECT_EQ(cache_settings().directory, "/elsewhere");
    ::setenv("TOSAVK_CACHE_LIMIT_MIB", "7", 1);
    EXPECT_EQ(cache_settings().limit_bytes, std::uint64_t{7} << 20);
    ::setenv("TOSAVK_CACHE_LIMIT_MIB", "-1", 1);
    EXPECT_EQ(cache_settings().limit_bytes, std::uint64_t{64} << 20);
    ::setenv("TOSAVK_NO_CACHE", "0", 1);
    EXPECT_EQ(cache_settings().off, "");
    ::setenv("TOSAVK_NO_CACHE", "1", 1);
    EXPECT_NE(cache_settings().off, "");
    for (const char* name : names) ::unsetenv(name);
    for (const auto& [name, value] : saved) ::setenv(name.c_str(), value.c_str(), 1);
}

}  // namespace
}  // namespace tosavk
