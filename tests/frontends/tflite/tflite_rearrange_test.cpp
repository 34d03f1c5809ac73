// Operators that give elements other places: small models run by the reference, compared with their definitions.
#include "support/tflite_operands.hpp"

#include <gtest/gtest.h>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

Ints run_ints(const Bytes& model, const std::vector<HostTensor>& inputs, const Shape& shape) {
    const HostTensor got = run(model, inputs).at(0);
    EXPECT_EQ(got.shape, shape);
    return ints(got);
}

Bytes block_model(B code, const Shape& from, const Shape& to, int block) {
    return model_of(code, {{i32(from)}}, {i32(to)}, [&](TfliteBuilder& t) {
        return code == B::DEPTH_TO_SPACE
                 ? Options{BuiltinOptions::DepthToSpaceOptions, CreateDepthToSpaceOptions(t.fbb, block).Union()}
                 : Options{BuiltinOptions::SpaceToDepthOptions, CreateSpaceToDepthOptions(t.fbb, block).Union()};
    });
}

TEST(TfliteBlocks, DepthToSpaceAndBack) {
    struct Case {
        Shape deep;
        int block;
    };
    for (const Case& c : {Case{{2, 3, 4, 8}, 2}, Case{{1, 2, 1, 18}, 3}, Case{{1, 2, 3, 4}, 1}}) {
        const std::int64_t b = c.block, depth = c.deep[3] / (b * b);
        const Shape wide{c.deep[0], c.deep[1] * b, c.deep[2] * b, depth};
        const HostTensor x = counted(c.deep), y = counted(wide);
        EXPECT_EQ(run_ints(block_model(B::DEPTH_TO_SPACE, c.deep, wide, c.block), {x}, wide),
                  by_place(wide, [&](const Shape& p) {
                      return at(x, {p[0], p[1] / b, p[2] / b, (p[1] % b * b + p[2] % b) * depth + p[3]});
                  }));
        EXPECT_EQ(run_ints(block_model(B::SPACE_TO_DEPTH, wide, c.deep, c.block), {y}, c.deep),
                  by_place(c.deep, [&](const Shape& p) {
                      const std::int64_t inside = p[3] / depth;
                      return at(y, {p[0], p[1] * b + inside / b, p[2] * b + inside % b, p[3] % depth});
                  }));
    }
    expect_error(block_model(B::DEPTH_TO_SPACE, {1, 2, 2, 6}, {1, 4, 4, 1}, 2), ErrorCode::bad_model,
                 "6 channels are no blocks of 2 x 2");
    expect_error(block_model(B::SPACE_TO_DEPTH, {1, 3, 2, 1}, {1, 1, 1, 4}, 2), ErrorCode::bad_model,
                 "an image of 3 x 2 has no blocks of 2 x 2");
    expect_error(block_model(B::SPACE_TO_DEPTH, {1, 2, 2, 1}, {1, 1, 1, 4}, 0), ErrorCode::bad_model, "blocks of 0");
}

TEST(TfliteBlocks, BatchToSpaceCrops) {
    struct Case {
        Shape from;
        Ints blocks, crops;
    };
    for (const Case& c : {Case{{8, 3, 4, 3}, {2, 2}, {0, 0, 0, 0}}, Case{{12, 3, 4, 2}, {3, 2}, {1, 2, 2, 0}},
                          Case{{6, 5, 3}, {3}, {2, 1}}, Case{{4, 2, 5, 1}, {1, 2}, {0, 1, 3, 0}}}) {
        const std::size_t spatial = c.blocks.size();
        Shape to = c.from;
        for (std::size_t d = 0; d < spatial; ++d) {
            to[0] /= c.blocks[d];
            to[1 + d] = to[1 + d] * c.blocks[d] - c.crops[2 * d] - c.crops[2 * d + 1];
        }
        const HostTensor x = counted(c.from);
        const auto half = static_cast<std::int64_t>(spatial);
        const Bytes model =
            model_of(B::BATCH_TO_SPACE_ND, {{i32(c.from)}, known(c.blocks), known(c.crops, {half, 2})}, {i32(to)});
        EXPECT_EQ(run_ints(model, {x}, to), by_place(to, [&](const Shape& p) {
                      Shape from = p;
                      std::int64_t block = 0;
                      for (std::size_t d = 0; d < spatial; ++d) {
                          const std::int64_t whole = p[1 + d] + c.crops[2 * d];
                          from[1 + d] = whole / c.blocks[d];
                          block = block * c.blocks[d] + whole % c.blocks[d];
                      }
                      from[0] = block * to[0] + p[0];
                      return at(x, from);
                  }));
    }
    const auto bad = [](const Shape& from, const Ints& blocks, const Ints& crops) {
        return model_of(B::BATCH_TO_SPACE_ND, {{i32(from)}, known(blocks), known(crops)}, {i32({1, 1, 1})});
    };
    expect_error(bad({3, 2, 1}, {2}, {0, 0}), ErrorCode::bad_model, "a batch of 3 is no multiple of 2");
    expect_error(bad({2, 2, 1}, {2}, {3, 2}), ErrorCode::bad_model, "crops take away more");
    expect_error(bad({2, 2, 1}, {2, 2}, {0, 0}), ErrorCode::bad_model, "2 blocks and 2 crops for rank 3");
    expect_error(bad({2, 2, 1}, {0}, {0, 0}), ErrorCode::bad_model, "block 0 is out of range");
    expect_error(bad({2, 2}, {2}, {0, 0}), ErrorCode::unsupported, "rank 2 is not supported");
}

TEST(TfliteBlocks, SpaceToBatchPadsWithTheZeroPoint) {
    const Shape from{1, 3, 4, 2}, to{6, 2, 3, 2};
    const Ints blocks{3, 2}, padding{1, 2, 2, 0};
    const HostTensor x = random_i8(from);
    const Bytes model =
        model_of(B::SPACE_TO_BATCH_ND, {{i8(dims(from), 0.5f, -9)}, known(blocks), known(padding, {2, 2})},
                 {i8(dims(to), 0.5f, -9)});
    EXPECT_EQ(run_ints(model, {x}, to), by_place(to, [&](const Shape& p) {
                  const std::int64_t y = p[1] * 3 + p[0] / 2 - 1, x_place = p[2] * 2 + p[0] % 2 - 2;
                  const bool inside = y >= 0 && y < 3 && x_place >= 0 && x_place < 4;
                  return inside ? at(x, {0, y, x_place, p[3]}) : -9;
              }));
    expect_error(model_of(B::SPACE_TO_BATCH_ND, {{i32({1, 3, 1})}, known({2}), known({0, 0})}, {i32({2, 1, 1})}),
                 ErrorCode::bad_model, "dimension 1 is 3 with its padding, no multiple of 2");
}

TEST(TfliteReverse, SeveralAxes) {
    const Shape shape{2, 3, 4};
    const HostTensor x = counted(shape);
    const auto model = [&](const Ints& axes) {
        return model_of(B::REVERSE_V2, {{i32(shape)}, known(axes)}, {i32(shape)});
    };
    EXPECT_EQ(run_ints(model({0, -1}), {x}, shape),
              by_place(shape, [&](const Shape& p) { return at(x, {1 - p[0], p[1], 3 - p[2]}); }));
    expect_error(model({1, -2}), ErrorCode::bad_model, "axis -2 occurs twice");
    expect_error(model({3}), ErrorCode::bad_model, "axis 3 is out of range");
}

TEST(TfliteReverse, SequencesUpToTheirLengths) {
    struct Case {
        Shape shape;
        int along, batch;
    };
    for (const Case& c : {Case{{4, 3, 5}, 1, 0}, Case{{2, 3, 4, 5}, 0, 2}, Case{{6, 2}, 0, 1}}) {
        const auto along = static_cast<std::size_t>(c.along), batch = static_cast<std::size_t>(c.batch);
        const HostTensor x = counted(c.shape), lengths = random_ints(DType::i32, {c.shape[batch]}, 0, c.shape[along]);
        const auto options = [&](TfliteBuilder& t) {
            return Options{BuiltinOptions::ReverseSequenceOptions,
                           CreateReverseSequenceOptions(t.fbb, c.along, c.batch).Union()};
        };
        const Bytes model =
            model_of(B::REVERSE_SEQUENCE, {{i32(c.shape)}, {i32({c.shape[batch]})}}, {i32(c.shape)}, options);
        EXPECT_EQ(run_ints(model, {x, lengths}, c.shape), by_place(c.shape, [&](const Shape& p) {
                      Shape from = p;
                      const std::int64_t length = at(lengths, {p[batch]});
                      if (p[along] < length) from[along] = length - 1 - p[along];
                      return at(x, from);
                  }));
    }
}

TEST(TfliteRepeat, TileAndBroadcast) {
    const HostTensor x = counted({2, 1, 3});
    const auto tile = [](const Ints& times) { return model_of(B::TILE, {{i32({2, 1, 3})}, known(times)}, {i32({})}); };
    EXPECT_EQ(run_ints(tile({2, 3, 2}), {x}, {4, 3, 6}),
              by_place({4, 3, 6}, [&](const Shape& p) { return at(x, {p[0] % 2, 0, p[2] % 3}); }));
    expect_error(tile({2, 3}), ErrorCode::bad_model, "2 multiples for rank 3");
    expect_error(tile({2, -1, 1}), ErrorCode::bad_model, "has a negative dimension");
    expect_error(tile({2147483647, 2147483647, 1}), ErrorCode::bad_model, "");
    const auto wide = [](const Ints& to) {
        return model_of(B::BROADCAST_TO, {{i32({2, 1, 3})}, known(to)}, {i32({})});
    };
    EXPECT_EQ(run_ints(wide({4, 2, 5, 3}), {x}, {4, 2, 5, 3}),
              by_place({4, 2, 5, 3}, [&](const Shape& p) { return at(x, {p[1], 0, p[3]}); }));
    expect_error(wide({2, 2, 4}), ErrorCode::bad_model, "2x1x3 does not broadcast to 2x2x4");
    expect_error(wide({1, 3}), ErrorCode::bad_model, "does not broadcast");
}

TEST(TfliteDilate, KnownAndUnknownValue) {
    const Shape from{2, 3}, to{3, 7};
    const HostTensor x = counted(from);
    const Ints expected =
        by_place(to, [&](const Shape& p) { return p[0] % 2 == 0 && p[1] % 3 == 0 ? at(x, {p[0] / 2, p[1] / 3}) : -5; });
    EXPECT_EQ(run_ints(model_of(B::DILATE, {{i32(from)}, known({2, 3}), known_number(-5)}, {i32(to)}), {x}, to),
              expected);
    EXPECT_EQ(run_ints(model_of(B::DILATE, {{i32(from)}, known({2, 3}), {i32({})}}, {i32(to)}),
                       {x, tensor_of(DType::i32, {}, Ints{-5})}, to),
              expected);
    expect_error(model_of(B::DILATE, {{i32(from)}, known({2, 0}), known_number(0)}, {i32(to)}), ErrorCode::bad_model,
                 "dilation 0 is out of range");
}

TEST(TfliteDiagonal, MakesAndSets) {
    const HostTensor entries = counted({2, 3});
    EXPECT_EQ(run_ints(model_of(B::MATRIX_DIAG, {{i32({2, 3})}}, {i32({2, 3, 3})}), {entries}, {2, 3, 3}),
              by_place({2, 3, 3}, [&](const Shape& p) { return p[1] == p[2] ? at(entries, {p[0], p[1]}) : 0; }));
    for (const Shape& shape : {Shape{2, 3, 5}, Shape{2, 5, 3}, Shape{2, 3, 3}}) {
        const HostTensor x = random_ints(DType::i32, shape, -9, 9);
        EXPECT_EQ(
            run_ints(model_of(B::MATRIX_SET_DIAG, {{i32(shape)}, {i32({2, 3})}}, {i32(shape)}), {x, entries}, shape),
            by_place(shape, [&](const Shape& p) { return p[1] == p[2] ? at(entries, {p[0], p[1]}) : at(x, p); }));
    }
    expect_error(model_of(B::MATRIX_SET_DIAG, {{i32({3, 4})}, {i32({4})}}, {i32({3, 4})}), ErrorCode::bad_model,
                 "a diagonal of 4 for matrices 3x4");
}

}  // namespace
}  // namespace tosavk
