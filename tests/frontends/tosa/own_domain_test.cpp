// Operators of our own domain in .tosa files and packages: CUSTOM with the domain "tosavk".
#include "compile/plan/plan.hpp"
#include "frontends/frontend.hpp"
#include "ops/builder.hpp"
#include "ops/compare.hpp"
#include "spirv/glslang.hpp"
#include "store/package.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tosavk {
namespace {

Attributes cumulated() {
    Attributes a;
    a.axis = 1;
    a.combiner = Combiner::maximum;
    a.exclusive = true;
    return a;
}

/// Own operators in the graph and in both regions of a COND_IF.
Graph with_regions() {
    const auto region = [](const char* name, Op op) {
        GraphBuilder b(name);
        const ValueId x = b.input("x", DType::fp32, {2, 3});
        b.output(op == Op::sqrt ? b.add1(op, {x}, DType::fp32) : b.add1(op, {x}, DType::fp32, cumulated()));
        return b.finish_region();
    };
    GraphBuilder b("own");
    const ValueId condition = b.input("condition", DType::boolean, {});
    const ValueId x = b.input("x", DType::fp32, {2, 3}), y = b.input("y", DType::fp32, {1, 3});
    const ValueId i = b.input("i", DType::i16, {4});
    Attributes floored;
    floored.floored = true;
    const ValueId q = b.add1(Op::divide, {x, y}, DType::fp32, {}, "quotient");
    const ValueId r = b.add1(Op::remainder, {q, y}, DType::fp32, floored);
    floored.by_zero = ByZero::ones;
    floored.is_unsigned = true;
    b.output(b.add1(Op::divide, {i, i}, DType::i16, floored));
    b.output(b.cond_if(condition, {r}, region("then", Op::sqrt), region("else", Op::cumulate)).at(0));
    return b.finish();
}

/// The others, with attributes that are not their first values.
Graph by_index() {
    GraphBuilder b("index");
    const ValueId x = b.input("x", DType::fp32, {2, 5, 3}), keys = b.input("keys", DType::i8, {2, 5, 3});
    const ValueId start = b.input("start", DType::i32, {3}), places = b.input("places", DType::i32, {2, 4, 1});
    Attributes sorted;
    sorted.axis = 1;
    sorted.descending = sorted.is_unsigned = true;
    const DType types[] = {DType::i8, DType::fp32};
    for (const ValueId id : b.add(Op::sort, {keys, x}, sorted, types)) b.output(id);
    Attributes gathered;
    gathered.batch_dims = 1;
    gathered.out_of_range = OutOfRange::zero;
    const ValueId rows = b.add1(Op::gather_nd, {x, places}, DType::fp32, gathered);
    Attributes scattered;
    scattered.batch_dims = 1;
    scattered.combiner = Combiner::maximum;
    scattered.out_of_range = OutOfRange::skip;
    b.output(b.add1(Op::scatter_nd, {x, places, rows}, DType::fp32, scattered));
    const std::int64_t size[] = {1, 2, 3};
    const ValueId part = b.add1(Op::dynamic_slice, {x, start, b.shape(size)}, DType::fp32);
    b.output(b.add1(Op::dynamic_update_slice, {x, part, start}, DType::fp32));
    Attributes reduced;
    reduced.combiner = Combiner::multiply;
    reduced.segments = 7;
    reduced.out_of_range = OutOfRange::skip;
    b.output(b.add1(Op::segment_reduce, {x, b.input("ids", DType::i32, {2})}, DType::fp32, reduced));
    return b.finish();
}

TEST(OwnDomain, ComesBackFromAFile) {
    for (const Graph& graph : {with_regions(), by_index()})
        EXPECT_EQ(graph_difference(graph, import_tosa(write_tosa(graph), {})), "") << graph.name;
}

TEST(OwnDomain, ComesBackFromAPackage) {
    const Graph graph = with_regions();
    Package package;
    package.tosa = write_tosa(graph);
    const Graph read = import_tosa(package.tosa, {});
    package.inputs.resize(read.inputs.size());
    package.outputs.resize(read.outputs.size());
    DevicePlan device;
    device.max_binding_bytes = 1 << 27;
    package.target = package_target(device, {});
    package.numbering = graph_numbering(read);
    package.plan = make_plan(read, device, {});
    std::set<std::string> seen;
    for_each_dispatch(package.plan, [&](const Dispatch& dispatch) {
        if (!dispatch.glsl.empty() && seen.insert(dispatch.glsl).second)
            package.shaders.push_back({dispatch.glsl, compile_glsl(dispatch.glsl, dispatch.kernel)});
    });
    const Package again = read_package(write_package(package));
    EXPECT_EQ(graph_difference(graph, import_tosa(again.tosa, {})), "");
    EXPECT_EQ(print_plan(read, package.plan), print_plan(read, again.plan));
}

/// What a reader says to a CUSTOM of our domain.
std::string message(const std::string& op, const std::string& attrs, DType type = DType::i32,
                    ErrorCode code = ErrorCode::bad_model) {
    Graph graph;
    graph.values.resize(2);
    graph.values[0].name = "x";
    graph.values[1].name = "y";
    graph.values[1].producer = 0;
    for (Value& v : graph.values) v.type = type, v.shape = {4};
    Node node;
    node.op = Op::custom;
    node.inputs = {0, 0};
    node.outputs = {1};
    node.attrs.domain_name = own_domain;
    node.attrs.operator_name = op;
    node.attrs.implementation_attrs = attrs;
    graph.nodes.push_back(node);
    graph.inputs = {0};
    graph.outputs = {1};
    try {
        import_tosa(write_tosa(graph), {});
        return "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        return error.what();
    }
}

#define EXPECT_SAYS(message, words) EXPECT_NE((message).find(words), std::string::npos) << (message)

TEST(OwnDomain, HostileFilesGetASentence) {
    const std::string good = "by_zero=ONES floored=true is_unsigned=false";
    EXPECT_EQ(message("DIVIDE", good), "accepted");
    EXPECT_SAYS(message("DIVIDE", ""), "attribute by_zero is missing");
    EXPECT_SAYS(message("DIVIDE", good + " axis=0"), "no attribute 'axis'");
    EXPECT_SAYS(message("DIVIDE", "by_zero=TWO floored=true is_unsigned=false"), "must be one of ZERO, ONES");
    EXPECT_SAYS(message("DIVIDE", "by_zero=DIVIDEND floored=true is_unsigned=false"), "must be ZERO or ONES");
    EXPECT_SAYS(message("DIVIDE", std::string(70000, '=')), "no attribute");
    EXPECT_SAYS(message("SQRT", "", DType::fp32), "needs 1 input");
    EXPECT_SAYS(message("SQRT", "", DType::i32, ErrorCode::unsupported), "type i32");
    EXPECT_SAYS(message("ADD", "", DType::i32, ErrorCode::unsupported), "has no operator 'ADD'");
    EXPECT_SAYS(message("NO_SUCH", good, DType::i32, ErrorCode::unsupported),
                "domain 'tosavk' has no operator 'NO_SUCH'");
}

}  // namespace
}  // namespace tosavk
