// GPU kernels of SUPPRESS and SUPPRESS_QUEUED. What follows from what was taken before is done by one workgroup for
// each list; dispatches that go on where the one before ended keep each of them short.
#include "kernels/common/operands.hpp"
#include "kernels/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tosavk {
namespace {

/// Dispatches of one node at most.
constexpr std::int64_t most_dispatches = 4096;
/// Passes of the loops of a dispatch where the device has no bound of its own: a guess at a tenth of a second.
constexpr std::int64_t passes_at_a_time = 200000;
/// Boxes that invocations of a workgroup share: 4 KiB.
constexpr std::int64_t longest_shared = 1024;

void take_results(KernelChoice& choice, std::int64_t lists, std::int64_t most, std::int64_t number, bool scores,
                  const DevicePlan& device) {
    choice.kernel = "suppress_take";
    choice.defines = {{"SCORES", scores ? "1" : "0"}};
    set_constants(choice, {{"LISTS", lists}, {"MOST", most}, {"NUMBER", number}});
    choice.operands.push_back(scratch_operand(0));
    choice.fuses_followers = choice.aligned = false;
    choice.groups = linear_groups(lists * most, device);
}

bool fits(std::int64_t words, const DevicePlan& device, std::string& why) {
    if (binding_count(static_cast<std::uint64_t>(words) * 4, device) == 1) return true;
    why = "what it keeps takes several bindings";
    return false;
}

std::optional<KernelChoice> plan_suppress(const NodeView& view, const DevicePlan& device, std::string& why) {
    const std::int64_t boxes = view.in(0).shape[0], lists = view.in(1).shape[0], most = view.attrs().most;
    const std::int64_t bound = device.max_loop_passes == 0 ? passes_at_a_time : device.max_loop_passes;
    const std::int64_t lanes = device.workgroup_size;
    // Each candidate is held against all that were taken.
    std::int64_t span = std::max<std::int64_t>(512, lanes);
    while (span > lanes && (most + span + 1) * quotient_up(span, lanes) + span > bound) span /= 2;
    if (!fits(lists * (most + 1), device, why)) return std::nullopt;
    KernelChoice choice;
    choice.scratch_bytes.clear();
    const int state = add_scratch(choice, lists * (most + 1));
    for (std::int64_t start = 0; start < boxes; start += span) {
        KernelPass pass;
        pass.kernel = "suppress";
        pass.defines = {{"SPAN", std::to_string(span)}};
        set_constants(pass, {{"BOXES", boxes}, {"LISTS", lists}, {"MOST", most}, {"START", start}});
        for (std::size_t k = 0; k < 4; ++k) add_operand(pass, view, k);
        pass.groups = spill_groups(lists, device);
        pass.writes = state;
        pass.writes_type = DType::i32;
        pass.work = 50.0 * static_cast<double>(lists * span) * static_cast<double>(std::min(most, boxes));
        choice.earlier.push_back(std::move(pass));
        if (static_cast<std::int64_t>(choice.earlier.size()) > most_dispatches) {
            why = fmt::format("{} boxes are too many", boxes);
            return std::nullopt;
        }
    }
    take_results(choice, lists, most, 1, false, device);
    choice.note = fmt::format("{} candidates at a time", span);
    return choice;
}

std::optional<KernelChoice> plan_queued(const NodeView& view, const DevicePlan& device, std::string& why) {
    const std::int64_t boxes = view.in(0).shape[0], most = view.attrs().most, taken = std::min(most, boxes);
    const bool soft = view.attrs().sigma > 0;
    const std::int64_t lanes = most <= longest_shared ? device.workgroup_size : 1;
    // Passes of loops that a turn may take: down the queue and up twice, and through the boxes that were taken.
    const std::int64_t levels = std::bit_width(static_cast<std::uint64_t>(boxes)) + 1;
    const std::int64_t turn = 3 * levels + 5 + quotient_up(taken, lanes) * (soft && lanes > 1 ? 2 + lanes : 1);
    const std::int64_t bound = device.max_loop_passes == 0 ? passes_at_a_time : device.max_loop_passes;
    // Half of the bound: what the kernel counts is not all that a driver makes of its loops.
    const std::int64_t passes = bound / 2 - turn;
    // A box that a score has fallen for comes once more.
    const double turns =
        static_cast<double>(boxes + taken) + (soft ? static_cast<double>(boxes) * static_cast<double>(taken) : 0.0);
    const double all = static_cast<double>(boxes * (levels + 2)) + turns * static_cast<double>(turn);
    const double dispatches = passes < 1 ? most_dispatches + 1 : all / static_cast<double>(passes) + 1;
    if (dispatches > static_cast<double>(most_dispatches)) {
        why = fmt::format("{} boxes of {} would take too many dispatches", most, boxes);
        return std::nullopt;
    }
    const std::int64_t words = 4 + 2 * most + 3 * boxes;
    if (!fits(words, device, why)) return std::nullopt;
    KernelChoice choice;
    const int state = add_scratch(choice, words);
    for (int k = 0; k < static_cast<int>(dispatches); ++k) {
        KernelPass pass;
        pass.kernel = "suppress_queue";
        pass.defines = {{"LANES", std::to_string(lanes)},
                        {"SOFT", soft ? "1" : "0"},
                        {"TAKEN_SIZE", std::to_string(std::min(most, longest_shared))}};
        set_constants(pass, {{"BOXES", boxes}, {"MOST", most}, {"FIRST", k == 0 ? 1 : 0}, {"PASSES", passes}});
        set_constants(pass, {{"DECAY", soft ? -0.5f / static_cast<float>(view.attrs().sigma) : 0.0f}});
        for (std::size_t i = 0; i < 4; ++i) add_operand(pass, view, i);
        pass.invocations = static_cast<std::uint32_t>(lanes);
        pass.writes = state;
        pass.writes_type = DType::i32;
        pass.work = 100.0 * static_cast<double>(passes);
        choice.earlier.push_back(std::move(pass));
    }
    take_results(choice, 1, most, 4, true, device);
    choice.note = fmt::format("at most {} dispatches", choice.earlier.size());
    return choice;
}

}  // namespace

std::vector<KernelCandidate> suppress_kernels() { return {{"in order", plan_suppress}}; }
std::vector<KernelCandidate> suppress_queued_kernels() { return {{"by a queue", plan_queued}}; }

}  // namespace tosavk
