// StableHLO's padding of a convolution is made of zeros that are multiplied: where a weight is infinite, its products
// with them are no numbers.
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "support/gpu_test.hpp"
#include "support/one_node.hpp"
#include "support/run.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tosavk {
namespace {

class StablehloPadding : public test::GpuTest {
protected:
    /// x [1,n,channels] of ones by w [3,channels / groups,outs] of twos but for an infinity in tap 0: n results of each
    /// of `outs` channels.
    std::vector<double> convolved(std::int64_t n, std::int64_t channels, std::int64_t groups, std::int64_t outs) {
        const std::int64_t inner = channels / groups;
        const std::string text = fmt::format(
            R"(func.func @main(%x: tensor<1x{0}x{1}xf32>, %w: tensor<3x{2}x{3}xf32>) -> tensor<1x{0}x{3}xf32> {{
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{stride = [1],
    pad = [[1, 1]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]}} {{batch_group_count = 1 : i64,
    feature_group_count = {4} : i64}} : (tensor<1x{0}x{1}xf32>, tensor<3x{2}x{3}xf32>) -> tensor<1x{0}x{3}xf32>
  return %0 : tensor<1x{0}x{3}xf32>
}})",
            n, channels, inner, outs, groups);
        const auto graph = std::make_shared<const Graph>(test::stablehlo_graph(text));
        std::vector<double> weights(static_cast<std::size_t>(3 * inner * outs), 2.0);
        weights[0] = std::numeric_limits<double>::infinity();  // of the first output channel
        const std::vector<HostTensor> inputs = {testing::filled(DType::fp32, {1, n, channels}, 1),
                                                testing::floats({3, inner, outs}, weights)};
        Context context(Executable::create(device_, graph, make_plan(*graph, device_->plan(), {})), false);
        return testing::real_values(test::run(context, *graph, inputs).at(0));
    }

    void check(std::int64_t n, std::int64_t channels, std::int64_t groups, std::int64_t outs) {
        SCOPED_TRACE(fmt::format("{} of {} channels, {} groups, {} outputs", n, channels, groups, outs));
        const std::vector<double> results = convolved(n, channels, groups, outs);
        const double inner = static_cast<double>(channels / groups);
        for (std::int64_t i = 0; i < n; ++i) {
            const double first = results[static_cast<std::size_t>(i * outs)];
            EXPECT_TRUE(i == 0 ? std::isnan(first) : std::isinf(first)) << i << ": " << first;
            const double taps = n == 1 ? 1 : i == 0 || i == n - 1 ? 2 : 3;
            for (std::int64_t c = 1; c < outs; ++c)
                EXPECT_EQ(results[static_cast<std::size_t>(i * outs + c)], 2 * taps * inner) << i << ", " << c;
        }
    }
};

TEST_F(StablehloPadding, OfFewAndOfManyPixels) {
    check(1, 1, 1, 1);
    check(1, 4, 1, 8);
    check(5, 3, 1, 2);
    check(64, 32, 1, 64);  // its weights are packed
}

TEST_F(StablehloPadding, OfEachChannel) {
    check(1, 3, 3, 3);
    check(6, 8, 8, 8);
    check(5, 6, 6, 12);
}

}  // namespace
}  // namespace tosavk
