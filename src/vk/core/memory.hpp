// One VkBuffer with its own memory.
#pragma once

#include "vk/core/unique_handle.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tosavk {

struct DeviceState;

enum class MemoryUse {
    device,   ///< fast for the device; not mapped
    shared,   ///< fast for the device and mapped (DevicePlan::map_in_place)
    staging,  ///< host memory that the device copies from and to; mapped
};

/// Index of the memory type that suits `use` best among those in `type_bits`; throws Error(device) when none does.
std::uint32_t choose_memory_type(const VkPhysicalDeviceMemoryProperties& memory, std::uint32_t type_bits,
                                 MemoryUse use);

class Buffer {
public:
    Buffer() = default;  ///< no memory; size 0
    /// `what` names the buffer in errors. Size 0 makes no buffer.
    Buffer(DeviceState& state, std::uint64_t size, MemoryUse use, const char* what);
    Buffer(Buffer&&) = default;
    Buffer& operator=(Buffer&&) = default;

    VkBuffer handle() const { return buffer_.get(); }
    std::uint64_t size() const { return size_; }
    bool mapped() const { return bytes_ != nullptr; }

    /// Copies to or from mapped memory, with the cache maintenance that memory which is not coherent needs.
    void write(std::uint64_t offset, std::span<const std::byte> bytes);
    void read(std::uint64_t offset, std::span<std::byte> bytes) const;

private:
    VkMappedMemoryRange range_of(std::uint64_t offset, std::uint64_t size) const;

    DeviceState* state_ = nullptr;
    UniqueHandle<VkDeviceMemory> memory_;  // freed after the buffer
    UniqueHandle<VkBuffer> buffer_;
    std::uint64_t size_ = 0, allocated_ = 0;
    std::byte* bytes_ = nullptr;
    bool coherent_ = true;
};

}  // namespace tosavk
