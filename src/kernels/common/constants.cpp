#include "kernels/common/constants.hpp"

#include <algorithm>

namespace tosavk {

std::span<const std::byte> LazyBytes::view(Bytes& scratch) const {
    if (bytes_) return *bytes_;
    if (scratch.size() < size_) scratch.resize(size_);
    const std::span<std::byte> made = std::span(scratch).first(size_);
    if (fill_) fill_(made);
    return made;
}

ConstantPool::ConstantPool(Bytes bytes) {
    const std::uint64_t size = bytes.size();
    if (size > 0) add(0, std::move(bytes), size);
}

void ConstantPool::require_end(std::uint64_t offset) const {
    if (offset < size_) throw Error(ErrorCode::internal, "a constant would lie on another one");
}

void ConstantPool::add(std::uint64_t offset, LazyBytes bytes, std::uint64_t room) {
    require_end(offset);
    size_ = offset + std::max(room, bytes.size());
    parts_.push_back({offset, std::move(bytes)});
}

void ConstantPool::append(std::uint64_t offset, ConstantPool other) {
    require_end(offset);
    for (Part& part : other.parts_) parts_.push_back({offset + part.offset, std::move(part.bytes)});
    size_ = offset + other.size_;
}

void ConstantPool::read(std::uint64_t offset, std::span<std::byte> to) const {
    if (offset > size_ || to.size() > size_ - offset) throw Error(ErrorCode::internal, "there are no such constants");
    std::fill(to.begin(), to.end(), std::byte{0});
    Bytes scratch;
    for (const Part& part : parts_) {
        const std::uint64_t first = std::max(offset, part.offset),
                            last = std::min(offset + to.size(), part.offset + part.bytes.size());
        if (first >= last) continue;
        const auto from = part.bytes.view(scratch).subspan(first - part.offset, last - first);
        std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(first - offset));
    }
}

Bytes ConstantPool::all() const {
    Bytes bytes(size_);
    read(0, bytes);
    return bytes;
}

}  // namespace tosavk
