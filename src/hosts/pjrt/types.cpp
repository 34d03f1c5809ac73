#include "hosts/pjrt/types.hpp"
#include "hosts/pjrt/events.hpp"

#include <cstring>

namespace tosavk::pjrt {

namespace {

constexpr ElementType all[] = {
    {"i1", Kind::pred, Form::flag, 1, 1},
    {"i2", Kind::s2, Form::narrow, 1, 1, -2},
    {"i4", Kind::s4, Form::narrow, 1, 1, -4},
    {"i8", Kind::s8, Form::same, 1, 1},
    {"i16", Kind::s16, Form::same, 2, 2},
    {"i32", Kind::s32, Form::same, 4, 4},
    {"i64", Kind::s64, Form::same, 8, 8},
    {"ui2", Kind::u2, Form::narrow, 1, 1, 2},
    {"ui4", Kind::u4, Form::narrow, 1, 1, 4},
    {"ui8", Kind::u8, Form::same, 1, 1},
    {"ui16", Kind::u16, Form::same, 2, 2},
    {"ui32", Kind::u32, Form::same, 4, 4},
    {"ui64", Kind::u64, Form::same, 8, 8},
    {"f4E2M1FN", Kind::f4e2m1fn, Form::narrow, 1, 1, 4},
    {"f6E2M3FN", Kind::f6e2m3fn, Form::narrow, 1, 1, 6},
    {"f6E3M2FN", Kind::f6e3m2fn, Form::narrow, 1, 1, 6},
    {"f8E3M4", Kind::f8e3m4, Form::same, 1, 1},
    {"f8E4M3", Kind::f8e4m3, Form::same, 1, 1},
    {"f8E8M0FNU", Kind::f8e8m0fnu, Form::same, 1, 1},
    {"f8E4M3FN", Kind::f8e4m3fn, Form::same, 1, 1},
    {"f8E5M2", Kind::f8e5m2, Form::same, 1, 1},
    {"f8E4M3B11FNUZ", Kind::f8e4m3b11fnuz, Form::same, 1, 1},
    {"f8E5M2FNUZ", Kind::f8e5m2fnuz, Form::same, 1, 1},
    {"f8E4M3FNUZ", Kind::f8e4m3fnuz, Form::same, 1, 1},
    {"bf16", Kind::bf16, Form::same, 2, 2},
    {"f16", Kind::f16, Form::same, 2, 2},
    {"f32", Kind::f32, Form::same, 4, 4},
    {"f64", Kind::f64, Form::rounded, 8, 4},
    {"complex<f32>", Kind::c64, Form::complex, 8, 4},
    {"complex<f64>", Kind::c128, Form::rounded_complex, 16, 4},
};

/// The number in the low bits.
std::int8_t narrowed(std::uint8_t byte, int bits) {
    if (bits > 0) return static_cast<std::int8_t>(byte & ((1 << bits) - 1));
    const int shift = 8 + bits;
    return static_cast<std::int8_t>(static_cast<std::int8_t>(byte << shift) >> shift);
}

}  // namespace

const ElementType& type_named(std::string_view name) {
    for (const ElementType& type : all)
        if (type.name == name) return type;
    throw Failure(Code::unimplemented, "elements of type " + std::string(name) + " are not supported");
}

const ElementType& type_of(std::int32_t kind) {
    for (const ElementType& type : all)
        if (static_cast<std::int32_t>(type.kind) == kind) return type;
    throw Failure(Code::unimplemented,
                  "arrays of element type " + std::to_string(kind) + " (PJRT_Buffer_Type) are not supported");
}

void to_parts(const ElementType& type, const std::byte* host, std::size_t count, std::byte* const* parts) {
    switch (type.form) {
        case Form::same: std::memcpy(parts[0], host, count * type.host_bytes); return;
        case Form::flag:
            for (std::size_t k = 0; k < count; ++k) parts[0][k] = std::byte(host[k] != std::byte{0});
            return;
        case Form::narrow:
            for (std::size_t k = 0; k < count; ++k)
                parts[0][k] = static_cast<std::byte>(narrowed(static_cast<std::uint8_t>(host[k]), type.bits));
            return;
        case Form::complex:
            for (std::size_t k = 0; k < count; ++k) {
                std::memcpy(parts[0] + 4 * k, host + 8 * k, 4);
                std::memcpy(parts[1] + 4 * k, host + 8 * k + 4, 4);
            }
            return;
        case Form::rounded:
        case Form::rounded_complex: {
            const std::size_t each = type.parts();
            for (std::size_t k = 0; k < count * each; ++k) {
                double number;
                std::memcpy(&number, host + 8 * k, 8);
                const auto rounded = static_cast<float>(number);
                std::memcpy(parts[k % each] + 4 * (k / each), &rounded, 4);
            }
            return;
        }
    }
}

void from_parts(const ElementType& type, const std::byte* const* parts, std::size_t count, std::byte* host) {
    switch (type.form) {
        case Form::same:
        case Form::flag:
        case Form::narrow: std::memcpy(host, parts[0], count * type.host_bytes); return;
        case Form::complex:
            for (std::size_t k = 0; k < count; ++k) {
                std::memcpy(host + 8 * k, parts[0] + 4 * k, 4);
                std::memcpy(host + 8 * k + 4, parts[1] + 4 * k, 4);
            }
            return;
        case Form::rounded:
        case Form::rounded_complex: {
            const std::size_t each = type.parts();
            for (std::size_t k = 0; k < count * each; ++k) {
                float rounded;
                std::memcpy(&rounded, parts[k % each] + 4 * (k / each), 4);
                const double number = rounded;
                std::memcpy(host + 8 * k, &number, 8);
            }
            return;
        }
    }
}

}  // namespace tosavk::pjrt
