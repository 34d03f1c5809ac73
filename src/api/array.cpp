// Version, texts, types and .npy arrays of the C ABI.
#include "graph/array.hpp"
#include "api/handles.hpp"

#include <fmt/format.h>

#include <algorithm>

using namespace tosavk;
using namespace tosavk::api;

namespace {

constexpr bool same(DType a, tosavk_type b) { return static_cast<int>(a) == static_cast<int>(b); }
static_assert(same(DType::boolean, TOSAVK_BOOL) && same(DType::i4, TOSAVK_I4) && same(DType::i8, TOSAVK_I8) &&
              same(DType::i16, TOSAVK_I16) && same(DType::i32, TOSAVK_I32) && same(DType::i48, TOSAVK_I48) &&
              same(DType::fp8e4m3, TOSAVK_FP8E4M3) && same(DType::fp8e5m2, TOSAVK_FP8E5M2) &&
              same(DType::fp16, TOSAVK_FP16) && same(DType::bf16, TOSAVK_BF16) && same(DType::fp32, TOSAVK_FP32));

bool known(int type) { return type >= TOSAVK_BOOL && type <= TOSAVK_FP32; }
bool known_host(int type) { return type >= TOSAVK_HOST_U8 && type <= TOSAVK_HOST_I64_WORDS; }

}  // namespace

namespace tosavk::api {

tosavk_text* make_text(std::string text) { return new tosavk_text{std::move(text)}; }

DType to_dtype(int raw_type) {
    if (!known(raw_type)) throw Error(ErrorCode::usage, fmt::format("{} is not a tosavk_type", raw_type));
    return static_cast<DType>(raw_type);
}

HostType host_type(std::int32_t type) {
    constexpr HostKind kinds[] = {HostKind::u8,  HostKind::u16, HostKind::u32, HostKind::u64,
                                  HostKind::i64, HostKind::f64, HostKind::u64, HostKind::i64};
    if (known_host(type)) return {kinds[type - TOSAVK_HOST_U8]};
    return {HostKind::graph, to_dtype(type)};
}

std::int32_t declared_type(DType type, HostKind declared) {
    if (declared == HostKind::graph) return static_cast<std::int32_t>(type);
    return TOSAVK_HOST_U8 + static_cast<std::int32_t>(declared) - static_cast<std::int32_t>(HostKind::u8);
}

tosavk_tensor_info describe_tensor(const char* name, DType type, const Shape& shape) {
    if (shape.size() > TOSAVK_MAX_RANK) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("tensor '{}' has rank {}; the C ABI passes {} dimensions at most", name, shape.size(),
                                TOSAVK_MAX_RANK));
    }
    tosavk_tensor_info info{};
    info.name = name;
    info.type = info.declared_type = static_cast<std::int32_t>(type);
    info.rank = static_cast<std::uint32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), info.dims);
    info.size_bytes = static_cast<std::size_t>(element_count(shape)) * size_of(type);
    return info;
}

}  // namespace tosavk::api

const char* tosavk_version(void) { return TOSAVK_VERSION_STRING; }

const char* tosavk_text_data(const tosavk_text* text) { return text ? text->text.c_str() : ""; }
size_t tosavk_text_size(const tosavk_text* text) { return text ? text->text.size() : 0; }
void tosavk_text_release(tosavk_text* text) { delete text; }

// The names are string literals, so that their data ends in a NUL.
const char* tosavk_type_name(int32_t type) {
    constexpr const char* host_names[] = {"u8", "u16", "u32", "u64", "i64", "f64", "u64_words", "i64_words"};
    if (known_host(type)) return host_names[type - TOSAVK_HOST_U8];
    return known(type) ? name_of(static_cast<DType>(type)).data() : "?";
}
size_t tosavk_type_size(int32_t type) { return known(type) || known_host(type) ? host_type(type).bytes() : 0; }

tosavk_status tosavk_array_load(const char* path, tosavk_array** array, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(path, "path");
        call.require(array, "array");
        const NpyArray file = read_npy(path);
        *array = new tosavk_array{to_tensor(file, nearest_type(file), path), numpy_name(file.kind, file.item_size),
                                  file.kind == NpyKind::opaque};
    });
}

tosavk_status tosavk_array_info(const tosavk_array* array, tosavk_tensor_info* info, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(array, "array");
        call.require(info, "info");
        write_struct(info, describe_tensor(array->name, array->tensor.type, array->tensor.shape), "tosavk_tensor_info");
    });
}

const void* tosavk_array_data(const tosavk_array* array) { return array ? array->tensor.bytes.data() : nullptr; }

tosavk_status tosavk_array_convert(const tosavk_array* array, int32_t type, tosavk_array** converted,
                                   tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(array, "array");
        call.require(converted, "converted");
        const DType wanted = to_dtype(type);
        const HostTensor& tensor = array->tensor;
        *converted = new tosavk_array{
            array->opaque
                ? to_tensor(NpyArray{NpyKind::opaque, size_of(tensor.type), tensor.shape, tensor.bytes}, wanted, {})
                : convert_tensor(tensor, wanted, {})};
    });
}

void tosavk_array_release(tosavk_array* array) { delete array; }

namespace {

void save(const Call& call, const char* path, int type, std::uint32_t rank, const std::int64_t* dims, const void* data,
          NpyForm form) {
    call.require(path, "path");
    if (rank > 0) call.require(dims, "dims");
    if (rank > TOSAVK_MAX_RANK) {
        throw Error(ErrorCode::usage,
                    fmt::format("{}: rank {} is larger than {}", call.function, rank, TOSAVK_MAX_RANK));
    }
    const HostType element = host_type(type);
    Shape shape;
    for (std::uint32_t k = 0; k < rank; ++k) {
        if (dims[k] < 0)
            throw Error(ErrorCode::usage, fmt::format("{}: dimension {} is {}", call.function, k, dims[k]));
        shape.push_back(dims[k]);
    }
    const auto size = static_cast<std::size_t>(element_count(shape)) * element.bytes();
    if (size > 0) call.require(data, "data");
    const std::span bytes(static_cast<const std::byte*>(data), size);
    if (element.kind == HostKind::graph) return save_npy(path, element.type, shape, bytes, form);
    const NpyKind kind = element.kind == HostKind::f64 ? NpyKind::real
                       : element.kind == HostKind::i64 ? NpyKind::integer
                                                       : NpyKind::natural;
    write_npy(path, kind, element.bytes(), shape, bytes);
}

}  // namespace

tosavk_status tosavk_array_save(const char* path, int32_t type, uint32_t rank, const int64_t* dims, const void* data,
                                tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) { save(call, path, type, rank, dims, data, NpyForm::wide); });
}

tosavk_status tosavk_array_save_raw(const char* path, int32_t type, uint32_t rank, const int64_t* dims,
                                    const void* data, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) { save(call, path, type, rank, dims, data, NpyForm::raw); });
}
