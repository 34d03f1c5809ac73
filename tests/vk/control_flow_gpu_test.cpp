// Control flow, variables and CUSTOM on the device, against the reference.
#include "frontends/frontend.hpp"
#include "ops/builder.hpp"
#include "ops/custom.hpp"
#include "spirv/glslang.hpp"
#include "support/control_graphs.hpp"
#include "support/control_graphs_0_30.hpp"
#include "support/gpu_test.hpp"
#include "support/run.hpp"
#include "tosavk/tosavk.hpp"
#include "verify/checker.hpp"
#include "vk/core/fault.hpp"
#include "vk/measure/open_device.hpp"
#include "vk/run/context.hpp"

#include <cstdlib>

namespace tosavk {
namespace {

using namespace testing;

class ControlFlowGpu : public test::GpuTest {
protected:
    std::shared_ptr<Executable> compile(const Graph& graph, const PlanOptions& options = {}) {
        return Executable::create(device_, std::make_shared<const Graph>(graph),
                                  make_plan(graph, device_->plan(), options));
    }
};

void expect_reference(const Graph& graph, Context& context, const std::vector<HostTensor>& inputs,
                      VariableState* state = nullptr) {
    const auto wanted = reference_run(graph, inputs, false, state), found = test::run(context, graph, inputs);
    for (std::size_t k = 0; k < wanted.size(); ++k)
        EXPECT_EQ(found[k].bytes, wanted[k].bytes) << graph.name << " output " << k;
}

TEST_F(ControlFlowGpu, BothBranches) {
    const Graph graph = branch_graph(37);
    for (const bool fuse : {true, false}) {
        for (const bool keep_all : {true, false}) {
            const auto executable = compile(graph, {fuse, keep_all});
            Context context(executable, false);
            for (const bool taken : {true, false, false, true}) {
                expect_reference(
                    graph, context,
                    {boolean(taken), random_tensor(DType::i32, {37}, 1), random_tensor(DType::i32, {37}, 2)});
            }
            EXPECT_EQ(context.counters().submits, 8u) << "one up to the decision, one after it";
        }
    }
}

TEST_F(ControlFlowGpu, LoopsSubmitOncePerTurnWhereTheHostDecides) {
    const Graph graph = fibonacci_graph();
    PlanOptions options;
    options.gate_turns = false;
    const auto executable = compile(graph, options);
    Context context(executable, false);
    std::uint64_t submits = 0;
    for (const std::int64_t turns : {0, 1, 2, 9, 40}) {
        expect_reference(graph, context, {i32s({turns})});
        EXPECT_EQ(context.counters().submits - submits, static_cast<std::uint64_t>(turns) + 2);
        submits = context.counters().submits;
    }
}

TEST_F(ControlFlowGpu, AnOutputOfABodyMayLieWhereItsInputWas) {
    const Graph graph = restarting_graph();
    const HostTensor x = random_tensor(DType::i32, {8, 16}, 3);
    for (const bool fuse : {true, false}) {
        const auto executable = compile(graph, {fuse});
        Context context(executable, false);
        expect_reference(graph, context, {i32s({3}), x});
    }
}

TEST_F(ControlFlowGpu, NestedLoopsAndBranches) {
    const Graph graph = nested_graph();
    const auto executable = compile(graph);
    Context context(executable, false);
    for (const std::int64_t rows : {0, 1, 6}) expect_reference(graph, context, {i32s({rows})});
}

// The shares of a submit add up over what the host has decided to run.
TEST_F(ControlFlowGpu, LongStretchesAreSeveralSubmits) {
    setenv("TOSAVK_SUBMIT_MS", "0.0000001", 1);
    const std::shared_ptr<Device> slow = open_device("");
    unsetenv("TOSAVK_SUBMIT_MS");
    const auto compile_for = [&](const Graph& graph) {
        return Executable::create(slow, std::make_shared<const Graph>(graph),
                                  make_plan(graph, slow->plan(), {false, false}));
    };
    const Graph nested = nested_graph(), fibonacci = fibonacci_graph();
    Context one(compile_for(nested), false), other(compile_for(fibonacci), false);
    for (const std::int64_t rows : {0, 1, 6}) expect_reference(nested, one, {i32s({rows})});
    expect_reference(fibonacci, other, {i32s({9})});
    EXPECT_GT(other.counters().submits, 3u * 9u) << "the body and the condition of a turn are several dispatches";
}

TEST_F(ControlFlowGpu, StateLivesInEachContext) {
    const Graph graph = accumulator_graph({1, 2, 3, 4, 5});
    const auto executable = compile(graph);
    Context one(executable, false), two(executable, false);
    VariableState first, second;
    for (std::uint64_t n = 0; n < 3; ++n) {
        expect_reference(graph, one, {random_tensor(DType::fp32, {5}, n)}, &first);
        if (n < 2) expect_reference(graph, two, {random_tensor(DType::fp32, {5}, 10 + n)}, &second);
    }
    HostTensor kept(DType::fp32, {5});
    one.get_variable(0, kept.bytes);
    EXPECT_EQ(kept.bytes, first.at("sum").bytes);
    one.reset_variables();
    first.clear();
    expect_reference(graph, one, {random_tensor(DType::fp32, {5}, 7)}, &first);
    two.set_variable(0, kept.bytes);
    second["sum"] = kept;
    expect_reference(graph, two, {random_tensor(DType::fp32, {5}, 8)}, &second);
    EXPECT_EQ(one.counters().submits, 4u) << "no control flow, one submit per run";
}

TEST_F(ControlFlowGpu, LoopsSeeAndWriteVariables) {
    const Graph graph = state_in_loop_graph();
    const auto executable = compile(graph);
    Context context(executable, false);
    VariableState state;
    for (const std::int64_t times : {3, 0, 2}) expect_reference(graph, context, {i32s({times})}, &state);
}

TEST_F(ControlFlowGpu, WritesOfWhatNothingComputes) {
    GraphBuilder b("kept");
    b.variable("v", DType::fp32, {3});
    b.variable("w", DType::fp32, {3});
    b.variable_write("v", b.input("x", DType::fp32, {3}), "keep");
    b.variable_write("w", b.constant_floats("c", DType::fp32, {3}, std::vector<float>{1, 2, 3}), "keep_too");
    b.output(b.add1(Op::add, {b.variable_read("v", "v_now"), b.variable_read("w", "w_now")}, DType::fp32, {}, "sum"));
    const Graph graph = b.finish();
    Context context(compile(graph), false);
    VariableState state;
    for (std::uint64_t n = 0; n < 2; ++n)
        expect_reference(graph, context, {random_tensor(DType::fp32, {3}, n)}, &state);
}

TEST_F(ControlFlowGpu, TheCheckerLooksIntoRegions) {
    for (const Graph& graph :
         {branch_graph(), fibonacci_graph(), nested_graph(), accumulator_graph({1, 2}), state_in_loop_graph()}) {
        Checker checker(device_, std::make_shared<const Graph>(graph));
        std::vector<HostTensor> inputs;
        for (const ValueId id : graph.inputs) {
            const Value& v = graph.value(id);
            inputs.push_back(v.type == DType::i32 && v.shape == Shape{1} ? i32s({4})
                                                                         : random_tensor(v.type, v.shape, 5));
        }
        const CheckReport report = checker.run(inputs);
        EXPECT_TRUE(report.passed) << graph.name << ": " << report.detail;
        EXPECT_GT(report.values_checked, 4u);
    }
}

TEST_F(ControlFlowGpu, LoopsAndBranchesOf030) {
    const auto small = [](const Shape& shape, const std::vector<std::int64_t>& values) {
        HostTensor t(DType::i8, shape);
        t.bytes = encode_ints(DType::i8, values);
        return t;
    };
    const Graph turning = turning_graph_0_30();
    Context turns(compile(turning), false);
    for (const std::int64_t times : {0, 1, 5})
        expect_reference(turning, turns, {i32s({times}), small({1, 3}, {1, 2, 3})});
    const Graph branch = unsigned_branch_graph_0_30();
    Context branches(compile(branch), false);
    for (const bool taken : {true, false}) {
        std::vector<HostTensor> inputs{HostTensor(DType::boolean, {}), small({4}, {0, 100, -56, -1})};
        inputs[0].bytes = {static_cast<std::byte>(taken)};
        expect_reference(branch, branches, inputs);
        Checker checker(device_, std::make_shared<const Graph>(branch));
        const CheckReport report = checker.run(inputs);
        EXPECT_TRUE(report.passed) << report.detail;
    }
}

TEST_F(ControlFlowGpu, ProfilesAroundDecisions) {
    const Graph graph = branch_graph(64);
    const auto executable = compile(graph);
    Context context(executable, true);
    expect_reference(graph, context,
                     {boolean(true), random_tensor(DType::i32, {64}, 1), random_tensor(DType::i32, {64}, 2)});
    const auto times = context.dispatch_ns();
    if (!times.empty()) {
        EXPECT_EQ(times.size(), executable->plan().dispatches.size());
    }
}

// A failure in the middle of a loop is an error of that run; the next run is whole again.
TEST_F(ControlFlowGpu, FailuresInATurnSurface) {
    const Graph graph = fibonacci_graph();
    for (const bool gated : {false, true}) {
        PlanOptions options;
        options.gate_turns = gated;
        const auto executable = compile(graph, options);
        Context context(executable, false);
        expect_reference(graph, context, {i32s({6})});
        int failures = 0;
        for (int n = 1;; ++n) {
            fail_nth_vulkan_call(n);
            try {
                test::run(context, graph, {i32s({6})});
                if (vulkan_fault_pending()) break;
                ADD_FAILURE() << "call " << n << " failed without an error";
            } catch (const Error& e) {
                EXPECT_EQ(e.code(), ErrorCode::out_of_memory) << e.what();
                ++failures;
                EXPECT_FALSE(context.running());
            }
            if (n > 200) break;
        }
        fail_nth_vulkan_call(0);
        const int calls = device_->plan().timeline_semaphores ? 2 : 3;
        const int submits = gated ? 4 : 8;  // turns by one, two and four, and the end
        EXPECT_GE(failures, calls * submits) << "submit and wait of each batch, and the reset of a fence";
        EXPECT_LE(failures, 100);
        expect_reference(graph, context, {i32s({6})});
    }
}

// ---- CUSTOM -------------------------------------------------------------------------------------------------------

// y = x * factor + y0, and how often x is negative; the factor comes from the attributes.
const char* const custom_glsl = R"(#version 450
layout(local_size_x = 1) in;
layout(constant_id = 0) const int count = 1;
layout(constant_id = 1) const int factor = 1;
layout(std430, set = 0, binding = 0) readonly buffer X { int x[]; };
layout(std430, set = 0, binding = 1) readonly buffer A { int a[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { int y[]; };
layout(std430, set = 0, binding = 3) writeonly buffer N { int n[]; };
void main() {
    int negative = 0;
    for (int i = 0; i < count; ++i) {
        y[i] = x[i] * factor + a[i];
        negative += int(x[i] < 0);
    }
    n[0] = negative;
}
)";

CustomOperator scale_add() {
    CustomOperator op;
    op.domain = "test.gpu";
    op.name = "scale_add";
    op.spirv = compile_glsl(custom_glsl, "scale_add");
    op.dispatch = [](const NodeView& view) {
        CustomDispatch dispatch;
        dispatch.constants = {static_cast<std::int32_t>(element_count(view.in(0).shape)),
                              view.attrs().implementation_attrs.at(0)};
        return dispatch;
    };
    op.reference = [](RefContext& ctx) {
        const auto x = ctx.ints(0), a = ctx.ints(1);
        std::vector<std::int64_t> y(x.size());
        std::int64_t negative = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            y[i] = x[i] * ctx.attrs().implementation_attrs.at(0) + a[i];
            negative += x[i] < 0;
        }
        ctx.set_ints(y, 0);
        ctx.set_ints(std::vector<std::int64_t>{negative}, 1);
    };
    return op;
}

Graph custom_graph(std::shared_ptr<const CustomSet> customs = {}) {
    GraphBuilder b("custom");
    b.use_customs(std::move(customs));
    const ValueId x = b.input("x", DType::i32, {11}), a = b.input("a", DType::i32, {11});
    const ValueId sum = b.add1(Op::add, {x, a}, DType::i32, {}, "sum");
    const OutputType outputs[] = {{DType::i32, {11}}, {DType::i32, {1}}};
    const auto made = b.custom("test.gpu", "scale_add", "\x07", {sum, a}, outputs, "mine");
    b.output(b.add1(Op::bitwise_not, {made[0]}, DType::i32, {}, "not"));
    b.output(made[1]);
    return b.finish();
}

TEST_F(ControlFlowGpu, CustomKernels) {
    try {
        compile(custom_graph());
        ADD_FAILURE() << "compiled without a kernel";
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::unsupported);
        EXPECT_NE(std::string(e.what()).find("'scale_add' of domain 'test.gpu'"), std::string::npos) << e.what();
    }
    auto customs = std::make_shared<CustomSet>();
    customs->add(scale_add());
    const Graph graph = custom_graph(std::move(customs));
    const auto executable = compile(graph);
    const std::vector<HostTensor> inputs{random_tensor(DType::i32, {11}, 1), random_tensor(DType::i32, {11}, 2)};
    Context context(executable, false);
    expect_reference(graph, context, inputs);
    Checker checker(device_, std::make_shared<const Graph>(graph));
    const auto report = checker.run(inputs);
    EXPECT_TRUE(report.passed) << report.detail;
}

TEST_F(ControlFlowGpu, TheAbiResetsVariables) {
    const cpp::Graph graph = cpp::Graph::load(write_tosa(accumulator_graph({1, 2})));
    const cpp::Device opened;
    const cpp::Executable executable(opened, graph);
    cpp::Context context(executable);
    const std::vector<float> x{10, 20};
    const auto run_once = [&] {
        context.set_input(0, std::as_bytes(std::span(x)));
        context.run();
        std::vector<float> after(2);
        context.get_output(1, std::as_writable_bytes(std::span(after)));
        return after;
    };
    EXPECT_EQ(run_once(), (std::vector<float>{11, 22}));
    EXPECT_EQ(run_once(), (std::vector<float>{21, 42}));
    context.reset_variables();
    EXPECT_EQ(run_once(), (std::vector<float>{11, 22}));
}

}  // namespace
}  // namespace tosavk
