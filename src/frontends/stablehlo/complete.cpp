// From what a file says of an operation to the attributes that a Program has: in one form, all of them.
#include "base/text.hpp"
#include "frontends/stablehlo/elements.hpp"
#include "frontends/stablehlo/keywords.hpp"
#include "frontends/stablehlo/operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tosavk::stablehlo {

namespace {

/// How an attribute looks, and what it is where the file has none.
enum class Form {
    numbers,        ///< a list; required
    numbers_empty,  ///< a list; none
    numbers_ones,   ///< a list; ones, as many as the window has dimensions
    flags_false,    ///< a list of flags; false, as many
    pairs_zeros,    ///< a table of two columns; zeros, as many rows
    pairs_empty,    ///< a table of two columns
    groups,         ///< a table of any columns, or axes of a mesh; required
    number,         ///< required
    number_zero,
    number_minus_one,
    number_or_type,  ///< a number or, where there is none, a type: none
    flag,            ///< required
    flag_false,
    flag_or_type,
    real,  ///< required
    text,  ///< required
    text_empty,
    text_or_dictionary,
    type_none,
    keyword,        ///< required
    keyword_first,  ///< the first of its enumeration
    keyword_second,
    keywords,    ///< a list; none
    list,        ///< of anything; none
    layouts,     ///< a list of lists of numbers; none
    dictionary,  ///< none
    accuracy,
    elements,  ///< required
};

struct AttributeRule {
    std::string_view name;
    Form form;
    std::span<const std::string_view> keywords = {};
};

constexpr AttributeRule attribute_rules[] = {
    {"accumulation_type", Form::type_none},
    {"all_gather_dim", Form::number},
    {"allow_imprecise_accumulation", Form::flag_or_type},
    {"api_version", Form::keyword_second, api_versions},
    {"backend_config", Form::text_or_dictionary},
    {"base_dilations", Form::numbers_ones},
    {"batch_dims", Form::number},
    {"batch_group_count", Form::number},
    {"broadcast_dimensions", Form::numbers},
    {"broadcast_sizes", Form::numbers},
    {"call_target_name", Form::text},
    {"called_computations", Form::list},
    {"callee", Form::text},
    {"channel_id", Form::number_zero},
    {"channel_type", Form::number_zero},
    {"collapsed_slice_dims", Form::numbers_empty},
    {"compare_type", Form::keyword_first, comparison_types},
    {"comparison_direction", Form::keyword, comparison_directions},
    {"composite_attributes", Form::dictionary},
    {"concat_dimension", Form::number},
    {"decomposition", Form::text},
    {"dim", Form::number},
    {"dimension", Form::number},
    {"dimensions", Form::numbers},
    {"edge_padding_high", Form::numbers},
    {"edge_padding_low", Form::numbers},
    {"einsum_config", Form::text},
    {"epsilon", Form::real},
    {"exponent_bits", Form::number},
    {"feature_group_count", Form::number},
    {"feature_index", Form::number},
    {"fft_length", Form::numbers},
    {"fft_type", Form::keyword, fft_types},
    {"has_dynamic_root", Form::flag_false},
    {"has_side_effect", Form::flag_false},
    {"index", Form::number},
    {"index_vector_dim", Form::number_zero},
    {"indices_are_sorted", Form::flag_false},
    {"infeed_config", Form::text_empty},
    {"input_batch_dimension", Form::number},
    {"input_batching_dims", Form::numbers_empty},
    {"input_feature_dimension", Form::number},
    {"input_spatial_dimensions", Form::numbers_empty},
    {"inserted_window_dims", Form::numbers_empty},
    {"interior_padding", Form::numbers},
    {"iota_dimension", Form::number},
    {"is_host_transfer", Form::flag_false},
    {"is_stable", Form::flag_false},
    {"kernel_input_feature_dimension", Form::number},
    {"kernel_output_feature_dimension", Form::number},
    {"kernel_spatial_dimensions", Form::numbers_empty},
    {"known_expanding_dimensions", Form::numbers_empty},
    {"known_nonexpanding_dimensions", Form::numbers_empty},
    {"layout", Form::list},
    {"left_side", Form::flag},
    {"lhs_batching_dimensions", Form::numbers_empty},
    {"lhs_component_count", Form::number_or_type},
    {"lhs_contracting_dimensions", Form::numbers_empty},
    {"lhs_dilation", Form::numbers_ones},
    {"lhs_precision_type", Form::type_none},
    {"limit_indices", Form::numbers},
    {"lower", Form::flag_false},
    {"mantissa_bits", Form::number},
    {"name", Form::text},
    {"num_primitive_operations", Form::number_or_type},
    {"offset_dims", Form::numbers_empty},
    {"operand_batching_dims", Form::numbers_empty},
    {"operand_layouts", Form::layouts},
    {"outfeed_config", Form::text_empty},
    {"output_batch_dimension", Form::number},
    {"output_feature_dimension", Form::number},
    {"output_operand_aliases", Form::list},
    {"output_spatial_dimensions", Form::numbers_empty},
    {"padding", Form::pairs_zeros},
    {"permutation", Form::numbers},
    {"precision_config", Form::keywords, precisions},
    {"replica_groups", Form::groups},
    {"result_accuracy", Form::accuracy},
    {"result_layouts", Form::layouts},
    {"result_tilings", Form::list},
    {"rhs_batching_dimensions", Form::numbers_empty},
    {"rhs_component_count", Form::number_or_type},
    {"rhs_contracting_dimensions", Form::numbers_empty},
    {"rhs_dilation", Form::numbers_ones},
    {"rhs_precision_type", Form::type_none},
    {"rng_algorithm", Form::keyword, rng_algorithms},
    {"rng_distribution", Form::keyword, rng_distributions},
    {"scatter_dimension", Form::number},
    {"scatter_dims_to_operand_dims", Form::numbers_empty},
    {"scatter_indices_batching_dims", Form::numbers_empty},
    {"slice_sizes", Form::numbers},
    {"source_target_pairs", Form::pairs_empty},
    {"split_count", Form::number},
    {"split_dimension", Form::number},
    {"start_index_map", Form::numbers_empty},
    {"start_indices", Form::numbers},
    {"start_indices_batching_dims", Form::numbers_empty},
    {"strides", Form::numbers},
    {"transpose_a", Form::keyword, transposes},
    {"unique_indices", Form::flag_false},
    {"unit_diagonal", Form::flag},
    {"update_window_dims", Form::numbers_empty},
    {"use_global_device_ids", Form::flag_false},
    {"value", Form::elements},
    {"version", Form::number_zero},
    {"window_dilations", Form::numbers_ones},
    {"window_dimensions", Form::numbers},
    {"window_reversal", Form::flags_false},
    {"window_strides", Form::numbers_ones},
};

/// Attributes of text that hold several; what of theirs has another name.
constexpr std::string_view groups_of_text[] = {"algorithm", "channel_handle", "dimension_numbers",
                                               "dot_dimension_numbers", "scatter_dimension_numbers"};
constexpr std::pair<std::string_view, std::string_view> channel_names[] = {{"handle", "channel_id"},
                                                                           {"type", "channel_type"}};
constexpr std::uint64_t most_numbers = 65536;  // of one attribute

const AttributeRule* attribute_rule(std::string_view name) {
    const auto at =
        std::lower_bound(std::begin(attribute_rules), std::end(attribute_rules), name,
                         [](const AttributeRule& rule, std::string_view wanted) { return rule.name < wanted; });
    return at != std::end(attribute_rules) && at->name == name ? at : nullptr;
}

/// A list or table of integers or flags, in any of the forms that files have; nothing for what is none.
std::optional<Numbers> numbers_of(const Attribute& attribute) {
    if (const auto* numbers = attribute.as<Numbers>()) return *numbers;
    Numbers made;
    if (const auto* elements = attribute.as<Elements>()) {
        auto values = integers_of(*elements, most_numbers);
        const std::vector<std::int64_t>& dims = elements->type->dims;
        if (!values || dims.empty() || dims.size() > 2) return std::nullopt;
        made.values = std::move(*values);
        if (dims.size() == 2) made.columns = static_cast<std::size_t>(dims[1]);
        return made;
    }
    const auto* array = attribute.as<Array>();
    if (!array) return std::nullopt;
    for (const AttributePointer& part : *array) {
        if (const auto* integer = part->as<Integer>()) {
            made.values.push_back(integer->value);
        } else if (const auto* flag = part->as<bool>()) {
            made.values.push_back(*flag);
        } else if (const auto row = part->as<Array>() ? numbers_of(*part) : std::nullopt; row && !row->columns) {
            if (made.columns && *made.columns != row->values.size()) return std::nullopt;
            made.columns = row->values.size();
            made.values.insert(made.values.end(), row->values.begin(), row->values.end());
        } else {
            return std::nullopt;
        }
    }
    if (made.columns && made.values.size() != *made.columns * array->size()) return std::nullopt;
    return made;
}

/// A table that has no rows has two columns.
AttributePointer table(const std::optional<Numbers>& numbers, bool any_columns) {
    if (!numbers) return nullptr;
    if (numbers->values.empty()) return attribute(Numbers{{}, 2});
    if (!numbers->columns || (!any_columns && *numbers->columns != 2)) return nullptr;
    return attribute(*numbers);
}

AttributePointer listed(const Attribute& given) {
    auto numbers = numbers_of(given);
    if (!numbers || (numbers->columns && !numbers->values.empty())) return nullptr;
    numbers->columns.reset();
    return attribute(std::move(*numbers));
}

AttributePointer keyword_in(const Attribute& given, std::span<const std::string_view> names) {
    if (const auto* integer = given.as<Integer>()) {
        const std::string_view name = keyword_of(names, static_cast<std::uint64_t>(integer->value));
        return name.empty() ? nullptr : attribute(Keyword{std::string(name)});
    }
    const auto* keyword = given.as<Keyword>();
    const bool known =
        keyword && !keyword->name.empty() && std::find(names.begin(), names.end(), keyword->name) != names.end();
    return known ? attribute(*keyword) : nullptr;
}

AttributePointer accuracy_of(const Attribute& given) {
    if (const auto* accuracy = given.as<ResultAccuracy>()) return attribute(*accuracy);
    const auto* entries = given.as<Dictionary>();
    if (!entries) return nullptr;
    ResultAccuracy made;
    for (const auto& [name, value] : *entries) {
        const auto* real = value->as<Real>();
        const auto* integer = value->as<Integer>();
        const auto* mode = value->as<Keyword>();
        if (name == "atol" && real) made.atol = real->value;
        else if (name == "rtol" && real) made.rtol = real->value;
        else if (name == "ulps" && integer) made.ulps = integer->value;
        else if (name == "mode" && mode && keyword_in(*value, accuracy_modes)) made.mode = mode->name;
        else return nullptr;
    }
    return attribute(std::move(made));
}

AttributePointer alias_of(const Attribute& given) {
    if (given.as<OutputOperandAlias>()) return std::make_shared<const Attribute>(given);
    const auto* entries = given.as<Dictionary>();
    if (!entries) return nullptr;
    OutputOperandAlias made;
    for (const auto& [name, value] : *entries) {
        const auto* integer = value->as<Integer>();
        const AttributePointer list = listed(*value);
        if (name == "operand_index" && integer) made.operand_index = integer->value;
        else if (name == "output_tuple_indices" && list) made.output_tuple_indices = list->as<Numbers>()->values;
        else if (name == "operand_tuple_indices" && list) made.operand_tuple_indices = list->as<Numbers>()->values;
        else return nullptr;
    }
    return attribute(std::move(made));
}

template <class Each> AttributePointer each_of(const Attribute& given, const Each& each) {
    const auto* array = given.as<Array>();
    if (!array) return nullptr;
    Array made;
    for (const AttributePointer& part : *array) {
        made.push_back(each(*part));
        if (!made.back()) return nullptr;
    }
    return array_attribute(std::move(made));
}

/// None where all are the first one, which is what an empty list means.
AttributePointer keywords_in(const Attribute& given, std::span<const std::string_view> names) {
    bool is_default = true;
    AttributePointer made = each_of(given, [&](const Attribute& part) {
        AttributePointer keyword = keyword_in(part, names);
        is_default = is_default && keyword && keyword->as<Keyword>()->name == names[0];
        return keyword;
    });
    return made && is_default ? array_attribute({}) : made;
}

AttributePointer integer_of(const Attribute& given) {
    const auto* integer = given.as<Integer>();
    return integer ? attribute(Integer{Element::i64, integer->value}) : nullptr;
}

template <class T> AttributePointer as_it_is(const AttributePointer& given) { return given->as<T>() ? given : nullptr; }

/// The one form of what the file has; null where it is of another kind.
AttributePointer in_form(const AttributeRule& rule, const AttributePointer& given) {
    switch (rule.form) {
        case Form::numbers:
        case Form::numbers_empty:
        case Form::numbers_ones:
        case Form::flags_false: return listed(*given);
        case Form::pairs_zeros:
        case Form::pairs_empty: return table(numbers_of(*given), false);
        case Form::groups: return given->as<Dictionary>() ? given : table(numbers_of(*given), true);
        case Form::number:
        case Form::number_zero:
        case Form::number_minus_one: return integer_of(*given);
        case Form::number_or_type: return given->as<TypePointer>() ? given : integer_of(*given);
        case Form::flag:
        case Form::flag_false: return given->as<Unit>() ? attribute(true) : as_it_is<bool>(given);
        case Form::flag_or_type: return given->as<TypePointer>() ? given : as_it_is<bool>(given);
        case Form::real: return as_it_is<Real>(given);
        case Form::text:
        case Form::text_empty: return as_it_is<std::string>(given);
        case Form::text_or_dictionary: return given->as<Dictionary>() ? given : as_it_is<std::string>(given);
        case Form::type_none: return as_it_is<TypePointer>(given);
        case Form::keyword:
        case Form::keyword_first:
        case Form::keyword_second: return keyword_in(*given, rule.keywords);
        case Form::keywords: return keywords_in(*given, rule.keywords);
        case Form::list:
            if (rule.name == "output_operand_aliases") return each_of(*given, alias_of);
            return as_it_is<Array>(given);
        case Form::layouts: return each_of(*given, listed);
        case Form::dictionary: return as_it_is<Dictionary>(given);
        case Form::accuracy: return accuracy_of(*given);
        case Form::elements: return as_it_is<Elements>(given);
    }
    return nullptr;
}

/// Dimensions of the operation's window; convolutions have two dimensions more.
std::size_t window_rank(const Operation& operation, const Function& function) {
    if (operation.operands.empty()) return 0;
    const std::size_t rank = function.values[operation.operands[0]]->dims.size();
    const bool is_convolution = operation.name == "convolution" || operation.name == "dynamic_conv";
    return is_convolution ? std::max<std::size_t>(rank, 2) - 2 : rank;
}

/// Null where the file has to say it.
AttributePointer default_of(const AttributeRule& rule, std::size_t window) {
    switch (rule.form) {
        case Form::numbers_empty: return attribute(Numbers());
        case Form::numbers_ones: return attribute(Numbers{std::vector<std::int64_t>(window, 1), std::nullopt});
        case Form::flags_false: return attribute(Numbers{std::vector<std::int64_t>(window, 0), std::nullopt});
        case Form::pairs_zeros: return attribute(Numbers{std::vector<std::int64_t>(2 * window, 0), 2});
        case Form::pairs_empty: return attribute(Numbers{{}, 2});
        case Form::number_zero: return attribute(Integer{Element::i64, 0});
        case Form::number_minus_one: return attribute(Integer{Element::i64, -1});
        case Form::flag_false: return attribute(false);
        case Form::text_empty:
        case Form::text_or_dictionary: return attribute(std::string());
        case Form::number_or_type:
        case Form::flag_or_type:
        case Form::type_none: return attribute(plain_type(Type::Kind::none));
        case Form::keyword_first: return attribute(Keyword{std::string(rule.keywords[0])});
        case Form::keyword_second: return attribute(Keyword{std::string(rule.keywords[1])});
        case Form::keywords:
        case Form::list:
        case Form::layouts: return array_attribute({});
        case Form::dictionary: return dictionary_attribute({});
        case Form::accuracy: return attribute(ResultAccuracy());
        default: return nullptr;
    }
}

bool is_group(std::string_view name) {
    return std::find(std::begin(groups_of_text), std::end(groups_of_text), name) != std::end(groups_of_text);
}

/// What a group holds, by the names that the operation gives it. `strange` is a part that the operation does not have.
Dictionary ungrouped(const Dictionary& extra, const OperationRule& rule, std::string& strange) {
    Dictionary flat;
    for (const auto& [name, value] : extra) {
        const auto* entries = is_group(name) && !defines(rule, name) ? value->as<Dictionary>() : nullptr;
        if (!entries) {
            flat.emplace_back(name, value);
            continue;
        }
        for (const auto& [part, of_part] : *entries) {
            std::string_view own = part;
            if (name == "channel_handle")
                for (const auto& [in_text, in_program] : channel_names)
                    if (in_text == part) own = in_program;
            if (defines(rule, own)) flat.emplace_back(own, of_part);
            else if (own != "channel_type") strange = part;  // collectives do not keep it
        }
    }
    return flat;
}

}  // namespace

std::uint64_t cost_of(const Dictionary& attributes) {
    std::uint64_t cost = 1;
    for (const auto& [name, value] : attributes) {
        cost += value->weight;
        const auto* elements = value->as<Elements>();
        const auto count = elements ? element_count(elements->type->dims) : std::nullopt;
        if (count && *count <= most_numbers) cost += *count;
    }
    return cost;
}

std::string complete(Operation& operation, const Function& function) {
    const OperationRule* rule = operation_rule(operation.name);
    if (!rule) return "is no operation of StableHLO that this reader knows";
    std::string strange;
    Dictionary given = ungrouped(operation.extra, *rule, strange);
    if (!strange.empty()) return fmt::format("has '{}', which this reader does not know", printable(strange));
    given.insert(given.end(), operation.attributes.begin(), operation.attributes.end());
    if (!sort_by_name(given)) return "has an attribute twice";
    operation.attributes.clear();
    operation.extra.clear();
    const std::size_t window = window_rank(operation, function);
    for (const std::string_view name : attribute_names(*rule, rule->newest)) {
        AttributeRule of_name = *attribute_rule(name);
        if (name == "dimension" && operation.name == "sort") of_name.form = Form::number_minus_one;
        const auto at =
            std::lower_bound(given.begin(), given.end(), name,
                             [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
        const bool is_given = at != given.end() && at->first == name;
        AttributePointer value = is_given ? in_form(of_name, at->second) : default_of(of_name, window);
        if (!value) return fmt::format("{} attribute '{}'", is_given ? "cannot have such an" : "has no", name);
        operation.attributes.emplace_back(name, std::move(value));
    }
    for (auto& [name, value] : given) {
        const bool was_dropped = std::string_view(rule->dropped) == name;
        // Shardy's annotations and others that are not read mean nothing on one device.
        if (was_dropped || defines(*rule, name) || value->as<Opaque>() || name.starts_with("sdy.")) continue;
        operation.extra.emplace_back(std::move(name), std::move(value));
    }
    return {};
}

}  // namespace tosavk::stablehlo
