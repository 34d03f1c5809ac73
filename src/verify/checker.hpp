// The check of one device on one graph: every node answers to its own fp64 reference on the inputs that the device
// really gave it, and the fused run must give the bits of the unfused one. The nodes of a region are checked likewise:
// the region is run on its own, on what the device gave the operator, turn by turn, and the operator's outputs must
// have the bits that this leads to. A variable's reads and writes are followed in the order of the nodes.
#pragma once

#include "compile/plan/tuning.hpp"
#include "graph/host_tensor.hpp"
#include "reference/reference.hpp"
#include "vk/record/executable.hpp"
#include "vk/run/context.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace tosavk {

/// Input `index` of the graph, drawn from `seed`.
HostTensor random_input(const Graph& graph, std::size_t index, std::uint64_t seed);

struct CheckReport {
    bool passed = true;
    std::uint64_t values_checked = 0;
    double worst = 0;
    std::string detail;
    struct Node {
        Op op = Op::unknown;
        double worst = 0, variance = 0, bias = 0;  ///< see CheckResult
        std::string detail;                        ///< of its worst element
    };
    std::vector<Node> nodes;  ///< those that were compared, in order; the worst of their outputs
};

class Checker {
public:
    /// `fused` is the executable to check; without one the graph is compiled, with the choices of `tuning` or, without
    /// a table, of the device. The unfused run takes the same kernels.
    Checker(const std::shared_ptr<Device>& device, const std::shared_ptr<const Graph>& graph,
            std::shared_ptr<Executable> fused = nullptr, std::shared_ptr<const TuningTable> tuning = nullptr);

    CheckReport run(std::uint64_t seed);
    /// One input per graph input. Variables begin with their initial values, or with those of `state`, which then holds
    /// what the run left.
    CheckReport run(std::span<const HostTensor> inputs, VariableState* state = nullptr);

private:
    bool check_nodes(VariableState& state, CheckReport& report);
    bool check_structural(const NodeView& view, std::span<const HostTensor* const> operands,
                          std::span<const HostTensor* const> results, VariableState& state, CheckReport& report);
    bool run_region(const NodeView& view, std::size_t region, std::vector<HostTensor>& list, VariableState& state,
                    CheckReport& report);
    bool check_state(VariableState& state, CheckReport& report);
    void load_state(Context& context, VariableState& state) const;
    std::vector<HostTensor> outputs();  ///< of the unfused run

    std::shared_ptr<Device> device_;
    std::map<const Graph*, std::unique_ptr<Checker>> regions_;  ///< made when they are first run
    std::shared_ptr<const Graph> graph_;
    std::shared_ptr<const TuningTable> tuning_;
    std::shared_ptr<Executable> unfused_, fused_;
    std::shared_ptr<const Graph> judged_;  ///< the graph as what its results are held to
    std::vector<bool> fast_;               ///< by value: precision fast has a part in it
    Context unfused_context_, fused_context_;
};

}  // namespace tosavk
