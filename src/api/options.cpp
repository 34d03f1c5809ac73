// Options of the C ABI in the terms of the rooms behind it.
#include "api/handles.hpp"

using namespace tosavk;
using namespace tosavk::api;

Progress::Listener tosavk::api::progress_listener(const tosavk_compile_options* given) {
    const tosavk_compile_options options = read_struct(given, "tosavk_compile_options");
    if (!options.progress) return {};
    return [progress = options.progress, user = options.user](std::uint64_t done, std::uint64_t total) {
        return progress(user, done, total) == 0;
    };
}

PlanOptions tosavk::api::plan_options(const tosavk_compile_options* given) {
    const tosavk_compile_options options = read_struct(given, "tosavk_compile_options");
    PlanOptions result;
    result.fuse = options.no_fuse == 0;
    result.keep_all = options.keep_all != 0;
    return with_environment(result);
}
