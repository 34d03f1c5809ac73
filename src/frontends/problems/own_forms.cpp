// Operators of our own domain as problem lines; the elementwise ones need no entry.
#include "frontends/problems/operators.hpp"
#include "ops/builder.hpp"

#include <cmath>
#include <utility>

namespace tosavk {

namespace {

using Results = std::vector<ValueId>;

/// The combiner that a word names; `fallback` when none does.
Combiner take_combiner(Line& line, Combiner fallback) {
    for (const auto& [word, combiner] :
         {std::pair("set", Combiner::set), std::pair("sum", Combiner::add), std::pair("product", Combiner::multiply),
          std::pair("min", Combiner::minimum), std::pair("max", Combiner::maximum)}) {
        if (line.take_word(word)) return combiner;
    }
    return fallback;
}

Results cumulate(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    const auto rank = static_cast<std::int64_t>(shape.size());
    Attributes attrs;
    attrs.axis = static_cast<std::int32_t>(line.take_number("axis", rank - 1, 0, rank - 1));
    attrs.combiner = take_combiner(line, Combiner::add);
    attrs.exclusive = line.take_word("exclusive");
    attrs.reverse = line.take_word("reverse");
    const ValueId x = layers.input("input", line.type(), shape);
    const ValueId y = layers.builder().add1(Op::cumulate, {x}, line.type(), attrs);
    const auto length = static_cast<double>(rank == 0 ? 1 : shape[static_cast<std::size_t>(attrs.axis)]);
    layers.set_magnitude(y, layers.magnitude(x) * (attrs.combiner == Combiner::add ? std::sqrt(length / 2 + 1) : 1));
    return {y};
}

const ProblemForm forms[] = {
    {"cumulate", "TYPE SHAPE [axisA] [sum | product | min | max] [exclusive] [reverse] [FOLLOWER...]", "f32 16777216",
     "f32 3x37x2 axis1 max exclusive", cumulate},
};

}  // namespace

std::span<const ProblemForm> own_forms() { return forms; }

}  // namespace tosavk
