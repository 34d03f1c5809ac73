// Semaphores of the C ABI, and runs that are ordered by them.
#include "api/handles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

using namespace tosavk;
using namespace tosavk::api;

namespace {

tosavk_semaphore* make(std::shared_ptr<Semaphore> semaphore) { return new tosavk_semaphore{std::move(semaphore)}; }

std::vector<SemaphorePoint> points_of(const Call& call, const tosavk_semaphore_point* given, std::size_t count,
                                      const char* what) {
    std::vector<SemaphorePoint> points;
    for (const tosavk_semaphore_point& point : read_structs(given, count, what, "tosavk_semaphore_point")) {
        call.require(point.semaphore, "the semaphore of a point");
        points.push_back({point.semaphore->semaphore, point.value});
    }
    return points;
}

}  // namespace

tosavk_status tosavk_semaphore_create(tosavk_device* device, const tosavk_semaphore_options* options,
                                      tosavk_semaphore** semaphore, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        call.require(semaphore, "semaphore");
        const tosavk_semaphore_options given = read_struct(options, "tosavk_semaphore_options");
        require_zero(given.reserved, "tosavk_semaphore_options.reserved");
        *semaphore =
            make(std::make_shared<Semaphore>(device->device, given.value, is_set(given.exportable, "exportable")));
    });
}

tosavk_status tosavk_semaphore_import_fd(tosavk_device* device, int32_t fd, tosavk_semaphore** semaphore,
                                         tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        call.require(semaphore, "semaphore");
        if (fd < 0) throw Error(ErrorCode::usage, fmt::format("{} is no file descriptor", fd));
        *semaphore = make(Semaphore::import_fd(device->device, fd));
    });
}

tosavk_status tosavk_semaphore_export_fd(const tosavk_semaphore* semaphore, int32_t* fd, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(semaphore, "semaphore");
        call.require(fd, "fd");
        *fd = semaphore->semaphore->export_fd();
    });
}

tosavk_status tosavk_semaphore_value(const tosavk_semaphore* semaphore, uint64_t* value, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(semaphore, "semaphore");
        call.require(value, "value");
        *value = semaphore->semaphore->value();
    });
}

tosavk_status tosavk_semaphore_signal(tosavk_semaphore* semaphore, uint64_t value, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(semaphore, "semaphore");
        semaphore->semaphore->signal(value);
    });
}

tosavk_status tosavk_semaphore_wait(const tosavk_semaphore* semaphore, uint64_t value, uint64_t timeout_ns,
                                    int32_t* reached, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(semaphore, "semaphore");
        call.require(reached, "reached");
        *reached = semaphore->semaphore->wait(value, timeout_ns) ? 1 : 0;
    });
}

void tosavk_semaphore_release(tosavk_semaphore* semaphore) { delete semaphore; }

tosavk_status tosavk_context_submit_with(tosavk_context* context, const tosavk_submit_options* options,
                                         tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(context, "context");
        const tosavk_submit_options given = read_struct(options, "tosavk_submit_options");
        RunRequest request;
        request.order.waits = points_of(call, given.waits, given.wait_count, "options->waits");
        request.order.signals = points_of(call, given.signals, given.signal_count, "options->signals");
        if (given.done) {
            request.done = [done = given.done, user = given.user](std::optional<ErrorCode> failure) {
                done(user, failure ? static_cast<tosavk_status>(*failure) : TOSAVK_OK);
            };
        }
        submit(*context, std::move(request));
    });
}

tosavk_status tosavk_contexts_wait(tosavk_context* const* contexts, size_t count, int32_t any, uint64_t timeout_ns,
                                   int32_t* finished, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        using Clock = std::chrono::steady_clock;
        if (count == 0) throw Error(ErrorCode::usage, "there are no contexts to wait for");
        call.require(contexts, "contexts");
        call.require(finished, "finished");
        for (std::size_t k = 0; k < count; ++k) {
            call.require(contexts[k], "a context");
            if (!contexts[k]->running()) throw Error(ErrorCode::usage, fmt::format("context {} is not running", k));
            if (std::find(contexts, contexts + k, contexts[k]) != contexts + k)
                throw Error(ErrorCode::usage, fmt::format("context {} stands in the list twice", k));
        }
        const auto begin = Clock::now();
        const auto left = [&]() -> std::uint64_t {
            if (timeout_ns == UINT64_MAX) return timeout_ns;
            const auto spent = static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - begin).count());
            return timeout_ns - std::min(spent, timeout_ns);
        };
        std::fill(finished, finished + count, 0);
        for (bool looked = false; !looked || left() > 0; looked = true) {
            for (std::size_t k = 0; k < count; ++k) {
                // Any: each in turn for a moment, so that the first to end is seen soon.
                constexpr std::uint64_t moment = 50'000;
                if (finished[k] != 0) continue;
                const std::uint64_t time = any == 0 ? left() : looked ? std::min(moment, left()) : 0;
                try {
                    finished[k] = wait(*contexts[k], time) ? 1 : 0;
                } catch (...) {
                    finished[k] = contexts[k]->running() ? 0 : 1;
                    throw;
                }
            }
            const auto ended = std::count(finished, finished + count, 1);
            if (static_cast<std::size_t>(ended) == count || (any != 0 && ended > 0)) break;
        }
    });
}
