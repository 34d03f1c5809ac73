// Regions on whole tensors: what reductions, windows and sorts give where no operator of the graph does all of it.
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "graph/host_tensor.hpp"
#include "reference/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

namespace tosavk {
namespace {

using List = std::vector<std::int64_t>;

HostTensor ints(const Shape& shape, const List& values) {
    HostTensor tensor(DType::i32, shape);
    tensor.bytes = encode_ints(DType::i32, values);
    return tensor;
}

List ints_of(const HostTensor& tensor) { return decode_ints(tensor.type, tensor.bytes); }
HostTensor reals(const Shape& shape, const std::vector<double>& values) {
    HostTensor tensor(DType::fp32, shape);
    tensor.bytes = encode_reals(DType::fp32, values);
    return tensor;
}

List filled(std::size_t count, std::int64_t number) { return List(count, number); }

TEST(StablehloRegions, BranchesAndTurnsMayReturnConstants) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%p: tensor<i1>, %n: tensor<i32>)
      -> (tensor<2xi32>, tensor<2xi32>, tensor<1xi32>, tensor<1xi32>) {
    %0:2 = "stablehlo.if"(%p) ({
      %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
      %b = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
      stablehlo.return %a, %b : tensor<2xi32>, tensor<2xi32>
    }, {
      %a = stablehlo.constant dense<[5, 6]> : tensor<2xi32>
      %b = stablehlo.constant dense<7> : tensor<2xi32>
      stablehlo.return %a, %b : tensor<2xi32>, tensor<2xi32>
    }) : (tensor<i1>) -> (tensor<2xi32>, tensor<2xi32>)
    %1:3 = stablehlo.while(%i = %n, %x = %0#0, %y = %0#1) : tensor<i32>, tensor<2xi32>, tensor<2xi32>
     cond {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %more = stablehlo.compare GT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %less = stablehlo.subtract %i, %one : tensor<i32>
      %a = stablehlo.constant dense<[8, 9]> : tensor<2xi32>
      %b = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
      stablehlo.return %less, %a, %b : tensor<i32>, tensor<2xi32>, tensor<2xi32>
    }
    %2:2 = "stablehlo.case"(%n) ({
      %a = stablehlo.constant dense<12> : tensor<i32>
      %b = stablehlo.constant dense<13> : tensor<i32>
      %c = stablehlo.reshape %a : (tensor<i32>) -> tensor<1xi32>
      %d = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
      stablehlo.return %c, %d : tensor<1xi32>, tensor<1xi32>
    }, {
      %a = stablehlo.constant dense<14> : tensor<1xi32>
      stablehlo.return %a, %a : tensor<1xi32>, tensor<1xi32>
    }) : (tensor<i32>) -> (tensor<1xi32>, tensor<1xi32>)
    return %1#1, %1#2, %2#0, %2#1 : tensor<2xi32>, tensor<2xi32>, tensor<1xi32>, tensor<1xi32>
  })");
    for (const bool first : {true, false}) {
        for (const std::int64_t turns : {0, 1}) {
            HostTensor condition(DType::boolean, {});
            condition.bytes = {std::byte{first}};
            const std::vector<HostTensor> inputs = {condition, ints({}, {turns})};
            const std::vector<HostTensor> given = reference_run(graph, inputs);
            EXPECT_EQ(ints_of(given.at(0)), turns == 1 ? (List{8, 9}) : first ? (List{1, 2}) : (List{5, 6}));
            EXPECT_EQ(ints_of(given.at(1)), turns == 1 ? (List{10, 11}) : first ? (List{3, 4}) : (List{7, 7}));
            EXPECT_EQ(ints_of(given.at(2)), List{turns == 0 ? 12 : 14});
            EXPECT_EQ(ints_of(given.at(3)), List{turns == 0 ? 13 : 14});
        }
    }
}

TEST(StablehloRegions, InitialValuesOfReductionsCountOnce) {
    for (const std::int64_t n : {1, 2, 3, 5, 7, 8}) {
        const auto reduced = [&](const char* operation) {
            const Graph graph = test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%x: tensor<{0}xi32>) -> tensor<i32> {{
    %c = stablehlo.constant dense<3> : tensor<i32>
    %0 = stablehlo.reduce(%x init: %c) applies stablehlo.{1} across dimensions = [0]
        : (tensor<{0}xi32>, tensor<i32>) -> tensor<i32>
    return %0 : tensor<i32>
  }})",
                                                                  n, operation));
            const HostTensor input = ints({n}, filled(static_cast<std::size_t>(n), 2));
            return ints_of(reference_run(graph, {&input, 1}).at(0));
        };
        SCOPED_TRACE(n);
        EXPECT_EQ(reduced("multiply"), List{3 << n});
        EXPECT_EQ(reduced("xor"), List{n % 2 == 0 ? 3 : 1});
        EXPECT_EQ(reduced("add"), List{3 + 2 * n});
    }
    const Graph pair = test::stablehlo_graph(R"(
  func.func public @main(%x: tensor<5xi32>) -> (tensor<i32>, tensor<i32>) {
    %c = stablehlo.constant dense<3> : tensor<i32>
    %0:2 = stablehlo.reduce(%x init: %c), (%x init: %c) across dimensions = [0]
        : (tensor<5xi32>, tensor<5xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
     reducer(%a: tensor<i32>, %b: tensor<i32>) (%p: tensor<i32>, %q: tensor<i32>) {
      %1 = stablehlo.add %a, %b : tensor<i32>
      %2 = stablehlo.multiply %p, %q : tensor<i32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<i32>
    }
    return %0#0, %0#1 : tensor<i32>, tensor<i32>
  })");
    const HostTensor ones = ints({5}, filled(5, 1));
    const auto results = reference_run(pair, {&ones, 1});
    EXPECT_EQ(ints_of(results.at(0)), List{8});
    EXPECT_EQ(ints_of(results.at(1)), List{3});
}

/// What XLA passes over does not count, and where a window has nothing but that it is the initial value.
TEST(StablehloRegions, InitialValuesOfWindowsCountOnce) {
    const auto windows = [](const char* attributes, std::int64_t out, const char* operation) {
        const Graph graph = test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%x: tensor<1x5xi32>) -> tensor<1x{1}xi32> {{
    %c = stablehlo.constant dense<3> : tensor<i32>
    %0 = "stablehlo.reduce_window"(%x, %c) <{{{0}}}> ({{
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %1 = stablehlo.{2} %a, %b : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }}) : (tensor<1x5xi32>, tensor<i32>) -> tensor<1x{1}xi32>
    return %0 : tensor<1x{1}xi32>
  }})",
                                                              attributes, out, operation));
        const HostTensor input = ints({1, 5}, {1, 2, 4, 8, 16});
        return ints_of(reference_run(graph, {&input, 1}).at(0));
    };
    const char* around = "window_dimensions = array<i64: 1, 3>, padding = dense<[[0, 0], [3, 1]]> : tensor<2x2xi64>";
    EXPECT_EQ(windows(around, 7, "add"), (List{3, 4, 6, 10, 17, 31, 27}));
    EXPECT_EQ(windows(around, 7, "multiply"), (List{3, 3, 6, 24, 192, 1536, 384}));
    EXPECT_EQ(windows(around, 7, "maximum"), (List{3, 3, 3, 4, 8, 16, 16}));
    const char* apart =
        "window_dimensions = array<i64: 1, 5>, window_strides = array<i64: 1, 2>, "
        "base_dilations = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 2]]> : tensor<2x2xi64>";
    EXPECT_EQ(windows(apart, 4, "add"), (List{6, 9, 15, 27}));
    const char* moved =
        "window_dimensions = array<i64: 1, 2>, window_dilations = array<i64: 1, 3>, "
        "padding = dense<[[0, 0], [-1, 2]]> : tensor<2x2xi64>";
    EXPECT_EQ(windows(moved, 3, "add"), (List{21, 7, 11}));
    const char* long_ones =
        "window_dimensions = array<i64: 1, 7>, padding = dense<[[0, 0], [6, 6]]> : "
        "tensor<2x2xi64>";
    EXPECT_EQ(windows(long_ones, 11, "add"), (List{4, 6, 10, 18, 34, 34, 34, 33, 31, 27, 19}));
}

/// Places after a sort of two keys of n elements, by a comparator as text.
List places_by(const std::string& comparator, std::vector<double> a, const List& b, std::size_t* sorts = nullptr) {
    const auto n = static_cast<std::int64_t>(b.size());
    const Graph graph = test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%a: tensor<{0}xf32>, %b: tensor<{0}xi32>) -> tensor<{0}xi32> {{
    %i = stablehlo.iota dim = 0 : tensor<{0}xi32>
    %0:3 = "stablehlo.sort"(%a, %b, %i) <{{dimension = 0 : i64, is_stable = true}}> ({{
    ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>, %s: tensor<i32>, %t: tensor<i32>):
      {1}
    }}) : (tensor<{0}xf32>, tensor<{0}xi32>, tensor<{0}xi32>) -> (tensor<{0}xf32>, tensor<{0}xi32>, tensor<{0}xi32>)
    return %0#2 : tensor<{0}xi32>
  }})",
                                                          n, comparator));
    if (sorts)
        *sorts = static_cast<std::size_t>(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                                        [](const Node& node) { return node.op == Op::sort; }));
    const std::vector<HostTensor> inputs{reals({n}, a), ints({n}, b)};
    return ints_of(reference_run(graph, inputs).at(0));
}

constexpr std::string_view scalar = "(tensor<f32>, tensor<f32>) -> tensor<i1>";

/// As many lines as there may be: by each key with a sort, the last one first.
TEST(StablehloRegions, SortsBySeveralKeysAreSorts) {
    const std::string by_real = fmt::format(R"(
      %1 = stablehlo.negate %x : tensor<f32>
      %2 = stablehlo.negate %y : tensor<f32>
      %below = stablehlo.compare LT, %1, %2, TOTALORDER : {0}
      %alike = stablehlo.compare EQ, %1, %2, TOTALORDER : {0}
      %above = stablehlo.compare GT, %2, %1, TOTALORDER : {0}
      %differ = stablehlo.compare NE, %2, %1, TOTALORDER : {0})",
                                            scalar);
    const std::string by_integer = R"(
      %then = stablehlo.compare GT, %p, %q, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>)";
    const char* forms[] = {R"(
      %3 = stablehlo.and %alike, %then : tensor<i1>
      %4 = stablehlo.or %below, %3 : tensor<i1>)",
                           R"(
      %3 = stablehlo.and %then, %alike : tensor<i1>
      %4 = stablehlo.or %3, %above : tensor<i1>)",
                           "%4 = stablehlo.select %alike, %then, %below : tensor<i1>, tensor<i1>",
                           "%4 = stablehlo.select %differ, %above, %then : tensor<i1>, tensor<i1>"};
    const std::size_t n = 1500;
    std::vector<double> a;
    List b, expected;
    for (std::size_t i = 0; i < n; ++i) {
        a.push_back(static_cast<double>(i * 7 % 5) - 2);
        b.push_back(static_cast<std::int64_t>(i * 11 % 13));
        if (i % 50 == 0) a.back() = std::nan("");
        expected.push_back(static_cast<std::int64_t>(i));
    }
    a[2] = -0.0;
    const auto key = [&](std::int64_t i) {  // of the negated number, in the total order
        const double v = -a[static_cast<std::size_t>(i)];
        return std::isnan(v) ? (std::signbit(v) ? -9.0 : 9.0) : v == 0 && std::signbit(v) ? -0.5 : v;
    };
    std::stable_sort(expected.begin(), expected.end(), [&](std::int64_t i, std::int64_t j) {
        return key(i) != key(j) ? key(i) < key(j) : b[static_cast<std::size_t>(i)] > b[static_cast<std::size_t>(j)];
    });
    for (const char* form : forms) {
        SCOPED_TRACE(form);
        std::size_t sorts = 0;
        const std::string end = "\n      stablehlo.return %4 : tensor<i1>";
        EXPECT_EQ(places_by(by_real + by_integer + form + end, a, b, &sorts), expected);
        EXPECT_EQ(sorts, 2u);
    }
}

/// Tensors [31, 3] sorted along the first dimension by two of them, a flag and 64 bits among the others.
TEST(StablehloRegions, AnyNumberOfTensorsIsSorted) {
    List a, expected(93);
    for (std::int64_t i = 0; i < 93; ++i) a.push_back(i * 37 % 11);
    for (std::int64_t column = 0; column < 3; ++column) {
        List order(31);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
            const auto at = [&](std::int64_t row) { return a[static_cast<std::size_t>(row * 3 + column)]; };
            return at(i) % 2 != at(j) % 2 ? at(i) % 2 < at(j) % 2 : at(i) > at(j);
        });
        for (std::size_t k = 0; k < 31; ++k) expected[k * 3 + static_cast<std::size_t>(column)] = order[k] * 3 + column;
    }
    for (const int more : {0, 1, 2, 3, 4, 15}) {
        SCOPED_TRACE(more);
        std::string values = "%a, %odd, %flag, %wide", types = "T, T, tensor<31x3xi1>, tensor<31x3xi64>", arguments;
        for (int k = 0; k <= more; ++k) values += ", %i", types += ", T";
        for (int k = 2; k < 5 + more; ++k)
            for (const char side : {'x', 'y'})
                arguments += fmt::format(", %{}{}: tensor<{}>", side, k, k == 2 ? "i1" : k == 3 ? "i64" : "i32");
        std::string text = fmt::format(R"(
  func.func public @main(%a: T) -> (T, T, T) {{
    %i = stablehlo.constant dense<[{}]> : T
    %two = stablehlo.constant dense<2> : T
    %odd = stablehlo.remainder %a, %two : T
    %flag = stablehlo.convert %odd : (T) -> tensor<31x3xi1>
    %wide = stablehlo.convert %i : (T) -> tensor<31x3xi64>
    %0:{} = "stablehlo.sort"({}) <{{dimension = 0 : i64, is_stable = true}}> ({{
    ^bb0(%x0: tensor<i32>, %y0: tensor<i32>, %x1: tensor<i32>, %y1: tensor<i32>{}):
      %1 = stablehlo.compare LT, %x1, %y1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %2 = stablehlo.compare EQ, %x1, %y1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %3 = stablehlo.compare GT, %x0, %y0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %4 = stablehlo.and %2, %3 : tensor<i1>
      %5 = stablehlo.or %1, %4 : tensor<i1>
      stablehlo.return %5 : tensor<i1>
    }}) : ({}) -> ({})
    %flags = stablehlo.convert %0#2 : (tensor<31x3xi1>) -> T
    %narrow = stablehlo.convert %0#3 : (tensor<31x3xi64>) -> T
    return %0#{}, %flags, %narrow : T, T, T
  }})",
                                       "ROWS", 5 + more, values, arguments, types, types, 4 + more);
        std::string rows;
        for (std::int64_t i = 0; i < 93; i += 3) rows += fmt::format("{}[{}, {}, {}]", i ? ", " : "", i, i + 1, i + 2);
        text.replace(text.find("ROWS"), 4, rows);
        for (std::size_t at = 0; (at = text.find('T', at)) != std::string::npos;)
            if (std::isalpha(text[at + 1]) || std::isalpha(text[at - 1])) ++at;
            else text.replace(at, 1, "tensor<31x3xi32>");
        const std::vector<HostTensor> made = reference_run(test::stablehlo_graph(text), std::vector{ints({31, 3}, a)});
        EXPECT_EQ(ints_of(made.at(0)), expected);
        EXPECT_EQ(ints_of(made.at(2)), expected);
        List odd;
        for (const std::int64_t i : expected) odd.push_back(a[static_cast<std::size_t>(i)] % 2);
        EXPECT_EQ(ints_of(made.at(1)), odd);
    }
}

TEST(StablehloRegions, SortsAlongADimensionThatIsThere) {
    const auto refusal = [](const char* type, const char* other, int dimension) {
        return test::stablehlo_refusal(fmt::format(R"(
  func.func public @main(%a: {0}, %b: {1}) -> ({0}, {1}) {{
    %0:2 = "stablehlo.sort"(%a, %b) <{{dimension = {2} : i64}}> ({{
    ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<f32>, %q: tensor<f32>):
      %1 = stablehlo.compare LT, %x, %y, FLOAT : {3}
      stablehlo.return %1 : tensor<i1>
    }}) : ({0}, {1}) -> ({0}, {1})
    return %0#0, %0#1 : {0}, {1}
  }})",
                                                   type, other, dimension, scalar));
    };
    for (const int dimension : {-7, -2, 1, 5, 1000000}) {
        const std::string said = refusal("tensor<4xf32>", "tensor<4xf32>", dimension);
        EXPECT_NE(said.find(fmt::format("shape 4 has no dimension {}", dimension)), std::string::npos) << said;
    }
    for (const int dimension : {-1, 0}) {
        const std::string said = refusal("tensor<f32>", "tensor<f32>", dimension);
        EXPECT_NE(said.find(fmt::format("has no dimension {}", dimension)), std::string::npos) << said;
    }
    const std::string said = refusal("tensor<4xf32>", "tensor<5xf32>", 0);
    EXPECT_NE(said.find("together"), std::string::npos) << said;
}

/// What only looks like an order of keys: elements are compared as it says, each with each.
TEST(StablehloRegions, ComparatorsThatMakeTheirSidesDifferently) {
    const std::string end = "\n      stablehlo.return %4 : tensor<i1>";
    std::size_t sorts = 0;
    // Alike in the first number only where a second one is below: an order by twice the first.
    const std::string other_key = fmt::format(R"(
      %1 = stablehlo.add %x, %x : tensor<f32>
      %2 = stablehlo.add %y, %y : tensor<f32>
      %below = stablehlo.compare LT, %x, %y, FLOAT : {0}
      %alike = stablehlo.compare EQ, %1, %2, FLOAT : {0}
      %then = stablehlo.compare LT, %p, %q, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %3 = stablehlo.and %alike, %then : tensor<i1>
      %4 = stablehlo.or %below, %3 : tensor<i1>)",
                                              scalar);
    EXPECT_EQ(places_by(other_key + end, {3, 1, 3, 2}, {5, 0, 4, 9}, &sorts), (List{1, 3, 2, 0}));
    EXPECT_EQ(sorts, 1u);
    // x < |y| has no element of x < 0 behind one that is not.
    const std::string differs = fmt::format(R"(
      %1 = stablehlo.abs %y : tensor<f32>
      %4 = stablehlo.compare LT, %x, %1, FLOAT : {0})",
                                            scalar);
    EXPECT_EQ(places_by(differs + end, {1, 2, 3}, {0, 0, 0}), (List{0, 1, 2}));
    const std::string refusal = test::stablehlo_refusal(fmt::format(R"(
  func.func public @main(%a: tensor<1100xf32>) -> tensor<1100xf32> {{
    %0 = "stablehlo.sort"(%a) <{{dimension = 0 : i64}}> ({{
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      {}{}
    }}) : (tensor<1100xf32>) -> tensor<1100xf32>
    return %0 : tensor<1100xf32>
  }})",
                                                                    differs, end));
    EXPECT_NE(refusal.find("up to 1024 elements"), std::string::npos) << refusal;
}

struct Pool {
    std::int64_t rows, columns, size[2], stride[2], low[2], high[2];
    std::int64_t out(int d) const {
        const std::int64_t whole = d == 0 ? rows : columns;
        return (whole + low[d] + high[d] - size[d]) / stride[d] + 1;
    }
};

/// XLA's loops: of each window the first element inside, then each that the picked one does not hold against.
List picked_one_by_one(const Pool& p, const std::vector<double>& x, const List& source, const std::string& direction) {
    List result = filled(x.size(), 3);
    for (std::int64_t i = 0; i < p.out(0); ++i) {
        for (std::int64_t j = 0; j < p.out(1); ++j) {
            std::int64_t best = -1;
            for (std::int64_t k = 0; k < p.size[0] * p.size[1]; ++k) {
                const std::int64_t r = i * p.stride[0] + k / p.size[1] - p.low[0];
                const std::int64_t c = j * p.stride[1] + k % p.size[1] - p.low[1];
                if (r < 0 || c < 0 || r >= p.rows || c >= p.columns) continue;
                const std::int64_t at = r * p.columns + c;
                const double a = best < 0 ? 0 : x[static_cast<std::size_t>(best)], b = x[static_cast<std::size_t>(at)];
                const bool stays = best >= 0 && (direction == "GE" ? a >= b : direction == "GT" ? a > b : a <= b);
                if (!stays) best = at;
            }
            if (best >= 0) result[static_cast<std::size_t>(best)] += source[static_cast<std::size_t>(i * p.out(1) + j)];
        }
    }
    return result;
}

/// Small windows and large ones, those that meet and those that do not, with and without padding.
TEST(StablehloRegions, PickedElementsAreThoseOfLoops) {
    const std::vector<Pool> pools = {
        {8, 6, {2, 2}, {2, 2}, {0, 0}, {0, 0}},      {8, 7, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
        {9, 7, {2, 3}, {3, 4}, {1, 0}, {2, 2}},      {70, 70, {33, 35}, {33, 35}, {0, 0}, {0, 0}},
        {12, 11, {5, 6}, {1, 1}, {4, 2}, {3, 5}},    {40, 40, {34, 34}, {3, 4}, {7, 1}, {0, 9}},
        {6, 6, {6, 6}, {1, 1}, {0, 0}, {0, 0}},      {9, 40, {1, 31}, {2, 2}, {0, 3}, {0, 30}},
        {5, 50, {5, 20}, {9, 25}, {4, 21}, {6, 21}},
    };
    for (std::size_t which = 0; which < pools.size(); ++which) {
        const Pool& p = pools[which];
        for (const char* direction : {"GE", "GT", "LE"}) {
            for (const bool has_nan : {false, true}) {
                const Graph graph = test::stablehlo_graph(fmt::format(
                    R"(
  func.func public @main(%x: tensor<{0}x{1}xf32>, %s: tensor<{2}x{3}xi32>) -> tensor<{0}x{1}xi32> {{
    %c = stablehlo.constant dense<3> : tensor<i32>
    %i = stablehlo.convert %x : (tensor<{0}x{1}xf32>) -> tensor<{0}x{1}xf32>
    %0 = "stablehlo.select_and_scatter"(%i, %s, %c) <{{window_dimensions = array<i64: {4}, {5}>,
        window_strides = array<i64: {6}, {7}>, padding = dense<[[{8}, {9}], [{10}, {11}]]> : tensor<2x2xi64>}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.compare {12}, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }}, {{
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %1 = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }}) : (tensor<{0}x{1}xf32>, tensor<{2}x{3}xi32>, tensor<i32>) -> tensor<{0}x{1}xi32>
    return %0 : tensor<{0}x{1}xi32>
  }})",
                    p.rows, p.columns, p.out(0), p.out(1), p.size[0], p.size[1], p.stride[0], p.stride[1], p.low[0],
                    p.high[0], p.low[1], p.high[1], direction));
                std::vector<double> x;
                List source;
                for (std::int64_t i = 0; i < p.rows * p.columns; ++i) {
                    x.push_back(static_cast<double>(i * 37 % 101 % 17) - 8);
                    if (has_nan && i % 7 == 3) x.back() = std::nan("");
                }
                for (std::int64_t i = 0; i < p.out(0) * p.out(1); ++i) source.push_back(1 + i * 5 % 23);
                const std::vector<HostTensor> inputs{reals({p.rows, p.columns}, x), ints({p.out(0), p.out(1)}, source)};
                EXPECT_EQ(ints_of(reference_run(graph, inputs).at(0)), picked_one_by_one(p, x, source, direction))
                    << which << " " << direction << " " << has_nan;
                EXPECT_LT(graph.nodes.size(), 400u) << which;
            }
        }
    }
}

}  // namespace
}  // namespace tosavk
