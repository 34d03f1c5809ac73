// tosavk._native: errors, versions, and the parts of the module.
#include "native.hpp"

namespace tosavk::python {
namespace {

/// The classes of tosavk.errors are made in Python: this asks for one of them.
void translate(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const cpp::Error& error) {
        const nb::object made =
            nb::module_::import_("tosavk.errors")
                .attr("_of")(static_cast<int>(error.status()), error.what(), error.node(), error.operand());
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
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
