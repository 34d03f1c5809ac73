// A run recorded into a command buffer of others: they own the memory, the barriers around it and the submit.
#pragma once

#include "vk/record/packer.hpp"
#include "vk/record/plan_writer.hpp"

#include <memory>

namespace tosavk {

/// Memory that an executable wants of its host, bytes.
struct HostMemoryNeeds {
    std::uint64_t arena = 0;        ///< where every input and output is used in place
    std::uint64_t with_copies = 0;  ///< where some are copied
    std::uint64_t alignment = 1;
    std::uint64_t constants = 0;
};

HostMemoryNeeds host_memory_needs(const ExecutableState& executable);

struct HostTensors {
    BufferRange arena;
    BufferRange constants;                     ///< no buffer: the executable's own
    std::vector<BufferRange> inputs, outputs;  ///< by index; all have a buffer
};

/// The first and the last thing that a recorded run does to the host's buffers.
struct HostAccess {
    VkPipelineStageFlags first_stages = 0, last_stages = 0;
    VkAccessFlags first_access = 0, last_access = 0;
    std::size_t copies = 0;  ///< of inputs and outputs
};

class HostBindings {
public:
    /// Error(unsupported) for a graph that needs the host in the middle.
    explicit HostBindings(std::shared_ptr<Executable> executable);

    /// Where everything is from now on. Without update-after-bind what was recorded before is no longer to be used;
    /// with it, it follows, unless the copies that are needed change, which is Error(usage).
    /// After an error all is as before.
    void write(const HostTensors& tensors);
    /// Error(usage) before the first write().
    void record(VkCommandBuffer commands);
    HostAccess access() const;
    const Executable& executable() const { return *executable_; }

private:
    const std::shared_ptr<Executable> executable_;
    DeviceState& device_;
    Buffer state_;  ///< the variables
    RunMemory memory_;
    ExternalUse use_;
    BindingSet sets_;
    std::unique_ptr<Packer> packer_;
    bool written_ = false, recorded_ = false;
};

}  // namespace tosavk
