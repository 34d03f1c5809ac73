#include "frontends/stablehlo/print.hpp"

#include "base/text.hpp"
#include "frontends/stablehlo/elements.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace tosavk::stablehlo {

namespace {

constexpr std::uint64_t most_listed = 64;  // longer constants are hexadecimal

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') out += c;
        else out += fmt::format("\\{:02X}", byte);
    }
    return out + "\"";
}

std::string symbol(std::string_view name) {
    bool is_plain = !name.empty() && !(name[0] >= '0' && name[0] <= '9');
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        is_plain = is_plain && (std::isalnum(byte) != 0 || c == '_' || c == '.' || c == '$') && byte < 0x80;
    }
    return is_plain ? "@" + std::string(name) : "@" + in_quotes(name);
}

std::string real_text(Element element, double value) {
    if (!std::isfinite(value)) {
        const auto bits = bits_from_real(element, value);
        return fmt::format("0x{:0{}X}", bits.value_or(0), 2 * bytes_of(element));
    }
    std::string text =
        element == Element::f64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
    const std::size_t exponent = std::min(text.find('e'), text.size());
    if (text.find('.') == std::string::npos) text.insert(exponent, ".0");
    return text;
}

/// The number at `bytes`.
std::string element_text(Element element, const std::byte* bytes) {
    const std::size_t size = bytes_of(element);
    if (element == Element::c64 || element == Element::c128) {
        const Element part = element == Element::c64 ? Element::f32 : Element::f64;
        return fmt::format("({}, {})", element_text(part, bytes), element_text(part, bytes + size / 2));
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes, size);
    if (element == Element::pred) return bits != 0 ? "true" : "false";
    if (is_real(element)) {
        const double value = real_from_bits(element, bits);
        return std::isfinite(value) ? real_text(element, value) : fmt::format("0x{:0{}X}", bits, 2 * size);
    }
    const int unused = 64 - bits_of(element);
    if (is_signed_integer(element)) return fmt::format("{}", static_cast<std::int64_t>(bits << unused) >> unused);
    return fmt::format("{}", bits << unused >> unused);
}

class Printer {
public:
    Printer(const Program& program, const PrintOptions& options) : program_(program), options_(options) {}

    std::string run() {
        out_ = "module";
        if (!program_.name.empty()) out_ += " " + symbol(program_.name);
        if (!program_.extra.empty()) out_ += " attributes " + dictionary(program_.extra);
        out_ += " {\n";
        for (const Function& function : program_.functions) add(function);
        out_ += "}\n";
        return std::move(out_);
    }

private:
    std::string dictionary(const Dictionary& entries) const {
        std::string text = "{";
        for (const auto& [name, value] : entries) {
            if (text.size() > 1) text += ", ";
            text += is_name(name) ? name : in_quotes(name);
            if (!value->as<Unit>()) text += " = " + this->text(*value);
        }
        return text + "}";
    }

    static bool is_name(std::string_view name) {
        return !name.empty() && symbol(name).size() == name.size() + 1 && name[0] != '$' && name[0] != '.';
    }

    static std::string integers(std::span<const std::int64_t> values) {
        std::string text;
        for (std::size_t k = 0; k < values.size(); ++k) text += fmt::format("{}{}", k > 0 ? ", " : "", values[k]);
        return text;
    }

    static std::string numbers(const Numbers& numbers) {
        if (!numbers.columns) {
            return numbers.values.empty() ? "array<i64>" : fmt::format("array<i64: {}>", integers(numbers.values));
        }
        const std::size_t columns = *numbers.columns, rows = columns == 0 ? 0 : numbers.values.size() / columns;
        std::string text = "dense<";
        for (std::size_t k = 0; k < rows; ++k)
            text += fmt::format("{}[{}]", k == 0 ? "[" : ", ",
                                integers(std::span(numbers.values).subspan(k * columns, columns)));
        return text + fmt::format("{}> : tensor<{}x{}xi64>", rows > 0 ? "]" : "", rows, columns);
    }

    void add_list(std::string& text, const Elements& elements, std::size_t dim, std::size_t& next) const {
        const std::vector<std::int64_t>& dims = elements.type->dims;
        if (dim == dims.size()) {
            const Element element = elements.type->element;
            text += element_text(element, elements.data->data() + bytes_of(element) * next++);
            return;
        }
        text += "[";
        for (std::int64_t k = 0; k < dims[dim]; ++k) {
            if (k > 0) text += ", ";
            add_list(text, elements, dim + 1, next);
        }
        text += "]";
    }

    std::string dense(const Elements& elements) const {
        const std::uint64_t count = element_count(elements.type->dims).value_or(0);
        std::string text = "dense<";
        std::size_t next = 0;
        if (count > options_.most_elements && !elements.splat) text += fmt::format("... {} elements", count);
        else if (count == 0) text += "";
        else if (elements.splat) text += element_text(elements.type->element, elements.data->data());
        else if (count <= most_listed) add_list(text, elements, 0, next);
        else text += "\"0x" + upper(hexadecimal(*elements.data)) + "\"";
        return text + "> : " + to_string(*elements.type);
    }

    std::string text(const Attribute& attribute) const {
        if (attribute.as<Unit>()) return "unit";
        if (const auto* flag = attribute.as<bool>()) return *flag ? "true" : "false";
        if (const auto* integer = attribute.as<Integer>()) {
            const std::string_view type = name_of(integer->type);
            return integer->type == Element::u64
                     ? fmt::format("{} : {}", static_cast<std::uint64_t>(integer->value), type)
                     : fmt::format("{} : {}", integer->value, type);
        }
        if (const auto* real = attribute.as<Real>())
            return fmt::format("{} : {}", real_text(real->type, real->value), name_of(real->type));
        if (const auto* string = attribute.as<std::string>()) return in_quotes(*string);
        if (const auto* keyword = attribute.as<Keyword>()) return "#stablehlo<keyword " + keyword->name + ">";
        if (const auto* type = attribute.as<TypePointer>()) return to_string(**type);
        if (const auto* elements = attribute.as<Elements>()) return dense(*elements);
        if (const auto* list = attribute.as<Numbers>()) return numbers(*list);
        if (const auto* array = attribute.as<Array>()) {
            std::string list = "[";
            for (const AttributePointer& part : *array) list += (list.size() > 1 ? ", " : "") + text(*part);
            return list + "]";
        }
        if (const auto* entries = attribute.as<Dictionary>()) return dictionary(*entries);
        if (const auto* accuracy = attribute.as<ResultAccuracy>()) {
            return fmt::format(
                "#stablehlo.result_accuracy<atol = {}, rtol = {}, ulps = {}, mode = #stablehlo<keyword {}>>",
                real_text(Element::f64, accuracy->atol), real_text(Element::f64, accuracy->rtol), accuracy->ulps,
                accuracy->mode);
        }
        if (const auto* alias = attribute.as<OutputOperandAlias>()) {
            return fmt::format(
                "#stablehlo.output_operand_alias<output_tuple_indices = [{}], operand_index = {}, "
                "operand_tuple_indices = [{}]>",
                integers(alias->output_tuple_indices), alias->operand_index, integers(alias->operand_tuple_indices));
        }
        return "#" + attribute.as<Opaque>()->dialect + "<>";
    }

    std::string location_text(LocationId id) const {
        const Location& location = program_.locations[id];
        const auto part = [&](std::size_t k) { return location_text(location.parts[k]); };
        switch (location.kind) {
            case Location::Kind::nowhere: return "unknown";
            case Location::Kind::file:
                return fmt::format("{}:{}:{}", in_quotes(location.text), location.line, location.column);
            case Location::Kind::name: return fmt::format("{}({})", in_quotes(location.text), part(0));
            case Location::Kind::call_site: return fmt::format("callsite({} at {})", part(0), part(1));
            case Location::Kind::fused: {
                std::string list;
                for (std::size_t k = 0; k < location.parts.size(); ++k) list += (k > 0 ? ", " : "") + part(k);
                return "fused[" + list + "]";
            }
        }
        return {};
    }

    std::string location(LocationId id) const { return options_.locations ? " loc(" + location_text(id) + ")" : ""; }

    void add(const Function& function) {
        function_ = &function;
        out_ += "  func.func ";
        if (!function.visibility.empty()) out_ += function.visibility + " ";
        out_ += symbol(function.name) + "(";
        for (std::size_t k = 0; k < function.argument_types.size(); ++k) {
            if (k > 0) out_ += ", ";
            if (!function.is_external) out_ += fmt::format("%{}: ", function.body.arguments[k]);
            out_ += to_string(*function.argument_types[k]);
            if (!function.argument_attributes[k].empty()) out_ += " " + dictionary(function.argument_attributes[k]);
            if (!function.is_external) out_ += location(function.body.argument_locations[k]);
        }
        out_ += ") -> (";
        for (std::size_t k = 0; k < function.result_types.size(); ++k) {
            out_ += (k > 0 ? ", " : "") + to_string(*function.result_types[k]);
            if (!function.result_attributes[k].empty()) out_ += " " + dictionary(function.result_attributes[k]);
        }
        out_ += ")";
        if (!function.extra.empty()) out_ += " attributes " + dictionary(function.extra);
        if (!function.is_external) {
            out_ += " {\n";
            for (const Operation& operation : function.body.operations) add(operation, 2);
            out_ += "  }";
        }
        out_ += location(function.location) + "\n";
    }

    void indent(std::size_t depth) { out_.append(2 * depth, ' '); }

    std::string names(const std::vector<ValueId>& values) const {
        std::string text;
        for (std::size_t k = 0; k < values.size(); ++k) text += fmt::format("{}%{}", k > 0 ? ", " : "", values[k]);
        return text;
    }

    std::string types(const std::vector<ValueId>& values) const {
        std::string text;
        for (std::size_t k = 0; k < values.size(); ++k)
            text += (k > 0 ? ", " : "") + to_string(*function_->values[values[k]]);
        return text;
    }

    void add(const Operation& operation, std::size_t depth) {
        indent(depth);
        if (!operation.results.empty()) out_ += names(operation.results) + " = ";
        const std::string_view dialect = operation.dialect == Dialect::chlo ? "chlo" : "stablehlo";
        out_ += fmt::format("\"{}.{}\"({})", dialect, operation.name, names(operation.operands));
        if (!operation.attributes.empty()) out_ += " <" + dictionary(operation.attributes) + ">";
        for (std::size_t k = 0; k < operation.regions.size(); ++k) {
            out_ += k == 0 ? " ({\n" : ", {\n";
            add(operation.regions[k], depth);
            out_ += "}";
        }
        if (!operation.regions.empty()) out_ += ")";
        if (!operation.extra.empty()) out_ += " " + dictionary(operation.extra);
        const bool is_single = operation.results.size() == 1;
        out_ += fmt::format(" : ({}) -> {}{}{}", types(operation.operands), is_single ? "" : "(",
                            types(operation.results), is_single ? "" : ")");
        out_ += location(operation.location) + "\n";
    }

    void add(const Region& region, std::size_t depth) {
        if (!region.arguments.empty()) {
            indent(depth);
            out_ += "^bb0(";
            for (std::size_t k = 0; k < region.arguments.size(); ++k) {
                const ValueId id = region.arguments[k];
                out_ += fmt::format("{}%{}: {}{}", k > 0 ? ", " : "", id, to_string(*function_->values[id]),
                                    location(region.argument_locations[k]));
            }
            out_ += "):\n";
        }
        for (const Operation& operation : region.operations) add(operation, depth + 1);
        indent(depth);
    }

    const Program& program_;
    const PrintOptions& options_;
    const Function* function_ = nullptr;
    std::string out_;
};

}  // namespace

std::string print(const Program& program, const PrintOptions& options) { return Printer(program, options).run(); }

}  // namespace tosavk::stablehlo
