#include "base/forks.hpp"

#include <pthread.h>

#include <atomic>

namespace tosavk {

namespace {

std::atomic<std::uint32_t> forks{0};
[[maybe_unused]] const int counts_forks = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });

}  // namespace

std::uint32_t fork_count() { return forks.load(std::memory_order_relaxed); }

}  // namespace tosavk
