// Memory of a device that callers fill, read and hand to runs.
#pragma once

#include "vk/core/device.hpp"
#include "vk/core/memory.hpp"
#include "vk/core/turns.hpp"

#include <memory>
#include <span>

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
    /// Of the runs that use it; one for all that are made of one VkBuffer.
    const std::shared_ptr<Turns>& turns() const { return turns_; }
    /// Waits for what uses it.
    void settle() const;
    /// The same, `timeout_ns` nanoseconds at most. Does nothing use it?
    bool settle_for(std::uint64_t timeout_ns) const;

    void upload(std::uint64_t offset, std::span<const std::byte> bytes);
    void download(std::uint64_t offset, std::span<std::byte> bytes) const;
    void fill(std::uint64_t offset, std::uint64_t size, std::byte value);
    /// Error(usage) where both are parts of this and overlap, or lie on different devices.
    void copy_from(const BufferMemory& from, std::uint64_t from_offset, std::uint64_t offset, std::uint64_t size);
    /// The host's view of a part, after all that uses the buffer. Error(unsupported) where there is none.
    std::byte* map(std::uint64_t offset, std::uint64_t size) const;
    /// Before the device reads what the host wrote there.
    void flush(std::uint64_t offset, std::uint64_t size) const;
    int export_fd() const;

private:
    /// Calls f(Transfer&), one at a time.
    template <class F> void transfer(F f) const;

    std::shared_ptr<Device> device_;
    Buffer buffer_;
    VkBufferUsageFlags usage_;
    bool exportable_ = false;
    std::shared_ptr<Turns> turns_ = std::make_shared<Turns>();
};

/// All of a BufferMemory, or a part.
struct DeviceBuffer {
    std::shared_ptr<BufferMemory> memory;
    std::uint64_t offset = 0, size = 0;
};

}  // namespace tosavk
