// Every Vulkan call that can fail fails once, in a shim between the library and the driver: an error with a sentence
// each time, nothing leaked, and the same handles are right afterwards. Through the public headers, on a lent device.
#include "support/driver.hpp"
#include "support/own_vulkan.hpp"
#include "support/validation.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace {

using namespace tosavk;
namespace cpp = tosavk::cpp;
using Bytes = std::vector<std::byte>;
using test::OwnVulkan;

// What the library calls of a device and may be refused, and what it destroys.
// clang-format off
#define SHIM_CALLS(X) \
    X(vkCreateBuffer) X(vkCreateBufferView) X(vkCreateCommandPool) X(vkCreateComputePipelines) \
    X(vkCreateDescriptorPool) X(vkCreateDescriptorSetLayout) X(vkCreateFence) X(vkCreatePipelineCache) \
    X(vkCreatePipelineLayout) X(vkCreateQueryPool) X(vkCreateSemaphore) X(vkCreateShaderModule) X(vkAllocateMemory) \
    X(vkAllocateDescriptorSets) X(vkAllocateCommandBuffers) X(vkBeginCommandBuffer) X(vkEndCommandBuffer) \
    X(vkBindBufferMemory) X(vkMapMemory) X(vkQueueSubmit) X(vkWaitForFences) X(vkResetFences) X(vkWaitSemaphores) \
    X(vkWaitSemaphoresKHR) X(vkGetQueryPoolResults) X(vkFlushMappedMemoryRanges) X(vkInvalidateMappedMemoryRanges) \
    X(vkGetSemaphoreCounterValue) X(vkGetSemaphoreCounterValueKHR) X(vkSignalSemaphore) X(vkSignalSemaphoreKHR) \
    X(vkGetPipelineCacheData) X(vkMergePipelineCaches) X(vkQueueWaitIdle) X(vkGetMemoryFdKHR) X(vkGetSemaphoreFdKHR) \
    X(vkImportSemaphoreFdKHR) X(vkGetMemoryHostPointerPropertiesEXT)
#define SHIM_DESTROYS(X) \
    X(vkDestroyBuffer) X(vkDestroyBufferView) X(vkDestroyCommandPool) X(vkDestroyPipeline) X(vkDestroyDescriptorPool) \
    X(vkDestroyDescriptorSetLayout) X(vkDestroyFence) X(vkDestroyPipelineCache) X(vkDestroyPipelineLayout) \
    X(vkDestroyQueryPool) X(vkDestroySemaphore) X(vkDestroyShaderModule) X(vkFreeMemory)
// clang-format on

/// The shim: counts, fails, and passes on. One at a time.
struct Shim {
    PFN_vkGetDeviceProcAddr next = nullptr;
    std::mutex mutex;
    int until_fault = 0;  ///< 0: no call fails
    VkResult fault = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    std::string failed;               ///< the call that did
    std::function<void()> when_lost;  ///< a device that is lost runs nothing any more
    std::set<std::string> seen;
    std::map<std::string, int> alive;

    bool take(const char* name) {
        const std::lock_guard lock(mutex);
        seen.insert(name);
        if (!failed.empty() && fault == VK_ERROR_DEVICE_LOST) return true;  // and it stays lost
        if (until_fault == 0 || --until_fault > 0) return false;
        failed = name;
        if (fault == VK_ERROR_DEVICE_LOST) when_lost();
        return true;
    }
    /// "vkCreateBuffer" and "vkDestroyBuffer" are about a "Buffer".
    void count(std::string name, int change) {
        for (const char* verb : {"vkCreateCompute", "vkCreate", "vkDestroy", "vkAllocate", "vkFree"}) {
            if (name.rfind(verb, 0) != 0) continue;
            name = name.substr(std::string(verb).size());
            break;
        }
        if (name == "Pipelines") name = "Pipeline";
        if (name == "DescriptorSets" || name == "CommandBuffers") return;  // these go with their pools
        const std::lock_guard lock(mutex);
        alive[name] += change;
    }
    int all_alive() {
        const std::lock_guard lock(mutex);
        int sum = 0;
        for (const auto& [name, number] : alive) sum += number;
        return sum;
    }
    std::string text() {
        std::string result;
        for (const auto& [name, number] : alive) {
            if (number != 0) result += name + " " + std::to_string(number) + " ";
        }
        return result;
    }
};

Shim shim;

struct Real {
#define MEMBER(name) PFN_##name name = nullptr;
    SHIM_CALLS(MEMBER)
    SHIM_DESTROYS(MEMBER)
#undef MEMBER
};

Real real;

template <class F> struct Wrapper;
template <class... A> struct Wrapper<VkResult(VKAPI_PTR*)(A...)> {
    template <auto Member, const char* Name> static VKAPI_ATTR VkResult VKAPI_CALL call(A... arguments) {
        if (shim.take(Name)) return shim.fault;
        const VkResult result = (real.*Member)(arguments...);
        const std::string_view name = Name;
        if (result >= VK_SUCCESS && (name.starts_with("vkCreate") || name.starts_with("vkAllocate")))
            shim.count(Name, 1);
        return result;
    }
};
template <class... A> struct Wrapper<void(VKAPI_PTR*)(A...)> {
    template <auto Member, const char* Name> static VKAPI_ATTR void VKAPI_CALL call(A... arguments) {
        shim.count(Name, -1);
        (real.*Member)(arguments...);
    }
};

#define NAME(name) constexpr char name_of_##name[] = #name;
SHIM_CALLS(NAME)
SHIM_DESTROYS(NAME)
#undef NAME

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char* name) {
    const PFN_vkVoidFunction found = shim.next(device, name);
    if (!found) return nullptr;
#define LOOK(function)                                                            \
    if (std::string_view(name) == #function) {                                    \
        real.function = reinterpret_cast<PFN_##function>(found);                  \
        return reinterpret_cast<PFN_vkVoidFunction>(                              \
            &Wrapper<PFN_##function>::call<&Real::function, name_of_##function>); \
    }
    SHIM_CALLS(LOOK)
    SHIM_DESTROYS(LOOK)
#undef LOOK
    return found;
}

/// On a device with timeline semaphores and whatever else there is, and on one made with nothing.
class FailingCalls : public ::testing::TestWithParam<bool> {
protected:
    void SetUp() override {
        TOSAVK_NEEDS_DRIVER();
        own_ = std::make_unique<OwnVulkan>(GetParam());
        shim.next = own_->lent().get_device_proc_addr;
        shim.alive.clear();
        shim.seen.clear();
        shim.failed.clear();
        shim.when_lost = [this] { own_->table.vkQueueWaitIdle(own_->queue); };
        fail_with(VK_ERROR_OUT_OF_DEVICE_MEMORY, TOSAVK_ERROR_OUT_OF_MEMORY);
    }
    /// From now on calls fail so, and the library's are to say this.
    void fail_with(VkResult fault, tosavk_status status) {
        shim.fault = fault;
        status_ = status;
    }
    cpp::Device adopt(bool locked = true) {
        tosavk_vulkan_device lent = own_->lent();
        lent.get_device_proc_addr = get_device_proc_addr;
        if (!locked) lent.lock_queue = lent.unlock_queue = nullptr;
        return cpp::adopt_device(lent);
    }
    /// Calls f with the first call failing, then the second, until none fails; afterwards(call) each time but the last.
    template <class F, class G> int each_fault(F f, G afterwards) {
        for (int n = 1;; ++n) {
            shim.failed.clear();
            shim.until_fault = n;
            std::string sentence;
            tosavk_status status = TOSAVK_OK;
            try {
                f();
            } catch (const cpp::Error& e) {
                sentence = e.what();
                status = e.status();
            }
            shim.until_fault = 0;
            if (shim.failed.empty()) {
                EXPECT_EQ(status, TOSAVK_OK) << sentence;
                return n - 1;
            }
            const std::string failed = std::exchange(shim.failed, "");
            const bool harmless = failed == "vkGetPipelineCacheData" || failed == "vkMergePipelineCaches";
            // Of these, some are made while a device or a semaphore goes, which nothing stops.
            const bool either = failed == "vkQueueWaitIdle" || failed == "vkGetSemaphoreCounterValue" ||
                                failed == "vkGetSemaphoreCounterValueKHR" ||
                                (harmless && shim.fault == VK_ERROR_DEVICE_LOST);  // what comes next fails
            EXPECT_TRUE(either || (status != TOSAVK_OK) != harmless) << failed << ", call " << n << ": no error";
            if (status != TOSAVK_OK) {
                EXPECT_EQ(status, status_) << failed << ": " << sentence;
                EXPECT_NE(sentence.find(' '), std::string::npos) << failed << ": '" << sentence << "'";
            }
            afterwards(failed);
            if (HasFatalFailure() || n > 5000) return n;
        }
    }

    std::unique_ptr<OwnVulkan> own_;
    tosavk_status status_ = TOSAVK_ERROR_OUT_OF_MEMORY;
};

const char* const line = "conv2d i8 1x9x9x3 5x3x3 s1 p1 rescale clamp";

TEST_P(FailingCalls, WhileHandlesAreMade) {
    const cpp::Graph graph = cpp::Graph::problem(line);
    const Bytes input = graph.random_input(0, 1);
    Bytes wanted(graph.output(0).size_bytes);
    const auto make_and_run = [&](bool profile) {
        const cpp::Device device = adopt();
        const cpp::Executable executable(device, graph, false);
        cpp::Context context(executable, profile);
        cpp::Buffer buffer(device, input.size()), staging(device, 64, TOSAVK_MEMORY_HOST);
        try {
            cpp::Semaphore(device).signal(1);
        } catch (const cpp::Error& e) {
            if (e.status() != TOSAVK_ERROR_UNSUPPORTED) throw;
        }
        buffer.upload(input);
        context.bind_input(0, buffer);
        context.run();
        Bytes got(wanted.size());
        context.get_output(0, got);
        wanted = got;
        cpp::BindingSet set(executable);
        const tosavk_vulkan_memory_needs needs = cpp::vulkan_memory(executable);
        cpp::Buffer arena(device, needs.arena_bytes_with_copies), out(device, wanted.size());
        const tosavk_vulkan_range from = cpp::vulkan_range(buffer), to = cpp::vulkan_range(out);
        set.write(std::span(&from, 1), std::span(&to, 1), cpp::vulkan_range(arena));
    };
    const std::pair<VkResult, tosavk_status> faults_of_all[] = {
        {VK_ERROR_OUT_OF_DEVICE_MEMORY, TOSAVK_ERROR_OUT_OF_MEMORY},
        {VK_ERROR_OUT_OF_HOST_MEMORY, TOSAVK_ERROR_OUT_OF_MEMORY},
        {VK_ERROR_INITIALIZATION_FAILED, TOSAVK_ERROR_DEVICE},
        {VK_ERROR_DEVICE_LOST, TOSAVK_ERROR_DEVICE_LOST}};
    for (const auto& [fault, status] : faults_of_all) {
        // What the library makes of the others hangs little on the driver: its variants leave them to the default one.
        if (std::getenv("TOSAVK_TEST_PART") && fault != VK_ERROR_OUT_OF_DEVICE_MEMORY) continue;
        SCOPED_TRACE(testing::Message() << "VkResult " << fault);
        fail_with(fault, status);
        const int faults = each_fault([&] { make_and_run(true); },
                                      [&](const std::string& call) {
                                          EXPECT_EQ(shim.all_alive(), 0) << "after " << call << ": " << shim.text();
                                          shim.alive.clear();
                                      });
        std::cout << faults << " calls failed, of " << shim.seen.size() << " functions\n";
        EXPECT_GT(faults, 40);
        EXPECT_EQ(shim.all_alive(), 0) << shim.text();
    }
    for (const char* name : {"vkCreateBuffer", "vkAllocateMemory", "vkQueueSubmit", "vkCreateComputePipelines",
                             "vkBeginCommandBuffer", "vkCreateDescriptorPool"})
        EXPECT_TRUE(shim.seen.contains(name)) << name;
}

TEST_P(FailingCalls, WhileHandlesAreUsed) {
    cpp::Builder b;  // with a decision of the host in the middle
    const auto condition = b.input("c", {TOSAVK_BOOL, {1}}), x = b.input("x", {TOSAVK_FP32, {64}});
    cpp::Builder yes = b.region("yes"), no = b.region("no");
    const auto y = yes.input("x", {TOSAVK_FP32, {64}}), z = no.input("x", {TOSAVK_FP32, {64}});
    yes.output(yes.node1("ADD", {y, y}));
    no.output(no.node1("ABS", {z}));
    const cpp::Builder::Value in[] = {condition, x};
    const cpp::Builder* const regions[] = {&yes, &no};
    b.output(b.node("COND_IF", in, {}, {{TOSAVK_FP32, {64}}}, "", regions)[0]);
    const cpp::Graph decides = b.finish(), plain = cpp::Graph::problem(line);
    const cpp::Device device = adopt(false);
    const cpp::Executable first(device, plain, false), second(device, decides);
    cpp::Context context(first), decision(second);
    const Bytes input = plain.random_input(0, 1), other = decides.random_input(1, 2), truth(1, std::byte{1});
    const Bytes wanted = plain.reference_run(std::vector<Bytes>{input})[0];
    const Bytes doubled = decides.reference_run(std::vector<Bytes>{truth, other})[0];
    cpp::Buffer odd(device, input.size() + 1), out(device, wanted.size()), result(device, 256);
    const auto use = [&] {
        const cpp::Buffer part = odd.slice(1, input.size());  // copied, since it is not aligned
        odd.upload(input, 1);
        context.bind_input(0, part);
        context.bind_output(0, out);
        context.submit();
        decision.set_input(0, truth);
        decision.set_input(1, other);
        decision.bind_output(0, result);
        decision.submit();
        decision.wait();
        context.wait();
        EXPECT_TRUE(out.wait_for(std::chrono::hours(1)));
        Bytes got(wanted.size()), got_too(256);
        out.download(got);
        result.download(got_too);
        EXPECT_EQ(got, wanted);
        EXPECT_EQ(got_too, doubled);
    };
    /// Whatever was left running ends.
    const auto settle = [&] {
        for (cpp::Context* one : {&context, &decision}) {
            try {
                one->wait();
            } catch (const cpp::Error&) {}
        }
    };
    use();
    const int before = shim.all_alive();
    for (const bool memory : {true, false}) {
        if (!memory && std::getenv("TOSAVK_TEST_PART")) continue;
        if (!memory) fail_with(VK_ERROR_INITIALIZATION_FAILED, TOSAVK_ERROR_DEVICE);
        const int faults = each_fault(use, [&](const std::string& call) {
            SCOPED_TRACE("after " + call);
            settle();
            use();
        });
        std::cout << faults << " calls failed\n";
        EXPECT_GT(faults, 5);
        EXPECT_EQ(shim.all_alive(), before) << shim.text();
    }
}

/// Nobody need wait again for a run whose wait has failed: whatever comes next waits for what it has left.
TEST_P(FailingCalls, AFailedRunIsOver) {
    const cpp::Graph graph = cpp::Graph::problem("conv2d i8 1x33x33x8 16x3x3 s1 p1 rescale clamp");
    const cpp::Device device = adopt(false);
    const cpp::Executable executable(device, graph, false);
    const std::vector<Bytes> inputs{graph.random_input(0, 1)}, others{graph.random_input(0, 2)};
    const Bytes wanted = graph.reference_run(inputs)[0], wanted_of_others = graph.reference_run(others)[0];
    cpp::Context context(executable, true);
    cpp::Buffer from(device, others[0].size()), to(device, wanted.size());
    from.upload(others[0]);
    for (const bool callback : {false, true}) {
        tosavk_submit_options options{};
        if (callback) options.done = [](void*, tosavk_status) {};
        const auto result = [&] {
            Bytes got(wanted.size());
            context.get_output(0, got);
            return got;
        };
        const auto use = [&] {
            context.set_input(0, inputs[0]);
            context.submit(options);
            context.wait();
            EXPECT_EQ(result(), wanted);
        };
        use();
        bool bound = false;
        const int faults = each_fault(use, [&](const std::string& call) {
            SCOPED_TRACE(testing::Message() << "after " << call << ", callback " << callback);
            if (bound) context.bind_output(0, to);
            else context.unbind_output(0);
            bound = !bound;
            context.bind_input(0, from);
            context.run();
            EXPECT_EQ(result(), wanted_of_others);
        });
        EXPECT_GE(faults, 3);
    }
}

TEST_P(FailingCalls, ABindingSetThatIsNotWrittenStaysAsItWas) {
    const cpp::Graph graph = cpp::Graph::problem(line);
    const cpp::Device device = adopt(false);
    const cpp::Executable executable(device, graph, false);
    const Bytes input = graph.random_input(0, 1), wanted = graph.reference_run(std::vector<Bytes>{input})[0];
    const std::size_t span = (2 * wanted.size() + 3) / 4 * 4;  // whole words
    cpp::Buffer from(device, input.size()), before(device, wanted.size()), after(device, span);
    cpp::Buffer arena(device, cpp::vulkan_memory(executable).arena_bytes_with_copies);
    from.upload(input);
    const tosavk_vulkan_range in = cpp::vulkan_range(from), out = cpp::vulkan_range(before);
    tosavk_vulkan_range other = cpp::vulkan_range(after);
    std::int64_t strides[4];  // every second byte: a layout and descriptors of its own
    std::int64_t stride = 2;
    for (std::size_t d = 4; d-- > 0; stride *= graph.output(0).dims[d]) strides[d] = stride;
    ASSERT_EQ(graph.output(0).rank, 4u);
    for (const bool strided : {false, true}) {
        other.strides = strided ? strides : nullptr;
        // One that was recorded may not be written anew with copies where sets are updated after binding.
        std::optional<cpp::BindingSet> set;
        const auto make = [&] {
            set.emplace(executable);
            set->write(std::span(&in, 1), std::span(&out, 1), cpp::vulkan_range(arena));
        };
        make();
        const auto run = [&] { own_->run([&](VkCommandBuffer commands) { set->record(commands); }); };
        Bytes got(wanted.size()), apart(span);
        const int faults =
            each_fault([&] { set->write(std::span(&in, 1), std::span(&other, 1), cpp::vulkan_range(arena)); },
                       [&](const std::string& call) {
                           SCOPED_TRACE(testing::Message() << "after " << call << ", strided " << strided);
                           before.fill(0x55, 0, wanted.size());
                           run();
                           before.download(got);
                           EXPECT_EQ(got, wanted);
                           make();
                       });
        std::cout << faults << " calls failed\n";
        EXPECT_GE(faults, strided ? 3 : 0);
        run();
        after.download(apart);
        for (std::size_t k = 0; k < wanted.size(); ++k) got[k] = apart[strided ? 2 * k : k];
        EXPECT_EQ(got, wanted);
    }
}

/// Calls f where the device can do such a thing: else it must say UNSUPPORTED, and false is returned.
template <class F> bool where_supported(F f) {
    try {
        f();
        return true;
    } catch (const cpp::Error& error) {
        if (error.status() != TOSAVK_ERROR_UNSUPPORTED) throw;
        return false;
    }
}

struct Descriptor {
    std::int32_t number;
    explicit Descriptor(std::int32_t given) : number(given) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { ::close(number); }
};

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_P(FailingCalls, WhileMemoryAndSemaphoresAreShared) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(page, page), &std::free);
    const std::span<std::byte> pages(static_cast<std::byte*>(memory.get()), page);
    const Bytes data(100, std::byte{7});
    bool host = false, descriptors = false, semaphores = false;
    const auto share = [&] {
        const cpp::Device device = adopt(false);
        host = where_supported([&] {
            cpp::Buffer buffer = cpp::Buffer::import_host(device, pages);
            buffer.upload(data);
            buffer.map();
            EXPECT_TRUE(std::equal(data.begin(), data.end(), pages.begin()));
        });
        descriptors = where_supported([&] {
            cpp::Buffer mine(device, data.size(), TOSAVK_MEMORY_DEVICE, true);
            mine.upload(data);
            const Descriptor fd(mine.export_fd());
            tosavk_buffer_options options{};
            options.size_bytes = data.size();
            options.allocation_bytes = mine.info().allocation_bytes;
            options.memory_type_bits = mine.info().memory_type_bits;
            const cpp::Buffer theirs = cpp::Buffer::import_fd(device, fd.number, options);
            Bytes got(data.size());
            theirs.download(got);
            EXPECT_EQ(got, data);
        });
        semaphores = where_supported([&] {
            const cpp::Semaphore mine(device, 3, true);
            const Descriptor fd(mine.export_fd());
            EXPECT_EQ(cpp::Semaphore::import_fd(device, fd.number).value(), 3u);
        });
    };
    share();
    const std::size_t before = open_descriptors();
    const int faults = each_fault(share, [&](const std::string& call) {
        EXPECT_EQ(shim.all_alive(), 0) << "after " << call << ": " << shim.text();
        EXPECT_EQ(open_descriptors(), before) << "after " << call;
        shim.alive.clear();
    });
    std::cout << faults << " calls failed; memory of the host " << host << ", descriptors of memory " << descriptors
              << ", of semaphores " << semaphores << "\n";
    EXPECT_GT(faults, 0);
    EXPECT_EQ(shim.seen.contains("vkGetMemoryHostPointerPropertiesEXT"), host);
    EXPECT_EQ(shim.seen.contains("vkGetMemoryFdKHR"), descriptors);
    EXPECT_EQ(shim.seen.contains("vkGetSemaphoreFdKHR"), semaphores);
    EXPECT_EQ(shim.seen.contains("vkImportSemaphoreFdKHR"), semaphores);
    EXPECT_FALSE(!GetParam() && (host || descriptors || semaphores)) << "its extensions were not enabled";
}

INSTANTIATE_TEST_SUITE_P(Devices, FailingCalls, ::testing::Bool(), [](const auto& which) {
    return which.param ? std::string("AllFeatures") : std::string("NoFeatures");
});

}  // namespace
