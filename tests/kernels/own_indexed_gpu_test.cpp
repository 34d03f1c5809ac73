// SORT, SCATTER_ND and SEGMENT_REDUCE on the device at sizes that take several passes, with the cut into blocks of CPUs
// and with that of GPUs; and that float sums have the bits that the documented grouping gives.
#include "support/gpu_test.hpp"
#include "support/one_node.hpp"
#include "verify/checker.hpp"
#include "vk/record/executable.hpp"
#include "vk/run/context.hpp"

#include "compile/plan/plan.hpp"
#include "ops/builder.hpp"

#include <cstring>
#include <iostream>
#include <random>

using namespace tosavk;
using namespace tosavk::testing;

namespace {

/// The device as it is, and one with a GPU's shared memory.
class OwnIndexedGpu : public test::GpuTestWith<bool> {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        used_ = GetParam() ? test::open_with([](DevicePlan& plan) { plan.shared_tiles = true; }) : device_;
        const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 1);
        std::cout << "seed " << seed << "\n";
        random_.seed(seed);
    }

    std::int32_t roll(std::int32_t low, std::int32_t high) {
        return low + static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
    }

    void check(Graph graph, const std::vector<HostTensor>& inputs) {
        Checker checker(used_, std::make_shared<const Graph>(std::move(graph)));
        const CheckReport report = checker.run(inputs);
        EXPECT_TRUE(report.passed) << report.detail;
    }

    Bytes run(Graph made, const std::vector<HostTensor>& inputs) {
        const auto graph = std::make_shared<const Graph>(std::move(made));
        Context context(Executable::create(used_, graph, make_plan(*graph, used_->plan(), {})), false);
        for (std::size_t k = 0; k < inputs.size(); ++k) context.set_input(k, inputs[k].bytes);
        context.submit();
        context.wait();
        const Value& out = graph->value(graph->outputs[0]);
        HostTensor result(out.type, out.shape);
        context.get_output(0, result.bytes);
        return result.bytes;
    }

    std::shared_ptr<Device> used_;
    std::mt19937_64 random_;
};

Graph sort_graph(DType type, const Shape& shape, std::int32_t axis, bool descending, bool with_places) {
    GraphBuilder b("sort", level_none);
    std::vector<ValueId> operands{b.input("keys", type, shape)};
    std::vector<DType> types{type};
    if (with_places) {
        operands.push_back(b.input("places", DType::i32, shape));
        types.push_back(DType::i32);
    }
    Attributes attrs;
    attrs.axis = axis;
    attrs.descending = descending;
    for (const ValueId id : b.add(Op::sort, operands, attrs, types)) b.output(id);
    return b.finish();
}

}  // namespace

TEST_P(OwnIndexedGpu, SortsLongLists) {
    // In shared memory, just beyond it, several blocks, along an axis that is not the last one, and many lists.
    const struct {
        DType type;
        Shape shape;
        std::int32_t axis;
    } cases[] = {{DType::fp32, {1024}, 0},       {DType::fp32, {1025}, 0},    {DType::i32, {3, 2049}, 1},
                 {DType::fp32, {40000}, 0},      {DType::i16, {2, 9001}, 1},  {DType::i8, {1500, 5}, 0},
                 {DType::fp16, {2, 1111, 3}, 1}, {DType::fp32, {80, 133}, 1}, {DType::bf16, {5, 1030, 13}, 1}};
    for (const auto& [type, shape, axis] : cases) {
        HostTensor keys(type, shape), places(DType::i32, shape);
        for (std::byte& b : keys.bytes) b = static_cast<std::byte>(random_() >> 56);
        std::vector<std::int64_t> numbers(static_cast<std::size_t>(places.count()));
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
        places.bytes = encode_ints(DType::i32, numbers);
        SCOPED_TRACE(std::string(name_of(type)) + " " + to_string(shape));
        check(sort_graph(type, shape, axis, false, true), {keys, places});
        check(sort_graph(type, shape, axis, true, false), {keys});
    }
}

/// 256 neighbours in the order of the places that name one place are added up before they join it.
TEST_P(OwnIndexedGpu, SumsHaveTheDocumentedBits) {
    constexpr std::int32_t rows = 3000, width = 3;
    for (const std::int32_t places : {1, 3, 700}) {
        HostTensor x(DType::fp32, {rows, width}), ids(DType::i32, {rows});
        std::vector<std::vector<std::int32_t>> members(static_cast<std::size_t>(places));
        std::vector<float> values;
        for (std::int32_t i = 0; i < rows * width; ++i)
            values.push_back(static_cast<float>(roll(-4000000, 4000000)) / 4096);
        std::memcpy(x.bytes.data(), values.data(), x.bytes.size());
        std::vector<std::int64_t> numbers;
        for (std::int32_t i = 0; i < rows; ++i) {
            const std::int32_t id = roll(-1, places);  // the first and the last one are outside
            numbers.push_back(id);
            if (id >= 0 && id < places) members[static_cast<std::size_t>(id)].push_back(i);
        }
        ids.bytes = encode_ints(DType::i32, numbers);

        std::vector<float> wanted;
        std::size_t position = 0;  // among the sorted rows
        for (const std::vector<std::int32_t>& place : members) {
            for (std::int32_t c = 0; c < width; ++c) {
                const auto at = [&](std::size_t k) { return values[static_cast<std::size_t>(place[k] * width + c)]; };
                float sum = 0;
                for (std::size_t k = 0; k < place.size();) {
                    if ((position + k) % 256 != 0 || k + 256 > place.size()) {
                        sum += at(k++);
                        continue;
                    }
                    float partial = at(k);
                    for (std::size_t j = 1; j < 256; ++j) partial += at(k + j);
                    sum += partial;
                    k += 256;
                }
                wanted.push_back(sum);
            }
            position += place.size();
        }

        GraphBuilder b("sums", level_none);
        Attributes attrs;
        attrs.combiner = Combiner::add;
        attrs.out_of_range = OutOfRange::skip;
        attrs.segments = places;
        b.output(b.add1(Op::segment_reduce, {b.input("x", DType::fp32, x.shape), b.input("ids", DType::i32, ids.shape)},
                        DType::fp32, attrs));
        const Bytes found = run(b.finish(), {x, ids});
        ASSERT_EQ(found.size(), wanted.size() * sizeof(float));
        EXPECT_EQ(std::memcmp(found.data(), wanted.data(), found.size()), 0) << places << " places";
    }
}

/// All updates name one place: no loop may be cut off.
TEST_P(OwnIndexedGpu, OnePlaceTakesAllUpdates) {
    constexpr std::int64_t updates = 200000;
    GraphBuilder b("count", level_none);
    Attributes attrs;
    attrs.combiner = Combiner::add;
    attrs.out_of_range = OutOfRange::clamp;
    b.output(b.add1(Op::scatter_nd,
                    {b.input("values", DType::i32, {5}), b.input("indices", DType::i32, {updates, 1}),
                     b.input("updates", DType::i32, {updates})},
                    DType::i32, attrs));
    const HostTensor values = ints(DType::i32, {5}, {1, 2, 3, 4, 5});
    const Bytes found =
        run(b.finish(), {values, filled(DType::i32, {updates, 1}, 77), filled(DType::i32, {updates}, 1)});
    EXPECT_EQ(decode_ints(DType::i32, found), (std::vector<std::int64_t>{1, 2, 3, 4, 5 + updates}));
}

INSTANTIATE_TEST_SUITE_P(Cuts, OwnIndexedGpu, ::testing::Bool(),
                         [](const auto& instance) { return instance.param ? "gpu" : "asIs"; });
