// C++ over vulkan.h: your Vulkan device, your buffers, your command buffers. C++20. Not part of tosavk.hpp, since it
// needs Vulkan's headers.
#ifndef TOSAVK_VULKAN_HPP
#define TOSAVK_VULKAN_HPP

#include "tosavk/run.hpp"
#include "tosavk/vulkan.h"

namespace tosavk::cpp {

/// See tosavk_device_adopt; both `struct_size` are set here.
inline Device adopt_device(tosavk_vulkan_device lent, tosavk_device_options options = {}) {
    lent.struct_size = sizeof lent;
    options.struct_size = sizeof options;
    const tosavk_vulkan_device* given = &lent;
    const tosavk_device_options* chosen = &options;
    tosavk_device* device = nullptr;
    detail::call(tosavk_device_adopt, given, chosen, &device);
    return Device::adopt(device);
}

inline Buffer adopt_buffer(const Device& device, const tosavk_vulkan_range& range) {
    const tosavk_vulkan_range* given = &range;
    tosavk_buffer* buffer = nullptr;
    detail::call(tosavk_buffer_adopt, device.get(), given, &buffer);
    return Buffer::adopt(buffer);
}

/// Where a buffer lies.
inline tosavk_vulkan_range vulkan_range(const Buffer& buffer) {
    auto range = detail::sized<tosavk_vulkan_range>();
    detail::call(tosavk_buffer_vulkan, static_cast<const tosavk_buffer*>(buffer.get()), &range);
    return range;
}

/// Your timeline semaphore, which outlives the result.
inline Semaphore adopt_semaphore(const Device& device, VkSemaphore vulkan) {
    tosavk_semaphore* semaphore = nullptr;
    detail::call(tosavk_semaphore_adopt, device.get(), vulkan, &semaphore);
    return Semaphore::adopt(semaphore);
}

inline VkSemaphore vulkan_semaphore(const Semaphore& semaphore) {
    VkSemaphore vulkan = VK_NULL_HANDLE;
    detail::call(tosavk_semaphore_vulkan, static_cast<const tosavk_semaphore*>(semaphore.get()), &vulkan);
    return vulkan;
}

inline tosavk_vulkan_memory_needs vulkan_memory(const Executable& executable) {
    auto needs = detail::sized<tosavk_vulkan_memory_needs>();
    detail::call(tosavk_executable_vulkan_memory, static_cast<const tosavk_executable*>(executable.get()), &needs);
    return needs;
}

/// See tosavk_binding_set.
class BindingSet {
public:
    explicit BindingSet(const Executable& executable) {
        tosavk_binding_set* set = nullptr;
        detail::call(tosavk_binding_set_create, executable.get(), &set);
        handle_.reset(set);
    }
    /// `arena` may be empty where the executable needs none; `constants` empty: the executable's own.
    void write(std::span<const tosavk_vulkan_range> inputs, std::span<const tosavk_vulkan_range> outputs,
               const tosavk_vulkan_range& arena = {}, const tosavk_vulkan_range& constants = {}) {
        auto bindings = detail::sized<tosavk_vulkan_bindings>();
        bindings.arena = arena.buffer ? &arena : nullptr;
        bindings.constants = constants.buffer ? &constants : nullptr;
        bindings.inputs = inputs.data();
        bindings.input_count = inputs.size();
        bindings.outputs = outputs.data();
        bindings.output_count = outputs.size();
        const tosavk_vulkan_bindings* given = &bindings;
        detail::call(tosavk_binding_set_write, get(), given);
    }
    tosavk_vulkan_access access() const {
        auto result = detail::sized<tosavk_vulkan_access>();
        detail::call(tosavk_binding_set_access, static_cast<const tosavk_binding_set*>(get()), &result);
        return result;
    }
    void record(VkCommandBuffer commands) { detail::call(tosavk_binding_set_record, get(), commands); }
    tosavk_binding_set* get() const { return handle_.get(); }

private:
    detail::Handle<tosavk_binding_set, tosavk_binding_set_release> handle_;
};

}  // namespace tosavk::cpp

#endif  // TOSAVK_VULKAN_HPP
