// A thread that does one job at a time for a context: what must not keep its caller waiting.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace tosavk {

class RunThread {
public:
    RunThread() = default;
    /// Ends once the job at hand has.
    ~RunThread();
    RunThread(const RunThread&) = delete;
    RunThread& operator=(const RunThread&) = delete;

    /// The one before must have ended. The job must not throw.
    void start(std::function<void()> job);
    /// Whether the job has ended within the time; true where there was none.
    bool wait(std::uint64_t timeout_ns);

private:
    void work();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> job_;
    bool busy_ = false, ends_ = false;
    std::thread thread_;  ///< started with the first job
};

}  // namespace tosavk
