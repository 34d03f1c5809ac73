// A partition in the runtime's graph.
#pragma once

#include "hosts/tflite_delegate/session.hpp"

#include <list>

namespace tosavk::delegate {

/// The functions of a partition.
Registration kernel_registration();

/// While a runtime replaces nodes it calls init, which finds its session here.
extern thread_local std::shared_ptr<Session> claiming_session;

class Kernel {
public:
    Kernel(std::shared_ptr<Session> session, const DelegateParams& params);

    void prepare(Context& context);
    void invoke(Context& context);
    /// Before the kernel goes: tensors forget that their values were here.
    void leave(Context& context) noexcept;
    /// The value of a shared tensor that the last run wrote.
    std::vector<std::byte> fetch(int tensor);

private:
    struct End {
        int tensor = 0;
        Form form = Form::bytes;
        const tosavk_buffer* bound = nullptr;
    };
    /// The partition for one set of input shapes.
    struct Instance {
        Partition partition;
        std::vector<End> inputs, outputs;
        std::optional<cpp::Context> context;  ///< missing: the reference runs it
        std::uint64_t dispatches = 0;
    };
    Partition other_sizes(const Context& context) const;
    Instance make_instance(const Context& context, const Shapes& shapes);
    void place_shared(Instance& instance);
    void reserve(int tensor, std::uint64_t bytes);
    void resize_outputs(Context& context, const Instance& instance);
    void run_on_device(Context& context, Instance& instance);
    void run_reference(Context& context, Instance& instance);
    std::vector<std::byte> input_bytes(const Context& context, const End& end);
    void mark(Context& context, int tensor, bool on_device);
    void device_failed(const cpp::Error& error);

    std::shared_ptr<Session> session_;
    std::vector<int> nodes_, inputs_, outputs_;
    std::list<Instance> instances_;  ///< the one in use first, then by how long ago they were
    /// What the last run read, where its results stay on the device: should they be lost there, it is repeated. Inputs
    /// that were on the device themselves are asked for again.
    std::vector<std::vector<std::byte>> kept_;
    bool on_host_ = false;  ///< the device has failed
};

/// Copies the value behind a handle for the runtime.
void fetch_shared(const DelegateImpl& owner, int handle, Tensor& tensor);

}  // namespace tosavk::delegate
