#include "kernels/sort/sort_passes.hpp"

#include "kernels/common/operands.hpp"

#include <algorithm>
#include <bit>

namespace tosavk {
namespace {

/// The longest lists that are sorted in shared memory, 8 KiB of keys and numbers: a guess.
constexpr std::int64_t longest_in_shared = 1024;

/// Whole lists in shared memory, several of them in a workgroup where they are short.
int add_blocks(KernelChoice& choice, const SortJob& job, const DevicePlan& device) {
    KernelPass pass = job.keys;
    pass.kernel = "sort_block";
    const std::int64_t size =
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(job.length, 2))));
    const std::int64_t span = std::max<std::int64_t>(size, 2 * std::int64_t{device.workgroup_size});
    pass.defines.emplace_back("SPAN", std::to_string(span));
    pass.defines.emplace_back("PAIRS", job.pairs ? "1" : "0");
    set_constants(pass, {{"LENGTH", job.length}, {"LISTS", job.lists}, {"SIZE", size}});
    pass.groups = spill_groups(quotient_up(job.lists, span / size), device);
    pass.writes_type = DType::i32;
    pass.writes = add_scratch(choice, job.lists * job.length * (job.pairs ? 2 : 1));
    const auto steps = static_cast<double>(std::countr_zero(static_cast<std::uint64_t>(size)));
    pass.work = static_cast<double>(job.lists * size) * steps * (steps + 1);
    choice.earlier.push_back(std::move(pass));
    return choice.earlier.back().writes;
}

/// Merges that make a whole list of runs of four.
std::int64_t merge_levels(const SortJob& job) {
    std::int64_t levels = 0;
    while (std::int64_t{4} << levels < job.length) ++levels;
    return levels;
}

std::int64_t merge_words(const SortJob& job) { return job.lists * job.length * 6; }

/// Whether the lists are enough to keep the device busy, one an invocation. Lavapipe's gain is measured
/// (docs/performance.md, "Operators of our own domain"); from how many lists on, and to which length, is a guess.
bool merges(const SortJob& job, const DevicePlan& device) {
    if (device.shared_tiles || job.lists < 64 || job.length > 4096) return false;
    const std::int64_t passes = job.length * (merge_levels(job) + 1);
    return (device.max_loop_passes == 0 || passes <= device.max_loop_passes) &&
           binding_count(static_cast<std::uint64_t>(merge_words(job)) * 4, device) == 1;
}

int add_merges(KernelChoice& choice, const SortJob& job, const DevicePlan& device) {
    KernelPass pass = job.keys;
    pass.kernel = "sort_merge";
    pass.defines.emplace_back("PAIRS", job.pairs ? "1" : "0");
    set_constants(pass, {{"LENGTH", job.length}, {"LISTS", job.lists}, {"LEVELS", merge_levels(job)}});
    pass.groups = linear_groups(job.lists, device);
    pass.writes_type = DType::i32;
    pass.writes = add_scratch(choice, merge_words(job));
    pass.work = 8.0 * static_cast<double>(job.lists * job.length * (merge_levels(job) + 1));
    choice.earlier.push_back(std::move(pass));
    return choice.earlier.back().writes;
}

/// How the radix sort cuts lists: in blocks of a workgroup, whose invocations take `items` neighbours each.
struct Cut {
    int bits;             ///< of a digit
    std::uint32_t lanes;  ///< of a workgroup; each counts all digits in shared memory
    std::int64_t items, blocks;

    std::int64_t digits() const { return std::int64_t{1} << bits; }
};

Cut cut_of(const SortJob& job, const DevicePlan& device) {
    // Digits times lanes: 8 KiB of counters on a GPU, 16 KiB on a CPU, whose few lanes take many items each, so that
    // wide digits pay. All of these numbers are guesses.
    Cut cut = device.shared_tiles ? Cut{4, 128, 16, 0} : Cut{8, 16, 1024, 0};
    // The counters of all blocks are added up by one workgroup, and an invocation may go through so many loop passes.
    while (quotient_up(job.length, cut.items * cut.lanes) > 4096) cut.items *= 2;
    while (
        !device.shared_tiles && cut.items > 128 &&
        !device.keeps_busy(job.lists * quotient_up(job.length, cut.items * cut.lanes) * cut.lanes, "items", cut.items))
        cut.items /= 2;
    cut.blocks = quotient_up(job.length, cut.items * cut.lanes);
    return cut;
}

/// From the last digit to the first: count each block's digits, add up, move every pair to its place.
int add_radix(KernelChoice& choice, const SortJob& job, const DevicePlan& device) {
    const Cut cut = cut_of(job, device);
    const std::int64_t keys = job.lists * job.length, groups = job.lists * cut.blocks, counters = groups * cut.digits();
    const int rounds = (job.key_bits + cut.bits - 1) / cut.bits;
    const int counts = add_scratch(choice, counters * (1 + cut.lanes)), offsets = add_scratch(choice, counters);
    // What a round reads, the next one writes.
    const int pairs[2] = {rounds > 1 ? add_scratch(choice, 2 * keys) : -1,
                          rounds > 2 ? add_scratch(choice, 2 * keys) : -1};
    const int result = add_scratch(choice, keys * (job.pairs ? 2 : 1));
    for (int round = 0; round < rounds; ++round) {
        const bool first = round == 0, last = round + 1 == rounds;
        const auto begin = [&](const char* kernel) {
            KernelPass pass;
            if (first) pass = job.keys;
            else {
                pass.defines = {{"KEYS", "0"}};
                pass.operands = {scratch_operand(pairs[(round - 1) % 2])};
            }
            pass.kernel = kernel;
            pass.defines.emplace_back("BITS", std::to_string(cut.bits));
            set_constants(pass, {{"LENGTH", job.length},
                                 {"LISTS", job.lists},
                                 {"BLOCKS", cut.blocks},
                                 {"ITEMS", cut.items},
                                 {"SHIFT", round * cut.bits}});
            pass.groups = spill_groups(groups, device);
            pass.invocations = cut.lanes;
            pass.writes_type = DType::i32;
            pass.work = 4.0 * static_cast<double>(keys);
            return pass;
        };
        KernelPass count = begin("sort_count");
        count.writes = counts;
        choice.earlier.push_back(std::move(count));

        KernelPass add_up;
        add_up.kernel = "sort_offsets";
        set_constants(add_up, {{"LISTS", job.lists}, {"COUNTS", counters / job.lists}});
        add_up.operands = {scratch_operand(counts)};
        add_up.groups = spill_groups(job.lists, device);
        add_up.invocations = 128;  // every device takes as many
        add_up.writes_type = DType::i32;
        add_up.writes = offsets;
        add_up.work = 2.0 * static_cast<double>(counters);
        choice.earlier.push_back(std::move(add_up));

        KernelPass place = begin("sort_place");
        place.defines.emplace_back("PAIRS", !last || job.pairs ? "1" : "0");
        const std::string number = std::to_string(place.operands.size());
        place.defines.emplace_back("WITHIN(i)", "in" + number + "_load1(i)");
        place.operands.push_back(scratch_operand(counts));
        place.defines.emplace_back("OFFSETS(i)", "in" + std::to_string(place.operands.size()) + "_load1(i)");
        place.operands.push_back(scratch_operand(offsets));
        place.writes = last ? result : pairs[round % 2];
        choice.earlier.push_back(std::move(place));
    }
    return result;
}

}  // namespace

int add_sort(KernelChoice& choice, const SortJob& job, const DevicePlan& device) {
    if (merges(job, device)) return add_merges(choice, job, device);
    return job.length <= longest_in_shared ? add_blocks(choice, job, device) : add_radix(choice, job, device);
}

}  // namespace tosavk
