// CUSTOM and its registry. A graph with an operator that nobody registered can be loaded, printed and written; only
// running it is an error.
#include "ops/custom.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <mutex>

namespace tosavk {

namespace {

using Key = std::pair<std::string, std::string>;

struct Registry {
    std::mutex mutex;
    std::map<Key, std::shared_ptr<const CustomOperator>> operators;
};

Registry& known() {
    static Registry all;
    return all;
}

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
    if (const auto op = find_custom(view.attrs().domain_name, view.attrs().operator_name); op && op->check) {
        op->check(view);
    }
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

void register_custom(CustomOperator op) {
    const auto refuse = [&](const std::string& what) {
        throw Error(ErrorCode::usage, fmt::format("custom operator '{}' of domain '{}': {}", op.name, op.domain, what));
    };
    if (op.name.empty()) refuse("it needs a name");
    if (op.domain == own_domain) refuse("this domain is that of the library's own operators");
    if (!op.reference) refuse("it needs a reference function");
    if (!op.spirv.empty() && !op.dispatch) refuse("a kernel needs a function that tells its workgroups");
    if (!op.spirv.empty() && op.spirv[0] != 0x07230203) refuse("its kernel is no SPIR-V");
    if (!(op.tolerance >= 0)) refuse("its tolerance is negative");
    Registry& all = known();
    const std::lock_guard lock(all.mutex);
    Key key(op.domain, op.name);
    if (all.operators.contains(key)) refuse("it is registered already");
    all.operators.emplace(std::move(key), std::make_shared<const CustomOperator>(std::move(op)));
}

bool unregister_custom(const std::string& domain, const std::string& name) {
    Registry& all = known();
    const std::lock_guard lock(all.mutex);
    return all.operators.erase({domain, name}) > 0;
}

std::shared_ptr<const CustomOperator> find_custom(const std::string& domain, const std::string& name) {
    Registry& all = known();
    const std::lock_guard lock(all.mutex);
    const auto it = all.operators.find({domain, name});
    return it == all.operators.end() ? nullptr : it->second;
}

std::shared_ptr<const CustomOperator> custom_of(const NodeView& view) {
    const Attributes& a = view.attrs();
    auto op = find_custom(a.domain_name, a.operator_name);
    if (!op) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("{}: operator '{}' of domain '{}' is not registered", view.title(), a.operator_name,
                                a.domain_name),
                    view.node().name);
    }
    if (op->check) op->check(view);
    return op;
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
