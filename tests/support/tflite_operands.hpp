// Models of one operator with operands of any kind, and expected values by place, for tests of TFLite's operators.
#pragma once

#include "support/tflite_models.hpp"

#include <numeric>
#include <optional>

namespace tosavk::test {

inline std::vector<std::int32_t> dims(const Shape& shape) { return {shape.begin(), shape.end()}; }
inline TensorSpec spec(tflite::TensorType type, const Shape& shape) { return {dims(shape), type}; }
inline TensorSpec i32(const Shape& shape) { return spec(tflite::TensorType::INT32, shape); }
inline TensorSpec boolean(const Shape& shape) { return spec(tflite::TensorType::BOOL, shape); }

/// A run-time input, or a constant with these bytes.
struct Operand {
    TensorSpec tensor;
    std::optional<Bytes> data = {};
};
inline Operand known(const Ints& values, const Shape& shape) { return {i32(shape), encode_ints(DType::i32, values)}; }
inline Operand known(const Ints& values) { return known(values, {static_cast<std::int64_t>(values.size())}); }
inline Operand known_number(std::int64_t value) { return known({value}, {}); }

/// A model of one operator. `options` makes them, where there are some.
inline Bytes model_of(B code, const std::vector<Operand>& operands, const std::vector<TensorSpec>& results,
                      const std::function<Options(TfliteBuilder&)>& options = {}) {
    TfliteBuilder b;
    std::vector<int> all, inputs, outputs;
    for (const Operand& o : operands) {
        all.push_back(o.data ? b.constant(o.tensor, *o.data) : b.tensor(o.tensor));
        if (!o.data) inputs.push_back(all.back());
    }
    for (const TensorSpec& r : results) outputs.push_back(b.tensor(r));
    const Options made = options ? options(b) : Options{tflite::BuiltinOptions::NONE, 0};
    b.op(code, all, outputs, made.first, made.second);
    return b.finish(inputs, outputs);
}

inline HostTensor tensor_of(DType type, const Shape& shape, const Ints& values) {
    HostTensor t(type, shape);
    t.bytes = encode_ints(type, values);
    return t;
}
inline HostTensor tensor_of(const Shape& shape, const std::vector<double>& values) {
    HostTensor t(DType::fp32, shape);
    t.bytes = encode_reals(DType::fp32, values);
    return t;
}
inline std::vector<double> reals(const HostTensor& t) { return decode_reals(t.type, t.bytes); }
/// i32: 100, 101, 102...
inline HostTensor counted(const Shape& shape) {
    Ints values(static_cast<std::size_t>(element_count(shape)));
    std::iota(values.begin(), values.end(), 100);
    return tensor_of(DType::i32, shape, values);
}

/// f(place) for every place of `shape`, in row-major order.
template <class F> Ints by_place(const Shape& shape, F f) {
    Ints values;
    Shape place(shape.size(), 0);
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
        values.push_back(f(std::as_const(place)));
        for (std::size_t d = shape.size(); d-- > 0;) {
            if (++place[d] < shape[d]) break;
            place[d] = 0;
        }
    }
    return values;
}
/// The element of an integer tensor at a place.
inline std::int64_t at(const HostTensor& t, const Shape& place) {
    const std::vector<std::int64_t> strides = row_major_strides(t.shape);
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < place.size(); ++d) offset += place[d] * strides[d];
    return ints(t).at(static_cast<std::size_t>(offset));
}

}  // namespace tosavk::test
