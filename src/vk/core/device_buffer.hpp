// Memory of a device that callers fill, read and hand to runs.
#pragma once

#include "vk/core/device.hpp"
#include "vk/core/memory.hpp"

#include <condition_variable>
#include <mutex>
#include <set>

namespace tosavk {

/// One VkBuffer of a caller, shared by the buffers that are parts of it. Thread-safe: what the host does to it waits
/// for the submits that use it.
class BufferMemory {
public:
    BufferMemory(std::shared_ptr<Device> device, std::uint64_t size, MemoryUse use, const MemoryOrigin& origin);
    /// Somebody else's buffer.
    BufferMemory(std::shared_ptr<Device> device, VkBuffer foreign, std::uint64_t size, VkBufferUsageFlags usage);
    BufferMemory(const BufferMemory&) = delete;
    BufferMemory& operator=(const BufferMemory&) = delete;

    Device& device() const { return *device_; }
    const Buffer& buffer() const { return buffer_; }
    VkBufferUsageFlags usage() const { return usage_; }
    /// Runs that use it, from before they submit until they have, by their tickets: the order in which they began.
    /// Callers hold DeviceState::ticket_mutex over all buffers of a run, so that no two runs wait for each other.
    std::uint64_t begin_use();
    /// Has every run that began before submitted?
    bool is_next(std::uint64_t ticket) const;
    void wait_until_next(std::uint64_t ticket) const;
    /// `submit`: DeviceState::submit()'s number of the last one; 0: there was none.
    void end_use(std::uint64_t ticket, std::uint64_t submit);
    /// Waits for what uses it.
    void settle() const;

    void upload(std::uint64_t offset, std::span<const std::byte> bytes);
    void download(std::uint64_t offset, std::span<std::byte> bytes) const;
    void fill(std::uint64_t offset, std::uint64_t size, std::byte value);
    /// Error(usage) where both are parts of this and overlap, or lie on different devices.
    void copy_from(const BufferMemory& from, std::uint64_t from_offset, std::uint64_t offset, std::uint64_t size);
    /// The host's view, after all that uses it. Error(unsupported) where there is none.
    std::byte* map() const;
    /// Before the device reads what the host wrote there.
    void flush();
    int export_fd() const;

private:
    /// Calls f(Transfer&), one at a time.
    template <class F> void transfer(F f) const;

    std::shared_ptr<Device> device_;
    Buffer buffer_;
    VkBufferUsageFlags usage_;
    bool exportable_ = false;
    mutable std::mutex uses_mutex_;
    mutable std::condition_variable uses_changed_;
    std::set<std::uint64_t> uses_;  ///< tickets of runs that have not submitted yet
    std::uint64_t next_ticket_ = 0, last_submit_ = 0;
};

/// All of a BufferMemory, or a part.
struct DeviceBuffer {
    std::shared_ptr<BufferMemory> memory;
    std::uint64_t offset = 0, size = 0;
};

}  // namespace tosavk
