// Every operator and type row of the registry on the device, on random graphs of one node, with and without a follower
// that fuses. TOSAVK_TEST_CASES sets the number of graphs per row, TOSAVK_TEST_SEED the first one's seed.
#include "api/checker.hpp"
#include "conformance/random_node.hpp"
#include "support/validation.hpp"
#include "vk/device.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tosavk {
namespace {

std::uint64_t number(const char* variable, std::uint64_t fallback) {
    const char* text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 0) : fallback;
}

class Operators : public ::testing::TestWithParam<const OpDef*> {
protected:
    static void SetUpTestSuite() {
        try {
            device_ = Device::open("");
        } catch (const Error& error) {
            if (error.code() != ErrorCode::no_device) throw;
        }
    }
    static void TearDownTestSuite() { device_.reset(); }
    void SetUp() override {
        if (!device_) GTEST_SKIP() << "there is no Vulkan driver";
    }

    static std::shared_ptr<Device> device_;
};

std::shared_ptr<Device> Operators::device_;

TEST_P(Operators, RandomNodesAgreeWithTheReference) {
    const OpDef& def = *GetParam();
    const std::uint64_t cases = number("TOSAVK_TEST_CASES", 4), first = number("TOSAVK_TEST_SEED", 1);
    for (const TypeRow& row : def.rows) {
        int failures = 0;
        for (std::uint64_t seed = first; seed < first + cases && failures < 3; ++seed) {
            conformance::RandomOptions options;
            options.run_time_operands = seed % 2 == 0;
            options.follower = seed % 4 == 2 || (seed % 4 == 3 && !def.kernels.empty());
            options.large = seed % 4 == 1;
            // Operators and rows draw from streams of their own.
            std::mt19937_64 random(seed * 1000003 + static_cast<std::uint64_t>(def.op) * 1009 +
                                   static_cast<std::uint64_t>(&row - def.rows.data()));
            const auto where = [&] {
                return std::string(def.name) + " (" + conformance::row_text(row) + "): TOSAVK_TEST_SEED=" + std::to_string(seed) +
                       " TOSAVK_TEST_CASES=1 operators_gpu_test --gtest_filter='*/" + def.name + "'\n";
            };
            std::string text = "no graph was made";
            try {
                const conformance::RandomCase made = conformance::random_case(def, row, random, options);
                text = conformance::describe(made);
                api::Checker checker(device_, std::make_shared<const Graph>(made.graph));
                const api::CheckReport report = checker.run(made.inputs);
                if (report.passed) continue;
                ADD_FAILURE() << where() << report.detail << "\n" << text;
            } catch (const std::exception& error) {
                ADD_FAILURE() << where() << error.what() << "\n" << text;
            }
            ++failures;
        }
    }
}

std::vector<const OpDef*> all_operators() {
    std::vector<const OpDef*> all;
    for (const OpDef& def : registry()) all.push_back(&def);
    return all;
}

INSTANTIATE_TEST_SUITE_P(Registry, Operators, ::testing::ValuesIn(all_operators()),
                         [](const auto& op) { return std::string(op.param->name); });

}  // namespace
}  // namespace tosavk
