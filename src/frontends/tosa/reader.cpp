// Inputs, constants, names and outputs of .tosa files, and the entry point for every generation.
#include "frontends/tosa/reader.hpp"

#include "base/text.hpp"
#include "ops/builder.hpp"
#include "ops/custom.hpp"
#include "ops/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tosavk {

TosaReader::TosaReader(const TosaFile& file, const ImportOptions& options, Probe* probe)
    : builder_("main", *options.level),
      file_(file),
      values_(file.tensors.size(), no_id),
      variable_index_(file.tensors.size(), SIZE_MAX),
      level_(options.level),
      probe_(probe),
      refused_(file.tensors.size(), false) {
    builder_.use_customs(options.customs);
}

void TosaReader::fail(const std::string& what, ErrorCode code) const {
    throw Error(code, fmt::format("TOSA file: {} '{}': {}", op_->op_name, name_, what), name_);
}

void TosaReader::need_usable(const TosaFileTensor& tensor, const std::string& where) const {
    if (tensor.unusable.empty()) return;
    throw Error(ErrorCode::unsupported, fmt::format("TOSA file: {}: {}: {}", where, tensor.title(), tensor.unusable),
                name_, tensor.name);
}

void TosaReader::need_inputs(std::size_t count) const {
    if (op_->inputs.size() != count) fail(fmt::format("needs {} inputs, but has {}", count, op_->inputs.size()));
}

const TosaFileTensor& TosaReader::in(std::size_t k) const {
    if (k >= op_->inputs.size()) {
        fail(fmt::format("needs at least {} inputs, but has {}", k + 1, op_->inputs.size()));
    }
    return file_.tensors[op_->inputs[k]];
}

const TosaFileTensor& TosaReader::out(std::size_t k) const {
    if (k >= op_->outputs.size()) {
        fail(fmt::format("needs at least {} outputs, but has {}", k + 1, op_->outputs.size()));
    }
    return file_.tensors[op_->outputs[k]];
}

ValueId TosaReader::make_constant(const TosaFileTensor& tensor, const Shape& shape) {
    // The shape is checked before the product of its dimensions means anything.
    for (const std::int64_t d : shape) {
        if (d < 1 && !(d == 0 && (tensor.type == DType::shape || level_->empty_tensors))) {
            throw Error(ErrorCode::bad_model,
                        fmt::format("TOSA file: constant {} has shape {}, but every dimension must be at least 1",
                                    tensor.title(), to_string(shape)),
                        {}, tensor.name);
        }
    }
    const std::int64_t count = element_count(shape);
    // A hostile file can let any number of constants share their bytes.
    constant_bytes_ += std::min<std::uint64_t>(tensor.data.size(), static_cast<std::uint64_t>(count) * 8);
    if (constant_bytes_ > 16 * std::uint64_t{file_.size} + (1 << 26)) {
        throw Error(ErrorCode::bad_model, "TOSA file: its constants take more room than a file of its size can hold");
    }
    return builder_.constant(tensor.name, tensor.type, shape,
                             unpack_tosa(tensor.type, count, tensor.data, "constant " + tensor.title()));
}

ValueId TosaReader::value(std::size_t k) {
    const TosaFileTensor& tensor = in(k);
    ValueId& id = values_[op_->inputs[k]];
    if (id == no_id && tensor.is_constant) id = make_constant(tensor, tensor.shape);
    if (tensor.is_variable) fail(fmt::format("it uses variable '{}' without VARIABLE_READ", tensor.name));
    if (id == no_id && refused_[op_->inputs[k]])
        fail(fmt::format("it reads {}, and what makes it is refused", tensor.title()));
    if (id == no_id) fail(fmt::format("it reads {}, which nothing computes", tensor.title()));
    return id;
}

std::vector<ValueId> TosaReader::values() {
    std::vector<ValueId> all;
    for (std::size_t k = 0; k < op_->inputs.size(); ++k) all.push_back(value(k));
    return all;
}

void TosaReader::add_last(Op op, std::vector<ValueId> inputs, Attributes attrs) {
    if (op_->outputs.size() != 1) fail(fmt::format("needs 1 output, but has {}", op_->outputs.size()));
    finish(0, builder_.add1(op, std::move(inputs), out().type, std::move(attrs), name_));
}

void TosaReader::finish(std::size_t k, ValueId id) {
    const TosaFileTensor& tensor = out(k);
    Value& v = builder_.value(id);
    if (v.type != tensor.type || v.shape != tensor.shape) {
        fail(fmt::format("output {} '{}' is {} {} in the file, but the operator computes {} {}", k, tensor.name,
                         name_of(tensor.type), to_string(tensor.shape), name_of(v.type), to_string(v.shape)));
    }
    v.name = tensor.name;
    values_[op_->outputs[k]] = id;
}

void TosaReader::check_types(const OpDef& def) const {
    const auto known = [&](DType type) {
        if (type == DType::shape) return true;  // in a wrong place it is an error, not a gap
        for (const auto* rows : {&def.rows, &def.upgrade_rows}) {
            for (const TypeRow& row : *rows) {
                if (std::find(row.types.begin(), row.types.end(), type) != row.types.end()) return true;
            }
        }
        return std::any_of(def.inputs.begin(), def.inputs.end(),
                           [&](const ArgDef& arg) { return name_of(type) == arg.type; });
    };
    for (const auto* list : {&op_->inputs, &op_->outputs}) {
        for (const std::size_t id : *list) {
            const TosaFileTensor& tensor = file_.tensors[id];
            if (!known(tensor.type)) {
                fail(fmt::format("type {} of {} is not supported by this operator", name_of(tensor.type),
                                 tensor.title()),
                     ErrorCode::unsupported);
            }
        }
    }
}

template <class Step> std::string TosaReader::attempt(const Step& step) {
    try {
        step();
    } catch (const Error& e) {
        if (!probe_) throw;
        return e.what();
    }
    return {};
}

/// A stand-in for what a refused operator, or a refused graph input, would be; none where it has no type or shape.
void TosaReader::declare_refused(std::size_t id) {
    const TosaFileTensor& tensor = file_.tensors[id];
    refused_[id] = true;
    if (!tensor.unusable.empty() || tensor.is_variable || tensor.is_constant) return;
    attempt([&] { values_[id] = builder_.input(tensor.name, tensor.type, tensor.shape); });
}

void TosaReader::read_operator(const TosaFileOperator& op) {
    op_ = &op;
    if (!op.location.empty()) name_ = op.location;
    else if (!op.outputs.empty()) name_ = file_.tensors[op.outputs[0]].name;
    else name_ = op.variable != SIZE_MAX ? file_.tensors[op.variable].name : std::string();
    if (!op.unsupported.empty()) {
        throw Error(op.is_damaged ? ErrorCode::bad_model : ErrorCode::unsupported, "TOSA file: " + op.unsupported,
                    name_);
    }
    for (const auto* list : {&op.inputs, &op.outputs}) {
        for (const std::size_t id : *list) need_usable(file_.tensors[id], fmt::format("{} '{}'", op.op_name, name_));
    }
    if (!lower_structural()) lower();
}

void TosaReader::read_output(const TosaFileBlock& block, std::size_t k) {
    const std::size_t index = block.outputs[k];
    const TosaFileTensor& tensor = file_.tensors[index];
    need_usable(tensor, fmt::format("{}'s output {}", block.title, k));
    if (values_[index] == no_id && tensor.is_constant) values_[index] = make_constant(tensor, tensor.shape);
    if (values_[index] == no_id) {
        throw Error(ErrorCode::bad_model,
                    fmt::format("TOSA file: {}'s output {} '{}' is never computed", block.title, k, tensor.name), {},
                    tensor.name);
    }
    builder_.output(values_[index]);
}

/// Inputs are there already; adds the operators and the outputs.
void TosaReader::read_block(const TosaFileBlock& block) {
    const TosaFileOperator* outer_op = op_;
    const std::string outer_name = name_;
    for (const TosaFileOperator& op : block.operators) {
        const std::string sentence = attempt([&] { read_operator(op); });
        if (!probe_) continue;
        const bool is_custom = op.op == Op::custom, is_foreign = is_custom && op.custom_domain != own_domain;
        const std::string title = fmt::format("'{}.{}'", op.custom_domain, op.custom_name);
        const auto& customs = builder_.customs();
        const bool is_unknown = is_foreign && !(customs && customs->find(op.custom_domain, op.custom_name));
        probe_->operator_seen(region_, op.index, is_custom ? op.op_name + " " + title : op.op_name, sentence,
                              is_unknown ? custom_needs : "");
        if (sentence.empty()) continue;
        ++refused_operators_;
        for (const std::size_t id : op.outputs) declare_refused(id);
    }
    op_ = nullptr;
    name_.clear();
    for (std::size_t k = 0; k < block.outputs.size(); ++k) {
        const bool in_graph = region_.empty();
        const std::string sentence = in_graph ? attempt([&] { read_output(block, k); }) : std::string();
        if (!in_graph) read_output(block, k);
        else if (!sentence.empty() && !refused_[block.outputs[k]]) probe_->refuse_graph(sentence);
    }
    op_ = outer_op;
    name_ = outer_name;
}

void TosaReader::read_variable(std::size_t id) {
    const TosaFileTensor& tensor = file_.tensors[id];
    need_usable(tensor, "variables");
    if (tensor.type == DType::shape)
        throw Error(ErrorCode::bad_model, fmt::format("TOSA file: variable '{}' has type SHAPE", tensor.name));
    const bool taken = std::any_of(variables_.begin(), variables_.end(),
                                   [&](const Variable& v) { return v.name == tensor.variable_name; });
    const std::string name = tensor.variable_name.empty() || taken ? tensor.name : tensor.variable_name;
    const std::int64_t count = element_count(tensor.shape);
    Bytes initial;
    if (!tensor.data.empty()) initial = unpack_tosa(tensor.type, count, tensor.data, "variable '" + tensor.name + "'");
    builder_.variable(name, tensor.type, tensor.shape, std::move(initial));
    variable_index_[id] = variables_.size();
    variables_.push_back(builder_.graph().variables.back());
}

void TosaReader::read_graph() {
    const TosaFileBlock& main = file_.blocks.front();
    const auto tell = [&](const std::string& sentence) {
        if (!sentence.empty()) probe_->refuse_graph(sentence);
        return !sentence.empty();
    };
    for (const std::size_t id : file_.variables) tell(attempt([&] { read_variable(id); }));
    for (std::size_t k = 0; k < main.inputs.size(); ++k) {
        const TosaFileTensor& tensor = file_.tensors[main.inputs[k]];
        const bool refused = tell(attempt([&] {
            need_usable(tensor, fmt::format("graph input {}", k));
            values_[main.inputs[k]] = builder_.input(tensor.name, tensor.type, tensor.shape);
        }));
        if (refused) declare_refused(main.inputs[k]);
    }
    read_block(main);
}

Graph TosaReader::run() {
    read_graph();
    return builder_.finish();
}

void TosaReader::probe() { read_graph(); }

// ---- control flow, variables, CUSTOM ------------------------------------------------------------------------------

const Variable& TosaReader::variable_of(std::size_t tensor) const {
    const std::size_t index = variable_index_.at(tensor);
    if (index == SIZE_MAX) fail(fmt::format("it uses {}, which is refused", file_.tensors[tensor].title()));
    return variables_[index];
}

void TosaReader::finish_all(const std::vector<ValueId>& ids) {
    for (std::size_t k = 0; k < ids.size(); ++k) finish(k, ids[k]);
}

bool TosaReader::lower_structural() {
    switch (op_->op) {
        case Op::cond_if:
        case Op::while_loop: lower_control(); return true;
        case Op::variable: return true;  // declared already
        case Op::variable_read:
            check_types(op_def(op_->op));
            builder_.variable(variable_of(op_->variable));
            finish(0, builder_.variable_read(variable_of(op_->variable).name, name_));
            return true;
        case Op::variable_write:
            check_types(op_def(op_->op));
            builder_.variable(variable_of(op_->variable));
            builder_.variable_write(variable_of(op_->variable).name, value(0), name_);
            return true;
        case Op::custom: {
            if (op_->custom_domain == own_domain) return lower_own(), true;
            std::vector<OutputType> outputs;
            for (const std::size_t id : op_->outputs)
                outputs.push_back({file_.tensors[id].type, file_.tensors[id].shape});
            finish_all(
                builder_.custom(op_->custom_domain, op_->custom_name, op_->custom_attrs, values(), outputs, name_));
            return true;
        }
        default: return false;
    }
}

/// An operator of our own: its attributes are the text that attributes_text() made of them.
void TosaReader::lower_own() {
    const OpDef* def = find_op(std::string_view(op_->custom_name));
    if (def == nullptr || !is_own(def->op)) {
        fail(fmt::format("domain '{}' has no operator '{}'", own_domain, op_->custom_name), ErrorCode::unsupported);
    }
    check_types(*def);
    Attributes attrs;
    const std::string wrong = read_attributes(*def, op_->custom_attrs, attrs);
    if (!wrong.empty()) fail(fmt::format("operator {}: {}", def->name, wrong));
    std::vector<DType> types;
    for (const std::size_t id : op_->outputs) types.push_back(file_.tensors[id].type);
    finish_all(builder_.add(def->op, values(), std::move(attrs), types, name_));
}

/// What the regions capture becomes part of the tensor list; a loop hands it on unchanged.
void TosaReader::lower_control() {
    const TosaFileOperator& op = *op_;
    if (op.blocks.size() != 2) fail("it needs two regions");
    const bool is_loop = op.op == Op::while_loop;
    std::vector<std::size_t> captures = file_.blocks[op.blocks[0]].captures;
    for (const std::size_t id : file_.blocks[op.blocks[1]].captures) {
        if (std::find(captures.begin(), captures.end(), id) == captures.end()) captures.push_back(id);
    }
    std::vector<ValueId> list = values();
    for (const std::size_t id : captures) {
        if (values_[id] == no_id)
            fail(fmt::format("its regions read {}, {}", file_.tensors[id].title(),
                             refused_[id] ? "and what makes it is refused" : "which nothing computes"));
        list.push_back(values_[id]);
    }
    if (!is_loop && op.inputs.empty()) fail("it needs a condition");
    std::string refused;
    Graph first = region(op.blocks[0], captures, false, refused);
    Graph second = region(op.blocks[1], captures, is_loop, refused);
    if (!refused.empty()) throw Error(ErrorCode::unsupported, refused, name_);
    for (const Graph* region : {&first, &second}) {
        for (const Variable& v : region->variables) builder_.variable(v);
    }
    std::vector<ValueId> made;
    if (is_loop) {
        made = builder_.while_loop(std::move(list), std::move(first), std::move(second), name_);
        if (made.size() < captures.size() || made.size() - captures.size() != op.outputs.size()) {
            fail(fmt::format("it has {} outputs, but its list has {} tensors", op.outputs.size(),
                             made.size() - captures.size()));
        }
        made.resize(op.outputs.size());
    } else {
        const ValueId condition = list.front();
        list.erase(list.begin());
        made = builder_.cond_if(condition, std::move(list), std::move(first), std::move(second), name_);
        if (made.size() != op.outputs.size())
            fail(fmt::format("it has {} outputs, but its regions give {}", op.outputs.size(), made.size()));
    }
    finish_all(made);
}

/// While probing, why the region is of no use goes to `refused`, so that the operator's other one is looked at too.
Graph TosaReader::region(std::size_t number, const std::vector<std::size_t>& captures, bool hands_on,
                         std::string& refused) {
    GraphBuilder outer(file_.blocks[number].title, *level_);
    outer.use_customs(builder_.customs());
    std::swap(outer, builder_);
    std::vector<ValueId> values(file_.tensors.size(), no_id);
    std::swap(values, values_);
    const std::string outer_region = std::exchange(region_, file_.blocks[number].title);
    const std::size_t refused_before = refused_operators_;
    const TosaFileOperator* const op = op_;
    const std::string name = name_;
    const int depth = depth_;
    Graph made;
    std::string sentence = attempt([&] { made = read_region(number, captures, hands_on); });
    if (sentence.empty() && refused_operators_ > refused_before)
        sentence = fmt::format("TOSA file: {} '{}': {} has operators that are refused", op->op_name, name, region_);
    if (refused.empty()) refused = sentence;
    std::swap(outer, builder_);
    std::swap(values, values_);
    region_ = outer_region;
    op_ = op;
    name_ = name;
    depth_ = depth;
    return made;
}

/// `hands_on`: the captured values are outputs too.
Graph TosaReader::read_region(std::size_t number, const std::vector<std::size_t>& captures, bool hands_on) {
    // A region that many operators name is read for each of them.
    if (++regions_read_ > max_tosa_regions)
        throw Error(ErrorCode::unsupported,
                    fmt::format("TOSA file: its operators name more than {} regions", max_tosa_regions));
    if (++depth_ > level_->max_nesting) {
        fail(fmt::format("control flow is nested {} deep, but level {} allows {}", depth_, level_->name,
                         level_->max_nesting));
    }
    const TosaFileBlock& block = file_.blocks[number];
    const auto add_input = [&](std::size_t id, const std::string& name) {
        const TosaFileTensor& tensor = file_.tensors[id];
        need_usable(tensor, block.title + "'s inputs");
        values_[id] = builder_.input(name, tensor.type, tensor.shape);
    };
    UniqueNames names;
    for (const auto* ends : {&block.inputs, &block.outputs}) {
        for (const std::size_t id : *ends) {
            if (file_.tensors[id].block == number) names.give(file_.tensors[id].name);
        }
    }
    for (const std::size_t id : block.inputs) add_input(id, file_.tensors[id].name);
    // What the other region captures may have a name that this one has a tensor for.
    for (const std::size_t id : captures) add_input(id, names.give(file_.tensors[id].name));
    read_block(block);
    if (hands_on) {
        for (const std::size_t id : captures) builder_.output(values_[id]);
    }
    return builder_.finish_region();
}

namespace {

std::unique_ptr<TosaReader> reader_of(const TosaFile& file, const ImportOptions& options, Probe* probe = nullptr) {
    return file.generation == TosaGeneration::v1_0 ? tosa_reader_1_0(file, options, probe)
                                                   : tosa_reader_old(file, options, probe);
}

}  // namespace

Graph import_tosa(std::span<const std::byte> bytes, const ImportOptions& options) {
    const TosaFile file(bytes, options.spec);
    return reader_of(file, options)->run();
}

ProbeReport probe_tosa(std::span<const std::byte> bytes, const ImportOptions& options) {
    const TosaFile file(bytes, options.spec);
    Probe probe("tosa");
    reader_of(file, options, &probe)->probe();
    std::string load_error;
    try {
        reader_of(file, options)->run();
    } catch (const Error& e) {
        load_error = e.what();
    }
    return probe.finish(load_error);
}

}  // namespace tosavk
