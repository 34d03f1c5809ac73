// Pools, reductions and ARGMAX: hand-computed values, NaN modes, rounding, error graphs.
#include "support/one_node.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tosavk;
using namespace tosavk::testing;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

Attributes pool_attrs(std::vector<std::int32_t> kernel, std::vector<std::int32_t> stride, std::vector<std::int32_t> pad,
                      DType acc = DType::i32, NanMode nan = NanMode::propagate) {
    Attributes a;
    a.kernel = std::move(kernel);
    a.stride = std::move(stride);
    a.pad = std::move(pad);
    a.acc_type = acc;
    a.nan_mode = nan;
    return a;
}

Attributes axis_attrs(std::int32_t axis, NanMode nan = NanMode::propagate) {
    Attributes a;
    a.axis = axis;
    a.nan_mode = nan;
    return a;
}

HostTensor average(const HostTensor& in, const Attributes& a, double input_zp = 0, double output_zp = 0) {
    return run_op(Op::avg_pool2d, {in, zero_point(in.type, input_zp), zero_point(in.type, output_zp)}, in.type, a);
}

/// Same values, where NaN equals NaN.
void expect_reals(const HostTensor& t, const std::vector<double>& expected) {
    const auto got = real_values(t);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (std::isnan(expected[i])) EXPECT_TRUE(std::isnan(got[i])) << "element " << i;
        else EXPECT_EQ(got[i], expected[i]) << "element " << i;
    }
}

}  // namespace

TEST(AvgPool, PaddingIsNeitherSummedNorCounted) {
    const auto in = ints(DType::i8, {1, 2, 2, 1}, {10, 20, 30, 40});
    const auto out = average(in, pool_attrs({2, 2}, {1, 1}, {1, 1, 1, 1}));
    EXPECT_EQ(out.shape, (Shape{1, 3, 3, 1}));
    EXPECT_EQ(int_values(out), (std::vector<std::int64_t>{10, 15, 20, 20, 25, 30, 30, 35, 40}));
    const auto real =
        average(floats({1, 2, 2, 1}, {10, 20, 30, 40}), pool_attrs({2, 2}, {1, 1}, {1, 1, 1, 1}, DType::fp32));
    expect_reals(real, {10, 15, 20, 20, 25, 30, 30, 35, 40});
}

TEST(AvgPool, RoundsHalfAwayFromZero) {
    // Every sum of two i8, and windows of three and six elements.
    for (const std::int64_t n : {2, 3, 4, 6}) {
        for (std::int64_t sum = -128 * n; sum <= 127 * n; ++sum) {
            std::vector<std::int64_t> x(static_cast<std::size_t>(n));
            std::int64_t rest = sum;
            for (std::int64_t i = 0; i < n; ++i) {
                x[static_cast<std::size_t>(i)] = std::clamp<std::int64_t>(rest, -128, 127);
                rest -= x[static_cast<std::size_t>(i)];
            }
            const auto out = average(ints(DType::i8, {1, 1, n, 1}, x),
                                     pool_attrs({1, static_cast<std::int32_t>(n)}, {1, 1}, {0, 0, 0, 0}));
            ASSERT_EQ(int_values(out)[0], std::lround(static_cast<double>(sum) / static_cast<double>(n)))
                << sum << " / " << n;
        }
    }
}

TEST(AvgPool, ZeroPointsAndClipping) {
    const auto in = ints(DType::i8, {1, 1, 2, 1}, {100, 101});
    const Attributes a = pool_attrs({1, 2}, {1, 1}, {0, 0, 0, 0});
    EXPECT_EQ(int_values(average(in, a, -10, 5))[0], 116);  // mean 110.5 -> 111, + 5
    EXPECT_EQ(int_values(average(in, a, -128, 127))[0], 127);
    EXPECT_EQ(int_values(average(ints(DType::i16, {1, 1, 2, 1}, {-32768, -32767}), a))[0], -32768);
}

TEST(MaxPool, PaddingNeverWins) {
    const auto in = ints(DType::i8, {1, 2, 2, 1}, {-10, -20, -30, -40});
    const auto out = run_op(Op::max_pool2d, {in}, DType::i8, pool_attrs({2, 2}, {1, 1}, {1, 1, 1, 1}));
    EXPECT_EQ(int_values(out), (std::vector<std::int64_t>{-10, -10, -20, -10, -10, -20, -30, -30, -40}));
}

TEST(MaxPool, NanModes) {
    const auto in = floats({1, 1, 6, 1}, {1, nan_value, 2, nan_value, nan_value, -infinity});
    const auto mode = [&](NanMode m) {
        return run_op(Op::max_pool2d, {in}, DType::fp32, pool_attrs({1, 2}, {1, 1}, {0, 0, 0, 0}, DType::i32, m));
    };
    expect_reals(mode(NanMode::propagate), {nan_value, nan_value, nan_value, nan_value, nan_value});
    expect_reals(mode(NanMode::ignore), {1, 2, 2, nan_value, -infinity});
}

TEST(Pool, Errors) {
    const auto in = random_tensor(DType::i8, {1, 5, 5, 2}, 1);
    const auto message = [&](const Attributes& a) { return rejection(Op::max_pool2d, {in}, DType::i8, a); };
    EXPECT_EQ(message(pool_attrs({3, 3}, {2, 2}, {0, 0, 0, 0})), "");
    EXPECT_REJECTED(message(pool_attrs({2, 3}, {2, 2}, {0, 0, 0, 0})), "not divisible");
    EXPECT_REJECTED(message(pool_attrs({2, 2}, {1, 1}, {2, 0, 0, 0})), "less than the kernel's 2");
    EXPECT_REJECTED(message(pool_attrs({2, 2}, {1, 1}, {0, 0, 0, 2})), "width");
    EXPECT_REJECTED(message(pool_attrs({0, 2}, {1, 1}, {0, 0, 0, 0})), "kernel 0");
    EXPECT_REJECTED(message(pool_attrs({2}, {1, 1}, {0, 0, 0, 0})), "kernel has 1 values");
    EXPECT_REJECTED(message(pool_attrs({2, 2}, {1, 0}, {0, 0, 0, 0})), "stride 0");
    EXPECT_REJECTED(message(pool_attrs({2, 2}, {1, 1}, {0, -1, 0, 0})), "pad -1");
    EXPECT_REJECTED(message(pool_attrs({7, 2}, {1, 1}, {0, 0, 0, 0})), "covers 7");
    EXPECT_REJECTED(message(pool_attrs({9000, 1}, {1, 1}, {8999, 8999, 0, 0})), "level 8K");
    const Attributes a = pool_attrs({2, 2}, {1, 1}, {0, 0, 0, 0});
    const auto in16 = random_tensor(DType::i16, {1, 5, 5, 2}, 1);
    EXPECT_REJECTED(rejection(Op::avg_pool2d, {in16, zero_point(DType::i16, 1), zero_point(DType::i16)}, DType::i16, a),
                    "input_zp");
    EXPECT_REJECTED(rejection(Op::avg_pool2d, {in16, zero_point(DType::i16), zero_point(DType::i16, 1)}, DType::i16, a),
                    "output_zp");
    EXPECT_REJECTED(rejection(Op::avg_pool2d, {in, zero_point(DType::i8), zero_point(DType::i8)}, DType::i8,
                              pool_attrs({2, 2}, {1, 1}, {0, 0, 0, 0}, DType::fp32)),
                    "acc_t");
}

TEST(Reduce, EveryAxis) {
    const auto in = ints(DType::i32, {2, 2, 3}, {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6});
    const auto sum = [&](std::int32_t axis) { return run_op(Op::reduce_sum, {in}, DType::i32, axis_attrs(axis)); };
    EXPECT_EQ(sum(0).shape, (Shape{1, 2, 3}));
    EXPECT_EQ(int_values(sum(0)), (std::vector<std::int64_t>{0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(sum(1).shape, (Shape{2, 1, 3}));
    EXPECT_EQ(int_values(sum(1)), (std::vector<std::int64_t>{5, 7, 9, -5, -7, -9}));
    EXPECT_EQ(int_values(sum(2)), (std::vector<std::int64_t>{6, 15, -6, -15}));
    EXPECT_EQ(int_values(run_op(Op::reduce_max, {in}, DType::i32, axis_attrs(2))),
              (std::vector<std::int64_t>{3, 6, -1, -4}));
    EXPECT_EQ(int_values(run_op(Op::reduce_min, {in}, DType::i32, axis_attrs(2))),
              (std::vector<std::int64_t>{1, 4, -3, -6}));
}

TEST(Reduce, SumOverflowWraps) {
    const auto in = ints(DType::i32, {3}, {2147483647, 2147483647, 3});
    EXPECT_EQ(int_values(run_op(Op::reduce_sum, {in}, DType::i32, axis_attrs(0)))[0], 1);
}

TEST(Reduce, LogicalAndProduct) {
    const auto in = ints(DType::boolean, {4, 2}, {1, 0, 1, 0, 1, 1, 1, 0});
    EXPECT_EQ(int_values(run_op(Op::reduce_all, {in}, DType::boolean, axis_attrs(0))),
              (std::vector<std::int64_t>{1, 0}));
    EXPECT_EQ(int_values(run_op(Op::reduce_any, {in}, DType::boolean, axis_attrs(0))),
              (std::vector<std::int64_t>{1, 1}));
    EXPECT_EQ(int_values(run_op(Op::reduce_any, {in}, DType::boolean, axis_attrs(1))),
              (std::vector<std::int64_t>{1, 1, 1, 1}));
    const auto factors = floats({1, 4}, {2, -3, 0.5, 7});
    expect_reals(run_op(Op::reduce_product, {factors}, DType::fp32, axis_attrs(1)), {-21});
}

TEST(Reduce, NanModes) {
    const auto in = floats({3, 2}, {nan_value, 1, nan_value, nan_value, nan_value, -3});
    expect_reals(run_op(Op::reduce_max, {in}, DType::fp32, axis_attrs(0)), {nan_value, nan_value});
    expect_reals(run_op(Op::reduce_max, {in}, DType::fp32, axis_attrs(0, NanMode::ignore)), {nan_value, 1});
    expect_reals(run_op(Op::reduce_min, {in}, DType::fp32, axis_attrs(0, NanMode::ignore)), {nan_value, -3});
    const auto low = floats({2}, {-infinity, -infinity});
    expect_reals(run_op(Op::reduce_max, {low}, DType::fp32, axis_attrs(0)), {-infinity});
    expect_reals(run_op(Op::reduce_min, {low}, DType::fp32, axis_attrs(0)), {-infinity});
}

TEST(ArgMax, FirstMaximumWinsAndTheAxisDisappears) {
    const auto in = ints(DType::i8, {2, 3}, {5, 7, 7, -128, -128, -128});
    const auto out = run_op(Op::argmax, {in}, DType::i32, axis_attrs(1));
    EXPECT_EQ(out.shape, (Shape{2}));
    EXPECT_EQ(int_values(out), (std::vector<std::int64_t>{1, 0}));
    EXPECT_EQ(int_values(run_op(Op::argmax, {in}, DType::i32, axis_attrs(0))), (std::vector<std::int64_t>{0, 0, 0}));
    EXPECT_EQ(run_op(Op::argmax, {floats({3}, {1, 2, 0})}, DType::i32, axis_attrs(0)).shape, Shape{});
}

TEST(ArgMax, NanModes) {
    const auto in = floats({5, 4}, {1,         nan_value, nan_value, -0.0,  //
                                    3,         9,         nan_value, 0.0,   //
                                    nan_value, nan_value, nan_value, -1,    //
                                    8,         10,        nan_value, 0.0,   //
                                    nan_value, 2,         nan_value, -infinity});
    EXPECT_EQ(int_values(run_op(Op::argmax, {in}, DType::i32, axis_attrs(0))), (std::vector<std::int64_t>{2, 0, 0, 0}));
    EXPECT_EQ(int_values(run_op(Op::argmax, {in}, DType::i32, axis_attrs(0, NanMode::ignore))),
              (std::vector<std::int64_t>{3, 3, 0, 0}));
}

TEST(Reduce, Errors) {
    const auto in = random_tensor(DType::i32, {2, 3}, 1);
    for (const Op op : {Op::reduce_sum, Op::reduce_max, Op::reduce_min}) {
        EXPECT_REJECTED(rejection(op, {in}, DType::i32, axis_attrs(2)), "axis 2");
        EXPECT_REJECTED(rejection(op, {in}, DType::i32, axis_attrs(-1)), "axis -1");
        EXPECT_EQ(rejection(op, {in}, DType::i32, axis_attrs(1)), "");
    }
    EXPECT_REJECTED(rejection(Op::reduce_sum, {random_tensor(DType::i8, {2}, 1)}, DType::i8, axis_attrs(0)),
                    "not supported");
    EXPECT_REJECTED(rejection(Op::argmax, {random_tensor(DType::i8, {2}, 1)}, DType::i32, axis_attrs(1)), "axis 1");
}

TEST(ReducePool, DeclaredResultsPassTheirOwnBound) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const auto in = random_tensor(DType::fp32, {2, 9, 7, 5}, seed);
        for (const Op op : {Op::reduce_sum, Op::reduce_product, Op::reduce_max, Op::reduce_min}) {
            const OneNode node(op, {in}, DType::fp32, axis_attrs(static_cast<std::int32_t>(seed % 4)));
            const CheckResult r = node.check(node.run());
            EXPECT_TRUE(r.passed) << name_of(op) << " " << r.rule << " expected " << r.expected << " got " << r.got;
            EXPECT_LE(r.worst, 1);
        }
        const OneNode pool(Op::avg_pool2d, {in, zero_point(DType::fp32), zero_point(DType::fp32)}, DType::fp32,
                           pool_attrs({3, 3}, {2, 2}, {1, 1, 1, 1}, DType::fp32));
        const CheckResult r = pool.check(pool.run());
        EXPECT_TRUE(r.passed) << r.rule << " expected " << r.expected << " got " << r.got;
    }
}
