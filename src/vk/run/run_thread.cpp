#include "vk/run/run_thread.hpp"

#include <chrono>
#include <utility>

namespace tosavk {

RunThread::~RunThread() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void RunThread::start(std::function<void()> job) {
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    {
        const std::lock_guard lock(mutex_);
        job_ = std::move(job);
        busy_ = true;
    }
    changed_.notify_all();
}

bool RunThread::wait(std::uint64_t timeout_ns) {
    std::unique_lock lock(mutex_);
    const auto ended = [this] { return !busy_; };
    // Longer than a day is as good as forever, and does not overflow the clock.
    constexpr std::uint64_t day = 86'400'000'000'000;
    if (timeout_ns > day) {
        changed_.wait(lock, ended);
        return true;
    }
    return changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), ended);
}

void RunThread::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return busy_ || ends_; });
        if (!busy_) return;
        const std::function<void()> job = std::exchange(job_, nullptr);
        lock.unlock();
        job();
        lock.lock();
        busy_ = false;
        changed_.notify_all();
    }
}

}  // namespace tosavk
