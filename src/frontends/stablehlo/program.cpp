// What is said of types, attributes and locations without knowing where they were read.
#include "frontends/stablehlo/program.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tosavk::stablehlo {

namespace {

struct ElementFacts {
    Element element;
    std::string_view name;
    int bits;
};

constexpr std::array<ElementFacts, 32> element_facts = {{
    {Element::pred, "i1", 8},
    {Element::i2, "i2", 2},
    {Element::i4, "i4", 4},
    {Element::i8, "i8", 8},
    {Element::i16, "i16", 16},
    {Element::i32, "i32", 32},
    {Element::i64, "i64", 64},
    {Element::u2, "ui2", 2},
    {Element::u4, "ui4", 4},
    {Element::u8, "ui8", 8},
    {Element::u16, "ui16", 16},
    {Element::u32, "ui32", 32},
    {Element::u64, "ui64", 64},
    {Element::index, "index", 64},
    {Element::f4e2m1fn, "f4E2M1FN", 4},
    {Element::f6e2m3fn, "f6E2M3FN", 6},
    {Element::f6e3m2fn, "f6E3M2FN", 6},
    {Element::f8e3m4, "f8E3M4", 8},
    {Element::f8e4m3, "f8E4M3", 8},
    {Element::f8e4m3b11fnuz, "f8E4M3B11FNUZ", 8},
    {Element::f8e4m3fn, "f8E4M3FN", 8},
    {Element::f8e4m3fnuz, "f8E4M3FNUZ", 8},
    {Element::f8e5m2, "f8E5M2", 8},
    {Element::f8e5m2fnuz, "f8E5M2FNUZ", 8},
    {Element::f8e8m0fnu, "f8E8M0FNU", 8},
    {Element::bf16, "bf16", 16},
    {Element::f16, "f16", 16},
    {Element::f32, "f32", 32},
    {Element::f64, "f64", 64},
    {Element::tf32, "tf32", 19},
    {Element::c64, "complex<f32>", 64},
    {Element::c128, "complex<f64>", 128},
}};

const ElementFacts& facts_of(Element element) { return element_facts[static_cast<std::size_t>(element)]; }

std::string quantized_name(const Quantization& q) {
    const auto real = [](double value) {
        std::string text = fmt::format("{}", value);
        if (text.find_first_of(".en") == std::string::npos) text += ".0";
        return text;
    };
    const auto point = [](std::int64_t zero_point) { return zero_point != 0 ? fmt::format(":{}", zero_point) : ""; };
    std::string text = "!quant.uniform<";
    // MLIR's quantized types write "u8", where the others write "ui8".
    text += is_unsigned_integer(q.storage) ? fmt::format("u{}", bits_of(q.storage)) : std::string(name_of(q.storage));
    const int bits = bits_of(q.storage);
    const bool is_signed = is_signed_integer(q.storage);
    const std::int64_t low = is_signed ? -(std::int64_t{1} << (bits - 1)) : 0;
    const std::int64_t high = (std::int64_t{1} << (is_signed ? bits - 1 : std::min(bits, 62))) - 1;
    if (q.minimum != low || q.maximum != high) text += fmt::format("<{}:{}>", q.minimum, q.maximum);
    text += fmt::format(":{}", name_of(q.expressed));
    if (!q.axis) return text + ", " + real(q.scales[0]) + point(q.zero_points[0]) + ">";
    text += fmt::format(":{}, {{", *q.axis);
    for (std::size_t k = 0; k < q.scales.size(); ++k)
        text += (k > 0 ? "," : "") + real(q.scales[k]) + point(q.zero_points[k]);
    return text + "}>";
}

std::string list_of_types(const std::vector<TypePointer>& types) {
    std::string text;
    for (std::size_t k = 0; k < types.size(); ++k) text += (k > 0 ? ", " : "") + to_string(*types[k]);
    return text;
}

bool same_parts(const std::vector<TypePointer>& a, const std::vector<TypePointer>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const TypePointer& x, const TypePointer& y) { return x == y || same(*x, *y); });
}

}  // namespace

std::string_view name_of(Element element) { return facts_of(element).name; }

std::optional<Element> element_named(std::string_view name) {
    for (const ElementFacts& facts : element_facts)
        if (facts.name == name) return facts.element;
    return std::nullopt;
}

int bits_of(Element element) { return facts_of(element).bits; }

std::size_t bytes_of(Element element) {
    if (element == Element::tf32) return 0;
    return static_cast<std::size_t>((facts_of(element).bits + 7) / 8);
}

bool is_signed_integer(Element element) { return element >= Element::i2 && element <= Element::i64; }
bool is_unsigned_integer(Element element) { return element >= Element::u2 && element <= Element::u64; }
bool is_real(Element element) { return element >= Element::f4e2m1fn && element <= Element::tf32; }

bool same(const Type& a, const Type& b) {
    return a.kind == b.kind && a.element == b.element && a.dims == b.dims && a.bounds == b.bounds &&
           a.quantization == b.quantization && same_parts(a.parts, b.parts) && same_parts(a.results, b.results);
}

std::string to_string(const Type& type) {
    using Kind = Type::Kind;
    const auto shaped = [&](std::string_view word) {
        std::string text = std::string(word) + "<";
        for (const std::int64_t dim : type.dims) text += dim == unknown ? "?x" : fmt::format("{}x", dim);
        text += type.quantization ? quantized_name(*type.quantization) : std::string(name_of(type.element));
        if (!type.bounds.empty()) {
            text += ", #stablehlo.bounds<";
            for (std::size_t k = 0; k < type.bounds.size(); ++k)
                text += (k > 0 ? ", " : "") + (type.bounds[k] == unknown ? "?" : fmt::format("{}", type.bounds[k]));
            text += ">";
        }
        return text + ">";
    };
    switch (type.kind) {
        case Kind::element:
            return type.quantization ? quantized_name(*type.quantization) : std::string(name_of(type.element));
        case Kind::tensor: return shaped("tensor");
        case Kind::buffer: return shaped("memref");
        case Kind::unranked_tensor: return fmt::format("tensor<*x{}>", name_of(type.element));
        case Kind::tuple: return "tuple<" + list_of_types(type.parts) + ">";
        case Kind::future: return "!stablehlo.future<" + list_of_types(type.parts) + ">";
        case Kind::function:
            return "(" + list_of_types(type.parts) + ") -> " +
                   (type.results.size() == 1 ? to_string(*type.results[0]) : "(" + list_of_types(type.results) + ")");
        case Kind::token: return "!stablehlo.token";
        case Kind::witness: return "!shape.witness";
        case Kind::none: return "none";
    }
    return {};
}

std::optional<std::uint64_t> element_count(const std::vector<std::int64_t>& dims) {
    if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
    std::uint64_t count = 1;
    for (const std::int64_t dim : dims) {
        if (dim < 0 || count > (std::uint64_t{1} << 62) / static_cast<std::uint64_t>(dim)) return std::nullopt;
        count *= static_cast<std::uint64_t>(dim);
    }
    return count;
}

const Attribute* find(const Dictionary& dictionary, std::string_view name) {
    const auto at = std::lower_bound(dictionary.begin(), dictionary.end(), name,
                                     [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
    return at != dictionary.end() && at->first == name ? at->second.get() : nullptr;
}

TypePointer weighed(Type type) {
    type.weight = 1;
    for (const auto* parts : {&type.parts, &type.results})
        for (const TypePointer& part : *parts) type.weight += part->weight;
    if (type.weight > max_type_weight) return nullptr;
    return std::make_shared<const Type>(std::move(type));
}

TypePointer plain_type(Type::Kind kind, Element element) {
    Type type;
    type.kind = kind;
    type.element = element;
    return std::make_shared<const Type>(std::move(type));
}

TypePointer tensor_type(Element element, std::vector<std::int64_t> dims) {
    Type type;
    type.kind = Type::Kind::tensor;
    type.element = element;
    type.dims = std::move(dims);
    return std::make_shared<const Type>(std::move(type));
}

AttributePointer array_attribute(Array parts) {
    std::size_t weight = 1;
    for (const AttributePointer& part : parts) weight += part->weight;
    if (weight > max_weight) return nullptr;
    return std::make_shared<const Attribute>(Attribute{std::move(parts), weight});
}

AttributePointer dictionary_attribute(Dictionary entries) {
    std::size_t weight = 1;
    for (const auto& [name, value] : entries) weight += value->weight;
    if (weight > max_weight) return nullptr;
    return std::make_shared<const Attribute>(Attribute{std::move(entries), weight});
}

bool sort_by_name(Dictionary& entries) {
    const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(entries.begin(), entries.end(), less);
    return std::adjacent_find(entries.begin(), entries.end(),
                              [](const auto& a, const auto& b) { return a.first == b.first; }) == entries.end();
}

namespace {

void add_location(std::string& text, const Program& program, LocationId id, int budget) {
    constexpr std::size_t long_enough = 400;
    if (text.size() > long_enough || budget == 0) return;
    const Location& location = program.locations[id];
    switch (location.kind) {
        case Location::Kind::nowhere: break;
        case Location::Kind::file:
            text += fmt::format("{}:{}:{}", printable(location.text), location.line, location.column);
            break;
        case Location::Kind::name: {
            std::string inner;
            add_location(inner, program, location.parts[0], budget - 1);
            text += inner + (inner.empty() ? "'" : " in '") + printable(location.text) + "'";
            break;
        }
        case Location::Kind::call_site: add_location(text, program, location.parts[0], budget - 1); break;
        case Location::Kind::fused:
            if (!location.parts.empty()) add_location(text, program, location.parts[0], budget - 1);
            break;
    }
}

}  // namespace

std::string problem_of(const Function& function) {
    const auto are = [&](const std::vector<ValueId>& values, const std::vector<TypePointer>& types) {
        return std::equal(values.begin(), values.end(), types.begin(), types.end(),
                          [&](ValueId id, const TypePointer& type) { return same(*function.values[id], *type); });
    };
    const std::string title = "function '" + printable(function.name) + "'";
    if (!are(function.body.arguments, function.argument_types))
        return "the arguments of " + title + " are not of its type";
    const std::vector<Operation>& operations = function.body.operations;
    const auto end = std::find_if(operations.begin(), operations.end(),
                                  [](const Operation& operation) { return operation.name == "return"; });
    if (!are(end == operations.end() ? std::vector<ValueId>() : end->operands, function.result_types))
        return "what " + title + " returns is not of its type";
    return "";
}

std::string problem_of(const Program& program) {
    std::vector<std::string_view> names;
    for (const Function& function : program.functions) names.push_back(function.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    return twice == names.end() ? "" : fmt::format("there are two functions '{}'", printable(*twice));
}

std::string to_string(const Program& program, LocationId location) {
    std::string text;
    add_location(text, program, location, 16);
    return text;
}

}  // namespace tosavk::stablehlo
