// Types of the dialects builtin and vhlo.
#include "frontends/stablehlo/bytecode_entries.hpp"

#include <fmt/format.h>

#include <limits>

namespace tosavk::stablehlo {

namespace {

using TypeKind = Type::Kind;

constexpr std::int64_t dynamic_dimension = std::numeric_limits<std::int64_t>::min();

std::optional<Element> vhlo_element(std::uint64_t code) {
    switch (code) {
        case 0: return Element::pred;
        case 2: return Element::bf16;
        case 3: return Element::f16;
        case 4: return Element::f32;
        case 5: return Element::f64;
        case 6: return Element::f8e4m3fn;
        case 7: return Element::f8e5m2;
        case 9: return Element::index;
        case 10: return Element::i4;
        case 11: return Element::i8;
        case 12: return Element::i16;
        case 13: return Element::i32;
        case 14: return Element::i64;
        case 15: return Element::u4;
        case 16: return Element::u8;
        case 17: return Element::u16;
        case 18: return Element::u32;
        case 19: return Element::u64;
        case 27: return Element::f8e4m3fnuz;
        case 28: return Element::f8e5m2fnuz;
        case 29: return Element::f8e4m3b11fnuz;
        case 31: return Element::i2;
        case 32: return Element::u2;
        case 34: return Element::tf32;
        case 35: return Element::f8e4m3;
        case 36: return Element::f8e3m4;
        case 37: return Element::f4e2m1fn;
        case 38: return Element::f6e2m3fn;
        case 39: return Element::f6e3m2fn;
        case 40: return Element::f8e8m0fnu;
        default: return std::nullopt;
    }
}

std::optional<Element> builtin_element(std::uint64_t code) {
    switch (code) {
        case 1: return Element::index;
        case 3: return Element::bf16;
        case 4: return Element::f16;
        case 5: return Element::f32;
        case 6: return Element::f64;
        case 21: return Element::tf32;
        case 22: return Element::f8e5m2;
        case 23: return Element::f8e4m3;
        case 24: return Element::f8e4m3fn;
        case 25: return Element::f8e5m2fnuz;
        case 26: return Element::f8e4m3fnuz;
        case 27: return Element::f8e4m3b11fnuz;
        case 28: return Element::f8e3m4;
        case 29: return Element::f4e2m1fn;
        case 30: return Element::f6e2m3fn;
        case 31: return Element::f6e3m2fn;
        case 32: return Element::f8e8m0fnu;
        default: return std::nullopt;
    }
}

Type of_kind(TypeKind kind, Element element = Element::f32) {
    Type type;
    type.kind = kind;
    type.element = element;
    return type;
}

Element complex_of(const Type& part, const ByteReader& in) {
    if (part.kind == TypeKind::element && part.element == Element::f32) return Element::c64;
    if (part.kind == TypeKind::element && part.element == Element::f64) return Element::c128;
    in.fail("complex numbers have parts of type " + to_string(part), ErrorCode::unsupported);
}

}  // namespace

TypePointer BytecodeEntries::read_type(ByteReader& in, std::size_t depth) {
    return type(in.index(file_.types.size(), "type"), depth);
}

std::vector<TypePointer> BytecodeEntries::read_types(ByteReader& in, std::size_t depth) {
    std::vector<TypePointer> types(in.count());
    for (TypePointer& part : types) part = read_type(in, depth + 1);
    return types;
}

std::vector<std::int64_t> BytecodeEntries::read_integers(ByteReader& in) {
    std::vector<std::int64_t> values(in.count());
    for (std::int64_t& value : values) value = in.svarint();
    return values;
}

TypePointer BytecodeEntries::type(std::size_t index, std::size_t depth) {
    if (types_[index]) return types_[index];
    const BytecodeEntry& entry = file_.types[index];
    ByteReader in = open(entry, "a type");
    if (depth > max_depth) in.fail("types lie too deep within each other");
    const std::string_view dialect = file_.dialects[entry.dialect];
    Type made;
    if (dialect == "builtin") made = builtin_type(in, depth);
    else if (dialect == "vhlo") made = vhlo_type(in, depth);
    else in.fail(fmt::format("types of the dialect {} are not supported", dialect), ErrorCode::unsupported);
    in.finish();
    types_[index] = weighed(std::move(made));
    if (!types_[index]) in.fail("a type has too many parts", ErrorCode::unsupported);
    return types_[index];
}

Type BytecodeEntries::builtin_type(ByteReader& in, std::size_t depth) {
    const std::uint64_t code = in.varint();
    if (const auto element = builtin_element(code)) return of_kind(TypeKind::element, *element);
    switch (code) {
        case 0: {
            const std::uint64_t word = in.varint();
            const std::string name = fmt::format("{}i{}", (word & 3) == 2 ? "u" : "", word >> 2);
            const auto element = element_named(name);
            if (!element || (word & 3) > 2)
                in.fail("integers of type " + name + " are not supported", ErrorCode::unsupported);
            return of_kind(TypeKind::element, *element);
        }
        case 2: {
            Type type = of_kind(TypeKind::function);
            type.parts = read_types(in, depth);
            type.results = read_types(in, depth);
            return type;
        }
        case 9: return of_kind(TypeKind::element, complex_of(*read_type(in, depth + 1), in));
        case 12: return of_kind(TypeKind::none);
        case 13: return shaped(in, depth, TypeKind::tensor);
        case 15: {
            Type type = of_kind(TypeKind::tuple);
            type.parts = read_types(in, depth);
            return type;
        }
        default: in.fail(fmt::format("there is no support for builtin type {}", code), ErrorCode::unsupported);
    }
}

void BytecodeEntries::set_element(Type& type, const Type& element, const ByteReader& in) const {
    if (element.kind != TypeKind::element) in.fail("a tensor has elements of type " + to_string(element));
    type.element = element.element;
    type.quantization = element.quantization;
}

Type BytecodeEntries::shaped(ByteReader& in, std::size_t depth, TypeKind kind) {
    Type type = of_kind(kind);
    type.dims = read_integers(in);
    if (type.dims.size() > max_rank)
        in.fail(fmt::format("a tensor has rank {}", type.dims.size()), ErrorCode::unsupported);
    for (std::int64_t& dim : type.dims) {
        if (dim == dynamic_dimension) dim = unknown;
        else if (dim < 0) in.fail(fmt::format("a tensor has a dimension of {}", dim));
    }
    set_element(type, *read_type(in, depth + 1), in);
    return type;
}

Quantization BytecodeEntries::quantization(ByteReader& in, std::size_t depth, bool per_axis) {
    Quantization q;
    const bool is_signed = (in.varint() & 1) != 0;
    const TypePointer storage = read_type(in, depth + 1), expressed = read_type(in, depth + 1);
    const Element stored = storage->element;
    if (storage->kind != TypeKind::element || expressed->kind != TypeKind::element || !is_real(expressed->element) ||
        !(is_signed_integer(stored) || is_unsigned_integer(stored))) {
        in.fail(fmt::format("a quantized type stores {} for {}", to_string(*storage), to_string(*expressed)));
    }
    // The flag tells the sign; the storage's name may not.
    q.storage = *element_named(fmt::format("{}i{}", is_signed ? "" : "u", bits_of(stored)));
    q.expressed = expressed->element;
    if (!per_axis) {
        q.scales = {in.real64()};
        q.zero_points = {in.svarint()};
    } else {
        q.axis = static_cast<std::int64_t>(in.varint() & 0x7fffffff);
    }
    q.minimum = in.svarint();
    q.maximum = in.svarint();
    if (per_axis) {
        q.scales.resize(in.count());
        for (double& scale : q.scales) scale = in.real64();
        q.zero_points = read_integers(in);
        if (q.scales.empty() || q.zero_points.size() != q.scales.size()) {
            in.fail(fmt::format("a quantized type has {} scales and {} zero points", q.scales.size(),
                                q.zero_points.size()));
        }
    }
    return q;
}

Type BytecodeEntries::vhlo_type(ByteReader& in, std::size_t depth) {
    const std::uint64_t code = in.varint();
    if (const auto element = vhlo_element(code)) return of_kind(TypeKind::element, *element);
    switch (code) {
        case 1: return of_kind(TypeKind::element, complex_of(*read_type(in, depth + 1), in));
        case 8: {
            Type type = of_kind(TypeKind::function);
            type.parts = read_types(in, depth);
            type.results = read_types(in, depth);
            return type;
        }
        case 20: return shaped(in, depth, TypeKind::tensor);
        case 21: {
            const AttributePointer encoding = read_attribute(in, depth + 1);
            Type type = shaped(in, depth, TypeKind::tensor);
            const Numbers* bounds = encoding->as<Numbers>();
            if (!bounds || bounds->values.size() != type.dims.size())
                in.fail("a tensor's encoding is not one bound a dimension");
            type.bounds = bounds->values;
            for (std::int64_t& bound : type.bounds)
                if (bound == dynamic_dimension) bound = unknown;
            return type;
        }
        case 22: return of_kind(TypeKind::token);
        case 23:
        case 42: {
            Type type = of_kind(code == 23 ? TypeKind::tuple : TypeKind::future);
            type.parts = read_types(in, depth);
            return type;
        }
        case 24:
        case 30: {
            Type type = of_kind(TypeKind::element);
            type.quantization = quantization(in, depth, code == 30);
            type.element = type.quantization->storage;
            return type;
        }
        case 25: {
            Type type = of_kind(TypeKind::unranked_tensor);
            set_element(type, *read_type(in, depth + 1), in);
            return type;
        }
        case 26: return of_kind(TypeKind::witness);
        case 33: return of_kind(TypeKind::none);
        case 41: return shaped(in, depth, TypeKind::buffer);
        default:
            in.fail(fmt::format("type {} of the dialect vhlo is newer than this reader (the file is made by {})", code,
                                file_.producer),
                    ErrorCode::unsupported);
    }
}

}  // namespace tosavk::stablehlo
