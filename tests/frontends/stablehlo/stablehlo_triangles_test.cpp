// Triangular solve and Cholesky, a few rows and several blocks of them: what comes out is put into the equation.
#include "frontends/stablehlo/stablehlo.hpp"
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "graph/host_tensor.hpp"
#include "reference/reference.hpp"
#include "support/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tosavk {
namespace {

std::vector<double> run(const std::string& body, const std::vector<HostTensor>& inputs) {
    const Graph graph = test::stablehlo_graph(body);
    const HostTensor result = reference_run(graph, inputs).at(0);
    return decode_reals(result.type, result.bytes);
}

/// What is not in the triangle that is read is left as it is.
HostTensor random_square(std::int64_t n, double diagonal, std::mt19937_64& random) {
    std::normal_distribution<float> normal;
    std::vector<double> values;
    for (std::int64_t i = 0; i < n * n; ++i)
        values.push_back(normal(random) + (i / n == i % n ? static_cast<float>(diagonal) : 0));
    HostTensor tensor(DType::fp32, {n, n});
    tensor.bytes = encode_reals(DType::fp32, values);
    return tensor;
}

class Triangles : public ::testing::TestWithParam<std::int64_t> {
protected:
    const std::uint64_t seed_ = test::number_from_environment("TOSAVK_TEST_SEED", 1);
};

TEST_P(Triangles, Solve) {
    const std::int64_t n = GetParam(), columns = 3;
    std::mt19937_64 random(seed_);
    for (int way = 0; way < 12; ++way) {
        const bool lower = way % 2 != 0, unit = way / 2 % 2 != 0;
        const char* const how = way < 4 ? "NO_TRANSPOSE" : way < 8 ? "TRANSPOSE" : "ADJOINT";
        SCOPED_TRACE(fmt::format("{} rows, lower {}, unit {}, {}, seed {}", n, lower, unit, how, seed_));
        HostTensor a = random_square(n, 0, random);
        std::vector<double> m = decode_reals(DType::fp32, a.bytes);
        for (std::int64_t i = 0; i < n * n; ++i) {  // beside the diagonal small, so that solutions stay so
            double& v = m[static_cast<std::size_t>(i)];
            v = i / n == i % n ? std::copysign(1 + std::abs(v), v) : v / static_cast<double>(n);
        }
        a.bytes = encode_reals(DType::fp32, m);
        m = decode_reals(DType::fp32, a.bytes);
        const HostTensor all = random_square(std::max(n, columns), 0, random);
        HostTensor right(DType::fp32, {n, columns});
        right.bytes.assign(all.bytes.begin(), all.bytes.begin() + static_cast<std::ptrdiff_t>(4 * n * columns));
        const std::vector<double> b = decode_reals(DType::fp32, right.bytes);
        const std::vector<double> x = run(fmt::format(R"(
  func.func public @main(%a: tensor<{0}x{0}xf32>, %b: tensor<{0}x{1}xf32>) -> tensor<{0}x{1}xf32> {{
    %0 = "stablehlo.triangular_solve"(%a, %b) <{{left_side = true, lower = {2},
        transpose_a = #stablehlo<transpose {3}>, unit_diagonal = {4}}}>
        : (tensor<{0}x{0}xf32>, tensor<{0}x{1}xf32>) -> tensor<{0}x{1}xf32>
    return %0 : tensor<{0}x{1}xf32>
  }})",
                                                      n, columns, lower, how, unit),
                                          {a, right});
        const auto element = [&](std::int64_t i, std::int64_t j) {
            if (way >= 4) std::swap(i, j);
            if (i == j && unit) return 1.0;
            return i != j && (i > j) != lower ? 0.0 : m[static_cast<std::size_t>(i * n + j)];
        };
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t c = 0; c < columns; ++c) {
                double sum = 0;
                for (std::int64_t j = 0; j < n; ++j)
                    sum += element(i, j) * x[static_cast<std::size_t>(j * columns + c)];
                ASSERT_NEAR(sum, b[static_cast<std::size_t>(i * columns + c)], 2e-5) << i << ", " << c;
            }
        }
    }
}

TEST_P(Triangles, Cholesky) {
    const std::int64_t n = GetParam();
    std::mt19937_64 random(seed_);
    const std::vector<double> half = decode_reals(DType::fp32, random_square(n, 0, random).bytes);
    std::vector<double> whole(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
            double sum = i == j ? static_cast<double>(n) : 0;
            for (std::int64_t k = 0; k < n; ++k)
                sum += half[static_cast<std::size_t>(i * n + k)] * half[static_cast<std::size_t>(j * n + k)];
            whole[static_cast<std::size_t>(i * n + j)] = sum;
        }
    for (const bool lower : {false, true}) {
        SCOPED_TRACE(fmt::format("{} rows, lower {}, seed {}", n, lower, seed_));
        std::vector<double> given = whole;
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < n; ++j)
                if (i != j && (i > j) != lower) given[static_cast<std::size_t>(i * n + j)] = 1e6;  // is not read
        HostTensor a(DType::fp32, {n, n});
        a.bytes = encode_reals(DType::fp32, given);
        const std::vector<double> f = run(fmt::format(R"(
  func.func public @main(%a: tensor<{0}x{0}xf32>) -> tensor<{0}x{0}xf32> {{
    %0 = stablehlo.cholesky %a, lower = {1} : tensor<{0}x{0}xf32>
    return %0 : tensor<{0}x{0}xf32>
  }})",
                                                      n, lower),
                                          {a});
        const auto element = [&](std::int64_t i, std::int64_t k) {
            return f[static_cast<std::size_t>(lower ? i * n + k : k * n + i)];
        };
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
                if (j > i) {
                    ASSERT_EQ(element(i, j), 0);
                }
                double sum = 0;
                for (std::int64_t k = 0; k < n; ++k) sum += element(i, k) * element(j, k);
                ASSERT_NEAR(sum, whole[static_cast<std::size_t>(i * n + j)], 1e-5 * static_cast<double>(n) * 4);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Rows, Triangles, ::testing::Values(1, 7, 9, 64, 65, 150));

TEST(TrianglesRefused, BySentences) {
    const auto refused = [](const std::string& a, const std::string& b) {
        try {
            run(fmt::format(R"(
  func.func public @main(%a: {0}, %b: {1}) -> {1} {{
    %0 = "stablehlo.triangular_solve"(%a, %b) <{{left_side = true, lower = true,
        transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}}> : ({0}, {1}) -> {1}
    return %0 : {1}
  }})",
                            a, b),
                {});
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("taken");
    };
    const auto contains = [](const std::string& sentence, const char* part) {
        EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
    };
    contains(refused("tensor<2x3xf32>", "tensor<2x3xf32>"), "no square matrix");
    contains(refused("tensor<3xf32>", "tensor<3x1xf32>"), "no square matrix");
    contains(refused("tensor<3x3xf32>", "tensor<2x1xf32>"), "do not fit");
    contains(refused("tensor<2x3x3xf32>", "tensor<3x1xf32>"), "do not fit");
    contains(refused("tensor<3x3xf32>", "tensor<3xf32>"), "not as many matrices");
    contains(refused("tensor<0x0xf32>", "tensor<2x1xf32>"), "no matrices");
    contains(refused("tensor<3x3xi32>", "tensor<3x1xi32>"), "integers");
    contains(refused("tensor<3x3xf16>", "tensor<3x1xf32>"), "not of f16");
}

}  // namespace
}  // namespace tosavk
