// Fourier transforms of every short length and of some longer ones, against the sum in C++.
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "graph/host_tensor.hpp"
#include "reference/reference.hpp"
#include "support/environment.hpp"

#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

namespace tosavk {
namespace {

using Numbers = std::vector<std::complex<double>>;

constexpr std::int64_t lines = 3;

Numbers transformed(const Numbers& x, std::int64_t length, bool inverse) {
    Numbers made(x.size());
    for (std::int64_t at = 0; at < lines * length; ++at) {
        std::complex<double> sum;
        for (std::int64_t j = 0; j < length; ++j) {
            const double part = static_cast<double>(j * (at % length) % length) / static_cast<double>(length);
            sum += x[static_cast<std::size_t>(at / length * length + j)] *
                   std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi * part);
        }
        made[static_cast<std::size_t>(at)] = inverse ? sum / static_cast<double>(length) : sum;
    }
    return made;
}

double size_of(const Numbers& x) {
    double sum = 0;
    for (const std::complex<double>& number : x) sum += std::norm(number);
    return std::sqrt(sum / static_cast<double>(x.size()));
}

class Fourier : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(Fourier, IsItsSum) {
    const std::int64_t length = GetParam();
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    std::vector<HostTensor> inputs(2, HostTensor(DType::fp32, {lines, length}));
    for (const bool inverse : {false, true}) {
        SCOPED_TRACE(fmt::format("length {}, inverse {}, seed {}", length, inverse, seed));
        std::vector<double> parts[2];
        Numbers x;
        for (std::int64_t k = 0; k < lines * length; ++k) {
            for (auto& part : parts) part.push_back(static_cast<double>(normal(random)));
            x.emplace_back(parts[0].back(), parts[1].back());
        }
        for (std::size_t k : {0u, 1u}) inputs[k].bytes = encode_reals(DType::fp32, parts[k]);
        const Graph graph = test::stablehlo_graph(fmt::format(R"(
  func.func public @main(%re: tensor<{0}x{1}xf32>, %im: tensor<{0}x{1}xf32>) -> (tensor<{0}x{1}xf32>, tensor<{0}x{1}xf32>) {{
    %x = stablehlo.complex %re, %im : tensor<{0}x{1}xcomplex<f32>>
    %y = stablehlo.fft %x, type = {2}, length = [{1}]
        : (tensor<{0}x{1}xcomplex<f32>>) -> tensor<{0}x{1}xcomplex<f32>>
    %a = stablehlo.real %y : (tensor<{0}x{1}xcomplex<f32>>) -> tensor<{0}x{1}xf32>
    %b = stablehlo.imag %y : (tensor<{0}x{1}xcomplex<f32>>) -> tensor<{0}x{1}xf32>
    return %a, %b : tensor<{0}x{1}xf32>, tensor<{0}x{1}xf32>
  }})",
                                                              lines, length, inverse ? "IFFT" : "FFT"));
        const std::vector<HostTensor> made = reference_run(graph, inputs);
        const std::vector<double> a = decode_reals(DType::fp32, made.at(0).bytes),
                                  b = decode_reals(DType::fp32, made.at(1).bytes);
        const Numbers wanted = transformed(x, length, inverse);
        Numbers errors;
        for (std::size_t k = 0; k < wanted.size(); ++k) errors.push_back(std::complex(a[k], b[k]) - wanted[k]);
        // Roundings of fp32, of which the chirp has more.
        EXPECT_LE(size_of(errors), std::ldexp(length <= 64 ? 3.0 : 6.0, -24) * size_of(wanted));
    }
}

INSTANTIATE_TEST_SUITE_P(Short, Fourier, ::testing::Range<std::int64_t>(2, 67));
INSTANTIATE_TEST_SUITE_P(Long, Fourier, ::testing::Values(96, 97, 128, 255, 1000));

}  // namespace
}  // namespace tosavk
