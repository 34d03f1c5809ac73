#include "vk/measure/tuner.hpp"

#include "base/progress.hpp"
#include "reference/reference.hpp"
#include "vk/run/context.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

namespace tosavk {

namespace {

using Clock = std::chrono::steady_clock;

/// A plan of the graph, ready to run, and its best times.
class Runner {
public:
    Runner(const std::shared_ptr<Device>& device, const std::shared_ptr<const Graph>& graph, Plan plan,
           std::uint64_t seed)
        : executable_(Executable::create(device, graph, std::move(plan), ProgressScope::of_thread())),
          context_(executable_, true) {
        for (std::size_t k = 0; k < graph->inputs.size(); ++k) {
            const Value& value = graph->value(graph->inputs[k]);
            context_.set_input(k, random_tensor(value.type, value.shape, seed + k).bytes);
        }
    }

    void run() {
        context_.submit();
        context_.wait();
        const std::vector<double> times = context_.dispatch_ns();
        if (best_.empty()) best_ = times;
        for (std::size_t d = 0; d < best_.size(); ++d) best_[d] = std::min(best_[d], times[d]);
    }
    void forget_times() { best_.clear(); }

    /// Milliseconds of the dispatches that these nodes begin. 0 where the device has no timestamps.
    double best_ms(const std::vector<NodeId>& nodes) const {
        double sum = 0;
        for (std::size_t d = 0; d < best_.size(); ++d) {
            const auto& of_dispatch = executable_->plan().dispatches[d].nodes;
            if (!of_dispatch.empty() && std::find(nodes.begin(), nodes.end(), of_dispatch.front()) != nodes.end())
                sum += best_[d];
        }
        return sum / 1e6;
    }

    std::vector<HostTensor> outputs() {
        const Graph& graph = executable_->graph();
        std::vector<HostTensor> all;
        for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
            const Value& value = graph.value(graph.outputs[k]);
            context_.get_output(k, all.emplace_back(value.type, value.shape).bytes);
        }
        return all;
    }

    const Plan& plan() const { return executable_->plan(); }

private:
    std::shared_ptr<Executable> executable_;
    Context context_;
    std::vector<double> best_;  ///< ns by dispatch
};

/// How far outputs may lie apart, as a share of the largest: what the coarsest type of the graph loses in many
/// operators. The exact bounds are the checker's business.
double float_tolerance(const Graph& graph) {
    double tolerance = 1e-3;
    for (const Value& value : graph.values) {
        if (!is_float(value.type) || value.type == DType::fp32) continue;
        tolerance = std::max(tolerance, size_of(value.type) == 1 ? 0.5 : value.type == DType::fp16 ? 0.02 : 0.1);
    }
    return tolerance;
}

bool agree(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b, double tolerance) {
    for (std::size_t k = 0; k < a.size(); ++k) {
        if (a[k].bytes == b[k].bytes) continue;
        if (!is_float(a[k].type)) return false;
        const std::vector<double> x = decode_reals(a[k].type, a[k].bytes), y = decode_reals(b[k].type, b[k].bytes);
        double largest = 0;
        for (const double value : x) {
            if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
        }
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
            if (!(std::fabs(x[i] - y[i]) <= tolerance * largest)) return false;
        }
    }
    return true;
}

/// Compares one candidate of every site at a time: each round is one plan of the whole graph.
class Tuner {
public:
    Tuner(const std::shared_ptr<Device>& device, const std::shared_ptr<const Graph>& graph,
          const PlanOptions& plan_options, const TuneOptions& options)
        : device_(device),
          graph_(graph),
          plan_options_(plan_options),
          options_(options),
          own_(device, graph, make_plan(*graph, device->plan(), plan_options), options.seed) {
        plan_options_.tuned = true;
        own_.run();
        outputs_ = own_.outputs();
        own_.forget_times();
        own_.run();
    }

    std::vector<TunedSite> run() {
        std::size_t rounds = 0;
        for (KernelSite& site : kernel_sites(*graph_, device_->plan(), plan_options_)) {
            TunedSite& tuned = sites_.emplace_back();
            for (const std::string& name : site.candidates) tuned.candidates.push_back({name, 0, 0, {}});
            rounds = std::max(rounds, site.candidates.size());
            tuned.site = std::move(site);
            tuned.node = graph_->node(tuned.site.nodes.front()).name;
            for (const Dispatch& dispatch : own_.plan().dispatches) {
                if (!dispatch.nodes.empty() && dispatch.nodes.front() == tuned.site.nodes.front())
                    tuned.label = dispatch.label;
            }
        }
        for (std::size_t r = 1; r < rounds; ++r) {
            compare([r](const TunedSite& site) { return r < site.candidates.size() ? r : 0; });
        }
        for (TunedSite& site : sites_) site.chosen = fastest(site);
        // What won by chance among many does not win twice.
        compare([](const TunedSite& site) { return site.chosen; });
        for (TunedSite& site : sites_) {
            TunedSite::Candidate& own = site.candidates.front();
            for (const TunedSite::Candidate& other : site.candidates) {
                if (other.own_ms > 0 && (own.ms == 0 || other.own_ms < own.ms)) own.ms = own.own_ms = other.own_ms;
            }
            if (own.ms == 0) own.ms = own.own_ms = own_.best_ms(site.site.nodes);
            if (!wins(site.candidates[site.chosen])) site.chosen = 0;
        }
        return std::move(sites_);
    }

private:
    bool wins(const TunedSite::Candidate& candidate) const {
        return candidate.excluded.empty() && candidate.ms > 0 && candidate.ratio() < 1 - options_.margin;
    }

    std::size_t fastest(const TunedSite& site) const {
        std::size_t best = 0;
        for (std::size_t c = 1; c < site.candidates.size(); ++c) {
            const TunedSite::Candidate& candidate = site.candidates[c];
            if (wins(candidate) && (best == 0 || candidate.ratio() < site.candidates[best].ratio())) best = c;
        }
        return best;
    }

    /// Measures the candidates that `pick` names (0: none at this site) against the planner's own choices, turn by
    /// turn.
    void compare(const std::function<std::size_t(const TunedSite&)>& pick) {
        TuningTable table;
        std::vector<std::pair<const TunedSite*, TunedSite::Candidate*>> picked;
        for (TunedSite& site : sites_) {
            const std::size_t c = pick(site);
            if (c == 0 || !site.candidates[c].excluded.empty()) continue;
            picked.emplace_back(&site, &site.candidates[c]);
            table.choices[site.site.signature] = site.candidates[c].name;
        }
        if (picked.empty()) return;
        const auto exclude = [&](const std::string& why) {
            if (picked.size() == 1) {
                picked.front().second->excluded = why;
                return;
            }
            // Whose fault it is shows when each is alone.
            for (const auto& [at, unused] : picked)
                compare([&pick, only = at](const TunedSite& site) { return &site == only ? pick(site) : 0; });
        };
        try {
            Runner other(device_, graph_, make_plan(*graph_, device_->plan(), plan_options_, &table), options_.seed);
            other.run();
            if (!agree(outputs_, other.outputs(), float_tolerance(*graph_))) return exclude("its results differ");
            own_.forget_times();
            const auto measure = [&] {
                turn_of_loop();
                own_.run();
                other.run();
                for (const auto& [site, candidate] : picked) {
                    candidate->own_ms = own_.best_ms(site->site.nodes);
                    candidate->ms = other.best_ms(site->site.nodes);
                }
            };
            // The first run compiled; a candidate that is far behind after two more will not win.
            other.forget_times();
            measure();
            measure();
            const bool all_slow =
                std::all_of(picked.begin(), picked.end(), [](const auto& p) { return p.second->ratio() > 2; });
            const auto begin = Clock::now();
            const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
            for (int turn = 0; !all_slow && (turn < 5 || seconds() < options_.seconds); ++turn) measure();
        } catch (const Error& error) {
            if (error.code() == ErrorCode::device_lost || error.code() == ErrorCode::cancelled) throw;
            exclude(error.what());
        }
        const TunedSite::Candidate& first = *picked.front().second;
        if (first.excluded.empty() && first.own_ms <= 0)
            throw Error(ErrorCode::unsupported, "the device has no timestamps, by which kernels could be measured");
    }

    std::shared_ptr<Device> device_;
    std::shared_ptr<const Graph> graph_;
    PlanOptions plan_options_;
    TuneOptions options_;
    Runner own_;
    std::vector<HostTensor> outputs_;
    std::vector<TunedSite> sites_;
};

}  // namespace

std::vector<TunedSite> tune(const std::shared_ptr<Device>& device, const std::shared_ptr<const Graph>& graph,
                            const PlanOptions& plan_options, const TuneOptions& options) {
    return Tuner(device, graph, plan_options, options).run();
}

TuningTable table_of(const std::vector<TunedSite>& sites) {
    TuningTable table;
    for (const TunedSite& site : sites) table.choices[site.site.signature] = site.candidates[site.chosen].name;
    return table;
}

}  // namespace tosavk
