// Prologues: functions of the names by which a kernel reads an operand, or an elementwise group what it moves, which
// compute it from other tensors.
#include "compile/codegen/source_builder.hpp"

#include <algorithm>
#include <tuple>

namespace tosavk {

/// The functions of what the kernel reads and does not find in a buffer.
void SourceBuilder::add_operands() {
    for (std::size_t k = 0; k < pass_->operands.size(); ++k) {
        const Group::Prologue* prologue = prologue_of(graph_, group_, pass_->operands[k]);
        if (!prologue) continue;
        const std::string name = fmt::format("in{}", k), kernel = kernel_source(pass_->kernel);
        add_prologue(name, *prologue,
                     [&](const char* function) { return kernel.find(name + function + "(") != std::string::npos; });
    }
}

/// Statements that compute four elements, and the name of the variable with the value.
std::string SourceBuilder::prologue_body(const Group::Prologue& prologue, bool aligned) {
    aligned_ = aligned;
    leaves_.clear();
    variables_.clear();
    body_.clear();
    for (const NodeId id : prologue.members) add_member(id);
    return variables_.at(prologue.value).of("");
}

/// `calls` says whether the group calls this function of the name.
void SourceBuilder::add_prologue(const std::string& name, const Group::Prologue& prologue,
                                 const std::function<bool(const char*)>& calls) {
    const auto state = std::tuple(count_, aligned_, row_, single_, eights_, leaves_, variables_, body_);
    row_ = 0;
    single_ = eights_ = false;
    const Value& value = graph_.value(prologue.value);
    const char* type = vector_type(value.type);
    count_ = element_count(value.shape);
    std::string functions;  // what they read with comes before them
    if (calls("_load4") || calls("_load4q") || calls("_word4q")) {
        const std::string result = prologue_body(prologue, true);
        functions += fmt::format(
            "{} {}_load4(uint e) {{\n    uint last = uint({}), n = min(4u, last - e + 1u);\n"
            "{}    return {};\n}}\n",
            type, name, param(static_cast<std::int32_t>(count_ - 1), true), body_.text(), result);
    }
    if (calls("_load4q"))
        functions += fmt::format("{0} {1}_load4q(uint q) {{ return {1}_load4(q * 4u); }}\n", type, name);
    if (calls("_word4q") && value.type == DType::i8)
        functions += fmt::format("int {0}_word4q(uint q) {{ return pack_i8({0}_load4(q * 4u)); }}\n", name);
    if (calls("_loadn") || calls("_load1")) {
        const std::string result = prologue_body(prologue, false);
        functions += fmt::format(
            "{0} {1}_loadn(uint e, uint n) {{\n    uint last = e + n - 1u;\n{2}"
            "    return n > 3u ? {3} : n > 2u ? {3}.xyzz : n > 1u ? {3}.xyyy : {3}.xxxx;\n}}\n",
            type, name, body_.text(), result);
    }
    if (calls("_load1")) {
        const char* scalar = is_float(value.type) ? "float" : "int";
        functions += fmt::format("{0} {1}_load1(uint e) {{ return {1}_loadn(e, 1u).x; }}\n", scalar, name);
    }
    functions_ += functions;
    std::tie(count_, aligned_, row_, single_, eights_, leaves_, variables_, body_) = state;
}

}  // namespace tosavk
