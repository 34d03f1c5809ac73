// Plans as short text, for tests of what the planner joins.
#pragma once

#include "compile/plan/plan.hpp"

#include <string>

namespace tosavk::test {

/// Any device without peculiarities.
inline DevicePlan test_device() {
    DevicePlan device;
    device.busy_invocations = 1;  // reductions in one pass
    device.max_binding_bytes = 128 << 20;
    device.max_buffers = 12;
    device.rte = true;
    return device;
}

/// What the dispatches do, in order.
inline std::string labels(const Plan& plan) {
    std::string text;
    for (const Dispatch& d : plan.dispatches) text += (text.empty() ? "" : " | ") + d.label;
    return text;
}

/// Of the plan with all passes, or without one.
inline std::string plan_with(const Graph& graph, bool PlanOptions::* pass = nullptr) {
    PlanOptions options;
    if (pass) options.*pass = false;
    return labels(make_plan(graph, test_device(), options));
}

inline Attributes along(std::int32_t axis) {
    Attributes attrs;
    attrs.axis = axis;
    return attrs;
}

}  // namespace tosavk::test
