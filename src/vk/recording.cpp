// Records a plan into one command buffer. Barriers stand where the plan says so; the ends of the buffer order it
// against the host and against the run before.
#include "vk/recording.hpp"

#include <algorithm>

namespace tosavk {

namespace {

constexpr VkPipelineStageFlags compute_stage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
constexpr VkPipelineStageFlags transfer_stage = VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkPipelineStageFlags host_stage = VK_PIPELINE_STAGE_HOST_BIT;
constexpr VkAccessFlags shader_access = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;

std::uint64_t byte_count(const Value& value) {
    return static_cast<std::uint64_t>(element_count(value.shape)) * size_of(value.type);
}

}  // namespace

Recording::Recording(const ExecutableState& executable, bool profile)
    : executable_(executable),
      device_(executable.device->state()),
      vk_(device_.vk),
      in_place_(device_.plan.map_in_place),
      profile_(profile && device_.caps.timestamp_valid_bits > 0 && !executable.plan.dispatches.empty()) {
    make_buffers();
    make_descriptor_sets();

    const VkDevice device = device_.device.handle;
    command_pool_ = {device, vk_.vkDestroyCommandPool};
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.queueFamilyIndex = device_.queue_family;
    call("vkCreateCommandPool", vk_.vkCreateCommandPool, device, &pool, nullptr, command_pool_.put());
    VkCommandBufferAllocateInfo commands{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    commands.commandPool = command_pool_.get();
    commands.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    commands.commandBufferCount = 1;
    call("vkAllocateCommandBuffers", vk_.vkAllocateCommandBuffers, device, &commands, &commands_);

    fence_ = {device, vk_.vkDestroyFence};
    VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    call("vkCreateFence", vk_.vkCreateFence, device, &fence, nullptr, fence_.put());

    if (profile_) {
        ticks_.resize(executable_.plan.dispatches.size() + 1);
        queries_ = {device, vk_.vkDestroyQueryPool};
        VkQueryPoolCreateInfo queries{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
        queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
        queries.queryCount = static_cast<std::uint32_t>(ticks_.size());
        call("vkCreateQueryPool", vk_.vkCreateQueryPool, device, &queries, nullptr, queries_.put());
    }
    record();
}

Recording::~Recording() {
    if (pending_) {  // the device must be done before anything is freed
        const VkFence fence = fence_.get();
        vk_.vkWaitForFences(device_.device.handle, 1, &fence, VK_TRUE, UINT64_MAX);
    }
}

void Recording::make_buffers() {
    const Plan& plan = executable_.plan;
    const Graph& graph = *executable_.graph;
    arena_ = Buffer(device_, plan.arena_bytes, in_place_ ? MemoryUse::shared : MemoryUse::device, "the arena");
    std::uint64_t used = 0;
    if (!in_place_) {
        const auto reserve = [&](const Placement& place) {
            const std::uint64_t offset = used;
            const std::uint64_t size = place.space == Space::arena ? place.size : 0;
            used += (size + device_.plan.buffer_alignment - 1) / device_.plan.buffer_alignment *
                    device_.plan.buffer_alignment;
            return offset;
        };
        for (const ValueId id : graph.inputs) {
            staged_inputs_.push_back(reserve(plan.placements[id]));
        }
        for (const ValueId id : graph.outputs) {
            staged_outputs_.push_back(reserve(plan.placements[id]));
        }
        staging_ = Buffer(device_, used, MemoryUse::staging, "the buffer of inputs and outputs");
    }
    // Kernels read the padding of a tensor; the same bits every time.
    const Bytes zeros(16);
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
        const Placement& place = plan.placements[graph.inputs[i]];
        const std::uint64_t bytes = byte_count(graph.value(graph.inputs[i]));
        const std::uint64_t start = in_place_ ? place.offset : staged_inputs_[i];
        for (std::uint64_t at = bytes; at < place.size; at += zeros.size()) {
            const std::uint64_t part = std::min<std::uint64_t>(zeros.size(), place.size - at);
            (in_place_ ? arena_ : staging_).write(start + at, std::span(zeros).first(part));
        }
    }
}

void Recording::make_descriptor_sets() {
    const Plan& plan = executable_.plan;
    if (plan.dispatches.empty()) {
        return;
    }
    const VkDevice device = device_.device.handle;
    std::uint32_t buffers = 0;
    std::vector<VkDescriptorSetLayout> layouts;
    for (std::size_t d = 0; d < plan.dispatches.size(); ++d) {
        buffers += static_cast<std::uint32_t>(plan.dispatches[d].bindings.size());
        layouts.push_back(executable_.pipelines[d]->layout->set.get());
    }
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers};
    VkDescriptorPoolCreateInfo pool{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = static_cast<std::uint32_t>(layouts.size());
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    descriptor_pool_ = {device, vk_.vkDestroyDescriptorPool};
    call("vkCreateDescriptorPool", vk_.vkCreateDescriptorPool, device, &pool, nullptr, descriptor_pool_.put());

    sets_.resize(layouts.size());
    VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = descriptor_pool_.get();
    allocate.descriptorSetCount = static_cast<std::uint32_t>(layouts.size());
    allocate.pSetLayouts = layouts.data();
    call("vkAllocateDescriptorSets", vk_.vkAllocateDescriptorSets, device, &allocate, sets_.data());

    for (std::size_t d = 0; d < plan.dispatches.size(); ++d) {
        std::vector<VkDescriptorBufferInfo> infos;
        for (const Binding& binding : plan.dispatches[d].bindings) {
            const Buffer& buffer = binding.place.space == Space::arena ? arena_ : executable_.constants;
            infos.push_back({buffer.handle(), binding.place.offset, binding.place.size});
        }
        VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
        write.dstSet = sets_[d];
        write.descriptorCount = static_cast<std::uint32_t>(infos.size());  // runs on over the bindings 0..
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = infos.data();
        vk_.vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);
    }
}

void Recording::barrier(VkPipelineStageFlags from, VkAccessFlags made, VkPipelineStageFlags to, VkAccessFlags used) {
    VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    memory.srcAccessMask = made;
    memory.dstAccessMask = used;
    vk_.vkCmdPipelineBarrier(commands_, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

void Recording::copy(const Buffer& from, const Buffer& to, std::uint64_t from_offset, std::uint64_t to_offset,
                     std::uint64_t size) {
    const VkBufferCopy region{from_offset, to_offset, size};
    vk_.vkCmdCopyBuffer(commands_, from.handle(), to.handle(), 1, &region);
}

void Recording::record() {
    const Plan& plan = executable_.plan;
    const Graph& graph = *executable_.graph;
    VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    call("vkBeginCommandBuffer", vk_.vkBeginCommandBuffer, commands_, &begin);
    if (profile_) {
        vk_.vkCmdResetQueryPool(commands_, queries_.get(), 0, static_cast<std::uint32_t>(ticks_.size()));
    }
    barrier(host_stage | compute_stage | transfer_stage,
            VK_ACCESS_HOST_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
            compute_stage | transfer_stage, shader_access | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    if (!in_place_ && !graph.inputs.empty()) {
        for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
            const Placement& place = plan.placements[graph.inputs[i]];
            copy(staging_, arena_, staged_inputs_[i], place.offset, place.size);
        }
        barrier(transfer_stage, VK_ACCESS_TRANSFER_WRITE_BIT, compute_stage | transfer_stage,
                shader_access | VK_ACCESS_TRANSFER_READ_BIT);
    }
    record_dispatches();
    if (in_place_) {
        barrier(compute_stage, VK_ACCESS_SHADER_WRITE_BIT, host_stage, VK_ACCESS_HOST_READ_BIT);
    } else {
        barrier(compute_stage, VK_ACCESS_SHADER_WRITE_BIT, transfer_stage, VK_ACCESS_TRANSFER_READ_BIT);
        for (std::size_t o = 0; o < graph.outputs.size(); ++o) {
            const Placement& place = plan.placements[graph.outputs[o]];
            if (place.space == Space::arena) {
                copy(arena_, staging_, place.offset, staged_outputs_[o], place.size);
            }
        }
        barrier(transfer_stage, VK_ACCESS_TRANSFER_WRITE_BIT, host_stage, VK_ACCESS_HOST_READ_BIT);
    }
    call("vkEndCommandBuffer", vk_.vkEndCommandBuffer, commands_);
}

void Recording::record_dispatches() {
    const Plan& plan = executable_.plan;
    const auto timestamp = [&](std::size_t query) {
        if (profile_) {
            vk_.vkCmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, queries_.get(),
                                    static_cast<std::uint32_t>(query));
        }
    };
    const Pipeline* bound = nullptr;
    timestamp(0);
    for (std::size_t d = 0; d < plan.dispatches.size(); ++d) {
        const Dispatch& dispatch = plan.dispatches[d];
        if (dispatch.barrier_before || (profile_ && d > 0)) {
            barrier(compute_stage, VK_ACCESS_SHADER_WRITE_BIT, compute_stage, shader_access);
        }
        const Pipeline& pipeline = *executable_.pipelines[d];
        if (bound != &pipeline) {
            vk_.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle.get());
            bound = &pipeline;
        }
        vk_.vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout->pipeline.get(), 0, 1,
                                    &sets_[d], 0, nullptr);
        vk_.vkCmdDispatch(commands_, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
        timestamp(d + 1);
    }
}

void Recording::write_input(std::size_t index, std::span<const std::byte> bytes) {
    if (in_place_) {
        arena_.write(executable_.plan.placements[executable_.graph->inputs[index]].offset, bytes);
    } else {
        staging_.write(staged_inputs_[index], bytes);
    }
}

void Recording::read_output(std::size_t index, std::span<std::byte> bytes) const {
    if (in_place_) {
        arena_.read(executable_.plan.placements[executable_.graph->outputs[index]].offset, bytes);
    } else {
        staging_.read(staged_outputs_[index], bytes);
    }
}

void Recording::read_arena(std::uint64_t offset, std::span<std::byte> bytes) const {
    download(device_, arena_, offset, bytes);
}

void Recording::submit() {
    const VkFence fence = fence_.get();
    call("vkResetFences", vk_.vkResetFences, device_.device.handle, 1u, &fence);
    device_.submit(commands_, fence);
    pending_ = true;
}

void Recording::wait() {
    device_.wait(fence_.get());
    pending_ = false;
}

void Recording::read_timestamps(std::vector<double>& result) const {
    result.clear();
    if (!profile_) {
        return;
    }
    call("vkGetQueryPoolResults", vk_.vkGetQueryPoolResults, device_.device.handle, queries_.get(), 0u,
         static_cast<std::uint32_t>(ticks_.size()), ticks_.size() * sizeof(std::uint64_t), ticks_.data(),
         VkDeviceSize{sizeof(std::uint64_t)}, VkQueryResultFlags{VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT});
    const std::uint32_t bits = device_.caps.timestamp_valid_bits;
    const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    for (std::size_t d = 0; d + 1 < ticks_.size(); ++d) {
        const std::uint64_t ticks = (ticks_[d + 1] - ticks_[d]) & mask;
        result.push_back(static_cast<double>(ticks) * device_.caps.timestamp_period_ns);
    }
}

}  // namespace tosavk
