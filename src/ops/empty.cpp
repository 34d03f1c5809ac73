#include "ops/empty.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

bool is_empty(const Value& value) { return value.type != DType::shape && has_no_elements(value.shape); }

/// What a node on tensors without elements comes to.
enum class Meaning {
    refused,
    result,  ///< what the reference says of it
    fill,    ///< operand `fill_operand` everywhere
    first,   ///< its first operand
    rest,    ///< itself, of the operands that have elements
};

Meaning meaning_of(const NodeView& view) {
    switch (view.node().op) {
        case Op::reduce_all:
        case Op::reduce_any:
        case Op::reduce_max:
        case Op::reduce_min:
        case Op::reduce_product:
        case Op::reduce_sum:
        case Op::segment_reduce:
        case Op::matmul: return Meaning::result;
        case Op::conv2d:
        case Op::conv3d:
        case Op::depthwise_conv2d:
        case Op::transpose_conv2d:
        case Op::pad: return Meaning::fill;
        case Op::scatter:
        case Op::scatter_nd: return is_empty(view.in(2)) ? Meaning::first : Meaning::refused;
        case Op::dynamic_update_slice: return is_empty(view.in(1)) ? Meaning::first : Meaning::refused;
        case Op::concat: return Meaning::rest;
        default: return Meaning::refused;
    }
}

/// The bias of a convolution, the padding value.
constexpr std::size_t fill_operand = 2;

template <class F> bool any_value(const NodeView& view, const std::vector<ValueId>& ids, F test) {
    return std::any_of(ids.begin(), ids.end(), [&](ValueId id) { return test(view.graph().value(id)); });
}

/// What such a node hands to a region or a variable may be empty, and goes with its partner there.
bool hands_on(const Node& node) { return !node.regions.empty() || node.op == Op::variable_write; }

/// Nothing of its results is ever read.
bool is_removed(const NodeView& view) {
    const Node& node = view.node();
    if (node.op == Op::variable_write) return is_empty(view.in(0));
    return node.regions.empty() && !node.outputs.empty() &&
           std::all_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId id) { return is_empty(view.graph().value(id)); });
}

class Pass {
public:
    Pass(const Graph& from, bool is_region) : from_(from), is_region_(is_region), made_(from.values.size(), no_id) {}

    Graph run() {
        to_.name = from_.name;
        to_.version = from_.version;
        for (const Variable& v : from_.variables)
            if (!has_no_elements(v.shape)) to_.variables.push_back(v);
        for (const ValueId id : from_.inputs)
            if (!is_region_ || !is_empty(from_.value(id))) to_.inputs.push_back(keep(id));
        for (NodeId n = 0; n < from_.nodes.size(); ++n) {
            const NodeView view(from_, n);
            if (!is_removed(view)) add(view);
        }
        for (const ValueId id : from_.outputs) {
            const bool empty = is_empty(from_.value(id));
            if (empty && is_region_) continue;
            // Nothing computes it any more.
            if (empty && made_[id] == no_id) to_.values[keep(id)].data = SharedBytes(Bytes());
            to_.outputs.push_back(keep(id));
        }
        return std::move(to_);
    }

private:
    ValueId keep(ValueId id) {
        if (made_[id] == no_id) {
            made_[id] = static_cast<ValueId>(to_.values.size());
            to_.values.push_back(from_.value(id));
            to_.values.back().producer = no_id;
        }
        return made_[id];
    }
    ValueId constant(const std::string& name, DType type, const Shape& shape, Bytes bytes) {
        Value value;
        value.name = name;
        value.type = type;
        value.shape = shape;
        value.data = SharedBytes(std::move(bytes));
        to_.values.push_back(std::move(value));
        return static_cast<ValueId>(to_.values.size() - 1);
    }
    /// Appends a node with operands and results of the new graph.
    void append(Node node) {
        for (const ValueId id : node.outputs) to_.values[id].producer = static_cast<NodeId>(to_.nodes.size());
        to_.nodes.push_back(std::move(node));
    }
    std::vector<ValueId> with_elements(const std::vector<ValueId>& ids) {
        std::vector<ValueId> all;
        for (const ValueId id : ids)
            if (!is_empty(from_.value(id))) all.push_back(keep(id));
        return all;
    }

    void add(const NodeView& view) {
        Node node = view.node();
        const auto empty = [](const Value& value) { return is_empty(value); };
        const bool reads_none = any_value(view, node.inputs, empty);
        if (reads_none && !hands_on(node)) {
            switch (meaning_of(view)) {
                case Meaning::result: return set(view);
                case Meaning::fill: return fill(view);
                case Meaning::first: node.op = Op::identity, node.attrs = {}, node.inputs.resize(1); break;
                default: break;  // check_empty() has refused the others
            }
        }
        node.inputs = with_elements(node.inputs);
        node.outputs = with_elements(node.outputs);
        for (auto& region : node.regions) region = std::make_shared<const Graph>(Pass(*region, true).run());
        append(std::move(node));
    }

    /// The result becomes a constant. Operands that are computed at run time do not matter: nothing meets them.
    void set(const NodeView& view) {
        std::vector<HostTensor> tensors;
        for (std::size_t k = 0; k < view.input_count(); ++k) {
            HostTensor& tensor = tensors.emplace_back(view.in(k).type, view.in(k).shape);
            if (view.in(k).is_constant()) tensor.bytes = view.in(k).data.copy();
        }
        std::vector<const HostTensor*> inputs;
        for (const HostTensor& tensor : tensors) inputs.push_back(&tensor);
        RefContext context(view, inputs, false);
        op_def(view.node().op).reference(context);
        for (std::size_t k = 0; k < view.output_count(); ++k) {
            to_.values[keep(view.node().outputs[k])].data = SharedBytes(std::move(context.outputs[k].bytes));
        }
    }

    /// The operand, seen with the result's rank and repeated.
    void fill(const NodeView& view) {
        if (view.out().type == DType::i48) return set(view);  // TILE has no such row
        const Shape& out = view.out().shape;
        Shape one(out.size(), 1), times = out;
        if (view.in(fill_operand).shape[0] != 1) std::swap(one.back(), times.back());
        const ValueId reshaped = static_cast<ValueId>(to_.values.size());
        Value value;
        value.name = view.out().name + "/fill";
        value.type = view.out().type;
        value.shape = one;
        to_.values.push_back(std::move(value));
        const auto numbers = [&](const char* what, const Shape& shape) {
            return constant(view.out().name + what, DType::shape, {static_cast<std::int64_t>(shape.size())},
                            encode_ints(DType::shape, shape));
        };
        const ValueId result = keep(view.node().outputs[0]);
        const auto append_move = [&](Op op, ValueId from, ValueId sizes, ValueId to) {
            Node node;
            node.op = op;
            node.name = view.node().name;
            node.inputs = {from, sizes};
            node.outputs = {to};
            append(std::move(node));
        };
        append_move(Op::reshape, keep(view.node().inputs[fill_operand]), numbers("/fill shape", one), reshaped);
        append_move(Op::tile, reshaped, numbers("/fill multiples", times), result);
    }

    const Graph& from_;
    const bool is_region_;
    std::vector<ValueId> made_;  ///< by value of `from_`
    Graph to_;
};

bool needs_pass(const Graph& graph) {
    const auto has_region = [](const Node& node) {
        return std::any_of(node.regions.begin(), node.regions.end(),
                           [](const auto& region) { return needs_pass(*region); });
    };
    return std::any_of(graph.values.begin(), graph.values.end(), is_empty) ||
           std::any_of(graph.variables.begin(), graph.variables.end(),
                       [](const Variable& v) { return has_no_elements(v.shape); }) ||
           std::any_of(graph.nodes.begin(), graph.nodes.end(), has_region);
}

}  // namespace

void check_empty(const NodeView& view) {
    const Node& node = view.node();
    const auto empty = [](const Value& value) { return is_empty(value); };
    if (hands_on(node) || is_removed(view)) return;
    const auto refuse = [&](const std::vector<ValueId>& ids, const char* what) {
        const ValueId id =
            *std::find_if(ids.begin(), ids.end(), [&](ValueId one) { return is_empty(view.graph().value(one)); });
        const Value& value = view.graph().value(id);
        view.fail(fmt::format("'{}' of shape {} has no elements, and {}", value.name, to_string(value.shape), what),
                  value.name);
    };
    if (any_value(view, node.outputs, empty)) refuse(node.outputs, "another result has some");
    if (!any_value(view, node.inputs, empty)) return;
    const Meaning meaning = meaning_of(view);
    if (meaning == Meaning::refused) refuse(node.inputs, "its result needs some");
    const bool is_wide = view.out().type == DType::i48 && meaning == Meaning::fill;
    if (is_wide && !view.in(fill_operand).is_constant())
        refuse(node.inputs, "a bias of i48 that is computed at run time cannot be its result");
}

bool has_empty_ends(const Graph& graph) {
    const auto empty = [&](ValueId id) { return is_empty(graph.value(id)); };
    return std::any_of(graph.inputs.begin(), graph.inputs.end(), empty) ||
           std::any_of(graph.outputs.begin(), graph.outputs.end(), empty);
}

Graph without_empty(const Graph& graph) { return needs_pass(graph) ? Pass(graph, false).run() : graph; }

}  // namespace tosavk
