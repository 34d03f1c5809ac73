// GraphBuilder: makes a graph step by step, each step checked.
#pragma once

#include "ops/op.hpp"

namespace tosavk {

class CustomSet;

/// What add_node cannot infer for every operator: CUSTOM's output shapes. Others take their inferred shape.
struct OutputType {
    DType type;
    Shape shape;
};

/// Builds a graph step by step. add() checks the node against its OpDef and infers the output shapes, so that an
/// error names the operator that caused it. Throws Error.
class GraphBuilder {
public:
    explicit GraphBuilder(std::string name = {}, const Level& level = level_8k);
    const Level& level() const { return *level_; }

    /// What carries out CUSTOM nodes that are added from now on; may be null.
    void use_customs(std::shared_ptr<const CustomSet> customs) { customs_ = std::move(customs); }
    const std::shared_ptr<const CustomSet>& customs() const { return customs_; }

    ValueId input(const std::string& name, DType type, const Shape& shape);
    ValueId constant(const std::string& name, DType type, const Shape& shape, SharedBytes bytes);
    /// Integers of any width from int64 (range-checked); shape values too.
    ValueId constant_ints(const std::string& name, DType type, const Shape& shape,
                          std::span<const std::int64_t> values);
    ValueId constant_floats(const std::string& name, DType type, const Shape& shape, std::span<const float> values);
    ValueId scalar(DType type, double value);             ///< shape [1]; deduplicated
    ValueId shape(std::span<const std::int64_t> values);  ///< a shape_t constant; deduplicated

    /// Appends a node whose outputs have these types (one output for almost every operator); returns the outputs.
    std::vector<ValueId> add(Op op, std::vector<ValueId> inputs, Attributes attrs, std::span<const DType> output_types,
                             const std::string& name = {});
    ValueId add1(Op op, std::vector<ValueId> inputs, DType output_type, Attributes attrs = {},
                 const std::string& name = {});

    /// Any node; `node.outputs` is filled in.
    std::vector<ValueId> add_node(Node node, std::span<const OutputType> outputs);
    /// Takes the last node out again; nothing may have been added since.
    void take_back();
    /// Values that nothing produces, where a refused node would have stood. The graph cannot be finished then.
    std::vector<ValueId> stand_ins(const std::string& name, std::span<const OutputType> outputs);

    /// Declares a variable; `initial` may be empty (zeros) or holds its elements.
    void variable(const std::string& name, DType type, const Shape& shape, Bytes initial = {});
    /// Takes over a declaration of an enclosing graph; a second time is no error.
    void variable(const Variable& declared);
    ValueId variable_read(const std::string& variable, const std::string& name = {});
    void variable_write(const std::string& variable, ValueId value, const std::string& name = {});

    /// Both regions have the inputs' types and shapes as inputs and agree in their outputs. Variables that regions use
    /// must be declared here too.
    std::vector<ValueId> cond_if(ValueId condition, std::vector<ValueId> inputs, Graph then_graph, Graph else_graph,
                                 const std::string& name = {});
    std::vector<ValueId> while_loop(std::vector<ValueId> inputs, Graph cond_graph, Graph body_graph,
                                    const std::string& name = {});
    std::vector<ValueId> custom(const std::string& domain, const std::string& op, const std::string& attrs,
                                std::vector<ValueId> inputs, std::span<const OutputType> outputs,
                                const std::string& name = {});

    void output(ValueId id);
    const Value& value(ValueId id) const { return graph_.value(id); }
    Value& value(ValueId id) { return graph_.values.at(id); }
    const Graph& graph() const { return graph_; }

    /// Checks the whole graph (names unique, outputs present) and hands it over.
    Graph finish();
    /// The same for a region, which needs no output.
    Graph finish_region();

private:
    void make_names_unique();
    Graph take();

    Graph graph_;
    const Level* level_;
    std::shared_ptr<const CustomSet> customs_;
    std::vector<std::pair<std::string, ValueId>> pool_;
};

}  // namespace tosavk
