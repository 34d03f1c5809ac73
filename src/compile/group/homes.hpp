// Whose memory a value lies in.
#pragma once

#include "compile/options.hpp"
#include "device/device_plan.hpp"
#include "graph/graph.hpp"

#include <cstdint>
#include <vector>

namespace tosavk {

/// A value that has no memory of its own lies in another's: all of it, under another shape (RESHAPE, IDENTITY), or a
/// part (SLICE of consecutive elements that begin where a binding may, unless one elementwise operator alone reads it).
/// What a loop's body hands on unchanged lies where the loop's input does.
struct Home {
    ValueId owner = no_id;
    std::uint64_t offset = 0;  ///< bytes, a multiple of DevicePlan::buffer_alignment
};

/// By ValueId. An owner is never a constant where there is an offset.
std::vector<Home> find_homes(const Graph& graph, const DevicePlan& device, const PlanOptions& options);

}  // namespace tosavk
