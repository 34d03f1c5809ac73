// Inputs, constants, names and outputs of .tosa files, and the entry point for every generation.
#include "importers/tosa_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

TosaReader::TosaReader(const TosaFile& file, const ImportOptions& options)
    : builder_("main", *options.level), file_(file), values_(file.tensors.size(), no_id) {}

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
        if (d < 1 && !(d == 0 && tensor.type == DType::shape)) {
            throw Error(ErrorCode::bad_model,
                        fmt::format("TOSA file: constant {} has shape {}, but every dimension must be at least 1",
                                    tensor.title(), to_string(shape)), {}, tensor.name);
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
                                 tensor.title()), ErrorCode::unsupported);
            }
        }
    }
}

Graph TosaReader::run() {
    for (std::size_t k = 0; k < file_.inputs.size(); ++k) {
        const TosaFileTensor& tensor = file_.tensors[file_.inputs[k]];
        need_usable(tensor, fmt::format("graph input {}", k));
        values_[file_.inputs[k]] = builder_.input(tensor.name, tensor.type, tensor.shape);
    }
    for (const TosaFileOperator& op : file_.operators) {
        op_ = &op;
        name_ = op.location.empty() ? file_.tensors[op.outputs.at(0)].name : op.location;
        for (const auto* list : {&op.inputs, &op.outputs}) {
            for (const std::size_t id : *list) {
                need_usable(file_.tensors[id], fmt::format("{} '{}'", op.op_name, name_));
            }
        }
        lower();
    }
    op_ = nullptr;
    name_.clear();
    for (std::size_t k = 0; k < file_.outputs.size(); ++k) {
        const std::size_t index = file_.outputs[k];
        const TosaFileTensor& tensor = file_.tensors[index];
        need_usable(tensor, fmt::format("graph output {}", k));
        if (values_[index] == no_id && tensor.is_constant) values_[index] = make_constant(tensor, tensor.shape);
        if (values_[index] == no_id) {
            throw Error(ErrorCode::bad_model, fmt::format("TOSA file: graph output {} '{}' is never computed", k,
                                                          tensor.name), {}, tensor.name);
        }
        builder_.output(values_[index]);
    }
    return builder_.finish();
}

Graph import_tosa(std::span<const std::byte> bytes, const ImportOptions& options) {
    const TosaFile file(bytes, options.spec);
    return file.generation == TosaGeneration::v1_0 ? read_tosa_1_0(file, options) : read_tosa_old(file, options);
}

}  // namespace tosavk
