// Weights of int4 with a scale for each block of a row (BlockwiseQuantization), times activations.
#include "frontends/tflite/hybrid.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

using T = tflite::TensorType;

struct Blocks {
    std::int64_t channels = 0, depth = 0, size = 0, count = 0;  ///< `count` blocks of `size` in a row
    std::vector<std::int64_t> values;                           ///< [channels, depth]
    std::vector<float> scales;                                  ///< [channels, count]
};

Blocks read_blocks(Lowering& l, std::size_t k) {
    const TfliteTensor& tensor = l.in(k);
    const Value v = l.graph_value(l.value(k));
    if (tensor.type != T::INT4 || !v.is_constant() || v.shape.size() != 2)
        l.unsupported(fmt::format("{} of type {} is quantized in blocks, which only constant matrices of INT4 may be",
                                  tensor.title(), name_of(tensor.type)));
    Blocks b{v.shape[0], v.shape[1], tensor.block_size, 0, decode_ints(v.type, *v.data), {}};
    if (b.depth % b.size != 0)
        l.fail(
            fmt::format("{} has rows of {}, which do not divide into blocks of {}", tensor.title(), b.depth, b.size));
    b.count = b.depth / b.size;
    const TfliteTensor& scales = l.tensor(tensor.block_scales);
    if (scales.type != T::FLOAT16 || !scales.is_constant || scales.sparsity)
        l.unsupported(fmt::format("{}, the scales of {}, are no constant of FLOAT16", scales.title(), tensor.title()));
    if (element_count(scales.shape) != b.channels * b.count)
        l.fail(fmt::format("{} has {} scales for {} blocks", tensor.title(), element_count(scales.shape),
                           b.channels * b.count));
    const std::vector<double> stored = decode_reals(DType::fp16, scales.data);
    b.scales.assign(stored.begin(), stored.end());
    return b;
}

/// As floats, where nothing is quantized at run time.
ValueId dequantized(Lowering& l, const Blocks& b) {
    std::vector<float> values;
    for (std::size_t i = 0; i < b.values.size(); ++i)
        values.push_back(static_cast<float>(b.values[i]) * b.scales[i / static_cast<std::size_t>(b.size)]);
    return l.constant_floats("weights", {b.channels, b.depth}, values);
}

}  // namespace

ValueId blockwise_product(Lowering& l, ValueId x, std::size_t k) {
    const Blocks b = read_blocks(l, k);
    const std::int64_t rows = l.shape(x)[0];
    if (l.shape(x)[1] != b.depth) l.fail(fmt::format("rows of {} meet weights of {}", l.shape(x)[1], b.depth));
    if (!l.computes_hybrid()) return matrix_product(l, x, dequantized(l, b), l.scalar(DType::fp32, 0));

    const HybridRows quantized = round_rows(l, x, /*asymmetric=*/true);
    Attributes swap;
    swap.perms = {1, 0, 2};
    const ValueId parts = l.reshape(quantize_rounded(l, quantized, quantized.rounded), {rows, b.count, b.size});
    const ValueId by_block = b.count == 1 || rows == 1 ? l.reshape(parts, {b.count, rows, b.size})
                                                       : l.add(Op::transpose, {parts}, DType::i8, swap);
    std::vector<std::int64_t> turned(b.values.size());  // [count, size, channels]
    std::vector<float> scales(b.scales.size()), sums(static_cast<std::size_t>(b.channels), 0);
    for (std::int64_t c = 0; c < b.channels; ++c) {
        for (std::int64_t i = 0; i < b.count; ++i) {
            const float scale = b.scales[static_cast<std::size_t>(c * b.count + i)];
            std::int64_t sum = 0;
            for (std::int64_t j = 0; j < b.size; ++j) {
                const std::int64_t v = b.values[static_cast<std::size_t>(c * b.depth + i * b.size + j)];
                turned[static_cast<std::size_t>((i * b.size + j) * b.channels + c)] = v;
                sum += v;
            }
            scales[static_cast<std::size_t>(i * b.channels + c)] = scale;
            sums[static_cast<std::size_t>(c)] += scale * static_cast<float>(sum);
        }
    }
    const ValueId weights = l.constant_ints("blocks", DType::i8, {b.count, b.size, b.channels}, turned);
    const ValueId zero = l.scalar(DType::i8, 0);
    const ValueId products = l.cast(l.add(Op::matmul, {by_block, weights, zero, zero}, DType::i32), DType::fp32);
    const ValueId scaled = l.mul(products, l.constant_floats("scales", {b.count, 1, b.channels}, scales), DType::fp32);
    Attributes along;
    along.axis = 0;
    ValueId total = l.reshape(l.add(Op::reduce_sum, {scaled}, DType::fp32, along), {rows, b.channels});
    const ValueId weight_sums = l.constant_floats("sums", {1, b.channels}, sums);
    const ValueId added = l.mul(l.cast(quantized.zero_point, DType::fp32), weight_sums, DType::fp32);
    total = l.add(Op::sub, {total, added}, DType::fp32);
    return l.mul(total, quantized.scale, DType::fp32);
}

}  // namespace tosavk
