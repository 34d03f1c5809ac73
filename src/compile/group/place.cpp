#include "compile/group/place.hpp"

#include "compile/group/attention.hpp"
#include "compile/group/passes.hpp"
#include "compile/group/rows.hpp"
#include "kernels/kernels.hpp"

#include <fmt/format.h>

#include <map>

namespace tosavk {

namespace {

std::optional<KernelChoice> find_kernel(const NodeView& view, const DevicePlan& device, std::string& reasons) {
    for (const KernelCandidate& candidate : kernels_of(view.node().op)) {
        if (candidate.is_variant) continue;
        std::string why;
        if (auto choice = plan_candidate(candidate, view, device, why)) return choice;
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

/// Puts the group behind the others and says that it makes the node's outputs.
std::size_t place_group(GroupGraph& fusion, const NodeView& view, Group group, std::set<std::size_t> needs) {
    const std::size_t made = add_group(fusion, std::move(group), std::move(needs));
    for (const ValueId value : view.node().outputs) fusion.group_of[value] = made;
    return made;
}

void place_kernel(GroupGraph& fusion, const NodeView& view, KernelChoice choice) {
    Group group;
    group.kind = Group::Kind::kernel;
    group.anchor = view.id();
    group.choice = std::move(choice);
    group.space = view.out().shape;
    place_group(fusion, view, std::move(group), producers(fusion, view.node()));
}

void place_rows(GroupGraph& fusion, const NodeView& view, const Rows& rows) {
    Group group;
    group.kind = Group::Kind::rows;
    group.rows = rows;
    group.members = {view.id()};
    group.space = view.out().shape;
    place_group(fusion, view, std::move(group), producers(fusion, view.node()));
}

Group elementwise_group(const Graph& graph, const std::vector<NodeId>& bundle) {
    Group group;
    group.kind = Group::Kind::elementwise;
    group.members = bundle;
    group.space = graph.value(graph.node(bundle.back()).outputs.front()).shape;
    return group;
}

void place_alone(GroupGraph& fusion, const std::vector<NodeId>& bundle) {
    const std::size_t made = add_group(fusion, elementwise_group(fusion.graph, bundle), producers(fusion, bundle));
    for (const NodeId member : bundle) settle(fusion, member, made);
}

void place_elementwise(GroupGraph& fusion, const NodeView& view) {
    const bool joins = fusion.options.fuse && fusion.options.join_followers && is_elementwise(view);
    if (!joins) return place_alone(fusion, {view.id()});
    if (waits_for_its_consumer(fusion, view)) {
        fusion.waiting[view.id()] = true;
        return;
    }
    const std::vector<NodeId> bundle = with_waiting(fusion, view.id());
    if (join_producer(fusion, bundle, view.out().shape)) return;
    if (bundle.size() == 1 || fits(fusion, elementwise_group(fusion.graph, bundle))) return place_alone(fusion, bundle);
    // Too much for one shader: the waiting nodes get places of their own.
    for (const NodeId member : bundle) place_alone(fusion, {member});
}

class Placement {
public:
    explicit Placement(GroupGraph& fusion) : fusion_(fusion) {
        const PlanOptions& options = fusion.options;
        if (!options.fuse || !options.fuse_attention || options.keep_all || !fusion.device.fast_fp16) return;
        for (NodeId id = 0; id < fusion.graph.nodes.size(); ++id) plan_attention_at(id);
    }

    void place(NodeId id) {
        const NodeView view(fusion_.graph, id);
        if (view.node().op == Op::unknown || fusion_.absorbed[id]) return;
        if (const auto found = attentions_.find(id); found != attentions_.end())
            return place_attention(view, std::move(found->second));
        const OpDef& def = op_def(view.node().op);
        if (def.view) {
            const ViewDef move = def.view(view);
            if (move.kind == ViewDef::Kind::alias || is_part(fusion_, view.node().outputs.front())) return;
            if (move.kind == ViewDef::Kind::write) return place_concat(fusion_, view, move);
            const bool stores = fusion_.options.fuse && fusion_.options.store_in_place;
            if (view.node().op == Op::transpose && stores && store_transposed(fusion_, view)) return;
        }
        if (def.structural) return place_structural(view);
        if (!is_elementwise(view)) {
            if (def.combine && order_matters(view)) {
                if (const auto rows = row_reduction(view, fusion_.device)) return place_rows(fusion_, view, *rows);
            }
            std::string reasons;
            std::optional<KernelChoice> choice =
                def.view ? find_kernel(view, fusion_.device, reasons) : choose_kernel(view, fusion_.device);
            if (choice) {
                if (const auto found = declined_.find(id); found != declined_.end())
                    choice->note += fmt::format("; no attention in one dispatch: {}", found->second);
                return place_kernel(fusion_, view, std::move(*choice));
            }
        }
        place_elementwise(fusion_, view);
    }

private:
    struct PlannedAttention {
        FoundAttention found;
        KernelChoice choice;
    };

    /// Looks for attention that ends in this node, and says that its kernel computes what comes before.
    void plan_attention_at(NodeId id) {
        std::string why;
        auto found = find_attention(fusion_, id, why);
        const SizeChoices::Scope scope(fusion_.device.sizes, fusion_.graph.node(id).name + "/attention");
        auto choice = found ? plan_attention(fusion_.graph, found->attention, fusion_.device, why) : std::nullopt;
        if (!choice) {
            if (!why.empty()) declined_[id] = why;
            return;
        }
        for (const NodeId node : found->nodes) fusion_.absorbed[node] = true;
        attentions_.emplace(id, PlannedAttention{std::move(*found), std::move(*choice)});
    }
    void place_attention(const NodeView& view, PlannedAttention&& planned) {
        std::set<std::size_t> needs = producers(fusion_, planned.found.nodes);
        needs.merge(producers(fusion_, view.node()));
        Group group;
        group.kind = Group::Kind::kernel;
        group.anchor = view.id();
        group.choice = std::move(planned.choice);
        group.space = view.out().shape;
        group.absorbed = std::move(planned.found.nodes);
        const std::vector<NodeId> absorbed = group.absorbed;
        const std::size_t made = place_group(fusion_, view, std::move(group), std::move(needs));
        for (const NodeId node : absorbed) {
            for (const ValueId value : fusion_.graph.node(node).outputs) fusion_.group_of[value] = made;
        }
    }

    struct Accesses {
        std::size_t written = no_group;  ///< the last group that writes it
        std::vector<std::size_t> read;   ///< those that read it since
    };

    static void find_accesses(const Node& node, std::set<std::string>& reads, std::set<std::string>& writes) {
        if (node.op == Op::variable_read) reads.insert(node.attrs.variable);
        if (node.op == Op::variable_write) writes.insert(node.attrs.variable);
        for (const auto& region : node.regions) {
            for (const Node& inner : region->nodes) find_accesses(inner, reads, writes);
        }
    }

    /// Reads and writes of a variable keep the order of the nodes.
    void place_structural(const NodeView& view) {
        std::set<std::size_t> needs = producers(fusion_, view.node());
        std::set<std::string> reads, writes;
        find_accesses(view.node(), reads, writes);
        for (const std::string& name : reads) {
            const std::size_t written = accesses_[name].written;
            if (written != no_group) needs.insert(written);
        }
        for (const std::string& name : writes) {
            const Accesses& before = accesses_[name];
            needs.insert(before.read.begin(), before.read.end());
            if (before.written != no_group) needs.insert(before.written);
        }
        Group group;
        group.kind = Group::Kind::structural;
        group.anchor = view.id();
        const std::size_t made = place_group(fusion_, view, std::move(group), std::move(needs));
        for (const std::string& name : reads) accesses_[name].read.push_back(made);
        for (const std::string& name : writes) accesses_[name] = {made, {}};
    }

    GroupGraph& fusion_;
    std::map<NodeId, PlannedAttention> attentions_;  ///< by the last product
    std::map<NodeId, std::string> declined_;         ///< why a product of a softmax is none, likewise
    std::map<std::string, Accesses> accesses_;       ///< by variable
};

}  // namespace

void place_nodes(GroupGraph& fusion) {
    Placement placement(fusion);
    for (NodeId id = 0; id < fusion.graph.nodes.size(); ++id) placement.place(id);
}

}  // namespace tosavk
