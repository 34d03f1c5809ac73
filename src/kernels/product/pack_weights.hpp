// Constant weights in the order in which the kernels read them.
#pragma once

#include "kernels/common/constants.hpp"
#include "ops/window.hpp"

namespace tosavk {

/// How a block's elements lie.
struct BlockForm {
    bool turned = false;  ///< [4 oc][4 ic], so that a word has four input channels
    bool nibbles =
        false;  ///< of i4: rows 0 and 1, and 2 and 3, share their bytes, the first of both in the lower halves
    bool widened = false;  ///< as fp32, less the zero point
};

/// Weights [OC,KH,KW,IC] as blocks of 4 input x 4 output channels: [OC/4][KH*KW][IC/4][4 ic][4 oc], padded with
/// `zero_point`, which stands for zero. Of a transposed window one phase after another, each with its own taps and as
/// much room as the phase needs that has most.
LazyBytes pack_conv_weights(const Value& weight, const Window& window, std::int64_t zero_point, BlockForm form = {});

/// How inner elements lie side by side in what gemm_cooperative reads: in units of so many blocks of 4; a tap has a
/// multiple of `of_tap` blocks, the last ones empty.
struct InnerUnits {
    std::int64_t blocks = 1, of_tap = 1;
};
/// The same weights as units of inner elements, which run over taps and input channels: [OC/4][units][4 oc][unit],
/// padded with `zero_point`.
LazyBytes pack_conv_units(const Value& weight, const Window& window, std::int64_t zero_point, InnerUnits units);

/// Weights [KH,KW,C,M] as rows of one tap, each padded to whole quads of channels.
LazyBytes pack_depthwise_weights(const Value& weight, std::int64_t zero_point);

/// Sums of (w - zero_point) over all i8 weights of an output channel, for weights [OC,KH,KW,IC], in whole quads of
/// channels with zeros behind; of a transposed window over each phase's weights.
std::vector<std::int64_t> channel_sums(const Value& weight, const Window& window, std::int64_t zero_point);

}  // namespace tosavk
