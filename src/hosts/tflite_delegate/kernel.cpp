#include "hosts/tflite_delegate/kernel.hpp"
#include "hosts/tflite_delegate/guarded.hpp"
#include "hosts/tflite_delegate/operators.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tosavk::delegate {

thread_local std::shared_ptr<Session> claiming_session;

namespace {

std::span<const std::byte> bytes_of(const Tensor& tensor) {
    if (tensor.data == nullptr && tensor.bytes > 0) throw Refused("an input has no data");
    return {static_cast<const std::byte*>(tensor.data), tensor.bytes};
}

std::span<std::byte> room_of(const Tensor& tensor) {
    if (tensor.data == nullptr && tensor.bytes > 0) throw Refused("an output has no memory");
    return {static_cast<std::byte*>(tensor.data), tensor.bytes};
}

std::vector<std::byte> narrow(std::span<const std::byte> wide) {
    std::vector<std::byte> result(wide.size() / 2);
    for (std::size_t k = 0; k < wide.size() / 8; ++k) {
        std::int64_t value = 0;
        std::memcpy(&value, wide.data() + 8 * k, 8);
        const auto small = static_cast<std::int32_t>(value);
        if (small != value) throw Refused("an int64 input holds a number beyond 32 bits");
        std::memcpy(result.data() + 4 * k, &small, 4);
    }
    return result;
}

void widen(std::span<const std::byte> narrow, std::span<std::byte> wide) {
    for (std::size_t k = 0; k < narrow.size() / 4; ++k) {
        std::int32_t value = 0;
        std::memcpy(&value, narrow.data() + 4 * k, 4);
        const std::int64_t large = value;
        std::memcpy(wide.data() + 8 * k, &large, 8);
    }
}

Kernel* kernel_of(const Node* node) { return static_cast<Kernel*>(node->user_data); }

}  // namespace

Registration kernel_registration() {
    Registration registration{};
    registration.init = [](Context* context, const char* buffer, std::size_t) -> void* {
        Kernel* kernel = nullptr;
        guarded(context, "init", [&] {
            if (!claiming_session) throw Refused("no graph is being claimed");
            kernel = new Kernel(claiming_session, *reinterpret_cast<const DelegateParams*>(buffer));
        });
        return kernel;
    };
    registration.free = [](Context* context, void* data) {
        auto* kernel = static_cast<Kernel*>(data);
        if (kernel != nullptr) kernel->leave(*context);
        delete kernel;
    };
    registration.prepare = [](Context* context, Node* node) {
        return guarded(context, "prepare", [&] {
            if (kernel_of(node) == nullptr) throw Refused("the partition was not made");
            kernel_of(node)->prepare(*context);
        });
    };
    registration.invoke = [](Context* context, Node* node) {
        return guarded(context, "invoke", [&] { kernel_of(node)->invoke(*context); });
    };
    registration.profiling_string = nullptr;
    registration.builtin_code = static_cast<int>(tflite::BuiltinOperator::DELEGATE);
    registration.custom_name = "tosa-vk";
    registration.version = 1;
    return registration;
}

Kernel::Kernel(std::shared_ptr<Session> session, const DelegateParams& params) : session_(std::move(session)) {
    nodes_.assign(params.nodes->data, params.nodes->data + params.nodes->size);
    outputs_.assign(params.outputs->data, params.outputs->data + params.outputs->size);
    const auto known = std::find_if(session_->partitions.begin(), session_->partitions.end(),
                                    [&](const Partition& p) { return p.nodes == nodes_; });
    if (known == session_->partitions.end()) throw Refused("the runtime made another partition than it had announced");
    inputs_ = known->inputs;
    for (const int output : known->outputs) {
        if (Session::Shared* shared = session_->find_shared(output)) shared->producer = this;
    }
}

void Kernel::prepare(Context& context) {
    const Shapes shapes = shapes_of(context, inputs_);
    const auto known = std::find_if(instances_.begin(), instances_.end(),
                                    [&](const Instance& instance) { return instance.partition.shapes == shapes; });
    if (known != instances_.end()) {
        instances_.splice(instances_.begin(), instances_, known);
    } else {
        instances_.push_front(make_instance(context, shapes));
        if (instances_.size() > most_sizes) instances_.pop_back();
    }
    resize_outputs(context, instances_.front());
    if (!instances_.front().context) return;
    try {
        place_shared(instances_.front());
    } catch (const cpp::Error& e) {
        device_failed(e);
    }
}

/// The file with its sizes open serves all that come after the first, where all that it has can be said of it; else
/// each has a file of its own.
Partition Kernel::other_sizes(const Context& context) const {
    try {
        return make_partition(context, *session_, nodes_, outputs_, SizesInFile::open);
    } catch (const std::exception& e) {
        session_->owner->say(std::string("a partition is written for one size alone: ") + e.what());
        return make_partition(context, *session_, nodes_, outputs_);
    }
}

Kernel::Instance Kernel::make_instance(const Context& context, const Shapes& shapes) {
    Instance instance;
    const auto known = std::find_if(session_->partitions.begin(), session_->partitions.end(), [&](const Partition& p) {
        return p.nodes == nodes_ && p.shapes == shapes && p.compiled;
    });
    if (known != session_->partitions.end()) {
        instance.partition = *known;
        known->compiled.reset();  // from now on it is ours to drop
    } else {
        instance.partition = other_sizes(context);
    }
    const Compiled& compiled = *instance.partition.compiled;
    for (std::uint32_t k = 0; k < compiled.graph.input_count(); ++k) {
        const int tensor = instance.partition.inputs[k];
        instance.inputs.push_back({tensor, form_of(context.tensors[tensor], compiled.graph.input(k)), nullptr});
    }
    for (std::uint32_t k = 0; k < compiled.graph.output_count(); ++k) {
        const int tensor = instance.partition.outputs[k];
        instance.outputs.push_back({tensor, form_of(context.tensors[tensor], compiled.graph.output(k)), nullptr});
    }
    Cost cost;
    try {
        if (!compiled.executable) {
            throw cpp::Error(TOSAVK_ERROR_OUT_OF_MEMORY, "a partition could not be compiled");
        }
        instance.context.emplace(*compiled.executable);
        instance.dispatches = instance.context->counters().dispatches;
        cost = compiled.take_cost(*instance.context);
    } catch (const cpp::Error& e) {
        if (!is_device_failure(e)) throw;
        instance.context.reset();
        device_failed(e);
    }
    session_->owner->count([&](tosavk_tflite_counters& c) {
        ++c.compilations;
        c.shaders_compiled += cost.shaders;
        c.pipelines_created += cost.pipelines;
        c.weight_bytes_copied += cost.weight_bytes;
    });
    return instance;
}

/// Room for what is handed on without the host, as the producer and every reader want it.
void Kernel::place_shared(Instance& instance) {
    const cpp::Executable& executable = *instance.partition.compiled->executable;
    for (std::uint32_t k = 0; k < instance.inputs.size(); ++k) {
        if (session_->find_shared(instance.inputs[k].tensor) != nullptr)
            reserve(instance.inputs[k].tensor, executable.input_binding(k).padded_bytes);
    }
    for (std::uint32_t k = 0; k < instance.outputs.size(); ++k) {
        if (session_->find_shared(instance.outputs[k].tensor) != nullptr)
            reserve(instance.outputs[k].tensor, executable.output_binding(k).padded_bytes);
    }
}

void Kernel::reserve(int tensor, std::uint64_t bytes) {
    Session::Shared& shared = *session_->find_shared(tensor);
    if (shared.buffer && shared.bytes >= bytes) return;
    // Its reader, which is prepared later, may want some more.
    constexpr std::uint64_t step = 256;
    bytes = (bytes / step + 2) * step;
    cpp::Buffer larger(session_->device->device, bytes);
    if (shared.buffer) larger.copy_from(*shared.buffer, 0, 0, shared.bytes);
    shared.buffer = std::move(larger);
    shared.bytes = bytes;
}

void Kernel::resize_outputs(Context& context, const Instance& instance) {
    const cpp::Graph& graph = instance.partition.compiled->graph;
    for (std::uint32_t k = 0; k < instance.outputs.size(); ++k) {
        Tensor& tensor = context.tensors[instance.outputs[k].tensor];
        const cpp::Shape shape = cpp::shape_of(graph.output(k));
        // What the runtime took for known too late is not in its arena: resizing is what gives it memory.
        const bool homeless = tensor.allocation_type == memory_dynamic && tensor.data == nullptr;
        if (shape_of(tensor) == shape && !homeless) continue;
        auto* dims = static_cast<IntArray*>(std::malloc(sizeof(IntArray) + shape.size() * sizeof(int)));
        if (dims == nullptr) throw std::bad_alloc();
        dims->size = static_cast<int>(shape.size());
        for (std::size_t d = 0; d < shape.size(); ++d) dims->data[d] = static_cast<int>(shape[d]);
        if (context.resize_tensor(&context, &tensor, dims) != status_ok) throw Refused("an output cannot be resized");
    }
}

void Kernel::invoke(Context& context) {
    if (instances_.empty()) throw Refused("the partition was not prepared");
    Instance& instance = instances_.front();
    resize_outputs(context, instance);
    if (!on_host_ && instance.context) {
        try {
            run_on_device(context, instance);
            return;
        } catch (const cpp::Error& e) {
            if (!is_device_failure(e)) throw;
            device_failed(e);
        }
    }
    run_reference(context, instance);
}

void Kernel::run_on_device(Context& context, Instance& instance) {
    cpp::Context& run = *instance.context;
    std::uint64_t copies = 0;
    const bool keep = std::any_of(instance.outputs.begin(), instance.outputs.end(),
                                  [&](const End& end) { return session_->find_shared(end.tensor) != nullptr; });
    kept_.assign(keep ? instance.inputs.size() : 0, {});
    for (std::uint32_t k = 0; k < instance.inputs.size(); ++k) {
        End& end = instance.inputs[k];
        if (session_->is_on_device(context, end.tensor)) {
            const cpp::Buffer& buffer = *session_->find_shared(end.tensor)->buffer;
            if (end.bound != buffer.get()) run.bind_input(k, buffer, TOSAVK_BIND_PADDED);
            end.bound = buffer.get();
            continue;
        }
        const std::span<const std::byte> bytes = bytes_of(context.tensors[end.tensor]);
        if (end.form == Form::int64) run.set_input_as(k, TOSAVK_HOST_I64, bytes);
        else run.set_input(k, bytes);
        end.bound = nullptr;
        ++copies;
        if (keep) kept_[k] = input_bytes(context, end);
    }
    for (std::uint32_t k = 0; k < instance.outputs.size(); ++k) {
        End& end = instance.outputs[k];
        const Session::Shared* shared = session_->find_shared(end.tensor);
        if (shared == nullptr || end.bound == shared->buffer->get()) continue;
        run.bind_output(k, *shared->buffer, TOSAVK_BIND_PADDED);
        end.bound = shared->buffer->get();
    }
    run.run();
    for (std::uint32_t k = 0; k < instance.outputs.size(); ++k) {
        const End& end = instance.outputs[k];
        if (end.bound != nullptr) {
            mark(context, end.tensor, true);
            continue;
        }
        const std::span<std::byte> room = room_of(context.tensors[end.tensor]);
        if (end.form == Form::int64) run.get_output_as(k, TOSAVK_HOST_I64, room);
        else run.get_output(k, room);
        ++copies;
    }
    session_->owner->count([&](tosavk_tflite_counters& c) {
        ++c.runs;
        c.dispatches += instance.dispatches;
        c.host_copies += copies;
    });
}

/// As the graph wants them.
std::vector<std::byte> Kernel::input_bytes(const Context& context, const End& end) {
    if (session_->is_on_device(context, end.tensor))
        return session_->find_shared(end.tensor)->producer->fetch(end.tensor);
    const std::span<const std::byte> bytes = bytes_of(context.tensors[end.tensor]);
    if (end.form == Form::int64) return narrow(bytes);
    return std::vector<std::byte>(bytes.begin(), bytes.end());
}

void Kernel::run_reference(Context& context, Instance& instance) {
    std::vector<std::vector<std::byte>> inputs;
    for (const End& end : instance.inputs) inputs.push_back(input_bytes(context, end));
    const auto outputs = instance.partition.compiled->graph.reference_run(inputs);
    for (std::size_t k = 0; k < instance.outputs.size(); ++k) {
        const End& end = instance.outputs[k];
        const std::span<std::byte> room = room_of(context.tensors[end.tensor]);
        if (outputs[k].size() * (end.form == Form::int64 ? 2 : 1) != room.size())
            throw Refused("an output has another size");
        if (end.form == Form::int64) widen(outputs[k], room);
        else std::copy(outputs[k].begin(), outputs[k].end(), room.begin());
        if (session_->find_shared(end.tensor) != nullptr) mark(context, end.tensor, false);
    }
    session_->owner->count([](tosavk_tflite_counters& c) { ++c.reference_runs; });
}

std::vector<std::byte> Kernel::fetch(int tensor) {
    Instance& instance = instances_.front();
    const auto end = std::find_if(instance.outputs.begin(), instance.outputs.end(),
                                  [&](const End& e) { return e.tensor == tensor; });
    const auto index = static_cast<std::uint32_t>(end - instance.outputs.begin());
    const cpp::Graph& graph = instance.partition.compiled->graph;
    std::vector<std::byte> bytes(graph.output(index).size_bytes);
    try {
        session_->find_shared(tensor)->buffer->download(bytes);
        session_->owner->count([](tosavk_tflite_counters& c) { ++c.host_copies; });
        return bytes;
    } catch (const cpp::Error& e) {
        if (!is_device_failure(e)) throw;
        device_failed(e);
    }
    std::vector<std::vector<std::byte>> inputs = kept_;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        const int source = instance.inputs[k].tensor;
        if (inputs[k].empty()) inputs[k] = session_->find_shared(source)->producer->fetch(source);
    }
    session_->owner->count([](tosavk_tflite_counters& c) { ++c.reference_runs; });
    return graph.reference_run(inputs)[index];
}

void fetch_shared(const DelegateImpl& owner, int handle, Tensor& tensor) {
    const auto [session, index] = owner.find_handle(handle);
    Kernel* producer = session == nullptr ? nullptr : session->find_shared(index)->producer;
    if (producer == nullptr) throw Refused("a tensor on the device is gone");
    const std::vector<std::byte> bytes = producer->fetch(index);
    const std::span<std::byte> room = room_of(tensor);
    if (room.size() != bytes.size()) throw Refused("a tensor on the device has another size");
    std::copy(bytes.begin(), bytes.end(), room.begin());
}

void Kernel::mark(Context& context, int tensor, bool on_device) {
    Tensor& t = context.tensors[tensor];
    if (on_device) {
        t.delegate = session_->delegate;
        t.buffer_handle = session_->find_shared(tensor)->handle;
    }
    t.data_is_stale = on_device;
}

void Kernel::device_failed(const cpp::Error& error) {
    on_host_ = true;
    if (error.status() == TOSAVK_ERROR_DEVICE_LOST) session_->device->failed = true;
    session_->owner->warn_once("the device has failed (" + std::string(error.what()) + ")",
                               "what it was to compute is computed by the reference interpreter from now on, slowly");
}

void Kernel::leave(Context& context) noexcept {
    for (auto& [tensor, shared] : session_->shared) {
        if (shared.producer != this) continue;
        shared.producer = nullptr;
        if (static_cast<std::size_t>(tensor) >= context.tensor_count) continue;
        Tensor& t = context.tensors[tensor];
        if (t.delegate != session_->delegate) continue;
        t.delegate = nullptr;
        t.buffer_handle = no_buffer_handle;
        t.data_is_stale = false;
    }
}

}  // namespace tosavk::delegate
