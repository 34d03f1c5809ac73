// CUMULATE where an axis is cut into parts, in one level and in two, in rows and in columns: against the reference,
// unfused, fused with what follows, and with every other candidate.
#include "compile/plan/plan.hpp"
#include "ops/builder.hpp"
#include "support/gpu_test.hpp"
#include "verify/conformance/random_data.hpp"
#include "verify/judge.hpp"
#include "vk/run/context.hpp"

namespace tosavk {
namespace {

using conformance::RandomCase;

struct Case {
    DType type;
    Shape shape;
    std::int32_t axis;
    Combiner combiner;
    bool exclusive, reverse;
};

RandomCase make(const Case& c, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    conformance::RandomData data(random);
    RandomCase made;
    made.inputs.push_back(is_float(c.type) ? data.reals(c.type, c.shape, false) : data.any(c.type, c.shape));
    GraphBuilder b("cumulate");
    Attributes attrs;
    attrs.axis = c.axis;
    attrs.combiner = c.combiner;
    attrs.exclusive = c.exclusive;
    attrs.reverse = c.reverse;
    const ValueId x = b.input("x", c.type, c.shape);
    const ValueId y = b.add1(Op::cumulate, {x}, c.type, attrs, "node");
    const bool narrow = c.type == DType::i8 || c.type == DType::i16;
    b.output(b.add1(narrow ? Op::bitwise_not : Op::abs, {y}, c.type));
    made.graph = b.finish();
    return made;
}

std::size_t dispatches(const Graph& graph, const Device& device) {
    return make_plan(graph, device.plan(), {}).dispatches.size();
}

class Cumulate : public test::GpuTest {
protected:
    static void expect_right(const std::shared_ptr<Device>& device, const Case& c) {
        const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 1);
        const conformance::CaseReport report = conformance::judge_on(device)(make(c, seed));
        EXPECT_TRUE(report.passed) << name_of(c.type) << " " << to_string(c.shape) << " axis " << c.axis << ", seed "
                                   << seed << ": " << report.detail;
    }
};

const std::vector<Case>& long_cases() {
    static const std::vector<Case> all{
        {DType::fp32, {20001}, 0, Combiner::add, false, false},
        {DType::fp32, {3, 4099}, 1, Combiner::add, true, true},
        {DType::i8, {2, 7001}, 1, Combiner::add, false, true},
        {DType::i16, {9999}, 0, Combiner::multiply, true, false},
        {DType::fp16, {2, 5002}, 1, Combiner::maximum, true, false},
        {DType::i32, {5003, 3}, 0, Combiner::add, false, false},
        {DType::i8, {2, 3001, 5}, 1, Combiner::minimum, true, true},
        {DType::bf16, {4001, 6}, 0, Combiner::add, false, true},
        {DType::fp32, {777, 8}, 0, Combiner::minimum, false, false},
    };
    return all;
}

TEST_F(Cumulate, LongAxesAreCut) {
    for (const Case& c : long_cases()) {
        EXPECT_GE(dispatches(make(c, 1).graph, *device_), 3u) << to_string(c.shape);
        expect_right(device_, c);
    }
}

TEST_F(Cumulate, AsOnADeviceThatIsHardToKeepBusy) {
    const auto device = test::open_with([](DevicePlan& plan) {
        plan.shared_tiles = plan.product_tiles = false;
        plan.busy_invocations = 1 << 20;
    });
    for (const Case& c : long_cases()) expect_right(device, c);
    for (const Case& c : {Case{DType::i32, {300'001}, 0, Combiner::add, true, false},
                          Case{DType::fp32, {300'000}, 0, Combiner::maximum, false, true},
                          Case{DType::i32, {20'011, 5}, 0, Combiner::add, false, true}}) {
        EXPECT_GE(dispatches(make(c, 1).graph, *device), 5u) << to_string(c.shape);
        expect_right(device, c);
    }
}

TEST_F(Cumulate, InSharedMemory) {
    for (const std::int64_t busy : {std::int64_t{1}, std::int64_t{1} << 14, std::int64_t{1} << 22}) {
        const auto device = test::open_with([&](DevicePlan& plan) {
            plan.shared_tiles = true;
            plan.workgroup_size = 64;
            plan.busy_invocations = busy;
        });
        for (const Case& c : long_cases()) expect_right(device, c);
    }
}

TEST_F(Cumulate, AsOnADeviceWithShortLoops) {
    const auto device = test::open_with([](DevicePlan& plan) {
        plan.busy_invocations = 1;
        plan.max_loop_passes = 50;
    });
    for (const Case& c : long_cases()) expect_right(device, c);
}

// The zero that an exclusive sum begins with, plus -0, is 0, also where a compiler could see the zero.
TEST_F(Cumulate, ZeroPlusMinusZeroIsZero) {
    for (const std::int64_t length : {1, 2, 5, 13}) {
        for (const DType type : {DType::fp32, DType::fp16}) {
            for (const bool reverse : {false, true}) {
                GraphBuilder b("zeros");
                Attributes attrs;
                attrs.axis = 1;
                attrs.combiner = Combiner::add;
                attrs.exclusive = true;
                attrs.reverse = reverse;
                const Shape shape{3, length};
                const std::vector<float> zeros(static_cast<std::size_t>(3 * length), -0.0f);
                const ValueId sums = b.add1(Op::cumulate, {b.input("x", type, shape)}, type, attrs, "sums");
                b.output(b.add1(Op::add, {sums, b.constant_floats("zeros", type, shape, zeros)}, type));
                const auto graph = std::make_shared<const Graph>(b.finish());
                Context context(Executable::create(device_, graph, make_plan(*graph, device_->plan(), {})), false);
                HostTensor y(type, shape);
                context.set_input(0, encode_reals(type, std::vector<double>(zeros.begin(), zeros.end())));
                context.submit();
                context.wait();
                context.get_output(0, y.bytes);
                for (const std::byte byte : y.bytes)
                    EXPECT_EQ(byte, std::byte{0}) << name_of(type) << ", " << length << " of an axis";
            }
        }
    }
}

TEST_F(Cumulate, ManyShortLines) {
    for (const Shape& shape : {Shape{999, 3}, Shape{500, 8}, Shape{301, 5, 1}, Shape{64, 2, 33}}) {
        for (const DType type : {DType::fp32, DType::i8, DType::i16})
            expect_right(device_, {type, shape, 1, Combiner::add, false, false});
    }
}

}  // namespace
}  // namespace tosavk
