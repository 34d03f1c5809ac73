// COND_IF and WHILE_LOOP: the regions are graphs of their own, with the tensor list as their inputs. The executors run
// them (reference/reference.cpp, vk/record/recording.cpp); here stands what makes them legal.
#include "ops/op.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

const char* region_name(const NodeView& view, std::size_t r) {
    if (view.node().op == Op::cond_if) return r == 0 ? "then_graph" : "else_graph";
    return r == 0 ? "cond_graph" : "body_graph";
}

const Graph& region(const NodeView& view, std::size_t r) {
    const auto& regions = view.node().regions;
    if (regions.size() != 2 || !regions[0] || !regions[1]) view.fail("it needs two graphs");
    return *regions[r];
}

std::string describe(const Value& v) { return fmt::format("{} {}", name_of(v.type), to_string(v.shape)); }

/// Values of a region's interface against those of the node.
void compare(const NodeView& view, std::size_t r, const char* kind, const std::vector<ValueId>& inner,
             std::span<const ValueId> outer) {
    const Graph& graph = region(view, r);
    if (inner.size() != outer.size()) {
        view.fail(fmt::format("{} has {} {}s, but the operator has {}", region_name(view, r), inner.size(), kind,
                              outer.size()));
    }
    for (std::size_t k = 0; k < inner.size(); ++k) {
        const Value &in = graph.value(inner[k]), &out = view.graph().value(outer[k]);
        if (in.type != out.type || in.shape != out.shape) {
            view.fail(fmt::format("{} {} of {} is {}, but the operator's is {}", kind, k, region_name(view, r),
                                  describe(in), describe(out)),
                      out.name);
        }
    }
}

/// COND_IF and WHILE_LOOP inside one another, this one included.
int nesting(const NodeView& view) {
    int deepest = 0;
    for (const auto& graph : view.node().regions) {
        for (NodeId n = 0; n < graph->nodes.size(); ++n) {
            if (!graph->nodes[n].regions.empty()) deepest = std::max(deepest, nesting(NodeView(*graph, n)));
        }
    }
    return deepest + 1;
}

void check_regions(const NodeView& view, const Level& level) {
    if (const int depth = nesting(view); depth > level.max_nesting) {
        view.fail(fmt::format("control flow is nested {} deep, but level {} allows {}", depth, level.name,
                              level.max_nesting));
    }
    for (std::size_t r = 0; r < 2; ++r) {
        const Graph& graph = region(view, r);
        for (const Variable& v : graph.variables) {
            const Variable* declared = view.graph().find_variable(v.name);
            if (!declared)
                view.fail(fmt::format("{} uses variable '{}', which is not declared", region_name(view, r), v.name),
                          v.name);
            if (declared->type != v.type || declared->shape != v.shape) {
                view.fail(fmt::format("{} takes variable '{}' for {} {}, but it is declared as {} {}",
                                      region_name(view, r), v.name, name_of(v.type), to_string(v.shape),
                                      name_of(declared->type), to_string(declared->shape)),
                          v.name);
            }
        }
        try {
            check_region(graph, level);
        } catch (const Error& e) {
            throw Error(e.code(), fmt::format("{}: in its {}: {}", view.title(), region_name(view, r), e.what()),
                        e.node().empty() ? view.node().name : e.node(), e.operand());
        }
    }
}

std::vector<Shape> cond_if_infer(const NodeView& view) {
    const Graph& then_graph = region(view, 0);
    if (then_graph.outputs.size() != view.output_count()) {
        view.fail(fmt::format("then_graph has {} outputs, but the operator has {}", then_graph.outputs.size(),
                              view.output_count()));
    }
    if (element_count(view.in(0).shape) != 1) {
        view.fail(fmt::format("its condition has shape {}, but needs one element", to_string(view.in(0).shape)),
                  view.in(0).name);
    }
    std::vector<Shape> shapes;
    for (const ValueId id : then_graph.outputs) {
        if (id >= then_graph.values.size()) view.fail("then_graph names an output that does not exist");
        shapes.push_back(then_graph.value(id).shape);
    }
    return shapes;
}

void cond_if_check(const NodeView& view, const Level& level) {
    check_regions(view, level);
    const std::span<const ValueId> list = std::span(view.node().inputs).subspan(1);
    for (std::size_t r = 0; r < 2; ++r) {
        compare(view, r, "input", region(view, r).inputs, list);
        compare(view, r, "output", region(view, r).outputs, view.node().outputs);
    }
}

std::vector<Shape> while_loop_infer(const NodeView& view) {
    region(view, 0);
    if (view.input_count() != view.output_count()) {
        view.fail(fmt::format("it has {} inputs and {} outputs; both lists must be alike", view.input_count(),
                              view.output_count()));
    }
    std::vector<Shape> shapes;
    for (std::size_t k = 0; k < view.input_count(); ++k) {
        if (view.in(k).type != view.out(k).type) {
            view.fail(fmt::format("input {} is {}, but output {} is {}", k, name_of(view.in(k).type), k,
                                  name_of(view.out(k).type)),
                      view.out(k).name);
        }
        shapes.push_back(view.in(k).shape);
    }
    return shapes;
}

void while_loop_check(const NodeView& view, const Level& level) {
    check_regions(view, level);
    compare(view, 0, "input", region(view, 0).inputs, view.node().inputs);
    compare(view, 1, "input", region(view, 1).inputs, view.node().inputs);
    compare(view, 1, "output", region(view, 1).outputs, view.node().outputs);
    const Graph& cond = region(view, 0);
    if (cond.outputs.size() != 1) {
        view.fail(fmt::format("cond_graph has {} outputs, but needs one", cond.outputs.size()));
    }
    const Value& answer = cond.value(cond.outputs[0]);
    if (answer.type != DType::boolean || element_count(answer.shape) != 1) {
        view.fail(fmt::format("cond_graph gives {}, but must give bool of one element", describe(answer)), answer.name);
    }
}

}  // namespace

std::vector<OpDef> control_flow_ops() {
    ArgDef inputs{"input_list", "any_t"}, outputs{"output_list", "any_t"};
    inputs.list = outputs.list = inputs.may_be_empty = outputs.may_be_empty = true;

    OpDef cond_if;
    cond_if.op = Op::cond_if;
    cond_if.inputs = {{"condition", "bool"}, inputs};
    cond_if.outputs = {outputs};
    cond_if.rows = {{{}, "EXT-CONTROLFLOW"}};
    cond_if.infer = cond_if_infer;
    cond_if.check = cond_if_check;
    cond_if.structural = true;

    OpDef while_loop;
    while_loop.op = Op::while_loop;
    while_loop.inputs = {inputs};
    while_loop.outputs = {outputs};
    while_loop.rows = {{{}, "EXT-CONTROLFLOW"}};
    while_loop.infer = while_loop_infer;
    while_loop.check = while_loop_check;
    while_loop.structural = true;
    return {cond_if, while_loop};
}

}  // namespace tosavk
