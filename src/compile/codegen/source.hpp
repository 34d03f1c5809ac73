// From a group of nodes to one GLSL compute shader. A group is a maximal set of elementwise nodes over one index space,
// on its own or behind a kernel that makes their first operand (its epilogue); others may lie before the kernel and
// make what it reads (its prologues). Shapes and attributes become specialization constants, so that equal structure
// gives equal text; some numbers of kernels, and with `late_sizes` what depends on an outermost size, become push
// constants.
#pragma once

#include "compile/group/group.hpp"

namespace tosavk {

struct GroupSource {
    std::string glsl;
    std::vector<std::int32_t> constants;  ///< by specialization id, from 0; the kernel's own first
    std::vector<std::int32_t> pushed;     ///< push constants; 0 stands for them in `constants`
    std::vector<KernelOperand> reads;     ///< bindings 0.., one or more each; the kernel's operands first
    std::vector<ValueId> writes;          ///< bindings after the reads
    std::size_t bindings = 0;             ///< of all of them together
    std::int64_t invocations = 0;         ///< of a purely elementwise group
};

GroupSource build_source(const Graph& graph, const Group& group, const DevicePlan& device, bool late_sizes = false);

/// An earlier pass of the group's kernel; it writes one scratch buffer, out0.
GroupSource build_pass_source(const Graph& graph, const Group& group, const KernelPass& pass, const DevicePlan& device,
                              bool late_sizes = false);

}  // namespace tosavk
