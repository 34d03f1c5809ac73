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

/// The outputs of the graph on the device, for these inputs.
std::vector<Bytes> outputs_of(const cpp::Device& device, const cpp::Graph& graph, const std::vector<Bytes>& inputs);

}  // namespace tosavk::cli
