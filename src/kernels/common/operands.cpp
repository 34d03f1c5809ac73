#include "kernels/common/operands.hpp"

#include <fmt/format.h>

namespace tosavk {

bool is_plain_type(DType type) {
    return type == DType::boolean || type == DType::i8 || type == DType::i16 || type == DType::i32 || is_float(type);
}

void add_operand(KernelPass& choice, const NodeView& view, std::size_t k, double reads, bool moves_bits) {
    const DType type = view.in(k).type;
    choice.operands.push_back(
        {view.node().inputs.at(k), moves_bits && type == DType::fp16 ? DType::i16 : type, {}, {}, -1, {}, reads});
}

int add_scratch(KernelChoice& choice, std::int64_t words) {
    choice.scratch_bytes.push_back(static_cast<std::uint64_t>(words) * 4);
    return static_cast<int>(choice.scratch_bytes.size()) - 1;
}

KernelOperand scratch_operand(int number, DType type) { return {no_id, type, {}, {}, number}; }

double quad_waste(std::int64_t count) { return static_cast<double>((count + 3) / 4 * 4) / static_cast<double>(count); }

void set_constants(KernelPass& choice, std::initializer_list<std::pair<const char*, KernelConstant>> values) {
    for (const auto& [name, value] : values) {
        if (!choice.constants.emplace(name, value).second)
            throw Error(ErrorCode::internal,
                        fmt::format("the constant '{}' of the kernel '{}' is given twice", name, choice.kernel));
    }
}

std::optional<int> loop_steps(const DevicePlan& device, std::int64_t outer, std::int64_t inner, std::string& why) {
    for (const int steps : {1, 8}) {
        const std::int64_t passes = 2 * outer + outer * ((inner + steps - 1) / steps);
        if (device.max_loop_passes == 0 || passes <= device.max_loop_passes) return steps;
        why = fmt::format("its loops need {} passes, and the driver allows {}", passes, device.max_loop_passes);
    }
    why = fmt::format("its loops need more than the {} passes that the driver allows", device.max_loop_passes);
    return std::nullopt;
}

void define_scalar(KernelChoice& choice, const NodeView& view, std::size_t k, const char* name) {
    const bool real = is_float(view.in(k).type);
    const std::string constant = fmt::format("{}_CONSTANT", name);
    if (real || view.in(k).is_constant()) {
        set_constants(choice, {{constant.c_str(), real ? 0 : view.constant_ints(k).front()}});
        choice.defines.emplace_back(name, constant);
        return;
    }
    set_constants(choice, {{constant.c_str(), 0}});
    choice.defines.emplace_back(name, fmt::format("in{}_load1(0u)", choice.operands.size()));
    add_operand(choice, view, k);
}

}  // namespace tosavk
