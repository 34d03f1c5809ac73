#include "kernels/common/kernel_choice.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

void KernelConstant::beyond_32_bits() {
    throw Error(ErrorCode::internal, "a number beyond 32 bits was given as a specialization constant");
}

std::optional<KernelChoice> plan_candidate(const KernelCandidate& candidate, const NodeView& view,
                                           const DevicePlan& device, std::string& why) {
    const SizeChoices::Scope scope(device.sizes, fmt::format("{}/{}", view.node().name, candidate.name));
    std::optional<KernelChoice> choice = candidate.plan(view, device, why);
    if (!choice) return std::nullopt;
    for (const std::uint64_t bytes : choice->scratch_bytes) {
        if (bytes / 4 > static_cast<std::uint64_t>(max_elements)) {
            why = fmt::format("a buffer between its passes would have {} words, and shaders count to {}", bytes / 4,
                              max_elements);
            return std::nullopt;
        }
    }
    choice->candidate = candidate.name;
    return choice;
}

std::uint64_t allocation_bytes(std::uint64_t bytes, DType type) {
    const std::uint64_t quad = 4 * size_of(type);
    return ((bytes + quad - 1) / quad * quad + 15) / 16 * 16;
}

std::uint64_t part_bytes(const DevicePlan& device) {
    // Where the next part begins, its binding's offset must be a legal one.
    return std::max(device.buffer_alignment,
                    device.max_binding_bytes / device.buffer_alignment * device.buffer_alignment);
}

std::uint32_t binding_count(std::uint64_t bytes, const DevicePlan& device) {
    if (device.max_binding_bytes == 0 || bytes <= device.max_binding_bytes) return 1;
    return static_cast<std::uint32_t>((bytes + part_bytes(device) - 1) / part_bytes(device));
}

std::array<std::uint32_t, 3> spill_groups(std::int64_t groups, const DevicePlan& device) {
    const std::int64_t most = device.max_groups_x;
    const std::int64_t x = std::clamp<std::int64_t>(groups, 1, most);
    const std::int64_t y = (groups + x - 1) / x;
    return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(std::max<std::int64_t>(y, 1)), 1};
}

bool wants_eights(std::int64_t elements, const DevicePlan& device) {
    // That they pay is measured (docs/performance.md, "Stores of eights"); from which size on is a guess.
    return device.slow_storage && device.int64 && elements % 8 == 0 &&
           device.chooses(elements >= 16 * std::int64_t{device.workgroup_size}, "eights");
}

std::int64_t pieces_in_turn(std::int64_t pieces, std::int64_t bytes, const DevicePlan& device) {
    // docs/performance.md, "Pages in turn": less than walk_bytes does not pay.
    std::int64_t each = 1;
    while (each * bytes < device.walk_bytes) each *= 2;
    return each > 1 && device.keeps_busy(pieces / each, "in turn", each) ? each : 1;
}

std::int64_t row_step(std::int64_t row, DType read, DType made, const DevicePlan& device) {
    return row % 4 != 0 && size_of(read) == 4 && size_of(made) == 4 && device.lanes_together > 1 ? 1 : 4;
}

std::int64_t lanes_of_row(std::int64_t quads, std::int64_t bytes, const DevicePlan& device) {
    const std::int64_t together = device.lanes_together;
    const std::int64_t least =
        quads >= 4 * together ? together : std::min(together, std::max<std::int64_t>(64 / bytes, 1));
    std::int64_t lanes = 1;
    while (2 * lanes <= std::min(quads, least)) lanes *= 2;
    return lanes;
}

std::array<std::uint32_t, 3> linear_groups(std::int64_t invocations, const DevicePlan& device) {
    const std::int64_t size = device.workgroup_size;
    return spill_groups((invocations + size - 1) / size, device);
}

}  // namespace tosavk
