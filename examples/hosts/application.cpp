// A Vulkan application with a network in the middle: its own shader draws a picture, the network reads it, its next
// shader reads the scores. All of it is one command buffer on the application's device, and one submit.
// Usage: application NETWORK, such as examples/glyphs/glyphs_fp32.tflite
#include <vulkan/vulkan.h>

#include <tosavk/tosavk.hpp>
#include <tosavk/vulkan.hpp>

#include "choose.spv.h"
#include "draw.spv.h"

#include <cstdio>
#include <exception>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace tosa = tosavk::cpp;

static void must(VkResult result, const char* what) {
    if (result != VK_SUCCESS) throw std::runtime_error(std::string(what) + " failed");
}

/// A buffer in memory that the host sees.
struct Memory {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    void* bytes = nullptr;
    VkDeviceSize size = 0;
    static constexpr VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                                VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
                                                VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    tosavk_vulkan_range range() const { return {sizeof(tosavk_vulkan_range), buffer, 0, size, usage, 0, nullptr}; }
};

/// A compute shader with storage buffers 0.. of set 0.
struct Shader {
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkPipeline pipeline = VK_NULL_HANDLE;
    VkDescriptorSet set = VK_NULL_HANDLE;
};

struct Application {
    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkDescriptorPool sets = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkDeviceCreateInfo made_with{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    static constexpr std::uint32_t family = 0;

    Application() {
        VkApplicationInfo info{VK_STRUCTURE_TYPE_APPLICATION_INFO};
        info.apiVersion = VK_API_VERSION_1_1;
        VkInstanceCreateInfo create{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
        create.pApplicationInfo = &info;
        must(vkCreateInstance(&create, nullptr, &instance), "vkCreateInstance");
        std::uint32_t count = 1;
        vkEnumeratePhysicalDevices(instance, &count, &physical);
        if (count == 0) throw std::runtime_error("there is no Vulkan device");
        const float priority = 1;
        VkDeviceQueueCreateInfo queues{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
        queues.queueFamilyIndex = family;
        queues.queueCount = 1;
        queues.pQueuePriorities = &priority;
        made_with.queueCreateInfoCount = 1;
        made_with.pQueueCreateInfos = &queues;
        must(vkCreateDevice(physical, &made_with, nullptr, &device), "vkCreateDevice");
        vkGetDeviceQueue(device, family, 0, &queue);
        VkCommandPoolCreateInfo commands_info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
        commands_info.queueFamilyIndex = family;
        must(vkCreateCommandPool(device, &commands_info, nullptr, &pool), "vkCreateCommandPool");
        const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3};
        VkDescriptorPoolCreateInfo sets_info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
        sets_info.maxSets = 2;
        sets_info.poolSizeCount = 1;
        sets_info.pPoolSizes = &size;
        must(vkCreateDescriptorPool(device, &sets_info, nullptr, &sets), "vkCreateDescriptorPool");
    }
    Application(const Application&) = delete;
    ~Application() {
        vkDestroyDescriptorPool(device, sets, nullptr);
        vkDestroyCommandPool(device, pool, nullptr);
        vkDestroyDevice(device, nullptr);
        vkDestroyInstance(instance, nullptr);
    }

    Memory allocate(VkDeviceSize size) const {
        Memory made;
        made.size = size;
        VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
        info.size = size;
        info.usage = Memory::usage;
        must(vkCreateBuffer(device, &info, nullptr, &made.buffer), "vkCreateBuffer");
        VkMemoryRequirements needs{};
        vkGetBufferMemoryRequirements(device, made.buffer, &needs);
        VkPhysicalDeviceMemoryProperties types{};
        vkGetPhysicalDeviceMemoryProperties(physical, &types);
        VkMemoryAllocateInfo allocate_info{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
        allocate_info.allocationSize = needs.size;
        constexpr auto wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        for (std::uint32_t t = types.memoryTypeCount; t-- > 0;) {
            const bool fits = (types.memoryTypes[t].propertyFlags & wanted) == wanted;
            if (fits && (needs.memoryTypeBits >> t & 1u) != 0) allocate_info.memoryTypeIndex = t;
        }
        must(vkAllocateMemory(device, &allocate_info, nullptr, &made.memory), "vkAllocateMemory");
        must(vkBindBufferMemory(device, made.buffer, made.memory, 0), "vkBindBufferMemory");
        must(vkMapMemory(device, made.memory, 0, VK_WHOLE_SIZE, 0, &made.bytes), "vkMapMemory");
        return made;
    }
    void release(const Memory& memory) const {
        vkDestroyBuffer(device, memory.buffer, nullptr);
        vkFreeMemory(device, memory.memory, nullptr);
    }

    Shader make_shader(const std::uint32_t* words, std::size_t bytes, std::initializer_list<VkBuffer> buffers) const {
        Shader made;
        VkDescriptorSetLayoutBinding bindings[2]{};
        VkDescriptorBufferInfo infos[2]{};
        std::uint32_t count = 0;
        for (const VkBuffer buffer : buffers) {
            infos[count] = {buffer, 0, VK_WHOLE_SIZE};
            bindings[count] = {count, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
            ++count;
        }
        VkDescriptorSetLayoutCreateInfo set_info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
        set_info.bindingCount = count;
        set_info.pBindings = bindings;
        must(vkCreateDescriptorSetLayout(device, &set_info, nullptr, &made.set_layout), "vkCreateDescriptorSetLayout");
        VkPipelineLayoutCreateInfo layout_info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
        layout_info.setLayoutCount = 1;
        layout_info.pSetLayouts = &made.set_layout;
        must(vkCreatePipelineLayout(device, &layout_info, nullptr, &made.layout), "vkCreatePipelineLayout");
        VkShaderModuleCreateInfo module_info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        module_info.codeSize = bytes;
        module_info.pCode = words;
        VkShaderModule module = VK_NULL_HANDLE;
        must(vkCreateShaderModule(device, &module_info, nullptr, &module), "vkCreateShaderModule");
        VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
        info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                      nullptr,
                      0,
                      VK_SHADER_STAGE_COMPUTE_BIT,
                      module,
                      "main",
                      nullptr};
        info.layout = made.layout;
        must(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &made.pipeline), "a pipeline");
        vkDestroyShaderModule(device, module, nullptr);
        VkDescriptorSetAllocateInfo allocate_info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
        allocate_info.descriptorPool = sets;
        allocate_info.descriptorSetCount = 1;
        allocate_info.pSetLayouts = &made.set_layout;
        must(vkAllocateDescriptorSets(device, &allocate_info, &made.set), "vkAllocateDescriptorSets");
        VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
        write.dstSet = made.set;
        write.descriptorCount = count;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = infos;
        vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);
        return made;
    }
    void release(const Shader& shader) const {
        vkDestroyPipeline(device, shader.pipeline, nullptr);
        vkDestroyPipelineLayout(device, shader.layout, nullptr);
        vkDestroyDescriptorSetLayout(device, shader.set_layout, nullptr);
    }

    void begin() {
        VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
        info.commandPool = pool;
        info.commandBufferCount = 1;
        must(vkAllocateCommandBuffers(device, &info, &commands), "vkAllocateCommandBuffers");
        VkCommandBufferBeginInfo begin_info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
        must(vkBeginCommandBuffer(commands, &begin_info), "vkBeginCommandBuffer");
    }
    void dispatch(const Shader& shader, std::uint32_t groups) const {
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, shader.pipeline);
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, shader.layout, 0, 1, &shader.set, 0, nullptr);
        vkCmdDispatch(commands, 1, groups, 1);
    }
    void barrier(VkPipelineStageFlags from, VkAccessFlags made, VkPipelineStageFlags to, VkAccessFlags used) const {
        const VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, made, used};
        vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
    }
    void submit_and_wait() const {
        must(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
        VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
        info.commandBufferCount = 1;
        info.pCommandBuffers = &commands;
        must(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
        must(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
    }
};

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::fprintf(stderr, "usage: application NETWORK\n");
        return 2;
    }
    Application app;
    tosavk_vulkan_device lent{};
    lent.instance = app.instance;
    lent.physical_device = app.physical;
    lent.device = app.device;
    lent.get_instance_proc_addr = vkGetInstanceProcAddr;
    lent.get_device_proc_addr = vkGetDeviceProcAddr;
    lent.create_info = &app.made_with;
    lent.api_version = VK_API_VERSION_1_1;
    lent.queue_family = Application::family;
    lent.queue = app.queue;
    const tosa::Device device = tosa::adopt_device(lent);

    const tosa::Graph network = tosa::Graph::load(argv[1]);
    if (network.input(0).size_bytes != 28 * 28 * 4 || network.output(0).size_bytes != 36 * 4)
        throw std::runtime_error("the network should score 36 classes for a picture of 28 x 28 floats");
    const tosa::Executable executable(device, network);
    const Memory picture = app.allocate(28 * 28 * 4), scores = app.allocate(36 * 4), best = app.allocate(4),
                 arena = app.allocate(tosa::vulkan_memory(executable).arena_bytes_with_copies);
    const tosavk_vulkan_range in = picture.range(), out = scores.range();
    tosa::BindingSet set(executable);
    set.write(std::span(&in, 1), std::span(&out, 1), arena.range());
    const tosavk_vulkan_access access = set.access();

    const Shader draw = app.make_shader(draw_spv, sizeof draw_spv, {picture.buffer});
    const Shader choose = app.make_shader(choose_spv, sizeof choose_spv, {scores.buffer, best.buffer});
    constexpr VkPipelineStageFlags compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    app.begin();
    app.dispatch(draw, 28);
    app.barrier(compute, VK_ACCESS_SHADER_WRITE_BIT, access.first_stages, access.first_access);
    set.record(app.commands);
    app.barrier(access.last_stages, access.last_access, compute, VK_ACCESS_SHADER_READ_BIT);
    app.dispatch(choose, 1);
    app.barrier(compute, VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app.submit_and_wait();
    std::printf("%s: class %d of 36, %llu copies\n", device.name().c_str(), *static_cast<const int*>(best.bytes),
                static_cast<unsigned long long>(access.copies));

    for (const Shader* shader : {&draw, &choose}) app.release(*shader);
    for (const Memory* memory : {&picture, &scores, &best, &arena}) app.release(*memory);
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "application: %s\n", e.what());
    return 1;
}
