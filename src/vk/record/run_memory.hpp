// Which buffers the spaces of a plan lie in for one run.
#pragma once

#include "compile/plan/externals.hpp"
#include "vk/record/shared_constants.hpp"

#include <volk.h>

#include <algorithm>
#include <iterator>
#include <span>

namespace tosavk {

/// Buffers as the pure parts of the library know them.
inline std::uint64_t number_of(VkBuffer buffer) { return reinterpret_cast<std::uint64_t>(buffer); }
inline VkBuffer buffer_of(const BufferRange& range) { return reinterpret_cast<VkBuffer>(range.buffer); }

inline void set_usage(BufferRange& range, VkBufferUsageFlags usage) {
    range.storage = (usage & VK_BUFFER_USAGE_STORAGE_BUFFER_BIT) != 0;
    range.texels = (usage & VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT) != 0;
}

struct BufferPlace {
    VkBuffer buffer = VK_NULL_HANDLE;
    std::uint64_t offset = 0;

    bool operator==(const BufferPlace&) const = default;
};

struct RunMemory {
    BufferPlace arena, constants, state, conditions;
    std::span<const ConstantPiece> pieces;  ///< where the constants lie, unless there are none
    BufferPlace externals;                  ///< memory of our own for every slot
    std::vector<BufferPlace> slots;         ///< by slot: there, or in a caller's buffer

    /// Every slot in memory of our own, but for those that `use` has elsewhere.
    void set_slots(const Plan& plan, const ExternalUse& use) {
        slots.clear();
        for (std::size_t s = 0; s < plan.externals.size(); ++s) {
            const bool bound = s < use.slots.size() && use.slots[s].buffer != 0;
            slots.push_back(bound ? BufferPlace{buffer_of(use.slots[s]), use.slots[s].offset} : own(plan.externals[s]));
        }
    }

    /// Where our own memory for a place in Space::external is.
    BufferPlace own(const Placement& place) const { return {externals.buffer, externals.offset + place.offset}; }

    BufferPlace at(const Plan& plan, const Placement& place) const {
        const auto within = [&](const BufferPlace& space) {
            return BufferPlace{space.buffer, space.offset + place.offset};
        };
        switch (place.space) {
            case Space::constants: return pieces.empty() ? within(constants) : in_pieces(place);
            case Space::state: return within(state);
            case Space::host: return within(conditions);
            case Space::external: {
                const std::size_t slot = slot_of(plan, place);
                return {slots[slot].buffer, slots[slot].offset + place.offset - plan.externals[slot].offset};
            }
            default: return within(arena);
        }
    }

    BufferPlace in_pieces(const Placement& place) const {
        const auto after =
            std::upper_bound(pieces.begin(), pieces.end(), place.offset,
                             [](std::uint64_t offset, const ConstantPiece& piece) { return offset < piece.offset; });
        const ConstantPiece& piece = *std::prev(after);
        return {piece.buffer->handle(), piece.at + place.offset - piece.offset};
    }

    /// One end of a copy before or after the run.
    BufferPlace at(const Plan& plan, const ExternalCopy::End& end) const {
        if (end.range.buffer != 0) return {buffer_of(end.range), end.range.offset};
        return end.place.space == Space::external ? own(end.place) : at(plan, end.place);
    }
};

}  // namespace tosavk
