// Draws the operands of one node: what the families of random_node.cpp and of own_*.cpp share.
#pragma once

#include "ops/builder.hpp"
#include "verify/conformance/random_data.hpp"
#include "verify/conformance/random_node.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace tosavk::conformance {

class CaseMaker {
public:
    CaseMaker(const OpDef& def, const TypeRow& row, std::mt19937_64& random, const RandomOptions& options)
        : def_(def), row_(row), options_(options), data_(random), builder_("random " + std::string(def.name)) {}

    const OpDef& def() const { return def_; }
    const RandomOptions& options() const { return options_; }
    RandomData& data() { return data_; }
    Attributes& attrs() { return attrs_; }

    bool has(std::string_view attribute) const;
    std::optional<DType> variable(std::string_view name) const;  ///< the type that a type variable has in the row
    DType type_of(std::string_view name) const;                  ///< of a type variable, or the type of this name
    DType in_type(std::size_t k) const { return type_of(def_.inputs.at(k).type); }

    /// The next operand: a graph input or a constant. The first one is always an input.
    void operand(HostTensor tensor);
    void shape_operand(const Shape& values) { ids_.push_back(builder_.shape(values)); }
    void scalar(DType type, std::int64_t value);
    /// The type of the next output, for operators with lists of them; by default each output of the OpDef is one.
    void output(DType type) { output_types_.push_back(type); }

protected:
    const OpDef& def_;
    const TypeRow& row_;
    const RandomOptions options_;
    RandomData data_;
    GraphBuilder builder_;
    Attributes attrs_;
    std::vector<ValueId> ids_;
    std::vector<DType> output_types_;
    std::vector<HostTensor> inputs_;
};

/// How the cases of an operator of our own are drawn. Elementwise ones that take any value of their types need none.
struct OwnCases {
    Op op;
    void (*fill)(CaseMaker& maker);
};
std::vector<OwnCases> own_arithmetic_cases();  ///< DIVIDE, REMAINDER, SQRT, CUMULATE, SCALE_FP64, functions
std::vector<OwnCases> own_indexed_cases();     ///< SORT, GATHER_ND, SCATTER_ND, dynamic slices, SEGMENT_REDUCE
std::vector<OwnCases> own_suppress_cases();    ///< SUPPRESS, SUPPRESS_QUEUED

}  // namespace tosavk::conformance
