// GPU kernels of SCATTER_ND and SEGMENT_REDUCE. Rows that set: the last that names a place is found by marking. Rows
// that combine: they are sorted by the place that they name, and each place takes its own in order, so that float sums
// have the same bits on every device.
#include "kernels/common/operands.hpp"
#include "kernels/indexed/tuples.hpp"
#include "kernels/kernels.hpp"
#include "kernels/sort/sort_passes.hpp"

#include <fmt/format.h>

#include <bit>

namespace tosavk {
namespace {

std::optional<KernelChoice> plan_set(const NodeView& view, const DevicePlan& device, std::string& why) {
    if (!takes_tuples(view, why)) return std::nullopt;
    if (view.attrs().combiner != Combiner::set) {
        why = "its rows are combined";
        return std::nullopt;
    }
    const IndexedSizes s = indexed_sizes(view);
    const char* x4 = is_float(view.out().type) ? "vec4" : "ivec4";
    KernelChoice choice;
    const auto scatter = [&](KernelPass& pass, const char* number, std::int64_t invocations) {
        pass.kernel = "scatter";
        pass.defines = {{"PASS", number}, {"X4", x4}};
        set_constants(pass, {{"K", s.slots}, {"W", s.tuples}, {"C", s.row}, {"COUNT", s.all_slots()}});
        pass.groups = linear_groups(invocations, device);
    };
    KernelPass clear, mark;
    scatter(clear, "0", s.all_slots());
    mark.kernel = "index_marks";
    add_tuples(mark, view, s, 0);
    set_constants(mark, {{"COUNT", s.all_tuples()}});
    add_operand(mark, view, 1);
    mark.groups = linear_groups(s.all_tuples(), device);
    clear.writes = mark.writes = 0;
    clear.writes_type = mark.writes_type = DType::i32;
    scatter(choice, "2", s.all_slots() * ((s.row + 3) / 4));
    add_operand(choice, view, 0, quad_waste(s.row));
    choice.operands.push_back(scratch_operand(0));
    add_operand(choice, view, 2,
                static_cast<double>(s.all_slots()) / static_cast<double>(s.all_tuples()) * quad_waste(s.row));
    choice.earlier = {std::move(clear), std::move(mark)};
    choice.scratch_bytes = {static_cast<std::uint64_t>(s.all_slots()) * size_of(DType::i32)};
    choice.aligned = s.row % 4 == 0;
    choice.moves_bits = true;
    return choice;
}

struct Combining {
    const char* combine;
    std::string neutral;
};

Combining combining_of(Combiner combiner, DType type) {
    const bool real = is_float(type);
    switch (combiner) {
        case Combiner::multiply: return {"((a) * (b))", real ? "1.0" : "1"};
        case Combiner::minimum:
            return {real ? "tosa_min(a, b)" : "min(a, b)",
                    real ? "intBitsToFloat(INF_BITS)" : std::to_string(max_of(type))};
        case Combiner::maximum:
            return {real ? "tosa_max(a, b)" : "max(a, b)",
                    // The least int has no literal of its own.
                    real ? "-intBitsToFloat(INF_BITS)" : fmt::format("({} - 1)", min_of(type) + 1)};
        default: return {"((a) + (b))", real ? "0.0" : "0"};
    }
}

/// Of so many sorted pairs, each of one place, a partial result is made first. A place with all pairs then takes about
/// as many steps at its own as at its partial results.
std::int64_t chunk_length(std::int64_t pairs) {
    std::int64_t length = 256;
    while (length * length < pairs) length *= 2;
    return length;
}

std::optional<KernelChoice> plan_combine(const NodeView& view, const DevicePlan& device, std::string& why) {
    if (!takes_tuples(view, why)) return std::nullopt;
    const IndexedSizes s = indexed_sizes(view);
    const DType type = view.out().type;
    const bool real = is_float(type), scatters = view.node().op == Op::scatter_nd;
    const std::int64_t places = s.all_slots(), pairs = s.all_tuples(), quads = (s.row + 3) / 4;
    const std::int64_t length = chunk_length(pairs), chunks = pairs / length;
    if (device.max_loop_passes != 0 && 2 * length + chunks > device.max_loop_passes) {
        why = fmt::format("its loops need {} passes, and the driver allows {}", 2 * length + chunks,
                          device.max_loop_passes);
        return std::nullopt;
    }
    KernelChoice choice;
    SortJob job;
    job.length = pairs;
    job.key_bits = std::bit_width(static_cast<std::uint64_t>(places));  // `places` itself is the key of those outside
    job.pairs = true;
    job.keys.defines = {{"KEYS", "2"}};
    add_tuples(job.keys, view, s, 0);
    add_operand(job.keys, view, 1);
    const int sorted = add_sort(choice, job, device);

    const int starts = add_scratch(choice, places);
    for (const bool clears : {true, false}) {
        KernelPass pass;
        pass.kernel = "run_starts";
        pass.defines = {{"PASS", clears ? "0" : "1"}};
        set_constants(pass, {{"KEYS", places}, {"PAIRS", pairs}});
        if (!clears) pass.operands.push_back(scratch_operand(sorted));
        pass.groups = linear_groups(clears ? places : pairs, device);
        pass.writes = starts;
        pass.writes_type = DType::i32;
        choice.earlier.push_back(std::move(pass));
    }

    const Combining arithmetic = combining_of(view.attrs().combiner, type);
    const auto combine = [&](KernelPass& pass, bool partial, std::int64_t count) {
        const int unused = type == DType::boolean ? 0 : std::max(0, 32 - 8 * static_cast<int>(size_of(type)));
        pass.kernel = "combine_runs";
        pass.defines = {{"PARTIAL", partial ? "1" : "0"},
                        {"HAS_VALUES", scatters ? "1" : "0"},
                        {"HAS_PARTIAL", chunks > 0 ? "1" : "0"},
                        {"X4", real ? "vec4" : "ivec4"},
                        {"COMBINE(a, b)", arithmetic.combine},
                        {"NEUTRAL", arithmetic.neutral},
                        {"WRAP(v)", real || unused == 0 ? "(v)" : fmt::format("(((v) << {0}) >> {0})", unused)}};
        set_constants(pass, {{"C", s.row}, {"COUNT", count}, {"PAIRS", pairs}, {"LENGTH", length}});
        pass.operands.push_back(scratch_operand(sorted));
        add_operand(pass, view, scatters ? 2 : 0);
        pass.groups = linear_groups(count * quads, device);
        pass.work = static_cast<double>(s.row) * static_cast<double>(pairs);
    };
    const DType sums = real ? DType::fp32 : DType::i32;
    int partial_results = -1;
    if (chunks > 0) {
        partial_results = add_scratch(choice, chunks * quads * 4);
        KernelPass partial;
        combine(partial, true, chunks);
        partial.writes = partial_results;
        partial.writes_type = sums;
        partial.stores_quads = true;
        choice.earlier.push_back(std::move(partial));
    }
    combine(choice, false, places);
    choice.operands.push_back(scratch_operand(starts));
    if (chunks > 0) choice.operands.push_back(scratch_operand(partial_results, sums));
    if (scatters) {
        choice.defines.emplace_back("VALUES(f)", fmt::format("in{}_##f", choice.operands.size()));
        add_operand(choice, view, 0);
    }
    choice.aligned = s.row % 4 == 0;
    choice.note = fmt::format("{} rows sorted by place, partial results of {}", pairs, length);
    return choice;
}

}  // namespace

std::vector<KernelCandidate> scatter_nd_kernels() {
    return {{"marked places", plan_set}, {"rows by place", plan_combine}};
}
std::vector<KernelCandidate> segment_reduce_kernels() { return {{"rows by place", plan_combine}}; }

}  // namespace tosavk
