// The planner's passes on the device: whichever are on, a graph's outputs have the same bits.
// TOSAVK_TEST_SEEDS sets the number of random graphs (default 4, at most 12).
#include "frontends/frontend.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/builder.hpp"
#include "ops/print.hpp"
#include "reference/reference.hpp"
#include "support/control_graphs.hpp"
#include "support/corpus.hpp"
#include "support/gpu_test.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/same_bits.hpp"
#include "support/validation.hpp"
#include "vk/core/device.hpp"
#include "vk/measure/open_device.hpp"
#include "vk/run/context.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <span>

namespace tosavk {
namespace {

struct Variant {
    const char* name;
    PlanOptions options;
};

/// All passes, each one left out, and the last one: none.
std::vector<Variant> variants() {
    std::vector<Variant> list{{"all", {}}};
    const std::pair<const char*, bool PlanOptions::*> passes[] = {
        {"fold_movement", &PlanOptions::fold_movement},   {"fold_constants", &PlanOptions::fold_constants},
        {"merge_equal", &PlanOptions::merge_equal},       {"drop_unread", &PlanOptions::drop_unread},
        {"join_followers", &PlanOptions::join_followers}, {"merge_groups", &PlanOptions::merge_groups},
        {"fuse_rows", &PlanOptions::fuse_rows},           {"store_in_place", &PlanOptions::store_in_place},
        {"fuse_prologues", &PlanOptions::fuse_prologues}, {"fuse_moved", &PlanOptions::fuse_moved},
        {"alias_slices", &PlanOptions::alias_slices},     {"alias_lists", &PlanOptions::alias_lists},
        {"count_turns", &PlanOptions::count_turns},       {"gate_turns", &PlanOptions::gate_turns},
        {"swap_turns", &PlanOptions::swap_turns},         {"fuse", &PlanOptions::fuse}};
    for (const auto& [name, pass] : passes) {
        PlanOptions options;
        options.*pass = false;
        list.push_back({name, options});
    }
    PlanOptions late;
    late.late_sizes = true;
    list.insert(list.begin() + 1, {"late_sizes", late});
    list.back().options.count_turns = list.back().options.gate_turns = list.back().options.swap_turns = false;
    return list;
}

/// All that runs: the plan's text with its shaders and constants.
std::string text_of(const Graph& graph, const Plan& plan) {
    std::string text = print_plan(graph, plan);
    for_each_dispatch(plan, [&](const Dispatch& d) {
        text += fmt::format("{}\n{}\n{}\n", d.kernel, d.glsl, fmt::join(d.constants, " "));
    });
    return text;
}

/// A graph over matrices of one size and what reductions, broadcasts and moves make of them, with nodes that are equal,
/// constant or unread among them.
class RandomGraph {
public:
    explicit RandomGraph(std::uint32_t seed) : random_(seed), builder_("random") {}

    Graph build() {
        rows_ = pick<std::int64_t>({1, 3, 8, 70, 600});
        columns_ = pick<std::int64_t>({1, 2, 3, 4, 9, 16, 130});
        for (const DType type : {DType::fp32, DType::i32}) {
            values_.push_back(builder_.input("x" + std::string(name_of(type)), type, {rows_, columns_}));
            const HostTensor numbers = random_tensor(type, {rows_, columns_}, random_());
            values_.push_back(builder_.constant("c" + std::string(name_of(type)), type, numbers.shape, numbers.bytes));
            const HostTensor row = random_tensor(type, {1, columns_}, random_());
            values_.push_back(builder_.constant("r" + std::string(name_of(type)), type, row.shape, row.bytes));
        }
        for (int step = 0; step < 24; ++step) add();
        builder_.output(values_.back());
        for (int k = 0; k < 3; ++k) add_output();
        return builder_.finish();
    }

private:
    template <class T> T pick(std::vector<T> of) { return of[random_() % of.size()]; }
    const Shape& shape(ValueId id) const { return builder_.value(id).shape; }
    DType type(ValueId id) const { return builder_.value(id).type; }

    /// The newest values more often, so that chains get long.
    ValueId any() {
        const std::size_t back =
            std::min<std::size_t>(random_() % 4 == 0 ? random_() % values_.size() : random_() % 3, values_.size() - 1);
        return values_[values_.size() - 1 - back];
    }

    /// Another of the same type with which the value can be broadcast; itself if there is none.
    ValueId partner(ValueId id) {
        std::vector<ValueId> found{id};
        for (const ValueId other : values_) {
            Shape out;
            if (type(other) == type(id) && broadcast_shape(shape(id), shape(other), out)) found.push_back(other);
        }
        return pick(found);
    }

    void add() {
        const ValueId x = any();
        const DType t = type(x);
        const bool real = is_float(t);
        Attributes axis;
        axis.axis = static_cast<std::int32_t>(random_() % 2);
        const auto push = [&](Op op, std::vector<ValueId> inputs, const Attributes& attrs = {}) {
            values_.push_back(builder_.add1(op, inputs, t, attrs));
            if (random_() % 8 == 0) values_.push_back(builder_.add1(op, inputs, t, attrs));  // its equal
        };
        switch (random_() % 12) {
            case 0:
            case 1:
                return push(real ? pick<Op>({Op::exp, Op::tanh, Op::abs, Op::floor})
                                 : pick<Op>({Op::abs, Op::bitwise_not, Op::clz}),
                            {x});
            case 2:
            case 3:
            case 4: return push(pick<Op>({Op::add, Op::sub, Op::maximum}), {x, partner(x)});
            case 5:
            case 6: axis.axis = 1; [[fallthrough]];
            case 7: return push(pick<Op>({Op::reduce_max, Op::reduce_sum, Op::reduce_min}), {x}, axis);
            case 8: {
                const ValueId y = partner(x);
                const auto other = static_cast<std::size_t>(1 - axis.axis);
                if (shape(x)[other] != shape(y)[other] || shape(x)[1 - other] + shape(y)[1 - other] > 300) return;
                return push(Op::concat, {x, y}, axis);
            }
            case 9: {
                axis.perms = {1, 0};
                if (element_count(shape(x)) > 2000) return;
                return push(Op::transpose, {x}, axis);
            }
            case 10: {
                const std::int64_t start[] = {0, shape(x)[1] / 2},
                                   size[] = {shape(x)[0], shape(x)[1] - shape(x)[1] / 2};
                return push(Op::slice, {x, builder_.shape(start), builder_.shape(size)});
            }
            default: {
                const ValueId y = partner(x);
                const ValueId which = builder_.add1(Op::greater, {x, y}, DType::boolean);
                return push(Op::select, {which, y, x});
            }
        }
    }

    void add_output() {
        const ValueId id = any();
        const Graph& graph = builder_.graph();
        const bool is_new = std::find(graph.outputs.begin(), graph.outputs.end(), id) == graph.outputs.end();
        if (is_new && graph.value(id).producer != no_id) builder_.output(id);
    }

    std::mt19937 random_;
    GraphBuilder builder_;
    std::vector<ValueId> values_;
    std::int64_t rows_ = 1, columns_ = 1;
};

class Passes : public ::testing::Test {
protected:
    void SetUp() override {
        try {
            device_ = open_device("");
        } catch (const Error& error) {
            if (error.code() != ErrorCode::no_device) throw;
            TOSAVK_MISSING("driver", "there is no Vulkan driver");
        }
    }

    std::vector<HostTensor> run(const std::shared_ptr<const Graph>& graph, const PlanOptions& options) {
        return test::run(device_, graph, make_plan(*graph, device_->plan(), options));
    }

    /// A variant whose plan is that of one before it runs the same shaders, and is left out.
    void compare_all(Graph graph, const std::string& what) {
        const auto shared = std::make_shared<const Graph>(std::move(graph));
        const std::vector<Variant> list = variants();
        const std::vector<HostTensor> plain = run(shared, list.back().options);
        std::set<std::string> seen;
        for (std::size_t v = 0; v + 1 < list.size(); ++v) {
            if (!seen.insert(text_of(*shared, make_plan(*shared, device_->plan(), list[v].options))).second) continue;
            const std::vector<HostTensor> fused = run(shared, list[v].options);
            for (std::size_t k = 0; k < plain.size(); ++k) {
                EXPECT_TRUE(test::same_bits(plain[k], fused[k]))
                    << what << ", output " << k << ": " << (v == 0 ? "all passes" : "all passes but ")
                    << (v == 0 ? "" : list[v].name) << "\n"
                    << print_graph(*shared)
                    << print_plan(*shared, make_plan(*shared, device_->plan(), list[v].options));
            }
            if (HasFailure()) return;
        }
    }

    std::shared_ptr<Device> device_;
};

TEST_F(Passes, RandomGraphsKeepTheirBits) {
    const auto count = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(test::number_from_environment("TOSAVK_TEST_SEEDS", 4), 1, 12));
    for (std::uint32_t seed = 0; seed < count && !HasFailure(); ++seed) {
        compare_all(RandomGraph(seed).build(), "seed " + std::to_string(seed));
    }
}

// Kernels that read storage buffers take other loads, and two quads a pass of a row; invocations take several rows in
// turn.
TEST_F(Passes, RandomGraphsKeepTheirBitsWithoutTexels) {
    if (device_->plan().texel_elements == 0) GTEST_SKIP() << "the device reads no texel buffers anyway";
    const auto with_storage = [](bool in_turn) {
        return test::open_with([in_turn](DevicePlan& plan) {
            plan.texel_elements = 0;
            if (!in_turn) return;
            plan.busy_invocations = 1;
            plan.walk_bytes = 128;
        });
    };
    const std::shared_ptr<Device> devices[] = {with_storage(false), with_storage(true)};
    const auto count = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(test::number_from_environment("TOSAVK_TEST_SEEDS", 4), 1, 12));
    for (std::uint32_t seed = 105; seed < 105 + count && !HasFailure(); ++seed) {
        device_ = devices[seed % 2];
        compare_all(RandomGraph(seed).build(), "seed " + std::to_string(seed));
    }
}

// A remainder of far exponents loops, in the loop of a kernel: some drivers bound the passes of all loops together.
TEST_F(Passes, LoopsWithinLoopsKeepTheirBits) {
    for (const bool behind : {true, false}) {
        GraphBuilder b("loops");
        Attributes attrs;
        attrs.axis = 0;
        attrs.combiner = Combiner::maximum;
        const auto scale = [&](ValueId x, float by) {
            return b.add1(Op::mul,
                          {x, b.constant("by", DType::fp32, {1, 1}, encode_reals(DType::fp32, std::vector<double>{by})),
                           b.constant("shift", DType::i8, {1}, encode_ints(DType::i8, std::vector<std::int64_t>{0}))},
                          DType::fp32);
        };
        const auto remainder = [&](ValueId x) {
            return b.add1(
                Op::remainder,
                {x, b.constant("small", DType::fp32, {1, 1}, encode_reals(DType::fp32, std::vector<double>{1.7e-30}))},
                DType::fp32);
        };
        ValueId x = scale(b.input("x", DType::fp32, {8000, 2048}), 1e30f);
        if (!behind) x = remainder(x);
        x = b.add1(Op::cumulate, {x}, DType::fp32, attrs);
        b.output(behind ? remainder(x) : x);
        const auto shared = std::make_shared<const Graph>(b.finish());
        PlanOptions none;
        none.fuse = false;
        EXPECT_TRUE(test::same_bits(run(shared, {}).front(), run(shared, none).front())) << "behind: " << behind;
    }
}

TEST_F(Passes, TurnsThatAreCountedAndTurnsThatTheDeviceDecides) {
    const Graph graph = testing::matrix_of_turns();
    const ControlStep outer = make_plan(graph, device_->plan(), {}).controls.at(0);
    EXPECT_EQ(outer.turns, 4);
    EXPECT_TRUE(outer.regions.at(1).plan.controls.at(0).is_gated());
    compare_all(graph, "turns");
}

// Columns by themselves and by several lanes, in whole quads or not, whose own values are outputs too.
TEST_F(Passes, ColumnsOfMatrices) {
    const std::pair<Shape, std::int32_t> problems[] = {
        {{3, 41, 8}, 1}, {{5, 300, 3}, 1}, {{2, 9, 2, 6}, 1}, {{70, 5}, 0}, {{2, 2, 64}, 1}};
    for (const DType type : {DType::fp32, DType::fp16, DType::i32}) {
        for (const auto& [shape, axis] : std::span(problems).first(type == DType::fp32 ? 5 : 2)) {
            GraphBuilder b("columns");
            Attributes attrs;
            attrs.axis = axis;
            const ValueId x = b.input("x", type, shape);
            Shape ones(shape.size(), 1);
            ones.back() = shape.back();
            const ValueId scaled = b.add1(Op::maximum, {x, b.input("s", type, ones)}, type);
            const ValueId most = b.add1(Op::reduce_max, {scaled}, type, attrs),
                          below = b.add1(Op::sub, {scaled, most}, type);
            const ValueId sum = b.add1(Op::reduce_sum, {b.add1(Op::abs, {below}, type)}, type, attrs);
            const ValueId bent = b.add1(is_float(type) ? Op::exp : Op::bitwise_not, {sum}, type);
            b.output(b.add1(Op::sub, {b.add1(Op::maximum, {below, bent}, type), sum}, type));
            b.output(b.add1(Op::reduce_min, {below}, type, attrs));
            b.output(bent);
            Graph graph = b.finish();
            const Plan plan = make_plan(graph, device_->plan(), {});
            EXPECT_TRUE(plan.dispatches.size() == 1 && plan.dispatches.front().kernel == "rows")
                << print_plan(graph, plan);
            compare_all(std::move(graph), fmt::format("{} {} axis {}", name_of(type), to_string(shape), axis));
        }
    }
}

TEST_F(Passes, OutputsThatAreOtherNamesOfConstantResults) {
    GraphBuilder b("names");
    const std::vector<std::int64_t> numbers = {1, 2, 3, 4, 5, 6};
    const ValueId c = b.constant_ints("c", DType::i32, {2, 3}, numbers);
    const ValueId inverted = b.add1(Op::bitwise_not, {c}, DType::i32, {}, "inverted");
    const std::vector<std::int64_t> flat = {6};
    b.output(b.add1(Op::reshape, {b.add1(Op::identity, {inverted}, DType::i32, {}, "same"), b.shape(flat)}, DType::i32,
                    {}, "flat"));
    b.output(b.add1(Op::identity, {b.add1(Op::identity, {c}, DType::i32, {}, "again")}, DType::i32, {}, "constant"));
    const ValueId x = b.input("x", DType::i32, {2, 3});
    b.output(b.add1(Op::add, {x, inverted}, DType::i32, {}, "sum"));
    // Moves that move nothing.
    Attributes same;
    same.perms = {0, 1};
    const std::int64_t once[] = {1, 1}, start[] = {0, 0}, whole[] = {2, 3};
    b.output(b.add1(Op::transpose, {c}, DType::i32, same, "transposed"));
    b.output(b.add1(Op::tile, {c, b.shape(once)}, DType::i32, {}, "tiled"));
    b.output(b.add1(Op::concat, {c}, DType::i32, {}, "joined"));
    b.output(b.add1(Op::transpose, {b.add1(Op::slice, {c, b.shape(start), b.shape(whole)}, DType::i32)}, DType::i32,
                    same, "chain"));
    b.output(b.add1(Op::transpose, {x}, DType::i32, same, "input"));
    compare_all(b.finish(), "other names");
}

TEST_F(Passes, PartsOfValuesAreReadWhereTheyLie) {
    GraphBuilder b("parts");
    const ValueId x = b.input("x", DType::fp32, {6, 64});
    const ValueId e = b.add1(Op::exp, {x}, DType::fp32);
    Attributes axis;
    axis.axis = 1;
    std::vector<ValueId> parts;
    for (std::int64_t k = 0; k < 6; ++k) {
        const std::int64_t start[] = {k, 0}, size[] = {1, 64};
        parts.push_back(b.add1(Op::slice, {k % 2 == 0 ? e : x, b.shape(start), b.shape(size)}, DType::fp32));
    }
    const ValueId sum = b.add1(Op::add, {parts[4], b.add1(Op::sub, {parts[0], parts[1]}, DType::fp32)}, DType::fp32);
    b.output(b.add1(Op::add, {sum, b.add1(Op::reduce_max, {e}, DType::fp32, axis)}, DType::fp32));
    b.output(b.add1(Op::concat, {parts[2], parts[5], e}, DType::fp32, Attributes()));
    b.output(parts[3]);
    b.output(b.add1(Op::argmax, {b.add1(Op::maximum, {parts[2], parts[4]}, DType::fp32)}, DType::i32, axis));
    compare_all(b.finish(), "parts");
}

// The kernel for weights of run time would add in another order.
TEST_F(Passes, ConvolutionsWithComputedWeights) {
    for (const Op op : {Op::conv2d, Op::transpose_conv2d, Op::conv3d}) {
        const bool volume = op == Op::conv3d, transposed = op == Op::transpose_conv2d;
        GraphBuilder b("computed weights");
        const ValueId x = b.input("x", DType::fp32, volume ? Shape{1, 3, 9, 9, 12} : Shape{1, 9, 9, 12});
        const HostTensor numbers = random_tensor(DType::fp32, volume ? Shape{16, 2, 3, 3, 12} : Shape{16, 3, 3, 12}, 7);
        const ValueId constant = b.constant("constant", DType::fp32, numbers.shape, numbers.bytes);
        const ValueId weight = b.add1(
            Op::identity, {b.add1(Op::mul, {constant, constant, b.scalar(DType::i8, 0)}, DType::fp32)}, DType::fp32);
        Attributes attrs;
        attrs.stride = volume ? std::vector<std::int32_t>{1, 1, 1} : std::vector<std::int32_t>{1, 1};
        if (!transposed) attrs.dilation = attrs.stride;
        attrs.pad = volume ? std::vector<std::int32_t>(6, 0) : std::vector<std::int32_t>(4, 0);
        attrs.acc_type = DType::fp32;
        const ValueId zero = b.scalar(DType::fp32, 0);
        b.output(b.add1(op, {x, weight, zero, zero, zero}, DType::fp32, attrs));
        compare_all(b.finish(), std::string(name_of(op)) + " with computed weights");
    }
}

// PADs and SLICEs that windows take into their padding, beside padding of their own.
TEST_F(Passes, WindowsOverPaddedAndCutInputs) {
    for (const DType type : {DType::fp32, DType::i8}) {
        const bool real = is_float(type);
        const DType sum = real ? DType::fp32 : DType::i32;
        GraphBuilder b("windows");
        const auto zero_point = [&](std::int32_t number) { return b.scalar(type, real ? 0 : number); };
        const auto pad = [&](ValueId x, const std::vector<std::int64_t>& amounts) {
            return b.add1(Op::pad, {x, b.shape(amounts), zero_point(3)}, type);
        };
        const auto weight = [&](const Shape& shape) {
            const HostTensor numbers = random_tensor(type, shape, 7);
            return b.constant("weight", type, numbers.shape, numbers.bytes);
        };
        const ValueId x = b.input("x", type, {2, 6, 7, 5}), volume = b.input("volume", type, {1, 5, 6, 7, 5});
        const ValueId bias = b.constant("bias", sum, {6}, random_tensor(sum, {6}, 8).bytes);
        const ValueId zp = zero_point(3), zero = zero_point(0);
        Attributes attrs;
        attrs.acc_type = sum;
        attrs.stride = {2, 3};
        attrs.pad = {-1, 1, 0, -1};
        b.output(b.add1(Op::transpose_conv2d, {pad(x, {0, 0, 1, 0, 2, 1, 0, 0}), weight({6, 3, 4, 5}), bias, zp, zero},
                        sum, attrs));
        attrs.kernel = {3, 4};
        attrs.pad = {0, 1, 1, 0};
        b.output(b.add1(Op::avg_pool2d, {pad(x, {0, 0, 2, 0, 1, 1, 0, 0}), zp, zero_point(-4)}, type, attrs));
        b.output(b.add1(Op::avg_pool2d, {pad(pad(x, {0, 0, 1, 0, 0, 1, 0, 0}), {0, 0, 0, 1, 1, 0, 0, 0}), zp, zero},
                        type, attrs));
        attrs.kernel.clear();
        attrs.stride = {1, 2, 1};
        attrs.dilation = {2, 1, 1};
        attrs.pad = {1, 0, 0, 1, 1, 0};
        b.output(b.add1(Op::conv3d,
                        {pad(volume, {0, 0, 1, 0, 1, 0, 2, 1, 0, 0}), weight({6, 2, 2, 3, 5}), bias, zp, zero}, sum,
                        attrs));
        attrs.pad = {0, 0, 0, 0, 0, 0};
        const std::int64_t start[] = {0, 1, 0, 2, 0}, size[] = {1, 4, 6, 5, 5};
        const ValueId cut = b.add1(Op::slice, {volume, b.shape(start), b.shape(size)}, type);
        b.output(b.add1(Op::conv3d, {cut, weight({6, 2, 2, 3, 5}), bias, zp, zero}, sum, attrs));
        compare_all(b.finish(), fmt::format("windows of {}", name_of(type)));
    }
}

// Computed values that are moved, in whole quads or not, one after the other or under another shape, as parts of
// chains.
TEST_F(Passes, MovesOfComputedValues) {
    for (const std::int64_t channels : {8, 13}) {
        for (const DType type : {DType::fp32, DType::fp16, DType::i32}) {
            GraphBuilder b("moved");
            const ValueId row = b.input("row", type, {1, 1, channels});
            const auto cheap = [&](std::size_t k) {
                const ValueId x = b.input("x" + std::to_string(k), type, {3, 6, channels}),
                              y = b.input("y" + std::to_string(k), type, {3, 1, channels});
                return b.add1(Op::maximum, {b.add1(Op::abs, {x}, type), y}, type);
            };
            const std::int64_t padding[] = {1, 0, 0, 2, 0, 0}, uneven[] = {0, 0, 1, 0, 2, 1}, twice[] = {2, 1, 1},
                               start[] = {1, 2, 0}, size[] = {2, 3, channels};
            const ValueId one = is_float(type) ? b.scalar(type, 1) : b.scalar(type, 7);
            Attributes axis, perms;
            axis.axis = 1;
            perms.perms = {1, 0, 2};
            const auto finish = [&](ValueId moved) { b.output(b.add1(Op::sub, {moved, row}, type)); };
            finish(b.add1(Op::pad, {cheap(0), b.shape(padding), one}, type));
            b.output(b.add1(Op::abs, {b.add1(Op::pad, {cheap(1), b.shape(uneven), one}, type)}, type));
            finish(b.add1(Op::reverse, {cheap(2)}, type, axis));
            finish(b.add1(Op::tile, {cheap(3), b.shape(twice)}, type));
            finish(b.add1(Op::transpose, {cheap(4)}, type, perms));
            const ValueId c = cheap(5);
            const ValueId part = b.add1(Op::slice, {c, b.shape(start), b.shape(size)}, type);
            const std::int64_t other_start[] = {0, 3, 0};
            finish(b.add1(Op::add, {part, b.add1(Op::slice, {c, b.shape(other_start), b.shape(size)}, type)}, type));
            const std::int64_t flat[] = {6, 3, channels};
            axis.axis = 0;
            finish(b.add1(Op::reverse, {b.add1(Op::reshape, {cheap(6), b.shape(flat)}, type)}, type, axis));
            Graph graph = b.finish();
            PlanOptions apart;
            apart.fuse_moved = false;
            // Roundings of fp16 are too much to make four for one.
            if (channels == 8 || type != DType::fp16) {
                EXPECT_LT(make_plan(graph, device_->plan(), {}).dispatches.size(),
                          make_plan(graph, device_->plan(), apart).dispatches.size());
            }
            compare_all(std::move(graph), fmt::format("moved values of {}, {} channels", name_of(type), channels));
        }
    }
}

TEST_F(Passes, MovesOfMoves) {
    GraphBuilder b("moves");
    const ValueId x = b.input("x", DType::fp32, {4, 6, 9});
    Attributes turn;
    turn.perms = {1, 2, 0};
    const ValueId once = b.add1(Op::transpose, {x}, DType::fp32, turn),
                  twice = b.add1(Op::transpose, {once}, DType::fp32, turn);
    const ValueId thrice = b.add1(Op::transpose, {twice}, DType::fp32, turn);
    b.output(b.add1(Op::abs, {once}, DType::fp32));
    b.output(twice);
    b.output(b.add1(Op::add, {thrice, x}, DType::fp32));
    const auto slice = [&](ValueId of, const Shape& start, const Shape& size) {
        return b.add1(Op::slice, {of, b.shape(start), b.shape(size)}, DType::fp32);
    };
    const ValueId part = slice(x, {1, 1, 1}, {3, 4, 7});
    b.output(slice(slice(part, {1, 0, 2}, {2, 4, 5}), {0, 1, 1}, {2, 3, 3}));
    b.output(b.add1(Op::exp, {part}, DType::fp32));
    Attributes last;
    last.axis = 2;
    const ValueId both = b.add1(Op::concat, {b.add1(Op::abs, {x}, DType::fp32), x}, DType::fp32, last);
    b.output(b.add1(Op::concat, {b.add1(Op::exp, {x}, DType::fp32), both, x, both}, DType::fp32, last));
    b.output(b.add1(Op::concat, {x, b.add1(Op::concat, {x, b.add1(Op::floor, {x}, DType::fp32)}, DType::fp32, last)},
                    DType::fp32, last));
    compare_all(b.finish(), "moves of moves");
}

TEST_F(Passes, NetworksKeepTheirBits) {
    for (const char* line : {"network transformer f32 size9", "network unet i8 size16", "network lstm i8 size20"})
        compare_all(load_problem(line), line);
}

TEST_F(Passes, RecordedNetworkKeepsItsBits) {
    TOSAVK_NEEDS_CORPUS(test::corpus());
    compare_all(import_file(test::corpus() / "models" / "kws_int8" / "model.tflite", {}), "kws_int8");
}

}  // namespace
}  // namespace tosavk
