// GPU kernels of pools.
#include "base/numerics/scale.hpp"
#include "kernels/common/operands.hpp"
#include "kernels/kernels.hpp"
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

    const std::int64_t step = row_step(channels, type, view.out().type, device);
    KernelChoice choice;
    choice.kernel = "pool2d";
    choice.defines = {{"X_FLOAT", real ? "1" : "0"},
                      {"AVERAGE", average ? "1" : "0"},
                      {"STEPS", std::to_string(*steps)},
                      {"STEP", std::to_string(step)},
                      {"MAXIMUM", view.attrs().nan_mode == NanMode::ignore ? "tosa_max_ignore" : "tosa_max"}};
    set_constants(choice, {{"IH", y.in},
                           {"IW", x.in},
                           {"C", channels},
                           {"OH", y.out},
                           {"OW", x.out},
                           {"KH", y.kernel},
                           {"KW", x.kernel},
                           {"STRIDE_Y", y.stride},
                           {"STRIDE_X", x.stride},
                           {"PAD_TOP", y.pad_before},
                           {"PAD_LEFT", x.pad_before},
                           {"PIXELS", pixels}});
    add_operand(choice, view, 0, window.reads() * quad_waste(channels));
    if (average) {
        const auto most = [](const WindowAxis& axis) {
            return std::min(axis.kernel, axis.in + axis.counted_before + axis.counted_after);
        };
        const std::int64_t largest = most(y) * most(x);
        choice.operands.push_back(
            {no_id, real ? DType::fp32 : DType::i32, reciprocals(largest, real), "reciprocals of window sizes"});
        define_scalar(choice, view, 1, "INPUT_ZP");
        define_scalar(choice, view, 2, "OUTPUT_ZP");
    } else {
        set_constants(choice, {{"INPUT_ZP_CONSTANT", 0}, {"OUTPUT_ZP_CONSTANT", 0}});
        choice.defines.insert(choice.defines.end(), {{"INPUT_ZP", "0"}, {"OUTPUT_ZP", "0"}});
    }
    set_constants(choice, {{"TYPE_MIN", real ? 0 : min_of(type)},
                           {"TYPE_MAX", real ? 0 : max_of(type)},
                           {"COUNTED_TOP", y.counted_before},
                           {"COUNTED_BOTTOM", y.counted_after},
                           {"COUNTED_LEFT", x.counted_before},
                           {"COUNTED_RIGHT", x.counted_after}});
    choice.groups = linear_groups(pixels * quotient_up(channels, step), device);
    choice.aligned = channels % 4 == 0;
    choice.in_rows = step == 4;
    choice.work = static_cast<double>(pixels * channels * window.taps());
    return choice;
}

}  // namespace

std::vector<KernelCandidate> pool_kernels() { return {{"direct", plan_pool}}; }

}  // namespace tosavk
