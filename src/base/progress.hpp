// What a long call tells its caller, who may end it.
#pragma once

#include "base/error.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace tosavk {

class Progress {
public:
    /// Told how many steps are done, and of how many; false ends the call. Called from any thread, once at a time.
    using Listener = std::function<bool(std::uint64_t done, std::uint64_t total)>;

    Progress() = default;  ///< nobody listens
    explicit Progress(Listener listener) : listener_(std::move(listener)) {}
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// So many more, before any of them.
    void expect(std::uint64_t steps) {
        const std::lock_guard lock(mutex_);
        total_ += steps;
    }
    /// Throws Error(cancelled), from then on each time.
    void step(std::uint64_t steps = 1) {
        if (!listener_) return;
        const std::lock_guard lock(mutex_);
        done_ = std::min(done_ + steps, total_);
        ask();
    }
    /// Of a loop: tells the listener now and then that the call goes on. Throws as step() does.
    void turn() {
        if (!listener_) return;
        const std::lock_guard lock(mutex_);
        if (cancelled_ || std::chrono::steady_clock::now() - asked_ >= between_turns) ask();
    }

private:
    static constexpr std::chrono::milliseconds between_turns{50};

    void ask();

    Listener listener_;
    std::mutex mutex_;
    std::uint64_t done_ = 0, total_ = 0;
    bool cancelled_ = false;
    std::chrono::steady_clock::time_point asked_ = {};
};

/// While it lives, what this thread does is part of the call that `progress` is of: loops deep within it, such as those
/// of the reference, need not be handed it.
class ProgressScope {
public:
    explicit ProgressScope(Progress& progress) : before_(current) { current = &progress; }
    ~ProgressScope() { current = before_; }
    ProgressScope(const ProgressScope&) = delete;
    ProgressScope& operator=(const ProgressScope&) = delete;

    /// That of the call that this thread is in, or one that nobody listens to.
    static Progress& of_thread() {
        // One for all threads: what a thread destroys when it ends would keep the library loaded until then.
        static Progress nobody;
        return current ? *current : nobody;
    }

private:
    static inline thread_local Progress* current = nullptr;
    Progress* before_;

    friend class Progress;
    friend void turn_of_loop();
};

// What the listener itself calls is no part of this call.
inline void Progress::ask() {
    struct Aside {
        Progress* before = std::exchange(ProgressScope::current, nullptr);
        ~Aside() { ProgressScope::current = before; }
    };
    if (!cancelled_) {
        const Aside aside;
        cancelled_ = !listener_(done_, total_);
    }
    if (cancelled_) throw Error(ErrorCode::cancelled, "the caller ended the call");
    asked_ = std::chrono::steady_clock::now();
}

/// In loops that may take long: throws Error(cancelled) where the caller has ended the call that this thread is in.
inline void turn_of_loop() {
    if (ProgressScope::current) ProgressScope::current->turn();
}

}  // namespace tosavk
