#include "graph/array.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace tosavk {

namespace {

[[noreturn]] void bad(const std::string& origin, const std::string& what) {
    throw Error(ErrorCode::bad_input, origin.empty() ? what : fmt::format("{}: {}", origin, what));
}

[[noreturn]] void does_not_hold(const std::string& origin, std::size_t element, const std::string& value, DType type) {
    const std::string range = is_float(type) ? "" : fmt::format(" ({} to {})", min_of(type), max_of(type));
    bad(origin, fmt::format("element {} is {}, which type {} does not hold{}", element, value, name_of(type), range));
}

bool is_fp8(DType type) { return type == DType::fp8e4m3 || type == DType::fp8e5m2; }

template <class Stored>
void widen(const NpyArray& array, DType type, const std::string& origin, std::vector<std::int64_t>& out) {
    out.resize(array.data.size() / sizeof(Stored));
    for (std::size_t k = 0; k < out.size(); ++k) {
        Stored value;
        std::memcpy(&value, array.data.data() + k * sizeof(Stored), sizeof value);
        // Of uint64 only; everything else fits.
        if (std::cmp_greater(value, std::numeric_limits<std::int64_t>::max()))
            does_not_hold(origin, k, fmt::format("{}", value), type);
        out[k] = static_cast<std::int64_t>(value);
    }
}

std::vector<std::int64_t> decode_naturals(const NpyArray& array, DType type, const std::string& origin) {
    std::vector<std::int64_t> values;
    switch (array.item_size) {
        case 1: widen<std::uint8_t>(array, type, origin, values); break;
        case 2: widen<std::uint16_t>(array, type, origin, values); break;
        case 4: widen<std::uint32_t>(array, type, origin, values); break;
        default: widen<std::uint64_t>(array, type, origin, values); break;
    }
    return values;
}

void check_integers(std::span<const std::int64_t> values, DType type, const std::string& origin) {
    for (std::size_t k = 0; k < values.size(); ++k) {
        if (values[k] < min_of(type) || values[k] > max_of(type))
            does_not_hold(origin, k, fmt::format("{}", values[k]), type);
    }
}

HostTensor tensor_of(DType type, const Shape& shape, Bytes bytes) {
    HostTensor tensor;
    tensor.type = type;
    tensor.shape = shape;
    tensor.bytes = std::move(bytes);
    return tensor;
}

}  // namespace

DType nearest_type(const NpyArray& array) {
    switch (array.kind) {
        case NpyKind::boolean: return DType::boolean;
        case NpyKind::integer:
            return array.item_size == 1 ? DType::i8
                 : array.item_size == 2 ? DType::i16
                 : array.item_size == 4 ? DType::i32
                                        : DType::i48;
        case NpyKind::natural:
            return array.item_size == 1 ? DType::i16 : array.item_size == 2 ? DType::i32 : DType::i48;
        case NpyKind::real:
            return array.item_size == 1 ? DType::fp8e5m2 : array.item_size == 2 ? DType::fp16 : DType::fp32;
        case NpyKind::opaque: break;
    }
    return array.item_size == 1 ? DType::fp8e4m3 : DType::bf16;
}

HostTensor to_tensor(const NpyArray& array, DType type, const std::string& origin) {
    const auto cannot_stand = [&] {
        bad(origin, fmt::format("elements of type {} cannot stand for type {}", numpy_name(array.kind, array.item_size),
                                name_of(type)));
    };
    if (array.kind == NpyKind::opaque) {  // bits, of the type that ml_dtypes stores so
        if (array.item_size == 1 ? !is_fp8(type) : type != DType::bf16) cannot_stand();
        return tensor_of(type, array.shape, array.data);
    }
    const DType nearest = nearest_type(array);
    if (array.kind == NpyKind::natural) {
        if (is_float(type)) cannot_stand();
        const std::vector<std::int64_t> values = decode_naturals(array, type, origin);
        check_integers(values, type, origin);
        return tensor_of(type, array.shape, encode_ints(type, values));
    }
    HostTensor tensor = tensor_of(nearest, array.shape, array.data);
    if (nearest == DType::i48) check_integers(tensor.as<std::int64_t>(), nearest, origin);
    return type == nearest ? tensor : convert_tensor(tensor, type, origin);
}

HostTensor convert_tensor(const HostTensor& tensor, DType type, const std::string& origin) {
    if (tensor.type == type) return tensor;
    if (is_float(tensor.type) != is_float(type) || tensor.type == DType::shape || type == DType::shape)
        bad(origin, fmt::format("elements of type {} cannot stand for type {}", name_of(tensor.type), name_of(type)));
    if (!is_float(type)) {
        const std::vector<std::int64_t> values = decode_ints(tensor.type, tensor.bytes);
        check_integers(values, type, origin);
        return tensor_of(type, tensor.shape, encode_ints(type, values));
    }
    const std::vector<double> wide = decode_reals(tensor.type, tensor.bytes);
    HostTensor result = tensor_of(type, tensor.shape, encode_reals(type, wide));
    const std::vector<double> back = decode_reals(type, result.bytes);
    for (std::size_t k = 0; k < wide.size(); ++k) {
        if (back[k] != wide[k] && !(std::isnan(back[k]) && std::isnan(wide[k])))
            does_not_hold(origin, k, fmt::format("{}", wide[k]), type);
    }
    return result;
}

HostTensor load_npy(const std::filesystem::path& path) {
    const NpyArray array = read_npy(path);
    return to_tensor(array, nearest_type(array), path.string());
}

void save_npy(const std::filesystem::path& path, DType type, const Shape& shape, std::span<const std::byte> bytes,
              NpyForm form) {
    if (bytes.size() != static_cast<std::size_t>(element_count(shape)) * size_of(type)) {
        throw Error(ErrorCode::bad_input, fmt::format("{}: {} bytes are not an array of {} elements {}", path.string(),
                                                      bytes.size(), to_string(shape), name_of(type)));
    }
    switch (type) {
        case DType::boolean: return write_npy(path, NpyKind::boolean, 1, shape, bytes);
        case DType::i4:
        case DType::i8:
        case DType::i16:
        case DType::i32:
        case DType::i48: return write_npy(path, NpyKind::integer, size_of(type), shape, bytes);
        case DType::fp16:
        case DType::fp32: return write_npy(path, NpyKind::real, size_of(type), shape, bytes);
        case DType::bf16:
        case DType::fp8e4m3:
        case DType::fp8e5m2:
            if (form == NpyForm::raw) return write_npy(path, NpyKind::opaque, size_of(type), shape, bytes);
            return write_npy(path, NpyKind::real, 4, shape, encode_reals(DType::fp32, decode_reals(type, bytes)));
        case DType::shape: break;
    }
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: .npy files cannot hold elements of type {}", path.string(), name_of(type)));
}

}  // namespace tosavk
