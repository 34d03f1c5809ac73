#include "vk/record/packer.hpp"

#include "kernels/common/shader_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {
namespace {

constexpr std::uint64_t layout_bytes = 18 * sizeof(std::uint32_t);

std::uint64_t layout_stride(const DevicePlan& plan) {
    return (layout_bytes + plan.buffer_alignment - 1) / plan.buffer_alignment * plan.buffer_alignment;
}

}  // namespace

Packer::Packer(const ExecutableState& executable, const ExternalUse& use, const RunMemory& memory)
    : executable_(executable), device_(executable.device->state()) {
    const auto strided = [](const ExternalCopy& copy) { return copy.is_strided(); };
    const auto count = static_cast<std::size_t>(std::count_if(use.before.begin(), use.before.end(), strided) +
                                                std::count_if(use.after.begin(), use.after.end(), strided));
    if (count == 0) return;
    layouts_ = Buffer(device_, count * layout_stride(device_.plan), MemoryUse::shared, "the layouts of tensors");
    make_sets(count);
    std::size_t number = 0;
    for (const ExternalCopy& copy : use.before) {
        if (copy.is_strided()) before_.push_back(make_job(copy, memory, number++));
    }
    for (const ExternalCopy& copy : use.after) {
        if (copy.is_strided()) after_.push_back(make_job(copy, memory, number++));
    }
}

void Packer::make_sets(std::size_t count) {
    VkDescriptorPoolCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, static_cast<std::uint32_t>(3 * count)};
    info.maxSets = static_cast<std::uint32_t>(count);
    info.poolSizeCount = 1;
    info.pPoolSizes = &size;
    if (device_.update_after_bind) info.flags = VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT;
    pool_ = {device_.device.handle, device_.vk.vkDestroyDescriptorPool};
    call("vkCreateDescriptorPool", device_.vk.vkCreateDescriptorPool, device_.device.handle, &info, nullptr,
         pool_.put());
}

Packer::Job Packer::make_job(const ExternalCopy& copy, const RunMemory& memory, std::size_t number) {
    const bool to_dense = !copy.from.range.strides.empty();
    const BufferRange& strided = to_dense ? copy.from.range : copy.to.range;
    const BufferPlace dense = memory.at(executable_.plan, to_dense ? copy.to : copy.from);
    const std::uint64_t alignment = std::max<std::uint64_t>(4, device_.caps.min_storage_buffer_offset_alignment);
    const std::uint64_t start = strided.offset / alignment * alignment, first = strided.offset - start;
    const std::uint64_t words = (copy.bytes + 3) / 4, reach = (first + strided.size + 3) / 4 * 4;
    for (const std::uint64_t bytes : {4 * words, reach}) {
        if (bytes > device_.plan.max_binding_bytes)
            throw Error(ErrorCode::unsupported,
                        fmt::format("a tensor with strides reaches over {} bytes, and the device binds {} at once",
                                    bytes, device_.plan.max_binding_bytes));
    }
    std::array<std::uint32_t, 18> layout{static_cast<std::uint32_t>(copy.bytes), static_cast<std::uint32_t>(first)};
    std::fill(layout.begin() + 2, layout.begin() + 10, 1u);
    for (std::size_t d = 0; d < copy.shape.size(); ++d) {
        const std::size_t place = 8 - copy.shape.size() + d;
        layout[2 + place] = static_cast<std::uint32_t>(copy.shape[d]);
        layout[10 + place] = copy.shape[d] > 1 ? static_cast<std::uint32_t>(strided.strides[d]) : 0;
    }
    const std::uint64_t at = number * layout_stride(device_.plan);
    layouts_.write(at, std::as_bytes(std::span(layout)));

    Dispatch dispatch;
    dispatch.label = dispatch.kernel = "pack_strided";
    dispatch.glsl = standalone_source("pack_strided", fmt::format("#define TO_DENSE {}\n", to_dense ? 1 : 0));
    dispatch.constants = {static_cast<std::int32_t>(copy.element_bytes)};
    dispatch.bindings.resize(3);  // what a layout is made of: three storage buffers
    const Dispatch* const wanted = &dispatch;
    PipelineCounters uncounted;
    Progress nobody;
    Job job;
    job.pipeline = device_.pipelines.get(std::span(&wanted, 1), device_.plan, uncounted, nobody).front();
    job.groups = linear_groups(static_cast<std::int64_t>(words), device_.plan);
    const VkDescriptorSetLayout set_layout = job.pipeline->layout->set.get();
    VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = pool_.get();
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &set_layout;
    call("vkAllocateDescriptorSets", device_.vk.vkAllocateDescriptorSets, device_.device.handle, &allocate, &job.set);
    const VkDescriptorBufferInfo buffers[] = {{layouts_.handle(), at, layout_bytes},
                                              {buffer_of(strided), start, reach},
                                              {dense.buffer, dense.offset, 4 * words}};
    VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = job.set;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.descriptorCount = 3;
    write.pBufferInfo = buffers;
    device_.vk.vkUpdateDescriptorSets(device_.device.handle, 1, &write, 0, nullptr);
    return job;
}

bool Packer::record(VkCommandBuffer commands, const std::vector<Job>& jobs) const {
    const VolkDeviceTable& vk = device_.vk;
    for (const Job& job : jobs) {
        vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job.pipeline->handle.get());
        vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job.pipeline->layout->pipeline.get(), 0, 1,
                                   &job.set, 0, nullptr);
        vk.vkCmdDispatch(commands, job.groups[0], job.groups[1], job.groups[2]);
    }
    return !jobs.empty();
}

}  // namespace tosavk
