// Timeline semaphores of callers.
#pragma once

#include "vk/core/device.hpp"
#include "vk/core/unique_handle.hpp"

#include <atomic>
#include <mutex>
#include <vector>

namespace tosavk {

/// Thread-safe.
class Semaphore {
public:
    /// Error(unsupported) without timeline semaphores, or without opaque descriptors of them where one is wanted.
    Semaphore(std::shared_ptr<Device> device, std::uint64_t value, bool exportable);
    /// Somebody else's timeline semaphore, which outlives this.
    Semaphore(std::shared_ptr<Device> device, VkSemaphore foreign);
    /// That of another device object or process; the descriptor stays the caller's.
    static std::shared_ptr<Semaphore> import_fd(std::shared_ptr<Device> device, int fd);
    ~Semaphore();
    Semaphore(const Semaphore&) = delete;
    Semaphore& operator=(const Semaphore&) = delete;

    /// A submit waits for it or signals it.
    void note_use() { used_ = true; }
    /// A submit that signals `value` stands on the device's queue.
    void note_signal(std::uint64_t value);
    /// Whether it has the value, or gets it by what stands on the device's queue already.
    bool is_sure(std::uint64_t value) const { return value <= promised_ || value <= this->value(); }
    Device& device() const { return *device_; }
    VkSemaphore handle() const { return foreign_ ? foreign_ : semaphore_.get(); }
    std::uint64_t value() const;
    /// Error(usage) unless `value` is greater than the value now, and less than all that stands on the queue signals.
    void signal(std::uint64_t value);
    /// Error(usage) unless `value` is greater than the value now, and than all that stands on the queue signals.
    void require_growth(std::uint64_t value) const;
    /// Whether it has reached the value within the time.
    bool wait(std::uint64_t value, std::uint64_t timeout_ns) const;
    int export_fd() const;

private:
    std::shared_ptr<Device> device_;
    UniqueHandle<VkSemaphore> semaphore_;
    VkSemaphore foreign_ = VK_NULL_HANDLE;
    bool exportable_ = false;
    std::atomic<bool> used_ = false;
    std::atomic<std::uint64_t> promised_ = 0;
    std::mutex mutex_;
    std::vector<std::uint64_t> pending_;  ///< what stands on the queue signals, from the smallest on; some may be over
};

/// A value of one, to be waited for or to be signalled.
struct SemaphorePoint {
    std::shared_ptr<Semaphore> semaphore;
    std::uint64_t value = 0;
};

/// What a run waits for before it begins, and what it signals when it is done.
struct RunOrder {
    std::vector<SemaphorePoint> waits, signals;
};

}  // namespace tosavk
