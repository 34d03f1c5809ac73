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

/// What the first dispatch's shader defines a name as; 0: nothing.
inline int first_define(const Plan& plan, const std::string& name) {
    const std::string& glsl = plan.dispatches.at(0).glsl;
    const std::string key = "#define " + name + " ";
    const std::size_t at = glsl.find(key);
    return at == std::string::npos ? 0 : std::stoi(glsl.substr(at + key.size()));
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
