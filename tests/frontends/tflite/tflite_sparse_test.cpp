// Sparse constants: what they hold, and descriptions that do not fit. Constants of fp16 and bf16.
#include "support/tflite_models.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

/// One level: dense of so many places, or segments and indices.
struct LevelSpec {
    int size = 0;
    std::vector<int> segments, indices;
};

struct SparseSpec {
    std::vector<int> order, blocks;
    std::vector<LevelSpec> levels;
    SparseIndexVector width = SparseIndexVector::Int32Vector;
};

flatbuffers::Offset<void> index_vector(flatbuffers::FlatBufferBuilder& fbb, SparseIndexVector width,
                                       const std::vector<int>& values) {
    switch (width) {
        case SparseIndexVector::Uint8Vector: {
            const std::vector<std::uint8_t> narrow(values.begin(), values.end());
            return CreateUint8Vector(fbb, fbb.CreateVector(narrow)).Union();
        }
        case SparseIndexVector::Uint16Vector: {
            const std::vector<std::uint16_t> narrow(values.begin(), values.end());
            return CreateUint16Vector(fbb, fbb.CreateVector(narrow)).Union();
        }
        default: return CreateInt32Vector(fbb, fbb.CreateVector(values)).Union();
    }
}

/// x + DENSIFY(sparse).
Bytes sparse_model(const SparseSpec& s, const std::vector<std::int32_t>& shape, const std::vector<float>& values) {
    TfliteBuilder b;
    std::vector<flatbuffers::Offset<DimensionMetadata>> levels;
    for (const LevelSpec& level : s.levels) {
        if (level.segments.empty()) {
            levels.push_back(CreateDimensionMetadata(b.fbb, DimensionType::DENSE, level.size));
            continue;
        }
        const auto segments = index_vector(b.fbb, s.width, level.segments),
                   indices = index_vector(b.fbb, s.width, level.indices);
        levels.push_back(
            CreateDimensionMetadata(b.fbb, DimensionType::SPARSE_CSR, 0, s.width, segments, s.width, indices));
    }
    const auto order = b.fbb.CreateVector(s.order), blocks = b.fbb.CreateVector(s.blocks);
    TensorSpec spec = f32(shape);
    spec.sparsity = CreateSparsityParameters(b.fbb, order, blocks, b.fbb.CreateVector(levels));
    Bytes data(values.size() * 4);
    std::memcpy(data.data(), values.data(), data.size());
    const int x = b.tensor(f32(shape)), w = b.constant(spec, data), dense = b.tensor(f32(shape)),
              y = b.tensor(f32(shape));
    b.op(B::DENSIFY, {w}, {dense});
    b.op(B::ADD, {x, dense}, {y});
    return b.finish({x}, {y});
}

std::vector<float> dense_of(const SparseSpec& s, const std::vector<std::int32_t>& shape,
                            const std::vector<float>& values) {
    const HostTensor zeros(DType::fp32, Shape(shape.begin(), shape.end()));
    const auto got = run(sparse_model(s, shape, values), {zeros}).at(0);
    return {got.as<float>().begin(), got.as<float>().end()};
}

// Rows dense, columns listed.
const SparseSpec csr{{0, 1}, {}, {{3}, {0, {0, 2, 2, 3}, {0, 3, 1}}}};

TEST(TfliteSparse, RowsWithListedColumns) {
    for (const auto width :
         {SparseIndexVector::Int32Vector, SparseIndexVector::Uint16Vector, SparseIndexVector::Uint8Vector}) {
        SparseSpec s = csr;
        s.width = width;
        EXPECT_EQ(dense_of(s, {3, 4}, {1, 2, 3}), (std::vector<float>{1, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0, 0}));
    }
}

TEST(TfliteSparse, ColumnsFirst) {
    const SparseSpec s{{1, 0}, {}, {{3}, {0, {0, 1, 1, 3}, {1, 0, 1}}}};
    EXPECT_EQ(dense_of(s, {2, 3}, {1, 2, 3}), (std::vector<float>{0, 0, 2, 1, 0, 3}));
}

TEST(TfliteSparse, Blocks) {
    // Blocks of 2x2 of a matrix of 4x4: the second of the first row of blocks, the first of the second.
    const SparseSpec s{{0, 1, 2, 3}, {0, 1}, {{2}, {0, {0, 1, 2}, {1, 0}}, {2}, {2}}};
    EXPECT_EQ(dense_of(s, {4, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
              (std::vector<float>{0, 0, 1, 2, 0, 0, 3, 4, 5, 6, 0, 0, 7, 8, 0, 0}));
}

TEST(TfliteSparse, DescriptionsThatDoNotFit) {
    struct Case {
        std::function<void(SparseSpec&)> change;
        const char* message;
        std::vector<float> values{1, 2, 3};
    };
    const std::vector<Case> cases{
        {[](SparseSpec& s) { s.order = {0}; }, "its traversal order has 1 entries for 2 dimensions"},
        {[](SparseSpec& s) { s.order = {0, 0}; }, "its traversal order has 0 at place 1"},
        {[](SparseSpec& s) { s.order = {0, -1}; }, "its traversal order has -1 at place 1"},
        {[](SparseSpec& s) { s.levels.pop_back(); }, "it describes 1 levels, but has 2"},
        {[](SparseSpec& s) { s.levels[0].size = 4; }, "level 0 has 4 places instead of 3"},
        {[](SparseSpec& s) { s.levels[1].segments = {0, 2}; }, "level 1 has too few segments"},
        {[](SparseSpec& s) { s.levels[1].segments = {0, 2, 1, 3}; }, "level 1 has the segment 2 to 1"},
        {[](SparseSpec& s) { s.levels[1].segments = {0, 2, 2, 9}; }, "level 1 has the segment 2 to 9"},
        {[](SparseSpec& s) { s.levels[1].segments = {-5, 2, 2, 3}; }, "level 1 has the segment -5 to 2"},
        {[](SparseSpec& s) { s.levels[1].indices = {0, 4, 1}; }, "level 1 has the index 4, but 4 places"},
        {[](SparseSpec& s) { s.levels[1].indices = {0, -1, 1}; }, "level 1 has the index -1"},
        {[](SparseSpec&) {}, "it describes more elements than the 2 there are", {1, 2}},
        {[](SparseSpec&) {}, "it describes 3 elements, but there are 4", {1, 2, 3, 4}},
        {[](SparseSpec& s) {
             s.order = {0, 1, 2};
             s.blocks = {1};
             s.levels.push_back({3});
         },
         "blocks of 3 do not divide a dimension of 4"},
        {[](SparseSpec& s) {
             s.order = {0, 1, 2};
             s.blocks = {7};
             s.levels.push_back({2});
         },
         "its block map has 7 at place 0"},
    };
    for (const Case& c : cases) {
        SparseSpec s = csr;
        c.change(s);
        expect_error(sparse_model(s, {3, 4}, c.values), ErrorCode::bad_model, c.message);
    }
}

TEST(TfliteSparse, HalfPrecisionConstants) {
    const std::vector<double> values{1.5, -2, 0.25, 3};
    for (const auto& [declared, type] :
         {std::pair(TensorType::FLOAT16, DType::fp16), std::pair(TensorType::BFLOAT16, DType::bf16)}) {
        TfliteBuilder b;
        const int x = b.tensor(f32({1, 2})), y = b.tensor(f32({1, 2}));
        const int w = b.constant({{2, 2}, declared}, encode_reals(type, values));
        b.op(B::FULLY_CONNECTED, {x, w, -1}, {y}, BuiltinOptions::FullyConnectedOptions,
             CreateFullyConnectedOptions(b.fbb).Union());
        HostTensor one(DType::fp32, {1, 2});
        one.as<float>()[0] = 1;
        one.as<float>()[1] = 10;
        const auto got = run(b.finish({x}, {y}), {one}).at(0);
        EXPECT_EQ(got.as<float>()[0], -18.5f);
        EXPECT_EQ(got.as<float>()[1], 30.25f);
    }
}

TEST(TfliteSparse, HalfPrecisionInputs) {
    TfliteBuilder b;
    const int x = b.tensor({{3}, TensorType::FLOAT16}), y = b.tensor(f32({3}));
    b.op(B::DEQUANTIZE, {x}, {y});
    HostTensor in(DType::fp16, {3});
    in.bytes = encode_reals(DType::fp16, std::vector<double>{1, -0.5, 1000});
    const auto got = run(b.finish({x}, {y}), {in}).at(0);
    EXPECT_EQ(std::vector<float>(got.as<float>().begin(), got.as<float>().end()), (std::vector<float>{1, -0.5f, 1000}));
}

}  // namespace
}  // namespace tosavk
