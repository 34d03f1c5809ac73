#include "kernels/common/tensors.hpp"

namespace tosavk {

std::uint64_t value_bytes(const Graph& graph, ValueId id) {
    const Value& value = graph.value(id);
    return allocation_bytes(static_cast<std::uint64_t>(element_count(value.shape)) * size_of(value.type), value.type);
}

std::uint64_t operand_bytes(const Graph& graph, const KernelOperand& operand,
                            const std::vector<std::uint64_t>& scratch) {
    if (operand.scratch >= 0)
        return allocation_bytes(scratch.at(static_cast<std::size_t>(operand.scratch)), operand.type);
    if (operand.value != no_id) return value_bytes(graph, operand.value);
    return allocation_bytes(std::max<std::uint64_t>(operand.packed.size(), 1), operand.type);
}

ReadPath path_of(std::uint64_t bytes, DType type, const DevicePlan& device) {
    return (bytes + 32) / texel_bytes(type) < device.texel_elements ? ReadPath::texels : ReadPath::buffer;
}

bool has_load8(std::uint64_t bytes, DType type, const DevicePlan& device) {
    if (is_texels(path_of(bytes, type, device))) return type == DType::i8;
    if (binding_count(bytes, device) != 1) return false;
    // Eight bytes are a small load where neighbouring ones are one, and nothing takes 64-bit components.
    if (type == DType::i8 && device.lanes_together > 1) return true;
    if (type == DType::fp16) return device.fast_fp16 && !device.slow_storage;
    const bool plain = type == DType::i8 || type == DType::i32 || type == DType::fp32;
    return plain && device.slow_storage && device.int64;
}

bool has_words16(std::uint64_t bytes, DType type, const DevicePlan& device) {
    return type == DType::i8 && !is_texels(path_of(bytes, type, device)) && binding_count(bytes, device) == 1;
}

}  // namespace tosavk
