// Arrays.
#include "hosts/pjrt/calls.hpp"

namespace tosavk::pjrt {

void check_layout(const Layout* layout, std::size_t rank) {
    if (layout == nullptr) return;
    const auto refuse = [](const char* what) { throw Failure(Code::unimplemented, what); };
    if (layout->type != 0) refuse("layouts by strides are not supported");
    if (layout->tiled.tile_count != 0) refuse("tiled layouts are not supported");
    if (layout->tiled.rank != rank) throw Failure(Code::invalid_argument, "the layout is of another rank");
    for (std::size_t k = 0; k < rank; ++k) {
        if (layout->tiled.minor_to_major[k] != static_cast<std::int64_t>(rank - 1 - k))
            refuse("layouts other than row-major are not supported");
    }
}

namespace {

Device& place_of(Device* device, Memory* memory) {
    if (memory != nullptr) return *memory->device;
    if (device != nullptr) return *device;
    throw Failure(Code::invalid_argument, "no device is said for an array");
}

/// Throws Failure for those that are not there, on this client or at all.
const ElementType& type_for(const Client& client, std::int32_t kind) {
    const ElementType& type = type_of(kind);
    if (type.is_rounded() && !client.options.f64_as_f32)
        throw Failure(Code::unimplemented,
                      "arrays of float64 are not supported; use float32, or the option f64_as_f32, which rounds");
    return type;
}

Dims dims_of(List<const std::int64_t> list) { return Dims(list.data, list.data + list.count); }

void from_host(FromHost& args) {
    Device& device = place_of(args.device, args.memory);
    const ElementType& type = type_for(*device.client, args.type);
    Dims dims = dims_of(args.dims);
    check_layout(args.layout, dims.size());
    if (args.strides.count != 0 && args.strides.count != dims.size())
        throw Failure(Code::invalid_argument, "an array has strides of another rank");
    Parts parts = make_parts(device, type, element_count(dims));
    upload(type, dims, parts, args.data, args.strides.count != 0 ? args.strides.data : nullptr);
    auto buffer = std::make_unique<Buffer>(device, type, std::move(dims), std::move(parts), device.client->done());
    args.done = handle_of(device.client->done());
    args.buffer = buffer.release();
}

void uninitialized(Uninitialized& args) {
    Device& device = place_of(args.device, args.memory);
    const ElementType& type = type_for(*device.client, args.type);
    Dims dims = dims_of(args.dims);
    check_layout(args.layout, dims.size());
    Parts parts = make_parts(device, type, element_count(dims));
    args.buffer = new Buffer(device, type, std::move(dims), std::move(parts), device.client->done());
}

void buffer_destroy(Only<Buffer>& args) { delete args.self; }
void element_type(Ask<Buffer, std::int32_t>& args) { args.value = static_cast<std::int32_t>(args.self->type.kind); }
void dimensions(Ask<Buffer, List<const std::int64_t>>& args) { args.value = list_of(args.self->dims); }
void dynamic_dimensions(Ask<Buffer, List<const std::size_t>>& args) { args.value = {nullptr, 0}; }

void memory_layout(Ask<Buffer, Layout>& args) {
    args.value = {};
    args.value.head = {sizeof(Layout), nullptr};
    args.value.tiled.head = {sizeof args.value.tiled, nullptr};
    args.value.tiled.minor_to_major = args.self->minor_to_major.data();
    args.value.tiled.rank = args.self->minor_to_major.size();
    args.value.type = 0;
}

void size_on_device(Ask<Buffer, std::size_t>& args) {
    args.value = args.self->element_count() * args.self->type.parts() * args.self->type.part_bytes;
}

void device(Ask<Buffer, Device*>& args) { args.value = &args.self->device; }
void memory(Ask<Buffer, Memory*>& args) { args.value = &args.self->device.memory; }
void remove(Only<Buffer>& args) { args.self->remove(); }
void is_deleted(Ask<Buffer, bool>& args) { args.value = args.self->is_deleted(); }
void is_on_cpu(Ask<Buffer, bool>& args) { args.value = false; }

void ready_event(Ask<Buffer, EventHandle*>& args) {
    args.self->alive();
    args.value = handle_of(args.self->ready);
}

/// To another device, or as a copy on the same; through the host.
Buffer* copy(Buffer& buffer, Device& to) {
    const Parts from = buffer.alive();
    if (const auto error = buffer.ready->await()) throw Failure(error->code, error->sentence);
    Parts parts = make_parts(to, buffer.type, buffer.element_count());
    for (std::size_t k = 0; k < parts.size(); ++k) {
        const std::size_t size = buffer.element_count() * buffer.type.part_bytes;
        if (&to == &buffer.device) {
            parts[k]->buffer->copy_from(*from[k]->buffer, 0, 0, size);
            continue;
        }
        std::vector<std::byte> bytes(size);
        from[k]->buffer->download(bytes);
        parts[k]->buffer->upload(bytes);
    }
    return new Buffer(to, buffer.type, buffer.dims, std::move(parts), to.client->done());
}

void copy_to_device(CopyTo& args) { args.copy = copy(*args.buffer, *static_cast<Device*>(args.target)); }
void copy_to_memory(CopyTo& args) { args.copy = copy(*args.buffer, *static_cast<Memory*>(args.target)->device); }

/// Copies on the thread for that, once the array is there.
EventHandle* to_host_later(Buffer& buffer, std::function<void(const Parts&)> copy_out) {
    auto event = buffer.client->pending();
    buffer.client->transfers->post(
        [parts = buffer.alive(), ready = buffer.ready, event, copy_out = std::move(copy_out)]() mutable {
            std::optional<Error> error = ready->await();
            try {
                if (!error) copy_out(parts);
            } catch (...) {
                error = current_error();
            }
            parts.clear();
            event->set(std::move(error));
        });
    return handle_of(std::move(event));
}

void to_host(ToHost& args) {
    Buffer& buffer = *args.buffer;
    const std::size_t elements = buffer.element_count(), size = elements * buffer.type.host_bytes;
    check_layout(args.layout, buffer.dims.size());
    if (args.data == nullptr && size != 0) {
        args.size = size;
        args.event = handle_of(buffer.client->done());
        return;
    }
    if (args.size < size)
        throw Failure(Code::invalid_argument,
                      "an array of " + std::to_string(size) + " bytes does not fit into " + std::to_string(args.size));
    auto* data = static_cast<std::byte*>(args.data);
    args.event = to_host_later(
        buffer, [&type = buffer.type, elements, data](const Parts& parts) { download(type, parts, elements, data); });
}

void raw_to_host(RawToHost& args) {
    Buffer& buffer = *args.buffer;
    if (!buffer.type.is_plain())
        throw Failure(Code::unimplemented, "arrays of this type have other bytes on the device");
    const std::size_t all = buffer.element_count() * buffer.type.host_bytes;
    if (args.offset < 0 || args.size < 0 || static_cast<std::size_t>(args.offset) > all ||
        static_cast<std::size_t>(args.size) > all - static_cast<std::size_t>(args.offset))
        throw Failure(Code::invalid_argument, "the bytes asked for lie outside of the array");
    const std::span<std::byte> into(static_cast<std::byte*>(args.data), static_cast<std::size_t>(args.size));
    args.event = to_host_later(buffer, [into, offset = static_cast<std::uint64_t>(args.offset)](const Parts& parts) {
        if (!into.empty()) parts[0]->buffer->download(into, offset);
    });
}

}  // namespace

void set_buffer_calls(Api& api) {
    set<from_host>(api, 22);
    set<buffer_destroy>(api, 58);
    set<element_type>(api, 59);
    set<dimensions>(api, 60);
    set<dimensions>(api, 61);
    set<dynamic_dimensions>(api, 62);
    set<memory_layout>(api, 63);
    set<size_on_device>(api, 64);
    set<device>(api, 65);
    set<memory>(api, 66);
    set<remove>(api, 67);
    set<is_deleted>(api, 68);
    set<copy_to_device>(api, 69);
    set<to_host>(api, 70);
    set<is_on_cpu>(api, 71);
    set<ready_event>(api, 72);
    set<copy_to_memory>(api, 92);
    set<raw_to_host>(api, 100);
    set<uninitialized>(api, 112);
}

}  // namespace tosavk::pjrt
