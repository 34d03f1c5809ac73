#include "verify/judge.hpp"

#include "verify/checker.hpp"

#include <fmt/format.h>

namespace tosavk::conformance {

namespace {

void add_check(CaseReport& report, const std::shared_ptr<Device>& device, const std::shared_ptr<const Graph>& graph,
               const RandomCase& made, const std::shared_ptr<const TuningTable>& tuning, const std::string& with) {
    const CheckReport found = Checker(device, graph, nullptr, tuning).run(made.inputs);
    report.passed = found.passed;
    report.detail = with + found.detail;
    for (const CheckReport::Node& node : found.nodes)
        report.nodes.push_back({node.op, node.worst, node.variance, node.bias, with + node.detail});
}

}  // namespace

Judge judge_on(std::shared_ptr<Device> device, bool all_candidates) {
    return [device = std::move(device), all_candidates](const RandomCase& made) {
        const auto graph = std::make_shared<const Graph>(made.graph);
        CaseReport report;
        if (!all_candidates) {
            add_check(report, device, graph, made, nullptr, "");
            return report;
        }
        const std::vector<KernelSite> sites = kernel_sites(*graph, device->plan(), with_environment({}));
        std::size_t most = 1;
        for (const KernelSite& site : sites) most = std::max(most, site.candidates.size());
        for (std::size_t k = 0; report.passed && k < most; ++k) {
            auto table = std::make_shared<TuningTable>();
            std::string names;
            for (const KernelSite& site : sites) {
                if (k >= site.candidates.size()) continue;
                table->choices.emplace(site.signature, site.candidates[k]);
                names += (names.empty() ? "" : ", ") + site.candidates[k];
            }
            add_check(report, device, graph, made, table, names.empty() ? names : fmt::format("with '{}': ", names));
        }
        return report;
    };
}

}  // namespace tosavk::conformance
