// The library on an application's own device, and graphs recorded into its command buffers.
// Longer than 500 lines: one case after another.
#include "support/driver.hpp"
#include "support/own_vulkan.hpp"
#include "support/small_models.hpp"
#include "support/validation.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <thread>

namespace {

using namespace tosavk;
namespace cpp = tosavk::cpp;
using Bytes = std::vector<std::byte>;
using test::OwnVulkan;
using Memory = test::OwnVulkan::Memory;

class VulkanGpu : public ::testing::Test {
protected:
    void SetUp() override {
        TOSAVK_NEEDS_DRIVER();
        own_ = std::make_unique<OwnVulkan>();
    }
    void TearDown() override { EXPECT_EQ(own_ ? own_->messages.load() : 0, 0); }

    std::unique_ptr<OwnVulkan> own_;
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

std::vector<Bytes> random_inputs(const cpp::Graph& graph, std::uint64_t seed) {
    std::vector<Bytes> inputs;
    for (std::uint32_t k = 0; k < graph.input_count(); ++k) inputs.push_back(graph.random_input(k, seed));
    return inputs;
}

std::vector<Bytes> run(const cpp::Executable& executable, const cpp::Graph& graph, const std::vector<Bytes>& inputs) {
    cpp::Context context(executable);
    for (std::uint32_t k = 0; k < inputs.size(); ++k) context.set_input(k, inputs[k]);
    context.run();
    std::vector<Bytes> outputs;
    for (std::uint32_t k = 0; k < graph.output_count(); ++k) {
        outputs.emplace_back(graph.output(k).size_bytes);
        context.get_output(k, outputs.back());
    }
    return outputs;
}

TEST_F(VulkanGpu, ContextsRunOnALentDevice) {
    const cpp::Graph graph = cpp::Graph::load(test::small_int8_model());
    const auto inputs = random_inputs(graph, 4);
    for (const bool features : {true, false}) {
        OwnVulkan own(features);
        {
            const cpp::Device device = cpp::adopt_device(own.lent());
            EXPECT_EQ(run(cpp::Executable(device, graph), graph, inputs), graph.reference_run(inputs));
            EXPECT_EQ(device.memory().in_use, 0u);
        }
        EXPECT_GT(own.queue_uses, 0);
        EXPECT_EQ(own.messages, 0);
        own.run([](VkCommandBuffer) {});  // the device is still there
    }
}

TEST_F(VulkanGpu, WhatWasNotEnabledIsNotUsed) {
    // As the library's own device has it, and with nothing.
    const cpp::Graph graph = cpp::Graph::problem("conv2d i8 1x9x9x8 16x3x3 s1 p1 rescale clamp");
    const auto glsl = [&](const cpp::Device& device) {
        return cpp::Executable(device, graph).print(TOSAVK_EXECUTABLE_GLSL);
    };
    OwnVulkan bare(false);
    EXPECT_EQ(glsl(cpp::adopt_device(own_->lent())), glsl(cpp::Device()));
    EXPECT_EQ(glsl(cpp::adopt_device(bare.lent())).find("types_int64 : require"), std::string::npos);
}

TEST_F(VulkanGpu, TheBudgetIsKnownWhereItsExtensionIsEnabled) {
    OwnVulkan bare(false);
    EXPECT_EQ(cpp::adopt_device(own_->lent()).memory().budget != 0, cpp::Device().memory().budget != 0);
    EXPECT_EQ(cpp::adopt_device(bare.lent()).memory().budget, 0u);
}

/// Gives memory out of one large block each, and counts.
struct Allocator {
    OwnVulkan& own;
    std::set<VkDeviceMemory> alive{};
    std::size_t given = 0;
    bool refuse = false;

    static VkResult allocate(void* self, const VkMemoryRequirements* needs, std::uint32_t type, std::int32_t mapped,
                             tosavk_vulkan_memory* memory) {
        auto& allocator = *static_cast<Allocator*>(self);
        EXPECT_EQ(memory->struct_size, sizeof *memory);
        if (allocator.refuse) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
        const VolkDeviceTable& vk = allocator.own.table;
        VkMemoryAllocateInfo info{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
        const VkDeviceSize before = (4096 + needs->alignment - 1) / needs->alignment * needs->alignment;
        info.allocationSize = before + needs->size + 4096;
        info.memoryTypeIndex = type;
        const VkResult result = vk.vkAllocateMemory(allocator.own.device, &info, nullptr, &memory->memory);
        if (result < VK_SUCCESS) return result;
        memory->offset = before;
        if (mapped != 0) {
            void* bytes = nullptr;
            test::require(vk.vkMapMemory(allocator.own.device, memory->memory, 0, VK_WHOLE_SIZE, 0, &bytes), "map");
            memory->mapped = static_cast<std::byte*>(bytes) + before;
        }
        memory->cookie = self;
        allocator.alive.insert(memory->memory);
        ++allocator.given;
        return VK_SUCCESS;
    }
    static void release(void* self, const tosavk_vulkan_memory* memory) {
        auto& allocator = *static_cast<Allocator*>(self);
        EXPECT_EQ(memory->struct_size, sizeof *memory);
        EXPECT_EQ(memory->cookie, self);
        EXPECT_EQ(allocator.alive.erase(memory->memory), 1u);
        allocator.own.table.vkFreeMemory(allocator.own.device, memory->memory, nullptr);
    }
};

TEST_F(VulkanGpu, MemoryComesFromTheOwnersAllocator) {
    Allocator allocator{*own_};
    const cpp::Graph graph = cpp::Graph::load(test::small_float_model());
    const auto inputs = random_inputs(graph, 4);
    {
        tosavk_vulkan_device lent = own_->lent();
        lent.allocate = Allocator::allocate;
        error_of(TOSAVK_ERROR_USAGE, [&] { cpp::adopt_device(lent); });
        lent.release = Allocator::release;
        lent.user = &allocator;
        lent.lock_queue = lent.unlock_queue = nullptr;
        const cpp::Device device = cpp::adopt_device(lent);
        EXPECT_EQ(run(cpp::Executable(device, graph), graph, inputs), graph.reference_run(inputs));
        for (const auto kind : {TOSAVK_MEMORY_DEVICE, TOSAVK_MEMORY_SHARED, TOSAVK_MEMORY_HOST}) {
            cpp::Buffer buffer(device, 1000, kind);
            buffer.upload(inputs[0]);
            Bytes back(inputs[0].size());
            buffer.download(back);
            EXPECT_EQ(back, inputs[0]);
        }
        allocator.refuse = true;
        error_of(TOSAVK_ERROR_OUT_OF_MEMORY, [&] { cpp::Buffer(device, 1000); });
        allocator.refuse = false;
    }
    EXPECT_GT(allocator.given, 3u);
    EXPECT_TRUE(allocator.alive.empty());
}

TEST_F(VulkanGpu, WrongDevicesAreRefused) {
    tosavk_vulkan_device lent = own_->lent();
    const auto refuse = [&](auto change, tosavk_status status) {
        tosavk_vulkan_device wrong = lent;
        change(wrong);
        error_of(status, [&] { cpp::adopt_device(wrong); });
    };
    refuse([](auto& d) { d.instance = VK_NULL_HANDLE; }, TOSAVK_ERROR_USAGE);
    refuse([](auto& d) { d.physical_device = VK_NULL_HANDLE; }, TOSAVK_ERROR_USAGE);
    refuse([](auto& d) { d.device = VK_NULL_HANDLE; }, TOSAVK_ERROR_USAGE);
    refuse([](auto& d) { d.get_instance_proc_addr = nullptr; }, TOSAVK_ERROR_USAGE);
    refuse([](auto& d) { d.get_device_proc_addr = nullptr; }, TOSAVK_ERROR_USAGE);
    refuse([](auto& d) { d.create_info = nullptr; }, TOSAVK_ERROR_USAGE);
    refuse([](auto& d) { d.unlock_queue = nullptr; }, TOSAVK_ERROR_USAGE);
    refuse([](auto& d) { d.queue_family = 99; }, TOSAVK_ERROR_NO_DEVICE);
    refuse([](auto& d) { d.api_version = VK_API_VERSION_1_0; }, TOSAVK_ERROR_NO_DEVICE);
    const PFN_vkGetInstanceProcAddr knows_nothing = [](VkInstance, const char*) -> PFN_vkVoidFunction {
        return nullptr;
    };
    refuse([&](auto& d) { d.get_instance_proc_addr = knows_nothing; }, TOSAVK_ERROR_NO_DEVICE);
    const PFN_vkGetDeviceProcAddr nor_this = [](VkDevice, const char*) -> PFN_vkVoidFunction { return nullptr; };
    refuse([&](auto& d) { d.get_device_proc_addr = nor_this; }, TOSAVK_ERROR_NO_DEVICE);

    tosavk_device_options options{};
    options.struct_size = sizeof options;
    options.name = "llvmpipe";
    tosavk_device* device = nullptr;
    EXPECT_EQ(tosavk_device_adopt(&lent, &options, &device, nullptr), TOSAVK_ERROR_USAGE);
    error_of(TOSAVK_ERROR_USAGE, [&] { cpp::adopt_device(lent, options); });
    options.name = nullptr;
    options.no_cache = 1;
    EXPECT_FALSE(cpp::adopt_device(lent, options).name().empty());
    EXPECT_EQ(tosavk_get_vulkan_api(1)->device_adopt, tosavk_device_adopt);
    EXPECT_EQ(tosavk_get_vulkan_api(2), nullptr);
}

// ---- recorded runs --------------------------------------------------------------------------------------------------

/// Every tensor in memory of the application between guard bytes, `shift` bytes from the device's alignment.
class Placed {
public:
    static constexpr std::uint64_t guard = 512;

    Placed(OwnVulkan& own, const cpp::Executable& executable, const cpp::Graph& graph, const std::vector<Bytes>& inputs,
           std::uint64_t shift) {
        const auto place = [&](const tosavk_binding_info& info, std::vector<Memory>& memories,
                               std::vector<tosavk_vulkan_range>& ranges) {
            memories.emplace_back(own, guard + shift + info.size_bytes + guard, std::byte{0xa5});
            ranges.push_back(memories.back().range(guard + shift, info.size_bytes));
        };
        for (std::uint32_t k = 0; k < inputs.size(); ++k) {
            place(executable.input_binding(k), inputs_, in);
            std::copy(inputs[k].begin(), inputs[k].end(), inputs_[k].bytes.begin() + std::ptrdiff_t(in[k].offset));
        }
        for (std::uint32_t k = 0; k < graph.output_count(); ++k) place(executable.output_binding(k), outputs_, out);
        const std::uint64_t arena_bytes = cpp::vulkan_memory(executable).arena_bytes_with_copies;
        if (arena_bytes == 0) return;
        arena_.emplace(own, arena_bytes,
                       std::byte{0xff});  // NaN, and the least integers: what was there may not matter
        arena = arena_->range();
    }

    void check(const std::vector<Bytes>& inputs, const std::vector<Bytes>& wanted) const {
        const auto whole = [](const Memory& memory, const tosavk_vulkan_range& range, const Bytes& tensor) {
            Bytes expected(memory.bytes.size(), std::byte{0xa5});
            std::copy(tensor.begin(), tensor.end(), expected.begin() + std::ptrdiff_t(range.offset));
            return Bytes(memory.bytes.begin(), memory.bytes.end()) == expected;
        };
        for (std::uint32_t k = 0; k < inputs.size(); ++k) EXPECT_TRUE(whole(inputs_[k], in[k], inputs[k]));
        for (std::uint32_t k = 0; k < wanted.size(); ++k)
            EXPECT_TRUE(whole(outputs_[k], out[k], wanted[k])) << "output " << k << ", or what lies around it";
    }

    std::vector<tosavk_vulkan_range> in, out;
    tosavk_vulkan_range arena{};

private:
    std::vector<Memory> inputs_, outputs_;
    std::optional<Memory> arena_;
};

void record(const OwnVulkan& own, cpp::BindingSet& set, VkCommandBuffer commands) {
    const tosavk_vulkan_access access = set.access();
    if (access.first_stages == 0) return;
    own.barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, access.first_stages, access.first_access);
    set.record(commands);
}

TEST_F(VulkanGpu, RecordedRunsHaveTheBitsOfContexts) {
    const cpp::Device device = cpp::adopt_device(own_->lent());
    for (const char* line : {"add f32 4096", "add f32 1021", "maximum i32 37", "clamp i8 4x37",
                             "conv2d i8 1x9x9x3 5x3x3 s1 p1 rescale clamp", "conv2d f32 1x8x8x16 16x3x3 s1 p1 clamp",
                             "matmul f32 2x5x7x9", "transpose f32 6x10x4 2,0,1", "softmax f32 3x11",
                             "reduce_sum f32 5x300x7 axis1", "avg_pool2d i8 1x9x9x5 3x3 s2 p1"}) {
        SCOPED_TRACE(line);
        const cpp::Graph graph = cpp::Graph::problem(line);
        const auto inputs = random_inputs(graph, 11);
        for (const bool fuse : {true, false}) {
            const cpp::Executable executable(device, graph, fuse);
            const std::vector<Bytes> wanted = run(executable, graph, inputs);
            for (const std::uint64_t shift : {0, 16, 32, 64, 128, 256, 4, 1}) {
                SCOPED_TRACE(testing::Message() << "fuse " << fuse << ", shift " << shift);
                Placed placed(*own_, executable, graph, inputs, shift);
                cpp::BindingSet set(executable);
                set.write(placed.in, placed.out, placed.arena);
                own_->run([&](VkCommandBuffer commands) {
                    record(*own_, set, commands);
                    record(*own_, set, commands);
                });
                placed.check(inputs, wanted);
            }
        }
    }
}

/// Some strides for a tensor: its dimensions in any order, gaps between them.
std::vector<std::int64_t> random_strides(const tosavk_tensor_info& info, std::mt19937& random) {
    std::vector<std::size_t> order(info.rank);
    for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
    std::shuffle(order.begin(), order.end(), random);
    const auto element = static_cast<std::int64_t>(tosavk_type_size(info.type));
    std::int64_t span = element * static_cast<std::int64_t>(1 + random() % 3);
    std::vector<std::int64_t> strides(info.rank);
    for (const std::size_t d : order) {
        strides[d] = span;
        span = strides[d] * info.dims[d] + element * static_cast<std::int64_t>(random() % 4);
    }
    return strides;
}

/// Calls f(byte in the tensor, byte in memory with these strides).
template <class F> void for_each_byte(const tosavk_tensor_info& info, const std::vector<std::int64_t>& strides, F f) {
    const std::size_t element = tosavk_type_size(info.type), count = info.size_bytes / element;
    for (std::size_t e = 0; e < count; ++e) {
        std::size_t rest = e, at = 0;
        for (std::size_t d = info.rank; d-- > 0;) {
            at += rest % static_cast<std::size_t>(info.dims[d]) * static_cast<std::size_t>(strides[d]);
            rest /= static_cast<std::size_t>(info.dims[d]);
        }
        for (std::size_t b = 0; b < element; ++b) f(e * element + b, at + b);
    }
}

TEST_F(VulkanGpu, TensorsMayHaveStrides) {
    const cpp::Device device = cpp::adopt_device(own_->lent());
    const char* seed_text = std::getenv("TOSAVK_TEST_SEED");
    const unsigned seed = seed_text ? static_cast<unsigned>(std::strtoul(seed_text, nullptr, 10)) : 3;
    std::cout << "seed " << seed << "\n";
    std::mt19937 random(seed);
    for (const char* line : {"add f32 3x5x7x2", "clamp i8 3x5x7", "maximum i32 37", "clamp i16 4x9", "clamp f16 2x3x11",
                             "conv2d i8 1x9x9x3 5x3x3 s1 p1 rescale clamp", "matmul f32 2x5x7x9"}) {
        const cpp::Graph graph = cpp::Graph::problem(line);
        const cpp::Executable executable(device, graph);
        const auto inputs = random_inputs(graph, seed);
        const std::vector<Bytes> wanted = run(executable, graph, inputs);
        for (int turn = 0; turn < 6; ++turn) {
            SCOPED_TRACE(testing::Message() << line << ", turn " << turn);
            std::vector<Memory> memories;
            std::vector<std::vector<std::int64_t>> strides;
            std::vector<tosavk_vulkan_range> in, out;
            const auto place = [&](const tosavk_tensor_info& info, std::vector<tosavk_vulkan_range>& ranges) {
                strides.push_back(random_strides(info, random));
                std::uint64_t span = 0;
                for_each_byte(info, strides.back(),
                              [&](std::size_t, std::size_t at) { span = std::max(span, at + 1); });
                const std::uint64_t shift = 64 + random() % 32 * tosavk_type_size(info.type);
                memories.emplace_back(*own_, (shift + span + 67) / 4 * 4, std::byte{0xa5});
                ranges.push_back(memories.back().range(shift, span));
            };
            for (std::uint32_t k = 0; k < graph.input_count(); ++k) {
                place(graph.input(k), in);
                for_each_byte(graph.input(k), strides.back(), [&](std::size_t b, std::size_t at) {
                    memories.back().bytes[in[k].offset + at] = inputs[k][b];
                });
            }
            for (std::uint32_t k = 0; k < graph.output_count(); ++k) place(graph.output(k), out);
            for (std::size_t k = 0; k < strides.size(); ++k)
                (k < in.size() ? in[k] : out[k - in.size()]).strides = strides[k].data();
            const Memory arena(*own_, cpp::vulkan_memory(executable).arena_bytes_with_copies, std::byte{0xff});
            cpp::BindingSet set(executable);
            set.write(in, out, arena.range());
            own_->run([&](VkCommandBuffer commands) {
                record(*own_, set, commands);
                record(*own_, set, commands);
            });
            for (std::uint32_t k = 0; k < wanted.size(); ++k) {
                const Memory& memory = memories[in.size() + k];
                Bytes expected(memory.bytes.size(), std::byte{0xa5});
                for_each_byte(graph.output(k), strides[in.size() + k],
                              [&](std::size_t b, std::size_t at) { expected[out[k].offset + at] = wanted[k][b]; });
                EXPECT_EQ(Bytes(memory.bytes.begin(), memory.bytes.end()), expected);
            }
        }
    }
    // Wrong strides.
    const cpp::Graph graph = cpp::Graph::problem("clamp i8 4x6");
    const cpp::Executable executable(device, graph);
    const Memory memory(*own_, 4096);
    cpp::BindingSet set(executable);
    const auto refuse = [&](std::vector<std::int64_t> strides, std::uint64_t size) {
        tosavk_vulkan_range in = memory.range(0, size);
        const tosavk_vulkan_range out = memory.range(256, 24), arena = memory.range(1024, 2048);
        in.strides = strides.data();
        error_of(TOSAVK_ERROR_BAD_INPUT, [&] { set.write(std::span(&in, 1), std::span(&out, 1), arena); });
    };
    refuse({5, 1}, 100);  // rows overlap
    refuse({6, 0}, 100);
    refuse({6, -1}, 100);
    refuse({7, 1}, 26);  // too small by one byte
    refuse({std::int64_t{1} << 40, 1}, 100);
}

TEST_F(VulkanGpu, AStridedOutputMayShareAWordWithADenseOne) {
    const cpp::Device device = cpp::adopt_device(own_->lent());
    cpp::Builder b;
    for (const char* name : {"a", "b"}) b.output(b.node1("LOGICAL_NOT", {b.input(name, {TOSAVK_BOOL, {2}})}));
    const cpp::Executable executable(device, b.finish());
    Memory memory(*own_, 512, std::byte{0xa5});
    const std::int64_t stride = 2;
    tosavk_vulkan_range in[] = {memory.range(0, 2), memory.range(128, 2)};
    tosavk_vulkan_range out[] = {memory.range(257, 2), memory.range(259, 3)};  // of one word, the copied one first
    out[1].strides = &stride;
    Bytes expected(memory.bytes.begin(), memory.bytes.end());
    for (const std::size_t first : {0, 128}) {
        expected[first] = std::byte{1}, expected[first + 1] = std::byte{0};
        std::copy_n(expected.begin() + std::ptrdiff_t(first), 2, memory.bytes.begin() + std::ptrdiff_t(first));
    }
    expected[257] = expected[259] = std::byte{0};
    expected[258] = expected[261] = std::byte{1};
    const Memory arena(*own_, cpp::vulkan_memory(executable).arena_bytes_with_copies, std::byte{0xff});
    cpp::BindingSet set(executable);
    set.write(in, out, arena.range());
    EXPECT_GE(set.access().copies, 2u);
    own_->run([&](VkCommandBuffer commands) { record(*own_, set, commands); });
    EXPECT_EQ(Bytes(memory.bytes.begin(), memory.bytes.end()), expected);
}

TEST_F(VulkanGpu, TheArenaIsApartFromTheTensors) {
    const cpp::Device device = cpp::adopt_device(own_->lent());
    const cpp::Executable executable(device, cpp::Graph::problem("chain f32 4096 add*3"), false);
    const std::uint64_t arena = cpp::vulkan_memory(executable).arena_bytes_with_copies;
    ASSERT_GT(arena, 0u);
    const Memory memory(*own_, 65536 + 2 * arena);
    const tosavk_vulkan_range in[] = {memory.range(0, 16384), memory.range(16384, 16384)},
                              out = memory.range(32768, 16384);
    cpp::BindingSet set(executable);
    const auto write = [&](std::uint64_t at) {
        set.write(in, std::span(&out, 1), memory.range(at, memory.bytes.size() - at));
    };
    write(65536);
    for (const std::uint64_t at : {0, 16384, 32768, 40960}) error_of(TOSAVK_ERROR_USAGE, [&] { write(at); });
    write(49152);
    // A range may be longer than its tensor.
    const tosavk_vulkan_range longer[] = {memory.range(0, memory.bytes.size()), in[1]};
    set.write(longer, std::span(&out, 1), memory.range(65536, memory.bytes.size() - 65536));
}

TEST_F(VulkanGpu, ASetCanBeWrittenAgain) {
    const cpp::Device device = cpp::adopt_device(own_->lent());
    const cpp::Graph graph = cpp::Graph::problem("chain f32 4096 add*3");
    const cpp::Executable executable(device, graph, false);
    cpp::BindingSet set(executable);
    for (const std::uint64_t seed : {1, 2, 3}) {
        const auto inputs = random_inputs(graph, seed);
        Placed placed(*own_, executable, graph, inputs, 0);
        set.write(placed.in, placed.out, placed.arena);
        EXPECT_EQ(set.access().copies, 0u);
        own_->run([&](VkCommandBuffer commands) { record(*own_, set, commands); });
        placed.check(inputs, run(executable, graph, inputs));
    }
}

TEST_F(VulkanGpu, WhatWasRecordedFollowsWhereSetsAreUpdatedAfterBind) {
    if (validation_requested()) GTEST_SKIP() << "no driver here has the feature: it is claimed";
    // Both software drivers read descriptors when a command buffer runs, which is all that the feature promises.
    tosavk_vulkan_device lent = own_->lent();
    VkPhysicalDeviceDescriptorIndexingFeatures claimed{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_INDEXING_FEATURES};
    claimed.pNext = const_cast<void*>(lent.create_info->pNext);
    claimed.descriptorBindingStorageBufferUpdateAfterBind = VK_TRUE;
    claimed.descriptorBindingUniformTexelBufferUpdateAfterBind = VK_TRUE;
    VkDeviceCreateInfo made_with = *lent.create_info;
    made_with.pNext = &claimed;
    lent.create_info = &made_with;
    const cpp::Device device = cpp::adopt_device(lent);
    for (const char* line : {"chain f32 4096 add*3", "conv2d f32 1x8x8x16 16x3x3 s1 p1 clamp", "softmax f32 3x16"}) {
        SCOPED_TRACE(line);
        const cpp::Graph graph = cpp::Graph::problem(line);
        const cpp::Executable executable(device, graph, false);
        const auto before = random_inputs(graph, 1), after = random_inputs(graph, 2);
        Placed first(*own_, executable, graph, before, 0), second(*own_, executable, graph, after, 0);
        cpp::BindingSet set(executable);
        set.write(first.in, first.out, first.arena);
        own_->run([&](VkCommandBuffer commands) {
            record(*own_, set, commands);
            set.write(second.in, second.out, second.arena);  // recorded, not submitted yet
        });
        second.check(after, run(executable, graph, after));
        std::vector<Bytes> untouched;
        for (std::uint32_t k = 0; k < graph.output_count(); ++k)
            untouched.emplace_back(graph.output(k).size_bytes, std::byte{0xa5});
        first.check(before, untouched);

        // A tensor that is copied now and was not before is another recording.
        Placed crooked(*own_, executable, graph, after, 1);
        EXPECT_THROW(set.write(crooked.in, crooked.out, crooked.arena), cpp::Error);
    }
}

TEST_F(VulkanGpu, ConstantsMayLieInTheApplicationsMemory) {
    const cpp::Device device = cpp::adopt_device(own_->lent());
    const cpp::Graph graph = cpp::Graph::problem("conv2d f32 1x8x8x16 16x3x3 s1 p1 clamp");
    const cpp::Executable executable(device, graph);
    const tosavk_vulkan_memory_needs needs = cpp::vulkan_memory(executable);
    ASSERT_GT(needs.constant_bytes, 0u);
    Memory constants(*own_, needs.alignment + needs.constant_bytes);
    const auto inputs = random_inputs(graph, 1);
    Placed placed(*own_, executable, graph, inputs, 0);
    cpp::BindingSet set(executable);
    set.write(placed.in, placed.out, placed.arena, constants.range(needs.alignment, needs.constant_bytes));
    own_->run([&](VkCommandBuffer commands) {
        const VkBufferCopy all{needs.constants_offset, needs.alignment, needs.constant_bytes};
        own_->table.vkCmdCopyBuffer(commands, needs.constants, constants.buffer, 1, &all);
        record(*own_, set, commands);
    });
    placed.check(inputs, run(executable, graph, inputs));
}

TEST_F(VulkanGpu, WithoutAQueueGraphsAreRecordedAllTheSame) {
    tosavk_vulkan_device lent = own_->lent();
    lent.queue = VK_NULL_HANDLE;
    const cpp::Device device = cpp::adopt_device(lent);
    const cpp::Graph graph = cpp::Graph::problem("conv2d f32 1x8x8x16 16x3x3 s1 p1 clamp");
    const cpp::Executable executable(device, graph);
    const auto inputs = random_inputs(graph, 1);
    Placed placed(*own_, executable, graph, inputs, 0);
    cpp::BindingSet set(executable);
    set.write(placed.in, placed.out, placed.arena);
    own_->run([&](VkCommandBuffer commands) { record(*own_, set, commands); });
    const cpp::Device with_queue = cpp::adopt_device(own_->lent());
    placed.check(inputs, run(cpp::Executable(with_queue, graph), graph, inputs));
    EXPECT_NE(error_of(TOSAVK_ERROR_USAGE, [&] { run(executable, graph, inputs); }).find("queue"), std::string::npos);
}

TEST_F(VulkanGpu, VariablesStayInTheSet) {
    cpp::Builder b;
    const std::vector<float> one(64, 1.0f);
    b.variable("sum", {TOSAVK_FP32, {64}}, std::as_bytes(std::span(one)));
    const auto x = b.input("x", {TOSAVK_FP32, {64}});
    const auto old = b.node1("VARIABLE_READ", {}, {{"name", "sum"}}, {{TOSAVK_FP32, {64}}});
    const auto sum = b.node1("ADD", {x, old});
    const cpp::Builder::Value written[] = {sum};
    b.node("VARIABLE_WRITE", written, {{"name", "sum"}});
    b.output(sum);
    const cpp::Graph graph = b.finish();
    const cpp::Device device = cpp::adopt_device(own_->lent());
    const cpp::Executable executable(device, graph);
    const std::vector<Bytes> inputs = {
        Bytes(std::as_bytes(std::span(one)).begin(), std::as_bytes(std::span(one)).end())};
    Placed placed(*own_, executable, graph, inputs, 0);
    cpp::BindingSet set(executable);
    set.write(placed.in, placed.out, placed.arena);
    for (const float wanted : {2.0f, 3.0f, 4.0f}) {
        own_->run([&](VkCommandBuffer commands) { record(*own_, set, commands); });
        const std::vector<float> sums(64, wanted);
        const auto bytes = std::as_bytes(std::span(sums));
        placed.check(inputs, {Bytes(bytes.begin(), bytes.end())});
    }
}

TEST_F(VulkanGpu, WrongBindingsSayWhatIsWrong) {
    const cpp::Device device = cpp::adopt_device(own_->lent());
    const cpp::Graph graph = cpp::Graph::problem("chain f32 256 add*3");
    const cpp::Executable executable(device, graph, false);
    const auto inputs = random_inputs(graph, 1);
    const Placed placed(*own_, executable, graph, inputs, 0), shifted(*own_, executable, graph, inputs, 4);
    cpp::BindingSet set(executable);
    own_->run([&](VkCommandBuffer commands) { error_of(TOSAVK_ERROR_USAGE, [&] { set.record(commands); }); });
    error_of(TOSAVK_ERROR_USAGE, [&] { set.access(); });
    const auto with = [&](auto change) {
        auto in = placed.in, out = placed.out;
        auto arena = placed.arena;
        change(in, out, arena);
        set.write(in, out, arena);
    };
    const auto refuse = [&](tosavk_status status, auto change) { error_of(status, [&] { with(change); }); };
    refuse(TOSAVK_ERROR_USAGE, [](auto& in, auto&, auto&) { in.pop_back(); });
    refuse(TOSAVK_ERROR_USAGE, [](auto&, auto& out, auto&) { out.clear(); });
    refuse(TOSAVK_ERROR_USAGE, [](auto& in, auto&, auto&) { in[0].buffer = VK_NULL_HANDLE; });
    refuse(TOSAVK_ERROR_USAGE, [](auto& in, auto&, auto&) { in[0].flags = 8; });
    refuse(TOSAVK_ERROR_USAGE, [](auto& in, auto&, auto&) { in[0].offset = UINT64_MAX; });
    refuse(TOSAVK_ERROR_BAD_INPUT, [](auto& in, auto&, auto&) { in[0].size -= 1; });
    refuse(TOSAVK_ERROR_BAD_INPUT, [](auto&, auto& out, auto&) { out[0].size = 1; });
    refuse(TOSAVK_ERROR_USAGE, [](auto&, auto&, auto& arena) { arena.buffer = VK_NULL_HANDLE; });
    refuse(TOSAVK_ERROR_BAD_INPUT, [](auto&, auto&, auto& arena) { arena.size = 16; });
    refuse(TOSAVK_ERROR_BAD_INPUT, [](auto&, auto&, auto& arena) { arena.offset = 4; });
    refuse(TOSAVK_ERROR_BAD_INPUT, [](auto&, auto&, auto& arena) { arena.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT; });
    // Copies want more of an arena.
    tosavk_vulkan_range small = placed.arena;
    small.size = cpp::vulkan_memory(executable).arena_bytes;
    set.write(placed.in, placed.out, small);
    error_of(TOSAVK_ERROR_BAD_INPUT, [&] { set.write(shifted.in, shifted.out, small); });
    set.write(shifted.in, shifted.out, placed.arena);
    EXPECT_EQ(set.access().copies, graph.input_count() + 1);

    cpp::Builder b;
    const auto condition = b.input("c", {TOSAVK_BOOL, {1}}), x = b.input("x", {TOSAVK_FP32, {4}});
    cpp::Builder yes = b.region(), no = b.region();
    yes.output(yes.input("x", {TOSAVK_FP32, {4}}));
    no.output(no.node1("ABS", {no.input("x", {TOSAVK_FP32, {4}})}));
    const cpp::Builder::Value in[] = {condition, x};
    const cpp::Builder* const regions[] = {&yes, &no};
    b.output(b.node("COND_IF", in, {}, {{TOSAVK_FP32, {4}}}, "", regions)[0]);
    const cpp::Executable decides(device, b.finish());
    EXPECT_NE(error_of(TOSAVK_ERROR_UNSUPPORTED, [&] { cpp::BindingSet{decides}; }).find("COND_IF"), std::string::npos);
}

TEST_F(VulkanGpu, SemaphoresGoBothWays) {
    const cpp::Device device = cpp::adopt_device(own_->lent());
    std::optional<cpp::Semaphore> theirs;
    try {
        theirs.emplace(device);
    } catch (const cpp::Error& e) {
        EXPECT_EQ(e.status(), TOSAVK_ERROR_UNSUPPORTED) << e.what();
        GTEST_SKIP() << e.what();
    }
    VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    info.pNext = &type;
    VkSemaphore mine = VK_NULL_HANDLE;
    test::require(own_->table.vkCreateSemaphore(own_->device, &info, nullptr, &mine), "vkCreateSemaphore");
    {
        cpp::Semaphore adopted = cpp::adopt_semaphore(device, mine);
        EXPECT_EQ(cpp::vulkan_semaphore(adopted), mine);
        const cpp::Graph graph = cpp::Graph::problem("add f32 256");
        const cpp::Executable executable(device, graph);
        cpp::Context context(executable);
        const auto inputs = random_inputs(graph, 1);
        for (std::uint32_t k = 0; k < 2; ++k) context.set_input(k, inputs[k]);
        cpp::Buffer result(device, 1024);
        context.bind_output(0, result);
        const tosavk_semaphore_point wait = adopted.at(1), signal = theirs->at(7);
        tosavk_submit_options options{};
        options.waits = &wait;
        options.signals = &signal;
        options.wait_count = options.signal_count = 1;
        context.submit(options);
        // The wait stands on the queue.
        EXPECT_FALSE(result.wait_for(std::chrono::nanoseconds(0)));
        EXPECT_FALSE(result.wait_for(std::chrono::milliseconds(1)));
        VkSemaphoreSignalInfo one{VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO};
        one.semaphore = mine;
        one.value = 1;
        test::require(own_->table.vkSignalSemaphore(own_->device, &one), "vkSignalSemaphore");
        EXPECT_TRUE(theirs->wait(7));
        EXPECT_TRUE(result.wait_for(std::chrono::nanoseconds::max()));
        context.wait();
    }
    own_->table.vkDestroySemaphore(own_->device, mine, nullptr);
}

/// What a loop writes through one of two objects is there for a run that reads through the other.
TEST_F(VulkanGpu, ABufferThatIsAdoptedTwiceIsOne) {
    const cpp::Device device = cpp::adopt_device(own_->lent());
    const cpp::TensorType type{TOSAVK_FP32, {4}}, one{TOSAVK_BOOL, {1}};
    cpp::Builder b;
    const auto condition = b.input("c", one);
    auto x = b.input("x", type);
    for (int k = 0; k < 12; ++k) {
        cpp::Builder yes = b.region(), no = b.region();
        const auto y = yes.input("x", type);
        yes.output(yes.node1("ADD", {y, y}));
        no.output(no.node1("ABS", {no.input("x", type)}));
        const cpp::Builder::Value in[] = {condition, x};
        const cpp::Builder* const regions[] = {&yes, &no};
        x = b.node("COND_IF", in, {}, {type}, "", regions)[0];
    }
    b.output(x);
    const cpp::Executable decides(device, b.finish());
    const cpp::Executable adds(device, cpp::Graph::problem("add f32 4"));
    cpp::Context first(decides), second(adds);
    const Memory memory(*own_, 256);
    const tosavk_vulkan_range range = memory.range(0, 16);
    cpp::Buffer written = cpp::adopt_buffer(device, range), read = cpp::adopt_buffer(device, range);
    first.set_input(0, Bytes(1, std::byte{1}));
    first.bind_output(0, written);
    second.bind_input(0, read);
    second.bind_input(1, read);
    for (float value = 1; value < 4; ++value) {
        const std::vector<float> start(4, value), wanted(4, value * 8192);
        std::vector<float> got(4);
        first.set_input(1, std::as_bytes(std::span(start)));
        first.submit();
        second.submit();
        first.wait();
        second.wait();
        second.get_output(0, std::as_writable_bytes(std::span(got)));
        EXPECT_EQ(got, wanted);
    }
    error_of(TOSAVK_ERROR_USAGE, [&] { written.copy_from(read, 0, 4, 8); });
}

TEST_F(VulkanGpu, BuffersGoBothWays) {
    const cpp::Device device = cpp::adopt_device(own_->lent());
    const cpp::Graph graph = cpp::Graph::problem("add f32 256");
    const auto inputs = random_inputs(graph, 1);
    Memory mine(*own_, 4096);
    std::copy(inputs[0].begin(), inputs[0].end(), mine.bytes.begin() + 1024);
    const cpp::Executable executable(device, graph);
    cpp::Context context(executable);
    const cpp::Buffer theirs = cpp::adopt_buffer(device, mine.range(1024, 1024));
    context.bind_input(0, theirs);
    context.set_input(1, inputs[1]);
    cpp::Buffer result(device, 1024);
    context.bind_output(0, result);
    context.run();
    EXPECT_EQ(context.counters().buffer_copies, 0u);
    const tosavk_vulkan_range range = cpp::vulkan_range(result);
    EXPECT_EQ(range.size, 1024u);
    own_->run([&](VkCommandBuffer commands) {
        const VkBufferCopy all{range.offset, 3072, 1024};
        own_->barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                      VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT);
        own_->table.vkCmdCopyBuffer(commands, range.buffer, mine.buffer, 1, &all);
    });
    const Bytes wanted = graph.reference_run(inputs)[0];
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), mine.bytes.begin() + 3072));
    Bytes got(1024);
    theirs.download(got);
    EXPECT_EQ(got, inputs[0]);
    error_of(TOSAVK_ERROR_UNSUPPORTED, [&] { theirs.map(); });
    error_of(TOSAVK_ERROR_USAGE, [&] { cpp::adopt_buffer(device, cpp::detail::sized<tosavk_vulkan_range>()); });
    error_of(TOSAVK_ERROR_USAGE, [&] { cpp::adopt_buffer(device, {}); });
    tosavk_vulkan_range flagged = mine.range();
    flagged.flags = TOSAVK_BIND_PADDED;
    error_of(TOSAVK_ERROR_USAGE, [&] { cpp::adopt_buffer(device, flagged); });
}

}  // namespace
