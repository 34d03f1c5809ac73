// Custom calls: those that have a plain meaning. Others are named in the error.
#include "frontends/stablehlo/lower_custom.hpp"

#include <fmt/format.h>

#include <array>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

// ---- what stands in attributes ------------------------------------------------------------------------------------

/// What a custom call says in a dictionary of its own: under a name of MHLO's, or as its backend_config.
const Dictionary* said_in(const Lowering& l, std::string_view name) {
    const Attribute* attribute = find(l.op().extra, name);
    if (!attribute) attribute = find(l.op().attributes, "backend_config");
    return attribute ? attribute->as<Dictionary>() : nullptr;
}

std::int64_t number_of(const Lowering& l, const Dictionary& said, std::string_view name) {
    const Attribute* attribute = find(said, name);
    const auto* number = attribute ? attribute->as<Integer>() : nullptr;
    if (!number) l.fail(fmt::format("its '{}' is no number", name));
    return number->value;
}

bool flag_of(const Dictionary& said, std::string_view name, bool otherwise) {
    const Attribute* attribute = find(said, name);
    const auto* flag = attribute ? attribute->as<bool>() : nullptr;
    return flag ? *flag : otherwise;
}

void expect_count(const Lowering& l, std::size_t operands, std::size_t results) {
    if (l.operand_count() != operands || l.result_count() != results)
        l.fail(fmt::format("it has {} operands and {} results", l.operand_count(), l.result_count()));
}

// ---- the calls ----------------------------------------------------------------------------------------------------

/// Annotations mean nothing on one device.
void lower_annotation(Lowering& l) {
    if (l.operand_count() < l.result_count()) expect_count(l, l.result_count(), l.result_count());
    for (std::size_t k = 0; k < l.result_count(); ++k) {
        if (!same(l.operand_type(k), l.result_type(k)))
            l.unsupported(fmt::format("it makes a part of {}: programs shared by several devices are not supported",
                                      to_string(l.operand_type(k))));
        l.set(l.given(k), k);
    }
}

void lower_buffer(Lowering& l) {
    expect_count(l, 0, 1);
    const Element element = l.result_type().element;
    const Id zeros = l.zeros(l.dtype(element), l.result_shape());
    l.set({element, zeros, is_complex_element(element) ? zeros : no_id, {0, 0}});
}

/// Of shapes that were not known when the program was written; here they are.
void lower_shape_assertion(Lowering& l) {
    const auto holds = l.known(0);
    if (!holds || holds->size() != 1) l.unsupported("what it asserts is not known before the program runs");
    if (holds->front() != 0) return;
    const Attribute* message = find(l.op().attributes, "error_message");
    if (!message) message = find(l.op().extra, "error_message");
    const auto* text = message ? message->as<std::string>() : nullptr;
    l.fail(fmt::format("the shapes are not those that the program is for: {}", text ? printable(*text) : "no message"));
}

/// All elements of each line in order; the first ones of them are the result. Of inputs and as many initial values,
/// which stand behind where more is asked for than there is. Nothing is approximate here: recall_target, the size that
/// the line may have elsewhere and is_fallback change nothing.
void lower_approx_top_k(Lowering& l) {
    const Dictionary* said = said_in(l, "mhlo.backend_config");
    if (!said) l.fail("it lacks its backend_config");
    const std::size_t count = l.result_count();
    if (count == 0) l.fail("it has no results");
    expect_count(l, 2 * count, count);
    const Shape shape = l.static_shape(l.operand_type(0));
    const std::int64_t dimension = number_of(l, *said, "reduction_dim"), k = number_of(l, *said, "top_k");
    if (dimension < 0 || dimension >= static_cast<std::int64_t>(shape.size()))
        l.fail(fmt::format("its 'reduction_dim' is {} for a tensor of rank {}", dimension, shape.size()));
    const auto axis = static_cast<std::size_t>(dimension);
    Shape wanted = l.result_shape();
    const std::int64_t size = wanted.size() == shape.size() ? wanted[axis] : -1;
    if (size < k || k < 0 || (flag_of(*said, "aggregate_to_topk", true) && size != k))
        l.fail(fmt::format("its 'top_k' is {} for a result of {}", k, to_string(l.result_type())));
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < count; ++i) {
        const Type &input = l.operand_type(i), &start = l.operand_type(count + i), &result = l.result_type(i);
        if (input.element != start.element || input.element != result.element || l.static_shape(input) != shape ||
            !l.static_shape(start).empty() || l.static_shape(result) != wanted)
            l.fail(fmt::format("it makes {} of {} and {}", to_string(result), to_string(input), to_string(start)));
        inputs.push_back(l.given(i));
    }
    Shape of_line = wanted;
    of_line[axis] = shape[axis];
    if (of_line != shape) l.fail(fmt::format("it makes {} of {}", to_string(wanted), to_string(shape)));
    const Attribute* called = find(l.op().attributes, "called_computations");
    const auto* list = called ? called->as<Array>() : nullptr;
    const auto* comparator = list && list->size() == 1 ? list->front()->as<std::string>() : nullptr;
    if (!comparator) l.fail("it calls no comparator");
    std::vector<Tensor> made;
    if (has_no_elements(shape)) {
        made = inputs;
    } else {
        l.within(*comparator, [&](const Region& region) {
            for (std::size_t i = 0; i < region.arguments.size() || i < 2 * count; ++i) {
                const Type* type = i < region.arguments.size() ? &l.type_of(region.arguments[i]) : nullptr;
                if (!type || i >= 2 * count || type->element != inputs[i / 2].element || !l.static_shape(*type).empty())
                    l.fail(fmt::format("the comparator '{}' does not take two numbers of each input",
                                       printable(*comparator)));
            }
            made = sorted(l, inputs, axis, region);
        });
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t there = std::min(size, shape[axis]), missing = size - there;
        Tensor first = l.given(count + i);
        if (made[i].is_pair()) first = l.as_pair(first);
        else if (first.is_pair()) made[i] = l.as_pair(made[i]);
        Shape rest = wanted;
        rest[axis] = missing;
        const auto cut = [&](Id id, Id filler) {
            std::vector<Id> parts;
            if (there > 0) parts.push_back(l.slice_axis(id, axis, 0, there));
            if (missing > 0) parts.push_back(l.broadcast(filler, rest, {}));
            return l.concat(parts, axis);
        };
        Tensor result = made[i];
        result.id = cut(made[i].id, first.id);
        if (result.has_two()) result.other = cut(made[i].other, first.other);
        if (missing > 0) result.range = result.range.joined(first.range);
        l.set(result, i);
    }
}

}  // namespace

/// The k largest (or smallest) along the last dimension, and where they stand; the first of equal ones first.
void lower_top_k(Lowering& l, std::int64_t k, bool largest) {
    expect_count(l, 1, 2);
    const Tensor x = l.given(0);
    const Shape shape = l.static_shape(l.operand_type(0));
    if (shape.empty() || k < 0 || k > shape.back())
        l.fail(fmt::format("its 'k' is {} for {}", k, to_string(l.operand_type(0))));
    if (x.has_two() || is_coded_element(x.element))
        l.unsupported(fmt::format("numbers of {} are not supported", stablehlo::name_of(x.element)));
    if (l.result_type(1).element != Element::i32) l.fail(fmt::format("it makes {}", to_string(l.result_type(1))));
    const std::size_t axis = shape.size() - 1;
    Shape line(shape.size(), 1);
    line.back() = shape.back();
    const std::vector<std::int64_t> places = l.counted(shape.back());
    tosavk::Attributes attrs;
    attrs.axis = static_cast<std::int32_t>(axis);
    attrs.descending = largest;
    attrs.total_order = is_float(l.type(x.id));
    attrs.is_unsigned = is_unsigned_integer(x.element) && bits_of(x.element) <= 32;
    const std::vector<Id> made = l.sort({x.id, l.tile_to(l.constant_i32(line, places), shape)}, attrs);
    Tensor values = x;
    values.id = l.slice_axis(made[0], axis, 0, k);
    l.set(values);
    l.set({Element::i32, l.slice_axis(made[1], axis, 0, k), no_id, {0, shape.back() - 1}}, 1);
}

namespace {

void lower_top_k_call(Lowering& l) {
    const Dictionary* said = said_in(l, "mhlo.attributes");
    if (!said) l.fail("it lacks its attributes");
    lower_top_k(l, number_of(l, *said, "k"), flag_of(*said, "largest", true));
}

// ---- the table -----------------------------------------------------------------------------------------------------

struct CustomRow {
    std::string_view target;
    void (*lower)(Lowering&);
    bool in_regions = false;  ///< also where a region is carried out on whole tensors
};

constexpr CustomRow targets[] = {
    {"AllocateBuffer", lower_buffer},
    {"ApproxTopK", lower_approx_top_k},
    {"LayoutConstraint", lower_annotation, true},
    {"ProductOfElementaryHouseholderReflectors", lower_householder_product},
    {"Qr", lower_qr},
    {"SPMDFullToShardShape", lower_annotation, true},
    {"SPMDShardToFullShape", lower_annotation, true},
    {"Sharding", lower_annotation, true},
    {"annotate_device_placement", lower_annotation, true},
    {"chlo.top_k", lower_top_k_call},
    {"mhlo.topk", lower_top_k_call},
    {"shape_assertion", lower_shape_assertion},
};

void lower_custom_call(Lowering& l) {
    const std::string target = l.text("call_target_name");
    for (const CustomRow& row : targets) {
        if (row.target != target) continue;
        if (l.is_lifted() && !row.in_regions)
            l.unsupported(fmt::format("the custom call '{}' is not supported in a region", target));
        return row.lower(l);
    }
    // Older serializers write CHLO's functions as calls.
    const bool is_function = target.starts_with("mhlo.") || target.starts_with("chlo.");
    if (is_function && lower_function(l, std::string_view(target).substr(5))) return;
    if (target.starts_with("xla.sdy.")) return lower_annotation(l);
    l.unsupported(fmt::format("the custom call '{}' is not supported", printable(target)));
}

}  // namespace

std::span<const LoweringRow> custom_rows() {
    static constexpr LoweringRow rows[] = {
        {"custom_call", lower_custom_call},
    };
    return rows;
}

}  // namespace tosavk::stablehlo
