// A plan whose kernels write down which words of memory they touch: for src/verify/access.hpp, which looks at them as
// GPUs of several subgroup sizes would.
#pragma once

#include "compile/plan/plan.hpp"

#include <cstdint>
#include <vector>

namespace tosavk {

struct AccessOptions {
    std::uint32_t workgroups = 4;  ///< of each dispatch, the first ones
    std::uint32_t records = 512;   ///< of each invocation; further ones are counted only
};

/// Where the records of one dispatch lie in the arena after a run. Of each invocation, workgroup by workgroup: how many
/// it made, then AccessOptions::records pairs of words, `touched` of shaders/lib/types.glsl.
struct AccessList {
    std::size_t dispatch = 0;
    Placement place;
    std::uint32_t workgroups = 0, invocations = 0, records = 0;
};

/// Adds to each dispatch of the outermost graph that has a source of ours a binding for its records.
std::vector<AccessList> watch_accesses(Plan& plan, const DevicePlan& device, const AccessOptions& options);

}  // namespace tosavk
