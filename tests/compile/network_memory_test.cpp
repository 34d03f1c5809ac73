// The memory of whole networks, planned and never run: the arena stays close to what any plan of these dispatches
// needs.
#include "compile/memory/memory.hpp"
#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

namespace tosavk {
namespace {

std::vector<std::string> networks_of_the_suite() {
    std::vector<std::string> lines;
    const char* source = std::getenv("TOSAVK_SOURCE");
    std::ifstream file(std::string(source ? source : ".") + "/bench/suites/networks.txt");
    for (std::string line; std::getline(file, line);) {
        if (!line.empty() && line.front() != '#') lines.push_back(line);
    }
    return lines;
}

/// As a GPU of a desktop, and as a small phone.
DevicePlan plan_of(bool large) {
    DeviceCaps caps;
    caps.type = large ? "discrete" : "integrated";
    caps.unified_memory = !large;
    caps.int64 = caps.subgroup_shuffle = large;
    caps.subgroup_size = large ? 32 : 0;
    caps.max_storage_buffer_range = large ? 0xffffffffu : 1u << 27;
    caps.min_storage_buffer_offset_alignment = large ? 16 : 256;
    caps.max_storage_buffers_per_stage = large ? 1u << 20 : 8;
    caps.max_texel_buffer_elements = large ? 1u << 27 : 65536;
    caps.max_workgroup_invocations = caps.max_workgroup_size_x = large ? 1024 : 128;
    caps.max_shared_memory = large ? 49152 : 16384;
    caps.max_workgroup_count_x = caps.max_workgroup_count_y = 65535;
    caps.max_push_constants = 128;
    return device_plan(caps);
}

TEST(NetworkMemory, ArenaIsCloseToTheLowerBound) {
    const std::vector<std::string> lines = networks_of_the_suite();
    ASSERT_GE(lines.size(), 24u);
    for (const std::string& line : lines) {
        const Graph graph = load_problem(line);
        for (const bool large : {true, false}) {
            const Plan plan = make_plan(graph, plan_of(large), {});
            const double ratio = static_cast<double>(plan.arena_bytes) / static_cast<double>(plan.peak_lower_bound);
            std::cout << line << (large ? " on a desktop: " : " on a phone: ") << plan.dispatches.size()
                      << " dispatches, " << plan.arena_bytes << " bytes, " << ratio << " of the lower bound\n";
            EXPECT_GE(ratio, 1) << line;
            EXPECT_LE(ratio, 1.15) << line;
        }
    }
}

// What each order of placing is good for.
TEST(NetworkMemory, TheBestOfSeveralOrdersIsKept) {
    // Largest first leaves a hole: a chain of growing tensors, each alive with the next one.
    std::vector<Interval> chain;
    for (int k = 0; k < 8; ++k) chain.push_back({k, k + 1, static_cast<std::uint64_t>(256 * (k + 1))});
    EXPECT_EQ(assign_offsets(chain, 256), live_bytes_bound(chain, 256));
    // A long-lived small block in the way of short-lived large ones.
    std::vector<Interval> mixed{{0, 9, 256},  {0, 1, 1024}, {2, 3, 2048}, {1, 2, 768},
                                {3, 5, 1024}, {5, 9, 1536}, {4, 6, 512}};
    EXPECT_EQ(assign_offsets(mixed, 256), live_bytes_bound(mixed, 256));
}

}  // namespace
}  // namespace tosavk
