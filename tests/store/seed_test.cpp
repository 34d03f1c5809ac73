// The seed without a device: every damage is a miss, the environment decides, and names are all that is left out.
#include "store/seed.hpp"

#include "spirv/glslang.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <sys/stat.h>
#include <unistd.h>

namespace tosavk {
namespace {

namespace fs = std::filesystem;

Digest key_of(int n) { return sha256("shader " + std::to_string(n)); }

/// No shader, but what looks like one.
std::vector<std::uint32_t> words_of(int n) {
    std::vector<std::uint32_t> words{0x07230203, 0x00010300, 0, 1, 0};
    const int count = 3 + n % 5;
    words.push_back(static_cast<std::uint32_t>(count + 1) << 16 | 7);  // OpString
    for (int k = 0; k < count; ++k) words.push_back(static_cast<std::uint32_t>(n * 1000 + k));
    words.push_back(1u << 16 | 56);  // OpFunctionEnd
    return words;
}

class SeedTest : public ::testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("tosavk-seed-" + std::to_string(::getpid()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
        for (const char* name : {"TOSAVK_SEED", "TOSAVK_NO_CACHE"}) {
            const char* value = std::getenv(name);
            before_.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
        }
    }
    void TearDown() override {
        for (const auto& [name, value] : before_) {
            if (value) ::setenv(name.c_str(), value->c_str(), 1);
            else ::unsetenv(name.c_str());
        }
        fs::remove_all(folder_);
    }

    static constexpr int count = 6;
    fs::path file() const { return folder_ / "shaders.seed"; }
    /// A seed of `count` entries; when `broken`, entry 2 is no SPIR-V and entry 3 lacks its end.
    void write(const std::string& identity = seed_identity(), bool broken = false) const {
        std::vector<std::vector<std::uint32_t>> shaders;
        for (int n = 0; n < count; ++n) shaders.push_back(words_of(n));
        if (broken) shaders[2][0] = 7, shaders[3].pop_back();
        std::vector<EntryToWrite> entries;
        for (int n = 0; n < count; ++n) {
            EntryToWrite& entry = entries.emplace_back();
            entry.key = {EntryKind::spirv, key_of(n)};
            entry.bytes = std::as_bytes(std::span(shaders[static_cast<std::size_t>(n)]));
        }
        fs::remove(file());
        ASSERT_TRUE(write_entries(file(), identity, entries, 0644));
    }
    std::string bytes() const {
        std::ifstream in(file(), std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void replace(const std::string& bytes) const { std::ofstream(file(), std::ios::binary | std::ios::trunc) << bytes; }
    /// How many entries are found. Those that are must be right.
    int found() const {
        Seed seed(file());
        int hits = 0;
        for (int n = 0; n < count; ++n) {
            const auto words = seed.find(key_of(n));
            if (!words) continue;
            EXPECT_EQ(*words, words_of(n)) << n;
            ++hits;
        }
        EXPECT_FALSE(seed.find(key_of(count)));
        return hits;
    }

    fs::path folder_;
    std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

TEST_F(SeedTest, FindsWhatWasWritten) {
    write();
    EXPECT_EQ(found(), count);
}

TEST_F(SeedTest, DamageIsAMiss) {
    write();
    const std::string whole = bytes();
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
        replace(damaged);
        EXPECT_LT(found(), count) << "byte " << at;
    }
    for (std::size_t size = 0; size < whole.size(); size += 7) {
        replace(whole.substr(0, size));
        EXPECT_LT(found(), count) << size << " bytes";
    }
    replace(whole);
    EXPECT_EQ(found(), count);
}

TEST_F(SeedTest, ForeignFilesAreIgnored) {
    write("seed\nglslang of another day\n");
    EXPECT_EQ(found(), 0);
    write(seed_identity(), true);
    EXPECT_EQ(found(), count - 2) << "entries with right checksums that are no SPIR-V, or not all of it";
    fs::remove(file());
    EXPECT_EQ(found(), 0);
    fs::create_directories(file());
    EXPECT_EQ(found(), 0) << "a folder";
    fs::remove(file());
    ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
    EXPECT_EQ(found(), 0) << "a pipe that nobody writes to";
}

TEST_F(SeedTest, TheEnvironmentDecides) {
    write();
    ::unsetenv("TOSAVK_NO_CACHE");
    ::setenv("TOSAVK_SEED", file().c_str(), 1);
    EXPECT_EQ(seed_path(), file());
    ASSERT_TRUE(open_seed());
    EXPECT_TRUE(open_seed()->find(key_of(0)));
    ::setenv("TOSAVK_NO_CACHE", "1", 1);
    EXPECT_EQ(seed_path(), fs::path());
    EXPECT_FALSE(open_seed());
    ::setenv("TOSAVK_NO_CACHE", "0", 1);
    EXPECT_EQ(seed_path(), file());
    ::setenv("TOSAVK_SEED", "", 1);
    EXPECT_FALSE(open_seed());
    // Beside the folder of the library, which this test has inside.
    ::unsetenv("TOSAVK_SEED");
    const fs::path own =
        fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "share" / "tosa-vk" / "shaders.seed";
    if (fs::exists(own)) EXPECT_EQ(fs::canonical(seed_path()), fs::canonical(own));
    else EXPECT_EQ(seed_path(), fs::path());
}

TEST(WithoutNames, KeepsTheRest) {
    const std::string glsl = R"(#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) buffer Result { uint result_with_a_name[]; };
uint twice(uint x) { return x * 2u; }
void main() { result_with_a_name[gl_GlobalInvocationID.x] = twice(3u); }
)";
    const std::vector<std::uint32_t> whole = compile_glsl(glsl, "test"), bare = without_names(whole);
    ASSERT_LT(bare.size(), whole.size());
    EXPECT_TRUE(std::equal(bare.begin(), bare.begin() + 5, whole.begin()));
    const auto text = [](const std::vector<std::uint32_t>& words) {
        return std::string(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint32_t));
    };
    EXPECT_NE(text(whole).find("result_with_a_name"), std::string::npos);
    EXPECT_EQ(text(bare).find("result_with_a_name"), std::string::npos);
    EXPECT_NE(text(bare).find("main"), std::string::npos) << "the entry point is no name";
    EXPECT_EQ(without_names(bare), bare);
    // What is none stays as it is.
    for (std::vector<std::uint32_t> odd :
         {std::vector<std::uint32_t>{}, std::vector<std::uint32_t>{1, 2, 3}, words_of(1)}) {
        if (odd.size() > 5) odd[5] = 0;  // an instruction of no words
        EXPECT_EQ(without_names(odd), odd);
    }
    std::vector<std::uint32_t> longer = whole;
    longer.push_back(0xffff0005);  // a name of more words than are left
    EXPECT_EQ(without_names(longer), longer);
}

}  // namespace
}  // namespace tosavk
