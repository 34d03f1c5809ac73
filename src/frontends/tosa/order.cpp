// What the blocks of a .tosa file need of one another, and an order in which their operators can run.
#include "frontends/tosa/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_set>

namespace tosavk {

void TosaFile::find_captures(std::size_t number) {
    TosaFileBlock& block = blocks[number];
    std::unordered_set<std::size_t> seen;
    const auto use = [&](std::size_t id) {
        const TosaFileTensor& tensor = tensors[id];
        if (tensor.block == number || tensor.is_constant || tensor.is_variable) return;
        if (seen.insert(id).second) block.captures.push_back(id);
    };
    for (const TosaFileOperator& op : block.operators) {
        for (const std::size_t id : op.inputs) use(id);
        for (const std::size_t inner : op.blocks) {
            for (const std::size_t id : blocks[inner].captures) use(id);
        }
    }
    for (const std::size_t id : block.outputs) use(id);
    block.touches_variables = std::any_of(block.operators.begin(), block.operators.end(),
                                          [&](const TosaFileOperator& op) { return touches_variables(op); });
}

bool TosaFile::touches_variables(const TosaFileOperator& op) const {
    if (is_state(op.op)) return true;
    return std::any_of(op.blocks.begin(), op.blocks.end(),
                       [&](std::size_t inner) { return blocks[inner].touches_variables; });
}

// In the file's order where it is a possible one: of the operators that are ready, the first. Those that read or write
// variables keep the file's order.
void TosaFile::schedule(std::size_t number) {
    std::vector<TosaFileOperator>& operators = blocks[number].operators;
    std::vector<std::vector<std::size_t>> readers(operators.size());
    std::vector<std::size_t> missing(operators.size(), 0);
    std::size_t last_touch = SIZE_MAX;
    for (std::size_t k = 0; k < operators.size(); ++k) {
        const auto need = [&](std::size_t before) {
            readers[before].push_back(k);
            ++missing[k];
        };
        std::vector<std::size_t> used = operators[k].inputs;
        for (const std::size_t inner : operators[k].blocks) {
            used.insert(used.end(), blocks[inner].captures.begin(), blocks[inner].captures.end());
        }
        for (const std::size_t id : used) {
            const TosaFileTensor& tensor = tensors[id];
            if (tensor.is_constant || tensor.is_variable) continue;
            if (tensor.block == number && tensor.producer == SIZE_MAX) continue;  // an input
            if (tensor.block == number) need(tensor.producer);
            else if (number == 0 && tensor.unusable.empty()) {
                bad_tosa_file(fmt::format("{} (number {} in the file) reads {}, which nothing computes",
                                          operators[k].op_name, operators[k].index, tensor.title()));
            }
        }
        if (!touches_variables(operators[k])) continue;
        if (last_touch != SIZE_MAX) need(last_touch);
        last_touch = k;
    }
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t k = 0; k < operators.size(); ++k) {
        if (missing[k] == 0) ready.push(k);
    }
    std::vector<std::size_t> order;
    while (!ready.empty()) {
        const std::size_t next = ready.top();
        ready.pop();
        order.push_back(next);
        for (const std::size_t reader : readers[next]) {
            if (--missing[reader] == 0) ready.push(reader);
        }
    }
    for (std::size_t k = 0; order.size() < operators.size() && k < operators.size(); ++k) {
        if (missing[k] > 0) {
            bad_tosa_file(fmt::format("{} (number {} in the file) needs its own result: the operators form a cycle",
                                      operators[k].op_name, operators[k].index));
        }
    }
    std::vector<TosaFileOperator> ordered;
    for (const std::size_t k : order) ordered.push_back(std::move(operators[k]));
    operators = std::move(ordered);
}

}  // namespace tosavk
