#include "compile/rewrite/precision.hpp"

#include "graph/host_tensor.hpp"
#include "ops/builder.hpp"
#include "ops/op.hpp"

#include <algorithm>
#include <cmath>

namespace tosavk {

namespace {

constexpr double largest_fp16 = 65504;

/// A finite limit as fp16 has it; infinities stay.
double limit_in_fp16(double limit) {
    if (!std::isfinite(limit)) return limit;
    const double within = std::clamp(limit, -largest_fp16, largest_fp16);
    return decode_reals(DType::fp16, encode_reals(DType::fp16, std::vector<double>{within})).front();
}

class Converter {
public:
    explicit Converter(const Graph& graph)
        : graph_(graph), builder_(graph.name, with_empty(level_none)), made_(graph.values.size()) {}

    Graph convert() {
        for (const Variable& variable : graph_.variables) builder_.variable(variable);
        for (const ValueId id : graph_.inputs) {
            const Value& value = graph_.value(id);
            made_[id].declared = builder_.input(value.name, value.type, value.shape);
            describe(made_[id].declared, value);
        }
        for (const Node& node : graph_.nodes) {
            if (!in_fp16(node)) as_declared(node);
        }
        for (const ValueId id : graph_.outputs) builder_.output(declared(id));
        return builder_.finish();
    }

private:
    /// The forms that a value has been given so far.
    struct Made {
        ValueId declared = no_id, fp16 = no_id;
    };

    /// Names and scales are for people; the builder keeps names apart.
    void describe(ValueId id, const Value& from) {
        builder_.value(id).name = from.name;
        builder_.value(id).scale = from.scale;
        builder_.value(id).zero_point = from.zero_point;
        builder_.value(id).declared = from.declared;
    }

    ValueId declared(ValueId id) {
        Made& made = made_[id];
        const Value& value = graph_.value(id);
        if (made.declared != no_id) return made.declared;
        if (value.is_constant()) {
            made.declared = builder_.constant(value.name, value.type, value.shape, value.data);
        } else {
            made.declared = builder_.add1(Op::cast, {made.fp16}, DType::fp32);
        }
        describe(made.declared, value);
        return made.declared;
    }

    ValueId fp16(ValueId id) {
        const Value& value = graph_.value(id);
        if (value.type != DType::fp32) return declared(id);
        Made& made = made_[id];
        if (made.fp16 != no_id) return made.fp16;
        if (value.is_constant()) {
            Bytes rounded = encode_reals(DType::fp16, decode_reals(DType::fp32, *value.data));
            made.fp16 = builder_.constant(value.name, DType::fp16, value.shape, std::move(rounded));
        } else {
            made.fp16 = builder_.add1(Op::cast, {declared(id)}, DType::fp16);
        }
        return made.fp16;
    }

    bool touches_fp32(const Node& node) const {
        const auto is_fp32 = [&](ValueId id) { return graph_.value(id).type == DType::fp32; };
        return std::any_of(node.inputs.begin(), node.inputs.end(), is_fp32) ||
               std::any_of(node.outputs.begin(), node.outputs.end(), is_fp32);
    }

    /// False where the operator has no row for it.
    bool in_fp16(const Node& node) {
        if (!touches_fp32(node) || op_def(node.op).structural) return false;
        Node half = node;
        for (ValueId& id : half.inputs) id = fp16(id);
        std::vector<OutputType> outputs;
        for (const ValueId id : node.outputs) {
            const DType type = graph_.value(id).type;
            outputs.push_back({type == DType::fp32 ? DType::fp16 : type, graph_.value(id).shape});
        }
        half.attrs.min_val = limit_in_fp16(node.attrs.min_val);
        half.attrs.max_val = limit_in_fp16(node.attrs.max_val);
        try {
            const std::vector<ValueId> ids = builder_.add_node(std::move(half), outputs);
            for (std::size_t k = 0; k < ids.size(); ++k) {
                const ValueId id = node.outputs[k];
                (graph_.value(id).type == DType::fp32 ? made_[id].fp16 : made_[id].declared) = ids[k];
                describe(ids[k], graph_.value(id));
                if (made_[id].fp16 == ids[k]) builder_.value(ids[k]).name += "/fp16";  // the CAST back has the name
            }
            return true;
        } catch (const Error&) {
            return false;
        }
    }

    void as_declared(const Node& node) {
        Node same = node;
        for (ValueId& id : same.inputs) id = declared(id);
        std::vector<OutputType> outputs;
        for (const ValueId id : node.outputs) outputs.push_back({graph_.value(id).type, graph_.value(id).shape});
        const std::vector<ValueId> ids = builder_.add_node(std::move(same), outputs);
        for (std::size_t k = 0; k < ids.size(); ++k) {
            made_[node.outputs[k]].declared = ids[k];
            describe(ids[k], graph_.value(node.outputs[k]));
        }
    }

    const Graph& graph_;
    GraphBuilder builder_;
    std::vector<Made> made_;
};

}  // namespace

void make_fast(Graph& graph, bool fast) {
    graph.fast_fp16 = fast;
    for (Node& node : graph.nodes) {
        for (auto& region : node.regions) {
            Graph copy = *region;
            make_fast(copy, fast);
            region = std::make_shared<const Graph>(std::move(copy));
        }
    }
}

Graph to_fp16(const Graph& graph, bool fast) {
    Graph half = Converter(graph).convert();
    if (fast) make_fast(half);
    return half;
}

}  // namespace tosavk
