// Products of float activations and narrow weights as TFLite's kernels compute them: activations are quantized to int8
// at run time, row by row, multiplied as integers, and the sums are scaled.
#pragma once

#include "frontends/tflite/lowering.hpp"

#include <vector>

namespace tosavk {

/// Weights that stay integers. `axis` is the dimension of the output channels.
struct HybridWeights {
    ValueId values = no_id;          ///< int8
    std::vector<float> scales;       ///< one, or one for each channel
    std::vector<std::int64_t> sums;  ///< of each channel, where the weights are constant
    ValueId computed_sums = no_id;   ///< else, i32
};

/// Input `k` are weights of a narrow type that meet float activations, and --hybrid is "exact", or they are computed.
bool is_hybrid(const Lowering& l, std::size_t k);
HybridWeights hybrid_weights(Lowering& l, std::size_t k, std::size_t axis, bool may_be_computed = false);
/// The bytes of UINT8 weights are read as int8, as old files mean them, whatever their zero point; others stay.
ValueId signed_weights(Lowering& l, std::size_t k);
std::vector<float> weight_scales(Lowering& l, const TfliteTensor& tensor, std::int32_t axis, std::int64_t channels);
/// Input `k`, such weights or floats, as fp32.
ValueId float_weights(Lowering& l, std::size_t k);

/// What was found of float activations; the first dimension are rows, each with a scale of its own.
struct HybridRows {
    ValueId rounded = no_id;     ///< multiples of the scale, integers as fp32, whose zero is 0
    ValueId scale = no_id;       ///< fp32; all dimensions but the first one are 1
    ValueId zero_point = no_id;  ///< i32 likewise; none where the quantization is symmetric
};
HybridRows round_rows(Lowering& l, ValueId x, bool asymmetric);
/// int8, from `rounded` or what became of it in a shape of the same rank.
ValueId quantize_rounded(Lowering& l, const HybridRows& rows, ValueId rounded);
/// Sums of products (i32, channels last, as many dimensions as the rows have) without what the zero points added.
ValueId without_zero_points(Lowering& l, const HybridRows& rows, ValueId sums, std::span<const std::int64_t> weights);
/// fp32: the sums times the scale of their row and that of their channel.
ValueId scale_sums(Lowering& l, const HybridRows& rows, ValueId sums, std::span<const float> scales);

/// [rows, depth] x [channels, depth] in fp32.
ValueId hybrid_product(Lowering& l, const HybridRows& rows, const HybridWeights& weights);
/// [rows, depth] times input k, a matrix of int4 with a scale for each block of a row.
ValueId blockwise_product(Lowering& l, ValueId x, std::size_t k);
/// The activations that kernels of such products offer: TANH too.
ValueId activate_any(Lowering& l, ValueId x, tflite::ActivationFunctionType activation);
/// [rows, depth] x [channels, depth] + bias, which has the type of the sums and one element or one a channel.
ValueId matrix_product(Lowering& l, ValueId x, ValueId weights, ValueId bias, std::int64_t zero_point = 0);

/// CONV_2D and DEPTHWISE_CONV_2D (inputs 0 to 2) of activations that are quantized at run time, an image of the batch
/// at a time.
class HybridConv {
public:
    HybridConv(Lowering& l, std::size_t channel_axis, bool asymmetric);

    ValueId weights() const { return weights_.values; }
    ValueId rounded() const { return rows_.rounded; }
    /// int8. What is padded counts nothing, so that a zero point needs its own padding.
    ValueId quantized(ValueId rounded, std::vector<std::int32_t>& pad);
    ValueId finish(ValueId sums, ValueId bias, tflite::ActivationFunctionType activation);

private:
    Lowering& l_;
    HybridWeights weights_;
    HybridRows rows_;
};

}  // namespace tosavk
