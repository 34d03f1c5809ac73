// The two ends of the graph.
#include "frontends/stablehlo/functions.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk::stablehlo {

namespace {

/// What jax.jit calls an argument or result, such as "params['w']".
std::string told_name(const Dictionary& attributes, std::string_view key, std::string otherwise) {
    const Attribute* attribute = find(attributes, key);
    const auto* name = attribute ? attribute->as<std::string>() : nullptr;
    return name && !name->empty() ? printable(*name) : otherwise;
}

HostKind declared_kind(Element element) {
    switch (element) {
        case Element::u2:
        case Element::u4:
        case Element::u8: return HostKind::u8;
        case Element::u16: return HostKind::u16;
        case Element::u32: return HostKind::u32;
        case Element::u64: return HostKind::u64_words;
        case Element::i64: return HostKind::i64_words;
        case Element::f4e2m1fn:
        case Element::f6e2m3fn:
        case Element::f6e3m2fn:
        case Element::f8e3m4:
        case Element::f8e4m3:
        case Element::f8e4m3b11fnuz:
        case Element::f8e4m3fnuz:
        case Element::f8e5m2fnuz:
        case Element::f8e8m0fnu: return HostKind::u8;
        case Element::f64:
        case Element::c128: return HostKind::f64;
        default: return HostKind::graph;
    }
}

/// Ends of more than 8 dimensions, which hosts' arrays and files may not have, have their first ones as one.
Shape end_shape(Shape shape) {
    constexpr std::size_t most = 8;
    for (; shape.size() > most; shape.erase(shape.begin())) shape[1] *= shape[0];
    return shape;
}

}  // namespace

void Lowering::add_inputs(const Function& main) {
    UniqueNames names;
    for (std::size_t k = 0; k < main.body.arguments.size(); ++k) {
        try {
            add_input(main, k, names);
        } catch (const Error& error) {
            if (std::string_view(error.what()).starts_with("StableHLO ")) throw;
            throw Error(error.code(), fmt::format("{}: {}", title(), error.what()), error.node(), error.operand());
        }
    }
}

void Lowering::add_input(const Function& main, std::size_t k, UniqueNames& names) {
    const stablehlo::ValueId argument = main.body.arguments[k];
    const Type& given = *main.values[argument];
    name_ = fmt::format("argument {}", k);
    if (given.kind == Type::Kind::token) {
        frames_.back().values[argument] = Tensor{};
        return;
    }
    Type type = given;
    if (const auto wanted = options_.input_shapes.find(k); wanted != options_.input_shapes.end())
        type.dims = wanted->second;
    const std::string name = told_name(main.argument_attributes[k], "jax.arg_info", fmt::format("arg{}", k));
    const std::optional<Quantization> grid = type.quantization;
    if (!expressed(main.values[argument]).quantization) type.quantization.reset();  // the stored numbers
    const Shape shape = static_shape(type);
    Tensor tensor{type.element, no_id, no_id, whole_range(type.element)};
    const DType of = dtype(type.element);
    const HostKind declared = declared_kind(type.element);
    const auto input = [&](const std::string& called, const Shape& size) {
        const Id id = builder_.input(names.give(called), of, end_shape(size));
        builder_.value(id).declared = declared;
        return has_no_elements(size) ? empty(of, size) : reshape(id, size);
    };
    if (is_complex_element(type.element)) {
        tensor.id = input(name + "/real", shape);
        tensor.other = input(name + "/imag", shape);
    } else if (is_integer_element(type.element) && bits_of(type.element) == 64) {
        // The words of each number side by side, as the host has them.
        Shape words = shape;
        words.push_back(2);
        const Id both = input(name, words);
        if (!is_empty(both)) {
            tensor.id = reshape(slice_axis(both, shape.size(), 0, 1), shape);
            tensor.other = reshape(slice_axis(both, shape.size(), 1, 1), shape);
        } else {
            tensor.id = tensor.other = empty(of, shape);
        }
        tensor.range = pair_range(type.element);
    } else {
        tensor.id = input(name, shape);
    }
    if (grid) tensor = of_stored(tensor, *grid);
    frames_.back().values[argument] = tensor;
}

void Lowering::add_outputs(const Function& main, const std::vector<Tensor>& results) {
    if (results.size() != main.result_types.size())
        fail(fmt::format("it returns {} values, and declares {}", results.size(), main.result_types.size()));
    UniqueNames names;
    std::vector<Id> used = builder_.graph().inputs;
    for (const Id id : used) names.give(builder_.value(id).name);
    for (std::size_t k = 0; k < results.size(); ++k) {
        name_ = fmt::format("result {}", k);
        Tensor result = results[k];
        if (result.id == no_id) continue;  // a token
        if (const auto& grid = main.values[main.body.operations.back().operands.at(k)]->quantization)
            result = converted(*this,
                               {Element::i32, quantized_steps(result.id, *grid), no_id, {grid->minimum, grid->maximum}},
                               grid->storage);
        if (is_integer_element(result.element) && bits_of(result.element) == 64) {
            result = as_pair(result);
            Shape words = shape(result.id);
            words.push_back(1);
            const std::size_t axis = words.size() - 1;
            const bool none = is_empty(result.id);
            if (!none) result.id = concat({reshape(result.id, words), reshape(result.other, words)}, axis);
            words.back() = 2;
            if (none) result.id = empty(DType::i32, words);
            result.other = no_id;
        }
        const std::string name = told_name(main.result_attributes[k], "jax.result_info", fmt::format("result{}", k));
        for (Id id : {result.id, result.other}) {
            if (id == no_id) continue;
            const char* part = !result.is_complex() ? "" : id == result.id ? "/real" : "/imag";
            const Shape size = end_shape(shape(id));
            if (is_empty(id)) {
                id = builder_.constant(unique(name), type(id), size, Bytes());
            } else {
                id = reshape(id, size);
                if (builder_.value(id).is_constant() || std::find(used.begin(), used.end(), id) != used.end())
                    id = builder_.add1(tosavk::Op::identity, {id}, builder_.value(id).type, {}, unique(name));
            }
            used.push_back(id);
            builder_.value(id).name = names.give(name + part);
            builder_.value(id).declared = declared_kind(result.element);
            builder_.output(id);
        }
    }
}

}  // namespace tosavk::stablehlo
