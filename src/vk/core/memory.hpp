// One VkBuffer with its own memory.
#pragma once

#include "vk/core/unique_handle.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

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

/// An allocation as DeviceState counts it, for as long as this lives.
class Tally {
public:
    Tally() = default;
    Tally(DeviceState& state, std::uint64_t size);
    ~Tally() { end(); }
    Tally(Tally&& other) noexcept : state_(std::exchange(other.state_, nullptr)), size_(other.size_) {}
    Tally& operator=(Tally&& other) noexcept {
        end();
        state_ = std::exchange(other.state_, nullptr);
        size_ = other.size_;
        return *this;
    }

private:
    void end() noexcept;

    DeviceState* state_ = nullptr;
    std::uint64_t size_ = 0;
};

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
    Tally tally_;
    UniqueHandle<VkDeviceMemory> memory_;  // freed after the buffer
    UniqueHandle<VkBuffer> buffer_;
    std::uint64_t size_ = 0, allocated_ = 0;
    std::byte* bytes_ = nullptr;
    bool coherent_ = true;
};

}  // namespace tosavk
