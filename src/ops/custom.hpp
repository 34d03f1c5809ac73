// The operators behind CUSTOM: whoever knows them gives a kernel and a reference under a domain and a name, in a set. A
// node holds its operator (Node::custom), so that graphs and what is made of them keep it, and two programs in one
// process may mean different things by one name.
#pragma once

#include "ops/op.hpp"

#include <array>
#include <functional>
#include <map>
#include <memory>

namespace tosavk {

/// What one node needs of its kernel.
struct CustomDispatch {
    std::array<std::uint32_t, 3> groups{1, 1, 1};  ///< workgroups, each at least 1
    std::vector<std::int32_t> constants;           ///< specialization constants, ids 0..
};

struct CustomOperator {
    std::string domain, name;
    /// A compute shader with entry point "main": inputs, then outputs as storage buffers 0.. of set 0. Empty: reference
    /// only.
    std::vector<std::uint32_t> spirv;
    std::function<CustomDispatch(const NodeView&)> dispatch;
    std::function<void(const NodeView&)> check;  ///< throws view.fail() for operands it does not take; may be empty
    std::function<void(RefContext&)> reference;  ///< fills `outputs` in declared types
    double tolerance = 0;  ///< of float results, relative to the reference's magnitude; 0: the same bits
};

/// Operators by domain and name. What is said of nodes that have none: `custom_needs`.
class CustomSet {
public:
    /// Throws Error(usage) when it is incomplete or the name is taken.
    void add(CustomOperator op);
    /// nullptr when it is not there.
    std::shared_ptr<const CustomOperator> find(const std::string& domain, const std::string& name) const;

private:
    std::map<std::pair<std::string, std::string>, std::shared_ptr<const CustomOperator>> operators_;
};

/// Of a node that nothing carries out, in the probes of all front ends.
inline constexpr const char* custom_needs =
    "a custom operator of this name, the graph's or the device's, before it can run";

/// Of a node that has one; runs its `check` too. Throws Error(unsupported) naming domain and operator.
std::shared_ptr<const CustomOperator> custom_of(const NodeView& view);
/// The graph with operators for those of its CUSTOM nodes, and of its regions, that have none; itself where nothing
/// changes.
std::shared_ptr<const Graph> with_customs(std::shared_ptr<const Graph> graph, const CustomSet& customs);
/// Whether it, or a region of it, has CUSTOM nodes.
bool has_custom(const Graph& graph);

}  // namespace tosavk
