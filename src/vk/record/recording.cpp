// Records a plan into command buffers. Barriers stand where the plan says so; the ends of each buffer order it against
// the host and against what ran before.
#include "vk/record/recording.hpp"

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
      profile_(profile && device_.caps.timestamp_valid_bits > 0 && !executable.plan.dispatches.empty()),
      done_(device_) {
    const Plan& plan = executable_.plan;
    const bool copies = plan.control_count > 0 || plan.state_bytes > 0;
    work_stages_ = compute_stage | (copies ? transfer_stage : 0);
    work_writes_ = VK_ACCESS_SHADER_WRITE_BIT | (copies ? VK_ACCESS_TRANSFER_WRITE_BIT : 0);
    work_access_ = shader_access | (copies ? VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT : 0);
    make_buffers();
    make_descriptor_sets();

    const VkDevice device = device_.device.handle;
    command_pool_ = {device, vk_.vkDestroyCommandPool};
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.queueFamilyIndex = device_.queue_family;
    call("vkCreateCommandPool", vk_.vkCreateCommandPool, device, &pool, nullptr, command_pool_.put());
    if (profile_) {
        const auto split = [](const Dispatch& dispatch) { return dispatch.submit_before; };
        const auto splits = std::count_if(plan.dispatches.begin(), plan.dispatches.end(), split);
        // A start for each command buffer, and the end of each dispatch.
        ticks_.resize(plan.dispatches.size() + plan.controls.size() + static_cast<std::size_t>(splits) + 1);
        queries_ = {device, vk_.vkDestroyQueryPool};
        VkQueryPoolCreateInfo queries{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
        queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
        queries.queryCount = static_cast<std::uint32_t>(ticks_.size());
        call("vkCreateQueryPool", vk_.vkCreateQueryPool, device, &queries, nullptr, queries_.put());
    }
    recorded_ = record(plan, nullptr);
}

void Recording::make_buffers() {
    const Plan& plan = executable_.plan;
    const Graph& graph = *executable_.graph;
    arena_ = Buffer(device_, plan.arena_bytes, in_place_ ? MemoryUse::shared : MemoryUse::device, "the arena");
    state_ = Buffer(device_, plan.state_bytes, in_place_ ? MemoryUse::shared : MemoryUse::device, "the variables");
    conditions_ = Buffer(device_, 4 * std::uint64_t{plan.control_count}, MemoryUse::staging, "the conditions");
    reset_variables();
    if (!in_place_) make_staging();
    // Kernels read the padding of a tensor; the same bits every time.
    const Bytes zeros(16);
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
        const Placement& place = plan.placements[graph.inputs[i]];
        const std::uint64_t bytes = byte_count(graph.value(graph.inputs[i]));
        for (std::uint64_t at = bytes; at < place.size; at += zeros.size()) {
            write_input_bytes(i, at, std::span(zeros).first(std::min<std::uint64_t>(zeros.size(), place.size - at)));
        }
    }
}

/// Small inputs and outputs travel with the run's own commands; what finds no room in half of the bound goes in pieces,
/// when it is set or asked for.
void Recording::make_staging() {
    const Plan& plan = executable_.plan;
    const Graph& graph = *executable_.graph;
    const std::uint64_t alignment = device_.plan.buffer_alignment;
    struct Wish {
        std::uint64_t bytes;
        std::optional<std::uint64_t>* offset;
    };
    std::vector<Wish> wishes;
    const auto collect = [&](const std::vector<ValueId>& ids, std::vector<std::optional<std::uint64_t>>& offsets) {
        offsets.resize(ids.size());
        for (std::size_t k = 0; k < ids.size(); ++k) {
            const Placement& place = plan.placements[ids[k]];
            if (place.space == Space::arena)
                wishes.push_back({(place.size + alignment - 1) / alignment * alignment, &offsets[k]});
        }
    };
    collect(graph.inputs, staged_inputs_);
    collect(graph.outputs, staged_outputs_);
    std::sort(wishes.begin(), wishes.end(), [](const Wish& a, const Wish& b) {
        return a.bytes != b.bytes ? a.bytes < b.bytes : a.offset < b.offset;
    });
    std::uint64_t wanted = 0, used = 0;
    for (const Wish& wish : wishes) wanted += wish.bytes;
    const std::uint64_t bound = device_.plan.staging_bytes;
    const std::uint64_t room = wanted <= bound ? bound : bound / 2;
    for (const Wish& wish : wishes) {
        if (used + wish.bytes > room) break;
        *wish.offset = used;
        used += wish.bytes;
    }
    staging_ = Buffer(device_, used, MemoryUse::staging, "the buffer of inputs and outputs");
    if (used < wanted) transfer_ = std::make_unique<Transfer>(device_, bound - used, "the staging ring");
}

void Recording::make_descriptor_sets() {
    std::map<VkDescriptorType, std::uint32_t> counts;
    std::vector<VkDescriptorSetLayout> layouts;
    std::vector<const Dispatch*> dispatches;  // null for copies
    for_each_dispatch(executable_.plan, [&](const Dispatch& dispatch) {
        dispatches.push_back(dispatch.is_copy() ? nullptr : &dispatch);
        if (dispatch.is_copy()) {
            return;
        }
        for (const Binding& binding : dispatch.bindings) ++counts[descriptor_type(binding)];
        layouts.push_back(executable_.pipelines[dispatches.size() - 1]->layout->set.get());
    });
    sets_.resize(dispatches.size(), VK_NULL_HANDLE);
    if (layouts.empty()) {
        return;
    }
    const VkDevice device = device_.device.handle;
    std::vector<VkDescriptorPoolSize> sizes;
    for (const auto& [type, count] : counts) sizes.push_back({type, count});
    VkDescriptorPoolCreateInfo pool{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = static_cast<std::uint32_t>(layouts.size());
    pool.poolSizeCount = static_cast<std::uint32_t>(sizes.size());
    pool.pPoolSizes = sizes.data();
    descriptor_pool_ = {device, vk_.vkDestroyDescriptorPool};
    call("vkCreateDescriptorPool", vk_.vkCreateDescriptorPool, device, &pool, nullptr, descriptor_pool_.put());

    std::vector<VkDescriptorSet> made(layouts.size());
    VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = descriptor_pool_.get();
    allocate.descriptorSetCount = static_cast<std::uint32_t>(layouts.size());
    allocate.pSetLayouts = layouts.data();
    call("vkAllocateDescriptorSets", vk_.vkAllocateDescriptorSets, device, &allocate, made.data());

    auto next = made.begin();
    for (std::size_t d = 0; d < dispatches.size(); ++d) {
        if (dispatches[d] == nullptr) {
            continue;
        }
        sets_[d] = *next++;
        write_descriptor_set(sets_[d], *dispatches[d]);
    }
}

void Recording::write_descriptor_set(VkDescriptorSet set, const Dispatch& dispatch) {
    const std::size_t count = dispatch.bindings.size();
    std::vector<VkDescriptorBufferInfo> buffers(count);
    std::vector<VkBufferView> views(count, VK_NULL_HANDLE);
    std::vector<VkWriteDescriptorSet> writes(count, {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET});
    for (std::uint32_t b = 0; b < count; ++b) {
        const Binding& binding = dispatch.bindings[b];
        writes[b].dstSet = set;
        writes[b].dstBinding = b;
        writes[b].descriptorCount = 1;
        writes[b].descriptorType = descriptor_type(binding);
        if (is_texels(binding.path)) {
            views[b] = texels_of(binding);
            writes[b].pTexelBufferView = &views[b];
        } else {
            buffers[b] = {buffer_of(binding.place).handle(), binding.place.offset, binding.place.size};
            writes[b].pBufferInfo = &buffers[b];
        }
    }
    vk_.vkUpdateDescriptorSets(device_.device.handle, static_cast<std::uint32_t>(count), writes.data(), 0, nullptr);
}

VkBufferView Recording::texels_of(const Binding& binding) {
    const std::uint32_t bytes = texel_bytes(binding.type, binding.path);
    const VkBuffer buffer = buffer_of(binding.place).handle();
    UniqueHandle<VkBufferView>& view = texel_views_[{buffer, binding.place.offset, binding.place.size, bytes}];
    if (view.get() == VK_NULL_HANDLE) {
        VkBufferViewCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO};
        info.buffer = buffer;
        info.format = bytes == 4 ? VK_FORMAT_R32_SINT
                    : bytes == 8 ? VK_FORMAT_R32G32_SINT
                                 : VK_FORMAT_R32G32B32A32_SINT;
        info.offset = binding.place.offset;
        info.range = binding.place.size;
        view = {device_.device.handle, vk_.vkDestroyBufferView};
        call("vkCreateBufferView", vk_.vkCreateBufferView, device_.device.handle, &info, nullptr, view.put());
    }
    return view.get();
}

const Buffer& Recording::buffer_of(const Placement& place) const {
    switch (place.space) {
        case Space::constants: return executable_.constants;
        case Space::state: return state_;
        case Space::host: return conditions_;
        default: return arena_;
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

void Recording::begin() {
    VkCommandBufferAllocateInfo commands{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    commands.commandPool = command_pool_.get();
    commands.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    commands.commandBufferCount = 1;
    call("vkAllocateCommandBuffers", vk_.vkAllocateCommandBuffers, device_.device.handle, &commands, &commands_);
    VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    call("vkBeginCommandBuffer", vk_.vkBeginCommandBuffer, commands_, &info);
    barrier(host_stage | compute_stage | transfer_stage,
            VK_ACCESS_HOST_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
            compute_stage | transfer_stage, shader_access | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
}

VkCommandBuffer Recording::end() {
    call("vkEndCommandBuffer", vk_.vkEndCommandBuffer, commands_);
    return commands_;
}

Recording::Recorded Recording::record(const Plan& plan, const RegionPlan* region) {
    Recorded recorded;
    const std::size_t first_set = next_set_;
    next_set_ += plan.dispatches.size();
    const bool timed = profile_ && region == nullptr;
    std::size_t done = 0;
    for (std::size_t s = 0; s <= plan.controls.size(); ++s) {
        const bool last = s == plan.controls.size();
        const std::size_t end_at = last ? plan.dispatches.size() : plan.controls[s].before;
        std::vector<Chunk>& chunks = recorded.segments.emplace_back();
        do {
            std::size_t to = std::min(done + 1, end_at);
            while (to < end_at && !plan.dispatches[to].submit_before) ++to;
            begin();
            if (done == 0 && s == 0) {
                if (timed)
                    vk_.vkCmdResetQueryPool(commands_, queries_.get(), 0, static_cast<std::uint32_t>(ticks_.size()));
                if (region == nullptr) load_inputs();
                if (region != nullptr && !region->enter.empty()) {
                    record_copies(region->enter);
                    barrier(transfer_stage, VK_ACCESS_TRANSFER_WRITE_BIT, work_stages_, work_access_);
                }
            }
            record_dispatches(plan, first_set, done, to, timed);
            if (last && to == end_at && region == nullptr) store_outputs();
            if (last && to == end_at && region != nullptr && !region->leave.empty()) {
                barrier(work_stages_, work_writes_, transfer_stage,
                        VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
                record_copies(region->leave);
            }
            Chunk& chunk = chunks.emplace_back();
            chunk.commands = end();
            for (; done < to; ++done) chunk.share += submit_share(plan.dispatches[done], device_.plan);
        } while (done < end_at);
        if (!last) recorded.controls.push_back(record_control(plan.controls[s]));
    }
    return recorded;
}

Recording::RecordedControl Recording::record_control(const ControlStep& control) {
    RecordedControl recorded;
    recorded.step = &control;
    begin();
    record_copies(control.prepare);
    recorded.prepare = end();
    for (const RegionPlan& region : control.regions) recorded.regions.push_back(record(region.plan, &region));
    return recorded;
}

/// What goes to the host is made visible to it.
void Recording::record_copies(const std::vector<Copy>& copies) {
    bool to_host = false;
    for (const Copy& c : copies) {
        copy(buffer_of(c.from), buffer_of(c.to), c.from.offset, c.to.offset, std::min(c.from.size, c.to.size));
        to_host = to_host || c.to.space == Space::host;
    }
    if (to_host) {
        barrier(transfer_stage, VK_ACCESS_TRANSFER_WRITE_BIT, host_stage, VK_ACCESS_HOST_READ_BIT);
    }
}

void Recording::load_inputs() {
    const Graph& graph = *executable_.graph;
    if (in_place_ || graph.inputs.empty()) {
        return;
    }
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
        const Placement& place = executable_.plan.placements[graph.inputs[i]];
        if (staged_inputs_[i]) copy(staging_, arena_, *staged_inputs_[i], place.offset, place.size);
    }
    barrier(transfer_stage, VK_ACCESS_TRANSFER_WRITE_BIT, compute_stage | transfer_stage,
            shader_access | VK_ACCESS_TRANSFER_READ_BIT);
}

void Recording::store_outputs() {
    if (in_place_) {
        barrier(work_stages_, work_writes_, host_stage, VK_ACCESS_HOST_READ_BIT);
        return;
    }
    const Graph& graph = *executable_.graph;
    barrier(work_stages_, work_writes_, transfer_stage, VK_ACCESS_TRANSFER_READ_BIT);
    for (std::size_t o = 0; o < graph.outputs.size(); ++o) {
        const Placement& place = executable_.plan.placements[graph.outputs[o]];
        if (staged_outputs_[o]) copy(arena_, staging_, place.offset, *staged_outputs_[o], place.size);
    }
    barrier(transfer_stage, VK_ACCESS_TRANSFER_WRITE_BIT, host_stage, VK_ACCESS_HOST_READ_BIT);
}

void Recording::record_timestamp() {
    vk_.vkCmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, queries_.get(), next_query_++);
}

void Recording::record_dispatches(const Plan& plan, std::size_t first_set, std::size_t from, std::size_t to,
                                  bool timed) {
    const auto ends = [&] {
        if (!timed) return;
        dispatch_end_.push_back(next_query_);
        record_timestamp();
    };
    const Pipeline* bound = nullptr;
    if (timed) record_timestamp();
    for (std::size_t d = from; d < to; ++d) {
        const Dispatch& dispatch = plan.dispatches[d];
        if (dispatch.barrier_before || (timed && d > from)) {
            barrier(work_stages_, work_writes_, work_stages_, work_access_);
        }
        if (dispatch.is_copy()) {
            const Placement &source = dispatch.bindings[0].place, &target = dispatch.bindings[1].place;
            copy(buffer_of(source), buffer_of(target), source.offset, target.offset,
                 std::min(source.size, target.size));
            ends();
            continue;
        }
        const Pipeline& pipeline = *executable_.pipelines[first_set + d];
        if (bound != &pipeline) {
            vk_.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle.get());
            bound = &pipeline;
        }
        vk_.vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout->pipeline.get(), 0, 1,
                                    &sets_[first_set + d], 0, nullptr);
        vk_.vkCmdDispatch(commands_, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
        ends();
    }
}

// ---- running ------------------------------------------------------------------------------------------------------

/// The plan's command buffers, up to where the host must decide.
void Recording::enqueue(const Recorded& recorded) {
    for (std::size_t s = 0; s < recorded.segments.size(); ++s) {
        for (const Chunk& chunk : recorded.segments[s]) {
            if (!queued_.empty() && queued_share_ > 0 && queued_share_ + chunk.share > 1) flush(false);
            queued_.push_back(chunk.commands);
            queued_share_ += chunk.share;
        }
        if (s < recorded.controls.size()) decide(recorded.controls[s]);
    }
}

void Recording::decide(const RecordedControl& control) {
    queued_.push_back(control.prepare);
    if (!control.step->is_loop) {
        const bool taken = condition(*control.step);
        enqueue(control.regions[taken ? 0 : 1]);
        return;
    }
    // The condition of a turn is computed in the submit of the turn before.
    enqueue(control.regions[0]);
    while (condition(*control.step)) {
        enqueue(control.regions[1]);
        enqueue(control.regions[0]);
    }
}

bool Recording::condition(const ControlStep& control) {
    flush(true);
    wait(Completion::forever);
    std::byte bytes[4];
    conditions_.read(control.condition.offset, bytes);
    return bytes[0] != std::byte{0};
}

/// `last`: somebody waits before more is submitted.
void Recording::flush(bool last) {
    done_.submit(queued_, last);
    ++submits_;
    queued_.clear();
    queued_share_ = 0;
}

void Recording::submit() {
    wait(Completion::forever);  // of a run that failed between two submits
    queued_.clear();
    queued_share_ = 0;
    enqueue(recorded_);
    flush(true);
}

void Recording::abandon() noexcept {
    try {
        wait(Completion::forever);
    } catch (...) {  // a lost device runs nothing any more
    }
}

// ---- the host's side ----------------------------------------------------------------------------------------------

void Recording::reset_variables() {
    const Graph& graph = *executable_.graph;
    if (graph.variables.empty()) {
        return;
    }
    Bytes bytes(state_.size());
    for (std::size_t v = 0; v < graph.variables.size(); ++v) {
        if (const auto& initial = graph.variables[v].initial) {
            std::copy(initial->begin(), initial->end(),
                      bytes.begin() + static_cast<std::ptrdiff_t>(executable_.plan.variables[v].offset));
        }
    }
    upload(device_, state_, 0, bytes);
}

void Recording::write_variable(std::size_t index, std::span<const std::byte> bytes) {
    upload(device_, state_, executable_.plan.variables[index].offset, bytes);
}

void Recording::read_variable(std::size_t index, std::span<std::byte> bytes) const {
    download(device_, state_, executable_.plan.variables[index].offset, bytes);
}

void Recording::write_input(std::size_t index, std::span<const std::byte> bytes) { write_input_bytes(index, 0, bytes); }

void Recording::write_input_bytes(std::size_t index, std::uint64_t at, std::span<const std::byte> bytes) {
    const std::uint64_t in_arena = executable_.plan.placements[executable_.graph->inputs[index]].offset + at;
    if (in_place_) arena_.write(in_arena, bytes);
    else if (staged_inputs_[index]) staging_.write(*staged_inputs_[index] + at, bytes);
    else transfer_->upload(arena_, in_arena, bytes);
}

void Recording::read_output(std::size_t index, std::span<std::byte> bytes) const {
    const std::uint64_t in_arena = executable_.plan.placements[executable_.graph->outputs[index]].offset;
    if (in_place_) arena_.read(in_arena, bytes);
    else if (staged_outputs_[index]) staging_.read(*staged_outputs_[index], bytes);
    else transfer_->download(arena_, in_arena, bytes);
}

void Recording::read_arena(std::uint64_t offset, std::span<std::byte> bytes) const {
    download(device_, arena_, offset, bytes);
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
    for (const std::size_t end : dispatch_end_) {
        const std::uint64_t ticks = (ticks_[end] - ticks_[end - 1]) & mask;
        result.push_back(static_cast<double>(ticks) * device_.caps.timestamp_period_ns);
    }
}

}  // namespace tosavk
