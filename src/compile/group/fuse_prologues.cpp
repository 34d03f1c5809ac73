// Elementwise groups that a kernel computes where it reads their one result.
#include "compile/group/leaves.hpp"
#include "compile/group/passes.hpp"
#include "compile/group/prologue.hpp"
#include "compile/group/prologue_value.hpp"
#include "ops/storage.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

/// Which of a kernel's passes reads a value, and through which of its operands.
struct Reader {
    const KernelPass* pass = nullptr;
    std::size_t index = 0;

    const KernelOperand& operand() const { return pass->operands[index]; }
};

/// The only one; nothing where there are several: what is packed while planning, or read by several passes, is no
/// matter of one function.
std::optional<Reader> only_reader(const Graph& graph, const KernelChoice& choice, ValueId value) {
    std::vector<const KernelPass*> passes{&choice};
    for (const KernelPass& pass : choice.earlier) passes.push_back(&pass);
    std::vector<Reader> found;
    for (const KernelPass* pass : passes) {
        for (std::size_t k = 0; k < pass->operands.size(); ++k) {
            const KernelOperand& operand = pass->operands[k];
            if (operand.value != no_id && storage_of(graph, operand.value) == value) found.push_back({pass, k});
        }
    }
    if (found.size() != 1 || found.front().operand().type != graph.value(value).type) return std::nullopt;
    return found.front();
}

void note(Group& kernel, const std::string& text) {
    kernel.choice->note += (kernel.choice->note.empty() ? "" : "; ") + text;
}

void take_prologue(GroupGraph& fusion, std::size_t g, std::size_t h) {
    Group& group = fusion.groups[g];
    const Group& taken = fusion.groups[h];
    if (group.kind != Group::Kind::kernel || !may_be_prologue(taken)) return;
    const auto value = prologue_value(fusion, taken, {group.anchor});
    if (!value) return;
    const std::optional<Reader> reader = only_reader(fusion.graph, *group.choice, *value);
    if (!reader) return;

    const double reads = reader->operand().reads;
    const auto elements = static_cast<double>(element_count(fusion.graph.value(*value).shape));
    const auto& groups = reader->pass->groups;
    const std::uint32_t size =
        reader->pass->invocations != 0 ? reader->pass->invocations : fusion.device.workgroup_size;
    const double invocations = static_cast<double>(groups[0]) * groups[1] * groups[2] * size;
    std::string why;
    const PrologueCost cost = prologue_cost(fusion.graph, taken.members);
    const SizeChoices::Scope scope(fusion.device.sizes, fusion.graph.value(*value).name + "/prologue");
    if (!prologue_pays(cost, reads, invocations, elements, fusion.device, why)) {
        if (reads > 0) note(group, fmt::format("in{} is made before: {}", reader->index, why));
        return;
    }
    auto larger = with_prologue(fusion, g, h, *value);
    if (!larger) return;
    for (const KernelPass& pass : larger->group.choice->earlier) {
        if (pass_bindings(fusion.graph, larger->group, pass, fusion.device) > fusion.device.max_buffers) return;
    }
    note(larger->group, fmt::format("in{} is made where it is read", reader->index));
    merge(fusion, g, std::move(larger->group), h, std::move(larger->needs));
}

}  // namespace

void fuse_prologues(GroupGraph& fusion) {
    for (std::size_t g = 0; g < fusion.groups.size(); ++g) {
        const std::set<std::size_t> neighbours = fusion.needs[g];
        for (const std::size_t h : neighbours) take_prologue(fusion, g, h);
    }
}

}  // namespace tosavk
