// GPU kernels of pools, reductions, ARGMAX, gathers and scatters.
#include "numerics/scale.hpp"
#include "ops/kernel_operands.hpp"
#include "ops/kernels.hpp"
#include "ops/op.hpp"
#include "ops/window.hpp"

#include <fmt/format.h>

namespace tosavk {
namespace {

/// By window size minus one: the multiplier of TOSA's reciprocal, or 1/size.
Bytes reciprocals(std::int64_t largest, bool is_float) {
    std::vector<std::int64_t> multipliers;
    std::vector<double> quotients;
    for (std::int64_t n = 1; n <= largest; ++n) {
        if (is_float) quotients.push_back(1.0 / static_cast<double>(n));
        else multipliers.push_back(reciprocal(static_cast<std::uint32_t>(n)).multiplier);
    }
    return is_float ? encode_reals(DType::fp32, quotients) : encode_ints(DType::i32, multipliers);
}

std::optional<KernelChoice> plan_pool(const NodeView& view, const DevicePlan& device, std::string& why) {
    const DType type = view.in(0).type;
    if (!is_plain_type(type)) {
        why = fmt::format("it does not take {}", name_of(type));
        return std::nullopt;
    }
    const bool average = view.node().op == Op::avg_pool2d, real = is_float(type);
    const Window window = pool_window(view);
    const std::int64_t channels = view.in(0).shape[3], pixels = view.in(0).shape[0] * window.positions();
    const WindowAxis& y = window.y;
    const WindowAxis& x = window.x;

    const auto steps = loop_steps(device, std::min(y.kernel, y.in), std::min(x.kernel, x.in), why);
    if (!steps) return std::nullopt;

    KernelChoice choice;
    choice.kernel = "pool2d";
    choice.defines = {{"X_FLOAT", real ? "1" : "0"}, {"AVERAGE", average ? "1" : "0"}, {"STEPS", std::to_string(*steps)},
                      {"MAXIMUM", view.attrs().nan_mode == NanMode::ignore ? "tosa_max_ignore" : "tosa_max"}};
    add_constants(choice, {y.in, x.in, channels, y.out, x.out, y.kernel, x.kernel, y.stride, x.stride, y.pad_before,
                           x.pad_before, pixels});
    add_operand(choice, view, 0);
    if (average) {
        const std::int64_t largest = std::min(y.kernel, y.in) * std::min(x.kernel, x.in);
        choice.operands.push_back({no_id, real ? DType::fp32 : DType::i32, reciprocals(largest, real), "reciprocals of window sizes"});
        define_scalar(choice, view, 1, "INPUT_ZP");
        define_scalar(choice, view, 2, "OUTPUT_ZP");
    } else {
        add_constants(choice, {0, 0});
        choice.defines.insert(choice.defines.end(), {{"INPUT_ZP", "0"}, {"OUTPUT_ZP", "0"}});
    }
    add_constants(choice, {real ? 0 : min_of(type), real ? 0 : max_of(type)});
    choice.groups = linear_groups(pixels * ((channels + 3) / 4), device);
    choice.aligned = channels % 4 == 0;
    choice.work = static_cast<double>(pixels * channels * window.taps());
    return choice;
}

/// ARGMAX and REDUCE_*: both shaders spread an axis over lanes in the same way.
std::optional<KernelChoice> plan_along_axis(const char* kernel, const NodeView& view, const DevicePlan& device, std::string& why) {
    const DType type = view.in(0).type;
    if (!is_plain_type(type)) {
        why = fmt::format("it does not take {}", name_of(type));
        return std::nullopt;
    }
    const Shape& shape = view.in(0).shape;
    const auto axis = static_cast<std::size_t>(view.attrs().axis);
    std::int64_t inner = 1;
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
    const std::int64_t count = element_count(view.out().shape), quads = (count + 3) / 4;
    // As many lanes along the axis as keep a workgroup busy: all of them for few results, one for many.
    std::int64_t lanes = 1;
    const auto too_long = [&] { return device.max_loop_passes != 0 && shape[axis] / lanes > device.max_loop_passes; };
    while (lanes < device.workgroup_size && lanes * 4 <= shape[axis] && (lanes * quads < 4096 || too_long())) lanes *= 2;
    if (too_long()) {
        why = fmt::format("its axis of {} is too long for the {} loop passes that the driver allows", shape[axis], device.max_loop_passes);
        return std::nullopt;
    }

    KernelChoice choice;
    choice.kernel = kernel;
    choice.defines = {{"X_FLOAT", is_float(type) ? "1" : "0"}};
    add_constants(choice, {shape[axis], inner, count, lanes});
    add_operand(choice, view, 0);
    const std::int64_t quads_per_group = device.workgroup_size / lanes;
    choice.groups = spill_groups((quads + quads_per_group - 1) / quads_per_group, device);
    choice.work = static_cast<double>(element_count(shape));
    choice.note = fmt::format("{} lanes along the axis", lanes);
    return choice;
}

std::optional<KernelChoice> plan_reduce(const NodeView& view, const DevicePlan& device, std::string& why) {
    auto choice = plan_along_axis("reduce", view, device, why);
    if (choice) choice->defines.emplace_back("REDUCE(a, b)", op_def(view.node().op).combine(view));
    return choice;
}

std::optional<KernelChoice> plan_argmax(const NodeView& view, const DevicePlan& device, std::string& why) {
    auto choice = plan_along_axis("argmax", view, device, why);
    const bool ignore = view.attrs().nan_mode == NanMode::ignore;
    if (choice) choice->defines.emplace_back("NAN_KEY", ignore ? "(-0x7fffffff - 1)" : "0x7fffffff");
    return choice;
}

std::optional<KernelChoice> plan_gather(const NodeView& view, const DevicePlan& device, std::string& why) {
    const DType type = view.in(0).type;
    if (!is_plain_type(type)) {
        why = fmt::format("it does not take {}", name_of(type));
        return std::nullopt;
    }
    const Shape& values = view.in(0).shape;
    const Shape& out = view.out().shape;
    KernelChoice choice;
    choice.kernel = "gather";
    choice.defines = {{"X_FLOAT", is_float(type) ? "1" : "0"}};
    for (const std::int64_t value : {values[1], out[1], out[2], element_count(out)}) {
        choice.constants.push_back(static_cast<std::int32_t>(value));
    }
    choice.operands = {{view.node().inputs[0], type, {}, {}}, {view.node().inputs[1], DType::i32, {}, {}}};
    choice.groups = linear_groups((element_count(out) + 3) / 4, device);
    return choice;
}

std::optional<KernelChoice> plan_scatter(const NodeView& view, const DevicePlan& device, std::string& why) {
    const DType type = view.in(0).type;
    if (!is_plain_type(type)) {
        why = fmt::format("it does not take {}", name_of(type));
        return std::nullopt;
    }
    const Shape& values = view.in(0).shape;
    const std::int64_t rows = values[0] * values[1], updates = view.in(1).shape[1], quads = (values[2] + 3) / 4;
    // Lanes of a row share the search, then the copy.
    std::int64_t lanes = 1;
    while (lanes < device.workgroup_size && (lanes < quads || lanes * 4 < updates)) lanes *= 2;

    if (device.max_loop_passes != 0 && (updates + quads) / lanes > device.max_loop_passes) {
        why = fmt::format("its search of {} indices is too long for the {} loop passes that the driver allows", updates, device.max_loop_passes);
        return std::nullopt;
    }

    KernelChoice choice;
    choice.kernel = "scatter";
    choice.defines = {{"X_FLOAT", is_float(type) ? "1" : "0"}};
    add_constants(choice, {values[1], updates, values[2], rows, lanes});
    for (const std::size_t k : {0u, 1u, 2u}) add_operand(choice, view, k);
    const std::int64_t rows_per_group = device.workgroup_size / lanes;
    choice.groups = spill_groups((rows + rows_per_group - 1) / rows_per_group, device);
    choice.aligned = values[2] % 4 == 0;
    choice.work = static_cast<double>(rows * updates);
    choice.note = fmt::format("{} lanes per row", lanes);
    return choice;
}

}  // namespace

std::vector<KernelCandidate> pool_kernels() { return {{"direct", plan_pool}}; }
std::vector<KernelCandidate> reduce_kernels() { return {{"tree", plan_reduce}}; }
std::vector<KernelCandidate> argmax_kernels() { return {{"tree", plan_argmax}}; }
std::vector<KernelCandidate> gather_kernels() { return {{"direct", plan_gather}}; }
std::vector<KernelCandidate> scatter_kernels() { return {{"search per row", plan_scatter}}; }

}  // namespace tosavk
