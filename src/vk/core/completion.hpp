// What the host waits for after a submit: a value of the device's timeline semaphore, or a fence of its own on devices
// without such semaphores.
#pragma once

#include "vk/core/semaphore.hpp"

#include <cstdint>
#include <span>

namespace tosavk {

struct DeviceState;

/// A series of submits that is waited for as a whole. Used by one thread at a time; any number may be under way.
class Completion {
public:
    static constexpr std::uint64_t forever = UINT64_MAX;

    explicit Completion(DeviceState& device);
    /// Waits for what is under way, so that nothing is freed that the device still uses.
    ~Completion();
    Completion(const Completion&) = delete;
    Completion& operator=(const Completion&) = delete;

    /// One vkQueueSubmit; the command buffers run in this order. `last`: nothing is added before the next wait.
    void submit(std::span<const VkCommandBuffer> commands, bool last, const RunOrder& order = {});
    /// Whether all that was submitted has finished; waits `timeout_ns` for it at most. True when nothing was.
    bool wait(std::uint64_t timeout_ns);
    bool pending() const { return pending_; }
    /// Waits without an answer, before something that is used goes.
    void drain() noexcept;
    /// DeviceState::submit()'s number of the last one.
    std::uint64_t number() const { return value_; }

private:
    VkResult try_wait(std::uint64_t timeout_ns);

    DeviceState* device_;
    UniqueHandle<VkFence> fence_;  ///< none with a timeline semaphore
    std::uint64_t value_ = 0;      ///< of the timeline: the last submit is done
    bool pending_ = false;
    bool fenced_ = false;  ///< the fence, or the timeline's value, stands behind all that is under way
};

}  // namespace tosavk
