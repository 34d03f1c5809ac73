// Broken graphs of data movement and RESIZE.
#include "verify/conformance/breaking.hpp"

namespace tosavk::conformance::breaking {
namespace {

std::vector<std::int64_t> constant(const Graph& g, std::size_t k) { return NodeView(g, 0).constant_ints(k); }

/// One element of constant operand k becomes `value`.
Apply one_element(std::size_t k, std::int64_t value) {
    return [=](Graph& g, Random& random) {
        auto values = constant(g, k);
        values.at(static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(values.size()) - 1))) = value;
        set_values(g, k, values);
        return true;
    };
}

/// A constant operand gets one element more.
Apply one_more(std::size_t k) {
    return [=](Graph& g, Random&) {
        auto values = constant(g, k);
        values.push_back(1);
        set_values(g, k, values);
        return true;
    };
}

bool output_rank(Graph& g, Random&) {
    output(g).shape.push_back(1);
    return true;
}

bool axis_outside(Graph& g, Random& random) {
    const auto rank = static_cast<std::int32_t>(operand(g, 0).shape.size());
    attrs(g).axis = pick(random, 0, 1) == 0 ? -1 : rank;
    return true;
}

void concat(std::vector<ErrorGraph>& all) {
    Entries(Op::concat, all)
        .add("there is no input",
             [](Graph& g, Random&) {
                 node(g).inputs.clear();
                 return true;
             })
        .add("axis is not in the inputs' rank", axis_outside)
        .add("an input has another rank than the first",
             [](Graph& g, Random&) {
                 Shape shape = operand(g, 0).shape;
                 shape.push_back(1);
                 add_operand(g, operand(g, 0).type, shape);
                 return true;
             })
        .add("a dimension outside the axis differs from the first input's",
             [](Graph& g, Random&) {
                 Shape shape = operand(g, 0).shape;
                 if (shape.size() < 2) return false;
                 ++shape.at(attrs(g).axis == 0 ? 1 : 0);
                 add_operand(g, operand(g, 0).type, shape);
                 return true;
             })
        .add("the output's axis is not the sum of the inputs'",
             [](Graph& g, Random&) {
                 ++output(g).shape.at(static_cast<std::size_t>(attrs(g).axis));
                 return true;
             })
        .level("the list of inputs exceeds MAX_TENSOR_LIST_SIZE", [](Graph& g, Random&) {
            const DType type = operand(g, 0).type;
            const Shape shape = operand(g, 0).shape;
            while (node(g).inputs.size() < 65) add_operand(g, type, shape);
            return refit(g);
        });
}

void pad_reshape_reverse(std::vector<ErrorGraph>& all) {
    Entries(Op::pad, all)
        .add("the output's rank is not the input's", output_rank)
        .add("a padding < 0", one_element(1, -1))
        .add("an output dimension is not the padded input's", wrong_output);
    Entries(Op::reshape, all).add("input and output differ in the number of elements", [](Graph& g, Random& random) {
        auto shape = constant(g, 1);
        if (shape.empty()) shape.push_back(2);
        else ++shape[pick_axis(random, shape)];
        set_values(g, 1, shape);
        output(g).shape = shape;
        return true;
    });
    Entries(Op::reverse, all).add("axis is not in the input's rank", axis_outside);
}

void slice_tile(std::vector<ErrorGraph>& all) {
    Entries(Op::slice, all)
        .add("start or size has another length than the input's rank",
             [](Graph& g, Random& random) { return one_more(pick(random, 0, 1) == 0 ? 1 : 2)(g, random); })
        .add("the output's rank is not the input's", output_rank)
        .add("a start < 0", one_element(1, -1))
        .add("a size < 1", one_element(2, 0))
        .add("start + size lies beyond the input",
             [](Graph& g, Random& random) {
                 const Shape& shape = operand(g, 0).shape;
                 const std::size_t axis = pick_axis(random, shape);
                 const auto start = constant(g, 1);
                 auto size = constant(g, 2);
                 size[axis] = shape[axis] - start[axis] + 1;
                 set_values(g, 2, size);
                 output(g).shape = size;
                 return true;
             })
        .add("an output dimension is not its size", wrong_output);
    Entries(Op::tile, all)
        .add("the output's rank is not the input's", output_rank)
        .add("an output dimension is not the input's times its multiple", wrong_output)
        .level("the output exceeds MAX_LOG2_SIZE", [](Graph& g, Random&) {
            auto multiples = constant(g, 1);
            multiples[0] = std::int64_t{1} << 31;
            set_values(g, 1, multiples);
            return refit(g);
        });
    Entries(Op::identity, all).level("the tensor exceeds MAX_LOG2_SIZE", [](Graph& g, Random&) {
        set_shape(g, 0, {std::int64_t{1} << 16, std::int64_t{1} << 16});
        return refit(g);
    });
}

void transpose(std::vector<ErrorGraph>& all) {
    Entries(Op::transpose, all)
        .add("the output's rank is not the input's", output_rank)
        .add("input and output differ in the number of elements", wrong_output)
        .add("a perm is not in the input's rank",
             [](Graph& g, Random& random) {
                 auto& perms = attrs(g).perms;
                 perms[static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(perms.size()) - 1))] =
                     pick(random, 0, 1) == 0 ? -1 : static_cast<std::int32_t>(perms.size());
                 return true;
             })
        .add("two perms are equal",
             [](Graph& g, Random&) {
                 auto& perms = attrs(g).perms;
                 if (perms.size() < 2) return false;
                 perms[1] = perms[0];
                 return true;
             })
        .add("an output dimension is not that of its perm", [](Graph& g, Random&) {
            Shape& shape = output(g).shape;
            for (std::size_t d = 0; d + 1 < shape.size(); ++d) {
                if (shape[d] == shape[d + 1]) continue;
                std::swap(shape[d], shape[d + 1]);
                return true;
            }
            return false;
        });
}

/// scale, offset or border becomes `values`, taken as y or as x by chance.
Apply resize_operand(std::size_t k, std::vector<std::int64_t> per_axis) {
    return [=](Graph& g, Random& random) {
        auto values = constant(g, k);
        const std::size_t at = pick(random, 0, 1) == 0 ? 0 : values.size() / 2;
        for (std::size_t i = 0; i < per_axis.size(); ++i) values.at(at + i) = per_axis[i];
        set_values(g, k, values);
        return true;
    };
}

/// Offset or border (operand k) leaves its range on either side: below `low` times n, or at `high` times n.
Apply resize_range(std::size_t k, std::int64_t low, std::int64_t high) {
    return [=](Graph& g, Random& random) {
        const auto scale = constant(g, 1);
        auto values = constant(g, k);
        const auto axis = static_cast<std::size_t>(pick(random, 0, 1));
        values.at(axis) = pick(random, 0, 1) == 0 ? low * scale.at(2 * axis) - 1 : high * scale.at(2 * axis);
        set_values(g, k, values);
        return true;
    };
}

/// Output axis 1 or 2 is wrong, or the scaled span does not divide.
Apply resize_size(std::size_t axis) {
    return [=](Graph& g, Random& random) {
        if (pick(random, 0, 1) == 0) {
            ++output(g).shape.at(axis);
            return true;
        }
        auto border = constant(g, 3);
        const auto scale = constant(g, 1);
        if (scale.at(2 * axis - 1) < 2 || border.at(axis - 1) + 1 >= scale.at(2 * axis - 2)) return false;
        ++border.at(axis - 1);
        set_values(g, 3, border);
        return true;
    };
}

void resize(std::vector<ErrorGraph>& all) {
    Entries(Op::resize, all)
        .add("an input or output side >= 16384",
             [](Graph& g, Random& random) {
                 Shape shape = operand(g, 0).shape;
                 shape.at(pick(random, 0, 1) == 0 ? 1 : 2) = 16384;
                 set_shape(g, 0, shape);
                 return true;
             })
        .add("a scale value < 1", one_element(1, 0))
        .add("a scale numerator > 2048", resize_operand(1, {2049, 2}))
        .add("a scale denominator >= 16 * numerator", resize_operand(1, {2, 32}))
        .add("an offset is not in -n .. 16n - 1", resize_range(2, -1, 16))
        .add("a border is not in -16n .. n - 1", resize_range(3, -16, 1))
        .add("OH does not follow from IH", resize_size(1))
        .add("OW does not follow from IW", resize_size(2))
        .level("scale > MAX_SCALE", [](Graph& g, Random&) {
            set_values(g, 1, {514, 2, 514, 2});
            set_values(g, 2, {0, 0});
            set_values(g, 3, {0, 0});
            return refit(g);
        });
}

}  // namespace

void add_movement_errors(std::vector<ErrorGraph>& all) {
    concat(all);
    pad_reshape_reverse(all);
    slice_tile(all);
    transpose(all);
    resize(all);
}

}  // namespace tosavk::conformance::breaking
