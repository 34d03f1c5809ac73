// The primitives and sections of MLIR bytecode.
#include "frontends/stablehlo/byte_reader.hpp"
#include "frontends/stablehlo/bytecode_file.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace tosavk::stablehlo {
namespace {

Bytes bytes_of_list(std::initializer_list<unsigned> list) {
    Bytes bytes;
    for (const unsigned byte : list) bytes.push_back(static_cast<std::byte>(byte));
    return bytes;
}

std::string sentence_of(const std::function<void()>& step) {
    try {
        step();
    } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::bad_model || error.code() == ErrorCode::unsupported);
        return error.what();
    }
    return "";
}

void append_varint(Bytes& out, std::uint64_t value) {
    // The longest form, which holds every number.
    out.push_back(std::byte{0});
    for (int k = 0; k < 8; ++k) out.push_back(static_cast<std::byte>(value >> (8 * k)));
}

TEST(StablehloBytes, VarintsOfEveryLength) {
    for (std::size_t length = 1; length <= 9; ++length) {
        const std::uint64_t value = length == 9 ? 0xfedcba9876543210u : (std::uint64_t{1} << (7 * length)) - 2;
        Bytes bytes;
        if (length == 9) {
            append_varint(bytes, value);
        } else {
            const std::uint64_t word = (value * 2 + 1) << (length - 1);
            for (std::size_t k = 0; k < length; ++k) bytes.push_back(static_cast<std::byte>(word >> (8 * k)));
        }
        ByteReader in(bytes, 0, bytes.size(), "a test");
        EXPECT_EQ(in.varint(), value) << length;
        EXPECT_TRUE(in.at_end()) << length;
        for (std::size_t cut = 0; cut < length; ++cut) {
            ByteReader early(bytes, 0, cut, "a test");
            EXPECT_NE(sentence_of([&] { early.varint(); }).find("a test ends"), std::string::npos);
        }
    }
}

TEST(StablehloBytes, SignedAndFlagged) {
    const Bytes bytes = bytes_of_list({1, 3, 5, 7, 9, 0x0b});
    ByteReader in(bytes, 0, bytes.size(), "a test");
    EXPECT_EQ(in.svarint(), 0);
    EXPECT_EQ(in.svarint(), -1);
    EXPECT_EQ(in.svarint(), 1);
    EXPECT_EQ(in.svarint(), -2);
    const auto [value, flag] = in.flagged();
    EXPECT_EQ(value, 2u);
    EXPECT_FALSE(flag);
    EXPECT_TRUE(in.flagged().flag);
    Bytes lowest;
    append_varint(lowest, ~std::uint64_t{0});
    ByteReader of_lowest(lowest, 0, lowest.size(), "a test");
    EXPECT_EQ(of_lowest.svarint(), std::numeric_limits<std::int64_t>::min());
}

TEST(StablehloBytes, WhatIsOutOfRangeIsToldWithItsPlace) {
    const Bytes bytes = bytes_of_list({0x0b, 0x0b, 0x41, 0x42, 0x07});
    ByteReader in(bytes, 1, bytes.size(), "a test");
    EXPECT_EQ(sentence_of([&] { in.index(5, "string"); }),
              "StableHLO bytecode: a test names string 5, but there are 5 (at byte 1)");
    ByteReader counts(bytes, 0, bytes.size(), "a test");
    EXPECT_NE(sentence_of([&] { counts.count(); }).find("counts 5 items, for which it has no room (at byte 0)"),
              std::string::npos);
    ByteReader blob(bytes, 4, bytes.size(), "a test");
    EXPECT_NE(sentence_of([&] { blob.blob(); }).find("wants 3 bytes, but has 0"), std::string::npos);
    ByteReader text(bytes, 2, bytes.size(), "a test");
    EXPECT_NE(sentence_of([&] { text.text_until_zero(); }).find("has no end"), std::string::npos);
    ByteReader rest(bytes, 2, bytes.size(), "a test");
    EXPECT_NE(sentence_of([&] { rest.finish(); }).find("a test has 3 bytes too many (at byte 2)"), std::string::npos);
}

TEST(StablehloBytes, AlignedSections) {
    // Section 4, of two bytes, aligned to 8 from the begin of the file.
    const Bytes bytes = bytes_of_list({0xff, 0x84, 0x05, 0x11, 0xcb, 0xcb, 0xcb, 0xcb, 7, 9});
    ByteReader in(bytes, 1, bytes.size(), "a test");
    const BytecodeSection section = read_section(in);
    EXPECT_EQ(section.id, 4);
    EXPECT_EQ(section.part.begin, 8u);
    EXPECT_EQ(section.part.end, 10u);
    Bytes padded = bytes;
    padded[5] = std::byte{0};
    ByteReader bad(padded, 1, padded.size(), "a test");
    EXPECT_NE(sentence_of([&] { read_section(bad); }).find("another byte than 0xCB (at byte 5)"), std::string::npos);
    const Bytes odd = bytes_of_list({0x84, 0x05, 0x07, 7, 9});
    ByteReader uneven(odd, 0, odd.size(), "a test");
    EXPECT_NE(sentence_of([&] { read_section(uneven); }).find("no power of two"), std::string::npos);
}

TEST(StablehloBytes, Containers) {
    const auto file = [](std::initializer_list<unsigned> rest) {
        Bytes bytes = bytes_of_list({0x4d, 0x4c, 0xef, 0x52, 0x0d, 'x', 0});
        for (const unsigned byte : rest) bytes.push_back(static_cast<std::byte>(byte));
        return SharedBytes(std::move(bytes));
    };
    const auto sentence = [&](const SharedBytes& bytes) { return sentence_of([&] { BytecodeFile read(bytes); }); };
    EXPECT_NE(sentence(file({})).find("the section of strings is missing"), std::string::npos);
    EXPECT_NE(sentence(file({0, 3, 1, 0, 3, 1})).find("the section of strings stands there twice (at byte 10)"),
              std::string::npos);
    EXPECT_NE(sentence(file({0x21, 1})).find("no section of kind 33"), std::string::npos);
    EXPECT_NE(sentence(file({0, 0x15, 1})).find("is said to have 10 bytes, but 1 are left"), std::string::npos);
    Bytes newer = bytes_of_list({0x4d, 0x4c, 0xef, 0x52, 0x0f, 'x', 0});
    EXPECT_NE(sentence(std::move(newer)).find("made by x, has version 7"), std::string::npos);
    // Strings: two, the last one's size first.
    const SharedBytes whole = file({0, 0x11, 5, 7,    5, 'a', 0, 'b', 'c', 0,  // "a" and "bc"
                                    1, 0x05, 1, 1,                             // no dialect, no operation
                                    2, 0x01, 3, 0x05, 1, 1,                    // no attribute and type
                                    4, 0x01});
    EXPECT_EQ(sentence(whole), "");
    const BytecodeFile read(whole);
    EXPECT_EQ(read.strings, (std::vector<std::string_view>{"a", "bc"}));
    EXPECT_EQ(read.producer, "x");
    EXPECT_EQ(read.version, 6u);
}

}  // namespace
}  // namespace tosavk::stablehlo
