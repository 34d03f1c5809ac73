#include "base/text.hpp"

#include <gtest/gtest.h>

#include <array>

namespace {

using namespace tosavk;

TEST(Text, LettersOfAsciiChangeCase) {
    EXPECT_EQ(lower("CONV2D_i8 [@`{"), "conv2d_i8 [@`{");
    EXPECT_EQ(upper("conv2d_I8 [@`{"), "CONV2D_I8 [@`{");
    EXPECT_EQ(lower("\xc3\x84"), "\xc3\x84") << "other bytes stay";
    EXPECT_EQ(upper(""), "");
}

TEST(Text, BytesBecomeDigits) {
    EXPECT_EQ(hexadecimal({}), "");
    EXPECT_EQ(hexadecimal(std::array{std::byte{0}, std::byte{0x9a}, std::byte{0xff}}), "009aff");
}

TEST(Text, WhatCannotBeShownBecomesAMark) {
    EXPECT_EQ(printable("caf\xc3\xa9"), "caf\xc3\xa9");
    EXPECT_EQ(printable("a\nb\x01\xff\xc3"), "a?b???");
    EXPECT_LE(printable(std::string(10000, 'x')).size(), 4100u);
}

TEST(Text, EachNameIsGivenOnce) {
    UniqueNames names;
    EXPECT_EQ(names.give("a"), "a");
    EXPECT_EQ(names.give("a#3"), "a#3");
    EXPECT_EQ(names.give("a"), "a#2");
    EXPECT_EQ(names.give("a"), "a#4") << "#3 is somebody's own";
    EXPECT_EQ(names.give("a#3"), "a#3#2");
    EXPECT_EQ(names.give(""), "");
    EXPECT_EQ(names.give(""), "#2");
}

}  // namespace
