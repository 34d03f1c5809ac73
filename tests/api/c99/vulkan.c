/* vulkan.h: a device, a buffer and a command buffer of this program's own, by the loader that it opens itself. */
#include "whole.h"

#include <dlfcn.h>

static struct {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkCommandPool pool;
    VkCommandBuffer commands;
    float* mapped;
    VkDeviceCreateInfo made_with;
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline;
    PFN_vkGetInstanceProcAddr get_instance_proc_addr;
    PFN_vkGetDeviceProcAddr get_device_proc_addr;
} own;

#define OF_INSTANCE(name) PFN_##name name = (PFN_##name)own.get_instance_proc_addr(own.instance, #name)
#define OF_DEVICE(name) PFN_##name name = (PFN_##name)own.get_device_proc_addr(own.device, #name)
#define DONE(call) CHECK((call) == VK_SUCCESS)

enum {
    usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
            VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT
};

static int make_device(void) {
    const VkApplicationInfo application = {
        VK_STRUCTURE_TYPE_APPLICATION_INFO, NULL, "c99", 1, NULL, 0, VK_API_VERSION_1_2};
    const VkInstanceCreateInfo wanted = {
        VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, NULL, 0, &application, 0, NULL, 0, NULL};
    static const float priority = 1;
    static const VkDeviceQueueCreateInfo queues = {
        VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, 0, 1, &priority};
    uint32_t one = 1;
    void* loader = dlopen("libvulkan.so.1", RTLD_NOW);
    if (!loader) return 0;
    *(void**)&own.get_instance_proc_addr = dlsym(loader, "vkGetInstanceProcAddr");
    {
        PFN_vkCreateInstance vkCreateInstance =
            (PFN_vkCreateInstance)own.get_instance_proc_addr(NULL, "vkCreateInstance");
        if (vkCreateInstance(&wanted, NULL, &own.instance) != VK_SUCCESS) return 0;
    }
    {
        OF_INSTANCE(vkEnumeratePhysicalDevices);
        OF_INSTANCE(vkCreateDevice);
        own.get_device_proc_addr =
            (PFN_vkGetDeviceProcAddr)own.get_instance_proc_addr(own.instance, "vkGetDeviceProcAddr");
        if (vkEnumeratePhysicalDevices(own.instance, &one, &own.physical) < 0 || one == 0) return 0;
        own.timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
        own.timeline.timelineSemaphore = VK_TRUE;
        own.made_with.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
        own.made_with.pNext = &own.timeline;
        own.made_with.queueCreateInfoCount = 1;
        own.made_with.pQueueCreateInfos = &queues;
        DONE(vkCreateDevice(own.physical, &own.made_with, NULL, &own.device));
    }
    return 1;
}

static void make_memory(void) {
    VkBufferCreateInfo info = {
        VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, NULL, 0, 65536, usage, VK_SHARING_MODE_EXCLUSIVE, 0, NULL};
    VkMemoryRequirements needs;
    VkPhysicalDeviceMemoryProperties types;
    VkMemoryAllocateInfo allocation = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, NULL, 0, 0};
    VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, NULL, 0, 0};
    VkCommandBufferAllocateInfo one = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, NULL,
                                       VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    const VkMemoryPropertyFlags seen = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    OF_INSTANCE(vkGetPhysicalDeviceMemoryProperties);
    OF_DEVICE(vkGetDeviceQueue);
    OF_DEVICE(vkCreateBuffer);
    OF_DEVICE(vkGetBufferMemoryRequirements);
    OF_DEVICE(vkAllocateMemory);
    OF_DEVICE(vkBindBufferMemory);
    OF_DEVICE(vkMapMemory);
    OF_DEVICE(vkCreateCommandPool);
    OF_DEVICE(vkAllocateCommandBuffers);
    vkGetDeviceQueue(own.device, 0, 0, &own.queue);
    DONE(vkCreateBuffer(own.device, &info, NULL, &own.buffer));
    vkGetBufferMemoryRequirements(own.device, own.buffer, &needs);
    vkGetPhysicalDeviceMemoryProperties(own.physical, &types);
    while (!(needs.memoryTypeBits >> allocation.memoryTypeIndex & 1) ||
           (types.memoryTypes[allocation.memoryTypeIndex].propertyFlags & seen) != seen)
        ++allocation.memoryTypeIndex;
    allocation.allocationSize = needs.size;
    DONE(vkAllocateMemory(own.device, &allocation, NULL, &own.memory));
    DONE(vkBindBufferMemory(own.device, own.buffer, own.memory, 0));
    DONE(vkMapMemory(own.device, own.memory, 0, VK_WHOLE_SIZE, 0, (void**)&own.mapped));
    DONE(vkCreateCommandPool(own.device, &pool, NULL, &own.pool));
    one.commandPool = own.pool;
    DONE(vkAllocateCommandBuffers(own.device, &one, &own.commands));
}

static void submit(void) {
    VkSubmitInfo info = {VK_STRUCTURE_TYPE_SUBMIT_INFO, NULL, 0, NULL, NULL, 1, NULL, 0, NULL};
    OF_DEVICE(vkQueueSubmit);
    OF_DEVICE(vkQueueWaitIdle);
    info.pCommandBuffers = &own.commands;
    DONE(vkQueueSubmit(own.queue, 1, &info, VK_NULL_HANDLE));
    DONE(vkQueueWaitIdle(own.queue));
}

static tosavk_vulkan_range range_at(VkDeviceSize offset, VkDeviceSize size) {
    tosavk_vulkan_range range;
    memset(&range, 0, sizeof range);
    range.struct_size = sizeof range;
    range.buffer = own.buffer;
    range.offset = offset;
    range.size = size;
    range.usage = usage;
    return range;
}

static void test_recorded(tosavk_executable* executable) {
    tosavk_vulkan_memory_needs needs;
    tosavk_vulkan_bindings bindings;
    tosavk_vulkan_access access;
    tosavk_vulkan_range in = range_at(0, 16), out = range_at(4096, 16), arena = range_at(8192, 32768);
    tosavk_binding_set* set = NULL;
    VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, NULL, 0, NULL};
    OF_DEVICE(vkBeginCommandBuffer);
    OF_DEVICE(vkEndCommandBuffer);

    needs.struct_size = sizeof needs;
    V_RIGHT(executable_vulkan_memory, executable, &needs);
    CHECK(needs.arena_bytes_with_copies >= needs.arena_bytes && needs.arena_bytes_with_copies <= 32768);
    V_WRONG(USAGE, executable_vulkan_memory, executable, NULL);
    V_RIGHT(binding_set_create, executable, &set);
    V_WRONG(USAGE, binding_set_create, NULL, &set);
    V_WRONG(USAGE, binding_set_record, set, own.commands);
    access.struct_size = sizeof access;
    V_WRONG(USAGE, binding_set_access, set, &access);
    memset(&bindings, 0, sizeof bindings);
    bindings.struct_size = sizeof bindings;
    bindings.arena = &arena;
    bindings.inputs = &in;
    bindings.input_count = 1;
    bindings.outputs = &out;
    V_WRONG(USAGE, binding_set_write, set, &bindings);
    bindings.output_count = 1;
    V_RIGHT(binding_set_write, set, &bindings);
    V_RIGHT(binding_set_access, set, &access);
    CHECK(access.first_stages != 0 && access.last_access != 0);
    memset(own.mapped, 0, 8192); /* what memory holds at first is anything */
    own.mapped[0] = 10, own.mapped[1] = 20, own.mapped[2] = 30, own.mapped[3] = 40;
    DONE(vkBeginCommandBuffer(own.commands, &begin));
    V_RIGHT(binding_set_record, set, own.commands);
    DONE(vkEndCommandBuffer(own.commands));
    submit();
    CHECK(own.mapped[1024] == 11 && own.mapped[1027] == 44 && own.mapped[1028] == 0);
    V_PLAIN(binding_set_release, set);
    V_PLAIN(binding_set_release, NULL);
}

static void test_adopted(tosavk_device* device) {
    tosavk_buffer* buffer = NULL;
    tosavk_semaphore *semaphore = NULL, *adopted = NULL;
    tosavk_vulkan_range range = range_at(128, 64);
    tosavk_buffer_info info;
    VkSemaphore vulkan = VK_NULL_HANDLE;
    uint64_t value = 0;
    float number = 0;

    V_RIGHT(buffer_adopt, device, &range, &buffer);
    own.mapped[32] = 7;
    RIGHT(buffer_download, buffer, 0, &number, sizeof number);
    CHECK(number == 7);
    V_RIGHT(buffer_vulkan, buffer, &range);
    CHECK(range.buffer == own.buffer && range.offset == 128 && range.size == 64);
    info.struct_size = sizeof info;
    RIGHT(buffer_describe, buffer, &info);
    CHECK(info.size_bytes == 64 && info.allocation_bytes == 0 && info.memory_type_bits == 0);
    V_WRONG(USAGE, buffer_vulkan, NULL, &range);
    PLAIN(buffer_release, buffer);
    range.buffer = VK_NULL_HANDLE;
    V_WRONG(USAGE, buffer_adopt, device, &range, &buffer);
    RIGHT(semaphore_create, device, NULL, &semaphore);
    V_RIGHT(semaphore_vulkan, semaphore, &vulkan);
    V_WRONG(USAGE, semaphore_vulkan, NULL, &vulkan);
    V_RIGHT(semaphore_adopt, device, vulkan, &adopted);
    V_WRONG(USAGE, semaphore_adopt, device, VK_NULL_HANDLE, &adopted);
    RIGHT(semaphore_signal, adopted, 5);
    RIGHT(semaphore_value, semaphore, &value);
    CHECK(value == 5);
    PLAIN(semaphore_release, adopted);
    PLAIN(semaphore_release, semaphore);
}

void test_vulkan(void) {
    tosavk_vulkan_device lent;
    tosavk_device* device = NULL;
    tosavk_graph* graph = adding_graph();
    tosavk_executable* executable = NULL;

    CHECK(make_device());
    if (!own.device) return;
    make_memory();
    memset(&lent, 0, sizeof lent);
    lent.struct_size = sizeof lent;
    lent.instance = own.instance;
    lent.physical_device = own.physical;
    lent.device = own.device;
    lent.get_instance_proc_addr = own.get_instance_proc_addr;
    lent.get_device_proc_addr = own.get_device_proc_addr;
    lent.create_info = &own.made_with;
    lent.api_version = VK_API_VERSION_1_2;
    lent.queue = own.queue;
    V_RIGHT(device_adopt, &lent, NULL, &device);
    lent.get_device_proc_addr = NULL;
    V_WRONG(USAGE, device_adopt, &lent, NULL, &device);
    RIGHT(compile, device, graph, NULL, &executable);
    WRONG(USAGE, compile, device, NULL, NULL, &executable);
    test_recorded(executable);
    test_adopted(device);
    PLAIN(executable_release, executable);
    PLAIN(graph_release, graph);
    PLAIN(device_release, device);
    {
        OF_DEVICE(vkDestroyCommandPool);
        OF_DEVICE(vkDestroyBuffer);
        OF_DEVICE(vkFreeMemory);
        OF_DEVICE(vkDestroyDevice);
        OF_INSTANCE(vkDestroyInstance);
        vkDestroyCommandPool(own.device, own.pool, NULL);
        vkDestroyBuffer(own.device, own.buffer, NULL);
        vkFreeMemory(own.device, own.memory, NULL);
        vkDestroyDevice(own.device, NULL);
        vkDestroyInstance(own.instance, NULL);
    }
}
