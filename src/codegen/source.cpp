#include "codegen/source.hpp"

#include "codegen/index_map.hpp"
#include "codegen/quad_access.hpp"
#include "codegen/shader_files.hpp"
#include "plan/fuse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace tosavk {
namespace {

std::string_view shader_file(const std::string& name) {
    for (const auto& file : embedded_shaders()) {
        if (file.name == name) return file.text;
    }
    throw Error(ErrorCode::internal, fmt::format("there is no shader file '{}'", name));
}

const char* vector_type(DType t) { return is_float(t) ? "vec4" : t == DType::i48 ? "wide4" : "ivec4"; }
/// What makes four elements of one or of four values that load1 gave.
const char* splat_function(DType t) { return t == DType::i48 ? "wide_splat" : vector_type(t); }
const char* quad_function(DType t) { return t == DType::i48 ? "wide_quad" : vector_type(t); }
/// Element k of four, as store1 takes it.
std::string element(DType t, const std::string& quad, int k) {
    return t == DType::i48 ? fmt::format("wide_get({}, {})", quad, k) : fmt::format("{}.{}", quad, "xyzw"[k]);
}

/// Narrow floats live in fp32 registers; each result is rounded to the type that its operator declares.
bool is_small_float(DType t) { return is_float(t) && t != DType::fp32; }
std::string rounded(DType t, const std::string& expression) {
    return is_small_float(t) ? fmt::format("round_{}({})", name_of(t), expression) : expression;
}

/// Adds one of the modes of SPV_KHR_float_controls for floats of `bits`.
std::string float_mode(int capability, int mode, int bits) {
    return fmt::format("spirv_execution_mode(extensions = [\"SPV_KHR_float_controls\"], capabilities = [{}], {}, {});\n",
                       capability, mode, bits);
}
std::string denorm_preserve(int bits) { return float_mode(4464, 4459, bits); }
std::string signed_zero_inf_nan_preserve(int bits) { return float_mode(4466, 4461, bits); }
std::string rounding_mode_rte(int bits) { return float_mode(4467, 4462, bits); }

std::uint64_t value_bytes(const Graph& graph, ValueId id) {
    const Value& value = graph.value(id);
    return allocation_bytes(static_cast<std::uint64_t>(element_count(value.shape)) * size_of(value.type), value.type);
}

/// `scratch`: sizes of scratch buffers.
std::uint64_t operand_bytes(const Graph& graph, const KernelOperand& operand, const std::vector<std::uint64_t>& scratch) {
    if (operand.scratch >= 0) return allocation_bytes(scratch.at(static_cast<std::size_t>(operand.scratch)), operand.type);
    if (operand.value != no_id) return value_bytes(graph, operand.value);
    return allocation_bytes(std::max<std::uint64_t>(operand.packed.size(), 1), operand.type);
}

/// Texels where the device plan has a use for them and the tensor is not too large.
ReadPath path_of(std::uint64_t bytes, DType type, const DevicePlan& device) {
    return (bytes + 32) / texel_bytes(type) < device.texel_elements ? ReadPath::texels : ReadPath::buffer;
}

using Defines = std::vector<std::pair<std::string, std::string>>;

/// The beginning of every shader: extensions, defines and the dialect of shaders/lib.
std::string prologue(const DevicePlan& device, bool quad_stores, const Defines& defines, bool small_floats, bool fp16) {
    const bool native_fp16 = fp16 && device.native_fp16;
    std::string text = "#version 450\n";
    if (device.nan_preserve || device.rte || native_fp16) text += "#extension GL_EXT_spirv_intrinsics : require\n";
    if (device.subgroup_lanes > 1) text += "#extension GL_KHR_shader_subgroup_shuffle : require\n";
    if (device.int64) text += "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n";
    if (native_fp16) text += "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n";
    if (device.nan_preserve) text += signed_zero_inf_nan_preserve(32);
    if (device.rte) text += rounding_mode_rte(32);
    if (native_fp16) text += signed_zero_inf_nan_preserve(16) + rounding_mode_rte(16) + denorm_preserve(16);
    text += fmt::format("#define TOSAVK_INT64 {}\n#define TOSAVK_QUAD_STORES {}\n", int(device.int64), int(quad_stores));
    // Where loads from storage buffers are slow, so are stores: each component is one.
    text += fmt::format("#define TOSAVK_PAIR_STORES {}\n", int(device.int64 && device.texel_elements > 0));
    for (const auto& [name, value] : defines) text += fmt::format("#define {} {}\n", name, value);
    text += "layout(local_size_x = 64, local_size_x_id = 1000) in;\n";
    for (const char* file : {"lib/types.glsl", "lib/index.glsl", "lib/wide.glsl", "lib/scale.glsl", "lib/math.glsl"}) {
        text += shader_file(file);
    }
    if (small_floats) {
        text += fmt::format("#define TOSAVK_NATIVE_FP16 {}\n", int(native_fp16));
        text += shader_file("lib/small_floats.glsl");
    }
    return text;
}

/// Declares tensors in the order of their bindings.
class Declarations {
public:
    Declarations(const DevicePlan& device, bool quad_stores) : device_(device), quad_stores_(quad_stores) {}

    void read(KernelOperand& operand, std::size_t index, std::uint64_t bytes) {
        operand.path = path_of(bytes, operand.type, device_);
        const std::string name = fmt::format("in{}", index);
        const std::uint32_t parts = operand.path == ReadPath::texels ? 1 : binding_count(bytes, device_);
        if (parts > 1) {
            for (std::uint32_t p = 0; p < parts; ++p) text += fmt::format("READ_PART({}, {}, {})\n", name, p, bindings + p);
            pick("int", name, "word", "", "w", 4, parts, "return {}");
            pick("ivec4", name, "quad", "", "q", 16, parts, "return {}");
            text += fmt::format("ivec2 {0}_pair(uint i) {{ return ivec2({0}_word(2u * i), {0}_word(2u * i + 1u)); }}\n", name);
        }
        const char* from = operand.path == ReadPath::texels ? "TEXELS" : parts > 1 ? "PARTS" : "BUFFER";
        text += fmt::format("READ_{}({}, {}, {})\n", name_of(operand.type), name, bindings, from);
        bindings += parts;
    }

    void write(DType type, std::size_t index, std::uint64_t bytes) {
        const std::uint32_t parts = binding_count(bytes, device_);
        if (parts > 1) {
            const std::string name = fmt::format("out{}{}", index, is_small_float(type) ? "_bits" : "");
            const bool words = size_of(type) < 4;
            for (std::uint32_t p = 0; p < parts; ++p) {
                text += fmt::format("WRITE_PART_{}({}, {}, {})\n", words ? 1 : 4, name, p, bindings + p);
            }
            if (words || !quad_stores_) pick("void", name, "put", ", int x", "w", 4, parts, "{} = x");
            else pick("void", name, "put4", ", ivec4 x", "q", 16, parts, "{} = x");
            if (words) pick("void", name, "mix", ", int mask, int x", "w", 4, parts, "MIX({}, mask, x)");
        }
        text += fmt::format("WRITE_{}(out{}, {}, {})\n", name_of(type), index, bindings, parts > 1 ? "PART_STORES" : "STORES");
        bindings += parts;
    }

    std::string text;
    std::size_t bindings = 0;

private:
    /// A function of element `i` (of `bytes` bytes) that does something to the part which has it.
    void pick(const char* type, const std::string& name, const char* function, const char* more, const char* array, std::uint64_t bytes,
              std::uint32_t parts, const char* statement) {
        text += fmt::format("{} {}_{}(uint i{}) {{\n    uint p = i / {}u, k = i % {}u;\n", type, name, function, more,
                            part_bytes(device_) / bytes, part_bytes(device_) / bytes);
        for (std::uint32_t p = 0; p < parts; ++p) {
            const std::string element = fmt::format("{}_{}{}[k]", name, array, p);
            text += fmt::format("    {}{}{};\n", p == 0 ? "" : "else ", p + 1 == parts ? "" : fmt::format("if (p == {}u) ", p),
                                fmt::format(fmt::runtime(statement), element));
        }
        text += "}\n";
    }

    const DevicePlan& device_;
    const bool quad_stores_;
};

/// Where the parts of a CONCAT go, as one dimension at least.
IndexMap place_map(const Group::Store& part) {
    IndexMap map = simplify(part.map);
    if (map.dims.empty()) map.dims = map.strides = {1};
    return map;
}

/// The element of an integer constant that has only one.
std::optional<std::int64_t> known_integer(const Value& value) {
    if (!value.is_constant() || is_float(value.type) || element_count(value.shape) != 1) return std::nullopt;
    return decode_ints(value.type, *value.data).front();
}
/// The same where it fits a specialization constant.
std::optional<std::int32_t> known_number(const Value& value) {
    const auto number = value.type == DType::i48 ? std::nullopt : known_integer(value);
    return number ? std::optional(static_cast<std::int32_t>(*number)) : std::nullopt;
}

/// A tensor read by the group's members: a buffer and the place of its elements in the index space.
struct Leaf {
    std::size_t buffer;  ///< binding
    IndexMap map;        ///< simplified
    std::string variable;
};

/// Writes the text of one shader. Statements of the member nodes go to `body_`, everything else to `head_`.
class SourceBuilder final {
public:
    SourceBuilder(const Graph& graph, const Group& group, const DevicePlan& device)
        : graph_(graph), group_(group), device_(device), count_(element_count(group.space)),
          aligned_(!group.choice || group.choice->aligned) {}

    GroupSource build();
    GroupSource finish(const std::string& end);
    std::size_t count_reads();

    std::string param(std::int32_t value) {
        source_.constants.push_back(value);
        const auto id = source_.constants.size() - 1;
        params_ += fmt::format("layout(constant_id = {}) const int P{} = 0;\n", id, id);
        return fmt::format("P{}", id);
    }
    std::string param_float(float value) {
        source_.constants.push_back(std::bit_cast<std::int32_t>(value));
        const auto id = source_.constants.size() - 1;
        params_ += fmt::format("layout(constant_id = {}) const float P{} = 0.0;\n", id, id);
        return fmt::format("P{}", id);
    }
    std::string value_of(const NodeView& view, std::size_t k);
    std::string table_of(ValueId id, const std::string& index4);

private:
    std::size_t buffer_of(ValueId id);
    std::string leaf(ValueId id, const IndexMap& map);
    std::string read_leaf(const Leaf& leaf, DType type, const std::string& name);
    void add_member(NodeId id);
    void store_outputs();
    /// Whether a tensor or a result of the group has such a type.
    template <class Test> bool uses(Test test) const;
    Param params() {
        return [this](std::int64_t value) { return param(static_cast<std::int32_t>(value)); };
    }
    void store(std::size_t out, DType type, const std::string& value, bool quads, const std::string& position);
    void store_value(ValueId id, std::size_t out);
    void store_part(const Group::Store& part);
    std::string stored_value(const Group::Store& part);
    std::size_t write_of(ValueId id);
    void add_rows();
    void add_row_loop(std::size_t depth);
    bool is_stored(ValueId id) const;
    ValueId stored_by(const Group::Store& part) const;
    std::string fold_row(const std::string& combine, DType type, const std::string& partial);
    std::vector<NodeId> behind(const std::vector<ValueId>& roots) const;
    std::string row_main();
    std::uint64_t bytes_of(const KernelOperand& operand) const;
    /// Of what is read.
    std::size_t count_bindings() const;
    bool stores_quads() const;

    const Graph& graph_;
    const Group& group_;
    const DevicePlan& device_;
    std::int64_t count_;   ///< elements of the index space at hand
    bool aligned_;         ///< positions at hand are whole quads
    bool single_ = false;  ///< positions at hand are single elements (of the rows' own values), made quads of equal ones
    std::size_t names_ = 0;
    /// By value that a row group makes: the number of reductions that lie before it, one behind the other.
    std::map<ValueId, std::size_t> depths_;
    GroupSource source_;
    std::string params_, functions_, body_, helpers_;
    std::map<ValueId, std::string> variables_;  ///< members' results (and the anchor's)
    std::map<ValueId, std::size_t> buffers_;
    std::vector<std::pair<ValueId, Leaf>> leaves_;
    bool counting_ = false;  ///< for count_reads: what the group's outputs are is not known yet
};

/// What an operator's expression function sees of the builder.
class NodeExpr final : public ExprContext {
public:
    NodeExpr(SourceBuilder& builder, const NodeView& node_view) : builder_(builder), view_(node_view) {}
    const NodeView& view() const override { return view_; }
    std::string in(std::size_t k) override { return builder_.value_of(view_, k); }
    std::string table(std::size_t k, const std::string& index4) override {
        return builder_.table_of(view_.node().inputs.at(k), index4);
    }
    std::string param(std::int32_t value) override { return builder_.param(value); }
    std::string param_float(float value) override { return builder_.param_float(value); }
    std::optional<std::int64_t> known(std::size_t k) const override { return known_integer(view_.in(k)); }

private:
    SourceBuilder& builder_;
    NodeView view_;
};

std::size_t SourceBuilder::buffer_of(ValueId id) {
    const auto found = buffers_.find(id);
    if (found != buffers_.end()) return found->second;
    source_.reads.push_back({id, graph_.value(id).type, {}, {}, -1, {}});
    return buffers_[id] = source_.reads.size() - 1;
}

/// The expression that reads four consecutive elements of the index space from a leaf without padding.
std::string SourceBuilder::read_leaf(const Leaf& leaf, DType type, const std::string& name) {
    const std::string buffer = fmt::format("in{}", leaf.buffer);
    const IndexMap& map = leaf.map;
    const char *quad = quad_function(type), *splat = splat_function(type);

    const bool constant = std::all_of(map.strides.begin(), map.strides.end(), [](auto s) { return s == 0; });
    if (constant)
        return fmt::format("{}({}_load1(uint({})))", splat, buffer, param(static_cast<std::int32_t>(map.base)));
    if (single_) {
        functions_ += position_function({name, map, true}, params());
        return fmt::format("{}({}_load1({}_at(e)))", splat, buffer, name);
    }

    const bool flat = map.dims.size() == 1 && map.strides[0] == 1;
    if (flat && map.base == 0) return aligned_ ? buffer + "_load4(e)" : buffer + "_loadn(e, n)";

    functions_ += read_function({name, map, aligned_}, params(), buffer, quad, splat);
    return fmt::format("{}_quad(e, n, last)", name);
}

std::string SourceBuilder::leaf(ValueId id, const IndexMap& full) {
    const IndexMap map = simplify(full);
    for (const auto& [value, known] : leaves_) {
        if (value == id && known.map == map) return known.variable;
    }
    const DType type = graph_.value(id).type;
    Leaf made{buffer_of(id), map, fmt::format("x{}", names_++)};
    const std::string text = read_leaf(made, type, made.variable);
    body_ += fmt::format("    {} {} = {};\n", vector_type(type), made.variable, text);
    leaves_.emplace_back(id, made);
    return made.variable;
}

std::string SourceBuilder::value_of(const NodeView& view, std::size_t k) {
    const ValueId id = view.node().inputs.at(k);
    const auto found = variables_.find(storage_of(graph_, id));
    if (found != variables_.end()) return found->second;
    const Shape &shape = view.in(k).shape, &out = view.out().shape;
    if (const auto number = known_number(view.in(k))) return fmt::format("ivec4({})", param(*number));
    return leaf(id, element_count(shape) == count_ ? IndexMap{{count_}, {1}} : broadcast_map(shape, out));
}

std::string SourceBuilder::table_of(ValueId id, const std::string& index4) {
    const std::string buffer = fmt::format("in{}", buffer_of(id));
    const std::string name = fmt::format("t{}", names_++);
    body_ += fmt::format("    ivec4 {} = {};\n", name, index4);
    return fmt::format("{0}({1}_load1(uint({2}.x)), {1}_load1(uint({2}.y)), {1}_load1(uint({2}.z)), {1}_load1(uint({2}.w)))",
                       vector_type(graph_.value(id).type), buffer, name);
}

void SourceBuilder::add_member(NodeId id) {
    const NodeView view(graph_, id);
    const OpDef& def = op_def(view.node().op);
    const ValueId out = view.node().outputs.front();
    const char* type = vector_type(view.out().type);
    const std::string name = fmt::format("v{}", names_++);

    if (is_elementwise(view)) {
        NodeExpr expr(*this, view);
        const std::string text = def.expression(expr);
        body_ += fmt::format("    {}{} {} = {};\n", is_float(view.out().type) ? "precise " : "", type, name,
                             rounded(view.out().type, text));
    } else {
        const ViewDef move = def.view(view);
        const ValueId from = view.node().inputs.front();
        const IndexMap map = simplify(move.kind == ViewDef::Kind::alias
                                          ? IndexMap{{count_}, {1}}
                                          : move.maps.front());
        if (move.padded && is_padded(map)) {
            const std::string fill = leaf(view.node().inputs.at(move.pad_operand), broadcast_map({1}, group_.space));
            const std::string buffer = fmt::format("in{}", buffer_of(from));
            functions_ += read_function({name, map, aligned_}, params(), buffer, type, type);
            body_ += fmt::format("    {} {} = {}_quad(e, n, last, {});\n", type, name, name, fill);
        } else {
            body_ += fmt::format("    {} {} = {};\n", type, name, leaf(from, map));
        }
    }
    variables_[out] = name;
}

/// Stores a quad whole at `e`, or its first n elements one by one at `position`, where {} is the element's number.
void SourceBuilder::store(std::size_t out, DType type, const std::string& value, bool quads, const std::string& position) {
    if (quads) {
        body_ += fmt::format("    out{}_store4(e, {});\n", out, value);
        return;
    }
    for (int i = 0; i < 4; ++i) {
        body_ += fmt::format("    if (n > {0}u) out{1}_store1({2}, {3});\n", i, out,
                             fmt::format(fmt::runtime(position), i), element(type, value, i));
    }
}

void SourceBuilder::store_outputs() {
    source_.writes = group_.outputs;
    for (std::size_t k = 0; k < group_.outputs.size(); ++k) store_value(group_.outputs[k], k);
    for (const Group::Store& part : group_.stores) store_part(part);
}

void SourceBuilder::store_value(ValueId id, std::size_t out) {
    store(out, graph_.value(id).type, variables_.at(id), stores_quads(), "e + {}u");
}

/// Number of the buffer that a value is written to.
std::size_t SourceBuilder::write_of(ValueId id) {
    const auto found = std::find(source_.writes.begin(), source_.writes.end(), id);
    if (found == source_.writes.end()) source_.writes.push_back(id);
    return static_cast<std::size_t>(std::find(source_.writes.begin(), source_.writes.end(), id) - source_.writes.begin());
}

std::string SourceBuilder::stored_value(const Group::Store& part) {
    const auto made = variables_.find(stored_by(part));
    return made != variables_.end() ? made->second : leaf(graph_.node(part.node).inputs.at(part.input), IndexMap{{count_}, {1}});
}

void SourceBuilder::store_part(const Group::Store& part) {
    const NodeView view(graph_, part.node);
    const std::string to = fmt::format("to{}", names_++), value = stored_value(part);
    const IndexMap map = place_map(part);
    const bool quads = stores_quads();
    functions_ += position_functions({to, map, aligned_ && (quads || !keeps_quads(part.map))}, params());
    const std::size_t out = write_of(view.node().outputs.front());
    if (quads) {
        body_ += fmt::format("    out{}_store4({}_at(e), {});\n", out, to, value);
        return;
    }
    // A kernel's last quad may reach beyond the tensor, into what is another's part here.
    const auto count = param(static_cast<std::int32_t>(count_));
    body_ += fmt::format("    uvec4 {0} = {0}_at4(e, last);\n", to);
    for (int i = 0; i < 4; ++i) {
        body_ += fmt::format("    if (n > {0}u && e + {0}u < uint({1})) out{2}_store1({3}.{4}, {5});\n", i, count, out, to, "xyzw"[i],
                             element(view.out().type, value, i));
    }
}

template <class Test> bool SourceBuilder::uses(Test test) const {
    const auto result = [&](ValueId id) { return test(graph_.value(id).type); };
    return std::any_of(source_.reads.begin(), source_.reads.end(), [&](const auto& read) { return test(read.type); }) ||
           std::any_of(source_.writes.begin(), source_.writes.end(), result) ||
           std::any_of(group_.members.begin(), group_.members.end(), [&](NodeId id) { return result(graph_.node(id).outputs.front()); }) ||
           (group_.anchor != no_id && result(graph_.node(group_.anchor).outputs.front()));
}

/// A shader stores whole quads everywhere or nowhere.
bool SourceBuilder::stores_quads() const {
    if (!std::all_of(group_.stores.begin(), group_.stores.end(), [](const auto& part) { return keeps_quads(part.map); })) {
        return false;
    }
    if (!group_.rows) return aligned_;
    const auto of_rows = [&](ValueId id) { return element_count(graph_.value(id).shape) == group_.rows->count; };
    return group_.rows->axis % 4 == 0 && std::none_of(group_.outputs.begin(), group_.outputs.end(), of_rows);
}

GroupSource SourceBuilder::build() {
    DType anchor_type = DType::i32;
    if (group_.choice) {
        source_.constants = group_.choice->constants;
        source_.reads = group_.choice->operands;
        for (std::size_t i = 0; i < source_.reads.size(); ++i) {
            if (source_.reads[i].value != no_id) buffers_.emplace(source_.reads[i].value, i);
        }
        const ValueId out = graph_.node(group_.anchor).outputs.front();
        anchor_type = graph_.value(out).type;
        variables_[out] = "acc";
        // An exact result is one of the type already, and moved elements keep the bits of NaN, which a rounding may not.
        const bool exact = op_def(graph_.node(group_.anchor).op).tolerance == nullptr;
        if (is_small_float(anchor_type) && !exact) body_ += fmt::format("    acc = {};\n", rounded(anchor_type, "acc"));
    }
    if (group_.rows) {
        add_rows();
        return finish(row_main());
    }
    const std::string last = param(static_cast<std::int32_t>(count_ - 1));
    const bool stores_itself = group_.anchor != no_id && graph_.node(group_.anchor).outputs.size() > 1;
    for (const NodeId id : group_.members) add_member(id);
    if (stores_itself) source_.writes = graph_.node(group_.anchor).outputs;
    else store_outputs();

    std::string text;
    const std::string set_last = aligned_ ? fmt::format("    uint last = uint({});\n", last) : "    uint last = e + n - 1u;\n";
    if (stores_itself) {
        text += shader_file(group_.choice->kernel + ".comp");
    } else if (group_.choice) {
        text += fmt::format("void FUSED(uint e, uint n, {} acc) {{\n{}{}}}\n", vector_type(anchor_type), set_last, body_);
        text += shader_file(group_.choice->kernel + ".comp");
    } else {
        source_.quads = (count_ + 3) / 4;
        text += fmt::format("void main() {{\n    uint e = invocation_index() * 4u;\n    if (e > uint({0})) return;\n"
                            "    uint n = min(4u, uint({0}) - e + 1u);\n{1}{2}}}\n",
                            last, set_last, body_);
    }
    return finish(text);
}

/// Puts what has been gathered in front of the shader's last part.
GroupSource SourceBuilder::finish(const std::string& end) {
    const bool quad_stores = stores_quads();
    std::string text = prologue(device_, quad_stores, group_.choice ? group_.choice->defines : Defines(), uses(is_small_float),
                                uses([](DType t) { return t == DType::fp16; }));
    text += params_;
    Declarations tensors(device_, quad_stores);
    for (std::size_t i = 0; i < source_.reads.size(); ++i) tensors.read(source_.reads[i], i, bytes_of(source_.reads[i]));
    for (std::size_t i = 0; i < source_.writes.size(); ++i) {
        tensors.write(graph_.value(source_.writes[i]).type, i, value_bytes(graph_, source_.writes[i]));
    }
    text += tensors.text;
    source_.bindings = tensors.bindings;
    source_.glsl = text + functions_ + end;
    return std::move(source_);
}

// ---- row groups ---------------------------------------------------------------------------------------------------

/// The members over the rows' elements that these values need, in execution order.
std::vector<NodeId> SourceBuilder::behind(const std::vector<ValueId>& roots) const {
    std::set<NodeId> found;
    std::vector<ValueId> open = roots;
    while (!open.empty()) {
        const ValueId id = storage_of(graph_, open.back());
        open.pop_back();
        const bool ours = depths_.contains(id) && element_count(graph_.value(id).shape) != group_.rows->count;
        if (!ours || !found.insert(graph_.value(id).producer).second) continue;
        const auto& inputs = graph_.node(graph_.value(id).producer).inputs;
        open.insert(open.end(), inputs.begin(), inputs.end());
    }
    return {found.begin(), found.end()};
}

/// The code that makes one of a quad of partial results per lane: first over the lanes, then over the quad.
std::string SourceBuilder::fold_row(const std::string& combine, DType type, const std::string& partial) {
    std::string text;
    if (group_.rows->lanes > 1) {
        const std::string shared = is_float(type) ? "lanes_f" : "lanes_i";
        text += fmt::format("    {0}[gl_LocalInvocationID.x] = {1};\n    barrier();\n"
                            "    for (uint half_lanes = {2}u; half_lanes > 0u; half_lanes /= 2u) {{\n"
                            "        if (lane < half_lanes) {0}[gl_LocalInvocationID.x] = {3}({0}[gl_LocalInvocationID.x], "
                            "{0}[gl_LocalInvocationID.x + half_lanes]);\n        barrier();\n    }}\n"
                            "    {1} = {0}[gl_LocalInvocationID.x - lane];\n    barrier();\n",
                            shared, partial, group_.rows->lanes / 2, combine);
    }
    const std::int64_t axis = group_.rows->axis;
    if (axis > 2) text += fmt::format("    {0} = {1}{2}({0}, {0}.zwxy){3};\n", partial, axis == 3 ? vector_type(type) + std::string("(") : "",
                                      combine, axis == 3 ? fmt::format(".x, {0}.yzw)", partial) : "");
    if (axis > 1) text += fmt::format("    {0} = {1}({0}, {0}.yxwz);\n", partial, combine);
    return text + fmt::format("    {0} = {0}.xxxx;\n", partial);
}

ValueId SourceBuilder::stored_by(const Group::Store& part) const {
    return storage_of(graph_, graph_.node(part.node).inputs.at(part.input));
}

bool SourceBuilder::is_stored(ValueId id) const {
    return std::find(group_.outputs.begin(), group_.outputs.end(), id) != group_.outputs.end() ||
           std::any_of(group_.stores.begin(), group_.stores.end(), [&](const auto& part) { return stored_by(part) == id; });
}

/// A pass over the row: what its reductions and the outputs of this depth need is computed anew, not kept from an earlier pass.
void SourceBuilder::add_row_loop(std::size_t depth) {
    const Rows& rows = *group_.rows;
    std::vector<NodeId> reductions;
    std::vector<ValueId> roots;
    for (const NodeId id : group_.members) {
        const NodeView view(graph_, id);
        const ValueId in = storage_of(graph_, view.node().inputs.front()), out = view.node().outputs.front();
        if (op_def(view.node().op).combine) {
            const auto found = depths_.find(in);
            if ((found == depths_.end() ? 0 : found->second) != depth) continue;
            reductions.push_back(id);
            roots.push_back(in);
        } else if (depths_.at(out) == depth && element_count(view.out().shape) != rows.count && (counting_ || is_stored(out))) {
            roots.push_back(out);
        }
    }
    if (roots.empty()) return;

    std::string before = std::move(body_), after;
    body_.clear();
    leaves_.clear();
    const auto variables = variables_;
    count_ = rows.count * rows.axis;
    aligned_ = rows.axis % 4 == 0;
    single_ = false;
    const auto axis = param(static_cast<std::int32_t>(rows.axis));
    body_ += fmt::format("        uint e = row * uint({0}) + q * 4u, n = {1}, last = {2};\n", axis,
                         aligned_ ? std::string("4u") : fmt::format("min(4u, uint({}) - q * 4u)", axis),
                         aligned_ ? fmt::format("uint({})", param(static_cast<std::int32_t>(count_ - 1))) : "e + n - 1u");
    for (const NodeId id : behind(roots)) add_member(id);
    std::vector<std::string> results;
    for (const NodeId id : reductions) {
        const NodeView view(graph_, id);
        const std::string combine = fmt::format("COMBINE{}", names_), partial = fmt::format("v{}", names_++);
        const std::string value = value_of(view, 0);
        functions_ += fmt::format("#define {}(a, b) {}\n", combine, op_def(view.node().op).combine(view));
        before += fmt::format("    {}{} {};\n", is_float(view.out().type) ? "precise " : "", vector_type(view.out().type), partial);
        const std::string next = fmt::format("{}({}, {})", combine, partial, value);
        body_ += fmt::format("        if (q == lane) {0} = {1};\n        else {0} = {2};\n", partial, value,
                             aligned_ ? next : fmt::format("mix({}, {}, lessThan(ivec4(0, 1, 2, 3), ivec4(n)))", partial, next));
        after += fold_row(combine, view.out().type, partial);
        if (is_small_float(view.out().type) && op_def(view.node().op).tolerance) after += fmt::format("    {0} = {1};\n", partial, rounded(view.out().type, partial));
        results.push_back(partial);
    }
    std::string loop = std::move(body_);
    body_.clear();
    for (std::size_t k = 0; k < group_.outputs.size(); ++k) {
        const ValueId id = group_.outputs[k];
        if (element_count(graph_.value(id).shape) != rows.count && depths_.at(id) == depth) store_value(id, k);
    }
    for (const Group::Store& part : group_.stores) {
        if (depths_.at(stored_by(part)) == depth) store_part(part);
    }
    if (!body_.empty()) loop += rows.lanes > 1 ? "        if (live) {\n" + body_ + "        }\n" : body_;
    const auto quads = param(static_cast<std::int32_t>((rows.axis + 3) / 4));
    body_ = before + fmt::format("    for (uint q = lane; q < uint({}); q += {}u) {{\n", quads, rows.lanes) + loop + "    }\n" + after;
    variables_ = variables;
    for (std::size_t k = 0; k < reductions.size(); ++k) variables_[graph_.node(reductions[k]).outputs.front()] = results[k];
}

void SourceBuilder::add_rows() {
    const Rows& rows = *group_.rows;
    source_.writes = group_.outputs;
    std::size_t most = 0;
    for (const NodeId id : group_.members) {
        const Node& node = graph_.node(id);
        std::size_t depth = 0;
        for (const ValueId in : node.inputs) {
            const auto found = depths_.find(storage_of(graph_, in));
            if (found != depths_.end()) depth = std::max(depth, found->second);
        }
        depths_[node.outputs.front()] = depth + (op_def(node.op).combine ? 1 : 0);
        most = std::max(most, depths_[node.outputs.front()]);
    }
    for (std::size_t depth = 0; depth <= most; ++depth) {
        count_ = rows.count;
        single_ = true;
        aligned_ = false;
        leaves_.clear();
        std::string before = std::move(body_);
        body_.clear();
        for (const NodeId id : group_.members) {
            const NodeView view(graph_, id);
            const bool of_rows = element_count(view.out().shape) == rows.count && !op_def(view.node().op).combine;
            if (of_rows && depths_.at(view.node().outputs.front()) == depth) add_member(id);
        }
        body_ = before + (body_.empty() ? "" : "    e = row;\n" + body_);
        add_row_loop(depth);
    }
    for (std::size_t k = 0; k < group_.outputs.size(); ++k) {
        const Value& value = graph_.value(group_.outputs[k]);
        if (element_count(value.shape) != rows.count) continue;
        body_ += fmt::format("    if (lane == 0u{}) out{}_store1(row, {});\n", rows.lanes > 1 ? " && live" : "", k,
                             element(value.type, variables_.at(group_.outputs[k]), 0));
    }
}

std::string SourceBuilder::row_main() {
    const Rows& rows = *group_.rows;
    const std::string count = fmt::format("uint({})", param(static_cast<std::int32_t>(rows.count)));
    std::string text;
    if (rows.lanes == 1) {
        text = fmt::format("void main() {{\n    uint row = invocation_index(), e;\n    if (row >= {}) return;\n    const uint lane = 0u;\n", count);
    } else {
        // Lanes beyond the last row go along with it, since all must meet at the barriers.
        text = fmt::format("shared vec4 lanes_f[gl_WorkGroupSize.x];\nshared ivec4 lanes_i[gl_WorkGroupSize.x];\nvoid main() {{\n"
                           "    uint lane = gl_LocalInvocationID.x % {0}u, e;\n"
                           "    uint row = workgroup_index() * (gl_WorkGroupSize.x / {0}u) + gl_LocalInvocationID.x / {0}u;\n"
                           "    bool live = row < {1};\n    row = min(row, {1} - 1u);\n",
                           rows.lanes, count);
    }
    return text + body_ + "}\n";
}

std::uint64_t SourceBuilder::bytes_of(const KernelOperand& operand) const {
    return operand_bytes(graph_, operand, group_.choice ? group_.choice->scratch_bytes : std::vector<std::uint64_t>());
}

std::size_t SourceBuilder::count_bindings() const {
    std::size_t count = 0;
    for (const KernelOperand& read : source_.reads) {
        const std::uint64_t bytes = bytes_of(read);
        count += path_of(bytes, read.type, device_) == ReadPath::texels ? 1 : binding_count(bytes, device_);
    }
    return count;
}

std::size_t SourceBuilder::count_reads() {
    counting_ = true;
    if (group_.rows) {
        add_rows();
        return count_bindings();
    }
    if (group_.choice) {
        source_.reads = group_.choice->operands;
        for (std::size_t i = 0; i < source_.reads.size(); ++i) {
            if (source_.reads[i].value != no_id) buffers_.emplace(source_.reads[i].value, i);
        }
        variables_[graph_.node(group_.anchor).outputs.front()] = "acc";
    }
    for (const NodeId id : group_.members) add_member(id);
    for (const Group::Store& part : group_.stores) stored_value(part);
    return count_bindings();
}

}  // namespace

GroupSource build_source(const Graph& graph, const Group& group, const DevicePlan& device) {
    return SourceBuilder(graph, group, device).build();
}

GroupSource build_pass_source(const Graph& graph, const KernelChoice& choice, const KernelPass& pass, const DevicePlan& device) {
    GroupSource source;
    source.constants = pass.constants;
    source.reads = pass.operands;
    const auto reads = [&](auto test) {
        return std::any_of(pass.operands.begin(), pass.operands.end(), [&](const KernelOperand& o) { return test(o.type); });
    };
    Declarations tensors(device, pass.stores_quads);
    for (std::size_t i = 0; i < source.reads.size(); ++i) {
        tensors.read(source.reads[i], i, operand_bytes(graph, source.reads[i], choice.scratch_bytes));
    }
    const std::uint64_t written = choice.scratch_bytes.at(static_cast<std::size_t>(pass.writes));
    tensors.write(pass.writes_type, 0, allocation_bytes(written, pass.writes_type));
    source.glsl = prologue(device, pass.stores_quads, pass.defines, reads(is_small_float), reads([](DType t) { return t == DType::fp16; }));
    source.glsl += tensors.text;
    source.bindings = tensors.bindings;
    source.glsl += shader_file(pass.kernel + ".comp");
    return source;
}

std::size_t count_reads(const Graph& graph, const Group& group, const DevicePlan& device) {
    return SourceBuilder(graph, group, device).count_reads();
}

}  // namespace tosavk
