// Accesses of patterns whose segments and turns of banks are known, replayed in subgroups of several sizes.
#include "verify/access.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace tosavk {
namespace {

constexpr std::uint32_t shared = 1u << 17, stored = 1u << 16;

std::uint32_t what(std::uint32_t number, std::uint32_t words, std::uint32_t more = 0) {
    return number | words << 8 | more;
}

/// Lists of invocations as a watched kernel leaves them: each one's records in its order.
class Records {
public:
    Records(std::uint32_t workgroups, std::uint32_t invocations, std::uint32_t records) {
        list_.workgroups = workgroups;
        list_.invocations = invocations;
        list_.records = records;
        words_.resize(std::size_t{workgroups} * invocations * stride());
    }
    void touch(std::uint32_t invocation, std::uint32_t thing, std::uint32_t word) {
        std::uint32_t* own = &words_.at(invocation * stride());
        if (own[0] < list_.records) {
            own[1 + 2 * own[0]] = thing;
            own[2 + 2 * own[0]] = word;
        }
        ++own[0];
    }
    AccessFigures figures(std::uint32_t size, TouchedPlace place = {false, 3, false}) const {
        return replay_accesses(list_, words_, size).at(place);
    }
    std::map<TouchedPlace, AccessFigures> all(std::uint32_t size, std::uint64_t* lost = nullptr) const {
        return replay_accesses(list_, words_, size, lost);
    }

private:
    std::size_t stride() const { return 1 + 2 * std::size_t{list_.records}; }

    AccessList list_;
    std::vector<std::uint32_t> words_;
};

/// One load of each of 64 invocations, of `words` words from where `at` says.
Records loads(std::uint32_t words, const std::function<std::uint32_t(std::uint32_t)>& at, std::uint32_t more = 0) {
    Records records(1, 64, 4);
    for (std::uint32_t i = 0; i < 64; ++i) records.touch(i, what(3, words, more), at(i));
    return records;
}

TEST(Access, NeighboursSideBySideTouchTheFewestSegments) {
    const Records quads = loads(4, [](std::uint32_t i) { return 4 * i; });
    for (const std::uint32_t size : {16u, 32u, 64u}) {
        const AccessFigures figures = quads.figures(size);
        EXPECT_EQ(figures.accesses, 64 / size);
        EXPECT_EQ(figures.segments, 16u);  // 64 quads of 16 bytes
        EXPECT_EQ(figures.fewest, 16u);
        EXPECT_EQ(figures.lanes, 64u);
        EXPECT_EQ(figures.idle, 0u);
    }
}

TEST(Access, ARowForEachInvocationTouchesASegmentEach) {
    const AccessFigures figures = loads(4, [](std::uint32_t i) { return 1024 * i; }).figures(32);
    EXPECT_EQ(figures.segments, 64u);
    EXPECT_EQ(figures.fewest, 16u);
    EXPECT_DOUBLE_EQ(figures.excess(), 4.0);
}

TEST(Access, OneWordForAllIsOneSegment) {
    const AccessFigures figures = loads(1, [](std::uint32_t) { return 77u; }).figures(64);
    EXPECT_EQ(figures.segments, 1u);
    EXPECT_EQ(figures.fewest, 1u);
}

TEST(Access, WhatBeginsWithinASegmentTouchesOneMore) {
    const Records records = loads(1, [](std::uint32_t i) { return 5 + i; });
    EXPECT_EQ(records.figures(64).segments, 5u);
    EXPECT_EQ(records.figures(64).fewest, 4u);
    EXPECT_EQ(records.figures(16).segments, 8u);
    EXPECT_EQ(records.figures(16).fewest, 4u);
}

TEST(Access, BanksOfSharedMemory) {
    const TouchedPlace place{true, 3, false};
    EXPECT_DOUBLE_EQ(loads(1, [](std::uint32_t i) { return i; }, shared).figures(32, place).excess(), 1.0);
    // Every second word: two turns for what one could bring. 32 words apart: all in one bank.
    EXPECT_DOUBLE_EQ(loads(1, [](std::uint32_t i) { return 2 * i; }, shared).figures(32, place).excess(), 2.0);
    EXPECT_DOUBLE_EQ(loads(1, [](std::uint32_t i) { return 32 * i; }, shared).figures(32, place).excess(), 32.0);
    EXPECT_DOUBLE_EQ(loads(1, [](std::uint32_t i) { return 33 * i; }, shared).figures(32, place).excess(), 1.0);
    EXPECT_DOUBLE_EQ(loads(4, [](std::uint32_t i) { return 4 * i; }, shared).figures(32, place).excess(), 1.0);
    EXPECT_DOUBLE_EQ(loads(1, [](std::uint32_t) { return 9u; }, shared).figures(32, place).excess(), 1.0);
}

TEST(Access, TheKthAccessesOfAPlaceBelongTogether) {
    // Half of the lanes go round twice; stores and other bindings are counted apart.
    Records records(2, 32, 8);
    for (std::uint32_t i = 0; i < 64; ++i) {
        records.touch(i, what(3, 1), i);
        if (i % 2 == 0) records.touch(i, what(3, 1), 64 + i);
        records.touch(i, what(4, 1, stored), i);
    }
    const auto all = records.all(32);
    ASSERT_EQ(all.size(), 2u);
    const AccessFigures& read = all.at({false, 3, false});
    EXPECT_EQ(read.accesses, 4u);
    EXPECT_EQ(read.lanes, 96u);
    EXPECT_EQ(read.idle, 32u);
    EXPECT_EQ(read.segments, 8u);  // two each
    EXPECT_EQ(read.fewest, 6u);    // sixteen words of the second ones fit into one
    EXPECT_EQ(all.at({false, 4, true}).segments, 4u);
}

TEST(Access, ASubgroupEndsWithItsWorkgroup) {
    Records records(2, 48, 2);
    for (std::uint32_t i = 0; i < 96; ++i) records.touch(i, what(3, 1), i);
    const AccessFigures figures = records.figures(32);  // 32 and 16, twice
    EXPECT_EQ(figures.accesses, 4u);
    EXPECT_EQ(figures.idle, 0u);
    EXPECT_EQ(figures.segments, 6u);
}

TEST(Access, WhatFoundNoRoomIsTold) {
    Records records(1, 16, 2);
    for (std::uint32_t k = 0; k < 5; ++k) records.touch(7, what(3, 1), k);
    std::uint64_t lost = 0;
    EXPECT_EQ(records.all(16, &lost).at({false, 3, false}).accesses, 2u);
    EXPECT_EQ(lost, 3u);
}

}  // namespace
}  // namespace tosavk
