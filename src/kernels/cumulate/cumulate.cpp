// GPU kernels of CUMULATE. A line along the axis is cut into parts where there are too few lines to keep the device
// busy, or where one is too long for a loop: the totals of the parts are a smaller problem of the same kind.
#include "kernels/common/operands.hpp"
#include "kernels/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tosavk {
namespace {

std::int64_t up(std::int64_t n, std::int64_t d) { return (n + d - 1) / d; }

/// What the shader folds. Extremes of floats are found among keys: integers in the order of the numbers, NaN at the end
/// that wins. The keys of the infinities are the ends of the range.
struct Arithmetic {
    std::string input, partial;  ///< types of a quad of the input and of what is carried
    std::string before = "(x)", after = "(x)", fold, identity;
};

Arithmetic arithmetic_of(const NodeView& view) {
    const DType type = view.in(0).type;
    const bool real = is_float(type);
    Arithmetic a;
    a.input = a.partial = real ? "vec4" : "ivec4";
    const auto with = [&a](std::string fold, std::string identity) {
        a.fold = std::move(fold);
        a.identity = std::move(identity);
        return a;
    };
    const Combiner combiner = view.attrs().combiner;
    const bool minimum = combiner == Combiner::minimum;
    if (minimum || combiner == Combiner::maximum) {
        const std::string fold = minimum ? "min(a, b)" : "max(a, b)";
        if (real) {
            const char* nan_end = minimum ? "NAN_FIRST" : "NAN_LAST";
            a.partial = "ivec4";
            a.before = fmt::format("math_order(x, {})", nan_end);
            a.after = fmt::format("math_unorder(x, {})", nan_end);
        }
        if (real || type == DType::i32) return with(fold, minimum ? "ABS_MASK" : "SIGN_BIT");
        return with(fold, std::to_string(minimum ? max_of(type) : min_of(type)));
    }
    if (type == DType::i8) a.after = "wrap_i8(x)";
    if (type == DType::i16) a.after = "wrap_i16(x)";
    if (combiner == Combiner::multiply) return with("((a) * (b))", real ? "1.0" : "1");
    return with("((a) + (b))", real ? "0.0" : "0");
}

/// Lines along the axis, of single elements or, with `inner` > 1, of quads of neighbours.
struct Lines {
    std::int64_t outer = 1, axis = 1, inner = 1;

    bool rows() const { return inner == 1; }
    std::int64_t count() const { return outer * up(inner, 4); }
};

struct Cut {
    std::int64_t length = 1, parts = 1;
};

/// `least`: steps that a part should have.
Cut cut(const Lines& lines, std::int64_t least, const DevicePlan& device) {
    const std::int64_t step = lines.rows() ? 4 : 1;
    std::int64_t parts = 1;
    while (parts * lines.count() < device.busy_invocations && up(lines.axis, 2 * parts) >= least * step) parts *= 2;
    while (device.max_loop_passes != 0 && up(lines.axis, parts * step) > device.max_loop_passes) parts *= 2;
    Cut c;
    c.length = parts == 1 ? lines.axis : up(up(lines.axis, parts), step) * step;
    // Walks side by side that are a power of two apart would meet in the same few lines of a cache.
    if (parts > 1 && lines.rows() && c.length % 1024 == 0) c.length += 16;
    c.parts = up(lines.axis, c.length);
    return c;
}

/// Gathers the passes of one node.
class Passes {
public:
    Passes(const NodeView& view, const DevicePlan& device)
        : view_(view), device_(device), arithmetic_(arithmetic_of(view)) {}

    KernelChoice plan(const Lines& lines) {
        const Cut c = cut(lines, 16, device_);
        KernelChoice choice;
        const int prefix = before_parts(lines, c, -1);
        static_cast<KernelPass&>(choice) = pass(lines, c, -1, prefix, false, -1);
        choice.aligned = lines.rows() ? lines.axis % 4 == 0 : lines.inner % 4 == 0;
        choice.note =
            fmt::format("along {} in {} part{}", lines.rows() ? "rows" : "columns", c.parts, c.parts == 1 ? "" : "s");
        choice.earlier = std::move(earlier_);
        choice.scratch_bytes = std::move(scratch_bytes_);
        (choice.earlier.empty() ? choice : choice.earlier.front()).work =
            static_cast<double>(element_count(view_.in(0).shape));
        return choice;
    }

private:
    int new_scratch(std::int64_t elements) {
        scratch_bytes_.push_back(static_cast<std::uint64_t>(up(elements, 4) * 4) * size_of(DType::fp32));
        return static_cast<int>(scratch_bytes_.size()) - 1;
    }

    /// The number of the scratch buffer with what lies before each part; -1 where there is one part.
    int before_parts(const Lines& lines, const Cut& c, int from) {
        if (c.parts == 1) return -1;
        const Lines of_totals{lines.outer, c.parts, lines.rows() ? 1 : up(lines.inner, 4) * 4};
        const std::int64_t count = of_totals.outer * of_totals.axis * of_totals.inner;
        const int totals = new_scratch(count);
        earlier_.push_back(pass(lines, c, from, -1, true, totals));
        // A second level pays where walking along the totals would take about as long as along a part.
        const Cut next = cut(of_totals, 256, device_);
        const int prefix = before_parts(of_totals, next, totals);
        const int before = new_scratch(count);
        earlier_.push_back(pass(of_totals, next, totals, prefix, false, before));
        return before;
    }

    /// `from`: number of the scratch buffer that it reads; -1: the input. `to` likewise: the output.
    KernelPass pass(const Lines& lines, const Cut& c, int from, int prefix, bool is_total, int to) {
        const bool is_input = from < 0;
        const DType carried = arithmetic_.partial == "ivec4" ? DType::i32 : DType::fp32;
        const bool exclusive = is_input ? view_.attrs().exclusive : true;
        KernelPass p;
        p.kernel = "cumulate";
        p.defines = {{"ROWS", lines.rows() ? "1" : "0"},
                     {"TOTALS", is_total ? "1" : "0"},
                     {"TO_SCRATCH", to >= 0 && !is_total ? "1" : "0"},
                     {"PREFIX", prefix >= 0 ? "1" : "0"},
                     {"REVERSE", view_.attrs().reverse ? "1" : "0"},
                     {"EXCLUSIVE", exclusive ? "1" : "0"},
                     {"ACC4", arithmetic_.partial},
                     {"ACC", carried == DType::i32 ? "int" : "float"},
                     {"BEFORE(x)", is_input ? arithmetic_.before : "(x)"},
                     {"AFTER(x)", arithmetic_.after},
                     {"FOLD(a, b)", arithmetic_.fold},
                     {"IDENTITY", arithmetic_.identity}};
        const std::int64_t invocations = lines.count() * c.parts;
        add_constants(p, {lines.axis, lines.inner, c.length, c.parts, invocations});
        // Read by one pass alone, the input may be computed where it is read.
        if (is_input) add_operand(p, view_, 0, c.parts > 1 ? 0 : quad_waste(lines.rows() ? lines.axis : lines.inner));
        else p.operands.push_back({no_id, carried, {}, {}, from});
        if (prefix >= 0) p.operands.push_back({no_id, carried, {}, {}, prefix});
        p.groups = linear_groups(invocations, device_);
        p.writes = to;
        p.writes_type = carried;
        p.stores_quads = !lines.rows();
        return p;
    }

    const NodeView view_;
    const DevicePlan& device_;
    const Arithmetic arithmetic_;
    std::vector<KernelPass> earlier_;
    std::vector<std::uint64_t> scratch_bytes_;
};

std::optional<KernelChoice> plan_walks(const NodeView& view, const DevicePlan& device, std::string&) {
    const Shape& shape = view.in(0).shape;
    const auto axis = static_cast<std::size_t>(view.attrs().axis);
    Lines lines;
    for (std::size_t d = 0; d < axis; ++d) lines.outer *= shape[d];
    lines.axis = shape[axis];
    for (std::size_t d = axis + 1; d < shape.size(); ++d) lines.inner *= shape[d];
    return Passes(view, device).plan(lines);
}

}  // namespace

std::vector<KernelCandidate> cumulate_kernels() {
    return {{"walks", plan_walks},
            {"walks, fewer parts", for_busy(plan_walks, 0.125), true},
            {"walks, more parts", for_busy(plan_walks, 8), true}};
}

}  // namespace tosavk
