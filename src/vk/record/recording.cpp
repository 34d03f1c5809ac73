// Records a plan into command buffers. Barriers stand where the plan says so; the ends of each buffer order it against
// the host and against what ran before.
#include "vk/record/recording.hpp"

#include "vk/record/variables.hpp"

#include <algorithm>
#include <utility>

namespace tosavk {

namespace {

constexpr auto transfer_stage = PlanWriter::transfer_stage, host_stage = PlanWriter::host_stage,
               compute_stage = PlanWriter::compute_stage;

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
      sets_(executable),
      writer_(executable, sets_, places_),
      done_(device_) {
    const Plan& plan = executable_.plan;
    inputs_bound_.resize(executable_.graph->inputs.size());
    outputs_bound_.resize(executable_.graph->outputs.size());
    make_buffers();
    sets_.write(places_);

    if (profile_) {
        const VkDevice device = device_.device.handle;
        const auto split = [](const Dispatch& dispatch) { return dispatch.submit_before; };
        const auto splits = std::count_if(plan.dispatches.begin(), plan.dispatches.end(), split);
        // A start for each command buffer, and the end of each dispatch; once something is bound, each dispatch may be
        // a command buffer of its own.
        ticks_.resize(2 * plan.dispatches.size() + plan.controls.size() + static_cast<std::size_t>(splits) + 1);
        queries_ = {device, vk_.vkDestroyQueryPool};
        VkQueryPoolCreateInfo queries{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
        queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
        queries.queryCount = static_cast<std::uint32_t>(ticks_.size());
        call("vkCreateQueryPool", vk_.vkCreateQueryPool, device, &queries, nullptr, queries_.put());
    }
    record_all();
}

void Recording::record_all() {
    UniqueHandle<VkCommandPool> made(device_.device.handle, vk_.vkDestroyCommandPool);
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = device_.queue_family;
    call("vkCreateCommandPool", vk_.vkCreateCommandPool, device_.device.handle, &pool, nullptr, made.put());
    command_pool_ = std::move(made);
    dispatch_end_.clear();
    next_query_ = 0;
    next_set_ = 0;
    recorded_ = lay_out(executable_.plan, nullptr);
    query_count_ = next_query_;
    write(recorded_, true);
}

std::uint64_t Recording::own_offset(const Placement& place) const {
    return place.offset + (place.space == Space::external ? places_.externals.offset : 0);
}

void Recording::make_buffers() {
    const Plan& plan = executable_.plan;
    const Graph& graph = *executable_.graph;
    const MemoryUse use = in_place_ ? MemoryUse::shared : MemoryUse::device;
    const std::uint64_t alignment = device_.plan.buffer_alignment;
    const std::uint64_t arena = (plan.arena_bytes + alignment - 1) / alignment * alignment;
    memory_ = Buffer(device_, arena + plan.external_bytes, use, "the arena");
    state_ = Buffer(device_, plan.state_bytes, use, "the variables");
    conditions_ = Buffer(device_, 4 * std::uint64_t{plan.decisions}, MemoryUse::staging, "the conditions");
    places_.arena = {memory_.handle(), 0};
    places_.externals = {memory_.handle(), arena};
    places_.constants = {executable_.constants.handle(), 0};
    places_.pieces = executable_.pieces;
    places_.state = {state_.handle(), 0};
    places_.conditions = {conditions_.handle(), 0};
    places_.set_slots(plan, use_);
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
            if (place.space == Space::arena || place.space == Space::external)
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

// ---- recording ----------------------------------------------------------------------------------------------------

Recording::Recorded Recording::lay_out(const Plan& plan, const RegionPlan* region) {
    Recorded recorded;
    Chunk chunk;
    chunk.plan = &plan;
    chunk.region = region;
    chunk.first_set = next_set_;
    next_set_ += plan.dispatches.size();
    for (std::size_t s = 0; s <= plan.controls.size(); ++s) {
        const bool last = s == plan.controls.size();
        std::vector<Chunk>& chunks = recorded.segments.emplace_back();
        lay_out_chunks(chunks, chunk, last ? plan.dispatches.size() : plan.controls[s].before);
        chunks.front().begins = s == 0;
        chunks.back().ends = last;
        if (region != nullptr && s == 0) chunks.front().share += submit_share(region->enter, device_.plan);
        if (region != nullptr && last) chunks.back().share += submit_share(region->leave, device_.plan);
        for (Chunk& made : chunks) made.externals = touches_externals(made);
        chunk.from = chunks.back().to;
        if (last) break;
        RecordedControl& control = recorded.controls.emplace_back();
        control.step = &plan.controls[s];
        control.prepare = new_commands();
        if (!control.step->answer.empty()) control.answer = new_commands();
        for (const RegionPlan& inner : control.step->regions) control.regions.push_back(lay_out(inner.plan, &inner));
        if (control.step->is_loop) lay_out_turns(control);
    }
    return recorded;
}

void Recording::lay_out_turns(RecordedControl& control) {
    const ControlStep& step = *control.step;
    if (step.alternates()) control.turn = {1, 2};
    else if (step.turns >= 0) control.turn = {1};
    else if (step.is_gated()) control.turn = {0, 2, 1};
    constexpr std::size_t most = 256;  // dispatches of one command buffer
    std::size_t dispatches = 0;
    double share = 0;
    for (const std::size_t r : control.turn) {
        const Recorded& region = control.regions[r];
        if (region.segments.size() != 1 || region.segments.front().size() != 1) return;
        dispatches += std::max<std::size_t>(step.regions[r].plan.dispatches.size(), 1);
        share += region.segments.front().front().share;
    }
    if (dispatches == 0) return;
    control.many = std::min<std::int64_t>(16, static_cast<std::int64_t>(most / dispatches));
    const std::int64_t turns = step.alternates() ? step.turns / 2 : std::max(step.turns, step.most);
    if (turns >= 0) control.many = std::min(control.many, turns);
    while (control.many > 1 && static_cast<double>(control.many) * share > 1) control.many /= 2;
    if (control.many <= 1) return;
    control.turns = new_commands();
    control.share = static_cast<double>(control.many) * share;
}

/// The dispatches from chunk.from to `end`; one chunk even where there is none.
void Recording::lay_out_chunks(std::vector<Chunk>& chunks, Chunk chunk, std::size_t end) {
    const std::vector<Dispatch>& dispatches = chunk.plan->dispatches;
    const bool timed = profile_ && chunk.region == nullptr;
    do {
        const auto touches = [&](std::size_t d) { return BindingSet::has_externals(dispatches[d]); };
        std::size_t to = std::min(chunk.from + 1, end);
        while (to < end && !dispatches[to].submit_before && (!split_ || touches(to) == touches(to - 1))) ++to;
        chunk.to = to;
        chunk.share = 0;
        for (std::size_t d = chunk.from; d < to; ++d) chunk.share += submit_share(dispatches[d], device_.plan);
        chunk.commands = new_commands();
        chunk.first_query = next_query_;
        if (timed) {
            next_query_ += static_cast<std::uint32_t>(1 + to - chunk.from);
            for (std::size_t d = chunk.from; d < to; ++d)
                dispatch_end_.push_back(chunk.first_query + 1 + (d - chunk.from));
        }
        chunks.push_back(chunk);
        chunk.from = to;
    } while (chunk.from < end);
}

bool Recording::touches_externals(const Chunk& chunk) const {
    if (chunk.begins || chunk.ends || !executable_.plan.controls.empty()) return true;
    const auto& dispatches = chunk.plan->dispatches;
    return std::any_of(dispatches.begin() + static_cast<std::ptrdiff_t>(chunk.from),
                       dispatches.begin() + static_cast<std::ptrdiff_t>(chunk.to), BindingSet::has_externals);
}

VkCommandBuffer Recording::new_commands() {
    VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    info.commandPool = command_pool_.get();
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    call("vkAllocateCommandBuffers", vk_.vkAllocateCommandBuffers, device_.device.handle, &info, &commands);
    return commands;
}

void Recording::begin(VkCommandBuffer commands) {
    writer_.set_commands(commands);
    VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    // A loop's body is submitted again while its last turn is under way.
    if (!executable_.plan.controls.empty()) info.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
    call("vkBeginCommandBuffer", vk_.vkBeginCommandBuffer, commands, &info);
    const bool gated = !executable_.plan.controls.empty();
    writer_.barrier(
        host_stage | compute_stage | transfer_stage,
        VK_ACCESS_HOST_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        compute_stage | transfer_stage | (gated ? VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT : 0),
        PlanWriter::shader_access | PlanWriter::transfer_access | (gated ? VK_ACCESS_INDIRECT_COMMAND_READ_BIT : 0));
}

void Recording::end() { call("vkEndCommandBuffer", vk_.vkEndCommandBuffer, writer_.commands()); }

void Recording::write(const Recorded& recorded, bool all) {
    for (const std::vector<Chunk>& chunks : recorded.segments) {
        for (const Chunk& chunk : chunks) {
            if (all || chunk.externals) write(chunk);
        }
    }
    for (const RecordedControl& control : recorded.controls) {
        begin(control.prepare);
        writer_.copies(control.step->prepare);
        end();
        if (control.answer != VK_NULL_HANDLE) {
            begin(control.answer);
            writer_.copies(control.step->answer);
            end();
        }
        for (const Recorded& region : control.regions) write(region, all);
        if (control.turns != VK_NULL_HANDLE) write_turns(control);
    }
}

void Recording::write(const Chunk& chunk) {
    begin(chunk.commands);
    write_commands(chunk);
    end();
}

void Recording::write_turns(const RecordedControl& control) {
    begin(control.turns);
    bool first = true;
    for (std::int64_t turn = 0; turn < control.many; ++turn) {
        for (const std::size_t r : control.turn) {
            if (!std::exchange(first, false))
                writer_.barrier(writer_.work_stages(), writer_.work_writes(),
                                writer_.work_stages() | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT,
                                writer_.work_access() | VK_ACCESS_INDIRECT_COMMAND_READ_BIT);
            write_commands(control.regions[r].segments.front().front());
        }
    }
    end();
}

void Recording::write_commands(const Chunk& chunk) {
    const bool timed = profile_ && chunk.region == nullptr;
    next_query_ = chunk.first_query;
    if (chunk.begins && timed)
        vk_.vkCmdResetQueryPool(writer_.commands(), queries_.get(), 0, static_cast<std::uint32_t>(ticks_.size()));
    if (chunk.begins && chunk.region == nullptr) load_inputs();
    if (chunk.begins && chunk.region != nullptr && !chunk.region->enter.empty()) {
        writer_.copies(chunk.region->enter);
        writer_.barrier(transfer_stage, VK_ACCESS_TRANSFER_WRITE_BIT, writer_.work_stages(), writer_.work_access());
    }
    if (timed) record_timestamp();
    std::function<void()> after;
    if (timed) after = [this] { record_timestamp(); };
    const bool outermost = chunk.region == nullptr;
    writer_.dispatches(*chunk.plan, chunk.first_set, chunk.from, chunk.to,
                       outermost ? std::span<const std::size_t>(use_.barriers) : std::span<const std::size_t>(), after);
    if (chunk.ends && chunk.region == nullptr) store_outputs();
    if (chunk.ends && chunk.region != nullptr && !chunk.region->leave.empty()) {
        writer_.barrier(writer_.work_stages(), writer_.work_writes(), transfer_stage, PlanWriter::transfer_access);
        writer_.copies(chunk.region->leave);
    }
}

void Recording::load_inputs() {
    const Graph& graph = *executable_.graph;
    bool copied = writer_.copies(use_.before);
    for (std::size_t i = 0; i < staged_inputs_.size(); ++i) {
        if (!staged_inputs_[i] || inputs_bound_[i]) continue;
        const Placement& place = executable_.plan.placements[graph.inputs[i]];
        writer_.copy({staging_.handle(), *staged_inputs_[i]}, {memory_.handle(), own_offset(place)}, place.size);
        copied = true;
    }
    if (!copied) return;
    writer_.barrier(transfer_stage, VK_ACCESS_TRANSFER_WRITE_BIT, compute_stage | transfer_stage,
                    PlanWriter::shader_access | VK_ACCESS_TRANSFER_READ_BIT);
}

void Recording::store_outputs() {
    const Graph& graph = *executable_.graph;
    const bool staged = !in_place_ && !graph.outputs.empty();
    VkPipelineStageFlags readers = host_stage;
    VkAccessFlags reads = VK_ACCESS_HOST_READ_BIT;
    if (staged || !use_.after.empty()) readers |= transfer_stage, reads |= VK_ACCESS_TRANSFER_READ_BIT;
    writer_.barrier(writer_.work_stages(), writer_.work_writes(), readers, reads);
    bool copied = writer_.copies(use_.after), settled = false;
    for (std::size_t o = 0; o < staged_outputs_.size(); ++o) {
        if (!staged_outputs_[o] || outputs_bound_[o]) continue;
        if (copied && !settled) {
            writer_.barrier(transfer_stage, VK_ACCESS_TRANSFER_WRITE_BIT, transfer_stage, VK_ACCESS_TRANSFER_READ_BIT);
        }
        settled = true;
        const Placement& place = executable_.plan.placements[graph.outputs[o]];
        writer_.copy({memory_.handle(), own_offset(place)}, {staging_.handle(), *staged_outputs_[o]}, place.size);
        copied = true;
    }
    if (copied) writer_.barrier(transfer_stage, VK_ACCESS_TRANSFER_WRITE_BIT, host_stage, VK_ACCESS_HOST_READ_BIT);
}

void Recording::record_timestamp() {
    vk_.vkCmdWriteTimestamp(writer_.commands(), VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, queries_.get(), next_query_++);
}

void Recording::bind(ExternalUse use, std::vector<bool> inputs_bound, std::vector<bool> outputs_bound) {
    use_ = std::move(use);
    inputs_bound_ = std::move(inputs_bound);
    outputs_bound_ = std::move(outputs_bound);
    places_.set_slots(executable_.plan, use_);
    sets_.write_externals(places_);
    if (split_) return write(recorded_, false);
    split_ = true;
    try {
        record_all();
    } catch (...) {
        split_ = false;
        throw;
    }
}

// ---- the host's side ----------------------------------------------------------------------------------------------

void Recording::reset_variables() { upload_initial_values(device_, *executable_.graph, executable_.plan, state_); }

void Recording::write_variable(std::size_t index, std::span<const std::byte> bytes) {
    upload(device_, state_, executable_.plan.variables[index].offset, bytes);
}

void Recording::read_variable(std::size_t index, std::span<std::byte> bytes) const {
    download(device_, state_, executable_.plan.variables[index].offset, bytes);
}

void Recording::write_input(std::size_t index, std::span<const std::byte> bytes) { write_input_bytes(index, 0, bytes); }

void Recording::write_input_bytes(std::size_t index, std::uint64_t at, std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const std::uint64_t offset = own_offset(executable_.plan.placements[executable_.graph->inputs[index]]) + at;
    if (in_place_) memory_.write(offset, bytes);
    else if (staged_inputs_[index]) staging_.write(*staged_inputs_[index] + at, bytes);
    else transfer_->upload(memory_, offset, bytes);
}

void Recording::read_output(std::size_t index, std::span<std::byte> bytes) const {
    if (bytes.empty()) return;
    const std::uint64_t offset = own_offset(executable_.plan.placements[executable_.graph->outputs[index]]);
    if (in_place_) memory_.read(offset, bytes);
    else if (staged_outputs_[index]) staging_.read(*staged_outputs_[index], bytes);
    else transfer_->download(memory_, offset, bytes);
}

void Recording::read(const Placement& place, std::span<std::byte> bytes) const {
    download(device_, memory_, own_offset(place), bytes);
}

void Recording::read_timestamps(std::vector<double>& result) const {
    result.clear();
    if (!profile_) {
        return;
    }
    call("vkGetQueryPoolResults", vk_.vkGetQueryPoolResults, device_.device.handle, queries_.get(), 0u, query_count_,
         query_count_ * sizeof(std::uint64_t), ticks_.data(), VkDeviceSize{sizeof(std::uint64_t)},
         VkQueryResultFlags{VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT});
    const std::uint32_t bits = device_.caps.timestamp_valid_bits;
    const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    for (const std::size_t end : dispatch_end_) {
        const std::uint64_t ticks = (ticks_[end] - ticks_[end - 1]) & mask;
        result.push_back(static_cast<double>(ticks) * device_.caps.timestamp_period_ns);
    }
}

}  // namespace tosavk
