// Constants of a plan. Weights are not touched while planning (but where it matters whether all are finite, or how
// large sums of i8 may be): a plan holds what makes their bytes, and who uploads them asks for one constant after the
// other.
#pragma once

#include "graph/graph.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tosavk {

/// Bytes that exist, or a function that writes them. Cheap to copy; what it refers to lives as long as it does.
class LazyBytes {
public:
    /// Writes every byte of `to`, which has size() bytes; the same ones each time. Called from any thread.
    using Fill = std::function<void(std::span<std::byte> to)>;

    LazyBytes() = default;
    LazyBytes(Bytes bytes) : LazyBytes(SharedBytes(std::move(bytes))) {}
    LazyBytes(SharedBytes bytes) : size_(bytes->size()), bytes_(std::move(bytes)) {}
    LazyBytes(std::uint64_t size, Fill fill) : size_(size), fill_(std::move(fill)) {}
    /// Equal bytes of `source`, size and `recipe` mean that equal bytes are made.
    LazyBytes(std::uint64_t size, Fill fill, SharedBytes source, std::string recipe)
        : size_(size), bytes_(), fill_(std::move(fill)), source_(std::move(source)), recipe_(std::move(recipe)) {}

    std::uint64_t size() const { return size_; }
    /// What the bytes are made of: themselves, where they exist already; null where it is not said.
    const SharedBytes& source() const { return bytes_ ? bytes_ : source_; }
    const std::string& recipe() const { return recipe_; }
    /// The bytes, where they exist already; else they are made in `scratch`, which grows as needed.
    std::span<const std::byte> view(Bytes& scratch) const;

private:
    std::uint64_t size_ = 0;
    SharedBytes bytes_;
    Fill fill_;
    SharedBytes source_;
    std::string recipe_;
};

/// All constants of a plan in the order of their offsets in one buffer; what lies between them is zero.
class ConstantPool {
public:
    struct Part {
        std::uint64_t offset = 0;
        LazyBytes bytes;
    };

    ConstantPool() = default;
    ConstantPool(Bytes bytes);

    std::uint64_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const std::vector<Part>& parts() const { return parts_; }

    /// Puts `bytes` at `offset`, which is at or past the end, and ends `room` bytes after that (at least their size).
    void add(std::uint64_t offset, LazyBytes bytes, std::uint64_t room);
    /// Takes over all that `other` holds, from `offset` on, which is at or past the end.
    void append(std::uint64_t offset, ConstantPool other);

    /// Any bytes of the buffer. Throws Error(internal) past its end.
    void read(std::uint64_t offset, std::span<std::byte> to) const;
    Bytes all() const;

private:
    void require_end(std::uint64_t offset) const;

    std::vector<Part> parts_;
    std::uint64_t size_ = 0;
};

}  // namespace tosavk
