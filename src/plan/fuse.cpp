#include "plan/fuse.hpp"

#include "codegen/index_map.hpp"
#include "ops/op.hpp"
#include "plan/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace tosavk {

ValueId storage_of(const Graph& graph, ValueId id) {
    while (graph.value(id).producer != no_id) {
        const NodeView view(graph, graph.value(id).producer);
        const OpDef& def = op_def(view.node().op);
        if (!def.view || def.view(view).kind != ViewDef::Kind::alias) break;
        id = view.node().inputs.front();
    }
    return id;
}

namespace {

std::optional<KernelChoice> find_kernel(const NodeView& view, const OpDef& def, const DevicePlan& device, std::string& reasons) {
    for (const KernelCandidate& candidate : def.kernels) {
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

KernelChoice choose_kernel(const NodeView& view, const OpDef& def, const DevicePlan& device) {
    std::string reasons;
    if (auto choice = find_kernel(view, def, device, reasons)) return std::move(*choice);
    if (reasons.empty()) reasons = "; it has no kernel yet";
    throw Error(ErrorCode::unsupported, fmt::format("{} cannot run on this device{}", view.title(), reasons), view.node().name);
}

/// Members that one shader may have: longer chains are split, so that no shader grows without bound.
constexpr std::size_t max_members = 64;
/// Nodes that may wait for one consumer.
constexpr std::size_t max_waiting = 16;

/// Groups under construction, with the edges between them.
class Fuser {
public:
    Fuser(const Graph& graph, const DevicePlan& device, const PlanOptions& options)
        : graph_(graph), device_(device), options_(options), group_of_(graph.values.size(), none),
          consumers_(graph.values.size()), is_output_(graph.values.size(), false), pending_(graph.nodes.size(), false) {
        for (NodeId id = 0; id < graph.nodes.size(); ++id) {
            for (const ValueId value : graph.node(id).inputs) consumers_[value].push_back(id);
        }
        for (const ValueId id : graph.outputs) is_output_[id] = true;
    }

    std::vector<Group> run() {
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
        collect_outputs();
        return schedule();
    }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    /// Group that computes the memory behind a value; none for inputs and constants.
    std::size_t producer(ValueId id) const { return group_of_[storage_of(graph_, id)]; }

    std::set<std::size_t> producers(const Node& node) const {
        std::set<std::size_t> result;
        for (const ValueId id : node.inputs) {
            if (producer(id) != none) result.insert(producer(id));
        }
        return result;
    }

    std::set<std::size_t> producers(const std::vector<NodeId>& nodes) const {
        std::set<std::size_t> result;
        for (const NodeId id : nodes) result.merge(producers(graph_.node(id)));
        return result;
    }

    bool reaches(std::size_t from, std::size_t to) const {
        std::vector<std::size_t> open{to};
        std::set<std::size_t> seen;
        while (!open.empty()) {
            const std::size_t at = open.back();
            open.pop_back();
            if (at == from) return true;
            if (seen.insert(at).second) open.insert(open.end(), needs_[at].begin(), needs_[at].end());
        }
        return false;
    }

    std::size_t new_group(Group group, std::set<std::size_t> needs) {
        groups_.push_back(std::move(group));
        needs_.push_back(std::move(needs));
        return groups_.size() - 1;
    }

    void place(NodeId id) {
        const NodeView view(graph_, id);
        if (view.node().op == Op::unknown) return;
        const OpDef& def = op_def(view.node().op);
        if (def.view) {
            const ViewDef move = def.view(view);
            if (move.kind == ViewDef::Kind::alias) return;
            if (move.kind == ViewDef::Kind::write) return place_concat(view, move);
            if (view.node().op == Op::transpose && options_.fuse && options_.store_in_place && place_transpose(view)) return;
        }
        if (def.structural) return place_structural(view);
        const bool elementwise = is_elementwise(view);
        if (!elementwise) {
            if (def.combine && order_matters(view)) {
                if (const auto rows = row_reduction(view, device_)) return place_rows(view, *rows);
            }
            std::string reasons;
            std::optional<KernelChoice> choice = def.view ? find_kernel(view, def, device_, reasons) : choose_kernel(view, def, device_);
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
            alone.members = bundle;
            alone.space = view.out().shape;
            if (!fits(alone)) {
                for (const NodeId member : bundle) place_alone({member});
                return;
            }
        }
        place_alone(bundle);
    }

    void place_anchor(const NodeView& view, KernelChoice choice) {
        Group group;
        group.anchor = view.id();
        group.choice = std::move(choice);
        group.space = view.out().shape;
        const std::size_t made = new_group(std::move(group), producers(view.node()));
        for (const ValueId value : view.node().outputs) group_of_[value] = made;
    }

    void place_rows(const NodeView& view, const Rows& rows) {
        Group group;
        group.rows = rows;
        group.members = {view.id()};
        group.space = view.out().shape;
        group_of_[view.node().outputs.front()] = new_group(std::move(group), producers(view.node()));
    }

    /// Reads and writes of a variable keep the order of the nodes.
    void place_structural(const NodeView& view) {
        Group group;
        group.anchor = view.id();
        group.structural = true;
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

    static void find_accesses(const Node& node, std::set<std::string>& reads, std::set<std::string>& writes) {
        if (node.op == Op::variable_read) reads.insert(node.attrs.variable);
        if (node.op == Op::variable_write) writes.insert(node.attrs.variable);
        for (const auto& region : node.regions) {
            for (const Node& inner : region->nodes) find_accesses(inner, reads, writes);
        }
    }

    void place_alone(const std::vector<NodeId>& bundle) {
        Group group;
        group.members = bundle;
        group.space = graph_.value(graph_.node(bundle.back()).outputs.front()).shape;
        const std::size_t made = new_group(std::move(group), producers(bundle));
        for (const NodeId member : bundle) settle(member, made);
    }

    void settle(NodeId member, std::size_t group) {
        group_of_[graph_.node(member).outputs.front()] = group;
        pending_[member] = false;
    }

    /// A cheap step between a value that is written anyway and one elementwise consumer is better computed where it is
    /// consumed (the operands of a residual ADD): else its result would be written beside its operand.
    bool waits_for_its_consumer(const NodeView& view) const {
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

    /// The node behind the waiting nodes that feed it, in execution order.
    std::vector<NodeId> with_pending(NodeId id) const {
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

    /// Values of the group that must be written: graph outputs, and those with a consumer outside. A consumer that joins
    /// later only makes them fewer, so a group that fits once always will.
    std::size_t count_outputs(const Group& group) const {
        const std::set<NodeId> members(group.members.begin(), group.members.end());
        std::size_t count = 0;
        const auto add = [&](ValueId value) {
            const auto outside = [&](NodeId consumer) { return !members.contains(consumer) && !is_stored(value, consumer); };
            if (!options_.keep_all && !is_output_[value] && std::none_of(consumers_[value].begin(), consumers_[value].end(), outside)) return;
            count += bindings_of(value);
        };
        if (group.anchor != no_id) add(graph_.node(group.anchor).outputs.front());
        for (const NodeId id : group.members) add(graph_.node(id).outputs.front());
        std::set<NodeId> joint;
        for (const Group::Store& part : group.stores) joint.insert(part.node);
        for (const NodeId id : joint) count += bindings_of(graph_.node(id).outputs.front());
        return std::max<std::size_t>(count, 1);
    }

    std::size_t bindings_of(ValueId id) const {
        const Value& value = graph_.value(id);
        const auto bytes = static_cast<std::uint64_t>(element_count(value.shape)) * size_of(value.type);
        return binding_count(allocation_bytes(bytes, value.type), device_);
    }

    /// Whether the value reaches this consumer by the stores of its own group.
    bool is_stored(ValueId value, NodeId consumer) const {
        const auto& inputs = graph_.node(consumer).inputs;
        for (std::size_t k = 0; k < inputs.size(); ++k) {
            if (inputs[k] == value && !stored_.contains({consumer, k})) return false;
        }
        return true;
    }

    bool fits(const Group& group) const {
        return group.members.size() <= max_members && count_reads(graph_, group, device_) + count_outputs(group) <= device_.max_buffers;
    }

    /// Groups that copy, or that only wait for others.
    static bool computes_nothing(const Group& group) { return group.anchor == no_id && group.members.empty(); }

    /// CONCAT: each input is stored in its place by the group that makes it, or copied. The value belongs to a group that
    /// does nothing but wait for these.
    void place_concat(const NodeView& view, const ViewDef& move) {
        const bool joins = options_.fuse && options_.store_in_place;
        std::set<std::size_t> parts;
        std::map<std::int64_t, std::size_t> copies;  // by size; inputs of one size share a dispatch
        for (std::size_t k = 0; k < view.input_count(); ++k) {
            const Group::Store part{view.id(), k, move.maps.at(k)};
            const std::size_t maker = producer(view.node().inputs[k]);
            if (joins && store_part(part)) {
                parts.insert(maker);
                continue;
            }
            const std::int64_t size = element_count(view.in(k).shape);
            const auto found = copies.find(size);
            if (joins && found != copies.end()) {
                Group larger = groups_[found->second];
                larger.stores.push_back(part);
                if (fits(larger)) {
                    groups_[found->second] = std::move(larger);
                    if (maker != none) needs_[found->second].insert(maker);
                    continue;
                }
            }
            Group group;
            group.space = view.in(k).shape;
            group.stores = {part};
            copies[size] = new_group(std::move(group), maker != none ? std::set{maker} : std::set<std::size_t>());
            parts.insert(copies[size]);
        }
        group_of_[view.node().outputs.front()] = new_group(Group(), std::move(parts));
    }

    /// TRANSPOSE, where the group that makes the operand can store it transposed in whole quads.
    bool place_transpose(const NodeView& view) {
        const auto strides = row_major_strides(view.out().shape);
        Group::Store part{view.id(), 0, {view.in(0).shape, std::vector<std::int64_t>(strides.size()), 0, {}, {}}};
        for (std::size_t i = 0; i < strides.size(); ++i) part.map.strides[static_cast<std::size_t>(view.attrs().perms[i])] = strides[i];
        const std::size_t maker = producer(view.node().inputs.front());
        if (maker == none || !keeps_quads(part.map) || (groups_[maker].choice && !groups_[maker].choice->aligned)) return false;
        if (!store_part(part)) return false;
        group_of_[view.node().outputs.front()] = new_group(Group(), {maker});
        return true;
    }

    /// Lets the group that makes the input store it; false where that group cannot.
    bool store_part(const Group::Store& part) {
        const ValueId value = storage_of(graph_, graph_.node(part.node).inputs[part.input]);
        const std::size_t maker = producer(value);
        if (maker == none) return false;
        Group& group = groups_[maker];
        if (group.structural || computes_nothing(group)) return false;
        // Values of rows, and those of kernels that write several, are no quads in a shader.
        if (group.rows || (group.choice && !group.choice->fuses_followers)) return false;
        if (group.anchor != no_id && graph_.node(group.anchor).outputs.size() > 1) return false;
        Group larger = group;
        larger.stores.push_back(part);
        const bool is_new = stored_.insert({part.node, part.input}).second;
        if (!fits(larger)) {
            if (is_new) stored_.erase({part.node, part.input});
            return false;
        }
        group = std::move(larger);
        return true;
    }

    /// Adds the nodes to the group of one of their producers.
    bool join(const std::vector<NodeId>& bundle, const Shape& space) {
        const std::set<std::size_t> needed = producers(bundle);
        // The newest producer first: its other operands are most likely there already.
        for (auto it = needed.rbegin(); it != needed.rend(); ++it) {
            const std::size_t target = *it;
            Group& group = groups_[target];
            if (group.structural || computes_nothing(group) || element_count(group.space) != element_count(space)) continue;
            if (group.choice && !group.choice->fuses_followers) continue;
            const bool direct = std::all_of(bundle.begin(), bundle.end(),
                                            [&](NodeId id) { return reads_in_register(graph_.node(id), target); });
            if (!direct) continue;
            const bool cycle = std::any_of(needed.begin(), needed.end(),
                                           [&](std::size_t g) { return g != target && reaches(target, g); });
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

    /// Whether every operand made by `target` has the elements of the group's index space in its order, under whatever
    /// shape, and so is a variable there.
    bool reads_in_register(const Node& node, std::size_t target) const {
        const auto& inputs = op_def(node.op).inputs;
        for (std::size_t k = 0; k < node.inputs.size(); ++k) {
            if (producer(node.inputs[k]) != target) continue;
            const bool elementwise = inputs.at(std::min(k, inputs.size() - 1)).access == Access::elementwise;
            const Shape& shape = graph_.value(node.inputs[k]).shape;
            if (!elementwise || element_count(shape) != element_count(groups_[target].space)) return false;
        }
        return true;
    }

    // ---- whole groups that become one ----------------------------------------------------------------------------

    /// What the two would need as one; nothing where that would be a cycle.
    std::optional<std::set<std::size_t>> joint_needs(std::size_t g, std::size_t h) const {
        std::set<std::size_t> needs = needs_[g];
        needs.insert(needs_[h].begin(), needs_[h].end());
        needs.erase(g);
        needs.erase(h);
        const bool cycle = std::any_of(needs.begin(), needs.end(), [&](std::size_t n) { return reaches(g, n) || reaches(h, n); });
        return cycle ? std::nullopt : std::optional(std::move(needs));
    }

    void merge(std::size_t g, Group larger, std::size_t h, std::set<std::size_t> needs) {
        groups_[g] = std::move(larger);
        groups_[h] = Group();
        needs_[g] = std::move(needs);
        needs_[h].clear();
        for (std::set<std::size_t>& n : needs_) {
            if (n.erase(h) > 0) n.insert(g);
        }
        std::replace(group_of_.begin(), group_of_.end(), h, g);
    }

    /// Takes an elementwise group into one that reads its values element by element, if there is such a one: the operands
    /// of an operator that joined the group of another.
    bool grow_elementwise(std::size_t g) {
        const Group& group = groups_[g];
        if (group.structural || group.rows || computes_nothing(group)) return false;
        if (group.choice && !group.choice->fuses_followers) return false;
        const std::set<std::size_t> neighbours = needs_[g];
        return std::any_of(neighbours.begin(), neighbours.end(), [&](std::size_t h) { return take_elementwise(g, h); });
    }

    bool take_elementwise(std::size_t g, std::size_t h) {
        const Group &group = groups_[g], &taken = groups_[h];
        if (taken.anchor != no_id || taken.rows || taken.members.empty()) return false;
        if (element_count(taken.space) != element_count(group.space)) return false;
        if (group.anchor != no_id && producers(graph_.node(group.anchor)).contains(h)) return false;
        Group larger = group;
        larger.members.insert(larger.members.end(), taken.members.begin(), taken.members.end());
        std::sort(larger.members.begin(), larger.members.end());
        larger.stores.insert(larger.stores.end(), taken.stores.begin(), taken.stores.end());
        const bool direct = std::all_of(group.members.begin(), group.members.end(), [&](NodeId id) {
            const Node& node = graph_.node(id);
            return op_def(node.op).view ? !producers(node).contains(h) : reads_in_register(node, h);
        });
        std::optional<std::set<std::size_t>> needs = joint_needs(g, h);
        if (!direct || !needs || !fits(larger)) return false;
        merge(g, std::move(larger), h, std::move(*needs));
        return true;
    }

    // ---- row groups ---------------------------------------------------------------------------------------------

    /// The group as a row group, if it is one or its anchor reduces rows.
    std::optional<Group> as_rows(const Group& group) const {
        if (group.rows) return group;
        if (!group.choice || !group.choice->earlier.empty() || !group.stores.empty()) return std::nullopt;
        const auto rows = row_reduction(NodeView(graph_, group.anchor), device_);
        if (!rows) return std::nullopt;
        Group result;
        result.rows = rows;
        result.space = group.space;
        result.members = {group.anchor};
        result.members.insert(result.members.end(), group.members.begin(), group.members.end());
        return result;
    }

    /// Takes one neighbour of a group with row reductions into it, if there is one that fits.
    bool grow_rows(std::size_t g) {
        const std::optional<Group> group = as_rows(groups_[g]);
        if (!group) return false;
        std::set<std::size_t> neighbours = needs_[g];
        for (std::size_t h = 0; h < groups_.size(); ++h) {
            if (needs_[h].contains(g)) neighbours.insert(h);
        }
        return std::any_of(neighbours.begin(), neighbours.end(), [&](std::size_t h) { return take_rows(g, *group, h); });
    }

    bool take_rows(std::size_t g, const Group& group, std::size_t h) {
        const std::optional<Group> other = as_rows(groups_[h]);
        const Group& taken = other ? *other : groups_[h];
        if (other) {
            if (other->rows->count != group.rows->count || other->rows->axis != group.rows->axis) return false;
        } else if (taken.anchor != no_id || taken.structural || taken.members.empty()) {
            return false;
        } else if (!taken.stores.empty() && element_count(taken.space) == group.rows->count) {
            return false;  // the rows' own values are no quads in a shader
        }
        Group larger = group;
        larger.members.insert(larger.members.end(), taken.members.begin(), taken.members.end());
        std::sort(larger.members.begin(), larger.members.end());
        larger.stores.insert(larger.stores.end(), taken.stores.begin(), taken.stores.end());
        const auto reads_well = [&](NodeId id) { return reads_in_rows(graph_.node(id), NodeView(graph_, id).out(), *group.rows, g, h); };
        if (!std::all_of(larger.members.begin(), larger.members.end(), reads_well)) return false;
        const auto reductions = std::count_if(larger.members.begin(), larger.members.end(),
                                              [&](NodeId id) { return op_def(graph_.node(id).op).combine != nullptr; });
        if (static_cast<std::size_t>(reductions) >= max_row_loops) return false;
        std::optional<std::set<std::size_t>> needs = joint_needs(g, h);
        if (!needs || !fits(larger)) return false;
        merge(g, std::move(larger), h, std::move(*needs));
        return true;
    }

    /// Whether a row group may run the node, whose operands from the groups g and h are then variables there.
    bool reads_in_rows(const Node& node, const Value& out, const Rows& rows, std::size_t g, std::size_t h) const {
        const OpDef& def = op_def(node.op);
        const std::int64_t elements = rows.count * rows.axis;
        const bool reduces = def.combine != nullptr, of_rows = !reduces && element_count(out.shape) == rows.count;
        if (!reduces && !of_rows && element_count(out.shape) != elements) return false;
        if (of_rows && def.view) return false;
        for (std::size_t k = 0; k < node.inputs.size(); ++k) {
            const std::size_t from = producer(node.inputs[k]);
            if (from == none || (from != g && from != h)) continue;
            if (def.view || def.inputs.at(std::min(k, def.inputs.size() - 1)).access != Access::elementwise) return false;
            const Shape& shape = graph_.value(node.inputs[k]).shape;
            const bool same = element_count(shape) == (of_rows ? rows.count : elements);
            if (!same && (reduces || of_rows || !spreads_over_rows(shape, out.shape, rows))) return false;
        }
        return true;
    }

    void collect_outputs() {
        std::vector<bool> needed(graph_.values.size(), options_.keep_all);
        for (const ValueId id : graph_.outputs) needed[storage_of(graph_, id)] = true;
        for (const Node& node : graph_.nodes) {
            const std::size_t home = node.outputs.empty() ? none : producer(node.outputs.front());
            const bool is_alias = !node.outputs.empty() && storage_of(graph_, node.outputs.front()) != node.outputs.front();
            for (std::size_t k = 0; k < node.inputs.size(); ++k) {
                const ValueId id = node.inputs[k];
                const bool stored = stored_.contains({static_cast<NodeId>(&node - graph_.nodes.data()), k});
                if (!is_alias && !stored && (home == none || producer(id) != home)) needed[storage_of(graph_, id)] = true;
            }
        }
        const auto add = [&](std::size_t g, NodeId id) {
            // A kernel of several outputs writes all of them, or is not run.
            const auto& made = graph_.node(id).outputs;
            const bool any = std::any_of(made.begin(), made.end(), [&](ValueId value) { return needed[value]; });
            if (any) groups_[g].outputs.insert(groups_[g].outputs.end(), made.begin(), made.end());
        };
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            if (groups_[g].anchor != no_id) add(g, groups_[g].anchor);
            for (const NodeId id : groups_[g].members) add(g, id);
        }
        // A result that nobody reads would leave its group without an output: it is not run at all.
        dead_.assign(groups_.size(), false);
        for (std::size_t g = 0; g < groups_.size(); ++g) dead_[g] = groups_[g].outputs.empty() && groups_[g].stores.empty() && !has_effect(groups_[g]);
    }

    /// Writes of variables and regions (which may hold some, or never end) run whether their results are read or not.
    bool has_effect(const Group& group) const {
        return group.structural && (graph_.node(group.anchor).op == Op::variable_write || !graph_.node(group.anchor).regions.empty());
    }

    std::vector<Group> schedule() {
        std::vector<Group> order;
        std::vector<bool> done(groups_.size(), false);
        // Depth first from each group in creation order keeps producers close to their consumers.
        for (std::size_t g = 0; g < groups_.size(); ++g) emit(g, done, order);
        return order;
    }

    void emit(std::size_t root, std::vector<bool>& done, std::vector<Group>& order) {
        std::vector<std::pair<std::size_t, bool>> open{{root, false}};
        while (!open.empty()) {
            const auto [g, ready] = open.back();
            open.pop_back();
            if (done[g]) continue;
            if (ready) {
                done[g] = true;
                if (!dead_[g]) order.push_back(groups_[g]);
                continue;
            }
            open.emplace_back(g, true);
            for (const std::size_t before : needs_[g]) open.emplace_back(before, false);
        }
    }

    const Graph& graph_;
    const DevicePlan& device_;
    const PlanOptions& options_;
    std::vector<std::size_t> group_of_;           ///< by ValueId
    std::vector<std::vector<NodeId>> consumers_;  ///< by ValueId
    std::vector<bool> is_output_;                 ///< by ValueId
    std::vector<bool> pending_;                   ///< by NodeId: computed where its consumer is
    std::vector<Group> groups_;
    std::vector<std::set<std::size_t>> needs_;
    std::vector<bool> dead_;
    struct Accesses {
        std::size_t written = none;     ///< the last group that writes it
        std::vector<std::size_t> read;  ///< those that read it since
    };
    std::map<std::string, Accesses> accesses_;  ///< by variable
    std::set<std::pair<NodeId, std::size_t>> stored_;  ///< inputs that their own groups store in their place
};

}  // namespace

std::vector<Group> fuse(const Graph& graph, const DevicePlan& device, const PlanOptions& options) {
    return Fuser(graph, device, options).run();
}

}  // namespace tosavk
