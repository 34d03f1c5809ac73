// GPU kernel of RESIZE.
#include "ops/resize.hpp"
#include "kernels/common/operands.hpp"
#include "kernels/kernels.hpp"

namespace tosavk {
namespace {

std::optional<KernelChoice> plan_resize(const NodeView& view, const DevicePlan& device, std::string&) {
    const ResizeGeometry g = resize_geometry(view);
    const DType type = view.in(0).type;
    const bool bilinear = view.attrs().mode == ResizeMode::bilinear;
    KernelChoice choice;
    choice.kernel = "resize";
    choice.by_eights = g.channels % 8 == 0 && wants_eights(element_count(view.out().shape), device);
    const std::int64_t each = choice.by_eights ? 8 : row_step(g.channels, type, view.out().type, device);
    choice.defines = {{"EACH", std::to_string(each)},
                      {"X_FLOAT", is_float(type) ? "1" : "0"},
                      {"WIDE", view.out().type == DType::i48 ? "1" : "0"},
                      {"BILINEAR", bilinear ? "1" : "0"}};
    const std::int64_t pixels = g.batch * g.y.out * g.x.out;
    set_constants(choice, {{"IH", g.y.in},
                           {"IW", g.x.in},
                           {"C", g.channels},
                           {"OH", g.y.out},
                           {"OW", g.x.out},
                           {"Y_N", g.y.n},
                           {"Y_D", g.y.d},
                           {"Y_OFFSET", g.y.offset},
                           {"X_N", g.x.n},
                           {"X_D", g.x.d},
                           {"X_OFFSET", g.x.offset},
                           {"PIXELS", pixels},
                           {"Y_OVER", 1 / static_cast<float>(g.y.n)},
                           {"X_OVER", 1 / static_cast<float>(g.x.n)}});
    const double samples = bilinear ? 4 : 1,
                 share = static_cast<double>(g.y.out * g.x.out) / static_cast<double>(g.y.in * g.x.in);
    add_operand(choice, view, 0, samples * share * quad_waste(g.channels));
    choice.groups = linear_groups(pixels * ((g.channels + each - 1) / each), device);
    choice.aligned = g.channels % 4 == 0;
    choice.in_rows = each > 1;
    choice.work = static_cast<double>(pixels * g.channels) * (bilinear ? 8 : 1);
    return choice;
}

}  // namespace

std::vector<KernelCandidate> resize_kernels() { return {{"direct", plan_resize}}; }

}  // namespace tosavk
