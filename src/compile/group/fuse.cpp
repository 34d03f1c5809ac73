#include "compile/group/fuse.hpp"

#include "compile/group/fuser.hpp"
#include "compile/group/leaves.hpp"
#include "compile/group/rows.hpp"
#include "kernels/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

std::optional<KernelChoice> find_kernel(const NodeView& view, const DevicePlan& device, std::string& reasons) {
    for (const KernelCandidate& candidate : kernels_of(view.node().op)) {
        if (candidate.is_variant) continue;
        std::string why;
        if (auto choice = candidate.plan(view, device, why)) {
            choice->candidate = candidate.name;
            return choice;
        }
        reasons += fmt::format("; {}: {}", candidate.name, why);
    }
    return std::nullopt;
}

KernelChoice choose_kernel(const NodeView& view, const DevicePlan& device) {
    std::string reasons;
    if (auto choice = find_kernel(view, device, reasons)) return std::move(*choice);
    if (reasons.empty()) reasons = "; it has no kernel yet";
    throw Error(ErrorCode::unsupported, fmt::format("{} cannot run on this device{}", view.title(), reasons),
                view.node().name);
}

/// Members that one shader may have: longer chains are split, so that no shader grows without bound. A guess.
constexpr std::size_t max_members = 64;
/// Registers of 32 bits that members may need at once: GPUs give an invocation at most 255 or 256.
constexpr std::size_t max_registers = 256;
/// Nodes that may wait for one consumer. A guess.
constexpr std::size_t max_waiting = 16;

}  // namespace

Fuser::Fuser(const Graph& graph, const DevicePlan& device, const PlanOptions& options)
    : graph_(graph),
      device_(device),
      options_(options),
      homes_(find_homes(graph, device, options)),
      group_of_(graph.values.size(), none),
      consumers_(graph.values.size()),
      is_output_(graph.values.size(), false),
      pending_(graph.nodes.size(), false) {
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
        for (const ValueId value : graph.node(id).inputs) consumers_[value].push_back(id);
    }
    for (const ValueId id : graph.outputs) is_output_[id] = true;
}

std::vector<Group> Fuser::run() {
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) place(id);
    if (options_.fuse) {
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            while (grow_elementwise(g)) {}
        }
    }
    if (options_.fuse && options_.fuse_rows) {
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            while (grow_rows(g)) {}
        }
    }
    if (options_.fuse && options_.fuse_prologues && !options_.keep_all) {
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            const std::set<std::size_t> neighbours = needs_[g];
            for (const std::size_t h : neighbours) take_prologue(g, h);
        }
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            const std::set<std::size_t> neighbours = needs_[g];
            for (const std::size_t h : neighbours) take_moved(g, h);
        }
    }
    collect_outputs();
    return schedule();
}

std::set<std::size_t> Fuser::producers(const Node& node) const {
    std::set<std::size_t> result;
    for (const ValueId id : node.inputs) {
        if (producer(id) != none) result.insert(producer(id));
    }
    return result;
}

std::set<std::size_t> Fuser::producers(const std::vector<NodeId>& nodes) const {
    std::set<std::size_t> result;
    for (const NodeId id : nodes) result.merge(producers(graph_.node(id)));
    return result;
}

std::size_t Fuser::new_group(Group group, std::set<std::size_t> needs) {
    groups_.push_back(std::move(group));
    needs_.push_back(std::move(needs));
    return groups_.size() - 1;
}

void Fuser::place(NodeId id) {
    const NodeView view(graph_, id);
    if (view.node().op == Op::unknown) return;
    const OpDef& def = op_def(view.node().op);
    if (def.view) {
        const ViewDef move = def.view(view);
        if (move.kind == ViewDef::Kind::alias || is_part(view.node().outputs.front())) return;
        if (move.kind == ViewDef::Kind::write) return place_concat(view, move);
        if (view.node().op == Op::transpose && options_.fuse && options_.store_in_place && place_transpose(view))
            return;
    }
    if (def.structural) return place_structural(view);
    const bool elementwise = is_elementwise(view);
    if (!elementwise) {
        if (def.combine && order_matters(view)) {
            if (const auto rows = row_reduction(view, device_)) return place_rows(view, *rows);
        }
        std::string reasons;
        std::optional<KernelChoice> choice =
            def.view ? find_kernel(view, device_, reasons) : choose_kernel(view, device_);
        if (choice) return place_anchor(view, std::move(*choice));
    }
    if (options_.fuse && elementwise && waits_for_its_consumer(view)) {
        pending_[id] = true;
        return;
    }
    const std::vector<NodeId> bundle = with_pending(id);
    if (options_.fuse && elementwise && join(bundle, view.out().shape)) return;
    if (options_.fuse && elementwise && bundle.size() > 1) {
        // Too much for one shader: the waiting nodes get places of their own.
        Group alone;
        alone.kind = Group::Kind::elementwise;
        alone.members = bundle;
        alone.space = view.out().shape;
        if (!fits(alone)) {
            for (const NodeId member : bundle) place_alone({member});
            return;
        }
    }
    place_alone(bundle);
}

void Fuser::place_anchor(const NodeView& view, KernelChoice choice) {
    Group group;
    group.kind = Group::Kind::kernel;
    group.anchor = view.id();
    group.choice = std::move(choice);
    group.space = view.out().shape;
    const std::size_t made = new_group(std::move(group), producers(view.node()));
    for (const ValueId value : view.node().outputs) group_of_[value] = made;
}

void Fuser::place_structural(const NodeView& view) {
    Group group;
    group.kind = Group::Kind::structural;
    group.anchor = view.id();
    std::set<std::size_t> needs = producers(view.node());
    std::set<std::string> reads, writes;
    find_accesses(view.node(), reads, writes);
    for (const std::string& name : reads) {
        if (const auto it = accesses_.find(name); it != accesses_.end() && it->second.written != none) {
            needs.insert(it->second.written);
        }
    }
    for (const std::string& name : writes) {
        if (const auto it = accesses_.find(name); it != accesses_.end()) {
            needs.insert(it->second.read.begin(), it->second.read.end());
            if (it->second.written != none) needs.insert(it->second.written);
        }
    }
    const std::size_t made = new_group(std::move(group), std::move(needs));
    for (const std::string& name : reads) accesses_[name].read.push_back(made);
    for (const std::string& name : writes) accesses_[name] = {made, {}};
    for (const ValueId value : view.node().outputs) group_of_[value] = made;
}

void Fuser::find_accesses(const Node& node, std::set<std::string>& reads, std::set<std::string>& writes) {
    if (node.op == Op::variable_read) reads.insert(node.attrs.variable);
    if (node.op == Op::variable_write) writes.insert(node.attrs.variable);
    for (const auto& region : node.regions) {
        for (const Node& inner : region->nodes) find_accesses(inner, reads, writes);
    }
}

void Fuser::place_alone(const std::vector<NodeId>& bundle) {
    Group group;
    group.kind = Group::Kind::elementwise;
    group.members = bundle;
    group.space = graph_.value(graph_.node(bundle.back()).outputs.front()).shape;
    const std::size_t made = new_group(std::move(group), producers(bundle));
    for (const NodeId member : bundle) settle(member, made);
}

void Fuser::settle(NodeId member, std::size_t group) {
    group_of_[graph_.node(member).outputs.front()] = group;
    pending_[member] = false;
}

bool Fuser::waits_for_its_consumer(const NodeView& view) const {
    const ValueId out = view.node().outputs.front();
    if (is_output_[out] || consumers_[out].size() != 1 || with_pending(view.id()).size() > max_waiting) return false;
    const NodeView consumer(graph_, consumers_[out].front());
    if (!is_elementwise(consumer) || consumer.out().shape != view.out().shape) return false;
    const auto& inputs = op_def(consumer.node().op).inputs;
    for (std::size_t k = 0; k < consumer.input_count(); ++k) {
        const bool elementwise = inputs.at(std::min(k, inputs.size() - 1)).access == Access::elementwise;
        if (consumer.node().inputs[k] == out && !elementwise) return false;
    }
    const ValueId from = view.node().inputs.front();
    const NodeId maker = graph_.value(from).producer;
    return (maker != no_id && pending_[maker]) || is_output_[from] || consumers_[from].size() > 1;
}

std::vector<NodeId> Fuser::with_pending(NodeId id) const {
    std::set<NodeId> bundle{id};
    std::vector<NodeId> open{id};
    while (!open.empty()) {
        const Node& node = graph_.node(open.back());
        open.pop_back();
        for (const ValueId value : node.inputs) {
            const NodeId maker = graph_.value(value).producer;
            if (maker != no_id && pending_[maker] && bundle.insert(maker).second) open.push_back(maker);
        }
    }
    return {bundle.begin(), bundle.end()};
}

std::size_t Fuser::count_outputs(const Group& group) const {
    const std::set<NodeId> members(group.members.begin(), group.members.end());
    std::size_t count = 0;
    const auto add = [&](ValueId value) {
        const auto outside = [&](NodeId consumer) {
            return !members.contains(consumer) && !is_stored(value, consumer);
        };
        if (!options_.keep_all && !is_output_[value] &&
            std::none_of(consumers_[value].begin(), consumers_[value].end(), outside))
            return;
        count += bindings_of(value);
    };
    if (group.anchor != no_id) add(graph_.node(group.anchor).outputs.front());
    for (const NodeId id : group.members) add(graph_.node(id).outputs.front());
    std::set<NodeId> joint;
    for (const Group::Store& part : group.stores) joint.insert(part.node);
    for (const NodeId id : joint) count += bindings_of(graph_.node(id).outputs.front());
    return std::max<std::size_t>(count, 1);
}

std::size_t Fuser::bindings_of(ValueId id) const {
    const Value& value = graph_.value(id);
    const auto bytes = static_cast<std::uint64_t>(element_count(value.shape)) * size_of(value.type);
    return binding_count(allocation_bytes(bytes, value.type), device_);
}

bool Fuser::fits(const Group& group) const {
    const GroupLeaves leaves = leaves_of(graph_, group, device_, Outputs::open);
    return leaves.members <= max_members && leaves.registers <= max_registers &&
           leaves.bindings + count_outputs(group) <= device_.max_buffers;
}

bool Fuser::join(const std::vector<NodeId>& bundle, const Shape& space) {
    const std::set<std::size_t> needed = producers(bundle);
    // The newest producer first: its other operands are most likely there already.
    for (auto it = needed.rbegin(); it != needed.rend(); ++it) {
        const std::size_t target = *it;
        Group& group = groups_[target];
        if (!takes_followers(group) || element_count(group.space) != element_count(space)) continue;
        const bool direct = std::all_of(bundle.begin(), bundle.end(),
                                        [&](NodeId id) { return reads_in_register(graph_.node(id), target); });
        if (!direct) continue;
        const bool cycle =
            std::any_of(needed.begin(), needed.end(), [&](std::size_t g) { return g != target && reaches(target, g); });
        if (cycle) continue;
        Group larger = group;
        larger.members.insert(larger.members.end(), bundle.begin(), bundle.end());
        if (!fits(larger)) continue;
        group.members = std::move(larger.members);
        for (const NodeId id : bundle) settle(id, target);
        for (const std::size_t g : needed) {
            if (g != target) needs_[target].insert(g);
        }
        return true;
    }
    return false;
}

bool Fuser::reads_in_register(const Node& node, std::size_t target) const {
    const auto& inputs = op_def(node.op).inputs;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        if (producer(node.inputs[k]) != target) continue;
        const bool elementwise = inputs.at(std::min(k, inputs.size() - 1)).access == Access::elementwise;
        const Shape& shape = graph_.value(node.inputs[k]).shape;
        if (!elementwise || is_part(node.inputs[k]) || element_count(shape) != element_count(groups_[target].space))
            return false;
    }
    return true;
}

std::vector<Group> fuse(const Graph& graph, const DevicePlan& device, const PlanOptions& options) {
    return Fuser(graph, device, options).run();
}

}  // namespace tosavk
