// FLOAT16, of which TFLite's reference kernels compute some operators.
#include "frontends/tflite/lowering.hpp"

namespace tosavk {

void Lowering::lower_halves() {
    using Type = tflite::TensorType;
    // Of both at once no kernel computes.
    bool mixed = false;
    for (std::size_t k = 0; k < input_count(); ++k) mixed = mixed || (has_input(k) && in(k).type == Type::FLOAT32);
    for (std::size_t k = 0; k < output_count(); ++k) mixed = mixed || out(k).type == Type::FLOAT32;
    if (mixed) return row_->lower(*this);
    std::map<std::size_t, TfliteTensor> floats;
    const auto add = [&](const TfliteTensor& tensor) {
        TfliteTensor as_float = tensor;
        as_float.type = Type::FLOAT32;
        floats.emplace(tensor.index, std::move(as_float));
    };
    std::map<std::size_t, ValueId> before;  // what the inputs are themselves
    for (std::size_t k = 0; k < input_count(); ++k) {
        if (!has_input(k) || in(k).type != Type::FLOAT16 || before.contains(in(k).index)) continue;
        add(in(k));
        before[in(k).index] = value(k);
    }
    for (std::size_t k = 0; k < output_count(); ++k)
        if (out(k).type == Type::FLOAT16) add(out(k));
    if (floats.empty()) return row_->lower(*this);
    for (const auto& [index, id] : before) values_[index] = cast(id, DType::fp32);
    floats_ = std::move(floats);
    const auto restore = [&] {
        floats_.clear();
        for (const auto& [index, id] : before) values_[index] = id;
    };
    try {
        row_->lower(*this);
    } catch (...) {
        restore();
        throw;
    }
    restore();
    for (std::size_t k = 0; k < output_count(); ++k) {
        if (out(k).type == Type::FLOAT16 && set_[k]) set(cast(values_[out(k).index], DType::fp16), k);
    }
}

}  // namespace tosavk
