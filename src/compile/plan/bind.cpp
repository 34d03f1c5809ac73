// Where values lie, what each dispatch binds, and where barriers and submits go.
#include "compile/plan/planner.hpp"

#include "compile/group/fuse.hpp"
#include "kernels/common/tensors.hpp"
#include "ops/storage.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {
namespace {

/// An input or output without elements, which has no place.
bool is_empty(const Value& value) { return value.type != DType::shape && has_no_elements(value.shape); }

std::uint64_t value_bytes(const Value& value) {
    return allocation_bytes(static_cast<std::uint64_t>(element_count(value.shape)) * size_of(value.type), value.type);
}

}  // namespace

void Planner::touch_scratch(std::size_t index, std::int64_t step) {
    Interval& interval = scratch_[index].interval;
    interval.last = std::max(interval.last, step);
}

void Planner::touch(ValueId id, std::int64_t step) {
    if (id == no_id) return;
    const ValueId owner = homes_[id].owner;
    first_[owner] = std::min(first_[owner], step);
    last_[owner] = std::max(last_[owner], step);
}

void Planner::place_arena() {
    const std::int64_t end = step_;
    // Inputs keep their bytes between runs; outputs stay until they are read. A region's inputs are set for each run,
    // and those that it does not use have no place.
    for (const ValueId id : graph_.inputs) {
        first_[id] = -1;
        if (!parent_) last_[id] = end;
    }
    for (const ValueId id : graph_.outputs) {
        const ValueId owner = homes_[id].owner;
        // What such a body leaves is there before a turn, and after one that does not run.
        first_[owner] = part_ == Part::body_apart ? -1 : std::min(first_[owner], end);
        last_[owner] = end;
    }
    if (!parent_) place_externals();
    else if (plan_.options.fuse && plan_.options.alias_lists) place_handed();
    std::vector<Interval> intervals;
    std::vector<ValueId> owners;
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
        if (last_[id] < 0 || graph_.value(id).is_constant() || is_empty(graph_.value(id))) continue;
        if (plan_.placements[id].space == Space::external) continue;
        const bool keep = plan_.options.keep_all;
        intervals.push_back({keep ? -1 : first_[id], keep ? end : last_[id], value_bytes(graph_.value(id))});
        owners.push_back(id);
    }
    for (const Scratch& scratch : scratch_) intervals.push_back(scratch.interval);
    intervals.insert(intervals.end(), control_memory_.begin(), control_memory_.end());
    plan_.arena_bytes = assign_offsets(intervals, device_.buffer_alignment);
    plan_.peak_lower_bound = live_bytes_bound(intervals, device_.buffer_alignment);
    for (std::size_t i = 0; i < owners.size(); ++i) {
        plan_.placements[owners[i]] = {Space::arena, intervals[i].offset, intervals[i].size};
    }
    for (std::size_t i = 0; i < scratch_.size(); ++i) {
        const Interval& interval = intervals[owners.size() + i];
        scratch_[i].place = {Space::arena, interval.offset, interval.size};
    }
    std::copy(intervals.begin() + static_cast<std::ptrdiff_t>(owners.size() + scratch_.size()), intervals.end(),
              control_memory_.begin());
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
        const ValueId owner = homes_[id].owner;
        if (owner != id) plan_.placements[id] = place_within(id);
    }
}

void Planner::place_slot(ValueId owner) {
    Placement& slot = plan_.placements[owner];
    if (slot.space != Space::none || graph_.value(owner).is_constant() || is_empty(graph_.value(owner))) return;
    slot = {Space::external, plan_.external_bytes, value_bytes(graph_.value(owner))};
    plan_.external_bytes += align(slot.size);
    plan_.externals.push_back(slot);
}

void Planner::place_externals() {
    for (const ValueId id : graph_.inputs) place_slot(id);
    for (const ValueId id : graph_.outputs) place_slot(homes_[id].owner);
}

// A body's results are copied over what it was handed, one after the other: none of them may lie where one of another
// name goes.
void Planner::place_handed() {
    for (std::size_t k = 0; k < graph_.inputs.size(); ++k) {
        const ValueId id = graph_.inputs[k];
        if (last_[id] < 0) continue;  // nothing reads it
        bool lies_there = false;
        for (std::size_t j = 0; j < graph_.outputs.size(); ++j)
            lies_there = lies_there || (j != k && homes_[graph_.outputs[j]].owner == id);
        const bool is_body = part_ == Part::body || part_ == Part::body_apart;
        const bool changes = is_body && storage_of(graph_, graph_.outputs[k]) != id;
        if (!changes || !lies_there) place_slot(id);
    }
}

std::uint64_t Planner::align(std::uint64_t offset) const {
    return (offset + device_.buffer_alignment - 1) / device_.buffer_alignment * device_.buffer_alignment;
}

Placement Planner::add_constant(LazyBytes bytes, DType type) {
    const std::uint64_t offset = align(plan_.constants.size());
    const std::uint64_t size = allocation_bytes(std::max<std::uint64_t>(bytes.size(), 1), type);
    plan_.constants.add(offset, std::move(bytes), size);
    return {Space::constants, offset, size};
}

Placement Planner::add_packed(const LazyBytes& packed, DType type) {
    const SharedBytes& source = packed.source();
    if (!source) return add_constant(packed, type);
    // The plan holds the source, so that nothing else can come to lie there.
    Placement& place = packed_[{source->data(), source->size(), packed.size(), packed.recipe(), type}];
    if (place.space == Space::none) place = add_constant(packed, type);
    return place;
}

Placement Planner::place_of(ValueId id) {
    const ValueId owner = homes_[id].owner;
    Placement& place = plan_.placements[owner];
    if (place.space == Space::none && graph_.value(owner).is_constant())
        place = add_constant(graph_.value(owner).data, graph_.value(owner).type);
    if (place.space == Space::none) {
        throw Error(ErrorCode::internal, fmt::format("value '{}' is read but has no memory", graph_.value(id).name));
    }
    return plan_.placements[id] = place_within(id);
}

/// The value's part of the memory of its owner, which has its place.
Placement Planner::place_within(ValueId id) const {
    const auto [owner, offset] = homes_[id];
    Placement place = plan_.placements[owner];
    if (owner == storage_of(graph_, id) || place.space == Space::none) return place;
    place.offset += offset;
    place.size = value_bytes(graph_.value(id));
    return place;
}

void Planner::add_binding(Dispatch& dispatch, Binding whole) const {
    const std::uint64_t size = whole.place.size;
    const std::uint32_t parts = is_texels(whole.path) || dispatch.spirv ? 1 : binding_count(size, device_);
    for (std::uint32_t p = 0; parts > 1 && p < parts; ++p) {
        Binding part = whole;
        part.place.offset += p * part_bytes(device_);
        part.place.size = std::min(part_bytes(device_), size - p * part_bytes(device_));
        part.label += fmt::format(", part {} of {}", p + 1, parts);
        dispatch.bindings.push_back(std::move(part));
    }
    if (parts == 1) dispatch.bindings.push_back(std::move(whole));
}

void Planner::bind() {
    for (std::size_t d = 0; d < plan_.dispatches.size(); ++d) {
        Dispatch& dispatch = plan_.dispatches[d];
        if (dispatch.is_copy()) {
            bind_variable(dispatch);
            continue;
        }
        for (const KernelOperand& operand : reads_[d]) {
            const double share = operand.reads > 0 ? std::min(operand.reads, 1.0) : 1;  // of the tensor that is read
            if (operand.scratch >= 0) {
                dispatch.bytes +=
                    share * static_cast<double>(scratch_[static_cast<std::size_t>(operand.scratch)].place.size);
                add_binding(dispatch, {scratch_[static_cast<std::size_t>(operand.scratch)].place, operand.type, false,
                                       "scratch", operand.path});
                continue;
            }
            const bool is_packed = operand.value == no_id;
            Binding binding{is_packed ? add_packed(operand.packed, operand.type) : place_of(operand.value),
                            operand.type, false, is_packed ? operand.packed_from : graph_.value(operand.value).name,
                            operand.path};
            dispatch.bytes += share * static_cast<double>(binding.place.size);
            add_binding(dispatch, std::move(binding));
        }
        for (const ValueId id : dispatch.written) {
            const NodeId producer = graph_.value(id).producer;
            if (producer != no_id && graph_.node(producer).attrs.in_place) {
                const Value& update = graph_.value(graph_.node(producer).inputs[1]);
                dispatch.bytes += static_cast<double>(element_count(update.shape)) * size_of(update.type);
            } else {
                dispatch.bytes += static_cast<double>(place_of(id).size);
            }
            add_binding(dispatch, {place_of(id), graph_.value(id).type, true, graph_.value(id).name, {}});
        }
        if (scratch_written_[d] >= 0) {
            const Scratch& scratch = scratch_[static_cast<std::size_t>(scratch_written_[d])];
            dispatch.bytes += static_cast<double>(scratch.place.size);
            add_binding(dispatch, {scratch.place, scratch.type, true, "scratch", {}});
        }
        check_bindings(dispatch);
        if (!dispatch.spirv && dispatch.bindings.size() != binding_counts_[d]) {
            throw Error(ErrorCode::internal, fmt::format("{}: its shader has {} buffers, its plan {}", dispatch.label,
                                                         binding_counts_[d], dispatch.bindings.size()));
        }
    }
    for (std::size_t c = 0; c < plan_.controls.size(); ++c) bind_control(plan_.controls[c], control_memory_[c]);
    for (const ValueId id : graph_.outputs)
        if (!is_empty(graph_.value(id))) place_of(id);  // an output may be a constant
}

void Planner::check_bindings(const Dispatch& dispatch) const {
    for (const Binding& binding : dispatch.bindings) {
        const bool is_buffer = binding.path == ReadPath::buffer;
        if (is_buffer && device_.max_binding_bytes != 0 && binding.place.size > device_.max_binding_bytes) {
            throw Error(ErrorCode::unsupported,
                        fmt::format("{} needs tensor '{}' of {} bytes in one binding, and the device allows {}",
                                    dispatch.label, binding.label, binding.place.size, device_.max_binding_bytes));
        }
    }
    if (dispatch.bindings.size() > device_.max_buffers) {
        throw Error(
            ErrorCode::unsupported,
            fmt::format("{} needs {} storage buffers (a tensor above {} bytes takes several), and the "
                        "device allows {}",
                        dispatch.label, dispatch.bindings.size(), device_.max_binding_bytes, device_.max_buffers));
    }
}

void Planner::find_hazards() {
    std::vector<const Binding*> open;
    auto control = plan_.controls.begin();
    for (Dispatch& dispatch : plan_.dispatches) {
        // What follows a control step is recorded apart and begins with a barrier of its own.
        for (; control != plan_.controls.end() &&
               control->before == static_cast<std::size_t>(&dispatch - plan_.dispatches.data());
             ++control) {
            open.clear();
        }
        const auto conflicts = [&](const Binding& now) {
            return std::any_of(open.begin(), open.end(), [&](const Binding* before) {
                if (!now.written && !before->written) return false;
                if (now.place.space != before->place.space) return false;
                return now.place.offset < before->place.offset + before->place.size &&
                       before->place.offset < now.place.offset + now.place.size;
            });
        };
        dispatch.barrier_before = std::any_of(dispatch.bindings.begin(), dispatch.bindings.end(), conflicts);
        if (dispatch.barrier_before) open.clear();
        for (const Binding& binding : dispatch.bindings) open.push_back(&binding);
    }
}

void Planner::find_submits() {
    double sum = 0;
    auto control = plan_.controls.begin();
    for (std::size_t d = 0; d < plan_.dispatches.size(); ++d) {
        for (; control != plan_.controls.end() && control->before == d; ++control) sum = 0;
        const double share = submit_share(plan_.dispatches[d], device_);
        plan_.dispatches[d].submit_before = sum > 0 && sum + share > 1;
        sum = plan_.dispatches[d].submit_before ? share : sum + share;
    }
}

double submit_share(const Dispatch& dispatch, const DevicePlan& device) {
    return (device.submit_work > 0 ? dispatch.work / device.submit_work : 0) +
           (device.submit_bytes > 0 ? dispatch.bytes / device.submit_bytes : 0);
}

double submit_share(const std::vector<Copy>& copies, const DevicePlan& device) {
    double bytes = 0;
    for (const Copy& copy : copies) bytes += 2 * static_cast<double>(copy.to.size);  // read and written
    return device.submit_bytes > 0 ? bytes / device.submit_bytes : 0;
}

}  // namespace tosavk
