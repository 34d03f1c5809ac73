#include "vk/record/binding_set.hpp"

#include <algorithm>
#include <utility>

namespace tosavk {

BindingSet::BindingSet(const ExecutableState& executable)
    : executable_(executable), device_(executable.device->state()) {
    std::map<VkDescriptorType, std::uint32_t> counts;
    std::vector<VkDescriptorSetLayout> layouts;
    for_each_dispatch(executable_.plan, [&](const Dispatch& dispatch) {
        dispatches_.push_back(dispatch.is_copy() ? nullptr : &dispatch);
        if (dispatch.is_copy()) {
            return;
        }
        for (const Binding& binding : dispatch.bindings) ++counts[descriptor_type(binding)];
        layouts.push_back(executable_.pipelines[dispatches_.size() - 1]->layout->set.get());
    });
    sets_.resize(dispatches_.size(), VK_NULL_HANDLE);
    if (layouts.empty()) {
        return;
    }
    const VolkDeviceTable& vk = device_.vk;
    const VkDevice device = device_.device.handle;
    std::vector<VkDescriptorPoolSize> sizes;
    for (const auto& [type, count] : counts) sizes.push_back({type, count});
    VkDescriptorPoolCreateInfo pool{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = static_cast<std::uint32_t>(layouts.size());
    pool.poolSizeCount = static_cast<std::uint32_t>(sizes.size());
    pool.pPoolSizes = sizes.data();
    if (device_.update_after_bind) pool.flags = VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT;
    pool_ = {device, vk.vkDestroyDescriptorPool};
    call("vkCreateDescriptorPool", vk.vkCreateDescriptorPool, device, &pool, nullptr, pool_.put());

    std::vector<VkDescriptorSet> made(layouts.size());
    VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = pool_.get();
    allocate.descriptorSetCount = static_cast<std::uint32_t>(layouts.size());
    allocate.pSetLayouts = layouts.data();
    call("vkAllocateDescriptorSets", vk.vkAllocateDescriptorSets, device, &allocate, made.data());
    auto next = made.begin();
    for (std::size_t d = 0; d < dispatches_.size(); ++d) {
        if (dispatches_[d] != nullptr) sets_[d] = *next++;
    }
}

bool BindingSet::has_externals(const Dispatch& dispatch) {
    return std::any_of(dispatch.bindings.begin(), dispatch.bindings.end(),
                       [](const Binding& binding) { return binding.place.space == Space::external; });
}

// Views are made anew: another buffer may have the handle of one that is gone. All that can fail comes before the first
// set is touched.
void BindingSet::write(const RunMemory& memory) {
    Views views, external_views;
    std::vector<Writes> all;
    for (std::size_t d = 0; d < dispatches_.size(); ++d) {
        if (dispatches_[d] == nullptr) continue;
        all.push_back(writes_of(*dispatches_[d], sets_[d], memory, views, external_views));
    }
    update(all);
    views_.swap(views);
    external_views_.swap(external_views);
}

void BindingSet::write_externals(const RunMemory& memory) {
    Views external_views;
    std::vector<Writes> all;
    for (std::size_t d = 0; d < dispatches_.size(); ++d) {
        if (dispatches_[d] == nullptr || !has_externals(*dispatches_[d])) continue;
        all.push_back(writes_of(*dispatches_[d], sets_[d], memory, views_, external_views));
    }
    update(all);
    external_views_.swap(external_views);
}

void BindingSet::update(const std::vector<Writes>& all) {
    for (const Writes& one : all) {
        device_.vk.vkUpdateDescriptorSets(device_.device.handle, static_cast<std::uint32_t>(one.writes.size()),
                                          one.writes.data(), 0, nullptr);
    }
}

BindingSet::Writes BindingSet::writes_of(const Dispatch& dispatch, VkDescriptorSet set, const RunMemory& memory,
                                         Views& views, Views& external_views) {
    const std::size_t count = dispatch.bindings.size();
    Writes result;
    result.buffers.resize(count);
    result.views.resize(count, VK_NULL_HANDLE);
    result.writes.resize(count, {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET});
    for (std::uint32_t b = 0; b < count; ++b) {
        const Binding& binding = dispatch.bindings[b];
        const BufferPlace place = memory.at(executable_.plan, binding.place);
        VkWriteDescriptorSet& write = result.writes[b];
        write.dstSet = set;
        write.dstBinding = b;
        write.descriptorCount = 1;
        write.descriptorType = descriptor_type(binding);
        if (is_texels(binding.path)) {
            Views& known = binding.place.space == Space::external ? external_views : views;
            result.views[b] = texels_of(binding, place, known);
            write.pTexelBufferView = &result.views[b];
        } else {
            result.buffers[b] = {place.buffer, place.offset, binding.place.size};
            write.pBufferInfo = &result.buffers[b];
        }
    }
    return result;
}

VkBufferView BindingSet::texels_of(const Binding& binding, const BufferPlace& place, Views& views) {
    const std::uint32_t bytes = texel_bytes(binding.type, binding.path);
    const VkFormat format = binding.path == ReadPath::half_texels ? VK_FORMAT_R16G16B16A16_SFLOAT
                          : bytes == 4                            ? VK_FORMAT_R32_SINT
                          : bytes == 8                            ? VK_FORMAT_R32G32_SINT
                                                                  : VK_FORMAT_R32G32B32A32_SINT;
    UniqueHandle<VkBufferView>& view = views[{place.buffer, place.offset, binding.place.size, format}];
    if (view.get() == VK_NULL_HANDLE) {
        VkBufferViewCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO};
        info.buffer = place.buffer;
        info.format = format;
        info.offset = place.offset;
        info.range = binding.place.size;
        view = {device_.device.handle, device_.vk.vkDestroyBufferView};
        call("vkCreateBufferView", device_.vk.vkCreateBufferView, device_.device.handle, &info, nullptr, view.put());
    }
    return view.get();
}

}  // namespace tosavk
