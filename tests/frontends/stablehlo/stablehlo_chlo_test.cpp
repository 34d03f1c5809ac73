// CHLO's operations as JAX's text has them: against values of mpmath with 30 digits, in both forms, in regions.
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "graph/host_tensor.hpp"
#include "reference/reference.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tosavk {
namespace {

using Reals = std::vector<double>;
using Integers = std::vector<std::int64_t>;

constexpr double endless = std::numeric_limits<double>::infinity();
const double none = std::nan("");

/// A program of one operation of `count` operands of one type.
std::string program(const std::string& op, std::size_t count, const std::string& type, const std::string& result,
                    bool generic = false) {
    std::string arguments, names, types;
    for (std::size_t k = 0; k < count; ++k) {
        const char* comma = k == 0 ? "" : ", ";
        arguments += fmt::format("{}%a{}: {}", comma, k, type);
        names += fmt::format("{}%a{}", comma, k);
        types += comma + type;
    }
    const std::string operation = generic ? fmt::format("\"chlo.{}\"({}) : ({}) -> {}", op, names, types, result)
                                          : fmt::format("chlo.{} {} : {} -> {}", op, names, types, result);
    return fmt::format("func.func public @main({}) -> {} {{\n  %0 = {}\n  return %0 : {}\n}}\n", arguments, result,
                       operation, result);
}

HostTensor reals_of(DType type, const Reals& values) {
    HostTensor tensor(type, {static_cast<std::int64_t>(values.size())});
    tensor.bytes = encode_reals(type, values);
    return tensor;
}
HostTensor integers_of(DType type, const Shape& shape, const Integers& values) {
    HostTensor tensor(type, shape);
    tensor.bytes = encode_ints(type, values);
    return tensor;
}
Reals reals_in(const HostTensor& tensor) { return decode_reals(tensor.type, tensor.bytes); }
Integers integers_in(const HostTensor& tensor) { return decode_ints(tensor.type, tensor.bytes); }

/// What an operation of floats makes, the same in both forms.
Reals made_of(const std::string& op, const std::vector<Reals>& operands, const std::string& element = "f32",
              DType dtype = DType::fp32, const ImportOptions& options = {}) {
    const std::string type = fmt::format("tensor<{}x{}>", operands.at(0).size(), element);
    std::vector<HostTensor> inputs;
    for (const Reals& values : operands) inputs.push_back(reals_of(dtype, values));
    const auto run = [&](bool generic) {
        const std::string text = program(op, operands.size(), type, type, generic);
        return reference_run(test::stablehlo_graph(text, options), inputs).at(0);
    };
    const HostTensor made = run(false);
    EXPECT_EQ(made.bytes, run(true).bytes) << op;
    return reals_in(made);
}

void expect_close(const Reals& made, const Reals& wanted, double bound, const std::string& what) {
    ASSERT_EQ(made.size(), wanted.size());
    for (std::size_t k = 0; k < made.size(); ++k) {
        const bool is_same = std::isnan(wanted[k]) ? std::isnan(made[k]) : made[k] == wanted[k];
        EXPECT_TRUE(is_same || std::abs(made[k] / wanted[k] - 1) <= bound)
            << what << ", number " << k << ": " << made[k] << " instead of " << wanted[k];
    }
}

struct Function {
    const char* name;
    Reals at, wanted;
};
const Function functions[] = {
    {"acos",
     {-1, -0.75, -0.001, 0, 0.3, 0.9999, 1, 1.5},
     {3.1415926536, 2.4188584058, 1.571796327, 1.5707963268, 1.2661036603, 0.014143426826, 0, none}},
    {"acosh",
     {0.5, 1, 1.0001, 1.5, 40, 100000000, 3e+38, endless},
     {none, 0, 0.014143191066, 0.96242365012, 4.381870348, 19.113827925, 89.289993005, endless}},
    {"asin",
     {-1, -0.75, -0.001, 0, 1e-06, 0.9999, 1, 1.5},
     {-1.5707963268, -0.84806207898, -0.0010000002142, 0, 9.9999999748e-07, 1.5566529, 1.5707963268, none}},
    {"asinh",
     {-3e+38, -2, -0.001, 0, 1e-05, 0.5, 10000000000, endless},
     {-89.289993005, -1.4436354752, -0.00099999988083, 0, 9.9999997472e-06, 0.48121182506, 23.718998111, endless}},
    {"atan",
     {-endless, -3, -0.2, 0, 0.0001, 1, 7, 3e+38},
     {-1.5707963268, -1.2490457724, -0.19739556272, 0, 9.999999714e-05, 0.7853981634, 1.4288992722, 1.5707963268}},
    {"atanh",
     {-1, -0.999, -0.0001, 0, 1e-06, 0.75, 1, 1.5},
     {-endless, -3.8002076078, -9.9999997807e-05, 0, 9.9999999748e-07, 0.97295507453, endless, none}},
    {"bessel_i1e",
     {-20, -3, 0, 0.0001, 1, 7.99, 8.01, 1000000},
     {-0.087506222183, -0.1968267133, 0, 4.999499905e-05, 0.20791041535, 0.13421734129, 0.1340677673, 0.0003989421308}},
    {"cosh",
     {-endless, -89, -0.2, 0, 0.0001, 1, 7, 89},
     {endless, 2.2448064096e+38, 1.0200667562, 1, 1.000000005, 1.5430806348, 548.31703516, 2.2448064096e+38}},
    {"digamma",
     {-2, -1.5, -0.001, 0, 0.0001, 1, 10, 1000000},
     {none, 0.70315664065, 999.4210907, -endless, -10000.577304, -0.5772156649, 2.2517525891, 13.815510058}},
    {"erf",
     {-endless, -3, -0.2, 0, 1e-06, 0.5, 1.5, endless},
     {-1, -0.9999779095, -0.22270259244, 0, 1.1283791642e-06, 0.52049987781, 0.96610514648, 1}},
    {"erf_inv",
     {-1, -0.999, -0.2, 0, 1e-06, 0.5, 0.9999, 1},
     {-endless, -2.3267563268, -0.17914345735, 0, 8.8622692322e-07, 0.4769362762, 2.7510354379, endless}},
    {"erfc",
     {-3, -0.2, 0, 0.499, 0.501, 2, 5.3, 9},
     {1.9999779095, 1.2227025924, 1, 0.48037933269, 0.47862179045, 0.004677734981, 6.6130682499e-14, 4.1370317465e-37}},
    {"lgamma",
     {-2, -1.5, 0, 0.25, 1.5, 7, 10000, endless},
     {endless, 0.86004701538, endless, 1.2880225247, -0.12078223764, 6.579251212, 82099.717496, endless}},
    {"sinh",
     {-endless, -89, -0.2, 0, 0.0001, 1, 7, 89},
     {-endless, -2.2448064096e+38, -0.20133600558, 0, 9.999999764e-05, 1.1752011936, 548.31612327, 2.2448064096e+38}},
    {"tan",
     {-3, -1.5, -0.2, 0, 0.0001, 1, 1.5, 7},
     {0.14254654307, -14.101419947, -0.20271003861, 0, 9.9999997807e-05, 1.5574077247, 14.101419947, 0.87144798272}},
};

TEST(StablehloChlo, FunctionsOfReals) {
    for (const Function& f : functions) expect_close(made_of(f.name, {f.at}), f.wanted, 4e-7, f.name);
}

/// Computed in fp32: within half a unit and a little of what their rounded operand has.
TEST(StablehloChlo, SmallFloatsAreRoundedOnce) {
    struct Type {
        const char* name;
        DType type;
        double bound;
    };
    for (const Type& t : {Type{"f16", DType::fp16, 0x1.02p-11}, Type{"bf16", DType::bf16, 0x1.02p-8}}) {
        // Numbers that both types have.
        expect_close(made_of("erfc", {{-0.5, 0.75, 2}}, t.name, t.type), {1.5204998778, 0.28884436635, 0.004677734981},
                     t.bound, t.name);
        expect_close(made_of("asinh", {{-2, 0.5, 96}}, t.name, t.type), {-1.4436354752, 0.48121182506, 5.2575224534},
                     t.bound, t.name);
        expect_close(made_of("zeta", {{2, 4}, {1, 1}}, t.name, t.type), {1.6449340668, 1.0823232337}, t.bound, t.name);
    }
    expect_close(made_of("acos", {{0.5, -1}}, "f8E5M2", DType::fp8e5m2), {1, 3}, 0, "f8E5M2");
    ImportOptions options;
    options.f64_as_f32 = true;
    expect_close(made_of("lgamma", {{0.25, 7}}, "f64", DType::fp32, options), {1.2880225247, 6.579251212}, 4e-7, "f64");
}

struct Part {
    double re, im;
};
struct ComplexFunction {
    const char* name;
    std::vector<Part> wanted;
};
const Reals complex_re = {0.5, -0.5, 3, -3, 1.0001, -20, 1e-4, 0.1};
const Reals complex_im = {0.25, -2, 0.001, -0.001, -1e-4, 30, -1e-5, 0.9};
const ComplexFunction complex_functions[] = {
    {"acos",
     {{1.0691874735, -0.28139605625},
      {1.7918149624, 1.4657153519},
      {0.00035355338989, -1.7627472403},
      {3.1412391002, 1.7627472403},
      {0.006435381709, 0.015538575363},
      {2.1586214549, -4.2782809558},
      {1.5706963268, 9.9999997972e-06},
      {1.4964905486, -0.81071682419}}},
    {"acosh",
     {{0.28139605625, 1.0691874735},
      {1.4657153519, -1.7918149624},
      {1.7627472403, 0.00035355338989},
      {1.7627472403, -3.1412391002},
      {0.015538575363, -0.006435381709},
      {4.2782809558, 2.1586214549},
      {9.9999997972e-06, -1.5706963268},
      {0.81071682419, 1.4964905486}}},
    {"asin",
     {{0.50160885328, 0.28139605625},
      {-0.22101863562, -1.4657153519},
      {1.5704427734, 1.7627472403},
      {-1.5704427734, -1.7627472403},
      {1.5643609451, -0.015538575363},
      {-0.58782512815, 4.2782809558},
      {9.9999997635e-05, -9.9999997972e-06},
      {0.074305778238, 0.81071682419}}},
    {"asinh",
     {{0.49267568342, 0.22432845263},
      {-1.3618009009, -1.2930420702},
      {1.8184465067, 0.00031622777208},
      {-1.8184465067, -0.00031622777208},
      {0.88144430943, -7.0707140271e-05},
      {-4.2781330269, 0.98261616907},
      {9.9999997312e-05, -9.9999996975e-06},
      {0.20950022489, 1.0771357329}}},
    {"atan",
     {{0.48425449033, 0.20058661813},
      {-1.421546861, -0.50037000005},
      {1.2490458024, 9.9999996083e-05},
      {-1.2490458024, -9.9999996083e-05},
      {0.78544817169, -4.9994998074e-05},
      {-1.5554047315, 0.023075554362},
      {9.999999715e-05, -9.9999996477e-06},
      {0.41899055735, 1.2996241883}}},
    {"atanh",
     {{0.50037000005, 0.31439814321},
      {-0.096415620203, -1.1265564408},
      {0.3465735434, 1.5706713268},
      {-0.3465735434, -1.5706713268},
      {4.7784405068, -1.1781637316},
      {-0.015377636829, 1.5477180414},
      {9.9999997797e-05, -9.999999847e-06},
      {0.055167842673, 0.73556382412}}},
    {"cosh",
     {{1.0925708047, 0.12892104173},
      {-0.46925797823, 0.47383062042},
      {10.067656962, 0.010017873734},
      {10.067656962, 0.010017873734},
      {1.5431981744, -0.00011753555015},
      {37418717.413, 239679277.99},
      {1.0000000049, -9.9999995113e-10},
      {0.62472062788, 0.078463310429}}},
    {"sinh",
     {{0.50489571439, 0.27897912835},
      {0.21685216292, -1.0253473886},
      {10.017869918, 0.010067660796},
      {-10.017869918, -0.010067660796},
      {1.1753555273, -0.00015431981406},
      {-37418717.413, -239679277.99},
      {9.9999997635e-05, -9.9999997972e-06},
      {0.062264653103, 0.78724679435}}},
    {"tan",
     {{0.5045007027, 0.3124206925},
      {-0.030215987323, -0.97994084996},
      {-0.14254639763, 0.0010203192046},
      {0.14254639763, -0.0010203192046},
      {1.5577503334, -0.00034265860863},
      {-1.3049182818e-26, 1.0},
      {9.9999997797e-05, -9.999999847e-06},
      {0.048603647307, 0.719790979}}},
    {"square",
     {{0.1875, 0.25},
      {-3.75, 2.0},
      {8.999999, 0.006000000285},
      {8.999999, 0.006000000285},
      {1.0002000332, -0.00020001999827},
      {-500.0, -1200.0},
      {9.8999994998e-09, -1.999999899e-09},
      {-0.79999995679, 0.17999999791}}},
};

std::vector<Reals> complex_made_of(const std::string& op, const Reals& re, const Reals& im) {
    const std::string type = fmt::format("tensor<{}xcomplex<f32>>", re.size());
    const std::vector<HostTensor> made = reference_run(test::stablehlo_graph(program(op, 1, type, type)),
                                                       {{reals_of(DType::fp32, re), reals_of(DType::fp32, im)}});
    return {reals_in(made.at(0)), reals_in(made.at(1))};
}

TEST(StablehloChlo, FunctionsOfComplexNumbers) {
    for (const ComplexFunction& f : complex_functions) {
        const std::vector<Reals> made = complex_made_of(f.name, complex_re, complex_im);
        for (std::size_t k = 0; k < f.wanted.size(); ++k) {
            const auto [re, im] = f.wanted[k];
            const double bound = 4e-7 * std::hypot(re, im);
            EXPECT_NEAR(made[0][k], re, bound) << f.name << ", number " << k;
            EXPECT_NEAR(made[1][k], im, bound) << f.name << ", number " << k;
        }
    }
    EXPECT_EQ(complex_made_of("conj", {1, -2}, {3, -0.5}), (std::vector<Reals>{{1, -2}, {-3, 0.5}}));
}

/// Beside poles, whose squares vanish, and where squares are infinite.
TEST(StablehloChlo, ComplexNumbersAtTheEndsOfFloats) {
    const Reals sizes{std::log(2e20) / 2, -std::log(2e20) / 2, 0}, angles{0.78539816, 0.78539816, 1.57079633};
    const std::vector<Reals> area = complex_made_of("atanh", {1, -1, 1}, {1e-20, 1e-20, 2e38});
    const std::vector<Reals> arc = complex_made_of("atan", {1e-20, 1e-20, 2e38}, {1, -1, 0});
    for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_NEAR(area[0][k], sizes[k], 1e-5) << k;
        EXPECT_NEAR(area[1][k], angles[k], 1e-6) << k;
        EXPECT_NEAR(arc[0][k], angles[k], 1e-6) << k;
        EXPECT_NEAR(arc[1][k], sizes[k], 1e-5) << k;
    }
}

/// A zero's sign says from which side.
TEST(StablehloChlo, BranchCuts) {
    const double half = std::acos(0.0);
    const auto parts = [](const std::string& op, double re, double im) {
        const std::vector<Reals> made = complex_made_of(op, {re}, {im});
        return std::pair(made[0][0], made[1][0]);
    };
    for (const double zero : {0.0, -0.0}) {
        const double sign = std::signbit(zero) ? -1 : 1, large = std::acosh(2.0);
        EXPECT_NEAR(parts("asin", 2, zero).first, half, 1e-6);
        EXPECT_NEAR(parts("asin", 2, zero).second, sign * large, 1e-6);
        EXPECT_NEAR(parts("acos", -2, zero).second, -sign * large, 1e-6);
        EXPECT_NEAR(parts("acosh", -2, zero).second, sign * 2 * half, 1e-6);
        EXPECT_NEAR(parts("asinh", zero, 2).first, sign * large, 1e-6);
        EXPECT_NEAR(parts("atanh", 2, zero).second, sign * half, 1e-6);
        EXPECT_NEAR(parts("atan", zero, 2).first, sign * half, 1e-6);
    }
}

/// As in C, and as XLA has them.
TEST(StablehloChlo, InfiniteComplexNumbers) {
    const double half = std::acos(0.0);
    const auto expect = [](const std::string& op, Part at, Part wanted) {
        const std::vector<Reals> made = complex_made_of(op, {at.re}, {at.im});
        for (const auto& [part, own] : {std::pair(made[0][0], wanted.re), std::pair(made[1][0], wanted.im)})
            EXPECT_TRUE(part == own || std::abs(part - own) < 1e-6) << op << ": " << part << " instead of " << own;
    };
    expect("asin", {1, endless}, {0, endless});
    expect("asin", {-endless, -2}, {-half, -endless});
    expect("acos", {0.0, -endless}, {half, endless});
    expect("acos", {-endless, endless}, {1.5 * half, -endless});
    expect("acosh", {endless, 1}, {endless, 0});
    expect("asinh", {endless, endless}, {endless, half / 2});
    expect("atanh", {1, endless}, {0, half});
    expect("atan", {endless, 1}, {half, 0});
    expect("sinh", {endless, 1}, {endless, endless});
}

TEST(StablehloChlo, ZetaAndPolygamma) {
    expect_close(made_of("zeta", {{2, 1.001, 3.7, 40, 2, 5, 2, 3, 0.5, 1, 2.5, 30},
                                  {1, 0.3, 12, 2.5, -1.5, -20.25, -3, 0, 2, 2, -0.5, 1000}}),
                 {1.6449340668, 1003.4597784, 0.00050511579978, 1.2089275466e-16, 9.379246645, -1020.0656146, endless,
                  none, none, endless, none, 0},
                 4e-7, "zeta");
    expect_close(made_of("polygamma", {{0, 1, 2, 5, 13, 29, 40, 0, 0.5, -1, 1, 2},
                                       {2.5, 0.5, 3, -1.25, 4, 700, 2.5, 0, 2, 2, -2, -2}}),
                 {0.70315664065, 4.9348022005, -0.15411380632, 492230.21062, 24.308113333, 0, -3.9455282361e+31,
                  -endless, none, none, endless, none},
                 4e-7, "polygamma");
    // What n! would overflow and x^-n underflow for.
    expect_close(made_of("polygamma", {{40, 20}, {25, 243.77133178710938}}), {-4.9537714667e-10, -2.3075310808e-31},
                 4e-7, "polygamma");
}

/// Terms on either side of 0 are alike there but for their signs, and what is left is 10^25 times smaller.
TEST(StablehloChlo, PolygammaBetweenPoles) {
    expect_close(made_of("polygamma", {{10, 30, 2}, {-1.5, -1.5, -0.5}}),
                 {-156.22959659, -1.2232990235e+20, -0.82879664423}, 4e-7, "polygamma");
}

TEST(StablehloChlo, NextAfter) {
    const float least = std::numeric_limits<float>::denorm_min(), most = std::numeric_limits<float>::max();
    const Reals from = {0, -0.0, -0.0, 0, 1, 1, endless, -endless, most, least, -least, 2, none, 1},
                to = {1, -1, 0, -0.0, 2, 0, 0, 0, endless, 0, 0, 2, 1, none};
    const Reals made = made_of("next_after", {from, to});
    for (std::size_t k = 0; k < from.size(); ++k) {
        const float wanted = std::nextafter(static_cast<float>(from[k]), static_cast<float>(to[k]));
        if (std::isnan(wanted)) {
            EXPECT_TRUE(std::isnan(made[k])) << k;
        } else {
            EXPECT_EQ(made[k], static_cast<double>(wanted)) << k;
            EXPECT_EQ(std::signbit(made[k]), std::signbit(wanted)) << k;
        }
    }
    EXPECT_EQ(made_of("next_after", {{1, 1, 0, -65504}, {2, 0, -1, -endless}}, "f16", DType::fp16),
              (Reals{1 + 0x1p-10, 1 - 0x1p-11, -0x1p-24, -endless}));
    EXPECT_EQ(made_of("next_after", {{1, 1, 0, -2}, {2, 0, -1, -2}}, "bf16", DType::bf16),
              (Reals{1 + 0x1p-7, 1 - 0x1p-8, -0x1p-133, -2}));
}

TEST(StablehloChlo, Infinities) {
    const std::vector<std::pair<std::string, Integers>> tests = {
        {"is_inf", {1, 1, 0, 0}}, {"is_pos_inf", {1, 0, 0, 0}}, {"is_neg_inf", {0, 1, 0, 0}}};
    for (const auto& [op, wanted] : tests) {
        for (const auto& [name, type] : {std::pair{"f32", DType::fp32}, std::pair{"f16", DType::fp16}}) {
            const std::string text = program(op, 1, fmt::format("tensor<4x{}>", name), "tensor<4xi1>");
            const HostTensor made =
                reference_run(test::stablehlo_graph(text), {{reals_of(type, {endless, -endless, none, 60000})}}).at(0);
            EXPECT_EQ(integers_in(made), wanted) << op;
        }
    }
}

TEST(StablehloChlo, SquareOfIntegers) {
    const auto squares = [](const std::string& type, const HostTensor& x) {
        return integers_in(reference_run(test::stablehlo_graph(program("square", 1, type, type)), {{x}}).at(0));
    };
    EXPECT_EQ(squares("tensor<4xi8>", integers_of(DType::i8, {4}, {-128, -3, 11, 12})), (Integers{0, 9, 121, -112}));
    EXPECT_EQ(squares("tensor<2xui8>", integers_of(DType::i8, {2}, {-1, 15})), (Integers{1, -31}));
    EXPECT_EQ(squares("tensor<2xi32>", integers_of(DType::i32, {2}, {-7, 65536})), (Integers{49, 0}));
    // As words, the lower one first.
    EXPECT_EQ(squares("tensor<2xi64>", integers_of(DType::i32, {2, 2}, {65536, 0, -3, -1})), (Integers{0, 1, 9, 0}));
    EXPECT_EQ(made_of("square", {{-3, 0.5}}), (Reals{9, 0.25}));
}

TEST(StablehloChlo, TopK) {
    const auto text = [](const std::string& operation, const std::string& type, int k) {
        return fmt::format(
            "func.func public @main(%a: {0}) -> (tensor<2x{1}xf32>, tensor<2x{1}xi32>) {{\n"
            "  %v, %i = {2} -> (tensor<2x{1}xf32>, tensor<2x{1}xi32>)\n"
            "  return %v, %i : tensor<2x{1}xf32>, tensor<2x{1}xi32>\n}}\n",
            type, k, operation);
    };
    const std::string type = "tensor<2x4xf32>";
    HostTensor x(DType::fp32, {2, 4});
    x.bytes = encode_reals(DType::fp32, Reals{1, 5, 5, -2, -1, -4, -3, -2});
    for (const char* operation :
         {"chlo.top_k(%a, k = 2) : tensor<2x4xf32>", "\"chlo.top_k\"(%a) <{k = 2 : i64}> : (tensor<2x4xf32>)"}) {
        const std::vector<HostTensor> made = reference_run(test::stablehlo_graph(text(operation, type, 2)), {{x}});
        EXPECT_EQ(reals_in(made.at(0)), (Reals{5, 5, -1, -2}));
        EXPECT_EQ(integers_in(made.at(1)), (Integers{1, 2, 0, 3}));
    }
    EXPECT_EQ(test::stablehlo_refusal(text("chlo.top_k(%a, k = 5) : tensor<2x4xf32>", type, 5)),
              "chlo.top_k of tensor<2x5xf32>: its 'k' is 5 for tensor<2x4xf32>");
}

TEST(StablehloChlo, InRegionsOfNumbers) {
    const auto mapped = [](const std::string& operation) {
        return fmt::format(R"(
  func.func public @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {{
    %0 = "stablehlo.map"(%x, %y) <{{dimensions = array<i64: 0, 1>}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      {}
      stablehlo.return %1 : tensor<f32>
    }}) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }})",
                           operation);
    };
    HostTensor x(DType::fp32, {2, 3}), y(DType::fp32, {2, 3});
    const Reals from = {-3, -1, 0, 0.5, 2, 7}, to = {1, 1, 1, 1, 1, 1};
    x.bytes = encode_reals(DType::fp32, from), y.bytes = encode_reals(DType::fp32, to);
    const auto run = [&](const std::string& operation) {
        return reals_in(reference_run(test::stablehlo_graph(mapped(operation)), std::vector{x, y}).at(0));
    };
    const Reals squares = run("%1 = chlo.square %a : tensor<f32> -> tensor<f32>");
    const Reals rests = run("%1 = chlo.erfc %a : tensor<f32> -> tensor<f32>");
    const Reals next = run("%1 = chlo.next_after %a, %b : tensor<f32>, tensor<f32> -> tensor<f32>");
    const Reals sums =
        run("%c = stablehlo.constant dense<2.0> : tensor<f32>\n"
            "%1 = chlo.zeta %c, %b : tensor<f32>, tensor<f32> -> tensor<f32>");
    const Reals infinite =
        run("%c = chlo.is_inf %a : tensor<f32> -> tensor<i1>\n"
            "%1 = stablehlo.select %c, %a, %b : tensor<i1>, tensor<f32>");
    for (std::size_t k = 0; k < from.size(); ++k) {
        EXPECT_EQ(squares[k], from[k] * from[k]);
        EXPECT_NEAR(rests[k] / std::erfc(from[k]), 1, 4e-7);
        EXPECT_EQ(next[k], static_cast<double>(std::nextafter(static_cast<float>(from[k]), 1.0f)));
        EXPECT_NEAR(sums[k], 1.6449340668, 1e-6);
        EXPECT_EQ(infinite[k], 1);
    }
    EXPECT_EQ(test::stablehlo_refusal(mapped("%1, %2 = chlo.top_k(%a, k = 0) : tensor<f32> -> "
                                             "(tensor<f32>, tensor<i32>)")),
              "chlo.top_k of tensor<f32>: this operation is not supported in a region of numbers");
}

TEST(StablehloChlo, RefusalsNameTheOperationAndItsPlace) {
    const std::string scalar = "tensor<f32>", numbers = "tensor<3xi32>";
    EXPECT_EQ(test::stablehlo_refusal(program("mulhi", 2, numbers, numbers)),
              "chlo.mulhi of tensor<3xi32>: this operation is not supported");
    EXPECT_EQ(test::stablehlo_refusal(program("add", 2, scalar, scalar)),
              "chlo.add of tensor<f32>: this operation is not supported");
    for (const char* op : {"erf", "digamma", "acos", "bessel_i1e"})
        EXPECT_EQ(test::stablehlo_refusal(program(op, 1, numbers, numbers)),
                  fmt::format("chlo.{} of tensor<3xi32>: numbers of i32 are not supported", op));
    for (const char* op : {"next_after", "zeta", "polygamma"})
        EXPECT_EQ(test::stablehlo_refusal(program(op, 2, numbers, numbers)),
                  fmt::format("chlo.{} of tensor<3xi32>: numbers of i32 are not supported", op));
    EXPECT_EQ(test::stablehlo_refusal(program("is_inf", 1, numbers, "tensor<3xi1>")),
              "chlo.is_inf of tensor<3xi1>: numbers of i32 are not supported");
    EXPECT_EQ(test::stablehlo_refusal(program("lgamma", 1, "tensor<complex<f32>>", "tensor<complex<f32>>")),
              "chlo.lgamma of tensor<complex<f32>>: numbers of complex<f32> are not supported");
    EXPECT_EQ(test::stablehlo_refusal(program("next_after", 2, "tensor<f8E5M2>", "tensor<f8E5M2>")),
              "chlo.next_after of tensor<f8E5M2>: numbers of f8E5M2 are not supported");
    EXPECT_EQ(test::stablehlo_refusal(program("erf", 2, scalar, scalar, true)),
              "chlo.erf of tensor<f32>: it has 2 operands and 1 results");
    EXPECT_EQ(test::stablehlo_refusal(program("erf", 1, "tensor<f32>", "tensor<2xf32>")),
              "chlo.erf of tensor<2xf32>: result 0 has shape scalar instead of tensor<2xf32>");
    EXPECT_NE(test::stablehlo_refusal(program("erf", 1, "tensor<?xf32>", "tensor<?xf32>")).find("not known"),
              std::string::npos);
    EXPECT_EQ(test::stablehlo_refusal("func.func public @main(%a: tensor<i32>) -> tensor<i32> {\n"
                                      "  %0 = chlo.erf %a : tensor<i32> -> tensor<i32> loc(\"net.py\":7:2)\n"
                                      "  return %0 : tensor<i32>\n}\n"),
              "chlo.erf of tensor<i32> at net.py:7:2: numbers of i32 are not supported");
    const auto report = stablehlo::probe_program(test::stablehlo_of(program("erf", 1, scalar, scalar)), {});
    EXPECT_TRUE(report.taken());
    EXPECT_EQ(report.operators.at(0).name, "chlo.erf");
}

/// As JAX's text has it: the decomposition is CHLO's operation.
TEST(StablehloChlo, CompositesOfThemselves) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.composite "chlo.digamma" %x {decomposition = @chlo.digamma} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func private @chlo.digamma(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = chlo.digamma %x : tensor<2xf32> -> tensor<2xf32>
    return %0 : tensor<2xf32>
  })");
    const Reals made = reals_in(reference_run(graph, {{reals_of(DType::fp32, {-0.0, 1})}}).at(0));
    expect_close(made, {-endless, -0.5772156649}, 4e-7, "digamma");
}

}  // namespace
}  // namespace tosavk
