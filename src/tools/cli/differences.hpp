// What a precision changed: the outputs of one run beside those of another.
#pragma once

#include "tools/cli/common.hpp"

namespace tosavk::cli {

struct Difference {
    double largest = 0;     ///< of any element; infinite where one side alone is NaN or infinite
    std::size_t index = 0;  ///< flat, of that element
    double magnitude = 0;   ///< of the largest finite element wanted
};

/// Both hold the elements of one tensor of the type.
Difference difference_of(std::int32_t type, const Bytes& got, const Bytes& wanted);
Json to_json(const Difference& difference);
/// "0.012 (largest magnitude 3.4)"
std::string to_text(const Difference& difference);

/// The outputs of the graph on the device, for these inputs; of `steps` runs, one behind the other.
std::vector<Bytes> outputs_of(const cpp::Device& device, const cpp::Graph& graph, const std::vector<Bytes>& inputs,
                              std::uint32_t steps = 1);

/// Runs the context `steps` times: inputs hold those of all runs, and outputs receive them, one behind the other.
void run_steps(cpp::Context& context, std::uint32_t steps, const std::vector<Bytes>& inputs,
               const std::vector<Bytes*>& outputs);

}  // namespace tosavk::cli
