// GPU kernel of SORT: the order first, then everything is moved.
#include "kernels/common/operands.hpp"
#include "kernels/kernels.hpp"
#include "kernels/sort/sort_passes.hpp"

#include <fmt/format.h>

#include <bit>

namespace tosavk {
namespace {

/// The bit pattern of infinity without a sign; fp8e4m3 has none, and all patterns but the largest are numbers.
std::int64_t infinity_bits(DType type) {
    switch (type) {
        case DType::fp32: return 0x7f800000;
        case DType::fp16: return 0x7c00;
        case DType::bf16: return 0x7f80;
        case DType::fp8e5m2: return 0x7c;
        default: return 0x7e;
    }
}

/// Floats are read as integers of their size.
KernelPass keys_of(const NodeView& view, std::int64_t inner) {
    const Value& keys = view.in(0);
    const int bits = keys.type == DType::boolean ? 1 : 8 * static_cast<int>(size_of(keys.type));
    const bool real = is_float(keys.type);
    const std::int64_t largest = (std::int64_t{1} << bits) - 1;
    KernelPass pass;
    pass.defines = {{"KEYS", "1"}, {"FLOATS", real ? "1" : "0"}};
    const bool from_zero = real || view.attrs().is_unsigned;
    set_constants(pass, {{"INNER", inner},
                         {"LEAST", from_zero ? 0 : min_of(keys.type)},
                         {"LARGEST", largest},
                         {"MAGNITUDE", largest / 2},
                         {"INFINITE", real ? infinity_bits(keys.type) : 0},
                         {"DESCENDING", int{view.attrs().descending}},
                         {"TOTAL_ORDER", int{view.attrs().total_order}}});
    add_operand(pass, view, 0);
    if (real) pass.operands.back().type = bits == 8 ? DType::i8 : bits == 16 ? DType::i16 : DType::i32;
    return pass;
}

std::optional<KernelChoice> plan_sort(const NodeView& view, const DevicePlan& device, std::string& why) {
    for (std::size_t k = 0; k < view.input_count(); ++k) {
        if (is_plain_type(view.in(k).type)) continue;
        why = fmt::format("it does not take {}", name_of(view.in(k).type));
        return std::nullopt;
    }
    const Shape& shape = view.in(0).shape;
    const auto axis = static_cast<std::size_t>(view.attrs().axis);
    const std::int64_t length = shape[axis], inner = row_major_strides(shape)[axis], count = element_count(shape);
    KernelChoice choice;
    SortJob job;
    job.lists = count / length;
    job.length = length;
    job.key_bits = view.in(0).type == DType::boolean ? 1 : 8 * static_cast<int>(size_of(view.in(0).type));
    job.keys = keys_of(view, inner);
    const int order = add_sort(choice, job, device);

    choice.kernel = "sort_take";
    set_constants(choice, {{"LENGTH", length}, {"INNER", inner}, {"COUNT", count}});
    choice.operands.push_back({no_id, DType::i32, {}, {}, order});
    std::string takes;
    for (std::size_t k = 0; k < view.input_count(); ++k) {
        add_operand(choice, view, k);
        takes += fmt::format("TAKE(out{}, in{}, {}) ", k, k + 1, is_float(view.in(k).type) ? "vec4" : "ivec4");
    }
    if (view.input_count() == 1) choice.defines = {{"X4", is_float(view.in(0).type) ? "vec4" : "ivec4"}};
    else choice.defines = {{"TAKE_ALL", takes}};
    choice.fuses_followers = view.input_count() == 1;
    choice.groups = linear_groups((count + 3) / 4, device);
    choice.note = fmt::format("{} lists of {} in {} passes", job.lists, length, choice.earlier.size() + 1);
    return choice;
}

std::optional<KernelChoice> plan_partial(const NodeView& view, const DevicePlan& device, std::string& why) {
    const Shape& shape = view.in(0).shape;
    const std::int64_t most = view.attrs().most, levels = std::bit_width(static_cast<std::uint64_t>(most)) + 1;
    // Each value may go down the heap and up; half of the bound, since drivers count more than stands in the text.
    const std::int64_t passes = (shape[1] + 2 * most) * (2 * levels + 3);
    if (device.max_loop_passes != 0 && passes > device.max_loop_passes / 2) {
        why = fmt::format("its loops need {} passes, and the driver allows {}", passes, device.max_loop_passes / 2);
        return std::nullopt;
    }
    KernelChoice choice;
    choice.kernel = "partial_sort";
    set_constants(choice, {{"ROWS", shape[0]}, {"LENGTH", shape[1]}, {"MOST", most}});
    add_operand(choice, view, 0);
    choice.groups = linear_groups(shape[0], device);
    choice.fuses_followers = choice.aligned = false;
    choice.work = static_cast<double>(shape[0] * passes);
    if (binding_count(static_cast<std::uint64_t>(shape[0] * most) * 4, device) == 1) return choice;
    why = "its result takes several bindings";
    return std::nullopt;
}

}  // namespace

std::vector<KernelCandidate> partial_sort_kernels() { return {{"a heap a row", plan_partial}}; }
std::vector<KernelCandidate> sort_kernels() { return {{"order, then take", plan_sort}}; }

}  // namespace tosavk
