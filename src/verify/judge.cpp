#include "verify/judge.hpp"

#include "device/compilers/figures.hpp"
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

/// Where nothing runs, a graph passes that the driver compiles without a register in memory.
void add_compile(CaseReport& report, const std::shared_ptr<Device>& device, const std::shared_ptr<const Graph>& graph,
                 const std::shared_ptr<const TuningTable>& tuning, const std::string& with) {
    PlanOptions options = with_environment({});
    const auto table = tuning ? tuning : device->tuning();
    if (tuning) options.tuned = true;
    const auto made = Executable::create(device, graph, make_plan(*graph, device->plan(), options, table.get()));
    const std::vector<MadePipeline> pipelines = made->pipelines();
    std::size_t k = 0;
    for_each_dispatch(made->plan(), [&](const Dispatch& dispatch) {
        const PipelineReport* told = pipelines.at(k++).report;
        const auto figures = told ? figures_of(device->caps(), *told) : std::nullopt;
        if (!report.passed || !figures) return;
        const std::uint64_t spills = figures->spills.value_or(0), fills = figures->fills.value_or(0);
        if (spills == 0 && fills == 0) return;
        report.passed = false;
        report.detail = fmt::format("{}{} [{}] spills {} registers and loads them {} times", with, dispatch.label,
                                    dispatch.kernel, spills, fills);
    });
}

}  // namespace

Judge judge_on(std::shared_ptr<Device> device, bool all_candidates) {
    return [device = std::move(device), all_candidates](const RandomCase& made) {
        const auto graph = std::make_shared<const Graph>(made.graph);
        CaseReport report;
        const auto add = [&](const std::shared_ptr<const TuningTable>& table, const std::string& with) {
            if (device->runs()) add_check(report, device, graph, made, table, with);
            else add_compile(report, device, graph, table, with);
        };
        if (!all_candidates) {
            add(nullptr, "");
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
            add(table, names.empty() ? names : fmt::format("with '{}': ", names));
        }
        return report;
    };
}

}  // namespace tosavk::conformance
