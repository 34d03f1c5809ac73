// Packages: a graph with its plan, shaders and packed weights in one file, made ahead of time by `tosa-vk compile`. The
// graph runs anywhere; the plan and the shaders serve the device plan, the options and the library that they were made
// for, and elsewhere the graph is compiled as if they were not there.
//
// The file: a fixed header with the file's size and a checksum of what follows, then the fields of Package one after
// another. Damage is Error(bad_model). A checksum is no defence against intent: a package holds programs for the
// device, so that it is to be trusted like a program.
#pragma once

#include "base/digest.hpp"
#include "compile/plan/plan.hpp"

#include <span>
#include <string>
#include <vector>

namespace tosavk {

struct PackagedShader {
    std::string glsl;
    std::vector<std::uint32_t> spirv;
};

/// What a .tosa file does not say of a graph's input or output.
struct PackagedScale {
    double scale = 0;
    std::int64_t zero_point = 0;
    HostKind declared = HostKind::graph;
};

struct Package {
    Bytes tosa;              ///< the graph as a TOSA 1.0 flatbuffer
    bool fast_fp16 = false;  ///< of the graph
    std::vector<PackagedScale> inputs, outputs;
    Digest target{};                      ///< package_target() of what the plan was made for
    Digest numbering{};                   ///< graph_numbering() of the graph that the plan means
    std::vector<PackagedShader> shaders;  ///< every source of the plan, once
    Plan plan;                            ///< of the graph as import_tosa() reads it
};

bool is_package(std::span<const std::byte> file);
/// Throws Error(unsupported) for a plan with kernels that are not ours.
Bytes write_package(Package package);
/// Throws Error(bad_model). What it returns is sound in itself; whether it fits its graph is for check_package() to
/// say.
Package read_package(std::span<const std::byte> file);
/// Throws Error(bad_model) when the plan touches nodes or values that the graph does not have.
void check_package(const Package& package, const Graph& graph);

/// All that a plan depends on beside its graph.
Digest package_target(const DevicePlan& device, const PlanOptions& options);
/// Of the names, types, shapes and numbers of values and nodes.
Digest graph_numbering(const Graph& graph);

}  // namespace tosavk
