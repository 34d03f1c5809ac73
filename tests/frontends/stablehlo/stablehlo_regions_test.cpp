// Regions on whole tensors: what reductions, windows and sorts give where no operator of the graph does all of it.
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "graph/host_tensor.hpp"
#include "reference/reference.hpp"

#include <fmt/format.h>

namespace tosavk {
namespace {

using List = std::vector<std::int64_t>;

HostTensor ints(const Shape& shape, const List& values) {
    HostTensor tensor(DType::i32, shape);
    tensor.bytes = encode_ints(DType::i32, values);
    return tensor;
}

List ints_of(const HostTensor& tensor) { return decode_ints(tensor.type, tensor.bytes); }
List filled(std::size_t count, std::int64_t number) { return List(count, number); }

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

}  // namespace
}  // namespace tosavk
