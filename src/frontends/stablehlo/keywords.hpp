// The enumerations of StableHLO, in the order of their numbers in VHLO.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace tosavk::stablehlo {

inline constexpr std::array<std::string_view, 6> comparison_directions = {"EQ", "NE", "GE", "GT", "LE", "LT"};
inline constexpr std::array<std::string_view, 5> comparison_types = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED",
                                                                     "UNSIGNED"};
inline constexpr std::array<std::string_view, 5> api_versions = {
    "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
inline constexpr std::array<std::string_view, 4> fft_types = {"FFT", "IFFT", "RFFT", "IRFFT"};
inline constexpr std::array<std::string_view, 3> precisions = {"DEFAULT", "HIGH", "HIGHEST"};
inline constexpr std::array<std::string_view, 3> rng_algorithms = {"DEFAULT", "THREE_FRY", "PHILOX"};
inline constexpr std::array<std::string_view, 3> rng_distributions = {"", "UNIFORM", "NORMAL"};  // they count from 1
inline constexpr std::array<std::string_view, 4> transposes = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE",
                                                               "ADJOINT"};
inline constexpr std::array<std::string_view, 3> accuracy_modes = {"DEFAULT", "HIGHEST", "TOLERANCE"};

/// Empty where there is no such number.
inline std::string_view keyword_of(std::span<const std::string_view> names, std::uint64_t number) {
    return number < names.size() ? names[static_cast<std::size_t>(number)] : std::string_view();
}

}  // namespace tosavk::stablehlo
