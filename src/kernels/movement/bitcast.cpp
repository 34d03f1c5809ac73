// GPU kernel of BITCAST.
#include "kernels/common/operands.hpp"
#include "kernels/kernels.hpp"

namespace tosavk {
namespace {

std::optional<KernelChoice> plan_bitcast(const NodeView& view, const DevicePlan& device, std::string&) {
    const DType type = view.out().type;
    const std::int64_t count = element_count(view.out().shape);
    KernelChoice choice;
    choice.kernel = "bitcast";
    choice.defines = {{"SIZE", std::to_string(size_of(type))},
                      {"MEANING(v)", type == DType::fp32   ? "intBitsToFloat(v)"
                                     : type == DType::fp16 ? "fp16_to_float((v) & 65535)"
                                                           : "(v)"}};
    set_constants(choice, {{"COUNT", count}});
    add_operand(choice, view, 0);
    choice.operands.back().type = DType::i32;
    choice.groups = linear_groups((count + 3) / 4, device);
    choice.moves_bits = true;
    return choice;
}

}  // namespace

std::vector<KernelCandidate> bitcast_kernels() { return {{"by words", plan_bitcast}}; }

}  // namespace tosavk
