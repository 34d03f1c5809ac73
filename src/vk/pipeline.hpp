// Compute pipelines of one device, shared by every Executable that needs the same source and constants.
#pragma once

#include "plan/plan.hpp"
#include "vk/unique_handle.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace tosavk {

/// Descriptor set layout with `count` storage buffers, and the pipeline layout of that one set.
struct BindingLayout {
    UniqueHandle<VkDescriptorSetLayout> set;
    UniqueHandle<VkPipelineLayout> pipeline;
};

struct Pipeline {
    std::shared_ptr<const BindingLayout> layout;
    UniqueHandle<VkPipeline> handle;
};

/// Thread-safe. SPIR-V is kept by source text (up to a bound); pipelines live as long as an Executable uses them.
class PipelineLibrary {
public:
    PipelineLibrary(VkDevice device, const VolkDeviceTable& vk);

    /// `created` tells whether the pipeline is new.
    std::shared_ptr<const Pipeline> get(const Dispatch& dispatch, const DevicePlan& plan, bool& created);

private:
    using Key = std::tuple<std::string, std::vector<std::int32_t>, std::size_t>;

    std::shared_ptr<const BindingLayout> layout_for(std::size_t buffers);
    const std::vector<std::uint32_t>& spirv_for(const Dispatch& dispatch, const DevicePlan& plan);
    std::shared_ptr<const Pipeline> build(const Dispatch& dispatch, const DevicePlan& plan);

    VkDevice device_;
    const VolkDeviceTable& vk_;
    std::mutex mutex_;
    UniqueHandle<VkPipelineCache> cache_;
    std::map<std::size_t, std::shared_ptr<const BindingLayout>> layouts_;
    std::map<std::string, std::vector<std::uint32_t>> spirv_;
    std::size_t spirv_bytes_ = 0;
    std::map<Key, std::weak_ptr<const Pipeline>> pipelines_;
};

}  // namespace tosavk
