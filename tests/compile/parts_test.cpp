// Tensors in several bindings, thoroughly: the sweep of some operators of every kind on pretended devices whose
// bindings are so small that each graph's largest tensor takes two to four of them. TOSAVK_TEST_CASES sets the number
// of graphs per row, TOSAVK_TEST_SEED the first one's seed. Runs once, on the default driver.
#include "support/environment.hpp"
#include "support/require.hpp"
#include "verify/judge.hpp"
#include "vk/core/device.hpp"
#include "vk/measure/open_device.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

namespace tosavk {
namespace {

/// A device that binds `bytes` at once and has no texel buffers, which have other limits.
std::shared_ptr<Device> device_with(std::uint64_t bytes) {
    const test::TemporaryFile caps(
        fmt::format(R"({{"max_texel_buffer_elements": 0, "max_storage_buffer_range": {}}})", bytes));
    setenv("TOSAVK_CAPS", caps.path().c_str(), 1);
    std::shared_ptr<Device> device;
    try {
        device = open_device("");
    } catch (const Error& error) {
        if (error.code() != ErrorCode::no_device) throw;
    }
    unsetenv("TOSAVK_CAPS");
    return device;
}

std::uint64_t largest_tensor(const Graph& graph) {
    std::uint64_t most = 0;
    for (const Value& value : graph.values) {
        if (value.type == DType::shape) continue;
        most = std::max(most, static_cast<std::uint64_t>(element_count(value.shape)) * size_of(value.type));
    }
    return most;
}

class Parts : public ::testing::TestWithParam<const char*> {
protected:
    conformance::CaseReport judge(const conformance::RandomCase& made) {
        const std::uint64_t largest = largest_tensor(made.graph);
        std::uint64_t bytes = 256;  // every part begins at a multiple of this
        while (bytes * 4 < largest) bytes *= 2;
        for (;; bytes *= 2) {
            conformance::Judge& on_device = judges_[bytes];
            if (!on_device) on_device = conformance::judge_on(device_with(bytes));
            try {
                const conformance::CaseReport report = on_device(made);
                split_ += largest > bytes;
                return report;
            } catch (const Error& error) {
                // Several tensors, all of them in parts, may be more than a shader can bind.
                const bool too_many =
                    std::string(error.what()).find("storage buffers (a tensor above") != std::string::npos;
                if (!too_many || bytes > largest) throw;
            }
        }
    }

    /// Drivers may be gone when static objects are destroyed.
    static void TearDownTestSuite() { judges_.clear(); }

    std::uint64_t split_ = 0;

private:
    static std::map<std::uint64_t, conformance::Judge> judges_;
};
std::map<std::uint64_t, conformance::Judge> Parts::judges_;

TEST_P(Parts, AgreeWithTheReference) {
    if (!device_with(1 << 20)) TOSAVK_MISSING("driver", "there is no Vulkan driver");
    const std::uint64_t cases = test::number_from_environment("TOSAVK_TEST_CASES", 2),
                        first = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    const std::vector<conformance::SweepRow> rows = conformance::find_rows(GetParam(), "", "1.0");
    const std::uint64_t each = rows.size() < 4 ? 6 * cases : cases;
    for (conformance::SweepRow row : rows) {
        row.data_set = nullptr;  // those are larger than any part allows
        const conformance::RowResult result =
            conformance::run_row(row, first, each, [&](const conformance::RandomCase& made) { return judge(made); });
        EXPECT_TRUE(result.passed()) << conformance::repro_command(row, result) << "\n" << result.detail;
    }
    EXPECT_GT(split_, 0u) << "no graph had a tensor that takes several bindings";
}

INSTANTIATE_TEST_SUITE_P(Sweep, Parts,
                         ::testing::Values("ADD", "RESCALE", "CAST", "TABLE", "SELECT", "CONCAT", "SLICE", "PAD",
                                           "TRANSPOSE", "REVERSE", "TILE", "GATHER", "SCATTER", "REDUCE_SUM",
                                           "REDUCE_MAX", "ARGMAX", "AVG_POOL2D", "RESIZE", "MATMUL", "CONV2D",
                                           "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D", "RFFT2D"),
                         [](const auto& which) { return std::string(which.param); });

}  // namespace
}  // namespace tosavk
