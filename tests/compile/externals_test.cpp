// Where the tensors of a run may lie in the caller's buffers. No GPU.
#include "compile/plan/externals.hpp"

#include "base/error.hpp"
#include "compile/plan/plan.hpp"
#include "ops/builder.hpp"
#include "support/plan_labels.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <set>

using namespace tosavk;
using namespace tosavk::test;

namespace {

/// The bytes of a tensor of the shape in such a range; empty where two elements share one.
std::set<std::uint64_t> bytes_of(const BufferRange& range, const Shape& shape, std::uint64_t element) {
    std::set<std::uint64_t> bytes;
    for (std::int64_t k = 0; k < element_count(shape); ++k) {
        std::uint64_t at = range.offset;
        std::int64_t rest = k;
        for (std::size_t d = shape.size(); d-- > 0;) {
            at += static_cast<std::uint64_t>(rest % shape[d] * range.strides[d]);
            rest /= shape[d];
        }
        for (std::uint64_t b = 0; b < element; ++b) {
            if (!bytes.insert(at + b).second) return {};
        }
    }
    return bytes;
}

BufferRange strided(std::uint64_t offset, std::vector<std::int64_t> strides) {
    BufferRange range;
    range.buffer = 1;
    range.offset = offset;
    range.size = 4096;
    range.strides = std::move(strides);
    return range;
}

/// Two outputs of one shape.
struct Pair {
    Graph graph;
    Plan plan;
    Shape shape;
    std::uint64_t element;

    Pair(DType type, Shape of) : shape(std::move(of)), element(size_of(type)) {
        GraphBuilder b("pair");
        const ValueId x = b.input("x", type, shape);
        b.output(b.add1(Op::reverse, {x}, type, along(0)));
        b.output(b.add1(Op::reverse, {x}, type, along(1)));
        graph = b.finish();
        plan = make_plan(graph, test_device(), {});
    }
    bool takes(const BufferRange& first, const BufferRange& second) const {
        const std::vector<BufferRange> in(1), out{first, second};
        try {
            use_externals(graph, plan, DeviceCaps{}, in, out);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::usage) << error.what();
            return false;
        }
        return true;
    }
};

}  // namespace

TEST(Externals, OutputsMayLieBetweenOneAnother) {
    const Pair pair(DType::fp32, {3, 5});
    EXPECT_TRUE(pair.takes(strided(0, {40, 8}), strided(4, {40, 8}))) << "two channels";
    EXPECT_TRUE(pair.takes(strided(4, {40, 8}), strided(0, {40, 8})));
    EXPECT_FALSE(pair.takes(strided(0, {40, 8}), strided(2, {40, 8})));
    EXPECT_FALSE(pair.takes(strided(0, {40, 8}), strided(6, {40, 8})));
    EXPECT_FALSE(pair.takes(strided(0, {40, 8}), strided(8, {40, 8})));
    EXPECT_TRUE(pair.takes(strided(0, {40, 4}), strided(20, {40, 4}))) << "columns side by side";
    EXPECT_TRUE(pair.takes(strided(0, {80, 4}), strided(20, {40, 4})));
    EXPECT_FALSE(pair.takes(strided(0, {40, 4}), strided(19, {40, 4})));
    EXPECT_FALSE(pair.takes(strided(0, {40, 4}), strided(21, {40, 4})));
    EXPECT_TRUE(pair.takes(strided(0, {4, 24}), strided(12, {4, 24}))) << "rows side by side";
    EXPECT_TRUE(pair.takes(strided(0, {40, 8}), strided(1000, {40, 8}))) << "apart";
}

TEST(Externals, OutputsThatShareBytesAreRefused) {
    const char* text = std::getenv("TOSAVK_TEST_SEED");
    const unsigned seed = text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 1;
    std::cout << "seed " << seed << "\n";
    std::mt19937 random(seed);
    int taken = 0, refused = 0;
    for (const DType type : {DType::i8, DType::fp16, DType::fp32}) {
        const Pair pair(type, {2, 3});
        const auto any = [&] {
            return strided(random() % 40,
                           {static_cast<std::int64_t>(random() % 40), static_cast<std::int64_t>(random() % 40)});
        };
        for (int turn = 0; turn < 4000; ++turn) {
            const BufferRange first = any();
            BufferRange second = any();
            if (turn % 2 == 0) second.strides = first.strides;
            const auto a = bytes_of(first, pair.shape, pair.element), b = bytes_of(second, pair.shape, pair.element);
            const auto nested = [](const BufferRange& range) {  // what check_size() takes, which is another rule
                const std::int64_t least = std::min(range.strides[0], range.strides[1]);
                return least != 0 && range.strides[0] != range.strides[1];
            };
            if (a.empty() || b.empty() || !nested(first) || !nested(second)) continue;
            bool share = false;
            for (const std::uint64_t byte : a) share = share || b.contains(byte);
            bool is_taken = false;
            try {
                const std::vector<BufferRange> in(1), out{first, second};
                use_externals(pair.graph, pair.plan, DeviceCaps{}, in, out);
                is_taken = true;
            } catch (const Error& error) {
                if (error.code() != ErrorCode::usage) continue;  // strides that no tensor has
            }
            ++(is_taken ? taken : refused);
            EXPECT_FALSE(is_taken && share)
                << first.offset << ": " << first.strides[0] << " " << first.strides[1] << ", " << second.offset << ": "
                << second.strides[0] << " " << second.strides[1] << ", elements of " << pair.element;
        }
    }
    EXPECT_GT(taken, 500);
    EXPECT_GT(refused, 500);
}

TEST(Externals, AnyTwoOfManyOutputsThatOverlapAreFound) {
    const char* text = std::getenv("TOSAVK_TEST_SEED");
    const unsigned seed = text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 1;
    std::cout << "seed " << seed << "\n";
    std::mt19937 random(seed);
    GraphBuilder b("many");
    const ValueId x = b.input("x", DType::fp32, {6});
    constexpr std::size_t count = 9;
    for (std::size_t k = 0; k < count; ++k)
        b.output(b.add1(Op::add, {x, b.constant("c" + std::to_string(k), DType::fp32, {1}, Bytes(4))}, DType::fp32));
    const Graph graph = b.finish();
    const Plan plan = make_plan(graph, test_device(), {});
    int taken = 0, refused = 0;
    for (int turn = 0; turn < 3000; ++turn) {
        std::vector<BufferRange> in(1), out(count);
        for (BufferRange& range : out) {
            if (random() % 8 == 0) continue;
            range.buffer = 1 + random() % 3;
            range.offset = random() % 40 * (turn % 2 == 0 ? 24 : 20);
            range.size = 24 + random() % 40;  // of which the tensor is 24
        }
        bool overlap = false;
        for (std::size_t a = 0; a < count; ++a) {
            for (std::size_t c = 0; c < a; ++c) {
                BufferRange first = out[a], second = out[c];
                first.size = second.size = 24;
                overlap = overlap || first.overlaps(second);
            }
        }
        bool is_taken = true;
        try {
            use_externals(graph, plan, DeviceCaps{}, in, out);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::usage) << error.what();
            is_taken = false;
        }
        EXPECT_EQ(is_taken, !overlap) << "turn " << turn;
        ++(is_taken ? taken : refused);
    }
    EXPECT_GT(taken, 200);
    EXPECT_GT(refused, 200);
}

TEST(Externals, AnOutputThatIsAnInputIsNotWrittenThere) {
    GraphBuilder b("same");
    const ValueId x = b.input("x", DType::fp32, {3, 5});
    b.output(x);
    b.output(b.add1(Op::reverse, {x}, DType::fp32, along(0)));
    const Graph graph = b.finish();
    const Plan plan = make_plan(graph, test_device(), {});
    EXPECT_FALSE(output_needs(graph, plan, {}, 0).possible);
    EXPECT_TRUE(output_needs(graph, plan, {}, 1).possible);
    EXPECT_TRUE(input_needs(graph, plan, {}, 0).possible);
    EXPECT_EQ(output_needs(graph, plan, {}, 0).bytes, 60u);
}
