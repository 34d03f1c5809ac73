// Arena, state, descriptor sets and command buffers of a Context: made once, submitted again and again. A plan without
// control flow is one command buffer, or several where it is too long for one submit; with control flow, so is each
// stretch of dispatches without a decision, in the outermost graph and in each region.
#pragma once

#include "vk/record/completion.hpp"
#include "vk/record/executable_state.hpp"
#include "vk/record/transfer.hpp"

#include <map>
#include <optional>
#include <tuple>

namespace tosavk {

class Recording {
public:
    /// The executable must outlive the recording.
    Recording(const ExecutableState& executable, bool profile);
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    void write_input(std::size_t index, std::span<const std::byte> bytes);
    /// Graph output number `index`, which must have a place in the arena.
    void read_output(std::size_t index, std::span<std::byte> bytes) const;
    /// Any bytes of the arena; blocking, not part of the recorded commands.
    void read_arena(std::uint64_t offset, std::span<std::byte> bytes) const;

    /// Variable number `index` of the graph; blocking.
    void write_variable(std::size_t index, std::span<const std::byte> bytes);
    void read_variable(std::size_t index, std::span<std::byte> bytes) const;
    void reset_variables();

    /// Waits at each decision; what follows the last one is under way on return.
    void submit();
    /// After a submit() that failed: waits for what it had started.
    void abandon() noexcept;
    /// Whether the run has ended within the time.
    bool wait(std::uint64_t timeout_ns) { return done_.wait(timeout_ns); }
    /// vkQueueSubmit calls so far, those for inputs and outputs larger than the staging buffer included.
    std::uint64_t submits() const { return submits_ + (transfer_ ? transfer_->submits() : 0); }
    /// Nanoseconds per dispatch of the finished run; `result` is empty without timestamps.
    void read_timestamps(std::vector<double>& result) const;

    std::uint64_t allocations() const {
        return (arena_.size() > 0 ? 1u : 0u) + (staging_.size() > 0 ? 1u : 0u) + (transfer_ ? 1u : 0u) +
               (state_.size() > 0 ? 1u : 0u) + (conditions_.size() > 0 ? 1u : 0u);
    }

private:
    /// What one submit holds at least.
    struct Chunk {
        VkCommandBuffer commands = VK_NULL_HANDLE;
        double share = 0;  ///< the sum of submit_share()
    };
    struct Recorded;
    struct RecordedControl {
        const ControlStep* step = nullptr;
        VkCommandBuffer prepare = VK_NULL_HANDLE;
        std::vector<Recorded> regions;
    };
    /// A plan: `controls[k]` comes between `segments[k]` and `segments[k + 1]`.
    struct Recorded {
        std::vector<std::vector<Chunk>> segments;
        std::vector<RecordedControl> controls;
    };

    void make_buffers();
    void make_staging();
    void make_descriptor_sets();
    void write_descriptor_set(VkDescriptorSet set, const Dispatch& dispatch);
    /// A view of the binding's memory as integer texels; equal bindings share one.
    VkBufferView texels_of(const Binding& binding);
    const Buffer& buffer_of(const Placement& place) const;
    void write_input_bytes(std::size_t index, std::uint64_t at, std::span<const std::byte> bytes);

    void begin();
    VkCommandBuffer end();
    /// `region`: null for the outermost plan.
    Recorded record(const Plan& plan, const RegionPlan* region);
    RecordedControl record_control(const ControlStep& control);
    void record_dispatches(const Plan& plan, std::size_t first_set, std::size_t from, std::size_t to, bool timed);
    void record_timestamp();
    void load_inputs();
    void store_outputs();
    void record_copies(const std::vector<Copy>& copies);

    void enqueue(const Recorded& recorded);
    void decide(const RecordedControl& control);
    bool condition(const ControlStep& control);
    void flush(bool last);

    void copy(const Buffer& from, const Buffer& to, std::uint64_t from_offset, std::uint64_t to_offset,
              std::uint64_t size);
    void barrier(VkPipelineStageFlags from, VkAccessFlags made, VkPipelineStageFlags to, VkAccessFlags used);

    const ExecutableState& executable_;
    DeviceState& device_;
    const VolkDeviceTable& vk_;
    bool in_place_;  ///< the arena is mapped
    bool profile_;   ///< with timestamps, dispatches one after another
    /// What dispatches do: compute only, or copies too.
    VkPipelineStageFlags work_stages_;
    VkAccessFlags work_writes_, work_access_;
    Buffer arena_, staging_, state_, conditions_;
    /// Offsets in staging_ by graph input and output; none for what is mapped, lies elsewhere, or is too large.
    std::vector<std::optional<std::uint64_t>> staged_inputs_, staged_outputs_;
    std::unique_ptr<Transfer> transfer_;  ///< for what is too large
    std::map<std::tuple<VkBuffer, std::uint64_t, std::uint64_t, std::uint32_t>, UniqueHandle<VkBufferView>>
        texel_views_;
    UniqueHandle<VkDescriptorPool> descriptor_pool_;
    std::vector<VkDescriptorSet> sets_;  ///< in the order of for_each_dispatch; null for copies
    UniqueHandle<VkCommandPool> command_pool_;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;  ///< being recorded
    std::size_t next_set_ = 0;                   ///< while recording: of the next plan's first dispatch
    Recorded recorded_;
    std::vector<VkCommandBuffer> queued_;  ///< of the run at hand, not yet submitted
    double queued_share_ = 0;
    std::uint64_t submits_ = 0;
    UniqueHandle<VkQueryPool> queries_;
    mutable std::vector<std::uint64_t> ticks_;
    std::vector<std::size_t> dispatch_end_;  ///< by dispatch: its timestamp; the one before is its start
    std::uint32_t next_query_ = 0;           ///< while recording
    Completion done_;                        ///< ends before everything that the commands use
};

}  // namespace tosavk
