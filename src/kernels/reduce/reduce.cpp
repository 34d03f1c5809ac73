// GPU kernels of REDUCE_* and ARGMAX. The former go along rows (the last axis) and along columns (any other), in two
// passes where one would leave the device idle or walk too far.
#include "kernels/common/operands.hpp"
#include "kernels/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {
namespace {

using Defines = std::vector<std::pair<std::string, std::string>>;

/// What the shaders fold. Extremes of floats are found among keys, integers in the order of the numbers, which is one
/// instruction for each.
struct Arithmetic {
    std::string input, partial;                 ///< types of a quad of the input, and of partial results
    std::string before = "(x)", after = "(x)";  ///< what makes a partial result of an input, and the result of that
    std::string fold, identity;                 ///< of two partial results; one that changes none

    bool keys() const { return before != "(x)"; }
    Defines defines() const {
        return {{"IN4", input},      {"ACC4", partial},    {"BEFORE(x)", before},
                {"AFTER(x)", after}, {"FOLD(a, b)", fold}, {"IDENTITY", identity}};
    }
};

Arithmetic arithmetic_of(const NodeView& view) {
    const bool real = is_float(view.in(0).type), ignore = view.attrs().nan_mode == NanMode::ignore;
    Arithmetic a;
    a.input = a.partial = real ? "vec4" : "ivec4";
    const auto with = [&a](const char* fold, const char* identity) {
        a.fold = fold;
        a.identity = identity;
        return a;
    };
    switch (view.node().op) {
        case Op::reduce_all: return with("((a) & (b))", "1");
        case Op::reduce_any: return with("((a) | (b))", "0");
        case Op::reduce_max:
        case Op::reduce_min: {
            const bool maximum = view.node().op == Op::reduce_max;
            if (real) {
                const char* nan_end = maximum == ignore ? "NAN_FIRST" : "NAN_LAST";
                a.partial = "ivec4";
                a.before = fmt::format("math_order(x, {})", nan_end);
                a.after = fmt::format("math_unorder(x, {})", nan_end);
            }
            return maximum ? with("max(a, b)", "SIGN_BIT") : with("min(a, b)", "ABS_MASK");
        }
        case Op::reduce_product: return with("((a) * (b))", "1.0");
        default: return with("((a) + (b))", real ? "-0.0" : "0");
    }
}

/// The second of two passes, without its constants and groups: it folds the partial results that the first leaves in a
/// scratch buffer.
KernelChoice fold_partials(Arithmetic a) {
    a.input = a.partial;
    a.before = "(x)";
    KernelChoice choice;
    choice.defines = a.defines();
    choice.operands = {{no_id, a.partial == "ivec4" ? DType::i32 : DType::fp32, {}, {}, 0}};
    return choice;
}

/// Makes `choice` the second of two passes, and `first` the one before it.
void put_before(KernelChoice& choice, KernelPass first, std::int64_t scratch_elements) {
    first.writes = 0;
    first.writes_type = choice.operands.front().type;
    first.stores_quads = true;
    first.defines.emplace_back("PARTIAL", "1");
    choice.scratch_bytes = {static_cast<std::uint64_t>(scratch_elements) * size_of(first.writes_type)};
    choice.work = static_cast<double>(scratch_elements);
    choice.earlier.push_back(std::move(first));
}

/// Rows that are no whole quads share the quads between them.
double reads_of_row(std::int64_t axis) {
    return axis % 4 == 0 ? 1 : quad_waste(axis) + 4.0 / static_cast<double>(axis);
}

/// How many parts an axis of `length` steps is cut into, so that `ready` invocations become enough. Each goes through
/// `loops` loops over its part. The callers' `least_steps` are guesses near the 16 rows of docs/performance.md, "First
/// kernels".
std::int64_t parts_of(std::int64_t length, std::int64_t ready, std::int64_t least_steps, std::int64_t loops,
                      const DevicePlan& device) {
    std::int64_t parts = 1;
    const auto enough = [&] {
        return parts * ready >= device.busy_invocations || quotient_up(length, 2 * parts) < least_steps;
    };
    while (!device.chooses(enough(), "parts", parts)) parts *= 2;
    while (device.max_loop_passes != 0 && loops * quotient_up(length, parts) > device.max_loop_passes) parts *= 2;
    return parts;
}

/// Four rows at once take more registers than Mali and Adreno have at full occupancy.
bool fits_one_row(const DevicePlan& device) { return device.registers < 128; }

/// So many lanes fold the results of a row, in whole subgroups where the device makes them.
void set_lanes(KernelPass& pass, const DevicePlan& device, std::int64_t lanes) {
    const std::uint32_t subgroup = device.folds_of(lanes);
    pass.defines.insert(pass.defines.end(),
                        {{"SHARED_LANES", lanes > 1 ? "1" : "0"}, {"SUBGROUP", std::to_string(subgroup)}});
    pass.subgroup_size = subgroup;
    if (subgroup != 0) pass.invocations = device.workgroup_size;
    set_constants(pass, {{"LANES", lanes}});
}

/// A pass over rows: `rows` of `axis` elements, each in `chunks` parts of `length`, by `lanes` invocations.
void set_rows(KernelPass& pass, const DevicePlan& device, std::int64_t rows, std::int64_t axis, std::int64_t chunks,
              std::int64_t length, std::int64_t lanes) {
    pass.kernel = "reduce_rows";
    const std::int64_t quads = quotient_up(length, 4) + (axis % 4 == 0 && length % 4 == 0 ? 0 : 1);
    // Where prefetchers follow whole cache lines, they follow long rows, and short ones that lie one behind the other;
    // of a few short ones, four at once wait less often (docs/performance.md, "Reductions": from 128 quads on).
    const std::int64_t row_bytes = length * static_cast<std::int64_t>(size_of(pass.operands.front().type));
    const std::int64_t in_turn = lanes == 1 ? pieces_in_turn(quotient_up(rows * chunks, 4), 4 * row_bytes, device) : 1;
    // Four rows that begin within quads, of elements that are taken out of words, take more than 128 registers.
    const bool crowded = axis % 4 != 0 && size_of(pass.operands.front().type) < 4 && device.registers <= 128;
    const bool row_by_row =
        fits_one_row(device) || crowded || (device.row_quads > 1 && (quads / lanes >= 128 || in_turn > 1));
    pass.defines.emplace_back("ROW_BY_ROW", row_by_row ? "1" : "0");
    set_lanes(pass, device, lanes);
    pass.reads_eights = lanes == 1 && length % 8 == 0 && axis % length == 0;
    set_constants(pass, {{"AXIS", axis},
                         {"LENGTH", length},
                         {"CHUNKS", chunks},
                         {"COUNT", rows * chunks},
                         {"QUADS", quads},
                         {"IN_TURN", in_turn}});
    pass.groups =
        spill_groups(quotient_up(quotient_up(rows * chunks, 4), device.workgroup_size / lanes * in_turn), device);
}

KernelChoice plan_rows(const NodeView& view, const DevicePlan& device, const AxisSplit& s,
                       const Arithmetic& arithmetic) {
    const std::int64_t row_quads = quotient_up(s.axis, 4), quads = quotient_up(s.outer, 4);
    // Lanes of one workgroup first, since they need no second pass; each should have some quads to fold (eight, a
    // guess).
    std::int64_t lanes = 1;
    const auto enough = [&] { return lanes * quads >= device.busy_invocations || row_quads < 8 * lanes; };
    while (lanes < device.workgroup_size && !device.chooses(enough(), "lanes", lanes)) lanes *= 2;
    const std::int64_t side_by_side =
        lanes_of_row(row_quads, 4 * static_cast<std::int64_t>(size_of(view.in(0).type)), device);
    while (lanes < device.workgroup_size && device.chooses(lanes < side_by_side, "lanes side by side", lanes))
        lanes *= 2;
    const std::int64_t chunks = parts_of(quotient_up(row_quads, lanes), lanes * quads, 16, 4, device);
    const std::int64_t length = chunks == 1 ? s.axis : quotient_up(quotient_up(s.axis, chunks), 4) * 4,
                       used = quotient_up(s.axis, length);

    // Keys of fp16, and of rows that begin within quads, leave few registers none for a second quad of each row.
    const bool fits_two = device.registers > 128 || (size_of(view.in(0).type) == 4 && s.axis % 4 == 0);

    KernelChoice choice;
    choice.defines = arithmetic.defines();
    choice.defines.emplace_back("TWO_QUADS", arithmetic.keys() && fits_two ? "1" : "0");
    add_operand(choice, view, 0, reads_of_row(s.axis));
    set_rows(choice, device, s.outer, s.axis, used, length, lanes);
    choice.note = fmt::format("{} lanes a row", lanes);
    if (used == 1) return choice;
    KernelPass first = std::move(choice);
    choice = fold_partials(arithmetic);
    choice.defines.emplace_back("TWO_QUADS", "0");
    set_rows(choice, device, s.outer, used, 1, used, 1);
    choice.note = fmt::format("{} lanes a row, rows in {} parts", lanes, used);
    put_before(choice, std::move(first), quotient_up(s.outer * used, 4) * 4);
    return choice;
}

/// A pass over columns: runs of quads of `inner` neighbours for each of `outer`. An invocation goes down a part of the
/// axis with up to `each` of them.
void set_columns(KernelPass& pass, const DevicePlan& device, const AxisSplit& s, DType made, std::int64_t outer_stride,
                 std::int64_t axis_stride, std::int64_t length, std::int64_t chunks, std::int64_t each) {
    // Partial results are quads.
    const std::int64_t step = chunks == 1 ? row_step(s.inner, pass.operands.front().type, made, device) : 4;
    const std::int64_t quads = quotient_up(s.inner, step), all = s.outer * quads * chunks;
    while (each > 1 && (quads % each != 0 || s.inner % 4 != 0 || !device.keeps_busy(all / each, "each", each)))
        each /= 2;
    pass.kernel = "reduce_columns";
    pass.defines.insert(pass.defines.end(), {{"EACH", fmt::to_string(each)}, {"STEP", fmt::to_string(step)}});
    pass.reads_eights = each > 1 && s.inner % 8 == 0;
    set_constants(pass, {{"OUTER", s.outer},
                         {"AXIS", s.axis},
                         {"INNER", s.inner},
                         {"OUTER_STRIDE", outer_stride},
                         {"AXIS_STRIDE", axis_stride},
                         {"LENGTH", length},
                         {"CHUNKS", chunks}});
    pass.groups = linear_groups(all / each, device);
}

std::int64_t row_bytes(const NodeView& view, const AxisSplit& s) {
    return s.inner * static_cast<std::int64_t>(size_of(view.in(0).type));
}

std::int64_t length_of(const NodeView& view, const DevicePlan& device, const AxisSplit& s) {
    // The same whoever asks, since it is the order of a sum.
    const SizeChoices::Scope scope(device.sizes, view.node().name + "/length");
    const std::int64_t quads = s.outer * quotient_up(s.inner, 4);
    const std::int64_t length = quotient_up(s.axis, parts_of(s.axis, quads, 8, 1, device));
    // Of far rows no more are walked down than prefetchers follow, where second passes are small or loads wait for
    // memory most (docs/performance.md, "Reductions" and "Blocks of eight").
    const bool few = !device.chooses(quads >= device.busy_invocations * device.row_quads, "few");
    const bool far = device.far_rows != 0 && (few || loads_are_loops(device)) && row_bytes(view, s) >= 4096;
    return far ? std::min(length, device.far_rows) : length;
}

KernelChoice plan_columns(const NodeView& view, const DevicePlan& device, const AxisSplit& s,
                          const Arithmetic& arithmetic) {
    const std::int64_t quads = s.outer * quotient_up(s.inner, 4);
    const std::int64_t length = length_of(view, device, s), chunks = quotient_up(s.axis, length);
    // Of many rows in other pages whole lines of a cache (64 bytes) are read: each page is looked up half as often. Of
    // short rows they are where loads are loops, so that no two wait for one line
    // (docs/performance.md, "Reciprocals and whole lines").
    const bool pays = row_bytes(view, s) >= 4096 ? length >= 64 : loads_are_loops(device);
    const bool whole_lines = device.row_quads > 1 && size_of(view.in(0).type) == 4 && pays;
    // Two quads of fp16 are one load, as one of fp32 is.
    const bool halves = device.fast_fp16 && !device.slow_storage && view.in(0).type == DType::fp16;
    const std::int64_t each = whole_lines || halves ? 2 * device.row_quads : device.row_quads;

    KernelChoice choice;
    choice.defines = arithmetic.defines();
    add_operand(choice, view, 0, quad_waste(s.inner));
    set_columns(choice, device, s, view.out().type, s.axis * s.inner, s.inner, length, chunks, each);
    if (chunks > 1) {
        KernelPass first = std::move(choice);
        choice = fold_partials(arithmetic);
        set_columns(choice, device, {s.outer, chunks, s.inner}, view.out().type, quotient_up(s.inner, 4) * 4, quads * 4,
                    chunks, 1, device.row_quads);
        put_before(choice, std::move(first), quads * 4 * chunks);
    }
    choice.aligned = s.inner % 4 == 0;
    choice.note = chunks == 1 ? "down the columns" : fmt::format("down the columns in {} parts", chunks);
    return choice;
}

/// The input around the axis.
AxisSplit split_of(const NodeView& view) {
    return split_at(view.in(0).shape, static_cast<std::size_t>(view.attrs().axis));
}

/// The same, if the kernels here take its type.
std::optional<AxisSplit> split(const NodeView& view, std::string& why) {
    const DType type = view.in(0).type;
    if (is_plain_type(type)) return split_of(view);
    why = fmt::format("it does not take {}", name_of(type));
    return std::nullopt;
}

std::optional<KernelChoice> plan_reduce(const NodeView& view, const DevicePlan& device, std::string& why) {
    const std::optional<AxisSplit> s = split(view, why);
    if (!s) return std::nullopt;
    KernelChoice choice = s->inner == 1 ? plan_rows(view, device, *s, arithmetic_of(view))
                                        : plan_columns(view, device, *s, arithmetic_of(view));
    choice.defines.emplace_back("PARTIAL", "0");
    (choice.earlier.empty() ? choice : choice.earlier.front()).work =
        static_cast<double>(element_count(view.in(0).shape));
    return choice;
}

/// Four outputs an invocation; as many lanes share an axis as keep the device busy.
std::optional<KernelChoice> plan_argmax(const NodeView& view, const DevicePlan& device, std::string& why) {
    const std::optional<AxisSplit> s = split(view, why);
    if (!s) return std::nullopt;
    const bool rows = s->inner == 1;
    const std::int64_t quads = rows ? quotient_up(s->outer, 4) : s->outer * quotient_up(s->inner, 4),
                       steps = rows ? s->axis / 4 + 2 : s->axis;
    std::int64_t lanes = 1;
    const auto too_long = [&] {
        return device.max_loop_passes != 0 && (rows ? 4 : 1) * steps / lanes > device.max_loop_passes;
    };
    while (lanes < device.workgroup_size && lanes * 4 <= steps &&
           (!device.keeps_busy(lanes * quads, "lanes", lanes) || too_long()))
        lanes *= 2;
    const std::int64_t side_by_side =
        rows ? lanes_of_row(s->axis / 4, 4 * static_cast<std::int64_t>(size_of(view.in(0).type)), device) : 1;
    while (lanes < device.workgroup_size && 2 * lanes <= steps &&
           device.chooses(lanes < side_by_side, "lanes side by side", lanes))
        lanes *= 2;
    if (too_long()) {
        why = fmt::format("its axis of {} is too long for the {} loop passes that the driver allows", s->axis,
                          device.max_loop_passes);
        return std::nullopt;
    }

    KernelChoice choice;
    choice.kernel = "argmax";
    const bool real = is_float(view.in(0).type);
    choice.defines = {{"X_FLOAT", real ? "1" : "0"},
                      {"IN4", real ? "vec4" : "ivec4"},
                      {"ROWS", rows ? "1" : "0"},
                      {"ROW_BY_ROW", fits_one_row(device) ? "1" : "0"},
                      {"NAN_KEY", view.attrs().nan_mode == NanMode::ignore ? "SIGN_BIT" : "ABS_MASK"}};
    const std::int64_t four_rows = 4 * s->axis * static_cast<std::int64_t>(size_of(view.in(0).type));
    // Through texel buffers, longer rows are found as fast by themselves (docs/performance.md, "Pages in turn").
    const bool walks = rows && lanes == 1 && (four_rows < 1024 || loads_are_loops(device));
    const std::int64_t in_turn = walks ? pieces_in_turn(quads, four_rows, device) : 1;
    set_lanes(choice, device, lanes);
    set_constants(choice, {{"AXIS", s->axis}, {"INNER", s->inner}, {"OUTER", s->outer}, {"IN_TURN", in_turn}});
    add_operand(choice, view, 0, rows ? reads_of_row(s->axis) : quad_waste(s->inner));
    choice.reads_eights = rows && lanes == 1 && s->axis % 8 == 0;
    choice.groups = spill_groups(quotient_up(quads, device.workgroup_size / lanes * in_turn), device);
    choice.aligned = rows || s->inner % 4 == 0;
    choice.work = static_cast<double>(element_count(view.in(0).shape));
    choice.note =
        fmt::format("{} lanes along the axis{}", lanes, in_turn > 1 ? fmt::format(", {} fours in turn", in_turn) : "");
    return choice;
}

}  // namespace

std::vector<KernelCandidate> argmax_kernels() {
    return {{"tree", plan_argmax},
            {"tree, fewer lanes", for_busy(plan_argmax, 0.125), true},
            {"tree, more lanes", for_busy(plan_argmax, 8), true}};
}

std::int64_t column_length(const NodeView& reduction, const DevicePlan& device) {
    return length_of(reduction, device, split_of(reduction));
}

std::vector<KernelCandidate> reduce_kernels() {
    return {{"blocks", plan_reduce},
            {"blocks, fewer parts", for_busy(plan_reduce, 0.125), true},
            {"blocks, more parts", for_busy(plan_reduce, 8), true}};
}

}  // namespace tosavk
