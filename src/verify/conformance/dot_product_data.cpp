// The data of the specification, and graphs around it.
#include "verify/conformance/dot_product_data.hpp"

#include "ops/builder.hpp"
#include "verify/conformance/random_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tosavk::conformance {
namespace {

using Operand = DotProductElement::Operand;

/// The sequence of one set, from its first element on; going back starts again.
class Sequence {
public:
    explicit Sequence(std::uint32_t set) : multiplier_((8 * set + 1) * 0x705A5E75u), state_(multiplier_ + 1) {}

    double at(std::uint64_t i) {
        if (i < index_) {
            index_ = 0;
            state_ = multiplier_ + 1;
        }
        for (; index_ < i; ++index_) state_ = state_ * multiplier_ + 1;
        const float magnitude = static_cast<float>(state_ & 0x7fffffffu) / 2147483648.0f;  // fp32(0x7fffffff) is 2^31
        return state_ & 0x80000000u ? -magnitude : magnitude;
    }

private:
    std::uint32_t multiplier_, state_;
    std::uint64_t index_ = 0;
};

/// Elements are asked for in order, so that each sequence is walked once.
class Generator {
public:
    double operator()(std::uint32_t set, std::int64_t i) {
        while (sequences_.size() <= set) sequences_.emplace_back(static_cast<std::uint32_t>(sequences_.size()));
        return sequences_[set].at(static_cast<std::uint64_t>(i));
    }

private:
    std::vector<Sequence> sequences_;
};

double value_of(Generator& g, int set, const DotProductElement& e, double large) {
    const bool input = e.operand == Operand::input;
    const auto terms = static_cast<double>(e.terms);
    if (e.operand == Operand::bias) {
        if (set != 1) return 0;
        const double sign = g(5, 2 * e.i) < 0 ? -1 : 1;
        return large * large / (terms + 1) * (sign * 0.75 + 0.25 * g(5, 2 * e.i + 1));
    }
    switch (set) {
        case 0: return (g(0, e.i) < 0) == input ? 0 : g(1, e.i);
        case 1: {
            const std::uint32_t from = input ? 3 : 4;
            const double sign = g(from, 2 * e.i) < 0 ? -1 : 1;
            return large / std::sqrt(terms + 1) * (sign * 0.75 + 0.25 * g(from, 2 * e.i + 1));
        }
        case 2: return e.k == 0 ? 1 : g(input ? 6 : 7, e.i) / std::sqrt(terms);
        case 3: {
            const std::uint32_t from = input ? 9 : 10;
            const double first = g(from, 2 * e.i);
            return e.k == 0 ? (first < 0 ? -16 : 16) : std::exp(2 * first) * g(from, 2 * e.i + 1);
        }
        case 4: {
            const bool negative = g(12, e.i) < 0;
            if (e.k == e.terms / 2) return negative == input ? -0.5 : 0.5;
            return negative == input ? 0 : large / std::sqrt(terms) * g(13, e.i);
        }
        case 5: return large / std::sqrt(terms) * g(input ? 15 : 16, e.i);
        default: throw Error(ErrorCode::internal, fmt::format("there is no dot product data set {}", set));
    }
}

/// B by the types that go in and out.
double large_of(DType in, DType out) {
    switch (in) {
        case DType::fp8e4m3: return out == DType::fp16 ? 240 : out == DType::fp32 ? 448 : 20;
        case DType::fp8e5m2: return out == DType::fp32 ? 57344 : 224;
        case DType::fp16: return out == DType::fp32 ? 65504 : 255.875;
        case DType::bf16: return 0x1p64 - 0x1p56;
        default: return 0x1p64 - 0x1p40;
    }
}

class Maker {
public:
    Maker(const OpDef& def, const TypeRow& row, int set, std::mt19937_64& random)
        : def_(def), row_(row), set_(set), data_(random), builder_(fmt::format("data set {} for {}", set, def.name)) {}

    RandomCase make() {
        attrs_.acc_type = variable("acc_t", DType::i32);
        attrs_.local_bound = data_.chance(50);
        std::vector<DType> outputs;
        for (const ArgDef& arg : def_.outputs) outputs.push_back(variable(arg.type, DType::fp32));
        large_ = large_of(in_type(0), outputs[0]);
        switch (def_.op) {
            case Op::avg_pool2d: pool(); break;
            case Op::matmul: matmul(); break;
            case Op::reduce_sum: reduce(); break;
            case Op::fft2d:
            case Op::rfft2d: transform(); break;
            default: convolve(); break;
        }
        for (const ValueId id : builder_.add(def_.op, ids_, attrs_, outputs, "node")) builder_.output(id);
        made_.graph = builder_.finish();
        return std::move(made_);
    }

private:
    DType variable(std::string_view name, DType otherwise) const {
        for (std::size_t k = 0; k < def_.type_vars.size(); ++k)
            if (name == def_.type_vars[k]) return row_.types[k];
        return otherwise;
    }
    DType in_type(std::size_t k) const { return variable(def_.inputs.at(k).type, DType::fp32); }

    /// k_of: flat index and coordinates -> which product; first_index: where the operand's numbering begins.
    template <class F> void operand(Operand kind, const Shape& shape, F k_of, std::int64_t first_index = 0) {
        HostTensor tensor(in_type(ids_.size()), shape);
        std::vector<double> values(static_cast<std::size_t>(tensor.count()));
        Shape at(shape.size(), 0);
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = value_of(generator_, set_, {kind, terms_, k_of(at), first_index + static_cast<std::int64_t>(i)},
                                 large_);
            for (std::size_t d = shape.size(); d-- > 0;) {
                if (++at[d] < shape[d]) break;
                at[d] = 0;
            }
        }
        tensor.bytes = encode_reals(tensor.type, values);
        const char* name = def_.inputs.at(ids_.size()).name;
        // Constant weights are packed by the plan, run-time weights are not: take turns.
        if (kind != Operand::input && set_ % 2 == 0) {
            ids_.push_back(builder_.constant(name, tensor.type, tensor.shape, std::move(tensor.bytes)));
            return;
        }
        ids_.push_back(builder_.input(name, tensor.type, tensor.shape));
        made_.inputs.push_back(std::move(tensor));
    }
    void zero_points() {
        for (int k = 0; k < 2; ++k) ids_.push_back(builder_.scalar(in_type(ids_.size()), 0));
    }

    void convolve() {
        const bool depthwise = def_.op == Op::depthwise_conv2d, transposed = def_.op == Op::transpose_conv2d;
        const std::size_t axes = def_.op == Op::conv3d ? 3 : 2;
        const std::int64_t in_channels = depthwise ? data_.pick(2, 7) : data_.pick(1, 23);
        const std::int64_t out_channels = depthwise ? data_.pick(1, 3) : data_.pick(4, 19);
        Shape kernel, input{1};
        std::int64_t positions = 1;
        for (std::size_t d = 0; d < axes; ++d) kernel.push_back(data_.pick(1, 3));
        const std::int64_t results = depthwise ? in_channels * out_channels : out_channels;
        for (std::size_t d = 0; d < axes; ++d) {
            // The last axis is as long as 1000 results need.
            const std::int64_t wanted = d + 1 < axes ? data_.pick(3, 9) : 1000 / (positions * results) + 1;
            const std::int64_t stride = data_.pick(1, 2);
            attrs_.stride.push_back(static_cast<std::int32_t>(stride));
            if (!transposed) attrs_.dilation.push_back(1);
            attrs_.pad.insert(attrs_.pad.end(), 2, 0);
            input.push_back(transposed ? wanted : (wanted - 1) * stride + kernel[d]);
            positions *= wanted;
        }
        input.push_back(in_channels);
        terms_ = depthwise ? 1 : in_channels;
        for (const std::int64_t n : kernel) terms_ *= n;

        operand(Operand::input, input, [&](const Shape& at) {
            std::int64_t k = 0;
            for (std::size_t d = 0; d < axes; ++d) k = k * kernel[d] + at[1 + d] % kernel[d];
            return depthwise ? k : k * in_channels + at.back();
        });
        Shape weight = kernel;
        if (depthwise) {
            weight.insert(weight.end(), {in_channels, out_channels});
        } else {
            weight.insert(weight.begin(), out_channels);
            weight.push_back(in_channels);
        }
        operand(Operand::weight, weight, [&](const Shape& at) {
            std::int64_t k = 0;
            for (std::size_t d = 0; d < axes; ++d) k = k * kernel[d] + at[d + (depthwise ? 0 : 1)];
            return depthwise ? k : k * in_channels + at.back();
        });
        operand(Operand::bias, {results}, [](const Shape&) { return 0; });
        zero_points();
    }

    void matmul() {
        const std::int64_t n = data_.pick(1, 2), h = data_.pick(8, 40), c = data_.pick(16, 300);
        const std::int64_t w = 1000 / (n * h) + data_.pick(1, 5);
        terms_ = c;
        operand(Operand::input, {n, h, c}, [](const Shape& at) { return at[2]; });
        operand(Operand::weight, {n, c, w}, [](const Shape& at) { return at[1]; });
        zero_points();
    }

    void reduce() {
        const std::int64_t outer = data_.pick(20, 60), inner = 1000 / outer + data_.pick(1, 4);
        terms_ = data_.pick(16, 300);
        attrs_.axis = static_cast<std::int32_t>(data_.pick(0, 2));
        Shape shape{outer, inner};
        shape.insert(shape.begin() + attrs_.axis, terms_);
        operand(Operand::input, shape, [&](const Shape& at) { return at[static_cast<std::size_t>(attrs_.axis)]; });
    }

    void pool() {
        const std::int64_t ky = data_.pick(1, 5), kx = data_.pick(2, 5), channels = data_.pick(3, 9);
        const std::int64_t oh = data_.pick(5, 12), ow = 1000 / (oh * channels) + 1;
        attrs_.kernel = {static_cast<std::int32_t>(ky), static_cast<std::int32_t>(kx)};
        attrs_.stride = {1, 1};
        attrs_.pad = {0, 0, 0, 0};
        terms_ = ky * kx;
        operand(Operand::input, {1, oh + ky - 1, ow + kx - 1, channels},
                [&](const Shape& at) { return ((at[1] % ky) * kx + at[2] % kx) * channels + at[3]; });
        zero_points();
    }

    void transform() {
        const bool complex = def_.op == Op::fft2d;
        const std::int64_t n = data_.pick(1, 2), h = std::int64_t{1} << data_.pick(4, 5), w = complex ? 64 : 128;
        terms_ = (complex ? 2 : 1) * h * w;
        if (complex) attrs_.inverse = data_.chance(50);
        const auto position = [&](const Shape& at) { return at[1] * w + at[2]; };
        operand(Operand::input, {n, h, w}, position);
        if (complex) operand(Operand::input, {n, h, w}, position, n * h * w);
    }

    const OpDef& def_;
    const TypeRow& row_;
    const int set_;
    RandomData data_;
    Generator generator_;
    GraphBuilder builder_;
    Attributes attrs_;
    std::vector<ValueId> ids_;
    RandomCase made_;
    std::int64_t terms_ = 1;
    double large_ = 1;
};

}  // namespace

double generated(std::uint32_t set, std::uint64_t i) { return Sequence(set).at(i); }

double dot_product_value(int set, const DotProductElement& element, double large) {
    Generator generator;
    return value_of(generator, set, element, large);
}

bool has_dot_product_data(const OpDef& def, const TypeRow& row) {
    switch (def.op) {
        case Op::avg_pool2d:
        case Op::conv2d:
        case Op::conv3d:
        case Op::depthwise_conv2d:
        case Op::transpose_conv2d:
        case Op::matmul:
        case Op::reduce_sum:
        case Op::fft2d:
        case Op::rfft2d: break;
        default: return false;
    }
    return !row.types.empty() && is_float(row.types[0]);
}

RandomCase dot_product_case(const OpDef& def, const TypeRow& row, int set, std::mt19937_64& random) {
    return Maker(def, row, set, random).make();
}

}  // namespace tosavk::conformance
