#include "kernels/product/pack_pass.hpp"

#include "kernels/common/operands.hpp"

namespace tosavk {

KernelOperand pack_at_run_time(KernelChoice& choice, const NodeView& view, std::optional<InnerUnits> units,
                               bool widened, const DevicePlan& device) {
    const Value& weight = view.in(1);
    const DType type = widened ? DType::fp32 : weight.type;
    const std::int64_t channels = weight.shape.front(), depth = weight.shape.back(),
                       taps = element_count(weight.shape) / channels / depth, blocks = quotient_up(depth, 4);
    const std::int64_t of_tap = units ? quotient_up(blocks, units->of_tap) * units->of_tap : blocks;
    const std::int64_t together = units ? units->blocks : 1;
    const std::int64_t all_blocks = quotient_up(taps * of_tap, together) * together;
    const std::int64_t elements = quotient_up(channels, 4) * all_blocks * 16;
    const auto bytes = static_cast<std::int64_t>(size_of(type));
    const int scratch = add_scratch(choice, quotient_up(elements * bytes, 4));

    KernelPass pack;
    pack.kernel = "pack_weights";
    pack.defines = {{"UNITS", units ? "1" : "0"}};
    set_constants(pack, {{"OC", channels},
                         {"TAPS", taps},
                         {"IC", depth},
                         {"TAP_BLOCKS", of_tap},
                         {"ALL_BLOCKS", all_blocks},
                         {"TOGETHER", together}});
    add_operand(pack, view, 1, units ? quad_waste(depth) : 4);  // what is made where it is read is made in quads
    pack.groups = linear_groups(elements / 4, device);
    pack.writes = scratch;
    pack.writes_type = type;
    pack.stores_quads = true;
    choice.earlier.insert(choice.earlier.begin(), std::move(pack));
    return scratch_operand(scratch, units ? DType::i32 : type);
}

}  // namespace tosavk
