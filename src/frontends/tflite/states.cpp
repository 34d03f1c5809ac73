// Tensors that keep their values from run to run (is_variable): variables of the graph that begin with the quantized 0.
#include "frontends/tflite/lowering.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

ValueId Lowering::read_state(const TfliteTensor& tensor) {
    const DType type = dtype(tensor);
    if (depth_ > 0) unsupported(fmt::format("{} is a variable of a subgraph, which is not supported", tensor.title()));
    if (tensor.is_constant) fail(fmt::format("{} is a variable, but has constant data", tensor.title()));
    const bool is_known = type == DType::fp32 || type == DType::i8 || type == DType::i16;
    if (!is_known || tensor.type == tflite::TensorType::UINT8)
        unsupported(
            fmt::format("{} is a variable of type {}, which is not supported", tensor.title(), name_of(tensor.type)));
    if (tensor.is_empty() || std::find(tensor.dynamic.begin(), tensor.dynamic.end(), true) != tensor.dynamic.end())
        unsupported(fmt::format("{} is a variable whose size is not known", tensor.title()));
    // Its first value is made here: a size that no state has would take all memory.
    constexpr std::int64_t most = std::int64_t{1} << 28;
    if (element_count(tensor.shape) > most)
        unsupported(fmt::format("{} is a variable of {} elements, more than {}", tensor.title(),
                                element_count(tensor.shape), most));
    std::string& name = states_[tensor.index];
    if (name.empty()) {
        name = fmt::format("{}#{}", tensor.name.empty() ? "variable" : tensor.name, tensor.index);
        Bytes initial;
        if (type == DType::i8) {
            const std::int64_t zero = tensor.scale.empty() ? 0 : quant(tensor).zero_point;
            initial = encode_ints(
                type, std::vector<std::int64_t>(static_cast<std::size_t>(element_count(tensor.shape)), zero));
        }
        builder_.variable(name, type, tensor.shape, std::move(initial));
    }
    const ValueId id = builder_.variable_read(name, unique(op_name_ + "/state"));
    if (tensor.scale.size() == 1) {
        builder_.value(id).scale = tensor.scale[0];
        builder_.value(id).zero_point = tensor.zero_point.empty() ? 0 : quant(tensor).zero_point;
    }
    return values_[tensor.index] = id;
}

void Lowering::write_state(const TfliteTensor& tensor, ValueId id) {
    if (states_[tensor.index].empty()) read_state(tensor);
    if (shape(id) != tensor.shape)
        fail(fmt::format("{} of shape {} would become {}", tensor.title(), to_string(tensor.shape),
                         to_string(shape(id))));
    builder_.variable_write(states_[tensor.index], id, unique(op_name_ + "/keep"));
    values_[tensor.index] = id;
}

void Lowering::set_state(std::size_t k, ValueId id) {
    const TfliteTensor& tensor = in(k);
    if (!tensor.is_variable) fail(fmt::format("{} must be a variable", tensor.title()));
    if (type(id) != dtype(tensor))
        fail(fmt::format("{} has type {}, which the operator does not keep", tensor.title(), name_of(tensor.type)));
    write_state(tensor, id);
}

const TfliteTensor& Lowering::intermediate(std::size_t k) const {
    const auto* list = op_->table->intermediates();
    const std::size_t count = list ? list->size() : 0;
    if (k >= count) fail(fmt::format("it needs {} intermediates, but has {}", k + 1, count));
    return tensor(list->Get(static_cast<flatbuffers::uoffset_t>(k)));
}

const TfliteTensor& Lowering::tensor(std::int32_t index) const {
    if (index < 0 || static_cast<std::size_t>(index) >= graph_.tensors.size())
        fail(fmt::format("it names tensor {}, which does not exist", index));
    return graph_.tensors[static_cast<std::size_t>(index)];
}

}  // namespace tosavk
