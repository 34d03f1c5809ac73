// Custom calls: QR and products of reflectors against LAPACK's steps in double, the top k, and what is refused.
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "graph/host_tensor.hpp"
#include "reference/reference.hpp"
#include "support/environment.hpp"

#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <random>

namespace tosavk {
namespace {

using Number = std::complex<double>;
using Numbers = std::vector<Number>;

HostTensor floats(const Shape& shape, const std::vector<double>& values) {
    HostTensor tensor(DType::fp32, shape);
    tensor.bytes = encode_reals(DType::fp32, values);
    return tensor;
}

std::vector<HostTensor> run(const Graph& graph, const std::vector<HostTensor>& inputs) {
    return reference_run(graph, inputs);
}

std::vector<double> reals(const HostTensor& tensor) { return decode_reals(tensor.type, tensor.bytes); }

// ---- factors ------------------------------------------------------------------------------------------------------

struct Case {
    std::int64_t batch, rows, columns;
    bool complex = false;
    double scale = 1;
};

struct Matrices {
    Shape shape;
    bool complex = false;
    Numbers numbers;

    std::string type() const {
        std::string text = "tensor<";
        for (const std::int64_t d : shape) text += fmt::format("{}x", d);
        return text + (complex ? "complex<f32>>" : "f32>");
    }
    void append_to(std::vector<HostTensor>& inputs) const {
        std::vector<double> re, im;
        for (const Number& v : numbers) re.push_back(v.real()), im.push_back(v.imag());
        inputs.push_back(floats(shape, re));
        if (complex) inputs.push_back(floats(shape, im));
    }
};

Numbers numbers_of(const std::vector<HostTensor>& outputs, std::size_t first, bool complex) {
    Numbers numbers;
    for (const double v : reals(outputs.at(first))) numbers.push_back(v);
    if (!complex) return numbers;
    const std::vector<double> im = reals(outputs.at(first + 1));
    for (std::size_t i = 0; i < im.size(); ++i) numbers[i] += Number(0, im[i]);
    return numbers;
}

Matrices random_matrices(const Case& c, std::mt19937_64& random) {
    std::normal_distribution<float> normal;
    Matrices a{{c.batch, c.rows, c.columns}, c.complex, {}};
    for (std::int64_t i = 0; i < c.batch * c.rows * c.columns; ++i) {
        const double re = normal(random), im = c.complex ? normal(random) : 0;
        a.numbers.push_back(Number(static_cast<float>(re * c.scale), static_cast<float>(im * c.scale)));
    }
    return a;
}

/// geqr2 of one matrix in place.
void factor(Number* a, std::int64_t rows, std::int64_t columns, Number* taus) {
    for (std::int64_t j = 0; j < std::min(rows, columns); ++j) {
        double tail = 0;
        for (std::int64_t i = j + 1; i < rows; ++i) tail += std::norm(a[i * columns + j]);
        const Number alpha = a[j * columns + j];
        taus[j] = 0;
        if (tail == 0 && alpha.imag() == 0) continue;
        const double beta = -std::copysign(std::sqrt(std::norm(alpha) + tail), alpha.real());
        taus[j] = (beta - alpha) / beta;
        for (std::int64_t i = j + 1; i < rows; ++i) a[i * columns + j] /= alpha - beta;
        a[j * columns + j] = beta;
        for (std::int64_t k = j + 1; k < columns; ++k) {
            Number w = a[j * columns + k];
            for (std::int64_t i = j + 1; i < rows; ++i) w += std::conj(a[i * columns + j]) * a[i * columns + k];
            w *= std::conj(taus[j]);
            a[j * columns + k] -= w;
            for (std::int64_t i = j + 1; i < rows; ++i) a[i * columns + k] -= w * a[i * columns + j];
        }
    }
}

/// H_0 H_1 ... times the first columns of the identity.
Numbers product_of(const Number* a, std::int64_t rows, std::int64_t columns, const Number* taus, std::int64_t count) {
    Numbers q(static_cast<std::size_t>(rows * columns));
    for (std::int64_t i = 0; i < std::min(rows, columns); ++i) q[static_cast<std::size_t>(i * columns + i)] = 1;
    for (std::int64_t j = count - 1; j >= 0; --j) {
        const auto v = [&](std::int64_t i) { return i == j ? Number(1) : a[i * columns + j]; };
        for (std::int64_t k = 0; k < columns; ++k) {
            Number w = 0;
            for (std::int64_t i = j; i < rows; ++i) w += std::conj(v(i)) * q[static_cast<std::size_t>(i * columns + k)];
            for (std::int64_t i = j; i < rows; ++i) q[static_cast<std::size_t>(i * columns + k)] -= taus[j] * v(i) * w;
        }
    }
    return q;
}

void expect_close(const Numbers& got, const Numbers& wanted, double bound, const char* what) {
    ASSERT_EQ(got.size(), wanted.size()) << what;
    double greatest = 0;
    for (const Number& v : wanted) greatest = std::max(greatest, std::abs(v));
    for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_LE(std::abs(got[i] - wanted[i]), bound * greatest)
            << what << " " << i << ": " << got[i] << " instead of " << wanted[i];
}

void expect_factors(const Case& c, std::uint64_t seed) {
    SCOPED_TRACE(fmt::format("{} matrices of {} by {}{}, times {}, seed {}", c.batch, c.rows, c.columns,
                             c.complex ? ", complex" : "", c.scale, seed));
    std::mt19937_64 random(seed);
    const Matrices a = random_matrices(c, random);
    const std::int64_t turns = std::min(c.rows, c.columns);
    Matrices packed = a, taus{{c.batch, turns}, c.complex, Numbers(static_cast<std::size_t>(c.batch * turns))};
    const std::int64_t size = c.rows * c.columns;
    for (std::int64_t b = 0; b < c.batch; ++b)
        factor(packed.numbers.data() + b * size, c.rows, c.columns, taus.numbers.data() + b * turns);
    std::vector<HostTensor> inputs;
    a.append_to(inputs);
    const Graph graph = test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%a: {0}) -> ({0}, {1}) {{
    %0:2 = stablehlo.custom_call @Qr(%a) : ({0}) -> ({0}, {1})
    return %0#0, %0#1 : {0}, {1}
  }})",
                                                          a.type(), taus.type()));
    std::vector<HostTensor> outputs = run(graph, inputs);
    expect_close(numbers_of(outputs, 0, c.complex), packed.numbers, 1e-5, "packed");
    expect_close(numbers_of(outputs, c.complex ? 2 : 1, c.complex), taus.numbers, 1e-5, "taus");

    // Of fewer reflectors than there are.
    Matrices some{{c.batch, (turns + 1) / 2}, c.complex, {}};
    for (std::int64_t b = 0; b < c.batch; ++b)
        for (std::int64_t j = 0; j < some.shape[1]; ++j)
            some.numbers.push_back(taus.numbers[static_cast<std::size_t>(b * turns + j)]);
    Numbers wanted;
    for (std::int64_t b = 0; b < c.batch; ++b)
        for (const Number& v : product_of(packed.numbers.data() + b * size, c.rows, c.columns,
                                          some.numbers.data() + b * some.shape[1], some.shape[1]))
            wanted.push_back(v);
    inputs.clear();
    packed.append_to(inputs);
    some.append_to(inputs);
    const Graph product = test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%a: {0}, %t: {1}) -> {0} {{
    %0 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%a, %t) : ({0}, {1}) -> {0}
    return %0 : {0}
  }})",
                                                            a.type(), some.type()));
    outputs = run(product, inputs);
    expect_close(numbers_of(outputs, 0, c.complex), wanted, 1e-5, "product");
}

TEST(StablehloCustom, FactorsAreThoseOfLapack) {
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    for (const bool complex : {false, true}) {
        for (const Case& c : {Case{1, 1, 1}, Case{1, 5, 5}, Case{2, 7, 3}, Case{3, 3, 6}, Case{1, 1, 4}, Case{1, 4, 1},
                              Case{1, 6, 4, false, 1e30}, Case{1, 6, 4, false, 1e-30}}) {
            Case one = c;
            one.complex = complex;
            expect_factors(one, seed);
        }
    }
}

/// More columns than one panel has: those behind it by products of matrices.
TEST(StablehloCustom, FactorsInPanels) {
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    expect_factors({1, 90, 70}, seed);
    expect_factors({2, 67, 200}, seed);
    expect_factors({1, 66, 70, true}, seed);
}

TEST(StablehloCustom, ColumnsOfZerosHaveNoReflector) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%a: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>) {
    %0:2 = stablehlo.custom_call @Qr(%a) : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>)
    return %0#0, %0#1 : tensor<3x3xf32>, tensor<3xf32>
  })");
    const std::vector<double> upper = {2, 1, 3, 0, 0, -1, 0, 0, -4};
    const auto outputs = run(graph, {floats({3, 3}, upper)});
    EXPECT_EQ(reals(outputs[0]), upper);
    EXPECT_EQ(reals(outputs[1]), (std::vector<double>{0, 0, 0}));
}

TEST(StablehloCustom, NoReflectors) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%a: tensor<3x2xf32>, %t: tensor<0xf32>) -> tensor<3x2xf32> {
    %0 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%a, %t)
        : (tensor<3x2xf32>, tensor<0xf32>) -> tensor<3x2xf32>
    return %0 : tensor<3x2xf32>
  })");
    std::vector<HostTensor> inputs{floats({3, 2}, {1, 2, 3, 4, 5, 6})};
    if (graph.inputs.size() > 1) inputs.push_back(HostTensor(DType::fp32, {0}));
    EXPECT_EQ(reals(run(graph, inputs)[0]), (std::vector<double>{1, 0, 0, 1, 0, 0}));
}

// ---- the top k ----------------------------------------------------------------------------------------------------

/// Two lines of 5 with their places; `size` results of each.
std::string approx_top_k(const std::string& direction, std::int64_t size, const std::string& says,
                         const std::string& compared = "f32") {
    return fmt::format(R"(
  func.func @before(%a: tensor<{2}>, %b: tensor<{2}>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {{
    %0 = stablehlo.compare {0}, %a, %b : (tensor<{2}>, tensor<{2}>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }}
  func.func public @main(%x: tensor<2x5xf32>) -> (tensor<2x{1}xf32>, tensor<2x{1}xi32>) {{
    %0 = stablehlo.iota dim = 1 : tensor<2x5xi32>
    %c = stablehlo.constant dense<-1> : tensor<i32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1:2 = stablehlo.custom_call @ApproxTopK(%x, %0, %cst, %c)
        {{backend_config = "", called_computations = [@before], mhlo.backend_config = {{{3}}}}}
        : (tensor<2x5xf32>, tensor<2x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x{1}xf32>, tensor<2x{1}xi32>)
    return %1#0, %1#1 : tensor<2x{1}xf32>, tensor<2x{1}xi32>
  }})",
                       direction, size, compared, says);
}

TEST(StablehloCustom, ApproximateTopKIsExact) {
    const std::string says =
        "aggregate_to_topk = true, is_fallback = true, recall_target = 0.95 : f32, "
        "reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 2 : i64";
    const HostTensor x = floats({2, 5}, {3, -1, 4, 4, 0, 9, 2, 6, 5, 3});
    auto outputs = run(test::stablehlo_graph(approx_top_k("GT", 2, says)), {x});
    EXPECT_EQ(reals(outputs[0]), (std::vector<double>{4, 4, 9, 6}));
    EXPECT_EQ(decode_ints(DType::i32, outputs[1].bytes), (std::vector<std::int64_t>{2, 3, 0, 2}));
    outputs = run(test::stablehlo_graph(approx_top_k("LT", 2, says)), {x});
    EXPECT_EQ(reals(outputs[0]), (std::vector<double>{-1, 0, 2, 3}));
    EXPECT_EQ(decode_ints(DType::i32, outputs[1].bytes), (std::vector<std::int64_t>{1, 4, 1, 4}));
    // More than there are: the initial values stand behind.
    outputs = run(test::stablehlo_graph(
                      approx_top_k("GT", 6, "aggregate_to_topk = false, reduction_dim = 1 : i64, top_k = 2 : i64")),
                  {x});
    EXPECT_EQ(decode_ints(DType::i32, outputs[1].bytes),
              (std::vector<std::int64_t>{2, 3, 0, 4, 1, -1, 0, 2, 3, 4, 1, -1}));
    EXPECT_TRUE(std::isinf(reals(outputs[0])[5]));
}

TEST(StablehloCustom, TopKInItsOlderForm) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%x: tensor<2x4xui8>) -> (tensor<2x3xui8>, tensor<2x3xi32>) {
    %0:2 = stablehlo.custom_call @mhlo.topk(%x)
        {mhlo.attributes = {k = 3 : i64, largest = true}, mhlo.version = 1 : i64}
        : (tensor<2x4xui8>) -> (tensor<2x3xui8>, tensor<2x3xi32>)
    return %0#0, %0#1 : tensor<2x3xui8>, tensor<2x3xi32>
  })");
    HostTensor x(DType::i8, {2, 4});
    x.bytes = encode_ints(DType::i8, std::vector<std::int64_t>{1, -56, 7, 7, -1, 0, 3, -128});
    const auto outputs = run(graph, {x});
    EXPECT_EQ(decode_ints(DType::i8, outputs[0].bytes), (std::vector<std::int64_t>{-56, 7, 7, -1, -128, 3}));
    EXPECT_EQ(decode_ints(DType::i32, outputs[1].bytes), (std::vector<std::int64_t>{1, 2, 3, 0, 3, 2}));
}

// ---- what is refused ----------------------------------------------------------------------------------------------

void expect_refused(const std::string& body, const std::string& part) {
    const std::string sentence = test::stablehlo_refusal(body);
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
}

std::string one_call(const std::string& call, const std::string& operand, const std::string& results) {
    return fmt::format(R"(
  func.func public @main(%a: {1}) -> tensor<2x2xf32> {{
    %0:{3} = stablehlo.custom_call {0} : ({1}) -> ({2})
    %c = stablehlo.constant dense<0.0> : tensor<2x2xf32>
    return %c : tensor<2x2xf32>
  }})",
                       call, operand, results, 1 + std::count(results.begin(), results.end(), ','));
}

TEST(StablehloCustom, RefusedBySentences) {
    expect_refused(one_call("@elsewhere(%a)", "tensor<2x2xf32>", "tensor<2x2xf32>"), "custom call 'elsewhere'");
    const std::string square = "tensor<2x2xf32>";
    expect_refused(one_call("@Qr(%a)", square, square), "1 operands and 1 results");
    expect_refused(one_call("@Qr(%a)", square, "tensor<2x3xf32>, tensor<2xf32>"), "its first result is");
    expect_refused(one_call("@Qr(%a)", square, "tensor<2x2xf32>, tensor<3xf32>"), "its second result is");
    expect_refused(one_call("@Qr(%a)", "tensor<0x2xf32>", "tensor<2x2xf32>, tensor<2xf32>"), "its first result is");
    expect_refused(one_call("@Qr(%a)", "tensor<2xf32>", "tensor<2xf32>, tensor<2xf32>"), "rank 1");
    expect_refused(one_call("@Qr(%a)", "tensor<2x2xi32>", "tensor<2x2xi32>, tensor<2xi32>"), "i32");
    expect_refused(one_call("@Qr(%a)", "tensor<2x2xf64>", "tensor<2x2xf64>, tensor<2xf64>"), "x64");
    const std::string product = "@ProductOfElementaryHouseholderReflectors";
    expect_refused(one_call(product + "(%a)", square, square), "1 operands");
    const auto of_two = [&](const std::string& taus) {
        return fmt::format(R"(
  func.func public @main(%a: tensor<3x2xf32>, %t: {0}) -> tensor<3x2xf32> {{
    %0 = stablehlo.custom_call {1}(%a, %t) : (tensor<3x2xf32>, {0}) -> tensor<3x2xf32>
    return %0 : tensor<3x2xf32>
  }})",
                           taus, product);
    };
    expect_refused(of_two("tensor<3xf32>"), "3 reflectors");
    expect_refused(of_two("tensor<f32>"), "rank 0");
    expect_refused(of_two("tensor<1x2xf32>"), "its second operand is");
    expect_refused(of_two("tensor<2xi32>"), "its second operand is");

    const std::string good = "reduction_dim = 1 : i64, top_k = 2 : i64";
    EXPECT_EQ(test::stablehlo_refusal(approx_top_k("GT", 2, good)), "taken");
    expect_refused(approx_top_k("GT", 3, good), "'top_k' is 2");
    expect_refused(approx_top_k("GT", 2, "reduction_dim = 2 : i64, top_k = 2 : i64"), "'reduction_dim' is 2");
    expect_refused(approx_top_k("GT", 2, "reduction_dim = -1 : i64, top_k = 2 : i64"), "'reduction_dim' is -1");
    expect_refused(approx_top_k("GT", 2, "reduction_dim = 0 : i64, top_k = 2 : i64"),
                   "@ApproxTopK of tensor<2x2xf32>: it makes");
    expect_refused(approx_top_k("GT", 2, "reduction_dim = 1 : i64"), "'top_k' is no number");
    expect_refused(approx_top_k("GT", 2, good, "f16"), "comparator 'before'");

    expect_refused(
        one_call("@mhlo.topk(%a) {mhlo.attributes = {k = 3 : i64}}", square, "tensor<2x2xf32>, tensor<2x2xi32>"),
        "'k' is 3");
    expect_refused(one_call("@mhlo.topk(%a)", square, "tensor<2x2xf32>, tensor<2x2xi32>"), "lacks its attributes");
    expect_refused(one_call("@SPMDFullToShardShape(%a)", square, "tensor<1x2xf32>"), "several devices");
    EXPECT_EQ(test::stablehlo_refusal(one_call("@Sharding(%a)", square, square)), "taken");
    EXPECT_EQ(test::stablehlo_refusal(one_call("@LayoutConstraint(%a)", square, square)), "taken");
}

TEST(StablehloCustom, ShapeAssertions) {
    const auto asserts = [](const std::string& pred) {
        return fmt::format(R"(
  func.func public @main(%a: tensor<i1>) -> tensor<i1> {{
    %c = stablehlo.constant dense<false> : tensor<i1>
    %t = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.custom_call @shape_assertion({}) {{error_message = "rows are even", has_side_effect = true}}
        : (tensor<i1>) -> ()
    return %c : tensor<i1>
  }})",
                           pred);
    };
    EXPECT_EQ(test::stablehlo_refusal(asserts("%t")), "taken");
    expect_refused(asserts("%c"), "rows are even");
    expect_refused(asserts("%a"), "not known");
}

// ---- functions that older serializers write as calls --------------------------------------------------------------

TEST(StablehloCustom, FunctionsOfOlderSerializers) {
    struct Function {
        const char* name;
        double (*of)(double);
        std::vector<double> at;
    };
    const std::vector<double> unit = {-1, -0.75, -1e-3, 0, 1e-6, 0.3, 0.999, 1},
                              all = {-80, -3, -0.2, 0, 1e-4, 1, 7, 88};
    const Function functions[] = {
        {"acos", [](double x) { return std::acos(x); }, unit},
        {"acosh", [](double x) { return std::acosh(x); }, {1, 1.0001, 1.5, 2, 40, 1e8, 1e12, 3e38}},
        {"asin", [](double x) { return std::asin(x); }, unit},
        {"asinh", [](double x) { return std::asinh(x); }, {-3e38, -2, -1e-3, 0, 1e-5, 0.5, 1e10, 1e30}},
        {"atan", [](double x) { return std::atan(x); }, all},
        {"atanh", [](double x) { return std::atanh(x); }, {-0.999, -0.5, -1e-4, 0, 1e-6, 0.25, 0.75, 0.99}},
        {"cosh", [](double x) { return std::cosh(x); }, {-89, -3, -0.2, 0, 1e-4, 1, 7, 89}},
        {"erf", [](double x) { return std::erf(x); }, all},
        {"lgamma", [](double x) { return std::lgamma(x); }, {0.25, 0.5, 1, 1.5, 2, 7, 30, 1e4}},
        {"sinh", [](double x) { return std::sinh(x); }, {-89, -3, -0.2, 0, 1e-4, 1, 7, 89}},
        {"tan", [](double x) { return std::tan(x); }, {-3, -1.5, -0.2, 0, 1e-4, 1, 1.5, 7}},
    };
    for (const char* dialect : {"mhlo", "chlo"}) {
        for (const Function& f : functions) {
            const Graph graph =
                test::stablehlo_graph(fmt::format("func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {{\n"
                                                  "  %0 = stablehlo.custom_call @{}.{}(%a) : (tensor<8xf32>) -> "
                                                  "tensor<8xf32>\n  return %0 : tensor<8xf32>\n}}\n",
                                                  dialect, f.name));
            const std::vector<double> made = reals(run(graph, {floats({8}, f.at)}).at(0));
            for (std::size_t k = 0; k < 8; ++k) {
                const double x = static_cast<double>(static_cast<float>(f.at[k])), wanted = f.of(x);
                EXPECT_NEAR(made[k], wanted, 2e-6 * std::abs(wanted) + 1e-7) << f.name << "(" << x << ")";
            }
        }
    }
}

}  // namespace
}  // namespace tosavk
