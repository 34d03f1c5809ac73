// The same bits as elements of another type, and narrow floats as each other.
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "graph/host_tensor.hpp"
#include "reference/reference.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <numeric>

namespace tosavk {
namespace {

using Codes = std::vector<int>;

HostTensor bytes_of(const Graph& graph, const Codes& codes) {
    const Value& value = graph.value(graph.inputs.at(0));
    HostTensor tensor(value.type, value.shape);
    EXPECT_EQ(tensor.bytes.size(), codes.size());
    for (std::size_t i = 0; i < codes.size(); ++i) tensor.bytes[i] = static_cast<std::byte>(codes[i]);
    return tensor;
}

/// The bytes that a conversion makes of those of its operand.
Codes made(const std::string& op, const std::string& from, const std::string& to, const Codes& codes) {
    SCOPED_TRACE(op + " " + from + " to " + to);
    const Graph graph = test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%x: tensor<{0}>) -> tensor<{1}> {{
    %0 = stablehlo.{2} %x : (tensor<{0}>) -> tensor<{1}>
    return %0 : tensor<{1}>
  }})",
                                                          from, to, op));
    Codes got;
    const HostTensor result = reference_run(graph, std::vector{bytes_of(graph, codes)}).at(0);
    for (const std::byte byte : result.bytes) got.push_back(std::to_integer<int>(byte));
    return got;
}

Codes all_codes() {
    Codes codes(256);
    std::iota(codes.begin(), codes.end(), 0);
    return codes;
}

TEST(StablehloBits, OfFloatsOf8Bits) {
    const Codes codes = all_codes();
    // The reference has one NaN of f8E5M2 with each sign.
    const auto reference = [](int code) {
        return (code & 0x7c) == 0x7c && (code & 3) != 0 ? (code & 0x80) | 0x7e : code;
    };
    Codes wanted;
    for (const int code : codes) wanted.push_back(reference(code));
    EXPECT_EQ(made("bitcast_convert", "256xf8E4M3FN", "256xi8", codes), codes);
    EXPECT_EQ(made("bitcast_convert", "256xui8", "256xf8E4M3FN", codes), codes);
    EXPECT_EQ(made("bitcast_convert", "256xf8E5M2", "256xui8", codes), wanted);
    EXPECT_EQ(made("bitcast_convert", "256xi8", "256xf8E5M2", codes), wanted);
    for (const char* other : {"128x2xf8E4M3FN", "128x2xf8E4M3", "128x2xf8E8M0FNU"}) {
        EXPECT_EQ(made("bitcast_convert", other, "128xi16", codes), codes);
        EXPECT_EQ(made("bitcast_convert", "128xui16", other, codes), codes);
    }
    EXPECT_EQ(made("bitcast_convert", "64x4xf8E4M3FN", "64xi32", codes), codes);
    EXPECT_EQ(made("bitcast_convert", "64xi32", "64x4xf8E4M3FN", codes), codes);
    EXPECT_EQ(made("bitcast_convert", "32x8xf8E4M3FN", "32xui64", codes), codes);
    EXPECT_EQ(made("bitcast_convert", "32xi64", "32x8xf8E4M3FN", codes), codes);
    EXPECT_EQ(made("bitcast_convert", "256xf8E4M3B11FNUZ", "256xf8E4M3FN", codes), codes);
}

// As codes, since nothing computes with these types.
TEST(StablehloBits, PlacesAsNarrowFloats) {
    const auto places = [](const std::string& type) {
        const Graph graph = test::stablehlo_graph(fmt::format(R"(
  func.func public @main() -> tensor<{0}> {{
    %0 = stablehlo.iota dim = 1 : tensor<{0}>
    return %0 : tensor<{0}>
  }})",
                                                              type));
        Codes got;
        const HostTensor result = reference_run(graph, {}).at(0);
        for (const std::byte byte : result.bytes) got.push_back(std::to_integer<int>(byte));
        return got;
    };
    EXPECT_EQ(places("1x4xf8E4M3FNUZ"), (Codes{0, 0x40, 0x48, 0x4c}));
    EXPECT_EQ(places("2x3xf8E5M2FNUZ"), (Codes{0, 0x40, 0x44, 0, 0x40, 0x44}));
    EXPECT_EQ(places("1x6xf8E3M4"), (Codes{0, 0x30, 0x40, 0x48, 0x50, 0x54}));
    EXPECT_EQ(places("1x7xf4E2M1FN"), (Codes{0, 2, 4, 5, 6, 6, 7}));  // 5, a tie, becomes 4
    EXPECT_EQ(places("1x3xf8E4M3FN"), (Codes{0, 0x38, 0x40}));
    for (const char* type : {"1x8xf4E2M1FN", "1x1xf8E8M0FNU"}) EXPECT_THROW(places(type), Error) << type;
}

TEST(StablehloBits, OfNumbersBelow8Bits) {
    const Codes codes = all_codes();
    Codes nibbles, with_sign, pairs;
    for (const int code : codes) {
        for (int k = 0; k < 2; ++k) {
            nibbles.push_back((code >> (4 * k)) & 15);
            with_sign.push_back(((nibbles.back() ^ 8) - 8) & 255);
        }
        for (int k = 0; k < 4; ++k) pairs.push_back((code >> (2 * k)) & 3);
    }
    EXPECT_EQ(made("bitcast_convert", "256xi8", "256x2xui4", codes), nibbles);
    EXPECT_EQ(made("bitcast_convert", "256xui8", "256x2xi4", codes), with_sign);
    EXPECT_EQ(made("bitcast_convert", "256xf8E4M3FN", "256x4xui2", codes), pairs);
    EXPECT_EQ(made("bitcast_convert", "64xi32", "64x8xi4", codes), with_sign);
    EXPECT_EQ(made("bitcast_convert", "32xi64", "32x32xui2", codes), pairs);
    EXPECT_EQ(made("bitcast_convert", "256x2xi4", "256xui8", with_sign), codes);
    EXPECT_EQ(made("bitcast_convert", "256x4xui2", "256xf8E4M3FN", pairs), codes);
    EXPECT_EQ(made("bitcast_convert", "64x8xf4E2M1FN", "64xi32", nibbles), codes);
    EXPECT_EQ(made("bitcast_convert", "32x32xui2", "32xui64", pairs), codes);
    EXPECT_EQ(made("bitcast_convert", "512xi4", "512xui4", with_sign), nibbles);
    EXPECT_EQ(made("bitcast_convert", "512xi4", "512x2xui2", with_sign), pairs);
    EXPECT_EQ(made("bitcast_convert", "512x2xui2", "512xi4", pairs), with_sign);
    EXPECT_EQ(made("bitcast_convert", "512xui4", "512xf4E2M1FN", nibbles), nibbles);
}

TEST(StablehloBits, FloatsOf8BitsBecomeEachOther) {
    // 1, 448, -0.5, 2^-9, 0.0625 + 2^-8 and so on: rounded to even, NaN of what is too large.
    EXPECT_EQ(made("convert", "6xf8E4M3FN", "6xf8E5M2", {0x38, 0x7e, 0xb0, 0x01, 0x19, 0x7f}),
              (Codes{0x3c, 0x5f, 0xb8, 0x18, 0x2c, 0x7e}));
    EXPECT_EQ(made("convert", "6xf8E5M2", "6xf8E4M3FN", {0x3c, 0x5f, 0xb8, 0x18, 0x7c, 0x01}),
              (Codes{0x38, 0x7e, 0xb0, 0x01, 0x7f, 0x00}));
}

TEST(StablehloBits, InRegionsOfNumbers) {
    const Graph graph = test::stablehlo_graph(R"(
  func.func public @main(%a: tensor<5xf32>) -> tensor<f32> {
    %i = stablehlo.constant dense<0.0> : tensor<f32>
    %r = "stablehlo.reduce"(%a, %i) <{dimensions = array<i64: 0>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %b = stablehlo.bitcast_convert %x : (tensor<f32>) -> tensor<i32>
      %c = stablehlo.bitcast_convert %y : (tensor<f32>) -> tensor<i32>
      %m = stablehlo.xor %b, %c : tensor<i32>
      %n = stablehlo.bitcast_convert %m : (tensor<i32>) -> tensor<f32>
      stablehlo.return %n : tensor<f32>
    }) : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  })");
    const std::vector<float> numbers = {1, 2.5f, -3, 7e5f, 0.1f};
    HostTensor x(DType::fp32, {5});
    std::memcpy(x.bytes.data(), numbers.data(), x.bytes.size());
    std::uint32_t wanted = 0, got = 0;
    for (const float number : numbers) wanted ^= std::bit_cast<std::uint32_t>(number);
    const HostTensor result = reference_run(graph, std::vector{x}).at(0);
    std::memcpy(&got, result.bytes.data(), 4);
    EXPECT_EQ(got, wanted);
    const Graph small = test::stablehlo_graph(R"(
  func.func public @main(%a: tensor<4xf8E4M3FN>) -> tensor<4xui8> {
    %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 0>}> ({
    ^bb0(%x: tensor<f8E4M3FN>):
      %1 = stablehlo.bitcast_convert %x : (tensor<f8E4M3FN>) -> tensor<ui8>
      stablehlo.return %1 : tensor<ui8>
    }) : (tensor<4xf8E4M3FN>) -> tensor<4xui8>
    return %0 : tensor<4xui8>
  })");
    const Codes codes = {0x00, 0x81, 0x3c, 0x7e};
    EXPECT_EQ(reference_run(small, std::vector{bytes_of(small, codes)}).at(0).bytes, bytes_of(small, codes).bytes);
    EXPECT_NE(test::stablehlo_refusal(R"(
  func.func public @main(%a: tensor<2xf32>) -> tensor<2x32xi1> {
    %0 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2x32xi1>
    return %0 : tensor<2x32xi1>
  })")
                  .find("from f32 to i1"),
              std::string::npos);
}

}  // namespace
}  // namespace tosavk
