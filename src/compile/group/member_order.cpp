#include "compile/group/member_order.hpp"

#include "ops/storage.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace tosavk {

namespace {

class MemberOrder {
public:
    MemberOrder(const Graph& graph, const std::vector<NodeId>& members) : graph_(graph) {
        for (const NodeId id : members) {
            makers_[graph.node(id).outputs.front()] = id;
            std::vector<std::int64_t> needs;
            for (const ValueId read : graph.node(id).inputs) {
                const auto maker = makers_.find(storage_of(graph, read));
                if (maker != makers_.end()) waits_.insert(maker->second);
                if (!graph.value(read).is_constant())
                    needs.push_back(maker == makers_.end() ? 1 : registers_.at(maker->second));
            }
            // The largest first: while the k-th is made, k results wait.
            std::sort(needs.rbegin(), needs.rend());
            std::int64_t most = 1;
            for (std::size_t k = 0; k < needs.size(); ++k)
                most = std::max(most, needs[k] + static_cast<std::int64_t>(k));
            registers_[id] = most;
        }
        // What no member reads comes in the order of the members, with what it needs before it.
        for (const NodeId id : members) {
            if (!waits_.contains(id)) visit(id);
        }
    }

    std::vector<NodeId> order;

private:
    void visit(NodeId root) {
        std::vector<std::pair<NodeId, bool>> open{{root, false}};
        while (!open.empty()) {
            const auto [id, ready] = open.back();
            open.pop_back();
            if (done_.contains(id)) continue;
            if (ready) {
                done_.insert(id);
                order.push_back(id);
                continue;
            }
            open.emplace_back(id, true);
            std::vector<NodeId> before;
            for (const ValueId read : graph_.node(id).inputs) {
                const auto maker = makers_.find(storage_of(graph_, read));
                if (maker != makers_.end()) before.push_back(maker->second);
            }
            std::stable_sort(before.begin(), before.end(),
                             [&](NodeId a, NodeId b) { return registers_.at(a) > registers_.at(b); });
            for (auto next = before.rbegin(); next != before.rend(); ++next) open.emplace_back(*next, false);
        }
    }

    const Graph& graph_;
    std::map<ValueId, NodeId> makers_;
    std::map<NodeId, std::int64_t> registers_;  ///< of four elements, that a member and what it reads need at once
    std::set<NodeId> waits_, done_;             ///< members that others read; those in their place
};

/// The most results that are made already and still to be read by a member, when one of them has been made.
std::size_t most_waiting(const Graph& graph, const std::vector<NodeId>& order) {
    std::map<ValueId, std::size_t> reads;  // of each that are left
    for (const NodeId id : order) {
        for (const ValueId read : graph.node(id).inputs) ++reads[storage_of(graph, read)];
    }
    std::set<ValueId> waiting;
    std::size_t most = 0;
    for (const NodeId id : order) {
        for (const ValueId read : graph.node(id).inputs) {
            const ValueId value = storage_of(graph, read);
            if (--reads[value] == 0) waiting.erase(value);
        }
        waiting.insert(graph.node(id).outputs.front());
        most = std::max(most, waiting.size());
    }
    return most;
}

}  // namespace

std::vector<NodeId> with_few_waiting(const Graph& graph, const std::vector<NodeId>& members) {
    std::vector<NodeId> order = MemberOrder(graph, members).order;
    return most_waiting(graph, order) < most_waiting(graph, members) ? order : members;
}

}  // namespace tosavk
