// Quantized tensors against their rules in C++, and algorithms of products, which say how factors are rounded.
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "graph/host_tensor.hpp"
#include "reference/reference.hpp"
#include "support/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace tosavk {
namespace {

struct Grid {
    std::string storage;  ///< as quantized types write it
    float scale;
    int zero, least, most;
    std::string text(const std::string& dims) const {
        return fmt::format("tensor<{}!quant.uniform<{}<{}:{}>:f32, {}:{}>>", dims, storage, least, most, scale, zero);
    }
    int steps(float x) const {
        const float moved = x / scale + static_cast<float>(zero);
        return static_cast<int>(std::nearbyint(std::clamp(moved, static_cast<float>(least), static_cast<float>(most))));
    }
    float value(int steps) const { return static_cast<float>(steps - zero) * scale; }
};

const Grid grids[] = {{"i8", 0.25f, -3, -128, 127},      {"u8", 0.0625f, 128, 0, 255},
                      {"i8", 0.5f, 0, -127, 127},        {"i4", 1.5f, 1, -8, 7},
                      {"u4", 0.75f, 3, 0, 15},           {"i16", 0.0078125f, 0, -32768, 32767},
                      {"u16", 0.03125f, 40000, 0, 65535}};

std::mt19937_64 seeded() {
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    ::testing::Test::RecordProperty("TOSAVK_TEST_SEED", std::to_string(seed));
    return std::mt19937_64(seed);
}

/// Every third is a whole number of halves of `step`, where rounding is to even.
HostTensor floats(std::mt19937_64& random, Shape shape, float spread, float step = 0.125f) {
    HostTensor tensor(DType::fp32, shape);
    std::uniform_real_distribution<float> draw(-spread, spread);
    for (std::size_t i = 0; i < tensor.bytes.size(); i += 4) {
        const float v = i % 3 == 0 ? std::round(draw(random) / step * 2) * step / 2 : draw(random);
        std::memcpy(tensor.bytes.data() + i, &v, 4);
    }
    return tensor;
}

std::vector<float> floats_of(const HostTensor& tensor) {
    std::vector<float> values(tensor.bytes.size() / 4);
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
}

int stored(const HostTensor& tensor, const std::string& storage, std::size_t i) {
    if (storage == "i16" || storage == "u16") {
        std::uint16_t v = 0;
        std::memcpy(&v, tensor.bytes.data() + 2 * i, 2);
        return storage == "u16" ? v : static_cast<std::int16_t>(v);
    }
    const int byte = std::to_integer<int>(tensor.bytes[i]);
    return storage == "u8" ? byte : static_cast<std::int8_t>(byte);
}

/// One function of `arguments` and `results`, types in brackets, run by the reference.
std::vector<HostTensor> run(const std::string& arguments, const std::string& body, const std::string& results,
                            const std::vector<HostTensor>& inputs) {
    return reference_run(test::stablehlo_graph(fmt::format("  func.func public @main({}) -> ({}) {{\n{}\n  }}",
                                                           arguments, results, body)),
                         inputs);
}

TEST(StablehloQuantized, FloatsAreRoundedToTheGrid) {
    std::mt19937_64 random = seeded();
    for (const Grid& grid : grids) {
        SCOPED_TRACE(grid.text(""));
        const Graph graph = test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%x: tensor<64xf32>) -> ({0}, tensor<64xf32>) {{
    %0 = stablehlo.uniform_quantize %x : (tensor<64xf32>) -> {0}
    %1 = stablehlo.uniform_dequantize %0 : ({0}) -> tensor<64xf32>
    return %0, %1 : {0}, tensor<64xf32>
  }})",
                                                              grid.text("64x")));
        const float span = static_cast<float>(grid.most - grid.least) * grid.scale;  // a third lies outside
        const HostTensor x = floats(random, {64}, span, grid.scale);
        const auto results = reference_run(graph, std::vector{x});
        const std::vector<float> given = floats_of(x), made = floats_of(results.at(1));
        for (std::size_t i = 0; i < given.size(); ++i) {
            EXPECT_EQ(stored(results.at(0), grid.storage, i), grid.steps(given[i])) << given[i];
            // Zero has no sign.
            EXPECT_EQ(std::bit_cast<std::uint32_t>(made[i]),
                      std::bit_cast<std::uint32_t>(grid.value(grid.steps(given[i]))))
                << given[i];
        }
    }
}

TEST(StablehloQuantized, OperationsComputeWithFloats) {
    const Grid left = grids[0], right = grids[1], to = grids[2];
    const Graph graph = test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%a: {0}, %b: {1}) -> ({2}, {0}) {{
    %0 = stablehlo.add %a, %b : ({0}, {1}) -> {2}
    %1 = stablehlo.abs %a : ({0}) -> {0}
    %2 = stablehlo.reverse %1, dims = [0] : {0}
    return %0, %2 : {2}, {0}
  }})",
                                                          left.text("256x"), right.text("256x"), to.text("256x")));
    HostTensor a(DType::i8, {256}), b(DType::i8, {256});
    for (int i = 0; i < 256; ++i) a.bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(i);
    for (int i = 0; i < 256; ++i) b.bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(i * 37);
    const auto results = reference_run(graph, std::vector{a, b});
    for (std::size_t i = 0; i < 256; ++i) {
        const float x = left.value(stored(a, left.storage, i)), y = right.value(stored(b, right.storage, i));
        EXPECT_EQ(stored(results.at(0), to.storage, i), to.steps(x + y)) << x << " + " << y;
        EXPECT_EQ(stored(results.at(1), left.storage, 255 - i), left.steps(std::abs(x))) << x;
    }
}

TEST(StablehloQuantized, ConstantsScalesOfChannelsAndRegions) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>) {
    %0 = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32:1, {0.5:1,0.25,2.0:-3}>>
    %1 = stablehlo.uniform_dequantize %0 : (tensor<2x3x!quant.uniform<i8:f32:1, {0.5:1,0.25,2.0:-3}>>) -> tensor<2x3xf32>
    %2 = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32, 0.5:1>>
    %3 = "stablehlo.constant"() <{value = dense<3> : tensor<i8>}> : () -> tensor<!quant.uniform<i8:f32, 0.5:1>>
    %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.add across dimensions = [1] : (tensor<2x3x!quant.uniform<i8:f32, 0.5:1>>, tensor<!quant.uniform<i8:f32, 0.5:1>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:1>>
    %5 = stablehlo.uniform_dequantize %4 : (tensor<2x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<2xf32>
    return %1, %5 : tensor<2x3xf32>, tensor<2xf32>
  })");
    HostTensor x(DType::fp32, {2, 3});
    const float given[] = {0.3f, -0.3f, 5.1f, 90.0f, 0.125f, -500.0f};
    std::memcpy(x.bytes.data(), given, sizeof given);
    const auto results = reference_run(graph, std::vector{x});
    EXPECT_EQ(floats_of(results.at(0)), (std::vector<float>{0.5f, -0.25f, 6.0f, 63.0f, 0.0f, -250.0f}));
    // 1 + (0.5 - 0.5 + 5), and 1 + (63 + 0 - 64.5): every sum lies on the grid.
    EXPECT_EQ(floats_of(results.at(1)), (std::vector<float>{6.0f, -0.5f}));
}

TEST(StablehloQuantized, ConstantsAreStoredNumbers) {
    // MLIR writes the numbers of unsigned storage as those of its width, without a sign of their own.
    const auto constant = [](const std::string& numbers, const std::string& stored, const std::string& type) {
        const std::string body = fmt::format(R"(
    %0 = "stablehlo.constant"() <{{value = dense<{0}> : tensor<{1}>}}> : () -> tensor<{2}>
    %1 = stablehlo.uniform_dequantize %0 : (tensor<{2}>) -> tensor<{3}xf32>
    return %0, %1 : tensor<{2}>, tensor<{3}xf32>)",
                                             numbers, stored, type, type.substr(0, type.find("x!")));
        const std::string results = fmt::format("tensor<{}>, tensor<{}xf32>", type, type.substr(0, type.find("x!")));
        return run("", body, results, {});
    };
    auto made = constant("[200, 5]", "2xi8", "2x!quant.uniform<u8:f32, 0.5:128>");
    EXPECT_EQ(floats_of(made.at(1)), (std::vector<float>{36, -61.5f}));
    EXPECT_EQ(stored(made.at(0), "u8", 0), 200);
    made = constant("[-3, 5]", "2xi4", "2x!quant.uniform<i4:f32, 1.0>");
    EXPECT_EQ(floats_of(made.at(1)), (std::vector<float>{-3, 5}));
    EXPECT_EQ(stored(made.at(0), "i4", 0), -3);
    made = constant("[50000, 3]", "2xi16", "2x!quant.uniform<u16:f32, 0.5>");
    EXPECT_EQ(floats_of(made.at(1)), (std::vector<float>{25000, 1.5f}));
    EXPECT_EQ(floats_of(constant("-2", "4x5xi8", "4x5x!quant.uniform<i8:f32, 0.5:1>").at(1)),
              std::vector<float>(20, -1.5f));
    made = constant("4", "2x3x4xi8", "2x3x4x!quant.uniform<i8:f32:1, {1.0,0.5:2,0.25:-4}>");
    const std::vector<float> all = floats_of(made.at(1));
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], (std::vector<float>{4, 1, 2})[i / 4 % 3]) << i;
    EXPECT_THROW(constant("[1.5, 2.0]", "2xf32", "2x!quant.uniform<i8:f32, 1.0>"), Error);
    EXPECT_THROW(constant("[1, 2]", "2xi16", "2x!quant.uniform<i8:f32, 1.0>"), Error);
    EXPECT_THROW(constant("[1, 2]", "2xi8", "2x!quant.uniform<i8:f32:0, {1.0,2.0,3.0}>"), Error);
}

// Numbers narrower than a byte that are not quantized, too.
TEST(StablehloQuantized, NarrowConstantsHaveASign) {
    const auto made = run("", R"(
    %0 = stablehlo.constant dense<[-3, 5]> : tensor<2xi4>
    %1 = stablehlo.convert %0 : (tensor<2xi4>) -> tensor<2xf32>
    %2 = stablehlo.constant dense<[-2, 1]> : tensor<2xi2>
    %3 = stablehlo.convert %2 : (tensor<2xi2>) -> tensor<2xf32>
    return %1, %3 : tensor<2xf32>, tensor<2xf32>)",
                          "tensor<2xf32>, tensor<2xf32>", {});
    EXPECT_EQ(floats_of(made.at(0)), (std::vector<float>{-3, 5}));
    EXPECT_EQ(floats_of(made.at(1)), (std::vector<float>{-2, 1}));
}

TEST(StablehloQuantized, ProductsAreRoundedOneByOne) {
    HostTensor x(DType::i8, {4});
    for (std::size_t i = 0; i < 4; ++i) x.bytes[i] = std::byte{3};  // 1.5 each
    const std::string type = "!quant.uniform<i8:f32, 0.5>";
    const auto made = run(fmt::format("%x: tensor<4x{}>", type),
                          fmt::format(R"(
    %one = "stablehlo.constant"() <{{value = dense<2> : tensor<i8>}}> : () -> tensor<{0}>
    %0 = stablehlo.slice %x [0:3] : (tensor<4x{0}>) -> tensor<3x{0}>
    %1 = stablehlo.reduce(%0 init: %one) applies stablehlo.multiply across dimensions = [0] : (tensor<3x{0}>, tensor<{0}>) -> tensor<{0}>
    %2 = "stablehlo.reduce_window"(%x, %one) <{{window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>}}> ({{
    ^bb0(%a: tensor<{0}>, %b: tensor<{0}>):
      %3 = stablehlo.multiply %a, %b : tensor<{0}>
      stablehlo.return %3 : tensor<{0}>
    }}) : (tensor<4x{0}>, tensor<{0}>) -> tensor<4x{0}>
    return %1, %2 : tensor<{0}>, tensor<4x{0}>)",
                                      type),
                          fmt::format("tensor<{0}>, tensor<4x{0}>", type), {x});
    EXPECT_EQ(stored(made.at(0), "i8", 0), 6);  // 2.25 is 2, and 3 remains
    std::vector<int> running;
    for (std::size_t i = 0; i < 4; ++i) running.push_back(stored(made.at(1), "i8", i));
    // In any order: 1.5, 2, 3, and of four 4 (in pairs) or 4.5.
    EXPECT_EQ(std::vector<int>(running.begin(), running.begin() + 3), (std::vector<int>{3, 4, 6}));
    EXPECT_TRUE(running[3] == 8 || running[3] == 9) << running[3];
}

TEST(StablehloQuantized, WhatOnlyMovesStaysAsItIs) {
    const Grid grid = grids[0];
    const auto nodes = [&](const std::string& body) {
        return test::stablehlo_graph(fmt::format("  func.func public @main(%x: {0}) -> {1} {{\n{2}\n  }}",
                                                 grid.text("6x"), grid.text("2x6x"), body))
            .nodes.size();
    };
    const std::string movements = fmt::format(R"(
    %0 = stablehlo.reverse %x, dims = [0] : {0}
    %1 = stablehlo.reshape %0 : ({0}) -> {1}
    %2 = stablehlo.reshape %x : ({0}) -> {1}
    %3 = stablehlo.concatenate %1, %2, dim = 0 : ({1}, {1}) -> {2}
    return %3 : {2})",
                                              grid.text("6x"), grid.text("1x6x"), grid.text("2x6x"));
    const std::string ends = fmt::format(R"(
    %0 = stablehlo.broadcast_in_dim %x, dims = [1] : ({0}) -> {1}
    return %0 : {1})",
                                         grid.text("6x"), grid.text("2x6x"));
    EXPECT_LE(nodes(movements), nodes(ends) + 3);
    // Another grid than that of the operand.
    HostTensor x(DType::i8, {6});
    for (std::size_t i = 0; i < 6; ++i) x.bytes[i] = static_cast<std::byte>(i * 40);
    const auto made = run("%x: " + grid.text("6x"),
                          fmt::format(R"(
    %0 = stablehlo.reverse %x, dims = [0] : ({0}) -> {1}
    return %0 : {1})",
                                      grid.text("6x"), grids[2].text("6x")),
                          grids[2].text("6x"), {x});
    for (std::size_t i = 0; i < 6; ++i)
        EXPECT_EQ(stored(made.at(0), "i8", 5 - i), grids[2].steps(grid.value(stored(x, "i8", i)))) << i;
}

TEST(StablehloQuantized, EndsWithScalesOfChannels) {
    const std::string type = "tensor<2x3x!quant.uniform<u8:f32:1, {0.5:100,0.25:128,2.0}>>";
    HostTensor x(DType::i8, {2, 3});
    for (std::size_t i = 0; i < 6; ++i) x.bytes[i] = static_cast<std::byte>(90 + 20 * i);
    const auto made =
        run("%x: " + type,
            fmt::format(R"(
    %0 = stablehlo.uniform_dequantize %x : ({0}) -> tensor<2x3xf32>
    %1 = stablehlo.transpose %x, dims = [1, 0] : ({0}) -> tensor<3x2x!quant.uniform<u8:f32:0, {{0.5:100,0.25:128,2.0}}>>
    return %x, %0, %1 : {0}, tensor<2x3xf32>, tensor<3x2x!quant.uniform<u8:f32:0, {{0.5:100,0.25:128,2.0}}>>)",
                        type),
            type + ", tensor<2x3xf32>, tensor<3x2x!quant.uniform<u8:f32:0, {0.5:100,0.25:128,2.0}>>", {x});
    EXPECT_EQ(made.at(0).bytes, x.bytes);
    EXPECT_EQ(floats_of(made.at(1)), (std::vector<float>{-5, -4.5f, 260, 25, 10.5f, 380}));
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(made.at(2).bytes[i % 3 * 2 + i / 3], x.bytes[i]) << i;
}

TEST(StablehloQuantized, LoopsCallsAndProducts) {
    const Grid grid = grids[0];
    HostTensor x(DType::i8, {4});
    for (std::size_t i = 0; i < 4; ++i) x.bytes[i] = static_cast<std::byte>(i * 30 - 50);
    HostTensor y(DType::fp32, {3, 4});
    std::mt19937_64 random = seeded();
    y = floats(random, {3, 4}, 2);
    const Graph graph = test::stablehlo_graph(fmt::format(R"(
  func.func private @half(%a: {0}) -> {0} {{
    %0 = "stablehlo.constant"() <{{value = dense<-1> : tensor<4xi8>}}> : () -> {0}
    %1 = stablehlo.multiply %a, %0 : {0}
    return %1 : {0}
  }}
  func.func public @main(%x: {0}, %y: tensor<3x4xf32>) -> ({0}, tensor<3xf32>) {{
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%i = %c, %v = %x) : tensor<i32>, {0}
    cond {{
      %n = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }} do {{
      %one = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %i, %one : tensor<i32>
      %3 = func.call @half(%v) : ({0}) -> {0}
      stablehlo.return %2, %3 : tensor<i32>, {0}
    }}
    %4 = stablehlo.dot_general %y, %x, contracting_dims = [1] x [0] : (tensor<3x4xf32>, {0}) -> tensor<3xf32>
    return %0#1, %4 : {0}, tensor<3xf32>
  }})",
                                                          grid.text("4x")));
    const auto made = reference_run(graph, std::vector{x, y});
    for (std::size_t i = 0; i < 4; ++i) {
        int wanted = stored(x, "i8", i);
        for (int k = 0; k < 3; ++k) wanted = grid.steps(grid.value(wanted) * grid.value(-1));
        EXPECT_EQ(stored(made.at(0), "i8", i), wanted) << i;
    }
    for (std::size_t r = 0; r < 3; ++r) {
        float sum = 0;
        for (std::size_t i = 0; i < 4; ++i) sum += floats_of(y)[4 * r + i] * grid.value(stored(x, "i8", i));
        EXPECT_NEAR(floats_of(made.at(1))[r], sum, 1e-4) << r;
    }
}

TEST(StablehloQuantized, WithoutElements) {
    const std::string type = "tensor<0x3x!quant.uniform<u8:f32, 0.5:3>>";
    const auto made = run("%x: " + type, fmt::format("    %0 = stablehlo.abs %x : {0}\n    return %0 : {0}", type),
                          type, {HostTensor(DType::i8, {0, 3})});
    EXPECT_EQ(made.at(0).bytes.size(), 0u);
}

TEST(StablehloQuantized, WhatIsNotComputedIsSaid) {
    const auto refused = [](const std::string& type, const std::string& op, const std::string& to) {
        try {
            test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%x: tensor<4x{0}>) -> tensor<4x{2}> {{
    %0 = stablehlo.{1} %x : (tensor<4x{0}>) -> tensor<4x{2}>
    return %0 : tensor<4x{2}>
  }})",
                                              type, op, to));
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("nothing");
    };
    const auto says = [](const std::string& sentence, const char* what) {
        EXPECT_NE(sentence.find(what), std::string::npos) << sentence;
    };
    says(refused("f32", "uniform_quantize", "!quant.uniform<i32:f32, 0.5>"), "quantized numbers of 32 bits are not");
    says(refused("f16", "uniform_quantize", "!quant.uniform<i8:f16, 0.5>"), "quantized f16 is not supported");
    says(refused("!quant.uniform<i8:f32, 0.5>", "bitcast_convert", "i8"), "the bits of quantized numbers are not");
    says(refused("i8", "uniform_quantize", "!quant.uniform<i8:f32, 0.5>"),
         "its result is quantized, but what it makes");
    says(refused("f32", "uniform_quantize", "!quant.uniform<i8:f32, 0.0>"), "the scale 0 of its quantized type");
    says(refused("f32", "uniform_quantize", "!quant.uniform<i8:f32, -1.0>"), "the scale -1 of its quantized type");
    says(refused("f32", "uniform_quantize", "!quant.uniform<i8:f32, 1e37>"), "the scale 1e+37 of its quantized type");
    says(refused("f32", "uniform_quantize", "!quant.uniform<i8:f32, 0.5:128>"), "the zero point 128 of its quantized");
    says(refused("f32", "uniform_quantize", "!quant.uniform<i8<-200:100>:f32, 0.5>"), "lie between -200 and 100");
    says(refused("f32", "uniform_quantize", "!quant.uniform<i8<100:-100>:f32, 0.5>"), "lie between 100 and -100");
    says(refused("f32", "uniform_quantize", "!quant.uniform<i32:f32, 0.5>"),
         "stablehlo.uniform_quantize of tensor<4x!quant.uniform<i32:f32, 0.5");
}

std::string product(const std::string& type, const std::string& sums, int products) {
    return fmt::format(R"(
  func.func public @main(%a: tensor<3x40xf32>, %b: tensor<40x5xf32>) -> tensor<3x5xf32> {{
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = {0}, rhs_precision_type = {0}, accumulation_type = {1}, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = {2}, allow_imprecise_accumulation = false> : (tensor<3x40xf32>, tensor<40x5xf32>) -> tensor<3x5xf32>
    return %0 : tensor<3x5xf32>
  }})",
                       type, sums, products);
}

TEST(StablehloProductAlgorithms, RoundTheirFactors) {
    std::mt19937_64 random = seeded();
    const std::vector<HostTensor> inputs{floats(random, {3, 40}, 1), floats(random, {40, 5}, 1)};
    const std::vector<float> a = floats_of(inputs[0]), b = floats_of(inputs[1]);
    const auto as_bf16 = [](float v) {
        std::uint32_t bits = std::bit_cast<std::uint32_t>(v);
        bits += 0x7fff + (bits >> 16 & 1);
        return std::bit_cast<float>(bits & 0xffff0000u);
    };
    const auto sums = [&](bool rounded) {
        std::vector<double> made(15, 0.0);
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t j = 0; j < 5; ++j)
                for (std::size_t k = 0; k < 40; ++k) {
                    const float x = a[i * 40 + k], y = b[k * 5 + j];
                    made[i * 5 + j] += rounded ? static_cast<double>(as_bf16(x)) * static_cast<double>(as_bf16(y))
                                               : static_cast<double>(x) * static_cast<double>(y);
                }
        return made;
    };
    const auto furthest = [&](const std::string& text, bool rounded) {
        const std::vector<float> got = floats_of(reference_run(test::stablehlo_graph(text), inputs).at(0));
        const std::vector<double> wanted = sums(rounded);
        double most = 0;
        for (std::size_t i = 0; i < got.size(); ++i)
            most = std::max(most, std::abs(static_cast<double>(got[i]) - wanted[i]));
        return most;
    };
    EXPECT_LT(furthest(product("bf16", "f32", 1), true), 1e-5);
    EXPECT_GT(furthest(product("bf16", "f32", 1), false), 1e-4);
    for (const char* type : {"bf16", "f32", "tf32"})
        EXPECT_LT(furthest(product(type, "f32", std::string(type) == "bf16" ? 3 : 1), false), 1e-5) << type;
    EXPECT_THROW(test::stablehlo_graph(product("f64", "f64", 1)), Error);
    // Of 8 bits: all of three bits of fraction.
    EXPECT_GT(furthest(product("f8E4M3FN", "f32", 1), true), 1e-3);
    EXPECT_LT(furthest(product("f8E4M3FN", "f32", 1), false), 1);
}

}  // namespace
}  // namespace tosavk
