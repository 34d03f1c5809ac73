// What a long call tells its caller, who may end it.
#pragma once

#include "base/error.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <mutex>

namespace tosavk {

class Progress {
public:
    /// Told how many steps are done, and of how many; false ends the call. Called from any thread, once at a time.
    using Listener = std::function<bool(std::uint64_t done, std::uint64_t total)>;

    Progress() = default;  ///< nobody listens
    explicit Progress(Listener listener) : listener_(std::move(listener)) {}
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Before any step; may be done once.
    void expect(std::uint64_t steps) { total_ = steps; }
    /// Throws Error(cancelled), from then on each time.
    void step(std::uint64_t steps = 1) {
        if (!listener_) return;
        const std::lock_guard lock(mutex_);
        done_ = std::min(done_ + steps, total_);
        if (!cancelled_) cancelled_ = !listener_(done_, total_);
        if (cancelled_) throw Error(ErrorCode::cancelled, "the caller ended the call");
    }

private:
    Listener listener_;
    std::mutex mutex_;
    std::uint64_t done_ = 0, total_ = 0;
    bool cancelled_ = false;
};

}  // namespace tosavk
