// Whether a device's cooperative matrices add fp16 products as TOSA asks. Their order and roundings are the device's
// own.
#pragma once

#include "vk/core/device.hpp"

#include <memory>
#include <span>

namespace tosavk {

/// A product of two matrices whose results test sums thoroughly: rows x inner elements times inner x columns.
struct SumsProblem {
    static constexpr std::int64_t rows = 64, inner = 256, columns = 64;

    std::vector<std::uint16_t> a, b;     ///< fp16 patterns
    std::vector<double> sums, absolute;  ///< of the products, and of their absolute values
};

/// Row r has numbers of both signs, of one sign, small integers, or subnormal numbers: by r % 4.
SumsProblem sums_problem();
/// By TOSA's check of dot products, the rows of each kind apart, ks being `inner`: |error| <= 2 ks E, and the sum of
/// its squares
/// <= 1.6 ks E^2 for each result, E = absolute 2^(-1-F), F = 23, or 10 for fp16 with ks / 2^6.5 in place of ks; with
/// one kind of sign the errors' sum <= sqrt(16 ks results) besides.
CooperativeSums judge_sums(const SumsProblem& problem, std::span<const float> got);

/// What the device's own matrices do with the problem; the verdict is kept in the disk cache.
CooperativeSums check_cooperative_sums(const std::shared_ptr<Device>& device);

}  // namespace tosavk
