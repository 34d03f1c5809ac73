// Long calls tell how far they are, and are ended by who hears it: the reference, the check, the tuner, and a model's
// run at new sizes. tosavk_compile and packages are in device_options_gpu_test.
#include "support/driver.hpp"
#include "support/small_models.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>

namespace {

using namespace tosavk;
namespace cpp = tosavk::cpp;
using Bytes = std::vector<std::byte>;

/// Hears of a call, which it ends at the `last` time.
struct Listener {
    int last = 0;  ///< 0: never
    int heard = 0;
    std::uint64_t first_done = 0, done = 0, total = 0;
    bool grows = true;

    static std::int32_t hear(void* user, std::uint64_t done, std::uint64_t total) {
        auto& self = *static_cast<Listener*>(user);
        if (self.heard++ == 0) self.first_done = done;
        self.grows = self.grows && done <= total && done >= self.done;
        self.done = done;
        self.total = total;
        return self.last != 0 && self.heard >= self.last ? 1 : 0;
    }
};

template <class F> void expect_cancelled(F call) {
    try {
        call();
        ADD_FAILURE() << "the call went on";
    } catch (const cpp::Error& error) {
        EXPECT_EQ(error.status(), TOSAVK_ERROR_CANCELLED) << error.what();
    }
}

class ProgressGpu : public ::testing::Test {
protected:
    void SetUp() override { TOSAVK_NEEDS_DRIVER(); }
    static cpp::Device device() {
        tosavk_device_options options{};
        options.no_cache = 1;
        return cpp::Device(options);
    }
};

std::vector<Bytes> inputs_of(const cpp::Graph& graph) {
    std::vector<Bytes> inputs;
    for (std::uint32_t k = 0; k < graph.input_count(); ++k) inputs.push_back(graph.random_input(k, 1));
    return inputs;
}

TEST(Progress, OfTheReference) {
    const cpp::Graph graph = cpp::Graph::problem("chain f32 64 add mul sigmoid");
    const auto inputs = inputs_of(graph);
    Listener all;
    const auto wanted = graph.reference_run(inputs);
    EXPECT_EQ(graph.reference_run(inputs, 1, Listener::hear, &all), wanted);
    EXPECT_EQ(all.done, graph.node_count());
    EXPECT_EQ(all.total, graph.node_count());
    EXPECT_TRUE(all.grows);
    Listener once{1};
    expect_cancelled([&] { graph.reference_run(inputs, 1, Listener::hear, &once); });
    EXPECT_EQ(once.heard, 1);
}

/// What takes long may be one operator.
/// What the listener calls itself is no part of the call that it hears of.
TEST(Progress, WhoHearsOfItMayCallTheLibrary) {
    const cpp::Graph graph = cpp::Graph::problem("chain f32 64 add mul sigmoid");
    const auto inputs = inputs_of(graph);
    int heard = 0;
    const auto hear = [](void* user, std::uint64_t, std::uint64_t) -> std::int32_t {
        const cpp::Graph other = cpp::Graph::problem("add f32 4");
        EXPECT_EQ(other.reference_run(inputs_of(other)).size(), 1u);
        ++*static_cast<int*>(user);
        return 0;
    };
    EXPECT_EQ(graph.reference_run(inputs, 1, hear, &heard).size(), graph.output_count());
    EXPECT_GT(heard, 0);
}

TEST(Progress, OfTheReferenceWithinAnOperator) {
    for (const char* line : {"matmul f32 1x64x64x64", "matmul i8 1x64x64x64", "conv2d f32 1x16x16x8 8x3x3 p1",
                             "conv2d i8 1x16x16x8 8x3x3 p1", "depthwise f32 1x16x16x8 1x3x3 p1", "fft2d f32 1x32x32"}) {
        SCOPED_TRACE(line);
        const cpp::Graph graph = cpp::Graph::problem(line);
        Listener once{1};
        expect_cancelled([&] { graph.reference_run(inputs_of(graph), 1, Listener::hear, &once); });
        EXPECT_EQ(once.first_done, 0u);
    }
}

TEST_F(ProgressGpu, OfTheCheck) {
    const cpp::Device opened = device();
    const cpp::Graph graph = cpp::Graph::problem("conv2d i8 1x9x9x3 5x3x3 s1 p1 rescale clamp");
    Listener listener{1};
    expect_cancelled([&] { cpp::Checker(opened, graph, Listener::hear, &listener); });
    listener = {};
    cpp::Checker checker(opened, graph, Listener::hear, &listener);
    EXPECT_GT(listener.heard, 1);
    EXPECT_EQ(listener.done, listener.total);
    listener = {1};
    expect_cancelled([&] { checker.run(1); });
    listener = {};
    EXPECT_TRUE(checker.run(1).passed);
    EXPECT_EQ(listener.total, graph.node_count());
    EXPECT_TRUE(listener.grows);
}

TEST_F(ProgressGpu, OfTheTuner) {
    const cpp::Device opened = device();
    const cpp::Graph graph = cpp::Graph::problem("matmul f32 1x16x16x16");
    Listener listener;
    try {
        cpp::tune(opened, graph, true, 0.001, 0, Listener::hear, &listener);
    } catch (const cpp::Error& error) {
        if (error.status() == TOSAVK_ERROR_UNSUPPORTED) GTEST_SKIP() << error.what();
        throw;
    }
    EXPECT_GT(listener.heard, 3);
    for (const int last : {1, 3}) {
        const cpp::Device fresh = device();
        listener = {last};
        expect_cancelled([&] { cpp::tune(fresh, graph, true, 0.001, 0, Listener::hear, &listener); });
        EXPECT_EQ(listener.heard, last);
    }
}

TEST_F(ProgressGpu, OfAModelAtNewSizes) {
    const cpp::Device opened = device();
    const cpp::Model model = cpp::Model::open(test::small_float_model());
    Listener listener;
    tosavk_compile_options options{};
    options.progress = Listener::hear;
    options.user = &listener;
    cpp::Context context = model.context(opened, false, options);
    for (const std::int64_t rows : {2, 3}) {
        const cpp::Shape shape{rows, model.input(0).dims[1]};
        const cpp::Graph graph = model.graph({{}, {{0, shape}}});
        const auto inputs = inputs_of(graph);
        context.set_input_shape(0, shape);
        context.set_input(0, inputs[0]);
        listener = {1};
        expect_cancelled([&] { context.run(); });
        listener = {1};
        expect_cancelled([&] { context.output_info(0); });
        listener = {};
        context.run();
        EXPECT_GT(listener.heard, 0);
        Bytes got(context.output_info(0).size_bytes);
        context.get_output(0, got);
        EXPECT_EQ(got, graph.reference_run(inputs)[0]);
        listener = {1};  // there is nothing to make any more
        context.run();
        EXPECT_EQ(listener.heard, 0);
    }
}

}  // namespace
