// What recurrent operators share: sequences, matrices side by side, states.
#pragma once

#include "frontends/tflite/hybrid.hpp"

namespace tosavk {

/// An input of several steps, [steps, batch, size] whatever the order in the file.
struct Sequence {
    ValueId value = no_id;
    std::int64_t steps = 0, batch = 0, size = 0;
    bool time_major = true;  ///< the order in the file
};
Sequence read_sequence(Lowering& l, std::size_t k, bool time_major);
/// [batch, size] of each step to one value in the order of the file.
ValueId join_steps(Lowering& l, const std::vector<ValueId>& steps, bool time_major);
/// [batch, n] of one step of [steps * batch, n].
ValueId take_step(Lowering& l, ValueId all, const Sequence& sequence, std::int64_t step);

/// Matrices [rows of each, size] of one operator's inputs that meet the same numbers, side by side.
class Matrices {
public:
    Matrices(Lowering& l, std::span<const std::size_t> operands, std::int64_t rows, std::int64_t size);
    /// [n, size] to [n, rows of all], in fp32; narrow weights as TFLite's kernels multiply them.
    ValueId times(Lowering& l, ValueId x, bool asymmetric) const;
    ValueId values() const { return values_; }
    const std::vector<std::int64_t>& sums() const { return weights_.sums; }

private:
    bool hybrid_ = false;
    HybridWeights weights_;
    ValueId values_ = no_id;
};

/// Vectors of `size` numbers of one operator's inputs, side by side; [1, size of all].
ValueId join_vectors(Lowering& l, std::span<const std::size_t> operands, std::int64_t size, DType type);

/// Constants along the first dimension, as one.
ValueId join_constants(Lowering& l, const std::vector<ValueId>& parts, const char* name);

void check_shape(Lowering& l, std::size_t k, const Shape& expected);
/// Input k, a variable, with its shape checked.
ValueId read_state(Lowering& l, std::size_t k, const Shape& expected);

}  // namespace tosavk
