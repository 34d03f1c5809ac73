// Arrays of .npy files as tensors: which of numpy's types stand for which of ours, and what is said of a value too
// much.
#include "graph/array.hpp"

#include "base/error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include <unistd.h>

namespace tosavk {
namespace {

constexpr DType integers[] = {DType::boolean, DType::i4, DType::i8, DType::i16, DType::i32, DType::i48};
constexpr DType floats[] = {DType::fp8e4m3, DType::fp8e5m2, DType::fp16, DType::bf16, DType::fp32};

template <class T> NpyArray array_of(NpyKind kind, const std::vector<T>& values) {
    NpyArray array{kind, sizeof(T), {static_cast<std::int64_t>(values.size())}, Bytes(values.size() * sizeof(T))};
    std::memcpy(array.data.data(), values.data(), array.data.size());
    return array;
}

std::string refusal(const NpyArray& array, DType type) {
    try {
        to_tensor(array, type, "a.npy");
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::bad_input);
        EXPECT_EQ(std::string(e.what()).find("a.npy: "), 0u) << e.what();
        return e.what();
    }
    ADD_FAILURE() << "it was taken as " << name_of(type);
    return {};
}

void expect_refusal(const NpyArray& array, DType type, const std::string& part) {
    const std::string message = refusal(array, type);
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

/// Every integer type of files as every one of ours: taken where all values fit, else the first that does not is named.
template <class T> void integers_of(NpyKind kind, DType nearest) {
    const NpyArray small = array_of<T>(kind, {0, 1, 0, 1});
    EXPECT_EQ(nearest_type(small), nearest);
    for (const DType type : integers) {
        const HostTensor tensor = to_tensor(small, type, "a.npy");
        EXPECT_EQ(tensor.type, type);
        EXPECT_EQ(tensor.shape, small.shape);
        EXPECT_EQ(tensor.bytes.size(), 4 * size_of(type));
        EXPECT_EQ(decode_ints(type, tensor.bytes), (std::vector<std::int64_t>{0, 1, 0, 1}));
        for (const bool lowest : {false, true}) {
            const T edge = lowest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
            const NpyArray array = array_of<T>(kind, {1, 0, edge});
            const bool held = std::cmp_greater_equal(edge, min_of(type)) && std::cmp_less_equal(edge, max_of(type));
            if (held) {
                EXPECT_EQ(decode_ints(type, to_tensor(array, type, "a.npy").bytes)[2], static_cast<std::int64_t>(edge));
            } else {
                expect_refusal(array, type, "element 2 is " + std::to_string(edge) + ", which type ");
            }
        }
    }
    for (const DType type : floats) expect_refusal(small, type, "cannot stand for type");
}

TEST(Array, IntegersOfEveryType) {
    integers_of<std::int8_t>(NpyKind::integer, DType::i8);
    integers_of<std::int16_t>(NpyKind::integer, DType::i16);
    integers_of<std::int32_t>(NpyKind::integer, DType::i32);
    integers_of<std::int64_t>(NpyKind::integer, DType::i48);
    integers_of<std::uint8_t>(NpyKind::natural, DType::i16);
    integers_of<std::uint16_t>(NpyKind::natural, DType::i32);
    integers_of<std::uint32_t>(NpyKind::natural, DType::i48);
    integers_of<std::uint64_t>(NpyKind::natural, DType::i48);
}

TEST(Array, TheSentenceNamesElementValueAndRange) {
    EXPECT_EQ(refusal(array_of<std::uint8_t>(NpyKind::natural, {1, 127, 200, 255}), DType::i8),
              "a.npy: element 2 is 200, which type i8 does not hold (-128 to 127)");
    EXPECT_EQ(refusal(array_of<float>(NpyKind::real, {1, 1.001f}), DType::bf16),
              "a.npy: element 1 is 1.0010000467300415, which type bf16 does not hold");
    EXPECT_EQ(refusal(array_of<std::uint64_t>(NpyKind::natural, {1, 1ull << 63}), DType::i8),
              "a.npy: element 1 is 9223372036854775808, which type i8 does not hold (-128 to 127)");
    EXPECT_EQ(refusal(array_of<std::uint8_t>(NpyKind::natural, {1}), DType::fp32),
              "a.npy: elements of type uint8 cannot stand for type fp32");
}

TEST(Array, FloatsOfEveryType) {
    const std::vector<double> values = {1.5, -2, 0};
    const auto as_file = [&](DType type, NpyKind kind) {
        return NpyArray{kind, size_of(type), {3}, encode_reals(type, values)};
    };
    const NpyArray files[] = {as_file(DType::fp32, NpyKind::real), as_file(DType::fp16, NpyKind::real),
                              as_file(DType::fp8e5m2, NpyKind::real), as_file(DType::bf16, NpyKind::opaque)};
    const DType nearest[] = {DType::fp32, DType::fp16, DType::fp8e5m2, DType::bf16};
    for (std::size_t k = 0; k < std::size(files); ++k) {
        EXPECT_EQ(nearest_type(files[k]), nearest[k]);
        for (const DType type : floats) {
            // Two bytes without a type are the bits of bf16; of what else, nobody knows.
            if (files[k].kind == NpyKind::opaque && type != DType::bf16)
                expect_refusal(files[k], type, "void16 cannot stand for type");
            else EXPECT_EQ(to_tensor(files[k], type, "a.npy").bytes, encode_reals(type, values)) << name_of(type);
        }
        for (const DType type : integers) expect_refusal(files[k], type, "cannot stand for type");
    }
    // Infinity, NaN and what overflows.
    const float hard[] = {INFINITY, NAN, -INFINITY};
    const NpyArray special = array_of<float>(NpyKind::real, {hard[0], hard[1], hard[2]});
    for (const DType type : {DType::fp16, DType::bf16, DType::fp8e5m2})
        EXPECT_EQ(to_tensor(special, type, "a.npy").bytes,
                  encode_reals(type, std::vector<double>{INFINITY, NAN, -INFINITY}));
    expect_refusal(special, DType::fp8e4m3, "element 0 is inf");
    expect_refusal(array_of<float>(NpyKind::real, {1, 65536}), DType::fp16, "element 1 is 65536");
}

/// Bytes that a file says nothing about are the bits of either fp8, and of nothing else.
TEST(Array, BytesWithoutATypeAreEitherFp8) {
    const NpyArray array = array_of<std::uint8_t>(NpyKind::opaque, {0x38, 0xc0, 0x7f, 0x01});
    for (const DType type : {DType::fp8e4m3, DType::fp8e5m2}) {
        const HostTensor tensor = to_tensor(array, type, "a.npy");
        EXPECT_EQ(tensor.type, type);
        EXPECT_EQ(tensor.bytes, array.data);
    }
    for (const DType type : integers) expect_refusal(array, type, "void8 cannot stand for type");
    for (const DType type : {DType::fp16, DType::bf16, DType::fp32}) expect_refusal(array, type, "void8 cannot stand");
}

TEST(Array, FilesOfEveryType) {
    const auto path = std::filesystem::temp_directory_path() / ("tosavk-array-" + std::to_string(::getpid()) + ".npy");
    const std::vector<double> values = {1, 0, 0, 1, 1, 0};
    const auto expect = [&](DType type, NpyForm form, DType nearest, const char* name) {
        const Bytes bytes = encode_reals(type, values);
        save_npy(path, type, {2, 3}, bytes, form);
        const NpyArray file = read_npy(path);
        EXPECT_STREQ(numpy_name(file.kind, file.item_size), name);
        const HostTensor back = load_npy(path);
        EXPECT_EQ(back.type, nearest) << name_of(type);
        EXPECT_EQ(back.shape, (Shape{2, 3}));
        EXPECT_EQ(to_tensor(file, type, "a.npy").bytes, bytes) << name_of(type);
    };
    for (const NpyForm form : {NpyForm::wide, NpyForm::raw}) {
        expect(DType::boolean, form, DType::boolean, "bool");
        expect(DType::i4, form, DType::i8, "int8");
        expect(DType::i8, form, DType::i8, "int8");
        expect(DType::i16, form, DType::i16, "int16");
        expect(DType::i32, form, DType::i32, "int32");
        expect(DType::i48, form, DType::i48, "int64");
        expect(DType::fp16, form, DType::fp16, "float16");
        expect(DType::fp32, form, DType::fp32, "float32");
    }
    for (const DType type : {DType::bf16, DType::fp8e4m3, DType::fp8e5m2})
        expect(type, NpyForm::wide, DType::fp32, "float32");
    expect(DType::bf16, NpyForm::raw, DType::bf16, "void16");
    expect(DType::fp8e4m3, NpyForm::raw, DType::fp8e4m3, "void8");
    expect(DType::fp8e5m2, NpyForm::raw, DType::fp8e4m3, "void8");
    std::filesystem::remove(path);
    EXPECT_THROW(save_npy(path, DType::shape, {1}, Bytes(8)), Error);
    EXPECT_THROW(save_npy(path, DType::fp32, {2}, Bytes(4)), Error);
    EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace tosavk
