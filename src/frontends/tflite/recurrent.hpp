// What recurrent operators share: sequences, matrices side by side, states.
#pragma once

#include "frontends/tflite/hybrid.hpp"

#include <functional>

namespace tosavk {

constexpr std::size_t no_operand = 1000;

/// An input of several steps, [steps, batch, size] whatever the order in the file.
struct Sequence {
    ValueId value = no_id;
    std::int64_t steps = 0, batch = 0, size = 0;
    bool time_major = true;  ///< the order in the file
};
Sequence read_sequence(Lowering& l, std::size_t k, bool time_major);
/// A second one of the same steps; without a value where input k is absent.
Sequence read_beside(Lowering& l, std::size_t k, const Sequence& first);
/// [steps, batch, n] in the order of the file.
ValueId in_file_order(Lowering& l, ValueId sequence, bool time_major);

/// What the input of one step adds: rows of a matrix. Taken where they meet the rest, they become part of its shader.
struct Given {
    ValueId all = no_id;
    std::int64_t row = 0, rows = 0;

    ValueId take(Lowering& l) const { return l.slice_axis(all, 0, row, rows); }
};
/// One step: the states become those after it; the first is its output.
using Step = std::function<void(const Given& given, std::vector<ValueId>& states)>;
/// Steps in the graph that a Lowering writes: of the operator itself, or of the loop that stands for it.
using MakeStep = std::function<Step(Lowering&)>;
/// The outputs of all steps, [steps, batch, n] in the order of time, from what all inputs add, [steps * batch, n].
/// Many steps are a loop, whose turns take a block of them each.
ValueId run_steps(Lowering& l, const Sequence& sequence, ValueId given, bool backward, std::vector<ValueId>& states,
                  const MakeStep& make);
/// The outputs of both directions: side by side, or outputs 0 and 1.
void set_directions(Lowering& l, ValueId ahead, ValueId back, bool merge, bool time_major);

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
