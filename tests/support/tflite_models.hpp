// Models of one operator for tests, a second writing of TFLite's integer arithmetic, and random tensors.
#pragma once

#include "frontends/frontend.hpp"
#include "reference/reference.hpp"
#include "support/tflite_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>

namespace tosavk::test {

using B = tflite::BuiltinOperator;
using Act = tflite::ActivationFunctionType;
using Ints = std::vector<std::int64_t>;

inline constexpr Rounding roundings[] = {Rounding::double_round, Rounding::single_round};

// ---- TFLite's arithmetic ------------------------------------------------------------------------------------------

struct Scaled {
    std::int64_t m = 0;
    int e = 0;
    explicit Scaled(double real) {
        if (real == 0) return;
        const double f = std::frexp(real, &e);
        m = std::llround(f * 2147483648.0);
        if (m == 2147483648LL) m /= 2, ++e;
        if (e < -31) m = e = 0;
    }
};

inline std::int64_t scale_by(std::int64_t x, const Scaled& s, Rounding rounding) {
    const __int128 product = static_cast<__int128>(x) * s.m;
    if (rounding == Rounding::single_round) {
        const int shift = 31 - s.e;
        return static_cast<std::int64_t>((product + (static_cast<__int128>(1) << (shift - 1))) >> shift);
    }
    // First to 31 bits, half up; then by the rest of the shift, half away from zero.
    const int left = std::max(s.e, 0), right = std::max(-s.e, 0);
    const auto high = static_cast<std::int64_t>((product * (1 << left) + (1 << 30)) >> 31);
    if (right == 0) return high;
    const double exact = std::ldexp(static_cast<double>(high), -right);
    return std::llround(exact);
}

inline std::int64_t clip8(std::int64_t v) { return std::clamp<std::int64_t>(v, -128, 127); }
inline std::int64_t clip16(std::int64_t v) { return std::clamp<std::int64_t>(v, -32768, 32767); }

// ---- running a model ----------------------------------------------------------------------------------------------

inline std::mt19937& random_source() {
    static std::mt19937 source(1234);  // one fixed seed: every run draws the same
    return source;
}

inline HostTensor random_ints(DType type, const Shape& shape, std::int64_t low, std::int64_t high) {
    HostTensor t(type, shape);
    Ints values(static_cast<std::size_t>(t.count()));
    for (auto& v : values)
        v = low + static_cast<std::int64_t>(random_source()() % static_cast<unsigned long>(high - low + 1));
    t.bytes = encode_ints(type, values);
    return t;
}
inline HostTensor random_i8(const Shape& shape) { return random_ints(DType::i8, shape, -128, 127); }
inline HostTensor random_f32(const Shape& shape, double scale = 1) {
    HostTensor t(DType::fp32, shape);
    for (float& v : t.as<float>())
        v = static_cast<float>(scale * (static_cast<double>(random_source()() % 20001) / 10000.0 - 1));
    return t;
}
inline Ints ints(const HostTensor& t) { return decode_ints(t.type, t.bytes); }

inline std::vector<HostTensor> run(const Bytes& model, const std::vector<HostTensor>& inputs,
                                   TfliteRounding rounding = TfliteRounding::tflite,
                                   const std::map<std::size_t, Shape>& shapes = {}) {
    ImportOptions options;
    options.rounding = rounding;
    options.input_shapes = shapes;
    return reference_run(import_tflite(model, options), inputs);
}
inline std::vector<HostTensor> run(const Bytes& model, const std::vector<HostTensor>& inputs, Rounding rounding) {
    return run(model, inputs,
               rounding == Rounding::double_round ? TfliteRounding::double_round : TfliteRounding::single_round);
}

inline void expect_error(const Bytes& model, const ImportOptions& options, ErrorCode code, const std::string& part) {
    try {
        import_tflite(model, options);
        ADD_FAILURE() << "imported, expected: " << part;
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), code) << e.what();
        EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
}

inline void expect_error(const Bytes& model, ErrorCode code, const std::string& part,
                         const std::map<std::size_t, Shape>& shapes = {}) {
    ImportOptions options;
    options.input_shapes = shapes;
    expect_error(model, options, code, part);
}

inline TensorSpec i8(std::vector<std::int32_t> shape, float scale = 1, std::int64_t zp = 0) {
    return {std::move(shape), tflite::TensorType::INT8, {scale}, {zp}};
}
inline TensorSpec i16(std::vector<std::int32_t> shape, float scale) {
    return {std::move(shape), tflite::TensorType::INT16, {scale}, {0}};
}
inline TensorSpec f32(std::vector<std::int32_t> shape) { return {std::move(shape), tflite::TensorType::FLOAT32}; }

// A model of one operator; options are made by `f`.
using Options = std::pair<tflite::BuiltinOptions, flatbuffers::Offset<void>>;
inline Bytes one_op(B code, const std::vector<TensorSpec>& inputs, const TensorSpec& output,
                    const std::function<Options(TfliteBuilder&)>& f = {}) {
    TfliteBuilder b;
    std::vector<int> in;
    for (const auto& t : inputs) in.push_back(b.tensor(t));
    const int out = b.tensor(output);
    const Options options = f ? f(b) : Options{tflite::BuiltinOptions::NONE, 0};
    b.op(code, in, {out}, options.first, options.second);
    return b.finish(in, {out});
}
// The same with constant operands after the first.
inline Bytes one_op_indices(B code, const TensorSpec& input, const std::vector<Ints>& indices, const TensorSpec& output,
                            const std::function<Options(TfliteBuilder&)>& f = {}) {
    TfliteBuilder b;
    const int x = b.tensor(input);
    std::vector<int> in{x};
    for (const auto& i : indices) in.push_back(b.indices(i));
    const int out = b.tensor(output);
    const Options options = f ? f(b) : Options{tflite::BuiltinOptions::NONE, 0};
    b.op(code, in, {out}, options.first, options.second);
    return b.finish({x}, {out});
}

}  // namespace tosavk::test
