// Plans as short text, for tests of what the planner joins.
#pragma once

#include "compile/plan/plan.hpp"

#include <algorithm>
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

/// The first dispatch that does more than make fp32, or words of inner elements, of what another one reads.
inline const Dispatch& first_of(const Plan& plan) {
    std::size_t k = 0;
    while (plan.dispatches.at(k).kernel == "widen" || plan.dispatches[k].kernel == "turn_columns") ++k;
    return plan.dispatches[k];
}

/// How many dispatches make fp32 of what another one reads.
inline std::size_t widened(const Plan& plan) {
    return static_cast<std::size_t>(std::ranges::count(plan.dispatches, "widen", &Dispatch::kernel));
}

/// How many dispatches make words of inner elements of what another one reads.
inline std::size_t turned(const Plan& plan) {
    return static_cast<std::size_t>(std::ranges::count(plan.dispatches, "turn_columns", &Dispatch::kernel));
}

/// What its shader defines a name as; 0: nothing.
inline int first_define(const Plan& plan, const std::string& name) {
    const std::string& glsl = first_of(plan).glsl;
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
