#include "hosts/tflite_delegate/operators.hpp"
#include "hosts/tflite_delegate/parameters.hpp"
#include "hosts/tflite_delegate/runtime.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>

namespace tosavk::delegate {

namespace {

using File = flatbuffers::FlatBufferBuilder;
using tflite::BuiltinOperator;

template <class T> Options made(flatbuffers::Offset<T> table) {
    return {tflite::BuiltinOptionsTraits<T>::enum_value, table.Union()};
}

/// The parameters, as what a row says that they are.
struct Given {
    const void* data;
    template <class T> operator const T&() const { return *static_cast<const T*>(data); }
};

tflite::Padding padding(PaddingNumber number) {
    if (number != 1 && number != 2) throw Refused("its padding is unknown");
    return static_cast<tflite::Padding>(number - 1);
}

tflite::ActivationFunctionType activation(ActivationNumber number) {
    if (number < 0 || number > static_cast<int>(tflite::ActivationFunctionType::MAX))
        throw Refused("its activation function is unknown");
    return static_cast<tflite::ActivationFunctionType>(number);
}

tflite::TensorType bias_type(TypeNumber type) {
    return type == type_none ? tflite::TensorType::FLOAT32 : type_in_file(type);
}

Options conv_2d(File& file, const void* parameters, int version) {
    const ConvParams& p = Given{parameters};
    return made(tflite::CreateConv2DOptions(
        file, padding(p.padding), p.stride_w, p.stride_h, activation(p.activation), p.dilation_w, p.dilation_h,
        version >= 8 ? bias_type(p.quantized_bias_type) : tflite::TensorType::FLOAT32));
}

Options depthwise_conv_2d(File& file, const void* parameters, int) {
    const DepthwiseConvParams& p = Given{parameters};
    return made(tflite::CreateDepthwiseConv2DOptions(file, padding(p.padding), p.stride_w, p.stride_h,
                                                     p.depth_multiplier, activation(p.activation), p.dilation_w,
                                                     p.dilation_h));
}

Options conv_3d(File& file, const void* parameters, int) {
    const Conv3dParams& p = Given{parameters};
    return made(tflite::CreateConv3DOptions(file, padding(p.padding), p.stride_d, p.stride_w, p.stride_h,
                                            activation(p.activation), p.dilation_d, p.dilation_w, p.dilation_h));
}

Options transpose_conv(File& file, const void* parameters, int version) {
    const TransposeConvParams& p = Given{parameters};
    return made(tflite::CreateTransposeConvOptions(
        file, padding(p.padding), p.stride_w, p.stride_h,
        version >= 4 ? activation(p.activation) : tflite::ActivationFunctionType::NONE,
        version >= 5 ? bias_type(p.quantized_bias_type) : tflite::TensorType::FLOAT32));
}

Options pool_2d(File& file, const void* parameters, int) {
    const PoolParams& p = Given{parameters};
    return made(tflite::CreatePool2DOptions(file, padding(p.padding), p.stride_w, p.stride_h, p.filter_w, p.filter_h,
                                            activation(p.activation)));
}

Options fully_connected(File& file, const void* parameters, int version) {
    const FullyConnectedParams& p = Given{parameters};
    return made(tflite::CreateFullyConnectedOptions(
        file, activation(p.activation), static_cast<tflite::FullyConnectedOptionsWeightsFormat>(p.weights_format),
        p.keep_num_dims, p.asymmetric_quantize_inputs,
        version >= 11 ? bias_type(p.quantized_bias_type) : tflite::TensorType::FLOAT32));
}

Options svdf(File& file, const void* parameters, int) {
    const SvdfParams& p = Given{parameters};
    return made(tflite::CreateSVDFOptions(file, p.rank, activation(p.activation), p.asymmetric_quantize_inputs));
}

Options rnn(File& file, const void* parameters, int) {
    const RnnParams& p = Given{parameters};
    return made(tflite::CreateRNNOptions(file, activation(p.activation), p.asymmetric_quantize_inputs));
}

Options sequence_rnn(File& file, const void* parameters, int) {
    const SequenceRnnParams& p = Given{parameters};
    return made(
        tflite::CreateSequenceRNNOptions(file, p.time_major, activation(p.activation), p.asymmetric_quantize_inputs));
}

Options bidirectional_rnn(File& file, const void* parameters, int) {
    const BidirectionalRnnParams& p = Given{parameters};
    return made(tflite::CreateBidirectionalSequenceRNNOptions(file, p.time_major, activation(p.activation),
                                                              p.merge_outputs, p.asymmetric_quantize_inputs));
}

Options lstm(File& file, const void* parameters, int) {
    const LstmParams& p = Given{parameters};
    return made(tflite::CreateLSTMOptions(file, activation(p.activation), p.cell_clip, p.proj_clip,
                                          static_cast<tflite::LSTMKernelType>(p.kernel_type),
                                          p.asymmetric_quantize_inputs));
}

Options sequence_lstm(File& file, const void* parameters, int version) {
    const SequenceLstmParams& p = Given{parameters};
    return made(tflite::CreateUnidirectionalSequenceLSTMOptions(file, activation(p.activation), p.cell_clip,
                                                                p.proj_clip, p.time_major, p.asymmetric_quantize_inputs,
                                                                version >= 4 && p.diagonal_recurrent_tensors));
}

Options bidirectional_lstm(File& file, const void* parameters, int) {
    const BidirectionalLstmParams& p = Given{parameters};
    return made(tflite::CreateBidirectionalSequenceLSTMOptions(file, activation(p.activation), p.cell_clip, p.proj_clip,
                                                               p.merge_outputs, p.time_major,
                                                               p.asymmetric_quantize_inputs));
}

Options add(File& file, const void* parameters, int) {
    const AddParams& p = Given{parameters};
    return made(tflite::CreateAddOptions(file, activation(p.activation), p.pot_scale_int16));
}

Options sub(File& file, const void* parameters, int) {
    const AddParams& p = Given{parameters};
    return made(tflite::CreateSubOptions(file, activation(p.activation), p.pot_scale_int16));
}

/// Tables of an activation function alone.
template <auto Create> Options activated(File& file, const void* parameters, int) {
    const ActivationParams& p = Given{parameters};
    return made(Create(file, activation(p.activation)));
}

Options concatenation(File& file, const void* parameters, int) {
    const ConcatenationParams& p = Given{parameters};
    return made(tflite::CreateConcatenationOptions(file, p.axis, activation(p.activation)));
}

Options local_response_normalization(File& file, const void* parameters, int) {
    const LocalResponseParams& p = Given{parameters};
    return made(tflite::CreateLocalResponseNormalizationOptions(file, p.radius, p.bias, p.alpha, p.beta));
}

Options strided_slice(File& file, const void* parameters, int version) {
    const StridedSliceParams& p = Given{parameters};
    return made(tflite::CreateStridedSliceOptions(file, p.begin_mask, p.end_mask, p.ellipsis_mask, p.new_axis_mask,
                                                  p.shrink_axis_mask, version >= 8 && p.offset));
}

Options fake_quant(File& file, const void* parameters, int) {
    const FakeQuantParams& p = Given{parameters};
    return made(tflite::CreateFakeQuantOptions(file, p.min, p.max, p.num_bits, p.narrow_range));
}

Options batch_matmul(File& file, const void* parameters, int) {
    const BatchMatMulParams& p = Given{parameters};
    return made(tflite::CreateBatchMatMulOptions(file, p.adj_x, p.adj_y, p.asymmetric_quantize_inputs));
}

Options mirror_pad(File& file, const void* parameters, int) {
    const IntParams& p = Given{parameters};
    if (p.value != 1 && p.value != 2) throw Refused("its mode is unknown");
    return made(tflite::CreateMirrorPadOptions(file, static_cast<tflite::MirrorPadMode>(p.value - 1)));
}

Options cast(File& file, const void* parameters, int) {
    const TwoIntParams& p = Given{parameters};
    if (p.first == type_none || p.second == type_none) return {};  // the file has no options; the tensors say it
    return made(tflite::CreateCastOptions(file, type_in_file(p.first), type_in_file(p.second)));
}

Options bucketize(File& file, const void* parameters, int) {
    const BucketizeParams& p = Given{parameters};
    if (p.count < 0 || (p.count > 0 && p.boundaries == nullptr)) throw Refused("its boundaries are missing");
    const auto count = static_cast<std::size_t>(p.count);
    return made(tflite::CreateBucketizeOptions(file, file.CreateVector(p.boundaries, count)));
}

Options resize_bilinear(File& file, const void* parameters, int) {
    const TwoFlagParams& p = Given{parameters};
    return made(tflite::CreateResizeBilinearOptions(file, 0, 0, p.first, p.second));
}

/// RESHAPE and SQUEEZE. Parameters may hold no more than 8 dimensions.
template <auto Create> Options dimensions(File& file, const void* parameters, int) {
    const DimensionParams& p = Given{parameters};
    if (p.count < 0 || p.count > 8) throw Refused("it has too many dimensions");
    return made(Create(file, file.CreateVector(p.dims, static_cast<std::size_t>(p.count))));
}

/// Tables whose one or two fields stand in the file as in the parameters.
template <auto Create> Options one_int(File& file, const void* parameters, int) {
    const IntParams& p = Given{parameters};
    return made(Create(file, p.value));
}
template <auto Create> Options one_type(File& file, const void* parameters, int) {
    const IntParams& p = Given{parameters};
    return made(Create(file, type_in_file(p.value)));
}
template <auto Create> Options two_ints(File& file, const void* parameters, int) {
    const TwoIntParams& p = Given{parameters};
    return made(Create(file, p.first, p.second));
}
template <auto Create> Options one_float(File& file, const void* parameters, int) {
    const FloatParams& p = Given{parameters};
    return made(Create(file, p.value));
}
template <auto Create> Options one_flag(File& file, const void* parameters, int) {
    const FlagParams& p = Given{parameters};
    return made(Create(file, p.value));
}
template <auto Create> Options two_flags(File& file, const void* parameters, int) {
    const TwoFlagParams& p = Given{parameters};
    return made(Create(file, p.first, p.second));
}

using B = BuiltinOperator;
constexpr OperatorRow rows[] = {
    {B::CONV_2D, conv_2d},
    {B::DEPTHWISE_CONV_2D, depthwise_conv_2d},
    {B::CONV_3D, conv_3d},
    {B::CONV_3D_TRANSPOSE, conv_3d},
    {B::TRANSPOSE_CONV, transpose_conv},
    {B::AVERAGE_POOL_2D, pool_2d},
    {B::MAX_POOL_2D, pool_2d},
    {B::L2_POOL_2D, pool_2d},
    {B::FULLY_CONNECTED, fully_connected},
    {B::BATCH_MATMUL, batch_matmul},
    {B::SVDF, svdf},
    {B::RNN, rnn},
    {B::UNIDIRECTIONAL_SEQUENCE_RNN, sequence_rnn},
    {B::BIDIRECTIONAL_SEQUENCE_RNN, bidirectional_rnn},
    {B::LSTM, lstm},
    {B::UNIDIRECTIONAL_SEQUENCE_LSTM, sequence_lstm},
    {B::BIDIRECTIONAL_SEQUENCE_LSTM, bidirectional_lstm},
    {B::ADD, add},
    {B::SUB, sub},
    {B::MUL, activated<tflite::CreateMulOptions>},
    {B::DIV, activated<tflite::CreateDivOptions>},
    {B::L2_NORMALIZATION, activated<tflite::CreateL2NormOptions>},
    {B::LOCAL_RESPONSE_NORMALIZATION, local_response_normalization},
    {B::CONCATENATION, concatenation},
    {B::SOFTMAX, one_float<tflite::CreateSoftmaxOptions>},
    {B::LEAKY_RELU, one_float<tflite::CreateLeakyReluOptions>},
    {B::GELU, one_flag<tflite::CreateGeluOptions>},
    {B::CAST, cast},
    {B::FAKE_QUANT, fake_quant},
    {B::BUCKETIZE, bucketize},
    {B::RESHAPE, dimensions<tflite::CreateReshapeOptions>},
    {B::SQUEEZE, dimensions<tflite::CreateSqueezeOptions>},
    {B::STRIDED_SLICE, strided_slice},
    {B::MIRROR_PAD, mirror_pad},
    {B::RESIZE_BILINEAR, resize_bilinear},
    {B::RESIZE_NEAREST_NEIGHBOR, two_flags<tflite::CreateResizeNearestNeighborOptions>},
    {B::CUMSUM, two_flags<tflite::CreateCumsumOptions>},
    {B::GATHER, two_ints<tflite::CreateGatherOptions>},
    {B::PACK, two_ints<tflite::CreatePackOptions>},
    {B::UNPACK, two_ints<tflite::CreateUnpackOptions>},
    {B::REVERSE_SEQUENCE, two_ints<tflite::CreateReverseSequenceOptions>},
    {B::SPLIT, one_int<tflite::CreateSplitOptions>},
    {B::SPLIT_V, one_int<tflite::CreateSplitVOptions>},
    {B::SPACE_TO_DEPTH, one_int<tflite::CreateSpaceToDepthOptions>},
    {B::DEPTH_TO_SPACE, one_int<tflite::CreateDepthToSpaceOptions>},
    {B::ONE_HOT, one_int<tflite::CreateOneHotOptions>},
    {B::SHAPE, one_type<tflite::CreateShapeOptions>},
    {B::ARG_MAX, one_type<tflite::CreateArgMaxOptions>},
    {B::ARG_MIN, one_type<tflite::CreateArgMinOptions>},
    {B::MEAN, one_flag<tflite::CreateReducerOptions>},
    {B::SUM, one_flag<tflite::CreateReducerOptions>},
    {B::REDUCE_PROD, one_flag<tflite::CreateReducerOptions>},
    {B::REDUCE_MAX, one_flag<tflite::CreateReducerOptions>},
    {B::REDUCE_MIN, one_flag<tflite::CreateReducerOptions>},
    {B::REDUCE_ANY, one_flag<tflite::CreateReducerOptions>},
    {B::REDUCE_ALL, one_flag<tflite::CreateReducerOptions>},
    {B::SPARSE_TO_DENSE, one_flag<tflite::CreateSparseToDenseOptions>},
    // Without parameters, or with none that a file has.
    {B::CUSTOM, nullptr},
    {B::ABS, nullptr},
    {B::ADD_N, nullptr},
    {B::ATAN2, nullptr},
    {B::BATCH_TO_SPACE_ND, nullptr},
    {B::BITCAST, nullptr},
    {B::BITWISE_XOR, nullptr},
    {B::BROADCAST_ARGS, nullptr},
    {B::BROADCAST_TO, nullptr},
    {B::CEIL, nullptr},
    {B::COMPLEX_ABS, nullptr},
    {B::COS, nullptr},
    {B::DENSIFY, nullptr},
    {B::DEQUANTIZE, nullptr},
    {B::DILATE, nullptr},
    {B::DYNAMIC_UPDATE_SLICE, nullptr},
    {B::ELU, nullptr},
    {B::EMBEDDING_LOOKUP, nullptr},
    {B::EQUAL, nullptr},
    {B::EXP, nullptr},
    {B::EXPAND_DIMS, nullptr},
    {B::FILL, nullptr},
    {B::FLOOR, nullptr},
    {B::FLOOR_DIV, nullptr},
    {B::FLOOR_MOD, nullptr},
    {B::GATHER_ND, nullptr},
    {B::GREATER, nullptr},
    {B::GREATER_EQUAL, nullptr},
    {B::HARD_SWISH, nullptr},
    {B::IMAG, nullptr},
    {B::LESS, nullptr},
    {B::LESS_EQUAL, nullptr},
    {B::LOG, nullptr},
    {B::LOGICAL_AND, nullptr},
    {B::LOGICAL_NOT, nullptr},
    {B::LOGICAL_OR, nullptr},
    {B::LOGISTIC, nullptr},
    {B::LOG_SOFTMAX, nullptr},
    {B::MATRIX_DIAG, nullptr},
    {B::MATRIX_SET_DIAG, nullptr},
    {B::MAXIMUM, nullptr},
    {B::MINIMUM, nullptr},
    {B::NEG, nullptr},
    {B::NON_MAX_SUPPRESSION_V4, nullptr},
    {B::NON_MAX_SUPPRESSION_V5, nullptr},
    {B::NOT_EQUAL, nullptr},
    {B::PAD, nullptr},
    {B::PADV2, nullptr},
    {B::POW, nullptr},
    {B::PRELU, nullptr},
    {B::QUANTIZE, nullptr},
    {B::RANGE, nullptr},
    {B::RANK, nullptr},
    {B::REAL, nullptr},
    {B::RELU, nullptr},
    {B::RELU6, nullptr},
    {B::RELU_0_TO_1, nullptr},
    {B::RELU_N1_TO_1, nullptr},
    {B::REVERSE_V2, nullptr},
    {B::RFFT2D, nullptr},
    {B::RIGHT_SHIFT, nullptr},
    {B::ROUND, nullptr},
    {B::RSQRT, nullptr},
    {B::SCATTER_ND, nullptr},
    {B::SEGMENT_SUM, nullptr},
    {B::SELECT, nullptr},
    {B::SELECT_V2, nullptr},
    {B::SIGN, nullptr},
    {B::SIN, nullptr},
    {B::SLICE, nullptr},
    {B::SPACE_TO_BATCH_ND, nullptr},
    {B::SQRT, nullptr},
    {B::SQUARE, nullptr},
    {B::SQUARED_DIFFERENCE, nullptr},
    {B::TANH, nullptr},
    {B::TILE, nullptr},
    {B::TOPK_V2, nullptr},
    {B::TRANSPOSE, nullptr},
    {B::UNSORTED_SEGMENT_MAX, nullptr},
    {B::UNSORTED_SEGMENT_MIN, nullptr},
    {B::UNSORTED_SEGMENT_PROD, nullptr},
    {B::UNSORTED_SEGMENT_SUM, nullptr},
    {B::WHERE, nullptr},
    {B::ZEROS_LIKE, nullptr},
};

}  // namespace

const OperatorRow* find_operator(int code) {
    const auto* row = std::find_if(std::begin(rows), std::end(rows),
                                   [&](const OperatorRow& r) { return static_cast<int>(r.code) == code; });
    return row == std::end(rows) ? nullptr : row;
}

int version_in_2_14(int code) {
    switch (static_cast<BuiltinOperator>(code)) {
        case BuiltinOperator::STRIDED_SLICE: return 8;
        case BuiltinOperator::TRANSPOSE_CONV: return 4;
        default: return 1;
    }
}

// No allocator hands out less than 24 bytes. The types of biases are left out: only sums of int16 read them, and the
// bias is there to see.
bool says_more(int code, const void* parameters, int version) {
    static_assert(sizeof(StridedSliceParams) <= 24 && sizeof(TransposeConvParams) <= 24);
    const Given given{parameters};
    if (code == static_cast<int>(BuiltinOperator::STRIDED_SLICE) && version < 8) {
        unsigned char offset = 0;
        std::memcpy(&offset, static_cast<const char*>(parameters) + offsetof(StridedSliceParams, offset), 1);
        return offset != 0;
    }
    if (code == static_cast<int>(BuiltinOperator::TRANSPOSE_CONV) && version < 4)
        return static_cast<const TransposeConvParams&>(given).activation != 0;
    return false;
}

tflite::TensorType type_in_file(int type) {
    using T = tflite::TensorType;
    switch (type) {
        case type_float32: return T::FLOAT32;
        case type_int32: return T::INT32;
        case type_uint8: return T::UINT8;
        case type_int64: return T::INT64;
        case type_bool: return T::BOOL;
        case type_int16: return T::INT16;
        case type_complex64: return T::COMPLEX64;
        case type_int8: return T::INT8;
        case type_float16: return T::FLOAT16;
        case type_float64: return T::FLOAT64;
        case type_uint64: return T::UINT64;
        case type_uint32: return T::UINT32;
        case type_uint16: return T::UINT16;
        case type_int4: return T::INT4;
        case type_bfloat16: return T::BFLOAT16;
        case type_int2: return T::INT2;
        case type_uint4: return T::UINT4;
        case type_float8_e4m3fn: return T::FLOAT8_E4M3FN;
        case type_float8_e5m2: return T::FLOAT8_E5M2;
        default: throw Refused("tensors of type " + std::to_string(type) + " are not taken");
    }
}

}  // namespace tosavk::delegate
