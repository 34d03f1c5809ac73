#include "vk/core/completion.hpp"

#include "vk/core/device_state.hpp"

namespace tosavk {

Completion::Completion(DeviceState& device) : device_(&device), fence_(device.device.handle, device.vk.vkDestroyFence) {
    if (device.plan.timeline_semaphores) return;
    VkFenceCreateInfo info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    call("vkCreateFence", device.vk.vkCreateFence, device.device.handle, &info, nullptr, fence_.put());
}

Completion::~Completion() { drain(); }

void Completion::drain() noexcept {
    if (!pending_ || device_->device.instance->is_inherited()) return;
    if (try_wait(forever) == VK_SUCCESS) pending_ = false;
}

void Completion::submit(std::span<const VkCommandBuffer> commands, bool last, const RunOrder& order) {
    const VkFence fence = fence_.get();
    if (last && fence != VK_NULL_HANDLE) {
        call("vkResetFences", device_->vk.vkResetFences, device_->device.handle, 1u, &fence);
    }
    value_ = device_->submit(commands, last ? fence : VK_NULL_HANDLE, order);
    pending_ = true;
    fenced_ = last || fence == VK_NULL_HANDLE;
}

bool Completion::wait(std::uint64_t timeout_ns) {
    if (!pending_) return true;
    device_->require_runs();
    VkResult result = VK_TIMEOUT;
    do {
        result = take_fault() ? VK_ERROR_OUT_OF_DEVICE_MEMORY : try_wait(timeout_ns);
    } while (result == VK_TIMEOUT && timeout_ns == forever);
    if (result < VK_SUCCESS)
        throw_result(result, fence_.get() != VK_NULL_HANDLE ? "vkWaitForFences" : "vkWaitSemaphores");
    if (result == VK_TIMEOUT) return false;
    pending_ = false;
    return true;
}

VkResult Completion::try_wait(std::uint64_t timeout_ns) {
    const VolkDeviceTable& vk = device_->vk;
    if (!fenced_) {  // a later submit of the series has failed, and its fence with it
        const std::lock_guard lock(device_->queue_mutex);
        return vk.vkQueueWaitIdle(device_->queue);
    }
    const VkFence fence = fence_.get();
    if (fence != VK_NULL_HANDLE) return vk.vkWaitForFences(device_->device.handle, 1, &fence, VK_TRUE, timeout_ns);
    const VkSemaphore timeline = device_->timeline.get();
    VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
    info.semaphoreCount = 1;
    info.pSemaphores = &timeline;
    info.pValues = &value_;
    return vk.vkWaitSemaphoresKHR(device_->device.handle, &info, timeout_ns);
}

}  // namespace tosavk
