// Compute pipelines of one device, shared by every Executable that needs the same source and constants.
#pragma once

#include "base/progress.hpp"
#include "compile/plan/plan.hpp"
#include "device/compilers/report.hpp"
#include "store/disk_cache.hpp"
#include "store/seed.hpp"
#include "vk/core/caps.hpp"
#include "vk/core/unique_handle.hpp"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace tosavk {

/// Descriptor type of a binding.
VkDescriptorType descriptor_type(const Binding& binding);

/// Descriptor set layout of one kind of dispatch, and the pipeline layout of that one set. On devices of others that
/// were made for it, sets may be rewritten after they were bound (and go into pools that say so).
struct BindingLayout {
    UniqueHandle<VkDescriptorSetLayout> set;
    UniqueHandle<VkPipelineLayout> pipeline;
};

struct Pipeline {
    std::shared_ptr<const BindingLayout> layout;
    UniqueHandle<VkPipeline> handle;
    std::unique_ptr<const PipelineReport> report;  ///< null: nobody asked, or the driver cannot tell
};

/// What was made so far.
struct PipelineCounters {
    std::uint64_t pipelines = 0;
    std::uint64_t shaders_compiled = 0;  ///< from GLSL
    std::uint64_t shaders_loaded = 0;    ///< from the disk cache, the seed or a package
};

/// Thread-safe. SPIR-V is kept by source text (up to a bound); pipelines live as long as an Executable uses them.
/// SPIR-V and the driver's pipeline cache also go to the disk cache, and come from there; what that lacks may be in the
/// seed.
class PipelineLibrary {
public:
    PipelineLibrary(VkDevice device, const VolkDeviceTable& vk, const PhysicalDevice& physical,
                    const CacheSettings& cache, std::size_t threads, bool reports);
    /// Saves what the disk cache lacks.
    ~PipelineLibrary();

    /// One pipeline per dispatch, null where that is null; those that are missing are made on all processors. Adds to
    /// `counters` what had to be made.
    std::vector<std::shared_ptr<const Pipeline>> get(std::span<const Dispatch* const> dispatches,
                                                     const DevicePlan& plan, PipelineCounters& counters,
                                                     Progress& progress);
    /// The dispatch's SPIR-V, without a pipeline.
    std::vector<std::uint32_t> spirv(const Dispatch& dispatch);
    /// SPIR-V that somebody has compiled for this source before. Never reaches the disk cache.
    void offer(const std::string& glsl, std::span<const std::uint32_t> words);

    /// Writes the disk cache where enough is new.
    void save_if_worthwhile();

    /// Entries of the disk cache that are no pipelines; nothing where it is off.
    std::optional<std::vector<std::byte>> stored(DiskCache::Kind kind, const Digest& key);
    /// Written when the library is destroyed at the latest.
    void store(DiskCache::Kind kind, const Digest& key, std::vector<std::byte> bytes);
    /// Names device, driver and compiler, which entries of the disk cache are for.
    const std::string& identity() const { return identity_; }
    /// A tuning table in the disk cache, as text; empty without one.
    std::string stored_tuning(const Digest& key);
    /// Puts there what `change` makes of the table that is there now. False where it cannot be kept.
    bool store_tuning(const Digest& key, const std::function<std::string(const std::string& old)>& change);

private:
    using Key = std::tuple<std::string, std::vector<std::int32_t>, std::size_t, std::uint32_t>;
    using LayoutKey = std::pair<std::vector<VkDescriptorType>, std::size_t>;  ///< and how many push constants

    std::shared_ptr<const BindingLayout> layout_for(const Dispatch& dispatch);
    const std::vector<std::uint32_t>& spirv_for(const Dispatch& dispatch, PipelineCounters& counters);
    const std::vector<std::uint32_t>& keep(const std::string& glsl, std::vector<std::uint32_t> words);
    void build(Pipeline& pipeline, const Dispatch& dispatch, const DevicePlan& plan,
               std::span<const std::uint32_t> words);
    std::shared_ptr<const Pipeline> find(const Key& key) const;
    UniqueHandle<VkPipelineCache> make_cache(std::span<const std::byte> data);
    std::vector<std::byte> stored_pipelines();
    std::string tuning_text(const Digest& key);
    void save_pipelines();

    VkDevice device_;
    const VolkDeviceTable& vk_;
    bool update_after_bind_;
    std::mutex mutex_;
    std::shared_mutex cache_mutex_;  ///< shared: pipelines are made with cache_; alone: caches are merged into it
    std::string identity_;
    DiskCache disk_;
    std::unique_ptr<Seed> seed_;              ///< null: there is none
    std::array<std::byte, 32> cache_header_;  ///< how the driver's data must begin
    std::size_t threads_;                     ///< see host_threads
    bool reports_;                            ///< pipelines come with what the driver tells of them
    UniqueHandle<VkPipelineCache> cache_;
    std::uint64_t cache_sum_ = 0;  ///< checksum of the stored data that cache_ holds
    std::size_t cache_bytes_ = 0;  ///< and its size
    bool pipelines_made_ = false;  ///< since the cache was saved
    std::map<LayoutKey, std::shared_ptr<const BindingLayout>> layouts_;
    std::map<std::string, std::vector<std::uint32_t>> spirv_;
    std::set<std::string> offered_;  ///< sources in spirv_ that were offered and not used yet
    std::size_t spirv_bytes_ = 0;
    std::map<Key, std::weak_ptr<const Pipeline>> pipelines_;
};

}  // namespace tosavk
