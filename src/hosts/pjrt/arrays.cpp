// Arrays on devices, and their way from and to the host.
#include "hosts/pjrt/objects.hpp"

#include <cstring>
#include <numeric>
#include <span>

namespace tosavk::pjrt {

namespace {

/// Elements that lie apart (strides in bytes, 0 and negative ones too) one behind the other.
std::vector<std::byte> dense(const std::byte* data, const Dims& dims, const std::int64_t* strides, std::size_t bytes) {
    std::vector<std::byte> result(element_count(dims) * bytes);
    if (result.empty()) return result;
    std::vector<std::int64_t> index(dims.size(), 0);
    std::byte* to = result.data();
    for (const std::byte* from = data;;) {
        std::memcpy(to, from, bytes);
        to += bytes;
        std::size_t d = dims.size();
        while (d-- > 0) {
            from += strides[d];
            if (++index[d] < dims[d]) break;
            from -= strides[d] * dims[d];
            index[d] = 0;
        }
        if (d == static_cast<std::size_t>(-1)) return result;
    }
}

bool is_dense(const Dims& dims, const std::int64_t* strides, std::size_t bytes) {
    auto expected = static_cast<std::int64_t>(bytes);
    for (std::size_t d = dims.size(); d-- > 0;) {
        if (dims[d] != 1 && strides[d] != expected) return false;
        expected *= dims[d];
    }
    return true;
}

std::vector<std::int64_t> descending(std::size_t rank) {
    std::vector<std::int64_t> order(rank);
    for (std::size_t k = 0; k < rank; ++k) order[k] = static_cast<std::int64_t>(rank - 1 - k);
    return order;
}

}  // namespace

std::size_t element_count(const Dims& dims) {
    std::size_t count = 1;
    for (const std::int64_t dim : dims) {
        if (dim < 0) throw Failure(Code::invalid_argument, "an array has a negative dimension");
        if (dim != 0 && count > (std::size_t{1} << 48) / static_cast<std::size_t>(dim))
            throw Failure(Code::resource_exhausted, "an array has more than 2^48 elements");
        count *= static_cast<std::size_t>(dim);
    }
    return count;
}

Parts make_parts(Device& device, const ElementType& type, std::size_t elements) {
    Parts parts;
    for (std::size_t k = 0; elements != 0 && k < type.parts(); ++k)
        parts.push_back(std::make_shared<Storage>(device, elements * type.part_bytes));
    return parts;
}

Buffer::Buffer(Device& on, const ElementType& of, Dims shape, Parts parts, std::shared_ptr<Event> when)
    : client(on.client->shared_from_this()),
      device(on),
      type(of),
      dims(std::move(shape)),
      minor_to_major(descending(dims.size())),
      ready(std::move(when)),
      parts_(std::move(parts)) {}

std::size_t Buffer::element_count() const { return pjrt::element_count(dims); }

Parts Buffer::alive() const {
    const std::lock_guard lock(mutex_);
    if (is_deleted_) throw Failure(Code::invalid_argument, "the array has been deleted or donated");
    return parts_;
}

bool Buffer::is_deleted() const {
    const std::lock_guard lock(mutex_);
    return is_deleted_;
}

Parts Buffer::remove() {
    const std::lock_guard lock(mutex_);
    is_deleted_ = true;
    return std::exchange(parts_, {});
}

void upload(const ElementType& type, const Dims& dims, const Parts& parts, const void* data,
            const std::int64_t* strides) {
    const std::size_t elements = element_count(dims);
    if (elements == 0) return;
    if (data == nullptr) throw Failure(Code::invalid_argument, "an array of the host has no data");
    const auto* bytes = static_cast<const std::byte*>(data);
    std::vector<std::byte> gathered;
    if (strides != nullptr && !is_dense(dims, strides, type.host_bytes)) {
        gathered = dense(bytes, dims, strides, type.host_bytes);
        bytes = gathered.data();
    }
    ++counters.uploads;
    const std::size_t size = elements * type.part_bytes;
    if (type.form == Form::same) {
        parts[0]->buffer->upload({bytes, size});
        return;
    }
    std::vector<std::byte> converted[2];
    std::byte* into[2] = {};
    for (std::size_t k = 0; k < parts.size(); ++k) converted[k].resize(size), into[k] = converted[k].data();
    to_parts(type, bytes, elements, into);
    for (std::size_t k = 0; k < parts.size(); ++k) parts[k]->buffer->upload(converted[k]);
}

void download(const ElementType& type, const Parts& parts, std::size_t elements, std::byte* data) {
    if (elements == 0) return;
    ++counters.downloads;
    const std::size_t size = elements * type.part_bytes;
    if (type.is_plain()) {
        parts[0]->buffer->download({data, size});
        return;
    }
    std::vector<std::byte> held[2];
    const std::byte* from[2] = {};
    for (std::size_t k = 0; k < parts.size(); ++k) {
        held[k].resize(size);
        parts[k]->buffer->download(held[k]);
        from[k] = held[k].data();
    }
    from_parts(type, from, elements, data);
}

}  // namespace tosavk::pjrt
