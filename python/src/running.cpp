// Executable, Context and Checker: what takes time, with the GIL released and signals looked at.
#include "native.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace tosavk::python {

namespace {

// ---- compiling --------------------------------------------------------------------------------------------------

/// A call of the library on a thread of its own, while this one looks at signals and reports progress.
struct LongCall {
    std::mutex mutex;
    std::condition_variable changed;
    bool over = false;
    std::exception_ptr thrown;
    std::atomic<std::uint64_t> done{0}, total{0};
    std::atomic<bool> cancelled{false};

    static std::int32_t report(void* user, std::uint64_t done, std::uint64_t total) {
        auto& call = *static_cast<LongCall*>(user);
        call.total = total;
        call.done = done;
        return call.cancelled ? 1 : 0;
    }

    /// `progress(done, total)` is called by this thread; what it or a signal raises cancels the call.
    template <class Work> void run(Work work, const nb::object& progress) {
        const Inside inside;
        std::thread thread;
        {
            const Released released;
            thread = std::thread([&] {
                try {
                    work();
                } catch (...) {
                    thrown = std::current_exception();
                }
                const std::lock_guard lock(mutex);
                over = true;
                changed.notify_one();
            });
        }
        std::exception_ptr raised;
        for (;;) {
            {
                const Released released;
                std::unique_lock lock(mutex);
                if (changed.wait_for(lock, between_signals, [&] { return over; })) break;
            }
            if (gate.is_closed()) cancelled = true;
            if (raised) continue;
            try {
                check_signals();
                if (!progress.is_none()) progress(done.load(), total.load());
            } catch (...) {
                raised = std::current_exception();
                cancelled = true;
            }
        }
        {
            const Released released;
            thread.join();
        }
        if (raised) std::rethrow_exception(raised);
        if (thrown) std::rethrow_exception(thrown);
        if (!progress.is_none()) progress(total.load(), total.load());
    }
};

/// Of an object whose calls may all be long: which of them is under way.
struct LongCalls {
    std::atomic<LongCall*> now{nullptr};

    static std::int32_t report(void* user, std::uint64_t done, std::uint64_t total) {
        LongCall* call = static_cast<LongCalls*>(user)->now;
        return call ? LongCall::report(call, done, total) : 0;
    }
    template <class Work> void run(Work work) {
        LongCall call;
        const Under under(*this, call);
        call.run(work, nb::none());
    }

private:
    struct Under {
        Under(LongCalls& all, LongCall& call) : calls(all) { calls.now = &call; }
        ~Under() { calls.now = nullptr; }
        Under(const Under&) = delete;
        Under& operator=(const Under&) = delete;
        LongCalls& calls;
    };
};

/// `make(options)` gives an executable.
template <class Make> cpp::Executable made(bool fuse, const nb::object& progress, Make make) {
    std::optional<cpp::Executable> executable;
    LongCall call;
    auto options = tosavk_compile_options{};
    options.no_fuse = fuse ? 0 : 1;
    options.progress = LongCall::report;
    options.user = &call;
    call.run([&] { executable.emplace(make(options)); }, progress);
    return std::move(*executable);
}

cpp::Executable compile(const cpp::Device& device, const cpp::Graph& graph, bool fuse, const nb::object& progress) {
    return made(fuse, progress,
                [&](const tosavk_compile_options& options) { return cpp::Executable(device, graph, options); });
}

cpp::Executable specialize(const cpp::Model& model, const cpp::Device& device, NumberedSizes symbols,
                           NumberedShapes shapes, bool fuse, const nb::object& progress) {
    const cpp::Bindings bindings{std::move(symbols), std::move(shapes)};
    return made(fuse, progress,
                [&](const tosavk_compile_options& options) { return model.specialize(device, bindings, options); });
}

nb::bytes package(const cpp::Device& device, const cpp::Graph& graph, bool fuse) {
    std::vector<std::byte> file;
    LongCall call;
    call.run([&] { file = cpp::save_package(device, graph, fuse); }, nb::none());
    return to_bytes(file);
}

nb::typed<nb::list, nb::bytes> reference_run(const cpp::Graph& graph, const std::vector<InBytes>& inputs) {
    std::vector<std::vector<std::byte>> copies, results;
    for (const InBytes& input : inputs) {
        const auto bytes = bytes_of(input);
        copies.emplace_back(bytes.begin(), bytes.end());
    }
    LongCall call;
    call.run([&] { results = graph.reference_run(copies, 1, LongCall::report, &call); }, nb::none());
    nb::typed<nb::list, nb::bytes> list;
    for (const auto& result : results) list.append(to_bytes(result));
    return list;
}

// ---- running ----------------------------------------------------------------------------------------------------

/// The end of one run: whom to tell of it.
struct Ending {
    std::mutex mutex;
    bool over = false;
    std::vector<PyObject*> wakers;  ///< each owned; called without arguments

    void end() {
        std::vector<PyObject*> due;
        {
            const std::lock_guard lock(mutex);
            over = true;
            due.swap(wakers);
        }
        if (due.empty() || !gate.enter()) return;
        {
            const nb::gil_scoped_acquire held;
            for (PyObject* waker : due) {
                PyObject* result = PyObject_CallNoArgs(waker);
                if (!result) PyErr_WriteUnraisable(waker);  // a loop that is closed, say
                Py_XDECREF(result);
                Py_DECREF(waker);
            }
        }
        gate.leave();
    }
    /// Whether it was added; otherwise the run is over.
    bool add(const nb::object& waker) {
        const std::lock_guard lock(mutex);
        if (over) return false;
        wakers.push_back(waker.inc_ref().ptr());
        return true;
    }
};

class Context {
public:
    Context(const cpp::Executable& executable, bool profile)
        : context_(std::make_unique<cpp::Context>(executable, profile)) {}
    /// One that takes inputs of any shape that fits.
    Context(const cpp::Model& model, const cpp::Device& device) : output_count_(model.output_count()) {
        tosavk_compile_options options{};
        options.progress = LongCalls::report;
        options.user = &long_calls_;
        context_ = std::make_unique<cpp::Context>(model.context(device, false, options));
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context() {
        // A run may be under way, whose callback wants the GIL, unless the gate is closed.
        if (!gate.enter()) return;
        {
            const nb::gil_scoped_release released;
            context_.reset();
        }
        gate.leave();
    }

    void set_input(std::uint32_t index, int type, const InBytes& data, bool same_type) {
        const Alone alone(*this);
        const auto bytes = bytes_of(data);
        const Released released;
        if (same_type) context_->set_input(index, bytes);
        else context_->set_input_as(index, type, bytes);
    }
    void set_input_shape(std::uint32_t index, const std::vector<std::int64_t>& shape) {
        const Alone alone(*this);
        context_->set_input_shape(index, shape);
        const auto [known, is_first] = shapes_.try_emplace(index, shape);
        is_new_ = is_new_ || is_first || known->second != shape;
        known->second = shape;
    }
    /// Of a model, for the shapes that its inputs have.
    std::vector<Info> outputs() const {
        const Alone alone(*this);
        std::vector<Info> result;
        for (std::uint32_t k = 0; k < output_count_; ++k) result.push_back(to_info(context_->output_info(k)));
        return result;
    }
    void get_output(std::uint32_t index, const OutBytes& data) {
        const Alone alone(*this);
        const auto bytes = bytes_of(data);
        const Released released;
        context_->get_output(index, bytes);
    }
    void bind_input(std::uint32_t index, const cpp::Buffer* buffer, std::uint32_t flags) {
        const Alone alone(*this);
        buffer ? context_->bind_input(index, *buffer, flags) : context_->unbind_input(index);
    }
    void bind_output(std::uint32_t index, const cpp::Buffer* buffer, std::uint32_t flags) {
        const Alone alone(*this);
        buffer ? context_->bind_output(index, *buffer, flags) : context_->unbind_output(index);
    }
    void run() {
        const Alone alone(*this);
        const Inside inside;
        // It runs from then on, whatever signal comes.
        const auto submitted = [&] {
            context_->submit();
            is_new_ = false;
            running_ = true;
        };
        const bool compiles = is_new_;
        if (compiles) long_calls_.run(submitted);
        {
            const Released released;
            if (!compiles) submitted();
            if (wait_slice(between_signals)) return;
        }
        wait_with_signals(std::nullopt);
    }
    void submit() {
        const Alone alone(*this);
        auto ending = std::make_unique<std::shared_ptr<Ending>>(std::make_shared<Ending>());
        tosavk_submit_options options{};
        options.done = [](void* user, tosavk_status) {
            const std::unique_ptr<std::shared_ptr<Ending>> owner(static_cast<std::shared_ptr<Ending>*>(user));
            (*owner)->end();
        };
        options.user = ending.get();
        const std::shared_ptr<Ending> kept = *ending;
        {
            const Released released;
            context_->submit(options);
        }
        ending.release();
        ending_ = kept;
        running_ = true;
    }
    /// Calls `waker` when the run is over, from a thread of the library; false if it is over already.
    bool wake(const nb::object& waker) { return ending_ && ending_->add(waker); }
    /// Whether the run has ended within so many seconds (none: however long it takes).
    bool wait(std::optional<double> timeout) {
        const Alone alone(*this);
        return wait_with_signals(timeout);
    }
    bool running() const { return running_; }
    void reset_variables() {
        const Alone alone(*this);
        context_->reset_variables();
    }

    Numbers counters() const {
        const Alone alone(*this);
        const tosavk_counters c = context_->counters();
        return {{"runs", c.runs},
                {"submits", c.submits},
                {"dispatches", c.dispatches},
                {"allocations", c.allocations},
                {"pipelines_created", c.pipelines_created},
                {"weight_bytes_copied", c.weight_bytes_copied},
                {"arena_bytes", c.arena_bytes},
                {"constant_bytes", c.constant_bytes},
                {"shaders_compiled", c.shaders_compiled},
                {"shaders_loaded", c.shaders_loaded},
                {"host_copies", c.host_copies},
                {"buffer_copies", c.buffer_copies},
                {"external_bytes", c.external_bytes},
                {"package", c.package}};
    }
    /// label, kernel, nanoseconds, arithmetic operations, bytes
    std::vector<std::tuple<std::string, std::string, double, double, double>> dispatches() const {
        std::vector<std::tuple<std::string, std::string, double, double, double>> result;
        for (std::uint32_t k = 0; k < context_->dispatch_count(); ++k) {
            const tosavk_dispatch_info info = context_->dispatch(k);
            result.emplace_back(info.label, info.kernel, info.gpu_ns, info.work, info.bytes);
        }
        return result;
    }

private:
    /// One thread at a time, and the others are told so.
    struct Alone {
        explicit Alone(const Context& used) : context(used) {
            if (context.used_.exchange(true))
                throw cpp::Error(TOSAVK_ERROR_USAGE, "the context is in use by another thread");
        }
        ~Alone() { context.used_ = false; }
        Alone(const Alone&) = delete;
        Alone& operator=(const Alone&) = delete;

        const Context& context;
    };

    bool wait_with_signals(std::optional<double> timeout) {
        const auto wait = [this](std::chrono::nanoseconds time) { return !running_ || wait_slice(time); };
        return !running_ || python::wait_with_signals(timeout, wait);
    }
    bool wait_slice(std::chrono::nanoseconds time) {
        try {
            if (!context_->wait_for(time)) return false;
        } catch (...) {
            running_ = false;  // it has failed, which ends it too
            throw;
        }
        running_ = false;
        return true;
    }

    LongCalls long_calls_;
    std::unique_ptr<cpp::Context> context_;
    std::uint32_t output_count_ = 0;  ///< these of a model
    std::map<std::uint32_t, std::vector<std::int64_t>> shapes_;
    bool is_new_ = false;  ///< shapes that nothing has run with
    std::shared_ptr<Ending> ending_;
    std::atomic<bool> running_{false};
    mutable std::atomic<bool> used_{false};
};

class Checker {
public:
    /// passed, values compared, worst error as a share of its bound, a line about it
    using Report = std::tuple<bool, std::uint64_t, double, std::string>;

    Checker(const cpp::Device& device, const cpp::Graph& graph) {
        calls_.run([&] { checker_.emplace(device, graph, LongCalls::report, &calls_); });
        for (std::uint32_t k = 0; k < graph.input_count(); ++k) sizes_.push_back(graph.input(k).size_bytes);
    }
    Report run(std::uint64_t seed) {
        return report([&] { return checker_->run(seed); });
    }
    Report run_with(const std::vector<InBytes>& inputs) {
        std::vector<const void*> pointers;
        for (std::size_t k = 0; k < inputs.size(); ++k) {
            if (k >= sizes_.size() || inputs[k].size() != sizes_[k])
                throw cpp::Error(TOSAVK_ERROR_BAD_INPUT, "an input has another size than the graph's");
            pointers.push_back(inputs[k].data());
        }
        return report([&] { return checker_->run(pointers); });
    }

private:
    template <class Run> Report report(Run run) {
        cpp::CheckReport found;
        calls_.run([&] { found = run(); });
        return {found.passed, found.values_checked, found.worst, found.detail};
    }

    LongCalls calls_;
    std::optional<cpp::Checker> checker_;
    std::vector<std::size_t> sizes_;
};

std::tuple<std::uint64_t, std::uint64_t, bool> binding(const tosavk_binding_info& info) {
    return {info.size_bytes, info.padded_bytes, info.direct != 0};
}

}  // namespace

void add_running(nb::module_& module) {
    module.def("close", [](bool are_others_left) {
        gate.close();
        if (are_others_left) nb::set_leak_warnings(false);  // threads that never end keep what they have
    });
    module.def("compile", compile, nb::arg("device"), nb::arg("graph"), nb::arg("fuse"), nb::arg("progress").none());
    module.def("specialize", specialize, nb::arg("model"), nb::arg("device"), nb::arg("symbols"), nb::arg("shapes"),
               nb::arg("fuse"), nb::arg("progress").none());
    module.def("package", package);
    module.def("reference_run", reference_run);

    nb::class_<cpp::Executable>(module, "Executable")
        .def("plan", [](const cpp::Executable& executable) { return executable.print(TOSAVK_EXECUTABLE_PLAN); })
        .def("glsl", [](const cpp::Executable& executable) { return executable.print(TOSAVK_EXECUTABLE_GLSL); })
        .def("input_binding",
             [](const cpp::Executable& e, std::uint32_t index) { return binding(e.input_binding(index)); })
        .def("output_binding",
             [](const cpp::Executable& e, std::uint32_t index) { return binding(e.output_binding(index)); });

    nb::class_<Context>(module, "Context")
        .def(nb::init<const cpp::Executable&, bool>())
        .def(nb::init<const cpp::Model&, const cpp::Device&>())
        .def("set_input_shape", &Context::set_input_shape)
        .def_prop_ro("outputs", &Context::outputs)
        .def("set_input", &Context::set_input)
        .def("get_output", &Context::get_output)
        .def("bind_input", &Context::bind_input, nb::arg("index"), nb::arg("buffer").none(), nb::arg("flags"))
        .def("bind_output", &Context::bind_output, nb::arg("index"), nb::arg("buffer").none(), nb::arg("flags"))
        .def("run", &Context::run)
        .def("submit", &Context::submit)
        .def("wake", &Context::wake)
        .def("wait", &Context::wait, nb::arg("timeout").none())
        .def_prop_ro("running", &Context::running)
        .def("reset_variables", &Context::reset_variables)
        .def("counters", &Context::counters)
        .def("dispatches", &Context::dispatches);

    nb::class_<Checker>(module, "Checker")
        .def(nb::init<const cpp::Device&, const cpp::Graph&>())
        .def("run", &Checker::run)
        .def("run_with", &Checker::run_with);
}

}  // namespace tosavk::python
