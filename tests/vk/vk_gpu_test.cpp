// src/vk on a real driver: small plans written by hand, so that nothing else of the library is in the way.
// Longer than 500 lines: one small case after another.
#include "support/environment.hpp"
#include "support/validation.hpp"
#include "vk/core/fault.hpp"
#include "vk/measure/open_device.hpp"
#include "vk/run/context.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

using namespace tosavk;
using test::ScopedEnv;

namespace {

const char* const add_glsl = R"(#version 450
layout(local_size_x_id = 1000) in;
layout(constant_id = 0) const int count = 1;
layout(constant_id = 1) const int factor = 1;
layout(std430, set = 0, binding = 0) readonly buffer A { int a[]; };
layout(std430, set = 0, binding = 1) readonly buffer B { int b[]; };
layout(std430, set = 0, binding = 2) writeonly buffer C { int c[]; };
void main() {
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < uint(count); i += stride) {
        c[i] = a[i] * factor + b[i];
    }
}
)";

constexpr ValueId value_x = 0, value_k = 1, value_tmp = 2, value_y = 3;

std::span<const std::byte> bytes_of(const std::vector<std::int32_t>& values) {
    return std::as_bytes(std::span(values));
}
std::span<std::byte> bytes_of(std::vector<std::int32_t>& values) { return std::as_writable_bytes(std::span(values)); }

std::vector<std::int32_t> ramp(std::int64_t count, std::int32_t start) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = start + static_cast<std::int32_t>(i * 7 % 1000);
    }
    return values;
}

/// tmp = x + k; y = 3 * tmp + tmp. Outputs: y, x, k.
struct Case {
    std::shared_ptr<Graph> graph = std::make_shared<Graph>();
    Plan plan;
    std::vector<std::int32_t> k;

    explicit Case(std::int64_t count = 1001) : k(ramp(count, -400)) {
        const Shape shape{count};
        Value constant{"k", DType::i32, shape};
        constant.data =
            std::make_shared<const Bytes>(bytes_of(std::as_const(k)).begin(), bytes_of(std::as_const(k)).end());
        graph->values = {Value{"x", DType::i32, shape}, constant, Value{"tmp", DType::i32, shape},
                         Value{"y", DType::i32, shape}};
        graph->values[value_tmp].producer = 0;
        graph->values[value_y].producer = 1;
        Node first, second;
        first.op = second.op = Op::add;
        first.inputs = {value_x, value_k};
        first.outputs = {value_tmp};
        second.inputs = {value_tmp, value_tmp};
        second.outputs = {value_y};
        graph->nodes = {first, second};
        graph->inputs = {value_x};
        graph->outputs = {value_y, value_x, value_k};

        const std::uint64_t size = (static_cast<std::uint64_t>(count) * 4 + 15) / 16 * 16;
        const std::uint64_t step = (size + 255) / 256 * 256;
        plan.constants.add(0, constant.data, size);
        plan.arena_bytes = 3 * step;
        plan.placements = {{Space::arena, 0, size},
                           {Space::constants, 0, size},
                           {Space::arena, step, size},
                           {Space::arena, 2 * step, size}};
        plan.dispatches = {dispatch(count, 1, value_x, value_k, value_tmp),
                           dispatch(count, 3, value_tmp, value_tmp, value_y)};
        plan.dispatches[1].barrier_before = true;
    }

    Dispatch dispatch(std::int64_t count, std::int32_t factor, ValueId a, ValueId b, ValueId c) const {
        Dispatch result;
        result.label = "ADD";
        result.kernel = "test";
        result.glsl = add_glsl;
        result.constants = {static_cast<std::int32_t>(count), factor};
        const auto bind = [&](ValueId id, bool written) {
            result.bindings.push_back({plan.placements[id], DType::i32, written, graph->values[id].name});
        };
        bind(a, false);
        bind(b, false);
        bind(c, true);
        result.groups = {static_cast<std::uint32_t>(std::min<std::int64_t>((count + 63) / 64, 1024)), 1, 1};
        return result;
    }

    std::vector<std::int32_t> expected(const std::vector<std::int32_t>& x) const {
        std::vector<std::int32_t> y(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            y[i] = 4 * (x[i] + k[i]);
        }
        return y;
    }

    std::shared_ptr<Executable> executable(const std::shared_ptr<Device>& device) const {
        return Executable::create(device, graph, plan);
    }
};

std::vector<std::int32_t> run(Context& context, const std::vector<std::int32_t>& x) {
    context.set_input(0, bytes_of(x));
    context.submit();
    context.wait();
    std::vector<std::int32_t> y(x.size());
    context.get_output(0, bytes_of(y));
    return y;
}

template <class Function> void expect_error(ErrorCode code, const std::string& part, Function function) {
    try {
        function();
        ADD_FAILURE() << "no error was thrown; expected one with '" << part << "'";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
}

/// Every test also fails on a message of the validation layer, when TOSAVK_VALIDATION asks for it.
class Vk : public testing::Test {
protected:
    void SetUp() override { messages_ = validation_message_count(); }
    void TearDown() override {
        fail_nth_vulkan_call(0);
        EXPECT_EQ(validation_message_count(), messages_);
    }

private:
    std::uint64_t messages_ = 0;
};

/// How a device is taken to be: as it is, or without some of its ways.
struct Ways {
    const char* name;
    bool staged, fences;
};

/// The same with inputs and outputs mapped in place where the device can, and staged; with timeline semaphores where it
/// has them, and with fences.
class VkBoth : public Vk, public testing::WithParamInterface<Ways> {
protected:
    void SetUp() override {
        Vk::SetUp();
        std::string text = GetParam().staged ? R"("unified_memory": false)" : "";
        if (GetParam().fences) text += std::string(text.empty() ? "" : ", ") + R"("timeline_semaphores": false)";
        file_ = std::make_unique<test::TemporaryFile>("{" + text + "}");
        if (!text.empty()) env_ = std::make_unique<ScopedEnv>("TOSAVK_CAPS", file_->path());
    }
    void TearDown() override {
        env_.reset();
        Vk::TearDown();
    }

private:
    std::unique_ptr<test::TemporaryFile> file_;
    std::unique_ptr<ScopedEnv> env_;
};
INSTANTIATE_TEST_SUITE_P(Ways, VkBoth,
                         testing::Values(Ways{"as_planned", false, false}, Ways{"staged", true, false},
                                         Ways{"fences", false, true}, Ways{"staged_fences", true, true}),
                         [](const auto& which) { return which.param.name; });

/// Every dispatch is worth a submit of its own.
constexpr const char* no_time = "0.0000001";

}  // namespace

TEST_P(VkBoth, RunsDependentDispatches) {
    const Case test;
    const std::shared_ptr<Device> device = open_device("");
    EXPECT_FALSE(GetParam().staged && device->plan().map_in_place);
    EXPECT_EQ(device->plan().timeline_semaphores, device->caps().timeline_semaphores);
    EXPECT_FALSE(GetParam().fences && device->plan().timeline_semaphores);
    Context context(test.executable(device), false);
    const auto x = ramp(1001, 5);
    EXPECT_EQ(run(context, x), test.expected(x));

    // Outputs that are an input and a constant, and a value in between.
    std::vector<std::int32_t> bytes(x.size());
    context.get_output(1, bytes_of(bytes));
    EXPECT_EQ(bytes, x);
    context.get_output(2, bytes_of(bytes));
    EXPECT_EQ(bytes, test.k);
    context.get_value(value_tmp, bytes_of(bytes));
    for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(bytes[i], x[i] + test.k[i]) << i;
    }
    context.get_value(value_k, bytes_of(bytes));
    EXPECT_EQ(bytes, test.k);

    const auto other = ramp(1001, 9000);
    EXPECT_EQ(run(context, other), test.expected(other));
}

TEST_P(VkBoth, HundredRunsGiveTheSameBits) {
    const Case test;
    Context context(test.executable(open_device("")), false);
    const auto x = ramp(1001, 77);
    const auto first = run(context, x);
    EXPECT_EQ(first, test.expected(x));
    const std::uint64_t allocations = context.counters().allocations;
    for (int i = 1; i < 100; ++i) {
        context.submit();  // the input stays set
        context.wait();
        std::vector<std::int32_t> y(x.size());
        context.get_output(0, bytes_of(y));
        ASSERT_EQ(y, first) << "run " << i;
    }
    EXPECT_EQ(context.counters().runs, 100u);
    EXPECT_EQ(context.counters().submits, 100u);
    EXPECT_EQ(context.counters().allocations, allocations);
}

TEST_P(VkBoth, ThreadsMakeExecutablesOfOneDevice) {
    const std::shared_ptr<Device> device = open_device("");
    const Case test(5000);
    std::vector<int> wrong(4, 0);
    const auto work = [&](int thread) {
        for (int i = 0; i < 5; ++i) {  // the same pipelines in all threads, and as often gone again
            Context context(test.executable(device), false);
            const auto x = ramp(5000, 1000 * thread + i);
            wrong[static_cast<std::size_t>(thread)] += run(context, x) == test.expected(x) ? 0 : 1;
        }
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back(work, t);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST_P(VkBoth, TwoThreadsShareAnExecutable) {
    const Case test(5000);
    const std::shared_ptr<Executable> executable = test.executable(open_device(""));
    std::vector<int> wrong(2, 0);
    const auto work = [&](int thread) {
        Context context(executable, false);
        for (int i = 0; i < 50; ++i) {
            const auto x = ramp(5000, 1000 * thread + i);
            wrong[static_cast<std::size_t>(thread)] += run(context, x) == test.expected(x) ? 0 : 1;
        }
    };
    std::thread other(work, 1);
    work(0);
    other.join();
    EXPECT_EQ(wrong[0], 0);
    EXPECT_EQ(wrong[1], 0);
}

TEST_P(VkBoth, BuffersLargerThanTheStagingBuffer) {
    const Case test((20 << 20) / 4);
    Context context(test.executable(open_device("")), false);
    const auto x = ramp((20 << 20) / 4, -3);
    EXPECT_EQ(run(context, x), test.expected(x));
    std::vector<std::int32_t> y(x.size());
    context.get_value(value_y, bytes_of(y));
    EXPECT_EQ(y, test.expected(x));
}

TEST_P(VkBoth, LargeTensorsPassThroughABoundedRing) {
    const ScopedEnv env("TOSAVK_STAGING_BYTES", "65536");
    const std::shared_ptr<Device> device = open_device("");
    EXPECT_EQ(device->plan().staging_bytes, 65536u);
    const Case large(100003), small(1001);
    Context context(large.executable(device), false), other(small.executable(device), false);
    for (const std::int32_t start : {-3, 500}) {
        const auto x = ramp(100003, start);
        EXPECT_EQ(run(context, x), large.expected(x));
        std::vector<std::int32_t> again(x.size());
        context.get_output(1, bytes_of(again));
        EXPECT_EQ(again, x);
        context.get_value(value_tmp, bytes_of(again));
        for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(again[i], x[i] + large.k[i]) << i;
    }
    EXPECT_EQ(context.counters().runs, 2u);
    // 400 KB each way, at most 32 KiB at a time.
    if (device->caps().type == "cpu" ? GetParam().staged : !device->plan().map_in_place) {
        EXPECT_GT(context.counters().submits, 2u + 2 * 3 * 12);
    } else {
        EXPECT_EQ(context.counters().submits, 2u);
    }
    const auto x = ramp(1001, 8);
    EXPECT_EQ(run(other, x), small.expected(x));
    EXPECT_EQ(other.counters().submits, 1u);
}

TEST_P(VkBoth, LongPlansAreSeveralSubmits) {
    Case test(100000);
    for (Dispatch& dispatch : test.plan.dispatches) dispatch.work = 100000;
    test.plan.dispatches[1].submit_before = true;
    const auto x = ramp(100000, 12);
    {
        const ScopedEnv env("TOSAVK_SUBMIT_MS", no_time);
        for (const bool profile : {false, true}) {
            Context context(test.executable(open_device("")), profile);
            for (std::uint64_t runs = 1; runs <= 3; ++runs) {
                EXPECT_EQ(run(context, x), test.expected(x));
                EXPECT_EQ(context.counters().submits, 2 * runs);
            }
            if (!context.dispatch_ns().empty()) {
                ASSERT_EQ(context.dispatch_ns().size(), 2u);
                for (const double ns : context.dispatch_ns()) EXPECT_GT(ns, 0);
            }
        }
    }
    const ScopedEnv env("TOSAVK_SUBMIT_MS", "0");  // no bound: what is recorded apart is submitted together
    Context context(test.executable(open_device("")), true);
    EXPECT_EQ(run(context, x), test.expected(x));
    EXPECT_EQ(context.counters().submits, 1u);
}

TEST_P(VkBoth, SeveralContextsAreUnderWayAtOnce) {
    const Case test(100000);
    const std::shared_ptr<Executable> executable = test.executable(open_device(""));
    std::vector<std::unique_ptr<Context>> contexts;
    for (int k = 0; k < 6; ++k) {
        contexts.push_back(std::make_unique<Context>(executable, false));
        const auto x = ramp(100000, k);
        contexts.back()->set_input(0, bytes_of(x));
    }
    for (int round = 0; round < 3; ++round) {
        for (const auto& context : contexts) context->submit();
        for (int k = 5; k >= 0; --k) {  // the last one first: waits do not depend on the order
            Context& context = *contexts[static_cast<std::size_t>(k)];
            EXPECT_TRUE(context.running());
            if (k % 2 == 0) {
                context.wait();
            } else {
                while (!context.wait(0)) std::this_thread::yield();
            }
            EXPECT_FALSE(context.running());
            std::vector<std::int32_t> y(100000);
            context.get_output(0, bytes_of(y));
            EXPECT_EQ(y, test.expected(ramp(100000, k)));
        }
    }
}

// A run is still under way after a wait that was too short, and may be waited for again.
TEST_P(VkBoth, WaitsWithATimeLimit) {
    Case test((4 << 20) / 4);
    for (int k = 0; k < 60; ++k) {
        test.plan.dispatches.push_back(test.plan.dispatches[1]);
    }
    Context context(test.executable(open_device("")), false);
    const auto x = ramp((4 << 20) / 4, 0);
    context.set_input(0, bytes_of(x));
    context.submit();
    int looks = 1;
    for (; !context.wait(1000); ++looks) {
        EXPECT_TRUE(context.running());
        expect_error(ErrorCode::usage, "under way", [&] { context.submit(); });
        ASSERT_LT(looks, 10000000);
    }
    EXPECT_GT(looks, 1);  // 60 passes over 12 MiB take longer than a microsecond
    expect_error(ErrorCode::usage, "no run to wait for", [&] { context.wait(0); });
    std::vector<std::int32_t> y(x.size());
    context.get_output(0, bytes_of(y));
    EXPECT_EQ(y, test.expected(x));
}

TEST_F(Vk, EnvironmentThatIsNoNumberIsAnError) {
    for (const char* name : {"TOSAVK_SUBMIT_MS", "TOSAVK_STAGING_BYTES"}) {
        for (const char* value : {"fast", "-1", "1x", "nan"}) {
            const ScopedEnv env(name, value);
            expect_error(ErrorCode::usage, name, [] { open_device(""); });
        }
    }
}

TEST_P(VkBoth, EveryFailedCallIsACleanError) {
    Case test(5001);  // two submits a run, and larger than the staging buffer
    for (Dispatch& dispatch : test.plan.dispatches) dispatch.work = 5001;
    test.plan.dispatches[1].submit_before = true;
    const ScopedEnv ms("TOSAVK_SUBMIT_MS", no_time), bytes("TOSAVK_STAGING_BYTES", "8192");
    const auto x = ramp(5001, 1);
    int n = 1;
    for (bool fired = true; fired; ++n) {
        ASSERT_LT(n, 1000);
        fail_nth_vulkan_call(n);
        try {
            Context context(test.executable(open_device("")), true);
            ASSERT_EQ(run(context, x), test.expected(x));
            std::vector<std::int32_t> tmp(x.size());
            context.get_value(value_tmp, bytes_of(tmp));
            fired = !vulkan_fault_pending();
            EXPECT_FALSE(fired) << "the failure of call " << n << " went unnoticed";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << "call " << n << ": " << error.what();
            EXPECT_NE(std::string(error.what()).find("vk"), std::string::npos) << error.what();
        }
        fail_nth_vulkan_call(0);
    }
    EXPECT_GT(n, 30);
}

TEST_P(VkBoth, AContextRunsAgainAfterAFailedSubmitOrWait) {
    Case test;
    for (Dispatch& dispatch : test.plan.dispatches) dispatch.work = 1001;
    test.plan.dispatches[1].submit_before = true;
    const ScopedEnv env("TOSAVK_SUBMIT_MS", no_time);
    const std::shared_ptr<Device> device = open_device("");
    const int resets = device->plan().timeline_semaphores ? 0 : 1;
    Context context(test.executable(device), false);
    const auto x = ramp(1001, 2);
    context.set_input(0, bytes_of(x));
    // The first submit, and the second one when the first is under way already.
    for (const int n : {1, 2 + resets}) {
        fail_nth_vulkan_call(n);
        expect_error(ErrorCode::out_of_memory, "vkQueueSubmit", [&] { context.submit(); });
        std::vector<std::int32_t> y(x.size());
        expect_error(ErrorCode::usage, "before any run", [&] { context.get_output(0, bytes_of(y)); });
    }
    context.submit();
    fail_nth_vulkan_call(1);
    expect_error(ErrorCode::out_of_memory, "vkWait", [&] { context.wait(); });
    EXPECT_FALSE(context.running());
    expect_error(ErrorCode::usage, "no run to wait for", [&] { context.wait(); });
    EXPECT_EQ(run(context, x), test.expected(x));
}

TEST_P(VkBoth, AContextMayGoAwayBetweenTwoSubmits) {
    Case test(200000);
    for (Dispatch& dispatch : test.plan.dispatches) dispatch.work = 200000;
    test.plan.dispatches[1].submit_before = true;
    const ScopedEnv env("TOSAVK_SUBMIT_MS", no_time);
    const std::shared_ptr<Device> device = open_device("");
    Context context(test.executable(device), false);
    const auto x = ramp(200000, 0);
    context.set_input(0, bytes_of(x));
    fail_nth_vulkan_call(device->plan().timeline_semaphores ? 2 : 3);
    expect_error(ErrorCode::out_of_memory, "vkQueueSubmit", [&] { context.submit(); });
}

TEST_F(Vk, PipelinesAreShared) {
    Case test;
    test.plan.dispatches[1].constants = test.plan.dispatches[0].constants;
    const std::shared_ptr<Device> device = open_device("");
    const auto first = test.executable(device);
    EXPECT_EQ(first->counters().pipelines_created, 1u);
    EXPECT_EQ(first->counters().allocations, 1u);
    EXPECT_EQ(first->counters().weight_bytes_copied, test.plan.constants.size());
    EXPECT_EQ(test.executable(device)->counters().pipelines_created, 0u);
    EXPECT_EQ(Case(7).executable(device)->counters().pipelines_created, 2u);
}

TEST_F(Vk, WrongUseIsAnError) {
    const Case test;
    Context context(test.executable(open_device("")), false);
    auto x = ramp(1001, 0);
    const auto too_short = ramp(1000, 0);
    std::vector<std::int32_t> y(1001), small(3);
    expect_error(ErrorCode::usage, "input 0 'x' was never set", [&] { context.submit(); });
    expect_error(ErrorCode::usage, "before any run", [&] { context.get_output(0, bytes_of(y)); });
    expect_error(ErrorCode::usage, "no run to wait for", [&] { context.wait(); });
    expect_error(ErrorCode::bad_input, "input 0 'x' has 4004 bytes",
                 [&] { context.set_input(0, bytes_of(too_short)); });
    expect_error(ErrorCode::usage, "no input 1", [&] { context.set_input(1, bytes_of(std::as_const(x))); });
    context.set_input(0, bytes_of(std::as_const(x)));
    context.submit();
    expect_error(ErrorCode::usage, "another was under way", [&] { context.submit(); });
    expect_error(ErrorCode::usage, "under way", [&] { context.set_input(0, bytes_of(std::as_const(x))); });
    expect_error(ErrorCode::usage, "under way", [&] { context.get_output(0, bytes_of(y)); });
    context.wait();
    expect_error(ErrorCode::bad_input, "output 0 'y' has 4004 bytes", [&] { context.get_output(0, bytes_of(small)); });
    expect_error(ErrorCode::usage, "no output 3", [&] { context.get_output(3, bytes_of(y)); });
    expect_error(ErrorCode::usage, "no value 9", [&] { context.get_value(9, bytes_of(y)); });
}

TEST_F(Vk, AContextMayGoAwayWhileItRuns) {
    const Case test(200000);
    Context context(test.executable(open_device("")), false);
    const auto x = ramp(200000, 0);
    context.set_input(0, bytes_of(x));
    context.submit();
}

TEST_P(VkBoth, AGraphWithoutDispatches) {
    Case test;
    test.plan.dispatches.clear();
    test.plan.arena_bytes = 0;
    test.plan.constants = {};
    test.graph->inputs.clear();
    test.graph->nodes.clear();
    test.graph->outputs = {value_k};
    test.plan.placements.assign(4, {});
    Context context(test.executable(open_device("")), true);
    context.submit();
    context.wait();
    std::vector<std::int32_t> k(test.k.size());
    context.get_output(0, bytes_of(k));
    EXPECT_EQ(k, test.k);
    expect_error(ErrorCode::usage, "not kept in memory", [&] { context.get_value(value_y, bytes_of(k)); });
}

TEST_P(VkBoth, ProfileTimesEveryDispatch) {
    const Case test(100000);
    const std::shared_ptr<Device> device = open_device("");
    Context context(test.executable(device), true);
    EXPECT_TRUE(context.dispatch_ns().empty());
    const auto x = ramp(100000, 3);
    EXPECT_EQ(run(context, x), test.expected(x));
    const auto times = context.dispatch_ns();
    if (device->caps().timestamp_valid_bits == 0) {
        EXPECT_TRUE(times.empty());
        return;
    }
    ASSERT_EQ(times.size(), 2u);
    for (const double ns : times) {
        EXPECT_GT(ns, 0);
        EXPECT_LT(ns, 60e9);
    }
}

TEST_F(Vk, PlansThatTheDeviceCannotCarryOutAreRefused) {
    const std::shared_ptr<Device> device = open_device("");
    const auto refuse = [&](const std::string& part, auto change) {
        Case test;
        change(test);
        expect_error(ErrorCode::internal, part, [&] { test.executable(device); });
    };
    refuse("not a multiple of", [](Case& c) { c.plan.dispatches[0].bindings[0].place.offset = 4; });
    refuse("past the", [](Case& c) { c.plan.dispatches[0].bindings[0].place.offset = c.plan.arena_bytes; });
    refuse("past the", [](Case& c) { c.plan.arena_bytes /= 2; });
    refuse("has no memory", [](Case& c) { c.plan.dispatches[0].bindings[0].place = {}; });
    refuse("has no memory", [](Case& c) { c.plan.placements[value_x] = {}; });
    refuse("does not fit", [](Case& c) { c.plan.placements[value_y].size = 16; });
    refuse("workgroups", [](Case& c) { c.plan.dispatches[0].groups[2] = 0; });
    refuse("workgroups", [](Case& c) { c.plan.dispatches[0].groups[1] = 0xffffffffu; });
    refuse("buffers", [](Case& c) { c.plan.dispatches[0].bindings.clear(); });
    refuse("read only", [](Case& c) { c.plan.dispatches[0].bindings[1].written = true; });
    refuse("overwrites the graph input 'x'", [](Case& c) { c.plan.dispatches[0].bindings[0].written = true; });
    refuse("placement count", [](Case& c) { c.plan.placements.pop_back(); });
    Case huge;
    huge.plan.arena_bytes = std::uint64_t{1} << 60;
    expect_error(ErrorCode::out_of_memory, "the arena", [&] { Context context(huge.executable(device), false); });
}

TEST_F(Vk, DevicesAreFoundByNameIndexAndKind) {
    const auto devices = Device::enumerate();
    ASSERT_FALSE(devices.empty());
    EXPECT_EQ(open_device("")->caps().name, devices[0].name);
    EXPECT_EQ(open_device("0")->caps().name, devices[0].name);
    std::string upper = devices[0].name.substr(1, 5);
    for (char& c : upper) {
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    EXPECT_NE(open_device(upper), nullptr);
    for (const DeviceCaps& caps : devices) {
        if (caps.type == "cpu") {
            EXPECT_EQ(open_device("CPU")->caps().type, "cpu");
        }
    }
    for (const char* name : {"no such device", "99", "123456789012345678901234567890"}) {
        expect_error(ErrorCode::no_device, devices[0].name, [&] { open_device(name); });
        expect_error(ErrorCode::no_device, name, [&] { open_device(name); });
    }
}

TEST_F(Vk, CapsFromAFileRestrictTheDevice) {
    {
        const test::TemporaryFile file(
            R"({"int64": false, "max_storage_buffer_range": 134217728, "rounding_rte32": true})");
        const ScopedEnv env("TOSAVK_CAPS", file.path());
        const auto device = open_device("");
        EXPECT_FALSE(device->plan().int64);
        EXPECT_EQ(device->plan().max_binding_bytes, 134217728u);
        const std::vector<std::string>& reasons = device->plan().reasons;
        EXPECT_TRUE(std::any_of(reasons.begin(), reasons.end(),
                                [](const std::string& reason) { return reason.find("TOSAVK_CAPS") != reason.npos; }));
        EXPECT_EQ(device->caps().rounding_rte32, Device::enumerate()[0].rounding_rte32);  // never added
    }
    const test::TemporaryFile wrong(R"({"int64": 1})");
    {
        const ScopedEnv env("TOSAVK_CAPS", wrong.path());
        expect_error(ErrorCode::usage, "int64", [] { open_device(""); });
    }
    const ScopedEnv env("TOSAVK_CAPS", "/nonexistent/caps.json");
    expect_error(ErrorCode::io, "/nonexistent/caps.json", [] { open_device(""); });
}
