// What becomes of types, ranges of 64-bit integers, regions and refusals, on small programs as text.
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "graph/host_tensor.hpp"
#include "reference/reference.hpp"
#include "support/environment.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <random>

namespace tosavk {
namespace {

HostTensor ints(const Shape& shape, std::vector<std::int64_t> values) {
    HostTensor tensor(DType::i32, shape);
    tensor.bytes = encode_ints(DType::i32, values);
    return tensor;
}

std::vector<std::int64_t> run_ints(const Graph& graph, std::vector<HostTensor> inputs) {
    const HostTensor result = reference_run(graph, inputs).at(0);
    return decode_ints(result.type, result.bytes);
}

TEST(StablehloLowering, EndsKeepTheDeclaredType) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%arg0: tensor<2xui8>, %arg1: tensor<2xui16>, %arg2: tensor<2xui32>, %arg3: tensor<2xi64>,
                         %arg4: tensor<2xcomplex<f32>>) -> (tensor<2xui8>, tensor<2xcomplex<f32>>) {
    return %arg0, %arg4 : tensor<2xui8>, tensor<2xcomplex<f32>>
  })");
    ASSERT_EQ(graph.inputs.size(), 6u);
    const std::vector<HostKind> kinds = {HostKind::u8, HostKind::u16, HostKind::u32, HostKind::i64_words,
                                         HostKind::graph};
    const std::vector<DType> types = {DType::i8, DType::i16, DType::i32, DType::i32, DType::fp32};
    for (std::size_t k = 0; k < kinds.size(); ++k) {
        EXPECT_EQ(graph.value(graph.inputs[k]).declared, kinds[k]) << k;
        EXPECT_EQ(graph.value(graph.inputs[k]).type, types[k]) << k;
    }
    EXPECT_EQ(graph.value(graph.inputs[3]).shape, (Shape{2, 2}));
    EXPECT_EQ(graph.value(graph.inputs[5]).name, "arg4/imag");
    ASSERT_EQ(graph.outputs.size(), 3u);
    EXPECT_EQ(graph.value(graph.outputs[0]).declared, HostKind::u8);
}

TEST(StablehloLowering, RefusalsNameOperationTypeAndPlace) {
    const std::string sentence = test::stablehlo_refusal(R"(
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf64> {
    %0 = stablehlo.convert %arg0 : (tensor<2xf32>) -> tensor<2xf64> loc("model.py":12:3)
    return %0 : tensor<2xf64>
  })");
    for (const char* part : {"stablehlo.convert", "tensor<2xf64>", "model.py:12:3", "x64"})
        EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
}

TEST(StablehloLowering, Numbers64BitsWideAreOneWordWhereTheyFit) {
    const Graph fits = test::stablehlo_graph(R"(
  func.func public @main(%arg0: tensor<4xi16>) -> tensor<4xi32> {
    %0 = stablehlo.iota dim = 0 : tensor<4xi64>
    %1 = stablehlo.convert %arg0 : (tensor<4xi16>) -> tensor<4xi64>
    %2 = stablehlo.multiply %0, %1 : tensor<4xi64>
    %3 = stablehlo.convert %2 : (tensor<4xi64>) -> tensor<4xi32>
    return %3 : tensor<4xi32>
  })");
    HostTensor shorts(DType::i16, {4});
    shorts.bytes = encode_ints(DType::i16, std::vector<std::int64_t>{5, -6, 7, 32767});
    EXPECT_EQ(run_ints(fits, {shorts}), (std::vector<std::int64_t>{0, -6, 14, 98301}));
    std::size_t products = 0;
    for (const Node& node : fits.nodes) products += node.op == Op::mul;
    EXPECT_EQ(products, 1u);
    // A constant beyond 32 bits that comes back into them.
    const Graph comes_back = test::stablehlo_graph(R"(
  func.func public @main() -> tensor<ui32> {
    %c = stablehlo.constant dense<81985529216486895> : tensor<i64>
    %c_0 = stablehlo.constant dense<32> : tensor<i64>
    %0 = stablehlo.shift_right_logical %c, %c_0 : tensor<i64>
    %1 = stablehlo.convert %0 : (tensor<i64>) -> tensor<ui32>
    return %1 : tensor<ui32>
  })");
    EXPECT_EQ(run_ints(comes_back, {}), (std::vector<std::int64_t>{0x01234567}));
}

TEST(StablehloLowering, CountersOfLoopsAreBounded) {
    const Graph loop = test::stablehlo_graph(R"(
  func.func public @main(%arg0: tensor<i32>) -> tensor<i32> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<10> : tensor<i64>
    %c_1 = stablehlo.constant dense<1> : tensor<i64>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_2 = %arg0) : tensor<i64>, tensor<i32>
     cond {
      %1 = stablehlo.compare  LT, %iterArg, %c_0,  SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %iterArg, %c_1 : tensor<i64>
      %2 = stablehlo.add %iterArg_2, %arg0 : tensor<i32>
      stablehlo.return %1, %2 : tensor<i64>, tensor<i32>
    }
    return %0#1 : tensor<i32>
  })");
    EXPECT_EQ(run_ints(loop, {ints({}, {3})}), (std::vector<std::int64_t>{33}));
}

/// What a scan looks up; a row that may be out of range is clamped instead.
TEST(StablehloLowering, RowsOfCountersAreGathered) {
    const auto sum_of_rows = [](const std::string& row) {
        return test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%arg0: tensor<5x2xi32>) -> tensor<2xi32> {{
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<5> : tensor<i32>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %start = stablehlo.constant dense<0> : tensor<2xi32>
    %0:2 = stablehlo.while(%k = %c, %sum = %start) : tensor<i32>, tensor<2xi32>
     cond {{
      %1 = stablehlo.compare  LT, %k, %c_0,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }} do {{
      %1 = stablehlo.add %k, %c_1 : tensor<i32>
      %2 = stablehlo.subtract %c_0, %1 : tensor<i32>
      %3 = stablehlo.dynamic_slice %arg0, {}, %c, sizes = [1, 2] : (tensor<5x2xi32>, tensor<i32>, tensor<i32>) -> tensor<1x2xi32>
      %4 = stablehlo.reshape %3 : (tensor<1x2xi32>) -> tensor<2xi32>
      %5 = stablehlo.add %sum, %4 : tensor<2xi32>
      %6 = stablehlo.add %5, %5 : tensor<2xi32>
      stablehlo.return %1, %6 : tensor<i32>, tensor<2xi32>
    }}
    return %0#1 : tensor<2xi32>
  }})",
                                                 row));
    };
    const HostTensor rows = ints({5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    const auto has = [](const Graph& graph, Op op) {
        const std::vector<Node>& body = graph.nodes.at(0).regions.at(1)->nodes;
        return std::any_of(body.begin(), body.end(), [&](const Node& node) { return node.op == op; });
    };
    // The last turn's row is doubled once, the first one's five times.
    const Graph forwards = sum_of_rows("%k"), backwards = sum_of_rows("%2"), beyond = sum_of_rows("%1");
    EXPECT_EQ(run_ints(forwards, {rows}), (std::vector<std::int64_t>{166, 228}));
    EXPECT_EQ(run_ints(backwards, {rows}), (std::vector<std::int64_t>{454, 516}));
    EXPECT_EQ(run_ints(beyond, {rows}), (std::vector<std::int64_t>{3 * 32 + 5 * 16 + 7 * 8 + 9 * 4 + 9 * 2,
                                                                   4 * 32 + 6 * 16 + 8 * 8 + 10 * 4 + 10 * 2}));
    for (const Graph* graph : {&forwards, &backwards}) {
        EXPECT_TRUE(has(*graph, Op::gather));
        EXPECT_FALSE(has(*graph, Op::dynamic_slice));
    }
    EXPECT_TRUE(has(beyond, Op::dynamic_slice));
}

TEST(StablehloLowering, BranchesReadWhatIsAround) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = "stablehlo.if"(%arg0) ({
      %1 = stablehlo.add %arg1, %arg1 : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }, {
      stablehlo.return %arg2 : tensor<i32>
    }) : (tensor<i1>) -> tensor<i32>
    return %0 : tensor<i32>
  })");
    for (const bool condition : {false, true}) {
        HostTensor flag(DType::boolean, {});
        flag.bytes = encode_ints(DType::boolean, std::vector<std::int64_t>{condition});
        EXPECT_EQ(run_ints(graph, {flag, ints({}, {4}), ints({}, {9})}),
                  (std::vector<std::int64_t>{condition ? 8 : 9}));
    }
}

TEST(StablehloLowering, RegionsOfAnyKindReduce) {
    // (a * b) + a + b, which no operator is.
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%arg0: tensor<2x3xi32>) -> tensor<2xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = "stablehlo.reduce"(%arg0, %c) <{dimensions = array<i64: 1>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %1 = stablehlo.multiply %a, %b : tensor<i32>
      %2 = stablehlo.add %1, %a : tensor<i32>
      %3 = stablehlo.add %2, %b : tensor<i32>
      stablehlo.return %3 : tensor<i32>
    }) : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
    return %0 : tensor<2xi32>
  })");
    EXPECT_EQ(run_ints(graph, {ints({2, 3}, {1, 2, 3, 4, 5, 6})}), (std::vector<std::int64_t>{23, 209}));
}

/// What one device does with others is done where there is none.
TEST(StablehloLowering, OneDeviceAlone) {
    const auto program = [](const std::string& operation, const std::string& attributes, const std::string& region) {
        return fmt::format(R"(
  func.func public @main(%a: tensor<2x3xi64>) -> tensor<2x3xi64> {{
    %0 = "stablehlo.{}"(%a) <{{{}}}> {} : (tensor<2x3xi64>) -> tensor<2x3xi64>
    return %0 : tensor<2x3xi64>
  }})",
                           operation, attributes, region);
    };
    const std::string alone = "replica_groups = dense<0> : tensor<1x1xi64>";
    const std::string sum = R"(({
    ^bb0(%x: tensor<i64>, %y: tensor<i64>):
      %s = stablehlo.add %x, %y : tensor<i64>
      stablehlo.return %s : tensor<i64>
    }))";
    const auto expect_as_it_is = [](const std::string& text) {
        const std::vector<std::int64_t> words = {1, 2, -3, 4, 5, -6, 7, 8, 9, 10, 11, 12};
        EXPECT_EQ(run_ints(test::stablehlo_graph(text), {ints({2, 3, 2}, words)}), words) << text;
    };
    expect_as_it_is(program("all_reduce", alone, sum));
    expect_as_it_is(program("all_gather", alone + ", all_gather_dim = 1 : i64", ""));
    expect_as_it_is(program("reduce_scatter", alone + ", scatter_dimension = 0 : i64", sum));
    expect_as_it_is(program("collective_broadcast", alone, ""));
    expect_as_it_is(program("collective_reduce", alone, sum));
    expect_as_it_is(program("cross-replica-sum", alone, ""));
    expect_as_it_is(program("collective_permute", "source_target_pairs = dense<0> : tensor<1x2xi64>", ""));
    const std::string nobody = "source_target_pairs = dense<> : tensor<0x2xi64>";
    const Graph zeros = test::stablehlo_graph(program("collective_permute", nobody, ""));
    EXPECT_EQ(run_ints(zeros, {ints({2, 3, 2}, std::vector<std::int64_t>(12, 7))}), std::vector<std::int64_t>(12));

    const std::string two = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>";
    for (const std::string& text : {program("all_reduce", two, sum), program("collective_broadcast", two, ""),
                                    program("collective_permute",
                                            "source_target_pairs = dense<[[0, 1]]> : "
                                            "tensor<1x2xi64>",
                                            "")})
        EXPECT_NE(test::stablehlo_refusal(text).find("more than one device"), std::string::npos) << text;
}

TEST(StablehloLowering, SlicesAreSelectedByNumber) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%a: tensor<2x2x3x2xi32>, %i: tensor<2x2xi32>) -> tensor<2x2x2x2xi32> {
    %0 = "stablehlo.torch_index_select"(%a, %i) <{batch_dims = 1 : i64, dim = 2 : i64}>
        : (tensor<2x2x3x2xi32>, tensor<2x2xi32>) -> tensor<2x2x2x2xi32>
    return %0 : tensor<2x2x2x2xi32>
  })");
    std::vector<std::int64_t> numbers(24);
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<std::int64_t>(k);
    EXPECT_EQ(run_ints(graph, {ints({2, 2, 3, 2}, numbers), ints({2, 2}, {2, 0, -5, 7})}),
              (std::vector<std::int64_t>{4, 5, 0, 1, 10, 11, 6, 7, 12, 13, 16, 17, 18, 19, 22, 23}));
}

/// A branch in a loop, costly enough to stand for itself, has what it reads beside what it makes.
TEST(StablehloLowering, BranchesInLoopsReadWhatIsCarried) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%x: tensor<i32>, %y: tensor<i32>) -> tensor<i32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %four = stablehlo.constant dense<4> : tensor<i32>
    %0:3 = stablehlo.while(%i = %zero, %a = %x, %b = %y) : tensor<i32>, tensor<i32>, tensor<i32>
    cond {
      %p = stablehlo.compare LT, %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %odd = stablehlo.and %i, %one : tensor<i32>
      %1:2 = "stablehlo.case"(%odd) ({
        %2:2 = stablehlo.while(%j = %zero, %c = %b) : tensor<i32>, tensor<i32>
        cond {
          %q = stablehlo.compare LT, %j, %a : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %q : tensor<i1>
        } do {
          %k = stablehlo.add %j, %one : tensor<i32>
          %d = stablehlo.add %c, %four : tensor<i32>
          stablehlo.return %k, %d : tensor<i32>, tensor<i32>
        }
        stablehlo.return %b, %2#1 : tensor<i32>, tensor<i32>
      }, {
        stablehlo.return %b, %a : tensor<i32>, tensor<i32>
      }) : (tensor<i32>) -> (tensor<i32>, tensor<i32>)
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %1#0, %1#1 : tensor<i32>, tensor<i32>, tensor<i32>
    }
    return %0#2 : tensor<i32>
  })");
    std::int64_t a = 3, b = 5;
    for (int i = 0; i < 4; ++i) {
        const std::int64_t made = i % 2 == 0 ? b + 4 * a : a;
        a = b;
        b = made;
    }
    EXPECT_EQ(run_ints(graph, {ints({}, {3}), ints({}, {5})}), std::vector<std::int64_t>{b});
}

TEST(StablehloLowering, LogPlusOneOutsideOfItsDomain) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %0 = stablehlo.log_plus_one %x : tensor<6xf32>
    return %0 : tensor<6xf32>
  })");
    const double infinity = std::numeric_limits<double>::infinity();
    HostTensor given(DType::fp32, {6});
    given.bytes = encode_reals(DType::fp32, std::vector<double>{-infinity, -2, -1, 0, infinity, std::nan("")});
    const HostTensor result = reference_run(graph, std::vector{given}).at(0);
    const std::vector<double> made = decode_reals(result.type, result.bytes);
    EXPECT_TRUE(std::isnan(made[0]) && std::isnan(made[1]) && std::isnan(made[5]));
    EXPECT_EQ(std::vector<double>(made.begin() + 2, made.begin() + 5), (std::vector<double>{-infinity, 0, infinity}));
}

/// Numbers whose sums or products leave 64 bits.
TEST(StablehloLowering, PaddingAndWindowsBeyondAnyTensorAreRefused) {
    const auto expect_refused = [](const std::string& operation) {
        const std::string sentence = test::stablehlo_refusal(
            "  func.func public @main(%x: tensor<3xf32>, %z: tensor<f32>) -> tensor<3xf32> {\n    " + operation +
            "\n    return %0 : tensor<3xf32>\n  }");
        EXPECT_NE(sentence.find("is too large"), std::string::npos) << operation << ": " << sentence;
    };
    for (const char* numbers : {"low = [-9223372036854775808], high = [0], interior = [0]",
                                "low = [9223372036854775807], high = [1], interior = [0]",
                                "low = [0], high = [0], interior = [9223372036854775807]"})
        expect_refused(
            fmt::format("%0 = stablehlo.pad %x, %z, {} : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>", numbers));
    for (const char* numbers : {"window_dimensions = array<i64: 1>, window_strides = array<i64: 9223372036854775807>",
                                "window_dimensions = array<i64: 1>, padding = dense<[[-9223372036854775808, 0]]> : "
                                "tensor<1x2xi64>"})
        expect_refused(fmt::format(R"(%0 = "stablehlo.reduce_window"(%x, %z) <{{{}}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }}) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>)",
                                   numbers));
}

TEST(StablehloLowering, UpdatesAreAPartOfTheWhole) {
    const auto refusal = [](const std::string& update) {
        return test::stablehlo_refusal(fmt::format(R"(
  func.func public @main(%x: tensor<3x4xf32>, %u: tensor<{0}xf32>, %i: tensor<i32>) -> tensor<3x4xf32> {{
    %0 = stablehlo.dynamic_update_slice %x, %u, %i, %i :
        (tensor<3x4xf32>, tensor<{0}xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
    return %0 : tensor<3x4xf32>
  }})",
                                                   update));
    };
    for (const char* update : {"4", "4x1", "1x1x1", "3x5"})
        EXPECT_NE(refusal(update).find("is no part of"), std::string::npos) << refusal(update);
}

/// A step over the end takes the first element, and costs no more than that.
TEST(StablehloLowering, SlicesInLargeSteps) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%x: tensor<5xi32>) -> tensor<1xi32> {
    %0 = stablehlo.slice %x [1:4:9223372036854775807] : (tensor<5xi32>) -> tensor<1xi32>
    return %0 : tensor<1xi32>
  })");
    EXPECT_EQ(run_ints(graph, {ints({5}, {1, 2, 3, 4, 5})}), std::vector<std::int64_t>{2});
    for (const Value& value : graph.values) EXPECT_LE(element_count(value.shape), 5);
}

/// The operators of the graph, without those that move or cast.
std::vector<Op> computing(const Graph& graph) {
    std::vector<Op> all;
    for (const Node& node : graph.nodes)
        if (node.op != Op::cast && node.op != Op::reshape && node.op != Op::identity) all.push_back(node.op);
    return all;
}

TEST(StablehloLowering, FunctionsAreOneOperator) {
    const std::pair<const char*, Op> functions[] = {
        {"exponential_minus_one", Op::expm1}, {"log_plus_one", Op::log1p}, {"cbrt", Op::cbrt}};
    for (const auto& [name, op] : functions) {
        for (const char* type : {"f32", "f16", "bf16"}) {
            const Graph graph = test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%x: tensor<3x{1}>) -> tensor<3x{1}> {{
    %0 = stablehlo.{0} %x : tensor<3x{1}>
    return %0 : tensor<3x{1}>
  }})",
                                                                  name, type));
            EXPECT_EQ(computing(graph), std::vector{op}) << name << " of " << type;
        }
    }
    const Graph angle = test::stablehlo_graph(R"(
  func.func public @main(%y: tensor<3xf32>, %x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.atan2 %y, %x : tensor<3xf32>
    return %0 : tensor<3xf32>
  })");
    EXPECT_EQ(computing(angle), std::vector{Op::atan2});
}

TEST(StablehloLowering, CompositesOfFunctionsAreOneOperator) {
    const auto graph_of = [](const std::string& name, const std::string& type) {
        return test::stablehlo_graph(fmt::format(R"(
  func.func private @steps(%x: tensor<3x{1}>) -> tensor<3x{1}> {{
    %0 = stablehlo.negate %x : tensor<3x{1}>
    return %0 : tensor<3x{1}>
  }}
  func.func public @main(%x: tensor<3x{1}>) -> tensor<3x{1}> {{
    %0 = stablehlo.composite "{0}" %x {{decomposition = @steps, version = 1 : i32}} : (tensor<3x{1}>) -> tensor<3x{1}>
    return %0 : tensor<3x{1}>
  }})",
                                                 name, type));
    };
    for (const auto& [name, op] : {std::pair{"chlo.erf", Op::erf}, std::pair{"chlo.erf_inv", Op::erf_inv},
                                   std::pair{"chlo.lgamma", Op::lgamma}, std::pair{"chlo.digamma", Op::digamma}}) {
        EXPECT_EQ(computing(graph_of(name, "f32")), std::vector{op}) << name;
        EXPECT_EQ(computing(graph_of(name, "bf16")), std::vector{op}) << name;
    }
    // Others, and numbers of two parts, are what they are made of.
    EXPECT_EQ(computing(graph_of("chlo.unknown", "f32")), std::vector{Op::negate});
    EXPECT_EQ(computing(graph_of("chlo.erf", "complex<f32>")), (std::vector{Op::negate, Op::negate}));
}

/// Of two expansions of XLA, one gives NaN there and the other -infinity, of which it has a constant.
TEST(StablehloLowering, DigammaAtZeroIsThatOfTheDecomposition) {
    const auto at_zero = [](const std::string& constant) {
        const Graph graph = test::stablehlo_graph(fmt::format(R"(
  func.func private @inner() -> tensor<2xf32> {{
    %0 = stablehlo.constant dense<{}> : tensor<2xf32>
    return %0 : tensor<2xf32>
  }}
  func.func private @steps(%x: tensor<2xf32>) -> tensor<2xf32> {{
    %0 = call @inner() : () -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }}
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
    %0 = stablehlo.composite "chlo.digamma" %x {{decomposition = @steps, version = 1 : i32}} :
        (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }})",
                                                              constant));
        HostTensor x(DType::fp32, {2});
        x.bytes = encode_reals(DType::fp32, {{-0.0, 1.0}});
        return decode_reals(DType::fp32, reference_run(graph, {{x}}).at(0).bytes);
    };
    EXPECT_TRUE(std::isnan(at_zero("0x7FC00000")[0]));
    EXPECT_EQ(at_zero("0xFF800000")[0], -std::numeric_limits<double>::infinity());
    EXPECT_NEAR(at_zero("0xFF800000")[1], -0.5772157, 1e-6);
}

/// Within 1.5 units in the last place, where exp alone would make a hundred of what y log x is rounded by.
TEST(StablehloLowering, LargePowersAreExact) {
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    SCOPED_TRACE(fmt::format("TOSAVK_TEST_SEED={}", seed));
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> exponents(-100, 100);
    std::vector<double> x = {2, 2, 2, 0.5, 10, 1, 1e-40}, y = {96, -20, 127, 100, 38, 1e30, -0.5};
    while (x.size() < 1000) {
        const float log = exponents(random), exponent = exponents(random);
        const float base = static_cast<float>(std::exp2(static_cast<double>(log) / exponent));
        if (!std::isnormal(base)) continue;
        x.push_back(base);
        y.push_back(exponent);
    }
    HostTensor bases(DType::fp32, {1000}), powers(DType::fp32, {1000});
    bases.bytes = encode_reals(DType::fp32, x);
    powers.bytes = encode_reals(DType::fp32, y);
    x = decode_reals(DType::fp32, bases.bytes);
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%x: tensor<1000xf32>, %y: tensor<1000xf32>) -> tensor<1000xf32> {
    %0 = stablehlo.power %x, %y : tensor<1000xf32>
    return %0 : tensor<1000xf32>
  })");
    const std::vector<double> made =
        decode_reals(DType::fp32, reference_run(graph, std::vector{bases, powers}).at(0).bytes);
    for (std::size_t i = 0; i < made.size(); ++i) {
        const double wanted = std::pow(x[i], y[i]);
        EXPECT_NEAR(made[i] / wanted, 1, 1.8e-7) << x[i] << " to the " << y[i];
        if (i < 4) {
            EXPECT_EQ(made[i], wanted);
        }
    }
}

/// JAX's argmax: of several NaNs the first one.
TEST(StablehloLowering, ReductionsOfSeveralKeepTheirOrder) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%x: tensor<7xf32>) -> tensor<i32> {
    %places = stablehlo.iota dim = 0 : tensor<7xi32>
    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.reduce(%x init: %least), (%places init: %zero) across dimensions = [0]
        : (tensor<7xf32>, tensor<7xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %2 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.or %2, %3 : tensor<i1>
      %5 = stablehlo.select %4, %a, %b : tensor<i1>, tensor<f32>
      %6 = stablehlo.select %4, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %5, %6 : tensor<f32>, tensor<i32>
    }
    return %1#1 : tensor<i32>
  })");
    const double nan = std::nan("");
    for (const auto& [numbers, first] : std::vector<std::pair<std::vector<double>, std::int64_t>>{
             {{3, nan, -3, nan, 9, nan, 1}, 1}, {{3, 1, 2, nan, nan, nan, nan}, 3}, {{3, 1, 9, 4, 8, 2, 5}, 2}}) {
        HostTensor given(DType::fp32, {7});
        given.bytes = encode_reals(DType::fp32, numbers);
        EXPECT_EQ(run_ints(graph, {given}), std::vector<std::int64_t>{first});
    }
}

}  // namespace
}  // namespace tosavk
