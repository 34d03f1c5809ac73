#include "vk/core/semaphore.hpp"

#include "vk/core/device_state.hpp"
#include "vk/core/owned_fd.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {
namespace {

void require_timelines(const Device& device) {
    device.require_runs();
    if (!device.plan().timeline_semaphores)
        throw Error(ErrorCode::unsupported, "the device has no timeline semaphores, or was made without them");
}

constexpr auto opaque = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;

void require_fds(DeviceState& state, VkExternalSemaphoreFeatureFlags wanted) {
    VkPhysicalDeviceExternalSemaphoreInfo info{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO};
    VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    info.pNext = &type;
    info.handleType = opaque;
    VkExternalSemaphoreProperties found{VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    const auto ask = state.device.instance->get_external_semaphores;
    if (state.device.has_semaphore_fd && ask) ask(state.physical_device, &info, &found);
    if ((found.externalSemaphoreFeatures & wanted) == 0)
        throw Error(ErrorCode::unsupported,
                    "the device neither gives nor takes timeline semaphores by file descriptors "
                    "(VK_KHR_external_semaphore_fd)");
}

}  // namespace

Semaphore::Semaphore(std::shared_ptr<Device> device, std::uint64_t value, bool exportable)
    : device_(std::move(device)), exportable_(exportable) {
    require_timelines(*device_);
    DeviceState& state = device_->state();
    if (exportable) require_fds(state, VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT);
    VkExportSemaphoreCreateInfo exported{VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO};
    exported.handleTypes = opaque;
    VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    type.initialValue = value;
    if (exportable) type.pNext = &exported;
    VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    info.pNext = &type;
    semaphore_ = {state.device.handle, state.vk.vkDestroySemaphore};
    call("vkCreateSemaphore", state.vk.vkCreateSemaphore, state.device.handle, &info, nullptr, semaphore_.put());
}

Semaphore::Semaphore(std::shared_ptr<Device> device, VkSemaphore foreign)
    : device_(std::move(device)), foreign_(foreign) {
    require_timelines(*device_);
}

Semaphore::~Semaphore() {
    if (used_ && semaphore_.get() != VK_NULL_HANDLE) device_->state().retire(std::move(semaphore_));
}

std::shared_ptr<Semaphore> Semaphore::import_fd(std::shared_ptr<Device> device, int fd) {
    auto made = std::make_shared<Semaphore>(std::move(device), 0, false);
    DeviceState& state = made->device_->state();
    require_fds(state, VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT);
    OwnedFd copy = OwnedFd::duplicate(fd);
    VkImportSemaphoreFdInfoKHR info{VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR};
    info.semaphore = made->handle();
    info.handleType = opaque;
    info.fd = copy.number;
    call("vkImportSemaphoreFdKHR", state.vk.vkImportSemaphoreFdKHR, state.device.handle, &info);
    copy.number = -1;  // the driver's now
    return made;
}

void Semaphore::note_signal(std::uint64_t value) {
    used_ = true;
    std::uint64_t before = promised_;
    while (before < value && !promised_.compare_exchange_weak(before, value)) {}
    const std::lock_guard lock(mutex_);
    if (pending_.size() >= 64) {
        std::uint64_t now = 0;
        const DeviceState& state = device_->state();
        if (state.vk.vkGetSemaphoreCounterValueKHR(state.device.handle, handle(), &now) == VK_SUCCESS)
            std::erase_if(pending_, [&](std::uint64_t v) { return v <= now; });
    }
    pending_.push_back(value);
    std::sort(pending_.begin(), pending_.end());
}

std::uint64_t Semaphore::value() const {
    const DeviceState& state = device_->state();
    std::uint64_t value = 0;
    call("vkGetSemaphoreCounterValue", state.vk.vkGetSemaphoreCounterValueKHR, state.device.handle, handle(), &value);
    return value;
}

void Semaphore::require_growth(std::uint64_t wanted) const {
    const std::uint64_t now = value(), most = std::max<std::uint64_t>(now, promised_);
    if (wanted <= most)
        throw Error(ErrorCode::usage, fmt::format("a semaphore cannot go from {} to {}: its value only grows{}", most,
                                                  wanted, most > now ? ", and a submit will signal the first" : ""));
}

void Semaphore::signal(std::uint64_t wanted) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t now = value();
    std::erase_if(pending_, [&](std::uint64_t v) { return v <= now; });
    if (wanted <= now)
        throw Error(ErrorCode::usage,
                    fmt::format("a semaphore cannot go from {} to {}: its value only grows", now, wanted));
    if (!pending_.empty() && wanted >= pending_.front())
        throw Error(ErrorCode::usage, fmt::format("a semaphore cannot go to {}: a submit will signal {}, and its value "
                                                  "only grows",
                                                  wanted, pending_.front()));
    const DeviceState& state = device_->state();
    VkSemaphoreSignalInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO};
    info.semaphore = handle();
    info.value = wanted;
    call("vkSignalSemaphore", state.vk.vkSignalSemaphoreKHR, state.device.handle, &info);
}

bool Semaphore::wait(std::uint64_t wanted, std::uint64_t timeout_ns) const {
    const DeviceState& state = device_->state();
    const VkSemaphore semaphore = handle();
    VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
    info.semaphoreCount = 1;
    info.pSemaphores = &semaphore;
    info.pValues = &wanted;
    const VkResult result = try_call(state.vk.vkWaitSemaphoresKHR, state.device.handle, &info, timeout_ns);
    if (result < VK_SUCCESS) throw_result(result, "vkWaitSemaphores");
    return result == VK_SUCCESS;
}

int Semaphore::export_fd() const {
    if (!exportable_) throw Error(ErrorCode::usage, "the semaphore was not made to be exported");
    const DeviceState& state = device_->state();
    VkSemaphoreGetFdInfoKHR info{VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR};
    info.semaphore = handle();
    info.handleType = opaque;
    int fd = -1;
    call("vkGetSemaphoreFdKHR", state.vk.vkGetSemaphoreFdKHR, state.device.handle, &info, &fd);
    return fd;
}

}  // namespace tosavk
