// Whole groups: two that become one, what each must write, and the order in which they run.
#include "compile/group/fuser.hpp"

#include <algorithm>

namespace tosavk {

bool Fuser::reaches(std::size_t from, std::size_t to) const {
    // Asked for every pair that may become one: the visits of all searches share a list.
    seen_.resize(groups_.size(), 0);
    ++search_;
    std::vector<std::size_t> open{to};
    while (!open.empty()) {
        const std::size_t at = open.back();
        open.pop_back();
        if (at == from) return true;
        if (seen_[at] == search_) continue;
        seen_[at] = search_;
        open.insert(open.end(), needs_[at].begin(), needs_[at].end());
    }
    return false;
}

std::optional<std::set<std::size_t>> Fuser::joint_needs(std::size_t g, std::size_t h) const {
    std::set<std::size_t> needs = needs_[g];
    needs.insert(needs_[h].begin(), needs_[h].end());
    needs.erase(g);
    needs.erase(h);
    const bool cycle =
        std::any_of(needs.begin(), needs.end(), [&](std::size_t n) { return reaches(g, n) || reaches(h, n); });
    return cycle ? std::nullopt : std::optional(std::move(needs));
}

void Fuser::merge(std::size_t g, Group larger, std::size_t h, std::set<std::size_t> needs) {
    groups_[g] = std::move(larger);
    groups_[h] = Group();
    needs_[g] = std::move(needs);
    needs_[h].clear();
    for (std::set<std::size_t>& n : needs_) {
        if (n.erase(h) > 0) n.insert(g);
    }
    std::replace(group_of_.begin(), group_of_.end(), h, g);
}

bool Fuser::grow_elementwise(std::size_t g) {
    const Group& group = groups_[g];
    if (!takes_followers(group) || group.kind == Group::Kind::rows) return false;
    const std::set<std::size_t> neighbours = needs_[g];
    return std::any_of(neighbours.begin(), neighbours.end(), [&](std::size_t h) { return take_elementwise(g, h); });
}

bool Fuser::take_elementwise(std::size_t g, std::size_t h) {
    const Group &group = groups_[g], &taken = groups_[h];
    if (taken.kind != Group::Kind::elementwise) return false;
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

void Fuser::collect_outputs() {
    std::vector<bool> needed(graph_.values.size(), options_.keep_all);
    for (const ValueId id : graph_.outputs) needed[homes_[id].owner] = true;
    for (const Node& node : graph_.nodes) {
        const std::size_t home = node.outputs.empty() ? none : producer(node.outputs.front());
        const bool is_alias = !node.outputs.empty() && homes_[node.outputs.front()].owner != node.outputs.front();
        for (std::size_t k = 0; k < node.inputs.size(); ++k) {
            const ValueId id = node.inputs[k];
            const bool stored = stored_.contains({static_cast<NodeId>(&node - graph_.nodes.data()), k});
            if (!is_alias && !stored && (home == none || producer(id) != home)) needed[homes_[id].owner] = true;
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
    for (std::size_t g = 0; g < groups_.size(); ++g)
        dead_[g] = groups_[g].outputs.empty() && groups_[g].stores.empty() && !has_effect(groups_[g]);
}

bool Fuser::has_effect(const Group& group) const {
    return group.kind == Group::Kind::structural &&
           (graph_.node(group.anchor).op == Op::variable_write || !graph_.node(group.anchor).regions.empty());
}

std::vector<Group> Fuser::schedule() {
    std::vector<Group> order;
    std::vector<bool> done(groups_.size(), false);
    // Depth first from each group in creation order keeps producers close to their consumers.
    for (std::size_t g = 0; g < groups_.size(); ++g) emit(g, done, order);
    return order;
}

void Fuser::emit(std::size_t root, std::vector<bool>& done, std::vector<Group>& order) {
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

}  // namespace tosavk
