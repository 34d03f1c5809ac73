#include "plan/memory.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace tosavk {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

}  // namespace

std::uint64_t assign_offsets(std::span<Interval> intervals, std::uint64_t alignment) {
    std::vector<std::size_t> order(intervals.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) {
        return intervals[a].size != intervals[b].size ? intervals[a].size > intervals[b].size : a < b;
    });

    std::uint64_t total = 0;
    std::vector<std::size_t> placed;  // by offset
    for (const std::size_t i : order) {
        Interval& block = intervals[i];
        std::uint64_t best = UINT64_MAX, best_gap = UINT64_MAX, end = 0;
        for (const std::size_t j : placed) {
            const Interval& other = intervals[j];
            if (other.last < block.first || block.last < other.first) continue;
            if (other.offset >= end + block.size && other.offset - end < best_gap) {
                best = end;
                best_gap = other.offset - end;
            }
            end = std::max(end, round_up(other.offset + other.size, alignment));
        }
        block.offset = best == UINT64_MAX ? end : best;
        total = std::max(total, round_up(block.offset + block.size, alignment));
        const auto at = std::upper_bound(placed.begin(), placed.end(), block.offset,
                                         [&](std::uint64_t offset, std::size_t j) { return offset < intervals[j].offset; });
        placed.insert(at, i);
    }
    return total;
}

std::uint64_t live_bytes_bound(std::span<const Interval> intervals, std::uint64_t alignment) {
    std::map<std::int64_t, std::int64_t> change;
    for (const Interval& block : intervals) {
        const auto size = static_cast<std::int64_t>(round_up(block.size, alignment));
        change[block.first] += size;
        change[block.last + 1] -= size;
    }
    std::int64_t live = 0, most = 0;
    for (const auto& [step, delta] : change) most = std::max(most, live += delta);
    return static_cast<std::uint64_t>(most);
}

}  // namespace tosavk
