// tosavk_conformance_run: rows are handed to threads, results to the caller in order.
#include "api/handles.hpp"
#include "verify/conformance/error_graphs.hpp"
#include "verify/judge.hpp"
#include "vk/measure/open_device.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

namespace tosavk::api {

namespace {

using Json = nlohmann::ordered_json;
using conformance::ErrorGraph;
using conformance::SweepRow;

struct Finished {
    std::string json;
    std::uint64_t cases = 0, failures = 0;
    double worst = 0;
};
using Task = std::function<Finished(const conformance::Judge&)>;

struct Choice {
    std::string op, type, spec;
    std::uint64_t seed = 1, cases = 20;
    bool large_binding = false, all_candidates = false;
};

Finished finish(Json row, std::uint64_t cases, std::uint64_t failures, double worst, const std::string& bound,
                std::uint64_t seed, const std::string& repro, const std::string& detail) {
    row["cases"] = cases;
    row["failed"] = failures;
    row["passed"] = failures == 0;
    // JSON knows no infinity: a difference where nothing may differ.
    row["worst_error"] = std::isfinite(worst) ? worst : 1e308;
    row["bound"] = bound;
    row["seed"] = seed;
    row["repro"] = repro;
    if (!detail.empty()) row["detail"] = detail;
    return {row.dump(-1, ' ', false, Json::error_handler_t::replace), cases, failures, worst};
}

Finished run_values(const SweepRow& row, const Choice& choice, const conformance::Judge& judge) {
    const conformance::RowResult result = conformance::run_row(row, choice.seed, choice.cases, judge);
    auto types = Json::object();
    for (const auto& [variable, type] : row.types) types[variable] = type;
    return finish({{"kind", "values"}, {"op", row.op}, {"spec", row.spec}, {"types", std::move(types)}}, result.cases,
                  result.failures, result.worst, row.bound, result.seed,
                  conformance::repro_command(row, result) + (choice.all_candidates ? " --candidates" : ""),
                  result.detail);
}

Finished run_errors(const ErrorGraph& entry, const Choice& choice) {
    const conformance::ErrorResult result = conformance::run_error_graph(entry, choice.seed);
    const std::string op(name_of(entry.op));
    return finish({{"kind", entry.kind == ErrorGraph::Kind::level ? "level" : "error"},
                   {"op", op},
                   {"spec", is_own(entry.op) ? own_domain : "1.0"},
                   {"types", Json::object()},
                   {"error_if", entry.error_if}},
                  result.cases, result.failures, 0, "refused with a sentence", choice.seed,
                  "tosa-vk conformance --op " + op + " --seed " + std::to_string(choice.seed) + " --cases 0",
                  result.detail);
}

/// Right, unless memory has run out.
Finished run_large(const conformance::LargeCase& large, const conformance::Judge& judge) {
    bool passed = false;
    double worst = 0;
    std::string detail, outcome;
    try {
        const conformance::CaseReport report = judge(large.make());
        passed = report.passed;
        for (const auto& node : report.nodes) worst = std::max(worst, node.worst);
        detail = report.detail;
        outcome = "exact";
    } catch (const Error& error) {
        passed = error.code() == ErrorCode::out_of_memory;
        detail = error.what();
        outcome = "refused: " + detail;
    } catch (const std::bad_alloc&) {
        passed = true;
        outcome = detail = "not run: out of host memory";
    }
    return finish({{"kind", "large"}, {"op", large.op}, {"spec", "1.0"}, {"types", {{"in_out_t", large.types}}}}, 1,
                  passed ? 0 : 1, worst, outcome, 1,
                  "tosa-vk conformance --op " + large.op + " --large-binding --cases 0", detail);
}

/// What is refused is so before any device is asked: a device that only compiles (`runs` false) has nothing to add.
std::vector<Task> make_tasks(const Choice& choice, bool runs) {
    std::vector<Task> tasks;
    for (SweepRow& row : conformance::find_rows(choice.op, choice.type, choice.spec)) {
        if (choice.cases == 0 && !row.data_set) continue;
        tasks.push_back([row = std::move(row), &choice](const auto& judge) { return run_values(row, choice, judge); });
    }
    if (runs && choice.type.empty() && choice.spec != "0.30") {
        for (ErrorGraph& entry : conformance::error_graphs()) {
            if (!choice.op.empty() && name_of(entry.op) != choice.op) continue;
            if (!choice.spec.empty() && is_own(entry.op) != (choice.spec == own_domain)) continue;
            tasks.push_back([entry = std::move(entry), &choice](const auto&) { return run_errors(entry, choice); });
        }
    }
    if (choice.large_binding) {
        for (conformance::LargeCase& large : conformance::large_binding_cases()) {
            if (!choice.op.empty() && large.op != choice.op) continue;
            tasks.push_back([large = std::move(large)](const auto& judge) { return run_large(large, judge); });
        }
    }
    return tasks;
}

/// Runs the tasks on threads and calls `take` for each result, in order, on this thread; it returns whether to go on.
void run_tasks(const std::vector<Task>& tasks, const tosavk_device& device, std::uint32_t jobs, bool all_candidates,
               const std::function<bool(const Finished&)>& take) {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::optional<Finished>> done(tasks.size());
    std::exception_ptr thrown;
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> stop = false;
    const auto work = [&](const std::shared_ptr<Device>& on) {
        try {
            const conformance::Judge judge = conformance::judge_on(on, all_candidates);
            for (std::size_t k; !stop && (k = next++) < tasks.size();) {
                Finished finished = tasks[k](judge);
                const std::lock_guard lock(mutex);
                done[k] = std::move(finished);
                changed.notify_one();
            }
        } catch (...) {
            const std::lock_guard lock(mutex);
            thrown = std::current_exception();
            changed.notify_one();
        }
    };
    // Every thread has a device of its own, so that drivers compile and run side by side.
    std::vector<std::shared_ptr<Device>> devices{device.device};
    while (devices.size() < jobs && devices.size() < tasks.size())
        devices.push_back(device.opened_with ? open_device(*device.opened_with) : device.device);
    struct Joined {
        std::vector<std::thread> threads;
        std::atomic<bool>& stop;
        ~Joined() {
            stop = true;
            for (std::thread& thread : threads) thread.join();
        }
    } joined{{}, stop};
    for (const auto& on : devices) joined.threads.emplace_back(work, on);

    for (std::size_t k = 0; k < tasks.size(); ++k) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return done[k].has_value() || thrown; });
        if (thrown) std::rethrow_exception(thrown);
        const Finished finished = std::move(*done[k]);
        lock.unlock();
        if (!take(finished)) return;
    }
}

}  // namespace
}  // namespace tosavk::api

using namespace tosavk;
using namespace tosavk::api;

tosavk_status tosavk_conformance_run(tosavk_device* device, const tosavk_conformance_options* options,
                                     tosavk_conformance_callback callback, void* user,
                                     tosavk_conformance_summary* summary, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        const tosavk_conformance_options given = read_struct(options, "tosavk_conformance_options");
        require_zero(given.reserved, "tosavk_conformance_options.reserved");
        const auto text = [](const char* chosen) { return std::string(chosen ? chosen : ""); };
        const Choice choice{text(given.op),
                            text(given.type),
                            text(given.spec),
                            given.seed,
                            given.cases == 0  ? 20
                            : given.cases < 0 ? 0
                                              : static_cast<std::uint64_t>(given.cases),
                            is_set(given.large_binding, "large_binding"),
                            is_set(given.all_candidates, "all_candidates")};
        if (given.jobs > 64) throw Error(ErrorCode::usage, "a conformance sweep takes at most 64 jobs");
        if (summary) {
            std::size_t size = 0;
            std::memcpy(&size, summary, sizeof size);
            check_struct_size(size, "tosavk_conformance_summary");
        }
        const std::vector<Task> tasks = make_tasks(choice, device->device->runs());
        tosavk_conformance_summary total{};
        run_tasks(tasks, *device, given.jobs, choice.all_candidates, [&](const Finished& row) {
            ++total.rows;
            total.rows_failed += row.failures > 0 ? 1 : 0;
            total.cases += row.cases;
            total.cases_failed += row.failures;
            total.worst = std::max(total.worst, row.worst);
            if (callback && callback(user, row.json.c_str(), tasks.size()) != 0) total.stopped = 1;
            return total.stopped == 0;
        });
        if (summary) write_struct(summary, total, "tosavk_conformance_summary");
    });
}
