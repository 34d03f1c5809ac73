// The walk through a program: functions, blocks, values, constants, and the two ends of the graph.
// Longer than 500 lines: one walk, whose steps call one another.
#include "frontends/stablehlo/lowering.hpp"

#include "frontends/stablehlo/elements.hpp"
#include "frontends/stablehlo/stablehlo.hpp"
#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <unordered_map>

namespace tosavk::stablehlo {

namespace {

using LowerFunction = void (*)(Lowering&);
constexpr int max_calls = 256;           ///< within each other
constexpr std::size_t max_known = 4096;  ///< numbers of a 64-bit constant that are computed with here

void lower_return(Lowering&) {}

const std::unordered_map<std::string_view, LowerFunction>& all_lowerings() {
    static const auto table = [] {
        std::unordered_map<std::string_view, LowerFunction> rows;
        for (const auto& family :
             {unary_rows(), binary_rows(), convert_rows(), shape_rows(), reduce_rows(), window_rows(), contract_rows(),
              index_rows(), control_rows(), sort_rows(), algebra_rows()})
            for (const LoweringRow& row : family) rows.emplace(row.name, row.lower);
        rows.emplace("return", lower_return);
        return rows;
    }();
    return table;
}

/// Inputs that nothing reads stay; constants go.
void drop_unread_constants(Graph& graph) {
    std::vector<bool> used(graph.values.size(), false);
    for (const Node& node : graph.nodes)
        for (const Id id : node.inputs) used[id] = true;
    for (const Id id : graph.outputs) used[id] = true;
    std::vector<Id> place(graph.values.size(), no_id);
    std::vector<Value> kept;
    for (Id id = 0; id < graph.values.size(); ++id) {
        if (graph.values[id].is_constant() && !used[id]) continue;
        place[id] = static_cast<Id>(kept.size());
        kept.push_back(std::move(graph.values[id]));
    }
    graph.values = std::move(kept);
    const auto move_all = [&](std::vector<Id>& ids) {
        for (Id& id : ids) id = place[id];
    };
    move_all(graph.inputs);
    move_all(graph.outputs);
    for (Node& node : graph.nodes) move_all(node.inputs), move_all(node.outputs);
}

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
        case Element::u64: return HostKind::u64;
        case Element::i64: return HostKind::i64;
        default: return HostKind::graph;
    }
}

}  // namespace

bool is_integer_element(Element element) { return is_signed_integer(element) || is_unsigned_integer(element); }

Range whole_range(Element element) {
    if (element == Element::pred) return {0, 1};
    if (!is_integer_element(element)) return {};
    if (element == Element::i64) return {min_of(DType::i32), max_of(DType::i32)};
    if (element == Element::u64) return {0, max_of(DType::i32)};
    const int bits = bits_of(element);
    if (is_unsigned_integer(element)) return {0, (std::int64_t{1} << bits) - 1};
    return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
}

// ---- the whole ----------------------------------------------------------------------------------------------------

Lowering::Lowering(const Program& program, const ImportOptions& options)
    : Emitter(&builder_), program_(program), options_(options), builder_(printable(program.name), *options.level) {}

Lowering::Lowering(Lowering& around, std::string name)
    : Emitter(&builder_),
      program_(around.program_),
      options_(around.options_),
      around_(&around),
      depth_(around.depth_ + 1),
      builder_(std::move(name), *around.options_.level),
      op_(around.op_),
      name_(around.name_) {
    frames_.push_back({around.frames_.back().function, {}, true});
    frames_.back().values.resize(frames_.back().function->values.size());
}

const Function& Lowering::function_named(std::string_view name) const {
    for (const Function& function : program_.functions) {
        if (function.name != name) continue;
        if (function.is_external) fail(fmt::format("the function '{}' is only declared", printable(name)));
        return function;
    }
    fail(fmt::format("there is no function '{}'", printable(name)));
}

Graph Lowering::run() {
    name_ = "main";
    const Function& main = function_named("main");
    frames_.push_back({&main, {}, false});
    frames_.back().values.resize(main.values.size());
    add_inputs(main);
    const std::vector<Tensor> results = lower_block(main.body, nullptr);
    op_ = nullptr;
    add_outputs(main, results);
    Graph graph = builder_.finish();
    drop_unread_constants(graph);
    return graph;
}

Graph lower_program(const Program& program, const ImportOptions& options) { return Lowering(program, options).run(); }

void Lowering::add_inputs(const Function& main) {
    UniqueNames names;
    for (std::size_t k = 0; k < main.body.arguments.size(); ++k) {
        const stablehlo::ValueId argument = main.body.arguments[k];
        const Type& given = *main.values[argument];
        name_ = fmt::format("argument {}", k);
        if (given.kind == Type::Kind::token) {
            frames_.back().values[argument] = Tensor{};
            continue;
        }
        Type type = given;
        if (const auto wanted = options_.input_shapes.find(k); wanted != options_.input_shapes.end())
            type.dims = wanted->second;
        const std::string name = told_name(main.argument_attributes[k], "jax.arg_info", fmt::format("arg{}", k));
        const Shape shape = static_shape(type);
        Tensor tensor{type.element, no_id, no_id, whole_range(type.element)};
        const DType of = dtype(type.element);
        if (has_no_elements(shape)) {  // no input of the graph
            tensor.id = empty(of, shape);
            if (type.element == Element::c64) tensor.imaginary = tensor.id;
        } else if (type.element == Element::c64) {
            tensor.id = builder_.input(names.give(name + "/real"), of, shape);
            tensor.imaginary = builder_.input(names.give(name + "/imag"), of, shape);
        } else {
            tensor.id = builder_.input(names.give(name), of, shape);
            builder_.value(tensor.id).declared = declared_kind(type.element);
        }
        frames_.back().values[argument] = tensor;
    }
}

void Lowering::add_outputs(const Function& main, const std::vector<Tensor>& results) {
    UniqueNames names;
    std::vector<Id> used = builder_.graph().inputs;
    for (const Id id : used) names.give(builder_.value(id).name);
    for (std::size_t k = 0; k < results.size(); ++k) {
        name_ = fmt::format("result {}", k);
        const Tensor& result = results[k];
        if (result.id == no_id) continue;  // a token
        const std::string name = told_name(main.result_attributes[k], "jax.result_info", fmt::format("result{}", k));
        for (Id id : {result.id, result.imaginary}) {
            if (id == no_id || is_empty(id)) continue;
            if (builder_.value(id).is_constant() || std::find(used.begin(), used.end(), id) != used.end())
                id = builder_.add1(tosavk::Op::identity, {id}, builder_.value(id).type, {}, unique(name));
            used.push_back(id);
            const char* part = !result.is_complex() ? "" : id == result.id ? "/real" : "/imag";
            builder_.value(id).name = names.give(name + part);
            builder_.value(id).declared = declared_kind(result.element);
            builder_.output(id);
        }
    }
}

// ---- blocks -------------------------------------------------------------------------------------------------------

std::vector<Tensor> Lowering::lower_block(const Region& region, const Operation* until) {
    for (const Operation& operation : region.operations) {
        if (&operation != until && operation.name != "return") {
            lower_operation(operation);
            continue;
        }
        std::vector<Tensor> results;
        for (const stablehlo::ValueId id : operation.operands) results.push_back(value(id));
        return results;
    }
    return {};
}

void Lowering::lower_operation(const Operation& operation) {
    const Operation* const outer = std::exchange(op_, &operation);
    std::string where;
    if (operation.location != 0) where = to_string(program_, operation.location);
    const std::string outer_name = std::exchange(name_, where.empty() ? operation.name : where);
    scope(name_, name_, /*numbered=*/true);
    const auto& rows = all_lowerings();
    const auto row = rows.find(operation.name);
    if (row == rows.end() || operation.dialect != Dialect::stablehlo) unsupported("this operation is not supported");
    bool nothing = !is_lifted() && !operation.results.empty();
    for (std::size_t k = 0; nothing && k < operation.results.size(); ++k) {
        const Type& type = result_type(k);
        nothing = type.kind == Type::Kind::tensor && has_no_elements(type.dims) &&
                  std::none_of(type.dims.begin(), type.dims.end(), [](std::int64_t d) { return d < 0; });
    }
    if (nothing) {
        for (std::size_t k = 0; k < operation.results.size(); ++k) {
            const Element element = result_type(k).element;
            const Id id = empty(dtype(element), result_type(k).dims);
            set({element, id, element == Element::c64 ? id : no_id, {}}, k);
        }
    } else if (!lower_known()) {
        row->second(*this);
    }
    op_ = outer;
    name_ = outer_name;
    scope(name_, name_, true);
}

std::vector<Tensor> Lowering::lifted(const Region& region, const std::vector<Tensor>& arguments, const Shape& over,
                                     const Operation* until) {
    const std::optional<Shape> outer = std::exchange(lift_, over);
    for (std::size_t k = 0; k < region.arguments.size(); ++k)
        frames_.back().values[region.arguments[k]] = arguments.at(k);
    std::vector<Tensor> results = lower_block(region, until);
    if (!until) {
        for (Tensor& result : results) {
            result.id = tile_to(with_rank_of(result.id, arguments.at(0).id), over);
            if (result.is_complex()) result.imaginary = tile_to(with_rank_of(result.imaginary, result.id), over);
        }
    }
    lift_ = outer;
    return results;
}

std::vector<Tensor> Lowering::inlined(const Region& region, const std::vector<Tensor>& arguments) {
    for (std::size_t k = 0; k < region.arguments.size(); ++k)
        frames_.back().values[region.arguments[k]] = arguments.at(k);
    return lower_block(region, nullptr);
}

void Lowering::call(std::string_view name) {
    const Function& function = function_named(name);
    if (frames_.size() > max_calls) unsupported("calls are nested too deeply");
    const std::vector<Tensor> arguments = all_in();
    if (arguments.size() != function.body.arguments.size())
        fail(fmt::format("the function '{}' has {} arguments, but {} are given", printable(name),
                         function.body.arguments.size(), arguments.size()));
    Frame frame{&function, {}, false};
    frame.values.resize(function.values.size());
    frames_.push_back(std::move(frame));
    const std::vector<Tensor> results = inlined(function.body, arguments);
    frames_.pop_back();
    for (std::size_t k = 0; k < results.size() && k < result_count(); ++k) set(results[k], k);
}

Lowering::Made Lowering::made(const Region& region, const std::vector<Tensor>& arguments,
                              std::vector<stablehlo::ValueId>& captured, bool hands_on) {
    if (depth_ >= level().max_nesting)
        unsupported(fmt::format("control flow is nested {} deep, but level {} allows {}", depth_ + 1, level().name,
                                level().max_nesting));
    Lowering inner(*this, op_->name);
    inner.captured_ = &captured;
    std::vector<Tensor> given;
    std::size_t count = 0;
    const auto take = [&](Tensor tensor) {
        for (Id* id : {&tensor.id, &tensor.imaginary}) {
            if (*id == no_id) continue;
            if (is_empty(*id)) *id = inner.empty(type(*id), shape(*id));
            else *id = inner.builder_.input(fmt::format("input_{}", count++), type(*id), shape(*id));
        }
        return tensor;
    };
    for (const Tensor& argument : arguments) given.push_back(take(argument));
    for (const stablehlo::ValueId id : captured) inner.frames_.back().values[id] = take(value(id));
    Made result;
    result.results = inner.inlined(region, given);
    for (Tensor& tensor : result.results) {
        for (Id* id : {&tensor.id, &tensor.imaginary}) {
            if (*id == no_id || inner.is_empty(*id)) continue;
            inner.builder_.output(*id);
        }
    }
    if (hands_on) {
        for (const stablehlo::ValueId id : captured) {
            const Tensor tensor = inner.value(id);
            for (const Id part : {tensor.id, tensor.imaginary})
                if (part != no_id && !inner.is_empty(part)) inner.builder_.output(part);
        }
    }
    result.graph = inner.builder_.finish_region();
    drop_unread_constants(result.graph);
    return result;
}

Tensor Lowering::value(stablehlo::ValueId id) {
    std::optional<Tensor>& tensor = frames_.back().values.at(id);
    if (tensor) return *tensor;
    if (!frames_.back().sees_around || !around_) fail("it reads a value that is not there");
    tensor = capture(id);
    return *tensor;
}

Tensor Lowering::capture(stablehlo::ValueId id) {
    Tensor tensor = around_->value(id);
    bool is_input = false;
    for (Id* part : {&tensor.id, &tensor.imaginary}) {
        if (*part == no_id) continue;
        const Value given = around_->graph_value(*part);
        if (around_->is_empty(*part)) *part = empty(given.type, given.shape);
        else if (given.is_constant()) *part = builder_.constant(given.name, given.type, given.shape, given.data);
        else *part = builder_.input(given.name, given.type, given.shape), is_input = true;
    }
    if (is_input) captured_->push_back(id);
    return tensor;
}

// ---- the operation in hand ----------------------------------------------------------------------------------------

std::string Lowering::title() const {
    if (!op_) return fmt::format("StableHLO {}", name_);
    std::string text = fmt::format("{}.{}", op_->dialect == Dialect::chlo ? "chlo" : "stablehlo", op_->name);
    if (!op_->results.empty()) text += fmt::format(" of {}", to_string(result_type()));
    if (op_->location != 0) {
        const std::string where = to_string(program_, op_->location);
        if (!where.empty()) text += fmt::format(" at {}", where);
    }
    return text;
}

std::vector<Id> Lowering::append(tosavk::Op op, std::vector<Id> inputs, tosavk::Attributes attrs,
                                 std::span<const DType> output_types, const std::string& name) {
    try {
        return Emitter::append(op, std::move(inputs), std::move(attrs), output_types, name);
    } catch (const Error& e) {
        throw Error(e.code(), fmt::format("{}: {}", title(), e.what()), e.node(), e.operand());
    }
}

const Type& Lowering::type_of(stablehlo::ValueId id) const { return *frames_.back().function->values.at(id); }
const Type& Lowering::operand_type(std::size_t k) const { return type_of(op_->operands.at(k)); }
const Type& Lowering::result_type(std::size_t k) const { return type_of(op_->results.at(k)); }
Tensor Lowering::given(std::size_t k) {
    if (k >= op_->operands.size()) fail(fmt::format("it lacks operand {}", k));
    return value(op_->operands[k]);
}

Tensor Lowering::in(std::size_t k) {
    Tensor tensor = given(k);
    if (tensor.large)
        unsupported(fmt::format("its operand {}, a constant {}, needs more than 32 bits", k,
                                stablehlo::name_of(tensor.element)));
    return tensor;
}

Tensor Lowering::initial(std::size_t k, std::string_view combination) {
    const Tensor tensor = given(k);
    if (!tensor.large || tensor.large->size() != 1) return in(k);
    const std::int64_t v = tensor.large->front();
    const bool is_signed = tensor.element == Element::i64;
    const std::int64_t most = is_signed ? std::numeric_limits<std::int64_t>::max() : -1;
    const bool greatest = combination == "minimum" && v == most;
    const bool least = combination == "maximum" && is_signed && v == std::numeric_limits<std::int64_t>::min();
    if (!greatest && !least) return in(k);
    return number(tensor.element, static_cast<double>(greatest ? max_of(DType::i32) : min_of(DType::i32)));
}

std::vector<Tensor> Lowering::all_in() {
    std::vector<Tensor> all;
    for (std::size_t k = 0; k < operand_count(); ++k) all.push_back(in(k));
    return all;
}

void Lowering::set(const Tensor& tensor, std::size_t k) {
    const Type& type = result_type(k);
    if (type.quantization) unsupported("quantized types are not supported");
    if (!is_lifted() && tensor.id != no_id && shape(tensor.id) != static_shape(type))
        throw Error(ErrorCode::internal, fmt::format("{}: result {} has shape {} instead of {}", title(), k,
                                                     to_string(shape(tensor.id)), to_string(type)));
    // A region may be carried out in a wider type than its own.
    if (!is_lifted() && tensor.id != no_id && this->type(tensor.id) != dtype(type.element))
        throw Error(ErrorCode::internal,
                    fmt::format("{}: result {} has type {}", title(), k, tosavk::name_of(this->type(tensor.id))));
    frames_.back().values.at(op_->results.at(k)) = tensor;
}

const Region& Lowering::region(std::size_t k) const {
    if (k >= op_->regions.size()) fail(fmt::format("it lacks region {}", k));
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
    if (tensor.large) return *tensor.large;
    if (tensor.id == no_id || tensor.is_complex()) return std::nullopt;
    if (is_empty(tensor.id)) return std::vector<std::int64_t>();
    const Value& constant = graph_value(tensor.id);
    if (!constant.is_constant() || is_float(constant.type)) return std::nullopt;
    std::vector<std::int64_t> numbers = decode_ints(constant.type, *constant.data);
    const int bits = bits_of(tensor.element);
    if (is_unsigned_integer(tensor.element) && bits < 64)
        for (std::int64_t& v : numbers) v &= (std::int64_t{1} << bits) - 1;
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
            unsupported(fmt::format("{} is not supported: export the program with JAX's x64 mode off",
                                    stablehlo::name_of(element)));
        default: unsupported(fmt::format("the type {} is not supported", stablehlo::name_of(element)));
    }
}

Shape Lowering::static_shape(const Type& type) const {
    if (type.kind != Type::Kind::tensor) unsupported(fmt::format("{} is not supported", to_string(type)));
    if (type.quantization) unsupported("quantized types are not supported");
    for (const std::int64_t dim : type.dims)
        if (dim < 0) unsupported(fmt::format("the size of {} is not known", to_string(type)));
    return type.dims;
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
    if (element == Element::c64) tensor.imaginary = constant("0", of, ones, Bytes(size_of(of)));
    return tensor;
}

/// A dense constant in the graph's types.
void Lowering::lower_constant() {
    const Attribute* attribute = find(op_->attributes, "value");
    const auto* elements = attribute ? attribute->as<Elements>() : nullptr;
    if (!elements) fail("its value is no dense constant");
    const Element element = elements->type->element;
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
    const bool repeats = elements->splat && count > 16 && !is_lifted();
    const std::size_t stored = repeats ? 1 : count;
    const auto finish = [&](const std::string& what, Bytes bytes) {
        if (!repeats) return constant(what, to, shape, std::move(bytes));
        return tile_to(constant(what, to, Shape(shape.size(), 1), std::move(bytes)), shape);
    };
    Tensor result{element, no_id, no_id, whole_range(element)};
    if (element == Element::c64) {
        Bytes real(stored * 4), imaginary(stored * 4);
        for (std::size_t i = 0; i < stored; ++i) {
            std::memcpy(real.data() + i * 4, at(i).data(), 4);
            std::memcpy(imaginary.data() + i * 4, at(i).data() + 4, 4);
        }
        result.id = finish("real", std::move(real));
        result.imaginary = finish("imag", std::move(imaginary));
        return set(result);
    }
    Bytes bytes(stored * size_of(to));
    Range range{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    if (is_integer_element(element)) {
        std::vector<std::int64_t> values(stored);
        for (std::size_t i = 0; i < stored; ++i) {
            std::uint64_t bits = 0;
            std::memcpy(&bits, at(i).data(), size);
            const int unused = 64 - 8 * static_cast<int>(size);
            std::int64_t v = static_cast<std::int64_t>(bits);
            if (is_signed_integer(element) && unused > 0) v = static_cast<std::int64_t>(bits << unused) >> unused;
            range = range.joined({v, v});
            values[i] = v;
        }
        if (bits_of(element) == 64 && count > 0 && !whole_range(element).holds(range)) {
            if (count > max_known) unsupported("it needs more than 32 bits");
            result.large = std::make_shared<const std::vector<std::int64_t>>(std::move(values));
            return set(result);
        }
        bytes = encode_ints(to, values);
    } else {
        for (std::size_t i = 0; i < stored; ++i) std::memcpy(bytes.data() + i * size, at(i).data(), size);
    }
    const Tensor checked = count == 0 ? result : ranged(no_id, element, range);
    result.range = is_integer_element(element) ? checked.range : result.range;
    result.id = finish("constant", std::move(bytes));
    set(result);
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
    Range range{numbers.front(), numbers.front()};
    for (const std::int64_t v : numbers) range = range.joined({v, v});
    if (bits == 64 && !whole_range(element).holds(range)) {
        Tensor tensor{element, no_id, no_id, range};
        tensor.large = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers));
        return set(tensor);
    }
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
    // A large constant of one number stands for all of them.
    if (numbers.size() == 1 && count > 1 && count <= max_known) numbers.assign(count, numbers[0]);
    if (numbers.size() != count) return false;
    set_known(std::move(numbers));
    return true;
}

}  // namespace tosavk::stablehlo
