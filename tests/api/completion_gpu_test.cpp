// How runs are ordered and how their end is told: semaphores, callbacks, several at once, control flow.
// Longer than 500 lines: one small case after another.
#include "support/driver.hpp"
#include "support/validation.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <future>
#include <optional>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace tosavk;
namespace cpp = tosavk::cpp;
using Bytes = std::vector<std::byte>;

class CompletionGpu : public ::testing::Test {
protected:
    void SetUp() override {
        TOSAVK_NEEDS_DRIVER();
        device_.emplace();
    }

    /// A device without timeline semaphores is asked for the sentence that says so.
    bool has_semaphores() {
        try {
            cpp::Semaphore{*device_};
            return true;
        } catch (const cpp::Error& e) {
            EXPECT_EQ(e.status(), TOSAVK_ERROR_UNSUPPORTED) << e.what();
            return false;
        }
    }

    /// Debian's validation layers lose track of a semaphore that somebody waits for while the host signals it ("most
    /// likely a validation bug").
    bool follows_the_host() { return has_semaphores() && !validation_requested(); }

    std::optional<cpp::Device> device_;
};

template <class F> std::string error_of(tosavk_status wanted, F call) {
    try {
        call();
    } catch (const cpp::Error& e) {
        EXPECT_EQ(e.status(), wanted) << e.what();
        EXPECT_STRNE(e.what(), "");
        return e.what();
    }
    ADD_FAILURE() << "no error";
    return {};
}

tosavk_submit_options order(const tosavk_semaphore_point* wait, const tosavk_semaphore_point* signal) {
    tosavk_submit_options options{};
    options.waits = wait;
    options.wait_count = wait ? 1 : 0;
    options.signals = signal;
    options.signal_count = signal ? 1 : 0;
    return options;
}

Bytes floats(std::size_t count, float value) {
    const std::vector<float> numbers(count, value);
    const auto bytes = std::as_bytes(std::span(numbers));
    return Bytes(bytes.begin(), bytes.end());
}

/// y = x + 1.
struct AddOne {
    explicit AddOne(const cpp::Device& device) : graph(make()), executable(device, graph), context(executable) {}

    static cpp::Graph make() {
        cpp::Builder b;
        const auto x = b.input("x", {TOSAVK_FP32, {256}});
        b.output(b.node1("ADD", {x, b.constant("one", {TOSAVK_FP32, {256}}, floats(256, 1))}));
        return b.finish();
    }
    Bytes result() {
        Bytes bytes(1024);
        context.get_output(0, bytes);
        return bytes;
    }

    cpp::Graph graph;
    cpp::Executable executable;
    cpp::Context context;
};

/// Doubles x until a count is up.
cpp::Graph doubling() {
    cpp::Builder b;
    const cpp::TensorType count_type{TOSAVK_I32, {}}, x_type{TOSAVK_FP32, {256}};
    const auto count = b.input("count", count_type), x = b.input("x", x_type);
    const auto number = [](cpp::Builder& in, std::int32_t value) {
        return in.constant("", {TOSAVK_I32, {}}, std::as_bytes(std::span(&value, 1)));
    };
    cpp::Builder condition = b.region("condition"), body = b.region("body");
    const auto left = condition.input("count", count_type);
    condition.input("x", x_type);
    condition.output(condition.node1("GREATER", {left, number(condition, 0)}));
    const auto now = body.input("count", count_type), y = body.input("x", x_type);
    body.output(body.node1("SUB", {now, number(body, 1)}));
    body.output(body.node1("ADD", {y, y}));
    const cpp::Builder::Value in[] = {count, x};
    const cpp::Builder* const regions[] = {&condition, &body};
    b.output(b.node("WHILE_LOOP", in, {}, {count_type, x_type}, "", regions)[1]);
    return b.finish();
}

TEST_F(CompletionGpu, SemaphoresHaveAValueThatGrows) {
    if (!has_semaphores()) return;
    cpp::Semaphore semaphore(*device_, 5);
    EXPECT_EQ(semaphore.value(), 5u);
    EXPECT_TRUE(semaphore.wait(5, 0));
    EXPECT_FALSE(semaphore.wait(6, 0));
    EXPECT_FALSE(semaphore.wait(6, 1000));
    semaphore.signal(9);
    EXPECT_EQ(semaphore.value(), 9u);
    EXPECT_TRUE(semaphore.wait(8));
    error_of(TOSAVK_ERROR_USAGE, [&] { semaphore.signal(9); });
    error_of(TOSAVK_ERROR_USAGE, [&] { semaphore.signal(3); });
    error_of(TOSAVK_ERROR_USAGE, [&] { semaphore.export_fd(); });
    if (!follows_the_host()) return;
    cpp::Semaphore another(*device_);
    std::thread later([&] { another.signal(12); });
    EXPECT_TRUE(another.wait(12));
    later.join();
}

TEST_F(CompletionGpu, RunsWaitForSemaphoresAndSignalThem) {
    if (!has_semaphores()) return;
    AddOne run(*device_);
    cpp::Semaphore before(*device_), after(*device_, 6);
    for (std::uint64_t turn = 1; turn <= 3; ++turn) {
        run.context.set_input(0, floats(256, static_cast<float>(turn)));
        const tosavk_semaphore_point wait = before.at(turn), signal = after.at(6 + turn);
        if (!follows_the_host()) before.signal(turn);
        run.context.submit(order(&wait, &signal));
        if (follows_the_host()) {
            EXPECT_FALSE(run.context.wait_for(std::chrono::nanoseconds(0)));
            EXPECT_FALSE(after.wait(6 + turn, 0)) << "nobody has let it begin";
            before.signal(turn);
        }
        EXPECT_TRUE(after.wait(6 + turn));
        run.context.wait();
        EXPECT_EQ(run.result(), floats(256, static_cast<float>(turn) + 1));
    }
}

TEST_F(CompletionGpu, ARunKeepsTheSemaphoresThatItNeeds) {
    if (!has_semaphores()) return;
    AddOne run(*device_);
    run.context.set_input(0, floats(256, 1));
    {
        cpp::Semaphore before(*device_), after(*device_);
        const tosavk_semaphore_point wait = before.at(1), signal = after.at(1);
        if (!follows_the_host()) before.signal(1);
        run.context.submit(order(&wait, &signal));
        if (follows_the_host()) before.signal(1);
    }
    run.context.wait();
    EXPECT_EQ(run.result(), floats(256, 2));
}

TEST_F(CompletionGpu, WhoWaitsForTheHostHoldsUpNobody) {
    if (!follows_the_host()) return;
    AddOne waiting(*device_), other(*device_);
    cpp::Buffer result(*device_, 1024);
    waiting.context.set_input(0, floats(256, 1));
    other.context.bind_output(0, result);
    cpp::Semaphore host(*device_);
    for (std::uint64_t turn = 1; turn <= 3; ++turn) {
        const tosavk_semaphore_point point = host.at(turn);
        waiting.context.submit(order(&point, nullptr));
        other.context.set_input(0, floats(256, static_cast<float>(turn)));
        other.context.run();
        Bytes got(1024);
        result.download(got);
        EXPECT_EQ(got, floats(256, static_cast<float>(turn) + 1));
        EXPECT_FALSE(waiting.context.wait_for(std::chrono::nanoseconds(0)));
        host.signal(turn);
        waiting.context.wait();
        EXPECT_EQ(waiting.result(), floats(256, 2));
    }
}

TEST_F(CompletionGpu, BuffersTellWhetherARunUsesThem) {
    AddOne run(*device_);
    cpp::Buffer x(*device_, 1024), y(*device_, 2048), unused(*device_, 1024);
    cpp::Buffer part = y.slice(1024, 1024);
    x.upload(floats(256, 3));
    run.context.bind_input(0, x);
    run.context.bind_output(0, part);
    for (int turn = 0; turn < 3; ++turn) {
        run.context.submit();
        EXPECT_TRUE(part.wait_for(std::chrono::hours(1)));
        EXPECT_TRUE(run.context.wait_for(std::chrono::nanoseconds(0)));
        Bytes got(1024);
        part.download(got);
        EXPECT_EQ(got, floats(256, 4));
    }
    EXPECT_TRUE(x.wait_for(std::chrono::nanoseconds(-1)) && y.wait_for(std::chrono::nanoseconds::max()));
    if (!follows_the_host()) return;
    cpp::Semaphore host(*device_);
    const tosavk_semaphore_point point = host.at(1);
    run.context.submit(order(&point, nullptr));
    for (const cpp::Buffer* buffer : {&x, &y, &part}) {
        EXPECT_FALSE(buffer->wait_for(std::chrono::nanoseconds(0)));
        EXPECT_FALSE(buffer->wait_for(std::chrono::milliseconds(1)));
    }
    EXPECT_TRUE(unused.wait_for(std::chrono::nanoseconds(0)));
    host.signal(1);
    EXPECT_TRUE(y.wait_for(std::chrono::nanoseconds::max()));
    run.context.wait();
}

TEST_F(CompletionGpu, SignalsKeepTheOrderOfTheRuns) {
    if (!follows_the_host()) return;
    AddOne waiting(*device_), other(*device_);
    waiting.context.set_input(0, floats(256, 1));
    other.context.set_input(0, floats(256, 2));
    cpp::Semaphore host(*device_), done(*device_);
    const tosavk_semaphore_point wait = host.at(1), first = done.at(1), second = done.at(2);
    waiting.context.submit(order(&wait, &first));
    other.context.submit(order(nullptr, &second));
    EXPECT_FALSE(other.context.wait_for(std::chrono::milliseconds(20)));
    EXPECT_EQ(done.value(), 0u);
    host.signal(1);
    other.context.wait();
    EXPECT_EQ(done.value(), 2u);
    waiting.context.wait();
    EXPECT_EQ(waiting.result(), floats(256, 2));
    EXPECT_EQ(other.result(), floats(256, 3));
}

TEST_F(CompletionGpu, AContextThatGoesKeepsThemUntilItsRunIsOver) {
    if (!has_semaphores()) return;
    for (int turn = 0; turn < 8; ++turn) {
        AddOne run(*device_);
        run.context.set_input(0, floats(256, 1));
        cpp::Semaphore after(*device_);
        const tosavk_semaphore_point signal = after.at(1);
        run.context.submit(order(nullptr, &signal));
        after = cpp::Semaphore(*device_);  // the validation layers tell where the first one goes too soon
    }
}

TEST_F(CompletionGpu, ACallbackTellsTheEnd) {
    AddOne run(*device_);
    struct Told {
        std::promise<std::pair<tosavk_status, std::thread::id>> promise;
        std::atomic<int> calls{0};
    };
    for (int turn = 0; turn < 4; ++turn) {
        Told told;
        auto end = told.promise.get_future();
        tosavk_submit_options options{};
        options.user = &told;
        options.done = [](void* user, tosavk_status status) {
            auto& to = *static_cast<Told*>(user);
            ++to.calls;
            to.promise.set_value({status, std::this_thread::get_id()});
        };
        run.context.set_input(0, floats(256, static_cast<float>(turn)));
        run.context.submit(options);
        error_of(TOSAVK_ERROR_USAGE, [&] { run.context.submit(); });
        const auto [status, thread] = end.get();
        EXPECT_EQ(status, TOSAVK_OK);
        EXPECT_NE(thread, std::this_thread::get_id());
        error_of(TOSAVK_ERROR_USAGE, [&] { run.result(); });
        run.context.wait();
        EXPECT_EQ(told.calls, 1);
        EXPECT_EQ(run.result(), floats(256, static_cast<float>(turn) + 1));
    }
}

TEST_F(CompletionGpu, LoopsDoNotBlockSubmit) {
    const cpp::Graph graph = doubling();
    const cpp::Executable executable(*device_, graph);
    cpp::Context loop(executable);
    AddOne after(*device_);
    cpp::Buffer between(*device_, 1024), result(*device_, 1024);
    loop.bind_output(0, between);
    after.context.bind_input(0, between);
    after.context.bind_output(0, result);
    const bool can_wait = follows_the_host();
    for (std::uint64_t turn = 1; turn <= 5; ++turn) {
        const auto count = static_cast<std::int32_t>(turn);
        loop.set_input(0, std::as_bytes(std::span(&count, 1)));
        loop.set_input(1, floats(256, 3));
        between.fill(0, 0, 1024);
        std::optional<cpp::Semaphore> gate;
        tosavk_submit_options options{};
        tosavk_semaphore_point wait{};
        if (can_wait) {
            gate.emplace(*device_);
            wait = gate->at(1);
            options = order(&wait, nullptr);
        }
        loop.submit(options);
        after.context.submit();  // reads what the loop has not yet written
        if (gate) {
            EXPECT_FALSE(after.context.wait_for(std::chrono::nanoseconds(0)));
            gate->signal(1);  // had a submit waited for decisions, nobody would be here
        }
        after.context.wait();
        loop.wait();
        Bytes got(1024);
        result.download(got);
        EXPECT_EQ(got, floats(256, static_cast<float>(3 << turn) + 1)) << "turn " << turn;
    }
}

/// On one queue the second run must not stand before what the first one still has to submit.
TEST_F(CompletionGpu, ARunMayWaitForWhatALoopBeforeItSignals) {
    if (!follows_the_host()) return;
    const cpp::Graph graph = doubling();
    const cpp::Executable executable(*device_, graph);
    cpp::Context loop(executable), second(executable);
    AddOne after(*device_), behind(*device_);
    cpp::Buffer between(*device_, 1024);
    loop.bind_output(0, between);
    behind.context.bind_input(0, between);
    const std::int32_t count = 30;
    for (cpp::Context* one : {&loop, &second}) {
        one->set_input(0, std::as_bytes(std::span(&count, 1)));
        one->set_input(1, floats(256, 1));
    }
    after.context.set_input(0, floats(256, 5));
    const Bytes doubled = floats(256, 1 << 30);
    const auto expect = [&](cpp::Context& context, const Bytes& wanted) {
        context.wait();
        Bytes got(1024);
        context.get_output(0, got);
        EXPECT_EQ(got, wanted);
    };
    cpp::Semaphore done(*device_), host(*device_);
    for (std::uint64_t turn = 1; turn <= 3; ++turn) {
        const tosavk_semaphore_point signal = done.at(turn), from_host = host.at(turn);
        loop.submit(order(nullptr, &signal));
        after.context.submit(order(&signal, nullptr));
        second.submit(order(&signal, nullptr));  // decides, and waits
        expect(loop, doubled);
        expect(after.context, floats(256, 6));
        expect(second, doubled);

        loop.submit();
        after.context.submit(order(&from_host, nullptr));
        expect(loop, doubled);
        host.signal(turn);
        expect(after.context, floats(256, 6));
    }
    // The signal of a run without decisions, which stands behind a loop by a buffer.
    const tosavk_semaphore_point signal = done.at(10);
    loop.submit();
    behind.context.submit(order(nullptr, &signal));
    after.context.submit(order(&signal, nullptr));
    expect(loop, doubled);
    expect(after.context, floats(256, 6));
    expect(behind.context, floats(256, 1 << 30));
}

TEST_F(CompletionGpu, AContextMayGoWhileItsLoopRuns) {
    const cpp::Graph graph = doubling();
    const cpp::Executable executable(*device_, graph);
    cpp::Buffer result(*device_, 1024);
    {
        cpp::Context loop(executable);
        const std::int32_t count = 10;
        loop.set_input(0, std::as_bytes(std::span(&count, 1)));
        loop.set_input(1, floats(256, 1));
        loop.bind_output(0, result);
        loop.submit();
    }
    Bytes got(1024);
    result.download(got);
    EXPECT_EQ(got, floats(256, 1024));
}

TEST_F(CompletionGpu, SeveralContextsAreWaitedForAtOnce) {
    AddOne a(*device_), b(*device_), c(*device_);
    cpp::Context* const all[] = {&a.context, &b.context, &c.context};
    for (AddOne* one : {&a, &b, &c}) one->context.set_input(0, floats(256, 1));
    for (cpp::Context* context : all) context->submit();
    EXPECT_EQ(cpp::wait_for(all, false), std::vector<bool>(3, true));
    for (AddOne* one : {&a, &b, &c}) EXPECT_EQ(one->result(), floats(256, 2));
    error_of(TOSAVK_ERROR_USAGE, [&] { cpp::wait_for(all, true); });
    error_of(TOSAVK_ERROR_USAGE, [&] { cpp::wait_for({}, true); });

    for (cpp::Context* context : all) context->submit();
    std::size_t over = 0;
    std::vector<cpp::Context*> running(std::begin(all), std::end(all));
    while (!running.empty()) {
        const std::vector<bool> finished = cpp::wait_for(running, true);
        std::vector<cpp::Context*> still;
        for (std::size_t k = 0; k < running.size(); ++k) {
            if (finished[k]) ++over;
            else still.push_back(running[k]);
        }
        EXPECT_LT(still.size(), running.size()) << "one at least";
        running = still;
    }
    EXPECT_EQ(over, 3u);

    if (!follows_the_host()) return;
    cpp::Semaphore gate(*device_), second(*device_);
    const tosavk_semaphore_point first_wait = gate.at(1), second_wait = second.at(1);
    a.context.submit(order(&first_wait, nullptr));
    b.context.submit(order(&second_wait, nullptr));
    cpp::Context* const both[] = {&a.context, &b.context};
    EXPECT_EQ(cpp::wait_for(both, true, 0), std::vector<bool>(2, false));
    EXPECT_EQ(cpp::wait_for(both, false, 1000), std::vector<bool>(2, false));
    gate.signal(1);
    EXPECT_EQ(cpp::wait_for(both, true), (std::vector<bool>{true, false}));
    second.signal(1);
    b.context.wait();
    cpp::Context* const twice[] = {&a.context, &a.context};
    a.context.submit();
    error_of(TOSAVK_ERROR_USAGE, [&] { cpp::wait_for(twice, true); });
    a.context.wait();
}

TEST_F(CompletionGpu, WrongSemaphoresAreRefused) {
    if (!has_semaphores()) return;
    AddOne run(*device_);
    run.context.set_input(0, floats(256, 1));
    const cpp::Device again;
    const cpp::Semaphore foreign(again);
    const tosavk_semaphore_point other = foreign.at(1), none{sizeof none, nullptr, 0};
    run.context.run();
    EXPECT_EQ(run.result(), floats(256, 2));
    error_of(TOSAVK_ERROR_USAGE, [&] { run.context.submit(order(&other, nullptr)); });
    error_of(TOSAVK_ERROR_USAGE, [&] { run.context.submit(order(nullptr, &other)); });
    error_of(TOSAVK_ERROR_USAGE, [&] { run.context.submit(order(&none, nullptr)); });
    tosavk_submit_options options{};
    options.signal_count = 1;
    error_of(TOSAVK_ERROR_USAGE, [&] { run.context.submit(options); });
    error_of(TOSAVK_ERROR_USAGE, [&] { cpp::Semaphore::import_fd(*device_, -1); });
    EXPECT_EQ(run.result(), floats(256, 2)) << "the last run's";
    run.context.run();
    EXPECT_EQ(run.result(), floats(256, 2));
}

TEST_F(CompletionGpu, SignalsThatDoNotGrowAreRefused) {
    if (!has_semaphores()) return;
    AddOne run(*device_);
    run.context.set_input(0, floats(256, 1));
    cpp::Semaphore semaphore(*device_, 5);
    for (const std::uint64_t value : {3, 5}) {
        const tosavk_semaphore_point low = semaphore.at(value);
        error_of(TOSAVK_ERROR_USAGE, [&] { run.context.submit(order(nullptr, &low)); });
    }
    const tosavk_semaphore_point twice[] = {semaphore.at(8), semaphore.at(9)};
    tosavk_submit_options both{};
    both.signals = twice;
    both.signal_count = 2;
    error_of(TOSAVK_ERROR_USAGE, [&] { run.context.submit(both); });
    EXPECT_EQ(semaphore.value(), 5u);
    const tosavk_semaphore_point next = semaphore.at(7);
    run.context.submit(order(nullptr, &next));
    run.context.wait();
    EXPECT_EQ(semaphore.value(), 7u);
    EXPECT_EQ(run.result(), floats(256, 2));
    error_of(TOSAVK_ERROR_USAGE, [&] { run.context.submit(order(nullptr, &next)); });
    // While a submit is to signal more, or has done so just now.
    AddOne other(*device_);
    other.context.set_input(0, floats(256, 1));
    const tosavk_semaphore_point later = semaphore.at(20), between = semaphore.at(15), last = semaphore.at(21);
    run.context.submit(order(nullptr, &later));
    error_of(TOSAVK_ERROR_USAGE, [&] { other.context.submit(order(nullptr, &between)); });
    error_of(TOSAVK_ERROR_USAGE, [&] { semaphore.signal(20); });
    other.context.submit(order(nullptr, &last));
    other.context.wait();
    run.context.wait();
    EXPECT_EQ(semaphore.value(), 21u);
}

TEST_F(CompletionGpu, SemaphoresGoToAnotherDeviceByDescriptor) {
    if (!has_semaphores()) return;
    std::optional<cpp::Semaphore> mine;
    try {
        mine.emplace(*device_, 3, true);
    } catch (const cpp::Error& e) {
        ASSERT_EQ(e.status(), TOSAVK_ERROR_UNSUPPORTED) << e.what();
        const cpp::Device other;
        error_of(TOSAVK_ERROR_UNSUPPORTED, [&] { cpp::Semaphore::import_fd(other, 0); });
        GTEST_SKIP() << e.what();
    }
    const std::int32_t fd = mine->export_fd();
    const cpp::Device other;
    cpp::Semaphore theirs = cpp::Semaphore::import_fd(other, fd);
    ASSERT_EQ(::close(fd), 0);
    EXPECT_EQ(theirs.value(), 3u);
    theirs.signal(4);
    EXPECT_TRUE(mine->wait(4));
    error_of(TOSAVK_ERROR_USAGE, [&] { cpp::Semaphore::import_fd(other, -1); });
}

/// The drivers of GPUs, NVIDIA's above all, may not start in a process that was forked off, and SwiftShader does not.
bool must_reopen(const cpp::Device& device) { return std::strstr(device.name().c_str(), "llvmpipe") != nullptr; }

/// What a process that was forked off finds of a device with runs under way, and whether it can let go of it all.
int in_the_child(std::optional<cpp::Device>& device, std::optional<AddOne>& run, std::optional<AddOne>& pending) {
    ::alarm(120);  // a child that hangs fails
    const auto refused = [](auto call) {
        try {
            call();
        } catch (const cpp::Error& e) {
            return e.status() == TOSAVK_ERROR_DEVICE &&
                   std::strstr(e.what(), "opened before this process was forked") != nullptr;
        }
        return false;
    };
    if (!refused([&] { run->context.set_input(0, floats(256, 3)); })) return 1;
    if (!refused([&] { run->context.submit(); })) return 2;
    if (!refused([&] { pending->context.wait(); })) return 3;
    if (!refused([&] { AddOne another(*device); })) return 4;
    pending.reset();
    run.reset();
    const bool reopens = must_reopen(*device);
    try {
        device.emplace();
    } catch (const cpp::Error& e) {
        const bool told = std::strstr(e.what(), "its threads stayed with the parent") != nullptr;
        return !reopens && told ? 0 : 6;
    }
    AddOne own(*device);
    own.context.set_input(0, floats(256, 4));
    own.context.run();
    return own.result() == floats(256, 5) ? 0 : 5;
}

TEST_F(CompletionGpu, AForkedProcessLetsItsParentsDeviceBe) {
    std::optional<AddOne> run, pending;
    run.emplace(*device_);
    run->context.set_input(0, floats(256, 1));
    run->context.run();
    pending.emplace(*device_);
    pending->context.set_input(0, floats(256, 2));
    std::promise<void> told;
    tosavk_submit_options options{};
    options.done = [](void* user, tosavk_status) { static_cast<std::promise<void>*>(user)->set_value(); };
    options.user = &told;
    pending->context.submit(options);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(in_the_child(device_, run, pending));
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "ended with " << status;
    pending->context.wait();
    EXPECT_EQ(pending->result(), floats(256, 3));
    EXPECT_EQ(run->result(), floats(256, 2)) << "what the parent had";
    told.get_future().wait();
}

TEST_F(CompletionGpu, AProcessThatIsForkedWithNoDeviceOpenHasItsOwn) {
    const bool may_refuse = !must_reopen(*device_) && std::strstr(device_->name().c_str(), "SwiftShader") == nullptr;
    device_.reset();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::alarm(120);
        try {
            device_.emplace();
            AddOne own(*device_);
            own.context.set_input(0, floats(256, 4));
            own.context.run();
            ::_exit(own.result() == floats(256, 5) ? 0 : 1);
        } catch (const cpp::Error& e) {
            ::_exit(may_refuse && std::strstr(e.what(), "its threads stayed with the parent") != nullptr ? 0 : 2);
        }
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "ended with " << status;
}

}  // namespace
