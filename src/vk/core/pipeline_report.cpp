#include "vk/core/pipeline_report.hpp"

#include "vk/core/check.hpp"

#include <cstring>
#include <string_view>

namespace tosavk {

namespace {

/// What a driver put into an array of characters; its end may be missing.
template <std::size_t n> std::string text_in(const char (&characters)[n]) {
    const std::string_view all(characters, n);
    return std::string(all.substr(0, all.find('\0')));
}

double number_of(const VkPipelineExecutableStatisticKHR& statistic) {
    switch (statistic.format) {
        case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR: return statistic.value.b32 != VK_FALSE ? 1 : 0;
        case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR: return static_cast<double>(statistic.value.i64);
        case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR: return static_cast<double>(statistic.value.u64);
        case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR: return statistic.value.f64;
        default: return 0;
    }
}

/// The list that a function of Vulkan fills in two calls.
template <class T, class Function> std::vector<T> list_of(const char* name, const T& empty, const Function& function) {
    std::uint32_t count = 0;
    call(name, function, &count, static_cast<T*>(nullptr));
    std::vector<T> list(count, empty);
    call(name, function, &count, list.data());
    list.resize(count);
    return list;
}

std::vector<CompilerText> texts_of(VkDevice device, const VolkDeviceTable& vk,
                                   const VkPipelineExecutableInfoKHR& executable) {
    const auto ask = [&](std::uint32_t* count, VkPipelineExecutableInternalRepresentationKHR* list) {
        return vk.vkGetPipelineExecutableInternalRepresentationsKHR(device, &executable, count, list);
    };
    constexpr const char* name = "vkGetPipelineExecutableInternalRepresentationsKHR";
    const VkPipelineExecutableInternalRepresentationKHR empty{
        VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR};
    auto list = list_of(name, empty, ask);
    std::vector<std::string> texts(list.size());
    for (std::size_t k = 0; k < list.size(); ++k) {
        texts[k].resize(list[k].dataSize);
        list[k].pData = texts[k].data();
    }
    auto count = static_cast<std::uint32_t>(list.size());
    if (count > 0) call(name, ask, &count, list.data());
    std::vector<CompilerText> result;
    for (std::size_t k = 0; k < count; ++k) {
        if (list[k].isText == VK_FALSE) continue;
        result.push_back({text_in(list[k].name), texts[k].substr(0, texts[k].find('\0'))});
    }
    return result;
}

}  // namespace

PipelineReport report_of(VkDevice device, const VolkDeviceTable& vk, VkPipeline pipeline) {
    VkPipelineInfoKHR info{VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR};
    info.pipeline = pipeline;
    const VkPipelineExecutablePropertiesKHR no_properties{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR};
    const auto programs = list_of("vkGetPipelineExecutablePropertiesKHR", no_properties,
                                  [&](std::uint32_t* count, VkPipelineExecutablePropertiesKHR* list) {
                                      return vk.vkGetPipelineExecutablePropertiesKHR(device, &info, count, list);
                                  });
    PipelineReport report;
    for (std::uint32_t p = 0; p < programs.size(); ++p) {
        VkPipelineExecutableInfoKHR executable{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR};
        executable.pipeline = pipeline;
        executable.executableIndex = p;
        CompiledProgram program;
        program.name = text_in(programs[p].name);
        program.subgroup_size = programs[p].subgroupSize;
        const VkPipelineExecutableStatisticKHR no_statistic{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR};
        const auto statistics =
            list_of("vkGetPipelineExecutableStatisticsKHR", no_statistic,
                    [&](std::uint32_t* count, VkPipelineExecutableStatisticKHR* list) {
                        return vk.vkGetPipelineExecutableStatisticsKHR(device, &executable, count, list);
                    });
        for (const VkPipelineExecutableStatisticKHR& one : statistics)
            program.statistics.push_back({text_in(one.name), number_of(one)});
        program.texts = texts_of(device, vk, executable);
        report.programs.push_back(std::move(program));
    }
    return report;
}

}  // namespace tosavk
