#include "compile/plan/externals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace tosavk {
namespace {

std::uint64_t byte_count(const Value& value) {
    return static_cast<std::uint64_t>(element_count(value.shape)) * size_of(value.type);
}

constexpr std::size_t never = SIZE_MAX;

/// How kernels use a slot, gathered in one walk: plans of thousands of dispatches have thousands of slots.
struct SlotUse {
    bool texels = false;
    std::size_t first = never, last = never;  ///< of Plan::dispatches; what is within control flow is not told
};

std::vector<SlotUse> uses_of(const Plan& plan) {
    std::vector<SlotUse> uses(plan.externals.size());
    for_each_dispatch(plan, [&](const Dispatch& dispatch) {
        for (const Binding& binding : dispatch.bindings) {
            if (!is_texels(binding.path)) continue;
            if (const std::size_t slot = slot_of(plan, binding.place); slot != no_slot) uses[slot].texels = true;
        }
    });
    for (std::size_t d = 0; d < plan.dispatches.size(); ++d) {
        for (const Binding& binding : plan.dispatches[d].bindings) {
            const std::size_t slot = slot_of(plan, binding.place);
            if (slot == no_slot) continue;
            uses[slot].first = std::min(uses[slot].first, d);
            uses[slot].last = d;
        }
    }
    return uses;
}

ExternalNeeds needs_of(const Value& value, const Placement& place, const Plan& plan, const DeviceCaps& caps,
                       std::span<const SlotUse> uses) {
    ExternalNeeds needs;
    needs.bytes = needs.padded = byte_count(value);
    needs.possible = needs.bytes == 0;
    const std::size_t slot = slot_of(plan, place);
    // A tensor that is only a part of its slot cannot take the place of the whole.
    if (slot == no_slot || plan.externals[slot].offset != place.offset || plan.externals[slot].size != place.size)
        return needs;
    needs.possible = true;
    needs.padded = place.size;
    needs.alignment = std::max<std::uint64_t>(4, caps.min_storage_buffer_offset_alignment);
    needs.texels = uses[slot].texels;
    if (needs.texels)
        needs.alignment = std::max<std::uint64_t>(needs.alignment, caps.min_texel_buffer_offset_alignment);
    return needs;
}

bool fits(const ExternalNeeds& needs, const BufferRange& range) {
    if (!range.strides.empty()) return false;
    const bool whole = needs.bytes == needs.padded || (range.padded && range.size >= needs.padded);
    return needs.possible && range.buffer != 0 && whole && range.offset % needs.alignment == 0 && range.storage &&
           (range.texels || !needs.texels);
}

/// A tensor in a buffer, as what tells whether it shares bytes with another.
struct Extent {
    std::uint64_t offset;
    std::int64_t bytes;                                       // of an element, or of all where they are dense
    std::vector<std::pair<std::int64_t, std::int64_t>> dims;  // stride, steps along it

    Extent(const BufferRange& range, const Value& value)
        : offset(range.offset),
          bytes(static_cast<std::int64_t>(range.strides.empty() ? range.size : size_of(value.type))) {
        for (std::size_t d = 0; d < range.strides.size(); ++d) {
            if (value.shape[d] > 1) dims.emplace_back(range.strides[d], value.shape[d] - 1);
        }
    }
    /// From the first byte to the last of what has strides below `limit`.
    std::uint64_t span_below(std::int64_t limit) const {
        std::int64_t span = bytes;
        for (const auto& [stride, steps] : dims) {
            if (stride < limit) span += stride * steps;
        }
        return static_cast<std::uint64_t>(span);
    }
};

/// Do their strides show that tensors whose ranges overlap share no byte? So they do where each lies in another part of
/// a common period, as interleaved channels and the columns of a matrix do.
bool interleave(const Extent& a, const Extent& b) {
    std::vector<std::int64_t> limits;
    for (const Extent* extent : {&a, &b}) {
        for (const auto& [stride, steps] : extent->dims) limits.push_back(stride);
    }
    return std::any_of(limits.begin(), limits.end(), [&](std::int64_t limit) {
        std::uint64_t period = 0;
        for (const Extent* extent : {&a, &b}) {
            for (const auto& [stride, steps] : extent->dims) {
                if (stride >= limit) period = std::gcd(period, static_cast<std::uint64_t>(stride));
            }
        }
        const std::uint64_t first = a.span_below(limit), second = b.span_below(limit);
        if (first + second > period) return false;
        const std::uint64_t distance = (b.offset % period + period - a.offset % period) % period;
        return distance >= first && distance + second <= period;
    });
}

/// Ranges by where they lie, to find those that overlap another without a look at each.
class RangeIndex {
public:
    explicit RangeIndex(std::span<const BufferRange> ranges) : ranges_(ranges) {
        for (std::size_t k = 0; k < ranges.size(); ++k)
            if (ranges[k].buffer != 0) order_.push_back(k);
        std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return start(a) < start(b); });
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const BufferRange& range = ranges[order_[i]];
            const bool same_buffer = i > 0 && ranges[order_[i - 1]].buffer == range.buffer;
            ends_.push_back(std::max(range.offset + range.size, same_buffer ? ends_.back() : 0));
        }
    }
    /// Their numbers, in rising order.
    std::vector<std::size_t> overlapping(const BufferRange& range) const {
        std::vector<std::size_t> found;
        if (range.buffer == 0) return found;
        const auto behind =
            std::lower_bound(order_.begin(), order_.end(), std::pair(range.buffer, range.offset + range.size),
                             [&](std::size_t k, const auto& end) { return start(k) < end; });
        for (auto i = static_cast<std::size_t>(behind - order_.begin()); i-- > 0;) {
            if (ranges_[order_[i]].buffer != range.buffer || ends_[i] <= range.offset) break;
            if (ranges_[order_[i]].overlaps(range)) found.push_back(order_[i]);
        }
        std::sort(found.begin(), found.end());
        return found;
    }

private:
    std::pair<std::uint64_t, std::uint64_t> start(std::size_t k) const {
        return {ranges_[k].buffer, ranges_[k].offset};
    }

    std::span<const BufferRange> ranges_;
    std::vector<std::size_t> order_;   ///< by buffer and offset
    std::vector<std::uint64_t> ends_;  ///< the last end in that buffer so far
};

/// The work of use_externals().
class Externals {
public:
    Externals(const Graph& graph, const Plan& plan, const DeviceCaps& caps, std::span<const BufferRange> inputs,
              std::span<const BufferRange> outputs)
        : graph_(graph),
          plan_(plan),
          caps_(caps),
          inputs_(inputs.begin(), inputs.end()),
          outputs_(outputs.begin(), outputs.end()),
          uses_(uses_of(plan)),
          in_slot_(plan.externals.size()),
          out_slot_(plan.externals.size()) {
        const auto number = [&](const std::vector<ValueId>& ends, std::vector<std::vector<std::size_t>>& by_slot) {
            for (std::size_t k = 0; k < ends.size(); ++k)
                if (const std::size_t slot = slot_of(plan, plan.placements[ends[k]]); slot != no_slot)
                    by_slot[slot].push_back(k);
        };
        number(graph.inputs, in_slot_);
        number(graph.outputs, out_slot_);
    }

    ExternalNeeds needs_of_input(std::size_t i) const {
        return needs_of(graph_.value(graph_.inputs[i]), input_place(i), plan_, caps_, uses_);
    }
    ExternalNeeds needs_of_output(std::size_t o) const {
        const std::size_t slot = slot_of(plan_, output_place(o));
        const bool is_input = slot != no_slot && !in_slot_[slot].empty();
        // No kernel writes an input's place.
        return needs_of(graph_.value(graph_.outputs[o]), is_input ? Placement{} : output_place(o), plan_, caps_, uses_);
    }

    ExternalUse run() {
        use_.slots.resize(plan_.externals.size());
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            check_size("input", i, graph_.inputs[i], needs_of_input(i), inputs_[i]);
        for (std::size_t o = 0; o < outputs_.size(); ++o)
            check_size("output", o, graph_.outputs[o], needs_of_output(o), outputs_[o]);
        // Of what has no elements nothing is bound.
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            if (byte_count(graph_.value(graph_.inputs[i])) == 0) inputs_[i] = {};
        for (std::size_t o = 0; o < outputs_.size(); ++o)
            if (byte_count(graph_.value(graph_.outputs[o])) == 0) outputs_[o] = {};
        const RangeIndex bound_inputs(inputs_), bound_outputs(outputs_);
        check_outputs(bound_outputs);
        for (std::size_t i = 0; i < inputs_.size(); ++i) take_input(i, bound_outputs);
        for (std::size_t o = 0; o < outputs_.size(); ++o) take_output(o, bound_inputs);
        for (std::size_t o = 0; o < outputs_.size(); ++o) copy_output(o);
        std::sort(use_.barriers.begin(), use_.barriers.end());
        use_.barriers.erase(std::unique(use_.barriers.begin(), use_.barriers.end()), use_.barriers.end());
        return std::move(use_);
    }

private:
    const Placement& input_place(std::size_t i) const { return plan_.placements[graph_.inputs[i]]; }
    const Placement& output_place(std::size_t o) const { return plan_.placements[graph_.outputs[o]]; }

    void check_size(const char* what, std::size_t index, ValueId id, const ExternalNeeds& needs, BufferRange& range) {
        const Value& value = graph_.value(id);
        if (range.buffer == 0) return;
        if (!range.strides.empty()) return check_strides(what, index, value, range);
        if (range.size < needs.bytes)
            throw Error(ErrorCode::bad_input,
                        fmt::format("{} {} '{}' ({} {}) has {} bytes, and its buffer only {}", what, index, value.name,
                                    name_of(value.type), to_string(value.shape), needs.bytes, range.size));
        range.size = std::min(range.size, range.padded ? needs.padded : needs.bytes);
    }

    /// Leaves the strides out where they are those of a dense tensor.
    void check_strides(const char* what, std::size_t index, const Value& value, BufferRange& range) {
        const auto refuse = [&](const std::string& why) {
            throw Error(ErrorCode::bad_input, fmt::format("{} {} '{}' ({} {}): {}", what, index, value.name,
                                                          name_of(value.type), to_string(value.shape), why));
        };
        const std::size_t rank = value.shape.size();
        if (has_no_elements(value.shape)) return range.strides.clear();
        if (range.strides.size() != rank)
            refuse(fmt::format("{} strides were given for {} dimensions", range.strides.size(), rank));
        std::vector<std::size_t> order;  // innermost first; what has one element needs no stride
        for (std::size_t d = rank; d-- > 0;) {
            if (value.shape[d] > 1) order.push_back(d);
        }
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return range.strides[a] < range.strides[b]; });
        constexpr std::int64_t most = INT32_MAX;
        const auto element = static_cast<std::int64_t>(size_of(value.type));
        std::int64_t span = element, dense = element;
        bool is_dense = true;
        for (const std::size_t d : order) {
            if (range.strides[d] < span) refuse(fmt::format("elements overlap by its stride {}", range.strides[d]));
            if (range.strides[d] > most || (value.shape[d] - 1) > (most - span) / range.strides[d])
                refuse("its strides reach beyond 2 GiB");
            span += (value.shape[d] - 1) * range.strides[d];
        }
        for (std::size_t d = rank; d-- > 0;) {
            is_dense = is_dense && (value.shape[d] == 1 || range.strides[d] == dense);
            dense *= value.shape[d];
        }
        if (range.size < static_cast<std::uint64_t>(span))
            refuse(fmt::format("by its strides it reaches over {} bytes, and its buffer has {}", span, range.size));
        range.size = static_cast<std::uint64_t>(span);
        if (is_dense) range.strides.clear();
        else if (!range.storage) refuse("its strides need a buffer for storage");
    }

    ExternalCopy copy_of(ExternalCopy::End from, ExternalCopy::End to, ValueId id) const {
        const Value& value = graph_.value(id);
        return {std::move(from), std::move(to), byte_count(value), value.shape, size_of(value.type)};
    }

    /// The bytes of the tensor itself.
    BufferRange tensor_of(const BufferRange& range, ValueId id) const {
        BufferRange tensor = range;
        if (range.strides.empty()) tensor.size = byte_count(graph_.value(id));
        return tensor;
    }

    Extent extent_of(std::size_t o) const { return {outputs_[o], graph_.value(graph_.outputs[o])}; }

    void check_outputs(const RangeIndex& bound_outputs) const {
        for (std::size_t a = 0; a < outputs_.size(); ++a) {
            for (const std::size_t b : bound_outputs.overlapping(outputs_[a])) {
                if (b >= a) break;
                const Placement &x = output_place(a), &y = output_place(b);
                const bool same =
                    x.space == y.space && x.space != Space::none && x.offset == y.offset &&
                    byte_count(graph_.value(graph_.outputs[a])) == byte_count(graph_.value(graph_.outputs[b])) &&
                    outputs_[a].offset == outputs_[b].offset && outputs_[a].strides == outputs_[b].strides;
                if (!same && !interleave(extent_of(a), extent_of(b)))
                    throw Error(ErrorCode::usage,
                                fmt::format("outputs {} and {} are bound to buffers that overlap", b, a));
            }
        }
    }

    /// Is the input in another place than where the output is copied to, and does that copy read it?
    bool is_overwritten_source(std::size_t i, std::size_t slot, const RangeIndex& bound_outputs) const {
        if (out_slot_[slot].empty()) return false;
        const std::vector<std::size_t> over = bound_outputs.overlapping(inputs_[i]);
        return std::any_of(over.begin(), over.end(), [&](std::size_t o) {
            const BufferRange& range = outputs_[o];
            const bool itself = slot_of(plan_, output_place(o)) == slot && range.strides.empty() &&
                                range.offset == inputs_[i].offset + (output_place(o).offset - input_place(i).offset);
            return !itself;
        });
    }

    void take_input(std::size_t i, const RangeIndex& bound_outputs) {
        if (inputs_[i].buffer == 0) return;
        const std::size_t slot = slot_of(plan_, input_place(i));
        if (fits(needs_of_input(i), inputs_[i]) && !is_overwritten_source(i, slot, bound_outputs)) {
            use_.slots[slot] = inputs_[i];
            return;
        }
        const BufferRange tensor = tensor_of(inputs_[i], graph_.inputs[i]);
        use_.before.push_back(copy_of({tensor, {}}, {{}, input_place(i)}, graph_.inputs[i]));
    }

    /// Does every dispatch that reads slot `read` come before all that write slot `written`? Control flow is not looked
    /// into.
    bool read_before_written(std::size_t read, std::size_t written) const {
        if (!plan_.controls.empty() || uses_[written].first == never) return false;
        return uses_[read].last == never || uses_[read].last < uses_[written].first;
    }

    void take_output(std::size_t o, const RangeIndex& bound_inputs) {
        const std::size_t slot = slot_of(plan_, output_place(o));
        if (outputs_[o].buffer == 0 || slot == no_slot || use_.slots[slot].buffer != 0) return;
        if (!fits(needs_of_output(o), outputs_[o])) return;
        bool waits = false;
        for (const std::size_t i : bound_inputs.overlapping(outputs_[o])) {
            const std::size_t read = slot_of(plan_, input_place(i));
            if (read == no_slot || use_.slots[read].buffer == 0) continue;  // it was copied before
            if (!read_before_written(read, slot)) return;
            if (!out_slot_[read].empty()) return;  // copied after: it must still be there
            waits = true;
        }
        use_.slots[slot] = outputs_[o];
        if (waits) use_.barriers.push_back(uses_[slot].first);
    }

    /// Where a place's bytes are once the run is over.
    ExternalCopy::End end_of(const Placement& place, std::uint64_t bytes) const {
        const std::size_t slot = slot_of(plan_, place);
        if (slot == no_slot || use_.slots[slot].buffer == 0) return {{}, place};
        BufferRange range = use_.slots[slot];
        range.offset += place.offset - plan_.externals[slot].offset;
        range.size = bytes;
        return {range, {}};
    }

    void copy_output(std::size_t o) {
        if (outputs_[o].buffer == 0) return keep_output(o);
        const BufferRange tensor = tensor_of(outputs_[o], graph_.outputs[o]);
        const ExternalCopy::End from = end_of(output_place(o), byte_count(graph_.value(graph_.outputs[o])));
        if (from.range.buffer == tensor.buffer && from.range.offset == tensor.offset && tensor.strides.empty())
            return;  // it is there
        std::vector<std::size_t>& there = copied_[{tensor.buffer, tensor.offset}];
        for (const std::size_t made : there) {
            if (use_.after[made].to.range == tensor) return;  // two outputs of one value in one place
        }
        there.push_back(use_.after.size());
        use_.after.push_back(copy_of(from, {tensor, {}}, graph_.outputs[o]));
    }

    /// What is not bound is looked for in our own memory, also where its value lies in a buffer bound for another name
    /// of it.
    void keep_output(std::size_t o) {
        const std::size_t slot = slot_of(plan_, output_place(o));
        if (slot == no_slot || use_.slots[slot].buffer == 0) return;
        if (!kept_.insert(slot).second) return;
        use_.after.push_back({{use_.slots[slot], {}}, {{}, plan_.externals[slot]}, use_.slots[slot].size, {}, 0});
    }

    const Graph& graph_;
    const Plan& plan_;
    const DeviceCaps& caps_;
    std::vector<BufferRange> inputs_, outputs_;  ///< from check_size() on without what is not the tensor's
    std::vector<SlotUse> uses_;
    std::vector<std::vector<std::size_t>> in_slot_, out_slot_;  ///< inputs and outputs by slot
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::size_t>> copied_;  ///< of use_.after, by target
    std::set<std::size_t> kept_;  ///< slots copied into our own memory
    ExternalUse use_;
};

}  // namespace

std::size_t slot_of(const Plan& plan, const Placement& place) {
    if (place.space != Space::external) return no_slot;
    const auto after =
        std::upper_bound(plan.externals.begin(), plan.externals.end(), place.offset,
                         [](std::uint64_t offset, const Placement& slot) { return offset < slot.offset; });
    if (after == plan.externals.begin()) return no_slot;
    const Placement& slot = *(after - 1);
    const std::uint64_t within = place.offset - slot.offset;
    if (within > slot.size || place.size > slot.size - within) return no_slot;
    return static_cast<std::size_t>(&slot - plan.externals.data());
}

ExternalNeeds input_needs(const Graph& graph, const Plan& plan, const DeviceCaps& caps, std::size_t index) {
    return Externals(graph, plan, caps, {}, {}).needs_of_input(index);
}

ExternalNeeds output_needs(const Graph& graph, const Plan& plan, const DeviceCaps& caps, std::size_t index) {
    return Externals(graph, plan, caps, {}, {}).needs_of_output(index);
}

ExternalUse use_externals(const Graph& graph, const Plan& plan, const DeviceCaps& caps,
                          std::span<const BufferRange> inputs, std::span<const BufferRange> outputs) {
    return Externals(graph, plan, caps, inputs, outputs).run();
}

}  // namespace tosavk
