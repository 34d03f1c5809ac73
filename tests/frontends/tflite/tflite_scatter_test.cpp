// Operators whose indices say where elements go or come from: small models run by the reference.
#include "support/tflite_operands.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

HostTensor numbers(const Shape& shape, const Ints& values) { return tensor_of(DType::i32, shape, values); }

TEST(TfliteGatherNd, IndicesOfEveryLength) {
    const Shape from{4, 3, 5};
    const HostTensor x = counted(from);
    for (std::size_t depth = 1; depth <= 3; ++depth) {
        const Shape places{2, 3, static_cast<std::int64_t>(depth)};
        HostTensor indices = random_ints(DType::i32, places, 0, 2);
        Shape to{2, 3};
        to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(depth), from.end());
        const HostTensor got = run(model_of(B::GATHER_ND, {{i32(from)}, {i32(places)}}, {i32(to)}), {x, indices}).at(0);
        EXPECT_EQ(got.shape, to);
        EXPECT_EQ(ints(got), by_place(to, [&](const Shape& p) {
                      Shape place;
                      for (std::size_t k = 0; k < depth; ++k)
                          place.push_back(at(indices, {p[0], p[1], static_cast<std::int64_t>(k)}));
                      place.insert(place.end(), p.begin() + 2, p.end());
                      return at(x, place);
                  }));
    }
    const auto bad = [&](const Ints& indices, const Shape& shape) {
        return model_of(B::GATHER_ND, {{i32(from)}, known(indices, shape)}, {i32({1})});
    };
    expect_error(bad({0, 3}, {1, 2}), ErrorCode::bad_model, "index 3 is not in 0..2");
    expect_error(bad({0, 0, 0, 0}, {1, 4}), ErrorCode::bad_model, "indices of 4 numbers for rank 3");
}

TEST(TfliteScatterNd, EqualPlacesAddUp) {
    const auto scattered = [](TensorType type, DType held, const Ints& updates) {
        const Bytes model = model_of(B::SCATTER_ND, {{i32({4, 1})}, {spec(type, {4})}, known({5})}, {spec(type, {5})});
        return ints(run(model, {numbers({4, 1}, {3, 0, 3, 3}), tensor_of(held, {4}, updates)}).at(0));
    };
    EXPECT_EQ(scattered(TensorType::INT32, DType::i32, {10, 20, 30, 40}), (Ints{20, 0, 0, 80, 0}));
    EXPECT_EQ(scattered(TensorType::INT8, DType::i8, {100, -7, 100, 1}), (Ints{-7, 0, 0, -55, 0}));
    EXPECT_EQ(scattered(TensorType::BOOL, DType::boolean, {0, 0, 1, 0}), (Ints{0, 0, 0, 1, 0}));
    const Bytes rows = model_of(B::SCATTER_ND, {known({1, 0, 1}, {3, 1}), {i32({3, 2})}, known({2, 2})}, {i32({2, 2})});
    EXPECT_EQ(ints(run(rows, {numbers({3, 2}, {1, 2, 3, 4, 5, 6})}).at(0)), (Ints{3, 4, 6, 8}));
    expect_error(model_of(B::SCATTER_ND, {known({2}, {1, 1}), {i32({1})}, known({2})}, {i32({2})}),
                 ErrorCode::bad_model, "index 2 is not in 0..1");
    expect_error(model_of(B::SCATTER_ND, {{i32({1, 1})}, {i32({2})}, known({2})}, {i32({2})}), ErrorCode::bad_model,
                 "updates 2 for indices 1x1 and the shape 2");
    expect_error(model_of(B::SCATTER_ND, {{i32({1, 1})}, {i32({1})}, {i32({1})}}, {i32({2})}), ErrorCode::unsupported,
                 "must be a constant");
}

TEST(TfliteSparseToDense, IndicesOfRanks0To2) {
    const auto dense = [](const Ints& indices, const Shape& places, const Ints& to, const Ints& values) {
        Shape list;
        if (values.size() > 1) list = {static_cast<std::int64_t>(values.size())};
        const Bytes model =
            model_of(B::SPARSE_TO_DENSE, {{i32(places)}, known(to), {i32(list)}, known_number(-1)}, {i32(to)});
        return ints(run(model, {numbers(places, indices), numbers(list, values)}).at(0));
    };
    EXPECT_EQ(dense({2}, {}, {4}, {9}), (Ints{-1, -1, 9, -1}));
    EXPECT_EQ(dense({3, 0}, {2}, {4}, {9, 8}), (Ints{8, -1, -1, 9}));
    EXPECT_EQ(dense({0, 1, 1, 0}, {2, 2}, {2, 2}, {7}), (Ints{-1, 7, 7, -1}));
    expect_error(model_of(B::SPARSE_TO_DENSE, {known({4}), known({4}), known({1}), known_number(0)}, {i32({4})}),
                 ErrorCode::bad_model, "index 4 is not in 0..3");
}

TEST(TfliteSegments, ReduceRows) {
    const HostTensor x = numbers({4, 2}, {1, 2, 3, 4, 5, 6, -7, 8});
    EXPECT_EQ(ints(run(model_of(B::SEGMENT_SUM, {{i32({4, 2})}, known({0, 0, 2, 2})}, {i32({3, 2})}), {x}).at(0)),
              (Ints{4, 6, 0, 0, -2, 14}));
    expect_error(model_of(B::SEGMENT_SUM, {{i32({4, 2})}, {i32({4})}}, {i32({3, 2})}), ErrorCode::unsupported,
                 "must be a constant");
    expect_error(model_of(B::SEGMENT_SUM, {{i32({2, 2})}, known({1, 0})}, {i32({2, 2})}), ErrorCode::bad_model,
                 "its ids are not sorted");
    const auto unsorted = [&](B code, const Ints& ids) {
        const Bytes model = model_of(code, {{i32({4, 2})}, {i32({4})}, known_number(3)}, {i32({3, 2})});
        return ints(run(model, {x, numbers({4}, ids)}).at(0));
    };
    const std::int64_t least = std::numeric_limits<std::int32_t>::min(),
                       most = std::numeric_limits<std::int32_t>::max();
    EXPECT_EQ(unsorted(B::UNSORTED_SEGMENT_SUM, {2, -1, 0, 2}), (Ints{5, 6, 0, 0, -6, 10}));
    EXPECT_EQ(unsorted(B::UNSORTED_SEGMENT_PROD, {2, -1, 0, 2}), (Ints{5, 6, 1, 1, -7, 16}));
    EXPECT_EQ(unsorted(B::UNSORTED_SEGMENT_MAX, {2, -1, 0, 2}), (Ints{5, 6, least, least, 1, 8}));
    EXPECT_EQ(unsorted(B::UNSORTED_SEGMENT_MIN, {2, -1, 0, 2}), (Ints{5, 6, most, most, -7, 2}));
    const Bytes floats = model_of(B::UNSORTED_SEGMENT_MAX, {{f32({2})}, known({0, 0}), known_number(2)}, {f32({2})});
    const double lowest = -static_cast<double>(std::numeric_limits<float>::max()), infinity = HUGE_VAL;
    EXPECT_EQ(reals(run(floats, {tensor_of({2}, {-infinity, -infinity})}).at(0)), (std::vector{lowest, lowest}));
    expect_error(model_of(B::UNSORTED_SEGMENT_SUM, {{i32({2})}, known({0, 3}), known_number(3)}, {i32({3})}),
                 ErrorCode::bad_model, "id 3 is not below 3");
}

TEST(TfliteOneHot, EveryAxis) {
    const HostTensor which = numbers({2, 3}, {0, 4, -1, 2, 5, 1});
    for (const int axis : {-1, 0, 1, 2}) {
        const auto place = static_cast<std::size_t>(axis < 0 ? 2 : axis);
        Shape to{2, 3};
        to.insert(to.begin() + static_cast<std::ptrdiff_t>(place), 5);
        const Bytes model = model_of(
            B::ONE_HOT, {{i32({2, 3})}, known_number(5), known_number(7), {i32({})}}, {i32(to)}, [&](TfliteBuilder& t) {
                return Options{BuiltinOptions::OneHotOptions, CreateOneHotOptions(t.fbb, axis).Union()};
            });
        EXPECT_EQ(ints(run(model, {which, numbers({}, {-3})}).at(0)), by_place(to, [&](const Shape& p) {
                      Shape from = p;
                      from.erase(from.begin() + static_cast<std::ptrdiff_t>(place));
                      return at(which, from) == p[place] ? 7 : -3;
                  }));
    }
}

TEST(TfliteEmbedding, RowsWithTheirScales) {
    const TensorSpec table{{3, 2}, TensorType::INT8, {0.5f, 2.0f, 0.25f}, {0, 0, 0}, 0};
    const Operand rows{table, encode_ints(DType::i8, Ints{1, 2, 3, 4, -8, 6})};
    const Bytes model = model_of(B::EMBEDDING_LOOKUP, {{i32({4})}, rows}, {f32({4, 2})});
    EXPECT_EQ(reals(run(model, {numbers({4}, {2, 0, 1, 2})}).at(0)),
              (std::vector<double>{-2, 1.5, 0.5, 1, 6, 8, -2, 1.5}));
    expect_error(model_of(B::EMBEDDING_LOOKUP, {known({3}), rows}, {f32({1, 2})}), ErrorCode::bad_model,
                 "index 3 is not in 0..2");
}

TEST(TfliteUpdateSlice, StartsAreClamped) {
    const Bytes model = model_of(B::DYNAMIC_UPDATE_SLICE, {{i32({3, 3})}, {i32({2, 1})}, {i32({2})}}, {i32({3, 3})});
    const HostTensor x = numbers({3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}), part = numbers({2, 1}, {-1, -2});
    EXPECT_EQ(ints(run(model, {x, part, numbers({2}, {1, 1})}).at(0)), (Ints{0, 1, 2, 3, -1, 5, 6, -2, 8}));
    EXPECT_EQ(ints(run(model, {x, part, numbers({2}, {9, -4})}).at(0)), (Ints{0, 1, 2, -1, 4, 5, -2, 7, 8}));
    expect_error(model_of(B::DYNAMIC_UPDATE_SLICE, {{i32({3})}, {i32({4})}, {i32({1})}}, {i32({3})}),
                 ErrorCode::bad_model, "a part 4 at 1 numbers of 3");
}

}  // namespace
}  // namespace tosavk
