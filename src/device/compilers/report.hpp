// What a driver tells of a pipeline that its compiler made, as it tells it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tosavk {

struct CompilerStatistic {
    std::string name;
    double value = 0;
};

struct CompilerText {
    std::string name, text;
};

/// A program for the device, of which a pipeline may have several (Intel's, of several subgroup sizes).
struct CompiledProgram {
    std::string name;
    std::uint32_t subgroup_size = 0;
    std::vector<CompilerStatistic> statistics;
    std::vector<CompilerText> texts;  ///< intermediate forms, and assembly
};

struct PipelineReport {
    std::vector<CompiledProgram> programs;
    double compile_ms = 0;  ///< of the host, from SPIR-V on
};

}  // namespace tosavk
