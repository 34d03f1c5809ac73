// tosavk_checker.
#include "verify/checker.hpp"

#include "api/package.hpp"

#include <cstring>

using namespace tosavk;
using namespace tosavk::api;

struct tosavk_checker {
    std::shared_ptr<const Graph> graph;
    Checker checker;
    Progress::Listener listener;
};

namespace {

template <class Run> void write_report(const tosavk_checker& checker, tosavk_check_report* report, Run run) {
    std::size_t size = 0;
    std::memcpy(&size, report, sizeof size);
    check_struct_size(size, "tosavk_check_report");
    Progress progress(checker.listener);
    const ProgressScope scope(progress);
    const CheckReport found = run();
    tosavk_check_report result{};
    result.passed = found.passed ? 1 : 0;
    result.values_checked = found.values_checked;
    result.worst = found.worst;
    // A caller whose struct ends before `detail` could not release it.
    const bool has_detail = size >= offsetof(tosavk_check_report, detail) + sizeof(result.detail);
    std::unique_ptr<tosavk_text> detail(has_detail ? make_text(found.detail) : nullptr);
    result.detail = detail.get();
    write_struct(report, result, "tosavk_check_report");
    detail.release();
}

}  // namespace

tosavk_status tosavk_checker_create(tosavk_device* device, const tosavk_graph* graph,
                                    const tosavk_checker_options* options, tosavk_checker** checker,
                                    tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        call.require(graph, "graph");
        call.require(checker, "checker");
        PackageUse use{};  // a package's own plan and shaders are what is to be checked
        const tosavk_checker_options given = read_struct(options, "tosavk_checker_options");
        Progress::Listener listener = progress_listener(given.progress, given.user);
        Progress progress(listener);
        const ProgressScope scope(progress);
        auto fused = make_executable(*device, *graph, with_environment({}), use, progress);
        auto whole = graph_for(*device, *graph);
        *checker = new tosavk_checker{whole, Checker(device->device, whole, std::move(fused)), std::move(listener)};
    });
}

tosavk_status tosavk_checker_run(tosavk_checker* checker, uint64_t seed, tosavk_check_report* report,
                                 tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(checker, "checker");
        call.require(report, "report");
        write_report(*checker, report, [&] { return checker->checker.run(seed); });
    });
}

tosavk_status tosavk_checker_run_with(tosavk_checker* checker, const void* const* inputs, tosavk_check_report* report,
                                      tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(checker, "checker");
        call.require(report, "report");
        const std::vector<HostTensor> tensors = host_inputs(call, *checker->graph, inputs);
        write_report(*checker, report, [&] { return checker->checker.run(tensors); });
    });
}

void tosavk_checker_release(tosavk_checker* checker) { delete checker; }
