#include "compile/memory/memory.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace tosavk {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

using Order = std::vector<std::size_t>;

/// Places the intervals in the given order, each into the tightest gap (or the lowest) between those placed before.
std::uint64_t place(std::span<Interval> intervals, const Order& order, std::uint64_t alignment, bool tightest) {
    std::uint64_t total = 0;
    Order placed;  // by offset
    for (const std::size_t i : order) {
        Interval& block = intervals[i];
        std::uint64_t best = UINT64_MAX, best_gap = UINT64_MAX, end = 0;
        for (const std::size_t j : placed) {
            const Interval& other = intervals[j];
            if (other.last < block.first || block.last < other.first) continue;
            if (other.offset >= end + block.size && other.offset - end < best_gap) {
                best = end;
                best_gap = tightest ? other.offset - end : 0;
            }
            end = std::max(end, round_up(other.offset + other.size, alignment));
        }
        block.offset = best == UINT64_MAX ? end : best;
        total = std::max(total, round_up(block.offset + block.size, alignment));
        const auto at =
            std::upper_bound(placed.begin(), placed.end(), block.offset,
                             [&](std::uint64_t offset, std::size_t j) { return offset < intervals[j].offset; });
        placed.insert(at, i);
    }
    return total;
}

/// Greatest key first; what has the same key, in the order of the intervals.
template <class Key> Order by(std::span<const Interval> intervals, Key key) {
    Order order(intervals.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const auto first = key(intervals[a]), second = key(intervals[b]);
        return first != second ? first > second : a < b;
    });
    return order;
}

/// Where most is alive at once, blocks are placed first.
Order by_live_bytes(std::span<const Interval> intervals) {
    std::map<std::int64_t, std::vector<std::size_t>> at;
    for (std::size_t i = 0; i < intervals.size(); ++i) at[intervals[i].first].push_back(i);
    struct Step {
        std::uint64_t bytes = 0;
        Order alive;
    };
    std::vector<Step> steps;
    Order alive;
    for (const auto& [step, starting] : at) {  // the most is alive where something starts
        std::erase_if(alive, [&, now = step](std::size_t i) { return intervals[i].last < now; });
        alive.insert(alive.end(), starting.begin(), starting.end());
        Step& made = steps.emplace_back();
        made.alive = alive;
        for (const std::size_t i : alive) made.bytes += intervals[i].size;
        std::sort(made.alive.begin(), made.alive.end(), [&](std::size_t a, std::size_t b) {
            return intervals[a].size != intervals[b].size ? intervals[a].size > intervals[b].size : a < b;
        });
    }
    Order rank(steps.size());
    std::iota(rank.begin(), rank.end(), std::size_t{0});
    std::sort(rank.begin(), rank.end(), [&](std::size_t a, std::size_t b) {
        return steps[a].bytes != steps[b].bytes ? steps[a].bytes > steps[b].bytes : a < b;
    });
    Order order;
    std::vector<bool> taken(intervals.size(), false);
    for (const std::size_t r : rank) {
        for (const std::size_t i : steps[r].alive) {
            if (!taken[i]) order.push_back(i);
            taken[i] = true;
        }
    }
    return order;
}

/// Larger graphs are content with the first order: each try takes the square of this.
constexpr std::size_t most_tried = 3000;

}  // namespace

std::uint64_t assign_offsets(std::span<Interval> intervals, std::uint64_t alignment) {
    const std::uint64_t bound = live_bytes_bound(intervals, alignment);
    const auto steps = [](const Interval& i) { return static_cast<std::uint64_t>(i.last - i.first) + 1; };
    const auto size = [](const Interval& i) { return i.size; };
    std::uint64_t best = place(intervals, by(intervals, size), alignment, true);
    if (best == bound || intervals.size() > most_tried) return best;
    std::vector<Interval> trial(intervals.begin(), intervals.end());
    const Order orders[] = {
        by(intervals, size),
        by_live_bytes(intervals),
        by(intervals, [&](const Interval& i) { return i.size * steps(i); }),
        by(intervals, [&](const Interval& i) { return std::pair(steps(i), i.size); }),
        by(intervals, [&](const Interval& i) { return std::pair(-i.first, i.size); }),
        by(intervals, [&](const Interval& i) { return std::pair(i.last, i.size); }),
    };
    for (const Order& order : orders) {
        for (const bool tightest : {true, false}) {
            const std::uint64_t total = place(trial, order, alignment, tightest);
            if (total >= best) continue;
            best = total;
            std::copy(trial.begin(), trial.end(), intervals.begin());
            if (best == bound) return best;
        }
    }
    return best;
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
