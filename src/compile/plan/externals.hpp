// Whose memory the inputs and outputs of a plan lie in: the caller's, where its buffers are fit for the kernels, else
// our own, from and to which they are copied. Pure: buffers are numbers here.
#pragma once

#include "compile/plan/plan.hpp"
#include "device/caps.hpp"

#include <span>

namespace tosavk {

constexpr std::size_t no_slot = SIZE_MAX;

/// The slot of Plan::externals that a place in Space::external lies in; no_slot where it lies in none.
std::size_t slot_of(const Plan& plan, const Placement& place);

/// A part of a buffer that holds a tensor.
struct BufferRange {
    std::uint64_t buffer = 0;  ///< what tells buffers apart; 0: none
    std::uint64_t offset = 0, size = 0;
    bool storage = true, texels = true;  ///< what the buffer was made for, beside copies
    std::vector<std::int64_t> strides;   ///< of a tensor, bytes, outermost first; empty: dense
    bool padded = false;  ///< what lies behind the tensor's bytes, as far as ExternalNeeds::padded, may be written

    bool operator==(const BufferRange&) const = default;
    bool overlaps(const BufferRange& other) const {
        return buffer != 0 && buffer == other.buffer && offset < other.offset + other.size &&
               other.offset < offset + size;
    }
};

/// What a range must be like to be read or written by kernels without a copy.
struct ExternalNeeds {
    bool possible = false;        ///< some range would do
    std::uint64_t bytes = 0;      ///< of the tensor
    std::uint64_t padded = 0;     ///< that kernels touch, since they take the last four elements as a whole
    std::uint64_t alignment = 1;  ///< of the offset
    bool texels = false;          ///< it is read through uniform texel buffers
};

/// Of graph input number `index` and graph output number `index`.
ExternalNeeds input_needs(const Graph& graph, const Plan& plan, const DeviceCaps& caps, std::size_t index);
ExternalNeeds output_needs(const Graph& graph, const Plan& plan, const DeviceCaps& caps, std::size_t index);

/// One copy before or after a run. An end without a buffer is the library's own memory, at `place`.
struct ExternalCopy {
    struct End {
        BufferRange range;
        Placement place;
    };
    End from, to;
    std::uint64_t bytes = 0;
    Shape shape;  ///< where one end has strides
    std::uint64_t element_bytes = 0;

    bool is_strided() const { return !from.range.strides.empty() || !to.range.strides.empty(); }
};

/// How a run uses what was bound.
struct ExternalUse {
    std::vector<BufferRange> slots;           ///< by slot: the caller's range, or no buffer: memory of our own
    std::vector<ExternalCopy> before, after;  ///< no copy of either list touches what another one of it writes
    std::vector<std::size_t> barriers;  ///< dispatches that need one more, in order: they write what others have read
};

/// `inputs` and `outputs` by index; no buffer: the library keeps the tensor, and the host sets or gets it. Where an
/// output's range overlaps that of an input, the input is still read as it was before the run. Throws
/// Error(bad_input) for a range that is smaller than its tensor or has strides that no tensor of that shape has, and
/// Error(usage) for outputs that overlap each other, unless they are one value in one place or their strides show that
/// they share no byte.
ExternalUse use_externals(const Graph& graph, const Plan& plan, const DeviceCaps& caps,
                          std::span<const BufferRange> inputs, std::span<const BufferRange> outputs);

}  // namespace tosavk
