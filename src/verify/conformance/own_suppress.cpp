// Random cases and error graphs of SUPPRESS and SUPPRESS_QUEUED.
#include "verify/conformance/breaking.hpp"
#include "verify/conformance/case_maker.hpp"

#include <algorithm>
#include <cmath>

namespace tosavk::conformance {

namespace {

HostTensor numbers(const Shape& shape, const std::vector<double>& values) {
    HostTensor tensor(DType::fp32, shape);
    tensor.bytes = encode_reals(DType::fp32, values);
    return tensor;
}

/// Boxes among which many overlap; at times many are alike, or have no area.
HostTensor boxes(RandomData& data, std::int64_t count) {
    const std::int64_t steps = data.chance(40) ? 4 : 1 << 20;
    std::vector<double> corners;
    for (std::int64_t k = 0; k < 4 * count; ++k)
        corners.push_back(static_cast<double>(data.pick(0, steps)) / static_cast<double>(steps));
    return numbers({count, 4}, corners);
}

HostTensor one(double value) { return numbers({1}, {value}); }

std::int64_t take_count(CaseMaker& maker) {
    RandomData& data = maker.data();
    const std::int64_t count = maker.options().large && data.chance(50) ? data.pick(600, 1500) : data.pick(1, 90);
    maker.attrs().most = static_cast<std::int32_t>(data.pick(1, data.chance(30) ? count + 3 : 12));
    return count;
}

void suppress(CaseMaker& maker) {
    RandomData& data = maker.data();
    const std::int64_t count = take_count(maker), lists = data.pick(1, 4);
    maker.operand(boxes(data, count));
    const std::int64_t outside = data.chance(20) ? 3 : 0;
    maker.operand(data.ints(DType::i32, {lists, count}, -outside, count - 1 + outside));
    maker.operand(data.chance(20) ? data.any(DType::i32, {lists}) : data.ints(DType::i32, {lists}, 0, count));
    maker.operand(one(0.1 * static_cast<double>(data.pick(0, 10))));
}

void suppress_queued(CaseMaker& maker) {
    RandomData& data = maker.data();
    const std::int64_t count = take_count(maker);
    maker.attrs().sigma = data.chance(50) ? 0 : 0.1 * static_cast<double>(data.pick(1, 9));
    // Each box that is taken may lower the scores of all others, and all of that would be more dispatches than there
    // may be: a plan is refused for them.
    if (maker.attrs().sigma > 0 && count > 90) maker.attrs().most = std::min(maker.attrs().most, 12);
    maker.operand(boxes(data, count));
    // Few different scores: their order is that of the queue.
    const std::int64_t levels = data.chance(60) ? data.pick(1, 6) : 1 << 20;
    std::vector<double> scores;
    for (std::int64_t k = 0; k < count; ++k)
        scores.push_back(data.chance(2) ? NAN
                                        : static_cast<double>(data.pick(0, levels)) / static_cast<double>(levels));
    maker.operand(numbers({count}, scores));
    maker.operand(one(0.1 * static_cast<double>(data.pick(0, 10))));
    maker.operand(one(data.chance(30) ? -1 : 0.1 * static_cast<double>(data.pick(0, 9))));
}

}  // namespace

std::vector<OwnCases> own_suppress_cases() {
    return {{Op::suppress, suppress}, {Op::suppress_queued, suppress_queued}};
}

namespace breaking {

void add_own_suppress_errors(std::vector<ErrorGraph>& all) {
    const auto longer = [](std::size_t k, std::size_t axis) {
        return [=](Graph& g, Random&) {
            Shape shape = operand(g, k).shape;
            shape[axis] += 1;
            set_shape(g, k, shape);
            return true;
        };
    };
    for (const Op op : {Op::suppress, Op::suppress_queued}) {
        Entries(op, all)
            .add("a box has not 4 numbers", longer(0, 1))
            .add("most is not in 1..16384",
                 [](Graph& g, Random& random) {
                     attrs(g).most = pick(random, 0, 1) ? 0 : 16385;
                     return true;
                 })
            .add("an output has another shape", wrong_output)
            .add("a limit is not one number", longer(3, 0));
    }
    Entries(Op::suppress, all)
        .add("an order has more or fewer places than there are boxes", longer(1, 1))
        .add("there are more or fewer counts than orders", longer(2, 0));
    Entries(Op::suppress_queued, all)
        .add("there are more or fewer scores than boxes", longer(1, 0))
        .add("the overlap limit is not one number", longer(2, 0))
        .add("sigma is below 0 or no number", [](Graph& g, Random& random) {
            attrs(g).sigma = pick(random, 0, 1) ? -1.0 : NAN;
            return true;
        });
}

}  // namespace breaking

}  // namespace tosavk::conformance
