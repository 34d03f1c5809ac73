#include "vk/core/device_buffer.hpp"

#include "vk/core/device_state.hpp"
#include "vk/core/transfer.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace tosavk {

BufferMemory::BufferMemory(std::shared_ptr<Device> device, std::uint64_t size, MemoryUse use,
                           const MemoryOrigin& origin)
    : device_(std::move(device)),
      usage_(use == MemoryUse::staging ? 0
                                       : VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT),
      exportable_(origin.exportable) {
    DeviceState& state = device_->state();
    if ((origin.fd >= 0 || origin.exportable) && !state.has_external_fd)
        throw Error(ErrorCode::unsupported,
                    "the device neither gives nor takes memory by file descriptors (VK_KHR_external_memory_fd)");
    buffer_ = Buffer(state, size, use, "a buffer", origin);
}

BufferMemory::BufferMemory(std::shared_ptr<Device> device, VkBuffer foreign, std::uint64_t size,
                           VkBufferUsageFlags usage)
    : device_(std::move(device)),
      buffer_(device_->state(), foreign, size),
      usage_(usage),
      turns_(device_->state().turns_of(foreign)) {}

void BufferMemory::settle() const {
    device_->require_runs();  // the memory of an inherited device may be the parent's too
    device_->state().finish(turns_->settle());
}

bool BufferMemory::settle_for(std::uint64_t timeout_ns) const {
    using namespace std::chrono;
    device_->require_runs();
    // Longer than a year is as good as forever, and does not overflow the clock.
    constexpr std::uint64_t longest = 1'000'000'000ull * 60 * 60 * 24 * 365;
    const auto deadline = steady_clock::now() + nanoseconds(std::min(timeout_ns, longest));
    const std::optional<std::uint64_t> submit = turns_->settle_until(deadline);
    if (!submit) return false;
    const auto left = duration_cast<nanoseconds>(deadline - steady_clock::now()).count();
    return device_->state().finish(*submit, left > 0 ? static_cast<std::uint64_t>(left) : 0);
}

template <class F> void BufferMemory::transfer(F f) const {
    DeviceState& state = device_->state();
    const std::lock_guard lock(state.transfer_mutex);
    if (!state.transfer) {
        constexpr std::uint64_t enough = 4u << 20;
        state.transfer =
            std::make_unique<Transfer>(state, std::min(enough, state.plan.staging_bytes), "the transfer buffer");
    }
    f(*state.transfer);
}

void BufferMemory::upload(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    settle();
    if (buffer_.mapped()) return buffer_.write(offset, bytes);
    transfer([&](Transfer& ring) { ring.upload(buffer_, offset, bytes); });
}

void BufferMemory::download(std::uint64_t offset, std::span<std::byte> bytes) const {
    if (bytes.empty()) return;
    settle();
    if (buffer_.mapped()) return buffer_.read(offset, bytes);
    transfer([&](Transfer& ring) { ring.download(buffer_, offset, bytes); });
}

void BufferMemory::fill(std::uint64_t offset, std::uint64_t size, std::byte value) {
    if (size == 0) return;
    settle();
    if (buffer_.mapped()) {
        std::memset(buffer_.bytes() + offset, std::to_integer<int>(value), size);
        return buffer_.flush(offset, size);
    }
    // vkCmdFillBuffer takes whole words; what is left at both ends goes as bytes.
    const std::uint64_t from = (offset + 3) / 4 * 4, to = (offset + size) / 4 * 4;
    transfer([&](Transfer& ring) {
        const std::byte ends[4] = {value, value, value, value};
        if (from >= to) {
            for (std::uint64_t done = 0; done < size; done += 4)
                ring.upload(buffer_, offset + done, std::span(ends).first(std::min<std::uint64_t>(4, size - done)));
            return;
        }
        if (offset < from) ring.upload(buffer_, offset, std::span(ends).first(from - offset));
        if (to < offset + size) ring.upload(buffer_, to, std::span(ends).first(offset + size - to));
        ring.run([&](VkCommandBuffer commands) {
            device_->state().vk.vkCmdFillBuffer(commands, buffer_.handle(), from, to - from,
                                                0x01010101u * std::to_integer<std::uint32_t>(value));
        });
    });
}

void BufferMemory::copy_from(const BufferMemory& from, std::uint64_t from_offset, std::uint64_t offset,
                             std::uint64_t size) {
    if (&from.device_->state() != &device_->state())
        throw Error(ErrorCode::usage, "a buffer cannot be copied to one of another device");
    if (from.buffer_.handle() == buffer_.handle() && from_offset < offset + size && offset < from_offset + size &&
        size > 0)
        throw Error(ErrorCode::usage, "a part of a buffer cannot be copied to one that overlaps it");
    if (size == 0) return;
    from.settle();
    settle();
    transfer([&](Transfer& ring) {
        ring.run([&](VkCommandBuffer commands) {
            const VkBufferCopy region{from_offset, offset, size};
            device_->state().vk.vkCmdCopyBuffer(commands, from.buffer_.handle(), buffer_.handle(), 1, &region);
        });
    });
}

std::byte* BufferMemory::map(std::uint64_t offset, std::uint64_t size) const {
    if (!buffer_.mapped())
        throw Error(ErrorCode::unsupported, "the host does not see this buffer's memory; make it of another kind");
    settle();
    // What the host wrote to a neighbouring part and has not flushed yet may lie in the same atom.
    buffer_.flush(offset, size);
    buffer_.invalidate(offset, size);
    return buffer_.bytes() + offset;
}

void BufferMemory::flush(std::uint64_t offset, std::uint64_t size) const {
    if (buffer_.mapped()) buffer_.flush(offset, size);
}

int BufferMemory::export_fd() const {
    if (!exportable_) throw Error(ErrorCode::usage, "the buffer was not made to be exported");
    return buffer_.export_fd();
}

}  // namespace tosavk
