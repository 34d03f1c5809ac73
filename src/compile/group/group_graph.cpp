#include "compile/group/group_graph.hpp"

#include "compile/group/leaves.hpp"
#include "ops/storage.hpp"

#include <algorithm>

namespace tosavk {

namespace {

/// Members that one shader may have: longer chains are split, so that no shader grows without bound. A guess.
constexpr std::size_t max_members = 64;
/// What they may be worth beside the largest of them (GroupLeaves::operations) by the registers of an invocation, less
/// of rows, whose passes take some: a GPU's compiler moves ahead of its use what does not wait, until it spills. Mali's
/// does from about 80 for 64 registers on, Intel's from 160 for 128, of rows from 70.
bool is_short(const GroupGraph& fusion, const Group& group, const GroupLeaves& leaves) {
    const std::int64_t registers = fusion.device.registers;
    const std::int64_t most =
        group.rows ? std::max<std::int64_t>(registers / 2, 64) : std::max<std::int64_t>(registers, 80);
    return registers > 256 || leaves.operations <= most;
}

/// What a group stores: registers of 32 bits that a quad of all of it takes, and bindings.
struct Results {
    std::size_t registers = 0, bindings = 0;
};

/// Registers of 32 bits that an invocation of a pass with a prologue holds: beside the other sums about as many results
/// of the prologue as there are of these, until they are multiplied (Mali's compiler spilled MUL and a convolution of
/// seven pixels).
std::size_t held_with_prologues(const GroupGraph& fusion, const Group& group) {
    std::size_t held = 0;
    const auto add = [&](const KernelPass& pass) {
        const bool has_one = std::ranges::any_of(pass.operands, [&](const KernelOperand& operand) {
            return prologue_of(fusion.graph, group, operand) != nullptr;
        });
        if (has_one) held = std::max(held, 2 * pass.held_registers);
    };
    std::ranges::for_each(group.choice->earlier, add);
    add(*group.choice);
    return held;
}

/// Whether an invocation has the registers of 32 bits that members need at once: GPUs give it at most 255 or 256. Where
/// they give fewer, a quarter, a guess, is for addresses and functions, and results count too: they are all kept until
/// the end, which GroupLeaves::registers does not know of results that are read inside as well.
bool has_registers(const GroupGraph& fusion, const Group& group, const GroupLeaves& leaves, const Results& results) {
    const std::size_t registers = fusion.device.registers, members = leaves.registers + results.registers;
    if (registers >= 255) return leaves.registers <= 256;
    if (members > registers * 3 / 4) return false;
    // Beside sums of a product functions have what these leave, and rounding to narrow floats takes more than they do
    // (Mali's compiler spilled MUL, ERF, ADD, MUL, MUL of fp16). Where rows end within a quad, each element that
    // members read has an address of its own (it spilled ADD of a row of 14).
    if (!fusion.device.has_few_registers() || group.kind != Group::Kind::kernel) return true;
    const bool rounds = std::ranges::any_of(group.members, [&](NodeId id) {
        const DType type = fusion.graph.value(fusion.graph.node(id).outputs.front()).type;
        return is_float(type) && type != DType::fp32 && !(fusion.device.fast_fp16 && type == DType::fp16);
    });
    const bool reads_apart = !group.choice->aligned && leaves.places > 0;
    const std::size_t held = std::max(group.choice->held_registers, held_with_prologues(fusion, group));
    return held + members + (rounds ? 24 : 16) + (reads_apart ? 16 : 0) <= registers;
}

/// Whether the value reaches this consumer by the stores of its own group.
bool is_stored(const GroupGraph& fusion, ValueId value, NodeId consumer) {
    const auto& inputs = fusion.graph.node(consumer).inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (inputs[k] == value && !fusion.stored.contains({consumer, k})) return false;
    }
    return true;
}

std::size_t bindings_of(const GroupGraph& fusion, ValueId id) {
    const Value& value = fusion.graph.value(id);
    const auto bytes = static_cast<std::uint64_t>(element_count(value.shape)) * size_of(value.type);
    return binding_count(allocation_bytes(bytes, value.type), fusion.device);
}

Results results_of(const GroupGraph& fusion, const Group& group) {
    const std::set<NodeId> members(group.members.begin(), group.members.end());
    Results results;
    const auto store = [&](ValueId value) {
        results.registers += fusion.graph.value(value).type == DType::i48 ? 8 : 4;
        results.bindings += bindings_of(fusion, value);
    };
    const auto add = [&](ValueId value) {
        const auto outside = [&](NodeId consumer) {
            return !members.contains(consumer) && !is_stored(fusion, value, consumer);
        };
        const auto& consumers = fusion.consumers[value];
        if (!fusion.options.keep_all && !fusion.is_output[value] &&
            std::none_of(consumers.begin(), consumers.end(), outside))
            return;
        store(value);
    };
    if (group.anchor != no_id) add(fusion.graph.node(group.anchor).outputs.front());
    for (const NodeId id : group.members) add(fusion.graph.node(id).outputs.front());
    std::set<NodeId> joint;
    for (const Group::Store& part : group.stores) joint.insert(part.node);
    for (const NodeId id : joint) store(fusion.graph.node(id).outputs.front());
    results.bindings = std::max<std::size_t>(results.bindings, 1);
    return results;
}

}  // namespace

GroupGraph::GroupGraph(const Graph& of, const DevicePlan& on, const PlanOptions& with)
    : graph(of),
      device(on),
      options(with),
      homes(find_homes(of, on, with)),
      consumers(of.values.size()),
      is_output(of.values.size(), false),
      group_of(of.values.size(), no_group),
      waiting(of.nodes.size(), false),
      absorbed(of.nodes.size(), false) {
    for (NodeId id = 0; id < of.nodes.size(); ++id) {
        for (const ValueId value : of.node(id).inputs) consumers[value].push_back(id);
    }
    for (const ValueId id : of.outputs) is_output[id] = true;
}

std::size_t producer(const GroupGraph& fusion, ValueId id) { return fusion.group_of[fusion.homes[id].owner]; }

std::set<std::size_t> producers(const GroupGraph& fusion, const Node& node) {
    std::set<std::size_t> result;
    for (const ValueId id : node.inputs) {
        if (producer(fusion, id) != no_group) result.insert(producer(fusion, id));
    }
    return result;
}

std::set<std::size_t> producers(const GroupGraph& fusion, const std::vector<NodeId>& nodes) {
    std::set<std::size_t> result;
    for (const NodeId id : nodes) result.merge(producers(fusion, fusion.graph.node(id)));
    return result;
}

bool is_part(const GroupGraph& fusion, ValueId id) { return fusion.homes[id].owner != storage_of(fusion.graph, id); }

bool reads_in_register(const GroupGraph& fusion, const Node& node, std::size_t target) {
    const auto& inputs = op_def(node.op).inputs;
    const std::int64_t elements = element_count(fusion.groups[target].space);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        if (producer(fusion, node.inputs[k]) != target) continue;
        const bool elementwise = inputs.at(std::min(k, inputs.size() - 1)).access == Access::elementwise;
        const Shape& shape = fusion.graph.value(node.inputs[k]).shape;
        if (!elementwise || is_part(fusion, node.inputs[k]) || element_count(shape) != elements) return false;
    }
    return true;
}

bool takes_followers(const Group& group) {
    return group.kind == Group::Kind::elementwise || group.kind == Group::Kind::rows ||
           (group.kind == Group::Kind::kernel && group.choice->fuses_followers);
}

bool fits(const GroupGraph& fusion, const Group& group) {
    const GroupLeaves leaves = leaves_of(fusion.graph, group, fusion.device, Outputs::open);
    const Results results = results_of(fusion, group);
    return leaves.members <= max_members && is_short(fusion, group, leaves) &&
           has_registers(fusion, group, leaves, results) &&
           leaves.bindings + results.bindings <= fusion.device.max_buffers;
}

std::size_t add_group(GroupGraph& fusion, Group group, std::set<std::size_t> needs) {
    fusion.groups.push_back(std::move(group));
    fusion.needs.push_back(std::move(needs));
    return fusion.groups.size() - 1;
}

bool reaches(const GroupGraph& fusion, std::size_t from, std::size_t to) {
    fusion.seen.resize(fusion.groups.size(), 0);
    ++fusion.search;
    std::vector<std::size_t> open{to};
    while (!open.empty()) {
        const std::size_t at = open.back();
        open.pop_back();
        if (at == from) return true;
        if (fusion.seen[at] == fusion.search) continue;
        fusion.seen[at] = fusion.search;
        open.insert(open.end(), fusion.needs[at].begin(), fusion.needs[at].end());
    }
    return false;
}

std::optional<std::set<std::size_t>> joint_needs(const GroupGraph& fusion, std::size_t g, std::size_t h) {
    std::set<std::size_t> needs = fusion.needs[g];
    needs.insert(fusion.needs[h].begin(), fusion.needs[h].end());
    needs.erase(g);
    needs.erase(h);
    const bool cycle = std::any_of(needs.begin(), needs.end(),
                                   [&](std::size_t n) { return reaches(fusion, g, n) || reaches(fusion, h, n); });
    return cycle ? std::nullopt : std::optional(std::move(needs));
}

void merge(GroupGraph& fusion, std::size_t g, Group larger, std::size_t h, std::set<std::size_t> needs) {
    fusion.groups[g] = std::move(larger);
    fusion.groups[h] = Group();
    fusion.needs[g] = std::move(needs);
    fusion.needs[h].clear();
    for (std::set<std::size_t>& n : fusion.needs) {
        if (n.erase(h) > 0) n.insert(g);
    }
    std::replace(fusion.group_of.begin(), fusion.group_of.end(), h, g);
}

void take_members(Group& group, const Group& taken) {
    group.members.insert(group.members.end(), taken.members.begin(), taken.members.end());
    std::sort(group.members.begin(), group.members.end());
    group.stores.insert(group.stores.end(), taken.stores.begin(), taken.stores.end());
}

}  // namespace tosavk
