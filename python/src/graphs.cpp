// Graph and Builder.
#include "native.hpp"

#include <nanobind/stl/variant.h>

namespace tosavk::python {

namespace {

using Dims = std::vector<std::int64_t>;

std::vector<Info> inputs_of(const cpp::Graph& graph) {
    std::vector<Info> result;
    for (std::uint32_t k = 0; k < graph.input_count(); ++k) result.push_back(to_info(graph.input(k)));
    return result;
}

std::vector<Info> outputs_of(const cpp::Graph& graph) {
    std::vector<Info> result;
    for (std::uint32_t k = 0; k < graph.output_count(); ++k) result.push_back(to_info(graph.output(k)));
    return result;
}

cpp::TensorType tensor_type(int type, Dims shape) { return {type, std::move(shape)}; }

/// An attribute's value: whole numbers, a real one, or text.
using AttributeValue = std::variant<Dims, double, std::string>;
using NamedAttribute = std::pair<std::string, AttributeValue>;
using TypeAndShape = std::pair<int, Dims>;

std::vector<std::uint32_t> add_node(cpp::Builder& builder, const std::string& op,
                                    const std::vector<std::uint32_t>& inputs,
                                    const std::vector<NamedAttribute>& attributes,
                                    const std::vector<TypeAndShape>& types, const std::string& name,
                                    const std::vector<cpp::Builder*>& regions) {
    std::vector<cpp::Attribute> list;
    for (const auto& [key, value] : attributes) {
        std::visit([&, &k = key](const auto& v) { list.emplace_back(k, v); }, value);
    }
    std::vector<cpp::TensorType> outputs;
    for (const auto& [type, shape] : types) outputs.push_back({type, shape});
    const std::vector<const cpp::Builder*> parts(regions.begin(), regions.end());
    return builder.node(op, inputs, list, outputs, name, parts);
}

}  // namespace

void add_graphs(nb::module_& module) {
    nb::class_<cpp::Graph>(module, "Graph")
        .def_prop_ro("inputs", inputs_of)
        .def_prop_ro("outputs", outputs_of)
        .def_prop_ro("node_count", &cpp::Graph::node_count)
        .def_prop_ro("variable_count", &cpp::Graph::variable_count)
        .def("listing", [](const cpp::Graph& graph) { return graph.print(TOSAVK_GRAPH_LISTING); })
        .def("dot", [](const cpp::Graph& graph) { return graph.print(TOSAVK_GRAPH_DOT); })
        .def("with_precision",
             [](const cpp::Graph& graph, int precision) {
                 const Released released;
                 return graph.with_precision(static_cast<tosavk_precision>(precision));
             })
        .def("random_input", [](const cpp::Graph& graph, std::uint32_t index,
                                std::uint64_t seed) { return to_bytes(graph.random_input(index, seed)); })
        .def("save", [](const cpp::Graph& graph, const nb::bytes& path) { graph.save(path_of(path)); })
        .def("to_bytes", [](const cpp::Graph& graph) { return to_bytes(graph.save()); });

    nb::class_<cpp::Builder>(module, "Builder")
        .def("__init__",
             [](cpp::Builder* self, const std::string& name, int level, bool keep_refused) {
                 new (self)
                     cpp::Builder(name, static_cast<tosavk_level>(level), TOSAVK_PRECISION_DECLARED, keep_refused);
             })
        .def("input", [](cpp::Builder& builder, const std::string& name, int type,
                         Dims shape) { return builder.input(name, tensor_type(type, std::move(shape))); })
        .def("constant",
             [](cpp::Builder& builder, const std::string& name, int type, Dims shape, const InBytes& data) {
                 return builder.constant(name, tensor_type(type, std::move(shape)), bytes_of(data));
             })
        .def("shape", [](cpp::Builder& builder, const Dims& numbers) { return builder.shape(numbers); })
        .def("variable",
             [](cpp::Builder& builder, const std::string& name, int type, Dims shape, const InBytes& initial) {
                 builder.variable(name, tensor_type(type, std::move(shape)), bytes_of(initial));
             })
        .def("node", add_node)
        .def("region", &cpp::Builder::region)
        .def("output", &cpp::Builder::output)
        .def("value", [](const cpp::Builder& builder, std::uint32_t value) { return to_info(builder.value(value)); })
        .def("probe", &cpp::Builder::probe)
        .def("finish", &cpp::Builder::finish);
}

}  // namespace tosavk::python
