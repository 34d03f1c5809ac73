// The TFLite importer: graph inputs, the operators in execution order, graph outputs.
#include "frontends/tflite/tflite.hpp"
#include "frontends/tflite/lowering.hpp"
#include "ops/builder.hpp"
#include "ops/empty.hpp"
#include "reference/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tosavk {

namespace {

constexpr std::int64_t max_folded_elements = std::int64_t{1} << 24;
/// Of floats and truth values: shapes are computed of so few, and what a network computes of larger constants stays as
/// it is.
constexpr std::int64_t max_shape_elements = 256;

bool may_be_of_a_shape(tflite::TensorType type) {
    return type == tflite::TensorType::FLOAT32 || type == tflite::TensorType::BOOL;
}

}  // namespace

void Lowering::drop_unused_constants(Graph& graph) {
    std::vector<bool> used(graph.values.size(), false);
    for (const Node& node : graph.nodes) {
        for (const ValueId id : node.inputs) used[id] = true;
        for (const ValueId id : node.outputs) used[id] = true;
    }
    for (const ValueId id : graph.inputs) used[id] = true;
    for (const ValueId id : graph.outputs) used[id] = true;
    std::vector<ValueId> moved(graph.values.size(), no_id);
    std::vector<Value> values;
    for (ValueId id = 0; id < graph.values.size(); ++id) {
        if (!used[id]) continue;
        moved[id] = static_cast<ValueId>(values.size());
        values.push_back(std::move(graph.values[id]));
    }
    graph.values = std::move(values);
    const auto renumber = [&](std::vector<ValueId>& ids) {
        for (ValueId& id : ids) id = moved[id];
    };
    for (Node& node : graph.nodes) renumber(node.inputs), renumber(node.outputs);
    renumber(graph.inputs);
    renumber(graph.outputs);
}

Lowering::Lowering(const TfliteFile& file, const ImportOptions& options, Probe* probe)
    : Emitter(&builder_),
      file_(file),
      graph_(file.main),
      options_(options),
      probe_(probe),
      builder_(file.main.name.empty() ? "main" : file.main.name, with_empty(*options.level)),
      values_(graph_.tensors.size(), no_id),
      produced_(graph_.tensors.size(), false),
      states_(graph_.tensors.size()),
      refused_(graph_.tensors.size(), false) {}

void Lowering::add_input(std::size_t k, UniqueNames& names) {
    const TfliteTensor& tensor = graph_.tensors[static_cast<std::size_t>(graph_.inputs[k])];
    const std::string where = fmt::format("TFLite graph input {} ({})", k, tensor.title());
    const auto refuse = [&](ErrorCode code, const std::string& what) {
        throw Error(code, where + ": " + what, {}, tensor.name);
    };
    if (!tensor.unsupported.empty()) refuse(ErrorCode::unsupported, std::string(tensor.unsupported));
    if (tensor.is_variable) refuse(ErrorCode::unsupported, "variables are not supported");
    if (tensor.is_constant) refuse(ErrorCode::bad_model, "a constant cannot be a graph input");
    if (produced_[tensor.index]) refuse(ErrorCode::bad_model, "the same tensor is listed twice");
    DType type{};
    switch (tensor.type) {
        case tflite::TensorType::FLOAT32: type = DType::fp32; break;
        case tflite::TensorType::FLOAT16: type = DType::fp16; break;
        case tflite::TensorType::INT8:
        case tflite::TensorType::UINT8: type = DType::i8; break;
        case tflite::TensorType::INT16: type = DType::i16; break;
        case tflite::TensorType::INT32:
        case tflite::TensorType::INT64: type = DType::i32; break;
        case tflite::TensorType::BOOL: type = DType::boolean; break;
        default: refuse(ErrorCode::unsupported, fmt::format("type {} is not supported", name_of(tensor.type)));
    }
    Shape shape = tensor.shape;
    const auto wanted = options_.input_shapes.find(k);
    if (wanted != options_.input_shapes.end() && wanted->second.size() != shape.size()) {
        refuse(ErrorCode::bad_input,
               fmt::format("shape {} was given, but its rank is {}", to_string(wanted->second), shape.size()));
    }
    for (std::size_t d = 0; d < shape.size(); ++d) {
        const std::int64_t given = wanted != options_.input_shapes.end() ? wanted->second[d] : 0;
        if (tensor.dynamic[d]) {
            shape[d] = given == 0 ? 1 : given;
        } else if (given != 0 && given != shape[d]) {
            refuse(ErrorCode::bad_input, fmt::format("shape {} was given, but dimension {} is {} in the model",
                                                     to_string(wanted->second), d, shape[d]));
        }
        if (shape[d] < 0)
            refuse(given != 0 ? ErrorCode::bad_input : ErrorCode::bad_model,
                   fmt::format("dimension {} is {}", d, shape[d]));
    }
    const std::string name = names.give(tensor.name.empty() ? fmt::format("input_{}", k) : tensor.name);
    const ValueId id = builder_.input(name, type, shape);
    describe_end(builder_.value(id), tensor);
    produced_[tensor.index] = true;
    if (has_no_elements(shape)) values_[tensor.index] = empty(type, shape);
    else values_[tensor.index] = tensor.type == tflite::TensorType::UINT8 ? flip_sign(id, unique(name)) : id;
}

void Lowering::describe_end(Value& value, const TfliteTensor& tensor) const {
    note_quantization(value, tensor);
    if (value.scale != 0) value.zero_point += stored_bias(tensor);
    if (tensor.type == tflite::TensorType::UINT8) value.declared = HostKind::u8;
    if (tensor.type == tflite::TensorType::INT64) value.declared = HostKind::i64;
}

ValueId Lowering::flip_sign(ValueId id, const std::string& name) {
    const Shape one(shape(id).size(), 1);
    const ValueId bit = builder_.constant(name + "/sign", DType::i8, one, Bytes{std::byte{0x80}});
    return builder_.add1(tosavk::Op::bitwise_xor, {id, bit}, DType::i8, {}, name);
}

void Lowering::check_foldable() const {
    for (const Value& v : builder_.graph().values) {
        if (!v.is_constant() && element_count(v.shape) > max_folded_elements)
            unsupported("it computes a constant of more than 2^24 elements");
    }
}

/// What the graph in hand, which has no inputs, computes of the operator's outputs.
std::vector<Value> Lowering::fold_results() const {
    std::vector<ValueId> ids;
    for (std::size_t k = 0; k < op_->outputs.size(); ++k) {
        if (!set_[k]) fail("an output was not computed");
        ids.push_back(values_[out(k).index]);
    }
    check_foldable();
    const std::vector<HostTensor> all = reference_run(builder_.graph(), {}, /*keep_all=*/true);
    std::vector<Value> results;
    for (const ValueId id : ids) {
        Value v = graph_value(id);
        if (!v.is_constant() && !is_empty(id)) v.data = all.at(id).bytes;
        results.push_back(std::move(v));
    }
    return results;
}

// Shape arithmetic and moved constants become constants, so that what needs a constant finds one.
bool Lowering::fold_operator() {
    const OperatorRow& row = *row_;
    std::int64_t elements = 0, most = max_folded_elements;
    if (op_->inputs.empty() || op_->outputs.empty()) return false;
    if (row.is(has_regions) || has_complex()) return false;
    for (std::size_t k = 0; k < op_->inputs.size(); ++k) {
        if (!has_input(k)) continue;
        const TfliteTensor& tensor = in(k);
        if (!constant(k) || !tensor.unsupported.empty()) return false;
        if (row.is(rounds_halves) && tensor.type == tflite::TensorType::FLOAT16) return false;
        elements += element_count(values_[tensor.index] != no_id ? shape(values_[tensor.index]) : tensor.shape);
    }
    for (std::size_t k = 0; k < op_->outputs.size(); ++k) {
        if (out(k).is_empty()) return false;
        const tflite::TensorType type = out(k).type;
        if (row.is(moves_data) || type == tflite::TensorType::INT32 || type == tflite::TensorType::INT64) continue;
        if (!may_be_of_a_shape(type)) return false;
        most = max_shape_elements;
    }
    if (elements > most) return false;

    // The operator is lowered into a graph of its own, which the reference runs.
    GraphBuilder main("constants", level());
    std::swap(main, builder_);
    const std::vector<ValueId> main_values = values_;
    auto main_splats = exchange_splats();
    const auto restore = [&] {
        std::swap(main, builder_);
        values_ = main_values;
        exchange_splats(std::move(main_splats));
    };
    first_value_ = 0;
    for (std::size_t k = 0; k < op_->inputs.size(); ++k) {
        if (!has_input(k)) continue;
        const ValueId known = main_values[in(k).index];
        if (known == no_id) continue;
        const Value& v = main.value(known);
        values_[in(k).index] = builder_.constant(v.name, v.type, v.shape, v.data);
    }
    std::vector<Value> results;
    try {
        row.lower(*this);
        results = fold_results();
    } catch (...) {
        restore();
        throw;
    }
    restore();
    for (std::size_t k = 0; k < op_->outputs.size(); ++k) {
        const Value& v = results[k];
        if (!v.is_constant()) {
            values_[out(k).index] = empty(v.type, v.shape);
            continue;
        }
        const ValueId id = builder_.constant(v.name, v.type, v.shape, v.data);
        builder_.value(id).scale = v.scale;
        builder_.value(id).zero_point = v.zero_point;
        values_[out(k).index] = id;
    }
    return true;
}

/// Operators that move data, SHAPE and reductions take tensors without elements as they take others. Of the rest, what
/// the file gives no elements is not computed.
bool Lowering::lower_empty() {
    const OperatorRow& row = *row_;
    if (row.is(moves_data) || row.is(asks_shape) || row.is(takes_axes)) return false;
    bool reads = false;
    for (std::size_t k = 0; k < op_->inputs.size(); ++k) {
        if (!has_input(k)) continue;
        const ValueId id = values_[in(k).index];
        reads = reads || (id == no_id ? in(k).is_empty() : is_empty(id));
    }
    if (!reads) return false;
    for (std::size_t k = 0; k < op_->outputs.size(); ++k) {
        if (!out(k).is_empty()) unsupported("it makes elements of a tensor without any");
        set(empty(dtype(out(k)), out(k).shape), k);
    }
    return true;
}

void Lowering::check_output(ValueId id) const {
    if (is_empty(id)) unsupported(fmt::format("its shape {} has no elements", to_string(shape(id))));
}

void Lowering::lower_operator() {
    row_ = find_operator_row(op_->code, op_->custom);
    if (!row_)
        throw Error(ErrorCode::unsupported,
                    fmt::format("TFLite operator {} (node {}) is not {}", op_->name, op_index_,
                                op_->is_known ? "supported" : "known"),
                    op_name_);
    for (std::size_t k = 0; k < op_->outputs.size(); ++k) {
        const TfliteTensor& tensor = out(k);
        if (tensor.is_constant) fail(fmt::format("writes {}, which is a constant", tensor.title()));
        const auto before = op_->outputs.first(k);
        if (std::find(before.begin(), before.end(), op_->outputs[k]) != before.end())
            fail(fmt::format("writes {} twice", tensor.title()));
        produced_[tensor.index] = true;
    }
    set_.assign(op_->outputs.size(), false);
    region_refused_.clear();
    const bool wide = follow_ranges();
    if (!lower_wide(wide) && !lower_empty() && !fold_operator()) {
        first_value_ = builder_.graph().values.size();
        if (row_->is(moves_data) && has_complex()) lower_complex_parts();
        else if (row_->is(rounds_halves)) lower_halves();
        else row_->lower(*this);
    }
    for (std::size_t k = 0; k < op_->outputs.size(); ++k) {
        if (!set_[k]) unsupported(fmt::format("output {} is not supported", k));
    }
}

void Lowering::add_output(std::size_t k, UniqueNames& names, std::set<ValueId>& used) {
    const TfliteTensor& tensor = graph_.tensors[static_cast<std::size_t>(graph_.outputs[k])];
    ValueId id = values_[tensor.index];
    end_ = fmt::format("graph output {}", k);
    if (complex_.contains(tensor.index))
        unsupported(fmt::format("type COMPLEX64 of {} is not supported", tensor.title()));
    if (packed_bits(tensor.type) != 0)
        unsupported(fmt::format("type {} of {} is not supported", name_of(tensor.type), tensor.title()));
    const std::string base = tensor.name.empty() ? fmt::format("output_{}", k) : tensor.name;
    if (const auto parts = wide_.find(tensor.index); parts != wide_.end()) {
        // The two words of each number lie side by side.
        std::vector<ValueId> both(parts->second.begin(), parts->second.end());
        Shape one = shape(both[0]);
        one.push_back(1);
        for (ValueId& part : both) part = reshape(part, one);
        const ValueId joined = concat(std::move(both), one.size() - 1);
        builder_.value(joined).declared = HostKind::i64_words;
        builder_.value(joined).name = names.give(base);
        return builder_.output(joined);
    }
    if (id == no_id && tensor.is_constant) id = constant_value(tensor);
    if (id == no_id)
        throw Error(ErrorCode::bad_model,
                    fmt::format("TFLite graph output {} ({}) is never computed", k, tensor.title()));
    if (is_empty(id)) {
        const ValueId none = builder_.constant(names.give(base), type(id), shape(id), Bytes());
        describe_end(builder_.value(none), tensor);
        return builder_.output(none);
    }
    // A value that is an input, a constant or an output already cannot carry this output's name.
    if (tensor.type == tflite::TensorType::UINT8) id = flip_sign(id, unique(base));
    if (builder_.value(id).is_constant() || !used.insert(id).second) {
        id = builder_.add1(tosavk::Op::identity, {id}, builder_.value(id).type, {}, unique(base));
        used.insert(id);
    }
    describe_end(builder_.value(id), tensor);
    builder_.value(id).name = names.give(base);
    builder_.output(id);
}

void Lowering::add_ends(bool outputs) {
    const std::span<const std::int32_t> ends = outputs ? graph_.outputs : graph_.inputs;
    UniqueNames names;
    std::set<ValueId> used;
    for (const ValueId id : builder_.graph().inputs) names.give(builder_.value(id).name), used.insert(id);
    for (std::size_t k = 0; k < ends.size(); ++k) {
        try {
            if (outputs) add_output(k, names, used);
            else add_input(k, names);
        } catch (const Error& e) {
            if (!probe_) throw;
            const TfliteTensor& tensor = graph_.tensors[static_cast<std::size_t>(ends[k])];
            if (!outputs || !refused_[tensor.index]) probe_->refuse_graph(e.what());
            if (!outputs && !produced_[tensor.index]) declare_refused(tensor);
        }
    }
}

/// A stand-in for what a refused operator, or a refused graph input, would be; none where it has no type or shape.
void Lowering::declare_refused(const TfliteTensor& tensor) {
    values_[tensor.index] = no_id;
    produced_[tensor.index] = refused_[tensor.index] = true;
    try {
        check_usable(tensor);
        const DType type = dtype(tensor);
        Shape shape = tensor.shape;
        for (std::size_t d = 0; d < shape.size(); ++d) {
            if (tensor.dynamic[d]) shape[d] = std::max<std::int64_t>(shape[d], 1);
        }
        values_[tensor.index] = std::find(shape.begin(), shape.end(), 0) != shape.end()
                                  ? empty(type, shape)
                                  : builder_.input(tensor.name, type, shape);
    } catch (const Error&) {
        // Who reads it says why it cannot.
    }
}

void Lowering::probe_operator() {
    std::string sentence;
    try {
        lower_operator();
    } catch (const Error& e) {
        sentence = e.what();
        ++refused_operators_;
    }
    probe_->operator_seen(region_, op_index_, op_->name, sentence);
    for (const std::int32_t tensor : op_->outputs) {
        const TfliteTensor& output = graph_.tensors[static_cast<std::size_t>(tensor)];
        if (sentence.empty()) refused_[output.index] = false;
        else if (!output.is_constant) declare_refused(output);
    }
}

void Lowering::lower_operators() {
    for (op_index_ = 0; op_index_ < graph_.operators.size(); ++op_index_) {
        op_ = &graph_.operators[op_index_];
        const TfliteTensor* first = op_->outputs.empty() ? nullptr : &out(0);
        op_name_ = first && !first->name.empty() ? first->name : fmt::format("node_{}", op_index_);
        scope(op_name_, op_name_, /*numbered=*/true);
        if (probe_) probe_operator();
        else lower_operator();
    }
    op_ = nullptr;
    op_name_.clear();
    scope({}, {}, true);
}

Graph Lowering::run() {
    add_ends(/*outputs=*/false);
    lower_operators();
    add_ends(/*outputs=*/true);
    Graph graph = without_empty(builder_.finish());
    drop_unused_constants(graph);
    return graph;
}

void Lowering::probe() {
    add_ends(/*outputs=*/false);
    lower_operators();
    add_ends(/*outputs=*/true);
}

Signature Lowering::signature() {
    add_ends(/*outputs=*/false);
    Signature signature = signature_of(builder_.graph());
    for (std::size_t k = 0; k < graph_.inputs.size(); ++k) {
        if (!options_.input_shapes.contains(k))
            signature.inputs[k].open = graph_.tensors[static_cast<std::size_t>(graph_.inputs[k])].dynamic;
    }
    signature.output_count = graph_.outputs.size();
    return signature;
}

Graph import_tflite(std::span<const std::byte> file, const ImportOptions& options) {
    const TfliteFile model(file, options);
    return Lowering(model, options).run();
}

Signature tflite_signature(std::span<const std::byte> file, const ImportOptions& options) {
    const TfliteFile model(file, options);
    return Lowering(model, options).signature();
}

ProbeReport probe_tflite(std::span<const std::byte> file, const ImportOptions& options) {
    const TfliteFile model(file, options);
    Probe probe("tflite");
    Lowering(model, options, &probe).probe();
    std::string load_error;
    try {
        Lowering(model, options).run();
    } catch (const Error& e) {
        load_error = e.what();
    }
    return probe.finish(load_error);
}

}  // namespace tosavk
