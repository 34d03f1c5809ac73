// Sizes at which drivers or shaders reach a limit: loops of more passes than llvmpipe carries out, workgroups that
// spill from x into y, many results of one group.
#include "ops/builder.hpp"
#include "support/gpu_test.hpp"
#include "verify/checker.hpp"

namespace tosavk {
namespace {

class Limits : public test::GpuTest {
protected:
    void check(GraphBuilder& b) {
        Checker checker(device_, std::make_shared<const Graph>(b.finish()));
        const CheckReport report = checker.run(3);
        EXPECT_TRUE(report.passed) << report.detail;
    }

    /// A constant i8 tensor with elements between -100 and 100.
    static ValueId weights(GraphBuilder& b, const Shape& shape) {
        std::vector<std::int64_t> values(static_cast<std::size_t>(element_count(shape)));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * 37 % 201) - 100;
        return b.constant_ints("w", DType::i8, shape, values);
    }

    static Attributes window(std::int32_t side) {
        Attributes attrs;
        attrs.kernel = {side, side};
        attrs.stride = {1, 1};
        attrs.pad = {0, 0, 0, 0};
        attrs.dilation = {1, 1};
        attrs.acc_type = DType::i32;
        return attrs;
    }
};

TEST_F(Limits, ManyInputChannels) {
    GraphBuilder b("fc");
    const ValueId x = b.input("x", DType::i8, {2, 1, 1, 290001});
    b.output(b.add1(
        Op::conv2d,
        {x, weights(b, {3, 1, 1, 290001}), b.scalar(DType::i32, 7), b.scalar(DType::i8, 1), b.scalar(DType::i8, 0)},
        DType::i32, window(1), "fc"));
    check(b);
}

TEST_F(Limits, LargeKernels) {
    GraphBuilder b("windows");
    const ValueId x = b.input("x", DType::i8, {1, 270, 271, 5});
    b.output(b.add1(
        Op::depthwise_conv2d,
        {x, weights(b, {270, 270, 5, 1}), b.scalar(DType::i32, 7), b.scalar(DType::i8, 1), b.scalar(DType::i8, 0)},
        DType::i32, window(270), "depthwise"));
    b.output(b.add1(Op::max_pool2d, {x}, DType::i8, window(270), "max"));
    b.output(b.add1(Op::avg_pool2d, {x, b.scalar(DType::i8, 3), b.scalar(DType::i8, -3)}, DType::i8, window(270),
                    "average"));
    check(b);
}

TEST_F(Limits, LongAxes) {
    GraphBuilder b("axes");
    const ValueId x = b.input("x", DType::i8, {4, 70000, 3});
    Attributes along;
    along.axis = 1;
    b.output(b.add1(Op::reduce_max, {x}, DType::i8, along, "max"));
    const ValueId y = b.input("y", DType::fp32, {1, 100003});
    b.output(b.add1(Op::argmax, {y}, DType::i32, along, "argmax"));
    check(b);
}

TEST_F(Limits, ElementsWithoutEnd) {
    GraphBuilder b("elements");
    const ValueId x = b.input("x", DType::fp32, {3, 1, 100001}), y = b.input("y", DType::fp32, {1, 5, 1});
    b.output(b.add1(Op::add, {x, y}, DType::fp32, {}, "sum"));
    check(b);
}

}  // namespace
}  // namespace tosavk
