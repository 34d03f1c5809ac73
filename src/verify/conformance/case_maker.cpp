#include "verify/conformance/case_maker.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk::conformance {

bool CaseMaker::has(std::string_view attribute) const {
    return std::find(def_.attributes.begin(), def_.attributes.end(), attribute) != def_.attributes.end();
}

std::optional<DType> CaseMaker::variable(std::string_view name) const {
    for (std::size_t i = 0; i < def_.type_vars.size(); ++i)
        if (def_.type_vars[i] == name) return row_.types[i];
    return std::nullopt;
}

DType CaseMaker::type_of(std::string_view name) const {
    if (const auto bound = variable(name)) return *bound;
    for (int t = 0; t <= static_cast<int>(DType::shape); ++t)
        if (name_of(static_cast<DType>(t)) == name) return static_cast<DType>(t);
    throw Error(ErrorCode::internal, fmt::format("{} has an operand of unknown type '{}'", def_.name, name));
}

void CaseMaker::operand(HostTensor tensor) {
    const std::size_t k = ids_.size();
    const ArgDef& arg = def_.inputs[std::min(k, def_.inputs.size() - 1)];
    bool constant = k > 0 && data_.chance(50);
    if (arg.ctc && !options_.run_time_operands) constant = true;
    const std::string name = arg.list ? fmt::format("{}_{}", arg.name, k) : arg.name;
    if (constant) {
        ids_.push_back(builder_.constant(name, tensor.type, tensor.shape, std::move(tensor.bytes)));
    } else {
        ids_.push_back(builder_.input(name, tensor.type, tensor.shape));
        inputs_.push_back(std::move(tensor));
    }
}

void CaseMaker::scalar(DType type, std::int64_t value) {
    const auto real = static_cast<double>(value);
    HostTensor tensor(type, {1});
    tensor.bytes = encode_reals(type, std::span<const double>(&real, 1));
    operand(std::move(tensor));
}

}  // namespace tosavk::conformance
