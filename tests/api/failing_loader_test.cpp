// Every call about instances and physical devices fails once, between the library and Vulkan's loader
// (support/failing_loader): an error with a sentence, or nothing amiss where the library can do without; nothing is
// left behind, and the next device is right. Other calls of devices are in failing_calls_gpu_test.
#include "support/environment.hpp"
#include "support/require.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>

#include <filesystem>
#include <set>

namespace {

namespace cpp = tosavk::cpp;
namespace test = tosavk::test;
using Bytes = std::vector<std::byte>;

struct Loader {
    void (*set)(int) = nullptr;
    const char* (*failed)() = nullptr;
    int (*alive)() = nullptr;

    Loader() {
        void* library = dlopen("libvulkan.so.1", RTLD_NOW);
        if (!library) return;
        set = reinterpret_cast<void (*)(int)>(dlsym(library, "failing_loader_set"));
        failed = reinterpret_cast<const char* (*)()>(dlsym(library, "failing_loader_failed"));
        alive = reinterpret_cast<int (*)()>(dlsym(library, "failing_loader_alive"));
    }
};

/// Everything from counting devices to a result.
Bytes use_a_device() {
    EXPECT_GT(cpp::Device::count(), 0u);
    EXPECT_NE(cpp::Device::describe(0), "");
    tosavk_device_options options{};
    options.no_cache = 1;
    const cpp::Device device(options);
    const cpp::Graph graph = cpp::Graph::problem("add f32 64");
    cpp::Context context(cpp::Executable(device, graph));
    for (std::uint32_t k = 0; k < 2; ++k) context.set_input(k, graph.random_input(k, 1));
    context.run();
    Bytes result(graph.output(0).size_bytes);
    context.get_output(0, result);
    return result;
}

/// Each of the calls that use() makes fails once; those that did. `kept`: instances that stay.
template <class Use> std::set<std::string> fail_each(const Loader& loader, Use use, int kept) {
    const auto wanted = use();
    EXPECT_EQ(loader.alive(), kept);
    std::set<std::string> names;
    int refused = 0, n = 1;
    for (;; ++n) {
        loader.set(n);
        std::string sentence;
        try {
            const auto found = use();
            // Which the library can do without: what it then does may differ, but not what comes of it.
            EXPECT_TRUE(found == wanted || std::string(loader.failed()).starts_with("vkGetPipelineExecutable"));
        } catch (const cpp::Error& e) {
            sentence = e.what();
            EXPECT_TRUE(e.status() == TOSAVK_ERROR_OUT_OF_MEMORY || e.status() == TOSAVK_ERROR_NO_DEVICE ||
                        e.status() == TOSAVK_ERROR_DEVICE)
                << e.status() << ": " << sentence;
            EXPECT_GT(sentence.size(), 10u);
            ++refused;
        }
        const std::string failed = loader.failed();
        loader.set(0);
        if (failed.empty()) {
            EXPECT_EQ(sentence, "");
            break;
        }
        names.insert(failed);
        EXPECT_LE(loader.alive(), kept) << "after " << failed << ", call " << n;
        EXPECT_EQ(use(), wanted) << "after " << failed << ", call " << n;
        if (n == 1000) break;
    }
    EXPECT_LT(n, 1000);
    std::printf("%d calls failed, of %zu functions; %d ended in a sentence\n", n - 1, names.size(), refused);
    return names;
}

TEST(FailingLoader, EveryCallFailsOnce) {
    const Loader loader;
    if (!loader.set) TOSAVK_MISSING("ctest", "the loader of the tests is not the one found (LD_LIBRARY_PATH)");
    use_a_device();
    // NVIDIA's driver stays loaded by an instance.
    const int kept = nlohmann::json::parse(cpp::Device::describe(0))["caps"]["driver_id"] == 4 ? 1 : 0;
    const std::set<std::string> names = fail_each(loader, use_a_device, kept);
    for (const char* name : {"vkCreateInstance", "vkCreateDevice", "vkEnumeratePhysicalDevices",
                             "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"})
        EXPECT_TRUE(names.contains(name)) << name;
}

/// What RADV's compiler made of a pipeline, for a GPU that is not there.
TEST(FailingLoader, WhatACompilerTells) {
    const Loader loader;
    if (!loader.set) TOSAVK_MISSING("ctest", "the loader of the tests is not the one found (LD_LIBRARY_PATH)");
    constexpr const char* radv = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json";
    if (!std::filesystem::exists(radv))
        TOSAVK_MISSING("radv", "there is no " + std::string(radv) + " (Debian's mesa-vulkan-drivers for amd64)");
    const test::ScopedEnv files("VK_DRIVER_FILES", radv), old_files("VK_ICD_FILENAMES", radv),
        family("RADV_FORCE_FAMILY", "NAVI21");
    const auto use = [] {
        tosavk_device_options options{};
        options.no_cache = options.compile_only = options.inspect = 1;
        const cpp::Device device(options);
        auto told = nlohmann::json::parse(
            cpp::Executable(device, cpp::Graph::problem("add f32 64")).print(TOSAVK_EXECUTABLE_ASSEMBLY));
        for (auto& dispatch : told) dispatch.erase("compile_ms");
        return told;
    };
    const std::set<std::string> names = fail_each(loader, use, 0);
    for (const char* name : {"vkGetPipelineExecutablePropertiesKHR", "vkGetPipelineExecutableStatisticsKHR",
                             "vkGetPipelineExecutableInternalRepresentationsKHR"})
        EXPECT_TRUE(names.contains(name)) << name;
}

}  // namespace
