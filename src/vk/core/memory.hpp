// One VkBuffer with its own memory.
#pragma once

#include "vk/core/adopted.hpp"
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

/// Memory that is not simply allocated, or not for this process alone.
struct MemoryOrigin {
    void* host_pointer = nullptr;  ///< memory of the host, which outlives the buffer
    int fd = -1;                   ///< an opaque descriptor of another device's memory; it stays the caller's
    std::uint64_t allocation = 0;  ///< of that descriptor, bytes; 0: what a buffer of this size needs
    std::uint32_t types = 0;       ///< memory types to choose from, a bit each; 0: any
    bool exportable = false;       ///< export_fd() will be asked for
};

class Buffer {
public:
    Buffer() = default;  ///< no memory; size 0
    /// `what` names the buffer in errors. Size 0 makes no buffer.
    Buffer(DeviceState& state, std::uint64_t size, MemoryUse use, const char* what, const MemoryOrigin& origin = {});
    /// Somebody else's, which outlives this; the host does not see it.
    Buffer(DeviceState& state, VkBuffer foreign, std::uint64_t size) : state_(&state), foreign_(foreign), size_(size) {}
    Buffer(Buffer&&) = default;
    Buffer& operator=(Buffer&&) = default;

    VkBuffer handle() const { return foreign_ ? foreign_ : buffer_.get(); }
    std::uint64_t size() const { return size_; }
    bool mapped() const { return bytes_ != nullptr; }
    std::byte* bytes() const { return bytes_; }  ///< null where the host does not see them
    bool is_coherent() const { return coherent_; }
    std::uint64_t allocation() const { return allocated_; }  ///< bytes of memory
    std::uint32_t memory_type() const { return type_; }
    /// A new opaque descriptor of the memory, which must have been made exportable; the caller closes it.
    int export_fd() const;

    /// The cache maintenance of memory that is not coherent: before the device reads, and before the host does.
    void flush(std::uint64_t offset, std::uint64_t size) const;
    void invalidate(std::uint64_t offset, std::uint64_t size) const;

    /// Copies to or from mapped memory, with the cache maintenance that memory which is not coherent needs.
    void write(std::uint64_t offset, std::span<const std::byte> bytes);
    void read(std::uint64_t offset, std::span<std::byte> bytes) const;

private:
    VkMappedMemoryRange range_of(std::uint64_t offset, std::uint64_t size) const;
    template <class Checked>
    void allocate_memory(VkMemoryAllocateInfo& allocate, const MemoryOrigin& origin, const Checked& checked);
    std::uint32_t host_pointer_types(const MemoryOrigin& origin, std::uint64_t size) const;

    /// Memory from the caller's allocator, given back with the scope.
    struct Lent {
        const MemoryLender* lender = nullptr;
        LentMemory memory;

        Lent() = default;
        Lent(Lent&& other) noexcept : lender(other.lender), memory(std::exchange(other.memory, {})) {}
        Lent& operator=(Lent&& other) noexcept {
            std::swap(lender, other.lender);
            std::swap(memory, other.memory);
            return *this;
        }
        ~Lent() {
            if (memory.memory != VK_NULL_HANDLE) lender->release(memory);
        }
    };
    VkDeviceMemory memory() const { return lent_.memory.memory ? lent_.memory.memory : memory_.get(); }

    DeviceState* state_ = nullptr;
    Tally tally_;
    UniqueHandle<VkDeviceMemory> memory_;  // freed after the buffer
    Lent lent_;                            // one of both
    UniqueHandle<VkBuffer> buffer_;
    VkBuffer foreign_ = VK_NULL_HANDLE;
    std::uint64_t size_ = 0, allocated_ = 0;
    std::uint32_t type_ = 0;
    std::byte* bytes_ = nullptr;
    bool coherent_ = true;
};

}  // namespace tosavk
