// Every operator and type row of the sweep on the device: random graphs of one node, with and without a follower that
// fuses, and the data sets of dot products, which driver variants share (TOSAVK_TEST_PART). TOSAVK_TEST_CASES sets the
// number of graphs per row, TOSAVK_TEST_SEED the first one's seed.
#include "support/gpu_test.hpp"
#include "verify/judge.hpp"

#include <algorithm>

namespace tosavk {
namespace {

/// "CONV2D", or "CONV2D_0_30" for rows of another version.
using Group = std::pair<std::string, std::vector<conformance::SweepRow>>;

class Operators : public test::GpuTestWith<Group> {};

TEST_P(Operators, RandomNodesAgreeWithTheReference) {
    const std::uint64_t cases = test::number_from_environment("TOSAVK_TEST_CASES", 3),
                        first = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    for (const conformance::SweepRow& row : GetParam().second) {
        const conformance::RowResult result = conformance::run_row(row, first, cases, conformance::judge_on(device_));
        EXPECT_GE(result.cases, cases);
        EXPECT_TRUE(result.passed()) << conformance::repro_command(row, result) << "\n" << result.detail;
    }
}

std::vector<Group> operators() {
    std::vector<Group> groups;
    std::size_t data_sets = 0;
    for (conformance::SweepRow& row : conformance::registry_rows()) {
        std::string name = row.spec == "1.0" ? row.op : row.op + "_" + row.spec;
        std::replace(name.begin(), name.end(), '.', '_');
        if (row.data_set && !test::in_this_part(data_sets++)) row.data_set = nullptr;
        if (groups.empty() || groups.back().first != name)
            groups.emplace_back(name, std::vector<conformance::SweepRow>());
        groups.back().second.push_back(std::move(row));
    }
    return groups;
}

INSTANTIATE_TEST_SUITE_P(Sweep, Operators, ::testing::ValuesIn(operators()),
                         [](const auto& group) { return group.param.first; });

}  // namespace
}  // namespace tosavk
