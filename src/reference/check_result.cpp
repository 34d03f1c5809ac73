// Decides whether a device's result of one node is right: bit for bit, or within the specification's bound of the
// result computed in fp64.
#include "ops/tolerance.hpp"
#include "reference/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tosavk {

namespace {

/// Collects the worst element; values become text once, at the end.
struct Worst {
    double share = 0;  ///< error / bound; infinity where no bound applies
    std::int64_t element = -1;
    bool passed = true;

    void add(std::int64_t i, double error, bool ok) {
        // A failed element outranks every passed one, whatever its share.
        if (element < 0 || (passed && !ok) || (passed != ok ? false : error > share)) {
            share = error;
            element = i;
        }
        passed = passed && ok;
    }
};

std::string real_text(double v) { return fmt::format("{:.9g}", v); }

CheckResult result_of(const Worst& worst, std::string rule) {
    CheckResult r;
    r.passed = worst.passed;
    r.worst = worst.share;
    r.element = worst.element;
    r.rule = std::move(rule);
    return r;
}

CheckResult compare_ints(const HostTensor& expected, const HostTensor& actual) {
    const auto want = decode_ints(expected.type, expected.bytes), got = decode_ints(actual.type, actual.bytes);
    Worst worst;
    for (std::size_t i = 0; i < want.size(); ++i)
        worst.add(static_cast<std::int64_t>(i), std::fabs(static_cast<double>(want[i]) - static_cast<double>(got[i])),
                  want[i] == got[i]);
    CheckResult r = result_of(worst, "exact");
    if (r.element >= 0) {
        r.expected = std::to_string(want[static_cast<std::size_t>(r.element)]);
        r.got = std::to_string(got[static_cast<std::size_t>(r.element)]);
    }
    return r;
}

/// Moved floats: the same bits, whatever they mean.
CheckResult compare_bits(const HostTensor& expected, const HostTensor& actual) {
    const std::size_t size = size_of(expected.type);
    Worst worst;
    for (std::size_t i = 0; i * size < expected.bytes.size(); ++i) {
        const bool same = std::memcmp(expected.bytes.data() + i * size, actual.bytes.data() + i * size, size) == 0;
        worst.add(static_cast<std::int64_t>(i), same ? 0 : 1, same);
    }
    CheckResult r = result_of(worst, "exact bits");
    const auto text = [&](const HostTensor& tensor) {
        const auto at = static_cast<std::size_t>(r.element) * size;
        std::uint32_t bits = 0;
        for (std::size_t b = size; b-- > 0;) bits = bits << 8 | std::to_integer<std::uint32_t>(tensor.bytes[at + b]);
        const std::span<const std::byte> element(tensor.bytes.data() + at, size);
        return fmt::format("{:#0{}x} ({})", bits, 2 + 2 * size, real_text(decode_reals(tensor.type, element)[0]));
    };
    if (r.element >= 0) {
        r.expected = text(expected);
        r.got = text(actual);
    }
    return r;
}

/// Results that no arithmetic rounds. A subnormal may have become a zero of its sign, any NaN stands for a NaN, and
/// zeros of both signs are equal unless the operator fixes the sign.
bool equal_reals(DType type, double want, double got, bool zero_signs) {
    if (std::isnan(want)) return std::isnan(got);
    if (want == got) return want != 0 || !zero_signs || std::signbit(want) == std::signbit(got);
    const bool may_flush = type == DType::fp32 || type == DType::fp16 || type == DType::bf16;
    return may_flush && got == 0 && std::fabs(want) < nmin(type) &&
           (!zero_signs || std::signbit(want) == std::signbit(got));
}

double error_share(double want, double got, double bound) {
    if (want == got || (std::isnan(want) && std::isnan(got))) return 0;
    const double error = std::fabs(got - want);
    if (std::isnan(error)) return std::numeric_limits<double>::infinity();
    return bound > 0 ? error / bound : std::numeric_limits<double>::infinity();
}

void name_reals(CheckResult& r, std::span<const double> want, std::span<const double> got) {
    if (r.element < 0) return;
    r.expected = real_text(want[static_cast<std::size_t>(r.element)]);
    r.got = real_text(got[static_cast<std::size_t>(r.element)]);
}

CheckResult compare_exact(const NodeView& view, DType type, std::span<const double> want, std::span<const double> got) {
    const Op op = view.node().op;
    const bool zero_signs = op == Op::abs || op == Op::negate || op == Op::select;
    Worst worst;
    for (std::size_t i = 0; i < want.size(); ++i) {
        const bool same = equal_reals(type, want[i], got[i], zero_signs);
        worst.add(static_cast<std::int64_t>(i), same ? 0 : 1, same);
    }
    CheckResult r = result_of(worst, "exact");
    name_reals(r, want, got);
    return r;
}

CheckResult compare_check(DType type, std::span<const double> want, std::span<const double> got,
                          const Tolerance& tolerance) {
    Worst worst;
    for (std::size_t i = 0; i < want.size(); ++i) {
        const double bound = tolerance.bound[i];
        const bool passed = check_value(type, got[i], want[i], bound);
        const double share = error_share(want[i], got[i], bound);
        // Accepted zeros and infinities, and elements without a bound, say nothing about accuracy.
        worst.add(static_cast<std::int64_t>(i), passed && !(share <= 1) ? 0 : share, passed);
    }
    CheckResult r = result_of(worst, "CHECK within the operator's bound");
    name_reals(r, want, got);
    return r;
}

CheckResult compare_dot_product(DType type, std::span<const double> want, std::span<const double> got,
                                const Tolerance& tolerance) {
    const double half_ulp = std::ldexp(1.0, -1 - fraction_bits(type));
    const double limit = 2 * tolerance.terms;  // ABS_BOUND; accumulator and output have one type, so ksb = terms
    const double variance = 1.6 * tolerance.terms;
    Worst worst;
    double squares = 0, sum = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
        const auto element = static_cast<std::int64_t>(i);
        const double bound = tolerance.bound[i], r = want[i], test = got[i];
        if (std::isnan(r)) {
            worst.add(element, std::isnan(test) ? 0 : std::numeric_limits<double>::infinity(), std::isnan(test));
        } else if (std::isnan(bound) || bound * (1 + limit * half_ulp) > nmax(type)) {
            continue;  // the sum of magnitudes overflows: nothing is asked
        } else if (bound == 0) {
            worst.add(element, error_share(r, test, 0), r == 0 && test == 0);
        } else {
            const double unit = std::max(bound * half_ulp, nmin(type));
            const double error = (test - r) / unit;
            const bool passed = std::fabs(error) <= limit;  // false for NaN
            worst.add(element, passed ? std::fabs(error) / limit : error_share(r, test, unit * limit), passed);
            if (passed) squares += error * error, sum += error;
        }
    }
    const auto count = static_cast<double>(want.size());
    CheckResult r = result_of(worst, fmt::format("dot product, KS={}", tolerance.terms));
    name_reals(r, want, got);
    if (variance * count > 0) {
        r.variance = squares / (variance * count);
        r.bias = std::fabs(sum) / std::sqrt(10 * variance * count);
    }
    if (r.passed && squares > variance * count) {
        r.passed = false;
        r.worst = squares / (variance * count);
        r.rule = fmt::format("dot product, KS={}: mean square error {:.3g} exceeds {:.3g}", tolerance.terms,
                             squares / count, variance);
    }
    return r;
}

// ---- flushed inputs -----------------------------------------------------------------------------------------------

/// A device may read every subnormal input as zero. The inputs as such a device sees them; empty: they are the same.
std::vector<HostTensor> flushed_inputs(std::span<const HostTensor* const> inputs) {
    bool changed = false;
    std::vector<HostTensor> result;
    for (const HostTensor* input : inputs) {
        result.push_back(*input);
        const DType type = input->type;
        if (type != DType::fp32 && type != DType::fp16 && type != DType::bf16) continue;
        std::vector<double> values = decode_reals(type, input->bytes);
        for (double& v : values) {
            if (v == 0 || !(std::fabs(v) < nmin(type))) continue;
            v = std::copysign(0.0, v);
            changed = true;
        }
        result.back().bytes = encode_reals(type, values);
    }
    if (!changed) result.clear();
    return result;
}

/// Takes an element of the other reference and its bound where only that one explains the result.
void prefer_flushed(DType type, std::vector<double>& want, Tolerance& tolerance, std::span<const double> got,
                    std::span<const double> other, const Tolerance& other_tolerance) {
    for (std::size_t i = 0; i < want.size(); ++i) {
        bool take = false;
        switch (tolerance.kind) {
            case Tolerance::Kind::check:
                take = !check_value(type, got[i], want[i], tolerance.bound[i]) &&
                       check_value(type, got[i], other[i], other_tolerance.bound[i]);
                break;
            case Tolerance::Kind::dot_product:
                take = error_share(other[i], got[i], 1) < error_share(want[i], got[i], 1);
                break;
            case Tolerance::Kind::exact:
                take = !equal_reals(type, want[i], got[i], true) && equal_reals(type, other[i], got[i], true);
                break;
        }
        if (!take) continue;
        want[i] = other[i];
        if (!tolerance.bound.empty()) tolerance.bound[i] = other_tolerance.bound[i];
    }
}

// ---- precision fast -----------------------------------------------------------------------------------------------

/// What fp16 in the device's own way may differ by (docs/conformance.md, "Precision fast").
namespace fast {

constexpr double times_bound = 4;     ///< TOSA's bound for fp16, so often
constexpr double ulps = 2;            ///< and so much more, for roundings that go anywhere
constexpr double near_one = 0x1p-7;   ///< of results that come of numbers near 1 which cancel, and of logarithms
constexpr double most_products = 32;  ///< that are summed in fp16 (shaders/lib/gemm_sums.glsl)
constexpr double mean_errors = 8;     ///< in steps of fp16 of what such a sum's square root is
const double step = std::ldexp(1.0, -fraction_bits(DType::fp16)), least = nmin(DType::fp16);

bool cancels(Op op) { return op == Op::tanh || op == Op::erf || op == Op::log; }

/// Products that are summed in fp16, of those that make a result.
double products_of(const Tolerance& tolerance) { return std::min(tolerance.products, most_products); }

double bound(Op op, const Tolerance& tolerance, double want, std::size_t i) {
    const double some_ulps = ulps * ulp(DType::fp16, want);
    switch (tolerance.kind) {
        case Tolerance::Kind::exact:
            return op == Op::divide ? 2 * some_ulps + least : op == Op::sqrt ? 3 * some_ulps + least : least;
        case Tolerance::Kind::check:
            return times_bound * tolerance.bound[i] + some_ulps + (cancels(op) ? near_one : least);
        case Tolerance::Kind::dot_product: break;
    }
    // Half an ulp for each addition of products, were all roundings to go one way, and some for what follows.
    return (products_of(tolerance) / 2 + 4) * step * tolerance.bound[i] + some_ulps + least;
}

bool has_special(std::span<const HostTensor* const> tensors) {
    return std::any_of(tensors.begin(), tensors.end(), [](const HostTensor* tensor) {
        if (!is_float(tensor->type)) return false;
        const std::vector<double> values = decode_reals(tensor->type, tensor->bytes);
        return std::any_of(values.begin(), values.end(), [](double v) { return !std::isfinite(v); });
    });
}

/// Winograd's algorithm brings an error of an output's neighbours to it: the largest sum of magnitudes counts for all.
void spread(const NodeView& view, Tolerance& tolerance) {
    if (view.node().op != Op::conv2d || tolerance.bound.empty()) return;
    const Shape& window = view.in(1).shape;
    if (window[1] != 3 || window[2] != 3) return;
    for (std::vector<double>* all : {&tolerance.bound, &tolerance.squares}) {
        double largest = 0;
        for (const double b : *all) largest = std::max(largest, std::isnan(b) ? 0 : b);
        std::fill(all->begin(), all->end(), largest);
    }
}

/// Where numbers leave the type nothing is asked but that they do; a NaN or an infinity among the operands (`special`)
/// may spoil results that are made of several elements, and those of a choice.
bool is_open(const NodeView& view, double want, double got, double allowed, bool special) {
    const Op op = view.node().op;
    const OpDef& def = op_def(op);
    const bool one_element = (def.expression || def.view) && op != Op::maximum && op != Op::minimum && op != Op::clamp;
    if (std::isnan(want)) return std::isnan(got) || special;
    if (std::isnan(allowed)) return true;
    if (std::isfinite(want) && std::fabs(want) + allowed <= nmax(DType::fp16))
        return special && !one_element && !std::isfinite(got);
    // An infinity, or what may be rounded to one or not.
    return special || std::isnan(got) || std::signbit(got) == std::signbit(want) || std::fabs(want) < allowed;
}

CheckResult compare(const NodeView& view, DType type, std::span<const double> want, std::span<const double> got,
                    const Tolerance& tolerance, bool special) {
    Worst worst;
    double squares = 0, allowed_squares = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
        const double allowed = bound(view.node().op, tolerance, want[i], i);
        const bool sums = tolerance.kind == Tolerance::Kind::dot_product;
        // Products and their partial sums may be infinities that no other one makes up for.
        if (sums && tolerance.bound[i] > nmax(DType::fp16) && !std::isfinite(got[i])) {
            worst.add(static_cast<std::int64_t>(i), 0, true);
            continue;
        }
        if (type == DType::fp16 || sums) {
            if (is_open(view, want[i], got[i], allowed, special)) {
                worst.add(static_cast<std::int64_t>(i), 0, true);
                continue;
            }
        }
        const double share = error_share(want[i], got[i], allowed);
        worst.add(static_cast<std::int64_t>(i), share, share <= 1);
        if (tolerance.squares.empty()) continue;
        const double mean = mean_errors * step * std::sqrt(products_of(tolerance) * tolerance.squares[i]) +
                            ulps * ulp(DType::fp16, want[i]) + least;
        squares += (got[i] - want[i]) * (got[i] - want[i]);
        allowed_squares += mean * mean;
    }
    CheckResult r = result_of(worst, "precision fast");
    name_reals(r, want, got);
    if (r.passed && squares > allowed_squares) {
        r.passed = false;
        r.worst = squares / allowed_squares;
        r.rule = fmt::format("precision fast: the mean square error is {:.3g} of what it may be", r.worst);
    }
    return r;
}

/// Whether the node may be computed so.
bool applies(const NodeView& view) {
    if (!view.graph().fast_fp16) return false;
    for (std::size_t k = 0; k < view.input_count(); ++k)
        if (view.in(k).type == DType::fp16) return true;
    for (std::size_t k = 0; k < view.output_count(); ++k)
        if (view.out(k).type == DType::fp16) return true;
    return false;
}

}  // namespace fast

Tolerance tolerance_of(const OpDef& def, RefContext& ctx, std::size_t k) {
    return def.tolerance ? def.tolerance(ctx, k, ctx.reals[k]) : Tolerance{};
}

}  // namespace

CheckResult check_node_result(const NodeView& view, std::span<const HostTensor* const> inputs, std::size_t k,
                              const HostTensor& actual) {
    const OpDef& def = op_def(view.node().op);
    const Value& out = view.out(k);
    if (actual.type != out.type || actual.shape != out.shape ||
        actual.bytes.size() != static_cast<std::size_t>(element_count(out.shape)) * size_of(out.type))
        throw Error(ErrorCode::bad_input,
                    fmt::format("{}: the result to check is {} of shape {}, but output '{}' is {} of shape {}",
                                view.title(), name_of(actual.type), to_string(actual.shape), out.name,
                                name_of(out.type), to_string(out.shape)),
                    view.node().name, out.name);
    RefContext ctx(view, inputs, true);
    def.reference(ctx);
    const bool moves = ctx.reals[k].empty() && is_float(out.type);
    const std::vector<HostTensor> flushed = moves ? std::vector<HostTensor>() : flushed_inputs(inputs);
    std::vector<const HostTensor*> operands;
    for (const HostTensor& tensor : flushed) operands.push_back(&tensor);
    RefContext other(view, operands, true);
    if (!flushed.empty()) def.reference(other);

    if (!is_float(out.type)) {
        CheckResult result = compare_ints(ctx.outputs[k], actual);
        if (!result.passed && !flushed.empty()) {
            const CheckResult second = compare_ints(other.outputs[k], actual);
            if (second.passed) return second;
        }
        return result;
    }
    const bool is_fast = fast::applies(view);
    // Other types are converted to as ever, but sums in fp32 are made of those of fp16.
    const bool is_fast_result = is_fast && out.type == DType::fp16;
    if (moves && is_fast_result) {
        const HostTensor& moved = ctx.outputs[k];
        return fast::compare(view, out.type, decode_reals(moved.type, moved.bytes),
                             decode_reals(actual.type, actual.bytes), {}, fast::has_special(inputs));
    }
    if (moves) return compare_bits(ctx.outputs[k], actual);
    std::vector<double>& want = ctx.reals[k];
    const std::vector<double> got = decode_reals(actual.type, actual.bytes);
    Tolerance tolerance = tolerance_of(def, ctx, k);
    if (!flushed.empty()) {
        const Tolerance second = tolerance_of(def, other, k);
        prefer_flushed(out.type, want, tolerance, got, other.reals[k], second);
    }
    const bool fast_sums = is_fast && tolerance.kind == Tolerance::Kind::dot_product;
    if (fast_sums) fast::spread(view, tolerance);
    if (is_fast_result || fast_sums)
        return fast::compare(view, out.type, want, got, tolerance, fast::has_special(inputs));
    switch (tolerance.kind) {
        case Tolerance::Kind::check: return compare_check(out.type, want, got, tolerance);
        case Tolerance::Kind::dot_product: return compare_dot_product(out.type, want, got, tolerance);
        case Tolerance::Kind::exact: break;
    }
    return compare_exact(view, out.type, want, got);
}

}  // namespace tosavk
