// GPU kernels of the convolutions: which shader runs them, with which operands.
#include "kernels/common/operands.hpp"
#include "kernels/kernels.hpp"
#include "kernels/product/conv_operands.hpp"
#include "kernels/product/pack_pass.hpp"
#include "kernels/product/pack_weights.hpp"
#include "kernels/product/product.hpp"
#include "kernels/product/widen.hpp"
#include "kernels/product/winograd.hpp"
#include "ops/window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>

namespace tosavk {
namespace {

/// CONV2D, CONV3D or TRANSPOSE_CONV2D as an implicit matrix product; of the last, one for each phase.
struct ConvProduct {
    ConvOperands operands;
    ConvGeometry g;
    Product product;
};

std::optional<ConvProduct> conv_product(const NodeView& view, const DevicePlan& device, std::string& why) {
    const auto operands = conv_operands(view, why);
    if (!operands) return std::nullopt;
    const ConvGeometry g = conv_geometry(view);
    const Op op = view.node().op;
    if (op == Op::transpose_conv2d && operands->is_float && !is_finite(view.in(1))) {
        why = "some weights may not be finite, and taps past the input's edge would multiply them by zero";
        return std::nullopt;
    }
    // A guess: products with phases win by far (docs/performance.md, "Products of other convolutions").
    if (g.window.phases() * g.window.phase_taps() > 16 * g.window.taps()) {
        why = fmt::format("most of its {} phases have no taps", g.window.phases());
        return std::nullopt;
    }
    const auto& [d, y, x] = g.window;
    const bool is_pointwise = op == Op::conv2d && g.window.taps() == 1 && y.stride == 1 && x.stride == 1;
    const Product product{
        .is_volume = op == Op::conv3d,
        .is_transposed = op == Op::transpose_conv2d,
        .is_float = operands->is_float,
        .is_wide = view.in(0).type == DType::i16,
        .is_pointwise = is_pointwise,
        .is_flat = is_pointwise && y.in == y.out && x.in == x.out && y.pad_before == 0 && x.pad_before == 0,
        // Of the output: the input may be part of a larger one, and sums must have the same order there.
        .is_vector = operands->is_float && op == Op::conv2d && g.window.taps() == 1 && g.batch * y.out * x.out == 1,
        .batch = g.window.phases(),
        .line = x.phase_outputs(),
        .rows = g.batch * d.out * y.phase_outputs() * x.phase_outputs(),
        .columns = g.out_channels,
        .taps = g.window.phase_taps(),
        .inner = g.in_channels};
    // A guess: packing reads and writes each weight once, in a dispatch of its own.
    const std::int64_t weights = product.columns * product.taps * product.inner;
    const bool pays = product.rows >= 8 && product.rows * weights >= 1 << 17;
    if (!view.in(1).is_constant() && !device.chooses(pays, "packs")) {
        why = fmt::format("its operand '{}' is computed at run time, and {} rows are not worth packing it",
                          view.in(1).name, product.rows);
        return std::nullopt;
    }
    return ConvProduct{*operands, g, product};
}

/// The same for the kernels of kernels/product/product.hpp.
std::optional<ConvProduct> flat_product(const NodeView& view, const DevicePlan& device, std::string& why) {
    auto conv = conv_product(view, device, why);
    if (!conv) return std::nullopt;
    conv->product.is_fp32 = view.in(0).type == DType::fp32;
    conv->product.is_half = device.fast_fp16 && device.half_products && view.in(0).type == DType::fp16;
    conv->product.loads_halves = device.fast_fp16 && view.in(0).type == DType::fp16;
    conv->product.unpacks = unpacks(view.in(0).type, device);
    if (loop_steps(device, 1, conv->product.passes(), why) != 1) return std::nullopt;
    if (view.in(2).is_constant()) conv->product.dot4 = dot4_of(view.in(0).type, device);
    conv->product.sums_rows = conv->product.dot4 != Dot4::none && conv->operands.weight_zp != 0;
    return conv;
}

/// `row_reads`: how often the kernel reads an element of the implicit matrix's rows. The weights are packed in `units`,
/// if any, else in blocks, `turned` or not.
void add_product_operands(KernelChoice& choice, const NodeView& view, const ConvProduct& conv, const DevicePlan& device,
                          double row_reads, bool moves_bits, bool turned, std::optional<InnerUnits> units = {}) {
    const auto& [d, y, x] = conv.g.window;
    const Product& p = conv.product;
    set_constants(choice, {{"BATCH", p.batch},
                           {"ROWS", p.rows},
                           {"COLUMNS", p.columns},
                           {"K", p.inner},
                           {"ROW_ZP_CONSTANT", p.widens && p.converts == Converts::none ? 0 : conv.operands.input_zp},
                           {"COLUMN_ZP_CONSTANT", p.widens ? 0 : conv.operands.weight_zp},
                           {"ANY_ROWS", p.rows},
                           {"ANY_COLUMNS", p.columns},
                           {"ANY_K", p.inner},
                           {"ANY_ROW_ZP", p.widens && p.converts == Converts::none ? 0 : conv.operands.input_zp},
                           {"ANY_BIAS", view.in(2).shape[0]},
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
    choice.work = 2.0 * reads * static_cast<double>(conv.g.batch * d.in * y.in * x.in * p.columns * conv.g.in_channels);
    if (p.fills || (p.widens && p.converts == Converts::none))
        choice.operands.push_back(widen(choice, view, 0, p.widens ? conv.operands.input_zp : 0, p, device));
    else add_operand(choice, view, 0, reads * row_reads * quad_waste(p.inner), moves_bits);
    // A kernel that takes two blocks at once finds them in bytes; packed dot products wait for nibbles that become
    // bytes at every read, and not for weights where there are many rows.
    const bool nibbles = view.in(1).type == DType::i4 && !units && !choice.reads_eights && !p.widens &&
                         !(turned && device.chooses(has_many_rows(p, DType::i4), "bytes"));
    if (nibbles) choice.defines.push_back({"NIBBLES", "1"});
    const DType weight_type = nibbles                          ? DType::i16
                            : p.widens                         ? DType::fp32
                            : !conv.operands.is_float || units ? DType::i32
                                                               : view.in(1).type;
    if (!view.in(1).is_constant()) {
        choice.operands.push_back(pack_at_run_time(choice, view, units, p.widens, device));
    } else if (units) {
        choice.operands.push_back({no_id, weight_type,
                                   pack_conv_units(view.in(1), conv.g.window, conv.operands.weight_zp, *units),
                                   fmt::format("{} in 4x{} units", view.in(1).name, 4 * units->blocks)});
    } else {
        choice.operands.push_back({no_id, weight_type,
                                   pack_conv_weights(view.in(1), conv.g.window, conv.operands.weight_zp,
                                                     {.turned = turned, .nibbles = nibbles, .widened = p.widens}),
                                   fmt::format("{} in {}4x4 blocks{}", view.in(1).name, turned ? "turned " : "",
                                               nibbles    ? " of nibbles"
                                               : p.widens ? " of fp32"
                                                          : "")});
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
    choice.constants.at("BIAS") = choice.constants.at("ANY_BIAS") = count;
}

/// Of i8 by constant weights: the largest number of the input, less `input_zp`, times an output channel's weights of a
/// part of all blocks, less theirs, without their signs; or more, up to what fp32 holds.
std::int64_t largest_sum(const NodeView& view, std::int64_t input_zp, std::int64_t weight_zp, std::int64_t parts) {
    const Value& weight = view.in(1);
    const std::int64_t channels = weight.shape.front(), depth = weight.shape.back(),
                       taps = element_count(weight.shape) / channels / depth, blocks = taps * quotient_up(depth, 4),
                       number = std::max(max_of(DType::i8) - input_zp, input_zp - min_of(DType::i8));
    // What any weights of the type would make is often little enough. Files may have an i4 of -8, though TOSA has none.
    const std::int64_t least = weight.type == DType::i4 ? -8 : min_of(weight.type),
                       any = std::max(max_of(weight.type) - weight_zp, weight_zp - least) * number * 4 *
                             quotient_up(blocks, parts);
    if (any <= whole_in_fp32) return any;
    const std::vector<std::int64_t> weights = decode_ints(weight.type, *weight.data);
    std::int64_t most = 0;
    auto next = weights.begin();
    for (std::int64_t channel = 0; channel < channels; ++channel) {
        std::int64_t sum = 0, block = 0, end = 0;  // of a part
        for (std::int64_t tap = 0, part = 0; tap < taps; ++tap) {
            for (std::int64_t k = 0; k < depth; k += 4, ++block) {
                if (block == end) sum = 0;
                while (block == end) end = blocks * ++part / parts;
                for (std::int64_t i = k; i < std::min(k + 4, depth); ++i) sum += std::abs(*next++ - weight_zp);
                most = std::max(most, sum);
            }
        }
    }
    return most * number;
}

/// As one of the kernels of kernels/product/product.hpp.
std::optional<KernelChoice> plan_product(const NodeView& view, const DevicePlan& device, std::string& why,
                                         ProductPlan plan, int setting) {
    auto conv = flat_product(view, device, why);
    if (!conv) return std::nullopt;
    // Of the window alone: what folding cuts off the input must not change the plan.
    const auto& [d, y, x] = conv->g.window;
    const double reads = static_cast<double>(conv->product.taps) *
                         (y.transposed ? static_cast<double>(conv->product.batch)
                                       : 1 / static_cast<double>(d.stride * y.stride * x.stride));
    const auto& [input_zp, weight_zp, is_float] = conv->operands;
    const auto largest = [&](std::int64_t parts, Converts converts) {
        return std::optional(largest_sum(view, converts == Converts::rows ? 0 : input_zp, weight_zp, parts));
    };
    auto planned = plan_widened(conv->product, view, reads, largest, device, why, plan, setting);
    if (!planned) return std::nullopt;
    add_product_operands(planned->choice, view, *conv, device, planned->row_reads, planned->moves_bits,
                         planned->dot4 != Dot4::none);
    if (planned->dot4 != Dot4::none || conv->product.converts == Converts::rows)
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
    add_product_operands(planned->choice, view, *conv, device, planned->row_reads, planned->moves_bits, false,
                         planned->units);
    if (correct) set_corrected_bias(planned->choice, view, *conv, 0);
    return std::move(planned->choice);
}

/// By the kernel that every device runs.
std::optional<KernelChoice> plan_own(const NodeView& view, const DevicePlan& device, std::string& why, int fixed_tile) {
    const auto conv = conv_product(view, device, why);
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
    add_product_operands(choice, view, *conv, device, static_cast<double>(p.quads()), false, false);
    choice.groups = linear_groups(p.batch * ((p.rows + tile - 1) / tile) * p.quads(), device);
    choice.aligned = p.columns % 4 == 0;
    choice.in_rows = true;
    choice.note = fmt::format("{}x4 tile", tile);
    return choice;
}

}  // namespace

std::vector<KernelCandidate> conv_kernels() {
    std::vector<KernelCandidate> all = product_kernels({plan_matrices, plan_product, "implicit GEMM", plan_own});
    all.push_back({"direct", plan_direct_convolution});
    // Behind matrix units, before all others.
    all.insert(all.begin() + 1, {"Winograd", fixed(plan_winograd, 0)});
    for (const int outputs : {2, 4})
        all.push_back({fmt::format("Winograd, {0}x{0} outputs", outputs), fixed(plan_winograd, outputs), true});
    return all;
}
}  // namespace tosavk
