#include "frontends/common/probe.hpp"

#include <algorithm>
#include <tuple>

namespace tosavk {

bool ProbeReport::operators_taken() const {
    return std::all_of(operators.begin(), operators.end(), [](const ProbedOperator& op) { return op.taken; });
}

void Probe::operator_seen(const std::string& region, std::size_t index, const std::string& name,
                          const std::string& sentence, const std::string& needs) {
    const auto [it, fresh] = seen_.try_emplace({region, index}, report_.operators.size());
    if (fresh) {
        report_.operators.push_back({region, index, name, sentence.empty(), sentence, needs});
        return;
    }
    ProbedOperator& op = report_.operators[it->second];
    if (op.taken && !sentence.empty()) {
        op.taken = false;
        op.sentence = sentence;
    }
}

ProbeReport Probe::finish(const std::string& load_error) {
    std::sort(report_.operators.begin(), report_.operators.end(), [](const ProbedOperator& a, const ProbedOperator& b) {
        return std::tie(a.region, a.index) < std::tie(b.region, b.index);
    });
    // What is only wrong with the whole, such as a limit.
    if (!load_error.empty() && report_.taken()) report_.graph.push_back(load_error);
    return std::move(report_);
}

}  // namespace tosavk
