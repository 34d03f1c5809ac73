// Networks built in code with random weights, for the benchmark: in floats, or in int8 as a quantizer would emit them
// (per-channel RESCALE behind every convolution, zero points at the end of the range after a relu).
#pragma once

#include "frontends/problems/layers.hpp"

#include <functional>
#include <string_view>

namespace tosavk {

struct NetworkSize {
    std::int64_t batch = 1;
    std::int64_t size = 0;  ///< height and width of images, length of sequences; 0: the usual one
};

struct NetworkDef {
    const char* name;
    std::int64_t usual_size, small_size;
    Graph (*build)(Layers& layers, DType type, NetworkSize size);
};

/// SqueezeNet 1.1, MobileNet V1 and V2, ResNet-18 and -50, U-Net, a transformer encoder layer, an LSTM step.
std::span<const NetworkDef> image_networks();
std::span<const NetworkDef> sequence_networks();
const NetworkDef* find_network(std::string_view name);

/// The layers of those networks, each in the network's type: fp32, fp16 or i8.
class Network {
public:
    Network(Layers& layers, DType type) : layers_(layers), type_(type) {}

    Layers& layers() { return layers_; }
    bool quantized() const { return type_ == DType::i8; }
    DType type() const { return type_; }

    ValueId input(const std::string& name, const Shape& shape) { return layers_.input(name, type_, shape); }
    /// Square kernel. Windows that leave elements out, which TOSA does not allow, lose padding first, then the input's
    /// end.
    ValueId conv(ValueId x, std::int64_t channels, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                 Activation activation);
    ValueId depthwise(ValueId x, std::int64_t kernel, std::int64_t stride, std::int64_t pad, Activation activation);
    ValueId upsample(ValueId x, std::int64_t channels);  ///< TRANSPOSE_CONV2D 2x2 of stride 2
    ValueId pool(Op op, ValueId x, std::int64_t kernel, std::int64_t stride, std::int64_t pad);
    ValueId global_average(ValueId x);
    ValueId fully_connected(ValueId x, std::int64_t outputs, Activation activation = Activation::none);  ///< of [N,C]
    ValueId add(ValueId a, ValueId b, Activation activation);
    ValueId concat(const std::vector<ValueId>& parts, std::int32_t axis);
    ValueId transpose(ValueId x, std::vector<std::int32_t> perms);
    ValueId slice(ValueId x, const Shape& start, const Shape& size);
    ValueId activate(ValueId x, Activation activation);

    /// What follows an accumulator: RESCALE for integers, CLAMP for floats; sums wider than the type are rounded to it.
    ValueId finish(ValueId accumulator, Activation activation);

private:
    ValueId window_op(Op op, ValueId x, const Shape& weight, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                      Activation activation);
    ValueId fit(ValueId x, std::int64_t kernel, std::int64_t stride, std::vector<std::int32_t>& pad);

    Layers& layers_;
    DType type_;
};

/// An i8 TABLE: `f` of a stored number, in steps of the result, whose zero point it leaves out.
ValueId quantized_table(Layers& layers, ValueId x, std::int64_t zero_point, const std::function<double(int)>& f);
/// In int8 as TFLite's operators compute them, over the last axis. `deviation`: what the magnitude of x stands for.
ValueId quantized_softmax(Layers& layers, ValueId x, double deviation);
ValueId quantized_normalize(Layers& layers, ValueId x);  ///< with a factor and a term per channel
ValueId quantized_gelu(Layers& layers, ValueId x);

}  // namespace tosavk
