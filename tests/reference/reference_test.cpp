// The oracle itself: runs of whole graphs, random tensors, and the comparison rules.
#include "support/one_node.hpp"

#include "ops/builder.hpp"
#include "ops/tolerance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

using namespace tosavk;
using namespace tosavk::testing;

namespace {

/// y = max over rows of reshape(x) ; z = reverse(y)
Graph small_graph() {
    GraphBuilder b("small");
    const ValueId x = b.input("x", DType::i32, {6});
    const std::vector<std::int64_t> shape{2, 3};
    Attributes axis;
    const ValueId r = b.add1(Op::reshape, {x, b.shape(shape)}, DType::i32, {}, "r");
    const ValueId y = b.add1(Op::reduce_max, {r}, DType::i32, axis, "y");
    axis.axis = 1;
    const ValueId z = b.add1(Op::reverse, {y}, DType::i32, axis, "z");
    b.output(z);
    b.output(y);
    return b.finish();
}

std::string input_error(const Graph& graph, const std::vector<HostTensor>& inputs) {
    try {
        reference_run(graph, inputs);
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::bad_input) << e.what();
        return e.what();
    }
    return {};
}

OneNode matmul(const HostTensor& a, const HostTensor& b) {
    return OneNode(Op::matmul, {a, b, zero_point(DType::fp32), zero_point(DType::fp32)}, DType::fp32);
}

}  // namespace

TEST(Reference, RunsAGraph) {
    const Graph graph = small_graph();
    const std::vector<HostTensor> inputs{ints(DType::i32, {6}, {1, 5, 3, 4, 2, 6})};
    const auto outputs = reference_run(graph, inputs);
    ASSERT_EQ(outputs.size(), 2u);
    EXPECT_EQ(int_values(outputs[0]), (std::vector<std::int64_t>{6, 5, 4}));
    EXPECT_EQ(int_values(outputs[1]), (std::vector<std::int64_t>{4, 5, 6}));
    const auto all = reference_run(graph, inputs, true);
    ASSERT_EQ(all.size(), graph.values.size());
    for (std::size_t id = 0; id < all.size(); ++id) {
        EXPECT_EQ(all[id].shape, graph.values[id].shape);
        EXPECT_EQ(all[id].bytes.size(), static_cast<std::size_t>(element_count(all[id].shape)) * size_of(all[id].type));
    }
}

TEST(Reference, AnInputMayBeAnOutput) {
    GraphBuilder b("through");
    const ValueId x = b.input("x", DType::i8, {2});
    b.output(b.add1(Op::identity, {x}, DType::i8));
    b.output(x);
    const Graph graph = b.finish();
    const std::vector<HostTensor> inputs{ints(DType::i8, {2}, {3, -3})};
    for (const HostTensor& out : reference_run(graph, inputs)) EXPECT_EQ(int_values(out), int_values(inputs[0]));
}

TEST(Reference, WrongInputsAreNamed) {
    const Graph graph = small_graph();
    EXPECT_REJECTED(input_error(graph, {}), "1 inputs, but 0");
    EXPECT_REJECTED(input_error(graph, {ints(DType::i32, {5}, {1, 2, 3, 4, 5})}), "'x' needs i32 of shape 6");
    EXPECT_REJECTED(input_error(graph, {ints(DType::i8, {6}, {1, 2, 3, 4, 5, 6})}), "i8");
    HostTensor cut = ints(DType::i32, {6}, {1, 2, 3, 4, 5, 6});
    cut.bytes.pop_back();
    EXPECT_REJECTED(input_error(graph, {cut}), "24 bytes");
}

TEST(RandomTensor, IsTheSameEverywhere) {
    EXPECT_EQ(int_values(random_tensor(DType::i8, {8}, 1)), int_values(random_tensor(DType::i8, {2, 4}, 1)));
    EXPECT_NE(int_values(random_tensor(DType::i8, {8}, 1)), int_values(random_tensor(DType::i8, {8}, 2)));
    const auto prefix = int_values(random_tensor(DType::i32, {3}, 42)),
               longer = int_values(random_tensor(DType::i32, {9}, 42));
    EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), longer.begin()));
    EXPECT_EQ(int_values(random_tensor(DType::i32, {3}, 42)),
              (std::vector<std::int64_t>{2059035920, 1363410610, -415710935}));
    EXPECT_EQ(real_values(random_tensor(DType::fp32, {3}, 42)),
              (std::vector<double>{0x1.60a0fcp+0, -0x1.061d7ap-1, -0x1.b43098p-2}));
}

TEST(RandomTensor, CoversTheType) {
    const auto bytes = int_values(random_tensor(DType::i8, {20000}, 5));
    EXPECT_EQ(std::set<std::int64_t>(bytes.begin(), bytes.end()).size(), 256u);
    const auto bits = int_values(random_tensor(DType::boolean, {1000}, 5));
    EXPECT_NEAR(static_cast<double>(std::count(bits.begin(), bits.end(), 1)), 500, 100);
    const auto words = int_values(random_tensor(DType::i32, {1000}, 5));
    EXPECT_GT(*std::max_element(words.begin(), words.end()), 1 << 30);
    EXPECT_LT(*std::min_element(words.begin(), words.end()), -(1 << 30));
    const auto small = int_values(random_tensor(DType::i4, {1000}, 5));
    EXPECT_EQ(*std::min_element(small.begin(), small.end()), -7);
    EXPECT_EQ(*std::max_element(small.begin(), small.end()), 7);

    const auto reals = real_values(random_tensor(DType::fp32, {20000}, 5));
    double sum = 0, squares = 0;
    for (const double v : reals) {
        ASSERT_LE(std::fabs(v), 4);
        sum += v;
        squares += v * v;
    }
    EXPECT_NEAR(sum / 20000, 0, 0.05);
    EXPECT_NEAR(std::sqrt(squares / 20000), 1.155, 0.03);
    EXPECT_THROW(random_tensor(DType::shape, {2}, 1), Error);
}

TEST(CheckResult, IntegersAreExact) {
    const OneNode node(Op::reduce_sum, {random_tensor(DType::i32, {4, 5}, 1)}, DType::i32);
    HostTensor out = node.run();
    EXPECT_TRUE(node.check(out).passed);
    EXPECT_EQ(node.check(out).worst, 0);
    out.as<std::int32_t>()[3] += 2;
    const CheckResult r = node.check(out);
    EXPECT_FALSE(r.passed);
    EXPECT_EQ(r.worst, 2);
    EXPECT_EQ(r.element, 3);
    EXPECT_EQ(r.rule, "exact");
    EXPECT_NE(r.expected, r.got);
}

TEST(CheckResult, ResultOfTheWrongShapeIsAnError) {
    const OneNode node(Op::reduce_sum, {random_tensor(DType::i32, {4, 5}, 1)}, DType::i32);
    EXPECT_THROW(node.check(HostTensor(DType::i32, {5})), Error);
    EXPECT_THROW(node.check(HostTensor(DType::fp32, {1, 5})), Error);
}

TEST(CheckResult, ExactFloatsForgiveZeroSignsAndFlushedSubnormals) {
    const OneNode node(Op::reduce_max, {floats({1, 4}, {-0.0, 1e-40, 1, NAN})}, DType::fp32);
    HostTensor out = node.run();
    EXPECT_TRUE(node.check(out).passed);
    const auto with = [&](std::size_t i, float v) {
        HostTensor changed = out;
        changed.as<float>()[i] = v;
        return node.check(changed);
    };
    EXPECT_TRUE(with(0, 0.0f).passed);
    EXPECT_TRUE(with(1, 0.0f).passed);
    EXPECT_TRUE(with(3, -std::numeric_limits<float>::quiet_NaN()).passed);
    EXPECT_FALSE(with(0, 1e-40f).passed);
    EXPECT_FALSE(with(2, std::nextafter(1.0f, 2.0f)).passed);
    EXPECT_FALSE(with(2, NAN).passed);
    EXPECT_FALSE(with(3, 1.0f).passed);
    EXPECT_EQ(with(3, 1.0f).element, 3);
}

TEST(CheckResult, DotProductBound) {
    // 300 products of size about 1: half an ulp of the sum of magnitudes is the unit.
    const HostTensor a = random_tensor(DType::fp32, {1, 20, 300}, 1), b = random_tensor(DType::fp32, {1, 300, 20}, 2);
    const OneNode node = matmul(a, b);
    const HostTensor out = node.run();
    const CheckResult good = node.check(out);
    EXPECT_TRUE(good.passed) << good.rule;
    EXPECT_GT(good.worst, 0);
    EXPECT_LT(good.worst, 0.2);
    EXPECT_NE(good.rule.find("KS=300"), std::string::npos);

    HostTensor wrong = out;
    wrong.as<float>()[7] += 0.1f;
    const CheckResult bad = node.check(wrong);
    EXPECT_FALSE(bad.passed);
    EXPECT_EQ(bad.element, 7);
    EXPECT_GT(bad.worst, 1);

    // A small systematic error stays inside the element bound, but not inside the variance bound.
    HostTensor biased = out;
    for (float& v : biased.as<float>()) v += 5e-4f;
    const CheckResult r = node.check(biased);
    EXPECT_FALSE(r.passed);
    EXPECT_NE(r.rule.find("mean square"), std::string::npos) << r.rule;

    HostTensor lost = out;
    lost.as<float>()[0] = NAN;
    EXPECT_FALSE(node.check(lost).passed);
}

TEST(CheckResult, DotProductSpecialValues) {
    // inf - inf must be NaN; an overflowing sum of magnitudes asks nothing.
    const OneNode node = matmul(floats({1, 2, 2}, {INFINITY, INFINITY, 3e38, 3e38}), floats({1, 2, 1}, {1, -1}));
    HostTensor out = node.run();
    EXPECT_TRUE(std::isnan(out.as<float>()[0]));
    EXPECT_TRUE(node.check(out).passed);
    out.as<float>()[1] = 17;
    EXPECT_TRUE(node.check(out).passed);
    out.as<float>()[0] = 0;
    EXPECT_FALSE(node.check(out).passed);
}

TEST(CheckResult, BiasAddsATermAndLocalBoundTightens) {
    const auto attrs = [](bool local) {
        Attributes a;
        a.pad = {0, 0, 0, 0};
        a.stride = {1, 1};
        a.dilation = {1, 1};
        a.acc_type = DType::fp32;
        a.local_bound = local;
        return a;
    };
    const auto input = floats({1, 1, 2, 1}, {1e-3, 1e3});
    const auto node = [&](double bias, bool local) {
        return OneNode(Op::conv2d,
                       {input, filled(DType::fp32, {1, 1, 1, 1}, 1), filled(DType::fp32, {1}, bias),
                        zero_point(DType::fp32), zero_point(DType::fp32)},
                       DType::fp32, attrs(local));
    };
    EXPECT_EQ(node(0, false).check(node(0, false).run()).rule, "dot product, KS=1");
    EXPECT_EQ(node(1, false).check(node(1, false).run()).rule, "dot product, KS=2");
    HostTensor off = node(0, false).run();
    off.as<float>()[0] += 1e-5f;  // tiny beside 1000, large beside 0.001
    EXPECT_TRUE(node(0, false).check(off).passed);
    EXPECT_FALSE(node(0, true).check(off).passed);
}

TEST(CheckResult, ProductBoundGrowsWithTheAxis) {
    const OneNode node(Op::reduce_product, {random_tensor(DType::fp32, {8, 50}, 3)}, DType::fp32);
    HostTensor out = node.run();
    EXPECT_TRUE(node.check(out).passed);
    const float v = out.as<float>()[5];
    out.as<float>()[5] = v * (1 + 2e-6f);
    EXPECT_FALSE(node.check(out).passed);
}
