// Independent pieces of host work on all processors.
#pragma once

#include "vk/core/fault.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tosavk {

inline std::size_t default_threads() { return std::clamp(std::thread::hardware_concurrency(), 1u, 16u); }

/// Of `threads`, those for host work that calls Vulkan: the calling one alone while a fault is armed, which counts its
/// calls only.
inline std::size_t host_threads(std::size_t threads) { return vulkan_fault_pending() ? 1 : threads; }

/// Calls work(k) for every k below `count`, each once, on up to `most` threads, the calling one among them; every
/// thread has a copy of its own of `work`. Returns when all have ended. After an exception no further piece is begun,
/// and the first one is thrown here.
template <class Work> void in_parallel(std::size_t count, Work work, std::size_t most) {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_mutex;
    const auto run = [&, count](Work mine) {
        try {
            for (std::size_t k; (k = next++) < count;) mine(k);
        } catch (...) {
            next = count;
            const std::lock_guard lock(failure_mutex);
            if (!failure) failure = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    const std::size_t wanted = std::min(count, most);
    try {
        while (threads.size() + 1 < wanted) threads.emplace_back(run, work);
    } catch (const std::exception&) {  // no thread or no memory for one: fewer do as well
    }
    run(std::move(work));
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace tosavk
