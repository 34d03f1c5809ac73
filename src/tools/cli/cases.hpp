// Recorded inputs and outputs of a model: DIR/cases.json and the .npy files that it names.
#pragma once

#include "tools/cli/common.hpp"

namespace tosavk::cli {

struct RecordedCase {
    std::string name;                   ///< its number
    std::vector<std::string> inputs;    ///< paths, by input index
    std::vector<std::string> expected;  ///< paths, by output index
    std::uint32_t steps = 0;  ///< of a sequence: runs that keep the variables, stacked along a first axis; 0: one run
};

struct RecordedCases {
    double atol = 0;  ///< integers: largest allowed difference
    double rtol = 0;  ///< floats: allowed difference as a share of max(range, largest magnitude) of the expected tensor
    std::vector<RecordedCase> cases;
};

/// `rounding` ("tflite", "double" or "single") chooses the recorded outputs where both were recorded. Throws
/// Failure(exit_file).
RecordedCases load_cases(const std::string& directory, const std::string& rounding);

/// How one output compares with the recorded one.
struct CaseResult {
    bool passed = true;
    std::size_t mismatches = 0;  ///< elements beyond the allowance
    double worst = 0;            ///< largest difference
    double allowed = 0;
    std::size_t element = 0;       ///< flat index of the worst element
    double expected = 0, got = 0;  ///< its values
};
CaseResult compare(const cpp::TensorInfo& info, std::span<const std::byte> expected, std::span<const std::byte> got,
                   double atol, double rtol);

}  // namespace tosavk::cli
