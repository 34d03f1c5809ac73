// CUSTOM. A graph with an operator that nobody knows can be loaded, printed and written; only running it is an error.
#include "ops/custom.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tosavk {

namespace {

std::vector<Shape> custom_infer(const NodeView& view) {
    std::vector<Shape> shapes;
    for (std::size_t k = 0; k < view.output_count(); ++k) shapes.push_back(view.out(k).shape);
    return shapes;
}

void custom_check(const NodeView& view, const Level&) {
    if (view.attrs().operator_name.empty()) view.fail("it has no operator_name");
    if (view.attrs().domain_name == own_domain)
        view.fail(fmt::format("domain '{}' is that of this library's own operators", own_domain));
    if (view.output_count() == 0) view.fail("it has no output");
    for (std::size_t k = 0; k < view.input_count(); ++k) {
        if (view.in(k).type == DType::shape) view.fail("a shape cannot be its operand", view.in(k).name);
    }
    if (const auto& op = view.node().custom; op && op->check) op->check(view);
}

void custom_reference(RefContext& ctx) {
    const auto op = custom_of(ctx.view);
    for (std::size_t k = 0; k < ctx.outputs.size(); ++k) ctx.outputs[k] = {ctx.view.out(k).type, ctx.view.out(k).shape};
    op->reference(ctx);
    for (std::size_t k = 0; k < ctx.outputs.size(); ++k) {
        const HostTensor& result = ctx.outputs[k];
        if (ctx.fp64 && op->tolerance > 0 && is_float(result.type))
            ctx.reals[k] = decode_reals(result.type, result.bytes);
    }
}

Tolerance custom_tolerance(RefContext& ctx, std::size_t, std::span<const double> reference) {
    Tolerance result;
    const double share = custom_of(ctx.view)->tolerance;
    if (share == 0) return result;
    result.kind = Tolerance::Kind::check;
    for (const double value : reference) result.bound.push_back(share * std::fabs(value));
    return result;
}

}  // namespace

void CustomSet::add(CustomOperator op) {
    const auto refuse = [&](const std::string& what) {
        throw Error(ErrorCode::usage, fmt::format("custom operator '{}' of domain '{}': {}", op.name, op.domain, what));
    };
    if (op.name.empty()) refuse("it needs a name");
    if (op.domain == own_domain) refuse("this domain is that of the library's own operators");
    if (!op.reference) refuse("it needs a reference function");
    if (!op.spirv.empty() && !op.dispatch) refuse("a kernel needs a function that tells its workgroups");
    if (!op.spirv.empty() && op.spirv[0] != 0x07230203) refuse("its kernel is no SPIR-V");
    if (!(op.tolerance >= 0)) refuse("its tolerance is negative");
    std::pair<std::string, std::string> key(op.domain, op.name);
    if (operators_.contains(key)) refuse("the set has it already");
    operators_.emplace(std::move(key), std::make_shared<const CustomOperator>(std::move(op)));
}

std::shared_ptr<const CustomOperator> CustomSet::find(const std::string& domain, const std::string& name) const {
    const auto it = operators_.find({domain, name});
    return it == operators_.end() ? nullptr : it->second;
}

std::shared_ptr<const CustomOperator> custom_of(const NodeView& view) {
    const auto& op = view.node().custom;
    if (!op) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("{}: nothing carries out operator '{}' of domain '{}'", view.title(),
                                view.attrs().operator_name, view.attrs().domain_name),
                    view.node().name);
    }
    if (op->check) op->check(view);
    return op;
}

std::shared_ptr<const Graph> with_customs(std::shared_ptr<const Graph> graph, const CustomSet& customs) {
    std::shared_ptr<Graph> copy;
    const auto changed = [&]() -> Graph& {
        if (!copy) copy = std::make_shared<Graph>(*graph);
        return *copy;
    };
    for (NodeId n = 0; n < graph->nodes.size(); ++n) {
        const Node& node = graph->nodes[n];
        if (node.op == Op::custom && !node.custom) {
            if (auto op = customs.find(node.attrs.domain_name, node.attrs.operator_name))
                changed().nodes[n].custom = std::move(op);
        }
        for (std::size_t r = 0; r < node.regions.size(); ++r) {
            auto region = with_customs(node.regions[r], customs);
            if (region != node.regions[r]) changed().nodes[n].regions[r] = std::move(region);
        }
    }
    return copy ? copy : graph;
}

bool has_custom(const Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
        return node.op == Op::custom || std::any_of(node.regions.begin(), node.regions.end(),
                                                    [](const auto& region) { return has_custom(*region); });
    });
}

std::vector<OpDef> custom_ops() {
    OpDef def;
    def.op = Op::custom;
    ArgDef inputs{"input_list", "any_t"}, outputs{"output_list", "any_t"};
    inputs.list = outputs.list = inputs.may_be_empty = true;
    def.inputs = {inputs};
    def.outputs = {outputs};
    def.attributes = {"operator_name", "domain_name", "implementation_attrs"};
    def.rows = {{{}, "PRO-INT|PRO-FP"}};
    def.infer = custom_infer;
    def.check = custom_check;
    def.reference = custom_reference;
    def.tolerance = custom_tolerance;
    def.structural = true;
    return {def};
}

}  // namespace tosavk
