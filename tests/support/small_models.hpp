// Models of a few operators, for the tests of the C ABI and of the programs.
#pragma once

#include "support/tflite_builder.hpp"

namespace tosavk::test {

/// fp32: relu(x + [1, -2, 3, -4]) for x of shape Nx4 with a dynamic N. The input's name is awkward on purpose.
inline constexpr const char* small_input_name = "serving/x=0";
inline Bytes small_float_model(tflite::BuiltinOperator last = tflite::BuiltinOperator::RELU) {
    TfliteBuilder builder;
    TensorSpec spec{{1, 4}, tflite::TensorType::FLOAT32};
    spec.signature = {-1, 4};
    spec.name = small_input_name;
    const int x = builder.tensor(spec);
    const std::vector<double> addend = {1, -2, 3, -4};
    const int c = builder.constant({{4}, tflite::TensorType::FLOAT32}, encode_reals(DType::fp32, addend));
    spec.name = "sum";
    const int sum = builder.tensor(spec);
    spec.name = "result";
    const int result = builder.tensor(spec);
    builder.op(tflite::BuiltinOperator::ADD, {x, c}, {sum}, tflite::BuiltinOptions::AddOptions,
               tflite::CreateAddOptions(builder.fbb).Union());
    builder.op(last, {sum}, {result});
    return builder.finish({x}, {result});
}

/// int8: the sum of two inputs of shape 1x3x5 whose scales and zero points differ.
inline Bytes small_int8_model() {
    TfliteBuilder builder;
    const auto spec = [](const char* name, float scale, std::int64_t zero_point) {
        TensorSpec s{{1, 3, 5}, tflite::TensorType::INT8, {scale}, {zero_point}};
        s.name = name;
        return s;
    };
    const int a = builder.tensor(spec("a", 0.5f, 3));
    const int b = builder.tensor(spec("b", 0.25f, -7));
    const int sum = builder.tensor(spec("sum", 0.625f, 1));
    builder.op(tflite::BuiltinOperator::ADD, {a, b}, {sum}, tflite::BuiltinOptions::AddOptions,
               tflite::CreateAddOptions(builder.fbb).Union());
    return builder.finish({a, b}, {sum});
}

}  // namespace tosavk::test
