// Elements between bytes in memory and int64 or double.
#include "graph/host_tensor.hpp"

#include "base/numerics/small_floats.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace tosavk {

namespace {

template <class Stored, class Out, class Convert>
void read_all(std::span<const std::byte> bytes, std::vector<Out>& out, Convert convert) {
    out.resize(bytes.size() / sizeof(Stored));
    for (std::size_t i = 0; i < out.size(); ++i) {
        Stored s;
        std::memcpy(&s, bytes.data() + i * sizeof(Stored), sizeof(Stored));
        out[i] = static_cast<Out>(convert(s));
    }
}

template <class Stored, class In, class Convert> Bytes write_all(std::span<const In> values, Convert convert) {
    Bytes bytes(values.size() * sizeof(Stored));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Stored s = static_cast<Stored>(convert(values[i]));
        std::memcpy(bytes.data() + i * sizeof(Stored), &s, sizeof(Stored));
    }
    return bytes;
}

const FloatFormat& format_of(DType type) {
    switch (type) {
        case DType::fp16: return format_fp16;
        case DType::bf16: return format_bf16;
        case DType::fp8e4m3: return format_fp8e4m3;
        default: return format_fp8e5m2;
    }
}

// Sign-extends the low `bits` bits.
std::int64_t sign_extend(std::int64_t v, int bits) {
    const int up = 64 - bits;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(v) << up) >> up;
}

// Round to nearest even, saturated to the type; NaN gives 0.
std::int64_t saturate(double v, DType type) {
    if (std::isnan(v)) return 0;
    const double r = std::nearbyint(v);
    if (r <= static_cast<double>(min_of(type))) return min_of(type);
    if (r >= static_cast<double>(max_of(type))) return max_of(type);
    return static_cast<std::int64_t>(r);
}

}  // namespace

std::vector<std::int64_t> decode_ints(DType type, std::span<const std::byte> bytes) {
    std::vector<std::int64_t> out;
    const auto same = [](auto v) { return v; };
    switch (type) {
        case DType::boolean: read_all<std::uint8_t>(bytes, out, [](std::uint8_t v) { return v != 0; }); break;
        case DType::i4:
        case DType::i8: read_all<std::int8_t>(bytes, out, same); break;
        case DType::i16: read_all<std::int16_t>(bytes, out, same); break;
        case DType::i32: read_all<std::int32_t>(bytes, out, same); break;
        case DType::i48:
        case DType::shape: read_all<std::int64_t>(bytes, out, same); break;
        default:
            throw Error(ErrorCode::internal, "elements of type " + std::string(name_of(type)) + " read as integers");
    }
    return out;
}

std::vector<double> decode_reals(DType type, std::span<const std::byte> bytes) {
    std::vector<double> out;
    if (type == DType::fp32) {
        read_all<float>(bytes, out, [](float v) { return v; });
    } else if (is_float(type)) {
        const FloatFormat& format = format_of(type);
        const auto convert = [&](auto bits) { return small_float_to_double(bits, format); };
        if (size_of(type) == 1) read_all<std::uint8_t>(bytes, out, convert);
        else read_all<std::uint16_t>(bytes, out, convert);
    } else {
        const std::vector<std::int64_t> ints = decode_ints(type, bytes);
        out.assign(ints.begin(), ints.end());
    }
    return out;
}

Bytes encode_ints(DType type, std::span<const std::int64_t> values) {
    const auto same = [](std::int64_t v) { return v; };
    switch (type) {
        case DType::boolean: return write_all<std::uint8_t>(values, [](std::int64_t v) { return v != 0; });
        case DType::i4: return write_all<std::int8_t>(values, [](std::int64_t v) { return sign_extend(v, 4); });
        case DType::i8: return write_all<std::int8_t>(values, same);
        case DType::i16: return write_all<std::int16_t>(values, same);
        case DType::i32: return write_all<std::int32_t>(values, same);
        case DType::i48: return write_all<std::int64_t>(values, [](std::int64_t v) { return sign_extend(v, 48); });
        case DType::shape: return write_all<std::int64_t>(values, same);
        default: break;
    }
    const std::vector<double> wide(values.begin(), values.end());
    return encode_reals(type, wide);
}

Bytes encode_reals(DType type, std::span<const double> values) {
    if (type == DType::fp32) return write_all<float>(values, [](double v) { return v; });
    if (is_float(type)) {
        const FloatFormat& format = format_of(type);
        const auto convert = [&](double v) { return small_float_from_double(v, format); };
        return size_of(type) == 1 ? write_all<std::uint8_t>(values, convert)
                                  : write_all<std::uint16_t>(values, convert);
    }
    std::vector<std::int64_t> ints(values.size());
    for (std::size_t i = 0; i < ints.size(); ++i) ints[i] = saturate(values[i], type);
    return encode_ints(type, ints);
}

}  // namespace tosavk
