#include "store/seed.hpp"

#include "base/log.hpp"
#include "spirv/glslang.hpp"
#include "spirv/words.hpp"
#include "store/disk_cache.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

namespace tosavk {

namespace fs = std::filesystem;

namespace {

/// The file that this function is in: the library, or a program that has it inside.
fs::path own_file() {
    Dl_info info{};
    static const char here = 0;  // an address of this file
    if (::dladdr(&here, &info) == 0 || info.dli_fname == nullptr) return {};
    std::error_code failed;
    fs::path path = fs::canonical(info.dli_fname, failed);
    if (!failed) return path;
    path = fs::read_symlink("/proc/self/exe", failed);
    return failed ? fs::path() : path;
}

}  // namespace

// The number goes up when other SPIR-V than before is made of what the compiler gives.
std::string seed_identity() { return "seed 1\n" + glslang_identity() + "\n"; }

fs::path seed_path() {
    if (caches_are_off()) return {};
    if (const char* own = std::getenv("TOSAVK_SEED")) return own;
    const fs::path folder = own_file().parent_path();
    if (folder.empty()) return {};
    std::error_code unknown;
    for (const char* data : {"../share", TOSAVK_LIBRARY_TO_DATA}) {
        const fs::path path = (folder / data / "tosa-vk" / "shaders.seed").lexically_normal();
        if (fs::exists(path, unknown)) return path;
    }
    say("cache", fmt::format("no seed beside {}", folder.string()));
    return {};
}

std::unique_ptr<Seed> open_seed() {
    const fs::path path = seed_path();
    return path.empty() ? nullptr : std::make_unique<Seed>(path);
}

Seed::Seed(const fs::path& path) { file_.open(path, seed_identity(), "cache"); }

std::optional<std::vector<std::uint32_t>> Seed::find(const Digest& key) {
    const std::lock_guard lock(mutex_);
    const auto found = file_.entries().find({EntryKind::spirv, key});
    if (found == file_.entries().end()) return std::nullopt;
    const std::optional<std::vector<std::byte>> bytes = file_.read(found->second);
    std::vector<std::uint32_t> words(bytes ? bytes->size() / sizeof(std::uint32_t) : 0);
    if (!words.empty()) std::memcpy(words.data(), bytes->data(), words.size() * sizeof(std::uint32_t));
    if (is_whole_module(words)) return words;
    say("cache", "an entry of the seed is damaged");
    file_.entries().erase(found);
    return std::nullopt;
}

std::vector<std::uint32_t> without_names(const std::vector<std::uint32_t>& spirv) {
    constexpr std::size_t header = 5;
    if (!is_whole_module(spirv)) return spirv;
    std::vector<std::uint32_t> result(spirv.begin(), spirv.begin() + header);
    for (std::size_t at = header; at < spirv.size();) {
        const std::uint32_t opcode = spirv[at] & 0xffff, words = spirv[at] >> 16;
        if (words == 0 || words > spirv.size() - at) return spirv;
        switch (opcode) {
            case 2:    // OpSourceContinued
            case 3:    // OpSource
            case 4:    // OpSourceExtension
            case 5:    // OpName
            case 6:    // OpMemberName
            case 7:    // OpString
            case 8:    // OpLine
            case 317:  // OpNoLine
            case 330:  // OpModuleProcessed
                break;
            default: result.insert(result.end(), &spirv[at], &spirv[at] + words);
        }
        at += words;
    }
    return result;
}

}  // namespace tosavk
