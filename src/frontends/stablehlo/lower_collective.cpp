// What devices do together, of which there is one: each part of it is there already.
#include "frontends/stablehlo/lowering.hpp"

#include <algorithm>

namespace tosavk::stablehlo {

namespace {

[[noreturn]] void refuse_others(const Lowering& l) {
    l.unsupported("more than one device takes part in it, which is not supported");
}

void lower_alone(Lowering& l) {
    const Attribute* groups = find(l.op().attributes, "replica_groups");
    const auto* table = groups ? groups->as<Numbers>() : nullptr;
    if (!table || table->values != std::vector<std::int64_t>{0}) refuse_others(l);
    for (std::size_t k = 0; k < std::min(l.operand_count(), l.result_count()); ++k) l.set(l.given(k), k);
}

/// Whom nothing is sent to has zeros.
void lower_permute(Lowering& l) {
    const std::vector<std::int64_t> pairs = l.numbers("source_target_pairs");
    if (std::any_of(pairs.begin(), pairs.end(), [](std::int64_t device) { return device != 0; })) refuse_others(l);
    for (std::size_t k = 0; k < std::min(l.operand_count(), l.result_count()); ++k) {
        Tensor tensor = l.given(k);
        if (pairs.empty()) {
            tensor = l.move(tensor, [&l](Id id) { return l.zeros(l.type(id), l.shape(id)); });
            tensor.range = tensor.range.joined({});
        }
        l.set(tensor, k);
    }
}

}  // namespace

std::span<const LoweringRow> collective_rows() {
    static constexpr LoweringRow rows[] = {
        {"all_gather", lower_alone},           {"all_reduce", lower_alone},           {"all_to_all", lower_alone},
        {"collective_broadcast", lower_alone}, {"collective_permute", lower_permute}, {"reduce_scatter", lower_alone},
        {"collective_reduce", lower_alone},    {"cross-replica-sum", lower_alone},
    };
    return rows;
}

}  // namespace tosavk::stablehlo
