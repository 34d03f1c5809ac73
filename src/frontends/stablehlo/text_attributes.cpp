// Attributes, the definitions of aliases, and locations.
#include "frontends/stablehlo/text_values.hpp"

#include "base/text.hpp"
#include "frontends/stablehlo/elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tosavk::stablehlo {

namespace {

constexpr std::size_t deepest_location = 512;  // a stack of calls lies in one

bool is_floating(std::string_view number) {
    return !number.starts_with("0x") && number.find_first_of(".eE") != std::string_view::npos;
}

}  // namespace

void TextValues::find_aliases() {
    const std::string_view text = in_.text();
    for (std::size_t line = 0; line < text.size(); line = std::min(text.find('\n', line), text.size() - 1) + 1) {
        if (text[line] != '#' && text[line] != '!') continue;
        in_.move_to(line + 1);
        const std::string_view name = in_.suffix();
        if (in_.accept("=")) aliases_.emplace(text.substr(line, name.size() + 1), in_.at());
    }
    // The resources stand at the end: {-# dialect_resources: { builtin: { name: "0x..." } } #-}
    const std::size_t resources = text.rfind("{-#");
    if (resources != std::string_view::npos && (resources == 0 || text[resources - 1] == '\n')) {
        in_.move_to(resources + 3);
        while (!in_.at_end() && !in_.next_is("#-}")) {
            const std::string_view name = in_.peek_word();
            if (name.empty()) {
                if (in_.peek() == '"') in_.raw_string();
                else in_.move_to(in_.at() + 1);
                continue;
            }
            in_.word();
            if (in_.accept(":") && in_.peek() == '"') resources_.emplace(std::string(name), in_.at());
        }
    }
    in_.move_to(0);
}

bool TextValues::skip_definition() {
    if (in_.next_is("{-#")) {
        const std::size_t end = in_.text().find("#-}", in_.at());
        if (end == std::string_view::npos) in_.fail("the resources have no end");
        in_.move_to(end + 3);
        return true;
    }
    const char next = in_.peek();
    if (next != '#' && next != '!') return false;
    in_.move_to(in_.at() + 1);
    in_.suffix();
    in_.expect("=");
    // To the end of the line, or of the brackets that begin on it.
    const std::size_t line = in_.text().find('\n', in_.at());
    for (char c = in_.peek(); c != '\0' && in_.at() < line; c = in_.peek()) {
        if (c == '(' || c == '[' || c == '{' || c == '<') in_.skip_brackets();
        else if (c == '"') in_.raw_string();
        else in_.move_to(in_.at() + 1);
    }
    return true;
}

std::size_t TextValues::alias(std::string_view name) const {
    const auto found = aliases_.find(name);
    if (found == aliases_.end()) in_.fail(fmt::format("'{}' is not defined", printable(name)));
    return found->second;
}

std::string TextValues::symbol() {
    in_.expect("@");
    return in_.peek() == '"' ? in_.string() : std::string(in_.suffix());
}

AttributePointer TextValues::made_dictionary(Dictionary entries) {
    if (!sort_by_name(entries)) in_.fail("a dictionary has a name twice");
    AttributePointer made = dictionary_attribute(std::move(entries));
    if (!made) in_.fail("an attribute has too many parts", ErrorCode::unsupported);
    return made;
}

Dictionary TextValues::dictionary(std::size_t depth) {
    check_depth(depth);
    Dictionary entries;
    in_.expect("{");
    if (in_.accept("}")) return entries;
    do {
        std::string name = in_.peek() == '"' ? in_.string() : std::string(in_.word());
        AttributePointer value = in_.accept("=") ? attribute(depth + 1) : stablehlo::attribute(Unit());
        entries.emplace_back(std::move(name), std::move(value));
    } while (in_.accept(","));
    in_.expect("}");
    if (!sort_by_name(entries)) in_.fail("a dictionary has a name twice");
    return entries;
}

AttributePointer TextValues::array(std::size_t depth) {
    Array parts;
    in_.expect("[");
    if (!in_.accept("]")) {
        do parts.push_back(attribute(depth + 1));
        while (in_.accept(","));
        in_.expect("]");
    }
    AttributePointer made = array_attribute(std::move(parts));
    if (!made) in_.fail("an attribute has too many parts", ErrorCode::unsupported);
    return made;
}

AttributePointer TextValues::number_attribute(bool may_have_type, std::size_t depth) {
    const std::size_t at = in_.at();
    const std::string_view number = in_.number();
    Element element = is_floating(number) ? Element::f64 : Element::i64;
    if (may_have_type && in_.accept(":")) {
        const TypePointer given = type(depth + 1);
        if (given->kind != Type::Kind::element || given->quantization)
            in_.fail_at(at, "a number is of type " + to_string(*given));
        element = given->element;
    }
    if (element == Element::c64 || element == Element::c128 || element == Element::tf32) {
        in_.fail_at(at, fmt::format("a number is of type {}", name_of(element)), ErrorCode::unsupported);
    }
    const std::size_t back = in_.at();
    Bytes bytes;
    in_.move_to(at);
    append_element(in_, element, bytes);
    in_.move_to(back);
    std::uint64_t bits = 0;
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(&bits));
    if (is_real(element)) return stablehlo::attribute(Real{element, real_from_bits(element, bits)});
    if (element == Element::pred) return stablehlo::attribute(bits != 0);
    const int unused = 64 - bits_of(element);
    if (is_signed_integer(element))
        return stablehlo::attribute(Integer{element, static_cast<std::int64_t>(bits << unused) >> unused});
    return stablehlo::attribute(Integer{element, static_cast<std::int64_t>(bits)});
}

AttributePointer TextValues::attribute(std::size_t depth) {
    check_depth(depth);
    const char next = in_.peek();
    if (next == '"') return stablehlo::attribute(in_.string());
    if (next == '@') {
        std::string name = symbol();
        while (in_.accept("::")) name = symbol();
        return stablehlo::attribute(std::move(name));
    }
    if (next == '[') return array(depth);
    if (next == '{') return made_dictionary(dictionary(depth));
    if (next == '#') return dialect_attribute(depth);
    if (next == '-' || (next >= '0' && next <= '9')) return number_attribute(true, depth);
    const std::string_view word = in_.peek_word();
    if (word == "true" || word == "false") {
        in_.word();
        return stablehlo::attribute(word == "true");
    }
    if (word == "unit") {
        in_.word();
        return stablehlo::attribute(Unit());
    }
    if (word == "dense") return dense(depth);
    if (word == "dense_resource") return dense_resource(depth);
    if (word == "array") {
        in_.word();
        in_.expect("<");
        const TypePointer element = type(depth + 1);
        if (element->kind != Type::Kind::element) in_.fail("an array has elements of type " + to_string(*element));
        std::int64_t count = 0;
        Bytes bytes;
        if (in_.accept(":")) {
            do append_element(in_, element->element, bytes);
            while (++count, in_.accept(","));
        }
        in_.expect(">");
        DenseResult made = dense_from_bytes(tensor_type(element->element, {count}), std::move(bytes));
        if (!made.problem.empty()) in_.fail(made.problem);
        return stablehlo::attribute(std::move(made.elements));
    }
    return stablehlo::attribute(type(depth + 1));
}

AttributePointer TextValues::named_fields(std::string_view close, std::size_t depth) {
    Dictionary entries;
    if (!in_.accept(close)) {
        do {
            std::string name(in_.word());
            in_.expect("=");
            entries.emplace_back(std::move(name), bare_value(depth + 1));
        } while (in_.accept(","));
        in_.expect(close);
    }
    return made_dictionary(std::move(entries));
}

AttributePointer TextValues::dialect_attribute(std::size_t depth) {
    check_depth(depth);
    const std::size_t at = in_.at();
    in_.expect("#");
    const std::string_view name = in_.suffix(), whole = in_.text().substr(at, name.size() + 1);
    if (aliases_.contains(whole)) {
        if (const auto known = attributes_.find(whole); known != attributes_.end()) return known->second;
        const std::size_t back = in_.at();
        in_.move_to(alias(whole));
        const AttributePointer made = attribute(depth + 1);
        in_.move_to(back);
        return attributes_[whole] = made;
    }
    const std::string_view dialect = name.substr(0, name.find('.'));
    if (dialect != "stablehlo" && dialect != "chlo") {
        if (in_.peek() == '<') in_.skip_brackets();
        return stablehlo::attribute(Opaque{std::string(dialect)});
    }
    in_.expect("<");
    if (name == "stablehlo.conv") {
        Dictionary dimensions = convolution_dimensions();
        in_.expect(">");
        return made_dictionary(std::move(dimensions));
    }
    if (name == "stablehlo.bounds") return bounds_list(">");
    if (name == "stablehlo.type_extensions") {
        in_.expect_word("bounds");
        in_.expect("=");
        in_.expect("[");
        AttributePointer bounds = bounds_list("]");
        in_.expect(">");
        return bounds;
    }
    if (name == dialect) in_.word();  // the enumeration's name
    const std::size_t begin = in_.at();
    if (const std::string_view keyword = in_.peek_word(); !keyword.empty()) {
        in_.word();
        if (in_.accept(">")) return stablehlo::attribute(Keyword{std::string(keyword)});
        in_.move_to(begin);
    }
    return named_fields(">", depth);
}

AttributePointer TextValues::bounds_list(std::string_view close) {
    Numbers bounds;
    if (in_.accept(close)) return stablehlo::attribute(std::move(bounds));
    do bounds.values.push_back(in_.accept("?") ? unknown : in_.integer());
    while (in_.accept(","));
    in_.expect(close);
    return stablehlo::attribute(std::move(bounds));
}

AttributePointer TextValues::list(std::size_t depth) {
    Array parts;
    in_.expect("[");
    if (!in_.accept("]")) {
        do parts.push_back(bare_value(depth + 1));
        while (in_.accept(","));
        in_.expect("]");
    }
    AttributePointer made = array_attribute(std::move(parts));
    if (!made) in_.fail("an attribute has too many parts", ErrorCode::unsupported);
    return made;
}

AttributePointer TextValues::bare_value(std::size_t depth) {
    check_depth(depth);
    const char next = in_.peek();
    if (next == '[') return list(depth);
    if (next == '<') {
        in_.expect("<");
        return named_fields(">", depth);
    }
    if (next == '-' || (next >= '0' && next <= '9')) return number_attribute(false, depth);
    const std::string_view word = in_.peek_word();
    if (word.empty() || word == "true" || word == "false" || element_named(word) || word == "none")
        return attribute(depth);
    in_.word();
    return stablehlo::attribute(Keyword{std::string(word)});
}

Dictionary TextValues::convolution_dimensions() {
    Dictionary entries;
    const auto side = [&](const std::string& name, char first, const std::string& first_name, char second,
                          const std::string& second_name) {
        std::vector<std::int64_t> spatial;
        std::int64_t found[2] = {-1, -1}, position = 0;
        const std::size_t at = in_.at();
        in_.expect("[");
        do {
            const char next = in_.peek();
            if (next == first || next == second) {
                in_.word();
                found[next == second] = position;
            } else {
                const std::int64_t dim = in_.digits();
                if (dim >= static_cast<std::int64_t>(max_rank))
                    in_.fail_at(at, "a convolution has too many dimensions");
                spatial.resize(std::max(spatial.size(), static_cast<std::size_t>(dim) + 1), -1);
                spatial[static_cast<std::size_t>(dim)] = position;
            }
            ++position;
        } while (in_.accept(","));
        in_.expect("]");
        if (found[0] < 0 || found[1] < 0 || std::find(spatial.begin(), spatial.end(), -1) != spatial.end()) {
            in_.fail_at(at, "a convolution's dimensions are not all named");
        }
        entries.emplace_back(name + first_name, stablehlo::attribute(Integer{Element::i64, found[0]}));
        entries.emplace_back(name + second_name, stablehlo::attribute(Integer{Element::i64, found[1]}));
        entries.emplace_back(name + "_spatial_dimensions",
                             stablehlo::attribute(Numbers{std::move(spatial), std::nullopt}));
    };
    side("input", 'b', "_batch_dimension", 'f', "_feature_dimension");
    in_.expect("x");
    side("kernel", 'i', "_input_feature_dimension", 'o', "_output_feature_dimension");
    in_.expect("->");
    side("output", 'b', "_batch_dimension", 'f', "_feature_dimension");
    return entries;
}

LocationId TextValues::optional_location() {
    if (in_.peek_word() != "loc") return 0;
    in_.word();
    in_.expect("(");
    const LocationId made = location(0);
    in_.expect(")");
    return made;
}

LocationId TextValues::add_location(Location location) {
    for (const LocationId part : location.parts) location.weight += program_.locations[part].weight;
    if (location.weight > max_weight) location = Location();  // it only stands in messages
    program_.locations.push_back(std::move(location));
    return static_cast<LocationId>(program_.locations.size() - 1);
}

LocationId TextValues::location(std::size_t depth) {
    if (depth > deepest_location) in_.fail("locations lie too deep within each other", ErrorCode::unsupported);
    const std::size_t at = in_.at();
    Location made;
    if (in_.peek() == '#') {
        in_.expect("#");
        const std::string_view name = in_.suffix(),
                               whole = in_.text().substr(in_.at() - name.size() - 1, name.size() + 1);
        if (const auto known = locations_.find(whole); known != locations_.end()) return known->second;
        const std::size_t back = in_.at();
        in_.move_to(alias(whole));
        in_.expect_word("loc");
        in_.expect("(");
        const LocationId found = location(depth + 1);
        in_.expect(")");
        in_.move_to(back);
        return locations_[whole] = found;
    }
    if (in_.peek() == '"') {
        made.text = in_.string();
        if (in_.accept(":")) {
            made.kind = Location::Kind::file;
            made.line = static_cast<std::uint64_t>(in_.integer());
            if (in_.accept(":")) made.column = static_cast<std::uint64_t>(in_.integer());
            if (in_.accept_word("to")) {
                if (in_.peek() != ':') in_.integer();
                in_.expect(":");
                in_.integer();
            }
        } else {
            made.kind = Location::Kind::name;
            made.parts = {0};
            if (in_.accept("(")) {
                made.parts = {location(depth + 1)};
                in_.expect(")");
            }
        }
        return add_location(std::move(made));
    }
    const std::string_view word = in_.word();
    if (word == "unknown") return 0;
    if (word == "callsite") {
        made.kind = Location::Kind::call_site;
        in_.expect("(");
        made.parts.push_back(location(depth + 1));
        in_.expect_word("at");
        made.parts.push_back(location(depth + 1));
        in_.expect(")");
    } else if (word == "fused") {
        made.kind = Location::Kind::fused;
        if (in_.peek() == '<') in_.skip_brackets();
        in_.expect("[");
        if (!in_.accept("]")) {
            do made.parts.push_back(location(depth + 1));
            while (in_.accept(","));
            in_.expect("]");
        }
    } else if (word == "loc") {
        in_.expect("(");
        const LocationId inner = location(depth + 1);
        in_.expect(")");
        return inner;
    } else {
        in_.fail_at(at, "a location is expected");
    }
    return add_location(std::move(made));
}

}  // namespace tosavk::stablehlo
