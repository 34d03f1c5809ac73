// What the compilers of GPUs made of a kernel, in the same terms for all of them.
#pragma once

#include "device/caps.hpp"
#include "device/compilers/listing.hpp"
#include "device/compilers/report.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tosavk {

/// What a compiler does not tell is absent.
struct CompilerFigures {
    std::string compiler;                         ///< "ACO", Mesa's for AMD
    std::uint32_t subgroup_size = 0;              ///< 0: not told
    std::optional<std::uint64_t> registers;       ///< of 32 bits, an invocation
    std::optional<std::uint64_t> half_registers;  ///< of 16 bits, where they are counted apart
    std::optional<std::uint64_t> spills, fills;   ///< registers that are kept in memory, and loads of them
    std::optional<std::uint64_t> scratch_bytes;   ///< an invocation: what spills, and arrays indexed by variables
    std::optional<std::uint64_t> shared_bytes;    ///< a workgroup
    std::optional<std::uint64_t> occupancy;       ///< subgroups that a unit of the GPU holds at once
    std::optional<std::uint64_t> full_occupancy;  ///< the most of these that it holds of any kernel
    std::optional<std::uint64_t> instructions;
    std::optional<Hotspot> hot;  ///< as hottest(); absent without assembly
    std::string assembly;
};

/// By the driver; absent for drivers without a parser, and where the driver told nothing.
std::optional<CompilerFigures> figures_of(const DeviceCaps& caps, const PipelineReport& report);

}  // namespace tosavk
