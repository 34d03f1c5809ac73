#include "graph/host_values.hpp"

#include "base/error.hpp"
#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <variant>

namespace tosavk {
namespace {

/// An element on its way: every integer type fits the first two.
using Value = std::variant<std::int64_t, std::uint64_t, double>;

template <class T> T load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

Value read(HostType type, const std::byte* at) {
    switch (type.kind) {
        case HostType::Kind::u8: return std::int64_t{load<std::uint8_t>(at)};
        case HostType::Kind::u16: return std::int64_t{load<std::uint16_t>(at)};
        case HostType::Kind::u32: return std::int64_t{load<std::uint32_t>(at)};
        case HostType::Kind::u64:
        case HostType::Kind::u64_words: return load<std::uint64_t>(at);
        case HostType::Kind::i64:
        case HostType::Kind::i64_words: return load<std::int64_t>(at);
        case HostType::Kind::f64: return load<double>(at);
        case HostType::Kind::graph: break;
    }
    const std::span element(at, size_of(type.type));
    if (is_float(type.type)) return decode_reals(type.type, element).front();
    return decode_ints(type.type, element).front();
}

std::string text_of(const Value& value) {
    return std::visit([](auto number) { return fmt::format("{}", number); }, value);
}

/// Least and greatest of an integer type.
std::pair<std::int64_t, std::uint64_t> range_of(HostType type) {
    switch (type.kind) {
        case HostType::Kind::u8: return {0, UINT8_MAX};
        case HostType::Kind::u16: return {0, UINT16_MAX};
        case HostType::Kind::u32: return {0, UINT32_MAX};
        case HostType::Kind::u64: return {0, UINT64_MAX};
        case HostType::Kind::i64: return {INT64_MIN, std::uint64_t{INT64_MAX}};
        default: return {min_of(type.type), static_cast<std::uint64_t>(max_of(type.type))};
    }
}

bool holds_reals(HostType type) {
    return type.kind == HostType::Kind::f64 || (type.kind == HostType::Kind::graph && is_float(type.type));
}

/// The value as an integer of the type; none where it is not one of its.
std::optional<std::uint64_t> to_integer(const Value& value, HostType type) {
    const auto [least, greatest] = range_of(type);
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
        if (*number < least || (*number > 0 && static_cast<std::uint64_t>(*number) > greatest)) return {};
        return static_cast<std::uint64_t>(*number);
    }
    if (const auto* number = std::get_if<std::uint64_t>(&value)) {
        if (*number > greatest) return {};
        return *number;
    }
    const double real = std::get<double>(value);
    // 2^63 and 2^64 are doubles, the greatest integers below them are not.
    if (!(real == std::floor(real)) || real < -0x1p63 || real >= 0x1p64) return {};
    if (real < 0) return to_integer(Value(static_cast<std::int64_t>(real)), type);
    return to_integer(Value(static_cast<std::uint64_t>(real)), type);
}

/// A double that rounds to a shorter float as the integer itself does: of bits that it does not hold, the last one of
/// its own tells (round to odd).
double odd_double(std::uint64_t number) {
    const int excess = static_cast<int>(std::bit_width(number)) - 53;
    if (excess <= 0) return static_cast<double>(number);
    const std::uint64_t kept = number >> excess;
    return std::ldexp(static_cast<double>(kept | (kept << excess != number ? 1 : 0)), excess);
}

double to_real(const Value& value, bool shorter) {
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* number = std::get_if<std::uint64_t>(&value))
        return shorter ? odd_double(*number) : static_cast<double>(*number);
    const std::int64_t number = std::get<std::int64_t>(value);
    if (!shorter) return static_cast<double>(number);
    return number < 0 ? -odd_double(0 - static_cast<std::uint64_t>(number))
                      : odd_double(static_cast<std::uint64_t>(number));
}

}  // namespace

std::optional<UnfitElement> unfit_element(DType type, std::span<const std::byte> bytes) {
    if (type == DType::boolean || type == DType::i4) {
        const std::int64_t least = type == DType::i4 ? min_of(type) : 0, most = type == DType::i4 ? max_of(type) : 1;
        for (std::size_t k = 0; k < bytes.size(); ++k) {
            const auto value = static_cast<std::int8_t>(bytes[k]);
            if (value < least || value > most) return UnfitElement{k, value};
        }
    } else if (type == DType::i48) {
        for (std::size_t k = 0; k < bytes.size() / sizeof(std::int64_t); ++k) {
            const auto value = load<std::int64_t>(bytes.data() + k * sizeof(std::int64_t));
            if (value < min_of(type) || value > max_of(type)) return UnfitElement{k, value};
        }
    }
    return {};
}

std::size_t HostType::bytes() const {
    switch (kind) {
        case Kind::u8: return 1;
        case Kind::u16: return 2;
        case Kind::u32: return 4;
        case Kind::graph: return size_of(type);
        default: return 8;
    }
}

std::string HostType::name() const {
    constexpr const char* names[] = {"", "u8", "u16", "u32", "u64", "i64", "f64", "u64_words", "i64_words"};
    return kind == Kind::graph ? std::string(name_of(type)) : names[static_cast<std::size_t>(kind)];
}

std::vector<std::byte> convert_values(std::span<const std::byte> values, HostType from, HostType to,
                                      const std::string& what) {
    const bool same = from.kind == to.kind && (from.kind != HostType::Kind::graph || from.type == to.type);
    if (same) {
        if (const auto found = from.kind == HostType::Kind::graph ? unfit_element(from.type, values) : std::nullopt)
            throw Error(ErrorCode::bad_input, fmt::format("{}: element {} is {}, which {} does not hold", what,
                                                          found->index, found->value, to.name()));
        return {values.begin(), values.end()};
    }
    const std::size_t count = values.size() / from.bytes(), bytes = to.bytes();
    const auto element = [&](std::size_t k) { return read(from, values.data() + k * from.bytes()); };
    const auto refuse = [&](std::size_t k) {
        throw Error(ErrorCode::bad_input, fmt::format("{}: element {} is {}, which {} does not hold", what, k,
                                                      text_of(element(k)), to.name()));
    };
    std::vector<std::byte> result(count * bytes);
    if (!holds_reals(to)) {
        static_assert(std::endian::native == std::endian::little);
        for (std::size_t k = 0; k < count; ++k) {
            const std::optional<std::uint64_t> number = to_integer(element(k), to);
            if (!number) refuse(k);
            std::memcpy(result.data() + k * bytes, &*number, bytes);
        }
        return result;
    }
    std::vector<double> reals(count);
    for (std::size_t k = 0; k < count; ++k) reals[k] = to_real(element(k), to.kind != HostType::Kind::f64);
    if (to.kind == HostType::Kind::f64) {
        if (count > 0) std::memcpy(result.data(), reals.data(), result.size());
        return result;
    }
    result = encode_reals(to.type, reals);
    const std::vector<double> stored = decode_reals(to.type, result);
    for (std::size_t k = 0; k < count; ++k) {
        if (std::isfinite(reals[k]) != std::isfinite(stored[k]) || std::isnan(reals[k]) != std::isnan(stored[k]))
            refuse(k);
    }
    return result;
}

}  // namespace tosavk
