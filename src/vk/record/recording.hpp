// Arena, state, descriptor sets and command buffers of a Context: made once, submitted again and again. A plan without
// control flow is one command buffer, or several where it is too long for one submit; with control flow, so is each
// stretch of dispatches without a decision, in the outermost graph and in each region.
#pragma once

#include "vk/core/completion.hpp"
#include "vk/core/transfer.hpp"
#include "vk/record/plan_writer.hpp"

#include <atomic>
#include <optional>

namespace tosavk {

class Recording {
public:
    /// The executable must outlive the recording.
    Recording(const ExecutableState& executable, bool profile);
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    void write_input(std::size_t index, std::span<const std::byte> bytes);
    /// Graph output number `index`, which must have a place in our own memory.
    void read_output(std::size_t index, std::span<std::byte> bytes) const;
    /// Any value's bytes in our own memory; blocking, not part of the recorded commands.
    void read(const Placement& place, std::span<std::byte> bytes) const;

    /// From the next run on, inputs and outputs of the graph lie where `use` says; those that are `bound` are not
    /// copied for the host. No run is under way. After an error nothing may run before another call has succeeded.
    void bind(ExternalUse use, std::vector<bool> inputs_bound, std::vector<bool> outputs_bound);

    /// Variable number `index` of the graph; blocking.
    void write_variable(std::size_t index, std::span<const std::byte> bytes);
    void read_variable(std::size_t index, std::span<std::byte> bytes) const;
    void reset_variables();

    /// Waits at each decision; what follows the last one is under way on return. The semaphores are of this device.
    void submit(const RunOrder& order);
    /// After a submit() that failed: waits for what it had started.
    void abandon() noexcept;
    /// Whether the run has ended within the time.
    bool wait(std::uint64_t timeout_ns) { return done_.wait(timeout_ns); }
    /// DeviceState::submit()'s number of the last submit.
    std::uint64_t last_submit() const { return done_.number(); }
    /// vkQueueSubmit calls so far, those for inputs and outputs larger than the staging buffer included.
    std::uint64_t submits() const { return submits_ + (transfer_ ? transfer_->submits() : 0); }
    /// Nanoseconds per dispatch of the finished run; `result` is empty without timestamps.
    void read_timestamps(std::vector<double>& result) const;

    std::uint64_t allocations() const {
        return (memory_.size() > 0 ? 1u : 0u) + (staging_.size() > 0 ? 1u : 0u) + (transfer_ ? 1u : 0u) +
               (state_.size() > 0 ? 1u : 0u) + (conditions_.size() > 0 ? 1u : 0u);
    }

private:
    /// A stretch of a plan's dispatches: what one submit holds at least, or, once something was bound, what is recorded
    /// anew when that changes.
    struct Chunk {
        VkCommandBuffer commands = VK_NULL_HANDLE;
        const Plan* plan = nullptr;
        const RegionPlan* region = nullptr;  ///< null: the outermost plan
        std::size_t first_set = 0, from = 0, to = 0;
        bool begins = false, ends = false;  ///< the plan
        std::uint32_t first_query = 0;
        double share = 0;        ///< the sum of submit_share()
        bool externals = false;  ///< it touches inputs or outputs of the graph
    };
    struct Recorded;
    struct RecordedControl {
        const ControlStep* step = nullptr;
        VkCommandBuffer prepare = VK_NULL_HANDLE, answer = VK_NULL_HANDLE;
        std::vector<Recorded> regions;
        /// The regions that are a turn, or two that alternate, in their order; none where the host decides between
        /// them.
        std::vector<std::size_t> turn;
        VkCommandBuffer turns = VK_NULL_HANDLE;  ///< `many` turns at once; null where many is 1
        std::int64_t many = 1;
        double share = 0;  ///< of those
    };
    /// A plan: `controls[k]` comes between `segments[k]` and `segments[k + 1]`.
    struct Recorded {
        std::vector<std::vector<Chunk>> segments;
        std::vector<RecordedControl> controls;
    };

    void make_buffers();
    void make_staging();
    /// Where our own memory for a place lies in memory_.
    std::uint64_t own_offset(const Placement& place) const;
    void write_input_bytes(std::size_t index, std::uint64_t at, std::span<const std::byte> bytes);

    void record_all();
    /// `region`: null for the outermost plan.
    Recorded lay_out(const Plan& plan, const RegionPlan* region);
    void lay_out_chunks(std::vector<Chunk>& chunks, Chunk chunk, std::size_t end);
    bool touches_externals(const Chunk& chunk) const;
    /// Several turns in one command buffer, where a turn is one stretch of few dispatches.
    void lay_out_turns(RecordedControl& control);
    VkCommandBuffer new_commands();
    void begin(VkCommandBuffer commands);
    void end();
    /// All of it, or, where only bindings have changed, what they touch.
    void write(const Recorded& recorded, bool all);
    void write(const Chunk& chunk);
    void write_turns(const RecordedControl& control);
    void write_commands(const Chunk& chunk);
    void record_timestamp();
    void load_inputs();
    void store_outputs();

    void enqueue(const Recorded& recorded);
    void enqueue(VkCommandBuffer commands, double share, std::size_t stretches);
    void decide(const RecordedControl& control);
    /// So many turns; of a gated loop some may do nothing.
    void enqueue_turns(const RecordedControl& control, std::int64_t turns);
    bool condition(const ControlStep& control);
    void make_room();
    void wait_here();
    /// `last`: somebody waits before more is submitted. `ends`: the run.
    void flush(bool last, bool ends = false);

    const ExecutableState& executable_;
    DeviceState& device_;
    const VolkDeviceTable& vk_;
    bool in_place_;  ///< the memory is mapped
    bool profile_;   ///< with timestamps, dispatches one after another
    Buffer memory_;  ///< the arena, then room for every slot of Plan::externals
    Buffer staging_, state_, conditions_;
    /// Offsets in staging_ by graph input and output; none for what is mapped, lies elsewhere, or is too large.
    std::vector<std::optional<std::uint64_t>> staged_inputs_, staged_outputs_;
    std::unique_ptr<Transfer> transfer_;  ///< for what is too large
    RunMemory places_;
    ExternalUse use_;
    std::vector<bool> inputs_bound_, outputs_bound_;
    bool split_ = false;  ///< something was bound once: chunks end where others begin to touch inputs or outputs
    BindingSet sets_;
    PlanWriter writer_;
    UniqueHandle<VkCommandPool> command_pool_;
    std::size_t next_set_ = 0;  ///< while laying out: of the next plan's first dispatch
    Recorded recorded_;
    std::vector<VkCommandBuffer> queued_;  ///< of the run at hand, not yet submitted
    double queued_share_ = 0;
    std::size_t queued_stretches_ = 0;
    std::atomic<std::uint64_t> submits_{0};
    std::uint64_t waited_ = 0;         ///< submits_ when a wait last ended
    const RunOrder* order_ = nullptr;  ///< of the run at hand
    bool begun_ = false;               ///< something of it was submitted
    UniqueHandle<VkQueryPool> queries_;
    mutable std::vector<std::uint64_t> ticks_;
    std::vector<std::size_t> dispatch_end_;  ///< by dispatch: its timestamp; the one before is its start
    std::uint32_t next_query_ = 0;           ///< while recording
    std::uint32_t query_count_ = 0;          ///< of ticks_, in use
    Completion done_;                        ///< ends before everything that the commands use
};

}  // namespace tosavk
