// Floats narrower than 16 bits are few enough to be looked for among all their codes.
#include "frontends/stablehlo/elements.hpp"

#include "base/numerics/small_floats.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tosavk::stablehlo {

namespace {

/// What the codes of a narrow float mean beyond its fields.
enum class Specials { ieee, one_nan, negative_zero_nan, none };

struct NarrowFloat {
    int exponent_bits, fraction_bits, bias;
    Specials specials;
};

std::optional<NarrowFloat> narrow_float(Element element) {
    switch (element) {
        case Element::f4e2m1fn: return NarrowFloat{2, 1, 1, Specials::none};
        case Element::f6e2m3fn: return NarrowFloat{2, 3, 1, Specials::none};
        case Element::f6e3m2fn: return NarrowFloat{3, 2, 3, Specials::none};
        case Element::f8e3m4: return NarrowFloat{3, 4, 3, Specials::ieee};
        case Element::f8e4m3: return NarrowFloat{4, 3, 7, Specials::ieee};
        case Element::f8e4m3b11fnuz: return NarrowFloat{4, 3, 11, Specials::negative_zero_nan};
        case Element::f8e4m3fn: return NarrowFloat{4, 3, 7, Specials::one_nan};
        case Element::f8e4m3fnuz: return NarrowFloat{4, 3, 8, Specials::negative_zero_nan};
        case Element::f8e5m2: return NarrowFloat{5, 2, 15, Specials::ieee};
        case Element::f8e5m2fnuz: return NarrowFloat{5, 2, 16, Specials::negative_zero_nan};
        default: return std::nullopt;
    }
}

double narrow_to_real(const NarrowFloat& format, unsigned code) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const int width = 1 + format.exponent_bits + format.fraction_bits;
    const unsigned fraction_mask = (1u << format.fraction_bits) - 1, top = (1u << format.exponent_bits) - 1;
    const bool negative = (code >> (width - 1) & 1u) != 0;
    const unsigned exponent = code >> format.fraction_bits & top, fraction = code & fraction_mask;
    if (format.specials == Specials::negative_zero_nan && negative && exponent == 0 && fraction == 0) return nan;
    if (format.specials == Specials::one_nan && exponent == top && fraction == fraction_mask) return nan;
    if (format.specials == Specials::ieee && exponent == top) {
        if (fraction != 0) return nan;
        return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    }
    const double mantissa = exponent == 0 ? fraction : fraction + (1u << format.fraction_bits);
    const int power = std::max(1, static_cast<int>(exponent)) - format.bias - format.fraction_bits;
    return std::ldexp(negative ? -mantissa : mantissa, power);
}

std::optional<std::uint64_t> narrow_from_real(const NarrowFloat& format, double value) {
    const unsigned codes = 1u << (1 + format.exponent_bits + format.fraction_bits);
    std::optional<std::uint64_t> best;
    double distance = std::numeric_limits<double>::infinity();
    for (unsigned code = 0; code < codes; ++code) {
        const double candidate = narrow_to_real(format, code);
        if (std::isnan(value) || std::isinf(value)) {
            if (std::isnan(value) ? std::isnan(candidate) : candidate == value) return code;
            continue;
        }
        if (!std::isfinite(candidate) || std::signbit(candidate) != std::signbit(value)) continue;
        const double off = std::abs(candidate - value);
        if (off < distance || (off == distance && code % 2 == 0)) best = code, distance = off;
    }
    return best;
}

}  // namespace

double real_from_bits(Element element, std::uint64_t bits) {
    if (const auto format = narrow_float(element)) return narrow_to_real(*format, static_cast<unsigned>(bits));
    switch (element) {
        case Element::bf16: return small_float_to_double(static_cast<std::uint32_t>(bits), format_bf16);
        case Element::f16: return small_float_to_double(static_cast<std::uint32_t>(bits), format_fp16);
        case Element::f32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        case Element::tf32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 13));
        case Element::f8e8m0fnu:
            return bits == 255 ? std::numeric_limits<double>::quiet_NaN()
                               : std::ldexp(1.0, static_cast<int>(bits) - 127);
        default: return std::bit_cast<double>(bits);
    }
}

std::optional<std::uint64_t> bits_from_real(Element element, double value) {
    if (const auto format = narrow_float(element)) return narrow_from_real(*format, value);
    switch (element) {
        case Element::bf16: return small_float_from_double(value, format_bf16);
        case Element::f16: return small_float_from_double(value, format_fp16);
        case Element::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(value));
        case Element::f8e8m0fnu: {
            if (std::isnan(value)) return 255;
            int power = 0;
            if (!(value > 0) || std::frexp(value, &power) != 0.5 || power < -126 || power > 128) return std::nullopt;
            return static_cast<std::uint64_t>(power + 126);
        }
        case Element::f64: return std::bit_cast<std::uint64_t>(value);
        default: return std::nullopt;
    }
}

namespace {

Bytes unpacked_flags(std::span<const std::byte> bytes, std::uint64_t count, bool packed) {
    Bytes out(static_cast<std::size_t>(count));
    for (std::size_t k = 0; k < out.size(); ++k) {
        const unsigned byte = std::to_integer<unsigned>(bytes[packed ? k / 8 : k]);
        out[k] = static_cast<std::byte>(packed ? byte >> (k % 8) & 1u : byte != 0);
    }
    return out;
}

bool all_alike(std::span<const std::byte> bytes, std::size_t size) {
    // Byte k is compared with the one an element before: what differs mostly does so at once.
    return bytes.size() <= size || std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) == 0;
}

}  // namespace

DenseResult dense_from_bytes(TypePointer type, SharedBytes bytes) {
    DenseResult result;
    const auto count = element_count(type->dims);
    const std::size_t size = bytes_of(type->element), have = bytes->size();
    if (type->kind != Type::Kind::tensor || !count || size == 0) {
        result.problem = "a constant cannot have the type " + to_string(*type);
        return result;
    }
    Elements& out = result.elements;
    out.type = type;
    if (*count == 0) {
        out.data = SharedBytes(Bytes());
        if (have > size) result.problem = fmt::format("a constant without elements has {} bytes", have);
        return result;
    }
    if (type->element == Element::pred) {
        const std::uint64_t packed = *count / 8 + (*count % 8 != 0);
        const auto flag = [&](bool value) { return SharedBytes(Bytes{static_cast<std::byte>(value)}); };
        if (have == 1 && (*bytes)[0] == std::byte{0xff}) out = {type, flag(true), true};
        else if (have == packed && packed != *count) out.data = SharedBytes(unpacked_flags(*bytes, *count, true));
        else if (have == *count) out.data = SharedBytes(unpacked_flags(*bytes, *count, false));
        else if (have == 1) out = {type, flag((*bytes)[0] != std::byte{0}), true};
        else result.problem = fmt::format("a constant of type {} has {} bytes", to_string(*type), have);
    } else if (have == size) {
        out.data = std::move(bytes);
        out.splat = true;
    } else if (*count <= have && have / size == *count && have % size == 0) {
        out.data = std::move(bytes);
    } else {
        result.problem =
            fmt::format("a constant of type {} needs {} bytes, but has {}", to_string(*type),
                        *count > (std::uint64_t{1} << 58) ? "too many" : std::to_string(*count * size), have);
    }
    if (result.problem.empty() && !out.splat && all_alike(*out.data, size)) {
        out.data = SharedBytes(out.data->first(size), out.data.owner());
        out.splat = true;
    }
    return result;
}

std::optional<std::vector<std::int64_t>> integers_of(const Elements& elements, std::uint64_t most) {
    const Element element = elements.type->element;
    const auto count = element_count(elements.type->dims);
    const bool is_flag = element == Element::pred, extends = is_signed_integer(element);
    if (!count || *count > most) return std::nullopt;
    if (!is_flag && !extends && !is_unsigned_integer(element) && element != Element::index) return std::nullopt;
    const std::size_t size = bytes_of(element);
    std::vector<std::int64_t> values(static_cast<std::size_t>(*count));
    for (std::size_t k = 0; k < values.size(); ++k) {
        std::uint64_t bits = 0;
        const auto bytes = *elements.data;
        std::memcpy(&bits, bytes.data() + (elements.splat ? 0 : k * size), size);
        // What is narrower than a byte has one, whose other bits say nothing.
        const int unused = 64 - bits_of(element);
        values[k] = extends ? static_cast<std::int64_t>(bits << unused) >> unused
                            : static_cast<std::int64_t>(bits << unused >> unused);
    }
    return values;
}

}  // namespace tosavk::stablehlo
