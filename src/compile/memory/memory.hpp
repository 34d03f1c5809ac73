// Offsets for values that live for a while: intervals in, places out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tosavk {

/// A block of memory in use from step `first` to step `last`, both included.
struct Interval {
    std::int64_t first = 0, last = 0;
    std::uint64_t size = 0;    ///< bytes
    std::uint64_t offset = 0;  ///< result
};

/// Gives every interval an offset (multiple of `alignment`) such that blocks alive at the same step do not overlap;
/// several orders of placing are tried, and the best is kept. Returns the bytes needed in all.
std::uint64_t assign_offsets(std::span<Interval> intervals, std::uint64_t alignment);

/// The least that any assignment needs: the largest sum of sizes alive at one step.
std::uint64_t live_bytes_bound(std::span<const Interval> intervals, std::uint64_t alignment);

}  // namespace tosavk
