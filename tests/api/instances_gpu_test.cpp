// Two libraries in one process, each with devices of its own, through nothing but their tables of functions.
#include "support/driver.hpp"
#include "tosavk/api.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;

/// A copy of the library: the loader takes two files for two libraries.
class Library {
public:
    explicit Library(fs::path file) : file_(std::move(file)) {
        fs::copy_file(std::getenv("TOSAVK_LIBRARY"), file_);
        library_ = dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library_) {
            ADD_FAILURE() << dlerror();
            return;
        }
        const auto get = reinterpret_cast<decltype(&tosavk_get_api)>(dlsym(library_, "tosavk_get_api"));
        if (get) api = get(TOSAVK_API_VERSION);
        EXPECT_TRUE(api && api->struct_size == sizeof(tosavk_api));
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    ~Library() {
        if (!library_) return;
        dlclose(library_);
        EXPECT_EQ(dlopen(file_.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr) << "it stays";
    }

    const tosavk_api* api = nullptr;

private:
    fs::path file_;
    void* library_ = nullptr;
};

/// A network on a device of one library.
class Host {
public:
    explicit Host(const tosavk_api& api) : api_(api) {
        right(api.device_open(nullptr, &device, &error_));
        right(api.graph_load_problem("conv2d i8 1x9x9x8 16x3x3 s1 p1 rescale clamp", nullptr, &graph, &error_));
        right(api.compile(device, graph, nullptr, &executable, &error_));
        right(api.context_create(executable, nullptr, &context, &error_));
    }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    ~Host() {
        api_.context_release(context);
        api_.executable_release(executable);
        api_.graph_release(graph);
        api_.device_release(device);
    }

    void right(tosavk_status status) {
        EXPECT_EQ(status, TOSAVK_OK) << api_.error_message(error_);
        if (status != TOSAVK_OK) api_.error_release(error_);
        error_ = nullptr;
    }
    std::vector<char> random(std::uint64_t seed) {
        std::vector<char> bytes(648);
        right(api_.random_input(graph, 0, seed, bytes.data(), bytes.size(), &error_));
        return bytes;
    }
    std::vector<char> result() {
        std::vector<char> bytes(1296);
        right(api_.context_get_output(context, 0, bytes.data(), bytes.size(), &error_));
        return bytes;
    }
    std::vector<char> run(std::uint64_t seed) {
        const std::vector<char> bytes = random(seed);
        right(api_.context_set_input(context, 0, bytes.data(), bytes.size(), &error_));
        right(api_.context_run(context, &error_));
        return result();
    }
    std::vector<char> reference(std::uint64_t seed) {
        const std::vector<char> bytes = random(seed);
        std::vector<char> expected(1296);
        const void* const in[] = {bytes.data()};
        void* const out[] = {expected.data()};
        right(api_.reference_run(graph, in, out, &error_));
        return expected;
    }
    /// Null where the device neither gives nor takes memory.
    tosavk_buffer* exportable(const std::vector<char>& bytes) {
        tosavk_buffer_options options{};
        options.struct_size = sizeof options;
        options.size_bytes = bytes.size();
        options.exportable = 1;
        tosavk_buffer* buffer = nullptr;
        if (api_.buffer_create(device, &options, &buffer, &error_) == TOSAVK_ERROR_UNSUPPORTED) {
            api_.error_release(error_);
            error_ = nullptr;
            return nullptr;
        }
        right(api_.buffer_upload(buffer, 0, bytes.data(), bytes.size(), &error_));
        return buffer;
    }

    tosavk_device* device = nullptr;
    tosavk_graph* graph = nullptr;
    tosavk_executable* executable = nullptr;
    tosavk_context* context = nullptr;

private:
    const tosavk_api& api_;
    tosavk_error* error_ = nullptr;
};

class InstancesGpu : public ::testing::Test {
protected:
    void SetUp() override {
        TOSAVK_NEEDS_DRIVER();
        TOSAVK_NEEDS_VARIABLE("TOSAVK_LIBRARY");
        std::string folder = (fs::temp_directory_path() / "tosavk-instances-XXXXXX").string();
        ASSERT_NE(mkdtemp(folder.data()), nullptr);
        folder_ = folder;
        first_ = std::make_unique<Library>(folder_ / "first.so");
        second_ = std::make_unique<Library>(folder_ / "second.so");
        ASSERT_TRUE(first_->api && second_->api);
    }
    void TearDown() override {
        first_.reset();
        second_.reset();
        if (!folder_.empty()) fs::remove_all(folder_);
    }

    fs::path folder_;
    std::unique_ptr<Library> first_, second_;
};

TEST_F(InstancesGpu, EachRunsAsIfItWereAlone) {
    EXPECT_NE(first_->api, second_->api);
    EXPECT_NE(first_->api->device_open, second_->api->device_open);
    Host host(*second_->api);
    {
        Host other(*first_->api);
        const auto run = [](Host& on) {
            for (std::uint64_t seed = 1; seed <= 5; ++seed) EXPECT_EQ(on.run(seed), on.reference(seed)) << seed;
        };
        std::thread beside([&] { run(other); });
        run(host);
        beside.join();
    }
    first_.reset();
    EXPECT_EQ(host.run(6), host.reference(6)) << "the other library is gone";
}

TEST_F(InstancesGpu, TheLogsAreTheirOwn) {
    std::atomic<int> lines{0};
    tosavk_error* error = nullptr;
    const auto count = [](void* user, const char*, const char*) { ++*static_cast<std::atomic<int>*>(user); };
    ASSERT_EQ(first_->api->set_log("all", count, &lines, &error), TOSAVK_OK);
    { Host host(*second_->api); }
    EXPECT_EQ(lines, 0);
    { Host host(*first_->api); }
    EXPECT_GT(lines, 0);
    ASSERT_EQ(first_->api->set_log(nullptr, nullptr, nullptr, &error), TOSAVK_OK);
}

TEST_F(InstancesGpu, MemoryOfOneIsReadByTheOther) {
    Host giver(*first_->api), taker(*second_->api);
    const std::vector<char> input = giver.random(9);
    tosavk_buffer* given = giver.exportable(input);
    if (!given) return;
    std::int32_t fd = -1;
    tosavk_error* error = nullptr;
    giver.right(first_->api->buffer_export_fd(given, &fd, &error));
    tosavk_buffer_options options{};
    options.struct_size = sizeof options;
    options.size_bytes = input.size();
    tosavk_buffer* taken = nullptr;
    taker.right(second_->api->buffer_import_fd(taker.device, fd, &options, &taken, &error));
    close(fd);
    taker.right(second_->api->context_bind_input(taker.context, 0, taken, 0, &error));
    taker.right(second_->api->context_run(taker.context, &error));
    EXPECT_EQ(taker.result(), giver.reference(9));
    second_->api->buffer_release(taken);
    first_->api->buffer_release(given);
}

}  // namespace
