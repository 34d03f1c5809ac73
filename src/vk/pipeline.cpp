// Source text -> SPIR-V -> VkPipeline, each made once.
#include "vk/pipeline.hpp"

#include "codegen/glslang.hpp"
#include "vk/check.hpp"

#include <iterator>

namespace tosavk {

namespace {

constexpr std::uint32_t local_size_id = 1000;  // layout(local_size_x_id = 1000) in every kernel
constexpr std::size_t spirv_bound_bytes = 64u << 20;

}  // namespace

PipelineLibrary::PipelineLibrary(VkDevice device, const VolkDeviceTable& vk)
    : device_(device), vk_(vk), cache_(device, vk.vkDestroyPipelineCache) {
    VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    call("vkCreatePipelineCache", vk.vkCreatePipelineCache, device, &info, nullptr, cache_.put());
}

std::shared_ptr<const BindingLayout> PipelineLibrary::layout_for(std::size_t buffers) {
    const auto found = layouts_.find(buffers);
    if (found != layouts_.end()) {
        return found->second;
    }
    auto layout = std::make_shared<BindingLayout>();
    std::vector<VkDescriptorSetLayoutBinding> bindings(buffers);
    for (std::uint32_t b = 0; b < bindings.size(); ++b) {
        bindings[b].binding = b;
        bindings[b].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        bindings[b].descriptorCount = 1;
        bindings[b].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    }
    VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    set.bindingCount = static_cast<std::uint32_t>(bindings.size());
    set.pBindings = bindings.data();
    layout->set = {device_, vk_.vkDestroyDescriptorSetLayout};
    call("vkCreateDescriptorSetLayout", vk_.vkCreateDescriptorSetLayout, device_, &set, nullptr, layout->set.put());

    const VkDescriptorSetLayout handle = layout->set.get();
    VkPipelineLayoutCreateInfo pipeline{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    pipeline.setLayoutCount = 1;
    pipeline.pSetLayouts = &handle;
    layout->pipeline = {device_, vk_.vkDestroyPipelineLayout};
    call("vkCreatePipelineLayout", vk_.vkCreatePipelineLayout, device_, &pipeline, nullptr, layout->pipeline.put());
    layouts_.emplace(buffers, layout);
    return layout;
}

const std::vector<std::uint32_t>& PipelineLibrary::spirv_for(const Dispatch& dispatch, const DevicePlan& plan) {
    const auto found = spirv_.find(dispatch.glsl);
    if (found != spirv_.end()) {
        return found->second;
    }
    std::vector<std::uint32_t> words = compile_glsl(dispatch.glsl, dispatch.kernel, plan);
    const std::size_t bytes = dispatch.glsl.size() + words.size() * sizeof(std::uint32_t);
    if (spirv_bytes_ + bytes > spirv_bound_bytes) {
        spirv_.clear();
        spirv_bytes_ = 0;
    }
    spirv_bytes_ += bytes;
    return spirv_.emplace(dispatch.glsl, std::move(words)).first->second;
}

std::shared_ptr<const Pipeline> PipelineLibrary::build(const Dispatch& dispatch, const DevicePlan& plan) {
    auto pipeline = std::make_shared<Pipeline>();
    pipeline->layout = layout_for(dispatch.bindings.size());

    const std::vector<std::uint32_t>& words = dispatch.spirv ? *dispatch.spirv : spirv_for(dispatch, plan);
    UniqueHandle<VkShaderModule> module(device_, vk_.vkDestroyShaderModule);
    VkShaderModuleCreateInfo module_info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    module_info.codeSize = words.size() * sizeof(std::uint32_t);
    module_info.pCode = words.data();
    call("vkCreateShaderModule", vk_.vkCreateShaderModule, device_, &module_info, nullptr, module.put());

    std::vector<std::int32_t> values = dispatch.constants;
    if (!dispatch.spirv) {
        values.push_back(static_cast<std::int32_t>(plan.workgroup_size));
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
    info.layout = pipeline->layout->pipeline.get();
    pipeline->handle = {device_, vk_.vkDestroyPipeline};
    call("vkCreateComputePipelines", vk_.vkCreateComputePipelines, device_, cache_.get(), 1u, &info, nullptr,
         pipeline->handle.put());
    return pipeline;
}

std::shared_ptr<const Pipeline> PipelineLibrary::get(const Dispatch& dispatch, const DevicePlan& plan, bool& created) {
    created = false;
    if (dispatch.constants.size() > local_size_id) {
        throw Error(ErrorCode::internal, dispatch.label + ": more than 1000 specialization constants");
    }
    const std::lock_guard lock(mutex_);
    std::string source = dispatch.glsl;
    if (dispatch.spirv) {
        source.assign(reinterpret_cast<const char*>(dispatch.spirv->data()), dispatch.spirv->size() * sizeof(std::uint32_t));
    }
    Key key(std::move(source), dispatch.constants, dispatch.bindings.size());
    const auto found = pipelines_.find(key);
    if (found != pipelines_.end()) {
        if (std::shared_ptr<const Pipeline> pipeline = found->second.lock()) {
            return pipeline;
        }
    }
    std::shared_ptr<const Pipeline> pipeline = build(dispatch, plan);
    created = true;
    // Forget pipelines that nobody uses any more.
    for (auto entry = pipelines_.begin(); entry != pipelines_.end();) {
        entry = entry->second.expired() ? pipelines_.erase(entry) : std::next(entry);
    }
    pipelines_.emplace(std::move(key), pipeline);
    return pipeline;
}

}  // namespace tosavk
