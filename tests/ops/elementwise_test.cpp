// Elementwise operators: reference results computed by hand from the specification, error conditions, bounds, and the
// text that goes into shaders.
// Longer than 500 lines: one small case after another.
#include "graph/graph.hpp"
#include "graph/host_tensor.hpp"
#include "ops/builder.hpp"
#include "ops/op.hpp"
#include "ops/tolerance.hpp"
#include "reference/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

using namespace tosavk;

namespace {

using Ints = std::vector<std::int64_t>;
using Reals = std::vector<double>;

const double inf = std::numeric_limits<double>::infinity();
const double nan_value = std::numeric_limits<double>::quiet_NaN();

struct Operand {
    DType type;
    Shape shape;
    Bytes bytes;
    bool constant = false;
};

Operand ints(DType type, const Ints& v, Shape shape = {}) {
    if (shape.empty()) shape = {static_cast<std::int64_t>(v.size())};
    return {type, shape, encode_ints(type, v)};
}

Operand reals(const Reals& v, Shape shape = {}) {
    if (shape.empty()) shape = {static_cast<std::int64_t>(v.size())};
    return {DType::fp32, shape, encode_reals(DType::fp32, v)};
}

Operand fixed(Operand o) {
    o.constant = true;
    return o;
}

Operand number(DType type, std::int64_t v) { return fixed(ints(type, {v})); }

// One node with its inputs.
struct Case {
    Graph graph;
    std::vector<HostTensor> tensors;

    Case(Op op, const std::vector<Operand>& operands, DType out, const Attributes& attrs = {}) {
        GraphBuilder b;
        std::vector<ValueId> ids;
        for (const Operand& o : operands) {
            ids.push_back(o.constant ? b.constant("c" + std::to_string(ids.size()), o.type, o.shape, o.bytes)
                                     : b.input("x" + std::to_string(ids.size()), o.type, o.shape));
            HostTensor t(o.type, o.shape);
            t.bytes = o.bytes;
            tensors.push_back(t);
        }
        b.output(b.add1(op, ids, out, attrs, "n"));
        graph = b.finish();
    }

    RefContext run(bool fp64 = false) {
        for (const HostTensor& t : tensors) pointers_.push_back(&t);
        RefContext c(NodeView(graph, 0), pointers_, fp64);
        op_def(graph.node(0).op).reference(c);
        return c;
    }

private:
    std::vector<const HostTensor*> pointers_;
};

Ints run_ints(Op op, const std::vector<Operand>& operands, DType out, const Attributes& attrs = {}) {
    Case c(op, operands, out, attrs);
    const RefContext r = c.run();
    return decode_ints(out, r.outputs[0].bytes);
}

Reals run_reals(Op op, const std::vector<Operand>& operands, const Attributes& attrs = {}) {
    Case c(op, operands, DType::fp32, attrs);
    const RefContext r = c.run();
    return decode_reals(DType::fp32, r.outputs[0].bytes);
}

// Equal, NaN equal to NaN, zeros told apart.
void expect_same(const Reals& got, const Reals& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (std::isnan(expected[i])) EXPECT_TRUE(std::isnan(got[i])) << i << ": " << got[i];
        else {
            EXPECT_EQ(got[i], expected[i]) << i;
            EXPECT_EQ(std::signbit(got[i]), std::signbit(expected[i])) << i;
        }
    }
}

void expect_error(const std::function<void()>& f, const char* part) {
    try {
        f();
        ADD_FAILURE() << "no error; expected '" << part << "'";
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::bad_model);
        EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << part << " in: " << e.what();
        EXPECT_NE(std::string(e.what()).find("'n'"), std::string::npos) << e.what();
    }
}

// Bounds of a unary or binary float operator on these inputs, with the fp64 reference.
std::pair<Reals, Reals> bounds(Op op, const std::vector<Operand>& operands) {
    Case c(op, operands, DType::fp32);
    RefContext r = c.run(true);
    const Tolerance t = op_def(op).tolerance(r, 0, r.reals[0]);
    EXPECT_EQ(t.kind, Tolerance::Kind::check);
    return {r.reals[0], t.bound};
}

// Names inputs a, b, c... and constants p(value).
class TextContext : public ExprContext {
public:
    explicit TextContext(const Graph& graph) : view_(graph, 0) {}
    const NodeView& view() const override { return view_; }
    std::string in(std::size_t k) override { return std::string(1, static_cast<char>('a' + k)); }
    std::string table(std::size_t k, const std::string& index4) override { return in(k) + "[" + index4 + "]"; }
    std::string param(std::int32_t value) override { return "p(" + std::to_string(value) + ")"; }
    std::string param_float(float value) override { return "f(" + std::to_string(static_cast<int>(value)) + ")"; }
    std::optional<std::int64_t> known(std::size_t k) const override {
        const Value& v = view_.in(k);
        if (!v.is_constant() || element_count(v.shape) != 1) return std::nullopt;
        return decode_ints(v.type, *v.data)[0];
    }

private:
    NodeView view_;
};

std::string text_of(Op op, const std::vector<Operand>& operands, DType out, const Attributes& attrs = {}) {
    Case c(op, operands, out, attrs);
    TextContext context(c.graph);
    return op_def(op).expression(context);
}

constexpr DType i8 = DType::i8, i16 = DType::i16, i32 = DType::i32, boolean = DType::boolean, fp32 = DType::fp32;

}  // namespace

// ---- binary -------------------------------------------------------------------------------------------------------

TEST(Elementwise, Arithmetic) {
    EXPECT_EQ(run_ints(Op::add, {ints(i32, {1, -5, 2000000000}), ints(i32, {2, 3, 147483647})}, i32),
              (Ints{3, -2, 2147483647}));
    EXPECT_EQ(run_ints(Op::sub, {ints(i32, {1, -5}), ints(i32, {2, 3})}, i32), (Ints{-1, -8}));
    expect_same(run_reals(Op::add, {reals({1, 16777216, inf, inf, nan_value}), reals({-0.5, 1, 1, -inf, 1})}),
                {0.5, 16777216, inf, nan_value, nan_value});
    expect_same(run_reals(Op::sub, {reals({1, inf}), reals({-0.5, inf})}), {1.5, nan_value});
    expect_same(run_reals(Op::mul, {reals({3, inf, -0.0}), reals({-0.5, 0, 2}), number(i8, 0)}),
                {-1.5, nan_value, -0.0});
}

TEST(Elementwise, Broadcast) {
    EXPECT_EQ(run_ints(Op::add, {ints(i32, {1, 2}, {2, 1}), ints(i32, {10, 20, 30}, {1, 3})}, i32),
              (Ints{11, 21, 31, 12, 22, 32}));
    EXPECT_EQ(
        run_ints(Op::select,
                 {ints(boolean, {1, 0}, {2, 1, 1}), ints(i8, {1, 2, 3}, {1, 1, 3}), ints(i8, {7}, {1, 1, 1})}, i8),
        (Ints{1, 2, 3, 7, 7, 7}));
}

TEST(Elementwise, MulShift) {
    EXPECT_EQ(run_ints(Op::mul, {ints(i8, {-128, 127}), ints(i8, {-128, 2}), number(i8, 0)}, i32), (Ints{16384, 254}));
    EXPECT_EQ(run_ints(Op::mul, {ints(i16, {-32768}), ints(i16, {-32768}), number(i8, 0)}, i32), (Ints{1073741824}));
    EXPECT_EQ(run_ints(Op::mul, {ints(i32, {65536, 3, -3}), ints(i32, {65536, 1, 1}), number(i8, 0)}, i32),
              (Ints{0, 3, -3}));
    EXPECT_EQ(run_ints(Op::mul, {ints(i32, {65536, 3, -3}), ints(i32, {65536, 1, 1}), number(i8, 1)}, i32),
              (Ints{-2147483648LL, 2, -1}));
    expect_error([] { Case(Op::mul, {ints(i32, {1}), ints(i32, {1}), number(i8, 64)}, i32); }, "0 to 63");
    expect_error([] { Case(Op::mul, {ints(i8, {1}), ints(i8, {1}), number(i8, 1)}, i32); }, "must be 0");
    expect_error([] { Case(Op::mul, {ints(i8, {1}), ints(i8, {1}), fixed(ints(i8, {0, 0}))}, i32); }, "shape 1");
}

TEST(Elementwise, Division) {
    EXPECT_EQ(run_ints(Op::intdiv, {ints(i32, {7, -7, 7, -7}), ints(i32, {2, 2, -2, -2})}, i32), (Ints{3, -3, -3, 3}));
}

TEST(Elementwise, MaximumMinimum) {
    Attributes ignore;
    ignore.nan_mode = NanMode::ignore;
    const Operand a = reals({1, nan_value, 2, nan_value, -inf}), b = reals({2, 1, nan_value, nan_value, 0});
    expect_same(run_reals(Op::maximum, {a, b}), {2, nan_value, nan_value, nan_value, 0});
    expect_same(run_reals(Op::maximum, {a, b}, ignore), {2, 1, 2, nan_value, 0});
    expect_same(run_reals(Op::minimum, {a, b}), {1, nan_value, nan_value, nan_value, -inf});
    expect_same(run_reals(Op::minimum, {a, b}, ignore), {1, 1, 2, nan_value, -inf});
    EXPECT_EQ(run_ints(Op::maximum, {ints(i32, {-1, 5}), ints(i32, {-2, 6})}, i32), (Ints{-1, 6}));
    EXPECT_EQ(run_ints(Op::minimum, {ints(i32, {-1, 5}), ints(i32, {-2, 6})}, i32), (Ints{-2, 5}));
}

TEST(Elementwise, BitsAndLogic) {
    const Operand a = ints(i8, {0b0101, -1}), b = ints(i8, {0b0011, 0x55});
    EXPECT_EQ(run_ints(Op::bitwise_and, {a, b}, i8), (Ints{0b0001, 0x55}));
    EXPECT_EQ(run_ints(Op::bitwise_or, {a, b}, i8), (Ints{0b0111, -1}));
    EXPECT_EQ(run_ints(Op::bitwise_xor, {a, b}, i8), (Ints{0b0110, -86}));
    EXPECT_EQ(run_ints(Op::bitwise_not, {a}, i8), (Ints{-6, 0}));
    const Operand p = ints(boolean, {0, 0, 1, 1}), q = ints(boolean, {0, 1, 0, 1});
    EXPECT_EQ(run_ints(Op::logical_and, {p, q}, boolean), (Ints{0, 0, 0, 1}));
    EXPECT_EQ(run_ints(Op::logical_or, {p, q}, boolean), (Ints{0, 1, 1, 1}));
    EXPECT_EQ(run_ints(Op::logical_xor, {p, q}, boolean), (Ints{0, 1, 1, 0}));
    EXPECT_EQ(run_ints(Op::logical_not, {p}, boolean), (Ints{1, 1, 0, 0}));
    // Any byte that is not zero is true.
    Operand loose = ints(boolean, {1, 1});
    loose.bytes = {std::byte{0x80}, std::byte{2}};
    EXPECT_EQ(run_ints(Op::logical_and, {loose, loose}, boolean), (Ints{1, 1}));
}

TEST(Elementwise, Shifts) {
    EXPECT_EQ(run_ints(Op::logical_left_shift, {ints(i8, {1, 3, -1}), ints(i8, {7, 7, 4})}, i8),
              (Ints{-128, -128, -16}));
    EXPECT_EQ(run_ints(Op::logical_left_shift, {ints(i32, {1, -1}), ints(i32, {31, 1})}, i32),
              (Ints{-2147483648LL, -2}));
    EXPECT_EQ(run_ints(Op::logical_right_shift, {ints(i8, {-1, -128, -1}), ints(i8, {1, 7, 0})}, i8),
              (Ints{127, 1, -1}));
    EXPECT_EQ(run_ints(Op::logical_right_shift, {ints(i16, {-1}), ints(i16, {4})}, i16), (Ints{0x0fff}));
    EXPECT_EQ(run_ints(Op::logical_right_shift, {ints(i32, {-1}), ints(i32, {31})}, i32), (Ints{1}));
    Attributes round;
    round.round = true;
    const Operand a = ints(i16, {5, -5, 7, -1, 5}), s = ints(i16, {1, 1, 2, 15, 0});
    EXPECT_EQ(run_ints(Op::arithmetic_right_shift, {a, s}, i16), (Ints{2, -3, 1, -1, 5}));
    EXPECT_EQ(run_ints(Op::arithmetic_right_shift, {a, s}, i16, round), (Ints{3, -2, 2, 0, 5}));
}

TEST(Elementwise, Comparisons) {
    EXPECT_EQ(run_ints(Op::equal, {ints(i32, {1, 2}), ints(i32, {1, 3})}, boolean), (Ints{1, 0}));
    const Operand a = reals({1, 0, nan_value, inf}), b = reals({0, -0.0, nan_value, inf});
    EXPECT_EQ(run_ints(Op::equal, {a, b}, boolean), (Ints{0, 1, 0, 1}));
    EXPECT_EQ(run_ints(Op::greater, {a, b}, boolean), (Ints{1, 0, 0, 0}));
    EXPECT_EQ(run_ints(Op::greater_equal, {a, b}, boolean), (Ints{1, 1, 0, 1}));
    expect_error([] { Case(Op::equal, {ints(i8, {1}), ints(i8, {1})}, boolean); }, "in_t=i8");
}

TEST(Elementwise, Select) {
    expect_same(run_reals(Op::select, {ints(boolean, {1, 0, 1}), reals({-0.0, 1, nan_value}), reals({2, -3, 4})}),
                {-0.0, -3, nan_value});
    EXPECT_EQ(run_ints(Op::select, {ints(boolean, {1, 0}), ints(boolean, {0, 0}), ints(boolean, {1, 1})}, boolean),
              (Ints{0, 1}));
}

// ---- unary --------------------------------------------------------------------------------------------------------

TEST(Elementwise, AbsClzNegate) {
    EXPECT_EQ(run_ints(Op::abs, {ints(i32, {-5, 0, 2147483647})}, i32), (Ints{5, 0, 2147483647}));
    expect_same(run_reals(Op::abs, {reals({-0.5, -0.0, -inf, nan_value})}), {0.5, 0.0, inf, nan_value});
    EXPECT_EQ(run_ints(Op::clz, {ints(i32, {0, 1, -1, 65536})}, i32), (Ints{32, 31, 0, 15}));
    EXPECT_EQ(run_ints(Op::negate, {ints(i8, {-128, 5, 127}), number(i8, 0), number(i8, 0)}, i8),
              (Ints{127, -5, -127}));
    // 0 - (x - 10) - 20, saturated
    EXPECT_EQ(run_ints(Op::negate, {ints(i8, {-128, 5, 127}), number(i8, 10), number(i8, -20)}, i8),
              (Ints{118, -15, -128}));
    EXPECT_EQ(run_ints(Op::negate, {ints(i16, {-32768, 1}), number(i16, 0), number(i16, 0)}, i16), (Ints{32767, -1}));
    const Operand zero = fixed(reals({0}));
    expect_same(run_reals(Op::negate, {reals({0.0, -0.0, inf, 1.5}), zero, zero}), {-0.0, 0.0, -inf, -1.5});
    expect_error([] { Case(Op::negate, {ints(i16, {1}), number(i16, 1), number(i16, 0)}, i16); },
                 "input1_zp must be 0");
    expect_error([&] { Case(Op::negate, {reals({1}), zero, fixed(reals({1}))}, fp32); }, "output_zp must be 0");
}

TEST(Elementwise, FloatSpecialValues) {
    const Operand special = reals({-inf, inf, -0.0, 0.0, nan_value});
    expect_same(run_reals(Op::ceil, {special}), {-inf, inf, -0.0, 0.0, nan_value});
    expect_same(run_reals(Op::floor, {special}), {-inf, inf, -0.0, 0.0, nan_value});
    expect_same(run_reals(Op::cos, {special}), {nan_value, nan_value, 1, 1, nan_value});
    expect_same(run_reals(Op::sin, {special}), {nan_value, nan_value, -0.0, 0.0, nan_value});
    expect_same(run_reals(Op::exp, {special}), {0.0, inf, 1, 1, nan_value});
    expect_same(run_reals(Op::log, {special}), {nan_value, inf, -inf, -inf, nan_value});
    expect_same(run_reals(Op::reciprocal, {special}), {-0.0, 0.0, -inf, inf, nan_value});
    expect_same(run_reals(Op::rsqrt, {special}), {nan_value, 0.0, -inf, inf, nan_value});
    expect_same(run_reals(Op::sigmoid, {special}), {0.0, 1, 0.5, 0.5, nan_value});
    expect_same(run_reals(Op::tanh, {special}), {-1, 1, -0.0, 0.0, nan_value});
    expect_same(run_reals(Op::erf, {special}), {-1, 1, -0.0, 0.0, nan_value});
    expect_same(run_reals(Op::ceil, {reals({0.5, -0.5, 2})}), {1, -0.0, 2});
    expect_same(run_reals(Op::floor, {reals({0.5, -0.5, 2})}), {0, -1, 2});
    expect_same(run_reals(Op::pow, {reals({2, 0, 4, 3}), reals({10, 2, -0.5, 0})}), {1024, 0, 0.5, 1});
    expect_same(run_reals(Op::exp, {reals({89})}), {inf});
}

// ---- activation ---------------------------------------------------------------------------------------------------

TEST(Activation, Clamp) {
    Attributes a;
    a.min_val = -1;
    a.max_val = 6;
    EXPECT_EQ(run_ints(Op::clamp, {ints(i8, {-128, 0, 127})}, i8, a), (Ints{-1, 0, 6}));
    EXPECT_EQ(run_ints(Op::clamp, {ints(i16, {-300, 5, 300})}, i16, a), (Ints{-1, 5, 6}));
    expect_same(run_reals(Op::clamp, {reals({-2, 0.5, inf, nan_value})}, a), {-1, 0.5, 6, nan_value});
    a.nan_mode = NanMode::ignore;
    expect_same(run_reals(Op::clamp, {reals({nan_value})}, a), {-1});
    Attributes bad = a;
    bad.min_val = 7;
    expect_error([&] { Case(Op::clamp, {ints(i8, {1})}, i8, bad); }, "greater than");
    bad.min_val = nan_value;
    expect_error([&] { Case(Op::clamp, {reals({1})}, fp32, bad); }, "NaN");
    bad = a;
    bad.max_val = 200;
    expect_error([&] { Case(Op::clamp, {ints(i8, {1})}, i8, bad); }, "200 is not a value of type i8");
    bad.max_val = 0.1;
    expect_error([&] { Case(Op::clamp, {reals({1})}, fp32, bad); }, "fp32");
}

// ---- bounds -------------------------------------------------------------------------------------------------------

TEST(Bounds, FollowTheAccuracyRules) {
    const double e = std::ldexp(1, -23);
    {
        const auto [r, b] = bounds(Op::exp, {reals({2, 1000, -inf})});
        EXPECT_DOUBLE_EQ(b[0], e * std::exp(2.0) * 7);
        EXPECT_EQ(b[1], 0);  // infinity and nothing else
        EXPECT_EQ(r[1], inf);
        EXPECT_EQ(r[2], 0);
    }
    EXPECT_DOUBLE_EQ(bounds(Op::log, {reals({1})}).second[0], e * 0.5);
    EXPECT_DOUBLE_EQ(bounds(Op::log, {reals({100})}).second[0], e * 5 * std::log(100.0));
    EXPECT_DOUBLE_EQ(bounds(Op::sigmoid, {reals({0})}).second[0], e * 0.5 * 2);
    EXPECT_DOUBLE_EQ(bounds(Op::tanh, {reals({0})}).second[0], e * 0.5);
    EXPECT_DOUBLE_EQ(bounds(Op::tanh, {reals({4})}).second[0], e * 44 * std::tanh(4.0));
    EXPECT_DOUBLE_EQ(bounds(Op::cos, {reals({3})}).second[0], std::exp2(-11.5) * 4);
    EXPECT_DOUBLE_EQ(bounds(Op::sin, {reals({3})}).second[0], std::exp2(-11.5) * 6);
    EXPECT_DOUBLE_EQ(bounds(Op::erf, {reals({0.1})}).second[0], 5 * ulp(fp32, std::erf(static_cast<double>(0.1f))));
    EXPECT_DOUBLE_EQ(bounds(Op::rsqrt, {reals({4})}).second[0], 2 * e / 2);
    EXPECT_DOUBLE_EQ(bounds(Op::reciprocal, {reals({4})}).second[0], e / 4);
    EXPECT_DOUBLE_EQ(bounds(Op::add, {reals({1}), reals({0.5})}).second[0], e / 2);
    {
        const auto [r, b] = bounds(Op::pow, {reals({2, 0, 5, -1, 2}), reals({3, 2, 0, 0.5, inf})});
        const double x = 3 * std::log(2.0), m = e * 5.5 * x;
        EXPECT_DOUBLE_EQ(b[0], 8 * std::expm1(m) + e * 8 * (3 + 2 * (x + m)));
        EXPECT_EQ(b[1], 0);
        EXPECT_EQ(b[2], 0);
        EXPECT_EQ(b[3], inf);  // open operands: every result passes
        EXPECT_EQ(b[4], inf);
        EXPECT_TRUE(check_value(fp32, nan_value, r[3], b[3]));
    }
}

TEST(Bounds, InputsMayBeFlushed) {
    const auto passes = [](Op op, const std::vector<Operand>& operands, double result) {
        const Case c(op, operands, fp32);
        std::vector<const HostTensor*> inputs;
        for (const HostTensor& t : c.tensors) inputs.push_back(&t);
        HostTensor actual(fp32, {1});
        actual.bytes = encode_reals(fp32, std::span<const double>(&result, 1));
        return check_node_result(NodeView(c.graph, 0), inputs, 0, actual).passed;
    };
    const double tiny = 1e-39;
    EXPECT_TRUE(passes(Op::log, {reals({tiny})}, -inf));
    EXPECT_TRUE(passes(Op::log, {reals({tiny})}, std::log(tiny)));
    EXPECT_FALSE(passes(Op::log, {reals({tiny})}, -89));
    EXPECT_TRUE(passes(Op::mul, {reals({tiny}), reals({1e30}), number(i8, 0)}, 0));
    EXPECT_TRUE(passes(Op::mul, {reals({tiny}), reals({1e30}), number(i8, 0)}, static_cast<float>(tiny) * 1e30));
    EXPECT_FALSE(passes(Op::mul, {reals({tiny}), reals({1e30}), number(i8, 0)}, 5e-10));
    EXPECT_TRUE(passes(Op::rsqrt, {reals({-tiny})}, -inf));
}

// ---- CAST, TABLE, RESCALE -----------------------------------------------------------------------------------------

TEST(Cast, AllKinds) {
    EXPECT_EQ(run_ints(Op::cast, {ints(i32, {300, -1, 0x7fffff80})}, i8), (Ints{44, -1, -128}));
    EXPECT_EQ(run_ints(Op::cast, {ints(i8, {-128, 127})}, i32), (Ints{-128, 127}));
    EXPECT_EQ(run_ints(Op::cast, {ints(i16, {256, 0, -1})}, boolean), (Ints{1, 0, 1}));
    EXPECT_EQ(run_ints(Op::cast, {ints(boolean, {1, 0})}, i16), (Ints{1, 0}));
    EXPECT_EQ(run_ints(Op::cast, {reals({0.5, 1.5, -2.5, 1e9, -inf, inf})}, i8), (Ints{0, 2, -2, 127, -128, 127}));
    EXPECT_EQ(run_ints(Op::cast, {reals({2147483648.0, -3e9})}, i32), (Ints{2147483647, -2147483648LL}));
    expect_same(run_reals(Op::cast, {ints(i32, {16777217, 16777219, -1})}), {16777216, 16777220, -1});
    expect_error([] { Case(Op::cast, {ints(boolean, {1})}, fp32); }, "in_t=bool, out_t=fp32");
}

TEST(Table, LookupAndInterpolation) {
    Ints small(256), large(513);
    for (std::size_t i = 0; i < 256; ++i) small[i] = 127 - static_cast<std::int64_t>(i);
    for (std::size_t i = 0; i < 513; ++i) large[i] = static_cast<std::int64_t>(i) * 10;
    EXPECT_EQ(run_ints(Op::table, {ints(i8, {-128, 0, 127}), fixed(ints(i8, small))}, i8), (Ints{127, -1, -128}));
    EXPECT_EQ(run_ints(Op::table, {ints(i16, {-32768, 0, 1, 32767}), fixed(ints(i16, large))}, i32),
              (Ints{0, 2560 * 128, 2560 * 128 + 10, 5110 * 128 + 10 * 127}));
    small.pop_back();
    expect_error([&] { Case(Op::table, {ints(i8, {1}), fixed(ints(i8, small))}, i8); }, "256 entries");
    large[1] = -32768;
    large[2] = 32767;
    expect_error([&] { Case(Op::table, {ints(i16, {1}), fixed(ints(i16, large))}, i32); }, "does not fit i16");
}

namespace {

std::vector<Operand> rescale(const Operand& x, const Ints& m, const Ints& s, std::int64_t izp, std::int64_t ozp,
                             DType out, DType mul = i32) {
    return {x, fixed(ints(mul, m)), fixed(ints(i8, s)), number(x.type, izp), number(out, ozp)};
}

}  // namespace

TEST(Rescale, PerTensorAndPerChannel) {
    // multiplier 2^30, shift 31: halves, rounding half up
    EXPECT_EQ(run_ints(Op::rescale, rescale(ints(i32, {3, -3, 1000, -1000}), {1 << 30}, {31}, 0, 0, i8), i8),
              (Ints{2, -1, 127, -128}));
    EXPECT_EQ(run_ints(Op::rescale, rescale(ints(i8, {10, -128}), {1 << 30}, {31}, 2, -5, i8), i8), (Ints{-1, -70}));
    Attributes per_channel;
    per_channel.per_channel = true;
    EXPECT_EQ(run_ints(Op::rescale, rescale(ints(i32, {8, 8, -8, -8}, {2, 2}), {1 << 30, 1 << 30}, {31, 32}, 0, 0, i16),
                       i16, per_channel),
              (Ints{4, 2, -4, -2}));
    Attributes twice;
    twice.rounding = Rounding::double_round;
    EXPECT_EQ(run_ints(Op::rescale, rescale(ints(i32, {-2, 2}), {1 << 30}, {32}, 0, 0, i32), i32, twice),
              (Ints{-1, 1}));
    EXPECT_EQ(run_ints(Op::rescale, rescale(ints(i32, {-2, 2}), {1 << 30}, {32}, 0, 0, i32), i32), (Ints{0, 1}));
    Attributes narrow;
    narrow.scale32 = false;
    EXPECT_EQ(run_ints(Op::rescale, rescale(ints(i32, {100, -100}), {1 << 14}, {15}, 0, 0, i16, i16), i16, narrow),
              (Ints{50, -50}));
}

TEST(Rescale, Unsigned) {
    Attributes in;
    in.input_unsigned = true;
    // u8 200 with zero point 128 (the byte 0x80): 72 -> i8
    EXPECT_EQ(run_ints(Op::rescale, rescale(ints(i8, {-56, 0, -1}), {1 << 30}, {30}, -128, 0, i8), i8, in),
              (Ints{72, -128, 127}));
    EXPECT_EQ(run_ints(Op::rescale, rescale(ints(i16, {-1, 0}), {1 << 30}, {30}, -32768, 0, i16), i16, in),
              (Ints{32767, -32768}));
    Attributes out;
    out.output_unsigned = true;
    // i8 -> u8 with output zero point 128; 255 is the byte 0xff
    EXPECT_EQ(run_ints(Op::rescale, rescale(ints(i8, {-128, 0, 127}), {1 << 30}, {30}, 0, -128, i8), i8, out),
              (Ints{0, -128, -1}));
    EXPECT_EQ(run_ints(Op::rescale, rescale(ints(i8, {-1, 1}), {1 << 30}, {30}, 0, 0, i8), i8, out), (Ints{0, 1}));
}

TEST(Rescale, Errors) {
    const Operand x = ints(i8, {1, 2}, {1, 2}), x16 = ints(i16, {1}), x32 = ints(i32, {1});
    const auto expect = [](std::vector<Operand> operands, DType out, const Attributes& a, const char* part) {
        expect_error([&] { Case(Op::rescale, operands, out, a); }, part);
    };
    Attributes in, out, both, single16, double16, channels;
    in.input_unsigned = true;
    out.output_unsigned = true;
    both.input_unsigned = both.output_unsigned = true;
    single16.scale32 = false;
    double16.scale32 = false;
    double16.rounding = Rounding::double_round;
    channels.per_channel = true;
    expect(rescale(x16, {1}, {2}, 5, 0, i8), i8, {}, "input_zp must be 0");
    expect(rescale(x, {1}, {2}, 0, 5, i32), i32, {}, "output_zp must be 0");
    expect(rescale(x16, {1}, {2}, 5, 0, i8), i8, in, "0 or 32768");
    expect(rescale(x, {1}, {2}, 0, 5, i16), i16, out, "0 or 32768");
    expect(rescale(x, {1}, {2}, 0, 0, i8), i8, both, "both");
    expect(rescale(x32, {1}, {2}, 0, 0, i8), i8, in, "input_unsigned");
    expect(rescale(x, {1}, {2}, 0, 0, i32), i32, in, "input_unsigned");
    expect(rescale(x32, {1}, {2}, 0, 0, i8), i8, out, "output_unsigned");
    expect(rescale(x, {1}, {2}, 0, 0, i32), i32, out, "output_unsigned");
    expect(rescale(x, {1}, {2}, 0, 0, i8, i16), i8, double16, "DOUBLE_ROUND");
    expect(rescale(x, {1}, {2}, 0, 0, i8), i8, single16, "needs i16");
    expect(rescale(x, {1, 1, 1}, {2, 2, 2}, 0, 0, i8), i8, channels, "2 entries");
    expect(rescale(x, {1, 1}, {2, 2}, 0, 0, i8), i8, {}, "1 entries");
    expect(rescale(x, {1}, {63}, 0, 0, i8), i8, {}, "2 to 62");
    expect(rescale(x, {-1}, {30}, 0, 0, i8), i8, {}, "negative");
    GraphBuilder b;
    const ValueId scalar = b.input("x", i8, {}), one = b.scalar(i32, 1), two = b.scalar(i8, 2), zero = b.scalar(i8, 0);
    expect_error([&] { b.add1(Op::rescale, {scalar, one, two, zero, zero}, i8, channels, "n"); }, "rank 1");
}

// ---- text for shaders ---------------------------------------------------------------------------------------------

TEST(Expressions, Text) {
    EXPECT_EQ(text_of(Op::add, {reals({1}), reals({1})}, fp32), "(a + b)");
    EXPECT_EQ(text_of(Op::mul, {ints(i32, {1}), ints(i32, {1}), number(i8, 5)}, i32), "mul_shift(a, b, p(5))");
    EXPECT_EQ(text_of(Op::mul, {ints(i8, {1}), ints(i8, {1}), number(i8, 0)}, i32), "wrapping_mul(a, b)");
    EXPECT_EQ(text_of(Op::logical_right_shift, {ints(i8, {1}), ints(i8, {1})}, i8), "wrap_i8(tosa_lshr((a & 255), b))");
    EXPECT_EQ(text_of(Op::logical_left_shift, {ints(i16, {1}), ints(i16, {1})}, i16), "wrap_i16(tosa_lshl(a, b))");
    EXPECT_EQ(text_of(Op::negate, {ints(i8, {1}), number(i8, 3), number(i8, 0)}, i8), "clamp((-a + p(3)), -128, 127)");
    EXPECT_EQ(text_of(Op::maximum, {reals({1}), reals({1})}, fp32), "tosa_max(a, b)");
    EXPECT_EQ(text_of(Op::table, {ints(i8, {1}), fixed(ints(i8, Ints(256)))}, i8), "b[(a + 128)]");
    EXPECT_EQ(text_of(Op::cast, {ints(i32, {1})}, i8), "wrap_i8(a)");
    EXPECT_EQ(text_of(Op::cast, {reals({1})}, i8), "tosa_float_to_int(a, p(-128), p(127))");
    Attributes clamp;
    clamp.max_val = 6;
    EXPECT_EQ(text_of(Op::clamp, {reals({1})}, fp32, clamp), "tosa_clamp(a, f(0), f(6))");
    EXPECT_EQ(text_of(Op::clamp, {ints(i8, {1})}, i8, clamp), "clamp(a, p(0), p(6))");
}

TEST(Expressions, RescaleText) {
    Attributes twice, channels, in, out;
    twice.rounding = Rounding::double_round;
    channels.per_channel = true;
    in.input_unsigned = true;
    out.output_unsigned = true;
    EXPECT_EQ(text_of(Op::rescale, rescale(ints(i32, {1, 2}), {7}, {30}, 0, 3, i8), i8, twice),
              "clamp((scale32_double((a), ivec4(p(7)), ivec4(p(30))) + p(3)), -128, 127)");
    EXPECT_EQ(text_of(Op::rescale, rescale(ints(i8, {1, 2}), {7, 8}, {30, 31}, 4, 0, i32), i32, channels),
              "(scale32((a - p(4)), b, c))");
    EXPECT_EQ(text_of(Op::rescale, rescale(ints(i8, {1}), {7}, {30}, -128, 0, i8), i8, in),
              "clamp((scale32(((a & 255) - p(128)), ivec4(p(7)), ivec4(p(30)))), -128, 127)");
    EXPECT_EQ(text_of(Op::rescale, rescale(ints(i8, {1}), {7}, {30}, 0, -128, i8), i8, out),
              "wrap_i8(clamp((scale32((a), ivec4(p(7)), ivec4(p(30))) + p(128)), 0, 255))");
}
