#include "frontends/calls/call_builder.hpp"

#include "base/text.hpp"
#include "ops/custom.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

constexpr std::string_view own_prefix = "TOSAVK.";

/// Null when there is none of this name.
const OpDef* operator_named(const std::string& text) {
    std::string name = upper(text);
    const bool own = name.starts_with(own_prefix);
    if (own) name.erase(0, own_prefix.size());
    const OpDef* def = find_op(name);
    return def && def->op != Op::unknown && (!own || is_own(def->op)) ? def : nullptr;
}

const OpDef& operator_of(const NodeCall& call) {
    const OpDef* def = operator_named(call.op);
    if (!def) throw Error(ErrorCode::unsupported, fmt::format("there is no operator '{}'", call.op), call.name);
    if (def->op == Op::variable)
        throw Error(ErrorCode::usage, "VARIABLE is no node: declare the variable instead", call.name);
    return *def;
}

/// Types and, where they are known before the node stands in the graph, shapes of the outputs.
std::vector<OutputType> outputs_of(const GraphBuilder& builder, const Node& node, const NodeCall& call) {
    std::vector<OutputType> outputs;
    if (call.outputs) {
        outputs = *call.outputs;
        if (node.op != Op::custom)
            for (OutputType& output : outputs) output.shape = {};  // inferred, and compared below
        return outputs;
    }
    const auto fail = [&](const char* what) -> void {
        throw Error(ErrorCode::usage, fmt::format("{} '{}': {}", name_of(node.op), node.name, what), node.name);
    };
    switch (node.op) {
        case Op::cond_if:
            if (node.regions.empty()) fail("it needs two graphs");
            for (const ValueId id : node.regions[0]->outputs) outputs.push_back({node.regions[0]->value(id).type, {}});
            return outputs;
        case Op::while_loop:
            for (const ValueId id : node.inputs) outputs.push_back({builder.value(id).type, {}});
            return outputs;
        case Op::variable_read: {
            const Variable* declared = builder.graph().find_variable(node.attrs.variable);
            outputs.push_back({declared ? declared->type : DType::fp32, {}});
            return outputs;
        }
        case Op::custom: fail("its outputs must be described"); [[fallthrough]];
        default: break;
    }
    Graph alone;  // the node with nothing but its inputs
    Node copy = node;
    for (ValueId& id : copy.inputs) {
        alone.values.push_back(builder.value(id));
        id = static_cast<ValueId>(alone.values.size() - 1);
    }
    alone.nodes.push_back(std::move(copy));
    for (const DType type : infer_types(NodeView(alone, 0), builder.level())) outputs.push_back({type, {}});
    return outputs;
}

}  // namespace

CallBuilder::CallBuilder(std::string name, const Level& level, bool keep_refused, bool is_region)
    : name_(std::move(name)),
      level_(&level),
      keep_refused_(keep_refused),
      is_region_(is_region),
      builder_(name_, level) {}

std::vector<ValueId> CallBuilder::add(const NodeCall& call) {
    const OpDef& def = operator_of(call);
    Node node;
    node.op = def.op;
    node.name = call.name;
    if (node.name.empty()) node.name = fmt::format("{}_{}", lower(def.name), builder_.graph().nodes.size());
    node.inputs = call.inputs;
    for (const CallBuilder* region : call.regions)
        node.regions.push_back(std::make_shared<const Graph>(region->checked()));
    const std::string title = fmt::format("{} '{}'", def.name, node.name);
    for (const ValueId id : node.inputs) {
        if (id >= builder_.graph().values.size())
            throw Error(ErrorCode::usage, fmt::format("{}: input value {} does not exist", title, id), call.name);
    }
    if (const std::string wrong = set_attributes(def, call.attributes, node.attrs); !wrong.empty())
        throw Error(ErrorCode::bad_model, fmt::format("{}: {}", title, wrong), call.name);
    if (def.op != Op::cond_if && def.op != Op::while_loop && !call.regions.empty())
        throw Error(ErrorCode::usage, fmt::format("{}: it takes no regions", title), call.name);
    for (const auto& region : node.regions)
        for (const Variable& variable : region->variables) {
            if (!builder_.graph().find_variable(variable.name))
                throw Error(ErrorCode::usage,
                            fmt::format("{}: a region uses variable '{}', which this graph does not declare", title,
                                        variable.name),
                            call.name);
        }
    const std::vector<OutputType> outputs = outputs_of(builder_, node, call);
    const std::vector<ValueId> made = builder_.add_node(std::move(node), outputs);
    for (std::size_t k = 0; call.outputs && k < made.size(); ++k) {
        const Shape &wanted = (*call.outputs)[k].shape, &got = builder_.value(made[k]).shape;
        if (wanted.empty() || wanted == got) continue;
        const std::string sentence = fmt::format("{}: output {} is described with shape {}, but its shape is {}", title,
                                                 k, to_string(wanted), to_string(got));
        builder_.take_back();
        throw Error(ErrorCode::bad_model, sentence, call.name);
    }
    return made;
}

std::vector<ValueId> CallBuilder::node(const NodeCall& call) {
    calls_.emplace_back();  // filled below; gone again when the call fails
    try {
        ProbedOperator& probed = calls_.back();
        probed.index = calls_.size() - 1;
        probed.name = upper(call.op);
        try {
            const std::vector<ValueId> made = add(call);
            const Node& node = builder_.graph().nodes.back();
            if (node.op == Op::custom) {
                probed.name = fmt::format("CUSTOM '{}.{}'", node.attrs.domain_name, node.attrs.operator_name);
                if (!node.custom) probed.needs = custom_needs;
            }
            return made;
        } catch (const Error& e) {
            const OpDef* def = operator_named(call.op);
            const bool described = call.outputs ? !call.outputs->empty() : def && def->outputs.empty();
            if (!keep_refused_ || !described || e.code() == ErrorCode::usage) throw;
            probed.taken = false;
            probed.sentence = e.what();
            return builder_.stand_ins(call.name, call.outputs ? *call.outputs : std::vector<OutputType>());
        }
    } catch (...) {
        calls_.pop_back();
        throw;
    }
}

ProbeReport CallBuilder::probe() const {
    ProbeReport report;
    report.format = "builder";
    report.operators = calls_;
    if (!report.operators_taken()) return report;
    try {
        checked();
    } catch (const Error& e) {
        report.graph.emplace_back(e.what());
    }
    return report;
}

Graph CallBuilder::checked() const {
    for (const ProbedOperator& call : calls_)
        if (!call.taken) throw Error(ErrorCode::bad_model, "a node was refused: " + call.sentence);
    GraphBuilder copy = builder_;
    return is_region_ ? copy.finish_region() : copy.finish();
}

void CallBuilder::clear() {
    GraphBuilder fresh(name_, *level_);
    fresh.use_customs(builder_.customs());
    builder_ = std::move(fresh);
    calls_.clear();
}

}  // namespace tosavk
