#include "vk/core/transfer.hpp"

#include "vk/core/device_state.hpp"

#include <algorithm>

namespace tosavk {

Transfer::Transfer(DeviceState& device, std::uint64_t bytes, const char* what)
    : device_(device),
      staging_(device, std::max(bytes, least_bytes), MemoryUse::staging, what),
      piece_bytes_(staging_.size() / 2 / 256 * 256),
      pool_(device.device.handle, device.vk.vkDestroyCommandPool),
      pieces_{Piece(device), Piece(device)} {
    const VkDevice handle = device.device.handle;
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT | VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = device.queue_family;
    call("vkCreateCommandPool", device.vk.vkCreateCommandPool, handle, &pool, nullptr, pool_.put());
    VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    info.commandPool = pool_.get();
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = static_cast<std::uint32_t>(pieces_.size());
    std::array<VkCommandBuffer, 2> made{};
    call("vkAllocateCommandBuffers", device.vk.vkAllocateCommandBuffers, handle, &info, made.data());
    for (std::size_t p = 0; p < made.size(); ++p) pieces_[p].commands = made[p];
}

Transfer::Caller::~Caller() {
    if (std::uncaught_exceptions() == exceptions_) return;
    for (Piece& piece : transfer_.pieces_) piece.done.drain();
}

void Transfer::settle() {
    for (Piece& piece : pieces_) piece.done.wait(Completion::forever);
}

void Transfer::copy(std::size_t p, VkBuffer from, VkBuffer to, const VkBufferCopy& region) {
    submit(p, [&](VkCommandBuffer commands) { device_.vk.vkCmdCopyBuffer(commands, from, to, 1, &region); });
}

void Transfer::run(const std::function<void(VkCommandBuffer)>& write) {
    const Caller caller(*this);
    settle();
    submit(0, write);
    settle();
}

void Transfer::submit(std::size_t p, const std::function<void(VkCommandBuffer)>& write) {
    const VolkDeviceTable& vk = device_.vk;
    const VkCommandBuffer commands = pieces_[p].commands;
    VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    call("vkBeginCommandBuffer", vk.vkBeginCommandBuffer, commands, &begin);
    VkMemoryBarrier before{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    before.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_HOST_WRITE_BIT;
    before.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    vk.vkCmdPipelineBarrier(
        commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
        VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &before, 0, nullptr, 0, nullptr);
    write(commands);
    VkMemoryBarrier after{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    after.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    after.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_SHADER_READ_BIT;
    vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                            VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &after, 0, nullptr,
                            0, nullptr);
    call("vkEndCommandBuffer", vk.vkEndCommandBuffer, commands);
    pieces_[p].done.submit(std::span(&commands, 1), true);
    ++submits_;
}

void Transfer::upload(const Buffer& to, std::uint64_t offset, std::span<const std::byte> bytes) {
    const Caller caller(*this);
    settle();
    std::size_t p = 0;
    for (std::uint64_t done = 0; done < bytes.size(); p = 1 - p) {
        const std::uint64_t part = std::min<std::uint64_t>(bytes.size() - done, piece_bytes_), at = p * piece_bytes_;
        pieces_[p].done.wait(Completion::forever);
        staging_.write(at, bytes.subspan(done, part));
        copy(p, staging_.handle(), to.handle(), {at, offset + done, part});
        done += part;
    }
    settle();
}

void Transfer::download(const Buffer& from, std::uint64_t offset, std::span<std::byte> bytes) {
    const Caller caller(*this);
    settle();
    const auto fetch = [&](std::size_t p, std::uint64_t start) {
        const std::uint64_t part = std::min<std::uint64_t>(bytes.size() - start, piece_bytes_);
        copy(p, from.handle(), staging_.handle(), {offset + start, p * piece_bytes_, part});
    };
    if (!bytes.empty()) fetch(0, 0);
    std::size_t p = 0;
    for (std::uint64_t start = 0; start < bytes.size(); start += piece_bytes_, p = 1 - p) {
        if (bytes.size() - start > piece_bytes_) fetch(1 - p, start + piece_bytes_);
        pieces_[p].done.wait(Completion::forever);
        staging_.read(p * piece_bytes_,
                      bytes.subspan(start, std::min<std::uint64_t>(bytes.size() - start, piece_bytes_)));
    }
}

void upload(DeviceState& device, Buffer& to, std::uint64_t offset, std::span<const std::byte> bytes) {
    if (offset > to.size() || bytes.size() > to.size() - offset) {
        throw Error(ErrorCode::internal, "an upload does not fit into its buffer");
    }
    if (bytes.empty() || to.mapped()) return to.write(offset, bytes);
    Transfer(device, std::min<std::uint64_t>(2 * bytes.size() + 512, device.plan.staging_bytes), "the upload buffer")
        .upload(to, offset, bytes);
}

void download(DeviceState& device, const Buffer& from, std::uint64_t offset, std::span<std::byte> bytes) {
    if (offset > from.size() || bytes.size() > from.size() - offset) {
        throw Error(ErrorCode::internal, "a download reads past its buffer");
    }
    if (bytes.empty() || from.mapped()) return from.read(offset, bytes);
    Transfer(device, std::min<std::uint64_t>(2 * bytes.size() + 512, device.plan.staging_bytes), "the download buffer")
        .download(from, offset, bytes);
}

}  // namespace tosavk
