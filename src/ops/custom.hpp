// The operators behind CUSTOM: whoever knows them registers a kernel and a reference under a domain and a name.
#pragma once

#include "ops/op.hpp"

#include <array>
#include <functional>
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

/// For the whole library; thread-safe. Throws Error(usage) when it is incomplete or the name is taken.
void register_custom(CustomOperator op);
/// Graphs that are compiled keep it. False when it was not registered.
bool unregister_custom(const std::string& domain, const std::string& name);
/// nullptr when nobody registered it.
std::shared_ptr<const CustomOperator> find_custom(const std::string& domain, const std::string& name);
/// Runs its `check` too. Throws Error(unsupported) naming domain and operator.
std::shared_ptr<const CustomOperator> custom_of(const NodeView& view);

}  // namespace tosavk
