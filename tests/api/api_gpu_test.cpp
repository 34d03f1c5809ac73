// The C ABI on a device: compile, bind, run, count, check.
#include "support/driver.hpp"
#include "support/small_models.hpp"
#include "support/validation.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <thread>

namespace {

using namespace tosavk;
namespace cpp = tosavk::cpp;

class ApiGpu : public ::testing::Test {
protected:
    void SetUp() override {
        TOSAVK_NEEDS_DRIVER();
        device_.emplace();
    }

    std::optional<cpp::Device> device_;
};

template <class F> tosavk_status status_of(F call) {
    try {
        call();
        return TOSAVK_OK;
    } catch (const cpp::Error& e) {
        EXPECT_STRNE(e.what(), "");
        return e.status();
    }
}

std::vector<std::byte> output_of(cpp::Context& context, const cpp::Graph& graph) {
    std::vector<std::byte> bytes(graph.output(0).size_bytes);
    context.get_output(0, bytes);
    return bytes;
}

TEST_F(ApiGpu, DevicesAreDescribed) {
    ASSERT_GE(cpp::Device::count(), 1u);
    const std::string json = cpp::Device::describe(0);
    for (const char* key : {"\"index\"", "\"name\"", "\"driver\"", "\"type\"", "\"caps\"", "\"architecture\"",
                            "\"plan\"", "\"reasons\""}) {
        EXPECT_NE(json.find(key), std::string::npos) << key;
    }
    EXPECT_FALSE(device_->name().empty());
    EXPECT_EQ(status_of([] { cpp::Device::describe(9999); }), TOSAVK_ERROR_NO_DEVICE);
    EXPECT_EQ(status_of([] { cpp::Device("no such device"); }), TOSAVK_ERROR_NO_DEVICE);
    EXPECT_EQ(status_of([] { cpp::Device("9999"); }), TOSAVK_ERROR_NO_DEVICE);
}

TEST_F(ApiGpu, RunGivesTheReferencesBits) {
    for (const auto& model : {test::small_float_model(), test::small_int8_model()}) {
        const cpp::Graph graph = cpp::Graph::load(model);
        for (const bool fuse : {true, false}) {
            const cpp::Executable executable(*device_, graph, fuse);
            EXPECT_NE(executable.print(TOSAVK_EXECUTABLE_PLAN), "");
            EXPECT_NE(executable.print(TOSAVK_EXECUTABLE_GLSL).find("#version"), std::string::npos);
            cpp::Context context(executable);
            for (std::uint64_t seed = 0; seed < 3; ++seed) {
                std::vector<std::vector<std::byte>> inputs;
                for (std::uint32_t k = 0; k < graph.input_count(); ++k) {
                    inputs.push_back(graph.random_input(k, seed));
                    context.set_input(k, inputs[k]);
                }
                context.run();
                EXPECT_EQ(output_of(context, graph), graph.reference_run(inputs)[0]) << "seed " << seed;
            }
        }
    }
}

TEST_F(ApiGpu, WrongUseOfAContext) {
    const cpp::Graph graph = cpp::Graph::load(test::small_int8_model());
    const cpp::Executable executable(*device_, graph);
    cpp::Context context(executable);
    const auto input = graph.random_input(0, 0);
    std::vector<std::byte> output(graph.output(0).size_bytes);
    EXPECT_EQ(status_of([&] { context.run(); }), TOSAVK_ERROR_USAGE) << "no input was set";
    context.set_input(0, input);
    EXPECT_EQ(status_of([&] { context.run(); }), TOSAVK_ERROR_USAGE) << "input 1 was not set";
    EXPECT_EQ(status_of([&] { context.set_input(2, input); }), TOSAVK_ERROR_USAGE);
    EXPECT_EQ(status_of([&] { context.set_input(1, std::span(input).first(14)); }), TOSAVK_ERROR_BAD_INPUT);
    context.set_input(1, input);
    EXPECT_EQ(status_of([&] { context.get_output(0, output); }), TOSAVK_ERROR_USAGE) << "nothing ran";
    EXPECT_EQ(status_of([&] { context.wait(); }), TOSAVK_ERROR_USAGE) << "nothing was submitted";
    context.submit();
    EXPECT_EQ(status_of([&] { context.submit(); }), TOSAVK_ERROR_USAGE) << "submitted twice";
    EXPECT_EQ(status_of([&] { context.set_input(0, input); }), TOSAVK_ERROR_USAGE) << "running";
    context.wait();
    EXPECT_EQ(status_of([&] { context.get_output(1, output); }), TOSAVK_ERROR_USAGE);
    EXPECT_EQ(status_of([&] { context.get_output(0, std::span(output).first(1)); }), TOSAVK_ERROR_BAD_INPUT);
    context.get_output(0, output);
    EXPECT_EQ(status_of([&] { context.dispatch(context.dispatch_count()); }), TOSAVK_ERROR_USAGE);
}

TEST_F(ApiGpu, ElementsOfOtherTypes) {
    const cpp::Graph graph = cpp::Graph::problem("clamp i8 4x8");
    const cpp::Executable executable(*device_, graph);
    cpp::Context context(executable), plain(executable);
    std::vector<std::uint8_t> small(32);
    std::vector<std::int8_t> same(32), wanted(32);
    for (std::size_t k = 0; k < 32; ++k)
        same[k] = static_cast<std::int8_t>(small[k] = static_cast<std::uint8_t>(4 * k));
    context.set_input_as(0, TOSAVK_HOST_U8, std::as_bytes(std::span(small)));
    plain.set_input(0, std::as_bytes(std::span(same)));
    context.run();
    plain.run();
    plain.get_output(0, std::as_writable_bytes(std::span(wanted)));
    std::vector<std::int64_t> wide(32);
    std::vector<double> reals(32);
    std::vector<float> floats(32);
    context.get_output_as(0, TOSAVK_HOST_I64, std::as_writable_bytes(std::span(wide)));
    context.get_output_as(0, TOSAVK_HOST_F64, std::as_writable_bytes(std::span(reals)));
    context.get_output_as(0, TOSAVK_FP32, std::as_writable_bytes(std::span(floats)));
    for (std::size_t k = 0; k < 32; ++k) {
        EXPECT_EQ(wide[k], wanted[k]);
        EXPECT_EQ(reals[k], wanted[k]);
        EXPECT_EQ(floats[k], static_cast<float>(wanted[k]));
    }
    small[5] = 200;
    EXPECT_EQ(status_of([&] { context.set_input_as(0, TOSAVK_HOST_U8, std::as_bytes(std::span(small))); }),
              TOSAVK_ERROR_BAD_INPUT);
    EXPECT_EQ(status_of([&] { context.set_input_as(0, 72, std::as_bytes(std::span(small))); }), TOSAVK_ERROR_USAGE);
    EXPECT_EQ(status_of([&] { context.set_input_as(1, TOSAVK_HOST_U8, std::as_bytes(std::span(small))); }),
              TOSAVK_ERROR_USAGE);
    EXPECT_EQ(status_of([&] { context.set_input_as(0, TOSAVK_HOST_U16, std::as_bytes(std::span(small))); }),
              TOSAVK_ERROR_BAD_INPUT);
    EXPECT_EQ(status_of([&] { context.get_output_as(0, TOSAVK_HOST_U16, std::as_writable_bytes(std::span(wide))); }),
              TOSAVK_ERROR_BAD_INPUT);
    context.run();  // the input is as it was
    std::vector<std::int8_t> again(32);
    context.get_output(0, std::as_writable_bytes(std::span(again)));
    EXPECT_EQ(again, wanted);
}

TEST_F(ApiGpu, CountersStandStillAfterTheFirstRun) {
    const cpp::Graph graph = cpp::Graph::load(test::small_float_model());
    const cpp::Executable executable(*device_, graph);
    cpp::Context context(executable, true);
    context.set_input(0, graph.random_input(0, 0));
    context.run();
    const tosavk_counters first = context.counters();
    EXPECT_EQ(first.runs, 1u);
    EXPECT_EQ(first.submits, 1u);
    EXPECT_EQ(first.dispatches, context.dispatch_count());
    EXPECT_GT(first.allocations, 0u);
    for (int k = 0; k < 4; ++k) context.run();
    const tosavk_counters later = context.counters();
    EXPECT_EQ(later.runs, 5u);
    EXPECT_EQ(later.submits, 5u);
    EXPECT_EQ(later.allocations, first.allocations);
    EXPECT_EQ(later.pipelines_created, first.pipelines_created);
    EXPECT_EQ(later.weight_bytes_copied, first.weight_bytes_copied);
    for (std::uint32_t k = 0; k < context.dispatch_count(); ++k) {
        const tosavk_dispatch_info info = context.dispatch(k);
        EXPECT_STRNE(info.label, "");
        EXPECT_STRNE(info.kernel, "");
        EXPECT_GE(info.gpu_ns, 0);
        EXPECT_GT(info.bytes, 0);
    }
}

TEST_F(ApiGpu, HandlesKeepWhatTheyNeedAlive) {
    std::optional<cpp::Graph> graph(cpp::Graph::load(test::small_float_model()));
    const auto input = graph->random_input(0, 1);
    const auto expected = graph->reference_run(std::vector<std::vector<std::byte>>{input})[0];
    std::optional<cpp::Executable> executable(std::in_place, *device_, *graph);
    cpp::Context context(*executable);
    executable.reset();
    graph.reset();
    device_.reset();
    context.set_input(0, input);
    context.run();
    std::vector<std::byte> output(expected.size());
    context.get_output(0, output);
    EXPECT_EQ(output, expected);
}

TEST_F(ApiGpu, ContextsRunSideBySide) {
    const cpp::Graph graph = cpp::Graph::load(test::small_int8_model());
    const cpp::Executable executable(*device_, graph);
    std::vector<std::string> wrong(2);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
        threads.emplace_back([&, t] {
            try {
                cpp::Context context(executable);
                for (std::uint64_t seed = t; seed < 40; seed += wrong.size()) {
                    std::vector<std::vector<std::byte>> inputs{graph.random_input(0, seed),
                                                               graph.random_input(1, seed)};
                    for (std::uint32_t k = 0; k < 2; ++k) context.set_input(k, inputs[k]);
                    context.run();
                    if (output_of(context, graph) != graph.reference_run(inputs)[0])
                        wrong[t] = "seed " + std::to_string(seed);
                }
            } catch (const std::exception& e) {
                wrong[t] = e.what();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

TEST_F(ApiGpu, CheckerPasses) {
    for (const auto& model : {test::small_float_model(), test::small_int8_model()}) {
        const cpp::Graph graph = cpp::Graph::load(model);
        cpp::Checker checker(*device_, graph);
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
            const cpp::CheckReport report = checker.run(seed);
            EXPECT_TRUE(report.passed) << "seed " << seed << ": " << report.detail;
            EXPECT_EQ(report.values_checked, graph.node_count() + graph.output_count());
            EXPECT_LE(report.worst, 1);
            EXPECT_NE(report.detail, "");
        }
    }
}

TEST_F(ApiGpu, CheckerTakesInputs) {
    const cpp::Graph graph = cpp::Graph::load(test::small_float_model());
    EXPECT_EQ(graph.variable_count(), 0u);
    cpp::Checker checker(*device_, graph);
    std::vector<std::vector<std::byte>> inputs;
    std::vector<const void*> pointers;
    for (std::uint32_t k = 0; k < graph.input_count(); ++k) inputs.push_back(graph.random_input(k, 7));
    for (const auto& input : inputs) pointers.push_back(input.data());
    const cpp::CheckReport given = checker.run(pointers), drawn = checker.run(7);
    EXPECT_TRUE(given.passed) << given.detail;
    EXPECT_EQ(given.values_checked, drawn.values_checked);
    EXPECT_EQ(given.worst, drawn.worst);
    pointers.pop_back();
    EXPECT_THROW(checker.run(pointers), cpp::Error);
    pointers.push_back(nullptr);
    EXPECT_THROW(checker.run(pointers), cpp::Error);
}

TEST_F(ApiGpu, AGraphInAnotherPrecision) {
    const cpp::Graph graph = cpp::Graph::load(test::small_float_model());
    EXPECT_EQ(graph.with_precision(TOSAVK_PRECISION_DECLARED).print(), graph.print());
    const cpp::Graph half = graph.with_precision(TOSAVK_PRECISION_FP16);
    EXPECT_NE(half.print(), graph.print());
    cpp::LoadOptions options;
    options.precision = TOSAVK_PRECISION_FP16;
    EXPECT_EQ(half.print(), cpp::Graph::load(test::small_float_model(), options).print());
    EXPECT_EQ(half.input(0).type, TOSAVK_FP32) << "inputs keep their types";
    EXPECT_THROW(graph.with_precision(static_cast<tosavk_precision>(7)), cpp::Error);
}

}  // namespace
