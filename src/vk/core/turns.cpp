#include "vk/core/turns.hpp"

#include <algorithm>

namespace tosavk {

std::uint64_t Turns::begin() {
    const std::lock_guard lock(mutex_);
    tickets_.insert(next_);
    return next_++;
}

bool Turns::is_next(std::uint64_t ticket) const {
    const std::lock_guard lock(mutex_);
    return *tickets_.begin() >= ticket;
}

void Turns::wait_until_next(std::uint64_t ticket) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return *tickets_.begin() >= ticket; });
}

void Turns::end(std::uint64_t ticket, std::uint64_t submit) {
    {
        const std::lock_guard lock(mutex_);
        tickets_.erase(ticket);
        last_submit_ = std::max(last_submit_, submit);
    }
    changed_.notify_all();
}

std::uint64_t Turns::settle() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return tickets_.empty(); });
    return last_submit_;
}

std::optional<std::uint64_t> Turns::settle_until(std::chrono::steady_clock::time_point deadline) const {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, deadline, [&] { return tickets_.empty(); })) return std::nullopt;
    return last_submit_;
}

}  // namespace tosavk
