// Elements of programs to those of graphs and back: every limit of every type.
#include "graph/host_values.hpp"

#include "base/error.hpp"
#include "graph/host_tensor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace {

using namespace tosavk;
using Kind = HostType::Kind;

constexpr HostType u8{Kind::u8}, u16{Kind::u16}, u32{Kind::u32}, u64{Kind::u64}, i64{Kind::i64}, f64{Kind::f64};

HostType graph(DType type) { return {Kind::graph, type}; }

template <class From> std::string convert(From value, HostType from, HostType to) {
    EXPECT_EQ(sizeof(From), from.bytes());
    try {
        const auto bytes = convert_values(std::as_bytes(std::span(&value, 1)), from, to, "x");
        EXPECT_EQ(bytes.size(), to.bytes());
        if (to.kind == Kind::u64) {
            std::uint64_t number = 0;
            std::memcpy(&number, bytes.data(), 8);
            return std::to_string(number);
        }
        double real = 0;
        std::int64_t number = 0;
        if (to.kind == Kind::f64) std::memcpy(&real, bytes.data(), 8);
        if (to.kind == Kind::graph && is_float(to.type)) real = decode_reals(to.type, bytes)[0];
        if (to.kind == Kind::f64 || (to.kind == Kind::graph && is_float(to.type))) return std::to_string(real);
        if (to.kind == Kind::graph) number = decode_ints(to.type, bytes)[0];
        else std::memcpy(&number, bytes.data(), bytes.size());
        return std::to_string(number);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_input);
        EXPECT_NE(std::string(error.what()).find("x: element 0 is "), std::string::npos) << error.what();
        return "refused";
    }
}

TEST(HostValues, IntegersMustBeEqual) {
    EXPECT_EQ(convert(std::uint8_t{127}, u8, graph(DType::i8)), "127");
    EXPECT_EQ(convert(std::uint8_t{128}, u8, graph(DType::i8)), "refused");
    EXPECT_EQ(convert(std::uint8_t{255}, u8, graph(DType::i16)), "255");
    EXPECT_EQ(convert(std::uint16_t{32768}, u16, graph(DType::i16)), "refused");
    EXPECT_EQ(convert(std::uint32_t{0x7fffffff}, u32, graph(DType::i32)), "2147483647");
    EXPECT_EQ(convert(std::uint32_t{0x80000000}, u32, graph(DType::i32)), "refused");
    EXPECT_EQ(convert(std::uint32_t{0x80000000}, u32, graph(DType::i48)), "2147483648");
    EXPECT_EQ(convert(std::int64_t{-2147483648}, i64, graph(DType::i32)), "-2147483648");
    EXPECT_EQ(convert(std::int64_t{-2147483649}, i64, graph(DType::i32)), "refused");
    EXPECT_EQ(convert((std::int64_t{1} << 47) - 1, i64, graph(DType::i48)), "140737488355327");
    EXPECT_EQ(convert(std::int64_t{1} << 47, i64, graph(DType::i48)), "refused");
    EXPECT_EQ(convert(UINT64_MAX, u64, graph(DType::i48)), "refused");
    EXPECT_EQ(convert(std::int64_t{7}, i64, graph(DType::i4)), "7");
    EXPECT_EQ(convert(std::int64_t{8}, i64, graph(DType::i4)), "refused");
    EXPECT_EQ(convert(std::uint8_t{1}, u8, graph(DType::boolean)), "1");
    EXPECT_EQ(convert(std::uint8_t{2}, u8, graph(DType::boolean)), "refused");
    EXPECT_EQ(convert(std::int8_t{-1}, graph(DType::i8), u8), "refused");
    EXPECT_EQ(convert(std::int8_t{-1}, graph(DType::i8), u64), "refused");
    EXPECT_EQ(convert(std::int8_t{-1}, graph(DType::i8), i64), "-1");
    EXPECT_EQ(convert(std::int32_t{65536}, graph(DType::i32), u16), "refused");
    EXPECT_EQ(convert(std::int32_t{65535}, graph(DType::i32), u16), "65535");
    EXPECT_EQ(convert(std::int32_t{-5}, graph(DType::i32), graph(DType::i8)), "-5");
    EXPECT_EQ(convert(UINT64_MAX, u64, u64), std::to_string(UINT64_MAX));
}

TEST(HostValues, FloatsAreRoundedAndStayFinite) {
    const double inf = std::numeric_limits<double>::infinity();
    EXPECT_EQ(convert(0.1, f64, graph(DType::fp32)), std::to_string(0.1f));
    EXPECT_EQ(convert(1e39, f64, graph(DType::fp32)), "refused");
    EXPECT_EQ(convert(-1e39, f64, graph(DType::fp32)), "refused");
    EXPECT_EQ(convert(inf, f64, graph(DType::fp32)), "inf");
    EXPECT_EQ(convert(-inf, f64, graph(DType::fp16)), "-inf");
    EXPECT_EQ(convert(65504.0, f64, graph(DType::fp16)), std::to_string(65504.0));
    EXPECT_EQ(convert(65520.0, f64, graph(DType::fp16)), "refused");
    EXPECT_EQ(convert(1e-300, f64, graph(DType::fp16)), std::to_string(0.0));
    EXPECT_EQ(convert(std::nan(""), f64, graph(DType::bf16)).substr(0, 3), "nan");
    EXPECT_EQ(convert(448.0, f64, graph(DType::fp8e4m3)), std::to_string(448.0));
    EXPECT_EQ(convert(1000.0, f64, graph(DType::fp8e4m3)), "refused");
    EXPECT_EQ(convert(inf, f64, graph(DType::fp8e4m3)), "refused") << "it has no infinity";
    EXPECT_EQ(convert(1.5f, graph(DType::fp32), f64), std::to_string(1.5));
    EXPECT_EQ(convert(70000.0f, graph(DType::fp32), graph(DType::fp16)), "refused");
}

TEST(HostValues, BetweenIntegersAndFloats) {
    EXPECT_EQ(convert(std::uint8_t{200}, u8, graph(DType::fp32)), std::to_string(200.0));
    EXPECT_EQ(convert(std::uint32_t{70000}, u32, graph(DType::fp16)), "refused");
    EXPECT_EQ(convert(UINT64_MAX, u64, f64), std::to_string(0x1p64));
    EXPECT_EQ(convert(3.0, f64, graph(DType::i8)), "3");
    EXPECT_EQ(convert(3.5, f64, graph(DType::i8)), "refused");
    EXPECT_EQ(convert(-129.0, f64, graph(DType::i8)), "refused");
    EXPECT_EQ(convert(std::nan(""), f64, graph(DType::i32)), "refused");
    EXPECT_EQ(convert(1e300, f64, i64), "refused");
    EXPECT_EQ(convert(-0x1p63, f64, i64), std::to_string(INT64_MIN));
    EXPECT_EQ(convert(0x1p63, f64, i64), "refused");
    EXPECT_EQ(convert(0x1p63, f64, u64), std::to_string(std::uint64_t{1} << 63));
    EXPECT_EQ(convert(0x1p64, f64, u64), "refused");
    EXPECT_EQ(convert(2.0f, graph(DType::fp32), u8), "2");
    EXPECT_EQ(convert(std::numeric_limits<float>::infinity(), graph(DType::fp32), i64), "refused");
}

TEST(HostValues, IntegersAreRoundedOnce) {
    // Just above and just below the middle of two neighbours, by less than a double tells.
    const std::int64_t middle = (std::int64_t{1} << 60) + (std::int64_t{1} << 36);
    const double below = 0x1p60, above = 0x1p60 + 0x1p37;
    for (const std::int64_t sign : {1, -1}) {
        const auto as_float = [&](std::int64_t number) { return convert(sign * number, i64, graph(DType::fp32)); };
        const auto times = [&](double real) { return std::to_string(static_cast<double>(sign) * real); };
        EXPECT_EQ(as_float(middle + 1), times(above));
        EXPECT_EQ(as_float(middle), times(below)) << "to even";
        EXPECT_EQ(as_float(middle - 1), times(below));
    }
    EXPECT_EQ(convert(static_cast<std::uint64_t>(middle) * 8 + 1, u64, graph(DType::fp32)), std::to_string(8 * above));
    EXPECT_EQ(convert(UINT64_MAX, u64, graph(DType::fp32)), std::to_string(0x1p64));
    EXPECT_EQ(convert(INT64_MIN, i64, graph(DType::fp32)), std::to_string(-0x1p63));
    EXPECT_EQ(convert(middle + 1, i64, graph(DType::bf16)), std::to_string(below));
    EXPECT_EQ(convert((std::int64_t{1} << 60) + 129, i64, f64), std::to_string(0x1p60 + 256)) << "the nearest double";
}

TEST(HostValues, BytesThatNoElementHasAreRefused) {
    const std::int8_t small[] = {0, 1, 2, 7, 8, -7, -9};
    const auto kept = [&](DType type, std::span<const std::byte> bytes) {
        try {
            EXPECT_TRUE(std::ranges::equal(convert_values(bytes, graph(type), graph(type), "x"), bytes));
            return true;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::bad_input);
            return false;
        }
    };
    const auto bytes = std::as_bytes(std::span(small));
    EXPECT_TRUE(kept(DType::boolean, bytes.first(2)));
    EXPECT_FALSE(kept(DType::boolean, bytes.first(3)));
    EXPECT_FALSE(kept(DType::boolean, bytes.last(1)));
    EXPECT_TRUE(kept(DType::i4, bytes.first(4)));
    EXPECT_FALSE(kept(DType::i4, bytes.first(5)));
    EXPECT_TRUE(kept(DType::i4, bytes.subspan(5, 1)));
    EXPECT_FALSE(kept(DType::i4, bytes.last(1)));
    EXPECT_TRUE(kept(DType::i8, bytes));
    const std::int64_t large[] = {-(std::int64_t{1} << 47), (std::int64_t{1} << 47) - 1, std::int64_t{1} << 47};
    EXPECT_TRUE(kept(DType::i48, std::as_bytes(std::span(large)).first(16)));
    EXPECT_FALSE(kept(DType::i48, std::as_bytes(std::span(large))));
}

TEST(HostValues, TheElementIsNamed) {
    const std::uint8_t values[] = {1, 2, 200, 4};
    try {
        convert_values(std::as_bytes(std::span(values)), u8, graph(DType::i8), "input 0 'image'");
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "input 0 'image': element 2 is 200, which i8 does not hold");
    }
}

}  // namespace
