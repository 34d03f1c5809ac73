// What a kernel candidate answers when asked to run a node: plain data, no Vulkan handle.
#pragma once

#include "device/device_plan.hpp"
#include "graph/graph.hpp"
#include "kernels/common/constants.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tosavk {

/// How a kernel reads a tensor: what the texel forms need is in DevicePlan::texel_elements.
enum class ReadPath : std::uint8_t {
    buffer,       ///< storage buffer
    texels,       ///< uniform texel buffer, integer texels of texel_bytes()
    texel_pairs,  ///< the same of 8-bit elements, two words a texel
    half_texels,  ///< uniform texel buffer of fp16, four numbers a texel
};
inline bool is_texels(ReadPath path) { return path != ReadPath::buffer; }
/// One word for 8-bit elements (two as pairs), two for 16-bit ones, else four.
inline std::uint32_t texel_bytes(DType type, ReadPath path = ReadPath::texels) {
    return path == ReadPath::texel_pairs ? 8
                                         : std::min<std::uint32_t>(16, 4 * static_cast<std::uint32_t>(size_of(type)));
}

/// Bytes of a tensor's memory: whole quads and whole 16 bytes, so that kernels may touch the last quad whole.
std::uint64_t allocation_bytes(std::uint64_t bytes, DType type);
/// What one of several bindings of a tensor above DevicePlan::max_binding_bytes holds; the last one may hold less.
std::uint64_t part_bytes(const DevicePlan& device);
/// Storage buffer bindings that so much memory takes.
std::uint32_t binding_count(std::uint64_t bytes, const DevicePlan& device);
/// Shaders count elements in an int, four at a time.
constexpr std::int64_t max_elements = 0x7ffffff0;
/// No kernel's workgroups have more.
constexpr std::uint32_t max_invocations = 256;

/// One tensor that a kernel reads: a value of the graph, a constant packed for the kernel, or what an earlier
/// pass of the same choice left.
struct KernelOperand {
    ValueId value = no_id;             ///< no_id when `packed` or `scratch` is used
    DType type = DType::fp32;          ///< element type that the load functions decode
    LazyBytes packed;                  ///< constant in the kernel's order; uploaded once
    std::string packed_from;           ///< what was packed, for the plan's text
    int scratch = -1;                  ///< number of a scratch buffer of the choice
    ReadPath path = ReadPath::buffer;  ///< set where the source is built
    /// How often each element is read, about, in quads that are used in part too. 0: not said. A kernel that says it
    /// promises to read by load1, load4 and loadn alone (load8, words8, load2q and load8q where INK_EIGHTS is defined,
    /// words16 where INK_SIXTEENS is), and nothing beyond the tensor's last quad.
    double reads = 0;
};

/// The value of a specialization constant.
struct KernelConstant {
    std::int32_t bits = 0;  ///< of a float: its representation
    bool is_float = false;

    /// An int, or the bits of an unsigned one; Error(internal) for a number beyond both.
    template <std::integral T> KernelConstant(T value) : bits(static_cast<std::int32_t>(value)) {
        if constexpr (sizeof(T) > 4) {
            if (!std::in_range<std::int32_t>(value) && !std::in_range<std::uint32_t>(value)) beyond_32_bits();
        }
    }
    KernelConstant(float value) : bits(std::bit_cast<std::int32_t>(value)), is_float(true) {}
    bool operator==(const KernelConstant&) const = default;

private:
    [[noreturn]] static void beyond_32_bits();
};

/// One dispatch of a kernel.
struct KernelPass {
    std::string kernel;  ///< file under shaders/, without ".comp"
    std::vector<std::pair<std::string, std::string>> defines;
    std::map<std::string, KernelConstant> constants;  ///< specialization constants by the names in the kernel's text
    std::vector<KernelOperand> operands;              ///< in0, in1, ... of the kernel
    std::array<std::uint32_t, 3> groups{1, 1, 1};     ///< workgroups
    std::uint32_t invocations = 0;    ///< of a workgroup, in x, at most max_invocations; 0: DevicePlan::workgroup_size
    std::uint32_t subgroup_size = 0;  ///< of whole subgroups that these make; 0: as they come
    int writes = -1;                  ///< number of the scratch buffer that it writes; -1: the node's outputs
    DType writes_type = DType::fp32;  ///< of that scratch buffer's elements
    bool stores_quads = false;        ///< it stores whole quads there, not single elements
    double work = 0;                  ///< arithmetic operations of this pass, a multiply-add counts two
    std::size_t held_registers = 0;   ///< of 32 bits, that an invocation's results take beside the one that is stored
    /// It wants inK_load8 (of i8 words8, of fp16 load2q and load8q), which are there (INK_EIGHTS) where has_load8() of
    /// kernels/common/tensors.hpp says so.
    bool reads_eights = false;
    /// Of i8: inK_words16(q), words 4q to 4q + 3; there (INK_SIXTEENS) as has_words16() says.
    bool reads_sixteens = false;
};

/// The dispatch that makes the node's outputs, and those that must run before it. A kernel of a node with several
/// outputs writes them itself, as out0, out1, ...
struct KernelChoice : KernelPass {
    std::vector<KernelPass> earlier;           ///< in execution order
    std::vector<std::uint64_t> scratch_bytes;  ///< sizes of the scratch buffers
    bool fuses_followers = true;  ///< the kernel ends in FUSED(e, n, value), so elementwise followers may join
    bool aligned = true;          ///< every FUSED call has e % 4 == 0 and n == 4 (allocations are padded)
    bool by_eights = false;       ///< it calls FUSED8(e, v, w) instead, e % 8 == 0, for the quads at e and e + 4
    bool in_rows =
        false;  ///< every FUSED call has quads of the output's last dimension, counted from the start of each row
    bool moves_bits =
        false;              ///< what it gives FUSED are elements of the type as they were, where the operator may round
    std::string note;       ///< what the candidate chose and why, for the plan's text
    std::string candidate;  ///< KernelCandidate::name; set by who asked it

    double work_of_all() const {
        return std::accumulate(earlier.begin(), earlier.end(), work,
                               [](double sum, const KernelPass& pass) { return sum + pass.work; });
    }
};

/// Whether an invocation should make eight elements of a result in one store, where kernels can: each store of this
/// device is a loop, and there is enough of them.
bool wants_eights(std::int64_t elements, const DevicePlan& device);
/// How many of `pieces`, each `bytes` of consecutive memory, an invocation takes one after the other, so that it walks
/// through DevicePlan::walk_bytes: a power of two; 1 where too few invocations would be left.
std::int64_t pieces_in_turn(std::int64_t pieces, std::int64_t bytes, const DevicePlan& device);
/// How many invocations read a row of `quads` side by side at least, of `bytes` each; a power of two, at most the
/// quads. A row of four quads for each of DevicePlan::lanes_together is read by these, shorter ones in segments of 64
/// bytes.
std::int64_t lanes_of_row(std::int64_t quads, std::int64_t bytes, const DevicePlan& device);
/// How many neighbours of a row an invocation reads and makes: four, or one where rows of words are no whole quads and
/// neighbouring invocations' words are one access. Four words that are no quad are loaded and stored one by one, and
/// each time neighbouring invocations touch every fourth word.
std::int64_t row_step(std::int64_t row, DType read, DType made, const DevicePlan& device);
/// Whether every load from a tensor is a loop over the lanes: many instructions for few bytes, so that few loads are on
/// their way at a time.
inline bool loads_are_loops(const DevicePlan& device) { return device.slow_storage && device.texel_elements == 0; }

/// n / d, rounded up.
constexpr std::int64_t quotient_up(std::int64_t n, std::int64_t d) { return (n + d - 1) / d; }

/// Workgroups for at least this many invocations, spilled from x into y where the device limits x. Kernels recover the
/// flat index with invocation_index() of shaders/lib/index.glsl.
std::array<std::uint32_t, 3> linear_groups(std::int64_t invocations, const DevicePlan& device);
/// The same for a number of whole workgroups.
std::array<std::uint32_t, 3> spill_groups(std::int64_t groups, const DevicePlan& device);

struct KernelCandidate {
    using Plan = std::optional<KernelChoice>(const NodeView& view, const DevicePlan& device, std::string& why);

    std::string name;
    std::function<Plan> plan;  ///< answers with a choice, or declines with a sentence in `why`
    /// Another candidate with a setting that its own rule decides differently: taken only where a tuning table names
    /// it.
    bool is_variant = false;
};

/// The candidate's answer, named. Declined too where a buffer between its passes is beyond what shaders count.
std::optional<KernelChoice> plan_candidate(const KernelCandidate& candidate, const NodeView& view,
                                           const DevicePlan& device, std::string& why);

/// A plan function with what it takes behind `why` fixed.
template <class F, class... Settings> auto fixed(F plan, Settings... settings) {
    return [=](const NodeView& view, const DevicePlan& device, std::string& why) {
        return plan(view, device, why, settings...);
    };
}

}  // namespace tosavk
