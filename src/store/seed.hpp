// Shaders that were compiled when the library was built, so that ordinary models start without the GLSL compiler: one
// file beside the library (entry_file.hpp), by the SHA-256 of the source. No Vulkan here. Whatever is wrong with the
// file is a miss, never an error.
#pragma once

#include "store/entry_file.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tosavk {

class Seed {
public:
    explicit Seed(const std::filesystem::path& path);
    /// The SPIR-V of a source; nothing where the seed lacks it. Thread-safe.
    std::optional<std::vector<std::uint32_t>> find(const Digest& key);

private:
    std::mutex mutex_;
    EntryFile file_;
};

/// Of which compiler the shaders are. A seed of another one is ignored.
std::string seed_identity();
/// Where the environment or the library's own place says that the seed is; empty: there is none. TOSAVK_NO_CACHE (any
/// value but "" and "0") turns it off, so does an empty TOSAVK_SEED; any other TOSAVK_SEED is the file. Else it is
/// share/tosa-vk/shaders.seed beside the folder of the library.
std::filesystem::path seed_path();
/// The seed at that path; null: there is none.
std::unique_ptr<Seed> open_seed();

/// The same shader without names, source text and line numbers, which no device needs.
std::vector<std::uint32_t> without_names(const std::vector<std::uint32_t>& spirv);

}  // namespace tosavk
