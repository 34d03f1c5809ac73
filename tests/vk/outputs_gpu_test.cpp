// Outputs that lie in the memory of an input stay those of the last run when the input is set again.
#include "ops/builder.hpp"
#include "support/gpu_test.hpp"
#include "vk/run/context.hpp"

#include <numeric>

using namespace tosavk;

namespace {

class Outputs : public test::GpuTest {};

std::vector<std::int32_t> numbers(std::int32_t first) {
    std::vector<std::int32_t> values(256);
    std::iota(values.begin(), values.end(), first);
    return values;
}

TEST_F(Outputs, StayWhenTheirInputIsSetAgain) {
    GraphBuilder b("names");
    const ValueId x = b.input("x", DType::i32, {4, 64});
    const std::int64_t flat[] = {256}, start[] = {1, 0}, size[] = {2, 64};
    const ValueId reshaped = b.add1(Op::reshape, {x, b.shape(flat)}, DType::i32, {}, "reshaped");
    const ValueId sliced = b.add1(Op::slice, {x, b.shape(start), b.shape(size)}, DType::i32, {}, "sliced");
    const ValueId sum = b.add1(Op::add, {x, x}, DType::i32, {}, "sum");
    for (const ValueId id : {reshaped, sliced, sum}) b.output(id);
    const auto graph = std::make_shared<const Graph>(b.finish());
    Context context(Executable::create(device_, graph, make_plan(*graph, device_->plan(), {})), false);

    const auto expect = [&](std::int32_t first) {
        std::vector<std::int32_t> all(256), part(128), twice(256);
        context.get_output(0, std::as_writable_bytes(std::span(all)));
        context.get_output(1, std::as_writable_bytes(std::span(part)));
        context.get_output(2, std::as_writable_bytes(std::span(twice)));
        const std::vector<std::int32_t> values = numbers(first);
        EXPECT_EQ(all, values);
        EXPECT_EQ(part, std::vector<std::int32_t>(values.begin() + 64, values.begin() + 192));
        EXPECT_EQ(twice[255], 2 * values[255]);
    };
    const auto set = [&](std::int32_t first) {
        const std::vector<std::int32_t> values = numbers(first);
        context.set_input(0, std::as_bytes(std::span(values)));
    };
    set(0);
    context.submit();
    context.wait();
    set(1000);
    expect(0);
    set(2000);
    expect(0);
    context.submit();
    context.wait();
    expect(2000);
}

}  // namespace
