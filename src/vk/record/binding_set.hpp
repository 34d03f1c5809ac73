// The descriptor sets of one executable for one run at a time, and the views of what is read as texels.
#pragma once

#include "vk/record/executable_state.hpp"
#include "vk/record/run_memory.hpp"

#include <map>
#include <tuple>

namespace tosavk {

class BindingSet {
public:
    /// The executable must outlive it. Nothing is written yet.
    explicit BindingSet(const ExecutableState& executable);
    BindingSet(const BindingSet&) = delete;
    BindingSet& operator=(const BindingSet&) = delete;

    /// Writes every set, or, with an error, none.
    void write(const RunMemory& memory);
    /// Writes those that have inputs or outputs of the graph. What was recorded with these must be recorded anew, and
    /// no run may be under way. After an error none is written.
    void write_externals(const RunMemory& memory);

    /// By number in the order of for_each_dispatch; null for copies.
    VkDescriptorSet operator[](std::size_t dispatch) const { return sets_[dispatch]; }

    static bool has_externals(const Dispatch& dispatch);

private:
    using Views = std::map<std::tuple<VkBuffer, std::uint64_t, std::uint64_t, VkFormat>, UniqueHandle<VkBufferView>>;
    /// What one set is to be; `writes` points into the others.
    struct Writes {
        std::vector<VkDescriptorBufferInfo> buffers;
        std::vector<VkBufferView> views;
        std::vector<VkWriteDescriptorSet> writes;
    };

    void update(const std::vector<Writes>& all);
    Writes writes_of(const Dispatch& dispatch, VkDescriptorSet set, const RunMemory& memory, Views& views,
                     Views& external_views);
    /// A view of the binding's memory as integer texels; equal bindings share one.
    VkBufferView texels_of(const Binding& binding, const BufferPlace& place, Views& views);

    const ExecutableState& executable_;
    DeviceState& device_;
    std::vector<const Dispatch*> dispatches_;  ///< null for copies
    Views views_, external_views_;
    UniqueHandle<VkDescriptorPool> pool_;
    std::vector<VkDescriptorSet> sets_;
};

}  // namespace tosavk
