// Memory that arrays share with the package in Python: theirs is lent, and its own becomes arrays. JAX hands on nothing
// but addresses; those that it gets from here are keys of what is known here, and are never read through by their
// takers.
#include "hosts/pjrt/calls.hpp"

#include <tosavk/tosavk.h>

namespace tosavk::pjrt {

namespace {

/// DLPack's tensor, version 0, which is the way into JAX.
struct Tensor {
    void* data;
    std::int32_t device_type, device;
    std::int32_t rank;
    std::uint8_t code, bits;
    std::uint16_t lanes;
    std::int64_t* dims;
    std::int64_t* strides;
    std::uint64_t offset;
};
struct ManagedTensor {
    Tensor tensor;
    void* owner;
    void (*deleter)(ManagedTensor*);
};
static_assert(sizeof(Tensor) == 48 && sizeof(ManagedTensor) == 64);

/// What is on its way to JAX, which takes it over with the first array of it.
struct Offer {
    ManagedTensor managed{};  ///< first, so that both have one address, the key among the offers
    std::vector<std::int64_t> dims;
    std::optional<cpp::Buffer> buffer;
    std::uint64_t size_bytes = 0;
};

struct Table {
    std::mutex mutex;
    std::map<const void*, std::weak_ptr<Storage>> asked;  ///< memory whose address was asked for
    std::map<const void*, Offer*> offers;
};
Table& table() {
    static auto* const result = new Table;  // threads of others may come until the process is gone
    return *result;
}

void end_offer(ManagedTensor* managed) noexcept {
    // Only its address is looked at before it is known: it may have ended with the array that JAX could not make of it.
    std::unique_ptr<Offer> offer;
    const std::lock_guard lock(table().mutex);
    const auto found = table().offers.find(managed);
    if (found == table().offers.end()) return;
    offer.reset(found->second);
    table().offers.erase(found);
}

/// A buffer of its own, of the same memory.
cpp::Buffer same_memory(const tosavk_buffer* buffer, std::uint64_t size_bytes) {
    tosavk_buffer* part = nullptr;
    cpp::detail::call(tosavk_buffer_slice, buffer, std::uint64_t{0}, size_bytes, &part);
    return cpp::Buffer::adopt(part);
}

void unsafe_pointer(Ask<Buffer, std::uintptr_t>& args) {
    if (!args.self->type.is_plain())
        throw Failure(Code::unimplemented, "arrays of this type have other bytes on the device");
    const Parts parts = args.self->alive();
    args.value = 0;
    if (parts.empty()) return;
    const std::lock_guard lock(table().mutex);
    std::erase_if(table().asked, [](const auto& entry) { return entry.second.expired(); });
    table().asked[parts[0].get()] = parts[0];
    args.value = reinterpret_cast<std::uintptr_t>(parts[0].get());
}

void view(ViewOfMemory& args) {
    Memory* memory = reaches(args.head, sizeof args) ? args.memory : nullptr;
    if (memory == nullptr && args.device == nullptr)
        throw Failure(Code::invalid_argument, "no device is said for an array");
    Device& device = memory != nullptr ? *memory->device : *args.device;
    const ElementType& type = type_of(args.type);
    Dims dims(args.dims.data, args.dims.data + args.dims.count);
    check_layout(args.layout, dims.size());
    if (!type.is_plain()) throw Failure(Code::unimplemented, "arrays of this type have other bytes on the device");
    const std::uint64_t size = element_count(dims) * type.part_bytes;
    Parts parts;
    {
        const std::lock_guard lock(table().mutex);
        const auto found = table().offers.find(args.data);
        if (found == table().offers.end() || !found->second->buffer)
            throw Failure(Code::unimplemented,
                          "memory of others cannot become an array; tosavk.to_jax takes tosa-vk's");
        Offer& offer = *found->second;
        if (size > offer.size_bytes) throw Failure(Code::invalid_argument, "the array is larger than its memory");
        parts.push_back(std::make_shared<Storage>(device, std::move(*offer.buffer), offer.size_bytes));
        offer.buffer.reset();
    }
    if (size == 0) parts.clear();
    args.buffer = new Buffer(device, type, std::move(dims), std::move(parts), device.client->done());
    if (args.on_delete != nullptr) args.on_delete(const_cast<void*>(args.data), args.user);  // it is ours now
}

}  // namespace

bool give_up_address(const Parts& parts) {
    // A loan takes its share under the same lock.
    const std::lock_guard lock(table().mutex);
    for (const auto& part : parts)
        if (part.use_count() != 2 || part->is_shared || part->was_lent) return false;
    for (const auto& part : parts) table().asked.erase(part.get());
    return true;
}

void set_exchange_calls(Api& api) {
    set<unsafe_pointer>(api, 73);
    set<view>(api, 93);
}

}  // namespace tosavk::pjrt

using namespace tosavk::pjrt;

extern "C" {

/// The memory of the array of which JAX says `address` (unsafe_buffer_pointer): its buffer and its device, both of
/// which stay the plug-in's and live until the loan ends. Null where no array has it any more.
__attribute__((visibility("default"))) void* tosavk_pjrt_lend(const void* address, tosavk_buffer** buffer,
                                                              tosavk_device** device) {
    std::shared_ptr<Storage> storage;
    {
        const std::lock_guard lock(table().mutex);
        const auto found = table().asked.find(address);
        if (found != table().asked.end()) storage = found->second.lock();
        if (!storage) return nullptr;
        storage->was_lent = true;
    }
    *buffer = storage->buffer->get();
    *device = storage->device.device.get();
    return new (std::nothrow) std::shared_ptr<Storage>(std::move(storage));
}

__attribute__((visibility("default"))) void tosavk_pjrt_end_loan(void* loan) {
    delete static_cast<std::shared_ptr<Storage>*>(loan);
}

/// A DLPack tensor for JAX, of a buffer on the device of the plug-in that the array is to be on. The array keeps the
/// memory. Null where the buffer has no such part, or memory is short.
__attribute__((visibility("default"))) void* tosavk_pjrt_offer(const tosavk_buffer* buffer, std::uint64_t size_bytes,
                                                               int rank, const std::int64_t* dims, int code, int bits,
                                                               int device_type) {
    try {
        auto offer = std::make_unique<Offer>();
        offer->dims.assign(dims, dims + rank);
        offer->buffer.emplace(same_memory(buffer, size_bytes));
        offer->size_bytes = size_bytes;
        offer->managed.tensor = {offer.get(),
                                 device_type,
                                 0,
                                 rank,
                                 static_cast<std::uint8_t>(code),
                                 static_cast<std::uint8_t>(bits),
                                 1,
                                 offer->dims.data(),
                                 nullptr,
                                 0};
        offer->managed.owner = offer.get();
        offer->managed.deleter = end_offer;
        const std::lock_guard lock(table().mutex);
        table().offers[offer.get()] = offer.get();
        return &offer.release()->managed;
    } catch (...) {
        return nullptr;
    }
}

/// Of an offer that nobody took.
__attribute__((visibility("default"))) void tosavk_pjrt_end_offer(void* offer) {
    if (offer != nullptr) end_offer(static_cast<ManagedTensor*>(offer));
}
}
