// GPU kernels of DEPTHWISE_CONV2D.
#include "kernels/common/operands.hpp"
#include "kernels/kernels.hpp"
#include "kernels/product/conv_operands.hpp"
#include "kernels/product/pack_weights.hpp"
#include "kernels/product/product.hpp"

#include <fmt/format.h>

namespace tosavk {
namespace {

/// Whether a depthwise convolution is summed in fp16: of so few products that little is lost.
bool sums_halves(const NodeView& view, const ConvGeometry& g, const DevicePlan& device) {
    return device.fast_fp16 && view.in(0).type == DType::fp16 && g.window.taps() <= 32;
}

/// The weights in rows of quads, as they are where they lie so.
void add_weights(KernelChoice& choice, const NodeView& view, const ConvOperands& operands) {
    if (!view.in(1).is_constant()) return add_operand(choice, view, 1);
    choice.operands.push_back({no_id, view.in(1).type, pack_depthwise_weights(view.in(1), operands.weight_zp),
                               view.in(1).name + " in rows of quads"});
}

/// As conv_operands(); weights that are computed at run time are not packed.
std::optional<ConvOperands> depthwise_operands(const NodeView& view, std::string& why) {
    const Shape& weight = view.in(1).shape;
    if (!view.in(1).is_constant() && weight[2] * weight[3] % 4 != 0) {
        why = fmt::format("its operand '{}' is computed at run time and has no whole quads", view.in(1).name);
        return std::nullopt;
    }
    return conv_operands(view, why);
}

/// Any window and multiplier. An invocation makes so many neighbouring pixels (1, 2 or 4); 0: by the sizes.
std::optional<KernelChoice> plan_depthwise(const NodeView& view, const DevicePlan& device, std::string& why,
                                           int fixed_pixels) {
    const auto operands = depthwise_operands(view, why);
    if (!operands) return std::nullopt;
    const ConvGeometry g = conv_geometry(view);
    const auto& [d, y, x] = g.window;
    const bool wide = view.out().type == DType::i48;
    const std::int64_t quads = (g.out_channels + 3) / 4;
    const auto steps = loop_steps(device, y.kernel, x.kernel, why);
    if (!steps) return std::nullopt;

    // Neighbours share a row of inputs (docs/performance.md, "Row groups and shared rows"), which must stay in
    // registers beside the sums: 16 of them, a guess, and no more than a device has; small outputs need the invocations
    // more. Channels that feed several outputs are read one by one where these do not lie in one quad; to unpack each,
    // or to add it to 48 bits, takes registers.
    const std::int64_t m = g.multiplier;
    const bool one_quad = g.in_channels % 4 == 0 && (m == 2 || m % 4 == 0);
    const bool takes_more =
        (device.has_few_registers() && unpacks(view.in(0).type, device)) || (wide && device.registers <= 128);
    const bool takes_each = m != 1 && !one_quad && takes_more;
    const auto fits = [&](std::int64_t pixels) {
        const std::int64_t sums = pixels * (wide ? 2 : 1), held = 4 * ((pixels - 1) * x.stride + x.kernel + sums + 1);
        return 8 * held <= (takes_each ? 4 : 5) * std::int64_t{device.registers};
    };
    const auto runs = [&](std::int64_t pixels) { return g.batch * y.out * ((x.out + pixels - 1) / pixels); };
    const auto shares = [&](std::int64_t pixels) {
        return x.dilation == 1 && x.stride < x.kernel && (pixels - 1) * x.stride + x.kernel <= 16 && pixels <= x.out &&
               fits(pixels);
    };
    if (fixed_pixels > 1 && !shares(fixed_pixels)) {
        why = "neighbouring pixels share too little, or too much for registers";
        return std::nullopt;
    }
    std::int64_t pixels = fixed_pixels != 0 ? fixed_pixels : 4;
    while (fixed_pixels == 0 && pixels > 1 &&
           (!shares(pixels) || !device.keeps_busy(runs(pixels) * quads, "pixels", pixels)))
        pixels /= 2;

    KernelChoice choice;
    choice.kernel = "depthwise_conv2d";
    choice.defines = sum_defines(view);
    // Sums of so many products of 255 * 255, as of i8, are exact in floats.
    const bool as_floats = !operands->is_float && !wide && g.window.taps() <= 256;
    choice.defines.insert(choice.defines.end(), {{"STEPS", std::to_string(*steps)},
                                                 {"AS_FLOATS", as_floats ? "1" : "0"},
                                                 {"HALF", sums_halves(view, g, device) ? "1" : "0"},
                                                 {"TX", std::to_string(pixels)}});
    if (pixels > 1)
        choice.defines.insert(choice.defines.end(),
                              {{"KW", std::to_string(x.kernel)}, {"STRIDE", std::to_string(x.stride)}});
    set_constants(choice, {{"IH", y.in},
                           {"IW", x.in},
                           {"C", g.in_channels},
                           {"M", g.multiplier},
                           {"OH", y.out},
                           {"OW", x.out},
                           {"RUNS", runs(pixels)},
                           {"BC", view.in(2).shape[0]},
                           {"INPUT_ZP", operands->input_zp},
                           {"WEIGHT_ZP", operands->weight_zp}});
    set_window_constants(choice, g);
    const double by_channels = m == 1 ? quad_waste(g.in_channels) : static_cast<double>(one_quad ? m : 4 * m);
    const double shared =
        pixels == 1 ? 1
                    : static_cast<double>((pixels - 1) * x.stride + x.kernel) / static_cast<double>(pixels * x.kernel);
    add_operand(choice, view, 0, g.window.reads() * by_channels * shared);
    add_weights(choice, view, *operands);
    add_operand(choice, view, 2);
    choice.groups = linear_groups(runs(pixels) * quads, device);
    choice.aligned = g.out_channels % 4 == 0;
    choice.in_rows = true;
    choice.work = 2.0 * static_cast<double>(g.batch * g.window.positions() * g.out_channels * g.terms(true));
    choice.note = fmt::format("{} pixels", pixels);
    return choice;
}

/// Small windows of one output channel per input channel. An invocation makes so many neighbouring pixels (1 or 2) in
/// so many rows (1, 2 or 4); 0: by the sizes.
std::optional<KernelChoice> plan_depthwise_rows(const NodeView& view, const DevicePlan& device, std::string& why,
                                                int fixed_pixels, std::int64_t fixed_rows) {
    const auto operands = depthwise_operands(view, why);
    if (!operands) return std::nullopt;
    const ConvGeometry g = conv_geometry(view);
    const auto& [d, y, x] = g.window;
    if (g.multiplier != 1 || view.out().type == DType::i48) {
        why = g.multiplier != 1 ? "it makes one output channel per input channel" : "it does not make i48";
        return std::nullopt;
    }
    // Every value of the window stays in registers, and sums of 25 products of 128 * 255, as of i8, are exact in
    // floats.
    const std::int64_t step = y.dilation == 1 ? y.stride : 1;
    if (y.kernel * x.kernel > 25 || (y.dilation > 1 && y.stride > 1)) {
        why =
            y.kernel * x.kernel > 25 ? "its window is too large for registers" : "strides over dilated rows share none";
        return std::nullopt;
    }
    const bool pairs = x.stride <= 2 && x.dilation == 1 && x.out > 1;
    if (fixed_pixels == 2 && !pairs) {
        why = "neighbouring pixels share too little";
        return std::nullopt;
    }
    // The weights, the window and the sums, four channels each. Narrow floats, which become fp32 by integer work, take
    // more: Mali's compiler spilled with nine to thirteen of these quads (of fp32 with eleven), NVIDIA's with 43, which
    // leave RDNA four subgroups.
    const DType type = view.in(0).type;
    const bool converts = is_small_float(type) && !sums_halves(view, g, device);
    const bool takes_apart = unpacks(type, device) || type == DType::bf16;
    const std::int64_t most = !device.has_few_registers() ? 13 : takes_apart ? 8 : 10;
    const auto fits = [&](int pixels) {
        const std::int64_t quads = g.window.taps() + y.kernel * ((pixels - 1) * x.stride + x.kernel) + pixels;
        return 64 * quads <= most * device.registers && (!converts || quads <= 40 || device.registers > 256);
    };
    const int pixels = fixed_pixels != 0 ? fixed_pixels : g.window.taps() <= 9 && pairs && fits(2) ? 2 : 1;
    if (!fits(pixels)) {
        why = "its window and weights take more registers than an invocation has";
        return std::nullopt;
    }
    const bool eights = !operands->is_float && g.in_channels % 8 == 0 && step <= y.kernel &&
                        wants_eights(element_count(view.out().shape), device);
    const std::int64_t quads = eights ? g.in_channels / 8 : (g.in_channels + 3) / 4,
                       columns = quads * ((x.out + pixels - 1) / pixels) * g.batch * y.dilation;
    // Straight code for all rows, so that drivers compile it in reasonable time (docs/performance.md, "Tried and
    // left"). From which window on fewer rows and pixels are enough, here and for `pixels`, is a guess.
    std::int64_t rows = g.window.taps() > 9 ? 2 : 4;
    const auto too_few = [&](std::int64_t spans) {
        return spans == 0 || !device.chooses(columns * spans >= 2 * device.busy_invocations, "rows", rows);
    };
    while (rows > 1 && too_few(y.out / (rows * y.dilation))) rows /= 2;
    if (fixed_rows != 0) rows = fixed_rows;
    if (g.window.taps() * pixels * rows > 100) {
        why = "its code would be too long";
        return std::nullopt;
    }
    const std::int64_t spans = (y.out + rows * y.dilation - 1) / (rows * y.dilation);

    KernelChoice choice;
    choice.kernel = "depthwise_rows";
    choice.defines = {{"X_FLOAT", operands->is_float ? "1" : "0"},
                      {"HALF", sums_halves(view, g, device) ? "1" : "0"},
                      {"KH", std::to_string(y.kernel)},
                      {"KW", std::to_string(x.kernel)},
                      {"STRIDE_X", std::to_string(x.stride)},
                      {"DILATION_X", std::to_string(x.dilation)},
                      {"STEP_Y", std::to_string(step)},
                      {"TX", std::to_string(pixels)},
                      {"ROWS", std::to_string(rows)},
                      {"EIGHTS", eights ? "1" : "0"}};
    set_constants(choice, {{"IH", y.in},
                           {"IW", x.in},
                           {"C", g.in_channels},
                           {"OH", y.out},
                           {"OW", x.out},
                           {"STRIDE_Y", y.stride},
                           {"DILATION_Y", y.dilation},
                           {"PAD_TOP", y.pad_before},
                           {"PAD_LEFT", x.pad_before},
                           {"BATCH", g.batch},
                           {"BC", view.in(2).shape[0]},
                           {"INPUT_ZP", operands->input_zp},
                           {"WEIGHT_ZP", operands->weight_zp}});
    add_operand(choice, view, 0, g.window.reads() * quad_waste(g.in_channels));
    add_weights(choice, view, *operands);
    add_operand(choice, view, 2);
    choice.groups = linear_groups(columns * spans, device);
    choice.reads_eights = choice.by_eights = eights;
    choice.aligned = g.in_channels % 4 == 0;
    choice.in_rows = true;
    choice.work = 2.0 * static_cast<double>(g.batch * g.window.positions() * g.out_channels * g.terms(true));
    choice.note = fmt::format("{} pixels, {} rows", pixels, rows);
    return choice;
}

}  // namespace

std::vector<KernelCandidate> depthwise_kernels() {
    std::vector<KernelCandidate> all = {{"down the rows", fixed(plan_depthwise_rows, 0, 0)},
                                        {"packed direct", fixed(plan_depthwise, 0)},
                                        {"direct", plan_direct_convolution}};
    for (const int pixels : {1, 2, 4})
        all.push_back({fmt::format("packed direct, {} pixels", pixels), fixed(plan_depthwise, pixels), true});
    for (const int pixels : {1, 2}) {
        for (const int rows : {1, 2, 4}) {
            all.push_back(
                {fmt::format("down the rows, {}x{}", pixels, rows), fixed(plan_depthwise_rows, pixels, rows), true});
        }
    }
    return all;
}

}  // namespace tosavk
