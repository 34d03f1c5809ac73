// A delegate, and what it knows of one graph that it was given.
#pragma once

#include "hosts/tflite_delegate/compiled.hpp"
#include "hosts/tflite_delegate/model.hpp"

#include <tosavk/tflite_delegate.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace tosavk::delegate {

class DelegateImpl;

struct LeftNode {
    int node;
    std::string name, sentence;
};

using Shapes = std::vector<std::vector<std::int64_t>>;

/// Nodes that run together, made ready for one set of input shapes.
struct Partition {
    std::vector<int> nodes, inputs, outputs;  ///< inputs and outputs: tensors, in the order of the graph's
    Shapes shapes;                            ///< of the inputs
    std::shared_ptr<const Compiled> compiled;
};

class Kernel;

/// One graph of one interpreter. One thread at a time, as the interpreter itself; alive as long as a kernel of it is.
struct Session {
    ~Session();

    std::shared_ptr<DelegateImpl> owner;
    Delegate* delegate = nullptr;
    std::shared_ptr<OpenDevice> device;
    std::map<int, NodeRecord> nodes;  ///< those that may be claimed
    std::vector<Partition> partitions;

    /// A tensor that one partition writes and others read, on the device. When the runtime wants to read it too, it
    /// asks for a copy by its handle.
    struct Shared {
        int handle = no_buffer_handle;
        Kernel* producer = nullptr;
        std::optional<cpp::Buffer> buffer;
        std::uint64_t bytes = 0;
    };
    std::map<int, Shared> shared;

    Shared* find_shared(int tensor) {
        const auto found = shared.find(tensor);
        return found == shared.end() ? nullptr : &found->second;
    }
    /// Its value is on the device alone.
    bool is_on_device(const Context& context, int tensor) const {
        const Tensor& t = context.tensors[tensor];
        return shared.contains(tensor) && t.delegate == delegate && t.data_is_stale;
    }
};

Shapes shapes_of(const Context& context, const std::vector<int>& tensors);

/// How a tensor of the runtime lies in a graph of ours.
enum class Form { bytes, int64 };
/// Throws Refused where it does not.
Form form_of(const Tensor& tensor, const cpp::TensorInfo& info);

/// Loads and compiles, for the sizes of now; of a file that leaves them `open` it is one of several. Throws Refused or
/// cpp::Error.
Partition make_partition(const Context& context, const Session& session, std::vector<int> nodes,
                         std::vector<int> outputs, SizesInFile sizes = SizesInFile::now);

/// What Delegate::data points to. Counters are under the mutex; the rest is constant.
class DelegateImpl {
public:
    explicit DelegateImpl(DelegateOptions given) : options(std::move(given)) {}

    const DelegateOptions options;

    template <class Change> void count(Change change) {
        const std::lock_guard lock(mutex_);
        change(counters_);
    }
    tosavk_tflite_counters counters() const {
        const std::lock_guard lock(mutex_);
        return counters_;
    }
    void add_left(const std::vector<LeftNode>& left);
    std::string report() const;
    void write_profile() const noexcept;
    /// Numbers that runtimes know shared tensors by; a delegate has them for all its interpreters.
    int add_handle(Session& session, int tensor);
    void drop_handle(int handle) noexcept;
    /// Null: there is no such handle.
    std::pair<Session*, int> find_handle(int handle) const;
    /// A line on stderr, where `verbose` asks for it.
    void say(const std::string& sentence) const noexcept;
    /// The one warning on stderr, of a device that is not there or has failed.
    void warn_once(const std::string& why, const char* consequence) noexcept;

private:
    mutable std::mutex mutex_;
    tosavk_tflite_counters counters_{};
    std::vector<LeftNode> left_;
    std::map<int, std::pair<Session*, int>> handles_;
    int last_handle_ = 0;
    bool warned_ = false;
};

/// The delegate that a runtime's struct belongs to; null for one of another library.
std::shared_ptr<DelegateImpl> impl_of(const Delegate* delegate);

/// Looks at the graph, and claims of it what runs. What it throws is the delegate's failure.
void claim(Context& context, Delegate& delegate, const std::shared_ptr<DelegateImpl>& impl);

}  // namespace tosavk::delegate
