// What `run` makes of a graph's outputs: numbers for the table, and files.
#pragma once

#include "tools/cli/common.hpp"

namespace tosavk::cli {

struct Output {
    cpp::TensorInfo info;
    Bytes bytes;
};

struct OutputSummary {
    double min = 0, max = 0, mean = 0;
    struct Top {
        std::size_t index;  ///< flat
        double value;       ///< as stored
        double real;        ///< scale * (value - zero_point) where the tensor is quantized; else value
    };
    std::vector<Top> top;
};

OutputSummary summarize(const Output& output, std::size_t top);
Json output_json(std::size_t index, const Output& output, const OutputSummary& summary);
/// The table, and under it one line of the largest elements per output.
std::string outputs_text(const std::vector<Output>& outputs, const std::vector<OutputSummary>& summaries);

/// A directory that receives output_K.npy and outputs.json. Made at once, so that a bad path is reported before
/// anything runs; removed again when it was made for nothing. All files appear, or none.
class OutputDirectory {
public:
    explicit OutputDirectory(std::string path);
    ~OutputDirectory();
    OutputDirectory(const OutputDirectory&) = delete;
    OutputDirectory& operator=(const OutputDirectory&) = delete;

    /// `raw`: bf16 and fp8 by their bits instead of as float32.
    void write(const std::vector<Output>& outputs, bool raw);

private:
    std::string path_;
    std::vector<std::filesystem::path> made_;  ///< what was not there, the innermost first
    bool written_ = false;
};

}  // namespace tosavk::cli
