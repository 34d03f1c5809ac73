// When a kernel computes what it reads (Group::Prologue) instead of letting another dispatch store it.
#pragma once

#include "device/device_plan.hpp"
#include "ops/op.hpp"

#include <span>
#include <string>

namespace tosavk {

/// One element of a value that a prologue would make.
struct PrologueCost {
    double operations = 0;    ///< in simple arithmetic operators
    double leaf_bytes = 0;    ///< read
    double result_bytes = 0;  ///< of the element itself
};

/// Of elementwise and reading view nodes over one index space, in execution order; the last one makes the value.
PrologueCost prologue_cost(const Graph& graph, std::span<const NodeId> members);

/// Whether a kernel that reads each element `reads` times with `invocations` should compute it each time; else why not,
/// in a sentence. `elements`: of the value.
bool prologue_pays(const PrologueCost& cost, double reads, double invocations, double elements,
                   const DevicePlan& device, std::string& why);

}  // namespace tosavk
