// The Vulkan side of a Device: handles, queue, memory properties and shared pipelines. Only vk/ includes this.
#pragma once

#include "device/device_plan.hpp"
#include "vk/core/adopted.hpp"
#include "vk/core/caps.hpp"
#include "vk/core/check.hpp"
#include "vk/core/device.hpp"
#include "vk/core/device_choice.hpp"
#include "vk/core/pipeline.hpp"
#include "vk/core/semaphore.hpp"
#include "vk/core/turns.hpp"
#include "vk/core/unique_handle.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace tosavk {

/// VkDevice and its functions.
class LogicalDevice {
public:
    LogicalDevice(std::shared_ptr<Instance> instance, const PhysicalDevice& physical, const DevicePlan& plan,
                  const DeviceOptions& options);
    /// Somebody else's. Error(no_device) where it lacks a function.
    LogicalDevice(std::shared_ptr<Instance> instance, const AdoptedDevice& adopted, const PhysicalDevice& physical);
    ~LogicalDevice();
    LogicalDevice(const LogicalDevice&) = delete;
    LogicalDevice& operator=(const LogicalDevice&) = delete;

    std::shared_ptr<Instance> instance;
    VkDevice handle = VK_NULL_HANDLE;
    VolkDeviceTable vk{};
    bool has_host_pointers = false, has_external_fd = false, has_semaphore_fd = false;
    bool tells_of_pipelines = false;  ///< was asked to, and can

private:
    void complete_table();

    bool is_ours_ = true;
};

/// A queue has one user at a time: of this library by the mutex, beside others by their own lock.
class QueueMutex {
public:
    void lock() {
        mutex_.lock();
        if (lock_) lock_(user_);
    }
    void unlock() {
        if (unlock_) unlock_(user_);
        mutex_.unlock();
    }
    void share(const AdoptedDevice& adopted) {
        user_ = adopted.queue_user;
        lock_ = adopted.lock_queue;
        unlock_ = adopted.unlock_queue;
    }

private:
    std::mutex mutex_;
    void* user_ = nullptr;
    void (*lock_)(void* user) = nullptr;
    void (*unlock_)(void* user) = nullptr;
};

class Transfer;

struct DeviceState {
    DeviceState(std::shared_ptr<Instance> instance, const PhysicalDevice& physical, const DeviceCaps& caps,
                const DevicePlan& plan, const DeviceOptions& options, const AdoptedDevice* adopted = nullptr);

    ~DeviceState();

    /// Error(usage) where nothing can run, Error(device) in a process that was forked off since.
    void require_runs() const;
    /// One vkQueueSubmit, under the queue's lock; the command buffers run in this order. Answers with its number, from
    /// 1, which is the value that the timeline semaphore, where there is one, takes when they are done. Completion is
    /// the one to call this.
    std::uint64_t submit(std::span<const VkCommandBuffer> commands, VkFence fence, const RunOrder& order);
    /// Waits for that submit and all before it, `timeout_ns` nanoseconds at most where the device has timeline
    /// semaphores. Are they done?
    bool finish(std::uint64_t number, std::uint64_t timeout_ns = UINT64_MAX);
    /// Destroys it when a later submit is done. Mesa's threads for submits touch a semaphore after they have signalled
    /// it, when somebody who waited for its value may have let it go already.
    void retire(UniqueHandle<VkSemaphore> semaphore) noexcept;
    /// Those of somebody else's buffer.
    std::shared_ptr<Turns> turns_of(VkBuffer foreign);

    DeviceCaps caps;
    const OpenDriver open_driver;
    DevicePlan plan;
    std::size_t threads;  ///< for host work, see host_threads
    bool compile_only;    ///< see DeviceOptions
    bool is_lent = false;
    LogicalDevice device;
    const VolkDeviceTable& vk;
    VkQueue queue = VK_NULL_HANDLE;
    std::uint32_t queue_family;
    VkPhysicalDeviceMemoryProperties memory{};
    VkPhysicalDevice physical_device = VK_NULL_HANDLE;
    bool has_memory_budget = false;
    bool update_after_bind = false;   ///< see BindingLayout
    mutable std::mutex memory_mutex;  ///< for the three below, which Tally keeps
    std::uint64_t memory_in_use = 0, memory_peak = 0, memory_allocations = 0;
    MemoryLender lender;  ///< without functions: memory comes from the driver
    VkDeviceSize non_coherent_atom = 1;
    VkDeviceSize max_allocation = 0;
    VkDeviceSize host_pointer_alignment = 0;  ///< of memory of the host that buffers may be made of; 0: none may
    bool has_external_fd = false;             ///< memory goes to and comes from other devices
    QueueMutex queue_mutex;                   ///< for `queue` and `timeline_value`
    UniqueHandle<VkSemaphore> timeline;       ///< none where the plan has no timeline semaphores
    std::uint64_t timeline_value = 0;         ///< of the last submit
    /// With the submit after which nobody touches them; under queue_mutex.
    std::vector<std::pair<UniqueHandle<VkSemaphore>, std::uint64_t>> retired;
    PipelineLibrary pipelines;
    std::mutex tuning_mutex;
    std::shared_ptr<const TuningTable> tuning;  ///< null: not read yet
    std::mutex ticket_mutex;                    ///< see Turns
    Turns runs;                                 ///< of all runs
    std::map<VkBuffer, std::weak_ptr<Turns>> foreign_turns;
    std::mutex transfer_mutex;
    std::unique_ptr<Transfer> transfer;  ///< for buffers that the host does not see; none yet where nobody asked
};

}  // namespace tosavk
