// Error graphs of control flow and variables.
#include "verify/conformance/breaking.hpp"

#include <algorithm>

namespace tosavk::conformance::breaking {

namespace {

Node& node_of(Graph& g, Op op) {
    return *std::find_if(g.nodes.begin(), g.nodes.end(), [op](const Node& n) { return n.op == op; });
}

/// Replaces region r by a changed copy.
template <class F> bool change_region(Node& n, std::size_t r, F change) {
    auto copy = std::make_shared<Graph>(*n.regions.at(r));
    change(*copy);
    n.regions[r] = std::move(copy);
    return true;
}

std::size_t either(Random& random) { return static_cast<std::size_t>(pick(random, 0, 1)); }

/// A region of the same interface that reaches `inner` through one more COND_IF.
std::shared_ptr<const Graph> wrapped(const std::shared_ptr<const Graph>& inner) {
    auto outer = std::make_shared<Graph>();
    outer->version = inner->version;
    outer->variables = inner->variables;
    Node branch;
    branch.op = Op::cond_if;
    branch.regions = {inner, inner};
    const auto add = [&](const Value& like) {
        Value value;
        value.name = "v" + std::to_string(outer->values.size());
        value.type = like.type;
        value.shape = like.shape;
        outer->values.push_back(std::move(value));
        return static_cast<ValueId>(outer->values.size() - 1);
    };
    Value condition;
    condition.type = DType::boolean;
    condition.shape = {1};
    branch.inputs.push_back(add(condition));
    outer->values.back().data = Bytes(1, std::byte{1});
    for (const ValueId id : inner->inputs) {
        branch.inputs.push_back(add(inner->value(id)));
        outer->inputs.push_back(branch.inputs.back());
    }
    for (const ValueId id : inner->outputs) {
        branch.outputs.push_back(add(inner->value(id)));
        outer->values.back().producer = 0;
        outer->outputs.push_back(branch.outputs.back());
    }
    outer->nodes.push_back(std::move(branch));
    return outer;
}

/// Region r lies deeper than any level allows.
Apply too_deep(Op op, std::size_t r) {
    return [op, r](Graph& g, Random&) {
        Node& n = node_of(g, op);
        for (int depth = 0; depth < 7; ++depth) n.regions[r] = wrapped(n.regions[r]);
        return true;
    };
}

/// A region's answer becomes this constant.
Apply answer(DType type, std::int64_t elements) {
    return [type, elements](Graph& g, Random&) {
        return change_region(node_of(g, Op::while_loop), 0, [&](Graph& cond) {
            Value value;
            value.name = "answer";
            value.type = type;
            value.shape = {elements};
            value.data = Bytes(static_cast<std::size_t>(elements) * size_of(type), std::byte{0});
            cond.values.push_back(std::move(value));
            cond.outputs = {static_cast<ValueId>(cond.values.size() - 1)};
        });
    };
}

Apply missing_input(Op op) {
    return [op](Graph& g, Random& random) {
        return change_region(node_of(g, op), either(random), [](Graph& region) { region.inputs.pop_back(); });
    };
}

bool undeclared(Graph& g, Op op) {
    node_of(g, op).attrs.variable = "nobody";
    return true;
}

/// The node turns to a variable of another shape.
bool of_another_shape(Graph& g, Op op) {
    std::string& name = node_of(g, op).attrs.variable;
    Variable other = *g.find_variable(name);
    other.name = name = "another shape";
    other.shape.push_back(2);
    other.initial = {};
    g.variables.push_back(std::move(other));
    return true;
}

}  // namespace

void add_control_errors(std::vector<ErrorGraph>& all) {
    Entries(Op::cond_if, all)
        .add("nesting exceeds MAX_NESTING", too_deep(Op::cond_if, 1))
        .add("inputs of a region are not the operator's", missing_input(Op::cond_if))
        .add("outputs of a region are not the operator's",
             [](Graph& g, Random& random) {
                 return change_region(node_of(g, Op::cond_if), either(random),
                                      [](Graph& region) { region.outputs.pop_back(); });
             })
        .add("the condition has not one element", [](Graph& g, Random& random) {
            g.values.at(node_of(g, Op::cond_if).inputs.front()).shape = {pick(random, 2, 4)};
            return true;
        });
    Entries(Op::while_loop, all)
        .add("nesting exceeds MAX_NESTING", too_deep(Op::while_loop, 1))
        .add("outputs have not the shapes of the inputs",
             [](Graph& g, Random& random) {
                 Node& n = node_of(g, Op::while_loop);
                 g.values.at(n.outputs.at(static_cast<std::size_t>(pick(random, 0, 1)))).shape.push_back(2);
                 return true;
             })
        .add("inputs of a region are not the operator's", missing_input(Op::while_loop))
        .add("outputs of body_graph are not the operator's inputs",
             [](Graph& g, Random&) {
                 return change_region(node_of(g, Op::while_loop), 1, [](Graph& body) { body.outputs.pop_back(); });
             })
        .add("cond_graph gives more than one element", answer(DType::boolean, 2))
        .add("cond_graph gives no bool", answer(DType::i32, 1));
    for (const Op op : {Op::variable_write, Op::variable_read}) {
        const auto add = [&](std::string what, bool (*apply)(Graph&, Op)) {
            all.push_back({op, Kind::argument, std::move(what), nullptr,
                           [op, apply](Graph& g, Random&) { return apply(g, op); }});
        };
        add("the variable is not declared", undeclared);
        add("the variable is declared with another shape", of_another_shape);
    }
    all.push_back({Op::variable_write, Kind::argument, "an operand is missing", nullptr, [](Graph& g, Random&) {
                       node_of(g, Op::variable_write).inputs.clear();
                       return true;
                   }});
}

}  // namespace tosavk::conformance::breaking
