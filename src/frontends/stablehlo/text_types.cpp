#include "frontends/stablehlo/text_values.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace tosavk::stablehlo {

void TextValues::check_depth(std::size_t depth) const {
    if (depth > max_depth) in_.fail("types or attributes lie too deep within each other", ErrorCode::unsupported);
}

TypePointer TextValues::weighed_here(Type type) const {
    TypePointer made = weighed(std::move(type));
    if (!made) in_.fail("a type has too many parts", ErrorCode::unsupported);
    return made;
}

std::vector<TypePointer> TextValues::types_in_parentheses(std::size_t depth) {
    std::vector<TypePointer> types;
    in_.expect("(");
    if (in_.accept(")")) return types;
    do types.push_back(type(depth + 1));
    while (in_.accept(","));
    in_.expect(")");
    return types;
}

TypePointer TextValues::function_type(std::size_t depth) {
    check_depth(depth);
    Type made;
    made.kind = Type::Kind::function;
    made.parts = types_in_parentheses(depth);
    in_.expect("->");
    if (in_.next_is("(")) made.results = types_in_parentheses(depth);
    else made.results = {type(depth + 1)};
    return weighed_here(std::move(made));
}

TypePointer TextValues::type(std::size_t depth) {
    check_depth(depth);
    const char next = in_.peek();
    if (next == '(') return function_type(depth);
    if (next == '!') return dialect_type(depth);
    const std::size_t at = in_.at();
    const std::string_view name = in_.peek_word();
    if (name == "tensor" || name == "memref") {
        in_.word();
        return shaped(name == "tensor" ? Type::Kind::tensor : Type::Kind::buffer, depth);
    }
    if (name == "tuple") {
        in_.word();
        Type made;
        made.kind = Type::Kind::tuple;
        in_.expect("<");
        if (!in_.accept(">")) {
            do made.parts.push_back(type(depth + 1));
            while (in_.accept(","));
            in_.expect(">");
        }
        return weighed_here(std::move(made));
    }
    if (name == "none") {
        in_.word();
        return plain_type(Type::Kind::none);
    }
    if (name.empty()) in_.fail_at(at, "a type is expected");
    return weighed_here(element_type(depth));
}

Type TextValues::element_type(std::size_t depth) {
    Type made;
    made.kind = Type::Kind::element;
    const std::size_t at = in_.at();
    if (in_.peek() == '!') {
        const TypePointer quantized = type(depth + 1);
        if (quantized->kind != Type::Kind::element)
            in_.fail_at(at, "a tensor has elements of type " + to_string(*quantized));
        return *quantized;
    }
    const std::string_view name = in_.word();
    if (name == "complex") {
        in_.expect("<");
        const std::string_view part = in_.word();
        in_.expect(">");
        if (part != "f32" && part != "f64") {
            in_.fail_at(at, fmt::format("complex numbers have parts of type {}", part), ErrorCode::unsupported);
        }
        made.element = part == "f32" ? Element::c64 : Element::c128;
        return made;
    }
    const std::string_view plain = name.starts_with("si") ? name.substr(1) : name;
    const auto element = element_named(plain);
    if (!element) in_.fail_at(at, fmt::format("type {} is not supported", printable(name)), ErrorCode::unsupported);
    made.element = *element;
    return made;
}

TypePointer TextValues::shaped(Type::Kind kind, std::size_t depth) {
    Type made;
    made.kind = kind;
    in_.expect("<");
    if (in_.accept("*")) {
        in_.expect("x");
        made.kind = Type::Kind::unranked_tensor;
    } else {
        for (char next = in_.peek(); next == '?' || (next >= '0' && next <= '9'); next = in_.peek()) {
            if (made.dims.size() == max_rank) in_.fail("a tensor has too many dimensions", ErrorCode::unsupported);
            made.dims.push_back(in_.accept("?") ? unknown : in_.digits());
            in_.expect("x");
        }
    }
    const Type element = element_type(depth);
    made.element = element.element;
    made.quantization = element.quantization;
    if (in_.accept(",")) encoding(made, depth);
    in_.expect(">");
    return weighed_here(std::move(made));
}

void TextValues::encoding(Type& type, std::size_t depth) {
    const std::size_t at = in_.at();
    const AttributePointer given = attribute(depth + 1);
    const Numbers* bounds = given->as<Numbers>();
    if (!bounds || bounds->values.size() != type.dims.size()) {
        in_.fail_at(at, "a tensor's encoding is not one bound a dimension", ErrorCode::unsupported);
    }
    type.bounds = bounds->values;
}

Quantization TextValues::quantization() {
    Quantization q;
    const std::size_t at = in_.at();
    const auto element = [&](std::string_view name) {
        const auto found = element_named(name);
        if (!found)
            in_.fail_at(at, fmt::format("a quantized type has the type {}", printable(name)), ErrorCode::unsupported);
        return *found;
    };
    const auto real = [&] {
        const std::string_view text = in_.number();
        double value = 0;
        std::from_chars(text.data(), text.data() + text.size(), value);
        return value;
    };
    in_.expect("<");
    const std::string_view storage = in_.word();
    q.storage = element(storage.starts_with("u") && !storage.starts_with("ui") ? "ui" + std::string(storage.substr(1))
                                                                               : std::string(storage));
    const int bits = bits_of(q.storage);
    if (!(is_signed_integer(q.storage) || is_unsigned_integer(q.storage)) || bits > 32) {
        in_.fail_at(at, fmt::format("a quantized type stores {}", storage), ErrorCode::unsupported);
    }
    q.minimum = is_signed_integer(q.storage) ? -(std::int64_t{1} << (bits - 1)) : 0;
    q.maximum = (std::int64_t{1} << (is_signed_integer(q.storage) ? bits - 1 : bits)) - 1;
    if (in_.accept("<")) {
        q.minimum = in_.integer();
        in_.expect(":");
        q.maximum = in_.integer();
        in_.expect(">");
    }
    in_.expect(":");
    q.expressed = element(in_.word());
    if (!is_real(q.expressed)) in_.fail_at(at, "a quantized type expresses no floats");
    if (in_.accept(":")) q.axis = in_.integer();
    if (q.axis && *q.axis < 0) in_.fail_at(at, "a quantized type has a negative axis");
    in_.expect(",");
    if (q.axis) in_.expect("{");
    do {
        q.scales.push_back(real());
        q.zero_points.push_back(in_.accept(":") ? in_.integer() : 0);
    } while (q.axis && in_.accept(","));
    if (q.axis) in_.expect("}");
    in_.expect(">");
    return q;
}

TypePointer TextValues::dialect_type(std::size_t depth) {
    const std::size_t at = in_.at();
    in_.expect("!");
    const std::string_view name = in_.suffix();
    if (name == "stablehlo.token") return plain_type(Type::Kind::token);
    if (name == "quant.uniform") {
        Type made;
        made.kind = Type::Kind::element;
        made.quantization = quantization();
        made.element = made.quantization->storage;
        return weighed_here(std::move(made));
    }
    const std::string_view whole = in_.text().substr(at, name.size() + 1);
    if (const auto known = types_.find(whole); known != types_.end()) return known->second;
    if (!aliases_.contains(whole))
        in_.fail_at(at, fmt::format("type {} is not supported", printable(whole)), ErrorCode::unsupported);
    const std::size_t back = in_.at();
    in_.move_to(aliases_.at(whole));
    const TypePointer made = type(depth + 1);
    in_.move_to(back);
    return types_[whole] = made;
}

}  // namespace tosavk::stablehlo
