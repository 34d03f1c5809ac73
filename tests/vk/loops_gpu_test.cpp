// Loops whose turns are known, and regions that read their list where it lies: on the device against the reference.
#include "ops/builder.hpp"
#include "support/control_graphs.hpp"
#include "support/environment.hpp"
#include "support/gpu_test.hpp"
#include "support/run.hpp"
#include "vk/core/fault.hpp"
#include "vk/run/context.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <optional>
#include <random>

namespace tosavk {
namespace {

using namespace testing;

constexpr std::int64_t elements = 37;

class LoopsGpu : public test::GpuTest {
protected:
    std::shared_ptr<Executable> compile(const Graph& graph, const PlanOptions& options = {}) {
        return Executable::create(device_, std::make_shared<const Graph>(graph),
                                  make_plan(graph, device_->plan(), options));
    }
    void expect_reference(const Graph& graph, const PlanOptions& options, const std::vector<HostTensor>& inputs,
                          std::uint64_t submits = 0) {
        const auto executable = compile(graph, options);
        Context context(executable, false);
        const auto wanted = reference_run(graph, inputs);
        for (int run = 0; run < 2; ++run) {  // the second one begins with what the first has left
            const auto found = test::run(context, graph, inputs);
            for (std::size_t k = 0; k < wanted.size(); ++k)
                EXPECT_EQ(found[k].bytes, wanted[k].bytes) << "output " << k << ", run " << run;
        }
        if (submits > 0) {
            EXPECT_EQ(context.counters().submits, 2 * submits);
        }
    }
};

/// The list of a loop: its bound, its counter, and tensors that bodies shuffle and add.
struct RandomLoops {
    std::mt19937 random;
    std::size_t tensors;
    bool known;  ///< every bound is a constant; else some are, and some conditions ask for more

    std::size_t below(std::size_t n) { return random() % n; }

    Graph region(int depth) {
        GraphBuilder b("body");
        const ValueId i = b.input("i", DType::i32, {1}), n = b.input("n", DType::i32, {1});
        std::vector<ValueId> list, made;
        for (std::size_t k = 0; k < tensors; ++k)
            list.push_back(b.input(fmt::format("x{}", k), DType::i32, {elements}));
        made = list;
        const std::size_t nodes = below(4);
        for (std::size_t k = 0; k < nodes; ++k) {
            const ValueId x = made[below(made.size())], y = made[below(made.size())];
            made.push_back(
                b.add1(below(2) == 0 ? Op::add : Op::bitwise_xor, {x, y}, DType::i32, {}, fmt::format("made{}", k)));
        }
        if (depth > 0) {
            std::vector<ValueId> inner = loop(b, list, depth - 1, n);
            made.insert(made.end(), inner.begin(), inner.end());
        }
        std::vector<ValueId> updated(tensors, no_id);
        for (std::size_t k = 0; k < tensors; ++k) {
            if (below(3) > 0) continue;
            const ValueId window = b.add1(Op::slice,
                                          {made[below(made.size())], b.shape(std::vector<std::int64_t>{3}),
                                           b.shape(std::vector<std::int64_t>{5})},
                                          DType::i32, {}, fmt::format("window{}", k));
            updated[k] =
                b.add1(Op::dynamic_update_slice, {list[k], window, i}, DType::i32, {}, fmt::format("updated{}", k));
            if (below(4) == 0) made.push_back(updated[k]);
        }
        if (below(3) == 0) made.push_back(b.constant_ints("c", DType::i32, {elements}, numbers()));
        b.output(b.add1(Op::add, {i, b.scalar(DType::i32, 1)}, DType::i32, {}, "next"));
        b.output(n);
        for (std::size_t k = 0; k < tensors; ++k)
            b.output(updated[k] != no_id && below(4) > 0 ? updated[k]
                     : below(3) == 0                     ? list[k]
                                                         : made[below(made.size())]);
        return b.finish_region();
    }
    std::vector<std::int64_t> numbers() {
        std::vector<std::int64_t> all(elements);
        for (std::int64_t& x : all) x = static_cast<std::int64_t>(below(1000)) - 500;
        return all;
    }
    /// The tensors after a loop of `bound` turns, or of two to four.
    std::vector<ValueId> loop(GraphBuilder& b, const std::vector<ValueId>& list, int depth, ValueId bound) {
        GraphBuilder asks("asks");
        const ValueId i = asks.input("i", DType::i32, {1}), n = asks.input("n", DType::i32, {1});
        ValueId x = no_id;
        for (std::size_t k = 0; k < tensors; ++k) x = asks.input(fmt::format("x{}", k), DType::i32, {elements});
        ValueId answer = asks.add1(Op::greater, {n, i}, DType::boolean, {}, "less");
        if (!known && below(3) == 0) {
            const ValueId at = asks.shape(std::vector<std::int64_t>{1}), one = asks.shape(std::vector<std::int64_t>{1});
            const ValueId element = asks.add1(Op::slice, {x, at, one}, DType::i32, {}, "element");
            const ValueId above =
                asks.add1(Op::greater, {element, asks.scalar(DType::i32, 0)}, DType::boolean, {}, "above");
            answer = asks.add1(Op::logical_and, {answer, above}, DType::boolean, {}, "both");
        }
        asks.output(answer);
        if (known || below(2) == 0) bound = b.scalar(DType::i32, static_cast<std::int64_t>(below(3)) + 2);
        std::vector<ValueId> inputs{b.scalar(DType::i32, 0), bound};
        inputs.insert(inputs.end(), list.begin(), list.end());
        std::vector<ValueId> out = b.while_loop(inputs, asks.finish_region(), region(depth), "loop");
        return {out.begin() + 2, out.end()};
    }
    Graph graph() {
        GraphBuilder b("loops");
        const ValueId bound = b.input("bound", DType::i32, {1});
        std::vector<ValueId> list;
        for (std::size_t k = 0; k < tensors; ++k)
            list.push_back(b.input(fmt::format("x{}", k), DType::i32, {elements}));
        if (below(2) == 0) list[0] = b.add1(Op::bitwise_not, {list[0]}, DType::i32, {}, "inverted");
        if (below(3) == 0) list[1] = list[2];
        if (below(3) == 0) list[1] = b.constant_ints("start", DType::i32, {elements}, numbers());
        const auto out = loop(b, list, static_cast<int>(below(3)), bound);
        for (std::size_t k = 0; k < tensors; ++k) {
            b.output(below(2) == 0 ? out[k]
                                   : b.add1(Op::add, {out[k], list[k]}, DType::i32, {}, fmt::format("y{}", k)));
        }
        return b.finish();
    }
};

TEST_F(LoopsGpu, RandomLists) {
    const std::uint64_t cases = test::number_from_environment("TOSAVK_TEST_CASES", 4) * 6,
                        first = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    std::cout << "seed " << first << "\n";
    for (std::uint64_t seed = first; seed < first + cases; ++seed) {
        RandomLoops maker{std::mt19937(static_cast<std::uint32_t>(seed)), 4, seed % 2 == 0};
        const Graph graph = maker.graph();
        std::vector<HostTensor> inputs{i32s({static_cast<std::int64_t>(seed % 4)})};
        for (std::size_t k = 0; k < maker.tensors; ++k)
            inputs.push_back(random_tensor(DType::i32, {elements}, seed * 10 + k));
        // All, without one of them or two, and nothing.
        for (const std::uint64_t left_out : {std::uint64_t{0}, 1 + seed / 2 % 5}) {
            SCOPED_TRACE(fmt::format("seed {}, without {}", seed, left_out));
            PlanOptions options;
            options.alias_lists = left_out != 1 && left_out != 4;
            options.count_turns = left_out != 2 && left_out != 4;
            options.gate_turns = left_out != 3;
            options.swap_turns = left_out != 5;
            expect_reference(graph, options, inputs, maker.known && options.count_turns ? 1 : 0);
        }
        PlanOptions plain;
        plain.fuse = false;
        plain.count_turns = plain.gate_turns = seed / 2 % 2 == 0;
        SCOPED_TRACE(fmt::format("seed {}, without passes", seed));
        expect_reference(graph, plain, inputs);
    }
}

/// `turns` times x = 3 x + w; w comes from outside.
Graph counted_graph(std::int64_t turns) {
    GraphBuilder asks("asks"), body("body");
    for (GraphBuilder* region : {&asks, &body}) {
        const ValueId i = region->input("i", DType::i32, {1}), x = region->input("x", DType::i32, {elements});
        const ValueId w = region->input("w", DType::i32, {elements});
        if (region == &asks) {
            asks.output(asks.add1(Op::greater, {asks.scalar(DType::i32, turns), i}, DType::boolean, {}, "less"));
            continue;
        }
        body.output(body.add1(Op::add, {i, body.scalar(DType::i32, 1)}, DType::i32, {}, "next"));
        const ValueId twice = body.add1(Op::add, {x, x}, DType::i32, {}, "twice");
        const ValueId thrice = body.add1(Op::add, {twice, x}, DType::i32, {}, "thrice");
        body.output(body.add1(Op::add, {thrice, w}, DType::i32, {}, "plus"));
        body.output(w);
    }
    GraphBuilder b("counted");
    const ValueId x = b.input("x", DType::i32, {elements}), w = b.input("w", DType::i32, {elements});
    b.output(b.while_loop({b.scalar(DType::i32, 0), x, w}, asks.finish_region(), body.finish_region(), "loop")[1]);
    return b.finish();
}

/// Each turn puts another window, made of x, into what is kept of all turns.
Graph history_graph(DType type, const Shape& whole, const Shape& window, std::int64_t turns) {
    const auto rank = static_cast<std::int64_t>(whole.size());
    GraphBuilder asks("asks"), body("body");
    for (GraphBuilder* region : {&asks, &body}) {
        const ValueId kept = region->input("kept", type, whole), x = region->input("x", type, window);
        const ValueId i = region->input("i", DType::i32, {1});
        if (region == &asks) {
            asks.output(
                asks.add1(Op::greater_equal, {asks.scalar(DType::i32, turns - 1), i}, DType::boolean, {}, "less"));
            continue;
        }
        Attributes along;
        along.axis = static_cast<std::int32_t>(rank - 1);
        const ValueId turned = body.add1(Op::reverse, {x}, type, along, "turned");
        const ValueId start =
            rank == 1 ? i : body.add1(Op::concat, std::vector<ValueId>(whole.size(), i), DType::i32, {}, "start");
        body.output(body.add1(Op::dynamic_update_slice, {kept, turned, start}, type, {}, "more"));
        body.output(turned);
        body.output(body.add1(Op::add, {i, body.scalar(DType::i32, 1)}, DType::i32, {}, "next"));
    }
    GraphBuilder b("history");
    const ValueId kept = b.input("kept", type, whole), x = b.input("x", type, window);
    const auto out =
        b.while_loop({kept, x, b.scalar(DType::i32, 0)}, asks.finish_region(), body.finish_region(), "loop");
    b.output(out[0]);
    return b.finish();
}

TEST_F(LoopsGpu, WindowsAreWrittenInPlace) {
    const std::tuple<Shape, Shape> shapes[] = {
        {{40}, {1}}, {{41}, {7}}, {{9, 16}, {1, 16}}, {{9, 15}, {2, 3}}, {{5, 6, 7}, {1, 2, 4}}};
    for (const DType type : {DType::fp32, DType::i8, DType::i16, DType::fp16, DType::i32}) {
        for (const auto& [whole, window] : shapes) {
            SCOPED_TRACE(fmt::format("{} {} {}", name_of(type), to_string(whole), to_string(window)));
            const Graph graph = history_graph(type, whole, window, 7);
            const Plan plan = make_plan(graph, device_->plan(), {});
            const ControlStep& loop = plan.controls.at(0);
            const RegionPlan& body = loop.regions[1];
            EXPECT_TRUE(std::any_of(body.plan.dispatches.begin(), body.plan.dispatches.end(),
                                    [](const Dispatch& d) { return d.kernel == "dynamic_update_in_place"; }));
            // Every second turn reads where the one before wrote, and the seventh is copied.
            EXPECT_TRUE(loop.alternates());
            EXPECT_TRUE(body.leave.empty());
            PlanOptions options;
            options.swap_turns = false;
            const Plan copying = make_plan(graph, device_->plan(), options);
            // All but what is updated; a window of one element is its own reverse.
            EXPECT_EQ(copying.controls.at(0).regions[1].leave.size(), element_count(window) > 1 ? 2u : 1u);
            EXPECT_EQ(loop.answer.size(), copying.controls.at(0).regions[1].leave.size());
            const std::vector<HostTensor> inputs{random_tensor(type, whole, 1), random_tensor(type, window, 2)};
            expect_reference(graph, {}, inputs, 1);
            expect_reference(graph, options, inputs, 1);
            options.alias_lists = false;
            expect_reference(graph, options, inputs, 1);
        }
    }
}

TEST_F(LoopsGpu, ManyTurnsAreOneSubmitOrAFew) {
    const std::vector<HostTensor> inputs{random_tensor(DType::i32, {elements}, 1),
                                         random_tensor(DType::i32, {elements}, 2)};
    for (const std::int64_t turns : {0, 1, 900}) expect_reference(counted_graph(turns), {}, inputs, 1);
    // So many that a thread hands them over.
    const Graph graph = counted_graph(5000);
    const auto executable = compile(graph);
    Context context(executable, false);
    const auto found = test::run(context, graph, inputs), wanted = reference_run(graph, inputs);
    EXPECT_EQ(found[0].bytes, wanted[0].bytes);
    EXPECT_GT(context.counters().submits, 1u);
    EXPECT_LT(context.counters().submits, 100u);
}

TEST_F(LoopsGpu, SubmitsBeyondNumberWaitNowAndThen) {
    const auto hasty = test::open_with([](DevicePlan& plan) { plan.submit_work = 1; });
    const std::vector<HostTensor> inputs{random_tensor(DType::i32, {elements}, 1),
                                         random_tensor(DType::i32, {elements}, 2)};
    const Graph graph = counted_graph(5000);
    const auto executable =
        Executable::create(hasty, std::make_shared<const Graph>(graph), make_plan(graph, hasty->plan(), {}));
    Context context(executable, false);
    const auto found = test::run(context, graph, inputs), wanted = reference_run(graph, inputs);
    EXPECT_EQ(found[0].bytes, wanted[0].bytes);
    const std::uint64_t submits = context.counters().submits;
    EXPECT_GT(submits, 4000u);
    // More calls than those and a wait at the end.
    fail_nth_vulkan_call(static_cast<int>(submits) + 20);
    EXPECT_THROW(test::run(context, graph, inputs), Error);
    fail_nth_vulkan_call(0);
}

/// x = x / 2 while x is above `least` and, with a bound, for so many turns; x is an input.
Graph halving_graph(double least, std::optional<std::int64_t> bound) {
    GraphBuilder asks("asks"), body("body");
    for (GraphBuilder* region : {&asks, &body}) {
        const ValueId i = region->input("i", DType::i32, {1}), x = region->input("x", DType::fp32, {1});
        if (region == &asks) {
            ValueId answer = asks.add1(Op::greater, {x, asks.scalar(DType::fp32, least)}, DType::boolean, {}, "above");
            if (bound) {
                const ValueId less =
                    asks.add1(Op::greater, {asks.scalar(DType::i32, *bound), i}, DType::boolean, {}, "less");
                answer = asks.add1(Op::logical_and, {answer, less}, DType::boolean, {}, "both");
            }
            asks.output(answer);
            continue;
        }
        body.output(body.add1(Op::add, {i, body.scalar(DType::i32, 1)}, DType::i32, {}, "next"));
        const ValueId half = body.scalar(DType::fp32, 0.5),
                      shift = body.constant_ints("shift", DType::i8, {1}, std::vector<std::int64_t>{0});
        body.output(body.add1(Op::mul, {x, half, shift}, DType::fp32, {}, "half"));
    }
    GraphBuilder b("halving");
    const ValueId x = b.input("x", DType::fp32, {1});
    const auto out = b.while_loop({b.scalar(DType::i32, 0), x}, asks.finish_region(), body.finish_region(), "loop");
    b.output(out[0]), b.output(out[1]);
    return b.finish();
}

TEST_F(LoopsGpu, TheDeviceDecides) {
    for (const auto bound : {std::optional<std::int64_t>(), std::optional<std::int64_t>(12)}) {
        const Graph graph = halving_graph(1, bound);
        const Plan plan = make_plan(graph, device_->plan(), {});
        EXPECT_TRUE(plan.controls.at(0).is_gated());
        EXPECT_EQ(plan.decisions, bound ? 0u : 1u);
        EXPECT_EQ(plan.controls.at(0).most, bound.value_or(-1));
        for (const double start : {0.5, 1.5, 100.0, 1e30}) {
            SCOPED_TRACE(start);
            expect_reference(graph, {}, {f32s({start})}, bound ? 1 : 0);
            PlanOptions options;
            options.gate_turns = false;
            expect_reference(graph, options, {f32s({start})});
        }
    }
    // 40 turns in batches of 1, 2, 4, 8, 16, 32, and what ends the run.
    const Graph graph = halving_graph(1, std::nullopt);
    const auto executable = compile(graph);
    Context context(executable, false);
    test::run(context, graph, {f32s({std::ldexp(1.0, 40)})});
    EXPECT_EQ(context.counters().submits, 7u);
}

TEST_F(LoopsGpu, WhatTheBodyOnlyReadsIsNotCopied) {
    const Graph graph = counted_graph(5);
    PlanOptions copying;
    copying.swap_turns = false;
    const Plan plan = make_plan(graph, device_->plan(), copying);
    ASSERT_EQ(plan.controls.size(), 1u);
    const ControlStep& loop = plan.controls.front();
    EXPECT_EQ(loop.turns, 5);
    EXPECT_EQ(plan.decisions, 0u);
    EXPECT_EQ(loop.prepare.size(), 2u) << "the counter and x, not w";
    EXPECT_TRUE(loop.regions[1].enter.empty());
    EXPECT_EQ(loop.regions[1].leave.size(), 2u);
    PlanOptions options;
    options.alias_lists = false;
    EXPECT_EQ(make_plan(graph, device_->plan(), options).controls.front().regions[1].enter.size(), 3u);
    options.count_turns = options.gate_turns = false;
    EXPECT_EQ(make_plan(graph, device_->plan(), options).decisions, 1u);
}

}  // namespace
}  // namespace tosavk
