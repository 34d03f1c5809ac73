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
    return with("((a) + (b))", real ? "hidden_zero()" : "0");
}

/// Lines along the axis, of single elements or, with `inner` > 1, of quads of neighbours.
struct Lines : AxisSplit {
    bool rows() const { return inner == 1; }
    std::int64_t count() const { return outer * quotient_up(inner, 4); }
};

struct Cut {
    std::int64_t length = 1, parts = 1;
};

/// `least`: steps that a part should have, of `lanes` invocations that go along it together. The callers' are guesses.
Cut cut(const Lines& lines, std::int64_t least, std::int64_t lanes, const DevicePlan& device) {
    const std::int64_t step = lines.rows() ? 4 * lanes : 1;
    std::int64_t parts = 1;
    const auto enough = [&] {
        return parts * lines.count() * lanes >= device.busy_invocations ||
               quotient_up(lines.axis, 2 * parts) < least * step;
    };
    while (!device.chooses(enough(), "parts", parts)) parts *= 2;
    while (device.max_loop_passes != 0 && quotient_up(lines.axis, parts * step) > device.max_loop_passes) parts *= 2;
    Cut c;
    c.length = parts == 1 ? lines.axis : quotient_up(quotient_up(lines.axis, parts), step) * step;
    // Walks side by side that are a power of two apart would meet in the same few lines of a cache: by how much they
    // are parted is a guess.
    if (parts > 1 && lines.rows() && lanes == 1 && c.length % 1024 == 0) c.length += 16;
    c.parts = quotient_up(lines.axis, c.length);
    return c;
}

/// Gathers the passes of one node.
class Passes {
public:
    /// `lanes`: invocations that share a row; 1, or those of a workgroup.
    Passes(const NodeView& view, const DevicePlan& device, std::int64_t lanes)
        : view_(view), device_(device), arithmetic_(arithmetic_of(view)), lanes_(lanes) {}

    KernelChoice plan(const Lines& lines) {
        const Cut c = cut(lines, lanes_ > 1 ? 4 : 16, lanes_, device_);
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
        scratch_bytes_.push_back(static_cast<std::uint64_t>(quotient_up(elements, 4) * 4) * size_of(DType::fp32));
        return static_cast<int>(scratch_bytes_.size()) - 1;
    }

    /// The number of the scratch buffer with what lies before each part; -1 where there is one part.
    int before_parts(const Lines& lines, const Cut& c, int from) {
        if (c.parts == 1) return -1;
        const Lines of_totals{{lines.outer, c.parts, lines.rows() ? 1 : quotient_up(lines.inner, 4) * 4}};
        const std::int64_t count = of_totals.outer * of_totals.axis * of_totals.inner;
        const int totals = new_scratch(count);
        earlier_.push_back(pass(lines, c, from, -1, true, totals));
        // A second level pays where walking along the totals would take about as long as along a part.
        const Cut next = cut(of_totals, lanes_ > 1 ? 16 : 256, lanes_, device_);
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
                     {"SHARED_LANES", lanes_ > 1 ? "1" : "0"},
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
        const std::int64_t part_bytes = c.length * static_cast<std::int64_t>(size_of(view_.in(0).type));
        std::int64_t each = lines.rows() || device_.row_quads == 1 ? 1 : 4;
        const std::int64_t quads = quotient_up(lines.inner, 4), all = lines.count() * c.parts;
        while (each > 1 &&
               (quads % each != 0 || lines.inner % 4 != 0 || !device_.keeps_busy(2 * all / each, "each", each)))
            each /= 2;
        const std::int64_t walks = all / each;
        // Short rows that lie one behind the other are walked through like a long one.
        const std::int64_t in_turn = lines.rows() && lanes_ == 1 ? pieces_in_turn(walks, part_bytes, device_) : 1;
        p.defines.emplace_back("EACH", std::to_string(each));
        set_constants(p, {{"AXIS", lines.axis},
                          {"INNER", lines.inner},
                          {"LENGTH", c.length},
                          {"PARTS", c.parts},
                          {"COUNT", walks},
                          {"IN_TURN", in_turn}});
        // Read by one pass alone, the input may be computed where it is read.
        if (is_input) add_operand(p, view_, 0, c.parts > 1 ? 0 : quad_waste(lines.rows() ? lines.axis : lines.inner));
        else p.operands.push_back({no_id, carried, {}, {}, from});
        if (prefix >= 0) p.operands.push_back({no_id, carried, {}, {}, prefix});
        p.groups = lanes_ > 1 ? spill_groups(walks, device_) : linear_groups(quotient_up(walks, in_turn), device_);
        p.writes = to;
        p.writes_type = carried;
        p.stores_quads = !lines.rows();
        return p;
    }

    const NodeView view_;
    const DevicePlan& device_;
    const Arithmetic arithmetic_;
    const std::int64_t lanes_;
    std::vector<KernelPass> earlier_;
    std::vector<std::uint64_t> scratch_bytes_;
};

Lines lines_of(const NodeView& view) {
    return {split_at(view.in(0).shape, static_cast<std::size_t>(view.attrs().axis))};
}

std::optional<KernelChoice> plan_walks(const NodeView& view, const DevicePlan& device, std::string&) {
    return Passes(view, device, 1).plan(lines_of(view));
}

/// Neighbouring invocations read neighbouring quads, which GPUs fetch together.
std::optional<KernelChoice> plan_shared(const NodeView& view, const DevicePlan& device, std::string& why) {
    const Lines lines = lines_of(view);
    if (!device.shared_tiles) {
        why = "this device gains nothing from shared memory";
        return std::nullopt;
    }
    if (!lines.rows() || lines.axis < 4 * std::int64_t{device.workgroup_size}) {
        why = "it has no rows of a quad for each invocation of a workgroup";
        return std::nullopt;
    }
    return Passes(view, device, device.workgroup_size).plan(lines);
}

}  // namespace

std::vector<KernelCandidate> cumulate_kernels() {
    return {{"in shared memory", plan_shared},
            {"walks", plan_walks},
            {"walks, fewer parts", for_busy(plan_walks, 0.125), true},
            {"walks, more parts", for_busy(plan_walks, 8), true}};
}

}  // namespace tosavk
