// GPU kernel of GATHER_ND.
#include "kernels/common/operands.hpp"
#include "kernels/indexed/tuples.hpp"
#include "kernels/kernels.hpp"

namespace tosavk {
namespace {

std::optional<KernelChoice> plan_gather_nd(const NodeView& view, const DevicePlan& device, std::string& why) {
    if (!takes_tuples(view, why)) return std::nullopt;
    const IndexedSizes s = indexed_sizes(view);
    const std::int64_t count = s.all_tuples() * s.row;
    KernelChoice choice;
    choice.kernel = "gather_nd";
    choice.defines = {{"X4", is_float(view.out().type) ? "vec4" : "ivec4"}};
    add_tuples(choice, view, s, 1);
    set_constants(choice, {{"C", s.row}, {"COUNT", count}});
    const double share = static_cast<double>(count) / static_cast<double>(s.all_slots() * s.row);
    add_operand(choice, view, 0, s.row % 4 == 0 ? share : 4 * share);
    add_operand(choice, view, 1);
    choice.groups = linear_groups((count + 3) / 4, device);
    return choice;
}

}  // namespace

std::vector<KernelCandidate> gather_nd_kernels() { return {{"direct", plan_gather_nd}}; }

}  // namespace tosavk
