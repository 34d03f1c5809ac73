// .npy files: what is written reads back, and what is damaged is refused in one sentence.
#include "graph/array.hpp"

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
    for (const DType type : {DType::boolean, DType::i8, DType::i16, DType::i32, DType::i48, DType::fp16, DType::fp32}) {
        for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{1, 2, 3, 4}, Shape{1, 1, 1, 1, 1, 1, 1, 2}}) {
            HostTensor tensor(type, shape);
            for (std::size_t k = 0; k < tensor.bytes.size(); ++k)
                tensor.bytes[k] = std::byte(type == DType::i48 ? 0 : k % 2);
            const auto path = folder_ / "a.npy";
            save_npy(path, type, shape, tensor.bytes);
            const HostTensor back = load_npy(path);
            EXPECT_EQ(back.type, type);
            EXPECT_EQ(back.shape, shape);
            EXPECT_EQ(back.bytes, tensor.bytes);
        }
    }
    // Data begins at a multiple of 64, as the format asks, and nothing but the file is left.
    EXPECT_EQ(std::filesystem::file_size(folder_ / "a.npy") % 64, 8u);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()), 1);
}

TEST_F(Npy, TypesWithoutAForm) {
    const float values[] = {1.5f, -2.0f, 0.0f};
    HostTensor wide(DType::fp32, {3});
    std::memcpy(wide.bytes.data(), values, sizeof values);
    for (const DType type : {DType::bf16, DType::fp8e4m3, DType::fp8e5m2}) {
        const HostTensor narrow = convert_array(wide, type, "a.npy");
        EXPECT_EQ(narrow.bytes.size(), 3 * size_of(type));
        save_npy(folder_ / "b.npy", type, narrow.shape, narrow.bytes);
        const HostTensor back = load_npy(folder_ / "b.npy");
        EXPECT_EQ(back.type, DType::fp32);
        EXPECT_EQ(back.bytes, wide.bytes);
    }
    const float fine = 1.001f;
    std::memcpy(wide.bytes.data(), &fine, sizeof fine);
    EXPECT_THROW(convert_array(wide, DType::bf16, "a.npy"), Error);
    EXPECT_THROW(convert_array(wide, DType::i8, "a.npy"), Error);
    HostTensor small(DType::i8, {1});
    small.bytes[0] = std::byte{7};
    EXPECT_EQ(convert_array(small, DType::i4, "a.npy").bytes, small.bytes);
    small.bytes[0] = std::byte{8};
    EXPECT_THROW(convert_array(small, DType::i4, "a.npy"), Error);
}

TEST_F(Npy, EveryVersionIsRead) {
    for (const char major : {'\1', '\2', '\3'}) {
        const HostTensor tensor =
            parse_npy(file_of("{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }\n", 6, major), "a.npy");
        EXPECT_EQ(tensor.type, DType::i16);
        EXPECT_EQ(tensor.shape, Shape{3});
    }
    EXPECT_EQ(parse_npy(file_of("{\"shape\":(2,1),\"descr\":\"|i1\",\"fortran_order\":False}", 2), "a.npy").shape,
              (Shape{2, 1}));
}

TEST_F(Npy, WhatIsNotSupportedIsRefused) {
    const auto header = [](const std::string& descr, const std::string& order, const std::string& shape) {
        return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
    };
    expect_refusal(file_of(header("'<f4'", "True", "(2, 2)"), 16), "Fortran");
    expect_refusal(file_of(header("'>f4'", "False", "(2, 2)"), 16), "big-endian");
    expect_refusal(file_of(header("'|O'", "False", "(1,)"), 8), "objects");
    expect_refusal(file_of(header("'<f8'", "False", "(1,)"), 8), "'<f8'");
    expect_refusal(file_of(header("[('a', '<f4')]", "False", "(1,)"), 4), "structured");
    expect_refusal(file_of(header("'<f4'", "False", "(0, 2)"), 0), "no elements");
    expect_refusal(file_of(header("'<f4'", "False", "(2, 2)"), 15), "does not match");
    expect_refusal(file_of(header("'<f4'", "False", "(2, 2)"), 17), "does not match");
    expect_refusal(file_of(header("'<f4'", "False", "(4294967296, 4294967296, 4294967296)"), 16), "does not match");
    expect_refusal(file_of(header("'<f4'", "False", "(99999999999999999999,)"), 16), "malformed");
    expect_refusal(file_of(header("'<f4'", "False", "(-1,)"), 16), "malformed");
    expect_refusal(file_of(header("'<f4'", "False", "(1,1,1,1,1,1,1,1,1)"), 4), "dimensions");
    expect_refusal(file_of(header("'<i8'", "False", "(1,)"), 8), "48 bits");
    expect_refusal(file_of("{'descr': '<f4', 'shape': (1,)}", 4), "malformed");
    expect_refusal(file_of("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 4), "malformed");
    expect_refusal(file_of(header("'<f4'", "False", "(1,)"), 4, 4), "version 4.0");
    expect_refusal(to_bytes("hello"), "not a .npy file");
    expect_refusal({}, "not a .npy file");
    Bytes bad_bool = file_of(header("'|b1'", "False", "(1,)"), 1);
    bad_bool.back() = std::byte{2};
    expect_refusal(bad_bool, "bool");
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
            const HostTensor tensor = parse_npy(damaged, "a.npy");
            EXPECT_EQ(tensor.bytes.size(), static_cast<std::size_t>(tensor.count()) * size_of(tensor.type))
                << "seed " << seed;
        } catch (const Error&) {}
    }
}

TEST_F(Npy, FilesThatCannotBeReadOrWritten) {
    try {
        load_npy(folder_ / "missing.npy");
        ADD_FAILURE();
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::io);
        EXPECT_NE(std::string(e.what()).find("missing.npy"), std::string::npos);
    }
    const Bytes one(4);
    for (const auto& path : {folder_ / "no-folder" / "a.npy", folder_}) {
        try {
            save_npy(path, DType::fp32, {1}, one);
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
