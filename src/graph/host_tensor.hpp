// A tensor in host memory.
#pragma once

#include "graph/graph.hpp"

#include <cstring>

namespace tosavk {

struct HostTensor {
    DType type = DType::fp32;
    Shape shape;
    Bytes bytes;  ///< element_count(shape) * size_of(type)

    HostTensor() = default;
    HostTensor(DType t, Shape s)
        : type(t), shape(std::move(s)), bytes(static_cast<std::size_t>(element_count(shape)) * size_of(t)) {}

    std::int64_t count() const { return element_count(shape); }
    template <class T> std::span<const T> as() const {
        return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
    }
    template <class T> std::span<T> as() { return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)}; }
};

/// Elements as int64 (integers, bool as 0/1, shape) or as double (floats exactly; integers too).
std::vector<std::int64_t> decode_ints(DType type, std::span<const std::byte> bytes);
std::vector<double> decode_reals(DType type, std::span<const std::byte> bytes);
/// The inverse: integers are truncated to the type's width, floats rounded to nearest even with overflow to infinity.
Bytes encode_ints(DType type, std::span<const std::int64_t> values);
Bytes encode_reals(DType type, std::span<const double> values);

}  // namespace tosavk
