// 64-bit integers as pairs of words, random bits, and f64 as f32: small programs as text against C++.
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "graph/host_tensor.hpp"
#include "graph/host_values.hpp"
#include "reference/reference.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>

namespace tosavk {
namespace {

using Numbers = std::vector<std::uint64_t>;

HostTensor words(const Shape& shape, const Numbers& numbers) {
    Shape with_words = shape;
    with_words.push_back(2);
    HostTensor tensor(DType::i32, with_words);
    std::memcpy(tensor.bytes.data(), numbers.data(), tensor.bytes.size());
    return tensor;
}

template <class T> std::vector<T> elements_of(const HostTensor& tensor) {
    std::vector<T> elements(tensor.bytes.size() / sizeof(T));
    std::memcpy(elements.data(), tensor.bytes.data(), tensor.bytes.size());
    return elements;
}

/// Each number of a list that has the ends of 16, 32 and 64 bits with each.
struct AllPairs {
    Numbers a, b;
    AllPairs() {
        const Numbers list = {0,
                              1,
                              2,
                              3,
                              7,
                              31,
                              32,
                              33,
                              63,
                              64,
                              0xffff,
                              0x10000,
                              0x7fffffff,
                              0x80000000,
                              0xffffffff,
                              0x100000000,
                              0x123456789,
                              0xfedcba9876543210,
                              std::uint64_t{1} << 62,
                              std::uint64_t{1} << 63,
                              ~std::uint64_t{0} >> 1,
                              ~std::uint64_t{0},
                              ~std::uint64_t{0} - 6,
                              0xffffffff00000000,
                              0xffffffff7fffffff,
                              1000003};
        for (const std::uint64_t x : list)
            for (const std::uint64_t y : list) a.push_back(x), b.push_back(y);
    }
};

void expect_binary(const std::string& op, const std::string& type,
                   const std::function<std::uint64_t(std::uint64_t, std::uint64_t)>& wanted) {
    const AllPairs p;
    const std::string tensor = fmt::format("tensor<{}x{}>", p.a.size(), type);
    const Graph graph = test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%arg0: {0}, %arg1: {0}) -> {0} {{
    %0 = stablehlo.{1} %arg0, %arg1 : {0}
    return %0 : {0}
  }})",
                                                          tensor, op));
    const Shape shape{static_cast<std::int64_t>(p.a.size())};
    const std::vector<HostTensor> inputs{words(shape, p.a), words(shape, p.b)};
    const Numbers got = elements_of<std::uint64_t>(reference_run(graph, inputs).at(0));
    for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got[i], wanted(p.a[i], p.b[i]))
            << op << " of " << type << fmt::format(" {:x} and {:x}", p.a[i], p.b[i]);
}

std::int64_t as_signed(std::uint64_t v) { return static_cast<std::int64_t>(v); }

/// By constants, whose ranges lowering knows; of numbers of 64 bits, and of those that 32 bits are widened to.
void expect_by_constants(const std::string& op, const std::string& type,
                         const std::function<std::uint64_t(std::uint64_t, std::uint64_t)>& wanted) {
    const bool is_signed = type == "i64";
    const AllPairs p;
    std::vector<std::int32_t> narrow;
    Numbers widened;
    for (const std::uint64_t v : p.b) {
        narrow.push_back(static_cast<std::int32_t>(v));
        widened.push_back(is_signed ? static_cast<std::uint64_t>(std::int64_t{narrow.back()}) : v & 0xffffffff);
    }
    HostTensor of_32_bits(DType::i32, {static_cast<std::int64_t>(narrow.size())});
    std::memcpy(of_32_bits.bytes.data(), narrow.data(), of_32_bits.bytes.size());
    const std::string tensor = fmt::format("tensor<{}x{}>", p.b.size(), type),
                      from = fmt::format("tensor<{}x{}>", p.b.size(), is_signed ? "i32" : "ui32");
    for (const std::uint64_t by : {0ull, 1ull, 2ull, 3ull, 7ull, 31ull, 32ull, 63ull, 64ull, 65ull, 255ull, 300ull,
                                   ~0ull, ~2ull, 1ull << 63, ~0ull >> 1}) {
        const std::string constant = is_signed ? std::to_string(as_signed(by)) : std::to_string(by);
        const Graph graph = test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%a: {0}, %b: {3}) -> ({0}, {0}) {{
    %c = stablehlo.constant dense<{2}> : {0}
    %0 = stablehlo.{1} %a, %c : {0}
    %1 = stablehlo.convert %b : ({3}) -> {0}
    %2 = stablehlo.{1} %1, %c : {0}
    return %0, %2 : {0}, {0}
  }})",
                                                              tensor, op, constant, from));
        const std::vector<HostTensor> inputs{words({static_cast<std::int64_t>(p.b.size())}, p.b), of_32_bits};
        const std::vector<HostTensor> results = reference_run(graph, inputs);
        const Numbers got = elements_of<std::uint64_t>(results.at(0)), also = elements_of<std::uint64_t>(results.at(1));
        for (std::size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(got[i], wanted(p.b[i], by)) << op << " of " << type << fmt::format(" {:x} and {}", p.b[i], by);
            ASSERT_EQ(also[i], wanted(widened[i], by))
                << op << " of " << type << fmt::format(" {:x}, of 32 bits, and {}", widened[i], by);
        }
    }
}

void expect_both(const std::string& op, const std::string& type,
                 const std::function<std::uint64_t(std::uint64_t, std::uint64_t)>& wanted) {
    expect_binary(op, type, wanted);
    expect_by_constants(op, type, wanted);
}

TEST(StablehloWords, Arithmetic) {
    using U = std::uint64_t;
    for (const char* type : {"i64", "ui64"}) {
        expect_both("add", type, [](U a, U b) { return a + b; });
        expect_both("subtract", type, [](U a, U b) { return a - b; });
        expect_both("multiply", type, [](U a, U b) { return a * b; });
        expect_both("and", type, [](U a, U b) { return a & b; });
        expect_both("or", type, [](U a, U b) { return a | b; });
        expect_both("xor", type, [](U a, U b) { return a ^ b; });
        expect_both("shift_left", type, [](U a, U b) { return b < 64 ? a << b : 0; });
        expect_both("shift_right_logical", type, [](U a, U b) { return b < 64 ? a >> b : 0; });
        expect_both("shift_right_arithmetic", type,
                    [](U a, U b) { return static_cast<U>(as_signed(a) >> (b < 64 ? b : 63)); });
    }
}

TEST(StablehloWords, Division) {
    using U = std::uint64_t;
    const auto ends = [](U a, U b) { return as_signed(a) == std::numeric_limits<std::int64_t>::min() && ~b == 0; };
    expect_both("divide", "ui64", [](U a, U b) { return b == 0 ? ~U{0} : a / b; });
    expect_both("remainder", "ui64", [](U a, U b) { return b == 0 ? a : a % b; });
    expect_both("divide", "i64", [&](U a, U b) {
        return b == 0 ? ~U{0} : ends(a, b) ? a : static_cast<U>(as_signed(a) / as_signed(b));
    });
    expect_both("remainder", "i64", [&](U a, U b) {
        return b == 0 ? a : ends(a, b) ? 0 : static_cast<U>(as_signed(a) % as_signed(b));
    });
}

TEST(StablehloWords, Powers) {
    using U = std::uint64_t;
    const auto power = [](U base, U exponent) {
        U result = 1;
        for (; exponent != 0; exponent >>= 1, base *= base)
            if (exponent & 1) result *= base;
        return result;
    };
    expect_both("power", "ui64", power);
    expect_both("power", "i64", [&](U a, U b) {
        if (as_signed(b) >= 0) return power(a, b);
        return a == 1 ? U{1} : ~a == 0 ? (b & 1 ? a : U{1}) : U{0};
    });
}

/// In a region of numbers exponents are not turns of a loop.
TEST(StablehloWords, PowersInRegions) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%a: tensor<4xi64>, %b: tensor<4xi64>) -> tensor<4xi64> {
    %0 = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0>}> ({
    ^bb0(%x: tensor<i64>, %y: tensor<i64>):
      %1 = stablehlo.power %x, %y : tensor<i64>
      stablehlo.return %1 : tensor<i64>
    }) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return %0 : tensor<4xi64>
  })");
    const auto minus = static_cast<std::uint64_t>(std::int64_t{-6});
    const std::vector<HostTensor> inputs{words({4}, {5, minus, 7, 3}), words({4}, {3, 2, 5, 40})};
    EXPECT_EQ(elements_of<std::uint64_t>(reference_run(graph, inputs).at(0)),
              (Numbers{125, 36, 16807, 12157665459056928801ull}));
}

TEST(StablehloWords, Order) {
    using U = std::uint64_t;
    expect_binary("maximum", "ui64", [](U a, U b) { return std::max(a, b); });
    expect_binary("minimum", "ui64", [](U a, U b) { return std::min(a, b); });
    expect_binary("maximum", "i64", [](U a, U b) { return as_signed(a) > as_signed(b) ? a : b; });
    expect_binary("minimum", "i64", [](U a, U b) { return as_signed(a) < as_signed(b) ? a : b; });
}

TEST(StablehloWords, AProgramsNumbersAreTheTensorsBytes) {
    for (const HostKind kind : {HostKind::i64_words, HostKind::u64_words}) {
        EXPECT_TRUE(may_declare(DType::i32, kind));
        EXPECT_FALSE(may_declare(DType::fp32, kind));
        const bool is_signed = kind == HostKind::i64_words;
        const HostType whole{is_signed ? HostKind::i64 : HostKind::u64};
        const Numbers numbers = {~std::uint64_t{0}, 1};
        const auto bytes = convert_values(std::as_bytes(std::span(numbers)), whole, stored_type(DType::i32, kind), "x");
        EXPECT_EQ(bytes, words({2}, numbers).bytes);
        const HostType narrow{HostKind::graph, DType::i8};
        if (is_signed) {
            const auto few = convert_values(bytes, stored_type(DType::i32, kind), narrow, "x");
            EXPECT_EQ(few, (Bytes{std::byte{0xff}, std::byte{1}}));
        } else {
            EXPECT_THROW(convert_values(bytes, stored_type(DType::i32, kind), narrow, "x"), Error);
        }
    }
}

TEST(StablehloWords, FloatsAreRoundedOnce) {
    const Numbers numbers = {0,
                             1,
                             16777217,
                             16777219,
                             0x7fffff80,
                             0x800000ff,
                             0x8000008000000001,
                             0x8000008000000000,
                             ~std::uint64_t{0},
                             ~std::uint64_t{0} >> 1,
                             std::uint64_t{1} << 63,
                             0xffffff7fffffffff};
    const Shape shape{static_cast<std::int64_t>(numbers.size())};
    for (const bool is_signed : {false, true}) {
        const Graph graph = test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%arg0: tensor<{0}x{1}>) -> tensor<{0}xf32> {{
    %0 = stablehlo.convert %arg0 : (tensor<{0}x{1}>) -> tensor<{0}xf32>
    return %0 : tensor<{0}xf32>
  }})",
                                                              numbers.size(), is_signed ? "i64" : "ui64"));
        const auto got = elements_of<float>(reference_run(graph, std::vector{words(shape, numbers)}).at(0));
        for (std::size_t i = 0; i < numbers.size(); ++i)
            EXPECT_EQ(got[i], is_signed ? static_cast<float>(as_signed(numbers[i])) : static_cast<float>(numbers[i]))
                << numbers[i];
    }
}

TEST(StablehloWords, RemaindersOfConstantsNeedOneWord) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%arg0: tensor<2xui64>) -> tensor<2xui32> {
    %c = stablehlo.constant dense<10> : tensor<2xui64>
    %0 = stablehlo.remainder %arg0, %c : tensor<2xui64>
    %1 = stablehlo.add %0, %0 : tensor<2xui64>
    %2 = stablehlo.convert %1 : (tensor<2xui64>) -> tensor<2xui32>
    return %2 : tensor<2xui32>
  })");
    const auto got = reference_run(graph, std::vector{words({2}, {18446744073709551615u, 9007199254740993u})}).at(0);
    EXPECT_EQ(elements_of<std::uint32_t>(got), (std::vector<std::uint32_t>{10, 6}));
}

TEST(StablehloWords, LoopsCarryThem) {
    // 3^41 does not fit 64 bits, and the counter is of 64 bits itself.
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%arg0: tensor<i64>) -> tensor<i64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<1> : tensor<i64>
    %c_1 = stablehlo.constant dense<3> : tensor<i64>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_2 = %c_0) : tensor<i64>, tensor<i64>
     cond {
      %1 = stablehlo.compare  LT, %iterArg, %arg0,  SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %iterArg, %c_0 : tensor<i64>
      %2 = stablehlo.multiply %iterArg_2, %c_1 : tensor<i64>
      stablehlo.return %1, %2 : tensor<i64>, tensor<i64>
    }
    return %0#1 : tensor<i64>
  })");
    std::uint64_t wanted = 1;
    for (int k = 0; k < 41; ++k) wanted *= 3;
    EXPECT_EQ(elements_of<std::uint64_t>(reference_run(graph, std::vector{words({}, {41})}).at(0)), Numbers{wanted});
}

TEST(StablehloWords, BranchesAgreeInTheirForm) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<i64>) -> tensor<i64> {
    %0 = "stablehlo.if"(%arg0) ({
      %c = stablehlo.constant dense<-5> : tensor<i64>
      stablehlo.return %c : tensor<i64>
    }, {
      %1 = stablehlo.add %arg1, %arg1 : tensor<i64>
      stablehlo.return %1 : tensor<i64>
    }) : (tensor<i1>) -> tensor<i64>
    return %0 : tensor<i64>
  })");
    for (const bool condition : {false, true}) {
        HostTensor flag(DType::boolean, {});
        flag.bytes = encode_ints(DType::boolean, std::vector<std::int64_t>{condition});
        const auto got = reference_run(graph, std::vector{flag, words({}, {std::uint64_t{1} << 40})}).at(0);
        EXPECT_EQ(elements_of<std::int64_t>(got)[0], condition ? -5 : std::int64_t{1} << 41);
    }
}

/// Five numbers into three places, of which they name one three times; behind `steps` other operations.
Graph scattered(const std::string& combiner, int steps = 0) {
    std::string text = R"(
  func.func public @main(%arg0: tensor<3xi64>, %arg1: tensor<5x1xi32>, %arg2: tensor<5xi64>) -> tensor<3xi64> {)";
    for (int k = 0; k < steps; ++k)
        text +=
            fmt::format("\n    %s{} = stablehlo.abs %{} : tensor<5x1xi32>", k, k ? fmt::format("s{}", k - 1) : "arg1");
    text += fmt::format(R"(
    %0 = "stablehlo.scatter"(%arg0, {}, %arg2) <{{indices_are_sorted = false, scatter_dimension_numbers =
        #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
        unique_indices = false}}> ({{
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %1 = stablehlo.{} %a, %b : tensor<i64>
      stablehlo.return %1 : tensor<i64>
    }}) : (tensor<3xi64>, tensor<5x1xi32>, tensor<5xi64>) -> tensor<3xi64>
    return %0 : tensor<3xi64>
  }})",
                        steps ? fmt::format("%s{}", steps - 1) : "%arg1", combiner);
    return test::stablehlo_graph(text);
}

HostTensor five_places() {
    HostTensor places(DType::i32, {5, 1});
    places.bytes = encode_ints(DType::i32, std::vector<std::int64_t>{2, 0, 2, 7, 2});
    return places;
}

TEST(StablehloWords, UpdatesOfOnePlaceAreMultipliedInTurns) {
    const auto got = reference_run(scattered("multiply"), std::vector{words({3}, {5, 6, 100000}), five_places(),
                                                                      words({5}, {100000, 3, 100000, 9, 4000000000})});
    // 1e15 * 4e9 modulo 2^64
    EXPECT_EQ(elements_of<std::uint64_t>(got.at(0)), (Numbers{15, 6, 1000000000000000u * 4000000000u}));
}

TEST(StablehloWords, TheLeastAndMostOfOnePlace) {
    const std::uint64_t wide = std::uint64_t{1} << 40, negative = ~wide;
    const std::vector in{words({3}, {5, 6, wide}), five_places(), words({5}, {wide + 1, 3, negative, 9, wide + 2})};
    // However far the graph's list of values has grown by then.
    for (int steps = 0; steps <= 64; ++steps) {
        SCOPED_TRACE(steps);
        const auto most = reference_run(scattered("maximum", steps), in);
        EXPECT_EQ(elements_of<std::uint64_t>(most.at(0)), (Numbers{5, 6, wide + 2}));
        const auto least = reference_run(scattered("minimum", steps), in);
        EXPECT_EQ(elements_of<std::uint64_t>(least.at(0)), (Numbers{3, 6, negative}));
    }
}

std::array<std::uint32_t, 2> threefry(std::uint32_t k0, std::uint32_t k1, std::uint32_t x, std::uint32_t y) {
    const std::uint32_t keys[3] = {k0, k1, k0 ^ k1 ^ 0x1bd11bda};
    const int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    x += keys[0], y += keys[1];
    for (std::uint32_t i = 0; i < 5; ++i) {
        for (const int turn : turns[i % 2]) x += y, y = std::rotl(y, turn) ^ x;
        x += keys[(i + 1) % 3], y += keys[(i + 2) % 3] + i + 1;
    }
    return {x, y};
}

TEST(StablehloWords, ThreefryGivesTheBitsOfXla) {
    // Random123's known answers.
    EXPECT_EQ(threefry(0, 0, 0, 0), (std::array<std::uint32_t, 2>{0x6b200159, 0x99ba4efe}));
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%arg0: tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>) {
    %0, %1 = stablehlo.rng_bit_generator %arg0, algorithm = THREE_FRY
        : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
    return %0, %1 : tensor<2xui64>, tensor<3x5xui32>
  })");
    const std::uint64_t key = 0x0123456789abcdef, counter = 0xfffffffffffffffc;
    const auto got = reference_run(graph, std::vector{words({2}, {key, counter})});
    // No dimension is even: the largest, 5, is halved to 3; 3 x 3 counters.
    EXPECT_EQ(elements_of<std::uint64_t>(got.at(0)), (Numbers{key, counter + 9}));
    const auto bits = elements_of<std::uint32_t>(got.at(1));
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 5; ++j) {
            const std::uint64_t c = counter + i * 3 + j / 2;
            const auto pair =
                threefry(0x89abcdef, 0x01234567, static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(c >> 32));
            EXPECT_EQ(bits[i * 5 + j], pair[j % 2]) << i << " " << j;
        }
    }
}

TEST(StablehloWords, PhiloxCarriesIntoTheUpperCounter) {
    // Random123's known answers, for a counter and key of zeros and of ones.
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%arg0: tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>) {
    %0, %1 = stablehlo.rng_bit_generator %arg0, algorithm = PHILOX
        : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
    return %0, %1 : tensor<3xui64>, tensor<4xui32>
  })");
    const auto zeros = reference_run(graph, std::vector{words({3}, {0, 0, 0})});
    EXPECT_EQ(elements_of<std::uint32_t>(zeros.at(1)),
              (std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    const std::uint64_t ones = ~std::uint64_t{0};
    const auto last = reference_run(graph, std::vector{words({3}, {ones, ones, ones})});
    EXPECT_EQ(elements_of<std::uint32_t>(last.at(1)),
              (std::vector<std::uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(elements_of<std::uint64_t>(last.at(0)), (Numbers{ones, 0, 0}));
}

TEST(StablehloWords, DoublesAreF32OnRequestAlone) {
    const std::string body = R"(
  func.func public @main(%arg0: tensor<2xf64>, %arg1: tensor<2xcomplex<f64>>) -> (tensor<2xf64>, tensor<2xf64>) {
    %c = stablehlo.constant dense<[1.5, 1.0e300]> : tensor<2xf64>
    %0 = stablehlo.multiply %arg0, %c : tensor<2xf64>
    %1 = stablehlo.imag %arg1 : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
    return %0, %1 : tensor<2xf64>, tensor<2xf64>
  })";
    try {
        test::stablehlo_graph(body);
        ADD_FAILURE() << "f64 was taken";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("--f64-as-f32"), std::string::npos) << error.what();
    }
    ImportOptions options;
    options.f64_as_f32 = true;
    const Graph graph = test::stablehlo_graph(body, options);
    for (const auto& ends : {graph.inputs, graph.outputs})
        for (const ValueId id : ends) EXPECT_EQ(graph.value(id).declared, HostKind::f64);
    HostTensor x(DType::fp32, {2});
    x.bytes = encode_reals(DType::fp32, std::vector<double>{3, 2});
    const auto got = reference_run(graph, std::vector{x, x, x});
    EXPECT_EQ(elements_of<float>(got.at(0)), (std::vector<float>{4.5f, std::numeric_limits<float>::infinity()}));
    EXPECT_EQ(elements_of<float>(got.at(1)), (std::vector<float>{3, 2}));
}

TEST(StablehloWords, DearBranchesAreAskedForFirst) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %0 = "stablehlo.case"(%arg0) ({
      stablehlo.return %arg1 : tensor<2x2xf32>
    }, {
      %1 = stablehlo.dot_general %arg1, %arg1, contracting_dims = [1] x [0]
          : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      stablehlo.return %1 : tensor<2x2xf32>
    }, {
      %1 = stablehlo.negate %arg1 : tensor<2x2xf32>
      stablehlo.return %1 : tensor<2x2xf32>
    }) : (tensor<i32>) -> tensor<2x2xf32>
    return %0 : tensor<2x2xf32>
  })");
    std::size_t branches = 0;
    for (const Node& node : graph.nodes) {
        branches += node.op == Op::cond_if;
        EXPECT_NE(node.op, Op::matmul);
    }
    EXPECT_EQ(branches, 3u);
    HostTensor x(DType::fp32, {2, 2}), index(DType::i32, {});
    x.bytes = encode_reals(DType::fp32, std::vector<double>{1, 2, 3, 4});
    const std::vector<std::vector<float>> wanted = {{1, 2, 3, 4}, {7, 10, 15, 22}, {-1, -2, -3, -4}};
    for (const int k : {0, 1, 2, 3, -1}) {
        index.bytes = encode_ints(DType::i32, std::vector<std::int64_t>{k});
        EXPECT_EQ(elements_of<float>(reference_run(graph, std::vector{index, x}).at(0)),
                  wanted[k < 0 || k > 2 ? 2u : static_cast<std::size_t>(k)])
            << k;
    }
}

}  // namespace
}  // namespace tosavk
