// The operation in hand, and the types of the graph.
#include "frontends/stablehlo/lowering.hpp"
#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <numeric>

namespace tosavk::stablehlo {

/// Of a graph, against calls of what becomes hundreds of them.
constexpr std::size_t max_nodes = std::size_t{1} << 21;

bool is_integer_element(Element element) { return is_signed_integer(element) || is_unsigned_integer(element); }

bool is_complex_element(Element element) { return element == Element::c64 || element == Element::c128; }

bool is_coded_element(Element element) {
    switch (element) {
        case Element::f4e2m1fn:
        case Element::f6e2m3fn:
        case Element::f6e3m2fn:
        case Element::f8e3m4:
        case Element::f8e4m3:
        case Element::f8e4m3b11fnuz:
        case Element::f8e4m3fnuz:
        case Element::f8e5m2fnuz:
        case Element::f8e8m0fnu: return true;
        default: return false;
    }
}

std::int64_t saturated_sum(std::int64_t a, std::int64_t b) {
    std::int64_t r = 0;
    if (!__builtin_add_overflow(a, b, &r)) return r;
    return a > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

std::int64_t saturated_difference(std::int64_t a, std::int64_t b) {
    std::int64_t r = 0;
    if (!__builtin_sub_overflow(a, b, &r)) return r;
    return b < 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

bool is_unbounded(const Tensor& tensor) {
    return tensor.element == Element::u64 && tensor.range.most == std::numeric_limits<std::int64_t>::max();
}

std::int64_t saturated_product(std::int64_t a, std::int64_t b) {
    std::int64_t r = 0;
    if (!__builtin_mul_overflow(a, b, &r)) return r;
    return (a < 0) == (b < 0) ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

Range pair_range(Element element) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    if (element == Element::i64) return {std::numeric_limits<std::int64_t>::min(), most};
    return element == Element::u64 ? Range{0, most} : whole_range(element);
}

Range whole_range(Element element) {
    if (element == Element::pred) return {0, 1};
    if (!is_integer_element(element)) return {};
    if (element == Element::i64) return {min_of(DType::i32), max_of(DType::i32)};
    if (element == Element::u64) return {0, max_of(DType::i32)};
    const int bits = bits_of(element);
    if (is_unsigned_integer(element)) return {0, (std::int64_t{1} << bits) - 1};
    return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
}

// ---- the operation in hand ----------------------------------------------------------------------------------------

std::string Lowering::title() const {
    if (!op_) return fmt::format("StableHLO {}", name_);
    std::string text = fmt::format("{}.{}", op_->dialect == Dialect::chlo ? "chlo" : "stablehlo", op_->name);
    if (op_->name == "custom_call") text += fmt::format(" @{}", printable(this->text("call_target_name")));
    if (!op_->results.empty()) text += fmt::format(" of {}", to_string(*home_->values.at(op_->results.front())));
    if (op_->location != 0) {
        const std::string where = to_string(program_, op_->location);
        if (!where.empty()) text += fmt::format(" at {}", where);
    }
    return text;
}

std::vector<Id> Lowering::append(tosavk::Op op, std::vector<Id> inputs, tosavk::Attributes attrs,
                                 std::span<const DType> output_types, const std::string& name) {
    if (++nodes_ > max_nodes)
        unsupported(fmt::format("with its calls in place the program becomes more than {} operators", max_nodes));
    try {
        return Emitter::append(op, std::move(inputs), std::move(attrs), output_types, name);
    } catch (const Error& e) {
        throw Error(e.code(), fmt::format("{}: {}", title(), e.what()), e.node(), e.operand());
    }
}

const Type& Lowering::type_of(stablehlo::ValueId id) const { return expressed(frames_.back().function->values.at(id)); }
const Type& Lowering::operand_type(std::size_t k) const { return expressed(home_->values.at(op_->operands.at(k))); }
const Type& Lowering::result_type(std::size_t k) const { return expressed(home_->values.at(op_->results.at(k))); }
Tensor Lowering::given(std::size_t k) {
    if (k >= op_->operands.size()) fail(fmt::format("it lacks operand {}", k));
    return value(op_->operands[k]);
}

Tensor Lowering::in(std::size_t k) {
    Tensor tensor = given(k);
    if (tensor.is_pair()) {
        const std::string_view name = stablehlo::name_of(tensor.element);
        unsupported(fmt::format("its operand {} of {} may need more than 32 bits, which is not supported", k, name));
    }
    if (is_coded_element(tensor.element)) refuse_codes(tensor.element);
    return tensor;
}

void Lowering::refuse_codes(Element element) const {
    unsupported(fmt::format("{} is only moved and converted to other floats", stablehlo::name_of(element)));
}

std::vector<Tensor> Lowering::all_given() {
    std::vector<Tensor> all;
    for (std::size_t k = 0; k < operand_count(); ++k) all.push_back(given(k));
    return all;
}

void Lowering::set(const Tensor& made, std::size_t k) {
    const Type& type = result_type(k);
    if (type.quantization) refuse_quantized(*type.quantization);
    const std::optional<Quantization>& grid = home_->values.at(op_->results.at(k))->quantization;
    const Tensor tensor = grid && !keeps_grid(*grid) ? on_grid(made, *grid) : made;
    if (!is_lifted() && tensor.id != no_id && shape(tensor.id) != static_shape(type))
        throw Error(ErrorCode::bad_model, fmt::format("{}: result {} has shape {} instead of {}", title(), k,
                                                      to_string(shape(tensor.id)), to_string(type)));
    // A region may be carried out in a wider type than its own.
    if (!is_lifted() && tensor.id != no_id && this->type(tensor.id) != dtype(type.element))
        throw Error(ErrorCode::bad_model,
                    fmt::format("{}: result {} has type {}", title(), k, tosavk::name_of(this->type(tensor.id))));
    const bool is_64 = is_integer_element(type.element) && bits_of(type.element) == 64;
    const bool fits_parts = is_64 || tensor.has_two() == is_complex_element(type.element);
    if (!is_lifted() && type.kind == Type::Kind::tensor && (tensor.id == no_id || !fits_parts))
        throw Error(ErrorCode::bad_model, fmt::format("{}: result {} is no {}", title(), k, to_string(type)));
    if (!is_lifted() && tensor.has_two() && shape(tensor.other) != shape(tensor.id))
        throw Error(ErrorCode::bad_model, fmt::format("{}: the parts of result {} differ in shape", title(), k));
    std::optional<Tensor>& value = frames_.back().values.at(op_->results.at(k));
    value = tensor;
    if (!is_lifted()) value->element = type.element;  // what f64 is computed as is not what it is
}

const Region& Lowering::region(std::size_t k) const {
    if (k >= op_->regions.size() || op_->regions[k].operations.empty()) fail(fmt::format("it has no region {}", k));
    return op_->regions[k];
}

const Operation* Lowering::maker(const Region& region, stablehlo::ValueId id) {
    for (const Operation& operation : region.operations)
        if (std::find(operation.results.begin(), operation.results.end(), id) != operation.results.end())
            return &operation;
    return nullptr;
}

std::int64_t Lowering::integer(std::string_view name) const {
    const Attribute* attribute = find(op_->attributes, name);
    const auto* number = attribute ? attribute->as<Integer>() : nullptr;
    if (!number) fail(fmt::format("its attribute '{}' is no number", name));
    return number->value;
}

std::vector<std::int64_t> Lowering::numbers(std::string_view name) const {
    const Attribute* attribute = find(op_->attributes, name);
    const auto* list = attribute ? attribute->as<Numbers>() : nullptr;
    if (!list) fail(fmt::format("its attribute '{}' is no list of numbers", name));
    return list->values;
}

std::vector<std::int64_t> Lowering::small_numbers(std::string_view name) const {
    std::vector<std::int64_t> values = numbers(name);
    refuse_large(values);
    return values;
}

void Lowering::refuse_large(std::span<const std::int64_t> numbers) const {
    constexpr std::int64_t most = std::int64_t{1} << 31;
    for (const std::int64_t number : numbers)
        if (number < -most || number > most) fail(fmt::format("its number {} is too large", number));
}

bool Lowering::flag(std::string_view name) const {
    const Attribute* attribute = find(op_->attributes, name);
    const auto* value = attribute ? attribute->as<bool>() : nullptr;
    return value && *value;
}

std::string Lowering::keyword(std::string_view name) const {
    const Attribute* attribute = find(op_->attributes, name);
    const auto* word = attribute ? attribute->as<Keyword>() : nullptr;
    return word ? word->name : std::string();
}

double Lowering::real(std::string_view name) const {
    const Attribute* attribute = find(op_->attributes, name);
    const auto* number = attribute ? attribute->as<Real>() : nullptr;
    if (!number) fail(fmt::format("its attribute '{}' is no number", name));
    return number->value;
}

std::string Lowering::text(std::string_view name) const {
    const Attribute* attribute = find(op_->attributes, name);
    const auto* word = attribute ? attribute->as<std::string>() : nullptr;
    return word ? *word : std::string();
}

std::optional<std::vector<std::int64_t>> Lowering::known(std::size_t k) {
    const Tensor tensor = given(k);
    if (tensor.id == no_id || tensor.is_complex()) return std::nullopt;
    if (is_empty(tensor.id)) return std::vector<std::int64_t>();
    const Value& constant = graph_value(tensor.id);
    if (!constant.is_constant() || is_float(constant.type)) return std::nullopt;
    std::vector<std::int64_t> numbers = decode_ints(constant.type, *constant.data);
    const int bits = bits_of(tensor.element);
    if (tensor.is_pair()) {
        const Value& upper = graph_value(tensor.other);
        if (!upper.is_constant() || upper.shape != constant.shape) return std::nullopt;
        const std::vector<std::int64_t> words = decode_ints(upper.type, *upper.data);
        for (std::size_t i = 0; i < numbers.size(); ++i)
            numbers[i] = static_cast<std::int64_t>((static_cast<std::uint64_t>(words[i]) << 32) |
                                                   (static_cast<std::uint64_t>(numbers[i]) & 0xffffffffu));
    } else if (is_unsigned_integer(tensor.element) && bits < 64) {
        for (std::int64_t& v : numbers) v &= (std::int64_t{1} << bits) - 1;
    }
    return numbers;
}

std::vector<std::int64_t> Lowering::counted(std::int64_t count, std::int64_t first) const {
    constexpr std::int64_t most = std::int64_t{1} << 28;
    if (count > most) unsupported(fmt::format("numbers of {} elements in order are not supported", count));
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
}

// ---- types --------------------------------------------------------------------------------------------------------

DType Lowering::dtype(Element element) const {
    switch (element) {
        case Element::pred: return DType::boolean;
        case Element::i2:
        case Element::u2:
        case Element::i4:
        case Element::u4:
        case Element::i8:
        case Element::u8: return DType::i8;
        case Element::i16:
        case Element::u16: return DType::i16;
        case Element::i32:
        case Element::u32:
        case Element::i64:
        case Element::u64: return DType::i32;
        case Element::f16: return DType::fp16;
        case Element::bf16: return DType::bf16;
        case Element::f32:
        case Element::c64: return DType::fp32;
        case Element::f8e4m3fn: return DType::fp8e4m3;
        case Element::f8e5m2: return DType::fp8e5m2;
        case Element::f64:
        case Element::c128:
            if (f64_as_f32()) return DType::fp32;
            unsupported(
                fmt::format("{} is not supported: export the program with JAX's x64 mode off, or have it "
                            "computed as f32 (--f64-as-f32)",
                            stablehlo::name_of(element)));
        default:
            if (is_coded_element(element)) return DType::i8;
            unsupported(fmt::format("the type {} is not supported", stablehlo::name_of(element)));
    }
}

Shape Lowering::static_shape(const Type& type) const {
    if (type.kind != Type::Kind::tensor) unsupported(fmt::format("{} is not supported", to_string(type)));
    if (type.quantization) refuse_quantized(*type.quantization);
    for (const std::int64_t dim : type.dims)
        if (dim < 0) unsupported(fmt::format("the size of {} is not known", to_string(type)));
    return type.dims;
}

bool Lowering::f64_as_f32() const { return options_.f64_as_f32; }

Tensor Lowering::as_pair(const Tensor& tensor) {
    if (!is_integer_element(tensor.element) || bits_of(tensor.element) != 64 || tensor.is_pair()) return tensor;
    Tensor pair = tensor;
    const Value& value = graph_value(tensor.id);
    if (is_empty(tensor.id)) {
        pair.other = tensor.id;
    } else if (value.is_constant()) {
        std::vector<std::int64_t> upper = decode_ints(value.type, *value.data);
        for (std::int64_t& v : upper) v = v < 0 ? -1 : 0;
        const Shape shape = value.shape;
        pair.other = constant("upper", DType::i32, shape, encode_ints(DType::i32, upper));
    } else if (tensor.range.least >= 0) {
        pair.other = zeros(DType::i32, value.shape);
    } else {
        pair.other = shift_right(tensor.id, 31, /*arithmetic=*/true);
    }
    return pair;
}

void Lowering::make_alike(Tensor& a, Tensor& b) {
    if (a.is_pair()) b = as_pair(b);
    if (b.is_pair()) a = as_pair(a);
}

Tensor Lowering::ranged(Id id, Element element, Range range) const {
    if (!is_integer_element(element)) return {element, id, no_id, whole_range(element)};
    const Range whole = whole_range(element);
    if (!whole.holds(range)) {
        if (bits_of(element) == 64)
            unsupported(fmt::format("{} numbers between {} and {} may need more than 32 bits",
                                    stablehlo::name_of(element), range.least, range.most));
        range = whole;
    }
    return {element, id, no_id, range};
}

Tensor Lowering::number(Element element, double v) {
    const Shape ones(lift_ ? lift_->size() : 0, 1);
    const DType of = dtype(element);
    const Range whole = whole_range(element);
    const Id id =
        constant(fmt::format("{}", v), of, ones,
                 is_float(of) ? encode_reals(of, {&v, 1}) : encode_ints(of, std::array{static_cast<std::int64_t>(v)}));
    Tensor tensor{element, id, no_id, whole};
    if (is_integer_element(element)) tensor.range = {static_cast<std::int64_t>(v), static_cast<std::int64_t>(v)};
    if (is_complex_element(element)) tensor.other = constant("0", of, ones, Bytes(size_of(of)));
    return tensor;
}

}  // namespace tosavk::stablehlo
