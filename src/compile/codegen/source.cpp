#include "compile/codegen/source_builder.hpp"
#include "compile/group/member_order.hpp"
#include "graph/index_map.hpp"
#include "kernels/common/tensors.hpp"
#include "ops/storage.hpp"

#include <algorithm>
#include <utility>

namespace tosavk {
namespace {

/// The most passes of a loop in a library: exact_remainder() of shaders/lib/exact.glsl.
constexpr std::int64_t library_loops = 14;

/// Every device has 128 bytes of push constants.
constexpr std::size_t most_pushed = 32;

/// Where the parts of a CONCAT go, as one dimension at least.
IndexMap place_map(const Group::Store& part) {
    IndexMap map = simplify(part.map);
    if (map.dims.empty()) map.dims = map.strides = {1};
    return map;
}

/// What an operator's expression function sees of the builder while it writes one quad's statement. What it was given
/// for the first quad is kept in `calls`, and given again for the others.
class NodeExpr final : public ExprContext {
public:
    NodeExpr(SourceBuilder& builder, const NodeView& node_view, MemberCalls& calls, const char* quad)
        : builder_(builder), view_(node_view), calls_(calls), quad_(quad) {}
    const NodeView& view() const override { return view_; }
    std::string in(std::size_t k) override {
        if (input_ == calls_.inputs.size()) calls_.inputs.push_back(builder_.value_of(view_, k));
        return calls_.inputs[input_++].of(quad_);
    }
    std::string table(std::size_t k, const std::string& index4) override {
        if (table_ == calls_.tables.size()) calls_.tables.push_back(builder_.make_table(index4, quad_));
        else builder_.extend_table(calls_.tables[table_], index4, quad_);
        return builder_.read_table(view_.node().inputs.at(k), calls_.tables[table_++].index.of(quad_));
    }
    std::string param(std::int32_t value) override {
        if (param_ == calls_.params.size()) calls_.params.push_back(builder_.param(value));
        return calls_.params[param_++];
    }
    std::string param_float(float value) override {
        if (param_ == calls_.params.size()) calls_.params.push_back(builder_.param_float(value));
        return calls_.params[param_++];
    }
    std::optional<std::int64_t> known(std::size_t k) const override { return known_integer(view_.in(k)); }

private:
    SourceBuilder& builder_;
    NodeView view_;
    MemberCalls& calls_;
    const char* quad_;
    std::size_t input_ = 0, table_ = 0, param_ = 0;  ///< of the next call
};

}  // namespace

std::size_t SourceBuilder::buffer_of(ValueId id) {
    const auto found = leaves_of_group_.numbers.find(id);
    if (found == leaves_of_group_.numbers.end())
        throw Error(ErrorCode::internal,
                    fmt::format("'{}' is read, but is none of its group's leaves", graph_.value(id).name));
    const std::size_t number = found->second;
    if (leaves_of_group_.made.contains(number) && written_.insert(number).second)
        add_prologue(fmt::format("in{}", number), *prologue_of(graph_, group_, {id, DType::fp32, {}, {}, -1, {}}),
                     [](const char*) { return true; });
    return number;
}

/// The expression that reads four consecutive elements of the index space from a leaf without padding.
QuadText SourceBuilder::read_leaf(const Leaf& leaf, DType type, const std::string& name) {
    const std::string buffer = fmt::format("in{}", leaf.buffer);
    const IndexMap& map = leaf.map;
    const char *four = quad_function(type), *splat = splat_function(type);

    const bool constant = std::all_of(map.strides.begin(), map.strides.end(), [](auto s) { return s == 0; });
    if (constant) {
        const auto at = param(static_cast<std::int32_t>(map.base), true);
        return [=](const char*) { return fmt::format("{}({}_load1(uint({})))", splat, buffer, at); };
    }
    if (single_) {
        functions_ += position_function({name, map, true}, params());
        return [=](const char* quad) { return fmt::format("{}({}_load1({}_at(e{})))", splat, buffer, name, quad); };
    }

    const bool flat = map.dims.size() == 1 && map.strides[0] == 1;
    if (flat && map.base == 0)
        return [=, aligned = aligned_](const char* quad) {
            return fmt::format(fmt::runtime(aligned ? "{}_load4(e{})" : "{}_loadn(e{}, n)"), buffer, quad);
        };

    const QuadAccess access{name, map, aligned_, row_};
    parts_quads_ = parts_quads_ || parts_quads(access);
    functions_ += read_function(access, params(), buffer, four, splat);
    return [=](const char* quad) { return fmt::format("{}_quad(e{}, n, last)", name, quad); };
}

/// Whether both quads at hand are one load: neighbours in the tensor, which is no operand of a kernel that knows of no
/// such load.
bool SourceBuilder::loads_eights(const Leaf& leaf, ValueId id) const {
    if (!eights_ || !aligned_ || single_ || leaves_of_group_.made.contains(leaf.buffer) ||
        (pass_ && leaf.buffer < pass_->operands.size()))
        return false;
    const bool flat =
        leaf.map.dims.size() == 1 && leaf.map.strides[0] == 1 && leaf.map.base == 0 && !is_padded(leaf.map);
    return flat && has_load8(value_bytes(graph_, id), graph_.value(id).type, device_);
}

Name SourceBuilder::leaf(ValueId id, const IndexMap& full) {
    const IndexMap map = simplify(full);
    for (const auto& [value, known] : leaves_) {
        if (value == id && known.map == map) return known.variable;
    }
    const DType type = graph_.value(id).type;
    const std::string name = fmt::format("x{}", names_++);
    const Leaf made{buffer_of(id), map, own(name)};
    if (loads_eights(made, id)) {
        loads_eights_.insert(made.buffer);
        body_.add_once(fmt::format("    {0} {1}, {2};\n    in{3}_load8(e, {1}, {2});\n", vector_type(type),
                                   made.variable.of(two_quads[0]), made.variable.of(two_quads[1]), made.buffer));
    } else {
        const QuadText text = read_leaf(made, type, name);
        body_.add(quads(), [&](const char* quad) {
            return fmt::format("    {} {} = {};\n", vector_type(type), made.variable.of(quad), text(quad));
        });
    }
    leaves_.emplace_back(id, made);
    return made.variable;
}

Name SourceBuilder::value_of(const NodeView& view, std::size_t k) {
    const ValueId id = view.node().inputs.at(k);
    const auto found = variables_.find(storage_of(graph_, id));
    if (found != variables_.end()) return found->second;
    const Shape &shape = view.in(k).shape, &out = view.out().shape;
    if (const auto number = known_number(view.in(k))) return {fmt::format("ivec4({})", param(*number))};
    return leaf(id, element_count(shape) == count_ ? IndexMap{{count_}, {1}} : broadcast_map(shape, out));
}

MemberCalls::Table SourceBuilder::make_table(const std::string& index4, const char* quad) {
    const Name index = own(fmt::format("t{}", names_++));
    return {index, body_.add({&quad, 1}, [&](const char* of) {
                return fmt::format("    ivec4 {} = {};\n", index.of(of), index4);
            })};
}

void SourceBuilder::extend_table(const MemberCalls::Table& table, const std::string& index4, const char* quad) {
    body_.extend(table.statement, fmt::format("    ivec4 {} = {};\n", table.index.of(quad), index4));
}

std::string SourceBuilder::read_table(ValueId id, const std::string& index) {
    return fmt::format(
        "{0}({1}_load1(uint({2}.x)), {1}_load1(uint({2}.y)), {1}_load1(uint({2}.z)), {1}_load1(uint({2}.w)))",
        vector_type(graph_.value(id).type), fmt::format("in{}", buffer_of(id)), index);
}

void SourceBuilder::add_member(NodeId id) {
    const NodeView view(graph_, id);
    const OpDef& def = op_def(view.node().op);
    const ValueId out = view.node().outputs.front();
    const char* type = vector_type(view.out().type);
    const std::string name = fmt::format("v{}", names_++);
    const Name variable = own(name);

    if (is_elementwise(view)) {
        if (def.library) {
            libraries_.insert(def.library);
            ++library_members_;
        }
        MemberCalls calls;
        body_.add(quads(), [&](const char* quad) {
            NodeExpr expr(*this, view, calls, quad);
            return fmt::format("    {}{} {} = {};\n", is_precise(view.out().type) ? "precise " : "", type,
                               variable.of(quad), rounded(view.out().type, def.expression(expr)));
        });
    } else {
        const ViewDef move = def.view(view);
        const ValueId from = view.node().inputs.front();
        const IndexMap map = simplify(move.kind == ViewDef::Kind::alias ? IndexMap{{count_}, {1}} : move.maps.front());
        if (move.padded && is_padded(map)) {
            const Name fill = leaf(view.node().inputs.at(move.pad_operand), broadcast_map({1}, group_.space));
            const std::string buffer = fmt::format("in{}", buffer_of(from));
            const QuadAccess access{name, map, aligned_, row_};
            parts_quads_ = parts_quads_ || parts_quads(access);
            functions_ += single_ ? read_function_of_one(access, params(), buffer, type)
                                  : read_function(access, params(), buffer, type, type);
            body_.add(quads(), [&](const char* quad) {
                return fmt::format("    {} {} = {}_quad(e{}, n, last, {});\n", type, variable.of(quad), name, quad,
                                   fill.of(quad));
            });
        } else {
            const Name moved = leaf(from, map);
            body_.add(quads(), [&](const char* quad) {
                return fmt::format("    {} {} = {};\n", type, variable.of(quad), moved.of(quad));
            });
        }
    }
    variables_[out] = variable;
}

void SourceBuilder::store_outputs() {
    source_.writes = group_.outputs;
    for (std::size_t k = 0; k < group_.outputs.size(); ++k) store_value(group_.outputs[k], k);
    for (const Group::Store& part : group_.stores) store_part(part);
}

void SourceBuilder::store_value(ValueId id, std::size_t out) {
    if (eights_ && !group_.rows) return;  // FUSED8 stores both quads at once
    const char* store = stores_quads() ? "    out{}_store4(e{}, {});\n" : "    out{}_storen(e{}, n, {});\n";
    body_.add(quads(), [&](const char* quad) {
        return fmt::format(fmt::runtime(store), out, quad, variables_.at(id).of(quad));
    });
}

/// Number of the buffer that a value is written to.
std::size_t SourceBuilder::write_of(ValueId id) {
    const auto found = std::find(source_.writes.begin(), source_.writes.end(), id);
    if (found == source_.writes.end()) source_.writes.push_back(id);
    return static_cast<std::size_t>(std::find(source_.writes.begin(), source_.writes.end(), id) -
                                    source_.writes.begin());
}

Name SourceBuilder::stored_value(const Group::Store& part) {
    const auto made = variables_.find(stored_by(graph_, part));
    return made != variables_.end() ? made->second
                                    : leaf(graph_.node(part.node).inputs.at(part.input), IndexMap{{count_}, {1}});
}

void SourceBuilder::store_part(const Group::Store& part) {
    const NodeView view(graph_, part.node);
    const std::string to = fmt::format("to{}", names_++), value = stored_value(part).of("");
    const IndexMap map = place_map(part);
    const bool quads = stores_quads();
    const QuadAccess access{to, map, aligned_ && (quads || !keeps_quads(part.map))};
    parts_quads_ = parts_quads_ || parts_quads(access);
    functions_ += position_functions(access, params());
    const std::size_t out = write_of(view.node().outputs.front());
    if (quads) {
        body_.add_once(fmt::format("    out{}_store4({}_at(e), {});\n", out, to, value));
        return;
    }
    // A kernel's last quad may reach beyond the tensor, into what is another's part here.
    const auto count = param(static_cast<std::int32_t>(count_), true);
    body_.add_once(fmt::format("    uvec4 {0} = {0}_at4(e, last);\n", to));
    for (int i = 0; i < 4; ++i) {
        body_.add_once(fmt::format("    if (n > {0}u && e + {0}u < uint({1})) out{2}_store1({3}.{4}, {5});\n", i, count,
                                   out, to, "xyzw"[i], element(view.out().type, value, i)));
    }
}

template <class Test> bool SourceBuilder::uses(Test test) const {
    const auto result = [&](ValueId id) { return test(graph_.value(id).type); };
    const auto made = [&](NodeId id) { return result(graph_.node(id).outputs.front()); };
    return std::any_of(source_.reads.begin(), source_.reads.end(), [&](const auto& read) { return test(read.type); }) ||
           std::any_of(source_.writes.begin(), source_.writes.end(), result) ||
           std::any_of(group_.members.begin(), group_.members.end(), made) ||
           std::any_of(group_.prologues.begin(), group_.prologues.end(),
                       [&](const auto& prologue) {
                           return std::any_of(prologue.members.begin(), prologue.members.end(), made);
                       }) ||
           (group_.anchor != no_id && result(graph_.node(group_.anchor).outputs.front()));
}

/// A shader stores whole quads everywhere or nowhere.
bool SourceBuilder::stores_quads() const {
    if (earlier_) return earlier_->stores_quads;
    if (!std::all_of(group_.stores.begin(), group_.stores.end(),
                     [](const auto& part) { return keeps_quads(part.map); })) {
        return false;
    }
    if (!group_.rows) return aligned_;
    if (group_.rows->are_columns()) return group_.rows->inner % 4 == 0;
    const auto of_rows = [&](ValueId id) { return element_count(graph_.value(id).shape) == group_.rows->count; };
    return group_.rows->axis % 4 == 0 && std::none_of(group_.outputs.begin(), group_.outputs.end(), of_rows);
}

/// How many eights an invocation makes one after the other: two, or a page of them where every load is a loop.
std::int64_t SourceBuilder::eights_in_turn() const {
    if (uses(is_small_float)) return 1;  // docs/performance.md, "Pages in turn": cost a third more in a loop
    std::size_t narrowest = 8;
    for (const KernelOperand& read : source_.reads) {
        if (element_count(graph_.value(read.value).shape) == count_)
            narrowest = std::min(narrowest, size_of(read.type));
    }
    for (const ValueId id : source_.writes) narrowest = std::min(narrowest, size_of(graph_.value(id).type));
    const std::int64_t page =
        loads_are_loops(device_) ? pieces_in_turn(count_ / 8, 8 * static_cast<std::int64_t>(narrowest), device_) : 1;
    return page > 1 ? page : device_.keeps_busy(count_ / 16, "two eights") ? 2 : 1;
}

/// Whether functions of libraries may have loops: where a driver bounds the passes of all loops of an invocation, they
/// are not counted by kernels and rows, which call them once for each step of their own.
bool SourceBuilder::libraries_may_loop() const {
    if (libraries_.empty()) return false;
    if (device_.max_loop_passes == 0) return true;
    if (group_.choice || group_.rows) return false;
    const std::int64_t quads = eights_ ? 2 * eights_in_turn() : 1;
    // Each element may be asked for by itself.
    return 4 * quads * library_members_ * library_loops <= device_.max_loop_passes;
}

/// FUSED(e, n, acc), or FUSED8(e, acc, acc of the next quad) for kernels that make two; without a kernel there is no
/// `acc`.
std::string SourceBuilder::fused_functions(const std::string& set_last) {
    const std::string type =
        group_.choice ? sum_type(graph_.value(graph_.node(group_.anchor).outputs.front()).type) : "";
    const bool twice = group_.choice ? group_.choice->by_eights : eights_;
    const std::string acc = type.empty() ? "" : ", " + type + " acc";
    if (!eights_) {
        const std::string text = fmt::format("void FUSED(uint e, uint n{}) {{\n{}{}}}\n", acc, set_last, body_.text());
        if (!twice) return text;
        return text + fmt::format(
                          "void FUSED8(uint e, {0} acc, {0} acc8) {{\n    FUSED(e, 4u, acc);\n"
                          "    FUSED(e + 4u, 4u, acc8);\n}}\n",
                          type);
    }
    std::string stores;
    for (std::size_t k = 0; k < group_.outputs.size(); ++k) {
        const Name& value = variables_.at(group_.outputs[k]);
        stores += fmt::format("    out{}_store8(e, {}, {});\n", k, value.of(two_quads[0]), value.of(two_quads[1]));
    }
    return fmt::format("void FUSED8(uint e{}) {{\n    const uint n = 4u;\n    uint e_a = e, e_b = e + 4u;\n{}{}{}}}\n",
                       type.empty() ? "" : fmt::format(", {0} acc_a, {0} acc_b", type), set_last, body_.text(), stores);
}

GroupSource SourceBuilder::build() {
    if (group_.choice) {
        source_.constants = specialization(*group_.choice);
        add_operands();  // prologues make one quad at a time
    }
    eights_ = !one_each_ && stores_eights();
    if (group_.choice) {
        const ValueId out = graph_.node(group_.anchor).outputs.front();
        const DType anchor_type = graph_.value(out).type;
        const Name acc = variables_[out] = own("acc");
        // An exact result is one of the type already, and moved elements keep the bits of NaN, which a rounding may
        // not.
        const bool exact = group_.choice->moves_bits || op_def(graph_.node(group_.anchor).op).tolerance == nullptr;
        const bool is_half = anchor_type == DType::fp16;
        if (is_small_float(anchor_type) && (!exact || is_half)) {
            // Kernels give floats of 32 bits.
            const Name value = variables_[out] = own("result");
            body_.add(quads(), [&](const char* quad) {
                return fmt::format("    {0} {1} = {2};\n", vector_type(anchor_type), value.of(quad),
                                   exact ? fmt::format("{}({})", vector_type(anchor_type), acc.of(quad))
                                         : rounded(anchor_type, acc.of(quad)));
            });
        }
    }
    if (group_.rows) {
        add_rows();
        return finish(row_main());
    }
    const std::string last = param(static_cast<std::int32_t>(count_ - 1), true);
    const bool stores_itself = group_.anchor != no_id && graph_.node(group_.anchor).outputs.size() > 1;
    for (const NodeId id : with_few_waiting(graph_, group_.members)) add_member(id);
    if (stores_itself) source_.writes = graph_.node(group_.anchor).outputs;
    else store_outputs();

    std::string text;
    const std::string set_last =
        aligned_ ? fmt::format("    uint last = uint({});\n", last) : "    uint last = e + n - 1u;\n";
    if (stores_itself) {
        text += kernel_source(group_.choice->kernel);
    } else if (group_.choice) {
        text += fused_functions(set_last) + kernel_source(group_.choice->kernel);
    } else if (eights_) {
        const std::int64_t each = eights_in_turn();
        source_.invocations = (count_ / 8 + each - 1) / each;
        text += fused_functions(set_last) + fmt::format(
                                                "void main() {{\n    for (uint k = 0u; k < {0}u; ++k) {{\n"
                                                "        uint e = (invocation_index() * {0}u + k) * 8u;\n"
                                                "        if (e <= uint({1})) FUSED8(e);\n    }}\n}}\n",
                                                each, last);
    } else if (one_each_) {
        source_.invocations = count_;
        text += fmt::format(
            "void main() {{\n    uint e = invocation_index();\n    if (e > uint({0})) return;\n"
            "    const uint n = 1u;\n    uint last = e;\n{1}}}\n",
            last, body_.text());
    } else {
        source_.invocations = (count_ + 3) / 4;
        text += fmt::format(
            "void main() {{\n    uint e = invocation_index() * 4u;\n    if (e > uint({0})) return;\n"
            "    uint n = min(4u, uint({0}) - e + 1u);\n{1}{2}}}\n",
            last, set_last, body_.text());
    }
    return finish(text);
}

GroupSource SourceBuilder::build_earlier() {
    source_.constants = specialization(*pass_);
    add_operands();
    return finish(kernel_source(pass_->kernel));
}

/// Puts what has been gathered in front of the shader's last part.
GroupSource SourceBuilder::finish(const std::string& end) {
    const bool quad_stores = stores_quads();
    const StoreForm stores = eights_ ? StoreForm::eights : quad_stores ? StoreForm::quads : StoreForm::elements;
    std::string text = preamble(device_, stores, pass_ ? pass_->defines : Defines(), uses(is_small_float),
                                uses([](DType t) { return t == DType::fp16; }));
    if (libraries_may_loop()) text += fmt::format("#define LIBRARY_LOOPS {}\n", library_loops);
    for (const std::string& library : libraries_) text += library_text(library, device_);
    std::string rest = params_;
    Declarations tensors(device_, quad_stores);
    for (std::size_t i = 0; i < source_.reads.size(); ++i) {
        const std::size_t number = leaves_of_group_.reads[i].number;
        const bool of_pass = pass_ && number < pass_->operands.size();
        const LoadForm form = loads_eights_.contains(number) || (of_pass && pass_->reads_eights) ? LoadForm::eights
                            : of_pass && pass_->reads_sixteens                                   ? LoadForm::sixteens
                                                                                                 : LoadForm::quads;
        tensors.read(source_.reads[i], number, bytes_of(source_.reads[i]), form);
    }
    if (earlier_) {
        const std::uint64_t bytes = group_.choice->scratch_bytes.at(static_cast<std::size_t>(earlier_->writes));
        tensors.write(earlier_->writes_type, 0, allocation_bytes(bytes, earlier_->writes_type));
    }
    for (std::size_t i = 0; i < source_.writes.size(); ++i) {
        tensors.write(graph_.value(source_.writes[i]).type, i, value_bytes(graph_, source_.writes[i]));
    }
    rest += tensors.text + functions_ + end;
    source_.bindings = tensors.bindings;
    text += take_pushed(rest);
    source_.glsl = text + rest;
    return std::move(source_);
}

/// Takes the declarations of what becomes a push constant out of the text, so that other sizes need no other pipeline.
std::string SourceBuilder::take_pushed(std::string& text) {
    std::set<std::size_t> ids = pass_ ? pushed_constants(*pass_, late_sizes_) : std::set<std::size_t>();
    // Of a kernel that one pipeline has for all sizes so are the numbers of what follows it.
    if (late_sizes_) ids.merge(late_);
    else if (!ids.empty()) ids.merge(integers_);
    std::string block;
    for (const std::size_t id : ids) {
        if (source_.pushed.size() == most_pushed) break;
        const std::string begin = fmt::format("layout(constant_id = {}) const ", id);
        const std::size_t at = text.find(begin), equals = text.find(" = ", at + begin.size()),
                          end = text.find('\n', at);
        if (at == std::string::npos || equals >= end)
            throw Error(ErrorCode::internal, fmt::format("constant {} is not declared in its shader", id));
        block += fmt::format("    {};\n", text.substr(at + begin.size(), equals - at - begin.size()));
        text.erase(at, end + 1 - at);
        source_.pushed.push_back(std::exchange(source_.constants[id], 0));
    }
    return block.empty() ? block : fmt::format("layout(push_constant) uniform pushed {{\n{}}};\n", block);
}

std::uint64_t SourceBuilder::bytes_of(const KernelOperand& operand) const {
    return operand_bytes(graph_, operand, group_.choice ? group_.choice->scratch_bytes : std::vector<std::uint64_t>());
}

namespace {

/// A name that the group has in plans for other sizes too.
std::string scope_of(const Graph& graph, const Group& group) {
    const NodeId node = group.anchor != no_id  ? group.anchor
                      : !group.members.empty() ? group.members.front()
                      : !group.stores.empty()  ? group.stores.front().node
                                               : no_id;
    return node == no_id ? std::string("/source") : graph.node(node).name + "/source";
}

}  // namespace

GroupSource build_source(const Graph& graph, const Group& group, const DevicePlan& device, bool late_sizes) {
    const SizeChoices::Scope scope(device.sizes, scope_of(graph, group));
    SourceBuilder quads(graph, group, device, late_sizes);
    GroupSource source = quads.build();
    if (!quads.wants_single_elements(source.writes)) return source;
    SourceBuilder singles(graph, group, device, late_sizes);
    singles.take_single_elements();
    return singles.build();
}

GroupSource build_pass_source(const Graph& graph, const Group& group, const KernelPass& pass, const DevicePlan& device,
                              bool late_sizes) {
    return SourceBuilder(graph, group, device, late_sizes, &pass).build_earlier();
}

}  // namespace tosavk
