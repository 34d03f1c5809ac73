// What a driver tells of pipelines (VK_KHR_pipeline_executable_properties).
#pragma once

#include "device/compilers/report.hpp"

#include <volk.h>

namespace tosavk {

/// Of a pipeline that was made with capturing flags.
PipelineReport report_of(VkDevice device, const VolkDeviceTable& vk, VkPipeline pipeline);

}  // namespace tosavk
