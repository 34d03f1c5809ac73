// Attributes of the dialects builtin and vhlo, and the locations among builtin's.
#include "frontends/stablehlo/bytecode_entries.hpp"
#include "frontends/stablehlo/elements.hpp"
#include "frontends/stablehlo/keywords.hpp"

#include <fmt/format.h>

namespace tosavk::stablehlo {

namespace {

constexpr std::size_t max_location_depth = 512;  // a stack of calls lies in one

/// The builtin attributes that are locations.
bool is_location(std::uint64_t code) { return (code >= 10 && code <= 15) || code == 22; }

}  // namespace

ByteReader BytecodeEntries::open(const BytecodeEntry& entry, std::string_view what) const {
    ByteReader in = file_.reader({entry.begin, entry.end}, what);
    const std::string_view dialect = file_.dialects[entry.dialect];
    if (!entry.is_custom && (dialect == "builtin" || dialect == "vhlo")) {
        in.fail(fmt::format("{} of the dialect {} is written as text", what, dialect), ErrorCode::unsupported);
    }
    return in;
}

AttributePointer BytecodeEntries::read_attribute(ByteReader& in, std::size_t depth) {
    return attribute(in.index(file_.attributes.size(), "attribute"), depth);
}

LocationId BytecodeEntries::read_location(ByteReader& in, std::size_t depth) {
    return location(in.index(file_.attributes.size(), "attribute"), depth);
}

AttributePointer BytecodeEntries::attribute(std::size_t index, std::size_t depth) {
    if (attributes_[index]) return attributes_[index];
    const BytecodeEntry& entry = file_.attributes[index];
    ByteReader in = open(entry, "an attribute");
    if (depth > max_depth) in.fail("attributes lie too deep within each other");
    const std::string_view dialect = file_.dialects[entry.dialect];
    AttributePointer made;
    if (dialect == "builtin") made = builtin_attribute(in, depth);
    else if (dialect == "vhlo") made = vhlo_attribute(in, depth);
    else return attributes_[index] = stablehlo::attribute(Opaque{std::string(dialect)});
    in.finish();
    return attributes_[index] = std::move(made);
}

AttributePointer BytecodeEntries::read_array(ByteReader& in, std::size_t depth) {
    Array parts(in.count());
    for (AttributePointer& part : parts) part = read_attribute(in, depth + 1);
    AttributePointer made = array_attribute(std::move(parts));
    if (!made) in.fail("an attribute has too many parts", ErrorCode::unsupported);
    return made;
}

std::string BytecodeEntries::read_name(ByteReader& in, std::size_t depth) {
    const std::size_t at = in.offset();
    const AttributePointer name = read_attribute(in, depth + 1);
    if (!name->as<std::string>()) fail_at_byte(at, "a name is no string");
    return *name->as<std::string>();
}

AttributePointer BytecodeEntries::read_dictionary(ByteReader& in, std::size_t depth) {
    Dictionary entries(in.count(2));
    for (auto& [name, value] : entries) {
        name = read_name(in, depth);
        value = read_attribute(in, depth + 1);
    }
    if (!sort_by_name(entries)) in.fail("a dictionary has a name twice");
    AttributePointer made = dictionary_attribute(std::move(entries));
    if (!made) in.fail("an attribute has too many parts", ErrorCode::unsupported);
    return made;
}

AttributePointer BytecodeEntries::number(ByteReader& in, std::size_t depth, bool real) {
    const std::size_t at = in.offset();
    const TypePointer type = read_type(in, depth + 1);
    const Element element = type->element;
    if (type->kind != Type::Kind::element || type->quantization || is_real(element) != real ||
        element == Element::c64 || element == Element::c128) {
        fail_at_byte(at, fmt::format("a number is of type {}", to_string(*type)));
    }
    const int bits = bits_of(element);
    std::uint64_t word = bits <= 8 ? in.byte() : static_cast<std::uint64_t>(in.svarint());
    const int unused = 64 - bits;
    word = word << unused >> unused;
    if (real) return stablehlo::attribute(Real{element, real_from_bits(element, word)});
    if (element == Element::pred) return stablehlo::attribute(word != 0);
    if (is_signed_integer(element))
        return stablehlo::attribute(Integer{element, static_cast<std::int64_t>(word << unused) >> unused});
    return stablehlo::attribute(Integer{element, static_cast<std::int64_t>(word)});
}

AttributePointer BytecodeEntries::dense(ByteReader& in, std::size_t depth, bool from_resource) {
    const std::size_t at = in.offset();
    const TypePointer type = read_type(in, depth + 1);
    const auto bytes = from_resource ? file_.resources[in.index(file_.resources.size(), "resource")] : in.blob();
    DenseResult made = dense_from_bytes(type, SharedBytes(bytes, file_.file().owner()));
    if (!made.problem.empty()) fail_at_byte(at, made.problem);
    return stablehlo::attribute(std::move(made.elements));
}

AttributePointer BytecodeEntries::builtin_attribute(ByteReader& in, std::size_t depth) {
    const std::uint64_t code = in.varint();
    if (is_location(code)) in.fail("a location stands where an attribute is expected");
    const auto text = [&] { return std::string(file_.strings[in.index(file_.strings.size(), "string")]); };
    switch (code) {
        case 0: return read_array(in, depth);
        case 1: return read_dictionary(in, depth);
        case 2: return stablehlo::attribute(text());
        case 3: {
            AttributePointer made = stablehlo::attribute(text());
            read_type(in, depth + 1);
            return made;
        }
        case 4: return stablehlo::attribute(read_name(in, depth));
        case 6: return stablehlo::attribute(read_type(in, depth + 1));
        case 7: return stablehlo::attribute(Unit());
        case 8: return number(in, depth, false);
        case 9: return number(in, depth, true);
        case 16: return dense(in, depth, true);
        case 17: {
            const std::size_t at = in.offset();
            const TypePointer element = read_type(in, depth + 1);
            const std::uint64_t count = in.varint();
            if (element->kind != Type::Kind::element || count > in.left())
                fail_at_byte(at, "an array has no such elements");
            DenseResult made = dense_from_bytes(tensor_type(element->element, {static_cast<std::int64_t>(count)}),
                                                SharedBytes(in.blob(), file_.file().owner()));
            if (!made.problem.empty()) fail_at_byte(at, made.problem);
            return stablehlo::attribute(std::move(made.elements));
        }
        case 18: return dense(in, depth, false);
        default: in.fail(fmt::format("there is no support for builtin attribute {}", code), ErrorCode::unsupported);
    }
}

AttributePointer BytecodeEntries::vhlo_attribute(ByteReader& in, std::size_t depth) {
    const std::size_t at = in.offset();
    const std::uint64_t code = in.varint();
    const auto keyword = [&](std::span<const std::string_view> names) {
        const std::uint64_t value = in.varint();
        const std::string_view name = keyword_of(names, value);
        if (name.empty())
            fail_at_byte(at, fmt::format("attribute {} of the dialect vhlo has no value {}", code, value));
        return stablehlo::attribute(Keyword{std::string(name)});
    };
    /// Those of meshes, as what they have.
    const auto mesh = [&](Dictionary entries) {
        sort_by_name(entries);
        AttributePointer made = dictionary_attribute(std::move(entries));
        if (!made) in.fail("an attribute has too many parts", ErrorCode::unsupported);
        return made;
    };
    const auto integer = [&] { return stablehlo::attribute(Integer{Element::i64, in.svarint()}); };
    switch (code) {
        case 1: return read_array(in, depth);
        case 2: {
            const std::uint64_t value = in.varint();
            if (value > 1) fail_at_byte(at, fmt::format("a flag is {}", value));
            return stablehlo::attribute(value == 1);
        }
        case 3: return keyword(comparison_directions);
        case 4: return keyword(comparison_types);
        case 5: return keyword(api_versions);
        case 6: return read_dictionary(in, depth);
        case 7: return keyword(fft_types);
        case 8: return number(in, depth, true);
        case 9: return number(in, depth, false);
        case 10: {
            OutputOperandAlias alias;
            alias.output_tuple_indices = read_integers(in);
            alias.operand_index = in.svarint();
            alias.operand_tuple_indices = read_integers(in);
            return stablehlo::attribute(std::move(alias));
        }
        case 11: return keyword(precisions);
        case 12: return keyword(rng_algorithms);
        case 13: return keyword(rng_distributions);
        case 14: return stablehlo::attribute(std::string(file_.strings[in.index(file_.strings.size(), "string")]));
        case 15: return dense(in, depth, false);
        case 16: return keyword(transposes);
        case 17: return stablehlo::attribute(read_type(in, depth + 1));
        case 18: return stablehlo::attribute(Numbers{read_integers(in), std::nullopt});
        case 19: return keyword(accuracy_modes);
        case 20: {
            ResultAccuracy accuracy;
            accuracy.atol = in.real64();
            accuracy.rtol = in.real64();
            accuracy.ulps = in.svarint();
            const AttributePointer mode = read_attribute(in, depth + 1);
            if (!mode->as<Keyword>()) fail_at_byte(at, "an accuracy has no mode");
            accuracy.mode = mode->as<Keyword>()->name;
            return stablehlo::attribute(std::move(accuracy));
        }
        case 21: {
            AttributePointer before = integer(), size = integer();
            return mesh({{"pre_size", std::move(before)}, {"size", std::move(size)}});
        }
        case 22: {
            Dictionary entries = {{"name", read_attribute(in, depth + 1)}};
            if (in.varint() != 0) entries.emplace_back("sub_axis_info", read_attribute(in, depth + 1));
            return mesh(std::move(entries));
        }
        case 23: {
            AttributePointer name = read_attribute(in, depth + 1), axes = read_attribute(in, depth + 1);
            return mesh({{"mesh", std::move(name)}, {"axes", std::move(axes)}});
        }
        case 24: {
            AttributePointer name = read_attribute(in, depth + 1), size = integer();
            return mesh({{"name", std::move(name)}, {"size", std::move(size)}});
        }
        default:
            fail_at_byte(
                at,
                fmt::format("attribute {} of the dialect vhlo is newer than this reader (the file is made by {})", code,
                            file_.producer),
                ErrorCode::unsupported);
    }
}

LocationId BytecodeEntries::location(std::size_t index, std::size_t depth) {
    if (locations_[index] != no_location) return locations_[index];
    const BytecodeEntry& entry = file_.attributes[index];
    ByteReader in = open(entry, "a location");
    if (depth > max_location_depth) in.fail("locations lie too deep within each other");
    if (file_.dialects[entry.dialect] != "builtin") return locations_[index] = 0;
    const std::size_t at = in.offset();
    const std::uint64_t code = in.varint();
    if (!is_location(code)) fail_at_byte(at, "an attribute stands where a location is expected");
    if (code == 15) {
        in.finish();
        return locations_[index] = 0;
    }
    Location made = read_location_entry(in, code, depth);
    in.finish();
    for (const LocationId part : made.parts) made.weight += program_.locations[part].weight;
    if (made.weight > max_weight) made = Location();  // it only stands in messages
    program_.locations.push_back(std::move(made));
    return locations_[index] = static_cast<LocationId>(program_.locations.size() - 1);
}

Location BytecodeEntries::read_location_entry(ByteReader& in, std::uint64_t code, std::size_t depth) {
    Location made;
    const auto parts = [&](std::size_t count) {
        for (std::size_t k = 0; k < count; ++k) made.parts.push_back(read_location(in, depth + 1));
    };
    switch (code) {
        case 10:
            made.kind = Location::Kind::call_site;
            parts(2);
            break;
        case 11:
            made.kind = Location::Kind::file;
            made.text = read_name(in, 0);
            made.line = in.varint();
            made.column = in.varint();
            break;
        case 12:
        case 13:
            made.kind = Location::Kind::fused;
            parts(in.count());
            if (code == 13) in.index(file_.attributes.size(), "attribute");  // what it says is not needed
            break;
        case 14:
            made.kind = Location::Kind::name;
            made.text = read_name(in, 0);
            parts(1);
            break;
        default: {  // from a line and column to others
            made.kind = Location::Kind::file;
            made.text = read_name(in, 0);
            std::vector<std::uint64_t> places(in.count());
            for (std::uint64_t& place : places) place = in.varint();
            if (!places.empty()) made.line = places[0];
            if (places.size() > 1) made.column = places[1];
        }
    }
    return made;
}

}  // namespace tosavk::stablehlo
