// Owns one Vulkan object that belongs to a VkDevice; destroyed with the scope, so that no error path leaks.
#pragma once

#include <volk.h>
#include <utility>

namespace tosavk {

template <class Handle> class UniqueHandle {
public:
    using Destroy = void(VKAPI_PTR*)(VkDevice, Handle, const VkAllocationCallbacks*);

    UniqueHandle() = default;
    UniqueHandle(VkDevice device, Destroy destroy) : device_(device), destroy_(destroy) {}
    UniqueHandle(UniqueHandle&& other) noexcept { swap(other); }
    UniqueHandle& operator=(UniqueHandle&& other) noexcept {
        UniqueHandle moved(std::move(other));
        swap(moved);
        return *this;
    }
    ~UniqueHandle() {
        if (handle_ != VK_NULL_HANDLE) {
            destroy_(device_, handle_, nullptr);
        }
    }

    Handle get() const { return handle_; }
    Handle* put() { return &handle_; }  ///< for vkCreate*, which writes the handle on success only

private:
    void swap(UniqueHandle& other) {
        std::swap(device_, other.device_);
        std::swap(handle_, other.handle_);
        std::swap(destroy_, other.destroy_);
    }

    VkDevice device_ = VK_NULL_HANDLE;
    Handle handle_ = VK_NULL_HANDLE;
    Destroy destroy_ = nullptr;
};

}  // namespace tosavk
