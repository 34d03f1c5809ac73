#include "verify/judge.hpp"

#include "device/compilers/figures.hpp"
#include "verify/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

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

bool has_halves(const Graph& graph) {
    return std::ranges::any_of(graph.values, [](const Value& value) { return value.type == DType::fp16; });
}

/// Calls `add` without a tuning table, or with one for every kernel and variant that may be chosen, until one fails.
void for_each_choice(const CaseReport& report, const std::shared_ptr<Device>& device, const Graph& graph,
                     bool all_candidates,
                     const std::function<void(const std::shared_ptr<TuningTable>&, const std::string&)>& add) {
    if (!all_candidates) return add(nullptr, "");
    const std::vector<KernelSite> sites = kernel_sites(graph, device->plan(), with_environment({}));
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
}

}  // namespace

Judge judge_on(std::shared_ptr<Device> device, bool all_candidates) {
    return [device = std::move(device), all_candidates](const RandomCase& made) {
        auto graph = std::make_shared<const Graph>(made.graph);
        CaseReport report;
        for_each_choice(report, device, *graph, all_candidates, [&](const auto& table, const std::string& with) {
            if (device->runs()) add_check(report, device, graph, made, table, with);
            else add_compile(report, device, graph, table, with);
        });
        if (device->runs() || !report.passed || !has_halves(*graph)) return report;
        Graph fast = made.graph;
        fast.fast_fp16 = true;
        graph = std::make_shared<const Graph>(std::move(fast));
        for_each_choice(report, device, *graph, all_candidates, [&](const auto& table, const std::string& with) {
            add_compile(report, device, graph, table, "precision fast, " + with);
        });
        return report;
    };
}

}  // namespace tosavk::conformance
