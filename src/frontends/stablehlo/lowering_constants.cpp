// Dense constants, and what 64-bit ones become while lowering.
#include "frontends/stablehlo/lowering.hpp"
#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>

namespace tosavk::stablehlo {

namespace {

constexpr std::size_t max_known = 4096;  ///< numbers of a 64-bit constant that are computed with here

}  // namespace

/// A dense constant in the graph's types.
void Lowering::lower_constant() {
    const Attribute* attribute = find(op_->attributes, "value");
    const auto* elements = attribute ? attribute->as<Elements>() : nullptr;
    if (!elements) fail("its value is no dense constant");
    const std::optional<Quantization>& grid = home_->values.at(op_->results.at(0))->quantization;
    Element element = elements->type->element;
    if (grid) {
        if (result_type().quantization) refuse_quantized(*grid);
        if (!is_integer_element(element) || bits_of(element) != bits_of(grid->storage))
            fail(fmt::format("its stored numbers are {}", stablehlo::name_of(element)));
        element = grid->storage;  // the same bits, with or without a sign
    }
    const DType to = dtype(element);
    Shape shape = static_shape(*elements->type);
    const auto count = static_cast<std::size_t>(tosavk::element_count(shape));
    const std::size_t size = bytes_of(element);
    if (is_lifted()) {
        if (count != 1) unsupported("a constant of several numbers in a region of numbers is not supported");
        shape.assign(lift_->size(), 1);
    }
    const std::span<const std::byte> from = *elements->data;
    const auto at = [&](std::size_t i) { return from.subspan(elements->splat ? 0 : i * size, size); };
    // A large constant of one number is that number, repeated on the device.
    const bool repeats = elements->splat && count > 16 && !is_lifted() && !(grid && grid->axis);
    const std::size_t stored = repeats ? 1 : count;
    const auto finish = [&](const std::string& what, Bytes bytes) {
        if (!repeats) return constant(what, to, shape, std::move(bytes));
        return tile_to(constant(what, to, Shape(shape.size(), 1), std::move(bytes)), shape);
    };
    Tensor result{element, no_id, no_id, whole_range(element)};
    const bool doubles = element == Element::f64 || element == Element::c128;
    const auto float_at = [&](std::size_t i, std::size_t part) {
        float v = 0;
        double wide = 0;
        if (doubles) std::memcpy(&wide, at(i).data() + part * 8, 8), v = static_cast<float>(wide);
        else std::memcpy(&v, at(i).data() + part * 4, 4);
        return v;
    };
    const auto floats = [&](std::size_t part) {
        Bytes bytes(stored * 4);
        for (std::size_t i = 0; i < stored; ++i) {
            const float v = float_at(i, part);
            std::memcpy(bytes.data() + i * 4, &v, 4);
        }
        return bytes;
    };
    if (is_complex_element(element)) {
        result.id = finish("real", floats(0));
        result.other = finish("imag", floats(1));
        return set(result);
    }
    if (doubles) {
        result.id = finish("constant", floats(0));
        return set(result);
    }
    if (is_integer_element(element)) {
        std::vector<std::int64_t> values(stored);
        Range range{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
        for (std::size_t i = 0; i < stored; ++i) {
            std::uint64_t bits = 0;
            std::memcpy(&bits, at(i).data(), size);
            // What is narrower than a byte has one, whose other bits say nothing.
            const int unused = 64 - bits_of(element);
            const bool extends = is_signed_integer(element);
            const std::int64_t v = extends ? static_cast<std::int64_t>(bits << unused) >> unused
                                           : static_cast<std::int64_t>(bits << unused >> unused);
            range = range.joined({v, v});
            values[i] = v;
        }
        const Shape one = repeats ? Shape(shape.size(), 1) : shape;
        if (grid) {
            const Id id = constant("constant", DType::fp32, one, floats_of_stored(values, *elements->type, *grid));
            return set({Element::f32, repeats ? tile_to(id, shape) : id, no_id, {}});
        }
        if (bits_of(element) == 64) result = constant_64(element, one, values);
        else result = ranged(constant("constant", to, one, encode_ints(to, values)), element, range);
        return set(repeats ? move(result, [&](Id id) { return tile_to(id, shape); }) : result);
    }
    Bytes bytes(stored * size_of(to));
    for (std::size_t i = 0; i < stored; ++i) std::memcpy(bytes.data() + i * size, at(i).data(), size);
    result.id = finish("constant", std::move(bytes));
    set(result);
}

Tensor Lowering::constant_64(Element element, const Shape& shape, std::span<const std::int64_t> numbers) {
    Range range = numbers.empty() ? Range{} : Range{numbers.front(), numbers.front()};
    for (const std::int64_t v : numbers) range = range.joined({v, v});
    if (whole_range(element).holds(range))
        return {element, constant("constant", DType::i32, shape, encode_ints(DType::i32, numbers)), no_id, range};
    std::vector<std::int64_t> lower, upper;
    for (const std::int64_t v : numbers) {
        lower.push_back(static_cast<std::int32_t>(static_cast<std::uint64_t>(v)));
        upper.push_back(v >> 32);
    }
    // Of a u64 as a signed number, what is below 0 is very large.
    if (element == Element::u64 && range.least < 0) range = pair_range(element);
    return {element, constant("lower", DType::i32, shape, encode_ints(DType::i32, lower)),
            constant("upper", DType::i32, shape, encode_ints(DType::i32, upper)), range};
}

void lower_constant(Lowering& l) { l.lower_constant(); }

// ---- 64-bit constants ---------------------------------------------------------------------------------------------

namespace {

using Word = std::uint64_t;

Word shifted_right(std::int64_t a, Word n) { return static_cast<Word>(a >> std::min<Word>(n, 63)); }

/// What 64-bit numbers become; nothing for operations that are not among these.
std::optional<Word> known_result(std::string_view name, Word a, Word b, int bits) {
    if (name == "add") return a + b;
    if (name == "subtract") return a - b;
    if (name == "multiply") return a * b;
    if (name == "and") return a & b;
    if (name == "or") return a | b;
    if (name == "xor") return a ^ b;
    const auto width = static_cast<Word>(bits);
    if (name == "shift_left") return b < width ? a << b : 0;
    if (name == "shift_right_logical" && bits == 64) return b < width ? a >> b : 0;
    if (name == "shift_right_arithmetic" && bits == 64) return shifted_right(static_cast<std::int64_t>(a), b);
    return std::nullopt;
}

}  // namespace

void Lowering::set_known(std::vector<std::int64_t> numbers) {
    const Element element = result_type().element;
    const int bits = bits_of(element), unused = 64 - bits;
    for (std::int64_t& v : numbers) {
        const Word shifted = static_cast<Word>(v) << unused;
        v = is_unsigned_integer(element) ? static_cast<std::int64_t>(shifted >> unused)
                                         : static_cast<std::int64_t>(shifted) >> unused;
    }
    if (bits == 64) return set(constant_64(element, result_shape(), numbers));
    Range range{numbers.front(), numbers.front()};
    for (const std::int64_t v : numbers) range = range.joined({v, v});
    const DType type = dtype(element);
    const Id id = constant("known", type, result_shape(), encode_ints(type, numbers));
    set({element, id, no_id, range});
}

/// Where 64-bit constants meet others, the result is computed here: it may fit again.
bool Lowering::lower_known() {
    if (is_lifted() || op_->results.size() != 1 || op_->operands.empty() || op_->operands.size() > 2) return false;
    const Type& type = result_type();
    if (!is_integer_element(type.element)) return false;
    bool is_wide = bits_of(type.element) == 64;
    std::vector<std::vector<std::int64_t>> operands;
    for (std::size_t k = 0; k < op_->operands.size(); ++k) {
        const Type& from = operand_type(k);
        if (from.kind != Type::Kind::tensor || !is_integer_element(from.element)) return false;
        is_wide = is_wide || bits_of(from.element) == 64;
    }
    if (!is_wide) return false;
    for (std::size_t k = 0; k < op_->operands.size(); ++k) {
        auto numbers = known(k);
        if (!numbers || numbers->empty() || numbers->size() > max_known) return false;
        operands.push_back(std::move(*numbers));
    }
    const auto count = static_cast<std::size_t>(tosavk::element_count(result_shape()));
    std::vector<std::int64_t> numbers;
    if (op_->operands.size() == 1) {
        if (op_->name == "convert" || op_->name == "reshape") numbers = operands[0];
        else if (op_->name == "broadcast_in_dim" && operands[0].size() == 1 && count <= max_known)
            numbers.assign(count, operands[0][0]);
    } else if (operands[0].size() == operands[1].size()) {
        for (std::size_t i = 0; i < operands[0].size(); ++i) {
            const auto r = known_result(op_->name, static_cast<Word>(operands[0][i]), static_cast<Word>(operands[1][i]),
                                        bits_of(type.element));
            if (!r) return false;
            numbers.push_back(static_cast<std::int64_t>(*r));
        }
    }
    if (numbers.empty()) return false;
    if (numbers.size() != count) return false;
    set_known(std::move(numbers));
    return true;
}

}  // namespace tosavk::stablehlo
