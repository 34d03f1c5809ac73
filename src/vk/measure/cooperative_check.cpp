#include "vk/measure/cooperative_check.hpp"

#include "base/numerics/small_floats.hpp"
#include "compile/plan/plan.hpp"
#include "graph/graph.hpp"
#include "ops/builder.hpp"
#include "vk/core/device_state.hpp"
#include "vk/run/context.hpp"

#include <array>
#include <cmath>
#include <cstddef>

namespace tosavk {

namespace {

constexpr std::int64_t kinds = 4;
constexpr double fp32_step = 0x1p-24, fp16_step = 0x1p-11;  // 2^(-1-F)

std::uint16_t pattern(double value) { return static_cast<std::uint16_t>(small_float_from_double(value, format_fp16)); }
double number(std::uint16_t bits) { return small_float_to_double(bits, format_fp16); }

double of_kind(std::int64_t kind, std::uint32_t random) {
    const double unit = static_cast<double>(random >> 8) * 0x1p-24;  // [0, 1)
    if (kind == 0) return 2 * unit - 1;
    if (kind == 1) return unit;
    if (kind == 2) return std::floor(17 * unit) - 8;
    return (2 * unit - 1) * 0x1p-15;
}

/// Of errors in units of E, one of each result.
bool within(std::span<const double> errors, double ks, bool one_sign) {
    double squares = 0, sum = 0;
    for (const double error : errors) {
        if (!(std::fabs(error) <= 2 * ks)) return false;
        squares += error * error;
        sum += error;
    }
    const double variance = 1.6 * ks * static_cast<double>(errors.size());
    return squares <= variance && (!one_sign || std::fabs(sum) <= std::sqrt(10 * variance));
}

/// Goes up when the problem or its judgement changes.
constexpr int revision = 1;

/// The problem as a graph, and how the device's cooperative matrices would run it.
struct Planned {
    std::shared_ptr<const Graph> graph;
    Plan plan;
};

Planned plan_problem(const Device& device) {
    constexpr std::int64_t rows = SumsProblem::rows, inner = SumsProblem::inner, columns = SumsProblem::columns;
    GraphBuilder builder("cooperative sums", level_none);
    const ValueId a = builder.input("a", DType::fp16, {1, rows, inner}),
                  b = builder.input("b", DType::fp16, {1, inner, columns});
    const ValueId zero = builder.scalar(DType::fp16, 0);
    builder.output(builder.add1(Op::matmul, {a, b, zero, zero}, DType::fp32, {}, "sums"));
    const auto graph = std::make_shared<const Graph>(builder.finish());
    DevicePlan plan = device.plan();
    plan.busy_invocations = 1;  // so that no other kernel is asked for something so small
    plan.cooperative_fp32_sums = true;
    return {graph, make_plan(*graph, plan, {})};
}

std::vector<float> run(const std::shared_ptr<Device>& device, const Planned& planned, const SumsProblem& problem) {
    Context context(Executable::create(device, planned.graph, planned.plan), false);
    context.set_input(0, std::as_bytes(std::span(problem.a)));
    context.set_input(1, std::as_bytes(std::span(problem.b)));
    context.submit();
    context.wait();
    std::vector<float> sums(problem.sums.size());
    context.get_output(0, std::as_writable_bytes(std::span(sums)));
    return sums;
}

}  // namespace

SumsProblem sums_problem() {
    constexpr std::int64_t rows = SumsProblem::rows, inner = SumsProblem::inner, columns = SumsProblem::columns;
    SumsProblem problem;
    std::uint32_t state = 1;
    const auto random = [&state] { return state = state * 1664525u + 1013904223u; };
    for (std::int64_t i = 0; i < rows * inner; ++i) problem.a.push_back(pattern(of_kind(i / inner % kinds, random())));
    for (std::int64_t i = 0; i < inner * columns; ++i) problem.b.push_back(pattern(of_kind(1, random())));
    for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) {
            double sum = 0, absolute = 0;
            for (std::int64_t k = 0; k < inner; ++k) {
                const double product = number(problem.a[static_cast<std::size_t>(r * inner + k)]) *
                                       number(problem.b[static_cast<std::size_t>(k * columns + c)]);
                sum += product;
                absolute += std::fabs(product);
            }
            problem.sums.push_back(sum);
            problem.absolute.push_back(absolute);
        }
    }
    return problem;
}

CooperativeSums judge_sums(const SumsProblem& problem, std::span<const float> got) {
    CooperativeSums verdict{true, true};
    for (std::int64_t kind = 0; kind < kinds; ++kind) {
        std::vector<double> fp32, fp16;
        for (std::size_t i = 0; i < got.size(); ++i) {
            if (static_cast<std::int64_t>(i) / SumsProblem::columns % kinds != kind) continue;
            const double sum = problem.sums[i], absolute = problem.absolute[i];
            fp32.push_back((static_cast<double>(got[i]) - sum) / (absolute * fp32_step));
            // Results below fp16's normal numbers are rounded to multiples of 2^-24.
            fp16.push_back((number(pattern(static_cast<double>(got[i]))) - sum) /
                           std::max(absolute * fp16_step, 0x1p-24));
        }
        verdict.fp32 = verdict.fp32 && within(fp32, SumsProblem::inner, kind == 1);
        verdict.fp16 = verdict.fp16 && within(fp16, SumsProblem::inner / std::exp2(6.5), kind == 1);
    }
    return verdict;
}

CooperativeSums check_cooperative_sums(const std::shared_ptr<Device>& device) {
    const Planned planned = plan_problem(*device);
    const Dispatch& dispatch = planned.plan.dispatches.at(0);
    if (dispatch.kernel != "gemm_cooperative") return {};
    PipelineLibrary& library = device->state().pipelines;
    const Digest key = sha256("cooperative sums " + std::to_string(revision) + "\n" + dispatch.glsl);
    const auto stored = library.stored(DiskCache::Kind::limits, key);
    if (stored && stored->size() == 2 && std::to_integer<int>((*stored)[0] | (*stored)[1]) <= 1) {
        return {std::to_integer<int>((*stored)[0]) == 1, std::to_integer<int>((*stored)[1]) == 1};
    }
    const SumsProblem problem = sums_problem();
    const CooperativeSums verdict = judge_sums(problem, run(device, planned, problem));
    library.store(DiskCache::Kind::limits, key, {std::byte{verdict.fp16}, std::byte{verdict.fp32}});
    return verdict;
}

}  // namespace tosavk
