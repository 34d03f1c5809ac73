// Devices by their properties, the options that were environment variables, packages in memory.
#include "support/driver.hpp"
#include "support/small_models.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>

#include <unistd.h>

namespace {

using namespace tosavk;
namespace cpp = tosavk::cpp;
namespace fs = std::filesystem;
using nlohmann::json;

class DeviceOptionsGpu : public ::testing::Test {
protected:
    void SetUp() override {
        TOSAVK_NEEDS_DRIVER();
        described_ = json::parse(cpp::Device::describe(0));
    }

    /// The name of the device that is opened, or the sentence why none is.
    static std::string opened(const tosavk_device_options& options) {
        try {
            return cpp::Device(options).name();
        } catch (const cpp::Error& e) {
            return e.what();
        }
    }

    static std::vector<std::uint8_t> from_hexadecimal(const std::string& text) {
        std::vector<std::uint8_t> bytes;
        for (std::size_t k = 0; k + 1 < text.size(); k += 2)
            bytes.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(k, 2), nullptr, 16)));
        return bytes;
    }

    json described_;
};

TEST_F(DeviceOptionsGpu, DevicesAreFoundByTheirProperties) {
    const std::string name = described_["name"];
    const std::vector<std::uint8_t> uuid = from_hexadecimal(described_["uuid"]);
    ASSERT_EQ(uuid.size(), 16u);
    tosavk_device_options options{};
    EXPECT_EQ(opened(options), name);
    options.uuid = uuid.data();
    EXPECT_EQ(opened(options), name);
    options.vendor_id = described_["caps"]["vendor_id"];
    options.name = name.c_str();
    EXPECT_EQ(opened(options), name);
    const std::string types[] = {"", "discrete", "integrated", "virtual", "cpu"};
    const auto type = std::find(std::begin(types) + 1, std::end(types), described_["type"].get<std::string>());
    if (type != std::end(types)) {
        options.type = static_cast<std::int32_t>(type - std::begin(types));
        EXPECT_EQ(opened(options), name);
    }

    tosavk_device_options wrong = options;
    std::vector<std::uint8_t> other = uuid;
    other[7] ^= 1;
    wrong.uuid = other.data();
    EXPECT_NE(opened(wrong).find("UUID"), std::string::npos) << opened(wrong);
    wrong = options;
    wrong.vendor_id = 0x12345;
    EXPECT_NE(opened(wrong).find("vendor 0x12345"), std::string::npos) << opened(wrong);
    wrong = options;
    wrong.ordinal = 77;
    EXPECT_NE(opened(wrong).find("number 77"), std::string::npos) << opened(wrong);
    wrong = options;
    wrong.type = 9;
    EXPECT_NE(opened(wrong).find("9 is not a tosavk_device_type"), std::string::npos) << opened(wrong);
    wrong = options;
    wrong.reserved = 1;
    EXPECT_NE(opened(wrong).find("reserved"), std::string::npos) << opened(wrong);
    wrong = options;
    wrong.submit_ms = 1e300;
    EXPECT_NE(opened(wrong).find("submit_ms"), std::string::npos) << opened(wrong);
}

TEST_F(DeviceOptionsGpu, WhatOnlyCompilesRunsNothing) {
    tosavk_device_options options{};
    options.compile_only = 1;
    options.no_cache = 1;
    const cpp::Device device(options);
    const cpp::Graph graph = cpp::Graph::problem("conv2d i8 1x8x8x16 16x3x3 s1 p1 rescale clamp");
    const cpp::Executable executable(device, graph);
    // The same plan as of a device that runs, and constants that nobody uploads.
    const cpp::Device running;
    EXPECT_EQ(executable.print(TOSAVK_EXECUTABLE_PLAN), cpp::Executable(running, graph).print(TOSAVK_EXECUTABLE_PLAN));
    EXPECT_EQ(device.memory().allocations, 0u);
    EXPECT_EQ(device.memory().peak, 0u);
    // A device that runs has checked its matrices, and its packages say so.
    if (described_["type"] == "cpu" || described_["caps"]["cooperative_fp16"] == json{0, 0, 0}) {
        EXPECT_EQ(cpp::save_package(device, graph, true), cpp::save_package(running, graph, true));
    }

    const auto refused = [](const std::function<void()>& call) {
        try {
            call();
        } catch (const cpp::Error& e) {
            EXPECT_EQ(e.status(), TOSAVK_ERROR_USAGE) << e.what();
            EXPECT_NE(std::string(e.what()).find("opened to compile only: nothing runs on it"), std::string::npos)
                << e.what();
            return;
        }
        ADD_FAILURE() << "it ran";
    };
    refused([&] { cpp::Context context(executable); });
    refused([&] { cpp::Buffer buffer(device, 64); });
    refused([&] { cpp::Semaphore semaphore(device); });
    refused([&] { device.limits(); });
    refused([&] { cpp::tune(device, graph); });
    refused([&] { cpp::Checker checker(device, graph); });
    EXPECT_EQ(device.memory().peak, 0u);
}

TEST_F(DeviceOptionsGpu, CacheAndSubmitsFollowTheOptions) {
    const fs::path folder = fs::temp_directory_path() / ("tosavk-device-options-" + std::to_string(::getpid()));
    fs::remove_all(folder);
    const std::string path = folder.string();
    const cpp::Graph graph = cpp::Graph::problem("chain f32 1000 add mul sigmoid");
    const auto counters_with = [&](const tosavk_device_options& options) {
        const cpp::Device device(options);
        const cpp::Executable executable(device, graph, false);
        cpp::Context context(executable);
        for (std::uint32_t k = 0; k < graph.input_count(); ++k) context.set_input(k, graph.random_input(k, 3));
        context.run();
        return context.counters();
    };
    tosavk_device_options options{};
    options.no_cache = 1;
    options.cache_dir = path.c_str();
    EXPECT_GT(counters_with(options).shaders_compiled, 0u);
    EXPECT_FALSE(fs::exists(folder));
    options.no_cache = 0;
    options.threads = 1;
    EXPECT_GT(counters_with(options).shaders_compiled, 0u);
    EXPECT_TRUE(fs::exists(folder));
    options.threads = 0;
    const tosavk_counters cached = counters_with(options);
    EXPECT_EQ(cached.shaders_compiled, 0u);
    EXPECT_EQ(cached.submits, 1u);
    options.submit_ms = 1e-9;
    EXPECT_EQ(counters_with(options).submits, 3u) << "each dispatch alone";
    fs::remove_all(folder);
}

TEST_F(DeviceOptionsGpu, TheLogGoesWhereItIsSent) {
    std::vector<std::string> lines;
    const tosavk_log_callback collect = [](void* user, const char* topic, const char* sentence) {
        static_cast<std::vector<std::string>*>(user)->push_back(std::string(topic) + ": " + sentence);
    };
    tosavk_device_options options{};
    options.no_cache = 1;
    cpp::set_log("cache", collect, &lines);
    { const cpp::Device device(options); }
    cpp::set_log("tuning", collect, &lines);
    const std::size_t said = lines.size();
    { const cpp::Device device(options); }
    cpp::set_log(nullptr);
    { const cpp::Device device(options); }
    ASSERT_GT(said, 0u);
    EXPECT_EQ(lines[0], "cache: off: an option says so");
    EXPECT_EQ(lines.size(), said);
}

TEST_F(DeviceOptionsGpu, PackagesInMemoryAndStreams) {
    const cpp::Device device;
    const cpp::Graph graph = cpp::Graph::load(test::small_int8_model());
    const std::vector<std::byte> package = cpp::save_package(device, graph);
    std::vector<std::byte> streamed;
    const tosavk_write_callback append = [](void* user, const void* data, std::size_t size) -> std::int32_t {
        const auto* bytes = static_cast<const std::byte*>(data);
        auto& to = *static_cast<std::vector<std::byte>*>(user);
        to.insert(to.end(), bytes, bytes + size);
        return 0;
    };
    ASSERT_EQ(tosavk_package_save_stream(device.get(), graph.get(), nullptr, append, &streamed, nullptr), TOSAVK_OK);
    EXPECT_EQ(streamed, package);
    streamed.clear();
    cpp::save_package(device, graph, [&](std::span<const std::byte> bytes) {
        streamed.insert(streamed.end(), bytes.begin(), bytes.end());
    });
    EXPECT_EQ(streamed, package);
    const cpp::Graph loaded = cpp::Graph::load(package);
    const auto output_of = [&](const cpp::Graph& from) {
        const cpp::Executable executable(device, from);
        cpp::Context context(executable);
        for (std::uint32_t k = 0; k < from.input_count(); ++k) context.set_input(k, from.random_input(k, 5));
        context.run();
        std::vector<std::byte> bytes(from.output(0).size_bytes);
        context.get_output(0, bytes);
        return std::pair(bytes, context.counters().package);
    };
    EXPECT_EQ(output_of(loaded), std::pair(output_of(graph).first, std::uint64_t{1}));
}

TEST_F(DeviceOptionsGpu, MemoryIsCounted) {
    const cpp::Device device;
    const tosavk_memory_info before = device.memory();
    EXPECT_GT(before.heap, 0u);
    {
        const cpp::Graph graph = cpp::Graph::problem("conv2d f32 1x8x8x64 64x3x3 p1");
        const cpp::Executable executable(device, graph);
        const tosavk_memory_info compiled = device.memory();
        EXPECT_GE(compiled.in_use - before.in_use, 64u * 64 * 9 * 4) << "the weights";
        const cpp::Context context(executable);
        const tosavk_memory_info running = device.memory();
        EXPECT_GT(running.in_use, compiled.in_use);
        EXPECT_EQ(running.allocations - before.allocations, context.counters().allocations);
        EXPECT_GE(running.peak, running.in_use);
    }
    const tosavk_memory_info after = device.memory();
    EXPECT_EQ(after.in_use, before.in_use);
    EXPECT_EQ(after.allocations, before.allocations);
    EXPECT_GT(after.peak, before.peak);
}

TEST_F(DeviceOptionsGpu, ALongCompileTellsAndCanBeEnded) {
    struct Heard {
        std::uint64_t calls = 0, done = 0, total = 0, end_at = UINT64_MAX;
        bool in_order = true;
    };
    const tosavk_progress_callback hear = [](void* user, std::uint64_t done, std::uint64_t total) -> std::int32_t {
        auto& heard = *static_cast<Heard*>(user);
        heard.in_order = heard.in_order && done >= heard.done && done <= total;
        heard.done = done;
        heard.total = total;
        return ++heard.calls >= heard.end_at ? 1 : 0;
    };
    tosavk_device_options uncached{};
    uncached.no_cache = 1;
    const cpp::Graph graph = cpp::Graph::problem("network lstm f32");
    Heard whole;
    tosavk_compile_options options{};
    options.progress = hear;
    options.user = &whole;
    const cpp::Device device(uncached);
    { const cpp::Executable executable(device, graph, options); }
    EXPECT_GT(whole.calls, 3u);
    EXPECT_TRUE(whole.in_order);
    EXPECT_EQ(whole.done, whole.total);

    for (std::uint64_t end_at = 1; end_at <= whole.calls; ++end_at) {
        const cpp::Device other(uncached);
        const std::uint64_t in_use = other.memory().in_use;
        Heard some;
        some.end_at = end_at;
        options.user = &some;
        try {
            const cpp::Executable executable(other, graph, options);
            // Beside its steps the call is heard of by the clock.
            EXPECT_LT(some.calls, end_at) << "the call " << end_at << " of " << whole.calls << " ended nothing";
            continue;
        } catch (const cpp::Error& e) {
            EXPECT_EQ(e.status(), TOSAVK_ERROR_CANCELLED) << e.what();
        }
        EXPECT_EQ(some.calls, end_at) << "nobody is asked again";
        EXPECT_EQ(other.memory().in_use, in_use);
        if (end_at + 1 < whole.calls) continue;
        options.user = &(some = {});
        const cpp::Executable again(other, graph, options);
        EXPECT_EQ(some.done, some.total);
    }

    // Packages too.
    const cpp::Device other(uncached);
    const auto save = [&](Heard& heard) {
        options.user = &heard;
        options.struct_size = sizeof options;
        tosavk_bytes* file = nullptr;
        tosavk_error* error = nullptr;
        const tosavk_status status = tosavk_package_save_memory(other.get(), graph.get(), &options, &file, &error);
        EXPECT_EQ(file != nullptr, status == TOSAVK_OK);
        tosavk_bytes_release(file);
        tosavk_error_release(error);
        return status;
    };
    Heard packaged, ended;
    ended.end_at = 2;
    EXPECT_EQ(save(ended), TOSAVK_ERROR_CANCELLED);
    EXPECT_EQ(ended.calls, 2u);
    EXPECT_EQ(save(packaged), TOSAVK_OK);
    EXPECT_GT(packaged.calls, 2u);
    EXPECT_TRUE(packaged.in_order);
    EXPECT_EQ(packaged.done, packaged.total);
}

}  // namespace
