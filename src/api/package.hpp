// Packages behind the C ABI: loading one beside its graph, and making an executable from it where it fits.
#pragma once

#include "api/handles.hpp"
#include "frontends/frontend.hpp"
#include "store/package.hpp"

namespace tosavk::api {

/// A model of any format; `package` is set when it was one. `origin` stands in messages.
struct LoadedModel {
    Graph graph;
    std::shared_ptr<const Package> package;
};
LoadedModel load_model(std::span<const std::byte> file, const std::string& origin, const ImportOptions& options);

enum class PackageUse : std::uint8_t { none = 0, used = 1, did_not_fit = 2 };

/// From the graph's package where that is for this device and these options, else planned and compiled.
std::shared_ptr<Executable> make_executable(const tosavk_device& target, const tosavk_graph& graph,
                                            const PlanOptions& options, PackageUse& use, Progress& progress);

}  // namespace tosavk::api
