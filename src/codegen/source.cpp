#include "codegen/source.hpp"

#include "codegen/index_map.hpp"
#include "codegen/shader_files.hpp"
#include "plan/fuse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

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
    std::string position_function(const std::string& name, const IndexMap& map, bool padded);

    const Graph& graph_;
    const Group& group_;
    const DevicePlan& device_;
    const std::int64_t count_;
    const bool aligned_;
    GroupSource source_;
    std::string params_, functions_, body_, helpers_;
    std::map<ValueId, std::string> variables_;  ///< members' results (and the anchor's)
    std::map<ValueId, std::size_t> buffers_;
    std::vector<std::pair<ValueId, Leaf>> leaves_;
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
    std::optional<std::int64_t> known(std::size_t k) const override {
        const Value& value = view_.in(k);
        if (!value.is_constant() || is_float(value.type) || element_count(value.shape) != 1) return std::nullopt;
        return decode_ints(value.type, *value.data).front();
    }

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

/// Element position as a function of the flat index; `ok` tells whether there is an element (padding).
std::string SourceBuilder::position_function(const std::string& name, const IndexMap& map, bool padded) {
    std::string text = padded ? fmt::format("uint {}_at(uint e, out bool ok) {{\n    ok = true;\n", name)
                              : fmt::format("uint {}_at(uint e) {{\n", name);
    text += fmt::format("    int at = {}, rest = int(e), c;\n", param(static_cast<std::int32_t>(map.base)));
    for (std::size_t i = map.dims.size(); i-- > 0;) {
        const bool outermost = i == 0;
        if (outermost) {
            text += "    c = rest;\n";
        } else {
            const auto dim = param(static_cast<std::int32_t>(map.dims[i]));
            text += fmt::format("    c = rest % {0};\n    rest /= {0};\n", dim);
        }
        if (map.strides[i] != 0) {
            text += map.strides[i] == 1 ? "    at += c;\n"
                                        : fmt::format("    at += c * {};\n", param(static_cast<std::int32_t>(map.strides[i])));
        }
        if (padded && (map.lo[i] > 0 || map.hi[i] < map.dims[i])) {
            text += fmt::format("    ok = ok && c >= {} && c < {};\n", param(static_cast<std::int32_t>(map.lo[i])),
                                param(static_cast<std::int32_t>(map.hi[i])));
        }
    }
    text += padded ? "    return ok ? uint(at) : 0u;\n}\n" : "    return uint(at);\n}\n";
    return text;
}

/// The expression that reads four consecutive elements of the index space from a leaf without padding.
std::string SourceBuilder::read_leaf(const Leaf& leaf, DType type, const std::string& name) {
    const std::string buffer = fmt::format("in{}", leaf.buffer);
    const IndexMap& map = leaf.map;
    const char *quad = quad_function(type), *splat = splat_function(type);

    const bool constant = std::all_of(map.strides.begin(), map.strides.end(), [](auto s) { return s == 0; });
    if (constant)
        return fmt::format("{}({}_load1(uint({})))", splat, buffer, param(static_cast<std::int32_t>(map.base)));

    const bool flat = map.dims.size() == 1 && map.strides[0] == 1;
    if (flat && map.base == 0) return aligned_ ? buffer + "_load4(e)" : buffer + "_loadn(e, n)";

    functions_ += position_function(name, map, false);
    // Four elements share a row when rows are whole quads; then one position serves all of them.
    const bool rows = map.dims.back() % 4 == 0 && aligned_;
    if (rows && map.strides.back() == 0) return fmt::format("{}({}_load1({}_at(e)))", splat, buffer, name);
    bool on_quads = map.base % 4 == 0;
    for (std::size_t i = 0; i + 1 < map.strides.size(); ++i) on_quads = on_quads && map.strides[i] % 4 == 0;
    if (rows && map.strides.back() == 1) {
        if (on_quads) return fmt::format("{}_load4({}_at(e))", buffer, name);
        return fmt::format("{}_loadn({}_at(e), 4u)", buffer, name);
    }
    return fmt::format("{0}({1}_load1({2}_at(e)), {1}_load1({2}_at(min(e + 1u, last))), "
                       "{1}_load1({2}_at(min(e + 2u, last))), {1}_load1({2}_at(min(e + 3u, last))))",
                       quad, buffer, name);
}

std::string SourceBuilder::leaf(ValueId id, const IndexMap& full) {
    const IndexMap map = simplify(full);
    for (const auto& [value, known] : leaves_) {
        if (value == id && known.map == map) return known.variable;
    }
    const DType type = graph_.value(id).type;
    Leaf made{buffer_of(id), map, fmt::format("x{}", leaves_.size())};
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
    return leaf(id, element_count(shape) == count_ ? IndexMap{{count_}, {1}} : broadcast_map(shape, out));
}

std::string SourceBuilder::table_of(ValueId id, const std::string& index4) {
    const std::string buffer = fmt::format("in{}", buffer_of(id));
    const std::string name = fmt::format("t{}", variables_.size()) + fmt::format("_{}", body_.size());
    body_ += fmt::format("    ivec4 {} = {};\n", name, index4);
    return fmt::format("{0}({1}_load1(uint({2}.x)), {1}_load1(uint({2}.y)), {1}_load1(uint({2}.z)), {1}_load1(uint({2}.w)))",
                       vector_type(graph_.value(id).type), buffer, name);
}

void SourceBuilder::add_member(NodeId id) {
    const NodeView view(graph_, id);
    const OpDef& def = op_def(view.node().op);
    const ValueId out = view.node().outputs.front();
    const char* type = vector_type(view.out().type);
    const std::string name = fmt::format("v{}", variables_.size());

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
            functions_ += position_function(name, map, true);
            body_ += fmt::format("    {0} {1} = {2};\n    {{\n        bool ok;\n        uint at;\n", type, name, fill);
            const char* component[] = {"x", "y", "z", "w"};
            for (int i = 0; i < 4; ++i) {
                body_ += fmt::format("        at = {0}_at(min(e + {1}u, last), ok);\n        if (ok) {0}.{2} = {3}_load1(at);\n",
                                     name, i, component[i], buffer);
            }
            body_ += "    }\n";
        } else {
            body_ += fmt::format("    {} {} = {};\n", type, name, leaf(from, map));
        }
    }
    variables_[out] = name;
}

void SourceBuilder::store_outputs() {
    const auto store_each = [&](std::size_t out, DType type, const std::string& value, const std::string& position) {
        for (int i = 0; i < 4; ++i) {
            body_ += fmt::format("    if (n > {0}u) out{1}_store1({2}, {3});\n", i, out,
                                 fmt::format(fmt::runtime(position), i), element(type, value, i));
        }
    };
    if (group_.copy) {
        const auto& copy = *group_.copy;
        const NodeView view(graph_, copy.node);
        const std::string value = leaf(view.node().inputs.at(copy.input), IndexMap{{count_}, {1}});
        const IndexMap map = simplify(copy.map);
        functions_ += position_function("to", map, false);
        source_.writes.push_back(view.node().outputs.front());
        store_each(0, view.out().type, value, "to_at(e + {}u)");
        return;
    }
    for (std::size_t k = 0; k < group_.outputs.size(); ++k) {
        const ValueId id = group_.outputs[k];
        const std::string& value = variables_.at(id);
        if (aligned_) body_ += fmt::format("    out{}_store4(e, {});\n", k, value);
        else store_each(k, graph_.value(id).type, value, "e + {}u");
        source_.writes.push_back(id);
    }
}

template <class Test> bool SourceBuilder::uses(Test test) const {
    const auto result = [&](ValueId id) { return test(graph_.value(id).type); };
    return std::any_of(source_.reads.begin(), source_.reads.end(), [&](const auto& read) { return test(read.type); }) ||
           std::any_of(source_.writes.begin(), source_.writes.end(), result) ||
           std::any_of(group_.members.begin(), group_.members.end(), [&](NodeId id) { return result(graph_.node(id).outputs.front()); }) ||
           (group_.anchor != no_id && result(graph_.node(group_.anchor).outputs.front()));
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
    const std::string last = param(static_cast<std::int32_t>(count_ - 1));
    const bool stores_itself = group_.anchor != no_id && graph_.node(group_.anchor).outputs.size() > 1;
    for (const NodeId id : group_.members) add_member(id);
    if (stores_itself) source_.writes = graph_.node(group_.anchor).outputs;
    else store_outputs();

    const bool quad_stores = aligned_ && !group_.copy;
    std::string text = prologue(device_, quad_stores, group_.choice ? group_.choice->defines : Defines(), uses(is_small_float),
                                uses([](DType t) { return t == DType::fp16; }));
    text += params_;
    const std::vector<std::uint64_t> scratch = group_.choice ? group_.choice->scratch_bytes : std::vector<std::uint64_t>();
    Declarations tensors(device_, quad_stores);
    for (std::size_t i = 0; i < source_.reads.size(); ++i) {
        tensors.read(source_.reads[i], i, operand_bytes(graph_, source_.reads[i], scratch));
    }
    for (std::size_t i = 0; i < source_.writes.size(); ++i) {
        tensors.write(graph_.value(source_.writes[i]).type, i, value_bytes(graph_, source_.writes[i]));
    }
    text += tensors.text;
    source_.bindings = tensors.bindings;
    text += functions_;
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
    source_.glsl = std::move(text);
    return std::move(source_);
}

std::size_t SourceBuilder::count_reads() {
    if (group_.choice) {
        source_.reads = group_.choice->operands;
        for (std::size_t i = 0; i < source_.reads.size(); ++i) {
            if (source_.reads[i].value != no_id) buffers_.emplace(source_.reads[i].value, i);
        }
        variables_[graph_.node(group_.anchor).outputs.front()] = "acc";
    }
    for (const NodeId id : group_.members) add_member(id);
    const std::vector<std::uint64_t> scratch = group_.choice ? group_.choice->scratch_bytes : std::vector<std::uint64_t>();
    std::size_t count = 0;
    for (const KernelOperand& read : source_.reads) {
        const std::uint64_t bytes = operand_bytes(graph_, read, scratch);
        count += path_of(bytes, read.type, device_) == ReadPath::texels ? 1 : binding_count(bytes, device_);
    }
    return count;
}

}  // namespace

GroupSource build_source(const Graph& graph, const Group& group, const DevicePlan& device) {
    return SourceBuilder(graph, group, device).build();
}

GroupSource build_pass_source(const Graph& graph, const KernelChoice& choice, const KernelPass& pass, const DevicePlan& device) {
    GroupSource source;
    source.constants = pass.constants;
    source.reads = pass.operands;
    Declarations tensors(device, false);
    for (std::size_t i = 0; i < source.reads.size(); ++i) {
        tensors.read(source.reads[i], i, operand_bytes(graph, source.reads[i], choice.scratch_bytes));
    }
    const std::uint64_t written = choice.scratch_bytes.at(static_cast<std::size_t>(pass.writes));
    tensors.write(DType::fp32, 0, allocation_bytes(written, DType::fp32));
    source.glsl = prologue(device, false, pass.defines, false, false) + tensors.text;
    source.bindings = tensors.bindings;
    source.glsl += shader_file(pass.kernel + ".comp");
    return source;
}

std::size_t count_reads(const Graph& graph, const Group& group, const DevicePlan& device) {
    return SourceBuilder(graph, group, device).count_reads();
}

}  // namespace tosavk
