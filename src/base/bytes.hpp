#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tosavk {

using Bytes = std::vector<std::byte>;

/// Bytes that nobody changes any more and several may hold: their own, or a caller's. Like a pointer to a span, null
/// until it is given some (which may be none in number).
class SharedBytes {
public:
    SharedBytes() = default;
    SharedBytes(Bytes bytes) : SharedBytes(std::make_shared<const Bytes>(std::move(bytes))) {}
    SharedBytes(std::shared_ptr<const Bytes> bytes) {
        if (bytes) bytes_ = *bytes;
        owner_ = std::move(bytes);
    }
    /// A caller's, which last as long as `owner` (not null) has holders.
    SharedBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
        : bytes_(bytes), owner_(std::move(owner)) {}

    explicit operator bool() const { return owner_ != nullptr; }
    std::span<const std::byte> operator*() const { return bytes_; }
    const std::span<const std::byte>* operator->() const { return &bytes_; }
    const std::shared_ptr<const void>& owner() const { return owner_; }
    Bytes copy() const { return Bytes(bytes_.begin(), bytes_.end()); }
    /// Both null, or both with the same bytes.
    bool operator==(const SharedBytes& other) const {
        return (owner_ == nullptr) == (other.owner_ == nullptr) && std::ranges::equal(bytes_, other.bytes_);
    }

private:
    std::span<const std::byte> bytes_;
    std::shared_ptr<const void> owner_;
};

}  // namespace tosavk
