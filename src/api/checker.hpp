// The check of one device on one graph: every node answers to its own fp64 reference on the inputs that the device
// really gave it, and the fused run must give the bits of the unfused one.
#pragma once

#include "graph/host_tensor.hpp"
#include "vk/context.hpp"
#include "vk/executable.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace tosavk::api {

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
    /// `fused` is the executable to check; without one the graph is compiled.
    Checker(const std::shared_ptr<Device>& device, const std::shared_ptr<const Graph>& graph,
            std::shared_ptr<Executable> fused = nullptr);

    CheckReport run(std::uint64_t seed);
    CheckReport run(std::span<const HostTensor> inputs);  ///< one per graph input

private:
    std::shared_ptr<const Graph> graph_;
    std::shared_ptr<Executable> unfused_, fused_;
    Context unfused_context_, fused_context_;
};

}  // namespace tosavk::api
