// The order in which a recording's command buffers are submitted, and where the host decides or waits.
#include "vk/record/recording.hpp"

#include <algorithm>

namespace tosavk {

/// The plan's command buffers, up to where the host must decide.
void Recording::enqueue(const Recorded& recorded) {
    for (std::size_t s = 0; s < recorded.segments.size(); ++s) {
        for (const Chunk& chunk : recorded.segments[s]) enqueue(chunk.commands, chunk.share, 1);
        if (s < recorded.controls.size()) decide(recorded.controls[s]);
    }
}

void Recording::enqueue(VkCommandBuffer commands, double share, std::size_t stretches) {
    constexpr std::size_t most = 1024;  // of one submit
    if (queued_stretches_ + stretches > most || (queued_share_ > 0 && queued_share_ + share > 1)) make_room();
    queued_.push_back(commands);
    queued_share_ += share;
    queued_stretches_ += stretches;
}

void Recording::decide(const RecordedControl& control) {
    enqueue(control.prepare, submit_share(control.step->prepare, device_.plan), 1);
    if (!control.step->is_loop) {
        const bool taken = condition(*control.step);
        enqueue(control.regions[taken ? 0 : 1]);
        return;
    }
    const ControlStep& step = *control.step;
    if (step.alternates()) {
        enqueue_turns(control, step.turns / 2);
        if (step.turns % 2 != 0) enqueue(control.regions[1]);
        if (control.answer != VK_NULL_HANDLE) enqueue(control.answer, submit_share(step.answer, device_.plan), 1);
        return;
    }
    if (step.turns >= 0) return enqueue_turns(control, step.turns);
    if (control.step->is_gated()) {
        if (!control.step->is_decided()) return enqueue_turns(control, control.step->most);
        constexpr std::int64_t most = 64;  // so that few do nothing, and few wait for the host
        for (std::int64_t turns = 1;; turns = std::min(2 * turns, most)) {
            enqueue_turns(control, turns);
            queued_.push_back(control.answer);
            if (!condition(*control.step)) return;
        }
    }
    // The condition of a turn is computed in the submit of the turn before.
    enqueue(control.regions[0]);
    while (condition(*control.step)) {
        enqueue(control.regions[1]);
        enqueue(control.regions[0]);
    }
}

void Recording::enqueue_turns(const RecordedControl& control, std::int64_t turns) {
    const auto stretches = static_cast<std::size_t>(control.many) * control.turn.size();
    for (; control.many > 1 && turns >= control.many; turns -= control.many)
        enqueue(control.turns, control.share, stretches);
    for (; turns > 0; --turns) {
        for (const std::size_t region : control.turn) enqueue(control.regions[region]);
    }
}

bool Recording::condition(const ControlStep& control) {
    flush(true);
    wait_here();
    std::byte bytes[4];
    conditions_.read(control.condition.offset, bytes);
    return bytes[0] != std::byte{0};
}

/// Loops of very many turns, which run in a thread of the context, do not fill the queue's memory.
void Recording::make_room() {
    constexpr std::uint64_t most = 64;  // submits under way
    const bool waits = submits_ - waited_ >= most && stretches(executable_.plan) > many_stretches;
    flush(waits);
    if (waits) wait_here();
}

void Recording::wait_here() {
    wait(Completion::forever);
    waited_ = submits_;
}

void Recording::flush(bool last, bool ends) {
    RunOrder order;
    if (!begun_) order.waits = order_->waits;
    if (ends) order.signals = order_->signals;
    done_.submit(queued_, last, order);
    begun_ = true;
    ++submits_;
    queued_.clear();
    queued_share_ = 0;
    queued_stretches_ = 0;
}

void Recording::submit(const RunOrder& order) {
    wait_here();  // of a run that failed between two submits
    queued_.clear();
    queued_share_ = 0;
    queued_stretches_ = 0;
    order_ = &order;
    begun_ = false;
    enqueue(recorded_);
    flush(true, true);
}

void Recording::abandon() noexcept {
    try {
        wait(Completion::forever);
    } catch (...) {  // a lost device runs nothing any more
    }
}

}  // namespace tosavk
