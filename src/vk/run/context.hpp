// One run at a time of an Executable: its arena, bindings and recorded commands. Used by one thread at a time; any
// number of contexts may run the same Executable at once.
#pragma once

#include "vk/core/device_buffer.hpp"
#include "vk/core/semaphore.hpp"
#include "vk/record/executable.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tosavk {

struct ContextCounters {
    std::uint64_t runs = 0;
    /// vkQueueSubmit calls: one per run, one more per decision of control flow, for each DevicePlan::submit_work, and
    /// for every piece of inputs and outputs that the staging buffer does not hold.
    std::uint64_t submits = 0;
    std::uint64_t allocations = 0;  ///< of device memory; all of them when the context is made
    std::uint64_t host_copies = 0;  ///< inputs set and outputs got through the host
    /// Copies between bound buffers and memory of our own, where a buffer was not fit for the kernels; done by the
    /// device as part of the runs.
    std::uint64_t buffer_copies = 0;
};

/// A buffer in the place of an input or output.
struct BoundBuffer {
    DeviceBuffer buffer;  ///< without memory: none is bound
    bool padded = false;  ///< see BufferRange::padded

    explicit operator bool() const { return buffer.memory != nullptr; }
};

struct RunRequest {
    RunOrder order;
    /// Called by a thread of the context when the run is over, with what it met; it must not use the context.
    std::function<void(std::optional<ErrorCode> failure)> done;
};

class Recording;
class RunThread;

class Context {
public:
    /// With `profile`, dispatches are timed one after another (a barrier before each).
    Context(std::shared_ptr<Executable> executable, bool profile);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    /// Copies a graph input; it stays set until it is set again. Error(bad_input) unless the size is exact.
    void set_input(std::size_t index, std::span<const std::byte> bytes);

    /// From the next run on the input is read there, or the output written. Error(usage) while a run is under way,
    /// Error(bad_input) where the buffer is too small. Without memory: the host sets the input again before the next
    /// run, or gets the output.
    void bind_input(std::size_t index, BoundBuffer bound);
    void bind_output(std::size_t index, BoundBuffer bound);

    /// Starts a run; wait() ends it. Error(usage) when an input was never set or a run is under way. A graph with
    /// COND_IF or WHILE_LOOP may need the host for each decision, which a thread of the context takes: what fails
    /// there, wait() throws. So does a loop of very many turns, a run that uses buffers of another one that has not
    /// submitted everything yet, and one that waits for semaphores while any run of the device has not, or for a value
    /// that nothing on the queue brings: there it would hold those up that it waits for.
    void submit(RunRequest request = {});
    /// An error ends the run too, without results; what of it the device may still do ends before anything else begins.
    void wait();
    /// Waits for `timeout_ns` nanoseconds at most (0: only looks). False when the run is still under way.
    bool wait(std::uint64_t timeout_ns);
    bool running() const { return phase_ == Phase::running; }
    /// Are there results of a run?
    bool finished() const { return phase_ == Phase::finished; }
    /// No longer. No run is under way.
    void forget_results() { phase_ = Phase::never_ran; }

    /// Results of the last finished run. Error(usage) without one, Error(bad_input) unless the size is exact.
    void get_output(std::size_t index, std::span<std::byte> bytes);
    /// The state of a variable, by index in Graph::variables; between runs only. It starts with the initial value
    /// (zeros where there is none) and keeps what a run writes for the next one.
    void set_variable(std::size_t index, std::span<const std::byte> bytes);
    void get_variable(std::size_t index, std::span<std::byte> bytes);
    /// Every variable takes its initial value again.
    void reset_variables();

    /// Any value that the plan keeps in memory (all of them with PlanOptions::keep_all).
    void get_value(ValueId id, std::span<std::byte> bytes);
    /// Bytes of the arena as the last run left them.
    void get_memory(const Placement& place, std::span<std::byte> bytes);

    ContextCounters counters() const;
    /// Nanoseconds per dispatch of the last finished run; empty without `profile` or where the device has no
    /// timestamps.
    std::vector<double> dispatch_ns() const;

private:
    enum class Phase { never_ran, running, finished };

    void require_finished() const;
    void settle();
    const Variable& idle_variable(std::size_t index, std::size_t bytes) const;
    bool copy_constant(ValueId id, std::span<std::byte> bytes) const;
    void keep_outputs_in(ValueId input);
    std::vector<std::vector<std::size_t>> outputs_in_slot_;  ///< of the plan; made when first asked for
    void check_binding(const char* what, std::size_t index, std::span<const ValueId> ids,
                       const BoundBuffer& bound) const;
    void use_bindings();
    /// A thing that the run takes its turn at: a buffer, or the device.
    struct Use {
        std::shared_ptr<Turns> turns;
        std::uint64_t ticket = 0;
        bool waits = false;  ///< until those before it have submitted
    };
    void begin_uses();
    void end_uses() noexcept;
    void submit_now(const RunOrder& order);
    void run_on_thread(RunRequest request, bool submitted);

    std::shared_ptr<Executable> executable_;
    std::vector<BoundBuffer> inputs_, outputs_;  // they outlive what was recorded with them
    RunOrder order_;                             // of the run at hand: its semaphores outlive it too
    std::unique_ptr<Recording> recording_;
    std::vector<bool> input_set_;
    bool bindings_changed_ = false;
    std::size_t copies_a_run_ = 0;  ///< see ContextCounters::buffer_copies
    /// By index: outputs of the last run that lay in the memory of an input which was set again since.
    std::map<std::size_t, std::vector<std::byte>> kept_outputs_;
    std::vector<double> dispatch_ns_;
    Phase phase_ = Phase::never_ran;
    ContextCounters counters_;
    std::vector<Use> uses_;
    bool on_thread_ = false;           ///< the thread has a job of the run at hand
    std::exception_ptr thread_error_;  ///< what that job met
    int fault_ = 0;                    ///< see exchange_fault(): it follows the run to its thread
    std::unique_ptr<RunThread> thread_;
};

}  // namespace tosavk
