#include "api/pipelines.hpp"

#include "device/compilers/figures.hpp"
#include "verify/access.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace tosavk::api {

namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<std::uint64_t>& value) { return value ? Json(*value) : Json(nullptr); }

/// Whole numbers without a fraction.
Json number(double value) {
    const bool whole = value >= -0x1p53 && value <= 0x1p53 && value == std::floor(value);
    return whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

Json compiler_json(const CompilerFigures& figures) {
    Json result;
    result["name"] = figures.compiler;
    result["subgroup_size"] = figures.subgroup_size;
    result["registers"] = number(figures.registers);
    result["half_registers"] = number(figures.half_registers);
    result["spills"] = number(figures.spills);
    result["fills"] = number(figures.fills);
    result["scratch_bytes"] = number(figures.scratch_bytes);
    result["shared_bytes"] = number(figures.shared_bytes);
    result["occupancy"] = number(figures.occupancy);
    result["full_occupancy"] = number(figures.full_occupancy);
    result["instructions"] = number(figures.instructions);
    const auto hot = [&](const char* name, std::size_t Hotspot::* count) {
        result[name] = figures.hot ? Json((*figures.hot).*count) : Json(nullptr);
    };
    hot("hot_multiply_adds", &Hotspot::multiply_adds);
    hot("hot_instructions", &Hotspot::instructions);
    hot("hot_matrix", &Hotspot::matrix);
    hot("hot_shared_loads", &Hotspot::shared_loads);
    hot("hot_loads", &Hotspot::loads);
    hot("hot_conversions", &Hotspot::conversions);
    hot("hot_scratch", &Hotspot::scratch);
    hot("hot_waits", &Hotspot::waits);
    return result;
}

}  // namespace

std::string pipelines_json(const Executable& executable, bool assembly) {
    const Device& device = executable.device();
    const std::vector<MadePipeline> pipelines = executable.pipelines();
    auto all = Json::array();
    for_each_dispatch(executable.plan(), [&](const Dispatch& dispatch) {
        const MadePipeline& made = pipelines.at(all.size());
        Json one;
        one["dispatch"] = all.size();
        one["label"] = dispatch.label;
        one["kernel"] = dispatch.kernel;
        one["groups"] = dispatch.groups;
        one["invocations"] = dispatch.invocations != 0 ? dispatch.invocations : device.plan().workgroup_size;
        one["pipeline"] = made.number != no_id ? Json(made.number) : Json(nullptr);
        if (made.report) {
            one["compile_ms"] = made.report->compile_ms;
            const auto figures = figures_of(device.caps(), *made.report);
            if (figures) one["compiler"] = compiler_json(*figures);
            auto statistics = Json::object();
            for (const CompiledProgram& program : made.report->programs) {
                for (const CompilerStatistic& statistic : program.statistics)
                    statistics[statistic.name] = number(statistic.value);
            }
            one["statistics"] = std::move(statistics);
            if (assembly && figures) one["assembly"] = figures->assembly;
        }
        all.push_back(std::move(one));
    });
    // Names and texts come from drivers: bytes that are no UTF-8 are replaced.
    return all.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string accesses_json(const Executable& executable) {
    auto all = Json::array();
    for (const DispatchAccesses& measured : measure_accesses(executable)) {
        const Dispatch& dispatch = executable.plan().dispatches.at(measured.list.dispatch);
        Json one;
        one["dispatch"] = measured.list.dispatch;
        one["label"] = dispatch.label;
        one["kernel"] = dispatch.kernel;
        one["groups"] = dispatch.groups;
        one["invocations"] = measured.list.invocations;
        one["watched_groups"] = measured.list.workgroups;
        one["lost"] = measured.lost;
        one["own_subgroups"] = measured.own_subgroups;
        auto places = Json::array();
        for (const auto& [size, figures] : measured.sizes) {
            for (const auto& [place, sums] : figures) {
                Json row;
                row["subgroup_size"] = size;
                row["memory"] = place.shared ? "shared" : "buffer";
                row["number"] = place.number;
                row["name"] = place.shared ? "" : dispatch.bindings.at(place.number).label;
                row["stored"] = place.stored;
                row["accesses"] = sums.accesses;
                row["segments"] = sums.segments;
                row["fewest"] = sums.fewest;
                row["excess"] = sums.excess();
                row["lanes"] = sums.lanes;
                row["idle"] = sums.idle;
                places.push_back(std::move(row));
            }
        }
        one["places"] = std::move(places);
        all.push_back(std::move(one));
    }
    return all.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tosavk::api
