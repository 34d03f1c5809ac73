// The texts of the bounds.
#include "verify/conformance/bounds.hpp"

namespace tosavk::conformance {

std::string bound_text(const OpDef& def, const TypeRow& row) {
    bool reads_float = false, writes_float = false;
    for (std::size_t k = 0; k < row.types.size() && k < def.type_vars.size(); ++k) {
        if (!is_float(row.types[k])) continue;
        for (const ArgDef& arg : def.inputs)
            reads_float = reads_float || std::string_view(arg.type) == def.type_vars[k];
        for (const ArgDef& arg : def.outputs)
            writes_float = writes_float || std::string_view(arg.type) == def.type_vars[k];
    }
    if (!writes_float || def.tolerance == nullptr) return "exact";
    if (def.accuracy != nullptr) return def.accuracy;
    switch (def.op) {
        case Op::add:
        case Op::sub:
        case Op::mul:
        case Op::ceil:
        case Op::floor: return "0.5 ulp";
        case Op::reciprocal: return "1 ulp";
        case Op::rsqrt: return "2 ulp";
        case Op::erf: return "5 ulp";
        case Op::exp: return "2^-F * |r| * (base + 2|x|)";
        case Op::log: return "2^-F * max(5|r|, 0.5)";
        case Op::sigmoid: return "2^-F * r * 2(1 + |x|)";
        case Op::tanh: return "2^-F * max(4(base + 2|x|)|r|, 0.5)";
        case Op::cos: return "2^(-F/2) * (1 + |x|)";
        case Op::sin: return "2^(-F/2) * 2|x|";
        case Op::pow: return "r * expm1(m) + 2^-F * |r| * (base + 2|y ln x + m|), m = 2^-F * max(5.5|y ln x|, 0.55|y|)";
        case Op::reduce_product: return "|r| * ((1 + 2^(-F-1))^n - 1)";
        case Op::resize: return "max(20 * 2^-F, 0.006) * max|input|";
        case Op::cast: return reads_float ? "either neighbour" : "0.5 ulp";
        case Op::avg_pool2d:
        case Op::conv2d:
        case Op::conv3d:
        case Op::depthwise_conv2d:
        case Op::transpose_conv2d:
        case Op::matmul:
        case Op::fft2d:
        case Op::rfft2d:
        case Op::reduce_sum: return "dot product: 2 KS half-ulps of the absolute sum per element, 1.6 KS mean square";
        default: return "the operator's bound";
    }
}

}  // namespace tosavk::conformance
