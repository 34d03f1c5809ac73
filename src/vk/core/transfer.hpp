// Copies between the host and memory that it does not see, outside of recorded runs.
#pragma once

#include "vk/core/completion.hpp"
#include "vk/core/memory.hpp"

#include <array>
#include <exception>
#include <functional>
#include <memory>

namespace tosavk {

/// A ring of two pieces of host memory: while the device copies one, the host fills or empties the other. Every call
/// blocks until its bytes are where they belong. The ring is made once, of `bytes` in all.
class Transfer {
public:
    static constexpr std::uint64_t least_bytes = 4096;

    /// At least `least_bytes`.
    Transfer(DeviceState& device, std::uint64_t bytes, const char* what);

    void upload(const Buffer& to, std::uint64_t offset, std::span<const std::byte> bytes);
    /// Sees what earlier submits, which were waited for, wrote.
    void download(const Buffer& from, std::uint64_t offset, std::span<std::byte> bytes);

    /// Records and runs commands, after everything that was submitted before.
    void run(const std::function<void(VkCommandBuffer)>& write);

    std::uint64_t submits() const { return submits_; }  ///< vkQueueSubmit calls so far

private:
    struct Piece {
        explicit Piece(DeviceState& device) : done(device) {}
        VkCommandBuffer commands = VK_NULL_HANDLE;
        Completion done;
    };

    /// Ends, where it is left by an exception, what is under way: the caller's buffers may go with it.
    class Caller {
    public:
        explicit Caller(Transfer& transfer) : transfer_(transfer) {}
        ~Caller();

    private:
        Transfer& transfer_;
        int exceptions_ = std::uncaught_exceptions();
    };

    void settle();
    void submit(std::size_t piece, const std::function<void(VkCommandBuffer)>& write);
    void copy(std::size_t piece, VkBuffer from, VkBuffer to, const VkBufferCopy& region);

    DeviceState& device_;
    Buffer staging_;
    std::uint64_t piece_bytes_;
    std::uint64_t submits_ = 0;
    UniqueHandle<VkCommandPool> pool_;
    std::array<Piece, 2> pieces_;  // ends before what its commands use
};

/// Writes or reads any buffer from `offset` on: in place where it is mapped, else through a Transfer made for the
/// occasion. Blocking.
void upload(DeviceState& device, Buffer& to, std::uint64_t offset, std::span<const std::byte> bytes);
void download(DeviceState& device, const Buffer& from, std::uint64_t offset, std::span<std::byte> bytes);

}  // namespace tosavk
