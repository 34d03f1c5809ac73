// Whether the plan of a package fits its graph and is sound in itself. What depends on the device is checked where the
// plan is carried out (vk/record/executable.cpp).
#include "ops/storage.hpp"
#include "ops/trips.hpp"
#include "store/package.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace tosavk {
namespace {

[[noreturn]] void wrong(const std::string& what) {
    throw Error(ErrorCode::bad_model, "the package is damaged: " + what);
}

/// What a shader declares of its buffers.
struct DeclaredBuffers {
    static constexpr std::uint32_t decorate = 71, variable = 59, binding = 33, descriptor_set = 34;
    static constexpr std::uint32_t uniform_constant = 0, uniform = 2, storage_buffer = 12;

    std::map<std::uint32_t, std::uint32_t> bindings, classes;  ///< by the variable's id

    /// The words are instructions from end to end.
    explicit DeclaredBuffers(std::span<const std::uint32_t> words) {
        if (words.size() < 5 || words[0] != 0x07230203) wrong("a shader is no SPIR-V");
        for (std::size_t at = 5; at < words.size();) {
            const std::uint32_t length = words[at] >> 16, code = words[at] & 0xffff;
            if (length == 0 || length > words.size() - at) wrong("a shader's instructions are cut off");
            if (code == decorate && length >= 4) {
                if (words[at + 2] == binding) bindings[words[at + 1]] = words[at + 3];
                if (words[at + 2] == descriptor_set && words[at + 3] != 0)
                    wrong("a shader has a descriptor set too many");
            }
            if (code == variable && length >= 4) classes[words[at + 2]] = words[at + 3];
            at += length;
        }
    }

    /// Every buffer is one of the dispatch's, and of its kind: a driver takes the word of the shader for both.
    void check(const std::vector<Binding>& bound) const {
        for (const auto& [id, number] : bindings) {
            if (number >= bound.size()) wrong("a shader has a buffer that its dispatch lacks");
            const auto found = classes.find(id);
            if (found == classes.end()) continue;
            const bool texels = is_texels(bound[number].path);
            const bool fits = texels ? found->second == uniform_constant
                                     : found->second == uniform || found->second == storage_buffer;
            if (!fits) wrong("a shader reads a buffer in another way than its dispatch binds it");
        }
    }
};

class Checker {
public:
    explicit Checker(const Package& package) {
        for (const PackagedShader& shader : package.shaders) {
            if (!shaders_.emplace(shader.glsl, shader.spirv).second) wrong("a source has two shaders");
        }
    }

    void check(const Package& package, const Graph& graph) {
        check_plan(package.plan, graph);
        check_sizes(package.plan);
        for (const ValueId id : graph.outputs) {
            const Space space = package.plan.placements[id].space;
            if (has_no_elements(graph.value(id).shape)) continue;
            if (space == Space::none ? !graph.value(storage_of(graph, id)).is_constant()
                                     : space == Space::state || space == Space::host)
                wrong("an output has no memory");
        }
    }

private:
    void check_plan(const Plan& plan, const Graph& graph) {
        if (plan.placements.size() != graph.values.size() || plan.variables.size() != graph.variables.size())
            wrong("its plan is for another graph");
        for (ValueId id = 0; id < graph.values.size(); ++id)
            add_tensor(plan.placements[id], graph.values[id].shape, graph.values[id].type);
        for (std::size_t v = 0; v < graph.variables.size(); ++v) {
            if (plan.variables[v].space != Space::state) wrong("a variable does not lie with the variables");
            add_tensor(plan.variables[v], graph.variables[v].shape, graph.variables[v].type);
        }
        for (const Dispatch& dispatch : plan.dispatches) check_dispatch(dispatch, graph);
        std::size_t before = 0;
        for (const ControlStep& control : plan.controls) {
            if (control.before < before || control.before > plan.dispatches.size())
                wrong("a control step has no place");
            before = control.before;
            check_control(control, graph);
        }
    }

    void check_dispatch(const Dispatch& dispatch, const Graph& graph) {
        for (const NodeId id : dispatch.nodes) {
            if (id >= graph.nodes.size()) wrong(fmt::format("there is no node {}", id));
        }
        for (const ValueId id : dispatch.written) {
            if (id >= graph.values.size()) wrong(fmt::format("there is no value {}", id));
        }
        // What the device at hand takes is asked when pipelines are made.
        if (dispatch.invocations > max_invocations || (dispatch.subgroup_size != 0 && dispatch.invocations == 0)) {
            wrong(fmt::format("a workgroup has {} invocations", dispatch.invocations));
        }
        for (const Binding& binding : dispatch.bindings) add(binding.place);
        if (!dispatch.is_copy()) shaders_.at(dispatch.glsl).check(dispatch.bindings);
    }

    void check_control(const ControlStep& control, const Graph& graph) {
        if (control.node >= graph.nodes.size()) wrong(fmt::format("there is no node {}", control.node));
        const Node& node = graph.node(control.node);
        const std::size_t regions = node.regions.size() + (control.is_gated() || control.alternates() ? 1 : 0);
        if (node.regions.size() != 2 || regions != control.regions.size() ||
            control.is_loop != (node.op == Op::while_loop))
            wrong("a control step is for another node");
        if (!control.is_loop && control.turns >= 0) wrong("a branch turns like a loop");
        if (control.is_gated() && (!control.is_loop || control.turns >= 0)) wrong("a gate is in no loop's way");
        if (control.is_decided()) ++decisions_;
        if (control.turns >= 0) check_turns(control, graph);
        if (control.is_gated()) {
            if (control.most >= 0) check_most(control, graph);
            for (const Dispatch& dispatch : control.regions.back().plan.dispatches) check_dispatch(dispatch, graph);
        }
        if (control.alternates()) {
            if (!control.is_loop) wrong("a branch turns like a loop");
            check_plan(control.regions[2].plan, *node.regions[1]);
        }
        for (std::size_t r = 0; r < node.regions.size(); ++r) {
            const Plan& plan = control.regions[r].plan;
            if (control.turns < 0 || r > 0) check_plan(plan, *node.regions[r]);
            else if (!plan.dispatches.empty() || !plan.controls.empty()) wrong("a loop whose turns are known asks");
        }
    }

    // Nothing is known here of a bound that only folding made a constant: the planner may have known more.
    void check_turns(const ControlStep& control, const Graph& graph) {
        constexpr std::int64_t most = std::int64_t{1} << 32;  // a counter has 32 bits
        const auto known = trip_count(graph, control.node);
        if (control.turns > most || (known && *known != control.turns)) wrong("a loop turns another number of times");
    }

    void check_most(const ControlStep& control, const Graph& graph) {
        const auto bound = trip_bound(graph, control.node);
        if (control.most > most_gated_turns || (bound && *bound < control.most))
            wrong("a loop turns at most another number of times");
    }

    /// A tensor's memory holds the tensor, and ends with it but for the padding.
    void add_tensor(const Placement& place, const Shape& shape, DType type) {
        constexpr std::uint64_t padding = 64;
        const auto bytes = static_cast<std::uint64_t>(element_count(shape)) * size_of(type);
        if (place.space != Space::none && (place.size < bytes || place.size > bytes + padding))
            wrong(fmt::format("a tensor of {} bytes has {} bytes of memory", bytes, place.size));
        add(place);
    }

    void add(const Placement& place) {
        if (!seen_.emplace(place.space, place.offset, place.size).second) return;
        constexpr std::uint64_t alignment = 4096;  // what lies between two tensors is less
        std::uint64_t& sum = bytes_[place.space];
        sum += std::min(place.size, std::numeric_limits<std::uint64_t>::max() / 2 - sum);
        sum += std::min(alignment, std::numeric_limits<std::uint64_t>::max() / 2 - sum);
    }

    /// No number alone asks for memory: something lies in every part of it.
    void check_sizes(const Plan& plan) {
        const std::tuple<const char*, Space, std::uint64_t> spaces[] = {
            {"arena", Space::arena, plan.arena_bytes},
            {"memory of the variables", Space::state, plan.state_bytes},
            {"memory of inputs and outputs", Space::external, plan.external_bytes}};
        for (const auto& [name, space, size] : spaces) {
            if (size > bytes_[space])
                wrong(fmt::format("its {} has {} bytes, and all that lies there {}", name, size, bytes_[space]));
        }
        if (plan.decisions != decisions_)
            wrong(fmt::format("it has {} decisions and should have {}", decisions_, plan.decisions));
    }

    std::map<std::string_view, DeclaredBuffers> shaders_;
    std::set<std::tuple<Space, std::uint64_t, std::uint64_t>> seen_;
    std::map<Space, std::uint64_t> bytes_;
    std::uint64_t decisions_ = 0;
};

}  // namespace

void check_package(const Package& package, const Graph& graph) {
    if (package.inputs.size() != graph.inputs.size() || package.outputs.size() != graph.outputs.size())
        wrong("its plan is for another graph");
    Checker(package).check(package, graph);
}

}  // namespace tosavk
