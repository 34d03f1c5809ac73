// Every operator and type row of TOSA 0.30 on the device, upgraded, on random graphs of one operator.
// Driver variants share the rows (TOSAVK_TEST_PART): the kernels are those of 1.0, which each variant sweeps whole.
// TOSAVK_TEST_CASES sets the number of graphs per row, TOSAVK_TEST_SEED the first one's seed.
#include "support/gpu_test.hpp"
#include "verify/checker.hpp"
#include "verify/conformance/random_node_0_30.hpp"

namespace tosavk {
namespace {

using v0_30::OpInfo;
using v0_30::Row;

class Operators030 : public test::GpuTestWith<const OpInfo*> {};

TEST_P(Operators030, RandomCasesAgreeWithTheReference) {
    const OpInfo& info = *GetParam();
    const std::uint64_t cases = test::number_from_environment("TOSAVK_TEST_CASES", 2),
                        first = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    for (const Row& row : info.rows) {
        if (!test::in_this_part(static_cast<std::size_t>(info.op) + static_cast<std::size_t>(&row - info.rows.data())))
            continue;
        int failures = 0;
        for (std::uint64_t seed = first; seed < first + cases && failures < 3; ++seed) {
            std::mt19937_64 random(seed * 1000003 + static_cast<std::uint64_t>(info.op) * 1009 +
                                   static_cast<std::uint64_t>(&row - info.rows.data()));
            const auto where = [&] {
                return std::string(v0_30::op_name(info.op)) + " (" + conformance::row_text(row) +
                       "): TOSAVK_TEST_SEED=" + std::to_string(seed) +
                       " TOSAVK_TEST_CASES=1 operators_0_30_gpu_test --gtest_filter='*/" +
                       std::string(v0_30::op_name(info.op)) + "'\n";
            };
            std::string text = "no graph was made";
            try {
                const conformance::RandomCase made = conformance::random_case_0_30(info, row, random);
                text = conformance::describe(made);
                Checker checker(device_, std::make_shared<const Graph>(made.graph));
                const CheckReport report = checker.run(made.inputs);
                if (report.passed) continue;
                ADD_FAILURE() << where() << report.detail << "\n" << text;
            } catch (const std::exception& error) {
                ADD_FAILURE() << where() << error.what() << "\n" << text;
            }
            ++failures;
        }
    }
}

std::vector<const OpInfo*> all_operators() {
    std::vector<const OpInfo*> all;
    for (const OpInfo& info : v0_30::operators()) {
        if (!info.rows.empty()) all.push_back(&info);
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Table, Operators030, ::testing::ValuesIn(all_operators()),
                         [](const auto& op) { return std::string(v0_30::op_name(op.param->op)); });

}  // namespace
}  // namespace tosavk
