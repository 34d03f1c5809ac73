// Types, attributes and locations of MLIR text. Aliases ("#loc3 = ...") may be defined after their use, as MLIR prints
// those of locations; each is read where it is named first.
#pragma once

#include "frontends/stablehlo/program.hpp"
#include "frontends/stablehlo/scanner.hpp"

#include <string_view>
#include <unordered_map>

namespace tosavk::stablehlo {

class TextValues {
public:
    /// Locations go to the program. Both outlive this.
    TextValues(Scanner& in, Program& program) : in_(in), program_(program) { find_aliases(); }

    TypePointer type(std::size_t depth = 0);
    std::vector<TypePointer> types_in_parentheses(std::size_t depth = 0);
    /// "(T, T) -> T", "-> (T, T)"
    TypePointer function_type(std::size_t depth = 0);
    AttributePointer attribute(std::size_t depth = 0);
    /// In an operation's own form, where a type does not follow a number: numbers, lists, keywords, "<...>".
    AttributePointer bare_value(std::size_t depth = 0);
    /// "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
    Dictionary convolution_dimensions();
    /// "{...}"
    Dictionary dictionary(std::size_t depth = 0);
    /// "loc(...)", or nowhere where there is none.
    LocationId optional_location();
    std::string symbol();  ///< "@name"
    /// Steps over an alias's definition or the resources at the end; false for something else.
    bool skip_definition();

private:
    void find_aliases();
    std::size_t alias(std::string_view name) const;
    void check_depth(std::size_t depth) const;
    TypePointer weighed_here(Type type) const;
    Type element_type(std::size_t depth);
    TypePointer shaped(Type::Kind kind, std::size_t depth);
    void encoding(Type& type, std::size_t depth);
    Quantization quantization();
    TypePointer dialect_type(std::size_t depth);
    AttributePointer number_attribute(bool may_have_type, std::size_t depth);
    AttributePointer dialect_attribute(std::size_t depth);
    AttributePointer named_fields(std::string_view close, std::size_t depth);
    AttributePointer array(std::size_t depth);
    AttributePointer list(std::size_t depth);
    AttributePointer dense(std::size_t depth);
    AttributePointer dense_resource(std::size_t depth);
    AttributePointer elements_here(const TypePointer& type);
    AttributePointer made_dictionary(Dictionary entries);
    LocationId location(std::size_t depth);
    LocationId add_location(Location location);
    Bytes hexadecimal_bytes(std::size_t at, std::string_view text) const;

    Scanner& in_;
    Program& program_;
    std::unordered_map<std::string_view, std::size_t> aliases_;  ///< "#loc3": where its value begins
    std::unordered_map<std::string_view, AttributePointer> attributes_;
    std::unordered_map<std::string_view, TypePointer> types_;
    std::unordered_map<std::string_view, LocationId> locations_;
    std::unordered_map<std::string, std::size_t> resources_;                ///< by name: where its string begins
    std::unordered_map<std::string, AttributePointer> resource_constants_;  ///< by name and type
    AttributePointer bounds_list(std::string_view close);
};

/// Puts the number that is written at `in` behind `out`, as one of these elements.
void append_element(Scanner& in, Element element, Bytes& out);

}  // namespace tosavk::stablehlo
