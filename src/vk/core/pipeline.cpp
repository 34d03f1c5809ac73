// Source text -> SPIR-V -> VkPipeline, each made once.
#include "vk/core/pipeline.hpp"

#include "base/log.hpp"
#include "spirv/glslang.hpp"
#include "spirv/words.hpp"
#include "vk/core/check.hpp"
#include "vk/core/parallel.hpp"
#include "vk/core/pipeline_report.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>

namespace tosavk {

namespace {

constexpr std::uint32_t local_size_id = 1000;  // layout(local_size_x_id = 1000) in every kernel
constexpr std::size_t spirv_bound_bytes = 64u << 20;
constexpr Digest pipelines_key{};  // the driver's data is one entry

/// Entries of the disk cache are good for one device, driver and compiler.
std::string identity_of(const DeviceCaps& caps) {
    return fmt::format("{}\n{} {}\n{:08x} {:08x} {:08x} {:08x}\n{}\n{}\n", caps.name, caps.driver_name,
                       caps.driver_info, caps.vendor_id, caps.device_id, caps.driver_version, caps.api_version,
                       caps.pipeline_cache_uuid, glslang_identity());
}

/// VkPipelineCacheHeaderVersionOne of this device. A driver must refuse what begins otherwise; not all do.
std::array<std::byte, 32> pipeline_data_header(const DeviceCaps& caps) {
    std::array<std::byte, 32> header{};
    const std::uint32_t words[4] = {32, VK_PIPELINE_CACHE_HEADER_VERSION_ONE, caps.vendor_id, caps.device_id};
    std::memcpy(header.data(), words, sizeof words);
    for (std::size_t k = 0; k < 16 && 2 * k + 2 <= caps.pipeline_cache_uuid.size(); ++k) {
        header[16 + k] = static_cast<std::byte>(std::stoul(caps.pipeline_cache_uuid.substr(2 * k, 2), nullptr, 16));
    }
    return header;
}

std::vector<std::uint32_t> to_words(std::span<const std::byte> bytes) {
    std::vector<std::uint32_t> words(bytes.size() / sizeof(std::uint32_t));
    std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint32_t));
    return words;
}

}  // namespace

PipelineLibrary::PipelineLibrary(VkDevice device, const VolkDeviceTable& vk, const PhysicalDevice& physical,
                                 const CacheSettings& cache, std::size_t threads, bool reports)
    : device_(device),
      vk_(vk),
      update_after_bind_(physical.update_after_bind),
      identity_(identity_of(physical.caps)),
      disk_(cache, identity_),
      seed_(open_seed()),
      cache_header_(pipeline_data_header(physical.caps)),
      threads_(threads),
      reports_(reports) {
    const std::vector<std::byte> stored = stored_pipelines();
    cache_sum_ = checksum(stored);
    cache_bytes_ = stored.size();
    cache_ = make_cache(stored);
}

PipelineLibrary::~PipelineLibrary() {
    try {
        const std::lock_guard lock(mutex_);
        save_pipelines();
        disk_.save();
    } catch (...) {
        say("cache", "it could not be saved");
    }
}

UniqueHandle<VkPipelineCache> PipelineLibrary::make_cache(std::span<const std::byte> data) {
    UniqueHandle<VkPipelineCache> cache(device_, vk_.vkDestroyPipelineCache);
    VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    info.initialDataSize = data.size();
    info.pInitialData = data.data();
    call("vkCreatePipelineCache", vk_.vkCreatePipelineCache, device_, &info, nullptr, cache.put());
    return cache;
}

/// What the file holds of the driver's data; empty unless it is this device's.
std::vector<std::byte> PipelineLibrary::stored_pipelines() {
    std::optional<std::vector<std::byte>> data = disk_.find(DiskCache::Kind::pipelines, pipelines_key);
    const bool ours = data && data->size() > cache_header_.size() &&
                      std::equal(cache_header_.begin(), cache_header_.end(), data->begin());
    return ours ? std::move(*data) : std::vector<std::byte>();
}

/// Puts the driver's data into the disk cache where it has grown, joined with what others have saved meanwhile.
void PipelineLibrary::save_pipelines() {
    if (!disk_.enabled() || !pipelines_made_) return;
    pipelines_made_ = false;
    const auto size_now = [&] {
        std::size_t size = 0;
        return vk_.vkGetPipelineCacheData(device_, cache_.get(), &size, nullptr) == VK_SUCCESS ? size : 0;
    };
    if (size_now() <= std::max(cache_bytes_, cache_header_.size())) return;
    disk_.refresh();
    const std::vector<std::byte> stored = stored_pipelines();
    if (!stored.empty() && checksum(stored) != cache_sum_) {
        const UniqueHandle<VkPipelineCache> others = make_cache(stored);
        const VkPipelineCache handle = others.get();
        const std::lock_guard alone(cache_mutex_);
        vk_.vkMergePipelineCaches(device_, cache_.get(), 1, &handle);
    }
    std::vector<std::byte> data(size_now());
    std::size_t size = data.size();
    if (vk_.vkGetPipelineCacheData(device_, cache_.get(), &size, data.data()) != VK_SUCCESS) return;
    data.resize(size);
    cache_sum_ = checksum(data);
    cache_bytes_ = size;
    disk_.put(DiskCache::Kind::pipelines, pipelines_key, std::move(data));
}

void PipelineLibrary::save_if_worthwhile() {
    const std::lock_guard lock(mutex_);
    if (!disk_.is_worth_saving()) return;
    save_pipelines();
    disk_.save();
}

std::optional<std::vector<std::byte>> PipelineLibrary::stored(DiskCache::Kind kind, const Digest& key) {
    const std::lock_guard lock(mutex_);
    return disk_.find(kind, key);
}

void PipelineLibrary::store(DiskCache::Kind kind, const Digest& key, std::vector<std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    disk_.put(kind, key, std::move(bytes));
}

std::string PipelineLibrary::stored_tuning(const Digest& key) {
    const std::lock_guard lock(mutex_);
    return tuning_text(key);
}

std::string PipelineLibrary::tuning_text(const Digest& key) {
    const auto bytes = disk_.find(DiskCache::Kind::tuning, key);
    return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : std::string();
}

bool PipelineLibrary::store_tuning(const Digest& key,
                                   const std::function<std::string(const std::string& old)>& change) {
    const std::lock_guard lock(mutex_);
    if (!disk_.enabled()) return false;
    std::string text;
    disk_.save([&] {
        text = change(tuning_text(key));
        const auto bytes = std::as_bytes(std::span(text));
        disk_.put(DiskCache::Kind::tuning, key, {bytes.begin(), bytes.end()});
    });
    return tuning_text(key) == text;
}

VkDescriptorType descriptor_type(const Binding& binding) {
    return is_texels(binding.path) ? VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

std::shared_ptr<const BindingLayout> PipelineLibrary::layout_for(const Dispatch& dispatch) {
    std::vector<VkDescriptorType> types;
    for (const Binding& binding : dispatch.bindings) types.push_back(descriptor_type(binding));
    const auto found = layouts_.find({types, dispatch.pushed.size()});
    if (found != layouts_.end()) {
        return found->second;
    }
    auto layout = std::make_shared<BindingLayout>();
    std::vector<VkDescriptorSetLayoutBinding> bindings(types.size());
    for (std::uint32_t b = 0; b < bindings.size(); ++b) {
        bindings[b].binding = b;
        bindings[b].descriptorType = types[b];
        bindings[b].descriptorCount = 1;
        bindings[b].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    }
    VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    set.bindingCount = static_cast<std::uint32_t>(bindings.size());
    set.pBindings = bindings.data();
    const std::vector<VkDescriptorBindingFlags> flags(bindings.size(), VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT);
    VkDescriptorSetLayoutBindingFlagsCreateInfo late{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO};
    late.bindingCount = set.bindingCount;
    late.pBindingFlags = flags.data();
    if (update_after_bind_) {
        set.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT;
        set.pNext = &late;
    }
    layout->set = {device_, vk_.vkDestroyDescriptorSetLayout};
    call("vkCreateDescriptorSetLayout", vk_.vkCreateDescriptorSetLayout, device_, &set, nullptr, layout->set.put());

    const VkDescriptorSetLayout handle = layout->set.get();
    VkPipelineLayoutCreateInfo pipeline{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    pipeline.setLayoutCount = 1;
    pipeline.pSetLayouts = &handle;
    const VkPushConstantRange pushed{VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                     static_cast<std::uint32_t>(dispatch.pushed.size() * sizeof(std::int32_t))};
    if (!dispatch.pushed.empty()) {
        pipeline.pushConstantRangeCount = 1;
        pipeline.pPushConstantRanges = &pushed;
    }
    layout->pipeline = {device_, vk_.vkDestroyPipelineLayout};
    call("vkCreatePipelineLayout", vk_.vkCreatePipelineLayout, device_, &pipeline, nullptr, layout->pipeline.put());
    layouts_.emplace(LayoutKey(std::move(types), dispatch.pushed.size()), layout);
    return layout;
}

const std::vector<std::uint32_t>& PipelineLibrary::keep(const std::string& glsl, std::vector<std::uint32_t> words) {
    const std::size_t bytes = glsl.size() + words.size() * sizeof(std::uint32_t);
    if (spirv_bytes_ + bytes > spirv_bound_bytes) {
        // What a package offers is for the executable that is made next: it must not need the compiler.
        std::erase_if(spirv_, [&](const auto& known) { return !offered_.contains(known.first); });
        spirv_bytes_ = 0;
        for (const auto& [source, module] : spirv_)
            spirv_bytes_ += source.size() + module.size() * sizeof(std::uint32_t);
    }
    spirv_bytes_ += bytes;
    return spirv_.insert_or_assign(glsl, std::move(words)).first->second;
}

const std::vector<std::uint32_t>& PipelineLibrary::spirv_for(const Dispatch& dispatch, PipelineCounters& counters) {
    const auto found = spirv_.find(dispatch.glsl);
    if (found != spirv_.end()) {
        counters.shaders_loaded += offered_.erase(dispatch.glsl);
        return found->second;
    }
    const Digest key = disk_.enabled() || seed_ ? sha256(dispatch.glsl) : Digest{};
    if (const auto stored = disk_.find(DiskCache::Kind::spirv, key)) {
        std::vector<std::uint32_t> words = to_words(*stored);
        if (is_whole_module(words)) {
            ++counters.shaders_loaded;
            return keep(dispatch.glsl, std::move(words));
        }
    }
    if (auto seeded = seed_ ? seed_->find(key) : std::nullopt) {
        ++counters.shaders_loaded;
        return keep(dispatch.glsl, std::move(*seeded));
    }
    std::vector<std::uint32_t> words = compile_glsl(dispatch.glsl, dispatch.kernel);
    ++counters.shaders_compiled;
    const auto bytes = std::as_bytes(std::span(words));
    disk_.put(DiskCache::Kind::spirv, key, {bytes.begin(), bytes.end()});
    return keep(dispatch.glsl, std::move(words));
}

std::vector<std::uint32_t> PipelineLibrary::spirv(const Dispatch& dispatch) {
    PipelineCounters uncounted;
    const std::lock_guard lock(mutex_);
    return spirv_for(dispatch, uncounted);
}

void PipelineLibrary::offer(const std::string& glsl, std::span<const std::uint32_t> words) {
    const std::lock_guard lock(mutex_);
    offered_.insert(glsl);
    if (!spirv_.contains(glsl)) keep(glsl, {words.begin(), words.end()});
}

/// Of a pipeline that has its layout.
void PipelineLibrary::build(Pipeline& pipeline, const Dispatch& dispatch, const DevicePlan& plan,
                            std::span<const std::uint32_t> words) {
    UniqueHandle<VkShaderModule> module(device_, vk_.vkDestroyShaderModule);
    VkShaderModuleCreateInfo module_info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    module_info.codeSize = words.size_bytes();
    module_info.pCode = words.data();
    call("vkCreateShaderModule", vk_.vkCreateShaderModule, device_, &module_info, nullptr, module.put());

    std::vector<std::int32_t> values = dispatch.constants;
    if (!dispatch.spirv) {
        values.push_back(
            static_cast<std::int32_t>(dispatch.invocations != 0 ? dispatch.invocations : plan.workgroup_size));
    }
    std::vector<VkSpecializationMapEntry> entries(values.size());
    for (std::uint32_t e = 0; e < entries.size(); ++e) {
        entries[e] = {e, e * 4u, 4u};
    }
    if (!dispatch.spirv) {
        entries.back().constantID = local_size_id;
    }
    VkSpecializationInfo specialization{};
    specialization.mapEntryCount = static_cast<std::uint32_t>(entries.size());
    specialization.pMapEntries = entries.data();
    specialization.dataSize = values.size() * sizeof(std::int32_t);
    specialization.pData = values.data();

    VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module.get();
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &specialization;
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroups{
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO};
    if (dispatch.subgroup_size != 0) {
        subgroups.requiredSubgroupSize = dispatch.subgroup_size;
        info.stage.pNext = &subgroups;
        info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    }
    info.layout = pipeline.layout->pipeline.get();
    pipeline.handle = {device_, vk_.vkDestroyPipeline};
    const auto create = [&](VkPipelineCache cache) {
        call("vkCreateComputePipelines", vk_.vkCreateComputePipelines, device_, cache, 1u, &info, nullptr,
             pipeline.handle.put());
    };
    if (!reports_) {
        const std::shared_lock together(cache_mutex_);
        return create(cache_.get());
    }
    // A pipeline out of the cache may have nothing to tell.
    info.flags =
        VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR | VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
    const auto begun = std::chrono::steady_clock::now();
    create(VK_NULL_HANDLE);
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begun;
    auto report = std::make_unique<PipelineReport>(report_of(device_, vk_, pipeline.handle.get()));
    report->compile_ms = taken.count();
    pipeline.report = std::move(report);
}

std::shared_ptr<const Pipeline> PipelineLibrary::find(const Key& key) const {
    const auto found = pipelines_.find(key);
    return found == pipelines_.end() ? nullptr : found->second.lock();
}

namespace {

void check_dispatch(const Dispatch& dispatch, const DevicePlan& plan) {
    if (dispatch.constants.size() > local_size_id) {
        throw Error(ErrorCode::internal, dispatch.label + ": more than 1000 specialization constants");
    }
    if (dispatch.pushed.size() > 32) throw Error(ErrorCode::internal, dispatch.label + ": more than 32 push constants");
    const std::uint32_t size = dispatch.subgroup_size;
    if (size != 0 && ((size != plan.subgroup_size && size != plan.fold_lanes) || dispatch.invocations % size != 0)) {
        throw Error(ErrorCode::internal,
                    dispatch.label + ": it needs whole subgroups of a size that this device is not used with");
    }
}

}  // namespace

std::vector<std::shared_ptr<const Pipeline>> PipelineLibrary::get(std::span<const Dispatch* const> dispatches,
                                                                  const DevicePlan& plan, PipelineCounters& counters,
                                                                  Progress& progress) {
    progress.expect(2 * dispatches.size());  // each to be read or compiled, and to be made a pipeline of
    struct Missing {
        const Dispatch* dispatch;
        Key key;
        std::vector<std::uint32_t> words;
        std::shared_ptr<Pipeline> pipeline = std::make_shared<Pipeline>();
        std::shared_ptr<const Pipeline> shared = nullptr;  ///< that one, or an equal one that somebody made meanwhile
    };
    std::vector<std::shared_ptr<const Pipeline>> result(dispatches.size());
    std::vector<Missing> missing;
    std::map<Key, std::size_t> number;  // in `missing`
    std::vector<std::size_t> wanted(dispatches.size(), no_id);
    for (std::size_t d = 0; d < dispatches.size(); ++d) {
        if (d > 0) progress.step();  // nothing is locked meanwhile
        if (!dispatches[d]) continue;
        const Dispatch& dispatch = *dispatches[d];
        check_dispatch(dispatch, plan);
        {
            const std::lock_guard lock(mutex_);
            std::string source = dispatch.glsl;
            if (dispatch.spirv) {
                source.assign(reinterpret_cast<const char*>(dispatch.spirv->data()),
                              dispatch.spirv->size() * sizeof(std::uint32_t));
            }
            Key key(std::move(source), dispatch.constants, dispatch.bindings.size(), dispatch.invocations);
            if ((result[d] = find(key))) continue;
            const auto [place, is_new] = number.emplace(key, missing.size());
            wanted[d] = place->second;
            if (!is_new) continue;
            Missing& one = missing.emplace_back(
                Missing{&dispatch, std::move(key), dispatch.spirv ? *dispatch.spirv : spirv_for(dispatch, counters)});
            one.pipeline->layout = layout_for(dispatch);
            pipelines_made_ = true;
        }
    }
    progress.step(std::min<std::size_t>(dispatches.size(), 1) + dispatches.size() - missing.size());
    in_parallel(
        missing.size(),
        [&](std::size_t k) {
            Missing& one = missing[k];
            build(*one.pipeline, *one.dispatch, plan, one.words);
            progress.step();
        },
        host_threads(threads_));
    const std::lock_guard lock(mutex_);
    // Forget pipelines that nobody uses any more.
    std::erase_if(pipelines_, [](const auto& entry) { return entry.second.expired(); });
    for (Missing& one : missing) {
        one.shared = find(one.key);  // another thread may have been first
        if (!one.shared) pipelines_.insert_or_assign(one.key, one.shared = one.pipeline);
    }
    for (std::size_t d = 0; d < dispatches.size(); ++d) {
        if (dispatches[d] && !result[d]) result[d] = missing[wanted[d]].shared;
    }
    counters.pipelines += missing.size();
    return result;
}

}  // namespace tosavk
