// Operators of our own domain on the reference: what docs/operators.md says of DIVIDE, REMAINDER, SQRT, CUMULATE,
// SCALE_FP64 and AFFINE_ZERO_POINT, and attributes as text and back.
#include "ops/print.hpp"
#include "support/one_node.hpp"
#include "support/require.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>

namespace tosavk {
namespace {

using testing::floats;
using testing::int_values;
using testing::ints;
using testing::real_values;
using testing::rejection;
using testing::run_op;
using Ints = std::vector<std::int64_t>;
using Reals = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();

Attributes division(ByZero by_zero, bool floored, bool is_unsigned = false) {
    Attributes a;
    a.by_zero = by_zero;
    a.floored = floored;
    a.is_unsigned = is_unsigned;
    return a;
}

Ints of_ints(Op op, DType type, const Ints& a, const Ints& b, const Attributes& attrs) {
    const auto n = static_cast<std::int64_t>(a.size());
    return int_values(run_op(op, {ints(type, {n}, a), ints(type, {n}, b)}, type, attrs));
}

TEST(OwnOperators, AreTheirOwnDomain) {
    EXPECT_TRUE(is_own(Op::sort));
    EXPECT_TRUE(is_own(Op::segment_reduce));
    EXPECT_FALSE(is_own(Op::const_shape));
    EXPECT_FALSE(is_own(Op::unknown));
    EXPECT_EQ(static_cast<std::uint32_t>(Op::sort), 0x1000u);
    EXPECT_EQ(name_of(Op::sort), "SORT");
    EXPECT_EQ(name_of(Op::segment_reduce), "SEGMENT_REDUCE");
    EXPECT_EQ(name_of(Op::before_own), "UNKNOWN");
    EXPECT_EQ(name_of(Op::after_own), "UNKNOWN");
}

TEST(OwnOperators, AreDescribedWithTheirAccuracy) {
    const char* source = std::getenv("TOSAVK_SOURCE");
    TOSAVK_NEEDS_VARIABLE("TOSAVK_SOURCE");
    std::ifstream file(std::string(source) + "/docs/operators.md");
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    for (const OpDef& def : registry()) {
        if (!is_own(def.op)) continue;
        const std::string name(name_of(def.op));
        EXPECT_NE(page.find("\n## " + name + "\n"), std::string::npos) << "docs/operators.md lacks " << name;
        EXPECT_EQ(def.tolerance != nullptr, def.accuracy != nullptr) << name;
    }
}

TEST(Divide, RoundsQuotientsOfIntegersAsAsked) {
    const Ints a{7, -7, 7, -7, 6, -128, 5, 0}, b{2, 2, -2, -2, -3, -1, 0, 0};
    EXPECT_EQ(of_ints(Op::divide, DType::i8, a, b, division(ByZero::zero, false)),
              (Ints{3, -3, -3, 3, -2, -128, 0, 0}));
    EXPECT_EQ(of_ints(Op::divide, DType::i8, a, b, division(ByZero::ones, true)),
              (Ints{3, -4, -4, 3, -2, -128, -1, -1}));
    const std::int64_t least = min_of(DType::i32);
    EXPECT_EQ(of_ints(Op::divide, DType::i32, {least, least}, {-1, 1}, division(ByZero::zero, true)),
              (Ints{least, least}));
}

TEST(Divide, ReadsUnsignedBits) {
    // 254 / 3 = 84, 3 / 254 = 0, 255 / 1 = 255
    EXPECT_EQ(of_ints(Op::divide, DType::i8, {-2, 3, -1}, {3, -2, 1}, division(ByZero::ones, false, true)),
              (Ints{84, 0, -1}));
    EXPECT_EQ(of_ints(Op::remainder, DType::i8, {-2, 3, -1}, {4, -2, 7}, division(ByZero::zero, false, true)),
              (Ints{2, 3, 3}));
    EXPECT_EQ(of_ints(Op::divide, DType::i32, {-1}, {2}, division(ByZero::zero, false, true)), (Ints{0x7fffffff}));
}

TEST(Divide, RoundsQuotientsOfFloatsOnce) {
    const HostTensor q =
        run_op(Op::divide,
               {floats({7}, {1, 1, -1, 0, infinity, 1, 0x1p-149}), floats({7}, {3, 0, 0, 0, infinity, -infinity, 2})},
               DType::fp32);
    const Reals values = real_values(q);
    EXPECT_EQ(values[0], static_cast<double>(1.0f / 3.0f));
    EXPECT_EQ(values[1], infinity);
    EXPECT_EQ(values[2], -infinity);
    EXPECT_TRUE(std::isnan(values[3]));
    EXPECT_TRUE(std::isnan(values[4]));
    EXPECT_EQ(values[5], 0);
    EXPECT_EQ(values[6], 0);  // half of the smallest number: to even
}

TEST(Divide, NoNeighbourOfTheQuotientIsRight) {
    const testing::OneNode node(Op::divide, {floats({1}, {1}), floats({1}, {3})}, DType::fp32);
    EXPECT_TRUE(node.check(floats({1}, {1.0f / 3.0f})).passed);
    EXPECT_FALSE(node.check(floats({1}, {std::nextafter(1.0f / 3.0f, 1.0f)})).passed);
    EXPECT_FALSE(node.check(floats({1}, {std::nextafter(1.0f / 3.0f, 0.0f)})).passed);
}

TEST(Remainder, TakesTheSignThatIsAskedFor) {
    const Ints a{7, -7, 7, -7, 6, -128, 5}, b{2, 2, -2, -2, -3, -1, 0};
    EXPECT_EQ(of_ints(Op::remainder, DType::i8, a, b, division(ByZero::zero, false)), (Ints{1, -1, 1, -1, 0, 0, 0}));
    EXPECT_EQ(of_ints(Op::remainder, DType::i8, a, b, division(ByZero::dividend, true)), (Ints{1, 1, -1, -1, 0, 0, 5}));
}

TEST(Remainder, IsExactForFloats) {
    const auto run = [](bool floored) {
        return real_values(run_op(
            Op::remainder,
            {floats({7}, {5.5, -5.5, 0x1p127, -1, 1, infinity, -0x1p-140}), floats({7}, {2, 2, 3, infinity, 0, 2, 4})},
            DType::fp32, division(ByZero::zero, floored)));
    };
    const Reals truncated = run(false), floored = run(true);
    EXPECT_EQ(truncated[0], 1.5);
    EXPECT_EQ(truncated[1], -1.5);
    EXPECT_EQ(floored[1], 0.5);
    EXPECT_EQ(truncated[2], 2);  // an odd power of two
    EXPECT_EQ(truncated[3], -1);
    EXPECT_EQ(floored[3], infinity);
    EXPECT_TRUE(std::isnan(truncated[4]));
    EXPECT_TRUE(std::isnan(truncated[5]));
    EXPECT_EQ(truncated[6], -0x1p-140);
    EXPECT_EQ(floored[6], 4);
}

TEST(Divide, RefusesRulesThatAreNotItsOwn) {
    const auto message = [](Op op, DType type, const Attributes& attrs) {
        const HostTensor x(type, {2});
        return rejection(op, {x, x}, type, attrs);
    };
    EXPECT_REJECTED(message(Op::divide, DType::i32, division(ByZero::dividend, false)), "must be ZERO or ONES");
    EXPECT_REJECTED(message(Op::remainder, DType::i32, division(ByZero::ones, false)), "must be ZERO or DIVIDEND");
    EXPECT_REJECTED(message(Op::divide, DType::fp32, division(ByZero::zero, true)), "floored is for integers");
    EXPECT_REJECTED(message(Op::divide, DType::fp16, division(ByZero::ones, false)), "by_zero is for integers");
    EXPECT_REJECTED(message(Op::remainder, DType::bf16, division(ByZero::zero, false, true)), "is_unsigned");
    EXPECT_EQ(message(Op::remainder, DType::bf16, division(ByZero::zero, true)), "");
    EXPECT_REJECTED(message(Op::divide, DType::boolean, {}), "not supported");
}

TEST(Sqrt, IsRoundedOnce) {
    const Reals values =
        real_values(run_op(Op::sqrt, {floats({6}, {2, 9, -1, infinity, 0x1p-149, -0.0})}, DType::fp32));
    EXPECT_EQ(values[0], static_cast<double>(std::sqrt(2.0f)));
    EXPECT_EQ(values[1], 3);
    EXPECT_TRUE(std::isnan(values[2]));
    EXPECT_EQ(values[3], infinity);
    EXPECT_EQ(values[4], static_cast<double>(static_cast<float>(std::sqrt(0x1p-149))));
    EXPECT_TRUE(std::signbit(values[5]));
}

Attributes along(std::int32_t axis, Combiner combiner, bool exclusive = false, bool reverse = false) {
    Attributes a;
    a.axis = axis;
    a.combiner = combiner;
    a.exclusive = exclusive;
    a.reverse = reverse;
    return a;
}

TEST(Cumulate, GoesAlongItsAxisInEitherDirection) {
    const HostTensor x = ints(DType::i32, {2, 3}, {1, 2, 3, 4, 5, 6});
    const auto run = [&](const Attributes& attrs) { return int_values(run_op(Op::cumulate, {x}, DType::i32, attrs)); };
    EXPECT_EQ(run(along(1, Combiner::add)), (Ints{1, 3, 6, 4, 9, 15}));
    EXPECT_EQ(run(along(0, Combiner::add)), (Ints{1, 2, 3, 5, 7, 9}));
    EXPECT_EQ(run(along(1, Combiner::add, true)), (Ints{0, 1, 3, 0, 4, 9}));
    EXPECT_EQ(run(along(1, Combiner::add, false, true)), (Ints{6, 5, 3, 15, 11, 6}));
    EXPECT_EQ(run(along(1, Combiner::multiply, true, true)), (Ints{6, 3, 1, 30, 6, 1}));
    EXPECT_EQ(run(along(1, Combiner::maximum, true)), (Ints{min_of(DType::i32), 1, 2, min_of(DType::i32), 4, 5}));
}

TEST(Cumulate, WrapsAtTheWidthOfItsType) {
    EXPECT_EQ(
        int_values(run_op(Op::cumulate, {ints(DType::i8, {3}, {100, 100, 100})}, DType::i8, along(0, Combiner::add))),
        (Ints{100, -56, 44}));
    EXPECT_EQ(int_values(run_op(Op::cumulate, {ints(DType::i16, {3}, {300, 300, 300})}, DType::i16,
                                along(0, Combiner::multiply))),
              (Ints{300, 24464, -832}));
}

TEST(Cumulate, HandsOnNan) {
    const HostTensor x = floats({4}, {2, 1, std::nan(""), 3});
    const Reals least = real_values(run_op(Op::cumulate, {x}, DType::fp32, along(0, Combiner::minimum, true)));
    EXPECT_EQ(least[0], infinity);
    EXPECT_EQ(least[2], 1);
    EXPECT_TRUE(std::isnan(least[3]));
    const Reals most = real_values(run_op(Op::cumulate, {x}, DType::fp32, along(0, Combiner::maximum)));
    EXPECT_EQ(most[1], 2);
    EXPECT_TRUE(std::isnan(most[2]) && std::isnan(most[3]));
}

TEST(Cumulate, ItsToleranceGrowsWithTheTerms) {
    const testing::OneNode node(Op::cumulate, {floats({3}, {1, 0x1p-24, 1})}, DType::fp32, along(0, Combiner::add));
    EXPECT_TRUE(node.check(floats({3}, {1, 1, 2})).passed);
    EXPECT_FALSE(node.check(floats({3}, {std::nextafter(1.0f, 2.0f), 1, 2})).passed) << "one term is exact";
    EXPECT_FALSE(node.check(floats({3}, {1, 1, 2 + 0x1p-20})).passed);
}

TEST(Cumulate, RefusesWhatItCannotDo) {
    const HostTensor x = floats({3}, {1, 2, 3});
    EXPECT_REJECTED(rejection(Op::cumulate, {x}, DType::fp32, along(1, Combiner::add)), "axis 1 is not in 0..0");
    EXPECT_REJECTED(rejection(Op::cumulate, {x}, DType::fp32, along(0, Combiner::set)), "SET");
}

// ---- attributes as text -------------------------------------------------------------------------------------------

TEST(AttributeText, ComesBack) {
    Node node;
    for (const OpDef& def : registry()) {
        if (!is_own(def.op)) continue;
        node.op = def.op;
        node.attrs = along(2, Combiner::maximum, true, true);
        node.attrs.by_zero = ByZero::ones;
        node.attrs.out_of_range = OutOfRange::skip;
        node.attrs.segments = -5;
        const std::string text = attributes_text(node);
        Node again = node;
        again.attrs = {};
        EXPECT_EQ(read_attributes(def, text, again.attrs), "") << text;
        EXPECT_EQ(attributes_text(again), text);
    }
}

TEST(AttributeText, WrongTextGetsASentence) {
    const OpDef& def = op_def(Op::cumulate);
    const auto wrong = [&](const std::string& text) {
        Attributes attrs;
        return read_attributes(def, text, attrs);
    };
    const std::string good = "axis=1 combiner=ADD exclusive=false reverse=true";
    EXPECT_EQ(wrong(good), "");
    EXPECT_EQ(wrong("reverse=true exclusive=false combiner=ADD axis=1"), "");
    EXPECT_REJECTED(wrong(""), "axis is missing");
    EXPECT_REJECTED(wrong("axis=1 combiner=ADD exclusive=false"), "reverse is missing");
    EXPECT_REJECTED(wrong(good + " axis=2"), "given twice");
    EXPECT_REJECTED(wrong(good + " scale32=true"), "no attribute 'scale32'");
    EXPECT_REJECTED(wrong(good + "  "), "NAME=VALUE");
    EXPECT_REJECTED(wrong("axis"), "NAME=VALUE");
    EXPECT_REJECTED(wrong("axis=99999999999"), "integer of 32 bits");
    EXPECT_REJECTED(wrong("axis=1x"), "integer of 32 bits");
    EXPECT_REJECTED(wrong("combiner=add"), "must be one of SET, ADD, MULTIPLY, MINIMUM, MAXIMUM");
    EXPECT_REJECTED(wrong("exclusive=1"), "must be one of false, true");
    EXPECT_REJECTED(wrong(std::string("axis=\0\x7f", 7)), "'?\?'");
    EXPECT_LT(wrong("axis=" + std::string(100000, '9')).size(), 200u);
}
// ---- SCALE_FP64 ---------------------------------------------------------------------------------------------------

Ints scaled(DType in, const Ints& x, DType out, std::int64_t high, std::int64_t low, std::int64_t shift,
            std::int64_t zp = 0) {
    const auto one = [](DType type, std::int64_t v) { return ints(type, {1}, {v}); };
    return int_values(run_op(Op::scale_fp64,
                             {ints(in, {static_cast<std::int64_t>(x.size())}, x), one(DType::i32, high),
                              one(DType::i32, low), one(DType::i8, shift), one(out, zp)},
                             out, {}));
}

TEST(OwnScaleFp64, RoundsHalfAwayFromZero) {
    // one half
    EXPECT_EQ(scaled(DType::i32, {1, -1, 3, -3, 4, 0}, DType::i32, 1, 0, 33), (Ints{1, -1, 2, -2, 2, 0}));
    EXPECT_EQ(scaled(DType::i32, {1, -1, 200, -300}, DType::i8, 1, 0, 33, 5), (Ints{6, 4, 105, -128}));
}

TEST(OwnScaleFp64, RoundsTheProductTo53BitsFirst) {
    // 2^52 + 1 by 2^47 - 1 needs 99 bits.
    const std::int64_t x = (std::int64_t{1} << 47) - 1, high = 1 << 20, low = 1;
    const double product = static_cast<double>(x) * 0x1.0000000000001p52;
    for (const std::int64_t shift : {75, 80, 97, 98, 99, 100, 101}) {
        const double expected = std::min(std::round(std::ldexp(product, -static_cast<int>(shift))), 2147483647.0);
        EXPECT_EQ(scaled(DType::i48, {x, -x}, DType::i32, high, low, shift),
                  (Ints{static_cast<std::int64_t>(expected), -static_cast<std::int64_t>(expected)}))
            << shift;
    }
    // 3 * 0x15555555555555 = 2^54 - 1 has 54 bits: as a product it is 2^54, and a half.
    EXPECT_EQ(scaled(DType::i32, {3}, DType::i32, 0x155555, 0x55555555, 55), (Ints{1}));
    EXPECT_EQ(scaled(DType::i32, {3}, DType::i32, 0x155555, 0x55555550, 55), (Ints{0}));
}

TEST(OwnScaleFp64, SaysWhatIsWrong) {
    const auto refused = [](std::int64_t high, std::int64_t shift, std::int64_t zp) {
        return rejection(Op::scale_fp64,
                         {ints(DType::i32, {2}, {1, 2}), ints(DType::i32, {1}, {high}), ints(DType::i32, {1}, {0}),
                          ints(DType::i8, {1}, {shift}), ints(DType::i32, {1}, {zp})},
                         DType::i32, {});
    };
    EXPECT_REJECTED(refused(1 << 21, 40, 0), "high is 2097152");
    EXPECT_REJECTED(refused(1, 0, 0), "shift is 0");
    EXPECT_REJECTED(refused(1, 127, 0), "shift is 127");
    EXPECT_REJECTED(refused(1, 40, 1), "output_zp must be 0");
}

// ---- AFFINE_ZERO_POINT --------------------------------------------------------------------------------------------

TEST(OwnAffineZeroPoint, PutsZeroBetweenTheEnds) {
    const double nan = std::numeric_limits<double>::quiet_NaN(), subnormal = 0x1p-130;
    struct Case {
        double minimum, maximum;
        std::int64_t expected;
    };
    // In steps of 2, 5 are two and a half: -125.5 is rounded away from zero. A range that lacks 0 is made to reach it.
    const Case cases[] = {{0, 1, -128},          {-1, 0, 127},
                          {-3, 1, 63},           {-5, 505, -126},
                          {-1, 1, -1},           {5, 6, -128},
                          {-6, -5, 127},         {0, 0, 0},
                          {-infinity, 1, 0},     {0, infinity, 0},
                          {nan, 1, 0},           {-1, nan, 0},
                          {-subnormal, 1, -128}, {-subnormal, subnormal, 0}};
    for (const Case& c : cases) {
        const auto got =
            run_op(Op::affine_zero_point, {floats({1}, {c.minimum}), floats({1}, {c.maximum})}, DType::i32, {});
        EXPECT_EQ(int_values(got), Ints{c.expected}) << c.minimum << " to " << c.maximum;
    }
}

}  // namespace
}  // namespace tosavk
