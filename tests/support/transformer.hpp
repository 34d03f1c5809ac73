// A transformer layer as a .tflite file that leaves batch and sequence length open.
#pragma once

#include "support/tflite_builder.hpp"

#include <cmath>
#include <random>

namespace tosavk::test {

/// How scores are computed, and what they mix.
enum class Attention {
    products,  ///< BATCH_MATMUL
    broadcast  ///< MUL of five dimensions, and sums
};

/// x [B,S,width] -> attention, residual, and two fully connected layers with their residual; floats with layer norms.
/// Shapes within are computed from that of x.
class TransformerLayer {
public:
    TransformerLayer(bool quantized, int width, int heads, unsigned seed, Attention attention = Attention::products)
        : quantized_(quantized),
          width_(width),
          heads_(heads),
          depth_(width / heads),
          attention_(attention),
          random_(seed) {}

    Bytes file() {
        x_ = like({1, 1, width_}, {-1, -1, width_}, "tokens");
        const int size = t_.tensor({{3}, tflite::TensorType::INT32});
        t_.op(B::SHAPE, {x_}, {size});
        batch_ = one_of(size, 0);
        length_ = one_of(size, 1);
        const int attended = dense(attention(norm(x_)), width_, width_, Act::NONE);
        const int y = add(x_, attended);
        const int wide = dense(norm(y), width_, 4 * width_, Act::RELU);
        const int z = add(y, dense(wide, 4 * width_, width_, Act::NONE));
        return t_.finish({x_}, {z});
    }

private:
    using B = tflite::BuiltinOperator;
    using O = tflite::BuiltinOptions;
    using Act = tflite::ActivationFunctionType;
    using Dims = std::vector<std::int32_t>;

    int like(Dims shape, Dims signature, const std::string& name = {}, float scale = 0.05f, std::int64_t zp = 0) {
        TensorSpec spec{std::move(shape), quantized_ ? tflite::TensorType::INT8 : tflite::TensorType::FLOAT32};
        if (quantized_) spec.scale = {scale}, spec.zero_point = {zp};
        spec.signature = std::move(signature);
        spec.name = name;
        return t_.tensor(spec);
    }
    /// Of rank `rank`, with a last dimension that is known.
    int open(std::size_t rank, int last, float scale = 0.05f, std::int64_t zp = 0) {
        Dims shape(rank, 1), signature(rank, -1);
        shape.back() = last > 0 ? last : 1;
        signature.back() = last > 0 ? last : -1;
        return like(shape, signature, {}, scale, zp);
    }
    int weights(int out, int in) {
        TensorSpec spec{{out, in}, quantized_ ? tflite::TensorType::INT8 : tflite::TensorType::FLOAT32};
        const auto count = static_cast<std::size_t>(out) * static_cast<std::size_t>(in);
        if (quantized_) {
            spec.scale = {0.01f}, spec.zero_point = {0};
            std::vector<std::int64_t> values(count);
            for (auto& v : values) v = static_cast<std::int64_t>(random_() % 255) - 127;
            return t_.constant(spec, encode_ints(DType::i8, values));
        }
        std::vector<double> values(count);
        for (auto& v : values) v = (static_cast<double>(random_() % 2001) / 1000 - 1) / std::sqrt(in);
        return t_.constant(spec, encode_reals(DType::fp32, values));
    }
    int vector(int n, double around, double spread) {
        std::vector<double> values(static_cast<std::size_t>(n));
        for (auto& v : values) v = around + spread * (static_cast<double>(random_() % 2001) / 1000 - 1);
        return t_.constant({{n}, tflite::TensorType::FLOAT32}, encode_reals(DType::fp32, values));
    }
    /// Element `index` of a vector of sizes.
    int one_of(int sizes, int index) {
        const int out = t_.tensor({{}, tflite::TensorType::INT32});
        const auto options = tflite::CreateStridedSliceOptions(t_.fbb, 0, 0, 0, 0, 1).Union();
        t_.op(B::STRIDED_SLICE, {sizes, t_.indices({index}), t_.indices({index + 1}), t_.indices({1})}, {out},
              O::StridedSliceOptions, options);
        return out;
    }
    int number(int n) { return t_.constant_i32({}, {n}); }
    int reshape(int x, const std::vector<int>& sizes, int last, float scale = 0.05f, std::int64_t zp = 0) {
        const auto count = static_cast<std::int32_t>(sizes.size());
        const int shape = t_.tensor({{count}, tflite::TensorType::INT32});
        t_.op(B::PACK, sizes, {shape}, O::PackOptions, tflite::CreatePackOptions(t_.fbb, count, 0).Union());
        const int out = open(sizes.size(), last, scale, zp);
        t_.op(B::RESHAPE, {x, shape}, {out});
        return out;
    }
    int transpose(int x) {  // [B,S,heads,depth] <-> [B,heads,S,depth]
        const int out = open(4, depth_);
        t_.op(B::TRANSPOSE, {x, t_.indices({0, 2, 1, 3})}, {out});
        return out;
    }
    int dense(int x, int in, int out, Act activation) {
        const int y = open(3, out);
        const int w = weights(out, in);
        TensorSpec bias{{out}, quantized_ ? tflite::TensorType::INT32 : tflite::TensorType::FLOAT32};
        int b = 0;
        if (quantized_) {
            bias.scale = {0.05f * 0.01f}, bias.zero_point = {0};
            std::vector<std::int64_t> values(static_cast<std::size_t>(out));
            for (auto& v : values) v = static_cast<std::int64_t>(random_() % 2001) - 1000;
            b = t_.constant(bias, encode_ints(DType::i32, values));
        } else {
            b = vector(out, 0, 0.1);
        }
        const auto options = tflite::CreateFullyConnectedOptions(
                                 t_.fbb, activation, tflite::FullyConnectedOptionsWeightsFormat::DEFAULT, true)
                                 .Union();
        t_.op(B::FULLY_CONNECTED, {x, w, b}, {y}, O::FullyConnectedOptions, options);
        return y;
    }
    int binary(B code, int a, int b, int out, O type, flatbuffers::Offset<void> options) {
        t_.op(code, {a, b}, {out}, type, options);
        return out;
    }
    int add(int a, int b, std::size_t rank = 3, int last = 0) {
        return binary(B::ADD, a, b, open(rank, last ? last : width_), O::AddOptions,
                      tflite::CreateAddOptions(t_.fbb, Act::NONE).Union());
    }
    int mul(int a, int b, std::size_t rank, int last, float scale = 0.05f) {
        return binary(B::MUL, a, b, open(rank, last, scale), O::MulOptions,
                      tflite::CreateMulOptions(t_.fbb, Act::NONE).Union());
    }
    /// Over one axis: the sum of floats, the mean of int8.
    int reduce(int x, int axis, std::size_t rank, int last, bool keep, bool mean, float scale = 0.05f) {
        const int out = open(rank, last, scale);
        t_.op(mean || quantized_ ? B::MEAN : B::SUM, {x, t_.indices({axis})}, {out}, O::ReducerOptions,
              tflite::CreateReducerOptions(t_.fbb, keep).Union());
        return out;
    }
    int norm(int x) {
        if (quantized_) return x;
        const int mean = reduce(x, 2, 3, 1, true, true);
        const int square = binary(B::SQUARED_DIFFERENCE, x, mean, open(3, width_), O::NONE, 0);
        const int variance = add(reduce(square, 2, 3, 1, true, true), vector(1, 1e-3, 0), 3, 1);
        const int scale = open(3, 1);
        t_.op(B::RSQRT, {variance}, {scale});
        const int centred = binary(B::SUB, x, mean, open(3, width_), O::SubOptions,
                                   tflite::CreateSubOptions(t_.fbb, Act::NONE).Union());
        return add(mul(mul(centred, scale, 3, width_), vector(width_, 1, 0.2), 3, width_), vector(width_, 0, 0.2));
    }
    /// x [B,heads,R,K] by y [B,heads,K,C], or [B,heads,C,K] where that is turned.
    int product(int x, int y, bool turned, int last, float scale) {
        const int out = open(4, last, scale);
        t_.op(B::BATCH_MATMUL, {x, y}, {out}, O::BatchMatMulOptions,
              tflite::CreateBatchMatMulOptions(t_.fbb, false, turned).Union());
        return out;
    }
    int attention(int x) {
        const auto heads = [&](int y) {
            return transpose(reshape(y, {batch_, length_, number(heads_), number(depth_)}, depth_));
        };
        const int q = heads(dense(x, width_, width_, Act::NONE)), k = heads(dense(x, width_, width_, Act::NONE)),
                  v = heads(dense(x, width_, width_, Act::NONE));
        const int scores = attention_ == Attention::products ? product(q, k, true, 0, 0.05f) : broadcast_scores(q, k);
        const int shares = open(4, 0, 1.0f / 256, -128);
        t_.op(B::SOFTMAX, {scores}, {shares}, O::SoftmaxOptions, tflite::CreateSoftmaxOptions(t_.fbb, 1.0f).Union());
        const int mixed =
            attention_ == Attention::products ? product(shares, v, false, depth_, 0.05f) : broadcast_mix(shares, v);
        return reshape(transpose(mixed), {batch_, length_, number(width_)}, width_);
    }
    int broadcast_scores(int q, int k) {
        const int rows = reshape(q, {batch_, number(heads_), length_, number(1), number(depth_)}, depth_);
        const int columns = reshape(k, {batch_, number(heads_), number(1), length_, number(depth_)}, depth_);
        return reduce(mul(rows, columns, 5, depth_), 4, 4, 0, false, false);
    }
    int broadcast_mix(int shares, int v) {
        const int share = reshape(shares, {batch_, number(heads_), length_, length_, number(1)}, 1, 1.0f / 256, -128);
        const int values = reshape(v, {batch_, number(heads_), number(1), length_, number(depth_)}, depth_);
        return reduce(mul(share, values, 5, depth_), 3, 4, depth_, false, false);
    }

    TfliteBuilder t_;
    bool quantized_;
    int width_, heads_, depth_, x_ = 0, batch_ = 0, length_ = 0;
    Attention attention_;
    std::mt19937 random_;
};

}  // namespace tosavk::test
