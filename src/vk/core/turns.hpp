// The order of runs among themselves: who submits when.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>

namespace tosavk {

/// Those who use one thing, from before they submit until they have, by their tickets: the order in which they began.
/// Thread-safe. Who takes tickets of several things holds DeviceState::ticket_mutex meanwhile, so that no two wait for
/// each other.
class Turns {
public:
    std::uint64_t begin();
    /// Has everyone who began before submitted?
    bool is_next(std::uint64_t ticket) const;
    void wait_until_next(std::uint64_t ticket) const;
    /// `submit`: DeviceState::submit()'s number of the last one; 0: there was none.
    void end(std::uint64_t ticket, std::uint64_t submit);
    /// Waits until all have submitted: the last submit's number.
    std::uint64_t settle() const;
    /// The same until `deadline` at most; none: somebody has not.
    std::optional<std::uint64_t> settle_until(std::chrono::steady_clock::time_point deadline) const;

private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::set<std::uint64_t> tickets_;  ///< of those that have not submitted yet
    std::uint64_t next_ = 0, last_submit_ = 0;
};

}  // namespace tosavk
