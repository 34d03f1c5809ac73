// Products of matrices and convolutions of integers of any width, and convolutions in groups and of many dimensions,
// against sums in C++.
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "graph/host_tensor.hpp"
#include "reference/reference.hpp"
#include "support/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace tosavk {
namespace {

using Numbers = std::vector<std::uint64_t>;

int bits_of(const std::string& type) { return std::stoi(type.substr(type.find('i') + 1)); }

/// Numbers modulo 2 to the width as the graph's input for them.
HostTensor tensor_of(const std::string& type, Shape shape, const Numbers& numbers) {
    const int bits = bits_of(type);
    if (bits == 64) shape.push_back(2);
    HostTensor tensor(bits <= 8 ? DType::i8 : bits == 16 ? DType::i16 : DType::i32, shape);
    const std::size_t size = bits <= 8 ? 1 : static_cast<std::size_t>(bits) / 8;
    for (std::size_t i = 0; i < numbers.size(); ++i) std::memcpy(tensor.bytes.data() + i * size, &numbers[i], size);
    return tensor;
}

Numbers numbers_of(const std::string& type, const HostTensor& tensor) {
    const std::size_t size = bits_of(type) <= 8 ? 1 : static_cast<std::size_t>(bits_of(type)) / 8;
    Numbers numbers(tensor.bytes.size() / size, 0);
    for (std::size_t i = 0; i < numbers.size(); ++i) std::memcpy(&numbers[i], tensor.bytes.data() + i * size, size);
    return numbers;
}

/// The number in 64 bits that the lowest bits of this type stand for.
std::uint64_t extended(const std::string& type, std::uint64_t number) {
    const int rest = 64 - bits_of(type);
    if (type[0] == 'u') return number << rest >> rest;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(number << rest) >> rest);
}

/// Half of them at the ends of the type.
Numbers some(std::mt19937_64& random, const std::string& type, std::size_t count) {
    const Numbers ends = {0, 1, ~std::uint64_t{0}, std::uint64_t{1} << (bits_of(type) - 1),
                          (std::uint64_t{1} << (bits_of(type) - 1)) - 1};
    Numbers numbers;
    for (std::size_t i = 0; i < count; ++i)
        numbers.push_back(extended(type, i % 2 == 0 ? random() : ends[random() % ends.size()]));
    return numbers;
}

std::size_t nodes_of(const Graph& graph, Op op) {
    return static_cast<std::size_t>(
        std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op == op; }));
}

std::mt19937_64 seeded() {
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    ::testing::Test::RecordProperty("TOSAVK_TEST_SEED", std::to_string(seed));
    return std::mt19937_64(seed);
}

Graph product(const std::string& left, const std::string& right, const std::string& made, std::size_t h, std::size_t c,
              std::size_t w) {
    return test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%a: tensor<{0}x{1}x{3}>, %b: tensor<{1}x{2}x{4}>) -> tensor<{0}x{2}x{5}> {{
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<{0}x{1}x{3}>, tensor<{1}x{2}x{4}>) -> tensor<{0}x{2}x{5}>
    return %0 : tensor<{0}x{2}x{5}>
  }})",
                                             h, c, w, left, right, made));
}

/// Each of [h, c] times [c, w].
void expect_product(const std::string& left, const std::string& right, const std::string& made, std::size_t h,
                    std::size_t c, std::size_t w, std::size_t multiplications) {
    SCOPED_TRACE(fmt::format("{} times {} as {}, {} x {} x {}", left, right, made, h, c, w));
    std::mt19937_64 random = seeded();
    const Graph graph = product(left, right, made, h, c, w);
    EXPECT_EQ(nodes_of(graph, Op::matmul), multiplications);
    const Numbers a = some(random, left, h * c), b = some(random, right, c * w);
    const auto size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    const HostTensor result = reference_run(graph, std::vector{tensor_of(left, {size(h), size(c)}, a),
                                                               tensor_of(right, {size(c), size(w)}, b)})
                                  .at(0);
    const Numbers got = numbers_of(made, result);
    ASSERT_EQ(got.size(), h * w);
    for (std::size_t i = 0; i < h; ++i) {
        for (std::size_t j = 0; j < w; ++j) {
            std::uint64_t wanted = 0;
            for (std::size_t k = 0; k < c; ++k) wanted += a[i * c + k] * b[k * w + j];
            const int rest = std::max(64 - std::max(bits_of(made), 8), 0);
            ASSERT_EQ(got[i * w + j], extended(made, wanted) << rest >> rest) << i << " " << j;
        }
    }
}

TEST(StablehloProducts, IntegersAreMultipliedInDigits) {
    expect_product("i8", "i8", "i32", 5, 60, 7, 1);
    expect_product("ui8", "ui8", "ui32", 5, 60, 7, 1);
    expect_product("i8", "ui8", "i32", 5, 60, 7, 1);
    expect_product("ui8", "ui8", "ui8", 5, 60, 7, 1);
    expect_product("i4", "ui4", "i4", 5, 60, 7, 1);
    expect_product("i4", "i8", "i32", 5, 60, 7, 1);
    expect_product("i16", "i16", "i32", 40, 60, 50, 4);
    expect_product("i16", "ui8", "i32", 40, 60, 50, 2);
    expect_product("ui16", "ui16", "ui16", 40, 60, 50, 3);
    expect_product("i32", "i32", "i32", 40, 60, 50, 10);
    expect_product("ui32", "ui32", "ui32", 40, 60, 50, 10);
    expect_product("i32", "i8", "i32", 40, 60, 50, 4);
}

TEST(StablehloProducts, FewAndThoseOfVectorsAreMadeAtOnce) {
    expect_product("i32", "i32", "i32", 5, 60, 7, 0);
    expect_product("i16", "i32", "i32", 5, 60, 7, 0);
    expect_product("ui16", "ui16", "ui16", 5, 60, 7, 0);
    expect_product("i32", "i32", "i32", 1, 700, 300, 0);
    expect_product("i32", "i32", "i32", 300, 700, 1, 0);
}

TEST(StablehloProducts, Integers64BitsWide) {
    expect_product("i64", "i64", "i64", 3, 20, 4, 36);
    expect_product("ui64", "ui64", "ui64", 3, 20, 4, 36);
    expect_product("i32", "i32", "i64", 3, 20, 4, 16);
    expect_product("ui32", "ui32", "ui64", 3, 20, 4, 16);
    expect_product("i64", "ui8", "i64", 3, 20, 4, 8);
    expect_product("i64", "i64", "i32", 40, 60, 50, 10);
    expect_product("i8", "i8", "i64", 3, 20, 4, 1);
    // What one i32 cannot sum.
    expect_product("ui64", "ui64", "ui64", 1, 5000, 1, 36);
    expect_product("ui64", "ui64", "ui64", 1, 70000, 1, 108);
    expect_product("i16", "ui16", "i64", 1, 40000, 2, 8);
}

TEST(StablehloProducts, LargeOnesNeedNoMoreThanTheirOperands) {
    for (const char* type : {"i32", "ui8", "i16", "ui32"}) {
        const Graph graph = product(type, type, type, 2048, 2048, 2048);
        for (const Value& value : graph.values) EXPECT_LE(element_count(value.shape), 2048 * 2048) << value.name;
    }
}

struct Convolution {
    std::vector<std::int64_t> size, kernel;  ///< in each spatial dimension
    std::int64_t images = 1, channels = 1, outputs = 1, groups = 1, batch_groups = 1;
    std::int64_t stride = 1, dilation = 1, pad = 0;
};

std::string joined(const std::vector<std::int64_t>& numbers, const char* between) {
    return fmt::format("{}", fmt::join(numbers, between));
}

Shape output_of(const Convolution& c) {
    Shape shape{c.images / c.batch_groups};
    for (std::size_t k = 0; k < c.size.size(); ++k)
        shape.push_back((c.size[k] + 2 * c.pad - (c.kernel[k] - 1) * c.dilation - 1) / c.stride + 1);
    shape.push_back(c.outputs);
    return shape;
}

/// Input [b, spatial, f], kernel [spatial, i, o].
Graph graph_of(const Convolution& c, const std::string& type, const std::string& made) {
    const std::size_t n = c.size.size();
    std::string places;
    for (std::size_t k = 0; k < n; ++k) places += fmt::format("{}, ", k);
    const auto each = [&](const std::string& what) { return fmt::format("{}", fmt::join(std::vector(n, what), ", ")); };
    const std::string input = fmt::format("tensor<{}x{}x{}x{}>", c.images, joined(c.size, "x"), c.channels, type);
    const std::string kernel =
        fmt::format("tensor<{}x{}x{}x{}>", joined(c.kernel, "x"), c.channels / c.groups, c.outputs, type);
    const std::string output = fmt::format("tensor<{}x{}>", joined(output_of(c), "x"), made);
    return test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%a: {0}, %b: {1}) -> {2} {{
    %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, {3}f]x[{3}i, o]->[b, {3}f],
        window = {{stride = [{4}], pad = [{5}], rhs_dilate = [{6}]}}
        {{batch_group_count = {7} : i64, feature_group_count = {8} : i64}} : ({0}, {1}) -> {2}
    return %0 : {2}
  }})",
                                             input, kernel, output, places, each(std::to_string(c.stride)),
                                             each(fmt::format("[{0}, {0}]", c.pad)), each(std::to_string(c.dilation)),
                                             c.batch_groups, c.groups));
}

/// Of numbers modulo 2^64, one result after the other.
Numbers convolved(const Convolution& c, const Numbers& input, const Numbers& kernel) {
    const Shape shape = output_of(c);
    const std::int64_t groups = c.groups * c.batch_groups, channels = c.channels / c.groups;
    Numbers made;
    for (std::int64_t place = 0; place < element_count(shape); ++place) {
        const std::int64_t output = place % c.outputs, group = output / (c.outputs / groups);
        std::uint64_t sum = 0;
        for (std::int64_t tap = 0; tap < element_count(c.kernel); ++tap) {
            std::int64_t rest = place / c.outputs, taps = tap, at = 0, step = 1;
            bool inside = true;
            for (std::size_t k = c.size.size(); k-- > 0;) {
                const std::int64_t x = rest % shape[k + 1] * c.stride + taps % c.kernel[k] * c.dilation - c.pad;
                inside = inside && x >= 0 && x < c.size[k];
                at += x * step;
                step *= c.size[k];
                rest /= shape[k + 1], taps /= c.kernel[k];
            }
            if (!inside) continue;
            const std::int64_t image = rest + (c.batch_groups > 1 ? group * (c.images / c.batch_groups) : 0);
            for (std::int64_t i = 0; i < channels; ++i) {
                const std::int64_t channel = i + (c.groups > 1 ? group * channels : 0);
                sum += input.at(static_cast<std::size_t>((image * step + at) * c.channels + channel)) *
                       kernel.at(static_cast<std::size_t>((tap * channels + i) * c.outputs + output));
            }
        }
        made.push_back(sum);
    }
    return made;
}

void expect_convolution(const Convolution& c, const std::string& type, const std::string& made, Op op,
                        std::size_t operators) {
    SCOPED_TRACE(fmt::format("{} as {}: {} by {}, {} groups, {} of images", type, made, joined(c.size, "x"),
                             joined(c.kernel, "x"), c.groups, c.batch_groups));
    std::mt19937_64 random = seeded();
    const Graph graph = graph_of(c, type, made);
    EXPECT_EQ(nodes_of(graph, op), operators);
    Shape input = c.size, kernel = c.kernel;
    input.insert(input.begin(), c.images);
    input.push_back(c.channels);
    kernel.push_back(c.channels / c.groups);
    kernel.push_back(c.outputs);
    const auto count = [](const Shape& shape) { return static_cast<std::size_t>(element_count(shape)); };
    if (type.find('f') != std::string::npos) {
        Numbers a, b;
        const auto floats = [&](Numbers& numbers, const Shape& shape) {
            std::vector<double> reals;
            for (std::size_t i = 0; i < count(shape); ++i) reals.push_back(static_cast<double>(random() % 17) - 8);
            for (const double real : reals)
                numbers.push_back(static_cast<std::uint64_t>(static_cast<std::int64_t>(real)));
            HostTensor tensor(graph.value(graph.inputs[0]).type, shape);
            tensor.bytes = encode_reals(tensor.type, reals);
            return tensor;
        };
        const HostTensor x = floats(a, input), y = floats(b, kernel);
        const HostTensor result = reference_run(graph, std::vector{x, y}).at(0);
        std::vector<double> wanted;
        for (const std::uint64_t number : convolved(c, a, b))
            wanted.push_back(static_cast<double>(static_cast<std::int64_t>(number)));
        EXPECT_EQ(result.bytes, encode_reals(result.type, wanted));
        return;
    }
    const Numbers a = some(random, type, count(input)), b = some(random, type, count(kernel));
    const HostTensor result =
        reference_run(graph, std::vector{tensor_of(type, input, a), tensor_of(type, kernel, b)}).at(0);
    EXPECT_EQ(result.bytes, tensor_of(made, output_of(c), convolved(c, a, b)).bytes);
}

TEST(StablehloProducts, ConvolutionsOfIntegers) {
    Convolution c{.size = {9, 8}, .kernel = {3, 2}, .images = 2, .channels = 3, .outputs = 4};
    c.stride = 2, c.pad = 1, c.dilation = 2;
    expect_convolution(c, "i8", "i32", Op::conv2d, 1);
    expect_convolution(c, "ui8", "ui32", Op::conv2d, 1);
    expect_convolution(c, "i16", "i32", Op::conv2d, 4);
    expect_convolution(c, "i32", "i32", Op::conv2d, 10);
    expect_convolution(c, "ui32", "ui32", Op::conv2d, 10);
    expect_convolution(c, "i64", "i64", Op::conv2d, 36);
    expect_convolution({.size = {1300}, .kernel = {1200}}, "i32", "i32", Op::conv2d, 10);
    expect_convolution({.size = {3, 4, 5}, .kernel = {2, 3, 2}, .channels = 2, .outputs = 3}, "ui8", "i32", Op::conv3d,
                       1);
}

TEST(StablehloProducts, GroupsOfFewChannelsAreOneOperator) {
    for (const char* type : {"f32", "f16", "bf16", "ui8"}) {
        const std::string made = type[0] == 'u' ? "ui32" : type;
        const std::vector<std::int64_t> size = {6, 7}, kernel = {3, 2};
        expect_convolution({size, kernel, 2, 8, 8, 8, 1, 1, 1, 1}, type, made, Op::depthwise_conv2d, 1);
        expect_convolution({size, kernel, 2, 8, 24, 8, 1, 2, 1, 1}, type, made, Op::depthwise_conv2d, 1);
        expect_convolution({size, kernel, 2, 16, 24, 8, 1, 1, 2, 1}, type, made, Op::depthwise_conv2d, 2);
        expect_convolution({size, kernel, 2, 8, 6, 2, 1, 1, 1, 1}, type, made, Op::conv2d, 2);
        // Gradients by the kernel.
        expect_convolution({size, kernel, 8, 1, 16, 1, 8, 1, 1, 1}, type, made, Op::depthwise_conv2d, 1);
        expect_convolution({size, kernel, 16, 2, 16, 1, 8, 1, 1, 1}, type, made, Op::depthwise_conv2d, 2);
        expect_convolution({size, kernel, 4, 5, 6, 1, 2, 1, 1, 1}, type, made, Op::conv2d, 2);
        expect_convolution({{9}, {4}, 1, 6, 12, 6, 1, 1, 1, 2}, type, made, Op::depthwise_conv2d, 1);
        expect_convolution({{4, 5, 3}, {2, 2, 2}, 1, 6, 12, 6, 1, 1, 1, 1}, type, made, Op::depthwise_conv2d, 2);
        expect_convolution({{4, 5, 3}, {2, 2, 2}, 1, 4, 6, 2, 1, 1, 1, 1}, type, made, Op::conv3d, 2);
    }
}

TEST(StablehloProducts, ConvolutionsOfFourDimensionsAreSums) {
    for (const char* type : {"f32", "f16", "i16"}) {
        const std::string made = type[0] == 'i' ? "i32" : type;
        const std::size_t digits = type[0] == 'i' ? 4 : 1;
        const std::vector<std::int64_t> size = {5, 4, 3, 4}, kernel = {3, 2, 1, 2};
        expect_convolution({size, kernel, 2, 2, 3, 1, 1, 1, 1, 0}, type, made, Op::conv3d, 3 * digits);
        expect_convolution({size, kernel, 1, 4, 4, 2, 1, 2, 1, 1}, type, made, Op::conv3d, 6 * digits);
    }
}

/// Each is rounded once, though it is a sum of several.
TEST(StablehloProducts, SumsOfHalvesAreRoundedOnce) {
    const Graph graph = graph_of({{1, 1}, {1, 1}, 1, 64, 16, 16, 1, 1, 1, 0}, "f16", "f16");
    EXPECT_EQ(nodes_of(graph, Op::depthwise_conv2d), 4u);
    std::vector<double> x(64, 0), wanted(16, 0);
    x[0] = 2048, x[1] = 1, x[2] = 1;  // the first group's
    wanted[0] = 2050;
    HostTensor a(DType::fp16, {1, 1, 1, 64}), b(DType::fp16, {1, 1, 4, 16});
    a.bytes = encode_reals(DType::fp16, x), b.bytes = encode_reals(DType::fp16, std::vector<double>(64, 1));
    EXPECT_EQ(decode_reals(DType::fp16, reference_run(graph, std::vector{a, b}).at(0).bytes), wanted);
}

}  // namespace
}  // namespace tosavk
