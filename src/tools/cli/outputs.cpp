#include "tools/cli/outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include <unistd.h>

namespace tosavk::cli {

OutputSummary summarize(const Output& output, std::size_t top) {
    const std::vector<double> values = elements(stored_type(output.info), output.bytes);
    OutputSummary summary;
    summary.min = std::numeric_limits<double>::infinity();
    summary.max = -summary.min;
    double sum = 0;
    for (const double value : values) {
        // A NaN anywhere shows in all three.
        summary.min = std::isnan(value) || value < summary.min ? value : summary.min;
        summary.max = std::isnan(value) || value > summary.max ? value : summary.max;
        sum += value;
    }
    if (std::isnan(sum) && std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); }))
        summary.min = summary.max = sum;
    summary.mean = sum / static_cast<double>(values.size());
    if (values.empty()) summary.min = summary.max = summary.mean = std::numeric_limits<double>::quiet_NaN();

    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto larger = [&](std::size_t a, std::size_t b) {
        if (std::isnan(values[a]) != std::isnan(values[b])) return std::isnan(values[b]);
        return values[a] != values[b] && !std::isnan(values[a]) ? values[a] > values[b] : a < b;
    };
    top = std::min(top, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(top), order.end(), larger);
    const bool quantized = output.info.scale != 0;
    for (std::size_t k = 0; k < top; ++k) {
        const double value = values[order[k]];
        const double real =
            quantized ? output.info.scale * (value - static_cast<double>(output.info.zero_point)) : value;
        summary.top.push_back({order[k], value, real});
    }
    return summary;
}

Json output_json(std::size_t index, const Output& output, const OutputSummary& summary) {
    auto top = Json::array();
    for (const auto& entry : summary.top) {
        top.push_back({{"index", entry.index}, {"value", number_json(entry.value)}, {"real", number_json(entry.real)}});
    }
    return {{"index", index},
            {"name", output.info.name},
            {"type", type_text(output.info)},
            {"shape", element_shape(output.info)},
            {"min", number_json(summary.min)},
            {"max", number_json(summary.max)},
            {"mean", number_json(summary.mean)},
            {"top", std::move(top)}};
}

std::string outputs_text(const std::vector<Output>& outputs, const std::vector<OutputSummary>& summaries) {
    std::vector<std::vector<std::string>> rows = {{"output", "name", "type", "shape", "min", "max", "mean"}};
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        rows.push_back({std::to_string(k), outputs[k].info.name, type_text(outputs[k].info),
                        shape_text(element_shape(outputs[k].info)), number_text(summaries[k].min),
                        number_text(summaries[k].max), number_text(summaries[k].mean)});
    }
    std::string text = table_text(rows, {true, false, false, false, true, true, true});
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        if (summaries[k].top.empty()) continue;
        text += fmt::format("largest of output {}:", k);
        const bool quantized = outputs[k].info.scale != 0;
        for (const auto& entry : summaries[k].top) {
            text += fmt::format("  [{}] {}", entry.index, number_text(entry.value));
            if (quantized) text += fmt::format(" ({})", number_text(entry.real));
        }
        text += "\n";
    }
    return text;
}

OutputDirectory::OutputDirectory(std::string path) : path_(std::move(path)) {
    if (is_stdout(path_)) throw Failure(exit_usage, "--output-dir takes a directory, not standard output");
    std::error_code failed;
    const std::filesystem::path whole = std::filesystem::absolute(path_, failed).lexically_normal();
    for (std::filesystem::path p = whole; !std::filesystem::exists(p, failed) && p != p.root_path();
         p = p.parent_path())
        if (p.has_filename()) made_.push_back(p);
    std::filesystem::create_directories(path_, failed);
    if (failed)
        throw Failure(exit_file, fmt::format("cannot make the output directory {}: {}", path_, failed.message()));
    if (!std::filesystem::is_directory(path_, failed))
        throw Failure(exit_file, fmt::format("the output path {} is not a directory", path_));
    if (::access(path_.c_str(), W_OK | X_OK) != 0) {
        throw Failure(exit_file, fmt::format("cannot write into the output directory {}: {}", path_,
                                             std::error_code(errno, std::generic_category()).message()));
    }
}

OutputDirectory::~OutputDirectory() {
    std::error_code ignored;
    if (written_) return;
    for (const std::filesystem::path& path : made_) std::filesystem::remove(path, ignored);
}

void OutputDirectory::write(const std::vector<Output>& outputs, bool raw) {
    const std::filesystem::path directory(path_);
    std::vector<std::pair<std::filesystem::path, std::filesystem::path>> moves;  // temporary name, name
    const auto add = [&](const std::string& name) {
        moves.emplace_back(directory / fmt::format(".{}.tmp-{}", name, ::getpid()), directory / name);
        return moves.back().first.string();
    };
    try {
        auto index = Json::array();
        for (std::size_t k = 0; k < outputs.size(); ++k) {
            const cpp::TensorInfo& info = outputs[k].info;
            const std::string name = fmt::format("output_{}.npy", k);
            if (info.declared_type == TOSAVK_HOST_I64 || info.declared_type == TOSAVK_HOST_U64) {
                const std::vector<double> values = elements(info.type, outputs[k].bytes);
                const std::vector<std::int64_t> wide(values.begin(), values.end());
                cpp::Array::save(add(name), info.declared_type, cpp::shape_of(info), wide.data(), raw);
            } else if (info.declared_type == TOSAVK_HOST_F64) {
                const std::vector<double> values = elements(info.type, outputs[k].bytes);
                cpp::Array::save(add(name), info.declared_type, cpp::shape_of(info), values.data(), raw);
            } else {
                cpp::Array::save(add(name), stored_type(info), element_shape(info), outputs[k].bytes.data(), raw);
            }
            index.push_back(
                {{"index", k}, {"name", info.name}, {"type", type_text(info)}, {"shape", element_shape(info)}});
        }
        write_file(add("outputs.json"), json_text(index));
        // The one reason for which a rename within a writable directory fails, looked for before the first one.
        for (const auto& [temporary, name] : moves) {
            if (std::filesystem::is_directory(name))
                throw Failure(exit_file, name.filename().string() + " is a directory there");
        }
        for (const auto& [temporary, name] : moves) std::filesystem::rename(temporary, name);
    } catch (const std::exception& e) {
        std::error_code ignored;
        for (const auto& [temporary, name] : moves) std::filesystem::remove(temporary, ignored);
        throw Failure(exit_file, fmt::format("cannot write the outputs to {}: {}", path_, e.what()));
    }
    written_ = true;
}

}  // namespace tosavk::cli
