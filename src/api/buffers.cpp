// Buffers of the C ABI, and what executables and contexts want to know of them.
#include "api/open_model.hpp"
#include "compile/plan/externals.hpp"
#include "vk/core/device_state.hpp"

#include <fmt/format.h>

#include <algorithm>

using namespace tosavk;
using namespace tosavk::api;

namespace {

MemoryUse use_of(std::int32_t kind, const DevicePlan& plan) {
    switch (kind) {
        case TOSAVK_MEMORY_DEVICE: return plan.map_in_place ? MemoryUse::shared : MemoryUse::device;
        case TOSAVK_MEMORY_SHARED: return MemoryUse::shared;
        case TOSAVK_MEMORY_HOST: return MemoryUse::staging;
        default: throw Error(ErrorCode::usage, fmt::format("{} is not a tosavk_memory_kind", kind));
    }
}

tosavk_buffer* make(tosavk_device& device, std::uint64_t size, std::int32_t kind, const MemoryOrigin& origin) {
    const bool foreign = origin.host_pointer || origin.fd >= 0;
    if (size == 0 && foreign) throw Error(ErrorCode::usage, "memory that is imported must have some bytes");
    const MemoryUse use = use_of(kind, device.device->plan());
    auto made = std::make_unique<tosavk_buffer>();
    made->kind = kind;
    // Vulkan has no buffers without bytes; tensors without elements have.
    const std::uint64_t allocated = std::max<std::uint64_t>(size, 4);
    made->buffer = {std::make_shared<BufferMemory>(device.device, allocated, use, origin), 0, size};
    return made.release();
}

tosavk_buffer_options options_of(const tosavk_buffer_options* given) {
    const tosavk_buffer_options options = read_struct(given, "tosavk_buffer_options");
    require_zero(static_cast<std::int32_t>(options.reserved), "tosavk_buffer_options.reserved");
    return options;
}

/// What a part of a buffer is in its memory.
std::uint64_t within(const tosavk_buffer& buffer, std::uint64_t offset, std::uint64_t size) {
    if (offset > buffer.buffer.size || size > buffer.buffer.size - offset)
        throw Error(ErrorCode::bad_input, fmt::format("the bytes {} to {} lie outside of the buffer, which has {}",
                                                      offset, offset + size, buffer.buffer.size));
    return buffer.buffer.offset + offset;
}

using Needs = ExternalNeeds (*)(const Graph&, const Plan&, const DeviceCaps&, std::size_t);

void describe(const Call& call, const tosavk_executable* executable, std::uint32_t index, tosavk_binding_info* info,
              const std::vector<ValueId> Graph::* ids, const char* what, Needs needs_of) {
    call.require(executable, "executable");
    call.require(info, "info");
    const Executable& compiled = *executable->executable;
    const std::size_t count = (compiled.graph().*ids).size();
    if (index >= count)
        throw Error(ErrorCode::usage, fmt::format("there is no {} {}; the graph has {}", what, index, count));
    const ExternalNeeds needs = needs_of(compiled.graph(), compiled.plan(), compiled.device().caps(), index);
    tosavk_binding_info result{};
    result.size_bytes = needs.bytes;
    result.padded_bytes = needs.padded;
    result.alignment = needs.alignment;
    result.direct = needs.possible ? 1 : 0;
    if (needs.possible) result.usage |= VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    if (needs.texels) result.usage |= VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT;
    write_struct(info, result, "tosavk_binding_info");
}

BoundBuffer bound(const tosavk_buffer* buffer, std::uint32_t flags) {
    if ((flags & ~static_cast<std::uint32_t>(TOSAVK_BIND_PADDED)) != 0)
        throw Error(ErrorCode::usage, fmt::format("{:#x} are no tosavk_bind_flags", flags));
    if (!buffer) return {};
    return {buffer->buffer, (flags & TOSAVK_BIND_PADDED) != 0};
}

}  // namespace

tosavk_status tosavk_buffer_create(tosavk_device* device, const tosavk_buffer_options* options, tosavk_buffer** buffer,
                                   tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        call.require(options, "options");
        call.require(buffer, "buffer");
        const tosavk_buffer_options given = options_of(options);
        if (given.allocation_bytes != 0 || given.memory_type_bits != 0)
            throw Error(ErrorCode::usage, "allocation_bytes and memory_type_bits are for tosavk_buffer_import_fd");
        MemoryOrigin origin;
        origin.exportable = is_set(given.exportable, "exportable");
        *buffer = make(*device, given.size_bytes, given.memory, origin);
    });
}

tosavk_status tosavk_buffer_import_host(tosavk_device* device, void* data, uint64_t size_bytes, tosavk_buffer** buffer,
                                        tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        call.require(data, "data");
        call.require(buffer, "buffer");
        MemoryOrigin origin;
        origin.host_pointer = data;
        *buffer = make(*device, size_bytes, TOSAVK_MEMORY_SHARED, origin);
    });
}

tosavk_status tosavk_buffer_import_fd(tosavk_device* device, int32_t fd, const tosavk_buffer_options* options,
                                      tosavk_buffer** buffer, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        call.require(options, "options");
        call.require(buffer, "buffer");
        const tosavk_buffer_options given = options_of(options);
        if (is_set(given.exportable, "exportable"))
            throw Error(ErrorCode::usage, "an imported buffer cannot be exported; the first one can, again");
        if (fd < 0) throw Error(ErrorCode::usage, fmt::format("{} is no file descriptor", fd));
        MemoryOrigin origin;
        origin.fd = fd;
        origin.allocation = given.allocation_bytes;
        origin.types = given.memory_type_bits;
        *buffer = make(*device, given.size_bytes, given.memory, origin);
    });
}

tosavk_status tosavk_buffer_export_fd(const tosavk_buffer* buffer, int32_t* fd, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(buffer, "buffer");
        call.require(fd, "fd");
        *fd = buffer->buffer.memory->export_fd();
    });
}

tosavk_status tosavk_buffer_slice(const tosavk_buffer* buffer, uint64_t offset, uint64_t size_bytes,
                                  tosavk_buffer** part, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(buffer, "buffer");
        call.require(part, "part");
        auto made = std::make_unique<tosavk_buffer>();
        made->kind = buffer->kind;
        made->buffer = {buffer->buffer.memory, within(*buffer, offset, size_bytes), size_bytes};
        *part = made.release();
    });
}

tosavk_status tosavk_buffer_describe(const tosavk_buffer* buffer, tosavk_buffer_info* info, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(buffer, "buffer");
        call.require(info, "info");
        const Buffer& memory = buffer->buffer.memory->buffer();
        tosavk_buffer_info result{};
        result.size_bytes = buffer->buffer.size;
        result.allocation_bytes = memory.allocation();
        if (result.allocation_bytes != 0) result.memory_type_bits = 1u << memory.memory_type();
        result.memory = buffer->kind;
        result.mapped = memory.mapped() ? 1 : 0;
        result.coherent = memory.mapped() && memory.is_coherent() ? 1 : 0;
        write_struct(info, result, "tosavk_buffer_info");
    });
}

tosavk_status tosavk_buffer_upload(tosavk_buffer* buffer, uint64_t offset, const void* data, size_t size_bytes,
                                   tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(buffer, "buffer");
        if (size_bytes > 0) call.require(data, "data");
        buffer->buffer.memory->upload(within(*buffer, offset, size_bytes),
                                      {static_cast<const std::byte*>(data), size_bytes});
    });
}

tosavk_status tosavk_buffer_download(const tosavk_buffer* buffer, uint64_t offset, void* data, size_t size_bytes,
                                     tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(buffer, "buffer");
        if (size_bytes > 0) call.require(data, "data");
        buffer->buffer.memory->download(within(*buffer, offset, size_bytes),
                                        {static_cast<std::byte*>(data), size_bytes});
    });
}

tosavk_status tosavk_buffer_fill(tosavk_buffer* buffer, uint64_t offset, uint64_t size_bytes, uint8_t value,
                                 tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(buffer, "buffer");
        buffer->buffer.memory->fill(within(*buffer, offset, size_bytes), size_bytes, std::byte{value});
    });
}

tosavk_status tosavk_buffer_copy(const tosavk_buffer* from, uint64_t from_offset, tosavk_buffer* to, uint64_t to_offset,
                                 uint64_t size_bytes, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(from, "from");
        call.require(to, "to");
        to->buffer.memory->copy_from(*from->buffer.memory, within(*from, from_offset, size_bytes),
                                     within(*to, to_offset, size_bytes), size_bytes);
    });
}

tosavk_status tosavk_buffer_map(const tosavk_buffer* buffer, void** data, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(buffer, "buffer");
        call.require(data, "data");
        *data = buffer->buffer.memory->map(buffer->buffer.offset, buffer->buffer.size);
    });
}

tosavk_status tosavk_buffer_unmap(const tosavk_buffer* buffer, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(buffer, "buffer");
        buffer->buffer.memory->flush(buffer->buffer.offset, buffer->buffer.size);
    });
}

tosavk_status tosavk_buffer_wait(const tosavk_buffer* buffer, uint64_t timeout_ns, int32_t* idle,
                                 tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(buffer, "buffer");
        call.require(idle, "idle");
        *idle = buffer->buffer.memory->settle_for(timeout_ns) ? 1 : 0;
    });
}

void tosavk_buffer_release(tosavk_buffer* buffer) { delete buffer; }

tosavk_status tosavk_executable_input_binding(const tosavk_executable* executable, uint32_t index,
                                              tosavk_binding_info* info, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        describe(call, executable, index, info, &Graph::inputs, "input", input_needs);
    });
}

tosavk_status tosavk_executable_output_binding(const tosavk_executable* executable, uint32_t index,
                                               tosavk_binding_info* info, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        describe(call, executable, index, info, &Graph::outputs, "output", output_needs);
    });
}

tosavk_status tosavk_context_bind_input(tosavk_context* context, uint32_t index, tosavk_buffer* buffer, uint32_t flags,
                                        tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(context, "context");
        BoundBuffer range = bound(buffer, flags);
        if (context->open) {
            require_idle(*context, "binding an input");
            return context->open->bind_input(index, std::move(range));
        }
        context->context->bind_input(index, std::move(range));
        context->input_set[index] = buffer != nullptr;
    });
}

tosavk_status tosavk_context_bind_output(tosavk_context* context, uint32_t index, tosavk_buffer* buffer, uint32_t flags,
                                         tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(context, "context");
        BoundBuffer range = bound(buffer, flags);
        if (context->open) {
            require_idle(*context, "binding an output");
            context->open->bind_output(index, std::move(range));
            if (context->context) context->context->forget_results();
        } else {
            context->context->bind_output(index, std::move(range));
        }
    });
}
