#include "tools/cli/differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tosavk::cli {

Difference difference_of(std::int32_t type, const Bytes& got, const Bytes& wanted) {
    const std::vector<double> have = elements(type, got), want = elements(type, wanted);
    Difference result;
    for (std::size_t i = 0; i < have.size(); ++i) {
        if (std::isfinite(want[i])) result.magnitude = std::max(result.magnitude, std::abs(want[i]));
        if (have[i] == want[i] || (std::isnan(have[i]) && std::isnan(want[i]))) continue;
        const double apart =
            std::isfinite(have[i] - want[i]) ? std::abs(have[i] - want[i]) : std::numeric_limits<double>::infinity();
        if (apart > result.largest) {
            result.largest = apart;
            result.index = i;
        }
    }
    return result;
}

Json to_json(const Difference& difference) {
    return {{"largest_difference", number_json(difference.largest)},
            {"index", difference.index},
            {"largest_magnitude", number_json(difference.magnitude)}};
}

std::string to_text(const Difference& difference) {
    return fmt::format("{} (largest magnitude {})", number_text(difference.largest), number_text(difference.magnitude));
}

void run_steps(cpp::Context& context, std::uint32_t steps, const std::vector<Bytes>& inputs,
               const std::vector<Bytes*>& outputs) {
    const auto part = [&](auto& bytes, std::uint32_t step) {
        const std::size_t size = bytes.size() / steps;
        return std::span(bytes).subspan(step * size, size);
    };
    for (std::uint32_t step = 0; step < steps; ++step) {
        for (std::uint32_t k = 0; k < inputs.size(); ++k) context.set_input(k, part(inputs[k], step));
        context.run();
        for (std::uint32_t k = 0; k < outputs.size(); ++k) context.get_output(k, part(*outputs[k], step));
    }
}

std::vector<Bytes> outputs_of(const cpp::Device& device, const cpp::Graph& graph, const std::vector<Bytes>& inputs,
                              std::uint32_t steps) {
    const cpp::Executable executable(device, graph);
    cpp::Context context(executable, false);
    std::vector<Bytes> outputs;
    for (std::uint32_t k = 0; k < graph.output_count(); ++k) outputs.emplace_back(steps * graph.output(k).size_bytes);
    std::vector<Bytes*> places;
    for (Bytes& output : outputs) places.push_back(&output);
    run_steps(context, steps, inputs, places);
    return outputs;
}

}  // namespace tosavk::cli
