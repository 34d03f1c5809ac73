// Owns one Vulkan object that belongs to a VkDevice; destroyed with the scope, so that no error path leaks. In a
// process that was forked off since it is left alone: drivers wait for threads there that stayed with the parent.
#pragma once

#include "base/forks.hpp"

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
        if (handle_ != VK_NULL_HANDLE && !birthplace_.is_left()) destroy_(device_, handle_, nullptr);
    }

    Handle get() const { return handle_; }
    Handle* put() { return &handle_; }  ///< for vkCreate*, which writes the handle on success only

private:
    void swap(UniqueHandle& other) {
        std::swap(device_, other.device_);
        std::swap(handle_, other.handle_);
        std::swap(destroy_, other.destroy_);
        std::swap(birthplace_, other.birthplace_);
    }

    VkDevice device_ = VK_NULL_HANDLE;
    Handle handle_ = VK_NULL_HANDLE;
    Destroy destroy_ = nullptr;
    Birthplace birthplace_;
};

}  // namespace tosavk
