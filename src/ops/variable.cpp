// VARIABLE, VARIABLE_WRITE, VARIABLE_READ. A declaration is no node: it stands in Graph::variables. State lives with
// the executors: a VariableState of the reference, a Context on a device. Reads and writes keep the order of the nodes.
#include "ops/op.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

const Variable& declared(const NodeView& view) {
    const std::string& name = view.attrs().variable;
    const Variable* found = view.graph().find_variable(name);
    if (!found) view.fail(fmt::format("variable '{}' is not declared", name), name);
    return *found;
}

void compare(const NodeView& view, const Value& v) {
    const Variable& variable = declared(view);
    if (v.type != variable.type || v.shape != variable.shape) {
        view.fail(fmt::format("'{}' is {} {}, but variable '{}' is declared as {} {}", v.name, name_of(v.type),
                              to_string(v.shape), variable.name, name_of(variable.type), to_string(variable.shape)),
                  v.name);
    }
}

std::vector<Shape> declaration_infer(const NodeView& view) {
    view.fail("a declaration is no node; it belongs to the graph's variables");
}

std::vector<Shape> read_infer(const NodeView& view) { return {declared(view).shape}; }
void read_check(const NodeView& view, const Level&) { compare(view, view.out()); }

std::vector<Shape> write_infer(const NodeView& view) {
    compare(view, view.in(0));
    return {};
}

OpDef base(Op op, const char* type) {
    OpDef def;
    def.op = op;
    def.type_vars = {type};
    def.attributes = {"name"};
    def.rows = {{{DType::i8}, "PRO-INT+EXT-VARIABLE"},
                {{DType::fp16}, "PRO-FP+EXT-VARIABLE"},
                {{DType::fp32}, "PRO-FP+EXT-VARIABLE"}};
    def.upgrade_rows = {{{DType::boolean}, "PRO-INT+EXT-VARIABLE"},
                        {{DType::i16}, "PRO-INT+EXT-VARIABLE"},
                        {{DType::i32}, "PRO-INT+EXT-VARIABLE"}};
    def.structural = true;
    return def;
}

}  // namespace

std::vector<OpDef> variable_ops() {
    OpDef declaration = base(Op::variable, "in_t");
    declaration.infer = declaration_infer;

    OpDef write = base(Op::variable_write, "in_t");
    write.inputs = {{"input1", "in_t"}};
    write.infer = write_infer;

    OpDef read = base(Op::variable_read, "out_t");
    read.outputs = {{"output1", "out_t"}};
    read.infer = read_infer;
    read.check = read_check;
    return {declaration, write, read};
}

}  // namespace tosavk
