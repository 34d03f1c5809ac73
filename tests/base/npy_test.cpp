// .npy files: what is written reads back, and what is damaged is refused in one sentence.
#include "base/npy.hpp"

#include "base/error.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include <unistd.h>

namespace tosavk {
namespace {

class Npy : public ::testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("tosavk-npy-" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path folder_;
};

Bytes to_bytes(const std::string& text) {
    Bytes bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

/// A file of version `major` with this dictionary and so many bytes of data.
Bytes file_of(const std::string& header, std::size_t data_bytes, char major = 1) {
    std::string text = "\x93NUMPY";
    text += major;
    text += '\0';
    text += static_cast<char>(header.size() & 0xff);
    text += static_cast<char>(header.size() >> 8);
    if (major > 1) text += std::string(2, '\0');
    return to_bytes(text + header + std::string(data_bytes, '\1'));
}

/// The message of the error that parsing throws.
std::string refusal(const Bytes& file) {
    try {
        parse_npy(file, "a.npy");
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::bad_input);
        return e.what();
    }
    ADD_FAILURE() << "the file was accepted";
    return {};
}

void expect_refusal(const Bytes& file, const std::string& part) {
    const std::string message = refusal(file);
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.find("a.npy"), 0u) << message;
}

TEST_F(Npy, EveryTypeReadsBack) {
    using enum NpyKind;
    using Sizes = std::vector<std::size_t>;
    const std::pair<NpyKind, Sizes> kinds[] = {
        {boolean, {1}}, {integer, {1, 2, 4, 8}}, {natural, {1, 2, 4, 8}}, {real, {1, 2, 4}}, {opaque, {1, 2}}};
    std::mt19937 random(1);
    for (const auto& [kind, sizes] : kinds) {
        for (const std::size_t size : sizes) {
            for (const auto& shape : std::vector<std::vector<std::int64_t>>{
                     {}, {5}, {2, 3}, {1, 2, 3, 4}, {1, 1, 1, 1, 1, 1, 1, 2}, {0}, {3, 0, 2}}) {
                std::size_t count = size;
                for (const std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);
                Bytes data(count);
                for (std::byte& value : data) value = std::byte(random() & (kind == boolean ? 1 : 0xff));
                const auto path = folder_ / "a.npy";
                write_npy(path, kind, size, shape, data);
                const NpyArray back = read_npy(path);
                EXPECT_EQ(back.kind, kind);
                EXPECT_EQ(back.item_size, size);
                EXPECT_EQ(back.shape, shape);
                EXPECT_EQ(back.data, data);
                EXPECT_STRNE(numpy_name(kind, size), "?");
                // Data begins at a multiple of 64, as the format asks.
                EXPECT_EQ((std::filesystem::file_size(path) - count) % 64, 0u);
            }
        }
    }
    // Nothing but the file is left.
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()), 1);
}

/// Headers as numpy and its package ml_dtypes write them.
TEST_F(Npy, ElementTypesOfNumpy) {
    const struct {
        const char* descr;
        std::size_t size;
        const char* name;
    } types[] = {{"|b1", 1, "bool"},        {"|i1", 1, "int8"},   {"<i1", 1, "int8"},    {"<i2", 2, "int16"},
                 {"<i4", 4, "int32"},       {"<i8", 8, "int64"},  {"|u1", 1, "uint8"},   {"<u2", 2, "uint16"},
                 {"<u4", 4, "uint32"},      {"<u8", 8, "uint64"}, {"<f2", 2, "float16"}, {"<f4", 4, "float32"},
                 {"<f1", 1, "float8_e5m2"}, {"<V2", 2, "void16"}, {"|V2", 2, "void16"},  {"|V1", 1, "void8"},
                 {"<V1", 1, "void8"}};
    for (const auto& type : types) {
        const std::string header =
            std::string("{'descr': '") + type.descr + "', 'fortran_order': False, 'shape': (3,), }\n";
        const NpyArray array = parse_npy(file_of(header, 3 * type.size), "a.npy");
        EXPECT_EQ(array.item_size, type.size) << type.descr;
        EXPECT_STREQ(numpy_name(array.kind, array.item_size), type.name);
        expect_refusal(file_of(header, 3 * type.size - 1), "does not match");
    }
}

TEST_F(Npy, EveryVersionIsRead) {
    for (const char major : {'\1', '\2', '\3'}) {
        const NpyArray array =
            parse_npy(file_of("{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }\n", 6, major), "a.npy");
        EXPECT_EQ(array.kind, NpyKind::integer);
        EXPECT_EQ(array.item_size, 2u);
        EXPECT_EQ(array.shape, std::vector<std::int64_t>{3});
    }
    EXPECT_EQ(parse_npy(file_of("{\"shape\":(2,1),\"descr\":\"|i1\",\"fortran_order\":False}", 2), "a.npy").shape,
              (std::vector<std::int64_t>{2, 1}));
}

TEST_F(Npy, WhatIsNotSupportedIsRefused) {
    const auto header = [](const std::string& descr, const std::string& order, const std::string& shape) {
        return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
    };
    expect_refusal(file_of(header("'<f4'", "True", "(2, 2)"), 16), "Fortran");
    expect_refusal(file_of(header("'>f4'", "False", "(2, 2)"), 16), "big-endian");
    expect_refusal(file_of(header("'|O'", "False", "(1,)"), 8), "objects");
    expect_refusal(file_of(header("'<f8'", "False", "(1,)"), 8), "float64");
    expect_refusal(file_of(header("'<c8'", "False", "(1,)"), 8), "'<c8'");
    expect_refusal(file_of(header("'<V4'", "False", "(1,)"), 4), "'<V4'");
    expect_refusal(file_of(header("'|u2'", "False", "(1,)"), 2), "'|u2'");
    expect_refusal(file_of(header("'<U1'", "False", "(1,)"), 4), "'<U1'");
    expect_refusal(file_of(header("[('a', '<f4')]", "False", "(1,)"), 4), "structured");
    expect_refusal(file_of(header("'<f4'", "False", "(0, 2)"), 4), "does not match");
    expect_refusal(file_of(header("'<f4'", "False", "(2, 2)"), 15), "does not match");
    expect_refusal(file_of(header("'<f4'", "False", "(2, 2)"), 17), "does not match");
    expect_refusal(file_of(header("'<f4'", "False", "(4294967296, 4294967296, 4294967296)"), 16), "does not match");
    expect_refusal(file_of(header("'<f4'", "False", "(99999999999999999999,)"), 16), "malformed");
    expect_refusal(file_of(header("'<f4'", "False", "(-1,)"), 16), "malformed");
    expect_refusal(file_of(header("'<f4'", "False", "(1,1,1,1,1,1,1,1,1)"), 4), "dimensions");
    expect_refusal(file_of("{'descr': '<f4', 'shape': (1,)}", 4), "malformed");
    expect_refusal(file_of("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 4), "malformed");
    expect_refusal(file_of(header("'<f4'", "False", "(1,)"), 4, 4), "version 4.0");
    expect_refusal(to_bytes("hello"), "not a .npy file");
    expect_refusal({}, "not a .npy file");
    Bytes bad_bool = file_of(header("'|b1'", "False", "(1,)"), 1);
    bad_bool.back() = std::byte{2};
    expect_refusal(bad_bool, "element 0 of type bool is 2");
    Bytes overlong = file_of(header("'<f4'", "False", "(1,)"), 4, 2);
    overlong[11] = std::byte{0x7f};
    expect_refusal(overlong, "header claims");
}

TEST_F(Npy, TruncatedAndRandomFilesNeverCrash) {
    const Bytes whole = file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n", 16);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_THROW(parse_npy(std::span(whole).first(size), "a.npy"), Error) << "truncated to " << size << " bytes";
    }
    for (std::uint32_t seed = 0; seed < 2000; ++seed) {
        std::mt19937 random(seed);
        Bytes damaged = whole;
        for (int k = 0; k < 3; ++k) damaged[random() % damaged.size()] = std::byte(random() & 0xff);
        try {
            const NpyArray array = parse_npy(damaged, "a.npy");
            std::size_t bytes = array.item_size;
            for (const std::int64_t dim : array.shape) bytes *= static_cast<std::size_t>(dim);
            EXPECT_EQ(array.data.size(), bytes) << "seed " << seed;
        } catch (const Error&) {}
    }
}

TEST_F(Npy, FilesThatCannotBeReadOrWritten) {
    try {
        read_npy(folder_ / "missing.npy");
        ADD_FAILURE();
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::io);
        EXPECT_NE(std::string(e.what()).find("missing.npy"), std::string::npos);
    }
    const Bytes one(4);
    for (const auto& path : {folder_ / "no-folder" / "a.npy", folder_}) {
        try {
            write_npy(path, NpyKind::real, 4, std::vector<std::int64_t>{1}, one);
            ADD_FAILURE() << path;
        } catch (const Error& e) {
            EXPECT_EQ(e.code(), ErrorCode::io);
            EXPECT_NE(std::string(e.what()).find("cannot write"), std::string::npos);
        }
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace tosavk
