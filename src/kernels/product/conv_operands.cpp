#include "kernels/product/conv_operands.hpp"

#include "kernels/common/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tosavk {
namespace {

bool takes_types(const NodeView& view, std::string& why) {
    const DType in = view.in(0).type, weight = view.in(1).type;
    if (is_float(in) || (in == DType::i8 && (weight == DType::i8 || weight == DType::i4)) ||
        (in == DType::i16 && weight == DType::i8))
        return true;
    why = fmt::format("it does not take {} with {} weights", name_of(in), name_of(weight));
    return false;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> sum_defines(const NodeView& view) {
    return {{"X_FLOAT", is_float(view.in(0).type) ? "1" : "0"}, {"WIDE", view.out().type == DType::i48 ? "1" : "0"}};
}

std::optional<ConvOperands> conv_operands(const NodeView& view, std::string& why) {
    if (!takes_types(view, why)) return std::nullopt;
    ConvOperands operands;
    operands.is_float = is_float(view.in(0).type);
    for (const std::size_t k : {1u, 3u, 4u}) {
        if (view.in(k).is_constant() || operands.is_float) continue;
        why = fmt::format("its operand '{}' is computed at run time", view.in(k).name);
        return std::nullopt;
    }
    if (!operands.is_float) {
        operands.input_zp = view.constant_ints(3).front();
        operands.weight_zp = view.constant_ints(4).front();
    }
    return operands;
}

void set_window_constants(KernelChoice& choice, const ConvGeometry& g) {
    const WindowAxis& y = g.window.y;
    const WindowAxis& x = g.window.x;
    set_constants(choice, {{"KH", y.kernel},
                           {"KW", x.kernel},
                           {"STRIDE_Y", y.stride},
                           {"STRIDE_X", x.stride},
                           {"DILATION_Y", y.dilation},
                           {"DILATION_X", x.dilation},
                           {"PAD_TOP", y.pad_before},
                           {"PAD_LEFT", x.pad_before}});
}

bool is_finite(const Value& value) {
    if (!value.is_constant()) return false;
    const std::vector<double> numbers = decode_reals(value.type, *value.data);
    return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
}

std::optional<KernelChoice> plan_direct_convolution(const NodeView& view, const DevicePlan& device, std::string& why) {
    if (!takes_types(view, why)) return std::nullopt;
    const ConvGeometry g = conv_geometry(view);
    const auto& [d, y, x] = g.window;
    const bool depthwise = view.node().op == Op::depthwise_conv2d;
    const std::int64_t positions = g.batch * g.window.positions();
    const std::int64_t channels = depthwise ? 1 : g.in_channels % 4 == 0 ? g.in_channels / 4 : g.in_channels;
    const auto steps = loop_steps(device, g.window.taps(), channels, why);
    if (!steps) return std::nullopt;

    // Some may be negative, where a SLICE has been taken in.
    const bool is_padded =
        std::max({d.pad_before, d.pad_after, y.pad_before, y.pad_after, x.pad_before, x.pad_after}) > 0;
    const bool padding_counts = is_float(view.in(0).type) && !y.transposed && is_padded && !is_finite(view.in(1));
    KernelChoice choice;
    choice.kernel = "conv_direct";
    choice.defines = sum_defines(view);
    choice.defines.insert(choice.defines.end(), {{"DEPTHWISE", depthwise ? "1" : "0"},
                                                 {"TRANSPOSED", y.transposed ? "1" : "0"},
                                                 {"PADDING_COUNTS", padding_counts ? "1" : "0"},
                                                 {"STEPS", std::to_string(*steps)}});
    set_constants(choice, {{"ID", d.in},
                           {"IH", y.in},
                           {"IW", x.in},
                           {"IC", g.in_channels},
                           {"OD", d.out},
                           {"OH", y.out},
                           {"OW", x.out},
                           {"OC", g.out_channels},
                           {"KD", d.kernel},
                           {"KH", y.kernel},
                           {"KW", x.kernel},
                           {"STRIDE_D", d.stride},
                           {"STRIDE_Y", y.stride},
                           {"STRIDE_X", x.stride},
                           {"DILATION_D", d.dilation},
                           {"DILATION_Y", y.dilation},
                           {"DILATION_X", x.dilation},
                           {"PAD_D", d.pad_before},
                           {"PAD_Y", y.pad_before},
                           {"PAD_X", x.pad_before},
                           {"POSITIONS", positions},
                           {"BC", view.in(2).shape[0]},
                           {"M", g.multiplier}});
    const bool quads = !depthwise && g.in_channels % 4 == 0;
    const std::int64_t readers = depthwise ? g.multiplier : (g.out_channels + 3) / 4;
    add_operand(choice, view, 0, g.window.reads() * static_cast<double>(quads ? readers : 4 * readers));
    for (const std::size_t k : {1u, 2u}) add_operand(choice, view, k);
    define_scalar(choice, view, 3, "INPUT_ZP");
    define_scalar(choice, view, 4, "WEIGHT_ZP");
    choice.groups = linear_groups(positions * ((g.out_channels + 3) / 4), device);
    choice.aligned = g.out_channels % 4 == 0;
    choice.in_rows = true;
    choice.work = 2.0 * static_cast<double>(positions * g.out_channels * g.terms(depthwise));
    return choice;
}

}  // namespace tosavk
