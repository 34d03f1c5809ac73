// A thread that does one job at a time for a context: what must not keep its caller waiting.
#pragma once

#include "base/forks.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace tosavk {

class RunThread {
public:
    RunThread() = default;
    /// Ends once the job at hand has. In a process that was forked off since it began, it is not there.
    ~RunThread();
    RunThread(const RunThread&) = delete;
    RunThread& operator=(const RunThread&) = delete;

    /// The one before must have ended. The job must not throw.
    void start(std::function<void()> job);
    /// Whether the job has ended within the time; true where there was none.
    bool wait(std::uint64_t timeout_ns);

private:
    struct State {
        std::mutex mutex;
        std::condition_variable changed;
        std::function<void()> job;
        bool busy = false, ends = false;
    };

    static void work(State& state);

    std::unique_ptr<State> state_ = std::make_unique<State>();
    std::thread thread_;     ///< started with the first job
    Birthplace birthplace_;  ///< of the thread
};

}  // namespace tosavk
