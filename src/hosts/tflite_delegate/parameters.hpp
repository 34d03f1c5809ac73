// The parameters of TFLite's operators as its runtimes hold them (Node::builtin_data): layouts alone. Fields that came
// after 2.9 stand at the ends; they may be read where the operator's version has them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tosavk::delegate {

/// 0 unknown, 1 SAME, 2 VALID; that of MIRROR_PAD: 0 unknown, 1 REFLECT, 2 SYMMETRIC. One more than in the file.
using PaddingNumber = int;
using ActivationNumber = int;  ///< as in the file
using TypeNumber = int;        ///< a Type

struct ConvParams {
    PaddingNumber padding;
    int stride_w, stride_h;
    ActivationNumber activation;
    int dilation_w, dilation_h;
    TypeNumber quantized_bias_type;  ///< from version 8 on
};
struct DepthwiseConvParams {
    PaddingNumber padding;
    int stride_w, stride_h, depth_multiplier;
    ActivationNumber activation;
    int dilation_w, dilation_h;
};
struct Conv3dParams {
    PaddingNumber padding;
    int stride_w, stride_h, stride_d, dilation_w, dilation_h, dilation_d;
    ActivationNumber activation;
};
struct TransposeConvParams {
    PaddingNumber padding;
    int stride_w, stride_h;
    ActivationNumber activation;     ///< from version 4 on
    TypeNumber quantized_bias_type;  ///< from version 5 on
};
struct PoolParams {
    PaddingNumber padding;
    int stride_w, stride_h, filter_w, filter_h;
    ActivationNumber activation;
    int computed[4];
};
struct FullyConnectedParams {
    ActivationNumber activation;
    int weights_format;
    bool keep_num_dims;
    bool asymmetric_quantize_inputs;
    TypeNumber quantized_bias_type;  ///< from version 11 on
};
struct SvdfParams {
    int rank;
    ActivationNumber activation;
    bool asymmetric_quantize_inputs;
};
struct RnnParams {
    ActivationNumber activation;
    bool asymmetric_quantize_inputs;
};
struct SequenceRnnParams {
    bool time_major;
    ActivationNumber activation;
    bool asymmetric_quantize_inputs;
};
struct BidirectionalRnnParams {
    bool time_major;
    ActivationNumber activation;
    bool merge_outputs;
    bool asymmetric_quantize_inputs;
};
struct LstmParams {
    ActivationNumber activation;
    float cell_clip, proj_clip;
    int kernel_type;
    bool asymmetric_quantize_inputs;
};
struct SequenceLstmParams {
    ActivationNumber activation;
    float cell_clip, proj_clip;
    bool time_major;
    bool asymmetric_quantize_inputs;
    bool diagonal_recurrent_tensors;  ///< from version 4 on
};
struct BidirectionalLstmParams {
    ActivationNumber activation;
    float cell_clip, proj_clip;
    bool merge_outputs;
    bool time_major;
    bool asymmetric_quantize_inputs;
};
struct ActivationParams {  ///< MUL, DIV, L2_NORMALIZATION
    ActivationNumber activation;
};
struct AddParams {  ///< and SUB
    ActivationNumber activation;
    bool pot_scale_int16;
};
struct ConcatenationParams {
    int axis;
    ActivationNumber activation;
};
struct LocalResponseParams {
    int radius;
    float bias, alpha, beta;
};
struct FloatParams {  ///< SOFTMAX's beta, LEAKY_RELU's alpha
    float value;
};
struct IntParams {  ///< SPLIT, SPLIT_V, SPACE_TO_DEPTH, DEPTH_TO_SPACE, ONE_HOT, and types: ARG_MAX, SHAPE, UNIQUE
    int value;
};
struct TwoIntParams {  ///< CAST, GATHER, PACK, UNPACK, REVERSE_SEQUENCE, RANDOM_*
    int first, second;
};
struct FlagParams {  ///< MEAN and the like (keep_dims), SPARSE_TO_DENSE, GELU
    bool value;
};
struct TwoFlagParams {  ///< RESIZE_*, CUMSUM
    bool first, second;
};
struct BatchMatMulParams {
    bool adj_x, adj_y, asymmetric_quantize_inputs;
};
struct DimensionParams {  ///< RESHAPE, SQUEEZE
    std::int32_t dims[8];
    int count;
};
struct StridedSliceParams {
    int begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
    bool offset;  ///< from version 8 on
};
struct FakeQuantParams {
    float min, max;
    int num_bits;
    bool narrow_range;
};
struct BucketizeParams {
    int count;
    const float* boundaries;
};

static_assert(sizeof(ConvParams) == 28 && sizeof(DepthwiseConvParams) == 28 && sizeof(Conv3dParams) == 32);
static_assert(sizeof(TransposeConvParams) == 20 && sizeof(PoolParams) == 40 && sizeof(FullyConnectedParams) == 16);
static_assert(offsetof(FullyConnectedParams, quantized_bias_type) == 12 && sizeof(SvdfParams) == 12);
static_assert(sizeof(SequenceRnnParams) == 12 && sizeof(BidirectionalRnnParams) == 12 && sizeof(LstmParams) == 20);
static_assert(sizeof(SequenceLstmParams) == 16 && sizeof(BidirectionalLstmParams) == 16 && sizeof(AddParams) == 8);
static_assert(sizeof(DimensionParams) == 36 && sizeof(StridedSliceParams) == 24 && sizeof(FakeQuantParams) == 16);
static_assert(sizeof(BatchMatMulParams) == 3 && sizeof(BucketizeParams) == 16 && sizeof(LocalResponseParams) == 16);

}  // namespace tosavk::delegate
