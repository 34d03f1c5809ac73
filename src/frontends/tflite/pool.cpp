// AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D.
#include "frontends/tflite/lowering.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

ValueId average(Lowering& l, ValueId x, const Attributes& attrs) {
    const DType type = l.type(x);
    // TOSA rounds half away from zero of what the zero points leave, TFLite of the stored integers: those of UINT8
    // begin at 0.
    const double zero = l.in(0).type == tflite::TensorType::UINT8 ? -128 : 0;
    return l.add(Op::avg_pool2d, {x, l.scalar(type, zero), l.scalar(type, zero)}, type, attrs);
}

void lower_pool_2d(Lowering& l) {
    using B = tflite::BuiltinOperator;
    const auto code = l.op().code;
    const auto* options = l.options<tflite::Pool2DOptions>();
    if (!options) l.fail("its options are missing");
    const DType type = l.dtype(l.in(0));
    const bool real = type == DType::fp32;
    if (l.in(0).type != l.out().type || (!real && (code == B::L2_POOL_2D || (type != DType::i8 && type != DType::i16))))
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(l.in(0).type), name_of(l.out().type)));
    const std::array<std::int64_t, 2> kernel{options->filter_height(), options->filter_width()};
    const std::array<std::int64_t, 2> stride{options->stride_h(), options->stride_w()}, dilation{1, 1};
    ValueId x = l.value(0);
    if (code == B::L2_POOL_2D) x = l.mul(x, x, type);
    Attributes attrs;
    attrs.pad = pad_image(l, x, kernel, stride, dilation, options->padding());
    attrs.kernel = {l.narrow(kernel[0], "kernel"), l.narrow(kernel[1], "kernel")};
    attrs.stride = {l.narrow(stride[0], "stride"), l.narrow(stride[1], "stride")};
    attrs.acc_type = real ? DType::fp32 : DType::i32;
    ValueId y;
    if (code == B::MAX_POOL_2D) {
        attrs.nan_mode = NanMode::ignore;  // as TFLite compares
        y = l.add(Op::max_pool2d, {x}, type, attrs);
    } else {
        y = average(l, x, attrs);
    }
    if (code == B::L2_POOL_2D) y = l.add(Op::sqrt, {y}, type);
    const auto activation = options->fused_activation_function();
    l.set(real ? l.activate_float(y, activation) : l.activate_int(y, activation, l.out()));
}

}  // namespace

OperatorRows pool_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::AVERAGE_POOL_2D, lower_pool_2d},
        {B::MAX_POOL_2D, lower_pool_2d},
        {B::L2_POOL_2D, lower_pool_2d},
    };
    return rows;
}

}  // namespace tosavk
