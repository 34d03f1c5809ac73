#include "plan/fuse.hpp"

#include "ops/op.hpp"

#include <fmt/format.h>

#include <algorithm>
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

KernelChoice choose_kernel(const NodeView& view, const OpDef& def, const DevicePlan& device) {
    std::string reasons;
    for (const KernelCandidate& candidate : def.kernels) {
        std::string why;
        if (auto choice = candidate.plan(view, device, why)) return std::move(*choice);
        reasons += fmt::format("; {}: {}", candidate.name, why);
    }
    if (reasons.empty()) reasons = "; it has no kernel yet";
    throw Error(ErrorCode::unsupported, fmt::format("{} cannot run on this device{}", view.title(), reasons), view.node().name);
}

/// Groups under construction, with the edges between them.
class Fuser {
public:
    Fuser(const Graph& graph, const DevicePlan& device, const PlanOptions& options)
        : graph_(graph), device_(device), options_(options), group_of_(graph.values.size(), none) {}

    std::vector<Group> run() {
        for (NodeId id = 0; id < graph_.nodes.size(); ++id) place(id);
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
        const OpDef& def = op_def(view.node().op);
        const ValueId out = view.node().outputs.front();
        if (def.view) {
            const ViewDef move = def.view(view);
            if (move.kind == ViewDef::Kind::alias) return;
            if (move.kind == ViewDef::Kind::write) {
                place_copies(view, move);
                return;
            }
        }
        if (!def.expression && !def.view) {
            Group group;
            group.anchor = id;
            group.choice = choose_kernel(view, def, device_);
            group.space = view.out().shape;
            const std::size_t made = new_group(std::move(group), producers(view.node()));
            for (const ValueId value : view.node().outputs) group_of_[value] = made;
            return;
        }
        if (options_.fuse && def.expression && join(view)) return;
        Group group;
        group.members = {id};
        group.space = view.out().shape;
        group_of_[out] = new_group(std::move(group), producers(view.node()));
    }

    /// CONCAT: one copying group per input; the last one owns the value, the others are its needs.
    void place_copies(const NodeView& view, const ViewDef& move) {
        std::set<std::size_t> earlier;
        for (std::size_t k = 0; k < view.input_count(); ++k) {
            Group group;
            group.space = view.in(k).shape;
            group.copy = Group::Copy{view.id(), k, move.maps.at(k)};
            std::set<std::size_t> needs = earlier;
            if (producer(view.node().inputs[k]) != none) needs.insert(producer(view.node().inputs[k]));
            earlier = {new_group(std::move(group), std::move(needs))};
        }
        group_of_[view.node().outputs.front()] = *earlier.begin();
    }

    bool join(const NodeView& view) {
        const Node& node = view.node();
        const std::set<std::size_t> needed = producers(node);
        // The newest producer first: its other operands are most likely there already.
        for (auto it = needed.rbegin(); it != needed.rend(); ++it) {
            const std::size_t target = *it;
            Group& group = groups_[target];
            if (group.copy || group.space != view.out().shape) continue;
            if (group.choice && !group.choice->fuses_followers) continue;
            if (!reads_in_register(node, target)) continue;
            const bool cycle = std::any_of(needed.begin(), needed.end(),
                                           [&](std::size_t g) { return g != target && reaches(target, g); });
            if (cycle) continue;
            Group larger = group;
            larger.members.push_back(view.id());
            larger.outputs = {node.outputs.front()};
            // Room for one more output: an inner value that a later node turns out to need.
            if (count_buffers(graph_, larger) + 1 > device_.max_buffers) continue;
            group.members.push_back(view.id());
            group_of_[node.outputs.front()] = target;
            for (const std::size_t g : needed) {
                if (g != target) needs_[target].insert(g);
            }
            return true;
        }
        return false;
    }

    /// Whether every operand made by `target` has the group's own index space (and so is a variable there), and at
    /// least one is.
    bool reads_in_register(const Node& node, std::size_t target) const {
        bool any = false;
        const auto& inputs = op_def(node.op).inputs;
        for (std::size_t k = 0; k < node.inputs.size(); ++k) {
            if (producer(node.inputs[k]) != target) continue;
            const bool direct = storage_of(graph_, node.inputs[k]) == node.inputs[k];
            const bool elementwise = inputs.at(std::min(k, inputs.size() - 1)).access == Access::elementwise;
            if (!direct || !elementwise || graph_.value(node.inputs[k]).shape != groups_[target].space) return false;
            any = true;
        }
        return any;
    }

    void collect_outputs() {
        std::vector<bool> needed(graph_.values.size(), options_.keep_all);
        for (const ValueId id : graph_.outputs) needed[storage_of(graph_, id)] = true;
        for (const Node& node : graph_.nodes) {
            const std::size_t home = producer(node.outputs.front());
            const bool is_alias = storage_of(graph_, node.outputs.front()) != node.outputs.front();
            for (const ValueId id : node.inputs) {
                if (!is_alias && (producer(id) != home || groups_[home].copy)) needed[storage_of(graph_, id)] = true;
            }
        }
        const auto add = [&](std::size_t g, NodeId id) {
            for (const ValueId value : graph_.node(id).outputs) {
                if (needed[value]) groups_[g].outputs.push_back(value);
            }
        };
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            if (groups_[g].anchor != no_id) add(g, groups_[g].anchor);
            for (const NodeId id : groups_[g].members) add(g, id);
        }
        // A result that nobody reads would leave its group without an output: it is not run at all.
        dead_.assign(groups_.size(), false);
        for (std::size_t g = 0; g < groups_.size(); ++g) dead_[g] = groups_[g].outputs.empty() && !groups_[g].copy;
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
    std::vector<std::size_t> group_of_;  ///< by ValueId
    std::vector<Group> groups_;
    std::vector<std::set<std::size_t>> needs_;
    std::vector<bool> dead_;
};

}  // namespace

std::vector<Group> fuse(const Graph& graph, const DevicePlan& device, const PlanOptions& options) {
    return Fuser(graph, device, options).run();
}

}  // namespace tosavk
