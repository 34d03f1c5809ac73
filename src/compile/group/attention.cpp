#include "compile/group/attention.hpp"

#include "graph/index_map.hpp"
#include "ops/op.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

bool is_half_or_float(DType type) { return type == DType::fp16 || type == DType::fp32; }

/// The number that a value holds, as a factor of every element.
std::optional<double> factor_of(const Value& value) {
    if (!value.is_constant() || !is_half_or_float(value.type) || element_count(value.shape) != 1) return std::nullopt;
    return decode_reals(value.type, *value.data).front();
}

class AttentionFinder {
public:
    AttentionFinder(const GroupGraph& fusion, NodeId last) : fusion_(fusion), graph_(fusion.graph), last_(last) {}

    std::optional<FoundAttention> find(std::string& why) {
        const NodeId softmax = find_softmax();
        if (softmax == no_id) return std::nullopt;
        if (!find_scores(graph_.node(softmax).inputs[0], 1)) {
            why = "its scores are no product of two tensors with a scale and a mask";
            return std::nullopt;
        }
        nodes_.insert(softmax);
        if (!check(why)) return std::nullopt;
        found_.nodes.assign(nodes_.begin(), nodes_.end());
        return std::move(found_);
    }

private:
    /// The node that computes a value, behind other shapes and float types of it, which are taken along.
    NodeId maker(ValueId id) {
        for (;;) {
            const NodeId node = graph_.value(id).producer;
            if (node == no_id || !find_op(graph_.node(node).op)) return no_id;
            const NodeView view(graph_, node);
            const OpDef& def = op_def(view.node().op);
            const bool alias = def.view && def.view(view).kind == ViewDef::Kind::alias;
            const bool cast =
                view.node().op == Op::cast && is_half_or_float(view.in(0).type) && is_half_or_float(view.out().type);
            if (!alias && !cast) return node;
            nodes_.insert(node);
            id = view.node().inputs.front();
        }
    }
    NodeId maker(ValueId id, Op op) {
        const NodeId node = maker(id);
        return node != no_id && graph_.node(node).op == op ? node : no_id;
    }
    ValueId input(NodeId node, std::size_t k = 0) const { return graph_.node(node).inputs.at(k); }
    /// Whether it reduces rows of the scores.
    bool is_along_rows(NodeId node) const {
        const NodeView view(graph_, node);
        return static_cast<std::size_t>(view.attrs().axis) + 1 == view.in(0).shape.size();
    }

    /// exp(x - max x) times the reciprocal of its sum: the SUB, whose first operand is x; no_id if it is no softmax.
    NodeId find_softmax() {
        const NodeId weights = maker(input(last_), Op::mul);
        if (weights == no_id) return no_id;
        for (const std::size_t k : {0u, 1u}) {
            const NodeId exp = maker(input(weights, k), Op::exp), share = maker(input(weights, 1 - k), Op::reciprocal);
            if (exp == no_id || share == no_id) continue;
            const NodeId sum = maker(input(share), Op::reduce_sum);
            if (sum == no_id || !is_along_rows(sum) || maker(input(sum)) != exp) return no_id;
            NodeId less = maker(input(exp));
            nodes_.insert({weights, exp, share, sum});
            while (less != no_id && graph_.node(less).op == Op::mul) less = take_factor(less, scale_);
            if (less == no_id || graph_.node(less).op != Op::sub) return no_id;
            const NodeId largest = maker(input(less, 1), Op::reduce_max);
            if (largest == no_id || !is_along_rows(largest) || maker(input(largest)) != maker(input(less)))
                return no_id;
            nodes_.insert(largest);
            return less;
        }
        return no_id;
    }
    /// What a MUL by a constant multiplies; no_id where neither operand is one.
    NodeId take_factor(NodeId mul, double& scale) {
        for (const std::size_t k : {0u, 1u}) {
            const auto factor = factor_of(graph_.value(input(mul, k)));
            if (!factor) continue;
            scale *= *factor;
            nodes_.insert(mul);
            return maker(input(mul, 1 - k));
        }
        return no_id;
    }

    /// Down to the product of queries and keys; `scale` is what its result is multiplied by further on.
    bool find_scores(ValueId id, double scale) {
        const auto before = nodes_;
        const NodeId node = maker(id);
        if (node == no_id) {
            nodes_ = before;
            return false;
        }
        nodes_.insert(node);
        const auto inputs = std::span(graph_.node(node).inputs);
        switch (graph_.node(node).op) {
            case Op::matmul:
                first_ = node;
                found_.attention.scale = static_cast<float>(scale * scale_);
                return true;
            case Op::mul:
                for (const std::size_t k : {0u, 1u}) {
                    const auto factor = factor_of(graph_.value(inputs[k]));
                    if (factor && find_scores(inputs[1 - k], scale * *factor)) return true;
                }
                break;
            case Op::add:
                for (const std::size_t k : {0u, 1u}) {
                    if (mask_ != no_id || !find_scores(inputs[k], scale)) continue;
                    mask_ = node;
                    found_.attention.mask = inputs[1 - k];
                    found_.attention.mask_scale = static_cast<float>(scale * scale_);
                    return true;
                }
                break;
            default: break;
        }
        nodes_ = before;
        return false;
    }

    /// Whether a value is in memory whatever reads it: an input, or what control flow or a variable gives.
    bool maker_is_no_kernel(ValueId id) const {
        const NodeId node = graph_.value(id).producer;
        return node == no_id || (find_op(graph_.node(node).op) && op_def(graph_.node(node).op).structural);
    }
    /// Whether others than attention, and than these nodes, read a value.
    bool is_read_elsewhere(ValueId id, std::span<const NodeId> besides = {}) const {
        const auto& readers = fusion_.consumers[id];
        return fusion_.is_output[id] || std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
                   return reader != last_ && !nodes_.contains(reader) &&
                          std::find(besides.begin(), besides.end(), reader) == besides.end();
               });
    }

    bool check(std::string& why) {
        Attention& a = found_.attention;
        a.q = input(first_, 0);
        a.k = input(first_, 1);
        a.v = input(last_, 1);
        for (const ValueId id : {a.q, a.k, a.v}) {
            if (graph_.value(id).type == DType::fp16) continue;
            why = fmt::format("'{}' is {}", graph_.value(id).name, name_of(graph_.value(id).type));
            return false;
        }
        const Shape &q = graph_.value(a.q).shape, &k = graph_.value(a.k).shape, &v = graph_.value(a.v).shape;
        a.batch = q[0], a.rows = q[1], a.inner = q[2], a.keys = k[2], a.columns = v[2];
        if (graph_.value(input(last_)).shape != Shape{a.batch, a.rows, a.keys}) {
            why = "its scores are taken by another shape";
            return false;
        }
        for (const NodeId id : nodes_) {
            const NodeView view(graph_, id);
            if (op_def(view.node().op).combine && view.in(0).shape.back() != a.keys) {
                why = "its softmax is not over the keys of a row";
                return false;
            }
            for (const ValueId made : view.node().outputs) {
                if (!is_read_elsewhere(made)) continue;
                why = fmt::format("'{}' is read elsewhere", graph_.value(made).name);
                return false;
            }
        }
        if (a.mask != no_id && !check_mask(a, why)) return false;
        for (const ValueId id : {a.q, a.k, a.v, a.mask}) {
            if (!is_made_on_the_way(id)) continue;
            why = fmt::format("'{}' is one of its operands too", graph_.value(id).name);
            return false;
        }
        take_casts(a);
        return true;
    }
    bool check_mask(Attention& a, std::string& why) const {
        const Value& mask = graph_.value(a.mask);
        // Heads, in one digit or two; a row; a key.
        IndexMap map = broadcast_map(mask.shape, NodeView(graph_, mask_).out().shape);
        const std::size_t rank = map.dims.size();
        IndexMap heads;
        if (rank >= 2) {
            heads.dims.assign(map.dims.begin(), map.dims.end() - 2);
            heads.strides.assign(map.strides.begin(), map.strides.end() - 2);
            heads = simplify(heads);
        }
        if (!is_half_or_float(mask.type) || rank < 2 || map.dims[rank - 1] != a.keys || map.dims[rank - 2] != a.rows ||
            heads.dims.size() > 2) {
            why = fmt::format("its mask '{}' is not simply one of heads, rows and keys", mask.name);
            return false;
        }
        a.mask_row = map.strides[rank - 2];
        a.mask_key = map.strides[rank - 1];
        if (heads.dims.size() == 2) {
            a.mask_heads = heads.dims[1];
            a.mask_inner = heads.strides[1];
        }
        if (!heads.dims.empty()) a.mask_outer = heads.strides[0];
        return true;
    }

    /// What is rounded to operands is read instead of these.
    void take_casts(Attention& a) {
        const auto nodes = nodes_;
        const Attention plain = a;
        for (ValueId Attention::* const operand : {&Attention::q, &Attention::k, &Attention::v})
            a.*operand = before_casts(a.*operand);
        if (a.mask != no_id) {
            a.mask = before_casts(a.mask);
            a.rounds_mask = graph_.value(a.mask).type != graph_.value(plain.mask).type;
        }
        // An operand may be another shape of what is rounded for another one.
        if (!is_made_on_the_way(a.q) && !is_made_on_the_way(a.k) && !is_made_on_the_way(a.v) &&
            !is_made_on_the_way(a.mask))
            return;
        nodes_ = nodes;
        a = plain;
    }
    /// What a value of fp16 is rounded from, where that is fp32 and nobody else reads what is made on the way: the
    /// kernel rounds it where it reads it.
    ValueId before_casts(ValueId id) {
        std::vector<NodeId> way;
        for (ValueId from = id;;) {
            const NodeId node = graph_.value(from).producer;
            if (node == no_id || !find_op(graph_.node(node).op) || is_read_elsewhere(from, way)) return id;
            const NodeView view(graph_, node);
            const OpDef& def = op_def(view.node().op);
            way.push_back(node);
            from = view.node().inputs.front();
            if (view.node().op == Op::cast && view.out().type == DType::fp16 && view.in(0).type == DType::fp32) {
                // What only this reads is rounded, for nothing, by the dispatch that computes it.
                const bool is_stored =
                    maker_is_no_kernel(from) || fusion_.is_output[from] || fusion_.consumers[from].size() > 1;
                if (!is_stored) return id;
                nodes_.insert(way.begin(), way.end());
                return from;
            }
            if (!def.view || def.view(view).kind != ViewDef::Kind::alias) return id;
        }
    }
    bool is_made_on_the_way(ValueId id) const {
        while (id != no_id) {
            const NodeId node = graph_.value(id).producer;
            if (node == no_id || !find_op(graph_.node(node).op)) return false;
            if (nodes_.contains(node)) return true;
            const NodeView view(graph_, node);
            const OpDef& def = op_def(view.node().op);
            if (!def.view || def.view(view).kind != ViewDef::Kind::alias) return false;
            id = view.node().inputs.front();
        }
        return false;
    }

    const GroupGraph& fusion_;
    const Graph& graph_;
    const NodeId last_;
    NodeId first_ = no_id, mask_ = no_id;  ///< the MATMUL of the scores, the ADD of the mask
    double scale_ = 1;                     ///< of the exponents
    std::set<NodeId> nodes_;
    FoundAttention found_;
};

}  // namespace

std::optional<FoundAttention> find_attention(const GroupGraph& fusion, NodeId last, std::string& why) {
    if (fusion.graph.node(last).op != Op::matmul) return std::nullopt;
    return AttentionFinder(fusion, last).find(why);
}

}  // namespace tosavk
