// Graphs with control flow and state that several tests share.
#pragma once

#include "ops/builder.hpp"
#include "ops/op.hpp"
#include "reference/reference.hpp"

#include <numeric>
#include <string>
#include <vector>

namespace tosavk::testing {

inline HostTensor i32s(const std::vector<std::int64_t>& values) {
    HostTensor t(DType::i32, {static_cast<std::int64_t>(values.size())});
    t.bytes = encode_ints(DType::i32, values);
    return t;
}
inline HostTensor f32s(const std::vector<double>& values) {
    HostTensor t(DType::fp32, {static_cast<std::int64_t>(values.size())});
    t.bytes = encode_reals(DType::fp32, values);
    return t;
}
inline HostTensor boolean(bool value) {
    HostTensor t(DType::boolean, {1});
    t.bytes = {static_cast<std::byte>(value)};
    return t;
}
inline std::vector<std::int64_t> ints_of(const HostTensor& t) { return decode_ints(t.type, t.bytes); }
inline std::vector<double> reals_of(const HostTensor& t) { return decode_reals(t.type, t.bytes); }

/// a + b or a - b for i32 [n].
inline Graph binary_region(Op op, std::int64_t n, const std::string& name = "branch") {
    GraphBuilder b(name);
    const ValueId x = b.input("x", DType::i32, {n}), y = b.input("y", DType::i32, {n});
    b.output(b.add1(op, {x, y}, DType::i32, {}, "result"));
    return b.finish_region();
}

/// condition ? a + b : a - b, then doubled.
inline Graph branch_graph(std::int64_t n = 3) {
    GraphBuilder b("branch");
    const ValueId c = b.input("condition", DType::boolean, {1});
    const ValueId x = b.input("a", DType::i32, {n}), y = b.input("b", DType::i32, {n});
    const ValueId r = b.cond_if(c, {x, y}, binary_region(Op::add, n), binary_region(Op::sub, n), "choose").at(0);
    b.output(b.add1(Op::add, {r, r}, DType::i32, {}, "doubled"));
    return b.finish();
}

/// i < n
inline Graph less_region(std::size_t more = 0) {
    GraphBuilder b("less");
    const ValueId i = b.input("i", DType::i32, {1}), n = b.input("n", DType::i32, {1});
    for (std::size_t k = 0; k < more; ++k) b.input("more" + std::to_string(k), DType::i32, {1});
    b.output(b.add1(Op::greater, {n, i}, DType::boolean, {}, "less"));
    return b.finish_region();
}

/// Fibonacci: (i, n, a, b) -> (i + 1, n, b, a + b) while i < n; `b` and `a` change places, n stays.
inline Graph fibonacci_graph() {
    GraphBuilder body("body");
    const ValueId i = body.input("i", DType::i32, {1}), n = body.input("n", DType::i32, {1});
    const ValueId x = body.input("a", DType::i32, {1}), y = body.input("b", DType::i32, {1});
    const ValueId next = body.add1(Op::add, {i, body.scalar(DType::i32, 1)}, DType::i32, {}, "next");
    const ValueId sum = body.add1(Op::add, {x, y}, DType::i32, {}, "sum");
    for (const ValueId id : {next, n, y, sum}) body.output(id);
    GraphBuilder b("fibonacci");
    const ValueId count = b.input("count", DType::i32, {1});
    const ValueId zero = b.scalar(DType::i32, 0), one = b.scalar(DType::i32, 1);
    const auto out = b.while_loop({zero, count, zero, one}, less_region(2), body.finish_region(), "loop");
    b.output(out[2]);
    b.output(out[0]);
    return b.finish();
}

/// (i, n, x) -> (i + 1, n, x + x) while i < n, which is 2 + 3.
inline Graph counted_graph() {
    GraphBuilder body("body");
    const ValueId i = body.input("i", DType::i32, {1}), n = body.input("n", DType::i32, {1});
    const ValueId x = body.input("x", DType::i32, {1});
    const ValueId next = body.add1(Op::add, {i, body.scalar(DType::i32, 1)}, DType::i32, {}, "next");
    for (const ValueId id : {next, n, body.add1(Op::add, {x, x}, DType::i32, {}, "twice")}) body.output(id);
    GraphBuilder b("counted");
    const ValueId start = b.input("x", DType::i32, {1}), zero = b.scalar(DType::i32, 0);
    const ValueId count = b.add1(Op::add, {b.scalar(DType::i32, 2), b.scalar(DType::i32, 3)}, DType::i32, {}, "count");
    b.output(b.while_loop({zero, count, start}, less_region(1), body.finish_region(), "loop").at(2));
    return b.finish();
}

/// (i, n, x) -> (i + 1, n, c - max of x along its first axis), x [8,16]: x is dead before the new one is made.
inline Graph restarting_graph() {
    GraphBuilder less("less");
    const ValueId a = less.input("i", DType::i32, {1}), limit = less.input("n", DType::i32, {1});
    less.input("x", DType::i32, {8, 16});
    less.output(less.add1(Op::greater, {limit, a}, DType::boolean, {}, "less"));
    GraphBuilder body("body");
    const ValueId i = body.input("i", DType::i32, {1}), n = body.input("n", DType::i32, {1});
    const ValueId x = body.input("x", DType::i32, {8, 16});
    std::vector<std::int64_t> numbers(8 * 16);
    std::iota(numbers.begin(), numbers.end(), 0);
    Attributes along;
    along.axis = 0;
    const ValueId most = body.add1(Op::reduce_max, {x}, DType::i32, along, "most");
    const ValueId c = body.constant_ints("c", DType::i32, {8, 16}, numbers);
    body.output(body.add1(Op::add, {i, body.scalar(DType::i32, 1)}, DType::i32, {}, "next"));
    body.output(n);
    body.output(body.add1(Op::sub, {c, most}, DType::i32, {}, "again"));
    GraphBuilder b("restarting");
    const ValueId count = b.input("count", DType::i32, {1}), start = b.input("start", DType::i32, {8, 16});
    const auto out =
        b.while_loop({b.scalar(DType::i32, 0), count, start}, less.finish_region(), body.finish_region(), "loop");
    b.output(out[2]);
    return b.finish();
}

/// sum over i < rows of sum over j <= i of (j odd ? j : -j): a loop in a loop, and a branch in that.
inline Graph nested_graph() {
    const auto keep = [](Op op) {
        GraphBuilder b("signed");
        const ValueId j = b.input("j", DType::i32, {1}), sum = b.input("sum", DType::i32, {1});
        b.output(b.add1(op, {sum, j}, DType::i32, {}, "signed"));
        return b.finish_region();
    };
    GraphBuilder inner("inner");
    const ValueId j = inner.input("j", DType::i32, {1}), m = inner.input("m", DType::i32, {1});
    const ValueId s = inner.input("sum", DType::i32, {1});
    const ValueId one = inner.scalar(DType::i32, 1);
    const ValueId bit = inner.add1(Op::bitwise_and, {j, one}, DType::i32, {}, "bit");
    const ValueId odd = inner.add1(Op::equal, {bit, one}, DType::boolean, {}, "odd");
    const ValueId sum = inner.cond_if(odd, {j, s}, keep(Op::add), keep(Op::sub), "sign").at(0);
    const ValueId next = inner.add1(Op::add, {j, one}, DType::i32, {}, "next");
    for (const ValueId id : {next, m, sum}) inner.output(id);

    GraphBuilder outer("outer");
    const ValueId i = outer.input("i", DType::i32, {1}), rows = outer.input("rows", DType::i32, {1});
    const ValueId total = outer.input("total", DType::i32, {1});
    const ValueId i1 = outer.add1(Op::add, {i, outer.scalar(DType::i32, 1)}, DType::i32, {}, "i1");
    const auto made =
        outer.while_loop({outer.scalar(DType::i32, 0), i1, total}, less_region(1), inner.finish_region(), "rows");
    for (const ValueId id : {i1, rows, made[2]}) outer.output(id);

    GraphBuilder b("nested");
    const ValueId count = b.input("rows", DType::i32, {1});
    const ValueId zero = b.scalar(DType::i32, 0);
    b.output(b.while_loop({zero, count, zero}, less_region(1), outer.finish_region(), "all").at(2));
    return b.finish();
}
inline std::int64_t nested_result(std::int64_t rows) {
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) total += j % 2 ? j : -j;
    }
    return total;
}

/// Gives the sum of all inputs so far (before and after adding this one); starts at `initial`.
inline Graph accumulator_graph(const std::vector<double>& initial) {
    GraphBuilder b("accumulator");
    const Shape shape{static_cast<std::int64_t>(initial.size())};
    b.variable("sum", DType::fp32, shape, encode_reals(DType::fp32, initial));
    const ValueId x = b.input("x", DType::fp32, shape);
    const ValueId before = b.variable_read("sum", "before");
    b.variable_write("sum", b.add1(Op::add, {before, x}, DType::fp32, {}, "added"), "store");
    b.output(before);
    b.output(b.variable_read("sum", "after"));
    return b.finish();
}

/// Doubles the variable `times` times in a loop whose body alone touches it; gives it before and after.
inline Graph state_in_loop_graph() {
    const Variable v{"v", DType::fp32, {4}, {}};
    GraphBuilder body("body");
    body.variable(v);
    const ValueId i = body.input("i", DType::i32, {1}), n = body.input("n", DType::i32, {1});
    const ValueId old = body.variable_read("v", "old");
    body.variable_write("v", body.add1(Op::add, {old, old}, DType::fp32, {}, "twice"), "store");
    body.output(body.add1(Op::add, {i, body.scalar(DType::i32, 1)}, DType::i32, {}, "next"));
    body.output(n);
    GraphBuilder b("state_in_loop");
    b.variable("v", DType::fp32, {4}, encode_reals(DType::fp32, std::vector<double>{1, 2, 3, -0.5}));
    const ValueId times = b.input("times", DType::i32, {1});
    b.output(b.variable_read("v", "before"));
    b.output(b.while_loop({b.scalar(DType::i32, 0), times}, less_region(), body.finish_region(), "loop").at(0));
    b.output(b.variable_read("v", "after"));
    return b.finish();
}

/// Four turns put a row into a matrix; each row comes from a loop of as many turns at most, which a number may end.
/// What the first row is made of is read after the turns too, and larger than all that they need.
inline Graph matrix_of_turns() {
    const std::int64_t columns = 9, rows = 4;
    GraphBuilder inner_asks("inner_asks"), inner("inner"), asks("asks"), body("body");
    for (GraphBuilder* region : {&inner_asks, &inner}) {
        const ValueId i = region->input("i", DType::i32, {1}), n = region->input("n", DType::i32, {1});
        const ValueId x = region->input("x", DType::i32, {columns});
        if (region == &inner_asks) {
            const ValueId one = region->shape(std::vector<std::int64_t>{1});
            const ValueId element = region->add1(Op::slice, {x, one, one}, DType::i32, {}, "element");
            const ValueId above =
                region->add1(Op::greater, {element, region->scalar(DType::i32, 0)}, DType::boolean, {}, "above");
            const ValueId less = region->add1(Op::greater_equal, {n, i}, DType::boolean, {}, "less");
            region->output(region->add1(Op::logical_and, {less, above}, DType::boolean, {}, "both"));
            continue;
        }
        region->output(region->add1(Op::add, {i, region->scalar(DType::i32, 1)}, DType::i32, {}, "next"));
        region->output(n);
        const ValueId turned = region->add1(Op::reverse, {x}, DType::i32, {}, "turned");
        region->output(region->add1(Op::add, {turned, x}, DType::i32, {}, "sum"));
    }
    for (GraphBuilder* region : {&asks, &body}) {
        const ValueId i = region->input("i", DType::i32, {1});
        const ValueId all = region->input("all", DType::i32, {rows, columns});
        const ValueId x = region->input("x", DType::i32, {columns});
        if (region == &asks) {
            region->output(
                region->add1(Op::greater, {region->scalar(DType::i32, rows), i}, DType::boolean, {}, "less"));
            continue;
        }
        const ValueId zero = region->scalar(DType::i32, 0);
        const ValueId made =
            region->while_loop({zero, i, x}, inner_asks.finish_region(), inner.finish_region(), "inner").at(2);
        const ValueId row = region->add1(Op::reshape, {made, region->shape(std::vector<std::int64_t>{1, columns})},
                                         DType::i32, {}, "row");
        const ValueId start = region->add1(Op::concat, {i, zero}, DType::i32, {}, "start");
        region->output(region->add1(Op::add, {i, region->scalar(DType::i32, 1)}, DType::i32, {}, "next"));
        region->output(region->add1(Op::dynamic_update_slice, {all, row, start}, DType::i32, {}, "more"));
        region->output(region->add1(Op::bitwise_not, {made}, DType::i32, {}, "inverted"));
    }
    GraphBuilder b("turns");
    const ValueId all = b.input("all", DType::i32, {rows, columns}), wide = b.input("wide", DType::i32, {5000});
    Attributes along;
    along.axis = 0;
    along.combiner = Combiner::add;
    const ValueId sums = b.add1(Op::cumulate, {wide}, DType::i32, along, "sums");
    const ValueId from = b.shape(std::vector<std::int64_t>{20}), size = b.shape(std::vector<std::int64_t>{columns});
    const ValueId x = b.add1(Op::slice, {sums, from, size}, DType::i32, {}, "x");
    const auto out =
        b.while_loop({b.scalar(DType::i32, 0), all, x}, asks.finish_region(), body.finish_region(), "loop");
    b.output(out[1]);
    b.output(out[2]);
    b.output(b.add1(Op::add, {sums, out[0]}, DType::i32, {}, "later"));
    return b.finish();
}

}  // namespace tosavk::testing
