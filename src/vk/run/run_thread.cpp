#include "vk/run/run_thread.hpp"

#include <chrono>
#include <utility>

namespace tosavk {

RunThread::~RunThread() {
    if (!thread_.joinable()) return;
    if (birthplace_.is_left()) {  // what the thread held and waited for stays so forever
        thread_.detach();
        static_cast<void>(state_.release());
        return;
    }
    {
        const std::lock_guard lock(state_->mutex);
        state_->ends = true;
    }
    state_->changed.notify_all();
    thread_.join();
}

void RunThread::start(std::function<void()> job) {
    if (!thread_.joinable()) {
        thread_ = std::thread([&state = *state_] { work(state); });
        birthplace_ = {};
    }
    {
        const std::lock_guard lock(state_->mutex);
        state_->job = std::move(job);
        state_->busy = true;
    }
    state_->changed.notify_all();
}

bool RunThread::wait(std::uint64_t timeout_ns) {
    std::unique_lock lock(state_->mutex);
    const auto ended = [this] { return !state_->busy; };
    // Longer than a day is as good as forever, and does not overflow the clock.
    constexpr std::uint64_t day = 86'400'000'000'000;
    if (timeout_ns > day) {
        state_->changed.wait(lock, ended);
        return true;
    }
    return state_->changed.wait_for(lock, std::chrono::nanoseconds(timeout_ns), ended);
}

void RunThread::work(State& state) {
    std::unique_lock lock(state.mutex);
    for (;;) {
        state.changed.wait(lock, [&] { return state.busy || state.ends; });
        if (!state.busy) return;
        const std::function<void()> job = std::exchange(state.job, nullptr);
        lock.unlock();
        job();
        lock.lock();
        state.busy = false;
        state.changed.notify_all();
    }
}

}  // namespace tosavk
