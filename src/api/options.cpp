// Options of the C ABI in the terms of the rooms behind it.
#include "api/handles.hpp"

using namespace tosavk;
using namespace tosavk::api;

Progress::Listener tosavk::api::progress_listener(tosavk_progress_callback progress, void* user) {
    if (!progress) return {};
    return [=](std::uint64_t done, std::uint64_t total) { return progress(user, done, total) == 0; };
}

Progress::Listener tosavk::api::progress_listener(const tosavk_compile_options* given) {
    const tosavk_compile_options options = read_struct(given, "tosavk_compile_options");
    return progress_listener(options.progress, options.user);
}

PlanOptions tosavk::api::plan_options(const tosavk_compile_options* given) {
    const tosavk_compile_options options = read_struct(given, "tosavk_compile_options");
    PlanOptions result;
    result.fuse = !is_set(options.no_fuse, "no_fuse");
    result.keep_all = is_set(options.keep_all, "keep_all");
    return with_environment(result);
}
