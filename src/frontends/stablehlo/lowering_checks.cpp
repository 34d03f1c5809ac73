// What the attributes of an operation must say before it is lowered: dimensions that its tensors have, lists of the
// right length. Result types are compared when results are there (Lowering::set).
#include "frontends/stablehlo/constraints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tosavk::stablehlo {

namespace {

enum class Is : std::uint8_t {
    axes,        ///< distinct dimensions of a tensor
    all_axes,    ///< the same, all of them, in some order
    number,      ///< one
    axis,        ///< one dimension
    end_axis,    ///< one dimension, or the one behind the last
    each_axis,   ///< a number for each dimension
    each_space,  ///< a number for each but two dimensions
    two_each,    ///< two numbers for each dimension
    two_spaces,  ///< two numbers for each but two dimensions
};

/// Of which tensor: an operand's number, the result, or of a scatter with n inputs operand n or n + 1.
constexpr int result = -1, indices = -2, updates = -3;

struct Rule {
    std::string_view attribute;
    Is is;
    int of;
    std::int64_t least = std::numeric_limits<std::int64_t>::min();  ///< of the numbers
};

struct Checked {
    std::vector<std::string_view> operations;
    std::vector<Rule> rules;
};

const std::vector<Checked>& all_checked() {
    static const std::vector<Rule> convolution = {
        {"input_batch_dimension", Is::axis, 0},          {"input_feature_dimension", Is::axis, 0},
        {"input_spatial_dimensions", Is::axes, 0},       {"input_spatial_dimensions", Is::each_space, 0},
        {"kernel_input_feature_dimension", Is::axis, 1}, {"kernel_output_feature_dimension", Is::axis, 1},
        {"kernel_spatial_dimensions", Is::axes, 1},      {"kernel_spatial_dimensions", Is::each_space, 0},
        {"output_batch_dimension", Is::axis, result},    {"output_feature_dimension", Is::axis, result},
        {"output_spatial_dimensions", Is::axes, result}, {"output_spatial_dimensions", Is::each_space, 0},
        {"window_strides", Is::each_space, 0, 1},        {"lhs_dilation", Is::each_space, 0, 1},
        {"rhs_dilation", Is::each_space, 0, 1},          {"window_reversal", Is::each_space, 0},
        {"feature_group_count", Is::number, 0, 1},       {"batch_group_count", Is::number, 0, 1},
    };
    static const std::vector<Rule> gather = {
        {"offset_dims", Is::axes, result},      {"collapsed_slice_dims", Is::axes, 0},
        {"operand_batching_dims", Is::axes, 0}, {"start_indices_batching_dims", Is::axes, 1},
        {"start_index_map", Is::axes, 0},       {"index_vector_dim", Is::end_axis, 1},
    };
    const auto and_also = [](std::vector<Rule> rules, const Rule& more) {
        rules.push_back(more);
        return rules;
    };
    static const std::vector<Checked> all = {
        {{"broadcast_in_dim", "dynamic_broadcast_in_dim"},
         {{"broadcast_dimensions", Is::each_axis, 0}, {"broadcast_dimensions", Is::axes, result}}},
        {{"transpose"}, {{"permutation", Is::all_axes, 0}}},
        {{"concatenate", "get_dimension_size", "set_dimension_size"}, {{"dimension", Is::axis, 0}}},
        {{"iota", "dynamic_iota"}, {{"iota_dimension", Is::axis, result}}},
        {{"reverse", "reduce"}, {{"dimensions", Is::axes, 0}}},
        {{"slice"},
         {{"start_indices", Is::each_axis, 0, 0},
          {"limit_indices", Is::each_axis, 0, 0},
          {"strides", Is::each_axis, 0, 1}}},
        {{"pad"},
         {{"edge_padding_low", Is::each_axis, 0},
          {"edge_padding_high", Is::each_axis, 0},
          {"interior_padding", Is::each_axis, 0, 0}}},
        {{"dynamic_slice"}, {{"slice_sizes", Is::each_axis, 0, 0}}},
        {{"dot_general"},
         {{"lhs_batching_dimensions", Is::axes, 0},
          {"lhs_contracting_dimensions", Is::axes, 0},
          {"rhs_batching_dimensions", Is::axes, 1},
          {"rhs_contracting_dimensions", Is::axes, 1}}},
        {{"convolution"}, and_also(convolution, {"padding", Is::two_spaces, 0})},
        {{"dynamic_conv"}, convolution},
        {{"gather"}, and_also(gather, {"slice_sizes", Is::each_axis, 0, 0})},
        {{"dynamic_gather"}, gather},
        {{"scatter"},
         {{"update_window_dims", Is::axes, updates},
          {"inserted_window_dims", Is::axes, 0},
          {"input_batching_dims", Is::axes, 0},
          {"scatter_indices_batching_dims", Is::axes, indices},
          {"scatter_dims_to_operand_dims", Is::axes, 0},
          {"index_vector_dim", Is::end_axis, indices}}},
        {{"reduce_window"},
         {{"window_dimensions", Is::each_axis, 0, 1},
          {"window_strides", Is::each_axis, 0, 1},
          {"base_dilations", Is::each_axis, 0, 1},
          {"window_dilations", Is::each_axis, 0, 1},
          {"padding", Is::two_each, 0}}},
        {{"select_and_scatter"},
         {{"window_dimensions", Is::each_axis, 0, 1},
          {"window_strides", Is::each_axis, 0, 1},
          {"padding", Is::two_each, 0}}},
        {{"batch_norm_inference", "batch_norm_training", "batch_norm_grad"}, {{"feature_index", Is::axis, 0}}},
        {{"reduce_precision"}, {{"exponent_bits", Is::number, 0, 1}, {"mantissa_bits", Is::number, 0, 0}}},
    };
    return all;
}

bool is_like(const Type& a, const Type& b) { return a.kind == b.kind && a.element == b.element && fit(a.dims, b.dims); }

}  // namespace

void Lowering::check_attributes() const {
    for (const Checked& checked : all_checked()) {
        if (std::find(checked.operations.begin(), checked.operations.end(), op_->name) == checked.operations.end())
            continue;
        for (const Rule& rule : checked.rules) {
            std::size_t operand = static_cast<std::size_t>(std::max(rule.of, 0));
            if (rule.of == indices || rule.of == updates) {
                if (op_->operands.size() < 3) fail("it has too few operands");
                operand = (op_->operands.size() - 1) / 2 + (rule.of == updates ? 1 : 0);
            }
            if (rule.of == result ? op_->results.empty() : operand >= op_->operands.size())
                fail(fmt::format("it lacks what its attribute '{}' speaks of", rule.attribute));
            const Type& type = rule.of == result ? result_type() : operand_type(operand);
            if (type.kind != Type::Kind::tensor)
                fail(fmt::format("its attribute '{}' speaks of {}, no tensor", rule.attribute, to_string(type)));
            const std::size_t rank = type.dims.size();
            const auto wrong = [&](std::string_view why) {
                fail(fmt::format("its attribute '{}' {} (a tensor of rank {})", rule.attribute, why, rank));
            };
            const bool one = rule.is == Is::axis || rule.is == Is::end_axis || rule.is == Is::number;
            const std::vector<std::int64_t> numbers =
                one ? std::vector<std::int64_t>{integer(rule.attribute)} : this->numbers(rule.attribute);
            const bool in_pairs = rule.is == Is::two_each || rule.is == Is::two_spaces;
            const bool of_space = rule.is == Is::each_space || rule.is == Is::two_spaces;
            if (of_space && rank < 2) wrong("is of a tensor without a batch and features");
            if (in_pairs || of_space || rule.is == Is::each_axis || rule.is == Is::all_axes) {
                const std::size_t wanted = (rank - (of_space ? 2 : 0)) * (in_pairs ? 2 : 1);
                if (numbers.size() != wanted) wrong(fmt::format("has {} numbers, not {}", numbers.size(), wanted));
            }
            if (rule.is == Is::axis || rule.is == Is::end_axis || rule.is == Is::axes || rule.is == Is::all_axes) {
                const auto end = static_cast<std::int64_t>(rank) + (rule.is == Is::end_axis ? 1 : 0);
                std::vector<bool> seen(rank + 1, false);
                for (const std::int64_t axis : numbers) {
                    if (axis < 0 || axis >= end) wrong(fmt::format("names dimension {}", axis));
                    if (seen[static_cast<std::size_t>(axis)]) wrong(fmt::format("names dimension {} twice", axis));
                    seen[static_cast<std::size_t>(axis)] = true;
                }
            }
            const bool broadcasts = rule.attribute == "broadcast_dimensions" && rule.is == Is::axes;
            for (std::size_t k = 0; broadcasts && k < numbers.size(); ++k) {
                const std::int64_t from = operand_type(0).dims[k],
                                   to = result_type().dims[static_cast<std::size_t>(numbers[k])];
                if (from != 1 && from != to) wrong(fmt::format("makes {} of a dimension of {}", to, from));
            }
            for (const std::int64_t number : numbers)
                if (number < rule.least) wrong(fmt::format("has {}, less than {}", number, rule.least));
        }
    }
}

void Lowering::check_alike(std::size_t first, std::size_t count) const {
    const std::vector<std::int64_t>& dims = operand_type(first).dims;
    for (std::size_t k = first; k < first + count; ++k) {
        const Type& type = operand_type(k);
        if (type.kind != Type::Kind::tensor || !fit(dims, type.dims))
            fail(fmt::format("its operands {} and {} have other shapes: {}, {}", first, k,
                             to_string(operand_type(first)), to_string(type)));
    }
}

void Lowering::check_numbers() const {
    for (const auto* values : {&op_->operands, &op_->results})
        for (const stablehlo::ValueId id : *values)
            if (const Type& type = expressed(home_->values.at(id)); !type.dims.empty())
                unsupported(fmt::format("{} in a region of numbers is not supported", to_string(type)));
}

const std::vector<stablehlo::ValueId>& Lowering::returned_by(const Region& region) const {
    for (const Operation& operation : region.operations)
        if (operation.name == "return") return operation.operands;
    fail("what it calls or a region of it returns nothing");
}

void Lowering::check_call(const Region& body) const {
    const std::vector<stablehlo::ValueId>& returned = returned_by(body);
    if (operand_count() != body.arguments.size() || result_count() != returned.size())
        fail(fmt::format("what it calls has {} arguments and {} results, but it has {} and {}", body.arguments.size(),
                         returned.size(), operand_count(), result_count()));
    for (std::size_t k = 0; k < operand_count(); ++k)
        if (const Type& type = type_of(body.arguments[k]); !is_like(type, operand_type(k)))
            fail(fmt::format("argument {} of what it calls is {}, but {} is given", k, to_string(type),
                             to_string(operand_type(k))));
    for (std::size_t k = 0; k < result_count(); ++k)
        if (const Type& type = type_of(returned[k]); !is_like(type, result_type(k)))
            fail(fmt::format("result {} of what it calls is {}", k, to_string(type)));
}

void Lowering::check_regions() const {
    struct Form {
        std::size_t arguments, returned;
        bool of_numbers = true;  ///< scalars, else what the operation itself makes
        bool tells = false;      ///< returns one i1
    };
    const std::size_t operands = op_->operands.size(), results = op_->results.size(), regions = op_->regions.size();
    const std::string_view name = op_->name;
    std::size_t inputs = operands;
    bool fits = true;
    std::vector<Form> forms;
    if (name == "reduce" || name == "reduce_window") {
        inputs = operands / 2;
        fits = operands % 2 == 0 && results == inputs;
        forms = {{2 * inputs, inputs}};
    } else if (name == "scatter") {
        inputs = operands / 2;
        fits = operands % 2 == 1 && results == inputs;
        forms = {{2 * inputs, inputs}};
    } else if (name == "sort") {
        fits = results == inputs;
        forms = {{2 * inputs, 1, true, true}};
    } else if (name == "map") {
        fits = results == 1;
        forms = {{inputs, 1}};
    } else if (name == "select_and_scatter") {
        fits = operands == 3 && results == 1;
        forms = {{2, 1, true, true}, {2, 1}};
    } else if (name == "while") {
        fits = results == operands;
        forms = {{operands, 1, true, true}, {operands, operands, false}};
    } else if (name == "if" || name == "case") {
        fits = operands == 1 && regions > 0 && (name == "case" || regions == 2);
        forms.assign(regions, {0, results, false});
    } else {
        return;
    }
    if (!fits || forms.size() != regions || (inputs == 0 && name != "while"))
        fail(fmt::format("it has {} operands, {} results and {} regions", operands, results, regions));
    const bool reduces = name == "reduce" || name == "reduce_window", scatters = name == "scatter";
    if (reduces || scatters || name == "map") check_alike(0, inputs);
    if (scatters) check_alike(inputs + 1, inputs);
    for (std::size_t k = inputs; reduces && k < operands; ++k)
        if (!operand_type(k).dims.empty()) fail(fmt::format("its operand {} is no scalar", k));
    for (std::size_t k = 0; k < regions; ++k) {
        const Region& region = op_->regions[k];
        if (region.operations.empty()) fail(fmt::format("its region {} is empty", k));
        const std::vector<stablehlo::ValueId>& returned = returned_by(region);
        if (&returned != &region.operations.back().operands)
            fail(fmt::format("its region {} does not end where it returns", k));
        if (region.arguments.size() != forms[k].arguments || returned.size() != forms[k].returned)
            fail(fmt::format("its region {} takes {} values and returns {}, not {} and {}", k, region.arguments.size(),
                             returned.size(), forms[k].arguments, forms[k].returned));
        const bool quantized = has_quantized();
        const auto is_number = [&](const Type& type, Element element) {
            return type.kind == Type::Kind::tensor && type.dims.empty() && (quantized || type.element == element);
        };
        for (std::size_t a = 0; a < region.arguments.size(); ++a) {
            const Type& type = type_of(region.arguments[a]);
            const bool of_operand = name == "map" || name == "sort" || forms[k].tells;
            const std::size_t operand = name == "sort" ? a / 2 : name == "select_and_scatter" ? 0 : a;
            const bool right = name == "while" ? is_like(type, operand_type(a))
                             : of_operand      ? is_number(type, operand_type(operand).element)
                                               : is_number(type, type_of(returned[a % returned.size()]).element);
            if (!right) fail(fmt::format("argument {} of its region {} is {}", a, k, to_string(type)));
        }
        for (std::size_t r = 0; r < returned.size(); ++r) {
            const Type& type = type_of(returned[r]);
            const bool right = forms[k].tells      ? is_number(type, Element::pred)
                             : forms[k].of_numbers ? is_number(type, result_type(r).element)
                                                   : is_like(type, result_type(r));
            if (!right) fail(fmt::format("its region {} returns {}", k, to_string(type)));
        }
    }
}

}  // namespace tosavk::stablehlo
