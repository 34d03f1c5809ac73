// GPU kernels of the convolutions: which shader runs them, with which operands.
#include "kernels/common/operands.hpp"
#include "kernels/kernels.hpp"
#include "kernels/product/pack_weights.hpp"
#include "kernels/product/product.hpp"
#include "kernels/product/winograd.hpp"
#include "ops/window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

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

/// Defines of all three shaders: the arithmetic of the sums.
std::vector<std::pair<std::string, std::string>> sum_defines(const NodeView& view) {
    return {{"X_FLOAT", is_float(view.in(0).type) ? "1" : "0"}, {"WIDE", view.out().type == DType::i48 ? "1" : "0"}};
}

/// What the packing shaders need to know about operands; declines when that is computed at run time.
struct ConvOperands {
    std::int64_t input_zp = 0, weight_zp = 0;
    bool is_float = false;
};

std::optional<ConvOperands> constant_operands(const NodeView& view, std::string& why) {
    if (!takes_types(view, why)) return std::nullopt;
    ConvOperands operands;
    operands.is_float = is_float(view.in(0).type);
    for (const std::size_t k : {1u, 3u, 4u}) {
        if (view.in(k).is_constant() || (k != 1 && operands.is_float)) continue;
        why = fmt::format("its operand '{}' is computed at run time", view.in(k).name);
        return std::nullopt;
    }
    if (!operands.is_float) {
        operands.input_zp = view.constant_ints(3).front();
        operands.weight_zp = view.constant_ints(4).front();
    }
    return operands;
}

/// Specialization constants of the window.
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

bool is_finite(const Value& constant) {
    const std::vector<double> values = decode_reals(constant.type, *constant.data);
    return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

/// CONV2D, CONV3D or TRANSPOSE_CONV2D as an implicit matrix product; of the last, one for each phase.
struct ConvProduct {
    ConvOperands operands;
    ConvGeometry g;
    Product product;
};

std::optional<ConvProduct> conv_product(const NodeView& view, std::string& why) {
    const auto operands = constant_operands(view, why);
    if (!operands) return std::nullopt;
    const ConvGeometry g = conv_geometry(view);
    const Op op = view.node().op;
    if (op == Op::transpose_conv2d && operands->is_float && !is_finite(view.in(1))) {
        why = "some weights are not finite, and taps past the input's edge would multiply them by zero";
        return std::nullopt;
    }
    // A guess: products with phases win by far (docs/performance.md, "Products of other convolutions").
    if (g.window.phases() * g.window.phase_taps() > 16 * g.window.taps()) {
        why = fmt::format("most of its {} phases have no taps", g.window.phases());
        return std::nullopt;
    }
    const auto& [d, y, x] = g.window;
    const Product product{
        .is_volume = op == Op::conv3d,
        .is_transposed = op == Op::transpose_conv2d,
        .is_float = operands->is_float,
        .is_wide = view.in(0).type == DType::i16,
        // Of the output: the input may be part of a larger one, and sums must have the same order there.
        .is_vector = operands->is_float && op == Op::conv2d && g.window.taps() == 1 && g.batch * y.out * x.out == 1,
        .batch = g.window.phases(),
        .line = x.phase_outputs(),
        .rows = g.batch * d.out * y.phase_outputs() * x.phase_outputs(),
        .columns = g.out_channels,
        .taps = g.window.phase_taps(),
        .inner = g.in_channels};
    return ConvProduct{*operands, g, product};
}

/// The same for the kernels of kernels/product/product.hpp.
std::optional<ConvProduct> flat_product(const NodeView& view, const DevicePlan& device, std::string& why) {
    auto conv = conv_product(view, why);
    if (!conv) return std::nullopt;
    conv->product.is_fp32 = view.in(0).type == DType::fp32;
    conv->product.is_half = device.fast_fp16 && device.half_products && view.in(0).type == DType::fp16;
    conv->product.unpacks = unpacks(view.in(0).type, device);
    if (loop_steps(device, 1, conv->product.passes(), why) != 1) return std::nullopt;
    if (view.in(2).is_constant()) conv->product.dot4 = dot4_of(view.in(0).type, device);
    return conv;
}

/// `row_reads`: how often the kernel reads an element of the implicit matrix's rows. The weights are packed in `units`,
/// if any, else in blocks, `turned` or not.
void add_product_operands(KernelChoice& choice, const NodeView& view, const ConvProduct& conv, double row_reads,
                          bool moves_bits, bool turned, std::optional<InnerUnits> units = {}) {
    const auto& [d, y, x] = conv.g.window;
    const Product& p = conv.product;
    set_constants(choice, {{"BATCH", p.batch},
                           {"ROWS", p.rows},
                           {"COLUMNS", p.columns},
                           {"K", p.inner},
                           {"ROW_ZP_CONSTANT", conv.operands.input_zp},
                           {"COLUMN_ZP_CONSTANT", conv.operands.weight_zp},
                           {"BIAS", view.in(2).shape[0]},
                           {"IH", y.in},
                           {"IW", x.in},
                           {"OH", y.out},
                           {"OW", x.out}});
    set_window_constants(choice, conv.g);
    if (p.is_volume)
        set_constants(choice, {{"ID", d.in},
                               {"OD", d.out},
                               {"KD", d.kernel},
                               {"STRIDE_Z", d.stride},
                               {"DILATION_Z", d.dilation},
                               {"PAD_FRONT", d.pad_before}});
    choice.defines.insert(choice.defines.end(), {{"ROW_ZP", "ROW_ZP_CONSTANT"}, {"COLUMN_ZP", "COLUMN_ZP_CONSTANT"}});
    const double reads = conv.g.window.reads();
    choice.work = 2.0 * reads * static_cast<double>(conv.g.batch * d.in * y.in * x.in * p.columns * p.inner);
    add_operand(choice, view, 0, reads * row_reads * quad_waste(p.inner), moves_bits);
    // A kernel that takes two blocks at once finds them in bytes.
    const bool nibbles = view.in(1).type == DType::i4 && !units && !choice.reads_eights;
    if (nibbles) choice.defines.push_back({"NIBBLES", "1"});
    const DType weight_type = nibbles ? DType::i16 : !conv.operands.is_float || units ? DType::i32 : view.in(1).type;
    if (units) {
        choice.operands.push_back({no_id, weight_type,
                                   pack_conv_units(view.in(1), conv.g.window, conv.operands.weight_zp, *units),
                                   fmt::format("{} in 4x{} units", view.in(1).name, 4 * units->blocks)});
    } else {
        choice.operands.push_back(
            {no_id, weight_type, pack_conv_weights(view.in(1), conv.g.window, conv.operands.weight_zp, turned, nibbles),
             fmt::format("{} in {}4x4 blocks{}", view.in(1).name, turned ? "turned " : "",
                         nibbles ? " of nibbles" : "")});
    }
    add_operand(choice, view, 2);
}

/// sum (x - zx) (w - zw) = sum x (w - zw) - zx sum (w - zw): the bias with the last term, which is known. Takes it as
/// the last operand, instead of the bias. `more`: what the kernel adds to each x and to zx.
void set_corrected_bias(KernelChoice& choice, const NodeView& view, const ConvProduct& conv, std::int64_t more) {
    const auto bias = view.constant_ints(2);
    const Product& p = conv.product;
    const std::int64_t each = p.quads() * 4, count = p.batch * each;
    const LazyBytes corrected(
        static_cast<std::uint64_t>(count) * sizeof(std::int32_t),
        [=, operands = conv.operands, window = conv.g.window, weight = view.in(1)](std::span<std::byte> to) {
            const auto sums = channel_sums(weight, window, operands.weight_zp);
            std::vector<std::int32_t> values(sums.size());
            for (std::size_t k = 0; k < sums.size(); ++k) {
                const std::size_t channel = std::min(k % static_cast<std::size_t>(each), bias.size() - 1);
                const std::int64_t value = bias[channel] - (operands.input_zp + more) * sums[k];
                values[k] = static_cast<std::int32_t>(value);  // sums wrap as the shader's do
            }
            std::ranges::copy(std::as_bytes(std::span(values)), to.begin());
        });
    choice.operands.back() = {no_id, DType::i32, corrected, view.in(2).name + " less zero points"};
    choice.constants.at("BIAS") = count;
}

/// As one of the kernels of kernels/product/product.hpp.
std::optional<KernelChoice> plan_product(const NodeView& view, const DevicePlan& device, std::string& why,
                                         ProductPlan plan, int setting) {
    const auto conv = flat_product(view, device, why);
    if (!conv) return std::nullopt;
    auto planned = plan(conv->product, device, why, setting);
    if (!planned) return std::nullopt;
    add_product_operands(planned->choice, view, *conv, planned->row_reads, planned->moves_bits,
                         planned->dot4 != Dot4::none);
    if (planned->dot4 != Dot4::none)
        set_corrected_bias(planned->choice, view, *conv, planned->dot4 == Dot4::is_mixed ? 128 : 0);
    if (planned->parts > 1) return in_parts(std::move(planned->choice), conv->product, planned->parts, device);
    return std::move(planned->choice);
}

std::optional<KernelChoice> plan_matrices(const NodeView& view, const DevicePlan& device, std::string& why,
                                          int fixed_rows) {
    const auto conv = flat_product(view, device, why);
    if (!conv) return std::nullopt;
    const auto& [input_zp, weight_zp, is_float] = conv->operands;
    const bool correct = !is_float && view.in(2).is_constant();
    const bool column_sums = !is_float && !correct && input_zp != 0;
    auto planned = plan_cooperative(conv->product, view.in(0).type, view.out().type, weight_zp != 0, column_sums,
                                    device, why, fixed_rows);
    if (!planned) return std::nullopt;
    add_product_operands(planned->choice, view, *conv, planned->row_reads, planned->moves_bits, false, planned->units);
    if (correct) set_corrected_bias(planned->choice, view, *conv, 0);
    return std::move(planned->choice);
}

/// By the kernel that every device runs.
std::optional<KernelChoice> plan_own(const NodeView& view, const DevicePlan& device, std::string& why, int fixed_tile) {
    const auto conv = conv_product(view, why);
    if (!conv) return std::nullopt;
    const Product& p = conv->product;
    // Four rows share every weight that an invocation loads; small outputs need the invocations more (below 4096, a
    // guess).
    const int tile = fixed_tile != 0 ? fixed_tile : p.batch * p.rows * p.quads() >= 4096 ? 4 : 1;

    const std::int64_t chunks = view.out().type == DType::i48 ? chunk_steps(p.inner) : 0;
    const auto steps = loop_steps(device, p.taps, (p.inner + 3) / 4 + chunks, why);
    if (!steps) return std::nullopt;

    KernelChoice choice;
    choice.kernel = "conv";
    choice.defines = sum_defines(view);
    choice.defines.insert(choice.defines.end(), {{"MATRIX", "0"},
                                                 {"VOLUME", p.is_volume ? "1" : "0"},
                                                 {"TRANSPOSED", p.is_transposed ? "1" : "0"},
                                                 {"TM", std::to_string(tile)},
                                                 {"STEPS", std::to_string(*steps)}});
    add_product_operands(choice, view, *conv, static_cast<double>(p.quads()), false, false);
    choice.groups = linear_groups(p.batch * ((p.rows + tile - 1) / tile) * p.quads(), device);
    choice.aligned = p.columns % 4 == 0;
    choice.in_rows = true;
    choice.note = fmt::format("{}x4 tile", tile);
    return choice;
}

/// Whether a depthwise convolution is summed in fp16: of so few products that little is lost.
bool sums_halves(const NodeView& view, const ConvGeometry& g, const DevicePlan& device) {
    return device.fast_fp16 && view.in(0).type == DType::fp16 && g.window.taps() <= 32;
}

/// Any window and multiplier. An invocation makes so many neighbouring pixels (1, 2 or 4); 0: by the sizes.
std::optional<KernelChoice> plan_depthwise(const NodeView& view, const DevicePlan& device, std::string& why,
                                           int fixed_pixels) {
    const auto operands = constant_operands(view, why);
    if (!operands) return std::nullopt;
    const ConvGeometry g = conv_geometry(view);
    const auto& [d, y, x] = g.window;
    const bool wide = view.out().type == DType::i48;
    const std::int64_t quads = (g.out_channels + 3) / 4;
    const auto steps = loop_steps(device, y.kernel, x.kernel, why);
    if (!steps) return std::nullopt;

    // Neighbours share a row of inputs (docs/performance.md, "Row groups and shared rows"), which must stay in
    // registers beside the sums: 16 of them, a guess, and no more than a device has; small outputs need the invocations
    // more.
    const auto fits = [&](std::int64_t pixels) {
        return 4 * ((pixels - 1) * x.stride + x.kernel + pixels + 1) <= std::int64_t{device.registers} * 5 / 8;
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
    // Channels that feed several outputs are read one by one where these do not lie in one quad.
    const std::int64_t m = g.multiplier;
    const bool one_quad = g.in_channels % 4 == 0 && (m == 2 || m % 4 == 0);
    const double by_channels = m == 1 ? quad_waste(g.in_channels) : static_cast<double>(one_quad ? m : 4 * m);
    const double shared =
        pixels == 1 ? 1
                    : static_cast<double>((pixels - 1) * x.stride + x.kernel) / static_cast<double>(pixels * x.kernel);
    add_operand(choice, view, 0, g.window.reads() * by_channels * shared);
    choice.operands.push_back({no_id, view.in(1).type, pack_depthwise_weights(view.in(1), operands->weight_zp),
                               view.in(1).name + " in rows of quads"});
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
    const auto operands = constant_operands(view, why);
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
    // The weights and the window, four channels each.
    const auto fits = [&](int pixels) {
        const std::int64_t under = y.kernel * ((pixels - 1) * x.stride + x.kernel);
        return 64 * (g.window.taps() + under + pixels) <= 13 * std::int64_t{device.registers};
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
    choice.operands.push_back({no_id, view.in(1).type, pack_depthwise_weights(view.in(1), operands->weight_zp),
                               view.in(1).name + " in rows of quads"});
    add_operand(choice, view, 2);
    choice.groups = linear_groups(columns * spans, device);
    choice.reads_eights = choice.by_eights = eights;
    choice.aligned = g.in_channels % 4 == 0;
    choice.in_rows = true;
    choice.work = 2.0 * static_cast<double>(g.batch * g.window.positions() * g.out_channels * g.terms(true));
    choice.note = fmt::format("{} pixels, {} rows", pixels, rows);
    return choice;
}

/// Any convolution, with nothing known but the shapes.
std::optional<KernelChoice> plan_direct(const NodeView& view, const DevicePlan& device, std::string& why) {
    if (!takes_types(view, why)) return std::nullopt;
    const ConvGeometry g = conv_geometry(view);
    const auto& [d, y, x] = g.window;
    const bool depthwise = view.node().op == Op::depthwise_conv2d;
    const std::int64_t positions = g.batch * g.window.positions();
    const std::int64_t channels = depthwise ? 1 : g.in_channels % 4 == 0 ? g.in_channels / 4 : g.in_channels;
    const auto steps = loop_steps(device, g.window.taps(), channels, why);
    if (!steps) return std::nullopt;

    KernelChoice choice;
    choice.kernel = "conv_direct";
    choice.defines = sum_defines(view);
    choice.defines.insert(choice.defines.end(), {{"DEPTHWISE", depthwise ? "1" : "0"},
                                                 {"TRANSPOSED", y.transposed ? "1" : "0"},
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

}  // namespace

std::vector<KernelCandidate> conv_kernels() {
    std::vector<KernelCandidate> all = product_kernels({plan_matrices, plan_product, "implicit GEMM", plan_own});
    all.push_back({"direct", plan_direct});
    // Behind matrix units, before all others.
    all.insert(all.begin() + 1, {"Winograd", fixed(plan_winograd, 0)});
    for (const int outputs : {2, 4})
        all.push_back({fmt::format("Winograd, {0}x{0} outputs", outputs), fixed(plan_winograd, outputs), true});
    return all;
}
std::vector<KernelCandidate> depthwise_kernels() {
    std::vector<KernelCandidate> all = {{"down the rows", fixed(plan_depthwise_rows, 0, 0)},
                                        {"packed direct", fixed(plan_depthwise, 0)},
                                        {"direct", plan_direct}};
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
