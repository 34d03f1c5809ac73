// Graphs whose reciprocals are the device's quotients and graphs that make them of products and an integer remainder,
// as on devices whose division is not known to round correctly: the same bits.
#include "compile/plan/plan.hpp"
#include "ops/builder.hpp"
#include "support/gpu_test.hpp"
#include "vk/run/context.hpp"

#include <cstring>
#include <random>

namespace tosavk {
namespace {

constexpr unsigned seed = 5;
constexpr std::int64_t count = 100'003;

class Reciprocals : public test::GpuTestWith<DType> {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        if (!device_->plan().exact_reciprocals) GTEST_SKIP() << "the device's division is not known to round correctly";
        without_ = test::open_with([](DevicePlan& plan) { plan.exact_reciprocals = false; });
    }

    static std::vector<Bytes> run(const std::shared_ptr<Device>& device, const Graph& graph, const Bytes& x) {
        Plan plan = make_plan(graph, device->plan(), {});
        const std::string define = device->plan().exact_reciprocals ? "EXACT_RECIPROCALS 1" : "EXACT_RECIPROCALS 0";
        for (const Dispatch& dispatch : plan.dispatches) EXPECT_NE(dispatch.glsl.find(define), std::string::npos);
        Context context(Executable::create(device, std::make_shared<const Graph>(graph), std::move(plan)), false);
        context.set_input(0, x);
        context.submit();
        context.wait();
        std::vector<Bytes> outputs;
        for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
            const Value& value = graph.value(graph.outputs[k]);
            outputs.emplace_back(static_cast<std::size_t>(element_count(value.shape)) * size_of(value.type));
            context.get_output(k, outputs.back());
        }
        return outputs;
    }

    std::shared_ptr<Device> without_;
};

INSTANTIATE_TEST_SUITE_P(Types, Reciprocals, ::testing::Values(DType::fp32, DType::fp16, DType::bf16),
                         [](const auto& which) { return std::string(name_of(which.param)); });

}  // namespace

TEST_P(Reciprocals, HaveTheSameBitsWithAndWithoutTheDevicesDivision) {
    const DType type = GetParam();
    GraphBuilder b("reciprocals");
    const ValueId x = b.input("x", type, {count});
    for (const Op op : {Op::sigmoid, Op::tanh, Op::reciprocal}) b.output(b.add1(op, {x}, type));
    b.output(b.add1(Op::tanh, {b.add1(Op::sigmoid, {b.add1(Op::add, {x, x}, type)}, type)}, type));
    const Graph graph = b.finish();

    std::mt19937_64 random(seed);
    Bytes bytes(static_cast<std::size_t>(count) * size_of(type));
    for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = static_cast<std::byte>(random());
    const std::vector<Bytes> with = run(device_, graph, bytes), without = run(without_, graph, bytes);
    ASSERT_EQ(with.size(), without.size());
    for (std::size_t k = 0; k < with.size(); ++k)
        EXPECT_TRUE(with[k] == without[k]) << "output " << k << ", seed " << seed;
}

}  // namespace tosavk
