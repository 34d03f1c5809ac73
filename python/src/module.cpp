// tosavk._native: errors, versions, and the parts of the module.
#include "native.hpp"

namespace tosavk::python {

Gate gate;

namespace {
thread_local int depth = 0;  ///< how often this thread is inside
}

bool Gate::enter() {
    inside_.fetch_add(1);
    if (depth == 0 && closed_) {
        inside_.fetch_sub(1);
        return false;
    }
    ++depth;
    return true;
}

void Gate::leave() {
    --depth;
    inside_.fetch_sub(1);
}

bool Gate::enter_or_stay() {
    if (enter()) return true;
    if (std::this_thread::get_id() == closer_) return false;
    PyEval_SaveThread();
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

void Gate::close() {
    closer_ = std::this_thread::get_id();
    closed_ = true;
    const nb::gil_scoped_release released;
    while (inside_.load() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

namespace {

/// Names of files need not be UTF-8.
nb::object text(const std::string& said) {
    return nb::steal(PyUnicode_DecodeUTF8(said.data(), static_cast<Py_ssize_t>(said.size()), "surrogateescape"));
}

/// The classes of tosavk.errors are made in Python: this asks for one of them.
void translate(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const cpp::Error& error) {
        const struct Entered {
            bool inside = gate.enter_or_stay();
            ~Entered() {
                if (inside) gate.leave();
            }
        } entered;
        try {
            const nb::object made = nb::module_::import_("tosavk.errors")
                                        .attr("_of")(static_cast<int>(error.status()), text(error.what()),
                                                     text(error.node()), text(error.operand()));
            PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
        } catch (nb::python_error& raised) {  // a signal, or no memory
            raised.restore();
        }
    }
}

}  // namespace
}  // namespace tosavk::python

NB_MODULE(_native, module) {
    using namespace tosavk::python;
    nb::register_exception_translator(translate);
    module.def("version", [] { return tosavk::cpp::version(); });
    module.def("type_name", [](int type) { return std::string(tosavk_type_name(type)); });
    module.def("operators", [] { return tosavk::cpp::describe_ops(); });
    add_graphs(module);
    add_devices(module);
    add_running(module);
    add_models(module);
}
