// GPU kernels of FFT2D and RFFT2D: a Stockham FFT along W, then along H, of whole lines in shared memory or in several
// passes; and the direct sum.
#include "base/numerics/roots.hpp"
#include "graph/host_tensor.hpp"
#include "kernels/common/operands.hpp"
#include "kernels/kernels.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace tosavk {
namespace {

constexpr const char* needs_direct_sum =
    "local_bound asks that every result lies near the sum of its own products, which only the direct sum does";

/// exp(-+2 pi i k / length) as pairs.
KernelOperand root_table(std::int64_t length, bool inverse) {
    std::vector<double> values;
    for (std::int64_t k = 0; k < length; ++k) {
        const std::complex<double> root = root_of_unity(k, length);
        values.push_back(root.real());
        values.push_back(inverse ? root.imag() : -root.imag());
    }
    return {no_id, DType::fp32, encode_reals(DType::fp32, values), fmt::format("roots of order {}", length)};
}

/// Factors of 2^bits, at most 16 each (a guess at what registers hold) and as equal as can be.
std::vector<std::int64_t> radices(std::int64_t length) {
    const int bits = std::countr_zero(static_cast<std::uint64_t>(length));
    const int count = (bits + 3) / 4;
    std::vector<std::int64_t> result;
    for (int i = 0; i < count; ++i) result.push_back(std::int64_t{1} << (bits / count + (i < bits % count ? 1 : 0)));
    return result;
}

/// exp(-+2 pi i k r / (ns * radix)) for 0 < r < radix and 0 <= k < ns: all real parts, then all imaginary ones.
KernelOperand pass_table(std::int64_t ns, std::int64_t radix, bool inverse) {
    std::vector<double> re, im;
    for (std::int64_t r = 1; r < radix; ++r) {
        for (std::int64_t k = 0; k < ns; ++k) {
            const std::complex<double> root = root_of_unity(k * r, ns * radix);
            re.push_back(root.real());
            im.push_back(inverse ? root.imag() : -root.imag());
        }
    }
    re.insert(re.end(), im.begin(), im.end());
    return {no_id, DType::fp32, encode_reals(DType::fp32, re),
            fmt::format("roots of a pass of {} after {}", radix, ns)};
}

/// Operations of a pass over complex numbers, 5 log2(radix) for each as it is usually counted; half for the lines of
/// real ones.
double butterfly_work(std::int64_t numbers, std::int64_t radix, bool real) {
    return (real ? 2.5 : 5.0) * static_cast<double>(numbers) * std::log2(static_cast<double>(radix));
}

/// Whole lines in shared memory, one pass an axis.
std::optional<KernelChoice> plan_lines(const NodeView& view, const DevicePlan& device, std::string& why) {
    if (view.attrs().local_bound) {
        why = needs_direct_sum;
        return std::nullopt;
    }
    if (!device.shared_tiles) {
        why = "this device has no use for lines in shared memory";
        return std::nullopt;
    }
    const bool complex_input = view.node().op == Op::fft2d, inverse = view.attrs().inverse;
    const Shape& shape = view.in(0).shape;
    const std::int64_t n = shape[0], h = shape[1], w = shape[2], out_w = view.out().shape[2];
    // As many invocations as every device takes at least, so that columns are read side by side.
    const std::uint32_t size = std::max(device.workgroup_size, 128u);
    const std::int64_t elements = 8 * std::int64_t{size};  // of an invocation: a guess
    if (w > elements || 2 * h > elements) {
        why = fmt::format("a workgroup holds {} elements: less than a row, or than two columns", elements);
        return std::nullopt;
    }
    if (h == 1 && w == 1) {
        why = "it has single elements to transform";
        return std::nullopt;
    }

    std::vector<KernelPass> passes;
    const auto add = [&](std::int64_t outer, std::int64_t length, std::int64_t inner, std::int64_t keep, bool last) {
        const bool first = passes.empty();
        const int bits = std::countr_zero(static_cast<std::uint64_t>(length)) % 3;
        KernelPass pass;
        pass.kernel = "fft_lines";
        pass.defines = {{"SIZE", std::to_string(size)},
                        {"L", std::to_string(length)},
                        {"FIRST", std::to_string(bits == 0 ? 8 : 1 << bits)},
                        {"READS_TENSORS", !first          ? "0"
                                          : complex_input ? "2"
                                                          : "1"},
                        {"WRITES_TENSORS", last ? "1" : "0"},
                        {"CLEARS_SELF_CONJUGATE", last && !complex_input ? "1" : "0"},
                        {"TABLE_load1", first && complex_input ? "in2_load1" : "in1_load1"}};
        const std::int64_t lines = outer * inner;
        set_constants(pass, {{"INNER", inner},
                             {"LINE_COUNT", lines},
                             {"IN_PLANE", lines * length},
                             {"OUT_PLANE", lines * keep},
                             {"KEEP", keep},
                             {"WIDTH", w},
                             {"DIRECTION", inverse ? 1.0f : -1.0f}});
        if (first) {
            for (std::size_t k = 0; k < view.input_count(); ++k) add_operand(pass, view, k, 4);
        } else {
            pass.operands.push_back({no_id, DType::fp32, {}, {}, 0});
        }
        pass.operands.push_back(root_table(length, inverse));
        const std::int64_t together = elements / length;
        pass.groups = spill_groups((lines + together - 1) / together, device);
        pass.invocations = size;
        pass.writes = last ? -1 : 0;
        pass.work = butterfly_work(lines * length, length, first && !complex_input && w > 1);
        passes.push_back(std::move(pass));
    };
    if (w > 1) add(n * h, w, 1, out_w, h == 1);
    if (h > 1) add(n, h, out_w, h, true);

    KernelChoice choice;
    static_cast<KernelPass&>(choice) = std::move(passes.back());
    passes.pop_back();
    if (!passes.empty()) choice.scratch_bytes = {static_cast<std::uint64_t>(n * h * out_w) * 2 * size_of(DType::fp32)};
    choice.earlier = std::move(passes);
    choice.fuses_followers = false;
    choice.aligned = false;
    const std::string lengths = h > 1 && w > 1 ? fmt::format("{}, then {}", w, h) : std::to_string(std::max(w, h));
    choice.note = fmt::format("lines of {} in shared memory", lengths);
    return choice;
}

/// Four butterflies an invocation, which needs rows of at least four first butterflies.
std::optional<KernelChoice> plan_quads(const NodeView& view, const DevicePlan& device, std::string& why) {
    if (view.attrs().local_bound) {
        why = needs_direct_sum;
        return std::nullopt;
    }
    const bool complex_input = view.node().op == Op::fft2d, inverse = view.attrs().inverse;
    const Shape& shape = view.in(0).shape;
    const std::int64_t n = shape[0], h = shape[1], w = shape[2], out_w = view.out().shape[2], row = (out_w + 3) / 4 * 4;
    if (w < 16 || h < 2) {
        why = "its axes are too short for quads";
        return std::nullopt;
    }
    std::vector<std::int64_t> along_row = radices(w);
    if (along_row.size() == 1) along_row = {4, w / 4};
    std::vector<std::int64_t> along_column = radices(h);
    // Rows that are no whole quads are stored element by element, which makes a shader long: few rows at once there.
    if (out_w % 4 != 0 && along_column.back() > 4) {
        along_column.back() /= 4;
        along_column.push_back(4);
    }

    std::vector<KernelPass> passes;
    const std::uint64_t plane = static_cast<std::uint64_t>(n * h * w);
    const auto add = [&](bool in_rows, std::int64_t outer, std::int64_t length, std::int64_t inner, std::int64_t ns,
                         std::int64_t radix) {
        const bool first = passes.empty(), last_of_row = in_rows && ns * radix == length,
                   last = !in_rows && ns * radix == length;
        const std::int64_t butterflies = outer * (length / radix) * inner;
        KernelPass pass;
        pass.kernel = "fft_quads";
        pass.defines = {{"R", std::to_string(radix)},
                        {"ALONG_ROW", in_rows ? "1" : "0"},
                        {"FIRST_OF_ROW", in_rows && ns == 1 ? "1" : "0"},
                        {"READS_TENSORS", !first          ? "0"
                                          : complex_input ? "2"
                                                          : "1"},
                        {"WRITES_TENSORS", last ? "1" : "0"},
                        {"CLEARS_SELF_CONJUGATE", last && !complex_input ? "1" : "0"},
                        {"HAS_TABLE", ns > 1 ? "1" : "0"},
                        {"TABLE(f)", "in1##f"}};
        set_constants(pass, {{"L", length},
                             {"INNER", inner},
                             {"NS", ns},
                             {"BUTTERFLIES", butterflies},
                             {"IN_PLANE", plane},
                             {"OUT_PLANE", plane},
                             {"OUT_LENGTH", last_of_row ? row : length},
                             {"OUT_INNER", last ? out_w : inner},
                             {"WIDTH", w},
                             {"DIRECTION", inverse ? 1.0f : -1.0f}});
        if (first) {
            for (std::size_t k = 0; k < view.input_count(); ++k) add_operand(pass, view, k, 1);
        } else {
            pass.operands.push_back({no_id, DType::fp32, {}, {}, static_cast<int>((passes.size() - 1) % 2)});
        }
        if (ns > 1) pass.operands.push_back(pass_table(ns, radix, inverse));
        pass.groups = linear_groups(butterflies / 4, device);
        pass.writes = static_cast<int>(passes.size() % 2);
        pass.stores_quads = true;
        pass.work = butterfly_work(outer * length * inner, radix, in_rows && !complex_input);
        passes.push_back(std::move(pass));
    };
    std::int64_t ns = 1;
    for (const std::int64_t radix : along_row) add(true, n * h, w, 1, ns, radix), ns *= radix;
    ns = 1;
    for (const std::int64_t radix : along_column) add(false, n, h, row, ns, radix), ns *= radix;

    KernelChoice choice;
    static_cast<KernelPass&>(choice) = std::move(passes.back());
    passes.pop_back();
    choice.writes = -1;
    choice.scratch_bytes.assign(std::min<std::size_t>(passes.size(), 2), plane * 2 * size_of(DType::fp32));
    choice.earlier = std::move(passes);
    choice.fuses_followers = false;
    choice.aligned = out_w % 4 == 0;
    choice.note = fmt::format("{} passes", choice.earlier.size() + 1);
    return choice;
}

std::optional<KernelChoice> plan_fft(const NodeView& view, const DevicePlan& device, std::string& why) {
    if (view.attrs().local_bound) {
        why = needs_direct_sum;
        return std::nullopt;
    }
    const bool complex_input = view.node().op == Op::fft2d, inverse = view.attrs().inverse;
    const Shape& shape = view.in(0).shape;
    const std::int64_t n = shape[0], h = shape[1], w = shape[2], out_w = view.out().shape[2];

    std::vector<KernelPass> passes;
    std::uint64_t largest = 0;
    const auto add_axis = [&](std::int64_t outer, std::int64_t length, std::int64_t inner, std::int64_t keep,
                              std::vector<std::int64_t> factors) {
        const bool along_row = passes.empty();
        std::int64_t ns = 1;
        for (const std::int64_t radix : factors) {
            const bool first = passes.empty(), last_of_axis = ns * radix == length;
            const std::int64_t butterflies = outer * (length / radix) * inner, kept = last_of_axis ? keep : length;
            KernelPass pass;
            pass.kernel = "fft_pass";
            pass.defines = {{"R", std::to_string(radix)},
                            {"READS_TENSORS", first ? (complex_input ? "2" : "1") : "0"},
                            {"WRITES_TENSORS", "0"},
                            {"CLEARS_SELF_CONJUGATE", "0"},
                            {"TABLE_load1", first && complex_input ? "in2_load1" : "in1_load1"}};
            set_constants(pass, {{"L", length},
                                 {"INNER", inner},
                                 {"NS", ns},
                                 {"BUTTERFLIES", butterflies},
                                 {"KEEP", kept},
                                 {"WIDTH", w},
                                 {"DIRECTION", inverse ? 1.0f : -1.0f}});
            if (first) {
                for (std::size_t k = 0; k < view.input_count(); ++k) add_operand(pass, view, k, 4);
            } else {
                pass.operands.push_back({no_id, DType::fp32, {}, {}, static_cast<int>((passes.size() - 1) % 2)});
            }
            pass.operands.push_back(root_table(length, inverse));
            pass.groups = linear_groups(butterflies, device);
            pass.writes = static_cast<int>(passes.size() % 2);
            largest = std::max(largest, static_cast<std::uint64_t>(outer * kept * inner) * 2 * size_of(DType::fp32));
            pass.work = butterfly_work(outer * length * inner, radix, !complex_input && along_row);
            passes.push_back(std::move(pass));
            ns *= radix;
        }
    };
    const bool single = h == 1 && w == 1;
    add_axis(n * h, w, 1, out_w, single ? std::vector<std::int64_t>{1} : radices(w));
    add_axis(n, h, out_w, h, radices(h));

    KernelChoice choice;
    static_cast<KernelPass&>(choice) = std::move(passes.back());
    passes.pop_back();
    choice.writes = -1;
    choice.defines[2].second = "1";
    choice.defines[3].second = complex_input ? "0" : "1";
    choice.scratch_bytes.assign(std::min<std::size_t>(passes.size(), 2), largest);
    choice.earlier = std::move(passes);
    choice.fuses_followers = false;
    choice.aligned = false;
    choice.note = fmt::format("{} passes", choice.earlier.size() + 1);
    return choice;
}

std::optional<KernelChoice> plan_direct_sum(const NodeView& view, const DevicePlan& device, std::string& why) {
    const bool complex_input = view.node().op == Op::fft2d;
    const Shape& shape = view.in(0).shape;
    const std::int64_t h = shape[1], w = shape[2], out_w = view.out().shape[2], outputs = shape[0] * h * out_w;
    const auto steps = loop_steps(device, h, w, why);
    if (!steps) return std::nullopt;
    KernelChoice choice;
    choice.kernel = "fft_direct";
    choice.defines = {{"COMPLEX", complex_input ? "1" : "0"},
                      {"STEPS", std::to_string(*steps)},
                      {"TABLE_load1", complex_input ? "in2_load1" : "in1_load1"}};
    set_constants(choice, {{"H", h}, {"W", w}, {"OW", out_w}, {"OUTPUTS", outputs}});
    for (std::size_t k = 0; k < view.input_count(); ++k) add_operand(choice, view, k);
    choice.operands.push_back(root_table(std::max(h, w), view.attrs().inverse));
    choice.groups = linear_groups(outputs, device);
    choice.fuses_followers = false;
    choice.aligned = false;
    choice.work = (complex_input ? 8.0 : 4.0) * static_cast<double>(outputs * h * w);
    return choice;
}

}  // namespace

std::vector<KernelCandidate> fft_kernels() {
    return {{"Stockham in shared memory", plan_lines},
            {"Stockham in quads", plan_quads},
            {"Stockham", plan_fft},
            {"direct sum", plan_direct_sum}};
}

}  // namespace tosavk
