// Control flow and variables as problem lines.
#include "frontends/problems/operators.hpp"
#include "ops/builder.hpp"

namespace tosavk {

namespace {

using Results = std::vector<ValueId>;

/// One input, to which itself is added or which is negated.
Graph branch(DType type, const Shape& shape, bool doubles) {
    GraphBuilder b("branch");
    const ValueId x = b.input("x", type, shape);
    if (doubles) {
        b.output(b.add1(Op::add, {x, x}, type));
    } else {
        const ValueId zero = b.scalar(type, 0);
        b.output(b.add1(Op::negate, {x, zero, zero}, type));
    }
    return b.finish_region();
}

Results cond_if(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    const ValueId condition = layers.input("condition", DType::boolean, {1}),
                  x = layers.input("input", line.type(), shape);
    return layers.builder().cond_if(condition, {x}, branch(line.type(), shape, true),
                                    branch(line.type(), shape, false));
}

/// The counter, and a number that ABS is applied to in every pass.
Results while_loop(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape"), count = line.take_shape("number of passes", 1);
    if (count[0] > 1'000'000) line.fail("more than a million passes");
    GraphBuilder condition("condition"), body("body");
    const auto begin = [&](GraphBuilder& b) {
        const ValueId counter = b.input("i", DType::i32, {1});
        return std::pair(counter, b.input("x", line.type(), shape));
    };
    const ValueId i = begin(condition).first;
    condition.output(
        condition.add1(Op::greater, {condition.scalar(DType::i32, static_cast<double>(count[0])), i}, DType::boolean));
    const auto [k, x] = begin(body);
    body.output(body.add1(Op::add, {k, body.scalar(DType::i32, 1)}, DType::i32));
    body.output(body.add1(Op::abs, {x}, line.type()));
    const ValueId input = layers.input("input", line.type(), shape);
    return {layers.builder()
                .while_loop({layers.builder().scalar(DType::i32, 0), input}, condition.finish_region(),
                            body.finish_region())
                .at(1)};
}

Results variable_read(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    layers.builder().variable("state", line.type(), shape);
    const ValueId x = layers.input("input", line.type(), shape);
    return {layers.builder().add1(Op::add, {x, layers.builder().variable_read("state")}, line.type())};
}

/// The input becomes the variable; the output is what the variable was.
Results variable_write(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    layers.builder().variable("state", line.type(), shape);
    const ValueId x = layers.input("input", line.type(), shape), before = layers.builder().variable_read("state");
    const ValueId kept = layers.builder().add1(Op::abs, {before}, line.type());
    layers.builder().variable_write("state", x);
    return {kept};
}

const ProblemForm forms[] = {
    {"cond_if", "TYPE SHAPE", "f32 1048576", "f32 70", cond_if},
    {"while_loop", "TYPE SHAPE PASSES", "f32 1048576 8", "f32 70 3", while_loop},
    {"variable_read", "TYPE SHAPE", "f32 4194304", "f32 70", variable_read},
    {"variable_write", "TYPE SHAPE", "f32 4194304", "f32 70", variable_write},
};

}  // namespace

std::span<const ProblemForm> control_forms() { return forms; }

}  // namespace tosavk
