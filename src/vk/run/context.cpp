// The state of a run and the checks of its caller; recording.cpp does the work.
#include "vk/run/context.hpp"

#include "ops/storage.hpp"
#include "vk/record/recording.hpp"
#include "vk/run/run_thread.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <unordered_set>
#include <utility>

namespace tosavk {

namespace {

/// `what` is "input 0" or the like.
template <class Tensor> void require_size(const Tensor& value, std::size_t bytes, const std::string& what) {
    const std::size_t expected = static_cast<std::size_t>(element_count(value.shape)) * size_of(value.type);
    if (bytes != expected) {
        throw Error(ErrorCode::bad_input, fmt::format("{} '{}' has {} bytes ({} {}), not {}", what, value.name,
                                                      expected, name_of(value.type), to_string(value.shape), bytes));
    }
}

/// The context's own memory, or a buffer that is bound in its place.
bool lies_in_memory(const Placement& place) { return place.space == Space::arena || place.space == Space::external; }

void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
    if (!to.empty()) {
        std::memcpy(to.data(), from.data(), to.size());
    }
}

}  // namespace

namespace {

/// What waits on the queue holds up all that comes later, copies of buffers too, and so perhaps who is to signal. A
/// lent queue is its owner's, who says what stands on it.
bool may_queue(const SemaphorePoint& point) {
    return point.semaphore->device().state().is_lent || point.semaphore->is_sure(point.value);
}

std::shared_ptr<Executable> that_runs(std::shared_ptr<Executable> executable) {
    executable->device().require_runs();
    return executable;
}

}  // namespace

Context::Context(std::shared_ptr<Executable> executable, bool profile)
    : executable_(that_runs(std::move(executable))),
      inputs_(executable_->graph().inputs.size()),
      outputs_(executable_->graph().outputs.size()),
      recording_(std::make_unique<Recording>(executable_->state(), profile)),
      input_set_(executable_->graph().inputs.size(), false) {
    counters_.allocations = recording_->allocations();
}

Context::~Context() = default;

void Context::set_input(std::size_t index, std::span<const std::byte> bytes) {
    const Graph& graph = executable_->graph();
    if (index >= graph.inputs.size()) {
        throw Error(ErrorCode::usage,
                    fmt::format("there is no input {}: the graph has {}", index, graph.inputs.size()));
    }
    if (phase_ == Phase::running) {
        throw Error(ErrorCode::usage,
                    fmt::format("input {} was set while a run was under way; wait for it first", index));
    }
    require_size(graph.value(graph.inputs[index]), bytes.size(), fmt::format("input {}", index));
    settle();
    if (phase_ == Phase::finished) keep_outputs_in(graph.inputs[index]);
    recording_->write_input(index, bytes);
    input_set_[index] = true;
    ++counters_.host_copies;
    if (inputs_[index]) {
        inputs_[index] = {};
        bindings_changed_ = true;
    }
}

/// What a run that failed has left under way.
void Context::settle() {
    executable_->device().require_runs();
    try {
        recording_->wait(Completion::forever);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::device_lost) throw;  // which runs nothing any more
    }
}

void Context::check_binding(const char* what, std::size_t index, std::span<const ValueId> ids,
                            const BoundBuffer& bound) const {
    const Graph& graph = executable_->graph();
    if (index >= ids.size())
        throw Error(ErrorCode::usage, fmt::format("there is no {} {}: the graph has {}", what, index, ids.size()));
    if (phase_ == Phase::running)
        throw Error(ErrorCode::usage,
                    fmt::format("{} {} was bound while a run was under way; wait for it first", what, index));
    if (!bound) return;
    if (&bound.buffer.memory->device().state() != &executable_->device().state())
        throw Error(ErrorCode::usage, fmt::format("the buffer for {} {} belongs to another device", what, index));
    const Value& value = graph.value(ids[index]);
    const std::uint64_t wanted = static_cast<std::uint64_t>(element_count(value.shape)) * size_of(value.type);
    if (bound.buffer.size < wanted)
        throw Error(ErrorCode::bad_input,
                    fmt::format("{} {} '{}' has {} bytes ({} {}), and its buffer {}", what, index, value.name, wanted,
                                name_of(value.type), to_string(value.shape), bound.buffer.size));
}

void Context::bind_input(std::size_t index, BoundBuffer bound) {
    check_binding("input", index, executable_->graph().inputs, bound);
    settle();
    if (phase_ == Phase::finished) keep_outputs_in(executable_->graph().inputs[index]);
    input_set_[index] = static_cast<bool>(bound);
    inputs_[index] = std::move(bound);
    bindings_changed_ = true;
}

void Context::bind_output(std::size_t index, BoundBuffer bound) {
    check_binding("output", index, executable_->graph().outputs, bound);
    settle();
    outputs_[index] = std::move(bound);
    bindings_changed_ = true;
    forget_results();  // they lie elsewhere
}

void Context::use_bindings() {
    const auto ranges = [](const std::vector<BoundBuffer>& bound) {
        std::vector<BufferRange> all;
        for (const BoundBuffer& one : bound) {
            BufferRange& range = all.emplace_back();
            if (!one) continue;
            range = {number_of(one.buffer.memory->buffer().handle()), one.buffer.offset, one.buffer.size};
            set_usage(range, one.buffer.memory->usage());
            range.padded = one.padded;
        }
        return all;
    };
    const auto flags = [](const std::vector<BoundBuffer>& bound) {
        std::vector<bool> all;
        for (const BoundBuffer& one : bound) all.push_back(static_cast<bool>(one));
        return all;
    };
    ExternalUse use = use_externals(executable_->graph(), executable_->plan(), executable_->device().caps(),
                                    ranges(inputs_), ranges(outputs_));
    const std::size_t copies = use.before.size() + use.after.size();
    recording_->bind(std::move(use), flags(inputs_), flags(outputs_));
    copies_a_run_ = copies;
    bindings_changed_ = false;
}

/// An output may be another name of an input, or a part of it; it is to stay that of the last run.
void Context::keep_outputs_in(ValueId input) {
    const Graph& graph = executable_->graph();
    const std::vector<Placement>& placements = executable_->plan().placements;
    const Placement& in = placements[input];
    const std::size_t slot = slot_of(executable_->plan(), in);
    if (slot == no_slot) return;
    if (outputs_in_slot_.empty()) {
        outputs_in_slot_.resize(executable_->plan().externals.size());
        for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
            const std::size_t of = slot_of(executable_->plan(), placements[graph.outputs[k]]);
            if (of != no_slot) outputs_in_slot_[of].push_back(k);
        }
    }
    for (const std::size_t k : outputs_in_slot_[slot]) {
        const Value& value = graph.value(graph.outputs[k]);
        const Placement& out = placements[graph.outputs[k]];
        const bool shared = out.space == in.space && out.space != Space::none && out.offset < in.offset + in.size &&
                            in.offset < out.offset + out.size;
        if (!shared || outputs_[k] || kept_outputs_.count(k) != 0) continue;
        std::vector<std::byte> bytes(static_cast<std::size_t>(element_count(value.shape)) * size_of(value.type));
        recording_->read_output(k, bytes);
        kept_outputs_.emplace(k, std::move(bytes));
    }
}

void Context::begin_uses() {
    uses_.reserve(1 + inputs_.size() + outputs_.size());
    DeviceState& device = executable_->device().state();
    const std::lock_guard lock(device.ticket_mutex);
    try {
        const std::shared_ptr<Turns> runs(executable_, &device.runs);
        // Signals too keep the order of the runs: a semaphore's value only grows.
        uses_.push_back({runs, runs->begin(), !order_.waits.empty() || !order_.signals.empty()});
        std::unordered_set<const Turns*> known;
        for (const std::vector<BoundBuffer>* bound : {&inputs_, &outputs_}) {
            for (const BoundBuffer& one : *bound) {
                if (!one) continue;
                const std::shared_ptr<Turns>& turns = one.buffer.memory->turns();
                if (known.insert(turns.get()).second) uses_.push_back({turns, turns->begin(), true});
            }
        }
    } catch (...) {  // a ticket that nobody gives back would hold up all that come later
        end_uses();
        throw;
    }
}

void Context::end_uses() noexcept {
    for (const Use& use : uses_) use.turns->end(use.ticket, recording_->last_submit());
    uses_.clear();
}

void Context::submit_now(const RunOrder& order) {
    try {
        for (const Use& use : uses_) {
            if (use.waits) use.turns->wait_until_next(use.ticket);
        }
        for (const SemaphorePoint& point : order.waits) {
            while (!may_queue(point) && !point.semaphore->wait(point.value, Completion::forever)) {}
        }
        recording_->submit(order);
    } catch (...) {
        recording_->abandon();
        end_uses();
        throw;
    }
    end_uses();
}

void Context::submit(RunRequest request) {
    if (phase_ == Phase::running) {
        throw Error(ErrorCode::usage, "a run was submitted while another was under way; wait for it first");
    }
    for (std::size_t i = 0; i < input_set_.size(); ++i) {
        const Value& value = executable_->graph().value(executable_->graph().inputs[i]);
        if (!input_set_[i] && !has_no_elements(value.shape))
            throw Error(ErrorCode::usage, fmt::format("input {} '{}' was never set", i, value.name));
    }
    for (const std::vector<SemaphorePoint>* points : {&request.order.waits, &request.order.signals}) {
        for (const SemaphorePoint& point : *points) {
            if (&point.semaphore->device().state() != &executable_->device().state())
                throw Error(ErrorCode::usage, "a semaphore belongs to another device");
        }
    }
    const std::vector<SemaphorePoint>& signals = request.order.signals;
    for (std::size_t k = 0; k < signals.size(); ++k) {
        for (std::size_t j = 0; j < k; ++j) {
            if (signals[j].semaphore->handle() == signals[k].semaphore->handle())
                throw Error(ErrorCode::usage, "a run signals one semaphore twice");
        }
        signals[k].semaphore->require_growth(signals[k].value);
    }
    settle();
    if (bindings_changed_) use_bindings();
    order_ = request.order;
    const bool may_queue_all = std::all_of(order_.waits.begin(), order_.waits.end(), may_queue);
    begin_uses();
    kept_outputs_.clear();
    forget_results();  // part of the run may be done when a submit fails
    const bool waits = std::any_of(uses_.begin(), uses_.end(),
                                   [](const Use& use) { return use.waits && !use.turns->is_next(use.ticket); });
    const bool decides =
        executable_->plan().decisions > 0 || stretches(executable_->plan()) > many_stretches || waits || !may_queue_all;
    if (!decides) submit_now(order_);
    if (decides || request.done) run_on_thread(std::move(request), !decides);
    counters_.buffer_copies += copies_a_run_;
    phase_ = Phase::running;
}

void Context::run_on_thread(RunRequest request, bool submitted) {
    try {
        if (!thread_) thread_ = std::make_unique<RunThread>();
        thread_error_ = nullptr;
        fault_ = exchange_fault(0);
        thread_->start([this, submitted, done = std::move(request.done)] {
            exchange_fault(fault_);
            std::optional<ErrorCode> failure;
            try {
                if (!submitted) submit_now(order_);
                if (done) recording_->wait(Completion::forever);
            } catch (const Error& error) {
                failure = error.code();
                thread_error_ = std::current_exception();
            } catch (...) {
                failure = ErrorCode::internal;
                thread_error_ = std::current_exception();
            }
            fault_ = exchange_fault(0);
            if (done) done(failure);
        });
        on_thread_ = true;
    } catch (...) {  // there is no thread to be had
        recording_->abandon();
        end_uses();
        throw;
    }
}

void Context::wait() { wait(Completion::forever); }

bool Context::wait(std::uint64_t timeout_ns) {
    if (phase_ != Phase::running) {
        throw Error(ErrorCode::usage, "there is no run to wait for");
    }
    executable_->device().require_runs();
    if (on_thread_) {
        const auto begin = std::chrono::steady_clock::now();
        if (!thread_->wait(timeout_ns)) return false;
        on_thread_ = false;
        exchange_fault(fault_);
        if (thread_error_) {
            forget_results();
            std::rethrow_exception(std::exchange(thread_error_, nullptr));
        }
        const auto spent = std::chrono::steady_clock::now() - begin;
        const auto ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(spent).count());
        if (timeout_ns != Completion::forever) timeout_ns -= std::min(ns, timeout_ns);
    }
    try {
        if (!recording_->wait(timeout_ns)) return false;
        recording_->read_timestamps(dispatch_ns_);
    } catch (...) {
        forget_results();
        throw;
    }
    phase_ = Phase::finished;
    ++counters_.runs;
    return true;
}

void Context::require_finished() const {
    if (phase_ != Phase::finished) {
        throw Error(ErrorCode::usage, phase_ == Phase::running
                                          ? "a result was asked for while a run was under way; wait for it first"
                                          : "a result was asked for before any run");
    }
}

bool Context::copy_constant(ValueId id, std::span<std::byte> bytes) const {
    const Graph& graph = executable_->graph();
    const Value& owner = graph.value(storage_of(graph, id));
    if (owner.is_constant() && owner.data->size() == bytes.size()) {
        copy_bytes(*owner.data, bytes);
        return true;
    }
    const Plan& plan = executable_->plan();
    const Placement& place = plan.placements[id];
    if (place.space == Space::constants) {
        plan.constants.read(place.offset, bytes);
        return true;
    }
    return false;
}

void Context::get_output(std::size_t index, std::span<std::byte> bytes) {
    const Graph& graph = executable_->graph();
    if (index >= graph.outputs.size()) {
        throw Error(ErrorCode::usage,
                    fmt::format("there is no output {}: the graph has {}", index, graph.outputs.size()));
    }
    require_finished();
    const ValueId id = graph.outputs[index];
    require_size(graph.value(id), bytes.size(), fmt::format("output {}", index));
    if (outputs_[index]) {
        const DeviceBuffer& buffer = outputs_[index].buffer;
        return buffer.memory->download(buffer.offset, bytes);
    }
    ++counters_.host_copies;
    if (bytes.empty()) return;
    const auto kept = kept_outputs_.find(index);
    if (kept != kept_outputs_.end()) {
        copy_bytes(kept->second, bytes);
    } else if (lies_in_memory(executable_->plan().placements[id])) {
        recording_->read_output(index, bytes);
    } else if (!copy_constant(id, bytes)) {
        throw Error(ErrorCode::internal, fmt::format("output {} '{}' has no memory", index, graph.value(id).name));
    }
}

const Variable& Context::idle_variable(std::size_t index, std::size_t bytes) const {
    const Graph& graph = executable_->graph();
    if (index >= graph.variables.size()) {
        throw Error(ErrorCode::usage,
                    fmt::format("there is no variable {}: the graph has {}", index, graph.variables.size()));
    }
    if (phase_ == Phase::running) {
        throw Error(ErrorCode::usage,
                    fmt::format("variable {} was touched while a run was under way; wait for it first", index));
    }
    require_size(graph.variables[index], bytes, fmt::format("variable {}", index));
    return graph.variables[index];
}

void Context::set_variable(std::size_t index, std::span<const std::byte> bytes) {
    idle_variable(index, bytes.size());
    settle();
    recording_->write_variable(index, bytes);
}

void Context::get_variable(std::size_t index, std::span<std::byte> bytes) {
    idle_variable(index, bytes.size());
    settle();
    recording_->read_variable(index, bytes);
}

void Context::reset_variables() {
    if (phase_ == Phase::running) {
        throw Error(ErrorCode::usage, "the variables were reset while a run was under way; wait for it first");
    }
    settle();
    recording_->reset_variables();
}

void Context::get_value(ValueId id, std::span<std::byte> bytes) {
    const Graph& graph = executable_->graph();
    if (id >= graph.values.size()) {
        throw Error(ErrorCode::usage, fmt::format("there is no value {}: the graph has {}", id, graph.values.size()));
    }
    require_finished();
    require_size(graph.value(id), bytes.size(), "value");
    const Placement& place = executable_->plan().placements[id];
    if (lies_in_memory(place)) {
        recording_->read(place, bytes);
    } else if (!copy_constant(id, bytes)) {
        throw Error(ErrorCode::usage,
                    fmt::format("value '{}' is not kept in memory by this plan", graph.value(id).name));
    }
}

void Context::get_memory(const Placement& place, std::span<std::byte> bytes) {
    require_finished();
    if (place.space != Space::arena || bytes.size() > place.size)
        throw Error(ErrorCode::internal, "what is asked for does not lie in the arena");
    recording_->read(place, bytes);
}

ContextCounters Context::counters() const {
    ContextCounters counters = counters_;
    counters.submits = recording_->submits();
    return counters;
}

std::vector<double> Context::dispatch_ns() const { return dispatch_ns_; }

}  // namespace tosavk
