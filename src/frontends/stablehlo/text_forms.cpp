// The forms that operations have of their own. Most are a list of operands and "key = value", then attributes and
// types.
#include "frontends/stablehlo/text_reader.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace tosavk::stablehlo {

namespace {

/// What an operation's own form calls an attribute.
struct FormKey {
    std::string_view operation, key, attribute;
};

constexpr FormKey form_keys[] = {
    {"broadcast", "sizes", "broadcast_sizes"},
    {"broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"concatenate", "dim", "dimension"},
    {"dot", "precision", "precision_config"},
    {"dot_general", "precision", "precision_config"},
    {"dynamic_broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"dynamic_iota", "dim", "iota_dimension"},
    {"dynamic_slice", "sizes", "slice_sizes"},
    {"einsum", "config", "einsum_config"},
    {"fft", "length", "fft_length"},
    {"fft", "type", "fft_type"},
    {"get_dimension_size", "dim", "dimension"},
    {"iota", "dim", "iota_dimension"},
    {"pad", "high", "edge_padding_high"},
    {"pad", "interior", "interior_padding"},
    {"pad", "low", "edge_padding_low"},
    {"reverse", "dims", "dimensions"},
    {"rng", "distribution", "rng_distribution"},
    {"rng_bit_generator", "algorithm", "rng_algorithm"},
    {"set_dimension_size", "dim", "dimension"},
    {"transpose", "dims", "permutation"},
    {"unary_einsum", "config", "einsum_config"},
};

std::string attribute_of_key(std::string_view operation, std::string_view key) {
    for (const FormKey& form : form_keys)
        if (form.operation == operation && form.key == key) return std::string(form.attribute);
    return std::string(key);
}

TypePointer scalar_like(const Type& type) {
    Type made = type;
    made.kind = Type::Kind::tensor;
    made.dims.clear();
    made.bounds.clear();
    return std::make_shared<const Type>(std::move(made));
}

}  // namespace

/// Operands and "key = value" as far as they go.
void TextReader::read_items(Draft& draft, std::string_view close) {
    if (in_.next_is(close) || (in_.peek() != '%' && in_.peek_word().empty())) return;
    do {
        if (in_.peek() == '%') {
            draft.operation.operands.push_back(operand());
            continue;
        }
        const std::size_t at = in_.at();
        const std::string word(in_.word());
        if (in_.accept("=")) {
            read_item(draft, word);
        } else if (draft.operation.name == "compare") {
            const bool is_first = draft.operation.operands.empty();
            set(draft, is_first ? "comparison_direction" : "compare_type", stablehlo::attribute(Keyword{word}));
        } else {
            in_.move_to(at);  // the location of an operation without operands
            return;
        }
    } while (in_.accept(","));
}

void TextReader::read_item(Draft& draft, const std::string& key) {
    const std::string& name = draft.operation.name;
    if (name == "reduce_precision" && key == "format") {  // "e8m23"
        const std::size_t at = in_.at();
        const std::string_view word = in_.word();
        const std::size_t m = word.find('m');
        std::int64_t bits[2] = {-1, -1};
        if (word[0] == 'e' && m != std::string_view::npos) {
            std::from_chars(word.data() + 1, word.data() + m, bits[0]);
            std::from_chars(word.data() + m + 1, word.data() + word.size(), bits[1]);
        }
        if (bits[0] < 0 || bits[1] < 0) in_.fail_at(at, "a format such as e8m23 is expected");
        set(draft, "exponent_bits", stablehlo::attribute(Integer{Element::i64, bits[0]}));
        set(draft, "mantissa_bits", stablehlo::attribute(Integer{Element::i64, bits[1]}));
    } else if (key == "batching_dims" || key == "contracting_dims") {  // "[0] x [1]"
        const std::string rest = key == "batching_dims" ? "_batching_dimensions" : "_contracting_dimensions";
        set(draft, "lhs" + rest, values_.bare_value());
        in_.expect("x");
        set(draft, "rhs" + rest, values_.bare_value());
    } else {
        set(draft, attribute_of_key(name, key), values_.bare_value());
    }
}

/// "(T, T) -> T", or "T", or a list of types, with "-> T" in chlo.
void TextReader::read_types(Draft& draft) {
    if (in_.peek() == '(') {
        const TypePointer type = values_.function_type();
        draft.operand_types = type->parts;
        draft.result_types = type->results;
    } else {
        std::vector<TypePointer> types;
        do types.push_back(values_.type());
        while (in_.accept(","));
        if (in_.accept("->")) {
            draft.operand_types = std::move(types);
            if (in_.peek() == '(') draft.result_types = values_.types_in_parentheses();
            else draft.result_types = {values_.type()};
        } else {
            take_list_of_types(draft, std::move(types));
        }
    }
    if (!draft.operand_types.empty() && draft.operand_types.size() != draft.operation.operands.size()) {
        in_.fail_at(draft.at, fmt::format("{} has {} operands, but types for {}", printable(draft.operation.name),
                                          draft.operation.operands.size(), draft.operand_types.size()));
    }
}

void TextReader::take_list_of_types(Draft& draft, std::vector<TypePointer> types) {
    const std::string& name = draft.operation.name;
    const std::size_t operands = draft.operation.operands.size();
    if (name == "return") {
        draft.operand_types = std::move(types);
    } else if (name == "optimization_barrier" || name == "while") {
        draft.operand_types = types;
        draft.result_types = std::move(types);
    } else if (name == "select" && types.size() == 2 && operands == 3) {
        draft.operand_types = {types[0], types[1], types[1]};
        draft.result_types = {types[1]};
    } else if (types.size() != 1) {
        in_.fail_at(draft.at, fmt::format("{} has {} types", printable(name), types.size()));
    } else {
        // Of complex and tuple the operands' types follow from the result's.
        if (name != "complex" && name != "tuple" && name != "create_token")
            draft.operand_types.assign(operands, types[0]);
        draft.result_types = std::move(types);
    }
}

void TextReader::read_constant(Draft& draft) {
    if (in_.next_is("(")) in_.fail("a constant has no operands");
    add_attributes(draft);
    AttributePointer value = values_.attribute();
    if (!value->as<Elements>()) in_.fail_at(draft.at, "a constant has no elements");
    draft.result_types = {value->as<Elements>()->type};
    set(draft, "value", std::move(value));
    draft.operation.location = values_.optional_location();
}

void TextReader::read_slice(Draft& draft) {
    draft.operation.operands.push_back(operand());
    Numbers lists[3];  // starts, limits, strides
    in_.expect("[");
    if (!in_.accept("]")) {
        do {
            lists[0].values.push_back(in_.integer());
            in_.expect(":");
            lists[1].values.push_back(in_.integer());
            lists[2].values.push_back(in_.accept(":") ? in_.integer() : 1);
        } while (in_.accept(","));
        in_.expect("]");
    }
    set(draft, "start_indices", stablehlo::attribute(std::move(lists[0])));
    set(draft, "limit_indices", stablehlo::attribute(std::move(lists[1])));
    set(draft, "strides", stablehlo::attribute(std::move(lists[2])));
    add_attributes(draft);
    in_.expect(":");
    read_types(draft);
    draft.operation.location = values_.optional_location();
}

void TextReader::read_convolution(Draft& draft) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> window_keys = {
        {{"stride", "window_strides"},
         {"pad", "padding"},
         {"lhs_dilate", "lhs_dilation"},
         {"rhs_dilate", "rhs_dilation"},
         {"reverse", "window_reversal"}}};
    in_.expect("(");
    draft.operation.operands = operands(")");
    in_.expect_word("dim_numbers");
    in_.expect("=");
    for (auto& [name, value] : values_.convolution_dimensions()) set(draft, name, value);
    in_.expect(",");
    in_.expect_word("window");
    in_.expect("=");
    in_.expect("{");
    if (!in_.accept("}")) {
        do {
            const std::size_t at = in_.at();
            const std::string_view key = in_.word();
            const auto known =
                std::find_if(window_keys.begin(), window_keys.end(), [&](const auto& k) { return k.first == key; });
            if (known == window_keys.end()) in_.fail_at(at, "a window has no such part");
            in_.expect("=");
            set(draft, std::string(known->second), values_.bare_value());
        } while (in_.accept(","));
        in_.expect("}");
    }
    add_attributes(draft);
    in_.expect(":");
    read_types(draft);
    draft.operation.location = values_.optional_location();
}

void TextReader::read_reduce(Draft& draft) {
    std::vector<ValueId> inits;
    Operation& operation = draft.operation;
    do {
        in_.expect("(");
        operation.operands.push_back(operand());
        in_.expect_word("init");
        in_.expect(":");
        inits.push_back(operand());
        in_.expect(")");
    } while (in_.accept(","));
    const std::size_t inputs = operation.operands.size();
    operation.operands.insert(operation.operands.end(), inits.begin(), inits.end());
    std::string_view applied;
    std::size_t applied_at = 0;
    if (in_.accept_word("applies")) {
        applied_at = in_.at();
        applied = in_.word();
    }
    in_.expect_word("across");
    in_.expect_word("dimensions");
    in_.expect("=");
    set(draft, "dimensions", values_.bare_value());
    add_attributes(draft);
    in_.expect(":");
    read_types(draft);
    Region& body = operation.regions.emplace_back();
    if (!applied.empty()) {
        // A body of one operation on the two arguments.
        operation.location = values_.optional_location();
        const OperationRule* rule = applied.starts_with("stablehlo.") ? operation_rule(applied.substr(10)) : nullptr;
        if (!rule || inputs != 1)
            in_.fail_at(applied_at, fmt::format("a reduction cannot apply {}", printable(applied)));
        const TypePointer type = scalar_like(*function_->values[inits[0]]);
        for (int k = 0; k < 2; ++k) body.arguments.push_back(new_value(type));
        body.argument_locations = {operation.location, operation.location};
        Draft inner;
        inner.at = applied_at;
        inner.operation.name = std::string(rule->name);
        inner.operation.operands = body.arguments;
        inner.operation.location = operation.location;
        inner.result_types = {type};
        finish(inner, body);
        Draft last;
        last.at = applied_at;
        last.operation.name = "return";
        last.operation.operands = body.operations.back().results;
        last.operation.location = operation.location;
        finish(last, body);
        return;
    }
    // "reducer(%a: T, %b: T) (%c: U, %d: U) {": of each input what was reduced and what is new; the region has all of
    // the former first.
    in_.expect_word("reducer");
    const std::size_t mark = undo_.size();
    struct Argument {
        std::string_view name;
        TypePointer type;
        LocationId location;
    };
    std::vector<Argument> arguments[2];
    while (in_.accept("(")) {
        for (const int side : {0, 1}) {
            if (side == 1) in_.expect(",");
            Argument argument;
            argument.name = value_name();
            in_.expect(":");
            argument.type = values_.type();
            argument.location = values_.optional_location();
            arguments[side].push_back(std::move(argument));
        }
        in_.expect(")");
    }
    for (const auto& side : arguments) {
        for (const Argument& argument : side) {
            body.arguments.push_back(new_value(argument.type));
            body.argument_locations.push_back(argument.location);
            define(argument.name, {body.arguments.back()});
        }
    }
    in_.expect("{");
    read_operations(body);
    in_.expect("}");
    undo_to(mark);
    operation.location = values_.optional_location();
}

void TextReader::read_while(Draft& draft) {
    std::vector<std::string_view> names;
    Operation& operation = draft.operation;
    in_.expect("(");
    if (!in_.accept(")")) {
        do {
            names.push_back(value_name());
            in_.expect("=");
            operation.operands.push_back(operand());
        } while (in_.accept(","));
        in_.expect(")");
    }
    if (in_.accept(":")) read_types(draft);
    if (in_.accept_word("attributes")) add_attributes(draft);
    if (draft.operand_types.size() != names.size()) in_.fail_at(draft.at, "a while has not a type for each value");
    for (const std::string_view word : {"cond", "do"}) {
        in_.expect_word(word);
        Region& region = operation.regions.emplace_back();
        const std::size_t mark = undo_.size();
        for (std::size_t k = 0; k < names.size(); ++k) {
            region.arguments.push_back(new_value(draft.operand_types[k]));
            region.argument_locations.push_back(0);
            define(names[k], {region.arguments.back()});
        }
        in_.expect("{");
        read_operations(region);
        in_.expect("}");
        undo_to(mark);
    }
    operation.location = values_.optional_location();
}

}  // namespace tosavk::stablehlo
