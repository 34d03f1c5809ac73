// Memory types, allocation and mapped memory.
#include "vk/core/memory.hpp"

#include "vk/core/device_state.hpp"
#include "vk/core/owned_fd.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tosavk {

namespace {

constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
constexpr VkMemoryPropertyFlags coherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

/// Higher is better; below 0 cannot be used.
int score_of(VkMemoryPropertyFlags flags, MemoryUse use) {
    // Protected, lazily allocated and vendor types have rules of their own.
    if ((flags & ~(local | visible | coherent | cached)) != 0) {
        return -1;
    }
    if (use != MemoryUse::device && (flags & visible) == 0) {
        return -1;
    }
    const auto has = [flags](VkMemoryPropertyFlags bit) { return (flags & bit) != 0 ? 1 : 0; };
    switch (use) {
        case MemoryUse::device: return 2 * has(local) + (1 - has(visible));  // leave a small mapped window to others
        case MemoryUse::shared: return 4 * has(local) + 2 * has(cached) + has(coherent);
        case MemoryUse::staging: return 4 * has(cached) + 2 * has(coherent) + (1 - has(local));
    }
    return -1;
}

}  // namespace

std::uint32_t choose_memory_type(const VkPhysicalDeviceMemoryProperties& memory, std::uint32_t type_bits,
                                 MemoryUse use) {
    int best_score = -1;
    std::uint32_t best = 0;
    for (std::uint32_t t = 0; t < memory.memoryTypeCount; ++t) {
        const int score = (type_bits >> t & 1u) != 0 ? score_of(memory.memoryTypes[t].propertyFlags, use) : -1;
        if (score > best_score) {
            best_score = score;
            best = t;
        }
    }
    if (best_score < 0) {
        throw Error(ErrorCode::device, "the Vulkan driver offers no memory type that a storage buffer can use");
    }
    return best;
}

Tally::Tally(DeviceState& state, std::uint64_t size) : state_(&state), size_(size) {
    const std::lock_guard lock(state.memory_mutex);
    state.memory_in_use += size;
    state.memory_peak = std::max(state.memory_peak, state.memory_in_use);
    ++state.memory_allocations;
}

void Tally::end() noexcept {
    if (!state_) return;
    const std::lock_guard lock(state_->memory_mutex);
    state_->memory_in_use -= size_;
    --state_->memory_allocations;
    state_ = nullptr;
}

template <class Checked>
void Buffer::allocate_memory(VkMemoryAllocateInfo& allocate, const MemoryOrigin& origin, const Checked& checked) {
    VkImportMemoryHostPointerInfoEXT host{VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT};
    VkImportMemoryFdInfoKHR opaque{VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR};
    VkExportMemoryAllocateInfo exported{VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO};
    OwnedFd imported;
    if (origin.host_pointer) {
        host.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
        host.pHostPointer = origin.host_pointer;
        allocate.pNext = &host;
    } else if (origin.fd >= 0) {
        imported = OwnedFd::duplicate(origin.fd);
        opaque.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
        opaque.fd = imported.number;
        allocate.pNext = &opaque;
    } else if (origin.exportable) {
        exported.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
        allocate.pNext = &exported;
    }
    checked("vkAllocateMemory",
            try_call(state_->vk.vkAllocateMemory, state_->device.handle, &allocate, nullptr, memory_.put()));
    imported.number = -1;  // the driver's now
}

Buffer::Buffer(DeviceState& state, std::uint64_t size, MemoryUse use, const char* what, const MemoryOrigin& origin)
    : state_(&state),
      memory_(state.device.handle, state.vk.vkFreeMemory),
      buffer_(state.device.handle, state.vk.vkDestroyBuffer),
      size_(size) {
    if (size == 0) {
        return;
    }
    state.require_runs();
    const VolkDeviceTable& vk = state.vk;
    const VkDevice device = state.device.handle;
    const auto checked = [&](const char* name, VkResult result) {
        if (result < VK_SUCCESS) {
            throw_result(result, name, fmt::format("{}, {} bytes", what, size));
        }
    };
    VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.size = size;
    info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    if (use != MemoryUse::staging) {
        info.usage |= VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
                      VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
    }
    info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    VkExternalMemoryBufferCreateInfo external{VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO};
    external.handleTypes = origin.host_pointer ? VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
                                               : VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    if (origin.host_pointer || origin.fd >= 0 || origin.exportable) info.pNext = &external;

    // Asking a driver for more than it has is not always answered with an error code.
    const auto too_large = [&](std::uint64_t limit, const char* name) {
        throw Error(ErrorCode::out_of_memory,
                    fmt::format("{} needs {} bytes of device memory, but {} is {} bytes", what, size, name, limit));
    };
    if (size > state.max_allocation) {
        too_large(state.max_allocation, "the largest allocation of the device");
    }
    checked("vkCreateBuffer", try_call(vk.vkCreateBuffer, device, &info, nullptr, buffer_.put()));
    VkMemoryRequirements requirements{};
    vk.vkGetBufferMemoryRequirements(device, buffer_.get(), &requirements);

    VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    std::uint32_t types = requirements.memoryTypeBits;
    if (origin.types != 0) types &= origin.types;
    if (origin.host_pointer) types &= host_pointer_types(origin, size);
    allocate.memoryTypeIndex = type_ = choose_memory_type(state.memory, types, use);
    // Whole atoms, so that a flush of the last bytes stays inside the allocation.
    const VkDeviceSize atom = state.non_coherent_atom;
    allocate.allocationSize = (requirements.size + atom - 1) / atom * atom;
    if (origin.host_pointer) allocate.allocationSize = size;
    if (origin.allocation != 0) {
        if (origin.allocation < requirements.size)
            throw Error(ErrorCode::bad_input, fmt::format("a buffer of {} bytes needs {} bytes of memory, and the "
                                                          "allocation to import is said to have {}",
                                                          size, requirements.size, origin.allocation));
        allocate.allocationSize = origin.allocation;
    }
    const VkMemoryType& type = state.memory.memoryTypes[allocate.memoryTypeIndex];
    const VkDeviceSize heap = state.memory.memoryHeaps[type.heapIndex].size;
    if (allocate.allocationSize > heap) {
        too_large(heap, "its memory heap");
    }
    const bool wants_map = use != MemoryUse::device;
    if (state.lender.allocate && !info.pNext) {
        LentMemory lent;
        checked("the allocator of the device's owner",
                take_fault() ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                             : state.lender.allocate(requirements, allocate.memoryTypeIndex, wants_map, lent));
        lent_.lender = &state.lender;
        lent_.memory = lent;
        if (wants_map && !lent.mapped)
            throw Error(ErrorCode::usage, "the allocator of the device's owner gave memory that is not mapped");
        bytes_ = static_cast<std::byte*>(wants_map ? lent.mapped : nullptr);
        allocate.allocationSize = requirements.size;
    } else {
        allocate_memory(allocate, origin, checked);
    }
    checked("vkBindBufferMemory",
            try_call(vk.vkBindBufferMemory, device, buffer_.get(), memory(), VkDeviceSize{lent_.memory.offset}));
    allocated_ = allocate.allocationSize;
    tally_ = Tally(state, allocated_);
    coherent_ = (type.propertyFlags & coherent) != 0;
    if (origin.host_pointer) {
        bytes_ = static_cast<std::byte*>(origin.host_pointer);
    } else if (wants_map && !bytes_) {
        void* mapped = nullptr;
        checked("vkMapMemory", try_call(vk.vkMapMemory, device, memory_.get(), VkDeviceSize{0},
                                        VkDeviceSize{VK_WHOLE_SIZE}, VkMemoryMapFlags{0}, &mapped));
        bytes_ = static_cast<std::byte*>(mapped);
    }
}

std::uint32_t Buffer::host_pointer_types(const MemoryOrigin& origin, std::uint64_t size) const {
    const std::uint64_t alignment = state_->host_pointer_alignment;
    if (alignment == 0)
        throw Error(ErrorCode::unsupported,
                    "the device takes no memory of the host as its own (VK_EXT_external_memory_host)");
    if (reinterpret_cast<std::uintptr_t>(origin.host_pointer) % alignment != 0 || size % alignment != 0)
        throw Error(ErrorCode::bad_input,
                    fmt::format("memory of the host that the device is to use must begin at a multiple of {} bytes and "
                                "be one in size; this is {} bytes",
                                alignment, size));
    VkMemoryHostPointerPropertiesEXT found{VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    call("vkGetMemoryHostPointerPropertiesEXT", state_->vk.vkGetMemoryHostPointerPropertiesEXT, state_->device.handle,
         VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, static_cast<const void*>(origin.host_pointer), &found);
    return found.memoryTypeBits;
}

int Buffer::export_fd() const {
    VkMemoryGetFdInfoKHR info{VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR};
    info.memory = memory_.get();
    info.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    int fd = -1;
    call("vkGetMemoryFdKHR", state_->vk.vkGetMemoryFdKHR, state_->device.handle, &info, &fd);
    return fd;
}

VkMappedMemoryRange Buffer::range_of(std::uint64_t offset, std::uint64_t size) const {
    const VkDeviceSize atom = state_->non_coherent_atom;
    VkMappedMemoryRange range{VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE};
    range.memory = memory();
    offset += lent_.memory.offset;
    const VkDeviceSize end = (offset + size + atom - 1) / atom * atom;
    range.offset = offset / atom * atom;
    // Lent memory is part of something larger, whose size is not known; its owner aligns it.
    range.size = (lent_.memory.memory ? end : std::min<VkDeviceSize>(end, allocated_)) - range.offset;
    return range;
}

void Buffer::write(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (bytes.empty()) {
        return;
    }
    if (bytes_ == nullptr || offset > size_ || bytes.size() > size_ - offset) {
        throw Error(ErrorCode::internal, "a write does not fit into a mapped buffer");
    }
    std::memcpy(bytes_ + offset, bytes.data(), bytes.size());
    flush(offset, bytes.size());
}

void Buffer::flush(std::uint64_t offset, std::uint64_t size) const {
    if (coherent_ || size == 0) return;
    const VkMappedMemoryRange range = range_of(offset, size);
    call("vkFlushMappedMemoryRanges", state_->vk.vkFlushMappedMemoryRanges, state_->device.handle, 1u, &range);
}

void Buffer::invalidate(std::uint64_t offset, std::uint64_t size) const {
    if (coherent_ || size == 0) return;
    const VkMappedMemoryRange range = range_of(offset, size);
    call("vkInvalidateMappedMemoryRanges", state_->vk.vkInvalidateMappedMemoryRanges, state_->device.handle, 1u,
         &range);
}

void Buffer::read(std::uint64_t offset, std::span<std::byte> bytes) const {
    if (bytes.empty()) {
        return;
    }
    if (bytes_ == nullptr || offset > size_ || bytes.size() > size_ - offset) {
        throw Error(ErrorCode::internal, "a read does not fit into a mapped buffer");
    }
    invalidate(offset, bytes.size());
    std::memcpy(bytes.data(), bytes_ + offset, bytes.size());
}

}  // namespace tosavk
