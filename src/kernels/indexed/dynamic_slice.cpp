// GPU kernels of DYNAMIC_SLICE and DYNAMIC_UPDATE_SLICE: an index map whose offset is read when it runs.
#include "kernels/common/operands.hpp"
#include "kernels/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {
namespace {

/// Constants of one dimension of lib/window.glsl.
struct Dimension {
    std::int64_t full, size, which, limit, factor;
};

/// A dimension that the window spans begins at 0 and so is part of the one before it.
std::vector<Dimension> dimensions_of(const Shape& tensor, const Shape& window) {
    std::vector<Dimension> dims;
    for (std::size_t d = 0; d < tensor.size(); ++d) {
        if (!dims.empty() && window[d] == tensor[d]) {
            dims.back().full *= tensor[d];
            dims.back().size *= tensor[d];
            dims.back().factor *= tensor[d];
        } else {
            dims.push_back({tensor[d], window[d], static_cast<std::int64_t>(d), tensor[d] - window[d], 1});
        }
    }
    return dims;
}

std::optional<KernelChoice> plan_window(const NodeView& view, const DevicePlan& device, std::string& why) {
    const bool updates = view.node().op == Op::dynamic_update_slice;
    const DType type = view.out().type;
    if (!is_plain_type(type)) {
        why = fmt::format("it does not take {}", name_of(type));
        return std::nullopt;
    }
    const std::vector<Dimension> dims = dimensions_of(view.in(0).shape, updates ? view.in(1).shape : view.out().shape);
    constexpr std::size_t most = 6;
    if (dims.size() > most) {
        why = fmt::format("its window has {} dimensions, and this kernel counts {}", dims.size(), most);
        return std::nullopt;
    }
    const bool in_place = view.attrs().in_place;
    const std::int64_t count = element_count(in_place ? view.in(1).shape : view.out().shape);
    KernelChoice choice;
    choice.kernel = in_place ? "dynamic_update_in_place" : updates ? "dynamic_update" : "dynamic_slice";
    const bool rows = dims.size() == 1 || dims.back().size % 4 == 0;
    choice.defines = {{"X4", is_float(type) ? "vec4" : "ivec4"},
                      {"X1", is_float(type) ? "float" : "int"},
                      {"RANK", std::to_string(dims.size())},
                      {"STARTS(k)", updates && !in_place ? "in2_load1(k)" : "in1_load1(k)"}};
    if (!updates || in_place) choice.defines.emplace_back("ROWS", rows ? "1" : "0");
    for (std::size_t d = 0; d < most; ++d) {
        const Dimension one = d < dims.size() ? dims[d] : Dimension{1, 1, 0, 0, 1};
        const auto name = [&](const char* what) { return fmt::format("{}{}", what, d); };
        choice.constants.emplace(name("FULL"), one.full);
        choice.constants.emplace(name("SIZE"), one.size);
        choice.constants.emplace(name("WHICH"), one.which);
        choice.constants.emplace(name("LIMIT"), one.limit);
        choice.constants.emplace(name("FACTOR"), one.factor);
    }
    set_constants(choice, {{"COUNT", count}});
    const double share = static_cast<double>(count) / static_cast<double>(element_count(view.in(0).shape));
    if (in_place) choice.fuses_followers = choice.aligned = false;
    else add_operand(choice, view, 0, updates ? 1 : (rows ? 2 : 4) * share);
    if (updates) add_operand(choice, view, 1, in_place ? 1 : 2);
    add_operand(choice, view, updates ? 2 : 1);
    choice.groups = linear_groups((count + 3) / 4, device);
    return choice;
}

}  // namespace

std::vector<KernelCandidate> dynamic_slice_kernels() { return {{"direct", plan_window}}; }

}  // namespace tosavk
