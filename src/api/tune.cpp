// The tuner of the C ABI: measures, checks against the reference, keeps.
#include "api/handles.hpp"
#include "verify/checker.hpp"
#include "vk/measure/tuner.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>

using namespace tosavk;
using namespace tosavk::api;

namespace {

nlohmann::ordered_json site_json(const TunedSite& site) {
    auto candidates = nlohmann::ordered_json::array();
    for (const TunedSite::Candidate& candidate : site.candidates) {
        const bool measured = candidate.excluded.empty() && candidate.ms > 0;
        nlohmann::ordered_json entry{{"name", candidate.name}};
        entry["ms"] = measured ? nlohmann::ordered_json(candidate.ms) : nlohmann::ordered_json(nullptr);
        entry["ratio"] = measured ? nlohmann::ordered_json(candidate.ratio()) : nlohmann::ordered_json(nullptr);
        if (!candidate.excluded.empty()) entry["excluded"] = candidate.excluded;
        candidates.push_back(std::move(entry));
    }
    return {{"node", site.node},
            {"label", site.label},
            {"nodes", site.site.nodes.size()},
            {"signature", site.site.signature},
            {"candidates", std::move(candidates)},
            {"chosen", site.candidates[site.chosen].name},
            {"ratio", site.candidates[site.chosen].ratio()}};
}

/// What the device made of the graph with the table that it has now.
CheckReport check(const std::shared_ptr<Device>& device, const std::shared_ptr<const Graph>& graph,
                  std::uint64_t seed) {
    return Checker(device, graph).run(seed);
}

}  // namespace

tosavk_status tosavk_tune(tosavk_device* device, const tosavk_graph* graph, const tosavk_tune_options* options,
                          tosavk_text** json, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        call.require(graph, "graph");
        call.require(json, "json");
        const tosavk_tune_options given = read_struct(options, "tosavk_tune_options");
        require_zero(given.reserved, "tosavk_tune_options.reserved");
        if (!(given.min_time_s >= 0 && given.min_time_s <= 3600))
            throw Error(ErrorCode::usage, "min_time_s of tosavk_tune_options takes 0 to 3600 seconds");
        if (graph->package)
            throw Error(ErrorCode::usage,
                        "the kernels of a package are chosen already; tune its model and compile it anew");
        const PlanOptions plan_options = api::plan_options(nullptr);
        if (!plan_options.tuned)
            throw Error(ErrorCode::usage, "TOSAVK_NO_TUNING is set: what is measured would not be used");
        TuneOptions tune_options;
        if (given.min_time_s > 0) tune_options.seconds = given.min_time_s;
        tune_options.seed = given.seed;

        Progress progress(progress_listener(given.progress, given.user));
        const ProgressScope scope(progress);
        Device& target = *device->device;
        const std::shared_ptr<const Graph> whole = graph_for(*device, *graph);
        const std::vector<TunedSite> sites = tune(device->device, whole, plan_options, tune_options);
        const TuningTable choices = table_of(sites);
        const std::shared_ptr<const TuningTable> before = target.tuning();
        auto after = std::make_shared<TuningTable>(choices);
        after->choices.insert(before->choices.begin(), before->choices.end());
        target.set_tuning(after);
        std::optional<CheckReport> report;
        try {
            if (!is_set(given.no_check, "no_check")) report = check(device->device, whole, given.seed);
        } catch (...) {
            target.set_tuning(before);
            throw;
        }
        const bool accepted = !report || report->passed;
        if (!accepted) target.set_tuning(before);

        nlohmann::ordered_json result;
        result["sites"] = nlohmann::ordered_json::array();
        for (const TunedSite& site : sites) result["sites"].push_back(site_json(site));
        result["checked"] = report ? nlohmann::ordered_json(report->passed) : nlohmann::ordered_json(nullptr);
        result["detail"] = report ? report->detail : "";
        result["stored"] = accepted && target.save_tuning(choices);
        *json = make_text(result.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    });
}
