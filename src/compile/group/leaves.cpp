#include "compile/group/leaves.hpp"

#include "compile/group/member_order.hpp"

#include "compile/group/rows.hpp"
#include "graph/host_tensor.hpp"
#include "graph/index_map.hpp"
#include "kernels/common/tensors.hpp"
#include "ops/storage.hpp"

#include <algorithm>
#include <tuple>

namespace tosavk {
namespace {

class Walk final {
public:
    Walk(const Graph& graph, const Group& group, const DevicePlan& device, const KernelPass* pass)
        : graph_(graph),
          group_(group),
          device_(device),
          pass_(pass),
          count_(element_count(group.space)),
          next_(pass ? pass->operands.size() : 0) {}

    void add_operands();
    void add_members(Outputs outputs);
    GroupLeaves finish();

    // What an operator's expression asks for.
    void value_of(const NodeView& view, std::size_t k);
    void table_of(ValueId id) { count_reads(buffer_of(id), 1); }

private:
    using Variable = std::size_t;  ///< index in variables_: four elements in registers
    /// From the statement that makes it to the last one that needs it, by how many were made before.
    struct Life {
        std::size_t first = 0, last = 0, registers = 0;
    };

    std::size_t buffer_of(ValueId id);
    void count_reads(std::size_t number, double often);
    Variable leaf(ValueId id, const IndexMap& full);
    void add_member(NodeId id);
    void add_prologue(const Group::Prologue& prologue);
    void add_rows(Outputs outputs);
    Variable define(DType type);
    void use(Variable variable) { lives_[variable].last = lives_.size() - 1; }

    const Graph& graph_;
    const Group& group_;
    const DevicePlan& device_;
    const KernelPass* const pass_;  ///< null without a kernel
    std::int64_t count_;            ///< elements of the index space at hand
    std::size_t next_;              ///< number of the next buffer
    GroupLeaves found_;
    struct Leaf {
        ValueId value;
        IndexMap map;
        Variable variable;
    };
    std::vector<Leaf> leaves_;               ///< of the statements at hand
    std::map<ValueId, Variable> variables_;  ///< members' results (and the anchor's)
    std::vector<Life> lives_;
};

/// What an operator's expression function sees of a walk: its text goes nowhere.
class RecordingExpr final : public ExprContext {
public:
    RecordingExpr(Walk& walk, const NodeView& node_view) : walk_(walk), view_(node_view) {}
    const NodeView& view() const override { return view_; }
    std::string in(std::size_t k) override {
        walk_.value_of(view_, k);
        return "x";
    }
    std::string table(std::size_t k, const std::string&) override {
        walk_.table_of(view_.node().inputs.at(k));
        return "t";
    }
    std::string param(std::int32_t) override { return "P"; }
    std::string param_float(float) override { return "P"; }
    std::optional<std::int64_t> known(std::size_t k) const override { return known_integer(view_.in(k)); }

private:
    Walk& walk_;
    NodeView view_;
};

Walk::Variable Walk::define(DType type) {
    lives_.push_back({lives_.size(), lives_.size(), type == DType::i48 ? 8u : 4u});
    return lives_.size() - 1;
}

std::size_t Walk::buffer_of(ValueId id) {
    if (const auto found = found_.numbers.find(id); found != found_.numbers.end()) return found->second;
    const std::size_t number = next_++;
    const Group::Prologue* prologue = pass_ ? nullptr : prologue_of(graph_, group_, {id, DType::fp32, {}, {}, -1, {}});
    if (prologue) {
        found_.made.insert(number);
        add_prologue(*prologue);
    } else {
        found_.reads.push_back({{id, graph_.value(id).type, {}, {}, -1, {}}, number});
    }
    return found_.numbers[id] = number;
}

/// Each element of what the buffer holds is read so often, about, once more. Operands of a kernel say so themselves.
void Walk::count_reads(std::size_t number, double often) {
    if ((pass_ && number < pass_->operands.size()) || found_.made.contains(number)) return;
    const auto at = std::find_if(found_.reads.begin(), found_.reads.end(),
                                 [&](const GroupLeaves::Read& read) { return read.number == number; });
    at->operand.reads += often;
}

Walk::Variable Walk::leaf(ValueId id, const IndexMap& full) {
    const IndexMap map = simplify(full);
    for (const Leaf& known : leaves_) {
        if (known.value == id && known.map == map) return known.variable;
    }
    const auto elements = std::max<std::int64_t>(element_count(graph_.value(id).shape), 1);
    count_reads(buffer_of(id), static_cast<double>(count_) / static_cast<double>(elements));
    leaves_.push_back({id, map, define(graph_.value(id).type)});
    return leaves_.back().variable;
}

void Walk::value_of(const NodeView& view, std::size_t k) {
    const ValueId id = view.node().inputs.at(k);
    if (const auto found = variables_.find(storage_of(graph_, id)); found != variables_.end())
        return use(found->second);
    if (known_number(view.in(k))) return;
    const Shape& shape = view.in(k).shape;
    use(leaf(id, element_count(shape) == count_ ? IndexMap{{count_}, {1}} : broadcast_map(shape, view.out().shape)));
}

void Walk::add_member(NodeId id) {
    const NodeView view(graph_, id);
    const OpDef& def = op_def(view.node().op);
    if (is_elementwise(view)) {
        RecordingExpr expr(*this, view);
        def.expression(expr);
    } else {
        const ViewDef move = def.view(view);
        const ValueId from = view.node().inputs.front();
        const IndexMap map = simplify(move.kind == ViewDef::Kind::alias ? IndexMap{{count_}, {1}} : move.maps.front());
        if (move.padded && is_padded(map)) {
            use(leaf(view.node().inputs.at(move.pad_operand), broadcast_map({1}, group_.space)));
            buffer_of(from);
        } else {
            use(leaf(from, map));
        }
    }
    variables_[view.node().outputs.front()] = define(view.out().type);
}

void Walk::add_prologue(const Group::Prologue& prologue) {
    const auto state = std::tuple(count_, leaves_, variables_);
    count_ = element_count(graph_.value(prologue.value).shape);
    leaves_.clear();
    variables_.clear();
    for (const NodeId id : prologue.members) add_member(id);
    std::tie(count_, leaves_, variables_) = state;
}

/// What the kernel reads keeps its number; what prologues read gets numbers behind all of these.
void Walk::add_operands() {
    for (std::size_t k = 0; k < pass_->operands.size(); ++k) {
        const KernelOperand& operand = pass_->operands[k];
        if (prologue_of(graph_, group_, operand)) continue;
        // Who reads the same value as another type (gemm_cooperative's bits of fp16) leaves it to a binding of its own.
        if (operand.value != no_id && operand.type == graph_.value(operand.value).type)
            found_.numbers.emplace(operand.value, k);
        found_.reads.push_back({operand, k});
    }
    for (std::size_t k = 0; k < pass_->operands.size(); ++k) {
        if (const Group::Prologue* prologue = prologue_of(graph_, group_, pass_->operands[k])) {
            found_.made.insert(k);
            add_prologue(*prologue);
        }
    }
}

void Walk::add_rows(Outputs outputs) {
    const Rows& rows = *group_.rows;
    for (const RowPass& pass : row_passes(graph_, group_, outputs).passes) {
        count_ = rows.count;
        leaves_.clear();
        for (const NodeId id : pass.of_rows) add_member(id);
        if (!pass.has_loop) continue;
        leaves_.clear();
        const auto variables = variables_;
        count_ = rows.count * rows.axis;
        for (const NodeId id : pass.over_elements) add_member(id);
        std::map<ValueId, Variable> results;
        for (const NodeId id : pass.reductions) {
            const NodeView view(graph_, id);
            value_of(view, 0);
            results[view.node().outputs.front()] = define(view.out().type);
        }
        variables_ = variables;
        for (const auto& [id, variable] : results) variables_[id] = variable;
    }
}

void Walk::add_members(Outputs outputs) {
    if (group_.rows) return add_rows(outputs);
    if (group_.anchor != no_id) {
        const ValueId out = graph_.node(group_.anchor).outputs.front();
        variables_[out] = define(graph_.value(out).type);
    }
    for (const NodeId id : with_few_waiting(graph_, group_.members)) add_member(id);
    for (const ValueId id : group_.outputs) {
        if (const auto made = variables_.find(id); made != variables_.end()) use(made->second);
    }
    for (const Group::Store& part : group_.stores) {
        const ValueId in = graph_.node(part.node).inputs.at(part.input);
        const auto made = variables_.find(storage_of(graph_, in));
        use(made != variables_.end() ? made->second : leaf(in, IndexMap{{count_}, {1}}));
    }
}

GroupLeaves Walk::finish() {
    std::int64_t largest = 0;
    const auto count = [&](const std::vector<NodeId>& members) {
        found_.members += members.size();
        for (const NodeId id : members) {
            const Node& node = graph_.node(id);
            const bool once_a_row =
                group_.rows && element_count(graph_.value(node.outputs.front()).shape) <= group_.rows->count;
            const std::int64_t operations = once_a_row ? 0 : op_def(node.op).operations;
            found_.operations += operations;
            largest = std::max(largest, operations);
        }
    };
    count(group_.members);
    for (const Group::Prologue& prologue : group_.prologues) count(prologue.members);
    found_.operations -= largest;
    found_.places = leaves_.size();
    for (const GroupLeaves::Read& read : found_.reads) {
        const std::uint64_t bytes = operand_bytes(
            graph_, read.operand, group_.choice ? group_.choice->scratch_bytes : std::vector<std::uint64_t>());
        found_.bindings += is_texels(path_of(bytes, read.operand.type, device_)) ? 1 : binding_count(bytes, device_);
    }
    // What a statement makes is there together with all that was made before and is needed after it.
    std::vector<std::size_t> ends(lives_.size() + 1, 0);
    std::size_t alive = 0;
    for (std::size_t now = 0; now < lives_.size(); ++now) {
        alive -= ends[now];
        alive += lives_[now].registers;
        ends[lives_[now].last + 1] += lives_[now].registers;
        found_.registers = std::max(found_.registers, alive);
    }
    return std::move(found_);
}

}  // namespace

GroupLeaves leaves_of(const Graph& graph, const Group& group, const DevicePlan& device, Outputs outputs) {
    Walk walk(graph, group, device, group.choice ? &*group.choice : nullptr);
    if (group.choice) walk.add_operands();
    walk.add_members(outputs);
    return walk.finish();
}

GroupLeaves leaves_of_pass(const Graph& graph, const Group& group, const KernelPass& pass, const DevicePlan& device) {
    Walk walk(graph, group, device, &pass);
    walk.add_operands();
    return walk.finish();
}

std::size_t pass_bindings(const Graph& graph, const Group& group, const KernelPass& pass, const DevicePlan& device) {
    const std::uint64_t written = group.choice->scratch_bytes.at(static_cast<std::size_t>(pass.writes));
    return leaves_of_pass(graph, group, pass, device).bindings +
           binding_count(allocation_bytes(written, pass.writes_type), device);
}

std::optional<std::int64_t> known_integer(const Value& value) {
    if (!value.is_constant() || is_float(value.type) || element_count(value.shape) != 1) return std::nullopt;
    return decode_ints(value.type, *value.data).front();
}

std::optional<std::int32_t> known_number(const Value& value) {
    const auto number = value.type == DType::i48 ? std::nullopt : known_integer(value);
    return number ? std::optional(static_cast<std::int32_t>(*number)) : std::nullopt;
}

}  // namespace tosavk
