#include "vk/record/shared_constants.hpp"

#include "vk/core/device_state.hpp"
#include "vk/core/parallel.hpp"
#include "vk/core/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

/// Weights are packed by all processors where their memory is mapped, else piece by piece on their way to the device.
void upload_constants(DeviceState& device, Buffer& buffer, const ConstantPool& constants) {
    const std::vector<ConstantPool::Part>& parts = constants.parts();
    // What lies behind the bytes of a constant may be read as part of its last quad.
    const auto end_of = [&](std::size_t k) { return k + 1 < parts.size() ? parts[k + 1].offset : constants.size(); };
    if (buffer.mapped()) {
        in_parallel(
            parts.size(),
            [&, scratch = Bytes()](std::size_t k) mutable {
                const auto& [offset, bytes] = parts[k];
                buffer.write(offset, bytes.view(scratch));
                const std::uint64_t end = offset + bytes.size();
                buffer.write(end, Bytes(end_of(k) - end));
            },
            host_threads(device.threads));
        return;
    }
    const std::uint64_t piece = std::min<std::uint64_t>(2 * constants.size() + 512, device.plan.staging_bytes);
    Transfer transfer(device, piece, "the upload buffer");
    Bytes scratch, pending;
    std::uint64_t start = parts.front().offset;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        const auto bytes = parts[k].bytes.view(scratch);
        pending.insert(pending.end(), bytes.begin(), bytes.end());
        pending.resize(end_of(k) - start);
        if (pending.size() < piece && k + 1 < parts.size()) continue;
        transfer.upload(buffer, start, pending);
        start += pending.size();
        pending.clear();
    }
}

/// Equal keys mean equal bytes. Those of a constant that is packed are not made for it.
std::string SharedConstants::key_of(const LazyBytes& bytes, std::uint64_t room) {
    std::string what = bytes.recipe();
    Digest digest;
    if (bytes.source()) {
        digest = bytes_->digest(bytes.source());
    } else {
        Bytes scratch;
        digest = sha256(bytes.view(scratch));
    }
    return fmt::format("{} {} {} {}", hex(digest), bytes.size(), room, what);
}

SharedConstants::Placed SharedConstants::place(DeviceState& device, const ConstantPool& constants) {
    const std::lock_guard lock(mutex_);
    std::erase_if(known_, [](const auto& entry) { return entry.second.buffer.expired(); });
    const std::vector<ConstantPool::Part>& parts = constants.parts();
    const std::uint64_t alignment = device.plan.buffer_alignment;
    const auto aligned = [&](std::uint64_t offset) { return (offset + alignment - 1) / alignment * alignment; };
    Placed placed;
    ConstantPool missing;
    std::map<std::string, std::uint64_t> made;  // what is missing, by its offset there
    std::vector<std::string> keys;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        const std::uint64_t end = k + 1 < parts.size() ? parts[k + 1].offset : constants.size();
        const std::uint64_t room = aligned(end - parts[k].offset);
        const std::string& key = keys.emplace_back(key_of(parts[k].bytes, room));
        ConstantPiece& piece = placed.pieces.emplace_back(ConstantPiece{parts[k].offset, nullptr, 0});
        const auto known = known_.find(key);
        if (known != known_.end() && (piece.buffer = known->second.buffer.lock())) {
            piece.at = known->second.at;
            continue;
        }
        const auto [place, is_new] = made.emplace(key, missing.size());
        piece.at = place->second;
        if (is_new) missing.add(missing.size(), parts[k].bytes, room);
    }
    if (missing.empty()) return placed;
    const MemoryUse use = device.plan.map_in_place ? MemoryUse::shared : MemoryUse::device;
    const auto buffer = std::make_shared<Buffer>(device, missing.size(), use, "the buffer of the constants");
    upload_constants(device, *buffer, missing);
    for (std::size_t k = 0; k < parts.size(); ++k) {
        if (placed.pieces[k].buffer) continue;
        placed.pieces[k].buffer = buffer;
        known_.insert_or_assign(keys[k], Known{buffer, placed.pieces[k].at});
    }
    placed.bytes_copied = missing.size();
    placed.allocations = 1;
    return placed;
}

}  // namespace tosavk
