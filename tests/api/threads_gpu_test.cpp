// Many threads on one device, through the public headers: one executable with a context each, buffers that they share,
// executables that come and go. scripts/nightly runs this under ThreadSanitizer.
#include "support/driver.hpp"
#include "support/small_models.hpp"
#include "support/validation.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>

namespace {

using namespace tosavk;
namespace cpp = tosavk::cpp;
using Bytes = std::vector<std::byte>;

constexpr int thread_count = 4;

class ThreadsGpu : public ::testing::Test {
protected:
    void SetUp() override {
        TOSAVK_NEEDS_DRIVER();
        device_.emplace();
    }

    /// Calls work(number) in threads of their own; what one throws is a failure.
    template <class F> static void together(F work) {
        std::atomic<int> failures{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < thread_count; ++t) {
            threads.emplace_back([&, t] {
                try {
                    if (!work(t)) ++failures;
                } catch (const std::exception& e) {
                    ADD_FAILURE() << e.what();
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(failures, 0);
    }

    std::optional<cpp::Device> device_;
};

struct Case {
    Bytes input, wanted;
};

std::vector<Case> cases_of(const cpp::Graph& graph, int count) {
    std::vector<Case> cases;
    for (int k = 0; k < count; ++k) {
        const std::vector<Bytes> inputs = {graph.random_input(0, static_cast<std::uint64_t>(k))};
        cases.push_back({inputs[0], graph.reference_run(inputs)[0]});
    }
    return cases;
}

TEST_F(ThreadsGpu, OneExecutableManyContexts) {
    const cpp::Graph graph = cpp::Graph::problem("conv2d i8 1x9x9x8 16x3x3 s1 p1 rescale clamp");
    const cpp::Executable executable(*device_, graph);
    const std::vector<Case> cases = cases_of(graph, thread_count);
    together([&](int t) {
        const Case& mine = cases[static_cast<std::size_t>(t)];
        cpp::Context context(executable);
        cpp::Buffer out(*device_, mine.wanted.size());
        bool right = true;
        for (int k = 0; k < 10; ++k) {
            if (k % 3 == 1) context.bind_output(0, out);
            if (k % 3 == 0) context.unbind_output(0);
            context.set_input(0, mine.input);
            context.submit();
            device_->memory();
            context.wait();
            Bytes got(mine.wanted.size());
            context.get_output(0, got);
            right = right && got == mine.wanted;
        }
        return right;
    });
}

TEST_F(ThreadsGpu, ExecutablesComeAndGo) {
    const cpp::Graph graph = cpp::Graph::problem("clamp i8 4x37");
    const std::vector<Case> cases = cases_of(graph, thread_count);
    together([&](int t) {
        const Case& mine = cases[static_cast<std::size_t>(t)];
        bool right = true;
        for (int k = 0; k < 5; ++k) {
            const cpp::Executable executable(*device_, graph, k % 2 == 0);
            cpp::Context context(executable);
            context.set_input(0, mine.input);
            context.run();
            Bytes got(mine.wanted.size());
            context.get_output(0, got);
            right = right && got == mine.wanted;
        }
        return right;
    });
}

TEST_F(ThreadsGpu, BuffersAreShared) {
    // All read one buffer, which nobody writes meanwhile; each writes its part of another.
    const cpp::Graph graph = cpp::Graph::problem("clamp i8 16x16");
    const cpp::Executable executable(*device_, graph);
    const std::vector<Case> cases = cases_of(graph, 1);
    cpp::Buffer in(*device_, 256), out(*device_, 256 * thread_count);
    in.upload(cases[0].input);
    together([&](int t) {
        const std::uint64_t place = 256u * static_cast<unsigned>(t);
        cpp::Context context(executable);
        context.bind_input(0, in);
        const cpp::Buffer part = out.slice(place, 256);
        context.bind_output(0, part);
        bool right = true;
        for (int k = 0; k < 10; ++k) {
            cpp::Buffer(*device_, 256).copy_from(in, 0, 0, 256);
            context.run();
            Bytes got(256);
            out.download(got, place);
            right = right && got == cases[0].wanted;
        }
        return right;
    });
}

TEST_F(ThreadsGpu, LoopsAndCallbacks) {
    cpp::Builder b;
    const cpp::TensorType count_type{TOSAVK_I32, {}};
    const auto count = b.input("count", count_type), sum = b.input("sum", count_type);
    const auto number = [](cpp::Builder& in, std::int32_t value) {
        return in.constant("", {TOSAVK_I32, {}}, std::as_bytes(std::span(&value, 1)));
    };
    cpp::Builder condition = b.region("condition"), body = b.region("body");
    const auto left = condition.input("count", count_type);
    condition.input("sum", count_type);
    condition.output(condition.node1("GREATER", {left, number(condition, 0)}));
    const auto now = body.input("count", count_type), so_far = body.input("sum", count_type);
    body.output(body.node1("SUB", {now, number(body, 1)}));
    body.output(body.node1("ADD", {so_far, now}));
    const cpp::Builder::Value in[] = {count, sum};
    const cpp::Builder* const regions[] = {&condition, &body};
    b.output(b.node("WHILE_LOOP", in, {}, {count_type, count_type}, "", regions)[1]);
    const cpp::Graph graph = b.finish();
    const cpp::Executable executable(*device_, graph);
    cpp::Buffer shared(*device_, 256);
    together([&](int t) {
        cpp::Context context(executable);
        if (t % 2 == 0) context.bind_output(0, shared);  // two threads: one after the other, in whatever order
        std::atomic<int> ends{0};
        const std::int32_t turns = 3, none = 0;
        std::int32_t got = 0;
        bool right = true;
        for (int k = 0; k < 4; ++k) {
            context.set_input(0, std::as_bytes(std::span(&turns, 1)));
            context.set_input(1, std::as_bytes(std::span(&none, 1)));
            tosavk_submit_options options{};
            options.user = &ends;
            options.done = [](void* user, tosavk_status status) {
                if (status == TOSAVK_OK) ++*static_cast<std::atomic<int>*>(user);
            };
            context.submit(options);
            while (!context.wait_for(std::chrono::microseconds(100))) context.counters();
            context.get_output(0, std::as_writable_bytes(std::span(&got, 1)));
            right = right && got == 6;
        }
        return right && ends == 4;
    });
}

}  // namespace
